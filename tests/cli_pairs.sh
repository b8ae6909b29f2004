#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Training steps as workloads beside the same steps as XLA compiled them, where these are at hand beside the project: operations of
# products outside kernels, bytes on the wire, exposed communication of the five texts whose collectives are synchronous, and the time of
# the compiled text as it is simulated here.
set -euo pipefail
icisim=$(realpath "$1")
. tests/support/sanitized.sh
skip_sanitized "$icisim" 'minutes under the sanitizers; cli_steps has the same workloads there'
pairs=../shared/hlo/tpu/pairs
[ -d "$pairs" ] || skip "$pairs is not at hand"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 - "$icisim" "$pairs" "$scratch" <<'END'
import csv, io, json, math, pathlib, re, subprocess, sys

icisim, pairs, scratch = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
SYNCHRONOUS = ("dp-v4-4x4x4", "dp-v5e-2x4", "fsdp-none-v5p-4x4x4", "fsdp-v5p-4x4x4", "tp-rep-v5p-2x2x4")
# What is not within the bounds of the others: the forward pass of fsdp-v6e computes its scores twice and never writes
# them.
FLOPS = {"fsdp-v6e-2x4": 0.02}


def run(*arguments):
    done = subprocess.run([icisim, "run", *arguments, "--csv", f"{scratch}/row.csv", "--instructions", f"{scratch}/all.csv"],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cli_pairs: {arguments}: {done.stderr}")
    with open(f"{scratch}/row.csv", encoding="utf-8") as row, open(f"{scratch}/all.csv", encoding="utf-8") as every:
        return done.stdout, next(csv.DictReader(row)), list(csv.DictReader(every))


def wire_bytes(said, mesh):
    """Bytes that a device sends, of the table by collective and axes, whose bytes are those of the whole arrays."""
    share = {"all-gather": lambda v, n: v * (n - 1) / n, "reduce-scatter": lambda v, n: v * (n - 1) / n,
             "all-reduce": lambda v, n: 2 * v * (n - 1) / n, "all-to-all": lambda v, n: v / n * (n - 1) / n,
             "collective-permute": lambda v, n: v}
    rows = re.findall(r"^   ([a-z-]+) +([a-z,]+) +\d+ +(\d+) ", said, re.M)
    return sum(share[kind](float(v), math.prod(mesh.get(axis, 1) for axis in axes.split(",")))
               for kind, axes, v in rows if kind in share)


def check(pair):
    name, params = pair.name, json.loads((pair / "params.json").read_text())
    xla = json.loads((pair / "figures.json").read_text())["xla"]
    whole = "" if params["sequence_sharding"] else "residual: whole\n"
    pathlib.Path(f"{scratch}/model.yaml").write_text((pair / "model.yaml").read_text() + whole)
    said, model, instructions = run(f"{scratch}/model.yaml")
    _, text, _ = run(str(pair / "module.hlo"), "--op-cost", str(pair / "op_cost.csv"), "--chip", params["chip"],
                     "--slice", params["slice"], "--devices", str(pair / "devices.csv"))
    flops = sum(float(i["flops"] or 0) for i in instructions if not i["hlo_op_name"].startswith("custom-call"))
    wire = sum(collective[7] for collective in xla["collectives"])
    off = {"operations": (flops / xla["product_flops"] - 1, FLOPS.get(name, 0.01)),
           "bytes on the wire": (wire_bytes(said, params["mesh"]) / wire - 1, 0.15),
           "time": (float(model["time_s"]) / float(text["time_s"]) - 1, 0.12)}
    if name in SYNCHRONOUS:
        off["exposed"] = (float(model["exposed_comm_s"]) / float(text["exposed_comm_s"]) - 1, 0.25)
    for what, (difference, most) in off.items():
        print(f"{name}: {what} {100 * difference:+.2f} %")
        if abs(difference) > most:
            failed.append(f"{name}: {what} differ by {100 * difference:+.2f} %, at most {100 * most:g} %")


failed, checked = [], 0
for pair in sorted(pairs.iterdir()):
    if pair.is_dir():
        check(pair)
        checked += 1
if checked < 12:
    failed.append(f"{checked} pairs")
sys.exit("\n".join(failed) or 0)
END
