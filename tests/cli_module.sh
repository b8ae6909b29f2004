#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# icisim run FILE.hlo: modules whose times are worked out in their comments (golden/hlo), on both engines, written out and
# by their loops; what is told of single instructions; refusals.
set -euo pipefail
icisim=$(realpath "$1")
cd tests/golden/hlo
fail() {
    echo "cli_module: $*"
    exit 1
}

# Reads all of its input, so that whoever writes it is not stopped.
has() {
    local text
    text=$(cat)
    grep -q "$@" <<<"$text"
}

# time_us FILE OPTION...: the column time_s in us
time_us() {
    "$icisim" run "$@" --chip round.yaml --wrap all --ring bidi-half --csv - >"$out" || fail "$* fails"
    python3 -c 'import csv, sys; print(repr(float(next(csv.DictReader(open(sys.argv[1])))["time_s"]) * 1e6))' "$out"
}
out=$(mktemp)
trap 'rm -f "$out" "$out.hlo"' EXIT

# expect MICROSECONDS FILE OPTION...: to 1e-6
expect() {
    local want=$1 got engine
    shift
    for engine in event simgrid; do
        got=$(time_us "$@" --engine $engine)
        python3 -c "import sys; sys.exit(abs($got - $want) > 1e-6 * $want)" || fail "$* on $engine: $got us, not $want"
    done
}
# the derivations stand in the files' first lines
expect 1503.218655 1_ag_dot.hlo --slice 4
expect 1675.017347 2_async_pair.hlo --slice 4
expect 1141.092582 3_while.hlo --slice 4
expect 1141.092582 3_while.hlo --slice 4 --unroll
# 50 trips of 37 each, of which a few are written out of both: 50 * (21.474836 + 37 * 68.914560) us
sed -e 's/"n":"3"/"n":"37"/;s/three = s32\[\] constant(3)/three = s32[] constant(37)/;s/eleven = s32\[\] constant(11)/eleven = s32[] constant(101)/' \
    3_while.hlo >"$out.hlo"
expect 128565.6778 "$out.hlo" --slice 4
expect 128565.6778 "$out.hlo" --slice 4 --unroll
expect 708.602880 4_groups.hlo --slice 4x4
expect 119.595018 5_permutes.hlo --slice 4
expect 119.603796 6_fusions.hlo --slice 4
expect 349.557586 7_reduce_scatter.hlo --slice 4
expect 423.860754 7_reduce_scatter.hlo --slice 4 --as-written
expect 254.658240 8_all_to_all.hlo --slice 4 --ragged uniform
expect 3342.981630 9_branches.hlo --slice 4
expect 4459.712925 10_loop_start.hlo --slice 4

# Two all-reduces of 2 MiB at once, along rows and along columns, beside a product of 2 * 2048 * 2048 * 256 / 100 Tflops = 21.474836 us.
# Each takes 6 (1 us + 2 MiB / 8 / 100 GBps) = 21.728640 us and its 3 sums 2 MiB / 8 / 50 GBps = 5.242880 us each: 37.457280 us. On the
# TensorCore the 4 links' sums, 6 * 2 MiB / 8 / 200 GBps = 7.864320 us, take time from the queue: those of the first after the product,
# while it goes on, those of the second when the first has ended: 45.321600. On the SparseCores they go one after the other: 74.914560.
sed 's/^  hop_latency/  reduce_rate: {value: 50GBps, source: *us}\n&/;s/: 1TBps/: 100TBps/' round.yaml >"$out.yaml"
cat >"$out.hlo" <<'END'
HloModule queue, is_scheduled=true, num_partitions=16
add { a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT s = bf16[] add(a, b) }
ENTRY e {
  p = bf16[1048576] parameter(0)
  l = bf16[2048,256] parameter(1)
  r = bf16[256,2048] parameter(2)
  s = bf16[1048576] all-reduce-start(p), replica_groups=[4,4]<=[16], to_apply=add, channel_id=1, use_global_device_ids=true, frontend_attributes={what="x"}
  t = bf16[1048576] all-reduce-start(p), replica_groups=[4,4]<=[4,4]T(1,0), to_apply=add, channel_id=2, use_global_device_ids=true, frontend_attributes={what="y"}
  d = bf16[2048,2048] dot(l, r), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  u = bf16[1048576] all-reduce-done(s)
  v = bf16[1048576] all-reduce-done(t)
  ROOT o = (bf16[2048,2048], bf16[1048576], bf16[1048576]) tuple(d, u, v)
}
END
queues() { # MICROSECONDS OPTION...
    local want=$1 got engine
    shift
    for engine in event simgrid; do
        "$icisim" run "$out.hlo" --chip "$out.yaml" --slice 4x4 --wrap all --ring bidi-half --engine $engine --check "$@" --csv "$out" >/dev/null || fail "$*"
        got=$(python3 -c 'import csv, sys; print(float(next(csv.DictReader(open(sys.argv[1])))["time_s"]) * 1e6)' "$out")
        python3 -c "import sys; sys.exit(abs($got - $want) > 1e-6 * $want)" || fail "queue $* on $engine: $got us, not $want"
    done
}
queues 45.321600
queues 45.321600 --collective-queue tensorcore
queues 74.914560 --collective-queue sparsecore
sed -i 's/what="\([xy]\)"/queue="sparsecore"/' "$out.hlo"
queues 74.914560
queues 45.321600 --collective-queue tensorcore
rm -f "$out.yaml"

