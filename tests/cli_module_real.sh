#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Real modules (XLA's benchmarks, MaxText's reference), where they are at hand beside the project: counts, operations and
# bounds that an independent reader of the text has found.
set -euo pipefail
. tests/support/sanitized.sh
icisim=$(realpath "$1")
modules=../shared/hlo
[ -d "$modules" ] || skip "$modules is not at hand"
out=$(mktemp)
trap 'rm -f "$out"' EXIT
large=$modules/xla_bench_hlo_llama31_70b_bf16_32x8.hlo small=$modules/xla_bench_hlo_llama31_8b_bf16_1x8.hlo

# counts FILE WANT OPTION...: executed all-gathers, reduce-scatters, all-reduces; operations of products to six digits
counts() {
    local file=$1 want=$2
    shift 2
    "$icisim" run "$file" "$@" --instructions - >"$out"
    python3 - "$out" "$want" <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
count = lambda op: sum(float(row["occurrences"]) for row in rows if row["category"] == op)
got = "%g %g %g %.6g" % (count("all-gather"), count("reduce-scatter"), count("all-reduce"),
                         sum(float(row["flops"]) for row in rows))
if got != sys.argv[2]:
    sys.exit("cli_module_real: %s, not %s" % (got, sys.argv[2]))
END
}
counts "$large" "1122 562 761 8.52843e+15" --chip v5p --slice 8x8x4
counts "$large" "1122 0 1323 8.52843e+15" --chip v5p --slice 8x8x4 --as-written
counts "$small" "450 226 971 7.72166e+14" --chip v5e --slice 2x4

# bounds: products alone take 18.580 s at the peak of v5p; written out in full it takes the same; 240 calls are not costed
said=$("$icisim" run "$large" --chip v5p --slice 8x8x4 --ring bidi-half --csv "$out")
grep -q '240 executions of' <<<"$said" || { echo "cli_module_real: uncosted calls"; exit 1; }
"$icisim" run "$large" --chip v5p --slice 8x8x4 --ring bidi-half --unroll --csv "$out.all" >/dev/null
python3 - "$out" "$out.all" <<'END'
import csv, sys
row, whole = (next(csv.DictReader(open(path))) for path in sys.argv[1:])
serial, overlapped, compute, comm = (float(row[name]) for name in ("time_s", "overlapped_s", "compute_s", "comm_s"))
assert serial >= overlapped >= max(18.580, comm), (serial, overlapped, comm)
assert compute >= 8.52843e15 / 4.59e14
for name in ("time_s", "overlapped_s", "compute_s", "comm_s", "exposed_comm_s", "link_bytes", "max_link_frac"):
    a, b = float(row[name]), float(whole[name])
    assert abs(a - b) <= 1e-8 * abs(b), (name, a, b)
assert row["transfers"] == whole["transfers"], (row["transfers"], whole["transfers"])
END
rm -f "$out.all"

# a module that is cut
said=$("$icisim" run $modules/maxtext_reference_hlo_llama3_8b.txt --chip v5p --slice 2x2x1 2>&1) && { echo "cli_module_real: a cut module is taken"; exit 1; }
grep -q 'no ENTRY; the file ends at line 2000' <<<"$said" || { echo "cli_module_real: $said"; exit 1; }
