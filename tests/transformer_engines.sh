#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Four layers of a transformer's block, narrow for the reference engine's sake, under each parallelism: both engines agree to 1e-9.
set -euo pipefail
icisim=$1
. tests/support/sanitized.sh
skip_sanitized "$icisim" 'minutes under the sanitizers; test_lower has both engines, too'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sed -e 's/8192/512/;s/28672/1792/;s/heads: 64/heads: 16/;s/head-dim: 128/head-dim: 32/;s/sequence: 4096/sequence: 256/' \
    workloads/by-hand/llama-70b.yaml >"$scratch/small.yaml"
agree() {
    "$icisim" run "$scratch/small.yaml" --layers 4 --slice 4x4x4 --tokens-per-chip 256 --prefetch 1 --engine both --time-limit 1000s --csv - "$@" |
        grep ,both, >/dev/null || { echo "engines: $*"; exit 1; }
}
agree --mesh dp=64 --ring uni
agree --mesh fsdp=64 --ring uni
agree --mesh 'fsdp=x*y,tp=z' --strategy bidi
agree --mesh 'tp=x*y,dp=z' --ring bidi
agree --mesh 'dp=x,fsdp=y,tp=z' --remat full
echo 'moe: {experts: 16, top-k: 2, capacity-factor: 1, every: 2, routing: {draw: zipf, exponent: 0.5, seed: 3}}' >>"$scratch/small.yaml"
agree --mesh 'fsdp=x,ep=y,tp=z'
agree --mesh 'fsdp=x,ep=y*z' --remat full --chunks 3
