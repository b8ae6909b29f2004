/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * experts: mixtures of experts, as they are appended to a step: alone (model: experts, experts.c) or as the feed-forward part
 * of layers of a transformer (transformer_experts.c).
 *
 * Both say how many experts there are, how tokens are cut and what an expert is; experts_read() and experts_read_routing() read
 * what they have in common, which is whom tokens go to and how many of them an expert takes. From that follows a plan of each layer: tables that
 * the step is given, of what each device sends where (experts_plan.c). With them experts_forward() makes y of x by rows that
 * are sent to their experts and back (experts_step.c). Three other ways to the same sums, of a lone layer, are in
 * experts_ways.c.
 *
 * Errors: of the file, status.h; while building, in the builder (tensor.h). Ownership: what is allocated is the model's.
 */
#ifndef EXPERTS_H
#define EXPERTS_H

#include "model/front.h"

enum { EXPERTS_LAYERS = 16, EXPERTS_MOST = 1 << 16, EXPERTS_TOP = 64 };

/* What experts multiply: the rows that come to them; or all that their capacity has room for, as where rows that are too many
 * are dropped so that all experts have as many. */
enum experts_products { PRODUCTS_RAGGED, PRODUCTS_DROPPED };

enum exchange { EXCHANGE_RAGGED, EXCHANGE_GATHER, EXCHANGE_WEIGHTS, EXCHANGE_LOOP };

struct experts {
    /* what a front end says: the mapping with the keys, of numbers their type; sizes of an expert's layers, of which the first
     * two are gated: multiplied with the same, and the one's activation with the other; tokens of a device */
    const struct node *root;
    struct model *model;
    enum dtype_id dtype;
    int layers, activation, exchange; /* exchange: enum exchange */
    bool gated, router, backward;     /* backward: of a lone layer */
    int64_t at_once;                  /* of exchange: loop: rows that a device sends in a trip */
    int64_t size[EXPERTS_LAYERS + 1], tokens;
    struct axis_list over;  /* the experts' axis */
    int layers_with, every; /* so many layers with experts, of which one comes every so many layers */
    int before;             /* so many of which have none */
    const char *factor;     /* of the capacity; NULL: none */
    bool
        by_sender; /* the capacity is that of one sender's tokens, else of those of all devices of the axis */
    int products;  /* enum experts_products */

    /* what follows */
    struct routing like; /* without entries: what all routings have in common */
    struct builder *b;
    enum dtype_id key; /* of the numbers that rows are sorted by */
    int experts, top_k, peers, local;
    int64_t entries; /* of a device */
    int64_t buffer,
        room; /* rows of a receiver, of one chunk: those of the step, and what a program has room for */
    struct axis_list all; /* all axes */
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
/* Of a chunk, once it is known what is sent, what goes back and what each device multiplies. */
int experts_count_chunk(const struct experts *x, struct chunk *chunk, struct status *st);

/* An input of `each` numbers a device that follow from the routing; returns where they are to be written, device after device,
 * or NULL where the routing has no tokens. */
double *experts_give(struct experts *x, const char *name, const char *what, int64_t each, enum dtype_id dtype,
                     int32_t *made);

/* What the products need. */
struct given {
    int32_t x, router, weight[EXPERTS_LAYERS];
};

/* y of x by rows that are sent there and back. */
int32_t experts_forward(struct experts *x, const struct given *g);

/* Rows of the expert's device, in the order of its experts, and how many each has. */
struct arrived {
    int32_t order, groups;
};
struct arrived experts_sort(struct experts *x, int32_t local);
int32_t experts_multiply(struct experts *x, const struct given *g, int32_t rows, int32_t groups,
                         const struct ragged_rows *mine);

/* The other ways, with their inputs. *left: of a loop, the flag after its last trip. */
int32_t experts_without_rows(struct experts *x, const struct given *g);
int32_t experts_by_loop(struct experts *x, const struct given *g, int32_t *left);

#endif
