/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chain: the notation as a front end: a chain of sharded products (notation/expr.h) as a step of a model, which has the
 * operands as its inputs and the last product as its output.
 *
 * Only the last product has an output of its own; those before it stay sharded as their operands are, in the wider type of
 * the two. What must be communicated follows from the shardings (tensor.h). Instructions of a product are labelled by its
 * number, layer="1" for the first.
 *
 * Units: elements. Errors: status.h. Ownership: the caller's struct; the model in it is freed with model_free().
 */
#pragma once

#include "model/model.h"

/* The plan of the last product: by the textbook's cases, where `after` says which of the choices are gathered
 * after it; 0 without a preference, as loops gather while they multiply. Or a plan of its own (tensor.h). */
struct chain_plan {
    bool planned;
    unsigned after;
    struct product_plan product;
};

struct chain {
    struct model model;
    /* Dims of the output that may be gathered after the last product instead of before it, a bit each. */
    unsigned choices;
    /* The reason for a failure, if the sums of a product are partial and the notation does not say how to
     * reduce them: the number of the product, from 0, and its operands; else -1. */
    int ambiguous;
    struct tensor left, right; /* of that product, or of the last one */
    enum dtype_id dtype;
};

int chain_build(const struct expr *expr, const struct axes *axes, const struct chain_plan *plan,
                struct chain *chain, struct status *st);

/* "all-gather left columns over Y, then multiply 512x2048 . 2048x2048; ...": describes the module of a chain,
 * before any pass, in words. Returns `text`, cut if it is too long. */
char *chain_explain(const struct module *module, char *text, size_t room);

/* Multiplies random whole numbers by a chain's module, before or after passes, on virtual devices, and
 * compares every device's part of the output with the plain product, exactly. For small shapes (expr_scale).
 * Errors: STATUS_CHECK with the first difference. */
int chain_verify(const struct chain *chain, const struct module *module, uint64_t seed, struct status *st);
