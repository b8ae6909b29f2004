#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# 100 random modules of asynchronous gathers, scatters, sums and permutes among products, on either queue: both engines to 1e-9, the
# invariants of program and trace (--check). Where HBM is no limit, the TensorCore is busy for longer with additions than without: if, and
# only if, anything is added.
set -euo pipefail
icisim=$(realpath "$1")
modules=100
. tests/support/sanitized.sh
sanitized "$icisim" && modules=8 # slow there
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sed 's/^  hop_latency/  reduce_rate: {value: 50GBps, source: *us}\n&/' tests/golden/hlo/round.yaml >"$scratch/shares.yaml"
sed 's/: 1TBps/: 1000TBps/' "$scratch/shares.yaml" >"$scratch/fast.yaml"
cd "$scratch"
python3 - "$icisim" "$modules" <<'END'
import csv
import io
import random
import subprocess
import sys

icisim, modules = sys.argv[1], int(sys.argv[2])
draw = random.Random(20261124)
SLICES = (("4", 4, ("[1,4]<=[4]", "[2,2]<=[4]", "[2,2]<=[2,2]T(1,0)")), ("3x5", 15, ("[3,5]<=[15]", "[5,3]<=[3,5]T(1,0)", "[1,15]<=[15]")),
          ("2x3x2", 12, ("[6,2]<=[12]", "[2,6]<=[12]", "[4,3]<=[2,2,3]T(0,1,2)")))
KINDS = {"all-gather": 1, "reduce-scatter": -1, "all-reduce": 0, "collective-permute": 0}


def module(devices, groups):
    """Starts, and dones some products later, in any order."""
    lines, waits = [], []
    for i in range(draw.randint(2, 7)):
        kind, group = draw.choice(list(KINDS)), draw.choice(groups)
        size = int(group[1:].split("]")[0].split(",")[1])
        n = size * draw.choice((7, 210, 30030))
        out = n * size if KINDS[kind] > 0 else n // size if KINDS[kind] < 0 else n
        lines.append(f"  p{i} = bf16[{n}] parameter({i})")
        if kind == "collective-permute":
            pairs = ",".join(f"{{{d},{(d + 1) % devices}}}" for d in range(devices))
            how = f"source_target_pairs={{{pairs}}}"
        else:
            how = f"replica_groups={group}, use_global_device_ids=true"
            how += ", dimensions={0}" if KINDS[kind] else ""
            how += ", to_apply=add" if KINDS[kind] <= 0 else ""
        shape = f"bf16[{n}]" if kind == "all-reduce" else f"(bf16[{n}], bf16[{out}])"
        waits.append((f"  s{i} = {shape} {kind}-start(p{i}), channel_id={i + 1}, {how}",
                      f"  d{i} = bf16[{out}] {kind}-done(s{i})"))
    last = len(waits)
    lines += [f"  l = bf16[256,512] parameter({last})", f"  r = bf16[512,256] parameter({last + 1})"]
    under_way, dots = [], 0
    while waits or under_way:
        what = draw.random()
        if what < 0.4 and waits:
            start, done = waits.pop()
            lines.append(start)
            under_way.append(done)
        elif what < 0.7 and under_way:
            lines.append(under_way.pop(draw.randrange(len(under_way))))
        elif what >= 0.7:
            lines.append(f"  dot{dots} = bf16[256,256] dot(l, r), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}")
            dots += 1
    lines.append("  ROOT end = bf16[256,256] dot(l, r), lhs_contracting_dims={1}, rhs_contracting_dims={0}")
    return (f"HloModule m, is_scheduled=true, num_partitions={devices}\nadd {{\n  a = bf16[] parameter(0)\n  b = bf16[] parameter(1)\n"
            "  ROOT c = bf16[] add(a, b)\n}\nENTRY e {\n" + "\n".join(lines) + "\n}\n"), any("to_apply" in line for line in lines)


for number in range(modules):
    shape, devices, groups = draw.choice(SLICES)
    text, adds = module(devices, groups)
    with open("m.hlo", "w", encoding="ascii") as out:
        out.write(text)
    busy = {}
    chip = draw.choice(("shares", "fast"))
    how = ["--wrap", draw.choice(("all", "none")), "--ring", draw.choice(("uni", "bidi", "bidi-half"))]
    for queue in ("tensorcore", "sparsecore"):
        command = [icisim, "run", "m.hlo", "--chip", f"{chip}.yaml", "--slice", shape, "--collective-queue", queue, "--engine", "both", "--check",
                   *how, "--csv", "-"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        if done.returncode or len(rows) != 1 or rows[0]["status"] != "ok":
            sys.exit(f"module {number}: {' '.join(command)}: {done.stderr}{rows[:1]}\n{text}")
        busy[queue] = float(rows[0]["compute_s"])
    if chip == "fast" and (busy["tensorcore"] > busy["sparsecore"] * (1 + 1e-9)) != adds:
        sys.exit(f"module {number}: the queues are busy for {busy} s\n{text}")
print(modules, "modules")
END
