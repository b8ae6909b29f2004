#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Shards of a sweep, run anywhere, are merged to the bytes of the whole sweep, or refused; and the script of a Slurm job
# array does both, here with a stand-in for sbatch that runs its jobs at once (./dev test-slurm has a real Slurm).
set -u
. tests/support/scratch.sh "$1"

# 2 ops, 2 chips, 2 slices (one of which v5e cannot be), 7 sizes, and 2 rings, the second compared with the first: 112
# points.
arguments=(all-reduce all-gather --chip v5e,v5p --slice 4x4,4x4x4 --size 64KiB:4MiB:x2 --ring uni,bidi --engine event)
"$program" sweep "${arguments[@]}" --csv whole.csv 2>/dev/null || fail "the whole sweep: exit $?"
[ "$(wc -l <whole.csv)" -eq 113 ] || fail "$(wc -l <whole.csv) lines"
for n in 1 3 16 113; do
    parts=()
    for ((i = n - 1; i >= 0; i--)); do
        "$program" sweep "${arguments[@]}" --shard $i/$n --csv part-$i-$n.csv 2>/dev/null || fail "shard $i/$n: exit $?"
        parts+=(part-$i-$n.csv)
    done
    "$program" merge "${parts[@]}" --csv merged.csv || fail "$n shards: exit $?"
    cmp merged.csv whole.csv || fail "$n shards are merged to other bytes"
done
"$program" merge part-?-3.csv | cmp - whole.csv || fail 'stdout is not what the file is'

# refused TEXT PART ...: one line, exit status 2, and no file
refused() {
    local says=$1
    shift
    "$program" merge "$@" --csv refused.csv >out 2>err
    [ $? -eq 2 ] || fail "merge $*: exit 0"
    { [ "$(wc -l <err)" -eq 1 ] && grep -qF -e "$says" err; } || fail "merge $* must say '$says': $(cat err)"
    [ ! -e refused.csv ] && [ ! -s out ] || fail "merge $* leaves something"
}
refused 'shard 0/3 is missing: 2 of 3 files are there' part-1-3.csv part-2-3.csv
refused 'shard 2/3 is missing: 2 of 3 files are there' part-1-3.csv part-0-3.csv
refused 'shard 1/3 is missing: 1 of 3 files are there' part-0-3.csv
refused 'are both shard 1/3; name it once' part-0-3.csv part-1-3.csv part-2-3.csv ./part-1-3.csv
refused 'not the file of a shard' whole.csv
refused 'not the file of a shard' part-0-3.csv /dev/null
refused "cannot read 'none.csv'" part-0-3.csv none.csv
refused 'which shards'
head -c 3000 part-1-3.csv >torn.csv
refused 'of 37 rows are there; finish it' part-0-3.csv torn.csv part-2-3.csv
head -1 part-1-3.csv >torn.csv
refused 'torn.csv: 0 of 37 rows are there; finish it' part-0-3.csv torn.csv part-2-3.csv
{ cat part-1-3.csv && tail -1 part-1-3.csv; } >longer.csv
refused 'longer.csv: 38 of 37 rows are there; it was changed' part-0-3.csv longer.csv part-2-3.csv
refused 'a shard of another sweep' part-0-3.csv part-1-16.csv
"$program" sweep "${arguments[@]}" --dtype f32 --shard 1/3 --csv other.csv 2>/dev/null
refused "other.csv:1: a shard of another sweep than part-0-3.csv" part-0-3.csv other.csv part-2-3.csv
sed '2s/op,/opus,/' part-1-3.csv >columns.csv
refused 'columns.csv:2: other columns' part-0-3.csv columns.csv part-2-3.csv
cp part-0-3.csv kept.csv
"$program" merge part-?-3.csv --csv ./part-0-3.csv 2>err && fail 'a part is written over'
grep -q 'one of the parts' err && cmp part-0-3.csv kept.csv || fail "writing over a part: $(cat err)"

# A job array: sbatch runs the tasks, then the merge. Names have blanks, and letters that shells know.
mkdir bin "a folder"
cat >bin/sbatch <<'END'
#!/bin/bash
echo "sbatch $*" >>"$LOG"
script=${*: -1}
[ -f "$script" ] || { script=$(mktemp) && cat >"$script"; }
array=$(sed -n 's/^#SBATCH --array=0-//p' "$script")
export SLURM_JOB_ID=7
for task in $(seq 0 "${array:--1}"); do
    SLURM_ARRAY_TASK_ID=$task bash "$script" >>"$LOG" 2>&1
done
[ -n "$array" ] || bash "$script" >>"$LOG" 2>&1
echo "7;cluster"
END
chmod +x bin/sbatch
export LOG=$scratch/log
cd "a folder" || exit 1
said=$("$program" sweep "${arguments[@]}" --csv 'my $(rows).csv' --slurm --tasks 5 -j 2) || fail "--slurm: exit $?"
[ "$said" = "112 points in 5 tasks; to submit them: bash 'my \$(rows).slurm'" ] || fail "--slurm says $said"
[ "$(grep '^#SBATCH' 'my $(rows).slurm' | xargs)" = "#SBATCH --job-name=icisim #SBATCH --array=0-4 \
#SBATCH --cpus-per-task=2 #SBATCH --requeue #SBATCH --open-mode=append" ] || fail 'what Slurm is asked for'
cd ..
said=$(PATH=$scratch/bin:$PATH bash 'a folder/my $(rows).slurm' --partition=long) || fail "the script: exit $?"
[ "$said" = 'job array 7 of 5 tasks, then job 7 that merges their rows' ] || fail "the script says $said"
[ "$(grep -c '^sbatch .*--partition=long' log)" -eq 2 ] || fail "sbatch is given $(grep ^sbatch log)"
grep -q -e '--dependency=afterany:7 ' log || fail "the merge waits for nothing: $(grep ^sbatch log)"
[ "$(cat 'a folder/my $(rows).part-'?.csv | grep -c '^# icisim')" -eq 5 ] || fail "parts: $(ls 'a folder')"
cmp 'a folder/my $(rows).csv' whole.csv || fail "the job array writes other bytes: $(cat log)"
PATH=$scratch/bin:$PATH "$program" sweep "${arguments[@]}" --csv again --slurm --submit >out || fail "--submit: exit $?"
cmp again whole.csv || fail '--submit writes other bytes'
grep -qx 'job array 7 of 8 tasks, then job 7 that merges their rows' out || fail "--submit says $(cat out)"

# wrong TEXT ARGUMENTS: nothing is written
wrong() {
    local says=$1
    shift
    "$program" sweep "${arguments[@]}" "$@" >out 2>err
    [ $? -eq 2 ] || fail "sweep $*: exit 0"
    { [ "$(wc -l <err)" -eq 1 ] && grep -qF -e "$says" err; } || fail "sweep $* must say '$says': $(cat err)"
    [ ! -s out ] && [ -z "$(find . -name 'wrong*')" ] || fail "sweep $* leaves something"
}
wrong '--slurm does not apply without --csv' --slurm
wrong 'tasks share no stdout' --slurm --csv -
wrong '--tasks does not apply without --slurm' --tasks 3 --csv wrong.csv
wrong '--submit does not apply without --slurm' --submit --csv wrong.csv
wrong '--slurm does not apply together with --shard' --slurm --shard 0/3 --csv wrong.csv
wrong '--tasks 0: write 1 to 112' --slurm --tasks 0 --csv wrong.csv
wrong '--tasks 113: write 1 to 112' --slurm --tasks 113 --csv wrong.csv
wrong 'cannot write' --slurm --csv none/wrong.csv
exit $failed
