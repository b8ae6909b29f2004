#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# valgrind finds nothing in commands of all kinds: no read of what was not written, no block that is lost. It is slow, so
# that only some are run: ICISIM_MEMCHECK says how many, 11 is all.
set -u
. tests/support/sanitized.sh
program=$(realpath "$1")
source=$PWD
if ! command -v valgrind >/dev/null || ldd "$program" | grep -c libasan >/dev/null; then
    skip 'no valgrind, or sanitizers in its place'
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0 ran=0
"$program" sweep all-gather --slice 4 --size 1KiB:8KiB:x2 --engine event --shard 0/2 --csv part-0.csv
"$program" sweep all-gather --slice 4 --size 1KiB:8KiB:x2 --engine event --shard 1/2 --csv part-1.csv
while [ $ran -lt "${ICISIM_MEMCHECK:-2}" ] && read -r arguments; do
    ran=$((ran + 1))
    eval "set -- $arguments"
    valgrind --quiet --error-exitcode=77 --leak-check=full --show-leak-kinds=definite,indirect,possible \
        --errors-for-leak-kinds=definite,indirect,possible "$program" "$@" >out 2>err
    status=$?
    if [ $status -ne 0 ] || grep -q '^==' err; then
        printf 'icisim %s\n  exit %d: %s\n' "$arguments" $status "$(head -20 err)"
        failed=1
    fi
done <<'END'
run "$source/workloads/fsdp-layer.yaml" --engine event
eval psum_scatter --mesh dp=4,tp=2 --input 'arange(8).reshape(2,4)' --in 'P(None,tp)' --out 'P(tp)' --axis tp --tiled
run all-gather --slice 4x4 --size 1MiB --ring uni,bidi --engine event --csv out.csv --steps --links l.csv
run all-to-all --slice 2x3 --size 36KiB --engine event --critical-path --check --trace t.json
run ragged-all-to-all --slice 4 --size 704KiB --pair-sizes random:3 --tolerance 1e-2
run all-gather --slice 4x4 --size 16KiB --engine event --link 1,0:x=0
run "$source/tests/golden/hlo/3_while.hlo" --slice 4 --engine event --collectives --instructions i.csv
compare all-gather --slice 4x4 --size 64KiB:1MiB:x4 --engine event --crossover
merge part-0.csv part-1.csv
fit "$source/tests/golden/measured.csv" --chip v5e --slice 4x4 --axis x --predict 1MiB
lower "$source/workloads/net-fsdp-tp.yaml"
END
echo "$ran commands"
exit $failed
