#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every picture of analysis/plots.sh is drawn, as PNG and as SVG, from simulations of now.
set -eu
root=$(pwd)
. tests/support/sanitized.sh
skip_sanitized "$1" 'what it runs, other tests run, and Python has no sanitizers'
. tests/support/console.sh
console_enter "$1"
/usr/bin/python3 -c 'import matplotlib, pandas' 2>/dev/null || {
    echo "no matplotlib here: nothing drawn"
    exit 0
}
"$root/analysis/plots.sh" "$(command -v icisim)" plots 2>log || {
    cat log
    exit 1
}
drawn=0
for png in plots/*.png; do
    name=${png%.png}
    [ "$(head -c 8 "$name.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]
    grep -q '</svg>' "$name.svg"
    drawn=$((drawn + 1))
done
echo "$drawn pictures"
[ $drawn -eq 13 ]
