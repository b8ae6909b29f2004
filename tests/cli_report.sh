#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The report of a compiled step (golden/hlo/12_report.hlo, by hand): categories, source lines, layers, the CSV of instructions,
# the timeline; on real programs of XLA:TPU, where they are at hand, that all parts add up to the step.
set -euo pipefail
icisim=$(realpath "$1")
fail() {
    echo "cli_report: $*"
    exit 1
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
step() {
    "$icisim" run tests/golden/hlo/12_report.hlo --chip tests/golden/hlo/round.yaml --wrap all --slice 4 --ring bidi-half --wide "$@"
}
step --by layer --instructions "$scratch/rows.csv" --trace "$scratch/trace.json" >"$scratch/said"
says() { # a line with these words, blanks between them
    grep -qE "^ *${*// /  *}$" "$scratch/said" || { cat "$scratch/said"; fail "no line '$*'"; }
}
says 'product 12 2\.577e\+10 75497472 - 257\.698 - 70\.5'
says 'all-reduce 4 - 8388608 12582912 86\.915 86\.915 23\.8'
says 'copy 1 0 4194304 - 4\.194 - 1\.1'
says 'collective-permute 8 - 16777216 16777216 175\.772 3\.973 1\.1'
says 'dot\.1 product MXU 4 21\.475 85\.899 23\.5 100\.0 293\.0 341\.3 model\.py:20 jit\(step\)/while/body/dot_general'
says 'add\.3 element-wise HBM 1 12\.583 12\.583 3\.4 - 1000\.0 - old\.py:3 jit\(step\)/cond/branch_1_fun/add'
# a fusion that says nothing is what its body results in
says 'fusion\.1 copy HBM 1 4\.194 4\.194 1\.1 - 1000\.0 - train\.py:7 jit\(step\)/transpose'
says 'all-reduce\.1 all-reduce \{\{0,1,2,3\}\} box of 4 \(x ring\) 2097152 4 21\.729 86\.915 23\.8 model\.py:20 jit\(step\)/while/body/psum'
says '# trips of loops, found from their conditions: while\.2 2, while\.1 4'
says '# conditional\.1: branch 0 runs, the slowest; --branch names another'
# the loop that XLA made of a product is no layer of the program
says '95\.4 257\.698 0\.000 262\.687 90\.888 while\.1 x4'
step --by source >"$scratch/said"
says '95\.4 257\.698 0\.000 262\.687 90\.888 lib/model\.py:20'
step --by op_name >"$scratch/said"
says '70\.5 257\.698 0\.000 0\.000 0\.000 jit\(step\)/while/body/dot_general'
sed 's,jit(step)/while/body/psum,jit(step)/layers_3/mlp/psum,' tests/golden/hlo/12_report.hlo >"$scratch/layers.hlo"
"$icisim" run "$scratch/layers.hlo" --chip tests/golden/hlo/round.yaml --wrap all --slice 4 --ring bidi-half --by layer >"$scratch/said"
says '23\.8 0\.000 0\.000 86\.915 86\.915 layers_3'
{ step --by file 2>&1 || true; } | grep -q "by 'file'" || fail "--by file is taken"

python3 - "$scratch/rows.csv" "$scratch/trace.json" <<'END' || fail "the CSV of instructions, or the timeline"
import csv, json, sys
text = list(csv.DictReader(open(sys.argv[1])))
assert list(text[0])[:13] == ("hlo_op_name category tf_op_name source_info occurrences total_time_s avg_time_s exposed_time_s "
                              "flops hbm_bytes ici_bytes bound_by estimated_s").split()
rows = {row["hlo_op_name"]: row for row in text}
near = lambda got, want: abs(float(got) - want) <= 1e-6 * want
permute, add = rows["collective-permute-start.6"], rows["add.3"]
assert permute["source_info"] == "lib/model.py:20" and permute["category"] == "collective-permute", permute
assert near(permute["total_time_s"], 8 * 21.97152e-6) and near(permute["avg_time_s"], 21.97152e-6), permute
assert near(permute["ici_bytes"], 8 * 2**21) and permute["bound_by"] == "ICI", permute
assert near(add["hbm_bytes"], 12 * 2**20) and add["source_info"] == "old.py:3", add
events = [e for e in json.load(open(sys.argv[2]))["traceEvents"] if e["ph"] == "X"]
names = {e["name"] for e in events}
assert "collective-permute-start.6" in names and "collective-permute-done.6" in names, names
assert not any("-start-" in name or "-done-" in name for name in names), names
assert {e["args"]["op_name"] for e in events if e["name"] == "fusion.1"} == {"jit(step)/transpose"}
END

# parts of real steps add up to the whole; each collective has its line
programs=../shared/hlo/tpu/programs
for name in mlp1_dp_v5e_4x4 mm3_reduce_v5p_2x2x2; do
    [ -f "$programs/$name/module.hlo" ] || continue
    slice=${name##*_} chip=${name%_*}
    "$icisim" run "$programs/$name/module.hlo" --chip "${chip##*_}" --slice "$slice" --instructions "$scratch/rows.csv" >"$scratch/said"
    python3 - "$scratch/rows.csv" "$scratch/said" <<'END' || fail "$name: the categories are not the step, or a collective has no line"
import csv, sys
lines = open(sys.argv[2]).read().split("# by category")[1].split("\n# the instructions")[0].splitlines()[3:]
shares = [float(line.split()[-1]) for line in lines]
assert abs(sum(shares) - 100) < 0.3, lines
ici = [row for row in csv.DictReader(open(sys.argv[1])) if row["bound_by"] == "ICI"]
assert ici and all(row["source_info"].endswith(tuple("0123456789")) for row in ici if float(row["total_time_s"]) > 0), ici
END
done
