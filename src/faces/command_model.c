/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * icisim model from-hf|from-maxtext FILE ...: a configuration of Hugging Face (config.json) or MaxText (YAML)
 * as a workload. Later files take precedence, as a MaxText model does over base.yml. In Hugging Face's
 * multimodal models, text_config takes precedence.
 *
 * Every key of the file has one of three fates: it is written as a key of ours; it affects the time but we
 * have no key for it, and a comment says so; or a last comment lists it as ignored. So no key is dropped
 * silently.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/document.h"
#include "base/text.h"
#include "faces/command.h"
#include "model/configuration.h"

enum { FROM_HF, FROM_MAXTEXT, SOURCES, NAMES_MAX = 4, KEPT = 64 };
static const char *const source_names[] = {"from-hf", "from-maxtext", NULL};

/* Our keys, and the names of each in both sources; the first name that a file has counts. */
static const struct key {
    const char *ours;
    const char *theirs[SOURCES][NAMES_MAX];
    bool needed;
} keys[] = {
    {"layers",
     {{"num_hidden_layers", "n_layer", "num_layers"}, {"base_num_decoder_layers", "num_decoder_layers"}},
     true},
    {"d-model", {{"hidden_size", "n_embd", "d_model"}, {"base_emb_dim", "emb_dim"}}, true},
    {"d-ff",
     {{"moe_intermediate_size", "intermediate_size_mlp", "intermediate_size", "n_inner"},
      {"base_moe_mlp_dim", "base_mlp_dim", "mlp_dim"}},
     true},
    {"heads",
     {{"num_attention_heads", "n_head", "num_heads"}, {"base_num_query_heads", "num_query_heads"}},
     true},
    {"kv-heads", {{"num_key_value_heads", "num_kv_heads"}, {"base_num_kv_heads", "num_kv_heads"}}, false},
    {"head-dim", {{"head_dim"}, {"head_dim"}}, false},
    {"vocabulary", {{"vocab_size"}, {"vocab_size"}}, true},
    {"tied", {{"tie_word_embeddings"}, {"logits_via_embedding"}}, false},
    {"allow-split-physical-axes", {{NULL}, {"allow_split_physical_axes"}}, false},
};

/* Hugging Face's model types whose embedding and unembedding share weights if the file does not say. */
static const char tied_types[] =
    "gemma gemma2 gemma3 gemma3_text gpt2 gpt_neo opt bloom falcon mpt cohere cohere2";

/* Keys that affect the time and have no key of ours, unless their value is one of `harmless`. */
static const struct unsaid {
    const char *name, *harmless, *instead;
} unsaid[] = {
    {"num_nextn_predict_layers", "0", "one token predicted"},
    {"mtp_num_layers", "0", "one token predicted"},
    {"is_encoder_decoder", "false", "a decoder alone"},
    {"quantization_config", "null", "products of bf16"},
    {"quantization", "", "products of bf16"},
    {"model_name", "default",
     "the sizes of these files; give its own, configs/models/NAME.yml, after base.yml"},
    {"global_parameter_scale", "1", "sizes as they stand"},
    {"gradient_accumulation_steps", "1", "one micro-batch: --micro-batches"},
};

/* Is the MLP width of the file not ours? Experts have a width of their own, except in dense models and in
 * MaxText's Mixtral; if some layers have no experts, the width of dense layers is another. */
static bool is_other_width(const struct configuration *config, const char *name)
{
    const char *block = configuration_text(config, "decoder_block");
    return strstr(name, "moe") &&
           (configuration_experts(config) <= 1 || configuration_is_mixed(config) ||
            configuration_whole(config, name, 0) <= 0 || (block && strcmp(block, "mixtral") == 0));
}

/* The text of one of our keys in the file; NULL if the file lacks it. */
static const char *find_key(const struct configuration *config, const char *ours)
{
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (int n = 0; strcmp(keys[k].ours, ours) == 0 && n < NAMES_MAX; n++) {
            const char *name = keys[k].theirs[config->source][n];
            const char *text = configuration_text(config, name);
            if (text && !is_other_width(config, name))
                return text;
        }
    return NULL;
}

static int64_t number_of(const struct configuration *config, const char *ours)
{
    const char *text = find_key(config, ours);
    return text ? configuration_number(text) : 0;
}

