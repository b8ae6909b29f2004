/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a transformer from a workload file, and the roles of the mesh axes. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/transformer.h"

enum { LAYERS_MOST = 1024 };
#define SIZE_MOST 0x1p32

/* mla: {q-rank: 1536, kv-rank: 512, nope-dim: 128, rope-dim: 64, v-dim: 128}; each head then has keys of its own. */
static int read_latents(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const names[] = {"q-rank", "kv-rank", "nope-dim", "rope-dim", "v-dim", NULL};
    struct latents *l = &t->latents;
    const struct node *list;
    const struct front_key keys[] = {
        {"q-rank", FRONT_COUNT, .to = &l->q, .most = SIZE_MOST},
        {"kv-rank", FRONT_COUNT, &l->kv, "the width of the latents of keys and values, such as 512",
         .most = SIZE_MOST},
        {"nope-dim", FRONT_COUNT, &l->plain, "the width of a head's own part of keys, such as 128",
         .most = SIZE_MOST},
        {"rope-dim", FRONT_COUNT, &l->rotary, "the width of the part that all heads share, such as 64",
         .most = SIZE_MOST},
        {"v-dim", FRONT_COUNT, &t->value_dim, "the width of a head of values, such as 128",
         .most = SIZE_MOST}};
    if (front_mapping(root, "mla", names, &list, st) < 0 || FRONT_READ(list, keys, st) < 0)
        return st->code;
    const char *other = !list ? NULL : node_get(root, "kv-heads") ? "kv-heads" : "head-dim";
    if (list && (node_get(root, "kv-heads") || node_get(root, "head-dim")))
        return node_fail(node_get(root, other), st, STATUS_INPUT,
                         "with mla each head has keys of its own, of nope-dim + rope-dim; leave out %s",
                         other);
    t->kv_heads = list ? 1 : 0;
    t->head_dim = l->plain + l->rotary;
    return 0;
}

/* Adds the bits of the names in a list. */
static int read_bits(const struct node *root, const char *key, const char *const names[],
                     const unsigned bits[], unsigned *set, struct status *st)
{
    const struct node *list = node_get(root, key);
    if (list && node_is_sequence(list, key, st) < 0)
        return st->code;
    for (int i = 0; list && i < list->count; i++) {
        const char *text;
        if (node_text(list->child[i], key, &text, st) < 0)
            return st->code;
        int which = text_index(text, names);
        if (which < 0)
            return node_prefix(list->child[i], st, text_unknown(key, text, names, st));
        *set |= bits[which];
    }
    return 0;
}

/* bias: [q, k, v, o, router, experts] */
static int read_bias(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const names[] = {"q", "k", "v", "o", "router", "experts", NULL};
    static const unsigned bits[] = {1, 2, 4, 8, 16, 7 << 5}, of_qkv = 7, of_experts = ~15u;
    if (read_bits(root, "bias", names, bits, &t->bias, st) < 0)
        return st->code;
    if (t->latents.kv > 0 && (t->bias & of_qkv || t->qk_norm))
        return node_fail(node_get(root, "mla"), st, STATUS_INPUT,
                         "latents have norms, and no biases; leave out qk-norm and bias of q, k and v");
    if (t->bias & of_experts && !node_get(root, "moe"))
        return node_fail(node_get(root, "bias"), st, STATUS_INPUT,
                         "there are no experts, and no router; add moe, or leave them out");
    if (t->sinks && t->attention == ATTENTION_NONE)
        return node_fail(node_get(root, "sinks"), st, STATUS_INPUT,
                         "sinks are of attention; write attention: causal or full");
    return 0;
}

/* window: 4096, in all layers except every whole_every-th. */
static int read_window(const struct node *root, struct transformer *t, struct status *st)
{
    const struct front_key keys[] = {
        {"window", FRONT_COUNT, .to = &t->window, .most = SIZE_MOST},
        {"full-attention-every", FRONT_COUNT, .to = &t->whole_every, .most = LAYERS_MOST}};
    if (FRONT_READ(root, keys, st) < 0)
        return st->code;
    if (t->whole_every > 0 && t->window == 0)
        return node_fail(node_get(root, "full-attention-every"), st, STATUS_INPUT,
                         "without a window all layers attend in full; add window, such as window: 4096");
    if (t->window > 0 && t->attention != ATTENTION_CAUSAL)
        return node_fail(node_get(root, "window"), st, STATUS_INPUT,
                         "a window is of the tokens before; write attention: causal");
    return 0;
}

