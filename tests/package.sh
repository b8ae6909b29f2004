#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# cpack makes three Debian packages: icisim, its SimGrid module, which it recommends, and what builds upon the library.
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
mv cpack/libicisim-dev_*.deb dev.deb

field() {
    dpkg-deb -f "$@"
}
[[ $(field icisim.deb Depends) == *libyaml* ]] || fail "the package does not depend on its libraries"
[[ $(field icisim.deb Depends) != *simgrid* ]] || fail "the package depends on SimGrid"
[[ $(field icisim.deb Recommends) == *icisim-simgrid* ]] || fail "the SimGrid module is not recommended"
[[ $(field simgrid.deb Depends) == *"icisim (= $(field icisim.deb Version))"*libsimgrid* ]] ||
    fail "the module depends on $(field simgrid.deb Depends)"
[[ $(field dev.deb Depends) == "icisim (= $(field icisim.deb Version))" ]] || fail "the headers depend on $(field dev.deb Depends)"
if command -v lintian >/dev/null; then
    said=$(lintian --allow-root --fail-on error icisim.deb simgrid.deb dev.deb 2>&1) || fail "$said"
else
    echo "package: no lintian here, so the packages are not checked by it"
fi

# What is in them runs, where they were unpacked, without the module and with it.
dpkg-deb -x icisim.deb root
for file in bin/icisim lib/libicisim.so.0 share/icisim/topologies/v5e.yaml share/doc/icisim/copyright; do
    [ -e root/usr/$file ] || fail "$file is not in the package"
done
dev=(include/icisim/icisim.h lib/libicisim.a lib/libicisim.so lib/pkgconfig/icisim.pc lib/cmake/icisim/icisimConfig.cmake
    share/doc/libicisim-dev/copyright)
for file in "${dev[@]}"; do
    [ ! -e root/usr/$file ] || fail "$file is in the package of the program"
done
# hardened FILE TYPE: position-independent, with full RELRO, stack protector and fortified functions.
hardened() {
    readelf -Wh -l -d --dyn-syms "$1" >elf
    grep -q "Type: *DYN ($2" elf || fail "$1 is not position-independent"
    grep -q GNU_RELRO elf && grep -qw BIND_NOW elf || fail "$1 is not linked with -z relro -z now"
    grep -q __stack_chk_fail elf || fail "$1 has no stack protector"
    grep -qE '__[a-z]+_chk(@| |$)' elf || fail "$1 has no fortified functions"
}
hardened root/usr/bin/icisim 'Position-Independent Executable'
hardened root/usr/lib/libicisim.so.0 'Shared object'
gather=(root/usr/bin/icisim run all-gather --slice 4 --size 24MB)
"${gather[@]}" --engine event | grep ' 403\.00 ' >/dev/null || fail "not 403 us" # 3 (1 us + 24 MB / (4 45 GB/s))
"${gather[@]}" | grep 'engine event' >/dev/null || fail "the engine of its own choice is not the one that is there"
! "${gather[@]}" --engine simgrid 2>said || fail "SimGrid's engine runs without its module"
grep -q 'icisim-simgrid' said || fail "without the module: $(cat said)"
dpkg-deb -x simgrid.deb root
hardened root/usr/lib/icisim/icisim_simgrid.so 'Shared object'
"${gather[@]}" --engine simgrid | grep ' 403\.00 ' >/dev/null || fail "not 403 us on SimGrid"

# With the third, others build upon the library: by pkg-config and by CMake, against both libraries.
dpkg-deb -x dev.deb root
for file in "${dev[@]}"; do
    [ -e root/usr/$file ] || fail "$file is not in the package of headers"
done
root=$PWD/root/usr
printf '#include <icisim/icisim.h>\n#include <stdio.h>\n%s\nint main(void) { return puts(icisim_version()) < 0; }\n' \
    '_Static_assert(ICISIM_VERSION_NUMBER >= 200, "0.2.0 is 200");' >app.c
cc app.c $(PKG_CONFIG_PATH=$root/lib/pkgconfig pkg-config --cflags --libs icisim) -o app && [ "$(./app)" = "$("$root/bin/icisim" --version | sed -n '1s/icisim //p')" ] ||
    fail "built by pkg-config, it says $(./app)"
printf 'cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES C)\n%s\n' \
    'find_package(icisim 0.2 REQUIRED) add_executable(app app.c) target_link_libraries(app icisim::icisim)' | sed 's/) /)\n/g' >CMakeLists.txt
cmake -B made -DCMAKE_PREFIX_PATH="$root" >/dev/null && cmake --build made >/dev/null && made/app >/dev/null || fail "not built by CMake"
