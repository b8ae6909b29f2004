#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A sweep writes the same bytes whatever the number of workers, one row a point, in the order of the points.
set -u
. tests/support/scratch.sh "$1"

# 2 ops, 2 chips, 3 slices (one of which v5e cannot be), 4 sizes, 3 rings: 144 points
points=144
arguments=(all-reduce all-gather --chip v5e,v5p --slice "4x4,8x8,4x4x4" --size "64KiB:4MiB:x4" --ring "bidi-half,uni,bidi"
    --engine event)
for jobs in 1 2 5 40; do
    "$program" sweep "${arguments[@]}" -j $jobs --csv $jobs.csv 2>$jobs.err || fail "-j $jobs: exit $?"
    cmp -s 1.csv $jobs.csv || fail "-j $jobs writes other bytes than -j 1"
    [ "$(cat $jobs.err)" = "icisim: 24 of $points points are invalid; their status says why" ] || fail "$(cat $jobs.err)"
done
"$program" sweep "${arguments[@]}" 2>/dev/null | cmp -s - 1.csv || fail 'stdout is not what the file is'
[ "$(wc -l <1.csv)" -eq $((points + 1)) ] || fail "$(wc -l <1.csv) lines"
[ "$(grep -c ',ok,' 1.csv)" -eq $((points - 24)) ] || fail 'rows without numbers'
[ "$(grep -c 'v5e,4x4x4,.*has 3 axes' 1.csv)" -eq 24 ] || fail 'a status does not say why'

# The last option that has several values varies fastest; bidi-half waits for uni, which it is compared with.
cut -d , -f 1-3 <1.csv | uniq | sed -n 2,4p >order
printf 'all-reduce,v5e,4x4\nall-reduce,v5e,8x8\nall-reduce,v5e,4x4x4\n' | cmp -s - order || fail "$(cat order)"
grep -o ',uni,.*' 1.csv | grep ',ok,' | grep -qv ',1,ok,' && fail 'uni is not 1 times as fast as itself'
grep ',bidi,.*,ok,' 1.csv | grep -q ',,ok,' && fail 'a speed-up is missing'

# -j is how many work at a time: the processes whose parent is the sweep, while it has more to do than that.
for jobs in 1 3; do
    "$program" sweep all-to-all --chip v4 --slice 8x8x8 --size 1MiB:4MiB:x2 --hop-latency 1us,2us --engine event \
        --fold off -j $jobs --csv workers.csv &
    sweep=$! most=0
    while kill -0 $sweep 2>/dev/null; do
        now=$(cat /proc/[0-9]*/status 2>/dev/null | grep -c "^PPid:[[:space:]]*$sweep\$")
        most=$((now > most ? now : most))
    done
    wait $sweep || fail "-j $jobs: exit $?"
    [ $most -eq $jobs ] || fail "-j $jobs: $most processes at a time"
done

# A point that goes wrong, here for want of the engine, is exit status 1; its row is there and says why.
cp "$program" alone
./alone sweep all-gather --slice 4 --size 1KiB:8KiB:x2 --engine simgrid,event --csv wrong.csv 2>wrong.err
[ $? -eq 1 ] || fail "exit $? after points that failed"
grep -q '^icisim: 4 of 8 points failed' wrong.err || fail "$(cat wrong.err)"
[ "$(grep -c 'cannot load the SimGrid engine' wrong.csv)" -eq 4 ] || fail 'a row does not say what went wrong'
[ "$(grep -c ',ok,' wrong.csv)" -eq 4 ] || fail 'the other rows are not there'
# ... also where only the fastest are printed
./alone sweep all-gather --slice 4 --size 1KiB:8KiB:x2 --engine simgrid,event --top 1 >/dev/null 2>wrong.err
[ $? -eq 1 ] && grep -q '^icisim: 4 of 8 points failed; --csv FILE says how' wrong.err || fail "--top: $(cat wrong.err)"
# ... and it counts if it was there before the sweep was resumed, as what is invalid does.
for rows in 0 3 8; do
    head -$((rows + 1)) wrong.csv >half.csv
    "$program" sweep all-gather --slice 4 --size 1KiB:8KiB:x2 --engine simgrid,event --csv half.csv --resume 2>half.err
    status=$?
    [ $status -eq $((rows > 0)) ] || fail "exit $status after $(tail -1 half.err) with $rows rows of which some failed"
    [ $rows -ne 3 ] || grep -q '^icisim: 2 of 8 points failed' half.err || fail "$(cat half.err)"
    [ $rows -ne 8 ] || grep -q '^icisim: 4 of 8 points failed' half.err || fail "$(cat half.err)"
done
head -$((points / 2)) 1.csv >half.csv
"$program" sweep "${arguments[@]}" --csv half.csv --resume 2>half.err
cmp -s half.err 1.err || fail "a resumed sweep says '$(cat half.err)' instead of '$(cat 1.err)'"

# A progress bar is for terminals: script(1) makes one.
script -qec "'$program' sweep all-gather --slice 4 --size 1KiB:8KiB:x2 --engine event --csv bar.csv" typescript >/dev/null
grep -q '\[########################################\] 4/4 points' typescript || fail "no progress bar: $(cat typescript)"