static int read_keys(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const attentions[] = {"none", "full", "causal", NULL};
    static const char *const kernels[] = {"plain", "flash", "ideal", NULL};
    static const char *const residuals[] = {"sequence", "whole", NULL};
    int residual = 0;
    if (read_latents(root, t, st) < 0)
        return st->code;
    const bool latents = t->latents.kv > 0;
    const struct front_key keys[] = {
        {"d-model", FRONT_COUNT, &t->d, "the width of the residual stream, such as 4096", .most = SIZE_MOST},
        {"d-ff", FRONT_COUNT, &t->ff, "the width of the feed-forward part, such as 14336", .most = SIZE_MOST},
        {"heads", FRONT_COUNT, &t->heads, "how many heads attention has, such as 32", .most = SIZE_MOST},
        {"kv-heads", FRONT_COUNT, &t->kv_heads,
         latents ? NULL : "how many key-value heads there are, such as 8", .most = SIZE_MOST},
        {"head-dim", FRONT_COUNT, &t->head_dim, latents ? NULL : "the width of a head, such as 128",
         .most = SIZE_MOST},
        {"sequence", FRONT_COUNT, &t->sequence, "the tokens of a sequence, such as 4096", .most = SIZE_MOST},
        {"layers", FRONT_COUNT, &t->layers, "how many blocks there are, such as 32", .most = LAYERS_MOST},
        {"vocabulary", FRONT_COUNT, &t->vocabulary,
         "how many tokens there are to choose from, such as 128256", .most = SIZE_MOST},
        {"gated", FRONT_BOOL, .to = &t->gated},
        {"tied", FRONT_BOOL, .to = &t->tied},
        {"fused", FRONT_BOOL, .to = &t->fused},
        {"parallel", FRONT_BOOL, .to = &t->parallel},
        {"qk-norm", FRONT_BOOL, .to = &t->qk_norm},
        {"sinks", FRONT_BOOL, .to = &t->sinks},
        {"keep-on-host", FRONT_BOOL, .to = &t->host},
        {"residual", FRONT_WORD, .to = &residual, .words = residuals},
        {"attention", FRONT_WORD, .to = &t->attention, .words = attentions},
        {"kernel", FRONT_WORD, .to = &t->kernel, .words = kernels},
        {"activation", FRONT_FUNCTION, .to = &t->activation}};
    if (FRONT_READ(root, keys, st) < 0)
        return st->code;
    t->whole = residual;
    t->kv_heads = latents ? t->heads : t->kv_heads;
    t->value_dim = latents ? t->value_dim : t->head_dim;
    if (latents && (t->parallel || t->attention == ATTENTION_NONE))
        return node_fail(node_get(root, "mla"), st, STATUS_INPUT,
                         "mla is attention with a norm of its own; write parallel: false and attention: "
                         "causal or full");
    if (t->heads % t->kv_heads)
        return node_fail(node_get(root, "kv-heads"), st, STATUS_INPUT,
                         "%lld key-value heads do not divide %lld heads; write 1, or what divides them",
                         (long long)t->kv_heads, (long long)t->heads);
    if (t->activation < 0)
        t->activation = front_function(t->gated ? "silu" : "gelu", st);
    return read_window(root, t, st) < 0 ? st->code : read_bias(root, t, st);
}

/* dtypes: {params: bf16, gradients: f32, state: f32, master: true}; the compute type is --dtype. */
static int read_dtypes(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const names[] = {"params", "gradients", "state", "momentum", "master", NULL};
    const enum dtype_id none = DTYPE_COUNT;
    const struct node *list;
    const struct front_key keys[] = {{"params", FRONT_DTYPE, .to = &t->params},
                                     {"gradients", FRONT_DTYPE, .to = &t->gradients},
                                     {"state", FRONT_DTYPE, .to = &t->state},
                                     {"momentum", FRONT_DTYPE, .to = &t->momentum},
                                     {"master", FRONT_BOOL, .to = &t->master}};
    t->params = t->compute;
    t->gradients = t->momentum = none;
    t->state = DTYPE_F32;
    if (front_mapping(root, "dtypes", names, &list, st) < 0 || FRONT_READ(list, keys, st) < 0)
        return st->code;
    t->gradients = t->gradients == none ? t->params : t->gradients;
    t->momentum = t->momentum == none ? t->state : t->momentum;
    return 0;
}

/* Reads a type; those of eight bits also by their common names. */
static int read_type(const struct node *list, const char *name, enum dtype_id *dtype, struct status *st)
{
    const struct node *node = list ? node_get(list, name) : NULL;
    const char *text;
    if (!node)
        return 0;
    if (node_text(node, name, &text, st) < 0)
        return st->code;
    int found = strcmp(text, "fp8") == 0 ? DTYPE_F8E4M3FN : dtype_by_name(text, st);
    if (found < 0)
        return node_prefix(node, st, found);
    *dtype = (enum dtype_id)found;
    return 0;
}