# Groups of every second chip, or third, walk all axes at once as a collective over such a part of a mesh does: the same time.
# Two chips of every four are such a box, too; what is none, as 0, 1, 3, 6 on an axis of 8, is one ring.
gather() { # CHIPS GROUPS DEVICES-OF-ONE: an all-gather of 60,060 B of each
    {
        echo "HloModule strided, is_scheduled=true, num_partitions=$1"
        echo "ENTRY e {"
        echo "  p = bf16[30030] parameter(0)"
        echo "  ROOT g = bf16[$((30030 * $3))] all-gather(p), dimensions={0}, replica_groups=$2, channel_id=1, use_global_device_ids=true"
        echo "}"
    } >"$out.hlo"
}
strided() { # SLICE MESH AXIS CHIPS GROUPS DEVICES-OF-ONE
    local engine lone
    gather "$4" "$5" "$6"
    for engine in event simgrid; do
        lone=$(time_us all-gather --slice "$1" --mesh "$2" --axis "$3" --size $((60060 * $6)) --all-axes --engine $engine)
        expect "$lone" "$out.hlo" --slice "$1"
    done
}
groups() { # python: the groups of all chips
    python3 -c "print(str($1).replace('[', '{').replace(']', '}').replace(' ', ''))"
}
strided 8x8 "f=x:4*y:4,t=x:2*y:2" f 64 "$(groups '[[(2*i+a)*8+2*j+b for i in range(4) for j in range(4)] for a in (0,1) for b in (0,1)]')" 16
strided 6x4 "f=x:2*y,t=x:3" f 24 "$(groups '[[(3*i+a)*4+j for i in range(2) for j in range(4)] for a in (0,1,2)]')" 8
"$icisim" run "$out.hlo" --chip round.yaml --wrap all --slice 6x4 --wide | has 'boxes of 2x4 (x line by 3, y ring)' || fail "a box of every third chip"
gather 8 "{{0,1,4,5},{2,3,6,7}}" 4
"$icisim" run "$out.hlo" --chip round.yaml --wrap all --slice 8 --wide | has 'boxes of 4 (x ring by 1 to 3)' || fail "0, 1, 4, 5 of every 8"
# three steps of 3 hops each, and both groups send 30,030 B each way over every link: 3 * (3 us + 60,060 B / 100 GB/s)
expect 10.8018 "$out.hlo" --slice 8
# on half of the chips: 8 chips send 3 shards of 60,060 B each, however long the axis is
gather 8 "{{0,1,2,3},{4,5,6,7}}" 4
"$icisim" run "$out.hlo" --chip round.yaml --wrap all --slice 4x4 --mesh d=8 --on 0-7 --csv - >"$out"
python3 -c 'import csv, sys; sys.exit(int(next(csv.DictReader(open(sys.argv[1])))["link_bytes"]) != 8 * 3 * 60060)' "$out" ||
    fail "whole rows of half of the chips"
