#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command in a ```console block of README.md prints what the README shows.
set -u
root=$(pwd)
. tests/support/console.sh
console_enter "$1"
console_run "$root/README.md"
failed=$?
echo "$console_ran commands"
[ "$console_ran" -gt 0 ] && exit $failed
exit 1
