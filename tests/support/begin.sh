# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced with the program's path: $program, $scratch, a folder that goes at the end, and fail TEXT, which says what is wrong and
# lets the test go on; at its end: exit $failed.
program=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
fail() {
    printf '%s\n' "$*"
    failed=1
}
