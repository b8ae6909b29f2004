#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Files and descriptors as users have them: closed, full, linked, named alike.
set -u
program=$(realpath "$1")
module=$(dirname "$program")/icisim_simgrid.so
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0
fail() {
    echo "$*"
    failed=1
}
# run ARGUMENTS: a small simulation
run() {
    "$program" run all-gather --slice 4 --size 1MiB "$@"
}
# says TEXT FILE: the file is the one line of a fault
says() {
    { [ "$(wc -l <"$2")" -eq 1 ] && grep -qF -e "$1" "$2"; } || fail "must say '$1': $(cat "$2")"
}

# Descriptors that are closed are nobody else's: no table and no message gets into a file.
run --csv want.csv >/dev/null || fail "exit $?"
for closed in '<&-' '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
    eval "run --csv out.csv $closed" >table || fail "$closed: exit $?"
    cmp -s out.csv want.csv || fail "$closed: the CSV is $(cat out.csv)"
    eval "run --engine simgrid --csv out.csv $closed" >table || fail "$closed: exit $?"
    rm out.csv
done
"$program" bogus 2>&- >table
[ $? -eq 2 ] && [ ! -s table ] || fail "a message where stderr is closed: $(cat table)"

# Help and versions that nobody gets are no success either.
for arguments in --help help --version 'run --help' 'sweep -h' 'topology show --slice 4'; do
    # shellcheck disable=SC2086
    "$program" $arguments >/dev/full 2>err && fail "$arguments >/dev/full: exit 0"
    says 'icisim: stdout: No space left' err
done

# Names with newlines stay on one line.
printf 'name: "my\\nchip"\nbase: v5e\n' >chip.yaml
printf 'name: mine\nbase: v5e\nspec:\n  hop_latency: {value: 2us, source: "two\\nlines"}\n' >$'a\nb.yaml'
run --chip chip.yaml 2>err && fail 'a name of two lines: exit 0'
says "name 'my\\nchip' has control characters" err
"$program" $'bo\ngus' 2>err
says "unknown command 'bo\\ngus'" err
run --chip $'no\e[1m\nsuch.yaml' 2>err
says "cannot read 'no\\x1b[1m\\nsuch.yaml'" err
"$program" topology show --chip $'a\nb.yaml' --slice 4 | grep -q '2us  *two\\nlines$' || fail 'a source of two lines'
run --chip $'a\nb.yaml' --groups $'{{0,1},\n{2,3}}' --csv - | wc -l | grep -qx 2 || fail 'a row of two lines'

# The module is found beside the program, whatever the folder is called.
mkdir 'a[b]*c?\d'
cp "$program" "$module" 'a[b]*c?\d'
'a[b]*c?\d/icisim' run all-gather --slice 4 --size 1MiB --engine simgrid >/dev/null || fail 'a folder named a[b]*c?\d'
exit $failed
