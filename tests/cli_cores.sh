#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Two devices a chip, as users have them: loops of permutes through both devices of each chip, or beside each other, multiply
# right and take the same in both engines; so do experts whose rows differ. Times by hand are in test_cores.
set -euo pipefail
icisim=$(realpath "$1")
experts=$(realpath workloads/moe-zipf.yaml)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() {
    echo "cli_cores: $*"
    exit 1
}

# w is gathered over all devices, h by pairs over t; products of h are scattered.
cat >loops.yaml <<'END'
model: statements
statements:
  - h[64@d,48@t] = relu(x[64@d,32] . w[32@(d,t),48] . v[48,48@t])
  - y[64@d,24@t] = h . u[48@t,24]
dtype: f32
chip: v3
END
for mesh in d=8,t=1 d=4,t=2 d=2,t=4 d=1,t=8; do
    for way in uni bidi bidi-half; do
        for wrap in none all; do
            run=(loops.yaml --slice 4 --mesh "$mesh" --wrap "$wrap" --strategy "$way")
            said=$("$icisim" eval "${run[@]}") || fail "${run[*]}: $said"
            said=$("$icisim" run "${run[@]}" --engine both --check) || fail "${run[*]}: engines differ"
        done
    done
done
# loops are what is run, and their text takes as long
for mesh in d=8,t=1 d=4,t=2; do
    "$icisim" lower loops.yaml --slice 4 --mesh "$mesh" --wrap all --strategy bidi >lowered.hlo
    grep -q "collective-permute-start.*over=" lowered.hlo || fail "$mesh: no gather is a loop"
    time_us() { "$icisim" run "$@" --chip v3 --slice 4 --mesh "$mesh" --wrap all | awk 'END { print $1 }'; }
    model=$(time_us loops.yaml --strategy bidi) text=$(time_us lowered.hlo)
    [ "$model" = "$text" ] || fail "$mesh: $model us, but what is printed takes $text"
done

for draw in 'draw: even' 'draw: zipf, exponent: 0.7, seed: 5' 'draw: hot, share: 0.5'; do
    sed -e "s/^routing:.*/routing: {$draw}/" -e 's/^experts:.*/experts: 16/' -e 's/^tokens:.*/tokens: 40/' "$experts" >drawn.yaml
    for mesh in ep=16 dp=2,ep=8 ep=8,dp=2; do
        "$icisim" run drawn.yaml --chip v3 --slice 2x4 --mesh "$mesh" --engine both --check >/dev/null || fail "$draw: engines differ on $mesh"
    done
done

# Which axis has the devices of a chip can be said: by default it is the last one that they divide; a search tries each.
row() {
    "$icisim" run loops.yaml --slice 4 --mesh "$1" --csv - | python3 -c '
import csv, sys
print([v for k, v in next(csv.DictReader(sys.stdin)).items() if k not in ("mesh", "command")])'
}
[ "$(row d=4,t=2)" = "$(row d=x,t=cores)" ] || fail 'd=x,t=cores is not d=4,t=2'
[ "$(row d=8,t=1)" = "$(row 'd=x*cores,t=1')" ] || fail 'd=x*cores is not d=8'
[ "$(row d=4,t=2)" != "$(row 'd=x:2*cores,t=x:2')" ] || fail 't on two chips is t on one'
said=$("$icisim" sweep loops.yaml --slice 4 --mesh 'd=?,t=?' 2>/dev/null)
for laid in 'd on x\*cores' 't on cores' 't on x\*cores' 'd on x:2\*cores, t on x:2'; do
    grep -q "$laid" <<<"$said" || fail "no mesh has $laid: $said"
done
[ "$(grep -c 'd=[0-9]*,t=[0-9]\|t=[0-9]*,d=[0-9]' <<<"$said")" = 8 ] || fail "not 8 meshes: $said"
refuse() {
    local want=$1 status=0
    shift
    said=$("$icisim" run "$@" 2>&1) || status=$?
    [[ "$status" = 2 && "$said" == *"$want"* ]] || fail "$*: exit $status, must say $want: $said"
}
refuse 'a chip is one device; leave cores out' loops.yaml --chip v5p --slice 2x2x1 --mesh 'd=x*y*cores,t=1'
refuse '--root 8: a group has 8 chips' broadcast --chip v7x --slice 2x2x1 --size 1MiB --mesh 'a=x*y*cores' --root 8
refuse 'is neither a size nor axes of the slice' loops.yaml --slice 4 --mesh 'd=x*cores,t=cores'

