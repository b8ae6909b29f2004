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

matmul=('int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]' --mesh X=2,Y=4 --chip v5e
    --profile measured)
"$icisim" sweep "${matmul[@]}" --strategy naive,uni,bidi,bidi-half --csv "$folder/overlap.csv"
draw overlap_bars overlap

for strategy in naive uni; do
    "$icisim" run "${matmul[@]}" --strategy $strategy --trace "$folder/$strategy.json" >/dev/null
done
python3 timeline.py "$folder/naive.json" "$folder/uni.json" "$folder/timeline" --chips 0,1

"$icisim" validate --published --csv "$folder/measured.csv" >/dev/null
draw simulated_measured measured

"$icisim" run ../workloads/moe-zipf.yaml --draws 50 --csv "$folder/draws.csv" >/dev/null
draw draw_histogram draws "Tokens to 64 experts by Zipf's law"

"$icisim" run all-to-all --chip v5e --slice 8x8 --size 64MiB --links "$folder/links.csv" >/dev/null
draw link_map links "all-to-all of 64 MiB on v5e 8x8"
