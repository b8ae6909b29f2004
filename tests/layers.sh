#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Folders of src/ use only what stands before them in src/README.md, neither folders nor circles nor functions are too large,
# and what src/README.md and tests/README.md name is there; and the checks see what breaks that.
set -euo pipefail
. tests/support/sanitized.sh
lizard=$(PATH=build/python/bin:$PATH command -v lizard) || lizard=
build=$(cd "$(dirname "$1")" && pwd)
check() { # SRC [LIZARD]
    python3 tests/support/layers.py "$1" "$build" ${2-}
}
check src $lizard

# Each fault, made in a copy, is seen and named.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
measured_by= # functions are measured, which takes seconds, where that is what is broken
expect() {
    local said
    said=$(check "$copy/src" $measured_by) && { echo "layers: not seen: $1"; exit 1; }
    grep -qF "$1" <<<"$said" || { printf 'layers: said, instead of "%s":\n%s\n' "$1" "$said"; exit 1; }
    rm -rf "$copy/src"
}
break_one() {
    cp -r src "$copy/src"
    "${@:2}"
    expect "$1"
}
include() {
    echo "#include \"$2\"" >>"$copy/src/$1"
}
break_one 'base/text.c: includes faces/command.h, which stands above it' include base/text.c faces/command.h
break_one "faces/main.c: includes engine/event_plan.h, a header of that folder's own" include faces/main.c engine/event_plan.h
private() {
    sed -i '/Private to engine/d' "$copy/src/engine/event_plan.h"
}
break_one 'engine/event_plan.h: no other folder includes it' private
break_one 'text.c: stands in 2 folders' cp src/base/text.c "$copy/src/faces/text.c"
more_folder() {
    mkdir "$copy/src/more" && touch "$copy/src/more/more.c"
}
break_one 'more/: is not in the table' more_folder
many_sources() {
    touch "$copy"/src/formula/more{1..32}.c
}
break_one 'sources; 32 at most' many_sources
break_one 'base/csv.h: includes base/status.h, which it has from another header' include base/csv.h base/status.h
circle() {
    local at
    for at in 1 2 3 4; do
        echo "#include \"formula/circle$((at % 4 + 1)).h\"" >"$copy/src/formula/circle$at.h"
    done
}
break_one 'formula/circle1 formula/circle2 formula/circle3 formula/circle4: include each other in a circle' circle
# with the order of two folders turned round, symbols tell too
turn_round() {
    sed -i -e '/^| `base\//{h;d}' -e '/^| `notation\//G' "$copy/src/README.md"
}
break_one 'which stands above it' turn_round
break_one "of base/, which stands above it" turn_round

# what the pages name
python3 tests/support/pages.py .
wrong_page() {
    local said
    mkdir "$copy/tests"
    ln -s "$PWD"/src "$PWD"/analysis "$PWD"/workloads "$PWD"/include "$copy"
    ln -s "$PWD"/tests/* "$copy/tests"
    rm "$copy/tests/README.md"
    sed "$2" tests/README.md >"$copy/tests/README.md"
    said=$(python3 tests/support/pages.py "$copy") && { echo "layers: not seen: $1"; exit 1; }
    grep -qF "$1" <<<"$said" || { printf 'layers: said, instead of "%s":\n%s\n' "$1" "$said"; exit 1; }
    rm -r "${copy:?}"/*
}
wrong_page 'there is no src/base/dtypes.c' 's,src/base/dtype.c,src/base/dtypes.c,'
wrong_page 'there is no roof.c' 's,(`src/machine/roofline.c`),(`roof.c`),'
wrong_page 'there is no lower_prepend()' 's,lower_append(),lower_prepend(),'
wrong_page 'there is no test roof' 's,`roofline`,`roof`,'
wrong_page 'the test roofline is in no row' 's,`roofline`,`slice`,'

[ -n "$lizard" ] || skip 'functions are not measured without lizard, which ./dev test installs'
measured_by=$lizard
long_function() {
    { echo 'int long_one(void) {'; printf ';\n%.0s' {1..60}; echo '}'; } >>"$copy/src/base/text.c"
}
break_one 'base/text.c: long_one() has 62 lines; 60 at most' long_function
parameters() {
    echo 'int many(int a, int b, int c, int d, int e, int f, int g) { return a; }' >>"$copy/src/base/text.c"
}
break_one 'base/text.c: many() has 7 parameters; 6 at most' parameters
