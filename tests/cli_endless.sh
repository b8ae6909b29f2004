#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Steps whose chips lie along long lines: times as of all chips that differ, and that it is said.
set -euo pipefail
icisim=$1
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Gathers ahead or not, tensor parallelism, an all-to-all over lines (of which there are other numbers of sends). Of few layers more is
# exposed than of all.
compare() { # the share of time that may differ, chips simulated of each, arguments
    local most=$1 chips=$2
    shift 2
    for fold in on alike; do
        "$icisim" run workloads/llama-70b.yaml --fold $fold "$@" --csv "$scratch/$fold.csv" >"$scratch/$fold.txt" 2>/dev/null
    done
    grep -q '^# endless: ' "$scratch/on.txt" || { echo "not said: $*"; failed=1; }
    ! grep -q endless "$scratch/alike.txt" || { echo "wrongly said: $*"; failed=1; }
    python3 - "$most" "$chips" "$scratch"/{on,alike}.csv <<'PY' || { echo "endless: $*"; failed=1; }
import csv, sys
on, alike = (next(csv.DictReader(open(name))) for name in sys.argv[3:])
off = {name: float(on[name]) / float(alike[name]) - 1 for name in ("time_s", "compute_s", "comm_s", "max_link_frac", "mean_link_frac", "transfers", "steps")}
of = [on["simulated"], alike["simulated"]]
assert of == [chips + " of " + of[1].split()[-1] + (" endless" if i == 0 else "") for i, chips in enumerate(sys.argv[2].split("/"))], of
assert abs(off["time_s"]) < float(sys.argv[1]), off
assert abs(off["comm_s"]) < 0.03 and abs(off["compute_s"]) < 0.01, off
assert abs(off["max_link_frac"]) < 0.01 and abs(off["mean_link_frac"]) < 0.01, off
assert abs(off["steps"]) < 0.05 and abs(off["transfers"]) < 0.05, off
PY
}
compare 0.01 2/128 --chip v5p --slice 16x16x16 --mesh dp=x:2*y:2*z:8,fsdp=x:8*y:8,tp=z:2 --layers 3 --prefetch 1
compare 0.002 1/112 --chip v5p --slice 16x20x28 --mesh dp=x:4*y:5*z:4,fsdp=x:4*y:4*z:7,tp=1 --layers 3
compare 0.006 1/64 --chip v4 --slice 8x8x8 --mesh dp=x:2*y:2*z:2,fsdp=x:4*y:4*z:4,tp=1 --layers 3 --remat full --prefetch 1

# what lies on few chips, or on whole axes, is as it was
for mesh in fsdp=x*y:4*z,dp=y:2,tp=1 fsdp=x*y*z,tp=1; do
    for fold in on alike; do
        "$icisim" run workloads/llama-70b.yaml --chip v5p --slice 8x8x8 --mesh $mesh --layers 3 --fold $fold --digits 17 --csv "$scratch/$fold.csv" >"$scratch/$fold.txt" 2>/dev/null
    done
    cmp <(sed 's/ --fold [a-z]*"/"/' "$scratch/on.csv") <(sed 's/ --fold [a-z]*"/"/' "$scratch/alike.csv") || { echo "few chips: $mesh"; failed=1; }
done

# a line that is closed over its links the other way has no ends to leave out
for fold in on alike; do
    "$icisim" run workloads/llama-70b.yaml --chip v5p --slice 8x8x8 --mesh dp=x:2*y:2*z:2,fsdp=x:4*y:4*z:4,tp=1 --ring uni --layers 2 --fold $fold --csv "$scratch/$fold.csv" >"$scratch/$fold.txt" 2>/dev/null
done
python3 - "$scratch"/{on,alike}.csv <<'PY' || { echo "uni"; failed=1; }
import csv, sys
on, alike = (next(csv.DictReader(open(name))) for name in sys.argv[1:])
assert abs(float(on["time_s"]) / float(alike["time_s"]) - 1) < 0.005, (on["time_s"], alike["time_s"])
PY

# the text of a step takes as long as the step
step=(--chip v5p --slice 8x8x8 --mesh dp=x:2*y:2*z:2,fsdp=x:4*y:4*z:4,tp=1)
"$icisim" lower workloads/llama-70b.yaml "${step[@]}" --layers 2 >"$scratch/step.hlo" 2>/dev/null
"$icisim" run workloads/llama-70b.yaml "${step[@]}" --layers 2 --csv "$scratch/model.csv" >/dev/null 2>&1
"$icisim" run "$scratch/step.hlo" "${step[@]}" --csv "$scratch/text.csv" >/dev/null 2>&1
python3 - "$scratch"/{model,text}.csv <<'PY' || { echo "text of a step"; failed=1; }
import csv, sys
model, text = (next(csv.DictReader(open(name))) for name in sys.argv[1:])
assert model["simulated"] == text["simulated"] == "1 of 512 endless", (model["simulated"], text["simulated"])
assert abs(float(text["comm_s"]) / float(model["comm_s"]) - 1) < 1e-9, (text["comm_s"], model["comm_s"])
PY
exit $failed
