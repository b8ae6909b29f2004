#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The column `command` of a CSV holds what gives its row again: 200 rows and more, of sweeps over all kinds of options, are
# each run once more by themselves, and must be the same but for the speed-up, which compares rows.
set -euo pipefail
. tests/support/sanitized.sh
every=1
! sanitized "$1" || every=3 # there one row of three is run again
program=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r workloads topologies "$scratch"
cd "$scratch"
printf 'from,to,size_bytes\n0,1,64\n3,2,640\n' >'pairs of mine.csv'

sweep() {
    "$program" sweep "$@" --csv "$((++sweeps)).csv" 2>/dev/null
}
sweeps=0
sweep all-gather reduce-scatter all-reduce --chip v5e,v4 --profile spec,measured --slice 4x4,2x8,4x4x4 \
    --size 3kB,5MiB --ring uni,bidi-half --hop-latency 0.7us
sweep all-gather --slice 8x4 --wrap none --wrap x --axis x --axis y,x --size 1MiB:16MiB:x4 --dtype f32,int8 \
    --link-bandwidth 38.5GBps,50GBps
sweep all-gather --slice 4x4 --groups '{{0,1,2,3},{4,5,6,7},{8,9,10,11},{12,13,14,15}}' --groups '[8,2]<=[2,8]T(1,0)' \
    --size 96KiB --ring uni,bidi
sweep all-gather --chips 16 --slice all --mesh 'dp=?,tp=?' --axis tp --size 96KiB
sweep all-to-all --slice 4x4 --mesh dp=4,tp=4 --axis tp --all-to-all direct,ring --size 1MiB --keep-ties
sweep ppermute --slice 4x4 --pairs 0-1,1-0,7-12 --pairs 3-15 --routes 1,2 --size 3kB --engine event --fold off
sweep ring_shift --slice 4x4 --offset -3,2 --size 3kB --engine event,simgrid
sweep broadcast --slice 4x4 --root 3,14 --size 3kB --check
sweep ragged_all_to_all --slice 2x2 --pair-sizes random:7 --pair-sizes 'pairs of mine.csv' --size 704B --dtype int8
sweep 'In[B@X,D@Y] . W[D,F@Y]' --dims 'B=64,D=32,F=48' --dims 'B=128,D=64,F=96' --mesh X=2,Y=4 --strategy naive,uni,auto \
    --peak bf16=19.17Tflops --matmul-efficiency 0.83 --launch-overhead 2.385us --mxu-padding --dtype bf16
sweep workloads/fsdp-tp-scatter.yaml --chip ./topologies/v4.yaml --slice 2x2x2 --loop xla,unrolled
sweep workloads/matmul-all-reduce.yaml --chunks 2,3

python3 - "$program" $every ./*.csv <<'END'
import csv
import shlex
import subprocess
import sys

program, every, *files = sys.argv[1:]
rows = tried = again = 0
for file in files:
    if "pairs" in file:
        continue
    with open(file, newline="") as text:
        for row in csv.DictReader(text):
            rows += 1
            if rows % int(every):
                continue
            tried += 1
            run = subprocess.run([program, *shlex.split(row["command"]), "--csv", "-"], capture_output=True, text=True)
            if row["status"] != "ok":
                same = run.returncode == 2 and run.stderr == f"icisim: {row['status']}\n"
            else:
                other = list(csv.DictReader(run.stdout.splitlines()))
                same = len(other) == 1 and {**other[0], "speedup": ""} == {**row, "speedup": ""}
            again += same
            if not same:
                print(f"{row['command']}\n  gives, instead of\n  {row}\n  {run.stdout}{run.stderr}")
print(f"{again} of {tried} rows come again, of {rows} in all")
sys.exit(0 if again == tried == rows // int(every) and rows >= 200 else 1)
END
