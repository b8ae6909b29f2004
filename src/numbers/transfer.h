/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * transfer: the numbers of one payload between being taken at its source and being put in place.
 *
 * Errors: STATUS_CHECK where the shapes of source and target do not fit. Ownership: the caller's struct, freed
 * with transfer_free(), safe when zeroed.
 */
#ifndef ICISIM_DATA_TRANSFER_H
#define ICISIM_DATA_TRANSFER_H

#include "numbers/memory.h"
#include "program/selection.h"

struct transfer {
    double *value; /* [elements] */
    int64_t elements;
    struct selection to;
    enum order order;
};

/* Takes what the payload of `chip` sends to chip `to`; of a product, multiplies (to is the chip itself). */
int transfer_take(struct transfer *t, const struct memory *memory, const struct payload *payload, int chip,
                  int to, struct status *st);
void transfer_put(const struct transfer *t, struct memory *memory, const struct payload *payload, int to);
void transfer_free(struct transfer *t);

#endif
