#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# icisim run FILE.hlo: modules whose times are worked out in their comments (golden/hlo), on both engines, written out and
# by their loops; what is told of single instructions; refusals.
set -euo pipefail
icisim=$(realpath "$1")
cd tests/golden/hlo
fail() {
    echo "module_run: $*"
    exit 1
}

# time_us FILE OPTION...: the column time_s in us
time_us() {
    "$icisim" run "$@" --chip round.yaml --wrap all --ring bidi-half --csv - >"$out" || fail "$* fails"
    python3 -c 'import csv, sys; print(repr(float(next(csv.DictReader(open(sys.argv[1])))["time_s"]) * 1e6))' "$out"
}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# expect MICROSECONDS FILE OPTION...: to 1e-6
expect() {
    local want=$1 got engine
    shift
    for engine in event simgrid; do
        got=$(time_us "$@" --engine $engine)
        python3 -c "import sys; sys.exit(abs($got - $want) > 1e-6 * $want)" || fail "$* on $engine: $got us, not $want"
    done
}
# the derivations stand in the files' first lines
expect 1503.218655 1_ag_dot.hlo --slice 4
expect 1675.017347 2_async_pair.hlo --slice 4
expect 1141.092582 3_while.hlo --slice 4
expect 1141.092582 3_while.hlo --slice 4 --unroll
expect 708.602880 4_groups.hlo --slice 4x4
expect 119.595018 5_permutes.hlo --slice 4
expect 254.658240 8_all_to_all.hlo --slice 4 --ragged uniform

# 2_async_pair hides 128.829120 + 85.899346 of 257.658240 us
"$icisim" run 2_async_pair.hlo --chip round.yaml --wrap all --slice 4 --instructions - >"$out"
python3 - "$out" <<'END' || fail "--instructions of 2_async_pair.hlo"
import csv, sys
rows = {row["name"]: row for row in csv.DictReader(open(sys.argv[1]))}
near = lambda got, want: abs(float(got) - want) <= 1e-6 * max(want, 1e-9)
assert near(rows["s1"]["exposed_s"], 0) and near(rows["s1"]["time_s"], 128.829120e-6), rows["s1"]
assert near(rows["s2"]["exposed_s"], 42.929774e-6), rows["s2"]
assert near(rows["y"]["time_s"], 1374.389535e-6) and rows["y"]["bound"] == "MXU" and rows["y"]["category"] == "dot"
assert near(rows["y"]["flops"], 2 * 4096**3) and near(rows["y"]["bytes"], 3 * 2 * 4096**2)
END
# 15 all-reduces and 5 matmuls, of which the loops write out 9 and 3
"$icisim" run 3_while.hlo --chip round.yaml --wrap all --slice 4 --instructions - | grep -q '^r,all-reduce,15,' ||
    fail "3_while.hlo has 15 all-reduces"
"$icisim" run 3_while.hlo --chip round.yaml --wrap all --slice 4 --instructions - | grep -q '^d,dot,5,' ||
    fail "3_while.hlo has 5 matmuls"
# r5 and r7 are written alike, but r7 has no channel: its groups are single devices
"$icisim" run 4_groups.hlo --chip round.yaml --wrap all --slice 4x4 | grep -c 'box of 4x4 (x ring, y ring)' | grep -qx 2 ||
    fail "4_groups.hlo has two spellings of the whole slice"

# no schedule: text order takes 128.829120 + 2 * 1374.389535 us; with only its data to wait for, the gather hides
sed -e 's/, is_scheduled=true//' -e 's/dot(x, wg)/dot(a, wg)/' -e '/ROOT/i\
  a = bf16[4096,4096]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}' 1_ag_dot.hlo |
    "$icisim" run - --chip round.yaml --wrap all --slice 4 --csv - >"$out"
python3 - "$out" <<'END' || fail "the two bounds of a module without a schedule"
import csv, sys
row = next(csv.DictReader(open(sys.argv[1])))
assert abs(float(row["time_s"]) - 2877.608190e-6) < 1e-12, row["time_s"]
assert abs(float(row["overlapped_s"]) - 2748.779070e-6) < 1e-12, row["overlapped_s"]
END

# refusals: one line with the cure, status 2
refuse() {
    local want=$1 said
    shift
    said=$("$icisim" run "$@" --chip round.yaml --wrap all 2>&1 >/dev/null) && fail "$* is not refused"
    [ "$(wc -l <<<"$said")" = 1 ] && grep -qF -- "$want" <<<"$said" || fail "$*: says '$said', not '$want'"
}
refuse '--ragged uniform' 8_all_to_all.hlo --slice 4
refuse 'give a --slice of 4 chips' 1_ag_dot.hlo --slice 8
refuse '--size does not apply to a module' 1_ag_dot.hlo --slice 4 --size 1MiB
refuse 'write uniform' 1_ag_dot.hlo --slice 4 --ragged random
refuse 'ends in after_optimizations.txt' ./ --slice 4
