#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# icisim lower: what it prints reads back as the same text, and takes the same time to the bit.
set -euo pipefail
icisim=$(realpath "$1")
cd tests/golden/hlo
fail() {
    echo "cli_lower: $*"
    exit 1
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The rows of a file with all but the columns that name the file, and the axes of what is exposed: text does not say along which
# permutes move something.
row() {
    "$icisim" run "$@" --chip round.yaml --wrap all --csv - >"$scratch/row.csv" || fail "$* fails"
    python3 -c '
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    print(*(f"{k}={v}" for k, v in row.items() if k not in ("op", "command", "strategy", "varied", "exposed_axes", "mesh", "rings")))' "$scratch/row.csv"
}
for file in *.hlo; do
    options=(--slice 4)
    [ "$file" != 4_groups.hlo ] || options=(--slice 4x4)
    ! grep -q ragged-all-to-all "$file" || options+=(--ragged uniform)
    "$icisim" lower "$file" >"$scratch/lowered.hlo" || fail "$file"
    "$icisim" lower - <"$scratch/lowered.hlo" >"$scratch/again.hlo" || fail "the text of $file"
    cmp "$scratch/lowered.hlo" "$scratch/again.hlo" || fail "$file: the second text is another"
    [ "$(row "$file" "${options[@]}")" = "$(row "$scratch/lowered.hlo" "${options[@]}")" ] ||
        fail "$file: what is printed takes another time"
done
"$icisim" lower 7_reduce_scatter.hlo | grep -q '%c = f32\[1024,1024\]{1,0} reduce-scatter(%h), dimensions={0}' ||
    fail "a reduce-scatter in disguise"
"$icisim" lower 7_reduce_scatter.hlo --as-written | grep -q '%c = f32\[1024,1024\]{1,0} dynamic-slice(%r, %at, %zero)' ||
    fail "--as-written"

# under the sanitizers fewer of them: other strategies take the same ways through reader and printer
strategies=(naive uni bidi bidi-half) nets=(../../../workloads/net-*.yaml)
. ../../support/sanitized.sh
if sanitized "$icisim"; then
    strategies=(naive bidi-half) nets=("${nets[@]:0:2}")
fi

# products: as their notation runs, and as loops; on a line some devices do what others do not
for workload in ../../../workloads/{matmul-course,down-projection,transformer-block,fsdp-tp-scatter}.yaml; do
    for strategy in "${strategies[@]}"; do
        "$icisim" lower "$workload" --strategy $strategy >"$scratch/lowered.hlo" || fail "$workload"
        "$icisim" lower "$scratch/lowered.hlo" | cmp - "$scratch/lowered.hlo" || fail "$workload: the second text is another"
        mesh=$(sed -n 's/^mesh: "\(.*\)"$/\1/p' "$workload") order=$(sed -n 's/^device-order: /--device-order /p' "$workload")
        time_of() { "$icisim" run "$@" --chip v5e --profile measured --engine event --csv - | tail -n 1 | python3 -c 'import csv, sys; print(next(csv.reader(sys.stdin))[12])'; }
        notation=$(time_of "$workload" --strategy $strategy) || fail "$workload, $strategy"
        text=$(time_of "$scratch/lowered.hlo" --mesh "$mesh" $order) || fail "$workload, $strategy: what is printed"
        [ "$notation" = "$text" ] || fail "$workload, $strategy: $notation s, but what is printed takes $text s"
    done
done

# the steps of the course's five set-ups, as they are and in loops; on a line some devices do what others do not
for workload in "${nets[@]}"; do
    for options in '--slice 4x2' '--slice 8 --allow-split-physical-axes --strategy bidi --prefetch 2' '--slice 4x2 --strategy bidi-half'; do
        "$icisim" lower "$workload" $options --chip round.yaml --wrap all >"$scratch/lowered.hlo" || fail "$workload"
        "$icisim" lower "$scratch/lowered.hlo" | cmp - "$scratch/lowered.hlo" || fail "$workload: the second text is another"
        [ "$(row "$workload" $options)" = "$(row "$scratch/lowered.hlo" ${options% --strategy*})" ] ||
            fail "$workload $options: what is printed takes another time"
    done
done

# a step of a transformer by what was measured: products are those of a step in its text, too
"$icisim" lower ../../../workloads/steps/v5e-32b.yaml --layers 2 >"$scratch/lowered.hlo"
model=$(time_of ../../../workloads/steps/v5e-32b.yaml --layers 2)
text=$(time_of "$scratch/lowered.hlo" --slice 16x16 --mesh fsdp=256)
[ "$model" = "$text" ] || fail "two layers of a step: $model s, but what is printed takes $text s"

# Where the chip's SparseCores carry collectives, the text says so.
"$icisim" lower ../../../workloads/by-hand/llama-8b.yaml --chip v7x --slice 2x2x1 --mesh fsdp=8 --prefetch 1 --layers 2 >"$scratch/lowered.hlo"
grep -q 'all-gather-start(.*queue="sparsecore"' "$scratch/lowered.hlo" || fail 'no queue in the text of v7x'
"$icisim" lower ../../../workloads/by-hand/llama-8b.yaml --chip v7x --slice 2x2x1 --mesh fsdp=8 --prefetch 1 --layers 2 --async permutes >"$scratch/lowered.hlo"
grep -q -e '-start(' "$scratch/lowered.hlo" && fail 'asynchronous collectives with --async permutes'

# all models: what is printed reads back as the same text
grep -l '^model:' ../../../workloads/*.yaml | while read -r workload; do
    options=(--strategy bidi-half)
    grep -q '^model: transformer' "$workload" && options+=(--layers 4) # three of DeepSeek's are dense
    "$icisim" lower "$workload" "${options[@]}" >"$scratch/lowered.hlo" || fail "$workload"
    "$icisim" lower "$scratch/lowered.hlo" | cmp - "$scratch/lowered.hlo" || fail "$workload: the second text is another"
done

# What passes add to an overlapped transformer has names of its own, so that its text can be read.
"$icisim" lower ../../../workloads/by-hand/llama-8b.yaml --chip v5p --slice 2x2x4 --mesh fsdp=4,tp=4 --strategy bidi --layers 2 >"$scratch/lowered.hlo"
"$icisim" lower "$scratch/lowered.hlo" | cmp - "$scratch/lowered.hlo" || fail 'an overlapped transformer cannot be read'

# refusals: one line with the cure, status 2
refuse() {
    local want=$1 said
    shift
    said=$("$icisim" lower "$@" 2>&1 >/dev/null) && fail "$* is not refused"
    [ "$(wc -l <<<"$said")" = 1 ] && grep -qF -- "$want" <<<"$said" || fail "$*: says '$said', not '$want'"
}
refuse "'all-gather' is no module; give HLO text" all-gather
refuse 'lower prints one module; these are 2' 1_ag_dot.hlo 2_async_pair.hlo
refuse "there is no while 'w.1'" 1_ag_dot.hlo --trip-count w.1=3
refuse "lower has no option '--size'" 1_ag_dot.hlo --size 4
sed '$d' 1_ag_dot.hlo >"$scratch/cut.hlo"
refuse 'ENTRY is cut; the file ends at line 11' "$scratch/cut.hlo"
