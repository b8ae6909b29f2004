#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every allocation fails once, in commands of all kinds: exit status 2 and one line, nothing is left in memory or on disk, and what
# was printed before is right. What can do without the memory may also end as if nothing had happened. ICISIM_ALLOCATIONS says how many
# allocations of a command are tried at most, evenly apart; 3000 is all of most commands. shims/failing_malloc.c says whose allocations they are.
set -eu
. tests/support/sanitized.sh
build=$(dirname "$(realpath "$1")")
program=$build/icisim
shim=$build/failing_malloc.so
if [ ! -e "$shim" ]; then
    skip 'sanitizers have an allocator of their own'
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
exec python3 - "$program" "$shim" "$PWD" "$scratch" "${ICISIM_ALLOCATIONS:-10}" "${ICISIM_JOBS:-2}" <<'END'
import concurrent.futures
import csv
import os
import shlex
import shutil
import subprocess
import sys

program, shim, source, scratch, most, workers = sys.argv[1:5] + [int(n) for n in sys.argv[5:]]
commands = f"""
run all-gather --slice 4x4 --size 1MiB --ring uni,bidi --engine event --csv out.csv --steps
run all-to-all --slice 2x3 --size 36KiB --engine event --critical-path --check
run ragged-all-to-all --chip {source}/topologies/v4.yaml --slice 4 --size 704B --dtype int8 --pair-sizes pairs.csv --trace out.json
run ragged-all-to-all --slice 3x4 --size 24192B --pair-sizes random:5 --tolerance 1e-2 --engine event --csv out.csv
run all-gather --slice 4x4 --size 16KiB --link 1,0:x=0 --groups '[4,4]<=[16]' --links out.csv
run 'int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]' --mesh X=2,Y=4 --engine event --peak int32=19.17Tflops
run {source}/workloads/fsdp-layer.yaml --engine event
run {source}/tests/golden/hlo/3_while.hlo --slice 4 --engine event --collectives --instructions out.csv
compare all-gather --slice 4x4 --size 64KiB:1MiB:x4 --engine event --crossover
sweep all-reduce --slice 2x2 --size 1KiB,4KiB --ring bidi,uni --engine event --csv out.csv
sweep all-reduce --slice 2x2 --size 1KiB,4KiB --slurm --tasks 2 --csv out.csv
merge part-0.csv part-1.csv
eval psum_scatter --mesh dp=4,tp=2 --input 'arange(8).reshape(2,4)' --in 'P(None,tp)' --out 'P(tp)' --axis tp --tiled
eval --cases {source}/tests/golden/jax_collectives.json
topology show --chip v4 --slice 4x4x4 --mesh 'a=x*y,b=z'
topology export --slice 2x2
fit {source}/tests/golden/measured.csv --chip v5e --slice 4x4 --axis x --predict 1MiB --csv out.csv
lower {source}/workloads/net-fsdp-tp.yaml
lower {source}/workloads/moe-example.yaml
run {source}/workloads/llama-8b.yaml --layers 1
run {source}/workloads/moe-zipf.yaml --slice 2x4 --mesh ep=8
run {source}/workloads/moe-zipf.yaml --slice 2x4 --mesh ep=8 --draws 3
run {source}/workloads/mixtral-8x7b.yaml --layers 1
run {source}/workloads/llama-8b.yaml --layers 2 --slice 2x2 --mesh fsdp=2,tp=2 --ring bidi --strategy bidi --critical-path
sweep {source}/workloads/llama-8b.yaml --chip v5p --chips 2 --slice all --mesh all --top 3 --layers 1 --csv out.csv
run {source}/workloads/compiled/ring.hlo --chip v6e --slice 2x4 --by source --gains --instructions out.csv --html out.html
run {source}/workloads/compiled/ring.hlo --chip v6e --slice 2x4 --memory
lower {source}/workloads/llama-8b.yaml --layers 1 --slice 2x4 --mesh fsdp=4,tp=2 --ring bidi
run all-gather --slice 4x4x8 --chip v5p --size 1MiB --algorithm best
compare-measured {source}/analysis/published/published.csv --where chip=v7x --ring bidi-half
model from-hf config.json
run {source}/workloads/distillation.yaml
run all-gather --slice 4 --size 1MiB --engine both
run {source}/workloads/compiled/ring.hlo --slice 4x4 --count-only
""".strip().splitlines()


