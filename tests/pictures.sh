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
icisim sweep all-to-all --slice 4x4,8x8 --size 64KiB:4MiB:x8 --algorithm direct,ring --engine event --csv to-all.csv
icisim sweep all-reduce --slice 4x4,8x8 --size 64KiB,1MiB --csv reduce.csv
icisim sweep psum --chip v4 --slice 4x4x4 --size 1MiB --csv cube.csv
icisim sweep psum --slice 4x4 --size 1MiB,1048576 --csv twice.csv
icisim sweep 'In[B@X,D@Y] . Win[D,F@Y] . Wout[F@Y,D] -> Out[B@X,D@Y]' --dims B=1024,D=2048,F=8192 --mesh X=2,Y=4 \
    --chip v5e,v6e --strategy naive,bidi-half --csv block.csv
icisim run all-gather --slice 4 --size 1MiB --trace trace.json >/dev/null
sed '2s/,16,[0-9.e-]*,/,16,soon,/' reduce.csv >soon.csv
/usr/bin/python3 "$root/tests/support/pictures.py" "$root/analysis"

# And as programs.
status=0
python3 "$root/analysis/overlap_bars.py" reduce.csv picture 2>err || status=$?
[ $status -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q '^overlap_bars.py: reduce.csv: all-reduce computes' err
python3 "$root/analysis/timeline.py" trace.json picture --chips all 2>err && exit 1
grep -q "^timeline.py: --chips 'all': write numbers" err
