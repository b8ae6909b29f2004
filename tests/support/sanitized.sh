# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced.

# sanitized PROGRAM: is it built with sanitizers? All takes five to ten times as long there.
sanitized() {
    grep -q '^ICISIM_SANITIZE:STRING=.' "$(dirname "$1")/CMakeCache.txt"
}

# skip WHY: ends a test that cannot run here. ctest calls it "Skipped", by this exit status.
skip() {
    echo "$(basename "$0" .sh): skipped: $1"
    exit 77
}

# skip_sanitized PROGRAM WHY: skips a test that is not for such a program.
skip_sanitized() {
    sanitized "$1" || return 0
    skip "$2"
}
