/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * icisim model from-hf|from-maxtext FILE: a configuration of Hugging Face (config.json) or MaxText (YAML) as a workload.
 *
 * Every key of the file has one of three fates: it is written as a key of ours; it changes the time and has no key of ours, and a
 * comment says so; or it is named in a last comment as one that was not read. So nothing is left out in silence.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "faces/command.h"

enum { FROM_HF, FROM_MAXTEXT, SOURCES, NAMES_MAX = 4 };
static const char *const source_names[] = {"from-hf", "from-maxtext", NULL};

/* Our keys, and what each source calls them, the first that is there. */
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
     {{"moe_intermediate_size", "intermediate_size", "n_inner"},
      {"base_moe_mlp_dim", "base_mlp_dim", "mlp_dim"}},
     true},
    {"heads",
     {{"num_attention_heads", "n_head", "num_heads"}, {"base_num_query_heads", "num_query_heads"}},
     true},
    {"kv-heads", {{"num_key_value_heads"}, {"base_num_kv_heads", "num_kv_heads"}}, false},
    {"head-dim", {{"head_dim"}, {"head_dim"}}, false},
    {"vocabulary", {{"vocab_size"}, {"vocab_size"}}, true},
    {"tied", {{"tie_word_embeddings"}, {"logits_via_embedding"}}, false},
    {"allow-split-physical-axes", {{NULL}, {"allow_split_physical_axes"}}, false},
};

/* What takes time and has no key of ours: unless the value is one of `harmless`. */
static const struct unsaid {
    const char *name, *harmless, *instead;
} unsaid[] = {
    {"sliding_window", "null 0", "attention over the whole sequence"},
    {"sliding_window_size", "0", "attention over the whole sequence"},
    {"attention_type", "global full", "attention over the whole sequence"},
    {"layer_types", "", "equal layers"},
    {"first_k_dense_replace", "0", "equal layers"},
    {"first_num_dense_layers", "0", "equal layers"},
    {"decoder_sparse_step", "1", "experts in every layer"},
    {"interleave_moe_layer_step", "1", "experts in every layer"},
    {"n_shared_experts", "0 null", "no shared experts"},
    {"shared_experts", "0", "no shared experts"},
    {"kv_lora_rank", "0 null", "plain projections of keys and values"},
    {"q_lora_rank", "0 null", "plain projections of queries"},
    {"num_nextn_predict_layers", "0", "one token predicted"},
    {"mtp_num_layers", "0", "one token predicted"},
    {"is_encoder_decoder", "false", "a decoder alone"},
    {"quantization_config", "null", "products of bf16"},
    {"quantization", "", "products of bf16"},
    {"ici_pipeline_parallelism", "1", "no stages"},
    {"ici_context_parallelism", "1", "sequences that are whole on a chip"},
    {"ici_sequence_parallelism", "1", "sequences that are whole on a chip"},
    {"dcn_data_parallelism", "1 -1", "one slice"},
    {"dcn_fsdp_parallelism", "1", "one slice"},
    {"dcn_pipeline_parallelism", "1", "one slice"},
    {"gradient_accumulation_steps", "1", "one micro-batch: --micro-batches"},
};

struct config {
    const struct node *root;
    int source;
    bool *read; /* [root->count]: keys that have had their fate */
};

/* The value of a name, which is read by that; NULL where it is not there or null. */
static const char *value_of(const struct config *config, const char *name)
{
    for (int i = 0; name && i < config->root->count; i++)
        if (strcmp(config->root->name[i], name) == 0) {
            const struct node *node = config->root->child[i];
            config->read[i] = true;
            return node->kind == NODE_SCALAR && !node_is_empty(node) ? node->text : NULL;
        }
    return NULL;
}

static int64_t whole_of(const struct config *config, const char *name, int64_t fallback)
{
    const char *text = value_of(config, name);
    return text ? strtoll(text, NULL, 10) : fallback;
}