gather 8 "{{0,1,3,6},{2,4,5,7}}" 4
"$icisim" run "$out.hlo" --chip round.yaml --wrap all --slice 8 --wide | has 'one ring of 4' || fail "0, 1, 3, 6 are no box"
gather 32 "$(groups '[[(4*f+2*d+t)*4+y for f in (0,1) for t in (0,1) for y in range(4)] for d in (0,1)]')" 16
"$icisim" run "$out.hlo" --chip round.yaml --wrap all --slice 8x4 --wide | has 'boxes of 4x4 (x ring by 1 to 3, y ring)' || fail "two of every four, twice"

# 2_async_pair hides 128.829120 + 85.899346 of 257.658240 us
"$icisim" run 2_async_pair.hlo --chip round.yaml --wrap all --slice 4 --instructions - >"$out"
python3 - "$out" <<'END' || fail "--instructions of 2_async_pair.hlo"
import csv, sys
rows = {row["hlo_op_name"]: row for row in csv.DictReader(open(sys.argv[1]))}
near = lambda got, want: abs(float(got) - want) <= 1e-6 * max(want, 1e-9)
assert near(rows["s1"]["exposed_time_s"], 0) and near(rows["s1"]["total_time_s"], 128.829120e-6), rows["s1"]
assert near(rows["s2"]["exposed_time_s"], 42.929774e-6), rows["s2"]
assert near(rows["y"]["total_time_s"], 1374.389535e-6) and rows["y"]["bound_by"] == "MXU" and rows["y"]["category"] == "product"
assert near(rows["y"]["flops"], 2 * 4096**3) and near(rows["y"]["hbm_bytes"], 3 * 2 * 4096**2)
END
# 15 all-reduces and 5 matmuls, of which the loops write out 9 and 3
"$icisim" run 3_while.hlo --chip round.yaml --wrap all --slice 4 --instructions - | has '^r,all-reduce,,,15,' ||
    fail "3_while.hlo has 15 all-reduces"
"$icisim" run 3_while.hlo --chip round.yaml --wrap all --slice 4 --instructions - | has '^d,product,,,5,' ||
    fail "3_while.hlo has 5 matmuls"
# r5 and r7 are written alike, but r7 has no channel: its groups are single devices
"$icisim" run 4_groups.hlo --chip round.yaml --wrap all --slice 4x4 --wide | grep -c 'box of 4x4 (x ring, y ring)' | grep -qx 2 ||
    fail "4_groups.hlo has two spellings of the whole slice"

# no schedule: text order takes 128.829120 + 2 * 1374.389535 us; with only its data to wait for, the gather hides
sed -e 's/, is_scheduled=true//' -e 's/dot(x, wg)/dot(a, wg)/' -e '/ROOT/i\
  a = bf16[4096,4096]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}' 1_ag_dot.hlo |
    "$icisim" run - --chip round.yaml --wrap all --slice 4 --csv - >"$out"
python3 - "$out" <<'END' || fail "the two bounds of a module without a schedule"
import csv, sys
row = next(csv.DictReader(open(sys.argv[1])))
assert abs(float(row["time_s"]) - 2877.608190e-6) < 1e-12, row["time_s"]
assert abs(float(row["overlapped_s"]) - 2748.779070e-6) < 1e-12, row["overlapped_s"]
END
# what a collective behind it takes counts, where two products could be next
# a product that reads what is gathered waits for it, in whatever order: 128.829120 + 1374.389535 us
sed 's/, is_scheduled=true//' 1_ag_dot.hlo >"$out.hlo"
"$icisim" run "$out.hlo" --chip round.yaml --wrap all --slice 4 --csv - >"$out"
python3 - "$out" <<'END' || fail "1_ag_dot.hlo without a schedule: the product does not wait"
import csv, sys
row = next(csv.DictReader(open(sys.argv[1])))
sys.exit(abs(float(row["overlapped_s"]) - 1503.218655e-6) > 1e-11 or row["overlapped_s"] != row["time_s"])
END
"$icisim" run 11_order.hlo --chip round.yaml --wrap all --slice 4 --csv - >"$out"
python3 - "$out" <<'END' || fail "11_order.hlo: the order of products"
import csv, sys
row = next(csv.DictReader(open(sys.argv[1])))
assert abs(float(row["time_s"]) - 88.144371e-6) < 1e-12, row["time_s"]
assert abs(float(row["overlapped_s"]) - 55.932116e-6) < 1e-12, row["overlapped_s"]
END

