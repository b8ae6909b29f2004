/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The weights of a transformer, their shardings, and the FLOPs and bytes that follow from them. */
#include "model/transformer.h"

/* Sizes of weights, not sharded. */
enum width {
    NO_WIDTH,
    D,
    Q_IN,
    Q,
    KV_IN,
    K,
    V,
    ATTENDED,
    FF,
    EXPERTS,
    EXPERTS_D,
    EXPERTS_FF,
    EXPERT_FF,
    SHARED_FF,
    Q_LATENT,
    KV_LATENT,
    KV_ROTARY,
    HEADS,
    HEAD,
    VOCABULARY,
    WIDTHS
};
/* The layers with a weight: all, those without experts, those with experts; or it is not in a block. */
enum where { EVERYWHERE, DENSE, OF_EXPERTS, NO_BLOCK };

/* tp cuts the dim `cut`; for weights of experts, the experts' axes do. */
static const struct {
    const char *name;
    enum width rows, columns; /* a vector has no columns */
    int cut;
    enum where where;
} weights[WEIGHTS] = {
    [WEIGHT_NORM_1] = {"na", D, NO_WIDTH, -1, EVERYWHERE},
    [WEIGHT_Q] = {"wq", Q_IN, Q, 1, EVERYWHERE},
    [WEIGHT_K] = {"wk", KV_IN, K, 1, EVERYWHERE},
    [WEIGHT_V] = {"wv", KV_IN, V, 1, EVERYWHERE},
    [WEIGHT_O] = {"wo", ATTENDED, D, 0, EVERYWHERE},
    [WEIGHT_NORM_2] = {"nf", D, NO_WIDTH, -1, EVERYWHERE},
    [WEIGHT_GATE] = {"wg", D, FF, 1, DENSE},
    [WEIGHT_UP] = {"wu", D, FF, 1, DENSE},
    [WEIGHT_DOWN] = {"wd", FF, D, 0, DENSE},
    [WEIGHT_ROUTER] = {"router", D, EXPERTS, -1, OF_EXPERTS},
    [WEIGHT_EXPERT_GATE] = {"eg", EXPERTS_D, EXPERT_FF, 0, OF_EXPERTS},
    [WEIGHT_EXPERT_UP] = {"eu", EXPERTS_D, EXPERT_FF, 0, OF_EXPERTS},
    [WEIGHT_EXPERT_DOWN] = {"ed", EXPERTS_FF, D, 0, OF_EXPERTS},
    [WEIGHT_SHARED_GATE] = {"sg", D, SHARED_FF, 1, OF_EXPERTS},
    [WEIGHT_SHARED_UP] = {"su", D, SHARED_FF, 1, OF_EXPERTS},
    [WEIGHT_SHARED_DOWN] = {"sd", SHARED_FF, D, 0, OF_EXPERTS},
    [WEIGHT_Q_LATENT] = {"qa", D, Q_LATENT, -1, EVERYWHERE},
    [WEIGHT_Q_LATENT_NORM] = {"qn", Q_LATENT, NO_WIDTH, -1, EVERYWHERE},
    [WEIGHT_KV_LATENT] = {"ka", D, KV_ROTARY, -1, EVERYWHERE},
    [WEIGHT_KV_LATENT_NORM] = {"kn", KV_LATENT, NO_WIDTH, -1, EVERYWHERE},
    [WEIGHT_Q_NORM] = {"q_norm", HEAD, NO_WIDTH, -1, EVERYWHERE},
    [WEIGHT_K_NORM] = {"k_norm", HEAD, NO_WIDTH, -1, EVERYWHERE},
    [WEIGHT_SINKS] = {"sinks", HEADS, NO_WIDTH, 0, EVERYWHERE},
    [WEIGHT_Q_BIAS] = {"bq", Q, NO_WIDTH, 0, EVERYWHERE},
    [WEIGHT_K_BIAS] = {"bk", K, NO_WIDTH, 0, EVERYWHERE},
    [WEIGHT_V_BIAS] = {"bv", V, NO_WIDTH, 0, EVERYWHERE},
    [WEIGHT_O_BIAS] = {"bo", D, NO_WIDTH, -1, EVERYWHERE},
    [WEIGHT_ROUTER_BIAS] = {"brouter", EXPERTS, NO_WIDTH, -1, OF_EXPERTS},
    [WEIGHT_EXPERT_GATE_BIAS] = {"beg", EXPERTS, EXPERT_FF, 0, OF_EXPERTS},
    [WEIGHT_EXPERT_UP_BIAS] = {"beu", EXPERTS, EXPERT_FF, 0, OF_EXPERTS},
    [WEIGHT_EXPERT_DOWN_BIAS] = {"bed", EXPERTS, D, 0, OF_EXPERTS},
    [WEIGHT_EMBED] = {"embed", VOCABULARY, D, 0, NO_BLOCK},
    [WEIGHT_NORM] = {"norm", D, NO_WIDTH, -1, NO_BLOCK},
    [WEIGHT_UNEMBED] = {"unembed", VOCABULARY, D, 0, NO_BLOCK},
};

