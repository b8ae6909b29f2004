#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --manifest records what makes a result; rerun makes the same bytes of it, or says what is not as it was.
set -u
. tests/support/scratch.sh "$1"

sed -e '/^name:/s/.*/name: mine/' "$source/topologies/v5e.yaml" >'my chip.yaml'
printf 'from,to,size_bytes\n0,1,640\n3,2,64\n' >pairs.csv
printf 'op: all-gather\nslice: 4x4\nsize: 64KiB\nring: [uni, bidi]\nchip: "my chip.yaml"\n' >work.yaml
mkdir dump
cp "$source/tests/golden/hlo/"*.hlo dump 2>/dev/null
module=$(ls -S dump | head -1)
mv "dump/$module" ./-step.hlo
cp ./-step.hlo dump/module_1.after_optimizations.txt

# again INPUTS COMMAND ...: the manifest names these files with their hashes, and a rerun writes the same.
again() {
    local inputs=$1
    shift
    rm -f m.json
    "$program" "$1" --manifest m.json "${@:2}" >first.out 2>first.err || fail "$*: exit $? $(cat first.err)"
    python3 - "$inputs" <<'END' || fail "$*: its manifest"
import hashlib, json, os, subprocess, sys
manifest = json.load(open("m.json"))
want = [{"file": f, "sha256": hashlib.sha256(open(f, "rb").read()).hexdigest()} for f in sys.argv[1].split(":") if f]
assert manifest["inputs"] == want, (manifest["inputs"], want)
assert list(manifest) == ["icisim", "libraries", "arguments", "inputs"], list(manifest)
assert {"SimGrid", "GSL", "libcsv", "libyaml", "yajl", "libmd", "compiler"} == set(manifest["libraries"])
END
    for file in *.made; do
        [ -e "$file" ] && mv "$file" "$file.first"
    done
    "$program" rerun m.json >again.out 2>again.err || fail "rerun of $*: exit $? $(cat again.err)"
    cmp first.out again.out || fail "rerun of $*: another stdout"
    cmp first.err again.err || fail "rerun of $*: another stderr"
    for file in *.made.first; do
        [ ! -e "$file" ] || cmp "$file" "${file%.first}" || fail "rerun of $*: other bytes"
    done
    rm -f ./*.made ./*.first
}
again '' run all-gather --slice 4x4 --size 64KiB:1MiB:x4 --ring uni,bidi --csv a.made --trace t.made
again '' sweep all-reduce --slice 4x4,8x8 --size 64KiB:1MiB:x4 --ring uni,bidi --csv a.made -j 3
again '' run 'int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]' --mesh X=2,Y=4 --peak int32=19.17Tflops
again '' eval psum_scatter --mesh dp=4,tp=2 --input 'arange(8).reshape(2,4)' --in 'P(None,tp)' --out 'P(tp)' --axis tp --tiled
again 'work.yaml:my chip.yaml' run work.yaml --csv a.made
again 'my chip.yaml:pairs.csv' run ragged-all-to-all --chip 'my chip.yaml' --slice 4 --size 704B --pair-sizes pairs.csv
again '' run ragged-all-to-all --slice 4 --size 704KiB --pair-sizes random:3
again './-step.hlo' run --count-only -- ./-step.hlo
again '-step.hlo' run --count-only -- -step.hlo
again ./dump/../dump/module_1.after_optimizations.txt run --count-only ./dump/../dump
again 'measured.csv' fit "$(cp "$source/tests/golden/measured.csv" . && echo measured.csv)" --chip v5e --slice 4x4 --axis x
[ $failed -eq 0 ] || exit 1

# A sweep that goes on is rerun from its beginning, where it was or where --csv says.
sweep=(all-gather --slice 4 --size 1KiB:8KiB:+1KiB --engine event)
"$program" sweep "${sweep[@]}" --csv a.csv
head -3 a.csv >b.csv
"$program" sweep "${sweep[@]}" --csv b.csv --resume --manifest m.json
sed -i '2s/,ok,/,not ok,/' b.csv
"$program" rerun m.json && cmp a.csv b.csv || fail 'a sweep with --resume is not rerun from its beginning'
"$program" rerun m.json --csv c.csv && cmp a.csv c.csv || fail 'rerun --csv'

# Points that fail have a manifest like others; what is refused has none.
cp "$program" alone
./alone sweep all-gather --slice 4 --size 1KiB --engine simgrid,event --csv d.csv --manifest failed.json 2>/dev/null
[ $? -eq 1 ] && [ -s failed.json ] || fail 'no manifest of points that failed'
"$program" run all-gather --slice 4x --size 1KiB --manifest refused.json 2>/dev/null && fail 'exit 0'
[ ! -e refused.json ] || fail 'a manifest of what was refused'

# refused TEXT: rerun of wrong.json
refused() {
    "$program" rerun wrong.json >out 2>err
    [ $? -eq 2 ] || fail "must say '$1': exit 0"
    { [ "$(wc -l <err)" -eq 1 ] && grep -qF -e "$1" err && [ ! -s out ]; } || fail "must say '$1': $(cat err)"
}
"$program" run work.yaml --manifest m.json >/dev/null
sed 's/"SimGrid":"[^"]*"/"SimGrid":"3.99"/' m.json >wrong.json
refused 'made with SimGrid 3.99, this is 3.32; take the same'
sed 's/"icisim":"[^"]*"/"icisim":"0.0.9"/' m.json >wrong.json
refused 'wrong.json:2:10: made with icisim 0.0.9, this is '
sed 's/"compiler":"[^"]*"/"compiler":"other 1"/' m.json >wrong.json
"$program" rerun wrong.json >/dev/null || fail 'the compiler matters'
echo '{"op": "all-gather"}' >wrong.json
refused 'wrong.json:1:1: this is no manifest; run writes one with --manifest FILE'
cp m.json wrong.json
sed -i 's/64KiB/65KiB/' work.yaml
refused "'work.yaml' is not what it was: its SHA-256 is $(sha256sum work.yaml | cut -d ' ' -f 1)"
sed -i 's/65KiB/64KiB/' work.yaml
mv 'my chip.yaml' away.yaml
refused "cannot read 'my chip.yaml'"
mv away.yaml 'my chip.yaml'
sed 's/"run",/"run","--chip","v4",/' m.json >wrong.json
refused '2 files were read, it would be 1 now'
sed 's/"file":"work/"file":".\/work/' m.json >wrong.json
refused "'./work.yaml' was read, it would be 'work.yaml' now"
sed 's/"run",/"rerun",/' m.json >wrong.json
refused "'rerun' writes no manifest"
sed 's/"run",/"rum",/' m.json >wrong.json
refused "unknown command 'rum'; the nearest is"
sed 's/"arguments"/"words"/' m.json >wrong.json
refused 'arguments'
sed 's/"arguments":.*/"arguments":[],/' m.json >wrong.json
refused 'arguments is empty'
sed 's/"sha256"/"sha"/' m.json >wrong.json
refused 'sha256'
echo '[]' >wrong.json
refused 'a manifest must be a mapping'
rm wrong.json
refused "cannot read 'wrong.json'"

# nothing TEXT COMMAND ...: no manifest is begun
nothing() {
    local says=$1
    shift
    "$program" "$@" >out 2>err <work.yaml && fail "$*: exit 0"
    { [ "$(wc -l <err)" -eq 1 ] && grep -qF -e "$says" err; } || fail "$* must say '$says': $(cat err)"
}
nothing 'stdin cannot be read again; name a file (op)' run --count-only - --manifest n.json
nothing 'stdout is for results' run all-gather --slice 4 --size 1KiB --manifest -
nothing '--manifest: cannot write' run all-gather --slice 4 --size 1KiB --manifest none/n.json
nothing "both write 'n.json'" run all-gather --slice 4 --size 1KiB --csv n.json --manifest n.json
nothing 'which manifest' rerun
nothing "has no option '--manifest'" rerun m.json --manifest n.json
[ ! -e n.json ] || fail 'a manifest is left behind'
exit $failed
