/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which weights a transformer has, and how they lie on the devices. */
#include "model/transformer.h"

static const char *const names[WEIGHTS] = {
    [WEIGHT_NORM_1] = "na",      [WEIGHT_Q] = "wq",           [WEIGHT_K] = "wk",
    [WEIGHT_V] = "wv",           [WEIGHT_O] = "wo",           [WEIGHT_NORM_2] = "nf",
    [WEIGHT_GATE] = "wg",        [WEIGHT_UP] = "wu",          [WEIGHT_DOWN] = "wd",
    [WEIGHT_EMBED] = "embed",    [WEIGHT_NORM] = "norm",      [WEIGHT_UNEMBED] = "unembed",
    [WEIGHT_ROUTER] = "router",  [WEIGHT_EXPERT_GATE] = "eg", [WEIGHT_EXPERT_UP] = "eu",
    [WEIGHT_EXPERT_DOWN] = "ed",
};

static void set_matrix(struct weight *w, int64_t rows, int64_t columns, int cut)
{
    w->dims = 2;
    w->dim[0] = rows;
    w->dim[1] = columns;
    w->cut = cut;
}

static void set_shape(const struct transformer *t, enum weight_id id, struct weight *w)
{
    int64_t q = t->heads * t->head_dim, kv = t->kv_heads * t->head_dim;
    switch (id) {
    case WEIGHT_Q:
        set_matrix(w, t->d, q, 1);
        break;
    case WEIGHT_K:
    case WEIGHT_V:
        set_matrix(w, t->d, kv, 1);
        break;
    case WEIGHT_O:
        set_matrix(w, q, t->d, 0);
        break;
    case WEIGHT_GATE:
        if (t->gated)
            set_matrix(w, t->d, t->ff, 1);
        break;
    case WEIGHT_UP:
        set_matrix(w, t->d, t->ff, 1);
        break;
    case WEIGHT_DOWN:
        set_matrix(w, t->ff, t->d, 0);
        break;
    case WEIGHT_ROUTER:
        if (t->experts)
            set_matrix(w, t->d, t->experts, -1);
        break;
    case WEIGHT_EXPERT_GATE:
        if (t->experts && t->gated)
            set_matrix(w, t->experts * t->d, t->expert_ff, 0);
        break;
    case WEIGHT_EXPERT_UP:
        if (t->experts)
            set_matrix(w, t->experts * t->d, t->expert_ff, 0);
        break;
    case WEIGHT_EXPERT_DOWN:
        if (t->experts)
            set_matrix(w, t->experts * t->expert_ff, t->d, 0);
        break;
    case WEIGHT_EMBED:
        set_matrix(w, t->vocabulary, t->d, 0);
        break;
    case WEIGHT_UNEMBED:
        if (!t->tied)
            set_matrix(w, t->vocabulary, t->d, 0);
        break;
    case WEIGHT_NORM_2:
        if (t->parallel)
            break;
        /* fall through */
    default: /* norms */
        w->dims = 1;
        w->dim[0] = t->d;
        break;
    }
}

static bool lists(const struct axis_list *list, int axis)
{
    for (int i = 0; i < list->count; i++)
        if (list->axis[i] == axis)
            return true;
    return false;
}

/* Adds axes that do not cut the weight itself. */
static void share(struct weight *w, const struct axis_list *more)
{
    for (int i = 0; i < more->count; i++)
        if (!lists(&w->over, more->axis[i]))
            w->shared.axis[w->shared.count++] = more->axis[i];
}

static bool is_of_experts(enum weight_id id)
{
    return id == WEIGHT_EXPERT_GATE || id == WEIGHT_EXPERT_UP || id == WEIGHT_EXPERT_DOWN;
}

bool transformer_has_experts(const struct transformer *t, int64_t layer)
{
    return t->experts > 0 && (layer + 1) % t->every == 0;
}

bool transformer_has(enum weight_id id, bool experts)
{
    bool dense = id == WEIGHT_GATE || id == WEIGHT_UP || id == WEIGHT_DOWN;
    return experts ? !dense : !is_of_experts(id) && id != WEIGHT_ROUTER;
}

int64_t transformer_layers_with(const struct transformer *t, enum weight_id id)
{
    int64_t with = t->experts > 0 ? t->layers / t->every : 0;
    if (id >= BLOCK_WEIGHTS)
        return 1;
    if (is_of_experts(id) || id == WEIGHT_ROUTER)
        return with;
    return id == WEIGHT_GATE || id == WEIGHT_UP || id == WEIGHT_DOWN ? t->layers - with : t->layers;
}

struct weight transformer_weight(const struct transformer *t, enum weight_id id)
{
    struct weight w = {.name = names[id], .cut = -1};
    set_shape(t, id, &w);
    bool of_kv = id == WEIGHT_K || id == WEIGHT_V;
    if (w.cut >= 0)
        w.over = of_kv ? t->kv : is_of_experts(id) ? t->ep : t->tp;
    if (w.cut < 0 ? w.dims > 0 : is_of_experts(id))
        share(&w, &t->tp); /* no dim of it is of tp, so that all chips share it */
    share(&w, &t->fsdp);
    if (of_kv)
        w.copies = t->copies;
    int64_t elements = w.dims ? 1 : 0, parts = axis_list_size(&w.over, &t->axes),
            devices = axis_list_size(&w.shared, &t->axes);
    for (int d = 0; d < w.dims; d++) {
        w.local[d] = d == w.cut ? (w.dim[d] + parts - 1) / parts : w.dim[d];
        elements *= w.local[d];
    }
    w.chunk = (elements + devices - 1) / devices;
    return w;
}

static int64_t elements(const struct transformer *t, enum weight_id id)
{
    struct weight w = transformer_weight(t, id);
    return w.dims == 0 ? 0 : w.dims == 1 ? w.dim[0] : w.dim[0] * w.dim[1];
}

int64_t transformer_block_parameters(const struct transformer *t, bool experts)
{
    int64_t sum = 0;
    for (enum weight_id id = 0; id < BLOCK_WEIGHTS; id++)
        if (transformer_weight(t, id).dims == 2 && transformer_has(id, experts))
            sum += elements(t, id);
    return sum;
}

int64_t transformer_parameters(const struct transformer *t)
{
    int64_t sum = 0;
    for (enum weight_id id = 0; id < WEIGHTS; id++)
        sum += elements(t, id) * transformer_layers_with(t, id);
    return sum;
}

int64_t transformer_local_tokens(const struct transformer *t)
{
    return t->tokens / t->micro_batches / axis_list_size(&t->dp, &t->axes) /
           axis_list_size(&t->fsdp, &t->axes);
}

int64_t transformer_device_tokens(const struct transformer *t)
{
    return transformer_local_tokens(t) / axis_list_size(&t->tp, &t->axes);
}

/* Two products of S x head_dim a head. */
double transformer_attention_flops(const struct transformer *t)
{
    static const double share[] = {[ATTENTION_NONE] = 0, [ATTENTION_FULL] = 1, [ATTENTION_CAUSAL] = 0.5};
    return share[t->attention] * 4 * (double)t->sequence * (double)(t->heads * t->head_dim);
}

double transformer_block_flops(const struct transformer *t, bool experts)
{
    double used = (double)transformer_block_parameters(t, experts);
    for (enum weight_id id = 0; id < BLOCK_WEIGHTS && experts; id++)
        if (is_of_experts(id))
            used -= (double)elements(t, id) * (t->experts - t->top_k) / t->experts;
    return 2 * used + transformer_attention_flops(t);
}