/* A weight with a width of 0 does not exist. */
static bool is_there(const struct transformer *t, enum weight_id id)
{
    bool gate = id == WEIGHT_GATE || id == WEIGHT_EXPERT_GATE || id == WEIGHT_SHARED_GATE ||
                id == WEIGHT_EXPERT_GATE_BIAS;
    if (id >= WEIGHT_Q_BIAS && id < BLOCK_WEIGHTS && !transformer_has_bias(t, id))
        return false;
    return !(id == WEIGHT_SINKS && !t->sinks) &&
           !(id >= WEIGHT_Q_NORM && id <= WEIGHT_K_NORM && !t->qk_norm) && !(gate && !t->gated) &&
           !(id == WEIGHT_NORM_2 && t->parallel) && !(id == WEIGHT_UNEMBED && t->tied) &&
           !(weights[id].where == OF_EXPERTS && t->moe.experts == 0);
}

static void set_shape(const struct transformer *t, enum weight_id id, struct weight *w)
{
    const struct latents *l = &t->latents;
    const int64_t width[WIDTHS] = {[NO_WIDTH] = 1,
                                   [D] = t->d,
                                   [Q_IN] = l->q > 0 ? l->q : t->d,
                                   [Q] = t->heads * t->head_dim,
                                   [KV_IN] = l->kv > 0 ? l->kv : t->d,
                                   [K] = t->kv_heads * (l->kv > 0 ? l->plain : t->head_dim),
                                   [V] = t->kv_heads * t->value_dim,
                                   [ATTENDED] = t->heads * t->value_dim,
                                   [FF] = t->ff,
                                   [EXPERTS] = t->moe.experts,
                                   [EXPERTS_D] = t->moe.experts * t->d,
                                   [EXPERTS_FF] = t->moe.experts * t->expert_ff,
                                   [EXPERT_FF] = t->expert_ff,
                                   [SHARED_FF] = t->shared * t->expert_ff,
                                   [Q_LATENT] = l->q,
                                   [KV_LATENT] = l->kv,
                                   [KV_ROTARY] = l->kv + l->rotary,
                                   [HEADS] = t->heads,
                                   [HEAD] = t->head_dim,
                                   [VOCABULARY] = t->vocabulary};
    int64_t rows = width[weights[id].rows], columns = width[weights[id].columns];
    if (!is_there(t, id) || rows == 0 || columns == 0)
        return;
    bool vector = weights[id].columns == NO_WIDTH;
    *w = (struct weight){
        .name = w->name, .dims = vector ? 1 : 2, .cut = weights[id].cut, .dim = {rows, vector ? 0 : columns}};
}

/* Adds axes over which the rest is sharded, without those that cut `cut`. */
static void share(struct weight *w, const struct axis_list *more)
{
    for (int i = 0; i < more->count; i++)
        if (!axis_list_has(&w->over, more->axis[i]))
            w->shared.axis[w->shared.count++] = more->axis[i];
}

/* Is it a weight of the routed experts, which their axes cut? */
static bool is_of_experts(enum weight_id id)
{
    return (id >= WEIGHT_EXPERT_GATE && id <= WEIGHT_EXPERT_DOWN) ||
           (id >= WEIGHT_EXPERT_GATE_BIAS && id <= WEIGHT_EXPERT_DOWN_BIAS);
}

bool transformer_has_experts(const struct transformer *t, int64_t layer)
{
    return t->moe.experts > 0 && layer >= t->dense && (layer + 1) % t->every == 0;
}

int64_t transformer_reach(const struct transformer *t, int64_t layer)
{
    bool whole = t->window == 0 || (t->whole_every > 0 && (layer + 1) % t->whole_every == 0);
    return whole || t->window > t->sequence ? t->sequence : t->window;
}

