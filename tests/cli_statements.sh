#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# model: statements: the course's network in a user's own words, whose loss is known; what else can be said; refusals with
# file, line and column.
set -euo pipefail
icisim=$(realpath "$1")
network=$(realpath workloads/network)
fail() {
    echo "cli_statements: $*"
    exit 1
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# The network of net-*.yaml: inputs, weights and biases cut as the four arguments say, sums of products as the fifth.
network() {
    cat >net.yaml <<END
model: statements
dims: {B: 16, D: 32, F: 128, G: 256, H: 4}
statements:
  - h1[B${5:-$1},F${6:-}] = relu(x[B$1,D$2] . w1[D$3,F$4] + b1[F$7])
  - h2[B${5:-$1},G${6:-}] = relu(h1 . w2[F$3,G$4] + b2[G$7])
  - h3[B${5:-$1},F${6:-}] = relu(h2 . w3[G$3,F$4] + b3[F$7])
  - y[B${5:-$1},H${6:-}] = relu(h3 . w4[F$3,H$4] + b4[H$7])
  - loss = sum(square(y - t[B${5:-$1},H${6:-}])) / 16
trained: [w1, b1, w2, b2, w3, b3, w4, b4]
data:
  x: $network/inputs.csv
  t: $network/targets.csv
  w: $network/layer{}_w.csv
  b: $network/layer{}_b.csv
dtype: f32
chip: v5e
mesh: "dp=4,tp=2"
END
}

# the loss is worked out in tests/test_network.c; gradients are held against one device's by eval
check() {
    local said name=$1
    shift
    said=$("$icisim" eval net.yaml "$@") || fail "$name $*: $said"
    grep -q '^ *loss *() *4\.0431547[0-9]* ' <<<"$said" || fail "$name $*: $said"
    [ "$(grep -c '<1e-12' <<<"$said")" = 9 ] || fail "$name $*: $said"
}
for options in '' '--strategy bidi' '--prefetch 1' '--remat full'; do
    network '@(dp,tp)' '' '' '' '' '' ''
    check dp $options
    network '@(dp,tp)' '' '@(dp,tp)' '' '' '' '@tp'
    check fsdp-a $options
    network '@(dp,tp)' '' '@dp' '@tp' '' '' '@tp'
    check fsdp-b $options
    network '' '@tp' '@tp' '' '' '@tp' '@tp'
    check tp $options
    network '@dp' '@tp' '@(tp,dp)' '' '@dp' '@tp' '@tp'
    check fsdp-tp $options
done
# the same weights are gathered and scattered as by model: mlp: 70,144 of f32 over dp from tp's half
said=$("$icisim" run net.yaml --collectives)
grep -q 'fwd *all-gather *dp *4 .* 35072 *140288' <<<"$("$icisim" run net.yaml --collectives | awk '
    $1 == "fwd" && $2 == "all-gather" && $3 == "dp" { n += $6; i += $7; o += $8 }
    END { print "fwd all-gather dp 4 w " n, i, o }')" || fail "weights of fsdp-tp: $said"
grep -q 'bwd *reduce-scatter *dp *4 .* 140288 *35072' <<<"$("$icisim" run net.yaml --collectives | awk '
    $1 == "bwd" && $2 == "reduce-scatter" && $3 == "dp" { n += $6; i += $7; o += $8 }
    END { print "bwd reduce-scatter dp 4 w " n, i, o }')" || fail "gradients of fsdp-tp: $said"

# a step in other words: file with these statements
said() {
    {
        printf 'model: statements\ndtype: f32\nchip: v5e\nmesh: "dp=4,tp=2"\nstatements:\n'
        printf -- '  - %s\n' "$@"
    } >own.yaml
    "$icisim" eval own.yaml
}
said 'y = x[16@dp,32] . w[32,8@tp]' 'z = mean(gelu(y) * silu(y) - 0.5 * y)' >out 2>&1 && fail 'a number first'
said 'y = x[16@dp,32] . w[32,8@tp]' 'z = mean(gelu(y) * silu(y) - y * 0.5 + tanh(y) / 3)' | grep -q '^   z ' || fail 'functions'
said 'h = x[16@dp,8@tp] . a[8@tp,32] . c[32,8@tp]' >out 2>&1 && fail 'partial sums without an output'
grep -q 'ambiguous how the output should be sharded' out || fail "partial sums: $(<out)"
said 'h[16@dp,32] = x[16@dp,8@tp] . a[8@tp,32]' 'h = h + bias[32@tp]' 'y[16@dp,8@tp] = (h . c[32,8@tp])' >out || fail "twice h: $(<out)"
grep -q '^ *dbias ' out || fail 'gradients of all inputs but the first'
grep -q '^ *dx ' out && fail 'a gradient of the first input'
# gates and what they gate: two weights of a layer are gathered as one, with the same numbers
gated='y = silu(x[16@dp,32] . w[32@dp,8]) * (x . v[32@dp,8])'
said "$gated" >out || fail "gated: $(<out)"
"$icisim" eval own.yaml --combine on | cmp - out || fail 'combined gathers are other numbers'
"$icisim" eval own.yaml --combine on --prefetch 1 | cmp - out || fail 'combined gathers, ahead, are other numbers'
[ "$("$icisim" lower own.yaml --combine on | grep -c ' all-gather(.*what="several"')" = 1 ] || fail 'two gathers are not one'
[ "$("$icisim" lower own.yaml --combine on --prefetch 1 | grep -c ' all-gather-start(')" = 1 ] || fail 'two gathers ahead are not one'
# all gathers of a layer over the same axes are one, whatever their dims and how many a weight takes, each with its own numbers;
# weights that go through the axes in opposite orders must not wait for each other
layer='y[16@dp,8] = silu(x[16@dp,32] . w[32@dp,8]) * (x . v[32,8@dp])'
while IFS='|' read -r before after more; do
    said "$layer$more" >out || fail "$more: $(<out)"
    [ "$("$icisim" lower own.yaml | grep -c ' all-gather(')" = "$before" ] || fail "$more: not $before gathers"
    for options in '' '--prefetch 1' '--remat full'; do
        # shellcheck disable=SC2086
        "$icisim" eval own.yaml --combine on $options | cmp - out || fail "$more, $options: combined gathers are other numbers"
    done
    [ "$("$icisim" lower own.yaml --combine on | grep -c ' all-gather(')" = "$after" ] || fail "$more: not $after gathers"
done <<'END'
2|1|
3|1|+ b[8@dp]
4|2|* (x . u[32@tp,8@dp])
6|4|* (x . u[32@tp,8@dp]) * (x . s[32@dp,8@tp])
END
said 'y[16@tp,8@dp] = x[16@dp,8@tp]' >out || fail "a reshard: $(<out)"

# results that do not equal one device's: 1e17 + 1 is 1e17, so that sums of halves are 0 where one device gets 1
printf '1e17,1,-1e17,1\n1e17,1,-1e17,1\n' >x.csv
printf '1,1\n1,1\n1,1\n1,1\n' >w.csv
printf 'model: statements\ndtype: f32\nslice: 1x2\nmesh: tp=2\ndata: {x: x.csv, w: w.csv}\nstatements:\n' >sums.yaml
printf '  - y[2,2] = x[2,4@tp] . w[4@tp,2]\n' >>sums.yaml
status=0
"$icisim" eval sums.yaml >out 2>err || status=$?
[ $status -eq 1 ] || fail "another sum: exit $status, not 1"
grep -qF "y differs from one device's by 1.0e+00 of its largest number" err || fail "another sum: $(<err)"
grep -q '^# equals' out && fail 'another sum: said to equal'

# refusals: one line with file, line, column and the cure
refuse() {
    local want=$1 got
    shift
    got=$(said "$@" 2>&1) && fail "'$*' is not refused"
    [ "$(wc -l <<<"$got")" = 1 ] && grep -qF -- "$want" <<<"$got" || fail "'$*': says '$got', not '$want'"
}
refuse 'own.yaml:6:5: statement ' 'y = x[16@dp,30] . w[32,8]'
refuse 'contracted with the first of the right one, and they must agree' 'y = x[16@dp,30] . w[32,8]'
refuse 'w is not known; an input has dims where it comes first: w[B@dp,D]' 'y = x[16@dp,32] . w'
refuse 'a dim of 18 does not divide into 4 shards; the next size that does is 20' 'y = x[18@dp,32] . w[32,8]'
refuse 'axis tp shards two dims of a tensor; it can shard one' 'y = x[16@tp,32@tp] . w[32,8]'
refuse "dim B has no size; write B=1024, or --dims B=1024" 'y = x[B@dp,32] . w[32,8]'
refuse "unknown function 'rel'; the nearest is relu" 'y = rel(x[16@dp,32] . w[32,8])'
refuse 'does not fit' 'y = x[16@dp,32] + w[5]'
refuse 'own.yaml:7:5: statement ' 'y = x[16@dp,32] . w[32,8]' 'z[16,9] = y'
refuse "z is [16@dp,8], not [16,9]" 'y = x[16@dp,32] . w[32,8]' 'z[16,9] = y'
refuse 'a type, where a name is to be' 'y = f32[16@dp,32] . w[32,8]'
refuse 'a division by 0' 'y = x[16@dp,32] / 0'
refuse "expected '='" 'y x[16@dp,32]'
printf 'trained: [q]\n' >trained
{
    said 'y = x[16@dp,32] . w[32,8]' >/dev/null
    cat trained
} >>own.yaml
got=$("$icisim" run own.yaml 2>&1) && fail 'trained: [q] is not refused'
[ "$got" = "icisim: own.yaml:7:11: 'q' is no input of the statements; trained are inputs such as x" ] || fail "trained: $got"
# the network as model: mlp says it, with a line of it changed
wrong() {
    local want=$1 got
    sed "$2; s#network/#$network/#" "$network/../net-fsdp-b.yaml" >mlp.yaml
    got=$("$icisim" run mlp.yaml 2>&1) && fail "$2 is not refused"
    [ "$got" = "icisim: mlp.yaml:$want" ] || fail "$2: says '$got', not '$want'"
}
wrong "12:6: spec: axis 'tp' is named twice; an axis can cut only one dim" 's/w: P(dp,tp)/w: P(tp,tp)/'
wrong "11:6: x: dim 0 of 12 does not divide into 8 parts over (dp,tp); the next size that does is 16" 's/batch: 16/batch: 12/'
wrong "2:1: 'batch:' is missing; give the examples of a step, such as 16" '/^batch/d'
wrong "3:19: the size of a layer '256.5' must be a whole number" 's/256/256.5/'
wrong "11:6: the mesh has no axis 'xx'; it is dp=4,tp=2" 's/P((dp,tp))/P((dp,xx))/'
wrong "15:6: unknown tensor 'q'; the nearest are x, t" 's#^  x: network/inputs#  q: network/inputs#'
wrong "12:7: there is no tensor 'w9'; they are x, w, b, and w1 to w4, b1 to b4 for single layers" 's/w: P(dp,tp)/w9: P(dp)/'

got=$("$icisim" run "$network/../net-tp.yaml" --dims B=3 2>&1) && fail '--dims of an mlp is not refused'
[ "$got" = 'icisim: --dims does not apply to model: mlp; leave it out' ] || fail "--dims: $got"
exit 0