# each collective costs what it costs by itself on its box
"$icisim" run 4_groups.hlo --chip round.yaml --wrap all --slice 4x4 --instructions - >"$out"
python3 - "$out" "$("$icisim" run all-reduce --chip round.yaml --wrap all --slice 4x4 --size 16MiB --csv - | tail -n 1 |
    python3 -c 'import csv, sys; print(next(csv.reader(sys.stdin))[12])')" <<'END' || fail "r5 is an all-reduce over the slice"
import csv, sys
rows = {row["hlo_op_name"]: row for row in csv.DictReader(open(sys.argv[1]))}
assert abs(float(rows["r5"]["total_time_s"]) / float(sys.argv[2]) - 1) < 1e-8, (rows["r5"], sys.argv[2])
END

# devices: the ring of 4 as 0 2 1 3 has edges of 2 hops; the same order as its chips' coordinates
printf 'chip\n0\n2\n1\n3\n' >"$out"
apart=$("$icisim" run 1_ag_dot.hlo --chip round.yaml --wrap none --slice 4 --devices "$out" --csv - | tail -n 1)
printf 'x\n0\n2\n1\n3\n' >"$out"
[ "$apart" = "$("$icisim" run 1_ag_dot.hlo --chip round.yaml --wrap none --slice 4 --devices "$out" --csv - | tail -n 1)" ] ||
    fail "--devices by chips and by coordinates differ"
printf '0\n1\n2\n3\n' >"$out"
"$icisim" run 1_ag_dot.hlo --chip round.yaml --wrap none --slice 4 --devices "$out" --csv - >"$out.plain"
"$icisim" run 1_ag_dot.hlo --chip round.yaml --wrap none --slice 4 --csv - | cut -d, -f13 | cmp -s - <(cut -d, -f13 "$out.plain") ||
    fail "devices in the order of the chips are the default"
rm -f "$out.plain"

# stdin is read once, for all points, and for the choice of the engine
for command in 'run - --slice 4 --ring uni,bidi' 'compare - --slice 4' 'sweep - --slice 4x1,2x2 -j 2'; do
    # shellcheck disable=SC2086 # words of a command
    "$icisim" $command --chip round.yaml --wrap none --csv - <1_ag_dot.hlo 2>/dev/null | has ',ok,' || fail "$command: no rows"
done

# what custom calls cost: by target, by name; 3 times 7 us, and 1 Gflop at 100 Tflop/s
cat >"$out.hlo" <<'END'
HloModule calls, is_scheduled=true, num_partitions=4
ENTRY main {
  x = bf16[8,8]{1,0} parameter(0)
  a = bf16[8,8]{1,0} custom-call(x), custom_call_target="attend"
  b = bf16[8,8]{1,0} custom-call(a), custom_call_target="attend"
  c = bf16[8,8]{1,0} custom-call(b), custom_call_target="other"
  ROOT d = bf16[8,8]{1,0} custom-call(c), custom_call_target="more"
}
END
"$icisim" run "$out.hlo" --chip round.yaml --wrap all --slice 4 | has '4 executions of "attend" (2), "other" (1), "more" (1)' ||
    fail "custom calls are counted"
printf 'name,time_s,flops,bytes\nattend,7e-6,,\nc,7e-6,,\nmore,,1e9,0\n' >"$out.csv"
[ "$("$icisim" run "$out.hlo" --chip round.yaml --wrap all --slice 4 --op-cost "$out.csv" --csv - | tail -n 1 | cut -d, -f13)" = 3.1e-05 ] ||
    fail "--op-cost"
