#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Training steps as measured ones are run: what is told of them. Weak scaling of FSDP is flat; the parts of a step are the step.
set -u
. tests/support/begin.sh

# 3 x 8192 tokens a chip of v6e on 8 to 256 chips: within 3 % of one another, and gathers are hidden.
. tests/support/sanitized.sh
places=("8 2x4" "256 16x16" "16 4x4" "32 4x8" "64 8x8" "128 8x16")
if sanitized "$program"; then places=("${places[@]:0:3}"); fi # the others do not fold, and take a minute there
least=1e9 most=0
for place in "${places[@]}"; do
    read -r chips slice <<<"$place"
    out=$("$program" run workloads/steps/v6e-llama-8b.yaml --mesh "fsdp=$chips" --slice "$slice" 2>/dev/null)
    time=$(awk 'END { print $1 }' <<<"$out")
    least=$(awk -v a="$least" -v b="$time" 'BEGIN { print (b < a ? b : a) }')
    most=$(awk -v a="$most" -v b="$time" 'BEGIN { print (b > a ? b : a) }')
    awk '$1 == "all-gather" && $2 == "fsdp" && $8 == "products" && $6 / $5 > 0.95 { found = 1 } END { exit !found }' \
        <<<"$out" || fail "$chips chips: gathers are not hidden behind products: $out"
done
awk -v least="$least" -v most="$most" 'BEGIN { exit !(most > 3 && most < 1.03 * least) }' ||
    fail "steps take $least to $most s"

