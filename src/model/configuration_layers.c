/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers of a configuration other than plain attention and one feed-forward part: experts, windows, latents.
 * */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "model/configuration.h"

/* The value of the first name that is present. */
static int64_t first_of(const struct configuration *config, const char *const names[], int64_t fallback)
{
    for (int n = 0; names[n]; n++)
        if (configuration_text(config, names[n]))
            return configuration_whole(config, names[n], fallback);
    return fallback;
}
#define FIRST_OF(config, fallback, ...) first_of(config, (const char *const[]){__VA_ARGS__, NULL}, fallback)

/* Is the model of one of these types, in the words of either source? */
static bool is_of(const struct configuration *config, const char *types)
{
    const char *type = configuration_text(config, "model_type"),
               *block = configuration_text(config, "decoder_block");
    return (type && text_has_word(types, type)) || (block && text_has_word(types, block));
}

int64_t configuration_experts(const struct configuration *config)
{
    return FIRST_OF(config, 1, "n_routed_experts", "num_experts", "num_local_experts");
}

static int64_t dense_layers(const struct configuration *config)
{
    return FIRST_OF(config, 0, "first_k_dense_replace", "first_num_dense_layers");
}

static int64_t experts_every(const struct configuration *config)
{
    return FIRST_OF(config, 1, "decoder_sparse_step", "interleave_moe_layer_step");
}

bool configuration_is_mixed(const struct configuration *config)
{
    return configuration_experts(config) > 1 && (dense_layers(config) > 0 || experts_every(config) > 1);
}

/* The width of experts; if they have none of their own, that of all layers. */
static int64_t expert_width(const struct configuration *config)
{
    int64_t own =
        is_of(config, "mixtral") ? 0 : FIRST_OF(config, 0, "moe_intermediate_size", "base_moe_mlp_dim");
    return own > 0 ? own : FIRST_OF(config, 0, "intermediate_size", "base_mlp_dim", "mlp_dim");
}

/* MaxText's sparse products drop nothing; without them a capacity factor above 0 drops. */
static const char *capacity_of(const struct configuration *config)
{
    const char *factor = configuration_text(config, "capacity_factor");
    bool sparse = !configuration_text(config, "sparse_matmul") || configuration_is(config, "sparse_matmul");
    return factor && factor[0] != '-' && !sparse ? factor : "none";
}

static void print_experts(const struct configuration *config, int64_t ff, FILE *out)
{
    int64_t experts = configuration_experts(config), width = expert_width(config),
            dense = dense_layers(config), every = experts_every(config);
    int64_t shared =
        FIRST_OF(config, is_of(config, "llama4_text llama4") ? 1 : 0, "n_shared_experts", "shared_experts");
    const char *capacity = capacity_of(config);
    if (experts <= 1)
        return;
    fprintf(out, "moe: {experts: %" PRId64 ", top-k: %" PRId64 ", capacity-factor: %s, ", experts,
            configuration_whole(config, "num_experts_per_tok", 1), capacity);
    if (width > 0 && width != ff)
        fprintf(out, "expert-d-ff: %" PRId64 ", ", width);
    if (every > 1)
        fprintf(out, "every: %" PRId64 ", ", every);
    if (dense > 0)
        fprintf(out, "first-dense-layers: %" PRId64 ", ", dense);
    if (shared > 0)
        fprintf(out, "shared-experts: %" PRId64 ", ", shared);
    fputs("expert-axis: ep, routing: {draw: uniform, seed: 1}}\n", out);
}

bool configuration_has_latents(const struct configuration *config)
{
    const char *type = configuration_text(config, "attention_type");
    bool latents = configuration_whole(config, "kv_lora_rank", 0) > 0;
    return latents && (!type || strcmp(type, "mla") == 0);
}

static void print_latents(const struct configuration *config, FILE *out)
{
    int64_t q = configuration_whole(config, "q_lora_rank", 0),
            kv = configuration_whole(config, "kv_lora_rank", 0);
    int64_t plain = configuration_whole(config, "qk_nope_head_dim", 128),
            rotary = configuration_whole(config, "qk_rope_head_dim", 64),
            values = configuration_whole(config, "v_head_dim", 128);
    if (!configuration_has_latents(config))
        return;
    fputs("mla: {", out);
    if (q > 0)
        fprintf(out, "q-rank: %" PRId64 ", ", q);
    fprintf(out, "kv-rank: %" PRId64 ", nope-dim: %" PRId64 ", rope-dim: %" PRId64 ", v-dim: %" PRId64 "}\n",
            kv, plain, rotary, values);
}

