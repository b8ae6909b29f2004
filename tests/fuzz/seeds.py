#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""seeds.py FOLDER: inputs of fuzz_command made of all workloads, chips, HLO, CSV and cases of this repository, one a file."""
import pathlib
import re
import sys

source, out = pathlib.Path(__file__).resolve().parents[2], pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
count = 0


def write(command, *files):
    """Files are paths, or pairs of a name and a text."""
    global count
    text = command + "\n"
    for file in files:
        name, content = file if isinstance(file, tuple) else (file.name, file.read_text())
        text += f"=== {name}\n{content}" + ("" if content.endswith("\n") else "\n")
    count += 1
    (out / f"{count:03}").write_text(text)


def flat(path):
    """A workload, and the first two files that it names, all in one folder."""
    text = path.read_text()
    named = [path.parent / name for name in dict.fromkeys(re.findall(r"[\w-]+/[\w-]+\.(?:csv|yaml)", text))]
    return [(path.name, re.sub(r"[\w-]+/(?=[\w{}-]+\.(csv|yaml))", "", text)), *[n for n in named if n.exists()][:2]]


workloads = source / "workloads"
for path in [p for part in ("", "steps/", "by-hand/") for p in sorted(workloads.glob(part + "*.yaml"))]:
    few = " --layers 1" if "model: transformer" in path.read_text() else ""
    files = flat(path)
    write(f"run {path.name}{few} --csv out.csv", *files)
    write(f"lower {path.name}{few}", *files)
    if "model: " in path.read_text():
        write(f"run {path.name}{few} --strategy bidi --prefetch 1 --instructions i.csv --by layer --critical-path", *files)
        write(f"eval {path.name}{few}", *files)
for path in sorted((source / "topologies").glob("*.yaml")):
    write(f"run all-gather --chip {path.name} --slice 4x4 --size 1MiB --ring uni,bidi --profile measured", path)
    write(f"topology show --chip {path.name} --slice 2x2 --mesh a=x*y", path)
for path in sorted((source / "tests/golden/hlo").glob("*.hlo")):
    write(f"run {path.name} --slice 4 --collectives --instructions i.csv --html out.html", path)
    write(f"run {path.name} --slice 2x2 --unroll --trace t.json --critical-path", path)
    write(f"run {path.name} --count-only --memory", path)
ring, devices = workloads / "compiled/ring.hlo", workloads / "compiled/devices.csv"
write("run ring.hlo --chip v6e --slice 2x4 --by source --gains --memory --instructions i.csv", ring, devices)
write("run ring.hlo --chip v6e --slice 2x4 --devices devices.csv --unroll --html out.html", ring, devices)
write("run ring.hlo --chip v6e --mesh all --slice 2x4 --top 2", ring)
golden, published = source / "tests/golden", source / "analysis/published"
write("compare-measured hlo_stats.csv --operation ring.hlo --chip v6e --slice 2x4", golden / "hlo_stats.csv", ring)
write("fit measured.csv --chip v5e --slice 4x4 --axis x --predict 1MiB --write-profile p.yaml", golden / "measured.csv")
write("fit measured.csv --chip v5e --slice 4x4 --axis x --robust --hold link", golden / "measured.csv")
write("compare-measured published.csv --where chip=v7x --ring bidi-half", published / "published.csv")
for path in sorted(golden.glob("jax_*.json")):
    write(f"eval --cases {path.name}", path)
write("run ragged-all-to-all --slice 4 --size 704B --dtype int8 --pair-sizes pairs.csv",
      ("pairs.csv", "from,to,size_bytes\n0,1,640\n3,2,64\n"))
row = "op,chip,command,status\nall-gather,v5e,run all-gather,ok\n"
write("merge a.csv b.csv --csv c.csv", ("a.csv", "# icisim sweep: shard 0/2 of 2 points, grid 0: op=x\n" + row),
      ("b.csv", "# icisim sweep: shard 1/2 of 2 points, grid 0: op=x\n" + row))
write("model from-hf config.json", ("config.json", """{"hidden_size": 512, "intermediate_size": 1024, "num_attention_heads": 8,
"num_hidden_layers": 2, "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": 4096,
"num_key_value_heads": 2, "tie_word_embeddings": false, "max_position_embeddings": 8192, "model_type": "mixtral"}"""))
write("model from-hf gpt2.json", ("gpt2.json", '{"n_embd": 768, "n_head": 12, "n_layer": 2, "n_positions": 1024, '
                                  '"vocab_size": 50257, "n_inner": null}'))
write("model from-maxtext base.yml", ("base.yml", """base_emb_dim: 1024
base_num_decoder_layers: 2
base_mlp_dim: 2816
base_num_query_heads: 16
base_num_kv_heads: 8
head_dim: 64
vocab_size: 32000
max_target_length: 2048
per_device_batch_size: 2.0
ici_fsdp_parallelism: 8
ici_tensor_parallelism: 2
remat_policy: 'minimal'
"""))
print(count, "inputs")