bool transformer_is_mixed(const struct transformer *t)
{
    bool mixed = false;
    for (int64_t layer = t->dense + 1; layer < t->layers; layer++)
        mixed = mixed || transformer_has_experts(t, layer) != transformer_has_experts(t, layer - 1) ||
                transformer_reach(t, layer) != transformer_reach(t, layer - 1);
    return mixed;
}

bool transformer_has(enum weight_id id, bool experts)
{
    return weights[id].where != (experts ? DENSE : OF_EXPERTS);
}

int64_t transformer_layers_with(const struct transformer *t, enum weight_id id)
{
    int64_t with = 0;
    for (int64_t layer = 0; layer < t->layers; layer++)
        with += transformer_has_experts(t, layer);
    const int64_t layers[] = {
        [EVERYWHERE] = t->layers, [DENSE] = t->layers - with, [OF_EXPERTS] = with, [NO_BLOCK] = 1};
    return layers[weights[id].where];
}

struct weight transformer_weight(const struct transformer *t, enum weight_id id)
{
    struct weight w = {.name = weights[id].name, .cut = -1};
    set_shape(t, id, &w);
    w.split = -1;
    bool of_kv = id == WEIGHT_K || id == WEIGHT_V || id == WEIGHT_K_BIAS || id == WEIGHT_V_BIAS;
    if (w.cut >= 0)
        w.over = of_kv ? t->kv : is_of_experts(id) ? t->moe.over : t->tp;
    bool same = w.dims == 1 && !t->textbook;
    if (w.cut < 0 ? w.dims > 0 && !same : is_of_experts(id))
        share(&w, &t->tp); /* tp cuts no dim of it, so it shards the rest, too */
    if (!same)
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
    if (!t->textbook && w.dims == 2 && w.cut >= 0 && !is_of_experts(id) && w.local[1 - w.cut] % devices == 0)
        w.split = 1 - w.cut;
    return w;
}

double transformer_state_bytes(const struct transformer *t, enum weight_id id)
{
    struct weight w = transformer_weight(t, id);
    double state = dtype_info(t->state)->bytes, held = (double)w.chunk, bytes = t->master ? held * state : 0;
    double matrices = is_of_experts(id) ? (double)t->moe.local : 1;
    double factors = (double)w.local[0] + matrices * (double)w.local[1];
    if (t->optimizer == OPTIMIZER_ADAMW)
        bytes += held * (state + dtype_info(t->momentum)->bytes);
    else if (t->optimizer == OPTIMIZER_ADAFACTOR)
        bytes += state * (w.dims == 2 ? factors / axis_list_size(&w.shared, &t->axes) : held);
    return bytes / (t->sharded ? axis_list_size(&t->dp, &t->axes) : 1);
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

/* Two matmuls per head, q . k and p . v, of the pairs of tokens that attend to each other. */
double transformer_attention_flops(const struct transformer *t)
{
    double sequence = (double)t->sequence, keys = 0;
    for (int64_t layer = 0; layer < t->layers; layer++) {
        double reach = (double)transformer_reach(t, layer);
        keys += t->attention == ATTENTION_NONE   ? 0
                : t->attention == ATTENTION_FULL ? reach
                                                 : reach * (1 - reach / (2 * sequence));
    }
    return 2 * keys / (double)t->layers * (double)(t->heads * (t->head_dim + t->value_dim));
}

double transformer_parameters(const struct transformer *t, bool all)
{
    double sum = 0;
    for (enum weight_id id = 0; id < WEIGHTS; id++) {
        struct weight w = transformer_weight(t, id);
        double n = w.dims == 0 ? 0 : (double)w.dim[0] * (w.dims == 2 ? (double)w.dim[1] : 1);
        n *= (double)transformer_layers_with(t, id);
        sum += is_of_experts(id) && n > 0 && !all ? n / t->moe.experts * t->moe.top_k : n;
    }
    return sum;
}

double transformer_block_flops(const struct transformer *t, bool experts)
{
    double used = 0;
    for (enum weight_id id = 0; id < BLOCK_WEIGHTS; id++) {
        struct weight w = transformer_weight(t, id);
        bool matmul = w.dims == 2 && id < WEIGHT_Q_NORM && transformer_has(id, experts);
        double n = matmul ? (double)w.dim[0] * (double)w.dim[1] : 0;
        used += is_of_experts(id) && n > 0 ? n - n * (t->moe.experts - t->moe.top_k) / t->moe.experts : n;
    }
    return 2 * used + transformer_attention_flops(t);
}