/* The text of one of our keys in the file; NULL where it is not there. */
static const char *find_key(const struct config *config, const char *ours)
{
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (int n = 0; strcmp(keys[k].ours, ours) == 0 && n < NAMES_MAX; n++) {
            const char *text = value_of(config, keys[k].theirs[config->source][n]);
            if (text)
                return text;
        }
    return NULL;
}

static int64_t number_of(const struct config *config, const char *ours)
{
    const char *text = find_key(config, ours);
    return text ? strtoll(text, NULL, 10) : 0;
}

/* What a file may leave out, as Hugging Face's models have it; 0: nothing is known. */
static int64_t fallback_of(const struct config *config, const char *ours)
{
    int64_t heads = number_of(config, "heads");
    if (strcmp(ours, "kv-heads") == 0)
        return heads;
    if (strcmp(ours, "head-dim") == 0)
        return heads > 0 ? number_of(config, "d-model") / heads : 0;
    return strcmp(ours, "d-ff") == 0 && value_of(config, "n_embd") ? 4 * number_of(config, "d-model") : 0;
}

static int write_key(const struct config *config, const struct key *key, FILE *out, struct status *st)
{
    const char *text = find_key(config, key->ours);
    int64_t fallback = text ? 0 : fallback_of(config, key->ours);
    if (text)
        fprintf(out, "%s: %s\n", key->ours,
                strcmp(text, "True") == 0    ? "true"
                : strcmp(text, "False") == 0 ? "false"
                                             : text);
    else if (fallback > 0)
        fprintf(out, "%s: %" PRId64 "\n", key->ours, fallback);
    else if (key->needed)
        return status_fail(st, STATUS_INPUT, "%s: there is no %s; is it a configuration of %s?",
                           config->root->file, key->theirs[config->source][0],
                           config->source == FROM_HF ? "Hugging Face" : "MaxText");
    return 0;
}

/* Sequences, and how many tokens a chip has; Hugging Face says the longest sequence only. */
static void write_batch(const struct config *config, FILE *out)
{
    enum { LONG = 4096 };
    if (config->source == FROM_MAXTEXT) {
        int64_t sequence = whole_of(config, "max_target_length", LONG);
        const char *batch = value_of(config, "per_device_batch_size");
        fprintf(out, "sequence: %" PRId64 "\ntokens-per-chip: %.0f\n", sequence,
                (batch ? strtod(batch, NULL) : 1) * (double)sequence);
        return;
    }
    int64_t longest = whole_of(config, "max_position_embeddings", whole_of(config, "n_positions", LONG));
    int64_t sequence = longest < LONG ? longest : LONG;
    fprintf(out, "sequence: %" PRId64 " # of %" PRId64 " at most; --tokens-per-chip is yours to say, too\n",
            sequence, longest);
    fprintf(out, "tokens-per-chip: %" PRId64 "\n", sequence);
}

static void write_experts(const struct config *config, FILE *out)
{
    int64_t experts = whole_of(config, "num_local_experts", 0);
    experts = whole_of(config, "num_experts", experts);
    experts = whole_of(config, "n_routed_experts", experts);
    int64_t taken = whole_of(config, "num_experts_per_tok", 1);
    const char *capacity = value_of(config, "capacity_factor");
    if (experts > 1)
        fprintf(out,
                "moe: {experts: %" PRId64 ", top-k: %" PRId64 ", capacity-factor: %s, expert-axis: ep, "
                "routing: {draw: uniform, seed: 1}} # lay a mesh with ep\n",
                experts, taken, capacity && strtod(capacity, NULL) > 0 ? capacity : "1.25");
}

