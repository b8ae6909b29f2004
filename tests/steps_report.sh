#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Training steps as measured ones are run: what is told of them. Weak scaling of FSDP is flat; the parts of a step are the step.
set -u
program=$(realpath "$1")
failed=0

fail() {
    printf '%s\n' "$*"
    failed=1
}

# 3 x 8192 tokens a chip of v6e on 8 to 256 chips: within 3 % of one another, and gathers are hidden.
least=1e9 most=0
for place in "8 2x4" "16 4x4" "32 4x8" "64 8x8" "128 8x16" "256 16x16"; do
    read -r chips slice <<<"$place"
    out=$("$program" run workloads/steps/v6e-llama-8b.yaml --mesh "fsdp=$chips" --slice "$slice" 2>/dev/null)
    time=$(awk 'END { print $1 }' <<<"$out")
    least=$(awk -v a="$least" -v b="$time" 'BEGIN { print (b < a ? b : a) }')
    most=$(awk -v a="$most" -v b="$time" 'BEGIN { print (b > a ? b : a) }')
    awk '$1 == "all-gather" && $2 == "fsdp" && $8 == "products" && $6 / $5 > 0.95 { found = 1 } END { exit !found }' \
        <<<"$out" || fail "$chips chips: gathers are not hidden behind products: $out"
done
awk -v least="$least" -v most="$most" 'BEGIN { exit !(most > 3e6 && most < 1.03 * least) }' ||
    fail "steps take $least to $most us"

# Parts add up to the step; each product is the model's, or done besides, or slower than the peak.
for workload in v5p-32b v3-gptj-6b v4-22b; do
    csv=$("$program" run "workloads/steps/$workload.yaml" --csv - 2>/dev/null) || fail "$workload does not run"
    time=$(python3 -c '
import csv, sys
row = next(csv.DictReader(sys.stdin))
parts = {k: float(v) for k, v in (part.rsplit("=", 1) for part in row["spent"].split())}
time, mfu = float(row["time_s"]), float(row["mfu_frac"])
good = abs(sum(parts.values()) / time - 1) < 1e-3 and abs(parts["model"] / time / mfu - 1) < 1e-5
good &= all(seconds > -1e-6 for seconds in parts.values()) and parts["below_peak"] > 0 and parts["others"] > 0
print("good" if good else (row["spent"], time, mfu))' <<<"$csv")
    [ "$time" = good ] || fail "$workload: $time"
done

# Half of the peak for products is as much below the peak as they take at it.
spent() {
    "$program" run workloads/steps/v5e-32b.yaml --matmul-efficiency "$1" --launch-overhead 0s --csv - 2>/dev/null |
        grep -o 'model=[^ ]* beyond=[^ ]* below_peak=[^ ]*'
}
[[ $(spent 1) == *below_peak=0 ]] || fail "products at the peak: $(spent 1)"
spent 0.5 | tr '=' ' ' | awk '{ off = ($2 + $4) / $6 - 1 } END { exit !(off < 1e-4 && off > -1e-4) }' ||
    fail "products at half of it: $(spent 0.5)"

# What is element by element runs with what reads it unless it is asked not to; where it takes no time, that changes nothing.
others() {
    "$program" run workloads/steps/v5p-32b.yaml --csv - "$@" 2>/dev/null | grep -o ' others=[^ "]*' | cut -d= -f2
}
fused=$(others) apart=$(others --fuse off) none=$(others --elementwise off)
awk -v a="$fused" -v b="$apart" -v c="$none" 'BEGIN { exit !(c == 0 && a > 0.1 && b > 2 * a) }' ||
    fail "others take $fused s, $apart with --fuse off, $none with --elementwise off"
[ "$("$program" lower workloads/llama-8b.yaml --layers 1)" = "$("$program" lower workloads/llama-8b.yaml --layers 1 --fuse off)" ] ||
    fail "--fuse changes a step in which only products take time"
exit $failed
