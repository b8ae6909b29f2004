#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A sweep of 2,000 points as a Slurm job array of 8 tasks, one of which is killed half way and started again: the merged
# rows are the bytes of the same sweep on one machine. The controller and the daemon of the node are real, both on this
# machine, with a configuration of their own. Only root may start them.
set -euo pipefail
program=$(realpath "$1")
if [ "$(id -u)" -ne 0 ]; then
    echo 'slurm: skipped: only root can start slurmctld and slurmd'
    exit 0
fi
scratch=$(mktemp -d)
host=$(hostname -s)
started=()
finish() {
    local pid
    scancel --user=root 2>/dev/null || true
    for name in slurmd slurmctld; do
        if pid=$(cat "$scratch/$name.pid" 2>/dev/null); then kill "$pid" || true; fi
    done
    [ ${#started[@]} -eq 0 ] || kill "${started[@]}" || true
    for _ in {1..50}; do
        if ! kill -0 $(cat "$scratch"/*.pid 2>/dev/null) 2>/dev/null; then break; fi
        sleep 0.1
    done
    rm -rf "$scratch"
}
trap finish EXIT
fail() {
    echo "slurm: $*"
    tail -n 5 "$scratch"/*.log
    exit 1
}
# wait_for SECONDS COMMAND ...: until it succeeds
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || fail "waited in vain for: $*"
        sleep 0.2
    done
}

mkdir "$scratch/state" "$scratch/spool"
cat >"$scratch/slurm.conf" <<END
ClusterName=icisim
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
SlurmctldPort=16817
SlurmdPort=16818
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$scratch/slurm.conf
if ! munge -n >/dev/null 2>&1; then
    mkdir -p /run/munge
    chown munge /run/munge
    runuser -u munge -- munged --pid-file=/run/munge/munged.pid
    wait_for 10 test -s /run/munge/munged.pid
    started+=("$(cat /run/munge/munged.pid)")
fi
slurmctld
slurmd
idle() {
    [ "$(sinfo --noheader --format=%T 2>/dev/null)" = idle ]
}
wait_for 30 idle

cd "$scratch"
sweep=(all-to-all --slice 8x8 --size 1MiB:2000MiB:+1MiB --engine event --fold off)
"$program" sweep "${sweep[@]}" -j 2 --csv whole.csv
[ "$(wc -l <whole.csv)" -eq 2001 ] || fail 'not 2,000 points'
said=$("$program" sweep "${sweep[@]}" --csv 'in parts.csv' --slurm --tasks 8 --submit)
array=$(sed -n 's/^job array \([0-9]*\) of 8 tasks.*/\1/p' <<<"$said")
[ -n "$array" ] || fail "submission says: $said"

# Task 3 of 250 rows is killed when it has 100 of them, and started again.
rows() {
    [ "$(cat 'in parts.part-3.csv' 2>/dev/null | wc -l)" -ge "$1" ]
}
wait_for 60 rows 102
process=$(pgrep -f -- "^$program sweep --shard 3/8 ") || fail 'task 3 has ended already'
for pid in $process; do
    kill -KILL "$pid" 2>/dev/null || true
done
rows 252 && fail 'task 3 was killed too late'
left=$(cat 'in parts.part-3.csv' | wc -l)
wait_for 30 scontrol requeue "${array}_3"
wait_for 400 test -e 'in parts.csv' # Slurm starts nothing again before two minutes are over
cmp 'in parts.csv' whole.csv || fail 'the merged rows are not those of one machine'
echo "slurm: 2,000 points in 8 tasks, one killed after $((left - 2)) of 250 rows and started again: equal bytes"
