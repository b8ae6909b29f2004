#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Whole commands on inputs made of all workloads, chips, HLO, CSV and cases of this repository, each once, in one process.
set -euo pipefail
target=$(dirname "$(realpath "$1")")/fuzz_command
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 tests/fuzz/seeds.py "$scratch/seeds" >/dev/null
"$target" "$scratch/seeds"
