#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Files and descriptors as users have them: closed, full, linked, named alike.
set -u
. tests/support/scratch.sh "$1"
module=$(dirname "$program")/icisim_simgrid.so
# run ARGUMENTS: a small simulation
run() {
    "$program" run all-gather --slice 4 --size 1MiB "$@"
}
# says TEXT FILE: the file is the one line of a fault
says() {
    { [ "$(wc -l <"$2")" -eq 1 ] && grep -qF -e "$1" "$2"; } || fail "must say '$1': $(cat "$2")"
}

# Descriptors that are closed are nobody else's: no table and no message gets into a file. A table that is not printed is a fault.
run --csv want.csv >/dev/null || fail "exit $?"
for closed in '<&-' '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
    want=0
    case $closed in *'>&-'*) [ "$closed" = '2>&-' ] || want=2 ;; esac
    eval "run --csv out.csv $closed" >table
    [ $? -eq $want ] || fail "$closed: not exit $want"
    cmp -s out.csv want.csv || fail "$closed: the CSV is $(cat out.csv)"
    eval "run --engine simgrid --csv out.csv $closed" >table
    [ $? -eq $want ] || fail "$closed: not exit $want"
    rm out.csv
done
run 2>err >&-
says 'stdout: ' err

# A sweep whose file is removed has lost its rows, and says so.
"$program" sweep all-gather --slice 4 --size 1KiB:400KiB:+1KiB --engine simgrid --csv gone.csv 2>err &
until [ -e gone.csv ]; do :; done
rm gone.csv
wait $!
[ $? -eq 2 ] || fail 'a removed CSV: not exit 2'
tail -1 err >last
says "'gone.csv' was removed while it was written" last
"$program" bogus 2>&- >table
[ $? -eq 2 ] && [ ! -s table ] || fail "a message where stderr is closed: $(cat table)"

# Help and versions that nobody gets are no success either.
for arguments in --help help --version 'run --help' 'sweep -h' 'topology show --slice 4'; do
    # shellcheck disable=SC2086
    "$program" $arguments >/dev/full 2>err && fail "$arguments >/dev/full: exit 0"
    says 'icisim: stdout: No space left' err
done

# Two files of one name, however it is written, would leave the one that is written last.
mkdir sub
ln -s ../same.csv sub/link
for pair in "--csv same.csv --trace same.csv" "--csv ./same.csv --links sub/../same.csv" "--trace $PWD/same.csv --links same.csv" \
    "--csv sub/link --trace same.csv" "--csv - --trace -"; do
    # shellcheck disable=SC2086
    out=$(run $pair 2>err) && fail "$pair: exit 0"
    [ -z "$out" ] || fail "$pair: prints $out"
    says '; give each a file of its own' err
    [ ! -e same.csv ] || fail "$pair: writes same.csv"
done
printf 'op,chip,slice,axis,size_bytes,time_s\n%s%s%s' all-gather,v5e,4,x,1024,1e-5$'\n' all-gather,v5e,4,x,4096,2e-5$'\n' \
    all-gather,v5e,4,x,8192,3e-5$'\n' >times.csv
"$program" fit times.csv --csv fit.out --write-profile fit.out >/dev/null 2>err && fail 'fit: exit 0'
says '--csv and --write-profile both write' err
run --csv /dev/null --trace /dev/null >/dev/null || fail 'twice /dev/null'

# A file that is replaced keeps its mode; a link stays one, and its target gets the bytes, be it there or not.
echo old >kept.csv
chmod 0604 kept.csv
ln -s kept.csv link.csv
ln -s none.csv dangling.csv
for file in kept.csv link.csv dangling.csv; do
    run --csv $file >/dev/null
    cmp -s $file want.csv || fail "$file: $(cat $file)"
done
[ "$(stat -c %a kept.csv)" = 604 ] || fail "mode $(stat -c %a kept.csv) and not 604"
[ -L link.csv ] && [ -L dangling.csv ] && [ ! -L none.csv ] || fail 'a link was replaced'
ln -s loop.csv loop.csv
run --csv loop.csv >/dev/null 2>err && fail 'a link to itself: exit 0'
says "--csv: cannot write 'loop.csv': Too many levels" err

# A disk that is full is told with the path and the reason, and nothing is left: of a file that may have 4 KiB only.
(ulimit -f 4 && "$program" run all-gather --slice 4x4 --size 1MiB --engine event --trace big.json 2>err) >/dev/null && fail 'a trace of 4 KiB: exit 0'
says "--trace: cannot write 'big.json': File too large" err
[ ! -e big.json ] || fail 'half a trace'
run --trace /dev/full >/dev/null 2>err && fail 'a trace to a full disk: exit 0'
says "cannot write '/dev/full': No space left" err
(ulimit -f 4 && "$program" run all-gather --slice 16x16 --size 1MiB --links big.csv 2>err) >/dev/null && fail 'links of 4 KiB: exit 0'
says "cannot write 'big.csv': File too large" err
[ ! -e big.csv ] || fail 'half a CSV'

# What cannot be written is found before the work begins.
for what in 'validate --formulas --csv' 'fit times.csv --csv' 'fit times.csv --write-profile' \
    'run all-gather --slice 4 --size 1KiB --links' 'run all-gather --slice 4 --size 1KiB --trace'; do
    # shellcheck disable=SC2086
    out=$("$program" $what none/x 2>err) && fail "$what none/x: exit 0"
    [ -z "$out" ] || fail "$what none/x: prints"
    says "cannot write 'none/x': No such file" err
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
