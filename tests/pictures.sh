#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The scripts that draw: what they cannot draw they refuse in one line, exit status 2 and no picture; what they draw has
# every series under its name, and no label beyond the frame.
set -euo pipefail
root=$(pwd)
. tests/support/console.sh
console_enter "$1"
/usr/bin/python3 -c 'import matplotlib, pandas' 2>/dev/null || {
    echo "no matplotlib here: nothing drawn"
    exit 0
}
mkdir scratch
cd scratch
icisim sweep all-to-all --slice 4x4,8x8 --size 64KiB:4MiB:x8 --all-to-all direct,ring --engine event --csv to-all.csv
icisim sweep all-reduce --slice 4x4,8x8 --size 64KiB,1MiB --csv reduce.csv
icisim sweep psum --chip v4 --slice 4x4x4 --size 1MiB --csv cube.csv
icisim sweep psum --slice 4x4 --size 1MiB,1048576 --csv twice.csv
icisim sweep 'In[B@X,D@Y] . Win[D,F@Y] . Wout[F@Y,D] -> Out[B@X,D@Y]' --dims B=1024,D=2048,F=8192 --mesh X=2,Y=4 \
    --chip v5e,v6e --strategy naive,bidi-half --csv block.csv
icisim run all-gather --slice 4 --size 1MiB --trace trace.json >/dev/null
model=(workloads/by-hand/llama-8b.yaml --chip v5p --slice 2x2x4 --tokens-per-chip 4096,8192)
(
    cd ..
    for mesh in "dp=1,fsdp=x*y*z,tp=1" "dp=x*z,fsdp=1,tp=y" "dp=1,tp=z,fsdp=x*y" "dp=1,tp=x*y*z,fsdp=1"; do
        icisim sweep "${model[@]}" --mesh "$mesh" --csv - 2>/dev/null
    done
) | awk 'NR == 1 || !/^op,/' >meshes.csv
awk 'NR == 1 || NR == 2 || NR == 5 || NR == 7' meshes.csv >meshes-apart.csv # a number of tokens each
awk '{ print } NR == 4' meshes.csv >meshes-twice.csv
/usr/bin/python3 - <<'PY'
import csv
rows = list(csv.DictReader(open("reduce.csv")))
with open("meshes-none.csv", "w") as file:
    csv.DictWriter(file, rows[0]).writeheader()
    csv.DictWriter(file, rows[0]).writerows(rows[:1])
PY
sed '2s/,16,[0-9.e-]*,/,16,soon,/' reduce.csv >soon.csv
/usr/bin/python3 "$root/tests/support/pictures.py" "$root/analysis"

# The best three of a search, again with other tokens: their rows only, those of the search's tokens to the same time.
(cd .. && icisim sweep "${model[@]:0:3}" --chips 8 --mesh all --top 5 --tokens-per-chip 4096 --csv scratch/search.csv >/dev/null 2>&1)
(cd .. && "$root/analysis/best_meshes.sh" scratch/search.csv 4096,8192 "$(command -v icisim)") >best.csv
python3 - <<'PY'
import csv
fast = sorted(float(row["time_s"]) for row in csv.DictReader(open("search.csv")) if row["time_s"])[:3]
rows = list(csv.DictReader(open("best.csv")))
assert len(rows) == 6 and [float(row["time_s"]) for row in rows[::2]] == fast, (fast, [row["time_s"] for row in rows])
PY
status=0
"$root/analysis/best_meshes.sh" reduce.csv.not-there 4096 2>err || status=$?
[ $status -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q '^best_meshes.sh: reduce.csv.not-there: No such file' err

# And as programs.
status=0
python3 "$root/analysis/overlap_bars.py" reduce.csv picture 2>err || status=$?
[ $status -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q '^overlap_bars.py: reduce.csv: all-reduce computes' err
python3 "$root/analysis/timeline.py" trace.json picture --chips all 2>err && exit 1
grep -q "^timeline.py: --chips 'all': write numbers" err
