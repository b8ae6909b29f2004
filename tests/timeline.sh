#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The picture of two schedules from their traces: it is drawn, and equal traces give equal bytes.
set -euo pipefail
icisim=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for strategy in naive uni; do
    "$icisim" run "int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]" --mesh X=2,Y=4 --device-order ring --chip v5e \
        --peak int32=19.17Tflops --engine event --strategy $strategy --trace "$folder/$strategy.json" >/dev/null
done
for round in 1 2; do
    python3 analysis/timeline.py "$folder/naive.json" "$folder/uni.json" "$folder/$round" --chips 0,1
done
cmp "$folder/1.svg" "$folder/2.svg"
cmp "$folder/1.png" "$folder/2.png"
[ "$(head -c 4 "$folder/1.png" | tail -c 3)" = PNG ]
# Of a model, which layer is at work.
"$icisim" run workloads/net-fsdp-b.yaml --prefetch 1 --trace "$folder/model.json" >/dev/null
python3 analysis/timeline.py "$folder/model.json" "$folder/model"
for text in 'TPU:0  Layers' 'fwd 2' 'bwd 4' 'bwd 1'; do
    grep -qF -- ">$text<" "$folder/model.svg" || grep -qF -- "<!-- $text -->" "$folder/model.svg" || {
        echo "the picture of a model does not say '$text'"
        exit 1
    }
done
# What the picture shows, each naive row and the second row of async ops that only the overlapped schedule has.
for text in 'naive: ' 'uni: ' 'TPU:1  ICI y+ -&gt; TPU:2' 'TPU:0  Async XLA Ops (2)' 'compute waits'; do
    grep -qF -- "$text" "$folder/1.svg" || {
        echo "the picture does not say '$text'"
        exit 1
    }
done
