#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Absurd requests: each is answered, or refused in one line with exit status 2, with little memory and within a second of
# processor time, or six times what a loop of Python takes then. A request is a line.
set -eu
. tests/support/sanitized.sh
sanitized "$1" && skip 'sanitizers take ten times as long'
program=$(realpath "$1") source=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
sed -e 's/^name:.*/name: large/' -e 's/^  pod:.*/  pod: 256x256x256/' "$source/topologies/v5p.yaml" >large.yaml
printf 'HloModule m, replica_count=4\nENTRY e {\n  ROOT p = f32[999999999,999999999]{1,0} parameter(0)\n}\n' >big.hlo
printf 'HloModule m, num_partitions=1000000000\nENTRY e {\n  ROOT p = f32[4]{0} parameter(0)\n}\n' >many.hlo
printf 'op: all-gather\nslice: 4x4\nsize: 1B:1EiB:+1B\n' >range.yaml
sed -e 's/^layers:.*/layers: 2000000000/' "$source/workloads/llama-8b.yaml" >deep.yaml
sed -e 's/^d-model:.*/d-model: 4611686018427387904/' "$source/workloads/llama-8b.yaml" >wide.yaml
sed -e 's/^experts:.*/experts: 2000000000/' "$source/workloads/moe-zipf.yaml" >experts.yaml
printf '%s\n' '{"hidden_size": 1e300, "num_attention_heads": 1, "num_hidden_layers": 2, "intermediate_size": 3, "vocab_size": 5}' >config.json
printf '{"a":%.0s' {1..5000} >deep.json
printf '[%.0s' {1..100000} >cases.json
head -c 3000000 /dev/zero | tr '\0' 'a' >word.yaml
exec python3 - "$program" "$source" <<'END'
import resource
import shlex
import subprocess
import sys
import time

