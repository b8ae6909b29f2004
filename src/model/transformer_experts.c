/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers of a transformer whose feed-forward part is a mixture of experts. */
#include "model/transformer_step.h"

int transformer_read_experts(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const names[] = {
        "experts", "top-k", "capacity-factor", "capacity-by", "products",       "expert-d-ff",
        "d-ff",    "every", "expert-axis",     "routing",     "shared-experts", "first-dense-layers",
        NULL};
    const struct front_key keys[] = {
        {"d-ff", FRONT_COUNT, .to = &t->expert_ff, .most = 0x1p32}, /* its name in version 0.1 */
        {"expert-d-ff", FRONT_COUNT, .to = &t->expert_ff, .most = 0x1p32},
        {"every", FRONT_COUNT, .to = &t->every, .most = (double)t->layers},
        {"shared-experts", FRONT_WHOLE, .to = &t->shared, .most = EXPERTS_MOST},
        {"first-dense-layers", FRONT_WHOLE, .to = &t->dense, .most = (double)t->layers - 1},
    };
    struct experts *x = &t->moe;
    t->expert_ff = t->ff;
    t->every = 1;
    if (front_mapping(root, "moe", names, &x->root, st) < 0 || !x->root)
        return st->code;
    if (t->parallel)
        return node_fail(x->root, st, STATUS_INPUT,
                         "experts have a norm of their own; write parallel: false, or leave out moe");
    if (t->whole)
        return node_fail(x->root, st, STATUS_INPUT,
                         "each device sends tokens of its own to experts; write residual: sequence");
    x->by_sender = true;
    x->products = PRODUCTS_DROPPED;
    if (experts_read(x, &t->axes, st) < 0 || FRONT_READ(x->root, keys, st) < 0)
        return st->code;
    if (transformer_layers_with(t, WEIGHT_ROUTER) == 0)
        return node_fail(x->root, st, STATUS_INPUT,
                         "no layer of %lld has experts: the first %lld have none, then every %lldth",
                         (long long)t->layers, (long long)t->dense, (long long)t->every);
    x->before = (int)(t->dense / t->every);
    return 0;
}

int step_open_experts(struct transformer_step *s, int64_t built, const struct point *point, struct status *st)
{
    const struct transformer *t = s->t;
    struct experts *x = &s->t->moe;
    x->model = s->model;
    x->dtype = t->compute;
    x->layers = t->gated ? 3 : 2;
    x->gated = t->gated;
    x->activation = t->activation;
    x->tokens = transformer_device_tokens(t);
    x->router = true;
    x->layers_with = (int)(built / t->every) - x->before;
    x->every = (int)t->every;
    x->size[0] = x->size[x->layers] = t->d;
    return experts_read_routing(x, &s->activations.dim[0].shard, point, st);
}

void step_declare_experts(struct transformer_step *s)
{
    s->t->moe.b = s->b;
    s->b->layer = 0;
    s->b->phase = NULL;
    experts_declare_plans(&s->t->moe);
}

/* A weight of the layer, reshaped to one matrix for each expert of the device. */
static int32_t matrices(struct transformer_step *s, int64_t layer, enum weight_id id)
{
    int32_t w = step_weight(s, layer, id).value;
    int64_t dim[BUILDER_DIMS], local = s->t->moe.local;
    builder_dims(s->b, w, dim);
    return build_reshape(s->b, w, (int64_t[]){local, dim[0] / local, dim[1]}, 3);
}

static int32_t bias(struct transformer_step *s, int64_t layer, enum weight_id id)
{
    return transformer_has_bias(s->t, id) ? step_weight(s, layer, id).value : 0;
}

struct tensor step_experts(struct transformer_step *s, int64_t layer, const struct tensor *h)
{
    static const enum weight_id gated[] = {WEIGHT_EXPERT_GATE, WEIGHT_EXPERT_UP, WEIGHT_EXPERT_DOWN};
    const enum weight_id *id = s->t->gated ? gated : gated + 1;
    const char *what = s->b->what;
    struct experts *x = &s->t->moe;
    struct given g = {.x = h->value, .router = step_weight(s, layer, WEIGHT_ROUTER).value};
    g.router_bias = bias(s, layer, WEIGHT_ROUTER_BIAS);
    x->at = s->model->experts->count > 1 ? (int)(layer / s->t->every) - x->before : 0;
    for (int i = 0; i < x->layers; i++) {
        g.weight[i] = matrices(s, layer, id[i]);
        g.bias[i] = bias(s, layer, (enum weight_id)(id[i] + WEIGHT_EXPERT_GATE_BIAS - WEIGHT_EXPERT_GATE));
    }
    struct tensor y = *h;
    y.value = experts_forward(x, &g);
    s->b->what = what;
    return y;
}
