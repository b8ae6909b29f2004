#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# icisim model: configurations of Hugging Face and MaxText become workloads that run; what these cannot say is named.
set -euo pipefail
icisim=$(realpath "$1")
llama=$PWD/workloads/by-hand/llama-8b.yaml
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() {
    echo "cli_model: $*"
    exit 1
}
refuse() {
    local want=$1 status=0
    shift
    said=$("$icisim" model "$@" 2>&1 >/dev/null) || status=$?
    [[ "$status" = 2 && "$said" == *"$want"* && $(wc -l <<<"$said") = 1 ]] || fail "$*: exit $status, must say $want: $said"
}

# Llama 3 8B as it is published: the keys of workloads/by-hand/llama-8b.yaml, and so its time, once the rest is set alike.
cat >llama.json <<'END'
{"architectures": ["LlamaForCausalLM"], "attention_bias": false, "hidden_act": "silu", "hidden_size": 4096,
 "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 131072, "model_type": "llama",
 "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
 "rope_theta": 500000.0, "sliding_window": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 128256}
END
"$icisim" model from-hf llama.json >llama.yaml
for line in 'layers: 32' 'd-model: 4096' 'd-ff: 14336' 'heads: 32' 'kv-heads: 8' 'vocabulary: 128256' 'tied: false'; do
    grep -qx "$line" llama.yaml || fail "no line '$line' in $(cat llama.yaml)"
done
grep -q '^sequence: 4096 # the model.s are longer' llama.yaml || fail "the sequence"
grep -q '^# not read: .*rope_theta' llama.yaml || fail "rope_theta is not named"
! grep -q 'not said' llama.yaml || fail "something is not said: $(grep 'not said' llama.yaml)"
sed -i -e 's/^kernel: .*/kernel: ideal\nfused: true\nplan: textbook/' -e 's/^attention: .*/attention: full/' -e '/^remat/d' llama.yaml
same=(--profile spec --chip v5p --slice 4x4x4 --mesh fsdp=64 --head off --elementwise off --csv -)
[ "$("$icisim" run llama.yaml "${same[@]}" | tail -n 1 | cut -d, -f13)" = "$("$icisim" run "$llama" "${same[@]}" | tail -n 1 | cut -d, -f13)" ] ||
    fail "not the time of workloads/by-hand/llama-8b.yaml"

# Experts, windows, and what else takes time and cannot be said.
cat >experts.json <<'END'
{"hidden_size": 512, "intermediate_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "vocab_size": 32000,
 "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": 4096, "n_shared_experts": 1, "layer_types": ["full", "sliding"]}
END
"$icisim" model from-hf experts.json >experts.yaml
for said in '# not said by a workload: layer_types; simulated: attention over' 'moe: {experts: 8, top-k: 2, capacity-factor: none, shared-experts: 1, expert-axis'; do
    grep -q "^$said" experts.yaml || fail "$said: $(cat experts.yaml)"
done
"$icisim" run experts.yaml --chip v5e --slice 4x4 --mesh fsdp=2,ep=8 --allow-split-physical-axes >/dev/null || fail "experts do not run"

# GPT-2's names; d-ff is 4 d-model.
echo '{"n_embd": 768, "n_head": 12, "n_layer": 2, "n_positions": 1024, "vocab_size": 50257, "n_inner": null}' >gpt2.json
"$icisim" model from-hf gpt2.json | tee gpt2.yaml | grep -qx 'd-ff: 3072' || fail "d-ff of GPT-2"
grep -qx 'gated: false' gpt2.yaml || fail "GPT-2 has no gate"

# MaxText: with mesh, batch and rematerialisation.
cat >base.yml <<'END'
base_emb_dim: 1024
base_num_decoder_layers: 2
base_mlp_dim: 2816
base_num_query_heads: 16
base_num_kv_heads: 8
head_dim: 64
vocab_size: 32000
max_target_length: 2048
per_device_batch_size: 2.0
allow_split_physical_axes: True
ici_fsdp_parallelism: 8
ici_tensor_parallelism: 2
ici_pipeline_parallelism: 1
ici_context_parallelism: 2
dcn_data_parallelism: -1
remat_policy: 'minimal'
logits_via_embedding: True
END
"$icisim" model from-maxtext base.yml >maxtext.yaml
for line in 'tokens-per-chip: 4096' 'mesh: "fsdp=8,tp=2"' 'allow-split-physical-axes: true' 'remat: products # minimal' 'd-model: 1024'; do
    grep -qxF "$line" maxtext.yaml || fail "no line '$line' in $(cat maxtext.yaml)"
