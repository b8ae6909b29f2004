/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights as they are used, which are gathered from where they are held. */
#include <string.h>

#include "model/transformer_step.h"

static struct held *held_of(const struct transformer_step *s, int64_t layer, enum weight_id id)
{
    return id < BLOCK_WEIGHTS ? &s->held[layer * BLOCK_WEIGHTS + id]
                              : &s->held[s->t->layers * BLOCK_WEIGHTS + id - BLOCK_WEIGHTS];
}

/* Gradients come in their own type. */
static void use(struct transformer_step *s, struct held *held)
{
    const struct transformer *t = s->t;
    if (held->micro > s->micro)
        return;
    held->micro = s->micro + 1;
    held->whole = build_convert(s->b, held->value, t->gradients);
    if (axis_list_size(&t->dp, &t->axes) * axis_list_size(&held->weight.copies, &t->axes) > 1)
        held->whole = build_alias(s->b, held->whole);
    held->parts = build_vary(s->b, held->whole, &t->dp);
    held->parts = build_vary(s->b, held->parts, &held->weight.copies);
}

/* Gathered in the compute type; what fills the last chunk is cut off. */
struct tensor step_weight(struct transformer_step *s, int64_t layer, enum weight_id id)
{
    struct held *held = held_of(s, layer, id);
    const struct weight *w = &held->weight;
    const char *before = s->b->what;
    int64_t elements = w->dims == 2 ? w->local[0] * w->local[1] : w->local[0];
    struct tensor t = {.dims = w->dims};
    s->b->what = w->name;
    use(s, held);
    int32_t value = build_convert(s->b, held->parts, s->t->compute);
    value = build_all_gather(s->b, value, &w->shared, 0);
    value = build_slice(s->b, value, 0, 0, elements);
    t.value = build_reshape(s->b, value, w->local, w->dims);
    for (int d = 0; d < w->dims; d++)
        t.dim[d] =
            (struct tensor_dim){.n = w->dim[d], .shard = d == w->cut ? w->over : (struct axis_list){0}};
    if (w->dims == 1)
        strcpy(t.dim[0].name, "d");
    s->b->what = before;
    return t;
}
