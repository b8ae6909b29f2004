#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command in a ```console block of README.md and analysis/recipes.md prints what stands there; the README is short, and
# what it links is there.
set -u
root=$(pwd)
. tests/support/console.sh
failed=0 ran=0
words=$(wc -w <README.md) prose=$(sed '/^```/,/^```$/d' README.md | wc -w) longest=$(wc -L <README.md)
[ "$words" -le 3000 ] || { echo "README.md has $words words; 3000 at most" && failed=1; }
[ "$prose" -le 1300 ] || { echo "README.md has $prose words outside its blocks; 1300 at most" && failed=1; }
[ "$longest" -lt 130 ] || { echo "README.md has a line of $longest characters; 129 at most" && failed=1; }
for file in $(grep -oE '\]\([^)#]+\)' README.md | tr -d '])(') $(grep -oE '\]\([^)#]+\)' analysis/recipes.md | tr -d '])(' | sed 's|^|analysis/|'); do
    [ -e "$file" ] || { echo "README.md or analysis/recipes.md links $file, which is not there" && failed=1; }
done
console_enter "$1"
for file in "$root"/README.md "$root"/analysis/recipes.md; do
    console_run "$file" || failed=1
    ran=$((ran + console_ran))
done
echo "$ran commands, $words words"
[ $ran -gt 0 ] && exit $failed
exit 1
