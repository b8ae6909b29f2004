#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Where the devices of HLO text are: devices.csv beside it, or what is assumed and said; chips of two devices; every way to lay
# a program's mesh; two compilations side by side.
set -euo pipefail
icisim=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() {
    echo "cli_devices: $*"
    exit 1
}
# time FILE OPTION...: in us
time_of() { "$icisim" run "$@" | awk 'END { print $1 }'; }
first_of() { "$icisim" run "$@" | head -n 1; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 <= (0.01) ^ 2) }' || fail "$3: $1, not $2"; }
refuse() {
    local want=$1 status=0
    shift
    said=$("$icisim" run "$@" 2>&1 >/dev/null) || status=$?
    [[ "$status" = 2 && "$said" == *"$want"* && $(wc -l <<<"$said") = 1 ]] || fail "$*: exit $status, must say $want: $said"
}

# text NAME GROUPS SHAPE_IN SHAPE_OUT DEVICES: a gather and a product of bf16
text() {
    cat >"$1" <<END
HloModule f, is_scheduled=true, num_partitions=$5
ENTRY main {
  x = bf16[512,4096]{1,0} parameter(0)
  w = bf16[$3,4096]{1,0} parameter(1)
  g = bf16[$4,4096]{1,0} all-gather(w), channel_id=1, replica_groups=$2, dimensions={0}, use_global_device_ids=true, metadata={op_name="jit(f)/gather"}
  ROOT y = bf16[512,$4]{1,0} dot(x, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, metadata={op_name="jit(f)/dot"}
}
END
}

# Beside the text, unasked; it may be asked for elsewhere, and without either the first line says what was assumed.
mkdir beside
text beside/a.hlo '[1,8]<=[8]' 512 4096 8
printf 'id,device,x,y,z,core,slice\n' >beside/devices.csv
i=0
for place in 0,0 3,1 0,1 2,0 1,1 3,0 1,0 2,1; do
    echo "$i,$i,$place,0,0,0" >>beside/devices.csv
    i=$((i + 1))
done
cp beside/a.hlo a.hlo
where=(--chip v5e --slice 4x2 --profile spec)
[ "$(first_of beside/a.hlo "${where[@]}")" = '# devices: as beside/devices.csv says' ] || fail 'devices.csv is not taken'
[ "$(time_of beside/a.hlo "${where[@]}")" = "$(time_of a.hlo "${where[@]}" --devices beside/devices.csv)" ] ||
    fail 'devices.csv and --devices differ'
(cd beside && [ "$("$icisim" run a.hlo "${where[@]}" | head -n 1)" = '# devices: as devices.csv says' ]) || fail 'devices.csv here'
first_of a.hlo "${where[@]}" | grep -q 'assumed: device d is on chip d of the slice, row by row' || fail 'what is assumed is not said'
for said in "$(first_of beside/a.hlo "${where[@]}" --mesh m=8)" "$(first_of a.hlo "${where[@]}" --devices beside/devices.csv)"; do
    [[ $said != '# devices'* ]] || fail "what was asked for is said: $said"
done
"$icisim" compare a.hlo "${where[@]}" | head -n 1 | grep -q '^# devices: the text' || fail 'compare does not say it'
refuse "beside/devices.csv:3: column 'x': 3 is not there; write 0 to 1" beside/a.hlo --chip v5e --slice 2x4
sed -i '$d' beside/devices.csv
refuse 'beside/devices.csv: 7 devices, but the module runs on 8; write a row for each' beside/a.hlo "${where[@]}"

# Two devices a chip: each has half. 2 * 512 * 4096 * 4096 operations at half of v7x's 2300 Tflop/s, on all chips or one idle;
# v4's compiler takes a chip for one device or for two of half of 275.
mkdir one two
sed -e 's/^  g = .*//' -e 's/dot(x, g)/dot(x, w)/' -e 's/4096\]{1,0} dot/512]{1,0} dot/' -e 's/, num_partitions=8//' a.hlo >one/d.hlo
sed -i 's/bf16\[512,4096\]{1,0} parameter/bf16[8192,8192]{1,0} parameter/; s/bf16\[512,512\]/bf16[8192,8192]/' one/d.hlo
printf 'id,device,x,y,z,core,slice\n0,0,0,0,0,0,0\n' >one/devices.csv
near "$(time_of one/d.hlo --chip v7x --slice 1 --profile spec)" 956.10 'one device of v7x'
near "$(time_of one/d.hlo --chip v7x --slice 2x2x1 --profile spec)" 956.10 'one device of four chips'
near "$(time_of one/d.hlo --chip v4 --slice 1 --profile spec)" 3998.22 'a chip of v4'
sed 's/is_scheduled=true/is_scheduled=true, num_partitions=8/' one/d.hlo >two/d.hlo
printf 'x,y,z,core\n0,0,0,0\n0,0,0,1\n1,0,0,0\n1,0,0,1\n0,1,0,1\n0,1,0,0\n1,1,0,0\n1,1,0,1\n' >two/devices.csv
near "$(time_of two/d.hlo --chip v4 --slice 2x2x1 --profile spec)" 7996.45 'half a chip of v4'
first_of two/d.hlo --chip v4 --slice 2x2x1 | grep -q 'as two/devices.csv says' || fail 'v4 without megacore'
cp two/d.hlo d.hlo
first_of d.hlo --chip v4 --slice 2x2x1 | grep -q 'device d is on chip d/2' || fail 'cores are not assumed'
near "$(time_of d.hlo --chip v4 --slice 2x2x1 --profile spec --mesh 'a=x*y*cores')" 7996.45 'v4, a mesh of halves'
sed -i 's/^0,1,0,0$/0,1,0,1/' two/devices.csv
refuse 'devices 4 and 5 are both on chip 1; write each chip once for each of its devices' two/d.hlo --chip v4 --slice 2x2x1
sed -i '6s/.*/1,0,0,0/; 7s/.*/0,1,0,0/' two/devices.csv
refuse 'both on chip' two/d.hlo --chip v4 --slice 2x2x1
refuse '1 is not there; write 0 to 0' two/d.hlo --chip v5p --slice 2x2x1

# The joint between the devices of a chip, 1.2 TB/s one way on v7x: 120 MB each way, 240 MB of which each has half, 120 MB that
# are summed there and back; v3 has none that is known: each HBM, of 450 GB/s, reads 120 MB and writes as many.
inside() {
    cat >joint.hlo <<END
HloModule j, is_scheduled=true, num_partitions=2
add { a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT s = bf16[] add(a, b)
}
ENTRY main {
  x = bf16[60000000]{0} parameter(0)
  ROOT y = bf16[$1]{0} $2, channel_id=1
}
END
}
inside 60000000 'collective-permute(x), source_target_pairs={{0,1},{1,0}}'
near "$(time_of joint.hlo --chip v7x --slice 1 --profile spec)" 100 'a permute over the joint'
near "$(time_of joint.hlo --chip v3 --slice 1)" 533.33 'a permute through HBM'
inside 120000000 'all-gather(x), replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true'
near "$(time_of joint.hlo --chip v7x --slice 1 --profile spec)" 100 'a gather over the joint'
inside 60000000 'all-reduce(x), replica_groups={{0,1}}, to_apply=add, use_global_device_ids=true'
near "$(time_of joint.hlo --chip v7x --slice 1 --profile spec)" 100 'a sum over the joint'

# The mesh that groups and pairs are of, laid in every way: an axis along y is faster than one that steps over others.
text e.hlo '[4,4]<=[4,4]T(1,0)' 1024 4096 16
said=$("$icisim" run e.hlo --chip v5e --slice 4x4 --profile spec --mesh all 2>/dev/null)
grep -q 'mesh m0=4,m1=4' <<<"$said" || fail "no mesh of 4x4: $said"
for laid in 'm0 on x, m1 on y' 'm0 on x:2\*y:2, m1 on x:2\*y:2' 'm0 on x:2:1\*y:2:1, m1 on x:2:2\*y:2:2'; do
    grep -q "^   $laid[, ]" <<<"$said" || fail "$laid is not tried: $said"
done
sort -c -n -k1,1 <(grep -o '[0-9]*\.[0-9][0-9]  *-  *-' <<<"$said" | awk '{ print $1 }') || fail "not sorted: $said"
one=$(time_of e.hlo --chip v5e --slice 4x4 --profile spec --mesh 'm0=x:2:1*y:2:1,m1=x:2:2*y:2:2')
grep -q "x:2:1.*$one" <<<"$said" || fail "$one us by itself: $said"
sed 's/all-gather(w).*/collective-permute(w), channel_id=1, source_target_pairs={{0,2},{2,4},{4,6},{1,3},{3,5},{5,7}}/; s/4096,4096\]/1024,4096]/; s/512,4096\]{1,0} dot/512,1024]{1,0} dot/; s/=16/=8/' e.hlo >f.hlo
"$icisim" run f.hlo --chip v5e --slice 2x4 --mesh all 2>/dev/null | grep -q 'mesh m0=4,m1=2' || fail 'no mesh of pairs'
refuse 'lays the mesh of one program' - --chip v5e --slice 2x4 --mesh all
refuse 'do not lie inside each other' e.hlo --chip v5e --slice 4x4 --mesh 'm0=x:2:2,m1=x:2:2*y'

# Two compilations: the product moved into the gather's place, with the whole to the step's time.
sed 's/jit(f)\/dot/jit(f)\/other/; s/x = bf16\[512/x = bf16[1024/; s/y = bf16\[512/y = bf16[1024/' a.hlo >b.hlo
said=$("$icisim" compare a.hlo b.hlo "${where[@]}")
[ "$(grep -c '^   jit(f)' <<<"$said")" = 3 ] || fail "not three names: $said"
awk '/^   jit/ { print $1 }' <<<"$said" | tr '\n' ' ' | grep -q 'jit(f)/other jit(f)/gather jit(f)/dot' || fail "not worst first: $said"
all=$(awk '$1 == "all" { print $3 }' <<<"$said")
near "$(printf %.2f "$all")" "$(time_of b.hlo "${where[@]}")" 'the sum of b'
said=$("$icisim" compare a.hlo b.hlo "${where[@]}" --ring uni,bidi 2>&1) && fail 'rings of two texts'
grep -q 'by one value of each option' <<<"$said" || fail "$said"
refuse "'nonsense' is no op" nonsense
