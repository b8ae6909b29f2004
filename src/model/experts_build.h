/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * experts_build: what the files share that build a step with experts: experts.c reads and says what it is, experts_give.c
 * declares what the step is given, experts_step.c has the exchange of rows, experts_other.c and experts_loop.c the other ways;
 * transformer_experts.c makes layers of a transformer of it.
 */
#ifndef EXPERTS_BUILD_H
#define EXPERTS_BUILD_H

#include "model/front.h"

enum { LAYERS_MOST = 16, EXPERTS_MOST = 1 << 16, TOP_MOST = 64 };

enum exchange { EXCHANGE_RAGGED, EXCHANGE_GATHER, EXCHANGE_WEIGHTS, EXCHANGE_LOOP };

/* A part of the rows, which is sent by itself: what it is told, and how many rows go from device to position, the other way,
 * and to each device's products. */
struct chunk {
    struct dispatch_part part;
    struct ragged_rows sent, back, mine;
    int32_t order, local, size, offset; /* inputs */
};

/* What is sent by one routing. */
struct plan {
    struct chunk *chunk;
    int32_t gate, logit; /* inputs: gates, or where the logits of those chosen stand */
};

struct experts {
    enum exchange exchange;
    const struct node *root;
    struct model *model;
    struct builder *b;
    enum dtype_id dtype, key; /* of numbers; of what rows are sorted by */
    int layers, activation;
    bool
        gated; /* the first two weights are multiplied with the same, and the one's activation with the other */
    int64_t size[LAYERS_MOST + 1];
    int64_t tokens, entries; /* of a device */
    int experts, top_k, peers, local;
    int64_t buffer; /* rows of a receiver, of one chunk */
    bool router, backward;
    const char *factor;
    struct axis_list over, all; /* the experts' axis; all of them */
    int chunks;
    /* A plan for each of so many layers with experts, of which one comes every so many layers, or one for all. `at` is the one
     * of the layer at hand. */
    int layers_with, every, plans, at;
    struct plan *plan;
    struct ragged_rows mine; /* of the other ways: rows of each device's products */
    /* exchange: loop: rows that a device sends in a trip; of all trips, the token at each place, [devices][places]; the flag
     * after the last one */
    int64_t at_once, places;
    int32_t *place, left;
};

/* What the step is given. */
struct given {
    int32_t x, router, weight[LAYERS_MOST];
};

/* Rows of the expert's device, in the order of its experts, and how many each has. */
struct arrived {
    int32_t order, groups;
};

/* How many experts, of which each token goes to `top-k`; on how many devices they lie. `root` has the keys. */
int experts_read_counts(struct experts *x, struct status *st);
/* The capacity, whom tokens go to, and what of it is sent in which chunk; from `capacity-factor` and `routing`. `tokens`: the
 * axes that cut them. */
int experts_read_routing(struct experts *x, const struct axis_list *tokens, const struct point *point,
                         struct status *st);
/* That of the layer at hand. */
const struct routing *experts_routing(const struct experts *x);
void experts_free(struct experts *x);

/* Declares x and the weights. */
int experts_declare(struct experts *x, struct given *g, struct status *st);
/* What the exchange of rows is told in each plan: orders, sizes, offsets; gates or logits. */
int experts_declare_plans(struct experts *x, struct status *st);
/* An input that the front end knows: `value` of each device, one after the other; none where the routing has no tokens. */
typedef double experts_value(const struct experts *x, const struct chunk *chunk, int device, int64_t i);
int experts_give(struct experts *x, const struct chunk *chunk, const char *name, const char *what,
                 int64_t each, experts_value *value, enum dtype_id dtype, bool trained, int32_t *made,
                 struct status *st);
/* A device's place on the experts' axis. */
int experts_position(const struct experts *x, int device);

/* y of x by rows that are sent there and back. */
int32_t experts_forward(struct experts *x, const struct given *g);
struct arrived experts_sort(struct experts *x, int32_t local);
int32_t experts_multiply(struct experts *x, const struct given *g, int32_t rows, int32_t groups,
                         const struct ragged_rows *mine);

/* The ways that send no ragged rows: declare their inputs and give y. */
int experts_write_other(struct experts *x, struct given *g, int32_t *made, struct status *st);
int experts_read_loop(struct experts *x, struct status *st);
int experts_write_loop(struct experts *x, struct given *g, int32_t *made, struct status *st);

#endif
