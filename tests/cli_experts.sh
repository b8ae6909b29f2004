#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Workloads with experts: what is wrong with a file is said in one line, with its place; and what the commands say of them.
set -euo pipefail
icisim=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r workloads/experts workloads/moe-example.yaml workloads/moe-zipf.yaml "$scratch"
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
unknown exchange 'gathr'; the nearest is gather|s/^top-k: 2/&\nexchange: gathr/
exchange: gather is of one expert a token, forward only|s/^top-k: 2/&\nexchange: gather/
exchange: loop is of one expert a token, forward only|s/^top-k: 2/&\nexchange: loop/
'chunk-tokens:' is missing; give the rows that a device sends at once|s/^top-k: 2/top-k: 1\nexchange: loop\nbackward: false/
7 rows do not divide among 2 devices; the next number that does is 8|s/^top-k: 2/top-k: 1\nexchange: loop\nbackward: false\nchunk-tokens: 7/
chunks 0: write 1 to 256|s/^top-k: 2/&\nchunks: 0/
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
    "$icisim" run "$@" --csv - | python3 -c 'import csv, sys; print(next(csv.DictReader(sys.stdin))["time_s"])'
}
if [ "$(time_of moe-example.yaml)" != "$(time_of step.hlo --slice 2 --profile spec)" ]; then
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

# A check: what, and whether awk finds it so.
holds() {
    if ! awk "BEGIN { exit !($2) }"; then
        echo "$1: $2"
        failed=1
    fi
}

# Loads that are all alike: the ragged exchange of tokens takes what an all-to-all of as many bytes takes.
even() {
    sed -e 's/^routing:.*/routing: {draw: even}/' -e 's/^capacity-factor:.*/capacity-factor: 1/' "$@" moe-zipf.yaml >even.yaml
    "$icisim" run even.yaml --draws 1 --csv - | tail -1
}
IFS=, read -r _ ragged_s bytes dropped imbalance _ <<<"$(even)"
holds "bytes: 65536 tokens of 512 x 2 B" "$bytes == 65536 * 1024"
holds "nothing is dropped, all alike" "$dropped == 0 && $imbalance == 1"
plain_s=$(time_of all-to-all --chip v5e --slice 8x8 --size "${bytes}B")
holds "ragged and plain exchange" "$ragged_s - $plain_s < 1e-9 * $plain_s && $plain_s - $ragged_s < 1e-9 * $plain_s"

# Zipf's law on 64 chips: chip 0, where the first expert is, is hot; what comes to it comes over its two links.
said=$("$icisim" run moe-zipf.yaml)
hot=$(grep '^# hot:' <<<"$said")
[[ "$hot" == "# hot: chip 0 (0,0) gets "* ]] || { echo "who is hot: $hot"; failed=1; }
read -r rows in_bytes bound took <<<"$(sed -E 's/.* gets ([0-9]+) rows.* tokens ([0-9]+) B come .* takes ([0-9.]+) us; all are sent in ([0-9.]+) us.*/\1 \2 \3 \4/' <<<"$hot")"
holds "bytes into the hot chip: all but its own, 1024 B each" "$in_bytes < $rows * 1024 && $in_bytes > $rows * 1024 * 0.95"
holds "two links of 45 GB/s" "$bound * 90e3 > $in_bytes * 0.999 && $bound * 90e3 < $in_bytes * 1.001"
holds "no faster than its links" "$took >= $bound"
[[ "$said" == *"# ends last: chip 0 (0,0), with $rows rows"*"it is the hot chip"* ]] || { echo "who ends last is not told"; failed=1; }
[[ "$said" == *"# hottest link: from chip "* && "$said" == *"# imbalance: "* ]] || { echo "the report lacks a line"; failed=1; }
# what the imbalance costs is told against loads that are all alike
sed 's/^routing:.*/routing: {draw: even}/' moe-zipf.yaml >even.yaml
alike_s=$("$icisim" run even.yaml --csv - | python3 -c 'import csv, sys; print(next(csv.DictReader(sys.stdin))["time_s"])')
alike_us=$(sed -nE 's/^# imbalance: ([0-9.]+) us if all loads were alike.*/\1/p' <<<"$said")
holds "all loads alike" "$alike_us > 0 && $alike_us - $alike_s * 1e6 < 6e-4 && $alike_s * 1e6 - $alike_us < 6e-4"

