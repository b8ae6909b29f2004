#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Parts of validate check what they are asked for and nothing else; without one it checks all of them, in that order.
set -eu
. tests/support/console.sh
console_enter "$1"

for part in formulas engines published; do
    icisim validate --$part --csv $part.csv >/dev/null
    [ "$(wc -l <$part.csv)" -gt 15 ]
done
icisim validate --csv all.csv >/dev/null
{
    cat formulas.csv
    tail -qn +2 engines.csv published.csv
} | cmp - all.csv
icisim validate --engines --published --csv two.csv >/dev/null
{
    cat engines.csv
    tail -n +2 published.csv
} | cmp - two.csv
