#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Workloads of two meshes that work at the same time: losses, periods, splits, and what is wrong with a file.
set -euo pipefail
. tests/support/sanitized.sh
. tests/support/scratch.sh "$1"
cp -r "$source"/workloads/{distillation,network,distillation.yaml,distillation-split.yaml} .
holds() {
    awk "BEGIN { exit !($2) }" || fail "$1: $2"
}
near() { # what, got, wanted: to 1e-9
    holds "$1" "$2 - $3 <= 1e-9 * $3 && $3 - $2 <= 1e-9 * $3"
}

# The course's losses (its notebook prints them).
[ "$("$program" eval distillation.yaml | tail -1)" = "1.09 1.01 0.94 0.88 0.83" ] || fail "losses: $("$program" eval distillation.yaml)"

# Given times, nothing shared: the period is max(T, X, S, (T + X + S) / d), also where the meshes differ in size and order.
given() { # T X S, first chips, second chips: writes given.yaml
    printf 'meshes:\n  a: {time: %sus, mesh: "d=%s", on: "%s"}\n  b: {time: %sus, mesh: "d=%s", on: "%s"}\n' "$1" "${4%:*}" "${4#*:}" "$3" "${5%:*}" "${5#*:}"
    printf 'transfers: {time: %sus}\nslice: 2x4\nchip: v5e\nhop-latency: 0s\n' "$2"
}
all_places=('4:0-3 4:4-7' '4:4-7 4:0-3' '2:0,1 6:2-7' '5:3-7 3:0-2')
all_times=('100 20 100' '100 20 60' '60 20 100' '31.7 90.3 47.9' '47.9 90.3 31.7' '13 5 7')
if sanitized "$program"; then # a few of them take the same ways through the program
    all_places=("${all_places[@]:2}") all_times=("${all_times[@]:2:2}")
fi
for places in "${all_places[@]}"; do
    for times in "${all_times[@]}"; do
        read -r t x s <<<"$times"
        read -r first second <<<"$places"
        given "$t" "$x" "$s" "$first" "$second" >given.yaml
        for engine in event simgrid; do
            "$program" run given.yaml --in-flight 1,2,3,5 --engine $engine --check --csv rows.csv >/dev/null
            while IFS=, read -r d _ _ _ _ _ _ period _; do
                [ "$d" != in_flight ] || continue
                want=$(awk -v t="$t" -v x="$x" -v s="$s" -v d="$d" 'BEGIN {
                    m = (t + x + s) / d; if (t > m) m = t; if (x > m) m = x; if (s > m) m = s; printf "%.12g", m * 1e-6 }')
                near "T X S $times, $d in flight, $places, $engine" "$period" "$want"
            done <rows.csv
        done
    done
done

# The distillation: the formula and, with one in flight, one hop by which the teacher is told that a batch has left.
"$program" run distillation.yaml --in-flight 1,2,3 --engine both --time-limit 1000s --csv rows.csv >table
while IFS=, read -r d _ _ _ t x s period formula _; do
    [ "$d" != in_flight ] || continue
    want=$(awk "BEGIN { m = ($t + $x + $s) / $d; if ($t > m) m = $t; if ($x > m) m = $x; if ($s > m) m = $s; printf \"%.12g\", m }")
    near "formula, $d in flight" "$formula" "$want"
    [ "$d" != 1 ] || near "one in flight: and a hop back" "$period" "($formula + 1e-6)"
    [ "$d" = 1 ] || near "$d in flight" "$period" "$formula"
done <rows.csv
grep -q '^# fastest: 4/4 chips, [23] in flight' table || fail "who is fastest: $(cat table)"

# Through the hosts: 64 B of logits and 512 B of inputs of each chip go up, and come down, at 16 GB/s; the loop blocks.
"$program" run distillation.yaml --host-transfer --hop-latency 0s --in-flight 3 --csv rows.csv >/dev/null
IFS=, read -r d _ _ _ t x s period _ < <(tail -1 rows.csv)
[ "$d" = 1 ] || fail "a loop that blocks has one batch in flight, not $d"
near "PCIe, up and down" "$x" "(2 * 576 / 16e9)"
near "blocking: the sum" "$period" "($t + $x + $s)"

# The split that a loop over splits finds is the one that the sweep names.
splits='3/9 4/8 6/6 8/4 9/3' best= least=1
for split in $splits; do
    period=$("$program" run distillation-split.yaml --split "$split" --csv - | tail -1 | cut -d, -f8)
    if awk "BEGIN { exit !($period < $least) }"; then
        least=$period best=$split
    fi