/* The default of Hugging Face's models for a missing key; 0: unknown. */
static int64_t fallback_of(const struct configuration *config, const char *ours)
{
    int64_t heads = number_of(config, "heads");
    if (strcmp(ours, "kv-heads") == 0)
        return configuration_is(config, "multi_query") ? 1 : heads;
    if (strcmp(ours, "head-dim") == 0)
        return heads > 0 ? number_of(config, "d-model") / heads : 0;
    return strcmp(ours, "d-ff") == 0 && configuration_text(config, "n_embd")
               ? 4 * number_of(config, "d-model")
               : 0;
}

static bool is_one_of(const struct configuration *config, const char *types)
{
    const char *type = configuration_text(config, "model_type");
    return type && text_has_word(types, type);
}

static int write_key(const struct configuration *config, const struct key *key, FILE *out, struct status *st)
{
    const char *text = find_key(config, key->ours), *name = key->theirs[config->source][0];
    int64_t number = text ? configuration_number(text) : fallback_of(config, key->ours);
    bool tied = strcmp(key->ours, "tied") == 0 && is_one_of(config, tied_types);
    if ((text && number == 0) || (!text && tied))
        fprintf(out, "%s: %s\n", key->ours, (text ? strcasecmp(text, "true") == 0 : tied) ? "true" : "false");
    else if (number > 0)
        fprintf(out, "%s: %" PRId64 "\n", key->ours, number);
    else if (key->needed && find_key(config, "layers"))
        return status_fail(st, STATUS_INPUT,
                           "%s: there is no %s; what the model has by default, has to be added to the file",
                           config->root[0]->file, name);
    else if (key->needed)
        return status_fail(st, STATUS_INPUT, "%s: there is no %s; is it a configuration of %s?",
                           config->root[0]->file, name,
                           config->source == FROM_HF ? "Hugging Face" : "MaxText");
    return 0;
}

/* The activation function: the first one of MaxText's list (the second is the linear half of a gate), or
 * Hugging Face's. */
static const char *function_of(const struct configuration *config, const struct node *list)
{
    static const char *const names[] = {"hidden_activation", "hidden_act", "activation_function"};
    static const char *const functions[][2] = {{"gelu", "gelu"},       {"silu", "silu"}, {"swish", "silu"},
                                               {"sigmoid", "sigmoid"}, {"tanh", "tanh"}, {"relu", "relu"}};
    const char *text = list && list->count > 0 ? list->child[0]->text : NULL;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        const char *other = configuration_text(config, names[n]);
        text = text ? text : other;
    }
    for (size_t f = 0; text && f < sizeof functions / sizeof *functions; f++)
        if (strstr(text, functions[f][0]))
            return functions[f][1];
    return NULL;
}

/* Writes whether the MLP is gated, its activation, and whether attention and MLP run in parallel. */
static void write_block(const struct configuration *config, FILE *out)
{
    static const char ungated[] = "gpt2 gpt_neo gpt_neox gptj gpt_bigcode codegen opt bloom falcon phi mpt "
                                  "starcoder2 nemotron";
    static const char parallel[] = "gpt_neox gptj codegen falcon phi cohere cohere2";
    const struct node *list = configuration_node(config, "mlp_activations");
    bool plain = list ? list->count == 1 : is_one_of(config, ungated) || configuration_text(config, "n_embd");
    const char *function = function_of(config, list);
    bool one_by_one = configuration_text(config, "use_parallel_residual") &&
                      !configuration_is(config, "use_parallel_residual");
    if (plain)
        fputs("gated: false\n", out);
    if (function)
        fprintf(out, "activation: %s\n", function);
    if (is_one_of(config, parallel) && !one_by_one)
        fputs("parallel: true\n", out);
}

/* Writes sequence length and tokens per chip; Hugging Face only has the longest sequence. */
static void write_batch(const struct configuration *config, FILE *out)
{
    enum { LONG = 4096 };
    if (config->source == FROM_MAXTEXT) {
        int64_t sequence = configuration_whole(config, "max_target_length", LONG);
        const char *batch = configuration_text(config, "per_device_batch_size");
        fprintf(out, "sequence: %" PRId64 "\ntokens-per-chip: %.0f\n", sequence,
                (batch ? strtod(batch, NULL) : 1) * (double)sequence);
        return;
    }
    int64_t longest = configuration_whole(config, "max_position_embeddings",
                                          configuration_whole(config, "n_positions", LONG));
    int64_t sequence = longest < LONG ? longest : LONG;
    fprintf(out, "sequence: %" PRId64 " # %s; --tokens-per-chip is yours to say, too\n", sequence,
            longest > sequence ? "the model's are longer" : "at most");
    fprintf(out, "tokens-per-chip: %" PRId64 "\n", sequence);
}

