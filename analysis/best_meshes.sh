#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The fastest three meshes of a search again, with other tokens a chip: a CSV for step_tokens.py.
#
#     icisim sweep workloads/by-hand/llama-70b.yaml --chip v5p --chips 512 --mesh all --top 10 --csv SEARCH.csv
#     best_meshes.sh SEARCH.csv 4096,8192,16384 [ICISIM] >BEST.csv
set -euo pipefail
[ $# -ge 2 ] || { sed -n '3,7s/^# *//p' "$0"; exit 2; }
search=$1 tokens=$2 icisim=${3:-icisim}
commands=$(python3 - "$search" "$tokens" <<'END'
import csv, shlex, sys
search, tokens = sys.argv[1:]
try:
    rows = [row for row in csv.DictReader(open(search)) if row["status"] == "ok"]
    rows.sort(key=lambda row: float(row["time_s"]))
    for row in rows[:3]:
        words = shlex.split(row["command"])
        for option in ("--tokens-per-chip", "--engine"):  # a sweep has its own engine
            if option in words:
                del words[words.index(option):words.index(option) + 2]
        print(shlex.join(["sweep", *words[1:], "--tokens-per-chip", tokens, "--csv", "-"]))
except OSError as error:
    sys.exit(f"best_meshes.sh: {search}: {error.strerror}")
except KeyError as error:
    sys.exit(f"best_meshes.sh: {search}: has no column {error.args[0]}; give the CSV of a sweep")
END
) || exit 2
[ -n "$commands" ] || { echo "best_meshes.sh: $search: no row has a time" >&2; exit 2; }
first=1
while read -r command; do
    eval "'$icisim' $command" 2>/dev/null | tail -n +$first
    first=2
done <<<"$commands"
