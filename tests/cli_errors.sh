#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Wrong input: one line on stderr that names the fault and the cure, exit status 2, nothing on stdout and no file. A
# case is a line: what the message must say | the arguments.
set -u
. tests/support/sanitized.sh
commands=(run compare sweep) turns=1
sanitized "$1" && turns=3 # there each case is given to one of the commands, in turn
program=$(realpath "$1") source=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
printf 'op: all-gather\nslice: 4x4\nsize: 64m\n' >"$scratch.yaml"
printf 'HloModule cut\n' >"$scratch.hlo"
printf 'op: psum\nslice: 4x4\nsize: 64MiB\nroot: 3\n' >"$scratch.root.yaml"
printf 'op: psum\nslice: 4x4\nsize: 65537\n' >"$scratch.odd.yaml"
printf 'op: psum\nsize: 1 MiB\nmesh: {X: 3}\nslice: 4x4\n' >"$scratch.mesh.yaml"
printf 'op: all-to-all\nslice: 4x4\nsize: 1MiB\nring:\n  - uni\n' >"$scratch.ring.yaml"
printf 'from,to,size_bytes\n0,1,64\n0,99,64\n' >"$scratch.csv"
trap 'rm -rf "$scratch" "$scratch.yaml" "$scratch".*.yaml "$scratch.csv" "$scratch.hlo"' EXIT