/* quantize: {weights: int8, products: int8, rest: bf16}. eval computes without it. */
static int read_quantize(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const names[] = {"weights", "products", "rest", NULL};
    const struct node *list;
    if (front_mapping(root, "quantize", names, &list, st) < 0 || read_type(list, "rest", &t->compute, st) < 0)
        return st->code;
    t->gathered = t->multiplied = t->compute;
    return read_type(list, "products", &t->multiplied, st) < 0 ? st->code
                                                               : read_type(list, "weights", &t->gathered, st);
}

/* keep: [q, k, v, o] */
static int read_keep(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const names[] = {"q", "k", "v", "attention", "o", "gate", "up", "down", NULL};
    static const unsigned bits[] = {1u << WEIGHT_Q, 1u << WEIGHT_K,    1u << WEIGHT_V,  KEEP_ATTENTION,
                                    1u << WEIGHT_O, 1u << WEIGHT_GATE, 1u << WEIGHT_UP, 1u << WEIGHT_DOWN};
    return read_bits(root, "keep", names, bits, &t->keep, st);
}

/* parallelism: {fsdp: "(x,y)", tp: z}; without it, the name of an axis is its role. */
static int read_parts(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const keys[] = {"dp", "fsdp", "tp", NULL};
    struct axis_list *part[] = {&t->dp, &t->fsdp, &t->tp};
    const struct node *list;
    bool used[AXES_MAX] = {false};
    int code = front_mapping(root, "parallelism", keys, &list, st);
    for (int p = 0; keys[p] && code == 0; p++) {
        const struct node *node = list ? node_get(list, keys[p]) : NULL;
        const char *text = axes_find(&t->axes, keys[p]) >= 0 ? keys[p] : "";
        if (node && (code = node_text(node, keys[p], &text, st)) < 0)
            return code;
        code = axis_list_parse(text, &t->axes, part[p], st);
        if (code < 0 && node)
            return node_prefix(node, st, code);
        for (int i = 0; i < part[p]->count && code == 0; i++) {
            int axis = part[p]->axis[i];
            if (used[axis])
                return node_fail(list ? list : root, st, STATUS_INPUT,
                                 "axis %s has two parts in the parallelism; give it one",
                                 t->axes.axis[axis].name);
            used[axis] = true;
        }
    }
    for (int i = 0; i < t->moe.over.count && code == 0; i++)
        if (!used[t->moe.over.axis[i]]) {
            used[t->moe.over.axis[i]] = true;
            t->dp.axis[t->dp.count++] = t->moe.over.axis[i];
        }
    for (int a = 0; a < t->axes.count && code == 0; a++)
        if (!used[a] && t->axes.axis[a].n > 1)
            code = node_fail(
                list ? list : root, st, STATUS_INPUT,
                "mesh axis %s has no part in the parallelism; axes are dp (data), fsdp (weights gathered), "
                "tp (tensor), or experts over one; another name is written parallelism: {fsdp: %s}; "
                "stages and contexts (pp, cp, sp) are no axes of a transformer",
                t->axes.axis[a].name, t->axes.axis[a].name);
    return code;
}

/* Splits an axis in two, the first of `n` devices, in all lists. */
static int split_axis(struct transformer *t, int axis, int n, struct status *st)
{
    struct axes before = t->axes;
    struct axis_list *list[] = {&t->dp, &t->fsdp, &t->tp, &t->moe.over};
    const char *name = before.axis[axis].name;
    int rest = before.axis[axis].n / n, code = 0;
    t->axes = (struct axes){0};
    /* both parts have its bit */
    t->squares = (t->squares & ((2u << axis) - 1)) | t->squares >> axis << (axis + 1);
    for (int a = 0; a < before.count && code == 0; a++) {
        char part[2][2 * AXIS_NAME];
        snprintf(part[0], sizeof part[0], "%s:(1)%d", name, n);
        snprintf(part[1], sizeof part[1], "%s:(%d)%d", name, n, rest);
        code = axes_add(&t->axes, a == axis ? part[0] : before.axis[a].name, a == axis ? n : before.axis[a].n,
                        st);
        if (code == 0 && a == axis)
            code = axes_add(&t->axes, part[1], rest, st);
    }
    for (int l = 0; l < 4 && code == 0; l++) {
        struct axis_list made = {0};
        for (int i = 0; i < list[l]->count; i++) {
            int a = list[l]->axis[i];
            made.axis[made.count++] = a + (a > axis);
            if (a == axis)
                made.axis[made.count++] = axis + 1;
        }
        *list[l] = made;
    }
    return code;
}