# A sweep that was ended anywhere goes on: after the head, in it, in the middle of a row, after the last one.
bytes=$(wc -c <1.csv)
head=$(head -1 1.csv | wc -c)
for cut in 0 17 "$head" $((head + 1)) $((bytes / 3)) $((bytes / 2)) $((bytes - 1)) "$bytes"; do
    head -c "$cut" 1.csv >half.csv
    "$program" sweep "${arguments[@]}" -j 2 --csv half.csv --resume 2>/dev/null || fail "--resume after $cut bytes: exit $?"
    cmp -s 1.csv half.csv || fail "--resume after $cut bytes ends with other bytes"
done
"$program" sweep "${arguments[@]}" --csv fresh.csv --resume 2>/dev/null
cmp -s 1.csv fresh.csv || fail '--resume without a file does not start afresh'
head -c 9999 1.csv >half.csv
"$program" sweep "${arguments[@]}" --csv half.csv 2>/dev/null
cmp -s 1.csv half.csv || fail 'without --resume a sweep does not start afresh'

# refused TEXT FILE ARGUMENTS: what the file holds was made by others; nothing of it is lost.
refused() {
    local says=$1 file=$2
    shift 2
    cp "$file" other.csv
    "$program" sweep "$@" --csv other.csv --resume 2>err
    [ $? -eq 2 ] || fail "--resume of $file: exit 0"
    { [ "$(wc -l <err)" -eq 1 ] && grep -qF -e "$says" err; } || fail "--resume of $file must say '$says': $(cat err)"
    cmp -s "$file" other.csv || fail "--resume of $file loses what is in it"
}
printf 'my notes' >notes.csv
sed '4s/4x4 --size/4x8 --size/' 1.csv >changed.csv
refused "'--size 65536B --ring bidi-half --engine event' here, '--dtype f32 --size" 1.csv "${arguments[@]}" --dtype f32
refused "4x8 --size 65536B --ring bidi --engine event' here, '4x4 --size" changed.csv "${arguments[@]}"
refused "these make 72 rows" 1.csv all-reduce "${arguments[@]:2}"
refused "'my notes' here" notes.csv "${arguments[@]}"
"$program" sweep "${arguments[@]}" --shard 1/2 --csv half.csv 2>/dev/null
refused "'# icisim sweep: shard 1/2 of 144" half.csv "${arguments[@]}"
"$program" sweep "${arguments[@]}" --csv - --resume >/dev/null 2>err && fail 'a stream is resumed'
grep -q -e '--resume needs a file' err || fail "$(cat err)"

# Ctrl-C: what runs is finished and written, how to go on is said. The points are slow enough to be met.
slow=(all-to-all --slice 8x8 --size 1MiB:6000MiB:+1MiB --engine event --fold off -j 2 --csv slow.csv)
env --default-signal=INT "$program" sweep "${slow[@]}" 2>err &
sweep=$!
while [ "$(cat slow.csv 2>/dev/null | wc -l)" -lt 20 ] && kill -0 $sweep; do sleep 0.05; done
kill -INT $sweep
wait $sweep
[ $? -eq 130 ] || fail 'Ctrl-C: no exit 130'
rows=$(($(wc -l <slow.csv) - 1))
grep -qx "icisim: stopped with $rows of 6000 rows written; the same command with --resume goes on" err || fail "$rows: $(cat err)"
[ "$(tail -c 1 slow.csv | wc -l)" -eq 1 ] || fail 'Ctrl-C: half a row'

# A disk that is full is noticed while rows are written, and what is there is kept.
(ulimit -f 16 && timeout 600 "$program" sweep "${slow[@]}" --csv full.csv 2>err) && fail 'a full disk: exit 0'
grep -qx "icisim: cannot write 'full.csv': File too large" err || fail "a full disk: $(cat err)"
[ "$(wc -c <full.csv)" -eq 16384 ] || fail "$(wc -c <full.csv) bytes on a disk of 16 KiB"

# Lists only, ranges, and what the issue asks for, within the time of a test.
"$program" sweep all-reduce --chip v5e --slice 4x4,8x8,16x16 --size 1MiB:64MiB:x4 --ring uni,bidi-half --axis x,y \
    --csv out.csv || fail "exit $?"
[ "$(wc -l <out.csv)" -eq 25 ] || fail "$(wc -l <out.csv) lines in out.csv"
[ "$(head -1 out.csv | cut -d , -f 1-29)" = "$(printf %s \
    op,chip,slice,wrap,mesh,axes,ring,strategy,engine,dtype,size_bytes,chips,time_s,formula_exact_s,formula_rule_s, \
    bound_s,algbw_Bps,busbw_Bps,max_link_frac,mean_link_frac,link_bytes,transfers,steps,compute_s,comm_s, \
    exposed_comm_s,overlap_frac,speedup,status)" ] || fail "columns: $(head -1 out.csv)"
[ -z "$(find . -name '*.tmp')" ] || fail "left behind: $(find . -name '*.tmp')"
exit $failed
