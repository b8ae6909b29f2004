#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What gcc and clang make of the sources with -O0 and with -O3 writes the same CSVs, byte by byte: `./dev compilers`.
# The argument is the folder in which the four are built.
set -euo pipefail
shopt -s inherit_errexit
source=$PWD
mkdir -p "$1"
built=$(realpath "$1")

make() { # COMPILER LEVEL FOLDER
    local log
    log=$(cmake -S . -B "$3" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER="$1" -DCMAKE_C_FLAGS="$2" 2>&1 &&
        cmake --build "$3" --target icisim icisim_simgrid 2>&1) || {
        printf '%s\n' "$log"
        exit 1
    }
}

commands() {
    cat <<END
sweep all-gather reduce-scatter all-reduce all-to-all --chip v5e,v4 --slice 4x4,3x5 --size 1KiB:7MiB:x3 --ring uni,bidi-half --engine event,simgrid
sweep collective-permute broadcast --chip v5p --profile measured --slice 4x4x4 --size 1KiB:7MiB:x5 --axis x,y --engine event
sweep all-reduce --slice 8x8 --size 3MiB --hop-latency 0.37us:2.11us:+0.29us --link 2,1:x=0.37
sweep $source/workloads/transformer-block.yaml --ring uni,bidi,bidi-half --engine event,simgrid
sweep $source/workloads/net-fsdp-b.yaml --prefetch 0,1,2 --remat none,full
sweep $source/workloads/by-hand/llama-8b.yaml --chip v5p --slice 4x4x4 --mesh fsdp=64 --tokens-per-chip 4096,8192 --layers 2
run $source/workloads/moe-zipf.yaml
run $source/workloads/distillation.yaml --in-flight 1,2,3
run $source/tests/golden/hlo/3_while.hlo --slice 4
run ragged-all-to-all --slice 4x4 --size 3MiB --pair-sizes uniform --tolerance 1e-2
fit $source/tests/golden/measured.csv --chip v5e --slice 4x4 --axis x --predict 1MiB
validate --published
END
}

write() { # FOLDER: a CSV for each command
    local n=0 words
    while read -ra words; do
        n=$((n + 1))
        "$1/icisim" "${words[@]}" --csv "$1/$n.csv" >/dev/null
        [ "$(wc -l <"$1/$n.csv")" -ge 2 ]
    done < <(commands)
    echo "$n"
}

differ=0
for compiler in gcc clang; do
    for level in -O0 -O3; do
        folder=$built/$compiler$level
        make "$compiler" "$level" "$folder"
        files=$(write "$folder")
        for ((n = 1; n <= files; n++)); do
            cmp "$built/gcc-O0/$n.csv" "$folder/$n.csv" || differ=1
        done
        echo "compilers: $("$folder/icisim" --version | grep -o 'compiler.*') $level: $files CSVs," \
            "$(cat "$folder"/*.csv | wc -l) lines, $(cat "$folder"/*.csv | wc -c) bytes"
    done
done
exit $differ