/* Finds the axes of tp that cut key-value heads; along the others devices hold copies. */
static int read_copies(const struct node *root, struct transformer *t, struct status *st)
{
    int64_t left = t->kv_heads;
    int tp = axis_list_size(&t->tp, &t->axes);
    if (t->heads % tp || t->ff % tp || (t->kv_heads % tp && tp % t->kv_heads))
        return node_fail(root, st, STATUS_INPUT,
                         "tp=%d does not divide %lld heads, %lld key-value heads and a width of %lld; "
                         "choose a tp that divides heads and width",
                         tp, (long long)t->heads, (long long)t->kv_heads, (long long)t->ff);
    if (t->head && t->vocabulary % tp)
        return node_fail(node_get(root, "vocabulary"), st, STATUS_INPUT,
                         "tp=%d does not divide a vocabulary of %lld; the next one that it divides is %lld",
                         tp, (long long)t->vocabulary, (long long)((t->vocabulary / tp + 1) * tp));
    for (int i = 0; i < t->tp.count; i++) {
        int axis = t->tp.axis[i], n = t->axes.axis[axis].n;
        if (left > 1 && left < n) {
            if (n % left)
                return node_fail(root, st, STATUS_INPUT,
                                 "tp axis %s of %d cannot be cut for %lld key-value heads; order the axes of "
                                 "tp otherwise",
                                 t->axes.axis[axis].name, n, (long long)left);
            int code = split_axis(t, axis, (int)left, st);
            if (code < 0)
                return node_prefix(root, st, code);
            n = (int)left;
        }
        struct axis_list *list = left > 1 ? &t->kv : &t->copies;
        list->axis[list->count++] = t->tp.axis[i];
        left = left > 1 ? left / n : left;
    }
    return 0;
}

/* Reads the tokens of a step; every device that shards the batch must get whole sequences. */
static int read_tokens(const struct front_source *source, struct transformer *t, struct status *st)
{
    const struct node *root = source->root;
    const struct point *point = source->point;
    int shards = axis_list_size(&t->dp, &t->axes) * axis_list_size(&t->fsdp, &t->axes);
    int64_t chips = axes_devices(&t->axes), sequences = 0;
    const struct front_key batch[] = {
        {"batch", FRONT_COUNT, &sequences, "the sequences of a step, or tokens-per-chip", .most = SIZE_MOST}};
    t->micro_batches = point->schedule.micro_batches;
    t->tokens = point->work.tokens_per_chip * source->devices;
    if (t->tokens <= 0) {
        if (FRONT_READ(root, batch, st) < 0)
            return st->code;
        t->tokens = sequences * t->sequence;
    }
    int64_t rows = t->tokens / (shards * t->micro_batches), tp = chips / shards;
    int64_t whole = t->attention == ATTENTION_NONE ? tp : t->sequence;
    if (t->tokens % (shards * t->micro_batches) || rows % whole || rows % tp)
        return node_fail(
            root, st, STATUS_UNEVEN,
            "%.6g tokens for %d shards of the batch, in %lld micro-batch%s, are no whole sequences "
            "of %lld each; give %.6g tokens a chip, or a multiple of it",
            (double)t->tokens, shards, (long long)t->micro_batches, t->micro_batches == 1 ? "" : "es",
            (long long)whole, (double)(whole * t->micro_batches) / (double)tp);
    return 0;
}

int transformer_read(const struct front_source *source, struct transformer *t, struct status *st)
{
    const struct node *root = source->root;
    const struct point_work *work = &source->point->work;
    *t = (struct transformer){.axes = *source->axes,
                              .squares = source->squares,
                              .compute = source->dtype,
                              .head = work->head,
                              .textbook = source->point->schedule.plan == PLAN_TEXTBOOK,
                              .optimizer = (enum optimizer)work->optimizer,
                              .sharded = work->shard_optimizer,
                              .gated = true,
                              .attention = ATTENTION_CAUSAL,
                              .kernel = KERNEL_FLASH,
                              .activation = -1};
    if (read_keys(root, t, st) < 0)
        return st->code;
    if (work->layers > LAYERS_MOST)
        return status_fail(st, STATUS_INPUT, "--layers %d: write 1 to %d", work->layers, LAYERS_MOST);
    if (work->layers > 0)
        t->layers = work->layers;
    return read_quantize(root, t, st) < 0 || read_dtypes(root, t, st) < 0 || read_keep(root, t, st) < 0 ||
                   transformer_read_experts(root, t, st) < 0 || read_parts(root, t, st) < 0 ||
                   read_copies(root, t, st) < 0
               ? st->code
               : read_tokens(source, t, st);
}
