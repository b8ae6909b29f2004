#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Workloads of parts that work at the same time: losses, periods, and what is wrong with a file.
set -euo pipefail
. tests/support/sanitized.sh
. tests/support/scratch.sh "$1"
cp -r "$source"/workloads/{distillation,network,distillation.yaml} .
holds() {
    awk "BEGIN { exit !($2) }" || fail "$1: $2"
}
near() { # what, got, wanted: to 2e-9, as CSV files have nine digits
    holds "$1" "$2 - $3 <= 2e-9 * $3 && $3 - $2 <= 2e-9 * $3"
}

# Columns of rows.csv, a line for each row.
cells() { # COLUMN ...
    awk -F, -v names="$*" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(names, name, " ") }
        NR > 1 { line = $at[name[1]]; for (i = 2; i <= n; i++) line = line "," $at[name[i]]; print line }' rows.csv
}
# "teacher=1e-05 teacher>student=4e-06 student=2e-05" of a row: the numbers alone, with commas.
numbers() {
    sed -E 's/[^= ]*=//g; s/ /,/g'
}

# The course's losses (its notebook prints them).
[ "$("$program" eval distillation.yaml | tail -1)" = "1.09 1.01 0.94 0.88 0.83" ] || fail "losses: $("$program" eval distillation.yaml)"