# Numbers: what is sent, dropped, and what comes out, by hand (the course's rule of dropping; all exact in binary).
"$icisim" eval moe-example.yaml >said
for line in '# each of 8 experts takes 3 rows of a device' '[[6,3],[5,4]]' '{4,7,11}, {2,5,6}' '# equals what the file says of y'; do
    grep -qxF "$line" said || { echo "eval does not say $line: $(cat said)"; failed=1; }
done
sed -i '7s/27,7.5/27,7.25/;9s/27,7.5/27,7.25/' experts/outputs.csv
status=0
said=$("$icisim" eval moe-example.yaml 2>&1 >/dev/null) || status=$?
[[ "$status" = 1 && "$said" == *"y: element 17 is 7.5; the file says 7.25"* ]] || { echo "another y: exit $status: $said"; failed=1; }

# Draws: the same whoever makes them; the first is what the workload is; percentiles lie in order.
"$icisim" run moe-zipf.yaml --draws 5 --csv draws.csv >summary
"$icisim" run moe-zipf.yaml --draws 5 --csv - | cmp - draws.csv || failed=1
"$icisim" run moe-zipf.yaml --draws 5 --chunks 4 --csv - | cmp - draws.csv || failed=1
# 65,536 tokens are for 64 chips, 1024 for each
IFS=, read -r _ _ _ _ imbalance hot_chip < <(sed -n 2p draws.csv)
holds "the first draw is the workload" "$imbalance > $rows / 1024 * (1 - 1e-8) && $imbalance < $rows / 1024 * (1 + 1e-8) && $hot_chip == 0"
read -r mean low median high least most <<<"$(awk '$1 == "time" { print $3, $4, $5, $6, $7, $8 }' summary)"
holds "percentiles" "$least <= $low && $low <= $median && $median <= $high && $high <= $most && $least < $mean && $mean < $most"
median_of_rows=$(tail -n +2 draws.csv | cut -d, -f2 | sort -g | sed -n 3p)
holds "the median of five" "$median > $median_of_rows * 1e6 * 0.999 && $median < $median_of_rows * 1e6 * 1.001"
[ "$(tail -n +2 draws.csv | cut -d, -f2 | sort -u | wc -l)" = 5 ] || { echo "draws are alike"; failed=1; }

# Both engines agree, on draws of each kind.
for draw in 'draw: even' 'draw: uniform, seed: 7' 'draw: zipf, exponent: 0.7' 'draw: hot, share: 0.5' \
    'draw: multinomial, weights: [5, 1, 1, 3, 1, 1, 2, 0]'; do
    sed -e "s/^routing:.*/routing: {$draw}/" -e 's/^experts:.*/experts: 8/' -e 's/ep=64/dp=2,ep=4/' -e 's/8x8/2x4/' \
        -e 's/^tokens:.*/tokens: 40/' -e 's/^top-k:.*/top-k: 2/' moe-zipf.yaml >drawn.yaml
    "$icisim" run drawn.yaml --engine both --time-limit 1000s --check >/dev/null || { echo "$draw: engines differ"; failed=1; }
done

# Chunks: one is multiplied while another is on its way; both engines agree.
sed -e 's/^tokens:.*/tokens: 16384/' -e 's/8x8/2x2/' -e 's/ep=64/ep=4/' -e 's/^experts:.*/experts: 16/' -e 's/1.2/0.3/' \
    -e 's/^layers:.*/layers: [1024, 2048, 1024]/' moe-zipf.yaml >long.yaml