done
said=$("$program" run distillation-split.yaml --split "${splits// /,}" | grep '^# fastest')
[[ "$said" == "# fastest: $best chips, 3 in flight, "* ]] || fail "the loop finds $best: $said"
[ "$best" != 3/9 ] && [ "$best" != 9/3 ] || fail "the balance is at the end: $best"

# A split that the batch does not divide by is told, and the others are compared; without any other it is an error.
"$program" run distillation.yaml --in-flight 2 --split 2/6,4/4,6/2 --csv rows.csv >table
[ "$(cut -d, -f1,2,3 rows.csv | sed -n 3p)" = 2,ok,4 ] || fail "splits: $(cat rows.csv)"
said='x: dim 0 of 16 does not divide into 6 parts over dp; the next size that does is 18'
[ "$(grep -c "^# 2/6 chips: .*$said" table)" = 1 ] && [ "$(grep -c "$said" rows.csv)" = 1 ] || fail "splits: $(cat table)"
[[ "$(tail -2 table)" == "# fastest: "*" chips, 2 in flight, "*" there:"*"# teacher waits "* ]] || fail "splits: $(cat table)"
said=$("$program" run distillation.yaml --split 2/6 2>&1) && fail "a split that is refused: $said"
said=$("$program" run distillation.yaml --host-transfer | grep -c '^# through the hosts, up and down over 16 GB/s of PCIe a chip') || true
[ "$said" = 1 ] || fail "what the way through the hosts leaves out is not told"

# says | an edit of the workload
while IFS='|' read -r says edit; do
    sed -e "$edit" distillation.yaml >wrong.yaml
    status=0
    said=$("$program" run wrong.yaml 2>&1) || status=$?
    [[ "$status" = 2 && "$(wc -l <<<"$said")" = 1 && "$said" == *"$says"* ]] || fail "$edit: exit $status, must say $says: $said"
done <<'END'
there are 1 meshes; give two|/^  student/d
chip 3 is in teacher and in student; give each chips of its own|s/on: 4-7/on: 3-6/
wrong.yaml:4:12: mesh|s/mesh: "tp=4", on: 0-3/mesh: "tp=4", on: 0-2/
'step' is missing|s/step: distillation.teacher.yaml, //
there is no tensor 'teacher.z'; write teacher.x|s/from: teacher[.]y/from: teacher.z/
there is no tensor 'student.y'|s/to: student[.]t/to: student.y/
[16,32@tp] cannot become [16@dp,4]; they must have the same sizes|s/from: teacher[.]y/from: teacher.x/
'transfers' is missing|/^transfers/,/^  - .*x}/d
transfers are a list, or a time|/^  - /d;s/^transfers:/transfers: {}/
a mesh with a time has no tensors|s/step: distillation.teacher.yaml/time: 3us/
batches is 0; it must be from 1|s/^batches: 5/batches: 0/
time '3' has no unit|s/step: distillation.teacher.yaml/time: 3/
END
refuse() {
    local says=$1 said status=0
    shift
    said=$("$program" "$@" 2>&1) || status=$?
    [[ "$status" = 2 && "$said" == *"$says"* ]] || fail "$*: exit $status, must say $says: $said"
}
refuse "--split '2': write chips of the first mesh" run distillation.yaml --split 2
refuse "--split '5/4': write chips of the first mesh" run distillation.yaml --split 5/4
refuse '--in-flight 0: write 1 to 64' run distillation.yaml --in-flight 0
refuse 'has no pcie_bandwidth' run distillation.yaml --chip v2 --slice 2x4 --host-transfer
for option in '--strategy uni' '--prefetch 1' '--trace t.json' --steps '--links l.csv' --collectives '--mesh a=8' '--draws 3' '--top 2'; do
    refuse 'does not apply to two meshes' run distillation.yaml $option
done
for option in '--in-flight 2' --host-transfer '--split 4/4'; do
    refuse 'does not apply to a model' run distillation/student.yaml --mesh dp=4 --slice 2x2 $option
done
for command in sweep compare lower; do
    refuse 'run --in-flight 1,2,3 --split 2/6,4/4 compares them in one table' $command distillation.yaml
done
given 1 2 3 4:0-3 4:4-7 >given.yaml
refuse 'a mesh that has a time has no numbers' eval given.yaml
exit "$failed"