# Collectives and products. V = 64 MiB, w = 90 GB/s, hops of 1 us, the joint 1.2 TB/s each way: chips of 2x2 gather on two lines of two,
# all links at once: two steps, V/(4 w) in each direction of x, and V/2 by the others in the second step. Then each device needs the half
# that has come to the other one.
time_s() { "$icisim" run "$@" --csv - 2>/dev/null | python3 -c 'import csv, sys; print(next(csv.DictReader(sys.stdin))["time_s"])'; }
takes() {
    local want=$1 got
    shift
    got=$(time_s "$@" --engine both)
    awk -v got="$got" -v want="$want" 'BEGIN { exit !(want > 0 && got / want < 1 + 1e-6 && got / want > 1 - 1e-6) }' ||
        fail "$*: $got s, not $want"
}
v7x=(--chip v7x --slice 2x2x1)
of_chips=281.620266667e-6 # 2 us + V/2 (1/2 + 1) / 2 / w
joint=27.962026667e-6     # V/2 / 1.2 TB/s
sum() { awk "BEGIN { printf \"%.12g\", $1 }"; }
takes "$of_chips" all-gather "${v7x[@]}" --mesh 'a=x*y' --size 64MiB
takes "$(sum "$of_chips + $joint")" all-gather "${v7x[@]}" --mesh 'a=x*y*cores' --size 64MiB
takes "$(sum "$of_chips + $joint")" all-gather "${v7x[@]}" --mesh a=8 --size 64MiB
takes "$(sum "$of_chips + $joint")" reduce-scatter "${v7x[@]}" --mesh 'a=x*y*cores' --size 64MiB
takes "$(sum "2 * ($of_chips + $joint)")" all-reduce "${v7x[@]}" --mesh 'a=x*y*cores' --size 64MiB
# a device of each chip: two at once, twice the bytes; the two of a chip: no link
takes "$(sum "2 * $of_chips - 2e-6")" all-gather "${v7x[@]}" --mesh 'a=x*y,b=cores' --axis a --size 64MiB
takes "$joint" all-gather "${v7x[@]}" --mesh 'a=x*y,b=cores' --axis b --size 64MiB
takes "$joint" all-gather "${v7x[@]}" --mesh a=8 --size 64MiB --groups '[[0,1],[2,3],[4,5],[6,7]]'
# a broadcast from device 5 of four chips in a line: as from chip 2, and the joint; in HLO from the first device of its group
of_chips=$(time_s broadcast --chip v7x --slice 4x1x1 --mesh a=x --size 64MiB --root 2)
takes "$(sum "$of_chips + $joint")" broadcast --chip v7x --slice 4x1x1 --mesh 'a=x*cores' --size 64MiB --root 5
cat >from_2.hlo <<'END'
HloModule from_2, replica_count=8, is_scheduled=true

ENTRY main {
  p = f32[1048576] parameter(0)
  ROOT c = f32[1048576] collective-broadcast(p), replica_groups={{2,0,1,3,4,5,6,7}}
}
END
from_2=$(time_s broadcast --chip v5e --slice 8 --wrap none --size 4MiB --root 2)
[ "$from_2" != "$(time_s broadcast --chip v5e --slice 8 --wrap none --size 4MiB)" ] || fail 'a root does not count'
takes "$from_2" from_2.hlo --chip v5e --slice 8 --wrap none --profile spec
# each to the next: one of a chip over the joint, V / 1.2 TB/s, one over a link, V / w
takes 746.654044444e-6 collective-permute "${v7x[@]}" --mesh 'a=x*y,b=cores' --axis a,b --size 64MiB --pairs 0-1,1-2
takes 55.924053333e-6 collective-permute "${v7x[@]}" --mesh 'a=x*y,b=cores' --axis b --size 64MiB
# v3 has no joint of its own: the cores meet in HBM, 900 GB/s, which reads and writes what goes either way
takes 149.130808889e-6 all-gather --chip v3 --slice 4 --mesh 'd=x,t=cores' --axis t --size 64MiB
# 8192 x 512 x 8192 on each of 8 devices of half the peak, then V = 128 MiB of sums scattered: as the collective alone
products=$(sum "2 * 8192 * 512 * 8192 / 1150e12")
of_sums=$(time_s reduce-scatter "${v7x[@]}" --mesh 'a=x*y*cores' --size 128MiB)
takes "$(sum "$products + $of_sums")" 'bf16[8192,4096@a] . bf16[4096@a,8192] -> bf16[8192@a,8192]' "${v7x[@]}" --mesh 'a=x*y*cores' --strategy naive --plan textbook
