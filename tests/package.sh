#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# cpack makes two Debian packages: all of icisim, and its SimGrid module, which the first recommends.
set -euo pipefail # so no grep -q at the end of a pipe, which would end what writes to it
build=$(cd "$(dirname "$1")" && pwd)
. tests/support/sanitized.sh
sanitized "$1" && exit 0 # nobody installs that one
fail() {
    printf 'package: %s\n' "$*"
    exit 1
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$build" && cpack -B "$scratch/cpack" >"$scratch/log" 2>&1) || fail "$(cat "$scratch/log")"
cd "$scratch"
mv cpack/icisim_*.deb icisim.deb
mv cpack/icisim-simgrid_*.deb simgrid.deb

field() {
    dpkg-deb -f "$@"
}
[[ $(field icisim.deb Depends) == *libyaml* ]] || fail "the package does not depend on its libraries"
[[ $(field icisim.deb Depends) != *simgrid* ]] || fail "the package depends on SimGrid"
[[ $(field icisim.deb Recommends) == *icisim-simgrid* ]] || fail "the SimGrid module is not recommended"
[[ $(field simgrid.deb Depends) == *"icisim (= $(field icisim.deb Version))"*libsimgrid* ]] ||
    fail "the module depends on $(field simgrid.deb Depends)"
if command -v lintian >/dev/null; then
    said=$(lintian --allow-root --fail-on error icisim.deb simgrid.deb 2>&1) || fail "$said"
else
    echo "package: no lintian here, so the packages are not checked by it"
fi

# What is in them runs, where they were unpacked, without the module and with it.
dpkg-deb -x icisim.deb root
for file in bin/icisim include/icisim/icisim.h lib/libicisim.a lib/libicisim.so lib/pkgconfig/icisim.pc \
    share/icisim/topologies/v5e.yaml share/doc/icisim/copyright; do
    [ -e root/usr/$file ] || fail "$file is not in the package"
done
gather=(root/usr/bin/icisim run all-gather --slice 4 --size 24MB)
"${gather[@]}" --engine event | grep ' 403\.00 ' >/dev/null || fail "not 403 us" # 3 (1 us + 24 MB / (4 45 GB/s))
"${gather[@]}" | grep 'engine event' >/dev/null || fail "the engine of its own choice is not the one that is there"
! "${gather[@]}" --engine simgrid 2>said || fail "SimGrid's engine runs without its module"
grep -q 'icisim-simgrid' said || fail "without the module: $(cat said)"
dpkg-deb -x simgrid.deb root
"${gather[@]}" --engine simgrid | grep ' 403\.00 ' >/dev/null || fail "not 403 us on SimGrid"