printf 'name,time_s\nattend,\n' >"$out.csv"
said=$("$icisim" run "$out.hlo" --chip round.yaml --wrap all --slice 4 --op-cost "$out.csv" 2>&1) && fail "an empty cost is not refused"
grep -q 'csv:2: ' <<<"$said" || fail "an empty cost: $said"
rm -f "$out.hlo" "$out.csv"

# refusals: one line with the cure, status 2
machine=(--chip round.yaml --wrap all)
refuse() {
    local want=$1 said
    shift
    said=$("$icisim" run "$@" "${machine[@]}" 2>&1 >/dev/null) && fail "$* is not refused"
    [ "$(wc -l <<<"$said")" = 1 ] && grep -qF -- "$want" <<<"$said" || fail "$*: says '$said', not '$want'"
}
refuse 'icisim: c: how much a ragged-all-to-all sends to whom is known only when it runs; --ragged uniform' 8_all_to_all.hlo --slice 4
refuse 'give a --slice of 4 chips' 1_ag_dot.hlo --slice 8
refuse '--strategy does not apply to HLO text' 1_ag_dot.hlo --slice 4 --strategy uni
refuse '--remat does not apply to HLO text' 1_ag_dot.hlo --slice 4 --remat full
refuse '--size does not apply to HLO text' 1_ag_dot.hlo --slice 4 --size 1MiB
printf 'chip\n0\n2\n1\n2\n' >"$out"
refuse 'devices 1 and 3 are both on chip 2' 1_ag_dot.hlo --slice 4 --devices "$out"
printf 'chip\n0\n2\n1\n' >"$out"
refuse '3 devices, but the module runs on 4; write a row for each' 1_ag_dot.hlo --slice 4 --devices "$out"
# Numbers of chips go to the end of the slice, coordinates to that of their axis.
printf 'chip\n0\n3\n1\n2\n' >"$out"
"$icisim" run 1_ag_dot.hlo --slice 2x2 --devices "$out" "${machine[@]}" >/dev/null || fail "chip 3 of 2x2 by --devices"
printf 'chip\n0\n4\n1\n2\n' >"$out"
refuse '4 is not there; write 0 to 3' 1_ag_dot.hlo --slice 2x2 --devices "$out"
printf 'x,y\n0,0\n0,1\n1,0\n3,0\n' >"$out"
refuse '3 is not there; write 0 to 1' 1_ag_dot.hlo --slice 2x2 --devices "$out"
# Two devices a chip: 4 on 2 chips of v3, each twice.
printf 'chip\n0\n1\n0\n1\n' >"$out"
"$icisim" run 1_ag_dot.hlo --chip v3 --slice 2x1 --devices "$out" >/dev/null || fail "two devices a chip by --devices"
printf 'chip\n0\n0\n0\n1\n' >"$out"
refuse 'devices 1 and 2 are both on chip 0; write each chip once for each of its devices' 1_ag_dot.hlo --chip v3 --slice 2x1 --devices "$out"
printf 'chip\n0\n1\n' >"$out"
refuse '2 devices, but the module runs on 4; write a row for each' 1_ag_dot.hlo --chip v3 --slice 2x1 --devices "$out"
refuse 'leave one of them out' 1_ag_dot.hlo --slice 4 --devices "$out" --mesh d=4
refuse 'write uniform' 1_ag_dot.hlo --slice 4 --ragged random
refuse 'ends in after_codegen.txt or after_optimizations.txt' ./ --slice 4

# models: options that are for HLO text, and options of loops where there are none
cd ../../..
machine=(--chip tests/golden/hlo/round.yaml --wrap all)
refuse '--as-written does not apply to a model' workloads/net-tp.yaml --as-written
refuse '--trip-count does not apply to a model' workloads/net-tp.yaml --trip-count while=3
refuse 'add --strategy uni, bidi, bidi-half or auto' workloads/net-tp.yaml --loop xla
refuse '--chunks does not apply without --all-reduce chunks' workloads/net-tp.yaml --strategy uni --chunks 2
refuse '--chunks does not apply to a model without loops' workloads/net-tp.yaml --chunks 2
refuse '--chunks 0: write 1 to' workloads/net-tp.yaml --strategy uni --all-reduce chunks --chunks 0
refuse "'workloads/fsdp-layer.yaml': one workload file at a time, unless all are models" workloads/net-tp.yaml workloads/fsdp-layer.yaml
refuse 'llama-8b.yaml: slice is 4x4x4 here and nothing in workloads/net-tp.yaml; give --slice for both' workloads/net-tp.yaml workloads/by-hand/llama-8b.yaml
refuse "unknown strategy 'both'; known are naive, uni, bidi, bidi-half, auto" workloads/net-tp.yaml --strategy both