/* Writes the mesh axes of MaxText that we have, unless one of them has its length left open (-1). */
static void write_mesh(const struct configuration *config, FILE *out)
{
    static const char *const axes[][2] = {{"ici_data_parallelism", "dp"},
                                          {"ici_fsdp_parallelism", "fsdp"},
                                          {"ici_tensor_parallelism", "tp"},
                                          {"ici_expert_parallelism", "ep"}};
    char mesh[128] = "";
    const char *rest = NULL;
    for (size_t a = 0; a < sizeof axes / sizeof *axes; a++) {
        int64_t length = configuration_whole(config, axes[a][0], 1);
        if (length < 1)
            rest = axes[a][1];
        if (length > 1)
            text_add(mesh, sizeof mesh, "%s%s=%" PRId64, *mesh ? "," : "", axes[a][1], length);
    }
    if (rest)
        fprintf(out, "# --mesh is yours to say: %s%s%s takes the rest of the slice\n", mesh,
                *mesh ? ", and " : "", rest);
    else if (*mesh)
        fprintf(out, "mesh: \"%s\"\n", mesh);
}

/* Finds which outputs MaxText's policy keeps for the backward pass: by the policy's name or, for a custom
 * one, by the entry of each matmul. */
static void find_kept(const struct configuration *config, const char *policy, char keep[static KEPT],
                      bool *on_host)
{
    static const char *const kept[][2] = {{"save_qkv_proj", "q, k, v"},
                                          {"qkv_proj_offloaded", "q, k, v"},
                                          {"save_out_proj", "o"},
                                          {"save_dot_except_mlpwi", "q, k, v, o, down"},
                                          {"save_dot_except_mlp", "q, k, v, o"},
                                          {"minimal_offloaded", "q, k, v, o, gate, up, down"}};
    static const char *const named[][2] = {{"query_proj", "q"}, {"key_proj", "k"},       {"value_proj", "v"},
                                           {"out_proj", "o"},   {"mlpwi_0", "gate"},     {"mlpwi_1", "up"},
                                           {"mlpwo", "down"},   {"context", "attention"}};
    *on_host = strstr(policy, "offloaded");
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
        if (strcmp(policy, kept[k][0]) == 0)
            text_add(keep, KEPT, "%s", kept[k][1]);
    for (size_t n = 0; n < sizeof named / sizeof *named; n++) {
        const char *where = configuration_text(config, named[n][0]);
        bool is_custom = strcmp(policy, "custom") == 0 && where;
        if (is_custom && text_has_word("device offload", where))
            text_add(keep, KEPT, "%s%s", *keep ? ", " : "", named[n][1]);
        *on_host = *on_host || (is_custom && strcmp(where, "offload") == 0);
    }
}

static void write_remat(const struct configuration *config, FILE *out)
{
    const char *policy = configuration_text(config, "remat_policy");
    char keep[KEPT] = "";
    bool on_host = false;
    if (!policy)
        return;
    find_kept(config, policy, keep, &on_host);
    bool is_minimal = strncmp(policy, "minimal", strlen("minimal")) == 0 && !*keep;
    fprintf(out, "remat: %s # %s\n", is_minimal ? "products" : "full", policy);
    if (*keep)
        fprintf(out, "keep: [%s]\n%s", keep, on_host ? "keep-on-host: true\n" : "");
}

/* Writes types, and the matmuls that MaxText fuses. */
static void write_types(const struct configuration *config, FILE *out)
{
    const char *dtype = configuration_text(config, "dtype"),
               *weights = configuration_text(config, "weight_dtype");
    bool qkv = configuration_is(config, "fused_qkv"), mlp = configuration_is(config, "fused_mlp");
    if (dtype)
        fprintf(out, "dtype: %s\n", dtype);
    if (weights)
        fprintf(out, "dtypes: {params: %s, state: %s}\n", weights, weights);
    if (qkv && mlp)
        fputs("fused: true\n", out);
    else if (qkv || mlp)
        fprintf(out, "# not said by a workload: %s = True; simulated: a product each\n",
                qkv ? "fused_qkv" : "fused_mlp");
}

static void write_difference(const char *name, const char *value, const char *instead, FILE *out)
{
    fprintf(out, "# not said by a workload: %s%s%s; simulated: %s\n", name, value ? " = " : "",
            value ? value : "", instead);
}