# Parts add up to the step; each product is the model's, or done besides, or slower than the peak.
for workload in v5p-32b v3-gptj-6b v4-22b; do
    csv=$("$program" run "workloads/steps/$workload.yaml" --csv - 2>/dev/null) || fail "$workload does not run"
    time=$(python3 -c '
import csv, sys
row = next(csv.DictReader(sys.stdin))
parts = {k: float(v) for k, v in (part.rsplit("=", 1) for part in row["spent"].split())}
time, mfu = float(row["time_s"]), float(row["mfu_frac"])
good = abs(sum(parts.values()) / time - 1) < 1e-3 and abs(parts["model"] / time / mfu - 1) < 1e-5
good &= all(seconds > -1e-6 for seconds in parts.values()) and parts["below_peak"] > 0 and parts["others"] > 0
print("good" if good else (row["spent"], time, mfu))' <<<"$csv")
    [ "$time" = good ] || fail "$workload: $time"
done

# Half of the peak for products is as much below the peak as they take at it.
spent() {
    "$program" run workloads/steps/v5e-32b.yaml --matmul-efficiency "$1" --launch-overhead 0s --csv - 2>/dev/null |
        grep -o 'model=[^ ]* beyond=[^ ]* below_peak=[^ ]*'
}
[[ $(spent 1) == *below_peak=0 ]] || fail "products at the peak: $(spent 1)"
spent 0.5 | tr '=' ' ' | awk '{ off = ($2 + $4) / $6 - 1 } END { exit !(off < 1e-4 && off > -1e-4) }' ||
    fail "products at half of it: $(spent 0.5)"

# What is element by element runs with what reads it unless it is asked not to; where it takes no time, that changes nothing.
part() { # of the step: its name, then options
    local name=$1
    shift
    "$program" run workloads/steps/v5p-32b.yaml --csv - "$@" 2>/dev/null | grep -o " $name=[^ \"]*" | cut -d= -f2
}
fused=$(part others) apart=$(part others --fuse off) none=$(part others --elementwise off)
awk -v a="$fused" -v b="$apart" -v c="$none" 'BEGIN { exit !(c == 0 && a > 0.1 && b > 2 * a) }' ||
    fail "others take $fused s, $apart with --fuse off, $none with --elementwise off"

# On a chip on which hidden collectives delay nothing, contention is what computes lose as HBM is shared, of which products alone lose nothing here. What
# the delay adds is the same with and without the others.
calm=$(mktemp --suffix .yaml)
sed '/^  contention:/,/fitted_on:/d' topologies/v5p.yaml >"$calm"
awk -v all="$(part contention)" -v shared="$(part contention --chip "$calm")" -v products="$(part contention --elementwise off)" \
    -v none="$(part contention --chip "$calm" --elementwise off)" \
    'BEGIN { off = (all - shared) / products - 1; exit !(none == 0 && shared > 0 && products > 0.01 && off * off < 1e-8) }' ||
    fail "contention of v5p-32b"
rm "$calm"
[ "$("$program" lower workloads/by-hand/llama-8b.yaml --layers 1)" = "$("$program" lower workloads/by-hand/llama-8b.yaml --layers 1 --fuse off)" ] ||
    fail "--fuse changes a step in which only products take time"

# Why is time exposed? What the sentences tell is what is exposed, and nothing is hidden that was not there. C3 of a transformer with
# its TP in loops (the bounds are tests/transformer_run.sh's), a step whose gathers wait for weights, experts.
why() { # name, then a command
    local name=$1
    shift
    "$program" "$@" >"$out_file" 2>/dev/null || { fail "$name does not run"; return; }
    python3 - "$out_file" <<'PY' || fail "$name: why time is exposed"
import re, sys
lines = open(sys.argv[1]).read().splitlines()
unit = {"s": 1e6, "ms": 1e3, "us": 1, "ns": 1e-3}
us = lambda number, name: float(number) * unit[name]
first = next(i for i, line in enumerate(lines) if line.startswith("# by collective and mesh axes")) + 3
told, all_us, kinds, rows, unit_us = 0, 0, {}, [], 1e6 if "(s)" in lines[first - 1] else 1
for line in lines[first:]:
    if line.startswith("# exposed over"):
        found = re.fullmatch(r"# exposed over (\S+): ([\d.e+]+) (s|ms|us|ns), (\d+) (\S+?)s? of ([\d.e+]+) (s|ms|us|ns): (.*)", line)
        exposed, each = us(found[2], found[3]), us(found[6], found[7])
        assert 0 < exposed <= int(found[4]) * each * 1.001, line
        told += exposed
        kinds[found[5], found[1]] = kinds.get((found[5], found[1]), 0) + exposed
        beside = re.search(r"computes for ([\d.e+]+) (s|ms|us|ns) only", line)
        if beside:  # what is neither computed beside nor exposed was waited for by another one under way
            assert us(beside[1], beside[2]) + exposed / int(found[4]) <= each * 1.001, line
    elif line.startswith("#"):
        break
    else:
        word = line.split()
        taken, hidden, exposed = (unit_us * float(number) for number in word[4:7])
        assert hidden >= -1e-3 and exposed >= 0 and abs(hidden + exposed - taken) <= (2 if unit_us > 1 else 2e-3), line
        all_us += exposed
        rows.append((word[0], word[1], exposed))
assert abs(told - all_us) <= 0.01 * all_us, (told, all_us)
for opcode, axes, exposed in rows:
    assert abs(kinds.get((opcode, axes), 0) - exposed) <= 0.01 * all_us, (opcode, axes, exposed, kinds)
PY
}
out_file=$(mktemp)
trap 'rm -f "$out_file"' EXIT
c3=(run workloads/by-hand/llama-70b.yaml --chip v5p --slice 8x8x8 --mesh "fsdp=x*y,tp=z" --tokens-per-chip 2048 --ring bidi --remat none --prefetch 1)
why C3 "${c3[@]}" --strategy bidi
for words in 'collective-permutes of .* computes for .* only while' 'all-gathers of .*: the chip computes nothing while .*, as between dot[.0-9]* and\|fusion' \
    'reduce-scatter of .*: nothing is left to compute'; do
    grep -q "# exposed over tp: .*$words" "$out_file" || fail "C3 does not say: $words"
done
why "C3, naive" "${c3[@]}"
why "a network" run workloads/net-fsdp-a.yaml
why "C1" run workloads/by-hand/llama-70b.yaml --chip v5p --slice 4x4x4 --mesh fsdp=64 --tokens-per-chip 4096 --prefetch 1
grep -q '# exposed over fsdp: .*all-gathers of .*: nothing has been computed before' "$out_file" || fail "C1 does not say that its first gathers have nothing before them"
# Chips end their collectives one after the other here: the embedding's rows wait for a reduce-scatter.
why "chips that differ" run workloads/llama-70b.yaml --chip v5p --slice 8x8x8 --layers 2 --tokens-per-chip 4096 \
    --mesh 'dp=x:2*y:2*z:2,fsdp=x:4*y:4*z:4,tp=1' --remat full --prefetch 1
# Data may come from neighbours after the chip's own has gone, and the operand from a chain of permutes.
why "loops one way" run workloads/by-hand/llama-8b.yaml --layers 3 --chip v6e --slice 2x4 --mesh dp=2,tp=4 --tokens-per-chip 8192 --strategy uni
why "two devices a chip" run workloads/llama-8b.yaml --layers 3 --chip v7x --slice 2x2x4 --mesh dp=2,fsdp=8 --tokens-per-chip 4096 --remat full
# Permutes of loops, as libtpu 0.0.52 compiles them for v5e: asynchronous on 16 chips, not on 32; on 64 there are none. What it would
# scatter over all of 8x8 it all-reduces, but not over 8x16.
loops() { # SLICE CHIPS AWK: of the table by collective, a condition that some row meets
    "$program" run workloads/llama-8b.yaml --layers 2 --chip v5e --slice "$1" --mesh "fsdp=$2" 2>/dev/null |
        awk "\$2 == \"fsdp\" && NF > 7 && ($3) { found = 1 } END { exit !found }" || fail "v5e $1: no row of $3"
}
loops 4x4 16 '$1 == "collective-permute" && $6 > 0.5 * $5'
loops 4x8 32 '$1 == "collective-permute" && $6 == 0 && $7 == $5'
loops 8x8 64 '$1 == "all-reduce" && $3 == 11 && $4 > 1e8'
loops 8x16 128 '$1 == "reduce-scatter" && $3 > 14'
# XLA gathers beside products on v5e only: in four texts of full or products' recomputation whose gathers are not all beside tp it hides 54
# to 84 % of their time. What is gathered first in a layer and phase is waited for.
gathers() { # CONDITION on the share that is hidden, ARGUMENTS
    "$program" run workloads/llama-8b.yaml --layers 2 --mesh fsdp=64 "${@:2}" 2>/dev/null |
        awk "\$1 == \"all-gather\" && \$2 == \"fsdp\" && NF > 7 { hidden = \$6 / \$5; found = ($1) } END { exit !found }" ||
        fail "gathers of ${*:2}: not $1"
}
gathers 'hidden > 0.54 && hidden < 0.84' --chip v5e --slice 8x8
for case in '--chip v5e --slice 8x8 --async permutes' '--chip v5e --slice 8x8 --strategy naive' '--chip v5p --slice 4x4x4'; do
    # shellcheck disable=SC2086
    gathers 'hidden == 0' $case
done
# Each starts when the one before is waited for.
"$program" lower workloads/llama-8b.yaml --layers 2 --chip v5e --slice 8x8 --mesh fsdp=64 | awk '
    match($0, /layer="[0-9]*",phase="[a-z]*"/) && / all-gather-(start|done)\(/ {
        order[substr($0, RSTART, RLENGTH)] = order[substr($0, RSTART, RLENGTH)] (/-start\(/ ? "S" : "D")
    }
    END { for (part in order) if (order[part] ~ /^S(SD)+D$/ && length(order[part]) > 12) good++; exit good != 4 }' ||
    fail "gathers of v5e do not start one by one"
# Steps of loops add to what lies in VMEM, 96 MiB of v6e, if three of these fit: beside q, k, v and the product with wo, of 4096 x 2048, only two
# chunks of weights, of 128 x 2048, come from HBM. Of 4096 x 8192, 67,108,864 B, one fits: half of it is written, and of what is added to as much read.
# A step takes 256 x 8192 of weights, 4,194,304 B; of two steps one adds.
cat >"$scratch/narrow.yaml" <<'END'
model: transformer
layers: 1
d-model: 2048
d-ff: 8192
heads: 16
kv-heads: 16
head-dim: 128
sequence: 2048
vocabulary: 32000
gated: false
kernel: plain
tokens-per-chip: 4096
remat: none
END
"$program" lower "$scratch/narrow.yaml" --chip v6e --slice 4x4 --mesh fsdp=16 >"$out_file"
piece() { # RESULT STEP TIMES HBM_BYTES PASSES: of fusions in the forward pass
    local found
    found=$(grep "= bf16\[$1\] fusion(.*phase=\"fwd\",what=\"activations\".*step=\"$2\"" "$out_file" | grep "hbm_bytes=\"$4\"" |
        grep -c "results=\"$5\"") || true
    [ "$found" = "$3" ] || fail "step $2 of $1: $found pieces of $4 B, not $3"
}
piece 4096,2048 3 4 1048576 0
piece 4096,8192 0 1 37748736 0.5
piece 4096,8192 1 1 71303168 1
piece 4096,8192 2 1 71303168 0.5
# Beside tp weights are gathered in loops, of 5 permutes over 4 devices, only before products that contract the gathered dim, not again.
# q and k are cut into heads behind the rotary embedding: their weights are gathered whole. In the text of this step,
# hlo/tpu/pairs/ft-seq-v5e-4x4, sums of activations over tp are loops after the product with wd (14336 columns) and those that give the
# cotangent of its input (two a layer), not after wo (4096): XLA's rule says from 197 Tflops / 45 GBps = 4378 on. The embedding's
# rows are exchanged over the wrong axis, which is as long, and swapped by a permute.
collectives() { # ARGUMENTS: what is issued, "PHASE COLLECTIVE AXES WHAT COUNT" by line; "again" stands behind the phase
    "$program" run "$@" --remat full --collectives 2>/dev/null |
        awk '$1 ~ /^(fwd|bwd)$/ && $2 ~ /-/ { again = $3 == "(again)"; print $1 (again ? "again" : ""), $2, $(3 + again), $(5 + again), $(6 + again) }'
}
issued() { # CASE, then lines that must be there
    for line in "${@:2}"; do
        grep -qx "$line" "$out_file" || fail "$1: no '$line' among: $(tr '\n' ';' <"$out_file")"
    done
}
collectives workloads/llama-8b.yaml --layers 2 --chip v5e --slice 4x4 --mesh fsdp=4,tp=4 >"$out_file"
issued "gathers beside tp" "fwd collective-permute - w[vgu] 10" "fwd all-gather fsdp w[qkod] 2" "bwdagain all-gather fsdp w[qkvo] 4" \
    "bwdagain all-gather fsdp w[gud] 2" "fwd all-gather tp activations 8" "fwd all-to-all tp activations 4" \
    "fwd collective-permute - activations 10" "fwd reduce-scatter tp activations 2" "bwdagain reduce-scatter tp activations 2" \
    "bwd collective-permute - activations 20" "bwd reduce-scatter tp activations 2" "fwd all-gather tp logits 1" \
    "bwd collective-permute - logits 5" "fwd collective-permute - embedding 1" "bwd all-gather fsdp embedding [12]" \
    "bwd all-to-all tp embedding 1"
[ "$(grep -c "^fwd collective-permute - w" "$out_file")" = 3 ] || fail "loops of weights: $(cat "$out_file")"
grep -q "again collective-permute" "$out_file" && fail "weights are gathered again in loops"
# As libtpu 0.0.52 compiles them: 8192 columns are more than 4378 (v5e, where q's part of the cotangent is a loop, too), and less than
# 918 Tflops / 90 GBps = 10200 (v6e); between two devices there are no loops, nor between four that lie two by two. With more tokens
# than words (131072 of 128256) tp gathers the table and sums it over all devices.
collectives workloads/llama-70b.yaml --layers 2 --chip v5e --slice 2x4 --mesh tp=8 --tokens-per-chip 512 >"$out_file"
issued "8192 columns on v5e" "fwd collective-permute - activations 36" "bwdagain collective-permute - activations 18" \
    "bwd collective-permute - activations 54" "bwd reduce-scatter tp activations 2" "bwd all-gather tp embedding 1"
collectives workloads/llama-70b.yaml --layers 2 --chip v6e --slice 4x4 --mesh dp=4,tp=4 --tokens-per-chip 8192 >"$out_file"
issued "8192 columns on v6e" "fwd collective-permute - activations 10" "fwd reduce-scatter tp activations 2" \
    "fwd all-gather tp embedding 1" "bwd all-reduce dp,tp embed 1"
for case in "v5p 2x2x4 fsdp=8,tp=2" "v5p 2x2x4 fsdp=4,tp=4"; do
    read -r chip slice mesh <<<"$case"
    collectives workloads/llama-8b.yaml --layers 2 --chip "$chip" --slice "$slice" --mesh "$mesh" --tokens-per-chip 4096 >"$out_file"
    issued "$case" "fwd reduce-scatter tp activations 4"
    grep -q "permute - activations" "$out_file" && fail "$case: $(cat "$out_file")"
done
# Steps as libtpu 0.0.52 compiles them, whose texts take so long here (s), and the chip waits so long for collectives: over four devices
# that lie two by two weights are gathered, and their gradients scattered, at once (22 layers on v5p 2x2x1); else in loops, which hide a
# part of them until memory is nearly full: then the backward pass waits (29 and 30 layers on v5e 2x4 take 92.7 and 95.7 % of it).
compiled() { # time_s exposed_s layers d-model d-ff heads tokens chip slice mesh
    printf '%s\n' 'model: transformer' "layers: $3" "d-model: $4" "d-ff: $5" "heads: $6" 'kv-heads: 8' 'head-dim: 128' "sequence: $7" \
        'vocabulary: 32000' 'gated: true' 'attention: causal' 'kernel: plain' "tokens-per-chip: $7" \
        'remat: full' 'dtypes: {params: f32, gradients: f32, state: f32}' >"$scratch/compiled.yaml"
    "$program" run "$scratch/compiled.yaml" --chip "$8" --slice "$9" --mesh "${10}" --csv "$scratch/compiled.csv" >/dev/null 2>&1
    python3 - "$scratch/compiled.csv" "$1" "$2" <<'PY' || fail "compiled: $*"
import csv, sys
row = next(csv.DictReader(open(sys.argv[1], encoding="utf-8")))
time_s, exposed_s = float(sys.argv[2]), float(sys.argv[3])
off = float(row["time_s"]) / time_s - 1, float(row["exposed_comm_s"]) / exposed_s - 1
sys.exit(f"{row['time_s']} s, of which {row['exposed_comm_s']}: {off}" if max(map(abs, off)) > 0.06 else 0)
PY
}
compiled 1.5614 0.5281 22 8192 28672 64 2048 v5p 2x2x1 fsdp=4
compiled 1.2057 0.6817 29 4096 14336 32 1024 v5e 2x4 fsdp=8
compiled 1.4432 0.9288 30 4096 14336 32 1024 v5e 2x4 fsdp=8
# dp lies two by two, and not tp, of whose 16 devices 8 cut the 8 key-value heads: the step is as XLA's, whichever comes first.
for mesh in tp=x:4*y:2*z:2,dp=y:2*z:2 dp=y:2*z:2,tp=x:4*y:2*z:2; do
    "$program" run workloads/llama-8b.yaml --layers 2 --chip v5p --slice 4x4x4 --mesh "$mesh" --tokens-per-chip 512 2>/dev/null |
        grep -q ', strategy xla,' || fail "$mesh is not laid out as XLA does"
done
# Sums of gradients of a layer are combined up to 120 MiB: gate, up and down have 117,440,512 B each; k and v, 8,388,608 B each, fill two
# of these, norms of 8,192 B each go with the third, q and o, 33,554,432 B each, are left. Ahead of time they stay hidden.
"$program" run workloads/llama-8b.yaml --layers 2 --chip v5e --slice 4x4 --mesh dp=16 2>/dev/null | awk '
    $1 == "all-reduce" && /dp.=16/ { each[$(NF - 4)] += $(NF - 3) }
    END { exit !(each[125829120] == 4 && each[117456896] == 2 && each[67108864] == 2 && each[8192] == 1 && length(each) == 7) }' ||
    fail "sums of gradients of dp=16: $("$program" run workloads/llama-8b.yaml --layers 2 --chip v5e --slice 4x4 --mesh dp=16 | grep all-reduce)"
"$program" run workloads/steps/v3-gptj-6b.yaml | awk '$1 == "all-reduce" && $2 == "dp" { exit !($3 == 39 && $7 < 0.01 * $5) }' ||
    fail "sums of gradients ahead: $("$program" run workloads/steps/v3-gptj-6b.yaml | grep 'all-reduce  dp')"
# On 16 chips each gradient is scattered in a loop, that of the head, too. A step of that multiplies 512 of 4096 columns of its input with the
# cotangent of the logits: 2 B x 4096 x 512, 2 B x 4096 x 128,256 and 2 B x 512 x 128,256 of HBM, the last twice once it is added to.
looped=(workloads/llama-8b.yaml --layers 2 --tokens-per-chip 4096 --chip v5e --slice 4x4 --mesh fsdp=16)
"$program" run "${looped[@]}" | grep -q '^   reduce-scatter' && fail "a gradient on 16 chips is not scattered in a loop"
"$program" lower "${looped[@]}" | grep -o 'fusion(.*what="unembed",.*step=' | awk -F '"' '
    { least = NR > 1 ? 1317535744 : 1186201600; good += NF == 9 && $6 >= least && $6 < 1.0001 * least }
    END { exit !(NR == 8 && good == 8) }' ||
    fail "the head's gradient: $("$program" lower "${looped[@]}" | grep -o 'what="unembed",hbm.*')"
# Sums over the same axes have one row, whichever order tokens are sharded in: here dp before fsdp, against that of the mesh.
sums=$("$program" run workloads/llama-8b.yaml --layers 2 --chip v5e --slice 4x4 --mesh fsdp=4,dp=4 |
    awk '$1 == "all-reduce" && $2 ~ /^[a-z,]+$/ { print $2 }' | sort | paste -sd' ')
[ "$sums" = "dp fsdp,dp" ] || fail "sums of fsdp=4,dp=4 are over $sums"
# 2_async_pair.hlo, by its first lines: of 128.829 us 85.899 are hidden, 42.930 are not
"$program" run tests/golden/hlo/2_async_pair.hlo --chip tests/golden/hlo/round.yaml --wrap all --slice 4 --ring bidi-half >"$out_file"
grep -q '# exposed over .*: 42.93 us, 1 all-gather of 128.8 us: the chip computes for 85.9 us only while one is under way' "$out_file" ||
    fail "2_async_pair: $(grep '# exposed' "$out_file")"
exit $failed