done
grep -q '^# not said by a workload: ici_context_parallelism = 2' maxtext.yaml || fail "context parallelism"
! grep -q 'pipeline' maxtext.yaml || fail "a pipeline of one stage is none"
"$icisim" run maxtext.yaml --chip v5e --slice 4x4 >/dev/null || fail "MaxText's does not run"

# Public mixtures: latents and late experts (DeepSeek V3), windows in turn (gpt-oss), every second layer (Llama 4); MLA of MaxText, where
# its type of attention says so, and what drops tokens there.
cat >v3.json <<'END'
{"first_k_dense_replace": 3, "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512, "model_type": "deepseek_v3",
 "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 128, "num_experts_per_tok": 8,
 "num_hidden_layers": 61, "num_key_value_heads": 128, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
 "v_head_dim": 128, "vocab_size": 129280}
END
cat >oss.json <<'END'
{"model_type": "gpt_oss", "attention_bias": true, "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64, "num_attention_heads": 64, "num_key_value_heads": 8,
 "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"], "num_experts_per_tok": 4,
 "num_hidden_layers": 4, "num_local_experts": 128, "sliding_window": 128, "vocab_size": 201088}
END
cat >llama4.json <<'END'
{"text_config": {"model_type": "llama4_text", "attention_chunk_size": 8192, "hidden_size": 5120, "interleave_moe_layer_step": 2,
 "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_attention_heads": 40, "num_experts_per_tok": 1,
 "num_hidden_layers": 48, "num_key_value_heads": 8, "num_local_experts": 128, "vocab_size": 202048}}
END
says() {
    "$icisim" model from-hf "$1.json" >"$1.yaml"
    for line in "${@:2}"; do
        grep -q "^$line" "$1.yaml" || fail "$1: $line: $(cat "$1.yaml")"
    done
}
says v3 'd-ff: 18432$' 'bias: \[router\]$' 'mla: {q-rank: 1536, kv-rank: 512, nope-dim: 128, rope-dim: 64, v-dim: 128}$' \
    'moe: {experts: 256, top-k: 8, capacity-factor: none, expert-d-ff: 2048, first-dense-layers: 3, shared-experts: 1,'
! grep -q '^kv-heads\|^head-dim' v3.yaml || fail "heads beside latents"
says oss 'sinks: true$' 'bias: \[q, k, v, o, router, experts\]$' 'window: 128$' '# .*--mesh: fsdp=..,ep=..$' 'full-attention-every: 2$' 'moe: {experts: 128, top-k: 4, capacity-factor: none, expert-axis: ep,'
says llama4 'd-ff: 16384$' 'window: 8192 # of' 'full-attention-every: 4$' \
    'moe: {experts: 128, top-k: 1, capacity-factor: none, expert-d-ff: 8192, every: 2, shared-experts: 1,'
cat >qwen3.json <<'END'
{"model_type": "qwen3_moe", "attention_bias": false, "decoder_sparse_step": 1, "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144,
 "moe_intermediate_size": 768, "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
 "num_key_value_heads": 4, "tie_word_embeddings": false, "vocab_size": 151936}
END
says qwen3 'qk-norm: true$' 'moe: {experts: 128, top-k: 8, capacity-factor: none, expert-axis: ep,'
! grep -q '^bias\|attention_bias\|not said' qwen3.yaml || fail "biases of Qwen3: $(cat qwen3.yaml)"
# Qwen3 30B A3B, 30.53e9 of which 3.35e9 are active: 2 x 151,936 x 2048 + 2048 + 48 x (18,874,368 of attention + 256 + 4096 + 2048 x 128 + 128,
# or 8, x 3 x 2048 x 768)
"$icisim" run qwen3.yaml --chip v5p --slice 4x4 --mesh fsdp=4,ep=4 >qwen3.out
grep -qx '# 30532122624 parameters, of which each token meets 3353032704' qwen3.out || fail "parameters of Qwen3 30B: $(grep parameters qwen3.out)"
for file in v3 oss llama4; do
    "$icisim" run "$file.yaml" --layers 4 --chip v5p --slice 4x4 --mesh fsdp=4,ep=4 --csv - | grep -q ',ok,' || fail "$file does not run"