/* Norms of heads, sinks and biases; models have them by their type, or by keys. */
static void print_vectors(const struct configuration *config, FILE *out)
{
    bool oss = is_of(config, "gpt_oss"), latents = configuration_has_latents(config);
    bool norms = configuration_is(config, "use_qk_norm") && !is_of(config, "llama4 llama4_text");
    bool sinks = configuration_is(config, "attention_sink") || oss, qkv = is_of(config, "qwen2 qwen2_moe");
    bool all = configuration_is(config, "attention_bias") || oss;
    bool router = configuration_is(config, "routed_bias") || is_of(config, "deepseek_v3") || oss;
    char bias[64] = "";
    if (all && latents)
        fputs("# not said by a workload: attention_bias = true with latents; simulated: no biases\n", out);
    else if (all || qkv)
        text_add(bias, sizeof bias, qkv || is_of(config, "glm4_moe") ? "q, k, v" : "q, k, v, o");
    if (router)
        text_add(bias, sizeof bias, *bias ? ", router%s" : "router%s", oss ? ", experts" : "");
    fputs(norms || is_of(config, "qwen3 qwen3_moe gemma3 gemma3_text") ? "qk-norm: true\n" : "", out);
    fputs(sinks ? "sinks: true\n" : "", out);
    if (*bias)
        fprintf(out, "bias: [%s]\n", bias);
}

/* The period of layers with full attention, from the list of all layers; 0: there are none, -1: no such
 * period. */
static int64_t whole_by_list(const struct node *list)
{
    int64_t every = 0;
    for (int i = 0; i < list->count; i++) {
        bool whole = list->child[i]->text && strncmp(list->child[i]->text, "full", strlen("full")) == 0;
        every = whole && every == 0 ? i + 1 : every;
        if (whole != (every > 0 && (i + 1) % every == 0))
            return -1;
    }
    return every;
}

static int64_t whole_every(const struct configuration *config)
{
    const struct node *list = configuration_node(config, "layer_types");
    int64_t by_model = is_of(config, "gemma2 gpt_oss")       ? 2
                       : is_of(config, "gemma3 gemma3_text") ? 6
                       : is_of(config, "llama4 llama4_text") ? 4
                                                             : 0;
    int64_t said =
        FIRST_OF(config, by_model, "sliding_window_pattern", "no_rope_layer_interval", "nope_layer_interval");
    return list && list->kind == NODE_SEQUENCE ? whole_by_list(list) : said;
}

/* MaxText's attention type says whether there is a window; Hugging Face's Qwen has a separate key. */
static void print_window(const struct configuration *config, FILE *out)
{
    const char *type = configuration_text(config, "attention_type"),
               *used = configuration_text(config, "use_sliding_window");
    int64_t window = FIRST_OF(config, 0, "sliding_window", "sliding_window_size"),
            every = whole_every(config);
    int64_t chunk = FIRST_OF(config, 0, "attention_chunk_size", "chunk_attn_window_size");
    bool none = (type && !text_has_word("local_sliding chunk", type)) ||
                (used && !configuration_is(config, "use_sliding_window"));
    bool chunks = chunk > 0 && (window <= 0 || (type && strcmp(type, "chunk") == 0));
    window = chunks ? chunk : window;
    if (window <= 0 || none)
        return;
    if (every < 0) {
        fputs("# not said by a workload: layer_types; simulated: attention over the whole sequence\n", out);
        return;
    }
    fprintf(out, "window: %" PRId64 "%s\n", window,
            chunks ? " # of the tokens before; the model has chunks" : "");
    if (every > 0)
        fprintf(out, "full-attention-every: %" PRId64 "\n", every);
}

void configuration_print_layers(const struct configuration *config, int64_t ff, FILE *out)
{
    print_latents(config, out);
    print_vectors(config, out);
    print_window(config, out);
    print_experts(config, ff, out);
}
