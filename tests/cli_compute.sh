#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Text that XLA:TPU compiled, where it is at hand beside the project: times against an independent sum by the same rules, the
# compiler's own estimates, published steps, and small texts worked out by hand.
set -euo pipefail
. tests/support/sanitized.sh
icisim=$(realpath "$1")
tpu=../shared/hlo/tpu
[ -d "$tpu" ] || skip "$tpu is not at hand"
out=$(mktemp)
trap 'rm -f "$out"' EXIT
fail() {
    echo "cli_compute: $*"
    exit 1
}

# near TIME_US SHARE FILE OPTION...
near() {
    local want=$1 share=$2
    shift 2
    "$icisim" run "$@" --csv - >"$out" || fail "$* fails"
    python3 -c 'import csv, sys
got = float(next(csv.DictReader(open(sys.argv[1])))["time_s"]) * 1e6
sys.exit(abs(got / float(sys.argv[2]) - 1) > float(sys.argv[3]) and f"cli_compute: {got} us, not {sys.argv[2]}: {sys.argv[4:]}")' \
        "$out" "$want" "$share" "$@"
}

# decode and prefill: time_rule_ms of inference.csv, which are products by their estimate, loops by their bytes,
# within 15 %: the sum is another reader's, and knows nothing of what shares HBM
rule=(--profile spec --compute auto)
near 22192.5 0.15 $tpu/inference/d3_l70_dec_b64_s1536_v6e8/module.hlo --chip v6e --slice 2x4 "${rule[@]}"
near 16358.2 0.15 $tpu/inference/l70_dec_b1_s2k_v6e8/module.hlo --chip v6e --slice 2x4 "${rule[@]}"
near 26486.7 0.15 $tpu/inference/l70_dec_b64_s4k_v5p8/module.hlo --chip v5p --slice 2x2x2 "${rule[@]}"
near 1827.9 0.15 $tpu/inference/l8_dec_b64_s2k_v5e8_paged8/module.hlo --chip v5e --slice 2x4 "${rule[@]}"
near 2196.0 0.15 $tpu/inference/l70_dec_b64_s1536_v6e8_list8/module.hlo --chip v6e --slice 2x4 "${rule[@]}"
near 6761.1 0.15 $tpu/inference/q8_dec_b128_s1536_v7x8/module.hlo --chip v7x --slice 2x2x1 "${rule[@]}"
near 149012.5 0.15 $tpu/inference/l8_pre_b1_s4k_v5e8/module.hlo --chip v5e --slice 2x4 "${rule[@]}"
# one of two devices of a chip has half of its HBM: measured
near 5822 0.15 $tpu/inference/d1_q7_dec_b1_s1k_v7x1_list/module.hlo --chip v7x --slice 1 "${rule[@]}"
# a published step: 14.22 s
near 14220000 0.12 $tpu/published/v4-22B-64.hlo --chip v4 --slice 4x4x4

# the compiler's estimates: estimated_us of meta.json, with the trips of loops
for name in mlp4_fsdp_tp_v4_4x4x4:4x4x4 pp1_forward_v5e_2x4:2x4 ring2_attention_grad_v5p_2x2x2:2x2x2; do
    dir=$tpu/programs/${name%:*} chip=$(grep -o 'v[0-9][a-z]*' <<<"${name%:*}" | tail -1)
    "$icisim" run "$dir/module.hlo" --chip "$chip" --slice "${name#*:}" --profile spec --compute estimated --instructions "$out" >/dev/null
    python3 - "$out" "$dir/meta.json" <<'END'
import csv, json, sys
got = sum(float(row["total_time_s"]) for row in csv.DictReader(open(sys.argv[1])) if row["bound_by"] != "ICI" and "-start" not in row["hlo_op_name"]) * 1e6
want = json.load(open(sys.argv[2]))["estimated_us"]
sys.exit(abs(got / want - 1) > 5e-3 and f"cli_compute: {got} us, not {want}: {sys.argv[2]}")
END
done

# by the roofline, in both engines: 134.22 MB at 0.81 TB/s; 1 GiB read and written, or only read; over PCIe at 16 GB/s; the slower
# branch, 2 8192^3 operations
book=(--chip v5e --slice 1 --profile spec --compute roofline --engine both)
near 165.70 1e-4 $tpu/small/decode_b.hlo "${book[@]}"
near 2651.2 1e-4 $tpu/small/onload.hlo "${book[@]}"
near 1325.6 1e-4 $tpu/small/vmem.hlo "${book[@]}"
near 67108.9 1e-4 $tpu/small/offload.hlo "${book[@]}"
near 5581.3 1e-4 $tpu/small/cond.hlo "${book[@]}"

# what the time rests on, and by which numbers, stands in the header; where there are no estimates there is none to ask for
said=$("$icisim" run $tpu/inference/q8_dec_b64_s1536_v6e8/module.hlo --chip v6e --slice 2x4)
grep -q 'measured profile.*compute from estimate 7[0-9.]*%, bytes [0-9.]*%, guess [0-9.]*%' <<<"$said" || fail "$said"
said=$("$icisim" run $tpu/small/cond.hlo "${book[@]::6}" --compute estimated 2>&1) && fail "estimates out of nothing"
grep -q 'has no estimated_cycles' <<<"$said" || fail "$said"
