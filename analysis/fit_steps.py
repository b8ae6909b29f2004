#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the step_efficiency of a chip with which each measured step takes what was measured.

    analysis/fit_steps.py build/icisim [published-steps.csv]

For every row whose column run names a workload file it prints the row, the chip's step_efficiency to four digits, what the step
takes with it and what was measured: of what the compiler estimates for products (product_estimate of the chip's file), or of the
peak, steps reach so much. A step takes longer the lower it is, so that halving an interval finds it.
"""
import csv
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def icisim(program, *arguments):
    try:
        done = subprocess.run([program, *arguments, "--csv", "-"], capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"fit_steps.py: {program}: {error.strerror}; give the program, such as build/icisim")
    if not done.stdout:
        sys.exit(done.stderr.strip())
    return list(csv.DictReader(io.StringIO(done.stdout)))


def fit(step_s, measured_s):
    low, high = 0.01, 2.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if step_s(middle) > measured_s else (low, middle)
    return round(low, 4)


def arguments(row):
    """What simulates a row: as icisim validate --steps takes it, the chip and the slice are the row's."""
    shape = re.match(r"[0-9]+(x[0-9]+)+(?= |$)", row["slice"])
    return [*row["run"].split(), *(["--slice", shape[0]] if shape else []), "--profile", "measured"]


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    program = sys.argv[1]
    path = sys.argv[2] if len(sys.argv) > 2 else "analysis/published/published-steps.csv"
    checks = icisim(program, "validate", "--steps", path)  # says what is wrong with the file
    with open(path, encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        runs = {row["id"]: (row["chip"], arguments(row)) for row in rows if ".yaml" in row["run"]}
    with tempfile.TemporaryDirectory() as folder:
        for check in checks:
            chip, run = runs.pop(check["id"], (None, None))
            if not run:
                continue  # not a step, or its MFU, which follows from its seconds
            measured_s = float(check["expected_s"])

            def step_s(efficiency, chip=chip, run=run):
                file = Path(folder) / "chip.yaml"
                file.write_text(f"name: {chip}\nbase: {chip}\nmeasured:\n"
                                f"  step_efficiency: {{value: {efficiency:.6f}, source: fit, how: fit}}\n")
                return float(icisim(program, "run", *run, "--chip", str(file))[0]["time_s"])

            found = fit(step_s, measured_s)
            print(f"{check['id']:16} {found:.4f}  {step_s(found):.5g} s of {measured_s:.5g} s", flush=True)


main()
