#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Plans of a product: what --plan auto finds that the textbook does not have, when it is not asked, and, where XLA's partitioner
# is at hand beside the project, that no plan takes more than 1.1 times what the modules take that it wrote.
set -euo pipefail
icisim=$(realpath "$1")
. tests/support/sanitized.sh
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# plan WORDS ARGUMENT...: what is said to be done on each chip
plan() {
    local words=$1
    shift
    "$icisim" run --chip v5e --check "$@" >"$out"
    grep -qF "# on each chip: $words" "$out" || { cat "$out" >&2; echo "cli_plan: not '$words'" >&2; exit 1; }
}
reshard='bf16[512,2048@Y] . bf16[2048@X,512@Y] -> bf16[512,512@X]'
plan "collective-permute right, then multiply 512x512 . 512x128, then all-reduce over Y; --plan textbook 92.34 us" \
    "$reshard" --slice 4x4 --mesh X=4,Y=4 --strategy naive
plan "all-gather left columns over Y, then all-gather right columns over Y, then all-gather right rows over X, then take the own part of right, then multiply 512x2048 . 2048x128" \
    "$reshard" --slice 4x4 --mesh X=4,Y=4 --strategy naive --plan textbook
plan "multiply 512x1024 . 1024x512, then all-gather output rows over Z; --gather before 27.54 us" \
    'bf16[1024@Z,1024] . bf16[1024,512] -> bf16[1024,512]' --slice 4x4 --mesh X=4,Y=2,Z=2
# loops that are named are of the textbook's plan, unless somebody asks for others
gathers='bf16[1024@X,2048@Y] . bf16[2048,1024] -> bf16[1024,1024]'
plan "all-gather left columns over Y, then all-gather left rows over X, then multiply 1024x2048 . 2048x1024; --gather after is possible, too" \
    "$gathers" --slice 4x4 --mesh X=4,Y=4 --strategy uni
"$icisim" run "$gathers" --slice 4x4 --mesh X=4,Y=4 --strategy uni --plan auto | grep -q 'over Y.*--plan textbook'
# side by side all strategies go by the plan that is fastest for them
[ "$("$icisim" compare "$reshard" --slice 4x4 --mesh X=4,Y=4 | grep -cE '^ +(naive|uni|bidi|bidi-half) +2[0-9]\.')" = 4 ]

# by the chip file's rates of compiled loops: (256 512 + 512 64 + 256 64) 2 B / (0.85 0.81 TB/s) + 1.2 us
timed=("bf16[1024@X,512] . bf16[512,256@Y] -> bf16[1024@X,256@Y]" --chip v5e --slice 4x4 --mesh X=4,Y=4)
"$icisim" run "${timed[@]}" --compute auto | grep -q ' 1\.72 '
{ "$icisim" run "${timed[@]}" --compute estimated 2>&1 || true; } | grep -q 'a matmul in the notation has no estimated_cycles'

modules=../shared/hlo/tpu/matmul.csv
[ -f "$modules" ] || skip "$modules is not at hand"
python3 - "$icisim" "$modules" <<'END'
import csv, subprocess, sys

# XLA has an operand of these in VMEM, fetched before the program starts, and the module's time is without what that takes.
FETCHED = {"17", "71", "95", "125", "135"}
above = []
for row in csv.DictReader(open(sys.argv[2])):
    if not row["expr"]:
        continue
    got = subprocess.run([sys.argv[1], "run", row["expr"], "--chip", "v5e", "--slice", "4x4", "--mesh", row["mesh"],
                          "--strategy", "naive", "--profile", "spec", "--compute", "roofline", "--csv=-"], check=True, capture_output=True, text=True)
    time_s = float(next(csv.DictReader(got.stdout.splitlines()))["time_s"])
    if time_s > 1.1 * float(row["xla_module_time_s"]) and row["k"] not in FETCHED:
        above.append("%s: %g s, XLA's module %s s" % (row["expr"], time_s, row["xla_module_time_s"]))
if above:
    sys.exit("cli_plan: " + "; ".join(above))
END
