# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced.

# sanitized PROGRAM: is it built with sanitizers? All takes five to ten times as long there.
sanitized() {
    grep -q '^ICISIM_SANITIZE:BOOL=ON' "$(dirname "$1")/CMakeCache.txt"
}
