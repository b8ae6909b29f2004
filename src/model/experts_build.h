/* SPDX-License-Identifier: GPL-3.0-or-later */
/* experts_build: what the files of the front end for experts share while a step is built (experts.c says what it is). */
#ifndef EXPERTS_BUILD_H
#define EXPERTS_BUILD_H

#include "model/front.h"

enum { LAYERS_MOST = 16 };

enum exchange { EXCHANGE_RAGGED, EXCHANGE_GATHER, EXCHANGE_WEIGHTS };

struct experts {
    enum exchange exchange;
    const struct node *root;
    struct model *model;
    struct builder *b;
    enum dtype_id dtype, key; /* of numbers; of what rows are sorted by */
    int layers, activation;
    int64_t size[LAYERS_MOST + 1];
    int64_t tokens, entries; /* of a device */
    int experts, top_k, peers, local;
    int64_t buffer; /* rows of a receiver */
    bool router, backward;
    const char *factor;
    struct axis_list over, all; /* the experts' axis; all of them */
    struct ragged_rows sent, back,
        mine; /* from device to position; the other way; of each device's products */
};

/* What the step is given. */
struct given {
    int32_t x, order, local, size, offset, gate, router, logit, weight[LAYERS_MOST];
};

/* Rows of the expert's device, in the order of its experts, and how many each has. */
struct arrived {
    int32_t order, groups;
};

/* Declares x and the weights, and what the exchange of rows is told. */
int experts_declare(struct experts *x, struct given *g, struct status *st);
/* An input that the front end knows: `value` of each device, one after the other; none where the routing has no tokens. */
int experts_give(struct experts *x, const char *name, const char *what, int64_t each,
                 double (*value)(const struct experts *x, int device, int64_t i), enum dtype_id dtype,
                 bool trained, int32_t *made, struct status *st);
struct arrived experts_sort(struct experts *x, int32_t local);
int32_t experts_multiply(struct experts *x, const struct given *g, int32_t rows, int32_t groups);

/* The ways that send no rows of their own: declares the inputs and gives y. */
int experts_write_other(struct experts *x, struct given *g, int32_t *made, struct status *st);

#endif
