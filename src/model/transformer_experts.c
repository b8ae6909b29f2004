/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers of a transformer whose feed-forward part is a mixture of experts. */
#include "model/transformer_step.h"

int transformer_read_experts(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const names[] = {"experts", "top-k",       "capacity-factor", "d-ff",
                                        "every",   "expert-axis", "routing",         NULL};
    const struct front_key keys[] = {
        {"d-ff", FRONT_COUNT, .to = &t->expert_ff, .most = 0x1p32},
        {"every", FRONT_COUNT, .to = &t->every, .most = (double)t->layers},
    };
    struct experts x = {0};
    t->expert_ff = t->ff;
    t->every = 1;
    if (front_mapping(root, "moe", names, &x.root, st) < 0 || !x.root)
        return st->code;
    if (experts_read_axis(&x, &t->axes, st) < 0)
        return st->code;
    if (t->parallel)
        return node_fail(x.root, st, STATUS_INPUT,
                         "experts have a norm of their own; write parallel: false, or leave out moe");
    if (experts_read_counts(&x, &t->axes, st) < 0)
        return st->code;
    t->ep = x.over;
    t->experts = x.experts;
    t->top_k = x.top_k;
    return FRONT_READ(x.root, keys, st);
}

int step_open_experts(struct transformer_step *s, const struct node *moe, int64_t built,
                      const struct point *point, struct status *st)
{
    const struct transformer *t = s->t;
    struct experts *x = &s->experts;
    *x = (struct experts){.root = moe,
                          .model = s->model,
                          .dtype = t->compute,
                          .layers = t->gated ? 3 : 2,
                          .gated = t->gated,
                          .activation = t->activation,
                          .tokens = transformer_device_tokens(t),
                          .over = t->ep,
                          .router = true,
                          .layers_with = (int)(built / t->every),
                          .every = (int)t->every};
    x->size[0] = x->size[x->layers] = t->d;
    return experts_read_counts(x, &t->axes, st) < 0
               ? st->code
               : experts_read_routing(x, &s->activations.dim[0].shard, point, st);
}

void step_declare_experts(struct transformer_step *s)
{
    s->experts.b = s->b;
    s->b->layer = 0;
    s->b->phase = NULL;
    experts_declare_plans(&s->experts);
}

/* Those of a device, matrix by matrix. */
static int32_t matrices(struct transformer_step *s, int64_t layer, enum weight_id id)
{
    int32_t w = step_weight(s, layer, id).value;
    int64_t dim[BUILDER_DIMS], local = s->experts.local;
    builder_dims(s->b, w, dim);
    return build_reshape(s->b, w, (int64_t[]){local, dim[0] / local, dim[1]}, 3);
}

struct tensor step_experts(struct transformer_step *s, int64_t layer, const struct tensor *h)
{
    static const enum weight_id gated[] = {WEIGHT_EXPERT_GATE, WEIGHT_EXPERT_UP, WEIGHT_EXPERT_DOWN};
    const enum weight_id *id = s->t->gated ? gated : gated + 1;
    const char *what = s->b->what;
    struct experts *x = &s->experts;
    struct given g = {.x = h->value, .router = step_weight(s, layer, WEIGHT_ROUTER).value};
    x->at = x->plans > 1 ? (int)(layer / s->t->every) : 0;
    for (int i = 0; i < x->layers; i++)
        g.weight[i] = matrices(s, layer, id[i]);
    struct tensor y = *h;
    y.value = experts_forward(x, &g);
    s->b->what = what;
    return y;
}