/* Writes comments on features of the file that are simulated differently or not at all. */
static void write_unsaid(const struct configuration *config, FILE *out)
{
    for (size_t u = 0; u < sizeof unsaid / sizeof *unsaid; u++) {
        const struct node *node = configuration_node(config, unsaid[u].name);
        const char *text = configuration_text(config, unsaid[u].name);
        bool is_scalar = node && node->kind == NODE_SCALAR;
        if (node && !(is_scalar && (!text || !*text || text_has_word(unsaid[u].harmless, text))))
            write_difference(unsaid[u].name, is_scalar ? text : NULL, unsaid[u].instead, out);
    }
    for (int r = 0; r < config->roots; r++)
        for (int i = 0; i < config->root[r]->count; i++) {
            const char *name = config->root[r]->name[i], *tail = strstr(name, "_parallelism");
            bool is_axis = tail && !tail[strlen("_parallelism")] && !config->read[r][i];
            const char *length = is_axis ? configuration_text(config, name) : NULL;
            if (length && strcmp(length, "1") != 0 && strcmp(length, "-1") != 0)
                write_difference(name, length, strncmp(name, "dcn_", 4) == 0 ? "one slice" : "no such axis",
                                 out);
        }
}

/* Is the key replaced by latents (MLA)? They set the width of key heads, and every query head has its own. */
static bool is_in_latents(const struct configuration *config, const char *ours)
{
    bool of_keys = strcmp(ours, "kv-heads") == 0 || strcmp(ours, "head-dim") == 0;
    return of_keys && configuration_has_latents(config) && (number_of(config, ours), true);
}

static int write_model(const struct configuration *config, FILE *out, struct status *st)
{
    fprintf(out,
            "# %s, by icisim model %s; run it with --chip, --slice and --mesh: fsdp=..,%s=..\nmodel: "
            "transformer\n",
            config->root[0]->file, source_names[config->source],
            configuration_experts(config) > 1 ? "ep" : "tp");
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (!is_in_latents(config, keys[k].ours) && write_key(config, &keys[k], out, st) < 0)
            return st->code;
    write_batch(config, out);
    fputs("attention: causal\nkernel: flash\n", out);
    write_block(config, out);
    configuration_print_layers(config, number_of(config, "d-ff"), out);
    if (config->source == FROM_MAXTEXT) {
        write_types(config, out);
        write_mesh(config, out);
        write_remat(config, out);
    } else
        fputs("remat: full\n", out);
    write_unsaid(config, out);
    configuration_print_unread(config, out);
    return 0;
}

/* Composes the whole text first, so that nothing is printed if there is a fault. */
static int print_model(const struct configuration *config, struct status *st)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return status_nomem(st);
    int code = write_model(config, out, st);
    if (!text_end(out, &text))
        return status_nomem(st);
    if (code == 0)
        fputs(text, stdout);
    free(text);
    return code;
}

static int model(struct settings *settings, struct status *st)
{
    const struct setting *said = &settings->of[option_index(option_by_name("config"))];
    if (said->count < 2 || said->count > CONFIGURATION_FILES + 1)
        return status_fail(st, STATUS_INPUT,
                           "which? write icisim model from-hf config.json, or from-maxtext FILE.yml, with up "
                           "to %d files",
                           CONFIGURATION_FILES);
    struct document document[CONFIGURATION_FILES] = {0};
    struct configuration config = {.source = text_choice("source", said->text[0], source_names, st)};
    int code = config.source < 0 ? config.source : 0;
    for (int f = 0; f + 1 < (int)said->count && code == 0; f++) {
        code = document_load(&document[f], said->text[f + 1], st);
        if (code == 0)
            code = configuration_add(&config, document[f].root, st);
    }
    if (code == 0)
        code = print_model(&config, st);
    configuration_free(&config);
    for (int f = 0; f < CONFIGURATION_FILES; f++)
        document_free(&document[f]);
    return code;
}

const struct command command_model = {
    .name = "model",
    .arguments = "from-hf|from-maxtext FILE ...",
    .what = "writes a workload from a configuration of Hugging Face or MaxText",
    .more =
        "The workload goes to stdout: icisim model from-hf config.json >model.yaml, or from-maxtext base.yml "
        "configs/models/llama3.1-8b.yml, of which the later takes precedence. Comments in it name what it "
        "cannot say.",
    .bit = FOR_IMPORT,
    .run = model,
};
