#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What is too large is refused before it is built or read whole: in one line with the number and what to do, soon, and
# with little memory. And what is within the limits is not.
set -u
. tests/support/scratch.sh "$1"

# The least that one of these takes otherwise is 18 s of processor time, or gigabytes. Sanitizers are slow, and take memory
# of their own.
most_s=10 most_kib=300000
if ldd "$program" | grep libasan >asan; then
    most_s=60 most_kib=3000000
fi
# refused TEXT ARGUMENTS
refused() {
    local says=$1 status
    shift
    python3 - "$program" $most_s "$@" >out 2>err <<'END'
import resource, subprocess, sys
limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]), int(sys.argv[2])))
code = subprocess.run([sys.argv[1], *sys.argv[3:]], preexec_fn=limit).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=open("kib", "w"))
sys.exit(code)
END
    status=$?
    [ $status -eq 2 ] || fail "$*: exit $status (247: more than $most_s s of processor time)"
    { [ "$(wc -l <err)" -eq 1 ] && grep -qF -e "$says" err && [ ! -s out ]; } || fail "$* must say '$says': $(cat err)"
    [ "$(cat kib)" -lt $most_kib ] || fail "$*: takes $(cat kib) KiB"
    [ ! -e out.csv ] || fail "$*: leaves a file"
}

# Sizes of which none can be: bytes that are no whole number of elements, 50,000 of them and 3 chips.
refused 'not a whole number of f32 elements' sweep all-gather --chip v5e,v5p,v4 --slice 4x4 --size 3B:100003B:+2B --dtype f32 --csv out.csv
refused "has no axis 'q'" sweep all-gather --slice 4x4 --size 2B:100000B:+2B --axis q --csv out.csv

# All-to-alls: sends that a program of its own has each, transfers of chips that are not folded.
sed -e 's/^name:.*/name: large/' -e 's/^  pod:.*/  pod: 256x256x256/' "$source/topologies/v5p.yaml" >large.yaml
big=(run all-to-all --chip large.yaml --slice 256x256x256 --size 1TiB --csv out.csv)
refused 'takes about 25.17 GB of memory, and may take 4.295 GB (--memory-limit); take a smaller slice' "${big[@]}" --memory-limit 4GiB
refused 'takes more than 101 s, and may take 60 s; allow more time (--time-limit), or take a smaller slice' "${big[@]}" --memory-limit 64GiB
pod=(run all-to-all --chip v5p --slice 16x20x28 --fold off --size 1GiB --csv out.csv)
refused 'takes about 23.19 GB of memory' "${pod[@]}" --memory-limit 4GiB
refused 'takes more than 93 s, and may take 60 s' "${pod[@]}" --memory-limit 64GiB
refused 'or --fold on' compare "${pod[@]:1}" --memory-limit 64GiB
"$program" run all-to-all --chip v5p --slice 16x20x28 --size 1GiB --memory-limit 1GiB >out || fail 'a pod that is folded is refused'

# A limit holds where the estimate did not see it coming; what a point takes is not refused.
small=(all-to-all --chip v5p --slice 8x8x4 --fold off --size 1GiB)
if [ $most_s -eq 10 ]; then
    refused 'out of memory; try a smaller slice, fewer points at once, or a larger --memory-limit' \
        run ragged-all-to-all --chip v5p --slice 4x4x4 --pair-sizes random:1 --size 1GiB --memory-limit 2MiB
fi
"$program" run "${small[@]}" --memory-limit 64MiB >out || fail 'less memory than allowed is refused'
"$program" sweep "${small[@]}" --slice 4x4x4 --memory-limit 6MiB -j 2 --csv rows.csv 2>err
[ "$(grep -c ',ok,' rows.csv)" -eq 1 ] && grep -q 'and may take 6.291 MB (--memory-limit)' rows.csv || fail "a limit holds per point: $(cat rows.csv)"

# SimGrid runs in a process without a limit. That of the command has no room for its libraries, and goes on without them.
engine=(run all-gather --slice 4x4 --size 1MiB --engine simgrid)
"$program" "${engine[@]}" >whole
for kib in 1216 1344 1472 1600 1728 1856 2432; do
    "$program" "${engine[@]}" --memory-limit ${kib}KiB >out 2>err
    status=$?
    { [ $status -eq 0 ] && cmp out whole; } || { [ $status -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -s out ]; } ||
        fail "SimGrid beside $kib KiB: exit $status: $(cat out err)"
done

# Nor without a limit that is given: more than 4 GiB is asked for.
refused 'takes about 25.17 GB of memory, and may take ' "${big[@]}"

