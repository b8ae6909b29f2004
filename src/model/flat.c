/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/flat.h"

/* Where element [row, column] of a matrix of so many columns is held, of `elements` in all. */
static int64_t place(const struct model_flat *flat, int64_t elements, int64_t row, int64_t column)
{
    int64_t at[] = {row, column}, local[] = {flat->dim[0], flat->dims > 1 ? flat->dim[1] : 1}, part = 0;
    if (flat->cut >= 0) {
        local[flat->cut] /= flat->parts;
        part = at[flat->cut] / local[flat->cut];
        at[flat->cut] %= local[flat->cut];
    }
    return part * (elements / flat->parts) + at[0] * local[1] + at[1];
}

int flat_pack(const struct model_flat *flat, int64_t elements, const struct array *matrix, struct array *out,
              struct status *st)
{
    int64_t columns = flat->dims > 1 ? flat->dim[1] : 1, all = flat->dim[0] * columns;
    if (array_elements(matrix) != all)
        return status_fail(st, STATUS_INPUT, "%lld numbers for a matrix of %lld",
                           (long long)array_elements(matrix), (long long)all);
    if (array_init(out, 1, &elements, false, st) < 0)
        return st->code;
    for (int64_t i = 0; i < all; i++)
        out->data[place(flat, elements, i / columns, i % columns)] = matrix->data[i];
    return 0;
}

int flat_unpack(const struct model_flat *flat, const struct array *held, struct array *matrix,
                struct status *st)
{
    int64_t columns = flat->dims > 1 ? flat->dim[1] : 1, all = flat->dim[0] * columns;
    if (array_init(matrix, flat->dims, flat->dim, false, st) < 0)
        return st->code;
    for (int64_t i = 0; i < all; i++)
        matrix->data[i] = held->data[place(flat, array_elements(held), i / columns, i % columns)];
    return 0;
}