"$icisim" run long.yaml --chunks 1,4 --engine both --time-limit 1000s --check --csv - >chunks.csv || { echo "chunks: engines differ"; failed=1; }
column() { python3 -c 'import csv, sys; print(*[row[sys.argv[1]] for row in csv.DictReader(open("chunks.csv"))])' "$1"; }
read -r whole_s parts_s <<<"$(column time_s)"
read -r exposed_s fewer_s <<<"$(column exposed_comm_s)"
read -r all_bytes same_bytes <<<"$(column compute_s)"
holds "chunks take less time" "$parts_s < 0.8 * $whole_s && $fewer_s < 0.6 * $exposed_s"
holds "chunks multiply as many rows" "$same_bytes < 1.1 * $all_bytes && $same_bytes >= $all_bytes * (1 - 1e-9)"

# Layers of a transformer: the same numbers as on one device, where tokens go to the same experts there.
cat >layers.yaml <<'END'
model: transformer
layers: 2
d-model: 16
d-ff: 24
heads: 4
kv-heads: 2
head-dim: 4
sequence: 8
vocabulary: 40
moe: {experts: 8, top-k: 2, capacity-factor: 1, capacity-by: receiver, products: ragged, expert-d-ff: 12, every: 2, routing: {draw: even}}
batch: 8
dtype: f32
mesh: {fsdp: 2, ep: 4}
slice: 2x4
chip: v5e
head: false
kernel: flash
END
equals="# equals one device's: y to 1e-06, gradients to 1e-05"
said=$("$icisim" eval layers.yaml --chunks 2)
[[ "$said" == *"$equals" ]] || { echo "layers: $said"; failed=1; }

# With as many tokens a chip one device has those of all chips. With more than 1.5 tokens a word, and dp beside other axes, rows of the
# embedding are added to a whole table, 40 words of 16 f32 each, which all devices sum; else only dp sums a chip's part of it.
sed -e '/^moe/d; /^mesh/d; s/^batch: 8/tokens-per-chip: 8/; s/^head: false/head: true/; s/2x4/2x2x2/; s/v5e/v5p/' layers.yaml >tokens.yaml
sed 's/vocabulary: 40/vocabulary: 48/' tokens.yaml >words.yaml
for case in 'dp=2,fsdp=2,tp=2 2560' 'dp=2,fsdp=4 2560' 'dp=4,tp=2 2560' 'fsdp=4,tp=2 0' 'dp=8 2560' 'dp=2,fsdp=4 768 words'; do
    read -r mesh bytes file <<<"$case"
    said=$("$icisim" eval "${file:-tokens}.yaml" --mesh "$mesh" --allow-split-physical-axes)
    [[ "$said" == *"loss to 1e-06, gradients to 1e-05" ]] || { echo "tokens a chip on $mesh: $said"; failed=1; }
    got=$("$icisim" lower "${file:-tokens}.yaml" --mesh "$mesh" --allow-split-physical-axes |
        sed -n 's/^ *%all-reduce.* = f32\[\([0-9]*\),\([0-9]*\)\] all-reduce(.*what="embed".*/4 * \1 * \2/p')
    [ "$((got))" = "$bytes" ] || { echo "sum of the embedding on $mesh: $got, not $bytes B"; failed=1; }
done

# Drawn, each layer has a routing of its own: some rows are dropped, on one device the same.
sed -i 's/draw: even/draw: zipf, exponent: 1/; s/layers: 2/layers: 3/; s/, every: 2//; s/factor: 1/factor: 0.5/' layers.yaml
said=$("$icisim" eval layers.yaml --chunks 2)
[[ "$said" == *"$equals" ]] || { echo "drawn layers: $said"; failed=1; }
said=$("$icisim" run layers.yaml --engine both --time-limit 1000s)
[[ "$said" == *"# experts: 8 on each 4 devices; top-2 of 8 tokens a device; each takes 4 rows of a sender; dropped "* &&
    "$said" == *" of 384 rows, "*"; 3 layers, each with a routing of its own"* ]] || { echo "drawn layers: $said"; failed=1; }
