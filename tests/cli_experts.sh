#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Workloads with experts: what is wrong with a file is said in one line, with its place; and what the commands say of them.
set -euo pipefail
icisim=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r workloads/experts workloads/moe-example.yaml "$scratch"
cd "$scratch"
printf 'device,expert,count\n0,0,12\n1,3,6\n1,7,5\n' >counts.csv
printf 'device,expert,count\n0,0,12\n1,3,13\n' >more.csv
failed=0

# says | an edit of the workload | of its routing
while IFS='|' read -r says edit routing; do
    sed -e "$edit" moe-example.yaml >wrong.yaml
    sed -e "${routing:-}" experts/routing.csv >experts/wrong.csv
    status=0
    said=$("$icisim" run wrong.yaml 2>&1) || status=$?
    if [ "$status" != 2 ] || [ "$(wc -l <<<"$said")" != 1 ] || [[ "$said" != *"$says"* ]]; then
        printf '%s | %s\n  exit %s, must say "%s", says: %s\n' "$edit" "${routing:-}" "$status" "$says" "$said"
        failed=1
    fi
done <<'END'
wrong.yaml:3:1: 'experts:' is missing|s/^experts:/#/
9 experts do not divide among 2 devices; the next number that does is 10|s/^experts: 8/experts: 9/
top-k is 9; it must be from 1 to 8|s/^top-k: 2/top-k: 9/
tokens is 0; it must be from 1 to|s/^tokens: 6/tokens: 0/
are more than 2147483647 rows|s/^tokens: 6/tokens: 2000000000/
is more than 2147483647 rows together|s/^capacity-factor: 1/capacity-factor: 999999999/
the capacity factor is '1e3'; write a number above 0|s/^capacity-factor: 1/capacity-factor: 1e3/
the capacity factor is '0'|s/^capacity-factor: 1/capacity-factor: 0/
the capacity factor is '1.0000000001'|s/^capacity-factor: 1/capacity-factor: 1.0000000001/
'capacity-factor' is missing|/^capacity-factor/d
an expert has 1 sizes; give its input's|s/^layers:.*/layers: [2]/
a size of layers is 0|s/^layers:.*/layers: [2, 0]/
unknown function 'relv'; the nearest is relu|s/^layers:.*/&\nactivation: relv/
has no axis 'eq'|s/^expert-axis:.*/expert-axis: eq/
'routing' is missing|/^routing/d
routing has 0 of draw, file and counts|s/^routing:.*/routing: {seed: 1}/
routing has 2 of draw, file and counts|s/^routing:.*/routing: {draw: even, file: a.csv}/
unknown draw 'zip'; the nearest is zipf|s/^routing:.*/routing: {draw: zip}/
'exponent:' is missing; give that of Zipf's law|s/^routing:.*/routing: {draw: zipf}/
exponent is -1; it must be from 0 to 16|s/^routing:.*/routing: {draw: zipf, exponent: -1}/
'share:' is missing; give what a device's own expert takes|s/^routing:.*/routing: {draw: hot}/
'weights' is missing|s/^routing:.*/routing: {draw: multinomial}/
2 weights for 8 experts; give one for each|s/^routing:.*/routing: {draw: multinomial, weights: [1, 2]}/
a weight must be 0 or more|s/^routing:.*/routing: {draw: multinomial, weights: [1, 1, 1, 1, 1, 1, 1, -1]}/
one of the weights must be above 0|s/^routing:.*/routing: {draw: multinomial, weights: [0, 0, 0, 0, 0, 0, 0, 0]}/
wrong.csv:4: column 'expert': must be a whole number from 0 to 7|s/routing.csv/wrong.csv/|4s/0,1,0,/0,1,8,/
wrong.csv:2: column 'device': must be a whole number from 0 to 1|s/routing.csv/wrong.csv/|2s/0,0,0,/2,0,0,/
wrong.csv:2: column 'gate': must be a number|s/routing.csv/wrong.csv/|2s/,0.5$/,/
token 0 of device 0 has more than its 2 experts|s/routing.csv/wrong.csv/|4s/0,1,0,/0,0,0,/
token 5 of device 1 has 1 experts; give each token 2|s/routing.csv/wrong.csv/|$d
token 1 of device 0 has expert 0 twice|s/routing.csv/wrong.csv/|5s/0,1,1,/0,1,0,/
column 'gate'|s/routing.csv/wrong.csv/|1s/gate/weight/
the counts of device 1 sum to 11; 6 tokens with 2 experts make 12|s/file: .*routing.csv/counts: counts.csv/
must be a whole number from 0 to 12|s/file: .*routing.csv/counts: more.csv/
END

# What a module says of its rows is read again; tables that do not fit are refused.
"$icisim" lower moe-example.yaml >step.hlo
time_of() {
    "$icisim" run "$@" --csv - | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time_s") at = i } NR == 2 { print $at }'
}
if [ "$(time_of moe-example.yaml)" != "$(time_of step.hlo --slice 2)" ]; then
    echo "the printed module takes another time than the workload"
    failed=1
fi
sed 's/what="tokens",rows="6,3,5,4"/what="tokens",rows="6,3,5"/' step.hlo >short.hlo
status=0
said=$("$icisim" run short.hlo --slice 2 2>&1) || status=$?
if [ "$status" != 2 ] || [[ "$said" != *'rows="..." must be 4 whole numbers, 2 for each of 2 devices'* ]]; then
    echo "rows that are too few: exit $status: $said"
    failed=1
fi
exit "$failed"
