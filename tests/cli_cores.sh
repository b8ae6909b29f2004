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
refuse 'only models are run on devices of chips; leave cores out' all-gather --chip v3 --slice 4 --size 1MiB --mesh 'd=x*cores'
refuse 'is neither a size nor axes of the slice' loops.yaml --slice 4 --mesh 'd=x*cores,t=cores'