program, source = sys.argv[1:]
requests = f"""
run all-gather --slice 999999999x999999999 --size 1MiB
run all-gather --slice 4x4 --size 16EiB
run all-gather --slice 4x4 --size 18446744073709551615
run all-gather --slice 4x4 --size 99999999999999999999999999
run all-gather --slice 4x4 --size 0
run all-gather --slice 4x4 --size -5
run all-gather --slice 4x4 --size 1MiB --hop-latency 1e300s
run all-gather --slice 4x4 --size 1MiB --link-bandwidth 1e-300Bps
run all-gather --slice 4x4 --size 1MiB --hop-latency nan
run all-gather --slice 4x4 --size 1MiB --link-bandwidth inf
run all-gather --slice 4x4 --size 1MiB --time-limit 1e-300s
run all-gather --slice 4x4 --size 1MiB --memory-limit 1B
run all-gather --slice 4x4 --size 1B:1EiB:+1B
sweep all-gather --slice 4x4 --size 1B:1EiB:+1B --csv -
run range.yaml
sweep all-gather --slice 4x4 --size 1MiB -j 1000000 --csv -
sweep all-gather --slice 4x4 --size 1MiB --shard 999999999/1000000000 --csv -
sweep all-gather --slice all --chips 1000000 --size 1MiB --csv -
run all-gather --slice 4x4 --size 1MiB --mesh a=1000000000
run all-gather --slice 4x4 --size 1MiB --mesh {','.join(f'a{i}=1' for i in range(500))}
run all-gather --slice 4x4 --size 1MiB --on 0-999999999 --mesh a=4
run all-gather --slice 4x4 --size 1MiB --groups '[1000000000,1]<=[1000000000]'
run collective-permute --slice 4x4 --size 1MiB --pairs 0-999999999
run ragged-all-to-all --slice 4x4 --size 1MiB --pair-sizes random:99999999999999999999
run all-to-all --chip large.yaml --slice 256x256x256 --size 1EiB
run all-to-all --chip large.yaml --slice 256x256x256 --size 1EiB --fold off
run all-gather --chip large.yaml --slice 256x256x256 --size 1EiB --fold off
run all-gather --chip large.yaml --slice 256x256x256 --size 1EiB --steps
run all-reduce --chip large.yaml --slice 256x256x256 --size 1B --dtype int8
topology show --chip large.yaml --slice 64x64x64
topology show --chip large.yaml --slice 256x256x256
topology export --chip large.yaml --slice 256x256x256 --output /dev/null
run big.hlo --slice 4
run big.hlo --count-only --memory
run many.hlo --slice 4
run many.hlo --count-only
run deep.yaml --chip v5p --slice 4x4x4 --mesh fsdp=64
run deep.yaml --chip v5p --slice 4x4x4 --mesh fsdp=64 --unroll
lower deep.yaml --chip v5p --slice 4x4x4 --mesh fsdp=64
run wide.yaml --chip v5p --slice 4x4x4 --mesh fsdp=64
run experts.yaml
run {source}/workloads/llama-8b.yaml --layers 2147483647 --unroll
run {source}/workloads/llama-8b.yaml --tokens-per-chip 2147483647
run {source}/workloads/llama-8b.yaml --prefetch 2147483647
run {source}/workloads/moe-zipf.yaml --draws 2147483647 --time-limit 100ms
run {source}/workloads/distillation.yaml --in-flight 2147483647
sweep {source}/workloads/llama-8b.yaml --chip v5p --chips 1000000007 --mesh all --top 3
sweep {source}/workloads/llama-8b.yaml --chip v5p --chips 8960 --mesh dp=?,fsdp=?,tp=?,ep=?,sp=? --top 3
run 'bf16[4611686018427387904@x,4611686018427387904] . bf16[4611686018427387904,3@x] -> bf16[4611686018427387904@x,3]' --slice 4x4
run 'bf16[64,64@x] . bf16[64@x,64] -> bf16[64,64]' --slice 4x4 --chunks 2147483647 --all-reduce chunks
run 'bf16[64,64@x] . bf16[64@x,64] -> bf16[64,64]' --slice 4x4 --peak bf16=1e300Tflops
eval all_gather --mesh x=4 --input 'arange(67108864' --axis x --in 'P(x,x,x)'
eval all_gather --mesh x=4 --input 'arange(67108864)' --axis x
eval all_gather --mesh x=4 --input 'arange(99999999999)' --axis x
eval all_gather --mesh x=1000000000 --input 'arange(8)' --axis x
eval psum --mesh x=4 --input 'arange(4).reshape(99999,99999,99999)' --axis x
eval --cases deep.json
eval --cases cases.json
fit /dev/null --chip v5e --slice 4
fit {source}/tests/golden/measured.csv --chip v5e --slice 4x4 --axis x --predict 1B:1EiB:+1B
model from-hf config.json
model from-hf deep.json
run word.yaml
run {'x' * 100000} --slice 4
run all-gather {' '.join(['--slice 4x4'] * 20000)} --size 1MiB
""".strip().splitlines()


def loop_s():
    began_s = time.process_time()
    for _ in range(20_000_000):
        pass
    return time.process_time() - began_s


failed = False
slowest_s = most_kib = 0
for request in requests:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run([program, *shlex.split(request)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (5, 5)))
    except subprocess.TimeoutExpired:
        done = subprocess.CompletedProcess(request, "a timeout", stderr=b"")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = [line for line in done.stderr.decode(errors="replace").splitlines() if "points to simulate" not in line]
    right = done.returncode == 0 or (done.returncode == 2 and len(said) == 1 and said[0].startswith("icisim: "))
    if not right or (took_s > 1 and took_s > 6 * loop_s()):
        failed = True
        print(f"icisim {request[:150]}\n  exit {done.returncode} after {took_s:.2f} s: {' '.join(said)[:200]}")
    slowest_s, most_kib = max(slowest_s, took_s), after.ru_maxrss
print(f"{len(requests)} requests; the slowest took {slowest_s:.2f} s, the largest {most_kib / 1024:.0f} MB")
sys.exit(failed or most_kib > 1_200_000)
END