said=$("$icisim" eval layers.yaml --tokens-per-chip 8)
[[ "$said" == *"$equals" ]] || { echo "tokens of a chip: $said"; failed=1; }

# Layers from files, one each: the second has all its tokens on two experts.
for layer in 1 2 3; do
    echo device,token,expert,gate
    for ((i = 0; i < 128; i++)); do
        echo "$((i / 16)),$((i / 2 % 8)),$((layer == 2 ? i % 2 : i % 8)),0.5"
    done
done | csplit -s -z -f layer - '/^device/' '{*}'
mv layer00 layer1.csv && mv layer01 layer2.csv && mv layer02 layer3.csv
sed 's/draw: zipf, exponent: 1/file: "layer{}.csv"/; s/factor: 0.5/factor: 4/' layers.yaml >files.yaml
said=$("$icisim" run files.yaml --engine both --time-limit 1000s)
[[ "$said" == *"dropped 0 of 384 rows"*" in layer 2, 4.000 of the mean"* ]] || { echo "layers from files: $said"; failed=1; }
said=$("$icisim" eval files.yaml)
[[ "$said" == *"$equals" ]] || { echo "layers from files: $said"; failed=1; }

# None of many layers stands for others where they differ; where they are even, some do.
sed 's/layers: 3/layers: 40/' layers.yaml >many.yaml
sed 's/draw: zipf, exponent: 1/draw: even/' many.yaml >alike.yaml
for file in many alike; do
    [ "$(time_of $file.yaml)" = "$(time_of $file.yaml --unroll)" ] || { echo "$file layers: --unroll takes another time"; failed=1; }
done
said=$("$icisim" run many.yaml)
[[ "$said" == *"1 to 40, mean"*", least"*", most"*"40 to 1, mean"*", least"* && "$said" =~ rest\ +0.000\ +0.0 ]] || { echo "many layers: $said"; failed=1; }

# Every token is for an expert on its own chip, in two groups of eight: rows cross no link.
{
    echo device,expert,count
    for device in {0..15}; do echo "$device,$((2 * (device % 8))),1024"; done
} >own.csv
sed -e 's/^routing:.*/routing: {counts: own.csv}/' -e 's/^experts: .*/experts: 16/' -e '/^slice:/d' -e '/^mesh:/d' moe-zipf.yaml >own.yaml
"$icisim" run own.yaml --slice 4x4 --mesh dp=2,ep=8 --allow-split-physical-axes --engine event --instructions own-rows.csv >/dev/null
said=$(awk -F, '$2 == "ragged-all-to-all" { print $8 }' own-rows.csv | sort | uniq -c | xargs)
[ "$said" = '7 0' ] || { echo "own experts: exposed $said"; failed=1; }

# What draws are not for.
refuse() {
    local says=$1 said status=0
    shift
    said=$("$icisim" "$@" 2>&1) || status=$?
    [[ "$status" = 2 && "$said" == *"$says"* ]] || { echo "$*: exit $status, must say $says: $said"; failed=1; }
}
refuse 'its routing stands in a file' run moe-example.yaml --draws 3
sed 's/file: .*routing.csv/counts: counts.csv/' moe-example.yaml >counted.yaml
sed -i 's/1,7,5/1,7,6/' counts.csv
refuse 'counts do not say which tokens go to which expert' eval counted.yaml
refuse '--draws takes one point; these are 2' run moe-zipf.yaml --draws 3 --hop-latency 1us,2us
for look in '--trace t.json' --steps '--links l.csv' --collectives --critical-path --dump-program '--engine simgrid' --check '--top 2'; do
    refuse 'does not apply together with --draws' run moe-zipf.yaml --draws 3 $look
done
refuse '--draws does not apply' run all-gather --size 1MiB --slice 4x4 --draws 3
exit "$failed"
