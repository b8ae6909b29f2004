#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Transformers that are wrong: one line on stderr that names the fault and the cure, exit status 2, nothing on stdout. A case is
# a line: what the message must say | a change of the file, for sed | arguments.
set -u
program=$(realpath "$1")
workload=$(realpath workloads/by-hand/llama-70b.yaml)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0 ran=0
while IFS='|' read -r says change arguments; do
    sed "$change" "$workload" >"$scratch/m.yaml"
    eval "set -- $arguments"
    out=$("$program" run "$scratch/m.yaml" "$@" 2>"$scratch/err")
    status=$?
    ran=$((ran + 1))
    if [ $status -ne 2 ] || [ -n "$out" ] || [ "$(wc -l <"$scratch/err")" -ne 1 ] ||
        ! grep -qF -e "$says" "$scratch/err"; then
        printf '%s %s\n  exit %d, must say "%s", says: %s\n' "$change" "$*" $status "$says" "$(cat "$scratch/err")"
        failed=1
    fi
done <<'END'
m.yaml:3:1: 'd-ff:' is missing|/d-ff/d|
d-model is 0; it must be from 1|s/d-model: .*/d-model: 0/|
layers is 1025; it must be from 1 to 1024|s/layers: .*/layers: 1025/|
--layers 1025: write 1 to 1024||--layers 1025
m.yaml:8:11: 7 key-value heads do not divide 64 heads|s/kv-heads: .*/kv-heads: 7/|
attention 'ful'; the nearest is full|s/attention: .*/attention: ful/|
keep 'qq'; the nearest is q|s/fused: .*/keep: [q, qq]/|
m.yaml:14:7: keep must be a list|s/fused: .*/keep: q/|
kernel 'flush'; the nearest is flash|s/kernel: .*/kernel: flush/|
unknown name 'kernal'; the nearest is kernel|s/kernel/kernal/|
function 'silo'; the nearest is silu|$a activation: silo|
gated 'maybe' must be true or false|$a gated: maybe|
unknown name 'param'; the nearest is params|$a dtypes: {param: f32}|
f23|$a dtypes: {params: f23}|
unknown name 'pp'|$a parallelism: {pp: fsdp}|
the mesh has no axis 'x'|$a parallelism: {fsdp: x}|
axis fsdp has two parts in the parallelism|$a parallelism: {fsdp: fsdp, tp: fsdp}|
mesh axis pp has no part in the parallelism||--mesh fsdp=16,pp=4
mesh axis x has no part|/mesh/d|
tp=3 does not divide 64 heads||--slice 3x4x4 --mesh fsdp=16,tp=3
are no whole sequences of 4096 each; give 4096 tokens a chip||--tokens-per-chip 2048
give 8192 tokens a chip||--micro-batches 2
--micro-batches 0: write 1 to 1024||--micro-batches 0
'batch:' is missing|/tokens-per-chip/d|
are no whole sequences of 4096|s/tokens-per-chip.*/batch: 60/|
unknown name 'expert'; the nearest are experts|$a moe: {expert: 8}|
'experts:' is missing|$a moe: {top-k: 2, expert-axis: fsdp}|
the mesh has no axis 'ep'|$a moe: {experts: 8, top-k: 2}|
9 experts do not divide among 64 devices; the next number that does is 64|$a moe: {experts: 9, top-k: 2, expert-axis: fsdp}|
top-k is 9; it must be from 1 to 8|$a moe: {experts: 8, top-k: 9, expert-axis: ep}|--mesh fsdp=16,ep=4
'capacity-factor' is missing|$a moe: {experts: 64, top-k: 2, expert-axis: fsdp}|
'routing' is missing|$a moe: {experts: 64, top-k: 2, expert-axis: fsdp, capacity-factor: 1}|
every is 81; it must be from 1 to 80|$a moe: {experts: 64, top-k: 2, expert-axis: fsdp, every: 81}|
d-ff is 0; it must be from 1|$a moe: {experts: 64, top-k: 2, expert-axis: fsdp, d-ff: 0}|
experts have a norm of their own|$a parallel: true\nmoe: {experts: 64, top-k: 2, expert-axis: fsdp}|
moe must be a mapping|$a moe: 8|
--head does not apply to model: mlp|s,.*,,;$r workloads/net-tp.yaml|--head off
--layers does not apply to model: mlp|s,.*,,;$r workloads/net-tp.yaml|--layers 3
END
echo "$ran cases"
exit $failed
