#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The search for the best meshes of a model: the same best ones as if all points had been simulated, no point faster than its bound or
# estimate, a count of all that is left out, and rows whose own commands give them.
set -euo pipefail
icisim=$1
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# narrow, so that simulating all takes a moment
sed -e 's/layers: 80/layers: 12/;s/8192/2048/;s/28672/7168/;s/heads: 64/heads: 16/' workloads/by-hand/llama-70b.yaml >"$scratch/small.yaml"
model=("$scratch/small.yaml" --chip v5p --chips 8 --slice all --mesh all)

search() { # name, arguments: a ranking, and the same of a sweep of all points, which has no speed-up to compare
    local name=$1
    shift
    "$icisim" sweep "${model[@]}" "$@" --top 5 --csv "$scratch/$name.csv" -j 2 >"$scratch/$name" 2>"$scratch/err"
    "$icisim" sweep "${model[@]}" "$@" --csv "$scratch/$name-all.csv" -j 2 2>/dev/null
    python3 - "$scratch/$name.csv" "$scratch/$name-all.csv" "$scratch/$name" <<'PY' || { echo "search: $name"; failed=1; }
import csv, math, sys
found, every = (list(csv.DictReader(open(name))) for name in sys.argv[1:3])
assert len(found) == len(every), (len(found), len(every))
times = sorted((float(row["time_s"]), i) for i, row in enumerate(every) if row["time_s"])
fit = [float(every[i]["time_s"]) for _, i in times if every[i]["memory_fit"] != "over"]
best = sorted(float(row["time_s"]) for row in found if row["time_s"])[:5]
assert len(best) == min(5, len(fit)), (best, fit[:5])
assert all(abs(a - b) <= 1e-9 * b for a, b in zip(best, fit)), (best, fit[:5])
kinds = {"ok": 0, "memory": 0, "sequences": 0, "bound": 0, "estimate": 0, "invalid": 0}
for row, full in zip(found, every):
    assert (row["slice"], row["mesh"], row["rings"]) == (full["slice"], full["mesh"], full["rings"])
    if row["least_s"] and full["time_s"]:
        assert float(full["time_s"]) >= float(row["least_s"]) * (1 - 1e-8), (row["mesh"], full["time_s"], row["least_s"])
    status = row["status"]
    kind = ("ok" if status == "ok" else "memory" if "of each chip's memory" in status else "sequences" if "whole sequences" in status
            else "bound" if "the bound of its mesh is above" in status else "estimate" if "estimate is above" in status else "invalid")
    kinds[kind] += 1
    assert (kind == "ok") == bool(row["time_s"]), status
    assert kind not in ("bound", "estimate") or float(row["least_s"]) >= best[-1] * (1 - 1e-8), (row["mesh"], row["least_s"], best[-1])
print(kinds)
line = open(sys.argv[3]).readline()
for kind, words in (("memory", "exceed HBM"), ("sequences", "cannot split the batch evenly"), ("bound", "pruned by bound"), ("estimate", "pruned by estimate"), ("invalid", "are invalid")):
    assert (f"; {kinds[kind]} {words}" in line) == (kinds[kind] > 0), (kind, kinds[kind], line)
PY
}
search plain --remat full
. tests/support/sanitized.sh
sanitized "$icisim" && exit $failed # slow there, and the others take the same ways through the search
search ahead --prefetch 1 --ring bidi --tokens-per-chip 2048
search loops --prefetch 1 --strategy bidi --tokens-per-chip 2048
# Without a strategy only steps without gathers ahead have loops, whose products are smaller and take longer.
sed -e 's/layers: 80/layers: 6/;s/8192/2048/;s/28672/7168/;s/heads: 64/heads: 16/' workloads/llama-70b.yaml >"$scratch/loops.yaml"
model=("$scratch/loops.yaml" --chip v5p --chips 16 --mesh all)
search default --prefetch 0,1 --tokens-per-chip 4096
# What does not fit one chip may fit the other, and takes another time there.
model=(workloads/llama-8b.yaml --chip v5e,v5p --chips 16 --mesh all)
search chips --tokens-per-chip 2048

# Steps of seconds, the best of them as `run` has it.
"$icisim" sweep workloads/by-hand/llama-70b.yaml --chip v5p --chips 64 --mesh all --top 2 --csv "$scratch/long.csv" >/dev/null 2>&1
python3 - "$icisim" "$scratch/long.csv" <<'PY' || { echo 'search: steps of seconds'; failed=1; }
import csv, shlex, subprocess, sys
rows = [row for row in csv.DictReader(open(sys.argv[2])) if row["time_s"]]
best = min(rows, key=lambda row: float(row["time_s"]))
said = subprocess.run([sys.argv[1], *shlex.split(best["command"]), "--csv", "-"], capture_output=True, text=True, check=True)
same = next(csv.DictReader(said.stdout.splitlines()))["time_s"]
assert len(rows) >= 2 and float(same) > 2 and same == best["time_s"], (len(rows), same, best["time_s"])
PY

# A strategy chosen by time: estimates do not know which.
model=("$scratch/loops.yaml" --chip v5p --chips 4 --slice all --mesh all)
search auto --strategy auto --tokens-per-chip 2048
# All knobs at once, on 4 chips; a value that cannot run is counted with its reason, and is no fault of the others.
sed -i 's/layers: 12/layers: 6/' "$scratch/small.yaml"
# All meshes of a model with experts have an axis for these, whatever its name.
sed 's/expert-axis: ep/expert-axis: peers/;s/^mesh: .*//' workloads/mixtral-8x7b.yaml >"$scratch/experts.yaml"
model=("$scratch/experts.yaml" --layers 2 --chip v5p --chips 8 --mesh all)
search experts --prefetch 0,1
grep -q ' dp=1,fsdp=1,tp=1,peers=8 ' "$scratch/experts" || { echo 'no mesh of experts'; failed=1; }
sed -i 's/expert-axis: peers/expert-axis: "dp,peers"/' "$scratch/experts.yaml"
"$icisim" sweep workloads/llama-8b.yaml "$scratch/experts.yaml" --layers 1 --chip v5p --chips 4 --mesh all --tokens-per-chip 4096 \
    --allow-split-physical-axes 2>/dev/null >"$scratch/both.csv"
