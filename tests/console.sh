#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every tests/golden/*.console is run as it stands and must print what it shows (support/console.sh).
set -u
root=$(pwd)
. tests/support/console.sh
console_enter "$1"
failed=0 ran=0
for file in "$root"/tests/golden/*.console; do
    console_run "$file" || failed=1
    ran=$((ran + console_ran))
done
echo "$ran commands"
[ $ran -gt 0 ] && exit $failed
exit 1