def run(words, folder, fail_at=0):
    environ = dict(os.environ, LD_PRELOAD=shim, ICISIM_FAIL_AT=str(fail_at), ICISIM_FAIL_REPORT=folder + ".report")
    report = folder + ".report"
    open(report, "w").close()
    try:
        done = subprocess.run([program, *words], cwd=folder, env=environ, capture_output=True, timeout=600)
    except subprocess.TimeoutExpired:
        return None, b"", "takes more than ten minutes", [0, 0, 0], []
    with open(report) as file:
        told = file.read().split() or ["0", "0", "0"]
    return done.returncode, done.stdout, done.stderr.decode(errors="replace"), [int(n) for n in told[:3]], told[3:]


def fresh(name):
    """A folder with what the commands read."""
    folder = os.path.join(scratch, name)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(scratch, "files"), folder)
    return folder


def written(folder):
    files = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            files[name] = file.read().replace(folder.encode(), b"")
    return files


def rows(text):
    return {row["command"]: row for row in csv.DictReader(text.decode().splitlines())}


def wrong_rows(got, want):
    """Rows of a sweep that failed have no numbers, all others are right; a search may have looked at others instead."""
    got, want = rows(got), rows(want)
    lost = [row for row in got.values() if row["status"].startswith("failed: ") and "out of memory" in row["status"]]
    wrong = [f"other row: {row}" for command, row in got.items()
             if row["status"] == "ok" and want.get(command, row)["status"] == "ok" and want.get(command, row) != row]
    return wrong + [f"failed row with numbers: {row}" for row in lost if row["time_s"]] + ([] if lost else ["no row says why"])


def attempt(job):
    """What is wrong, "" if nothing is."""
    words, n, want, name = job
    folder = fresh(name)
    code, out, err, report, callers = run(words, folder, n)
    lines = err.count("\n") - err.startswith("icisim: points to simulate: ")  # said before a search begins
    faults = []
    if code == 0 and out == want["out"] and written(folder) == want["files"]:
        pass  # it could do without
    elif words[0] == "sweep" and code == 1 and lines == 1 and "points failed" in err:  # a worker's
        faults += wrong_rows(written(folder)["out.csv"], want["files"]["out.csv"])
    elif not want["out"].startswith(out):
        faults.append(f"exit {code}, other output: {out.decode()[-200:]}")
    elif code != 2 or lines != 1 or not err.startswith("icisim: "):
        faults.append(f"exit {code}, {lines} lines: {err.strip()[:200]}")
    elif "out.csv" in written(folder) and words[0] != "sweep":
        faults.append("half a file")
    if report[1] > want["report"][1] or (report[2] > want["report"][2] and code is not None and code >= 0):
        faults.append(f"leaves {report[1]} blocks of the program ({' '.join(callers)}), {report[2]} of libc "
                      f"({want['report'][2]} by itself)")
    shutil.rmtree(folder)
    return "; ".join(faults)


os.mkdir(os.path.join(scratch, "files"))
os.chdir(os.path.join(scratch, "files"))
with open("pairs.csv", "w") as file:
    file.write("from,to,size_bytes\n0,1,640\n3,2,64\n")
with open("config.json", "w") as file:
    file.write('{"model_type": "llama", "hidden_size": 384, "intermediate_size": 1152, "num_hidden_layers": 3, '
               '"num_attention_heads": 6, "num_key_value_heads": 2, "vocab_size": 3200}')
for shard in ("0", "1"):
    subprocess.run([program, "sweep", "all-gather", "--slice", "4", "--size", "1KiB:8KiB:x2", "--engine", "event", "--shard",
                    shard + "/2", "--csv", f"part-{shard}.csv"], check=True)
os.chdir(scratch)
failed, tried = False, 0
with concurrent.futures.ThreadPoolExecutor(workers) as pool:
    for command in commands:
        words = shlex.split(command)
        folder = fresh("want")
        code, out, err, report, _ = run(words, folder)
        if code != 0:
            sys.exit(f"{command}: exit {code} without a fault: {err}")
        if report[0] < 20:
            sys.exit(f"{command}: only {report[0]} allocations are counted")
        if report[1] != 0:
            print(f"{command}: leaves {report[1]} blocks by itself")
            failed = True
        want = {"out": out, "files": written(folder), "report": report}
        sites = min(report[0], most)
        numbers = [1 + i * report[0] // sites for i in range(sites)]
        tried += len(numbers)
        for n, fault in zip(numbers, pool.map(attempt, [(words, n, want, f"site{n}") for n in numbers])):
            if fault:
                print(f"allocation {n} of {report[0]}: icisim {command}\n  {fault}")
                failed = True
print(f"{len(commands)} commands, {tried} allocations that failed")
sys.exit(failed)
END