# Modules that would be programs for ever: a loop of 1e18 trips, written out; 30 loops within each other; calls that double, 60
# deep, of which what is issued can be counted: 2^60 all-reduces of 4096 B.
module() {
    printf 'HloModule m, replica_count=4\nsum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n'
    printf 'f0 { x = f32[1024] parameter(0) ROOT y = f32[1024] all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=sum }\n'
    printf 'c { x = f32[1024] parameter(0) ROOT y = pred[] constant(true) }\n'
    "$@"
}
nested() {
    for ((k = 1; k <= $1; k++)); do
        printf 'f%d { x = f32[1024] parameter(0) ROOT y = f32[1024] while(x), condition=c, body=f%d, backend_config={"known_trip_count":{"n":"%d"}} }\n' \
            $k $((k - 1)) "$2"
    done
    printf 'ENTRY main { x = f32[1024] parameter(0) ROOT y = f32[1024] call(x), to_apply=f%d }\n' "$1"
}
doubled() {
    for ((k = 1; k <= 60; k++)); do
        printf 'f%d { x = f32[1024] parameter(0) a = f32[1024] call(x), to_apply=f%d ROOT y = f32[1024] call(a), to_apply=f%d }\n' $k $((k - 1)) $((k - 1))
    done
    printf 'ENTRY main { x = f32[1024] parameter(0) ROOT y = f32[1024] call(x), to_apply=f60 }\n'
}
module nested 1 1000000000000000000 >long.hlo
module nested 30 1000 >nested.hlo
module doubled >doubled.hlo
refused 'leave --unroll out' run long.hlo --slice 4 --chip v4 --unroll
"$program" run long.hlo --slice 4 --chip v4 >out || fail 'a long loop that is not written out is refused'
refused 'nest loops and calls less deeply' run nested.hlo --slice 4 --chip v4
refused 'nest loops and calls less deeply' run doubled.hlo --slice 4 --chip v4
"$program" run doubled.hlo --slice 4 --chip v4 --count-only >out
grep -q 'all-reduce .* 1152921504606846976  4722366482869645213696 ' out || fail "calls that double are counted: $(cat out)"
module nested 1 5000000 >slow.hlo
refused 'allow more time (--time-limit)' run slow.hlo --slice 4 --chip v4 --unroll --time-limit 1ms

# Limits bind what reads and builds, too: 40,000 instructions are some 10 MB and 100 ms.
{
    printf 'HloModule m, replica_count=4\nENTRY main {\n  i0 = f32[1024] parameter(0)\n'
    seq 1 200000 | awk '{ printf "  i%d = f32[1024] add(i%d, i%d)\n", $1, $1 - 1, int($1 / 2) }'
    printf '  ROOT r = f32[1024] copy(i200000)\n}\n'
} >many.hlo
if [ $most_s -eq 10 ]; then
    for option in '' --count-only --unroll; do
        # shellcheck disable=SC2086
        refused 'out of memory; try' run many.hlo --slice 4 --chip v4 $option --memory-limit 16MiB
        # shellcheck disable=SC2086
        refused 'this took longer than it may; allow more time (--time-limit)' run many.hlo --slice 4 --chip v4 $option --time-limit 1ms
    done
    "$program" sweep many.hlo --slice 4 --chip v4 --memory-limit 16MiB --csv rows.csv 2>err
    grep -q 'out of memory' err || fail "a sweep of what does not fit: $(cat err rows.csv)"
fi
"$program" run many.hlo --slice 4 --chip v4 --count-only >out || fail 'many instructions are refused'

# Files whose text is short of what it says, or long.
{
    echo 'a: &a'
    printf '  k%d: 1\n' {1..2000}
    echo 'b:'
    for ((i = 0; i < 5000; i++)); do echo '  - <<: *a'; done
} >merges.yaml
refused 'more than 1048576 values, merged ones included; split the file' run merges.yaml
{ seq -s , 1 1000000; } >columns.csv
refused 'columns.csv:1: more than 16384 columns; split the file' fit columns.csv
{ echo 'rank,input_num_elements,dtype_bytes,step_time_ms_p50'; yes 8,1024,2,0.5 | head -1000000; } >rows.csv
refused '1000000 rows; 20000 measurements are the most at once' fit rows.csv
{ printf '[{"name":"a","input":['; yes 1, | head -20000000 | tr -d '\n'; printf '1]}]'; } >numbers.json
refused 'more than 1048576 values, merged ones included; split the file, or write a long array as .csv' eval --cases numbers.json

# Numbers: reshard.yaml has 10 values of 4,194,304 elements of 8 bytes on each of 8 devices; a step of llama-8b has 1.84434e14 +
# 1.53932e13 operations (count-only) on each of 64, two a multiplication, each 0.08 ns at least.
reshard=$source/workloads/reshard.yaml llama=$source/workloads/llama-8b.yaml
refused 'takes about 2.684 GB of memory, and may take 104.9 MB (--memory-limit); write a smaller model' eval "$reshard" --memory-limit 100MiB
refused 'of memory, and may take 4.295 GB without --memory-limit; write a smaller model' eval "$llama"
refused 'takes more than 511559 s, and may take 60 s; allow more time (--time-limit), or write a smaller model' eval "$llama" --memory-limit 100TiB
for request in "eval $reshard" "lower $source/workloads/deepseek-v3.yaml"; do
    # shellcheck disable=SC2086
    refused 'this took longer than it may; allow more time (--time-limit)' $request --time-limit 1ms
done
exit $failed
