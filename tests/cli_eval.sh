#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# icisim eval: files of cases, input from files, names of collectives, and what it refuses. What it prints is in
# tests/golden/eval.console.
set -u
. tests/support/scratch.sh
cases=$source/tests/golden/jax_collectives.json more=$source/tests/golden/jax_more.json types=$source/tests/golden/jax_types.json ran=0

# Every case of JAX, by every ring and algorithm, on slices with wraps and without.
for options in "" "--wrap all" "--wrap none --ring uni" "--chip v5p --wrap all --ring bidi-half --all-to-all ring" \
    "--keep-ties --wrap all --all-to-all direct"; do
    # shellcheck disable=SC2086
    out=$("$program" eval --cases "$cases" $options 2>&1) || fail "--cases $options: exit $?"
    [ "$out" = '30 passed, 0 failed' ] || fail "--cases $options: $out"
done

# Products on what dead cables leave of rings: lines that begin elsewhere in each row.
for strategy in uni bidi bidi-half; do
    for product in "f32[64@x,8] . f32[8,16] -> f32[64,16] --gather before" "f32[16,64@x] . f32[64@x,16] -> f32[16@x,16]"; do
        # shellcheck disable=SC2046,SC2086
        out=$("$program" eval "${product%% --*}" $(expr "$product" : '.*\( --.*\)') --chip v5e --slice 8x4 --wrap x,y \
            --strategy $strategy --plan textbook --link "3,3:x=0 0,1:x=0 2,2:y+=0" 2>&1) || fail "$strategy: $out"
        [ "${out##*$'\n'}" = '# equals the definition' ] || fail "$product $strategy: $out"
    done
done

