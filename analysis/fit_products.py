#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fits the rule for products inside steps (product_estimate in a chip's file) to cycles that XLA:TPU's cost model gives.

    analysis/fit_products.py build/icisim matmul_estimates.csv [v5e ...]

The file has the columns of `icisim validate --products`. For each chip, or those named, it prints the seven numbers with the
least sum of sqrt(ln(rule / estimate)^2 + 0.03^2) over single products of bf16 of more than one row, and how far these are off.
Nelder and Mead's simplex, on the logarithms of the numbers, begins with those of the chip's file, and anew until it finds nothing
better.
"""
import csv
import io
import math
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ["fixed_cycles", "load_cycles", "mxu_factor", "results_cycles", "hbm_bytes_per_cycle", "block_rows", "window_bytes"]
CHIPS = Path(__file__).parent.parent / "topologies"


def simplex(loss, start, step=0.2, tries=900):
    """The point at which a function is least, by Nelder and Mead."""
    points = [start] + [[x + step * (i == j) for j, x in enumerate(start)] for i in range(len(start))]
    points = sorted((loss(p), p) for p in points)
    for _ in range(tries):
        if points[-1][0] - points[0][0] < 1e-7:
            break
        worst, others = points[-1], [p for _, p in points[:-1]]
        middle = [sum(x) / len(others) for x in zip(*others)]
        go = lambda by: (lambda p: (loss(p), p))([m + by * (m - w) for m, w in zip(middle, worst[1])])
        new = go(1)
        if new[0] < points[0][0]:
            new = min(new, go(2))
        elif new[0] >= points[-2][0]:
            new = min(new, go(0.5), go(-0.5))
        if new[0] < worst[0]:
            points[-1] = new
        else:
            best = points[0][1]
            points = [points[0]] + [(loss(q), q) for q in ([(a + b) / 2 for a, b in zip(p, best)] for _, p in points[1:])]
        points.sort()
    return points[0]


def numbers_of(chip, names=NAMES):
    text = (CHIPS / f"{chip}.yaml").read_text()
    return [float(re.search(rf"\b{name}: ([0-9.e+]+)", text)[1]) for name in names]


class Fit:
    def __init__(self, program, chip, rows, folder):
        self.program, self.chip = program, chip
        self.vmem, = numbers_of(chip, ["vmem_results_cycles"])  # no product alone leaves its results there
        self.file, self.products = folder / f"{chip}.yaml", folder / f"{chip}.csv"
        with open(self.products, "w", encoding="utf-8") as file:
            out = csv.DictWriter(file, rows[0].keys())
            out.writeheader()
            out.writerows({**row, "chip": self.file} for row in rows)

    def differences(self, logs):
        rule = ", ".join(f"{name}: {math.exp(x):.9g}" for name, x in zip(NAMES, logs)) + f", vmem_results_cycles: {self.vmem:.9g}"
        self.file.write_text(f"name: {self.chip}\nbase: {self.chip}\nmeasured:\n"
                             f"  product_estimate: {{value: {{{rule}}}, source: fit, how: fit}}\n")
        done = subprocess.run([self.program, "validate", "--products", self.products, "--csv", "-"],
                              capture_output=True, text=True)
        if not done.stdout:
            sys.exit(done.stderr.strip())
        return [float(r["difference_frac"]) for r in csv.DictReader(io.StringIO(done.stdout)) if r["kind"] == "judged"]

    def loss(self, logs):
        return sum(math.hypot(math.log1p(d), 0.03) - 0.03 for d in self.differences(logs))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[2], encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file)
                if r.get("dtype", "bf16") == "bf16" and r.get("batch", "1") == "1" and int(r["M"]) > 1]
    for chip in sys.argv[3:] or sorted({r["chip"] for r in rows}):
        own = [r for r in rows if r["chip"] == chip]
        if len(own) <= len(NAMES):
            print(f"{chip}: {len(own)} products are too few for {len(NAMES)} numbers")
            continue
        with tempfile.TemporaryDirectory() as folder:
            fit = Fit(sys.argv[1], chip, own, Path(folder))
            least, found = simplex(fit.loss, [math.log(x) for x in numbers_of(chip)])
            while True:
                again, better = simplex(fit.loss, found, step=0.05)
                if again > least * (1 - 1e-4):
                    break
                least, found = again, better
            off = sorted(abs(d) for d in fit.differences(found))
        numbers = ", ".join(f"{name}: {math.exp(x):.4g}" for name, x in zip(NAMES, found))
        print(f"{chip}: {{{numbers}}}\n  {len(off)} products: median {100 * statistics.median(off):.2f} %, "
              f"95 of 100 within {100 * off[int(0.95 * len(off))]:.1f} %, worst {100 * off[-1]:.1f} %", flush=True)


main()