# Given times, nothing shared: the period is max(T, X, S, (T + X + S) / d), also where the meshes differ in size and order.
given() { # T X S, first chips, second chips: writes given.yaml
    printf 'parts:\n  a: {time: %sus, mesh: "d=%s", on: "%s"}\n  b: {time: %sus, mesh: "d=%s", on: "%s"}\n' "$1" "${4%:*}" "${4#*:}" "$3" "${5%:*}" "${5#*:}"
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
            while IFS=, read -r d period; do
                d=${d##*in-flight=}
                want=$(awk -v t="$t" -v x="$x" -v s="$s" -v d="$d" 'BEGIN {
                    m = (t + x + s) / d; if (t > m) m = t; if (x > m) m = x; if (s > m) m = s; printf "%.12g", m * 1e-6 }')
                near "T X S $times, $d in flight, $places, $engine" "$period" "$want"
            done < <(cells varied time_s)
        done
    done
done

# The distillation: the formula; a way of a batch ends with one hop by which the teacher is told that the batch has left.
"$program" run distillation.yaml --in-flight 1,2,3 --engine both --time-limit 1000s --csv rows.csv >table
while IFS=, read -r d period formula parts; do
    d=${d##*in-flight=}
    IFS=, read -r t x s < <(numbers <<<"$parts")
    want=$(awk "BEGIN { m = ($t + $x + $s + 1e-6) / $d; if ($t > m) m = $t; if ($x > m) m = $x; if ($s > m) m = $s; printf \"%.12g\", m }")
    near "formula, $d in flight" "$formula" "$want"
    near "$d in flight" "$period" "$formula"
done < <(cells varied time_s formula_exact_s parts)
grep -q '^# schedule: teacher 0, teacher sends 0, student 0, teacher 1, teacher sends 1, student 1, \.\.\.$' table ||
    fail "the schedule: $(cat table)"

# Through the hosts: 64 B of logits and 512 B of inputs of each chip go up, and come down, at 16 GB/s; the loop blocks.
"$program" run distillation.yaml --host-transfer --hop-latency 0s --in-flight 3 --csv rows.csv >/dev/null
IFS=, read -r t x s < <(cells parts | numbers)
period=$(cells time_s)
near "PCIe, up and down" "$x" "(2 * 576 / 16e9)"
near "blocking: the sum" "$period" "($t + $x + $s)"

"$program" run distillation.yaml --host-transfer >table
grep -q '^# schedule: through the hosts, up and down over 16 GB/s of PCIe a chip' table ||
    fail "what the way through the hosts leaves out is not told"

# What works on other workloads works here: compare, sweep, a trace, steps.
"$program" compare distillation.yaml --csv rows.csv >/dev/null
[ "$(cells varied mesh | tr '\n' ' ')" = 'in-flight=1,teacher:tp=4 student:dp=4 in-flight=2,teacher:tp=4 student:dp=4 in-flight=3,teacher:tp=4 student:dp=4 ' ] ||
    fail "compare: $(cells varied mesh)"
[ "$(cells speedup | head -1)" = 1 ] || fail "speed-up: $(cells speedup)"
"$program" sweep distillation.yaml --in-flight 1:4:+1 -j 2 --csv rows.csv
[ "$(cells status | sort | uniq -c | tr -s ' ')" = ' 4 ok' ] || fail "sweep: $(cells status)"
"$program" run distillation.yaml --trace t.json --steps >table
grep -q '^ *student  *0  compute' table || fail "no steps of the student"
grep -q '"transfer' t.json || fail "no transfer in the trace"

# says | an edit of the workload
while IFS='|' read -r says edit; do
    sed -e "$edit" distillation.yaml >wrong.yaml
    status=0
    said=$("$program" run wrong.yaml 2>&1) || status=$?
    [[ "$status" = 2 && "$(wc -l <<<"$said")" = 1 && "$said" == *"$says"* ]] || fail "$edit: exit $status, must say $says: $said"
done <<'END'
there is no part 'student'; the first one is teacher|/^  student/d
chip 4 is in teacher and in student; give each chips of its own|s/on: 0-3/on: 1-4/
wrong.yaml:4:12: mesh|s/mesh: "tp=4", on: 0-3/mesh: "tp=4", on: 0-2/
'step' is missing|s/step: distillation.teacher.yaml, //
there is no tensor 'teacher.z'; write teacher.x|s/from: teacher[.]y/from: teacher.z/
there is no tensor 'student.y'|s/to: student[.]t/to: student.y/
[16,32@tp] cannot become [16@dp,4]; they must have the same sizes|s/from: teacher[.]y/from: teacher.x/
'transfers' is missing|/^transfers/,/^  - .*x}/d
transfers are a list, or a time|/^  - /d;s/^transfers:/transfers: {}/
teacher has a time, and so no tensors; write {from: PART, to: PART, time: 20us}|s/step: distillation.teacher.yaml/time: 3us/
leave the names of tensors out|s/to: student[.]t/to: student.t, time: 3us/
wrong.yaml:7:3: transfers go round in a circle|s/from: teacher[.]y, to: student[.]t/from: student, to: teacher, time: 3us/
write parts: instead of meshes:|s/^parts:/meshes:/
batches is 0; it must be from 1|s/^batches: 5/batches: 0/
time '3' has no unit|s/step: distillation.teacher.yaml/time: 3/
END
refuse() {
    local says=$1 said status=0
    shift
    said=$("$program" "$@" 2>&1) || status=$?
    [[ "$status" = 2 && "$said" == *"$says"* ]] || fail "$*: exit $status, must say $says: $said"
}
refuse '--in-flight 0: write 1 to 64' run distillation.yaml --in-flight 0
refuse 'has no pcie_bandwidth' run distillation.yaml --chip v2 --slice 2x4 --host-transfer
for option in '--strategy uni' '--prefetch 1' '--links l.csv' --collectives '--mesh a=8' '--draws 3' '--tolerance 1e-2'; do
    refuse 'does not apply to parts' run distillation.yaml $option
done
for option in '--in-flight 2' --host-transfer; do
    refuse 'does not apply to a model' run distillation/student.yaml --mesh dp=4 --slice 2x2 $option
done
refuse "'distillation.yaml' is no module" lower distillation.yaml
refuse '--count-only' run distillation.yaml --count-only
given 1 2 3 4:0-3 4:4-7 >given.yaml
refuse 'a part that has a time has no numbers' eval given.yaml
exit "$failed"
