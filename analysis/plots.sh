#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# All pictures from fresh simulations: plots.sh ICISIM FOLDER
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
icisim=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")"

# draw SCRIPT NAME [ARGUMENT ...]: FOLDER/NAME.csv becomes FOLDER/NAME.png and .svg
draw() {
    python3 "$1.py" "$folder/$2.csv" "$folder/$2" "${@:3}"
}

"$icisim" sweep all-gather --chip v5e --slice 16x16 --axis x --size 4KiB:1GiB:x2 --ring uni,bidi,bidi-half \
    --engine event --csv "$folder/rings.csv"
draw latency_bandwidth rings

"$icisim" sweep all-reduce --chip v5e --size 64MiB --ring bidi-half --engine event --csv "$folder/shapes.csv" \
    --slice 2x2,2x4,2x8,2x16,4x2,4x4,4x8,4x16,8x2,8x4,8x8,8x16,16x2,16x4,16x8,16x16
draw shape_heatmap shapes

matmul=('int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]' --mesh X=2,Y=4 --device-order ring --chip v5e
    --profile measured)
"$icisim" sweep "${matmul[@]}" --strategy naive,uni,bidi,bidi-half --csv "$folder/overlap.csv"
draw overlap_bars overlap

for strategy in naive uni; do
    "$icisim" run "${matmul[@]}" --strategy $strategy --trace "$folder/$strategy.json" >/dev/null
done
python3 timeline.py "$folder/naive.json" "$folder/uni.json" "$folder/timeline" --chips 0,1

"$icisim" run ../workloads/compiled/ring.hlo --chip v6e --slice 2x4 --unroll --trace "$folder/compiled.json" >/dev/null
python3 timeline.py "$folder/compiled.json" "$folder/compiled" --chips 3

"$icisim" validate --published --csv "$folder/measured.csv" >/dev/null
draw simulated_measured measured

"$icisim" run ../workloads/moe-zipf.yaml --draws 50 --csv "$folder/draws.csv" >/dev/null
draw draw_histogram draws "Tokens to 64 experts by Zipf's law"

"$icisim" run all-to-all --chip v5e --slice 8x8 --size 64MiB --links "$folder/links.csv" >/dev/null
draw link_map links "all-to-all of 64 MiB on v5e 8x8"

# rows NAME ARGUMENT ...: appends what a run has, with its names if it is the first, to FOLDER/NAME.csv
rows() {
    "$icisim" run "${@:2}" --csv - 2>/dev/null | if [ -s "$folder/$1.csv" ]; then tail -n +2; else cat; fi >>"$folder/$1.csv"
}
rm -f "$folder"/{steps,weak,wide}.csv
for step in v3-gptj-6b v4-22b v5e-32b v5p-32b v6e-llama-8b v7x-llama-70b; do
    rows steps ../workloads/steps/$step.yaml
done
draw waterfall steps

for slice in 2x4 4x4 4x8 8x8 8x16 16x16; do
    rows weak ../workloads/steps/v6e-llama-8b.yaml --slice $slice --mesh fsdp=$((${slice/x/*}))
done
draw step_ratios weak chips

"$icisim" sweep ../workloads/steps/v6e-llama-8b.yaml --tokens-per-chip 8192,16384,32768 --csv "$folder/batch.csv" 2>/dev/null
draw step_ratios batch tokens

"$icisim" sweep ../workloads/by-hand/llama-8b.yaml --chip v5p --chips 16 --mesh all --top 3 --csv "$folder/search.csv" >/dev/null 2>&1
./best_meshes.sh "$folder/search.csv" 4096,8192,16384 "$icisim" >"$folder/tokens.csv"
draw step_tokens tokens

for tp in 8 16 32; do
    rows wide ../workloads/steps/v5p-32b.yaml --slice 4x4x8 --mesh fsdp=$((128 / tp)),tp=$tp
done
draw step_ratios wide mesh
