#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What run writes besides its row: traces that a viewer loads, the critical path, steps, links.
set -euo pipefail
icisim=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
course=("int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]" --mesh X=2,Y=4 --chip v5e
    --peak int32=19.17Tflops --strategy uni)

fail() {
    echo "$*"
    exit 1
}

# 2 * 512 * 2048 * 2048 / 19.17e12 = 224.046 us; the three permutes of 26.302 us end before the second product does.
"$icisim" run "${course[@]}" --critical-path --steps >"$folder/shown"
grep -q '^# critical chip TPU:0: all 3 permutes hidden$' "$folder/shown" || fail "not all permutes hidden"
grep -q 'fusion.1 *3 *compute *168.035 *224.046' "$folder/shown" || fail "the last step is not where it should be"

"$icisim" run "${course[@]}" --trace "$folder/trace.json" --trace-chips 3 >/dev/null
python3 - "$folder/trace.json" <<'END'
import json, sys
trace = json.load(open(sys.argv[1]))
events = trace["traceEvents"]
assert trace["displayTimeUnit"] == "ns"
assert {e["pid"] for e in events} == {0, 1, 2}, "chips traced"
last = max(e["ts"] + e.get("dur", 0) for e in events if e["ph"] == "X")
assert abs(last - 224.046286) < 1e-3, last
rows = {}
for e in events:
    if e["ph"] == "X":
        rows.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
for spans in rows.values():
    open_ends = []
    for start, end in sorted(spans, key=lambda s: (s[0], -s[1])):
        while open_ends and open_ends[-1] <= start + 1e-6:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1] + 1e-6, "events of a row do not nest"
        open_ends.append(end)
starts = {e["id"] for e in events if e["ph"] == "s"}
assert starts == {e["id"] for e in events if e["ph"] == "f"} and starts, "arrows without an end"
END

"$icisim" run all-gather --slice 4 --size 1MiB --ring uni --trace - --engine event | python3 -c 'import json, sys; json.load(sys.stdin)'

# What is shown is the same whether one chip is run for all that are alike or not; the heading says how many were.
alike() {
    for fold in on off; do
        "$icisim" run "$@" --engine event --fold $fold --steps --critical-path --trace "$folder/$fold.json" |
            sed 's/, simulated [0-9]* of [0-9]* equivalent chips//' >"$folder/$fold.txt"
    done
    cmp "$folder/on.txt" "$folder/off.txt" || fail "folded, it looks different: $*"
    cmp "$folder/on.json" "$folder/off.json" || fail "folded, the trace is different: $*"
}
alike all-reduce --chip v4 --slice 4x4x4 --size 3MB --ring bidi
alike collective-broadcast --chip v5p --slice 4x6 --wrap x --size 3MB --ring bidi-half
alike collective-permute --chip v4 --slice 2x4x4 --size 3MB --offset 5
alike all-to-all --chip v4 --slice 4x4 --size 3MB
alike "bf16[1024@X,2048@Y] . bf16[2048,4096@Y] -> bf16[1024@X,4096@Y]" --mesh X=4,Y=16 --slice 4x4x4 --chip v5p --strategy bidi

# Several points write a file each, named by what varies, which has the same in it as one of a single run; compare too.
mkdir "$folder/many"
"$icisim" run all-gather --slice 2x2 --mesh 'X=x*y' --mesh X=2,Y=2 --size 65536,1MiB --ring uni,bidi --trace "$folder/many/t.json" --links "$folder/many/l" >/dev/null
"$icisim" compare all-gather --slice 4 --size 1MiB --trace "$folder/many/c.d.json" --trace-chips 2 >/dev/null
found=$(ls "$folder/many" | LC_ALL=C sort)
wanted=$(printf '%s\n' c.d-{bidi,bidi-half,uni,xla}.json {l,t}-{X=2\,Y=2,mesh0}-{1MiB,65536}-{bidi,uni} |
    sed 's/^t.*/&.json/' | LC_ALL=C sort)
[ "$found" = "$wanted" ] || fail "files of several points: $found"
"$icisim" run all-gather --slice 2x2 --mesh 'X=x*y' --size 1MiB --ring bidi --trace "$folder/one.json" --links "$folder/one" >/dev/null
cmp "$folder/one.json" "$folder/many/t-mesh0-1MiB-bidi.json" || fail "one of several traces is different"
cmp "$folder/one" "$folder/many/l-mesh0-1MiB-bidi" || fail "one of several CSVs of links is different"
"$icisim" run all-gather --slice 4 --size 1MiB --ring bidi-half --trace "$folder/one.json" --trace-chips 2 >/dev/null
cmp "$folder/one.json" "$folder/many/c.d-bidi-half.json" || fail "compare traces otherwise than run"

