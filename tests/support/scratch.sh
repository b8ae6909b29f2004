# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced with the program's path. Works in a scratch folder, which goes at the end: $program, $source (the project's folder), and
# fail TEXT, which says what is wrong and lets the test go on; at its end: exit $failed.
program=$(realpath "$1")
source=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0
fail() {
    echo "$*"
    failed=1
}
