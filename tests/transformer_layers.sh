#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A transformer of which a few layers are built, and stand for the others, takes what one takes that is built in full: every
# number of its row to 1e-9, and what is said of phases, layers and collectives to the last digit. Where layers are
# not quite alike, its time is off by 0.1 % at most, as the row says; its own figure is no bound, as contention makes more of
# every difference.
set -euo pipefail
icisim=$1
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# What the tables say that do not name single instructions, in any order: what takes as long may change places.
tables() {
    sed -n '/by phase/,/instructions that/{/instructions that/!p}' "$1" | sed 's/, as between .*//' | sort
}
same() {
    "$icisim" run workloads/by-hand/llama-70b.yaml --ring bidi "$@" --csv "$scratch/few.csv" >"$scratch/few" 2>/dev/null
    "$icisim" run workloads/by-hand/llama-70b.yaml --ring bidi "$@" --unroll --csv "$scratch/all.csv" >"$scratch/all" 2>/dev/null
    python3 - "$scratch/few.csv" "$scratch/all.csv" <<'PY' || { echo "rows differ: $*"; failed=1; }
import csv, sys
def words(text):  # "model=0.5 rest=1e-16": the numbers to 1e-9
    return [(name, round(float(value or 0), 9)) for name, _, value in (word.partition("=") for word in text.split())]
few, every = (next(csv.DictReader(open(name))) for name in sys.argv[1:])
for name in few:
    try:
        a, b = float(few[name]), float(every[name])
        same = abs(a - b) <= 1e-9 * abs(b) + (1e-9 if name == "overlap_frac" else 0)
    except ValueError:
        same = few[name] == every[name] or name in ("varied", "command")
    same = same or (name == "spent" and words(few[name]) == words(every[name]))
    same = same or (name == "steps" and "prefetch=3" in few["varied"])  # lower_more_steps()
    if not same:
        sys.exit(f"{name}: {few[name]}, all layers: {every[name]}")
PY
    diff <(tables "$scratch/few") <(tables "$scratch/all") >"$scratch/diff" || { echo "tables differ: $*"; cat "$scratch/diff"; failed=1; }
    built=$(sed -n 's/.*instructions that take longest, of \([0-9]*\) .*/\1/p' "$scratch/few")
    full=$(sed -n 's/.*instructions that take longest, of \([0-9]*\) .*/\1/p' "$scratch/all")
}
fewer() { # than all layers are enough
    same "$@"
    [ "$built" -lt "$full" ] || { echo "all layers are built: $*"; failed=1; }
}

# near WORKLOAD ...: layers that differ; bytes on the links are those of all, and computes but for contention, which is part of them and
# may be $contention of them off
near() {
    "$icisim" run "$@" --csv "$scratch/few.csv" >"$scratch/few" 2>/dev/null
    "$icisim" run "$@" --unroll --csv "$scratch/all.csv" >/dev/null 2>&1
    grep -q '^# layers that are not simulated' "$scratch/few" || { echo "no word of it: $*"; failed=1; }
    python3 - "$scratch/few.csv" "$scratch/all.csv" "${contention:-0}" <<'PY' || { echo "rows differ: $*"; failed=1; }
import csv, sys
few, every = (next(csv.DictReader(open(name))) for name in sys.argv[1:3])
off, said = abs(float(few["time_s"]) / float(every["time_s"]) - 1), float(few["left_out_frac"])
off_comm = abs(float(few["comm_s"]) / float(every["comm_s"]) - 1)
if not max(off, said) <= 1e-3 or off_comm > 1e-3 or every["left_out_frac"] or \
        few["link_bytes"] != every["link_bytes"] or \
        abs(float(few["compute_s"]) / float(every["compute_s"]) - 1) > float(sys.argv[3]):
    sys.exit(f"off by {off}, said {said}, {off_comm}: {few}")
PY
}
near workloads/llama-70b.yaml --slice 4x4x4 --mesh 'dp=x:2,fsdp=x:2*y,tp=z' --strategy bidi --loop xla # hops differ
near workloads/llama-70b.yaml --slice 4x4x4 --mesh 'dp=x:2,fsdp=y*z:2,tp=x:2*z:2' --strategy bidi --loop xla
# layers that differ by 1 %, about a mean that stays: four of ten stand for 70 others
near workloads/llama-70b.yaml --slice 4x4x4 --mesh 'dp=x:2,fsdp=x:2*y*z:2,tp=z:2' --strategy bidi --loop xla
grep -q '^ *fwd *25 to 42 ' "$scratch/few" || { echo "other layers stand:"; grep fwd "$scratch/few"; failed=1; }

fewer --slice 4x4x4 --mesh fsdp=64 --prefetch 1
fewer --slice 4x4x4 --mesh fsdp=64 --prefetch 0 --tokens-per-chip 8192 --remat full
fewer --slice 8x8x8 --mesh 'fsdp=x*y,tp=z' --tokens-per-chip 2048 --prefetch 1
fewer --slice 8x8x8 --mesh 'fsdp=x*y,tp=z' --tokens-per-chip 2048 --prefetch 1 --strategy bidi
fewer --slice 4x4x8 --mesh 'dp=x,fsdp=y,tp=z' --tokens-per-chip 2048 --prefetch 3 --remat products --micro-batches 2
fewer --slice 4x4x8 --mesh 'fsdp=x*y,tp=z' --tokens-per-chip 1024 --layers 33 --loop xla --strategy uni
fewer --slice 8x8 --mesh 'fsdp=x,tp=y' --wrap none --layers 37 --elementwise on --head on
# the last layer's updates hide the sum of the embedding's gradient, if there are enough of them
contention=3e-5 near workloads/by-hand/llama-70b.yaml --ring bidi --slice 8x8x8 --mesh 'fsdp=x*y,tp=z' --tokens-per-chip 2048 --prefetch 1 \
    --elementwise on --head on
# of the collectives alone, with updates that take no time, a few layers are enough
contention=1e-4 near workloads/llama-70b.yaml --slice 4x8x8 --mesh 'fsdp=x*y:4*z:4,tp=y:2*z:2' --remat full --prefetch 1
built=$(sed -n 's/.*instructions that take longest, of \([0-9]*\) .*/\1/p' "$scratch/few")
[ "$built" -lt 2000 ] || { echo "all layers are built: $built instructions"; failed=1; }
# gathers and sums that take a little longer than what they hide behind use up what was ahead: from layer 16 on layers take longer
near workloads/by-hand/llama-70b.yaml --ring bidi --slice 4x28 --mesh 'fsdp=y,dp=x' --prefetch 4 --layers 48 \
    --link-bandwidth 98GB/s
# as many layers as are built at first, one more, and one less
counts='4 5 6 7 8 9'
. tests/support/sanitized.sh
if sanitized "$icisim"; then # no other ways through the program
    counts='6 7'
fi
for layers in $counts; do
    same --slice 4x4 --mesh 'fsdp=x,tp=y' --layers "$layers" --prefetch 1
    same --slice 4x4 --mesh 'fsdp=x,tp=y' --layers "$layers" --prefetch 0
done
exit $failed
