#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A profile that icisim fit writes gives the times that it was fitted on (what fit prints: golden/fit.console).
set -eu
. tests/support/console.sh
console_enter "$1"

# The machine behind two ring sizes: 2.3 us, 0.7 us a hop, 42.3 GB/s.
icisim fit tests/golden/measured.csv --robust --write-profile fitted.yaml >/dev/null
time_s=$(icisim run all-gather --chip fitted.yaml --profile measured --slice 16 --wrap all --size 1MiB --csv - |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time_s") at = i } NR == 2 { print $at }')
awk -v t="$time_s" 'BEGIN {
    want = 2.3e-6 + 15 * (0.7e-6 + 1048576 / (32 * 42.3e9))
    if (t < want * 0.999 || t > want * 1.001) { print "time_s is", t, "and not", want; exit 1 }
}'

# Rows that cannot be fitted are named: below the table, or where the table is not, on stderr.
printf 'op,size_bytes,time_s\nx,1024,1e-5\nx,2048,\nx,,3e-5\nx,4096,2e-5\nx,8192,\n' >holes.csv
printf '# left out: line 3 has no time, line 6 has no time, line 4 has no size\n' >want
icisim fit holes.csv | grep '^# left out' | cmp - want
icisim fit holes.csv --csv - 2>err >/dev/null
cmp err want

# More groups than anyone reads are refused, not fitted one by one.
(echo op,slice,size_bytes,time_s && seq 2 2100 | sed 's/.*/all-gather,&,1024,1e-5/') >groups.csv
icisim fit groups.csv 2>err && exit 1
grep -q 'make over 2000 groups; pick some by --where' err
