/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the file says of a transformer, and the mesh of its parts. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/front.h"
#include "model/transformer.h"

enum { LAYERS_MOST = 1024, MICRO_BATCHES_MOST = 1024 };
static const int64_t size_most = INT64_C(1) << 32;

/* A word of a list, `fallback` where the key is not there. */
static int read_word(const struct node *root, const char *key, const char *const words[], int fallback,
                     int *index, struct status *st)
{
    const struct node *node = node_get(root, key);
    const char *text;
    *index = fallback;
    if (!node)
        return 0;
    int code = node_text(node, key, &text, st);
    if (code == 0 && (*index = text_index(text, words)) < 0)
        code = node_prefix(node, st, text_unknown(key, text, words, st));
    return code;
}

static int read_truth(const struct node *root, const char *key, bool fallback, bool *value, struct status *st)
{
    const struct node *node = node_get(root, key);
    *value = fallback;
    return node ? node_bool(node, key, value, st) : 0;
}

static int read_sizes(const struct node *root, struct transformer *t, struct status *st)
{
    const struct {
        const char *key, *what;
        int64_t *value;
    } sizes[] = {
        {"d-model", "the width of the residual stream, such as 4096", &t->d},
        {"d-ff", "the width of the feed-forward part, such as 14336", &t->ff},
        {"heads", "how many heads attention has, such as 32", &t->heads},
        {"kv-heads", "how many key-value heads there are, such as 8", &t->kv_heads},
        {"head-dim", "the width of a head, such as 128", &t->head_dim},
        {"sequence", "the tokens of a sequence, such as 4096", &t->sequence},
        {"layers", "how many blocks there are, such as 32", &t->layers},
        {"vocabulary", "how many tokens there are to choose from, such as 128256", &t->vocabulary},
    };
    int code = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && code == 0; i++)
        code = front_count(root, sizes[i].key, sizes[i].what,
                           sizes[i].value == &t->layers ? LAYERS_MOST : size_most, sizes[i].value, st);
    if (code == 0 && t->heads % t->kv_heads)
        code = node_fail(node_get(root, "kv-heads"), st, STATUS_INPUT,
                         "%lld key-value heads do not divide %lld heads; write 1, or what divides them",
                         (long long)t->kv_heads, (long long)t->heads);
    return code;
}

static int read_dtype(const struct node *list, const char *key, enum dtype_id fallback, enum dtype_id *dtype,
                      struct status *st)
{
    const struct node *node = list ? node_get(list, key) : NULL;
    const char *text;
    *dtype = fallback;
    if (!node)
        return 0;
    int code = node_text(node, key, &text, st);
    int found = code == 0 ? dtype_by_name(text, st) : code;
    if (found < 0)
        return code < 0 ? code : node_prefix(node, st, found);
    *dtype = (enum dtype_id)found;
    return 0;
}

/* dtypes: {params: bf16, gradients: f32, state: f32, master: true}; the compute type is --dtype. */
static int read_dtypes(const struct node *root, const struct point *point, struct transformer *t,
                       struct status *st)
{
    static const char *const keys[] = {"params", "gradients", "state", "momentum", "master", NULL};
    const struct node *list = node_get(root, "dtypes");
    int code = list ? node_is_mapping(list, "dtypes", st) : 0;
    int compute = code == 0 ? dtype_by_name(point->work.dtype, st) : code;
    if (compute < 0)
        return compute;
    t->compute = (enum dtype_id)compute;
    if (list && (code = node_only(list, keys, st)) < 0)
        return code;
    code = read_dtype(list, "params", t->compute, &t->params, st);
    if (code == 0)
        code = read_dtype(list, "gradients", t->params, &t->gradients, st);
    if (code == 0)
        code = read_dtype(list, "state", DTYPE_F32, &t->state, st);
    if (code == 0)
        code = read_dtype(list, "momentum", t->state, &t->momentum, st);
    if (code == 0 && list)
        code = read_truth(list, "master", false, &t->master, st);
    return code;
}

/* keep: [q, k, v, o] */
static int read_keep(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const names[] = {"q", "k", "v", "attention", "o", "gate", "up", "down", NULL};
    const struct node *list = node_get(root, "keep");
    int code = list ? node_is_sequence(list, "keep", st) : 0;
    for (int i = 0; list && i < node_count(list) && code == 0; i++) {
        const char *text;
        code = node_text(node_child(list, i), "keep", &text, st);
        int bit = code == 0 ? text_index(text, names) : 0;
        if (bit < 0)
            return node_prefix(node_child(list, i), st, text_unknown("keep", text, names, st));
        t->keep |= 1u << bit;
    }
    return code;
}