# the same time by both engines, to 1e-9
for file in workloads/net-*.yaml; do
    for engine in event simgrid; do
        "$icisim" run "$file" --engine $engine --csv - | tail -n 1 | python3 -c 'import csv, sys; print(next(csv.reader(sys.stdin))[12])'
    done | python3 -c "import sys; a, b = map(float, sys.stdin); sys.exit(not abs(a / b - 1) < 1e-9)" || fail "$file: the engines differ"
done
# auto is as good as the best, and for tp better: loops are uni in one place and naive in another
for file in workloads/net-tp.yaml workloads/net-fsdp-b.yaml; do
    "$icisim" run "$file" --strategy naive,uni,bidi,bidi-half,auto --csv "$out" >/dev/null
    python3 - "$out" "$file" <<'END' || fail "$file: auto"
import csv, sys
*ways, auto = csv.DictReader(open(sys.argv[1]))
best = min(float(w["time_s"]) for w in ways)
assert float(auto["time_s"]) <= best, auto["time_s"]
assert (auto["strategy"] == "auto:mixed") == (float(auto["time_s"]) < best) == ("net-tp" in sys.argv[2]), auto["strategy"]
END
done
# traces name layers
"$icisim" run workloads/net-tp.yaml --trace - | has '"name":"dot.16 fwd 1"' || fail 'a trace without layers'
"$icisim" run workloads/net-tp.yaml --strategy uni --trace - | has '"name":"collective-permute[^"]* bwd 4"' || fail 'permutes without layers'
# what collectives leave exposed is, added up, what the step takes less what the critical chip computes: of synchronous ones, in
# loops of which some chips sit out steps or end later, and ahead
for options in workloads/net-*.yaml 'workloads/net-fsdp-a.yaml --strategy uni' 'workloads/net-fsdp-b.yaml --strategy bidi' \
    'workloads/net-tp.yaml --strategy bidi-half --prefetch 1' 'workloads/net-fsdp-tp.yaml --strategy bidi --prefetch 1' \
    'workloads/net-fsdp-a.yaml --strategy auto --engine event' 'workloads/reshard.yaml'; do
    # shellcheck disable=SC2086
    "$icisim" run $options --instructions "$out" --csv "$out.csv" >/dev/null
    python3 - "$out" "$out.csv" <<'END' || fail "$options: the instructions are not the step"
import csv, sys
rows, run = list(csv.DictReader(open(sys.argv[1]))), next(csv.DictReader(open(sys.argv[2])))
computes = sum(float(r["total_time_s"]) for r in rows if r["bound_by"] != "ICI")
exposed = sum(float(r["exposed_time_s"]) for r in rows)
assert abs(exposed / float(run["exposed_comm_s"]) - 1) < 1e-7, (exposed, run["exposed_comm_s"])
if run["strategy"] == "naive": # else some chips compute more than the critical one
    assert abs(computes / float(run["compute_s"]) - 1) < 1e-7
END
done
rm -f "$out.csv"
# without a slice: one product of 1024^3 in a fusion; 15 all-reduces of 8 MiB in loops
"$icisim" run tests/golden/hlo/6_fusions.hlo --count-only | has '4 devices, scheduled; on each: 1 products of 2.14748e+09 operations, 0 calls' ||
    fail "--count-only of a fusion"
"$icisim" run tests/golden/hlo/3_while.hlo --count-only | has 'all-reduce  *\[1,4\]<=\[4\]  *4  *-  *15  *125829120  *125829120' ||
    fail "--count-only of loops"
{ "$icisim" run all-gather --slice 4 --size 1MiB --count-only || true; } 2>&1 | has 'name HLO text or a model' || fail "--count-only of a collective"