# One number that is wrong fails its case, and no other.
sed 's/"output": \[\[24\], \[28\]/"output": [[24], [29]/' "$cases" >wrong.json
out=$("$program" eval --cases wrong.json 2>err)
[ $? -eq 1 ] || fail 'wrong.json: no exit 1'
[ "$out" = 'psum_scatter-pmap: wrong.json:3: ring uni, late pace: element [1, 0] is 28, not 29
29 passed, 1 failed' ] || fail "wrong.json: $out"
grep -qx 'icisim: wrong.json: 1 of 30 cases failed' err || fail "wrong.json: $(cat err)"

# A case that cannot be is one that fails, and stops no other.
sed 's/"op": "psum_scatter", "input": \[\[0, 1, 2, 3\]/"op": "psum_scatter", "input": [[0, 1, 2]/' "$cases" >ragged.json
"$program" eval --cases ragged.json >out 2>err && fail 'ragged.json: exit 0'
grep -q '^psum_scatter-pmap: ragged.json:3:.*a list of' out || fail "ragged.json: $(cat out)"
grep -qx '25 passed, 5 failed' out || fail "ragged.json: $(cat out)"

# What JAX 0.10.2 says, on meshes of one to eight axes and groups of unequal size: by each schedule, and round a dead link.
for options in "" "--ring uni" "--ring bidi" "--ring bidi-half" "--all-to-all ring" "--wrap all --link 0,0,0:x=0"; do
    # shellcheck disable=SC2086
    out=$("$program" eval --cases "$more" $options 2>&1) || fail "--cases $more $options: exit $?"
    [[ $out == *' passed, 0 failed' ]] || fail "--cases $more $options: $out"
done

# Bools, whole numbers that wrap around, fractions of 16 bits, tuples, as JAX 0.10.2 has them; and every algorithm on all files.
for options in "" "--ring bidi" "--all-to-all ring" "--wrap all --link 0,0,0:x=0" "--algorithm best" "--algorithm xla --chip v5p" \
    "--algorithm xla --chip v7x" "--algorithm single-phase" "--algorithm short-ring --wrap all" "--algorithm halving-doubling" \
    "--algorithm swing --wrap all"; do
    for file in "$cases" "$more" "$types"; do
        # shellcheck disable=SC2086
        out=$("$program" eval --cases "$file" $options 2>&1) || fail "--cases $file $options: exit $?"
        [[ $out == *' passed, 0 failed' ]] || fail "--cases $file $options: $out"
    done
done
"$program" eval --cases "$cases" --algorithm as-compiled >/dev/null 2>err
grep -q 'only compiled text says how' err || fail "--algorithm as-compiled: $(cat err)"

# A tuple is a call for each of its parts; what wraps around in one is seen, as in what is sent.
out=$("$program" eval psum --mesh i=2 --input '([True, True], [100, 100, 1, 2])' --in '(P(i), P())' --dtype int8) || fail "a tuple: $?"
[ "$(grep -c '^# equals the definition$' <<<"$out")" -eq 2 ] || fail "a tuple: $out"
out=$("$program" eval psum --mesh i=2 --input '([False, True, True, True], [100, 100])' --dtype int8)
for line in 'result by P(), (2,)  [1 2]' 'result by P(), (1,)  [-56]' '  0 -> 1  in[0:1] = [-56]'; do
    grep -qxF "$line" <<<"$out" || fail "a tuple: no '$line' in $out"
done

# same ARGUMENTS -- ARGUMENTS: both print the same numbers.
same() {
    local first=() one two
    while [ "$1" != -- ]; do
        first+=("$1")
        shift
    done
    shift
    ran=$((ran + 2))
    one=$("$program" eval "${first[@]}") || fail "eval ${first[*]}: exit $?"
    two=$("$program" eval "$@") || fail "eval $*: exit $?"
    [ "$one" = "$two" ] || fail "eval ${first[*]}: other than eval $*: $(diff <(echo "$one") <(echo "$two"))"
}
echo '[[0, 1], [2, 3], [4, 5], [6, 7]]' >input.json
printf 'a,b\n0,1\n2,3\n4,5\n6,7\n' >input.csv
input='arange(8).reshape(4,2)'
same psum --mesh i=4 --input input.json -- psum --mesh i=4 --input "$input"
same psum --mesh i=4 --input input.csv -- psum --mesh i=4 --input "$input"
while read -r xla jax options; do
    # shellcheck disable=SC2086
    same $xla --mesh i=4 --input "$input" $options -- $jax --mesh i=4 --input "$input" $options
done <<'END'
all-reduce psum
all-gather all_gather --tiled
reduce-scatter psum_scatter --tiled --in P() --ring uni
all-to-all all_to_all --tiled --in P() --split-axis 0
collective-permute ppermute --perm 0-3,3-0
ragged-all-to-all ragged_all_to_all --in P() --rows [[1,1,1,1],[4,0,0,0],[0,2,0,2],[0,0,4,0]]
END
# The same groups in three spellings, and dims counted from the end.
same psum --mesh i=4 --input "$input" --groups '{{0,2},{1,3}}' -- psum --mesh i=4 --input "$input" --groups '[2,2]<=[2,2]T(1,0)'
same psum --mesh i=4 --input "$input" --groups '[[0,1],[2,3]]' -- psum --mesh i=4 --input "$input" --groups '[2,2]<=[4]'
same all_gather --mesh i=4 --input "$input" --dim -1 -- all_gather --mesh i=4 --input "$input" --dim 2
# What is left out is what would be written.
same psum_scatter --mesh dp=4,tp=2 --axis tp --in 'P(None,tp)' --input 'arange(8).reshape(2,4)' --tiled -- \
    psum_scatter --mesh dp=x,tp=y --axis tp --in 'P(None,tp)' --input 'arange(8).reshape(2,4)' --tiled \
    --out 'P(tp)' --scatter-dimension 0 --slice 4x2 --chip v5e --ring bidi-half --dtype int32

# Bigger slices, every op: each must find its own definition. With wraps, merged axes and split ones.
while read -r arguments; do
    ran=$((ran + 1))
    eval "set -- $arguments"
    "$program" eval "$@" >out || fail "eval $arguments: exit $?"
    grep -qx '# equals the definition' out || fail "eval $arguments: $(tail -3 out)"
done <<'END'
psum --slice 16x16 --axis y,x --input 'arange(512)' --ring bidi-half
pmean --slice 4x4x4 --chip v4 --input 'arange(320.).reshape(64,5)' --in 'P((x,y,z))'
pmax --slice 4x4 --mesh X=x*y --wrap all --input 'arange(64)'
pmin --slice 4x4 --mesh a=2,b=2,c=2,d=2 --axis d,b --input 'arange(32).reshape(8,4)' --in 'P((b,c,d))'
psum --slice 4x4 --mesh a=2,b=2,c=2,d=2 --input 'arange(128).reshape(32,4)' --ring uni
all_gather --slice 8x4 --mesh tp=4,dp=8 --axis dp,tp --input 'arange(96)' --tiled --ring bidi
psum_scatter --slice 2x16 --axis y,x --in 'P()' --input 'arange(192).reshape(64,3)' --tiled
all_to_all --slice 4x4 --wrap all --axis y,x --input 'arange(512)' --tiled --all-to-all ring
all_to_all --slice 4x8 --wrap all --axis x,y --input 'arange(1024)' --tiled --keep-ties
ppermute --slice 4x4 --input 'arange(16)' --perm 0-15,15-3,7-7 --routes 1
ring_shift --slice 4x4 --axis y,x --offset -21 --input 'arange(32)' --routes 2
broadcast --slice 4x4 --axis x --root 3 --input 'arange(64).reshape(4,16)' --in 'P(x,y)'
ragged_all_to_all --slice 3 --input 'arange(9)' --rows '[[0,0,3],[1,2,0],[3,0,0]]'
none --slice 4x4 --input 'arange(64).reshape(16,4)' --local slice:0:0
END

# Wrong input: one line that says what would be right, exit status 2, nothing on stdout.
try() {
    local says=$1 out status
    shift
    ran=$((ran + 1))
    out=$("$program" eval "$@" 2>err)
    status=$?
    if [ $status -ne 2 ] || [ -n "$out" ] || [ "$(wc -l <err)" -ne 1 ] || ! grep -q '^icisim: ' err ||
        ! grep -qF -e "$says" err; then
        fail "icisim eval $*: exit $status, must say '$says', says: $(cat err)$out"
    fi
}
while IFS='|' read -r says arguments; do
    eval "set -- $arguments"
    try "$says" "$@"
done <<'END'
which does not divide by the 4 devices of a group; take a multiple of 4|psum_scatter --mesh i=4 --input 'arange(24)' --tiled
split_axis 1 has length 6|all_to_all --mesh i=4 --input 'arange(24).reshape(4,6)' --tiled --split-axis 1
does not divide by 4, the size of i; take a multiple of 4|psum --mesh i=4 --input 'arange(6)'
psum_scatter does not add bools; give --dtype int32|psum_scatter --mesh i=2 --in 'P()' --tiled --input '[True, False]'
the input has 300, which int8 does not hold; as int8 it is 44|psum --mesh i=2 --input '[300, 1]' --dtype int8
it has no part 2, but --input has|psum --mesh i=2 --input '(arange(2), arange(2))' --in '(P(i),)'
does not apply to all_gather; write schedule, xla or best|all_gather --mesh i=2 --input 'arange(2)' --algorithm single-phase
position 0 sends twice|ppermute --mesh i=4 --input 'arange(4)' --perm 0-1,0-2
position 1 receives twice|ppermute --mesh i=4 --input 'arange(4)' --perm 0-1,2-1
there is no position 4; they are 0 to 3|ppermute --mesh i=4 --input 'arange(4)' --perm 0-4
such as --perm 0-1,1-0|ppermute --mesh i=4 --input 'arange(4)'
--input does not apply to a matmul|'bf16[8@X,16] . bf16[16,12]' --mesh X=4 --input 'arange(8)'
which run by the same schedule|'bf16[4096@X,4096] . bf16[4096,4096] -> bf16[4096,4096]' --mesh X=4
it is ambiguous how the output should be sharded|'bf16[8,16@X] . bf16[16@X,12]' --mesh X=4
groups must not overlap|psum --mesh i=4 --input 'arange(4)' --groups '{{0,1},{1,2}}'
all groups must have the same size|all_gather --mesh i=4 --input 'arange(4)' --groups '{{0,1,2},{3}}'
axis_index takes no groups|axis_index --mesh i=4 --groups '{{0,1},{2,3}}'
it needs each of 0 to 3 once|pshuffle --mesh i=4 --input 'arange(4)' --perm 1,0
never tiled|pswapaxes --mesh i=4 --input 'arange(16).reshape(4,4)' --dim 1 --tiled
is in no group|psum --mesh i=4 --input 'arange(4)' --groups '{{0,1}}'
ppermute takes no groups|ppermute --mesh i=4 --input 'arange(4)' --perm 0-1 --groups '{{0,1},{2,3}}'
--in: spec: axis 'i' is named twice|psum --mesh i=4 --input 'arange(4)' --in 'P(i,i)'
--out: spec: axis 'i' is named twice|psum --mesh i=4 --input 'arange(4)' --out 'P((i,i))'
reduce over i or name it|ppermute --mesh i=4 --input 'arange(4)' --perm 1-0 --out 'P()'
has 2 entries|psum --mesh i=4 --input 'arange(4)' --in 'P(i,None)'
keep a dim with --tiled|psum_scatter --mesh i=4 --input 'arange(16)'
must be from 0 to 1|all_gather --mesh i=4 --input 'arange(4)' --dim 2
must be from 0 to 1|all_gather --mesh i=4 --input 'arange(4)' --dim -3
they are 0 to 3|broadcast --mesh i=4 --input 'arange(4)' --root 4
the rows of each pair, 2 x 2 of them|ragged_all_to_all --mesh i=2 --input 'arange(4)'
a matrix of 2 x 2|ragged_all_to_all --mesh i=2 --input 'arange(4)' --rows '[[1]]'
send them all|ragged_all_to_all --mesh i=2 --input 'arange(4)' --rows '[[1,0],[2,0]]'
--rows: 4.61168602e+18 rows from 0 to 0; write 0 to 67108864|ragged_all_to_all --mesh i=2 --input 'arange(4)' --rows '[[4611686018427387904,4611686018427387904],[4611686018427387904,4611686018427387904]]'
--rows: -1 rows from 1 to 1|ragged_all_to_all --mesh i=2 --input 'arange(4)' --rows '[[1,1],[3,-1]]'
make no array; leave it out|ragged_all_to_all --mesh i=2 --input 'arange(4)' --rows '[[1,1],[2,0]]' --out 'P(i)'
--input is missing|psum --mesh i=4
--input: array 'arrange(4)'|psum --mesh i=4 --input 'arrange(4)'
No such file|psum --mesh i=4 --input none.csv
add --slice|psum --input 'arange(4)'
name a collective|--mesh i=4 --input 'arange(4)'
the nearest is psum|psumm --mesh i=4 --input 'arange(4)'
one value of op|psum pmax --mesh i=4 --input 'arange(4)'
one value of --ring|psum --mesh i=4 --input 'arange(4)' --ring uni,bidi
--axis x,y|psum --slice 2x2 --axis x --axis y --input 'arange(4)'
has no axis 'j'|psum --mesh i=4 --input 'arange(4)' --axis j
--offset does not apply to psum; leave it out|psum --mesh i=4 --input 'arange(4)' --offset 2
expected mean, roll:N, slice:LO:HI or add:K|psum --mesh i=4 --input 'arange(4)' --local median
that share no link; ask for 1|ring_shift --slice 2 --input 'arange(4)' --routes 2
has no option '--size'|psum --mesh i=4 --input 'arange(4)' --size 4B
each case has its own op; leave it out|psum --cases wrong.json
each case has its own axis; leave it out|--cases wrong.json --axis i
No such file|--cases none.json
END

echo "$ran commands"
exit $failed
