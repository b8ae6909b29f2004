/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * experts: mixtures of experts, as they are appended to a step: alone (model: experts, experts.c) or as the feed-forward part
 * of layers of a transformer (transformer_experts.c).
 *
 * Both say how many experts there are, how tokens are cut and what an expert is; experts_read() and experts_read_routing() read
 * what they have in common, which is whom tokens go to and how many of them an expert takes. From that follows a plan of each layer: tables that
 * the step is given, of what each device sends where (experts_plan.c). With them experts_forward() makes y of x by rows that
 * are sent to their experts and back (experts_step.c).
 *
 * Errors: of the file, status.h; while building, in the builder (tensor.h). Ownership: what is allocated is the model's.
 */
#ifndef EXPERTS_H
#define EXPERTS_H

#include "model/front.h"

enum { EXPERTS_LAYERS = 16, EXPERTS_MOST = 1 << 16, EXPERTS_TOP = 64 };

struct experts {
    /* what a front end says: the mapping with the keys, of numbers their type; sizes of an expert's layers, of which the first
     * two are gated: multiplied with the same, and the one's activation with the other; tokens of a device */
    const struct node *root;
    struct model *model;
    enum dtype_id dtype;
    int layers, activation;
    bool gated, router, backward; /* backward: of a lone layer */
    int64_t size[EXPERTS_LAYERS + 1], tokens;
    struct axis_list over;  /* the experts' axis */
    int layers_with, every; /* so many layers with experts, of which one comes every so many layers */

    /* what follows */
    struct routing like; /* without entries: what all routings have in common */
    struct builder *b;
    enum dtype_id key; /* of the numbers that rows are sorted by */
    int experts, top_k, peers, local;
    int64_t entries, buffer; /* of a device; rows of a receiver, of one chunk */
    struct axis_list all;    /* all axes */
    int chunks;
    int at; /* which of the model's routings is that of the layer at hand */
};

/* The axis of the experts, how many there are, and how many each token goes to. Then, once the front end has said the rest, whom
 * tokens go to, and what an expert takes of them, where `tokens` are the axes that cut them. */
int experts_read(struct experts *x, const struct axes *axes, struct status *st);
int experts_read_routing(struct experts *x, const struct axis_list *tokens, const struct point *point,
                         struct status *st);
/* Once the step has begun, what the exchange of rows is told in each plan: orders, sizes, offsets; gates or logits. */
void experts_declare_plans(struct experts *x);

/* The routing of the layer at hand, and what is sent by it. */
struct routed *experts_routed(const struct experts *x);

/* What the products need. */
struct given {
    int32_t x, router, weight[EXPERTS_LAYERS];
};

/* y of x by rows that are sent there and back. */
int32_t experts_forward(struct experts *x, const struct given *g);

#endif
