#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What cmake --install puts somewhere still works when it has been moved, as a program and as a library of others.
set -euo pipefail # so no grep -q at the end of a pipe, which would end what writes to it
build=$(cd "$(dirname "$1")" && pwd)
root=$PWD
fail() {
    printf 'install: %s\n' "$*"
    exit 1
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix="$scratch/moved [1] here" # a blank, and what glob(3) takes for a pattern
cmake --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$prefix"
lib="$prefix/$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt")"
flags=()
. tests/support/sanitized.sh
if sanitized "$build/icisim"; then
    flags=(-fsanitize=address,undefined)     # sanitized libraries need their runtime,
    export LD_LIBRARY_PATH="$lib/icisim" # whose dlopen() does not know the program's own search path
fi
mkdir "$scratch/empty"
cd "$scratch/empty"

# The program, from a folder where nothing is: both engines, chips, workloads.
gather=(run all-gather --chip v5e --slice 4 --size 24MB --ring uni)
for engine in event simgrid; do
    # E4u: (2N-3)a + (N-1)V/(N w) = 5 us + 3/4 24 MB / 45 GB/s = 405 us
    "$prefix/bin/icisim" "${gather[@]}" --engine $engine | grep ' 405\.00 ' >/dev/null || fail "$engine: not 405 us"
done
"$prefix/bin/icisim" run "$prefix/share/icisim/workloads/fsdp-layer.yaml" >/dev/null || fail "a workload"
"$prefix/bin/icisim" topology show --chip "$prefix/share/icisim/topologies/v4.yaml" --slice 4x4x4 >/dev/null || fail "a chip"
for file in man/man1/icisim.1.gz man/man5/icisim-workload.5.gz bash-completion/completions/icisim zsh/site-functions/_icisim; do
    [ -s "$prefix/share/$file" ] || fail "no $file"
done
for part in SimGrid GSL libcsv libyaml yajl zlib compiler; do
    "$prefix/bin/icisim" --version | grep -E "$part [A-Z a-z]*[0-9]+\.[0-9]" >/dev/null || fail "--version does not name $part"
done

# Nothing can be seen from outside but what has the prefix, and nothing that threads share can be written to.
for file in libicisim.so icisim/icisim_simgrid.so; do
    seen=$(nm -D --defined-only "$lib/$file" | awk '$3 !~ /^icisim_/')
    [ -z "$seen" ] || fail "$file exports $seen"
done
# It does not end, print, or change what signals do or the locale of the process: what it forks for SimGrid has _exit, signal,
# setitimer and sigprocmask.
seen=$(nm -D --undefined-only "$lib/libicisim.so" | awk '{ sub("@.*", "", $2); print $2 }' |
    grep -xE 'exit|quick_exit|abort|raise|kill|puts|putchar|printf|vprintf|__printf_chk|__vprintf_chk|perror|stderr|setlocale|sigaction|alarm|system|chdir|putenv|setenv|gsl_set_error_handler(_off)?' || true)
[ ${#flags[@]} -gt 0 ] || [ -z "$seen" ] || fail "libicisim.so calls $seen"
seen=$(nm --defined-only -g "$lib/libicisim.a" | awk 'NF == 3 && $3 !~ /^icisim_/')
[ -z "$seen" ] || fail "libicisim.a shows $seen"
declared=$(grep -ho 'ICISIM_API .*\bicisim_[a-zA-Z_]*(' "$prefix"/include/icisim/*.h | grep -o 'icisim_[a-zA-Z_]*($' | tr -d '(' | sort)
exported=$(nm -D --defined-only "$lib/libicisim.so" | awk '{print $3}' | sort)
[ "$declared" = "$exported" ] || fail "declared and exported differ: $(diff <(echo "$declared") <(echo "$exported"))"
if [ ${#flags[@]} -eq 0 ]; then # the sanitizers have data of their own
    # no state, but for the lock under which one thread at a time loads SimGrid or forks
    written=$(objdump -t "$lib/libicisim.a" | awk '$3 == "O" && ($4 == ".data" || $4 == ".bss") && $NF != "loading"')
    [ -z "$written" ] || fail "libicisim.a has state: $written"
fi

# Another one's program, compiled from an empty folder, with the shared library and with the static one.
export PKG_CONFIG_PATH="$lib/pkgconfig"
for header in "$prefix"/include/icisim/*.h; do
    cc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$prefix/include" -include "$header" -x c - \
        <<<'int alone;' || fail "$header does not stand alone"
done
cp "$root/tests/installed/app.c" .
eval cc "${flags[*]}" app.c "$(pkg-config --cflags --libs icisim)" -o shared
eval cc "${flags[*]}" app.c "$(pkg-config --static --cflags --libs icisim | sed 's/-licisim/-l:libicisim.a/')" -o static
ldd shared | grep libicisim >/dev/null || fail "shared does not use the shared library"
! ldd static | grep libicisim >/dev/null || fail "static uses the shared library"
# E4: (N-1)(a + V/(N w)) = 3 (1 us + 24 MB / (4 45 GB/s)) = 403 us
# V = 2 * 512 * 2048 bytes: E4, 3 (1 us + V / (4 45 GB/s)) = 37.952533 us; then 2 * 512 * 2048 * 2048 flop / 197 Tflop/s
# = 21.801864 us; 59.7543978 us
cat >expected <<'END'
all-gather: 0.000403 s
bf16[1024@X,2048@Y] . bf16[2048,8192@Y] -> bf16[1024@X,8192@Y]: 5.97543978e-05 s
END
for app in shared static; do
    for engine in event simgrid; do
        ./$app $engine >printed || fail "$app $engine: $(cat printed)"
        diff expected printed || fail "$app $engine"
    done
done

# The same by CMake, whose export files are found by a pattern that such a path breaks.
cp -r "$prefix" "$scratch/plain"
mkdir find && cat >find/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C)
find_package(icisim 0.2 REQUIRED)
add_executable(found ../app.c)
target_link_libraries(found icisim::icisim)
END
cmake -S find -B find/build -DCMAKE_PREFIX_PATH="$scratch/plain" -DCMAKE_C_FLAGS="${flags[*]}" >/dev/null
cmake --build find/build >/dev/null
find/build/found event >printed && diff expected printed || fail "found by CMake: $(cat printed)"

# The scripts that draw.
[[ "$("$prefix/bin/icisim-plot")" == *timeline* ]] || fail "icisim-plot names no timeline"
said=$("$prefix/bin/icisim-plot" nothing 2>&1) && fail "icisim-plot draws nothing"
[[ "$said" == *"there are"*waterfall* ]] || fail "icisim-plot: $said"
[[ "$("$prefix/bin/icisim-plot" waterfall --help 2>&1 || true)" == *"usage: waterfall.py"* ]] || fail "icisim-plot waterfall"

# The README's program.
sed -n '/^```c$/,/^```$/p' "$root/README.md" | grep -v '^```' >search.c
eval cc -Wall -Werror "${flags[*]}" search.c "$(pkg-config --cflags --libs icisim)" -o search
[ "$(./search | grep -cE '^dp=(1|4|16),tp=[0-9]+: 0\.00[0-9]+ s$')" = 3 ] || fail "the README's search: $(./search)"

# The module is taken from this tree and from no other place.
rm "$lib/icisim/icisim_simgrid.so"
said=$(./shared simgrid) && fail "runs without the module"
grep -q 'cannot load the SimGrid engine' <<<"$said" || fail "without the module: $said"
