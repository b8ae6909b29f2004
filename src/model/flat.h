/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flat: a matrix as a model holds it, and back (struct model_flat). Errors: status.h. Ownership: the caller's arrays. */
#ifndef FLAT_H
#define FLAT_H

#include "model/model.h"
#include "numbers/array.h"

/* matrix -> array of `elements`, the tensor's one dim; and back. */
int flat_pack(const struct model_flat *flat, int64_t elements, const struct array *matrix, struct array *out,
              struct status *st);
int flat_unpack(const struct model_flat *flat, const struct array *held, struct array *matrix,
                struct status *st);

#endif
