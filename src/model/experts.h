/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * experts: mixtures of experts, appended to a step: alone (model: experts, experts.c) or as the feed-forward
 * part of layers of a transformer (transformer_experts.c).
 *
 * Both define the number of experts, the sharding of tokens and the layers of an expert; experts_read() and
 * experts_read_routing() read the common keys, for the routing of tokens and the capacity of experts. From
 * these follows a plan of each layer: input tables of the rows that each device sends to each other
 * (experts_plan.c). With them experts_forward() computes y from x by sending rows to their experts and back
 * (experts_step.c). Three other ways to compute the same sums, for a single layer, are in experts_ways.c.
 *
 * Units: rows, elements. Errors: status.h for the file; while building, they stick in the builder (tensor.h).
 * Ownership: what is allocated is the model's.
 */
#pragma once

#include "model/front.h"

enum { EXPERTS_LAYERS = 16, EXPERTS_MOST = 1 << 16, EXPERTS_TOP = 64 };

/* The rows that experts multiply: those that arrive; or as many as their capacity, with excess rows dropped and the
 * rest padded. */
enum experts_products { PRODUCTS_RAGGED, PRODUCTS_DROPPED };

enum exchange { EXCHANGE_RAGGED, EXCHANGE_GATHER, EXCHANGE_WEIGHTS, EXCHANGE_LOOP };

struct experts {
    /* Set by a front end: root is the mapping with the keys, dtype the type of numbers, size the widths of an expert's layers
     * (if gated, the first two multiply the same input, and then each other), tokens those of a device. */
    const struct node *root;
    struct model *model;
    enum dtype_id dtype;
    int layers, activation, exchange; /* exchange: enum exchange */
    bool gated, router, backward;     /* backward: of a lone layer */
    int64_t at_once;                  /* with exchange: loop, rows that a device sends in a trip */
    int64_t size[EXPERTS_LAYERS + 1], tokens;
    struct axis_list over;  /* the experts' axes */
    int layers_with, every; /* the number of layers with experts; one in `every` layers is one */
    int before;             /* layers without experts at the beginning */
    const char *factor;     /* of the capacity; NULL: none */
    /* The capacity is for the tokens of one sender, else for those of all devices of the axes. */
    bool by_sender;
    int products; /* enum experts_products */

    /* Derived values. */
    struct routing like; /* without entries: common to all routings */
    struct builder *b;
    enum dtype_id key; /* type of the numbers by which rows are sorted */
    int experts, top_k, peers, local;
    int64_t entries;      /* of a device */
    int64_t buffer, room; /* rows of a receiver per chunk: in the arrays of the step; allocated in HBM */
    struct axis_list all; /* all axes */
    int chunks;
    int at; /* index of the current layer's routing */
};

/* Reads the axis of the experts, their number, and the number of experts per token. Then, once the front end
 * has set the rest, reads the routing of tokens and the capacity; `tokens` are the axes that shard them. */
int experts_read(struct experts *x, const struct axes *axes, struct status *st);
int experts_read_routing(struct experts *x, const struct axis_list *tokens, const struct point *point,
                         struct status *st);
/* After the step has begun, declares the inputs of the exchange in each plan: orders, sizes, offsets; gates
 * or logits. */
void experts_declare_plans(struct experts *x);

/* The routing of the current layer, and its dispatch. */
struct routed *experts_routed(const struct experts *x);
/* For a chunk whose dispatch is known, counts the rows that go back and the rows that each device multiplies. */
int experts_count_chunk(const struct experts *x, struct chunk *chunk, struct status *st);

/* Declares an input of `each` numbers per device that follow from the routing; returns the array to fill,
 * device after device, or NULL if the routing has no tokens. */
double *experts_give(struct experts *x, const char *name, const char *what, int64_t each, enum dtype_id dtype,
                     int32_t *made);

/* The inputs of the matmuls. Biases are 0 if there are none: all weights have one, [experts, columns], or none has; expert: of
 * each row that is multiplied. */
struct given {
    int32_t x, router, weight[EXPERTS_LAYERS], router_bias, bias[EXPERTS_LAYERS], expert;
};

/* Computes y from x by sending rows to the experts and back. */
int32_t experts_forward(struct experts *x, const struct given *g);

/* Rows on the experts' device: their order by expert, and the number for each expert. */
struct arrived {
    int32_t order, groups, keys;
};
struct arrived experts_sort(struct experts *x, int32_t local);
int32_t experts_multiply(struct experts *x, const struct given *g, int32_t rows, int32_t groups,
                         const struct ragged_rows *mine);

/* The computations without an exchange of rows, and by a loop; *left becomes the loop's flag after its last trip. */
int32_t experts_without_rows(struct experts *x, const struct given *g);
int32_t experts_by_loop(struct experts *x, const struct given *g, int32_t *left);
