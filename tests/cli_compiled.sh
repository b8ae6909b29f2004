#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What XLA:TPU compiled, where the texts are at hand beside the project: all are read, but those from before partitioning, and
# of those with a meta.json the collectives executed (kind, count, bytes) and the FLOPs of products are what an independent
# reader of the text found there.
set -euo pipefail
. tests/support/sanitized.sh
icisim=$(realpath "$1")
texts=../shared/hlo/tpu
[ -d "$texts" ] || skip "$texts is not at hand"
python3 - "$icisim" "$texts" <<'END'
import glob, json, re, subprocess, sys, tempfile

icisim, texts = sys.argv[1:]

# counts its base-dilated convolutions, a product for each of 4096 rows, with 4096 taps each, of which one meets an element
WRONG_FLOPS = {"rank1_gather_v5e_4x4": 4.01342e10}
KINDS = "all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute"
REFUSED = {"presp_shardmap.hlo", "sdy.hlo"}
faults = []


def count(path):
    options = ["--trip-count", "while.33=1"] if "serve3_generate_while" in path else []
    return subprocess.run([icisim, "run", path, "--count-only", *options], capture_output=True, text=True)


def near(a, b):
    return abs(a - b) <= 2e-5 * max(1, abs(b))


def check_meta(path, said):
    meta = json.load(open(path.replace("module.hlo", "meta.json")))
    flops = float(re.search(r"products of (\S+) operations", said).group(1))
    want = WRONG_FLOPS.get(meta["name"], meta["product_flops"])
    if not near(flops, want):
        faults.append("%s: %g operations, not %g" % (path, flops, want))
    got = {}
    for row in re.finditer(r"^ +- +(%s) .* (\S+) +(\S+) +(\S+)$" % KINDS, said, re.M):
        times, inside, outside = (float(number) for number in row.groups()[1:])
        sums = got.setdefault(row.group(1), [0, 0])
        sums[0] += times
        sums[1] += max(inside, outside)
    want = {kind: numbers[:2] for kind, numbers in meta["collectives_counted"].items()}
    if got.keys() != want.keys() or not all(near(a, b) for kind in got for a, b in zip(got[kind], want[kind])):
        faults.append("%s: collectives %s, not %s" % (path, got, want))


paths = [path for name in ("*/*/module.hlo", "*/*.hlo", "collectives/*.txt") for path in glob.glob(texts + "/" + name)]
for path in sorted(paths):
    ran = count(path)
    if (ran.returncode != 0) != (path.split("/")[-1] in REFUSED):
        faults.append("%s: %s" % (path, ran.stderr or "is not refused"))
    elif "/programs/" in path:
        check_meta(path, ran.stdout)

def row(path, *options):
    ran = subprocess.run([icisim, "run", path, *options], capture_output=True, text=True)
    return ran.stdout + ran.stderr


def conditional(branch, time_us, says):
    options = ["--branch", "c=" + branch] if branch else []
    said = row(texts + "/small/cond.hlo", "--chip", "v5e", "--slice", "1", "--profile", "spec", *options)
    if said.split("\n")[-2].split()[0] != time_us or says not in said:
        faults.append("conditional, %s: %s" % (branch, said))


# products of f32 take one pass of bf16: 2 x 8192^3 / 197 TFLOP/s = 5581.28 us; three arrays of 268 MB at 0.81 TB/s 994.21 us
conditional("", "5581.28", "# c: branch 1 runs, the slowest")
conditional("1", "5581.28", "# c: branch 1 runs\n")
conditional("0", "994.21", "# c: branch 0 runs\n")
conditional("all", "6575.48", "# c: all branches run, one after the other")
if "write 0 to 1, all or slowest" not in row(texts + "/small/cond.hlo", "--slice", "1", "--branch", "c=2"):
    faults.append("branch 2 of 2 is not refused")
# v5e: 0.81 TB/s of HBM, 16 GB/s of PCIe. Two weights of 67.1 MB: 82.850 us each, copied before their products or read by them
# (products of 8 rows from VMEM take 2.725 us each); 1.074 GB to the host, to HBM, to VMEM
def copied(name, *times_us):
    said = row("%s/small/%s.hlo" % (texts, name), "--slice", "1", "--profile", "spec")
    got = float(said.split("\n")[-2].split()[0])
    if not any(near(got, time_us) for time_us in times_us):
        faults.append("%s takes %g us" % (name, got))


copied("decode_b", 165.70)
copied("decode_a", 168.43)
copied("onload", 2651.21)
copied("vmem", 1325.61)
copied("offload", 67108.86)

# A kernel of 1 ms (197e9 operations at 197 TFLOP/s) that sends 45 MB, 1 ms at 45 GB/s, to the next device: on a line of 8 the last
# one's goes 7 links of 1 us
KERNEL = """HloModule m, is_scheduled=true, num_partitions=8
ENTRY e {
  p = bf16[1024,1024]{1,0} parameter(0)
  ROOT k = bf16[1024,1024]{1,0} custom-call(p), custom_call_target="tpu_custom_call", backend_config={"cost_estimate":
      {"flops":"197000000000","bytes_accessed":"4194304","remote_bytes_transferred":"45000000"}}
}
"""
with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
    file.write(KERNEL)
    file.flush()
    said = row(file.name, "--chip", "v5e", "--slice", "8", "--profile", "spec")
    rows = row(file.name, "--chip", "v5e", "--slice", "8", "--profile", "spec", "--instructions", "-")
# k once, with 7 us after its compute, and 45 MB over 1 link seven times and over 7 once, of 8 devices
if "\nk,product,,,1,0.001007,0.001007,7e-06,1.97e+11,4194304,78750000,MXU," not in rows:
    faults.append("kernel: " + rows)