/* The axes that MaxText names and that are ours, where no length is left to it (-1). */
static void write_mesh(const struct config *config, FILE *out)
{
    static const char *const axes[][2] = {{"ici_data_parallelism", "dp"},
                                          {"ici_fsdp_parallelism", "fsdp"},
                                          {"ici_tensor_parallelism", "tp"},
                                          {"ici_expert_parallelism", "ep"}};
    char mesh[128] = "";
    bool known = true;
    for (size_t a = 0; a < sizeof axes / sizeof *axes; a++) {
        int64_t length = whole_of(config, axes[a][0], 1);
        known = known && length > 0;
        if (length > 1)
            text_add(mesh, sizeof mesh, "%s%s=%" PRId64, *mesh ? "," : "", axes[a][1], length);
    }
    if (known && *mesh)
        fprintf(out, "mesh: \"%s\"\n", mesh);
    const char *remat = value_of(config, "remat_policy");
    if (remat)
        fprintf(out, "remat: %s # %s\n",
                strcmp(remat, "full") == 0                                            ? "full"
                : strncmp(remat, "minimal", 7) == 0 || strncmp(remat, "save", 4) == 0 ? "products"
                                                                                      : "none",
                remat);
}

/* What the simulation has instead of what the file asks for. */
static void write_unsaid(const struct config *config, FILE *out)
{
    for (size_t u = 0; u < sizeof unsaid / sizeof *unsaid; u++) {
        const struct node *node = node_get(config->root, unsaid[u].name);
        const char *text = value_of(config, unsaid[u].name);
        bool is_scalar = node && node->kind == NODE_SCALAR;
        if (node && !(is_scalar && (!text || !*text || text_has_word(unsaid[u].harmless, text))))
            fprintf(out, "# not said by a workload: %s%s%s; simulated: %s\n", unsaid[u].name,
                    is_scalar ? " = " : "", is_scalar ? text : "", unsaid[u].instead);
    }
    size_t width = 0;
    for (int i = 0; i < config->root->count; i++)
        if (!config->read[i]) {
            width = width == 0 || width > 100 ? (size_t)fprintf(out, "%s# not read: ", width ? "\n" : "")
                                              : width + 1;
            width += (size_t)fprintf(out, "%s ", config->root->name[i]);
        }
    if (width)
        putc('\n', out);
}

static int write_model(const struct config *config, FILE *out, struct status *st)
{
    fprintf(out,
            "# %s, by icisim model %s; run it with --chip, --slice and --mesh: fsdp=..,tp=..\nmodel: "
            "transformer\n",
            config->root->file, source_names[config->source]);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (write_key(config, &keys[k], out, st) < 0)
            return st->code;
    write_batch(config, out);
    fputs("attention: causal\nkernel: flash\n", out);
    write_experts(config, out);
    if (config->source == FROM_MAXTEXT)
        write_mesh(config, out);
    else
        fputs("remat: full\n", out);
    write_unsaid(config, out);
    return 0;
}

/* The whole text first, so that a fault prints none of it. */
static int print_model(const struct config *config, struct status *st)
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
    if (said->count != 2)
        return status_fail(st, STATUS_INPUT,
                           "which? write icisim model from-hf config.json, or from-maxtext FILE.yml");
    struct document document = {0};
    struct config config = {.source = text_choice("source", said->text[0], source_names, st)};
    int code = config.source < 0 ? config.source : document_load(&document, said->text[1], st);
    if (code == 0)
        code = node_is_mapping(document.root, "a configuration", st);
    if (code == 0) {
        config.root = document.root;
        config.read = calloc((size_t)document.root->count + 1, sizeof *config.read);
        code = config.read ? print_model(&config, st) : status_nomem(st);
    }
    free(config.read);
    document_free(&document);
    return code;
}

const struct command command_model = {
    .name = "model",
    .arguments = "from-hf|from-maxtext FILE",
    .what = "writes a workload from a configuration of Hugging Face or MaxText",
    .more = "The workload goes to stdout: icisim model from-hf config.json >model.yaml. Comments in it name "
            "what it cannot say.",
    .bit = FOR_IMPORT,
    .run = model,
};