refused() {
    local message=$1
    shift
    if "$icisim" run "$@" >"$folder/out" 2>"$folder/err"; then fail "not refused: $*"; fi
    [ "$(wc -l <"$folder/err")" -eq 1 ] && grep -q -e "$message" "$folder/err" || fail "$* says: $(cat "$folder/err")"
}
refused 'trace - is of one point' all-gather --slice 4 --size 1MiB,2MiB --trace -
refused 'would write 300 files' all-gather --slice 4 --size 1kB:300kB:+1kB --trace "$folder/no.json"
refused 'name a collective' --slice 4 --size 1MiB,2MiB --trace "$folder/no.json"
refused 'both write' all-gather --slice 4 --size 1MiB --trace - --csv -
refused 'leaves stdout' all-gather --slice 4 --size 1MiB --steps --csv -
refused 'No such file' all-gather --slice 4 --size 1MiB --trace "$folder/no/folder.json"
if ls "$folder"/no* >/dev/null 2>&1; then fail "a trace that was refused is there"; fi

# A model's trace opens: of equal layers those that were simulated, and that is said; a window; all of it where that is asked for.
other() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["otherData"].get(sys.argv[2], "nothing"))' "$@"; }
starts() { python3 -c 'import json, sys
at = [e["ts"] for e in json.load(open(sys.argv[1]))["traceEvents"] if "ts" in e]
print(min(at) >= float(sys.argv[2]), max(at) < float(sys.argv[3]))' "$@"; }
"$icisim" run workloads/by-hand/llama-70b.yaml --layers 40 --trace "$folder/model.json" >/dev/null
[ "$(stat -c %s "$folder/model.json")" -lt 50000000 ] || fail "the trace of a model has $(stat -c %s "$folder/model.json") bytes"
[[ "$(other "$folder/model.json" repeated)" == *"equal layers"* && "$(other "$folder/model.json" shown_to_us)" != nothing ]] || fail "what is left out is not said"
net=(run workloads/net-fsdp-b.yaml --trace-chips 1 --trace "$folder/net.json")
"$icisim" "${net[@]}" --trace-window 10us:30us >/dev/null
[ "$(starts "$folder/net.json" 10 30)" = "True True" ] || fail "the window: $(starts "$folder/net.json" 10 30)"
[ "$(other "$folder/net.json" shown_from_us)" != nothing ] || fail "the window is not said"
"$icisim" "${net[@]}" --trace-window all >/dev/null
[ "$(other "$folder/net.json" repeated)$(other "$folder/net.json" shown_to_us)" = nothingnothing ] || fail "all is not all"
# products of the first layer, both ways, and of no other one; of a model whose equal layers are not all simulated, too
layers() { python3 -c 'import json, sys
names = {e["name"] for e in json.load(open(sys.argv[1]))["traceEvents"] if e["name"].startswith("dot.")}
print(*sorted({" ".join(n.split()[-2:]) for n in names if n.split()[-2:-1] in (["fwd"], ["bwd"])}), sep=",")' "$1"; }
"$icisim" "${net[@]}" --trace-window 1layer >/dev/null
[ "$(layers "$folder/net.json") $(other "$folder/net.json" shown_layers)" = "bwd 1,fwd 1 1" ] || fail "a layer is $(layers "$folder/net.json")"
"$icisim" run workloads/by-hand/llama-8b.yaml --trace-chips 1 --trace "$folder/model.json" --trace-window 2layers >/dev/null
[ "$(layers "$folder/model.json")" = "bwd 1,bwd 2,fwd 1,fwd 2" ] || fail "two layers are $(layers "$folder/model.json")"
refused 'nothing here is a layer' all-gather --slice 4 --size 1MiB --trace "$folder/no.json" --trace-window 2layers
for window in 30us:10us 5 1:2 lines 0layers 2.5layers; do
    said=$("$icisim" "${net[@]}" --trace-window $window 2>&1) && fail "--trace-window $window"
    [[ "$said" == *--trace-window* ]] || fail "--trace-window $window: $said"
done

# A page: its blocks unpack to what the program writes elsewhere; it asks no network.
page=(run all-gather --slice 4x4 --size 3MB --ring uni,bidi)
"$icisim" "${page[@]}" --html "$folder/page.html" --csv "$folder/page.csv" --links "$folder/page-links.csv" >/dev/null
block() { sed -n "s|^.*id=\"$1\">\(.*\)</script>\$|\1|p" "$folder/page.html" | base64 -d | gunzip; }
cmp <(block rows) "$folder/page.csv" || fail "the rows of a page"
cmp <(block links-1) "$folder/page-links-bidi.csv" || fail "the links of a page"
block trace-0 | python3 -c 'import json, sys; assert json.load(sys.stdin)["otherData"]["ring"] == "uni"' || fail "the trace of a page"
! grep -E '(src|href)=.?https?:' "$folder/page.html" || fail "a page asks the network"
