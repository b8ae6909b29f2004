#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# icisim validate --steps: published rows are met; rows of a user's own are predictions, and what is wrong with them is said.
set -u
. tests/support/begin.sh

# Writes rows under the columns that are needed, and checks them; sets out, err and status.
check() {
    {
        echo "id,run,chip,slice,measured,unit,attention"
        printf '%s\n' "$@"
    } >"$scratch/own.csv"
    out=$("$program" validate --steps "$scratch/own.csv" 2>"$scratch/err")
    status=$?
    err=$(cat "$scratch/err")
}

refused() { # message, rows
    local says=$1
    shift
    check "$@"
    [ $status -eq 2 ] && [ -z "$out" ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && [[ $err == *"$says"* ]] ||
        fail "$*: exit $status, must say '$says', says: $err"
}

# The rows that profiles were fitted on: none is out, six are steps.
out=$("$program" validate --steps analysis/published/published-steps.csv) || fail "published steps are out"
[ "$(grep -c '^steps .* fitted .*yaml' <<<"$out")" -eq 18 ] || fail "not 6 steps in 3 quantities: $out"
[ "$(grep -c '^steps .* OUT' <<<"$out")" -eq 0 ] || fail "$out"
"$program" validate --steps >"$scratch/published" || fail "no file: $(cat "$scratch/published")"
cmp -s "$scratch/published" - <<<"$out" || fail "without a file it is another one"

# What other chips' rows say of each step: within 20 %, their median within 8 %, and as much off as stands beside times of models.
"$program" validate --steps --csv "$scratch/checks.csv" >"$scratch/published" || fail "--csv"
python3 - "$scratch/checks.csv" analysis/published/step-errors.csv <<'END' || fail "analysis/published/step-errors.csv is not what validate --steps finds"
import csv, statistics, sys
found = {r["id"]: float(r["difference_frac"]) for r in csv.DictReader(open(sys.argv[1])) if r["kind"] == "left out"}
written = {r["id"]: float(r["error_frac"]) for r in csv.DictReader(l for l in open(sys.argv[2]) if l[0] != "#")}
print({row: (found[row], written.get(row)) for row in found})
off = sorted(abs(x) for x in found.values())
sys.exit(len(found) != 6 or found.keys() != written.keys() or statistics.median(off) > 0.08 or off[-1] > 0.2 or
         any(abs(found[row] - written[row]) > 1e-4 for row in found))
END

# That is said of a model on the measured profile, of its chip and of all: of v5p one row, so the median is that of all six.
python3 - "$program" analysis/published/step-errors.csv <<'END' || fail "the typical error of a step"
import csv, io, statistics, subprocess, sys
rows = list(csv.DictReader(l for l in open(sys.argv[2]) if l[0] != "#"))
run = [sys.argv[1], "run", "workloads/llama-8b.yaml", "--layers", "2", "--chip", "v5p", "--slice", "2x2x2", "--mesh", "fsdp=8"]
def cell(*more):
    out = subprocess.run([*run, *more, "--csv", "-"], capture_output=True, text=True).stdout
    return next(csv.DictReader(io.StringIO(out)))["typical_error_frac"]
median = statistics.median(abs(float(r["error_frac"])) for r in rows)
own = next(abs(float(r["error_frac"])) for r in rows if r["chip"] == "v5p")
table = subprocess.run([*run, "--profile", "measured"], capture_output=True, text=True).stdout
words = f"published steps missed by: dense, v5p: median {100 * own:.1f} %, worst {100 * own:.1f} % of 1 row; all chips: median {100 * median:.1f} %"
print(cell("--profile", "measured"), median, words, table[-600:])
sys.exit(abs(float(cell("--profile", "measured")) - median) > 1e-9 or cell("--profile", "spec") != "" or words not in table)
END

# A hidden gather costs what the chip's file says of its time: twice as much costs twice as much, and less than the gathers take.
python3 - "$program" "$scratch" <<'END' || fail "hidden collectives"
import csv, io, subprocess, sys
def cells(contention):
    with open(f"{sys.argv[2]}/chip.yaml", "w") as file:
        file.write(f"name: own\nbase: v5e\nmeasured:\n  contention: {{value: {contention}, source: s, how: h}}\n")
    out = subprocess.run([sys.argv[1], "run", "workloads/by-hand/llama-8b.yaml", "--layers", "3", "--chip", f"{sys.argv[2]}/chip.yaml",
                          "--slice", "4x4", "--mesh", "fsdp=16", "--prefetch", "1", "--profile", "measured", "--csv", "-"],
                         capture_output=True, text=True)
    row = next(csv.DictReader(io.StringIO(out.stdout)))
    return float(row["compute_s"]), float(row["comm_s"])
none, comm = cells(1e-9)
once, twice = cells(0.35)[0] - none, cells(0.7)[0] - none
print(none, comm, once, twice)
sys.exit(not (0.4 * 0.7 * comm < twice <= 0.7 * comm and abs(twice / once - 2) < 1e-5))
END

# A product of 2^39 operations on v6e by hand: 137.4e9 x 8 / (920e12 x 0.8994) = 1.32877 ms; a core of v7x has half of a chip.
check "P1,matmul 8192x8192x8192,v6e,1 chip,1.4,ms," "P2,matmul 8192x8192x8192,v7x,1 core,1.0,ms," \
    "P3,copy 33554432,v6e,1 chip,1300,GB/s,"
[ $status -eq 0 ] || fail "predictions within 15 % are in: $out $err"
[[ $out == *"1.329 ms       1.4 ms"* ]] || fail "P1: $out"
[[ $out == *"median"*"3 predicted rows"* ]] || fail "no median: $out"
check "P1,matmul 8192x8192x8192,v6e,1 chip,1.6,ms,"
[ $status -eq 1 ] && [[ $out == *OUT* ]] || fail "1.6 ms is out: $status $out"

# A step in seconds, and as MFU: with more attention counted the same MFU says more operations, and so a longer time.
check "S1,workloads/by-hand/llama-8b.yaml --layers 2 --mesh fsdp=16,v5e,4x4,50,% MFU of 197,half" \
    "S2,workloads/by-hand/llama-8b.yaml --layers 2 --mesh fsdp=16,v5e,4x4,50,% MFU of 197,full"
half=$(awk '$2 == "S1" && $4 == "ms" { print $5 }' <<<"$out")
full=$(awk '$2 == "S2" && $4 == "ms" { print $5 }' <<<"$out")
awk -v half="${half:-1}" -v full="${full:-0}" 'BEGIN { exit !(full > 1.05 * half) }' || fail "half $half, full $full: $out"

# What a step takes where products reach 0.6413 of what the compiler estimates is fitted with 0.6413.
printf 'name: own\nbase: v5e\nmeasured:\n  step_efficiency: {value: 0.6413, source: s, how: h}\n' >"$scratch/own.yaml"
time=$("$program" run workloads/by-hand/llama-8b.yaml --layers 1 --chip "$scratch/own.yaml" --slice 4x4 --mesh fsdp=16 \
    --profile measured 2>/dev/null | awk 'END { printf "%.9g", $1 / 1e6 }')
check "F1,workloads/by-hand/llama-8b.yaml --layers 1 --mesh fsdp=16,v5e,4x4,$time,s,"
[[ $(python3 analysis/fit_steps.py "$program" "$scratch/own.csv") == F1*" 0.6413 "* ]] || fail "0.6413 is not found again"

refused "own.csv:2: column 'unit': 'furlongs' is none of" "A,matmul 8x8x8,v6e,1 chip,1,furlongs,"
refused "own.csv:2: column 'measured': what was measured must be above 0" "A,matmul 8x8x8,v6e,1 chip,0,ms,"
refused "own.csv:2: unknown chip 'v9'" "A,matmul 8x8x8,v9,1 chip,1,ms,"
refused "own.csv:2: nowhere.yaml" "A,nowhere.yaml,v6e,2x4,1,s,"
# The workload file in the column workload, the mesh in that of parallelism.
printf 'id,chip,slice,parallelism,workload,measured,unit\nW1,v5e,8x8,fsdp=64,workloads/by-hand/llama-8b.yaml,1,s\n' >"$scratch/own.csv"
time=$("$program" run workloads/by-hand/llama-8b.yaml --chip v5e --slice 8x8 --mesh fsdp=64 --profile measured 2>/dev/null |
    awk 'END { printf "%.4g s", $1 }')
out=$("$program" validate --steps "$scratch/own.csv" 2>/dev/null)
[[ $out == *" $time "* ]] || fail "not $time: $out"
sed -i 's/fsdp=64/"fsdp=8,tp=8"/' "$scratch/own.csv"
[[ $("$program" validate --steps "$scratch/own.csv" 2>/dev/null) != *" $time "* ]] || fail "the mesh is not the row's"

# A mesh with a space is one, too; in words it has to be that of the run.
sed -i 's/"fsdp=8,tp=8"/"fsdp=64, tp=1"/' "$scratch/own.csv"
[[ $("$program" validate --steps "$scratch/own.csv" 2>/dev/null) == *" $time "* ]] || fail "a mesh with a space is not the row's"
parallelism() { # words, what is said of them
    printf 'id,chip,slice,parallelism,run,measured,unit\nW1,v5p,4x4x4,%s,workloads/steps/v5p-32b.yaml,9.91,s\n' "$1" >"$scratch/own.csv"
    "$program" validate --steps "$scratch/own.csv" >"$scratch/out" 2>"$scratch/err"
    grep -q "$2" "$scratch/out" "$scratch/err" || fail "$1: $(cat "$scratch/out" "$scratch/err")"
}
parallelism "fsdp=16 x tensor=4" "0 out"
parallelism "fsdp=16 x tensor=4 (a line)" "0 out"
parallelism "fsdp=64 (all of it)" "own.csv:2: column 'parallelism': fsdp=64 is not in the mesh that runs, fsdp=16,tp=4"

# A fault in a workload file is one place, not two.
printf 'model: transformer\nlayrs: 3\n' >"$scratch/bad.yaml"
check "B1,$scratch/bad.yaml,v5e,4x4,1,s,"
[ $status -eq 2 ] && [ "$(grep -o 'bad.yaml' <<<"$err" | wc -l)" -eq 1 ] || fail "places: $err"

# It ran, so it fits.
check "M1,workloads/llama-70b.yaml --mesh fsdp=4 --remat none,v5e,2x2,1,s,"
[ $status -eq 1 ] && [[ $out == *"is said not to fit the memory"* ]] || fail "70B on four chips of v5e: $out"

# Columns are as wide as the longest id.
printf 'id,chip,slice,workload,measured,unit\n%s,v6e,1 chip,matmul 8192x8192x8192,1.3,ms\nshort,v6e,1 chip,matmul 8192x8192x8192,1.3,ms\n' \
    our-own-run-of-a-product-on-one-chip >"$scratch/own.csv"
"$program" validate --steps "$scratch/own.csv" | awk '$1 == "#" && $4 ~ /simulated/ { at = index($0, "simulated") + 9 }
    $1 == "steps" && $2 != "predicted" && (substr($0, at - 2, 2) != "ms" || substr($0, at, 1) != " ") { print; bad = 1 } END { exit bad || !at }' ||
    fail "columns of a long id"

printf 'id,chip,slice,measured,unit\n' >"$scratch/own.csv"
"$program" validate --steps "$scratch/own.csv" >"$scratch/out" 2>"$scratch/err"
[ $? -eq 2 ] && [[ $(cat "$scratch/err") == *"run"* ]] || fail "a missing column: $(cat "$scratch/err")"
exit $failed
