/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which weights a transformer has, how they lie on the devices, and what they add up to. */
#include "model/transformer.h"

/* Sizes of weights: of the whole model. */
enum width { NO_WIDTH, D, Q, KV, FF, EXPERTS, EXPERTS_D, EXPERTS_FF, EXPERT_FF, VOCABULARY, WIDTHS };
/* The layers that have a weight: all of them, those without experts, those with; or it is of no block. */
enum where { EVERYWHERE, DENSE, OF_EXPERTS, NO_BLOCK };

/* The dim `cut` lies over tp, of experts over their axis. */
static const struct {
    const char *name;
    enum width rows, columns; /* of a vector no columns */
    int cut;
    enum where where;
} weights[WEIGHTS] = {
    [WEIGHT_NORM_1] = {"na", D, NO_WIDTH, -1, EVERYWHERE},
    [WEIGHT_Q] = {"wq", D, Q, 1, EVERYWHERE},
    [WEIGHT_K] = {"wk", D, KV, 1, EVERYWHERE},
    [WEIGHT_V] = {"wv", D, KV, 1, EVERYWHERE},
    [WEIGHT_O] = {"wo", Q, D, 0, EVERYWHERE},
    [WEIGHT_NORM_2] = {"nf", D, NO_WIDTH, -1, EVERYWHERE},
    [WEIGHT_GATE] = {"wg", D, FF, 1, DENSE},
    [WEIGHT_UP] = {"wu", D, FF, 1, DENSE},
    [WEIGHT_DOWN] = {"wd", FF, D, 0, DENSE},
    [WEIGHT_ROUTER] = {"router", D, EXPERTS, -1, OF_EXPERTS},
    [WEIGHT_EXPERT_GATE] = {"eg", EXPERTS_D, EXPERT_FF, 0, OF_EXPERTS},
    [WEIGHT_EXPERT_UP] = {"eu", EXPERTS_D, EXPERT_FF, 0, OF_EXPERTS},
    [WEIGHT_EXPERT_DOWN] = {"ed", EXPERTS_FF, D, 0, OF_EXPERTS},
    [WEIGHT_EMBED] = {"embed", VOCABULARY, D, 0, NO_BLOCK},
    [WEIGHT_NORM] = {"norm", D, NO_WIDTH, -1, NO_BLOCK},
    [WEIGHT_UNEMBED] = {"unembed", VOCABULARY, D, 0, NO_BLOCK},
};

static bool is_there(const struct transformer *t, enum weight_id id)
{
    bool gate = id == WEIGHT_GATE || id == WEIGHT_EXPERT_GATE;
    return !(gate && !t->gated) && !(id == WEIGHT_NORM_2 && t->parallel) &&
           !(id == WEIGHT_UNEMBED && t->tied) && !(weights[id].where == OF_EXPERTS && t->moe.experts == 0);
}

static void set_shape(const struct transformer *t, enum weight_id id, struct weight *w)
{
    const int64_t width[WIDTHS] = {[D] = t->d,
                                   [Q] = t->heads * t->head_dim,
                                   [KV] = t->kv_heads * t->head_dim,
                                   [FF] = t->ff,
                                   [EXPERTS] = t->moe.experts,
                                   [EXPERTS_D] = t->moe.experts * t->d,
                                   [EXPERTS_FF] = t->moe.experts * t->expert_ff,
                                   [EXPERT_FF] = t->expert_ff,
                                   [VOCABULARY] = t->vocabulary};
    if (!is_there(t, id))
        return;
    w->dims = weights[id].columns == NO_WIDTH ? 1 : 2;
    w->cut = weights[id].cut;
    w->dim[0] = width[weights[id].rows];
    w->dim[1] = width[weights[id].columns];
}

/* Adds axes that do not cut the weight itself. */
static void share(struct weight *w, const struct axis_list *more)
{
    for (int i = 0; i < more->count; i++)
        if (!axis_list_has(&w->over, more->axis[i]))
            w->shared.axis[w->shared.count++] = more->axis[i];
}

/* Is it cut over the experts' axis? */
static bool is_of_experts(enum weight_id id)
{
    return weights[id].where == OF_EXPERTS && id != WEIGHT_ROUTER;
}

bool transformer_has_experts(const struct transformer *t, int64_t layer)
{
    return t->moe.experts > 0 && (layer + 1) % t->every == 0;
}

bool transformer_has(enum weight_id id, bool experts)
{
    return weights[id].where != (experts ? DENSE : OF_EXPERTS);
}

int64_t transformer_layers_with(const struct transformer *t, enum weight_id id)
{
    int64_t with = t->moe.experts > 0 ? t->layers / t->every : 0;
    const int64_t layers[] = {
        [EVERYWHERE] = t->layers, [DENSE] = t->layers - with, [OF_EXPERTS] = with, [NO_BLOCK] = 1};
    return layers[weights[id].where];
}

struct weight transformer_weight(const struct transformer *t, enum weight_id id)
{
    struct weight w = {.name = weights[id].name, .cut = -1};
    set_shape(t, id, &w);
    bool of_kv = id == WEIGHT_K || id == WEIGHT_V;
    if (w.cut >= 0)
        w.over = of_kv ? t->kv : is_of_experts(id) ? t->moe.over : t->tp;
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
    double used = 0;
    for (enum weight_id id = 0; id < BLOCK_WEIGHTS; id++) {
        struct weight w = transformer_weight(t, id);
        double n = w.dims == 2 && transformer_has(id, experts) ? (double)w.dim[0] * (double)w.dim[1] : 0;
        used += is_of_experts(id) && n > 0 ? n - n * (t->moe.experts - t->moe.top_k) / t->moe.experts : n;
    }
    return 2 * used + transformer_attention_flops(t);
}
