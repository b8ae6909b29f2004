#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The search for the best meshes of a model: the same best ones as if all points had been simulated, no point faster than its bound,
# and a count of all that is left out.
set -euo pipefail
icisim=$1
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# narrow, so that simulating all takes a moment
sed -e 's/layers: 80/layers: 12/;s/8192/2048/;s/28672/7168/;s/heads: 64/heads: 16/' workloads/llama-70b.yaml >"$scratch/small.yaml"
model=("$scratch/small.yaml" --chip v5p --chips 8 --mesh all)

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
fit = [float(every[i]["time_s"]) for _, i in times if float(every[i]["memory_bytes"]) <= 95e9 * 1.0105263]
best = sorted(float(row["time_s"]) for row in found if row["time_s"])[:5]
assert len(best) == min(5, len(fit)), (best, fit[:5])
assert all(abs(a - b) <= 1e-9 * b for a, b in zip(best, fit)), (best, fit[:5])
kinds = {"ok": 0, "memory": 0, "sequences": 0, "slower": 0, "invalid": 0}
for row, full in zip(found, every):
    assert (row["slice"], row["mesh"], row["rings"]) == (full["slice"], full["mesh"], full["rings"])
    if row["least_s"] and full["time_s"]:  # src/cli/search.c allows for 5 %
        assert float(full["time_s"]) >= float(row["least_s"]) * 0.98, (row["mesh"], full["time_s"], row["least_s"])
    status = row["status"]
    kind = ("ok" if status == "ok" else "memory" if "of each chip's memory" in status else "sequences" if "whole sequences" in status
            else "slower" if status.startswith("not simulated") else "invalid")
    kinds[kind] += 1
    assert (kind == "ok") == bool(row["time_s"]), status
print(kinds)
line = open(sys.argv[3]).readline()
for kind, words in (("memory", "do not fit memory"), ("sequences", "have no whole sequences"), ("slower", "cannot be as fast"), ("invalid", "are invalid")):
    assert (f"; {kinds[kind]} {words}" in line) == (kinds[kind] > 0), (kind, kinds[kind], line)
PY
}
search plain --remat full
. tests/support/sanitized.sh
sanitized "$icisim" && exit $failed # slow there, and the others take the same ways through the search
search ahead --prefetch 1 --ring bidi --tokens-per-chip 2048
search loops --prefetch 1 --strategy bidi --tokens-per-chip 2048
cmp "$scratch/plain.csv" <("$icisim" sweep "${model[@]}" --remat full --top 5 --csv "$scratch/one.csv" >/dev/null 2>&1; cat "$scratch/one.csv") ||
    { echo 'rows depend on the number of workers'; failed=1; }
[ $failed = 0 ] || exit 1