if "# k: 45000000 bytes a device over ICI, to the next device" not in said or said.split("\n")[-2].split()[0] != "1007.00":
    faults.append("kernel: " + said)

# Chip 1 has waited for 180 MB when its line of 4 sums 32 KiB, to the middle and back: 4 hops of 1 us and 32768 B / 45 GB/s each.
# What the other chips had to wait for it before is no time of the sum
LATE = """HloModule m, is_scheduled=true, num_partitions=16
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  p = f32[45000000] parameter(0)
  q = f32[8192] parameter(1)
  s = (f32[45000000], f32[45000000], u32[], u32[]) collective-permute-start(p), channel_id=1, source_target_pairs={{0,1}}
  d = f32[45000000] collective-permute-done(s)
  r = f32[8192] all-reduce(q), channel_id=2, replica_groups=[4,4]<=[16], use_global_device_ids=true, to_apply=add,
    backend_config={"collective_algorithm_config":{"emitter":"RotatedPincerShortEmitter","strategy":"StrategyRing","debug":"StrategyRing{colors:1 phases:1}"}}
  ROOT t = (f32[45000000], f32[8192]) tuple(d, r)
}
"""
with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
    file.write(LATE)
    file.flush()
    said = row(file.name, "--chip", "v5e", "--slice", "4x4", "--profile", "spec", "--instructions", "-")
late_s = float(next(line for line in said.split("\n") if line.startswith("r,")).split(",")[6])
if not near(late_s * 1e6, 4 * (1 + 32768 / 45e3)):
    faults.append("the sum that one is late for takes %g s" % late_s)

# A permute that names no pairs sends nothing
with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
    file.write("HloModule m, num_partitions=4\nENTRY e {\n  p = f32[105] parameter(0)\n  ROOT c = f32[105] collective-permute(p)\n}\n")
    file.flush()
    said = row(file.name, "--chip", "v5e", "--slice", "2x2")
if not said or said.rstrip("\n").split("\n")[-1].split() != ["0.00", "0.00", "0.0", "0.0", "0"]:
    faults.append("a permute without pairs: " + repr(said))

# Copies that go on beside computes hold nothing up: what holds a step up is all of its time
llama = texts + "/programs/llama04_tp_v6e_2x4/module.hlo"
where = ["--chip", "v6e", "--slice", "2x4"]
said = subprocess.run([icisim, "compare", llama, llama, *where], capture_output=True, text=True).stdout
whole_us = float(row(llama, *where).split("\n")[-2].split()[0])
if not near(float(said.split("\n")[-2].split()[1]), whole_us):
    faults.append("compare: %s, not %g us" % (said.split("\n")[-2], whole_us))

# One step with and without the latency hiding scheduler: the gather that it hides is first, rounding is no difference. Ring
# attention hides all of its permutes, which is 0 and not -0
mlp = texts + "/collectives/mlp_fsdp_v5e4x4"
command = [icisim, "compare", mlp + ".txt", mlp + "__xla_tpu_enable_latency_hiding_scheduler_false.txt"]
said = subprocess.run(command + ["--chip", "v5e", "--slice", "4x4"], capture_output=True, text=True).stdout
if not re.search(r"difference\n.*\n +ws\[1\] ", said) or "-0.000" in said:
    faults.append("compare: " + said)
said = row(texts + "/programs/ring2_attention_grad_v5p_2x2x2/module.hlo", "--chip", "v5p", "--slice", "2x2x2")
if said.split("\n")[-2].split()[6] != "0.00":
    faults.append("exposed: " + said)

# Nothing says how long a sort takes: top_k of a decode of 48 layers sorts in VMEM; the embedding's gradient sorts in HBM
said = row(texts + "/inference/q30_dec_b16_s1536_v6e8/module.hlo", *where)
if "48 executions of sort (48)" not in said or "nothing for 48 ops" not in said:
    faults.append("sorts in VMEM: " + said)
if "# sorts: 1 executions" not in row(texts + "/pairs/fsdp-v6e-2x4/module.hlo", *where):
    faults.append("sorts in HBM are not named")

# a custom call that returns a token only orders others: it is none whose cost is unknown
if "NopReturnToken" in row(texts + "/programs/moe2_dense_v6e_4x4/module.hlo", "--chip", "v6e", "--slice", "4x4"):
    faults.append("NopReturnToken is work")

# two slices: counted, with what goes from one to the other (4 devices of 8192 x 8192 bf16 / 4 rows), but not timed
slices = texts + "/programs/slice1_allreduce_v6e_2x2x2/module.hlo"
for option in "--count-only", "--collectives":
    if not re.search(r"send +\{1,2\}x\{0:3\} +0 +ALL_REDUCE +1 +16777216 ", row(slices, option)) or \
       " 0 calls that the text does not cost" not in row(slices, "--count-only"):
        faults.append("%s: %s" % (option, row(slices, option)))
if "the program runs on several slices" not in row(slices, "--chip", "v6e", "--slice", "2x2"):
    faults.append("several slices are timed")

# cycles of another chip are said to be such: 274,877,906,944 operations in 2,150,056 cycles of 1.75 GHz are 24.3 % of 920 TFLOP/s
free = (texts + "/programs/mm1_free_v5e_2x2/module.hlo", "--slice", "2x2", "--chip")
if "# estimates: the fastest large matmul reaches 24.3 % of the peak of v6e: " not in row(*free, "v6e"):
    faults.append("cycles of v5e on v6e: " + row(*free, "v6e"))
if "# estimates" in row(*free, "v5e"):
    faults.append("cycles of v5e on v5e: " + row(*free, "v5e"))
if "unknown collective 'nonsense'" not in row("nonsense"):
    faults.append("nonsense is an op")
sys.exit("\n".join("cli_compiled: " + fault for fault in faults) if faults else 0)
END
