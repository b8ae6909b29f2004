#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# 200 random chains of sharded products, by every strategy: both engines to 1e-9, the invariants of program and trace, and, on a
# copy with small dims, what the devices make against the plain product (--check). Dims are multiples of odd primes, cuts are
# over any axes in any order, types of operands and sums differ.
set -euo pipefail
icisim=$(realpath "$1")
chains=200
export PYTHONPATH=$PWD/tests/support PYTHONDONTWRITEBYTECODE=1
. tests/support/sanitized.sh
sanitized "$icisim" && chains=14 # slow there
python3 - "$icisim" "$chains" <<'END'
import csv
import io
import random
import subprocess
import sys

from cuts import cut

SEED = 20261122
MESHES = (("v5e", "2x3", "X=2,Y=3"), ("v5e", "2x4", "X=2,Y=4"), ("v5e", "3x5", "X=3,Y=5"), ("v5e", "6", "X=6"),
          ("v4", "2x2x3", "a=2,b=2,c=3"), ("v4", "4x4x4", "a=4,b=4,c=4"), ("v5e", "4x4", "X=2,Y=4,Z=2"))
TYPES = (("bf16", "bf16"), ("bf16", "f32"), ("int8", "int32"), ("f32", "f32"))
icisim, chains = sys.argv[1], int(sys.argv[2])
draw = random.Random(SEED)


def chain(axes, devices):
    """Only the last product has an output, so that operands in the middle are whole: partial sums there say nothing."""
    products = draw.choice((1, 1, 2, 3))
    dims = [devices * draw.choice((1, 3, 5, 7, 11, 13)) for _ in range(products + 2)]
    kind, sums = draw.choice(TYPES)
    arrays = [kind + cut(draw, dims[i:i + 2], axes if i in (0, products) else []) for i in range(products + 1)]
    return f"{' . '.join(arrays)} -> {sums}{cut(draw, (dims[0], dims[-1]), axes)}"


def run(chip, shape, mesh, ops, *more):
    command = [icisim, "run", *ops, "--chip", chip, "--slice", shape, "--mesh", mesh, "--engine", "both", "--check",
               "--allow-split-physical-axes",
               "--time-limit", "1000s", "--csv", "-", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    wrong = [row["status"] for row in rows if row["status"] != "ok"]
    if done.returncode or wrong:
        sys.exit(f"{' '.join(command)}: {done.stderr}{wrong[:1]}")
    return rows


points = 0
for chip, shape, mesh in MESHES:
    axes = [axis.split("=")[0] for axis in mesh.split(",")]
    devices = 1
    for axis in mesh.split(","):
        devices *= int(axis.split("=")[1])
    ops = [chain(axes, devices) for _ in range(-(-chains // len(MESHES)))]
    points += len(run(chip, shape, mesh, ops, "--strategy", "naive,uni,bidi,bidi-half"))
    points += len(run(chip, shape, mesh, ops[:5], "--strategy", "auto"))
if points < 4 * chains:
    sys.exit(f"only {points} points")
END
