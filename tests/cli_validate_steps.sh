#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# icisim validate --steps: published rows are met; rows of a user's own are predictions, and what is wrong with them is said.
set -u
program=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

fail() {
    printf '%s\n' "$*"
    failed=1
}

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
