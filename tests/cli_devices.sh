#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Two devices a chip, as users have them: loops of permutes through both devices of each chip, or beside each other, multiply
# right and take the same in both engines; so do experts whose rows differ. Times by hand are in test_devices.
set -euo pipefail
icisim=$(realpath "$1")
experts=$(realpath workloads/moe-zipf.yaml)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() {
    echo "cli_devices: $*"
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
for draw in 'draw: even' 'draw: zipf, exponent: 0.7, seed: 5' 'draw: hot, share: 0.5'; do
    sed -e "s/^routing:.*/routing: {$draw}/" -e 's/^experts:.*/experts: 16/' -e 's/^tokens:.*/tokens: 40/' "$experts" >drawn.yaml
    for mesh in ep=16 dp=2,ep=8 ep=8,dp=2; do
        "$icisim" run drawn.yaml --chip v3 --slice 2x4 --mesh "$mesh" --engine both --check >/dev/null || fail "$draw: engines differ on $mesh"
    done
done