static int read_kinds(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const attentions[] = {"none", "full", "causal", NULL}, *const kernels[] = {
                                                                                  "plain", "flash", "ideal",
                                                                                  NULL};
    int attention = 0, kernel = 0, code = read_truth(root, "gated", true, &t->gated, st);
    const struct node *node = node_get(root, "activation");
    const char *name = t->gated ? "silu" : "gelu";
    if (code == 0)
        code = read_truth(root, "tied", false, &t->tied, st);
    if (code == 0)
        code = read_truth(root, "fused", false, &t->fused, st);
    if (code == 0)
        code = read_truth(root, "parallel", false, &t->parallel, st);
    if (code == 0)
        code = read_truth(root, "keep-on-host", false, &t->host, st);
    if (code == 0)
        code = read_keep(root, t, st);
    if (code == 0)
        code = read_word(root, "attention", attentions, ATTENTION_CAUSAL, &attention, st);
    if (code == 0)
        code = read_word(root, "kernel", kernels, KERNEL_FLASH, &kernel, st);
    t->attention = (enum attention)attention;
    t->kernel = (enum kernel)kernel;
    if (code == 0 && node)
        code = node_text(node, "activation", &name, st);
    if (code == 0 && (t->activation = front_function(name, st)) < 0)
        code = node ? node_prefix(node, st, t->activation) : t->activation;
    return code;
}

/* parallelism: {fsdp: "(x,y)", tp: z}; without it, axes have the part that they are named after. */
static int read_parts(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const keys[] = {"dp", "fsdp", "tp", NULL};
    struct axis_list *part[] = {&t->dp, &t->fsdp, &t->tp};
    const struct node *list = node_get(root, "parallelism");
    bool used[AXES_MAX] = {false};
    int code = list ? node_is_mapping(list, "parallelism", st) : 0;
    if (code == 0 && list)
        code = node_only(list, keys, st);
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
    for (int i = 0; i < t->ep.count && code == 0; i++)
        if (!used[t->ep.axis[i]]) {
            used[t->ep.axis[i]] = true;
            t->dp.axis[t->dp.count++] = t->ep.axis[i];
        }
    for (int a = 0; a < t->axes.count && code == 0; a++)
        if (!used[a] && t->axes.axis[a].n > 1)
            code = node_fail(list ? list : root, st, STATUS_INPUT,
                             "mesh axis %s has no part in the parallelism; name it dp, fsdp or tp, or write "
                             "parallelism: {fsdp: %s}",
                             t->axes.axis[a].name, t->axes.axis[a].name);
    return code;
}

/* Makes two axes of one, the first of `n` devices, in all lists. */
static int split_axis(struct transformer *t, int axis, int n, struct status *st)
{
    struct axes before = t->axes;
    struct axis_list *list[] = {&t->dp, &t->fsdp, &t->tp, &t->ep};
    const char *name = before.axis[axis].name;
    int rest = before.axis[axis].n / n, code = 0;
    t->axes = (struct axes){0};
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

/* The axes of tp that cut key-value heads; of what is left, devices hold copies. */
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

/* Tokens of a step, of which each device that cuts the batch gets whole sequences. */
static int read_tokens(const struct node *root, const struct point *point, struct transformer *t,
                       struct status *st)
{
    int shards = axis_list_size(&t->dp, &t->axes) * axis_list_size(&t->fsdp, &t->axes);
    int64_t chips = axes_devices(&t->axes), sequences = 0;
    t->micro_batches = point->schedule.micro_batches;
    if (t->micro_batches < 1 || t->micro_batches > MICRO_BATCHES_MOST)
        return status_fail(st, STATUS_INPUT, "--micro-batches %d: write 1 to %d",
                           point->schedule.micro_batches, MICRO_BATCHES_MOST);
    if (point->work.tokens_per_chip > 0) {
        t->tokens = point->work.tokens_per_chip * chips;
    } else {
        int code = front_count(root, "batch", "the sequences of a step, or tokens-per-chip", size_most,
                               &sequences, st);
        if (code < 0)
            return code;
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

int transformer_read(const struct node *root, const struct point *point, const struct axes *axes,
                     struct transformer *t, struct status *st)
{
    *t = (struct transformer){.axes = *axes, .head = point->work.head};
    int code = read_sizes(root, t, st);
    if (code == 0 && point->work.layers > LAYERS_MOST)
        return status_fail(st, STATUS_INPUT, "--layers %d: write 1 to %d", point->work.layers, LAYERS_MOST);
    if (code == 0 && point->work.layers > 0)
        t->layers = point->work.layers;
    if (code == 0)
        code = read_dtypes(root, point, t, st);
    if (code == 0)
        code = read_kinds(root, t, st);
    if (code == 0)
        code = transformer_read_experts(root, t, st);
    if (code == 0)
        code = read_parts(root, t, st);
    if (code == 0)
        code = read_copies(root, t, st);
    if (code == 0)
        code = read_tokens(root, point, t, st);
    return code;
}
