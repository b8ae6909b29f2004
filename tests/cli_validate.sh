#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Parts of validate check what they are asked for and nothing else; without one it checks all of them, in that order.
set -eu
. tests/support/sanitized.sh
skip_sanitized "$1" '3,000 processes of SimGrid take minutes under the sanitizers'
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

# How many cases stand behind each form and each rule: none is left out without a word.
awk -F, 'NR > 1 && $1 ~ /^(exact|rule|engines)$/ { cases[$1 " " $2]++ } END { for (id in cases) print id, cases[id] }' all.csv |
    LC_ALL=C sort >cases
diff - cases <<'END'
engines event 19
exact E1 196
exact E1 simgrid 98
exact E2 196
exact E2 simgrid 98
exact E3 196
exact E3 simgrid 98
exact E4 448
exact E4 simgrid 224
exact E4u 224
exact E4u simgrid 112
exact E5 669
exact E5 simgrid 630
exact E6 51
exact E6 simgrid 15
exact E6r 35
exact E6r simgrid 8
exact E7 78
exact E7 simgrid 27
exact E8 35
exact E8 simgrid 10
exact E8s 13
exact E8s simgrid 5
exact F10 15
exact F10 simgrid 3
rule F1 10
rule F10 2
rule F11 1
rule F2 5
rule F3 6
rule F4 3
rule F5 4
rule F6 4
rule F7 7
rule F8 3
rule F9 7
rule S1 6
rule S2 1
rule S3 1
rule S4 1
rule S4s 1
END