done
cat >mla.yml <<'END'
base_num_decoder_layers: 4
base_emb_dim: 1024
base_mlp_dim: 4096
base_num_query_heads: 16
base_num_kv_heads: 16
vocab_size: 32000
num_experts: 8
base_moe_mlp_dim: 512
num_experts_per_tok: 2
first_num_dense_layers: 1
sparse_matmul: False
capacity_factor: 1.5
attention_type: mla
kv_lora_rank: 96
END
"$icisim" model from-maxtext mla.yml >mla.yaml
for line in 'd-ff: 4096' 'mla: {kv-rank: 96, nope-dim: 128, rope-dim: 64, v-dim: 128}' \
    'moe: {experts: 8, top-k: 2, capacity-factor: 1.5, expert-d-ff: 512, first-dense-layers: 1, expert-axis: ep, routing'; do
    grep -q "^$line" mla.yaml || fail "mla: $line: $(cat mla.yaml)"
done
sed -i 's/^attention_type:.*/attention_type: global/' mla.yml
"$icisim" model from-maxtext mla.yml | grep -q '^mla' && fail "ranks that attention does not use"

# A model of MaxText's after base.yml takes precedence; widths of experts are those of mixtures; numbers may have underscores.
cat >run.yml <<'END'
model_name: llama3.1-8b
base_moe_mlp_dim: 7168
num_experts: 1
vocab_size: 262_144
mlp_activations: ["gelu", "linear"]
weight_dtype: float32
ici_fsdp_parallelism: -1
ici_fsdp_transpose_parallelism: 2
remat_policy: custom
query_proj: offload
out_proj: device
mlpwo: remat
END
"$icisim" model from-maxtext base.yml run.yml >both.yaml
for line in 'd-model: 1024' 'd-ff: 2816' 'vocabulary: 262144' 'activation: gelu' 'dtypes: {params: float32, state: float32}' \
    '# --mesh is yours to say: tp=2, and fsdp takes the rest of the slice' 'remat: full # custom' 'keep: [q, o]' 'keep-on-host: true'; do
    grep -qxF "$line" both.yaml || fail "no line '$line' in $(cat both.yaml)"
done
for said in 'model_name = llama3.1-8b; simulated: the sizes' 'ici_fsdp_transpose_parallelism = 2; simulated: no such axis'; do
    grep -q "^# not said by a workload: $said" both.yaml || fail "$said: $(cat both.yaml)"
done
"$icisim" run both.yaml --chip v6e --slice 4x4 --mesh fsdp=8,tp=2 >/dev/null || fail "two files of MaxText's do not run"
for block in deepseek:7168 mixtral:2816; do
    printf 'num_experts: 8\nnum_experts_per_tok: 2\ndecoder_block: "%s"\n' "${block%:*}" >moe.yml
    "$icisim" model from-maxtext base.yml run.yml moe.yml | grep -qx "d-ff: ${block#*:}" || fail "the width of experts of $block"
done

# Text beside pictures, embeddings tied by default, one product for two of a block without a gate, halves side by side.
cat >gemma.json <<'END'
{"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
 "num_attention_heads": 8, "num_key_value_heads": 4, "num_hidden_layers": 34, "head_dim": 256, "vocab_size": 262208,
 "hidden_activation": "gelu_pytorch_tanh"}, "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27}}
END
"$icisim" model from-hf gemma.json >gemma.yaml
for line in 'layers: 34' 'd-model: 2560' 'head-dim: 256' 'tied: true' 'activation: gelu' '# not read: vision_config '; do
    grep -qxF "$line" gemma.yaml || fail "no line '$line' in $(cat gemma.yaml)"
done
cat >falcon.json <<'END'
{"model_type": "falcon", "hidden_size": 4544, "ffn_hidden_size": 18176, "intermediate_size": 18176, "num_attention_heads": 71,
 "num_hidden_layers": 32, "multi_query": true, "vocab_size": 65024}
END
"$icisim" model from-hf falcon.json >falcon.yaml
for line in 'kv-heads: 1' 'head-dim: 64' 'gated: false' 'parallel: true'; do
    grep -qxF "$line" falcon.yaml || fail "no line '$line' in $(cat falcon.yaml)"
done
sed 's/"hidden_size": 2560, //' gemma.json >no-width.json

refuse 'there is no hidden_size; what the model has by default' from-hf no-width.json
refuse 'write icisim model from-hf config.json' from-hf
refuse 'the nearest is from-hf' from-hg llama.json
refuse 'No such file' from-hf none.json
refuse 'there is no num_hidden_layers; is it a configuration of Hugging Face?' from-hf base.yml
refuse 'must be a mapping' from-hf <(echo '[1]')