grep -q 'experts.yaml,.*"dp=2,fsdp=1,tp=1,peers=2"' "$scratch/both.csv" || { echo 'no mesh of the experts of a second model'; failed=1; }
model=("$scratch/small.yaml" --chip v5p --chips 4 --slice all --mesh all)
search knobs --remat products,full --micro-batches 1,2 --prefetch 0,1 --strategy naive,uni,bidi --tokens-per-chip 1000,2048
grep -q '; [0-9]* cannot split the batch evenly' "$scratch/knobs" || { echo "knobs: $(head -1 "$scratch/knobs")"; failed=1; }

# A row of the table has all columns, and its command gives the same row, also if it was simulated with another strategy.
"$icisim" sweep "${model[@]}" --prefetch all --strategy naive,uni --top 4 --csv "$scratch/top.csv" >/dev/null 2>&1
python3 - "$icisim" "$scratch/top.csv" <<'PY' || { echo 'search: commands of rows'; failed=1; }
import csv, shlex, subprocess, sys
ran = [row for row in csv.DictReader(open(sys.argv[2])) if row["status"] == "ok"]
assert len(ran) >= 4 and any(a["time_s"] == b["time_s"] and a["strategy"] != b["strategy"] for a in ran for b in ran)
for row in ran:
    said = subprocess.run([sys.argv[1], *shlex.split(row["command"]), "--csv", "-"], capture_output=True, text=True, check=True).stdout
    again = next(csv.DictReader(said.splitlines()))
    off = {key for key in row if row[key] != again[key]} - {"least_s", "command", "varied", "speedup"}
    assert not off, (off, [(row[key], again[key]) for key in off])
PY

# Random models, all of whose meshes are simulated: what a step takes is not less than its estimate, which is near.
# On lines a gather and a scatter load different links; groups of every second chip share links, and so have other shares.
least() { # name, dims of the model, arguments
    local name=$1 dims=$2
    shift 2
    printf 'chip: v5p\nmodel: transformer\nsequence: 512\nvocabulary: 32000\nattention: full\nkernel: ideal\n%b' "$dims" >"$scratch/$name.yaml"
    "$icisim" sweep "$scratch/$name.yaml" "$@" --top 10000 --csv "$scratch/$name.csv" -j 2 >/dev/null 2>"$scratch/err"
    python3 - "$scratch/$name.csv" <<'PY' || { echo "search: least of $name"; failed=1; }
import csv, sys
rows = [row for row in csv.DictReader(open(sys.argv[1])) if row["time_s"]]
assert len(rows) >= 50 and all(row["least_s"] for row in rows), len(rows)
worst = min(rows, key=lambda row: float(row["time_s"]) / float(row["least_s"]))
assert float(worst["time_s"]) >= (1 - 1e-9) * float(worst["least_s"]), (worst["slice"], worst["rings"], worst["time_s"], worst["least_s"])
off = sorted(float(row["time_s"]) / float(row["least_s"]) for row in rows)
assert off[len(off) // 2] < 1.18, off # the median was 1.04 to 1.17
PY
}
least wide 'layers: 6\nd-model: 1280\nd-ff: 3072\nheads: 8\nkv-heads: 4\nhead-dim: 64\ntokens-per-chip: 2048\n' --chips 16 --slice all --mesh all
least deep 'layers: 9\nd-model: 768\nd-ff: 5120\nheads: 16\nkv-heads: 8\nhead-dim: 64\ntokens-per-chip: 1024\n' --chips 16 --slice all --mesh all --prefetch 1
least lines 'layers: 6\nd-model: 2048\nd-ff: 7168\nheads: 8\nkv-heads: 4\nhead-dim: 128\ntokens-per-chip: 1024\n' --slice 1x4x8 \
    --mesh all
# Permutes that the queue waits for go to and fro one after the other.
least waits 'layers: 6\nd-model: 2048\nd-ff: 7168\nheads: 8\nkv-heads: 4\nhead-dim: 128\ntokens-per-chip: 1024\n' --chip v5e --chips 32 \
    --mesh all
# The two devices of a chip are neighbours on a ring, which another order of the mesh may tear apart.
least cores 'layers: 3\nd-model: 2048\nd-ff: 7168\nheads: 16\nkv-heads: 8\nhead-dim: 128\ntokens-per-chip: 512\n' --chip v7x --chips 8 \
    --strategy uni,bidi --mesh all
model=("$scratch/wide.yaml" --chip v5p --chips 8 --slice all --mesh all)
"$icisim" sweep "${model[@]}" --top 5 --csv "$scratch/two.csv" -j 2 >/dev/null 2>&1
"$icisim" sweep "${model[@]}" --top 5 --csv "$scratch/one.csv" >/dev/null 2>&1
# Of what was simulated: with more workers a point may be left by a rough estimate, not by the next one.
cmp <(grep ,ok, "$scratch/two.csv") <(grep ,ok, "$scratch/one.csv") ||
    { echo 'rows depend on the number of workers'; failed=1; }
[ $failed = 0 ] || exit 1