failed=0 ran=0 case=0
try() {
    local says=$1 out status
    shift
    ran=$((ran + 1))
    out=$("$program" "$@" 2>err)
    status=$?
    if [ $status -ne 2 ] || [ -n "$out" ] || [ "$(wc -l <err)" -ne 1 ] || ! grep -q '^icisim: ' err ||
        ! grep -qF -e "$says" err; then
        printf 'icisim %s\n  exit %d, must say "%s", says: %s\n' "$*" $status "$says" "$(cat err)"
        failed=1
    fi
    rm -f err
    if [ -n "$(ls -A)" ]; then
        printf 'icisim %s\n  leaves %s\n' "$*" "$(ls -A)"
        failed=1
        rm -rf ./* .[!.]*
    fi
}

while IFS='|' read -r says arguments; do
    [ -n "$says" ] || continue
    eval "set -- $arguments"
    case=$((case + 1))
    for ((c = 0; c < ${#commands[@]}; c++)); do
        [ $(((case + c) % turns)) -ne 0 ] || try "$says" "${commands[c]}" --csv out.csv "$@"
    done
done <<'END'
larger than the v5e pod of 16x16|all-gather --chip v5e --slice 17x16 --size 1MiB
a shape such as 4x4|all-gather --chip v5e --slice 4x4x4 --size 1MiB
has no axis 'z'|all-gather --slice 4x4 --axis z --size 1MiB
name the chip by its 2 coordinates on slice 4x4|all-gather --slice 4x4 --size 1MiB --link 1:x+=0.5
such as 0-3,7,6|all-gather --slice 4x4 --size 1MiB --mesh d=4 --on 0-
such as 0-3,7,6|all-gather --slice 4x4 --size 1MiB --mesh d=4 --on 0,1,2,3,
more chips than the slice has|all-gather --slice 4x4 --size 1MiB --mesh d=16 --on 0-16
has 4 devices, but 3 chips are listed|all-gather --slice 4x4 --size 1MiB --mesh d=4 --on 2-0
listed twice|all-gather --slice 4x4 --size 1MiB --mesh d=4 --on 0-2,1
its chips are 0 to 15|all-gather --slice 4x4 --size 1MiB --mesh d=2 --on 15,16
add --mesh|all-gather --slice 4x4 --size 1MiB --on 0-3
name the chip by its 2 coordinates on slice 4x4|all-gather --slice 4x4 --size 1MiB --link "1,0:x=0 0.5"
x runs from 0 to 3|all-gather --slice 4x4 --size 1MiB --link 4,0:x+=0.5
the slice has no such link|all-gather --slice 4x4 --size 1MiB --link 3,0:x+=0.5
the slice has no such link|all-gather --slice 4x4 --size 1MiB --link 3,0:x=0
such as 1,0:x+=0.5|all-gather --slice 4x4 --size 1MiB --link 1,0:z+=0.5
such as 1,0:x+=0.5|all-gather --slice 4x4 --size 1MiB --link 1,0:x+
is above 1|all-gather --slice 4x4 --size 1MiB --link 1,0:x+=1.5
--link is empty|all-gather --slice 4x4 --size 1MiB --link 1,0:x=0 --link ""
no route from chip (0,0) to chip (1,0)|all-gather --slice 4x4 --size 1MiB --link 0,0:x=0 --link 0,0:y=0
such as 3,3,3=0.8|'bf16[64,64@x] . bf16[64@x,64] -> bf16[64,64]' --slice 4x4 --slow-chip 1,0:x
--slow-chip does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --slow-chip 1,0=0.5
--precision does not apply: no product takes passes|$source/workloads/llama-8b.yaml --layers 1 --slice 4x4 --mesh fsdp=16 --precision highest
--ragged does not apply: there is no ragged all-to-all of unknown sizes|$source/workloads/moe-zipf.yaml --slice 2x4 --mesh ep=8 --ragged uniform
--ragged does not apply: there is no ragged all-to-all|$source/workloads/llama-8b.yaml --layers 1 --slice 4x4 --mesh fsdp=16 --ragged uniform
--all-reduce does not apply: no product ends in an all-reduce|$source/workloads/llama-8b.yaml --layers 1 --slice 4x4 --mesh fsdp=16 --strategy uni --all-reduce chunks
a share above 0|'bf16[64,64@x] . bf16[64@x,64] -> bf16[64,64]' --slice 4x4 --slow-chip 1,0=0
unknown topology 'twister'|all-gather --slice 4x4_twister --size 1MiB
slice 4x4_twisted is not twisted|all-gather --slice 4x4_twisted --size 1MiB
unknown unit 'm'|all-gather --slice 4x4 --size 64m
not a whole number of bytes|all-gather --slice 4x4 --size 1.5
the nearest are v5e, v5p|all-gather --chip v5 --slice 4x4 --size 64MiB
write 1KiB or more|all-gather --slice 4x4 --size 0B
too large|all-gather --slice 4x4 --size 99999999TiB
write a multiple of 2B|all-gather --slice 4x4 --size 3B
unknown chip 'v5litepod'; the nearest is v5e|all-gather --chip v5litepod --slice 4x4 --size 64MiB
unknown chip 'v5litepod-16'; the nearest is v5e|all-gather --chip v5litepod-16 --slice 4x4 --size 64MiB
unknown chip 'tpu_v6e'; the nearest is v6e|all-gather --chip tpu_v6e --slice 4x4 --size 64MiB
unknown chip 'TPUv4'; the nearest is v4|all-gather --chip TPUv4 --slice 4x4 --size 64MiB
unknown chip 'tpu7x-64'; the nearest is v7x|all-gather --chip tpu7x-64 --slice 4x4 --size 64MiB
unknown chip 'tpu-v5p'; the nearest is v5p|all-gather --chip tpu-v5p --slice 4x4 --size 64MiB
unknown chip 'Trillium'; the nearest is v6e|all-gather --chip Trillium --slice 4x4 --size 64MiB
unknown chip 'ironwood'; the nearest is v7x|all-gather --chip ironwood --slice 4x4 --size 64MiB
'v5p-512' is 256 chips: --chip v5p --slice 4x8x8|all-gather --slice v5p-512 --size 1MiB
'v5litepod-16' is 16 chips: --chip v5e --slice 4x4|all-gather --slice v5litepod-16 --size 1MiB
the nearest have 16 and 32|all-gather --slice v6e-17 --size 1MiB
not a shape|all-gather --slice 4-4 --size 1MiB
write x between the lengths|all-gather --slice 4×4 --size 1MiB
it is x=4,y=4; others are named by a mesh: --mesh dp=4,tp=4|all-gather --slice 4x4 --size 1MiB --axis tp
unknown dtype 'fp8'; the nearest is f8e4m3fn|all-gather --slice 4x4 --size 1MiB --dtype fp8
unknown dtype 'fp32'; the nearest is f32|all-gather --slice 4x4 --size 1MiB --dtype fp32
has no option '--json'; the nearest is --csv|all-gather --slice 4x4 --size 1MiB --json
has no option '--format'; the nearest is --csv|all-gather --slice 4x4 --size 1MiB --format json
unknown unit 'µs'; the nearest is us|all-gather --slice 4x4 --size 1MiB --hop-latency 1µs
4K is written 4096|workloads/by-hand/llama-8b.yaml --tokens-per-chip 4K
2Mi is written 2097152|workloads/by-hand/llama-8b.yaml --tokens-per-chip 2Mi
(pp, cp, sp) are no axes|workloads/by-hand/llama-8b.yaml --slice 4x4 --mesh fsdp=4,pp=4
no ENTRY|../$(basename "$scratch").hlo
--size is missing|all-gather --slice 4x4
add --slice|all-gather --size 1MiB
add --slice|all-gather --mesh X=x*y --size 1MiB
add --chips|all-gather --slice all --size 1MiB
the nearest have 8 and 16|all-gather --chips 12 --slice offered --size 1MiB
no box of 17 chips fits the pod of v5e|all-gather --chips 17 --slice all --size 1MiB
slice 4x4 has 16|all-gather --chips 8 --slice 4x4 --size 1MiB
no sizes multiply to its chips|all-gather --slice 4x4 --mesh dp=?,tp=3 --size 1MiB
no box of 16 chips fits the pod of v5e, or none has the mesh|all-gather --chips 16 --slice all --mesh dp=?,tp=3 --size 1MiB
write '?' for a whole size|all-gather --slice 4x4 --mesh dp=?2,tp=? --size 1MiB
but not both|all-gather --slice 4x4 --mesh dp=?,tp=x*y --size 1MiB
it has 4 axes at most|all-gather --slice 4x4 --mesh a=?,b=?,c=?,d=?,e=? --size 1MiB
of one --wrap at a time|all-gather --chip v5e,v6e --chips 16 --wrap all --wrap none --slice all --size 1MiB
the nearest have 8 and 16. Say which with --slice|all-gather --mesh dp=3,tp=4 --size 1MiB
takes 2 chips along axis x, which has 4|all-gather --slice 4x4 --mesh a=x:2,b=y --size 1MiB
write 8, x*y or x:2*y|all-gather --slice 4x4 --mesh a=x:5,b=y --size 1MiB
--one-ring does not apply together with --all-axes|all-gather --slice 4x4 --size 1MiB --one-ring --all-axes
--one-ring does not apply together with --groups|all-gather --slice 4x4 --size 1MiB --one-ring --groups '[4,4]<=[16]'
--all-axes does not apply: d is not on 1 to 3|all-gather --slice 4x4 --mesh d=5 --on 0-4 --size 1MiB --all-axes
the nearest is all-gather|all-gathr --slice 4x4 --size 1MiB
name a collective|--slice 4x4 --size 1MiB
the nearest is --size|all-gather --slice 4x4 --sise 1MiB
--size has no value|all-gather --slice 4x4 --size
takes no value|all-gather --slice 4x4 --size 1MiB --check=yes
not a shape|all-gather --slice 4y4 --size 1MiB
uni, bidi, bidi-half|all-gather --slice 4x4 --size 1MiB --ring both
the nearest is bf16|all-gather --slice 4x4 --size 1MiB --dtype bf17
unknown engine|all-gather --slice 4x4 --size 1MiB --engine warp
known are off, alike, on|all-gather --slice 4x4 --size 1MiB --fold maybe
the nearest is spec|all-gather --slice 4x4 --size 1MiB --profile spek
wrap|all-gather --slice 4x4 --size 1MiB --wrap z
wrap|all-gather --slice 4x4 --size 1MiB --wrap q
above 0|all-gather --slice 4x4 --size 1MiB --link-bandwidth 0GBps
write 1Bps to 1000TBps|all-gather --slice 4x4 --size 1MiB --link-bandwidth 1e-307Bps
write 1Bps to 1000TBps|all-gather --slice 4x4 --size 1MiB --link-bandwidth 1e300Bps --engine simgrid
write 1e-6ps to 1e6s|all-gather --slice 4x4 --size 1MiB --hop-latency 1e308s
45GBps|all-gather --slice 4x4 --size 1MiB --link-bandwidth 45
1us|all-gather --slice 4x4 --size 1MiB --hop-latency 1
16 chips|all-gather --slice 4x4 --mesh a=3 --size 1MiB
write the smaller end first|all-gather --slice 4x4 --size 1MiB:1KiB:x2
has no step|all-gather --slice 4x4 --size 1KiB:1MiB
no empty values|all-gather --slice 4x4,,8x8 --size 1MiB
name each source and each target once|collective-permute --slice 4x4 --size 1MiB --pairs 0-15,0-3
such as 0-1,1-0|collective-permute --slice 4x4 --size 1MiB --pairs 0:15
numbered 0 to 15|collective-permute --slice 4x4 --size 1MiB --pairs 0-16
must not overlap|all-gather --slice 4x4 --size 1MiB --groups '{{0,1},{1,2}}'
leave one of them out|all-gather --slice 4x4 --size 1MiB --groups '[4,4]<=[16]' --axis x
random:1|ragged-all-to-all --slice 4x4 --size 1MiB
groups of 1024 chips or fewer|ragged-all-to-all --chip v4 --slice 16x16x16 --pair-sizes random:1 --size 1GiB
unknown dtype 'fp32'|'fp32[64@x,64] . fp32[64,64@y]' --slice 4x4
beyond any slice|'bf16[1099511627776,4] . bf16[4,1099511627776]' --slice 4x4
leave one of them uncut in the output|'bf16[64@x,64@y] . bf16[64@y,64@x]' --slice 4x4
run it by itself|'bf16[64,64@x] . bf16[64@x,64] . bf16[64,64] -> bf16[64,64]' --slice 4x4
0 to 15|ragged-all-to-all --slice 4x4 --size 128B --pair-sizes $scratch.csv
positions are 0 to 15|broadcast --slice 4x4 --size 1MiB --root 16
--routes 0: write 1 or more|collective-permute --slice 4x4 --size 1MiB --routes 0
2^60 elements or fewer|all-gather --slice 4x4 --size 3000000TiB
--all-to-all does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --all-to-all ring
--algorithm swing does not apply to all-to-all; write schedule or best|all-to-all --slice 4x4 --size 1MiB --algorithm swing
--root does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --root 0
--routes does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --routes 2
--keep-ties does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --keep-ties
--pairs does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --pairs 0-1
--pair-sizes does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --pair-sizes random:1
--offset does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --offset 2
--strategy does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --strategy uni
--chunks does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --chunks 2
--chunks does not apply without --all-reduce chunks|'bf16[64,64@x] . bf16[64@x,64] -> bf16[64,64]' --slice 4 --chunks 2
--dims does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --dims Q=3
--peak does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --peak bf16=1Tflops
--mxu-padding does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --mxu-padding
--ring does not apply to collective-permute|ppermute --slice 4x4 --size 1MiB --ring uni
--offset does not apply together with --pairs|ppermute --slice 4x4 --size 1MiB --offset 2 --pairs 0-1
--keep-ties does not apply without --all-to-all direct|all-to-all --slice 4x4 --size 1MiB --all-to-all ring --keep-ties
--fold does not apply without --engine event|all-gather --slice 4x4 --size 1MiB --engine simgrid --fold on
--tolerance does not apply without --engine event|all-gather --slice 4x4 --size 1MiB --engine simgrid --tolerance 1e-2
--fold does not apply without --engine event|all-gather --slice 4x4 --size 1MiB --engine both --fold on
--check does not apply together with --tolerance|all-gather --slice 4x4 --size 1MiB --tolerance 1e-2 --check
a share above 0 and at most 1|all-gather --slice 4x4 --size 1MiB --tolerance 0
time-limit '60' has no unit|all-gather --slice 4x4 --size 1MiB --time-limit 60
--size does not apply to a matmul|'bf16[64@x,64] . bf16[64,64@y]' --slice 4x4 --size 1MiB
--axis does not apply to a matmul|'bf16[64@x,64] . bf16[64,64@y]' --slice 4x4 --axis x
--groups does not apply to a matmul|'bf16[64@x,64] . bf16[64,64@y]' --slice 4x4 --groups '[4,4]<=[16]'
--root does not apply to a matmul|'bf16[64@x,64] . bf16[64,64@y]' --slice 4x4 --root 1
--dtype does not apply to arrays that name their type|'bf16[64@x,64] . bf16[64,64@y]' --slice 4x4 --dtype f32
no operand has a dim Q|'bf16[B=64@x,64] . bf16[64,64@y]' --slice 4x4 --dims B=64,Q=3
no product ends in an all-reduce|'bf16[64@x,64] . bf16[64,64@y] -> bf16[64@x,64@y]' --slice 4x4 --all-reduce chunks
--gather does not apply: nothing could be gathered after the product as well as before|'bf16[64,64@y] . bf16[64,64] -> bf16[64,64]' --slice 4x4 --gather after
--gather does not apply to all-gather|all-gather --slice 4x4 --size 1MiB --gather after
known are auto, before, after|'bf16[64@y,64] . bf16[64,64] -> bf16[64,64]' --slice 4x4 --gather then
no product ends in a reduce-scatter|'bf16[64,64@y] . bf16[64,64] -> bf16[64,64]' --slice 4x4 --loop xla
nothing is communicated|'bf16[64@x,64] . bf16[64,64@y] -> bf16[64@x,64@y]' --slice 4x4 --ring uni
no product takes passes, as f32 does|'bf16[64@x,64] . bf16[64,64@y]' --slice 4x4 --precision high
known are default, high, highest|'f32[64@x,64] . f32[64,64@y]' --slice 4x4 --precision best
the product has more than 6 dims|'bf16[2,2,2,64] . bf16[64,2,2,2,2]' --slice 4x4
the output is 64x32, the product 8x64x32|'bf16[8,64,64] . bf16[64,32] -> bf16[64,32]' --slice 4x4
axis x shards two dims|'bf16[8@x,64@x,64] . bf16[64,32]' --slice 4x4
the matmul is of bf16|'bf16[64@x,64] . bf16[64,64@y]' --slice 4x4 --peak int8=1Tflops
.root.yaml:4:7: root does not apply to all-reduce|$scratch.root.yaml
.odd.yaml:3:7: size 65537B is not a whole number of bf16 elements|$scratch.odd.yaml
.mesh.yaml:3:7: mesh 'X=3' has 3 devices|$scratch.mesh.yaml
icisim: --size 3B is not a whole number of bf16 elements|$scratch.odd.yaml --size 3B
'MiB' stands apart from its number; write --size 1MiB|all-gather --slice 4x4 --size 1 MiB
'1' has no unit; write 1us|all-gather --slice 4x4 --size 1MiB --hop-latency 1 us
No such file|all-gather --chip ./none.yaml --slice 4x4 --size 1MiB
No such file|none.yaml
workloads compiled in, workloads/NAME.yaml, the nearest is llama-8b|llama-8.yaml
:3:7:|$scratch.yaml
END

# What does not apply beside other options of one command.
try '--steps does not apply together with --tolerance' run all-gather --slice 4x4 --size 1MiB --steps --tolerance 1e-2
try '--critical-path does not apply together with --tolerance' run all-gather --slice 4x4 --size 1MiB --critical-path --tolerance 1e-2
try '--trace does not apply together with --tolerance' compare all-gather --slice 4x4 --size 1MiB --trace t.json --tolerance 1e-2
try '--trace-chips does not apply without --trace' run all-gather --slice 4x4 --size 1MiB --trace-chips 3
try '--csv does not apply together with --dump-program' run all-gather --slice 4x4 --size 1MiB --dump-program --csv out.csv
try '--ring does not apply without --all-to-all ring' run all-to-all --slice 4x4 --size 1MiB --ring uni
try '.ring.yaml:5:3: ring does not apply without --all-to-all ring' run "$scratch.ring.yaml"
try '--loop does not apply without --strategy uni' run 'bf16[64@x,64] . bf16[64,64]' --slice 4x4 --strategy bidi-half --loop xla
try '--crossover does not apply without --size' compare 'bf16[64@x,64] . bf16[64,64]' --slice 4x4 --crossover
try "--peak 'int8=0flops': a rate must be above 0" run 'int8[64@x,64] . int8[64,64]' --slice 4x4 --peak int8=0flops
try '--profile does not apply without --published' validate --engines --profile spec
try "cannot read '/nosuch.csv'" validate --products /nosuch.csv --csv out.csv
try '--axis does not apply to topology export' topology export --slice 4x4 --axis x
try '--output does not apply without action export' topology show --slice 4x4 --output out.xml
try '--offset does not apply together with --perm' eval ppermute --mesh i=2 --input 'arange(2)' --perm 0-1 --offset 1

# A double has 17 significant digits, and no number has none.
for digits in 0 18 2147483647; do
    try "--digits $digits: write 1 to 17" run all-gather --slice 4x4 --size 1MiB --csv out.csv --digits $digits
done

# What takes longer than it may is given up, in either engine.
for engine in event simgrid both; do
    try 'the simulation has not ended after 1 us; allow more time (--time-limit)' \
        run all-to-all --slice 4x4 --size 1MiB --engine $engine --time-limit 1us
done

# A CSV that cannot be written is found before the work begins.
for command in run compare sweep; do
    try '--csv: cannot write' $command all-gather --slice 4x4 --size 1MiB --csv none/out.csv
    try '--csv: cannot write' $command all-gather --slice 4x4 --size 1MiB --csv /
done

# What does not apply is refused in a file, too, at its place (which options those are, test_option_applies.c says).
product='bf16[64,64@x] . bf16[64@x,64] -> bf16[64,64]'
while IFS='|' read -r key op; do
    printf 'op: "%s"\nslice: 4\n%s\n' "${op:-all-gather}" "$key" >$scratch.yaml
    [ -n "$op" ] || echo 'size: 1MiB' >>$scratch.yaml
    for command in run compare sweep; do
        try "$scratch.yaml:3:" $command $scratch.yaml
    done
done <<END
all-to-all: ring|
root: 3|
pairs: 0-1|
strategy: uni|
dims: Q=3|
size: 1MiB|$product
in-flight: 2|
END
try 'known are run, compare, sweep' bogus
try "'--chip': the command comes first: icisim run OP --chip" --chip v5e run all-gather
try "the command comes first: icisim run 'all-gather'" all-gather --slice 4x4 --size 1MiB
printf 'model: transformer\nslice: 4\nhidden_size: 64\n' >$scratch.yaml
try 'workloads/NAME.yaml, the nearest is llama-8b' run llama-8b --chip v5e --slice 4x4
try 'workloads/NAME.yaml, the nearest is llama-70b' run workloads/llama-70b --slice 4x4
try "unknown name 'hidden_size'; the nearest is d-model" run $scratch.yaml
printf 'model: transformer\n  layers: 2\n' >$scratch.yaml
try 'indent a line like the one before it' run $scratch.yaml
try 'what is to lower' lower
try 'which command'
try 'write icisim topology show' topology --slice 4x4
try 'the nearest is show' topology shew --slice 4x4
try "run has no option '--resume'; it is one of sweep" run all-gather --slice 4x4 --size 1MiB --resume
try '--top does not apply together with --resume' sweep all-gather --slice 4x4 --size 1KiB,2KiB --top 2 --resume --csv x.csv
try "compare has no option '-j'; it is one of sweep" compare all-gather --slice 4x4 --size 1MiB -j 2
try 'has no option' topology show --slice 4x4 --csv x
try 'larger than' topology export --slice 64x64 --output out.xml
try 'cannot write' topology export --slice 4x4 --output none/out.xml
prices=(sweep "$source/workloads/by-hand/llama-8b.yaml" --mesh fsdp=64,tp=1 --mesh fsdp=4,tp=16 --csv out.csv --price-per-chip-hour)
try "--price-per-chip-hour '4.2': write CHIP=DOLLARS, such as v5e=1.2" "${prices[@]}" 4.2
try "has no price of v5p; add v5p=DOLLARS" "${prices[@]}" v5e=1.2
try '99x99' sweep all-gather --slice 99x99,98x98 --size 1MiB --csv out.csv
try 'write 1 to 256' sweep all-gather --slice 4x4 --size 1MiB --csv out.csv -j 257
try 'write 1 to 256' sweep all-gather --slice 4x4 --size 1MiB --csv - -j 0
try '--csv -' run all-gather --slice 4x4 --size 1MiB --csv - --steps

# A full disk is no success.
"$program" run all-gather --slice 4x4 --size 1MiB --csv - >/dev/full 2>err && { echo 'full disk: exit 0'; failed=1; }
grep -q '^icisim: .*No space left' err || { echo "full disk: $(cat err)"; failed=1; }

echo "$ran commands"
exit $failed
