#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# icisim validate --products: the rule of the chips' files against cycles that a compiler estimated; where its rows are not at hand,
# products of v5p alone.
set -u
. tests/support/begin.sh

# libtpu 0.0.52 for v5p: 8192^3 in HBM; 4096^3 with one operand in VMEM, as of v7x.
rows="v5p,bf16,8192,8192,8192,1,4652072,0,0,0
v5p,bf16,4096,4096,4096,1,544925,1,0,0"
printf 'chip,dtype,M,K,N,batch,cycles,space_a,space_b,space_out\n%s\n' "$rows" >"$scratch/own.csv"
out=$("$program" validate --products "$scratch/own.csv") || fail "products of v5p: $out"
[ "$(grep -c '^products *v5p bf16 ' <<<"$out")" -ge 2 ] || fail "not two products: $out"

# Half of the cycles that they take: out of any tolerance.
sed 's/4652072/2326036/; s/544925/272463/' "$scratch/own.csv" >"$scratch/half.csv"
"$program" validate --products "$scratch/half.csv" >"$scratch/out" 2>&1
[ $? -eq 1 ] && grep -q 'OUT' "$scratch/out" || fail "half of the cycles are met: $(cat "$scratch/out")"

refused() { # message, row
    printf 'chip,dtype,M,K,N,cycles\n%s\n' "$2" >"$scratch/own.csv"
    "$program" validate --products "$scratch/own.csv" >"$scratch/out" 2>"$scratch/err"
    [ $? -eq 2 ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q "$1" "$scratch/err" || fail "$2: $(cat "$scratch/err")"
}
refused "own.csv:2: unknown chip 'v9'" v9,bf16,8,8,8,7
refused "own.csv:2: column 'M': M, K, N and batch must be above 0" v5p,bf16,0,8,8,7
refused "own.csv:2: column 'cycles'" v5p,bf16,8,8,8,many
refused "own.csv:2: v2 has no product_estimate" v2,bf16,8,8,8,7
refused "own.csv:2: .*bf61" v5p,bf61,8,8,8,7

# All that libtpu 0.0.52 says: within 3 % in the median, within 16 % for 95 of 100.
real=../shared/hlo/tpu/matmul_estimates.csv
if [ -r "$real" ]; then
    out=$("$program" validate --products "$real") || fail "the rule is out: $(grep OUT <<<"$out")"
    [ "$(grep -c '^products .* v[4567].* bf16 ' <<<"$out")" -ge 300 ] || fail "not 300 products of bf16"
    [ "$(grep -c '^median .* ok .* of the differences of 30[0-9] products' <<<"$out")" -eq 1 ] || fail "no median: $(grep median <<<"$out")"
fi
exit $failed
