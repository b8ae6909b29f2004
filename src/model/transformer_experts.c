/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers of a transformer whose feed-forward part is a mixture of experts. */
#include <stdlib.h>

#include "model/transformer_build.h"

static const char *const keys[] = {"experts", "top-k",       "capacity-factor", "d-ff",
                                   "every",   "expert-axis", "routing",         NULL};

/* A whole number above 0 that need not be there. */
static int read_count(const struct node *node, const char *name, const char *what, int64_t most,
                      int64_t *value, struct status *st)
{
    return node_get(node, name) ? front_count(node, name, what, most, value, st) : 0;
}

/* The numbers of experts, by the function that the front end of experts has; on as many devices as the axes have. */
static int read_counts(const struct node *node, struct transformer *t, struct status *st)
{
    struct experts *x = calloc(1, sizeof *x);
    if (!x)
        return status_nomem(st);
    x->root = node;
    x->peers = axis_list_size(&t->ep, &t->axes);
    int code = experts_read_counts(x, st);
    t->experts = x->experts;
    t->top_k = x->top_k;
    free(x);
    return code;
}

int transformer_read_experts(const struct node *root, struct transformer *t, struct status *st)
{
    static const int64_t width_most = INT64_C(1) << 32;
    const struct node *node = node_get(root, "moe");
    const char *text = "ep";
    t->expert_ff = t->ff;
    t->every = 1;
    if (!node)
        return 0;
    int code = node_is_mapping(node, "moe", st);
    if (code == 0)
        code = node_only(node, keys, st);
    const struct node *axis = code == 0 ? node_get(node, "expert-axis") : NULL;
    if (axis)
        code = node_text(axis, "expert-axis", &text, st);
    if (code == 0 && (code = axis_list_parse(text, &t->axes, &t->ep, st)) < 0)
        return node_prefix(axis ? axis : node, st, code);
    if (code == 0 && t->parallel)
        code = node_fail(node, st, STATUS_INPUT,
                         "experts have a norm of their own; write parallel: false, or leave out moe");
    if (code == 0)
        code = read_counts(node, t, st);
    if (code == 0)
        code =
            read_count(node, "d-ff", "the width of an expert, such as 14336", width_most, &t->expert_ff, st);
    return code < 0 ? code
                    : read_count(node, "every", "of how many layers one has experts, such as 2", t->layers,
                                 &t->every, st);
}

int step_open_experts(struct transformer_step *s, const struct node *root, int64_t built,
                      const struct point *point, struct status *st)
{
    const struct transformer *t = s->t;
    struct experts *x = s->experts = calloc(1, sizeof *x);
    s->given = calloc(1, sizeof *s->given);
    if (!x || !s->given)
        return status_nomem(st);
    *x = (struct experts){.root = root,
                          .model = s->model,
                          .dtype = t->compute,
                          .layers = t->gated ? 3 : 2,
                          .gated = t->gated,
                          .activation = t->activation,
                          .tokens = transformer_device_tokens(t),
                          .over = t->ep,
                          .peers = axis_list_size(&t->ep, &t->axes),
                          .router = true,
                          .layers_with = (int)(built / t->every),
                          .every = (int)t->every};
    x->size[0] = x->size[x->layers] = t->d;
    for (int a = 0; a < t->axes.count; a++)
        x->all.axis[x->all.count++] = a;
    int code = experts_read_counts(x, st);
    return code < 0 ? code : experts_read_routing(x, &s->activations.dim[0].shard, point, st);
}

int step_declare_experts(struct transformer_step *s, struct status *st)
{
    s->experts->b = s->b;
    s->b->layer = 0;
    s->b->phase = NULL;
    return experts_declare_plans(s->experts, st);
}

void step_free_experts(struct transformer_step *s)
{
    if (s->experts)
        experts_free(s->experts);
    free(s->experts);
    free(s->given);
}

/* Those of a device, matrix by matrix. */
static int32_t matrices(struct transformer_step *s, int64_t layer, enum weight_id id)
{
    struct tensor w = step_weight(s, layer, id);
    int64_t dim[BUILDER_DIMS], local = s->experts->local;
    builder_dims(s->b, w.value, dim);
    return build_reshape(s->b, w.value, (int64_t[]){local, dim[0] / local, dim[1]}, 3);
}

struct tensor step_experts(struct transformer_step *s, int64_t layer, const struct tensor *h)
{
    static const enum weight_id gated[] = {WEIGHT_EXPERT_GATE, WEIGHT_EXPERT_UP, WEIGHT_EXPERT_DOWN};
    const enum weight_id *id = s->t->gated ? gated : gated + 1;
    const char *what = s->b->what;
    struct given *g = s->given;
    s->experts->at = s->experts->plans > 1 ? (int)(layer / s->t->every) : 0;
    g->x = h->value;
    g->router = step_weight(s, layer, WEIGHT_ROUTER).value;
    for (int i = 0; i < s->experts->layers; i++)
        g->weight[i] = matrices(s, layer, id[i]);
    struct tensor y = *h;
    y.value = experts_forward(s->experts, g);
    s->b->what = what;
    return y;
}
