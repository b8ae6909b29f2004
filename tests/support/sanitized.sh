# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced.

# sanitized PROGRAM: is it built with sanitizers? All takes five to ten times as long there.
sanitized() {
    grep -q '^ICISIM_SANITIZE:BOOL=ON' "$(dirname "$1")/CMakeCache.txt"
}

# skip_sanitized PROGRAM WHY: leaves a test that is not for such a program.
skip_sanitized() {
    sanitized "$1" || return 0
    echo "$(basename "$0" .sh): skipped: $2"
    exit 0
}
