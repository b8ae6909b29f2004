#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command in a ```console block of README.md prints what the README shows. ./dev is left out: it runs this.
set -u
root=$(pwd)
. tests/support/console.sh
console_enter "$1"
awk '/^```console$/ { inside = 1; next } /^```/ { inside = 0 } inside && !/^\$ \.\/dev/ { print }' \
    "$root/README.md" >readme.console
console_run readme.console
failed=$?
echo "$console_ran commands"
[ "$console_ran" -gt 0 ] && exit $failed
exit 1
