#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every file in workloads/ runs as it is, with all invariants checked and each matmul's product compared on a small copy;
# every chip in topologies/ loads.
set -euo pipefail
icisim=$1
ran=0
. tests/support/sanitized.sh
for file in workloads/*.yaml workloads/by-hand/*.yaml; do
    options=(--check --csv -)
    if sanitized "$icisim" && grep -q '^model: transformer' "$file"; then
        options+=(--layers 4) # slow there
    fi
    "$icisim" run "$file" "${options[@]}" | awk -F, -v file="$file" '
        NR > 1 && $0 !~ /,ok,/ { print file ": " $0; bad = 1 }
        END { if (NR < 2) print file ": no rows"; exit bad || NR < 2 }'
    ran=$((ran + 1))
done
[ "$ran" -ge 12 ] || { echo "only $ran workloads"; exit 1; }
for file in topologies/*.yaml; do
    "$icisim" topology show --chip "$file" --slice 2x2 >/dev/null
done
