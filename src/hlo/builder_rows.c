/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows by their numbers, and rows in groups whose sizes only run time knows. */

#include "base/text.h"
#include "hlo/builder_add.h"

/* An attribute that is only printed: "{1,2}". */
static void label_list(struct builder *b, const char *name, const int64_t number[], int numbers)
{
    char text[BUILDER_DIMS * 24] = "{";
    for (int i = 0; i < numbers; i++)
        text_add(text, sizeof text, "%s%lld", i ? "," : "", (long long)number[i]);
    module_attribute_text(b->module, ATTR_OTHER, name, text_add(text, sizeof text, "}"));
}

/* Gathers and scatters of whole rows: dim 0 is indexed, the other dims are taken in full. */
static void label_dims(struct builder *b, const char *window, enum attribute_key dropped,
                       enum attribute_key numbered, int dims)
{
    int64_t rest[BUILDER_DIMS];
    for (int d = 1; d < dims; d++)
        rest[d - 1] = d;
    label_list(b, window, rest, dims - 1);
    module_attribute(b->module, dropped, &(int64_t){0}, 1);
    module_attribute(b->module, numbered, &(int64_t){0}, 1);
    module_attribute(b->module, ATTR_INDEX_VECTOR_DIM, &(int64_t){1}, 1);
}

int32_t build_take(struct builder *b, int32_t a, int32_t index)
{
    int64_t size[BUILDER_DIMS], taken[BUILDER_DIMS];
    int dims = builder_dims(b, a, size);
    builder_dims(b, index, taken);
    size[0] = taken[0];
    int32_t made = builder_add(b, HLO_GATHER, builder_like(b, a, size, dims), (int32_t[]){a, index}, 2);
    label_dims(b, "offset_dims", ATTR_COLLAPSED_SLICE_DIMS, ATTR_START_INDEX_MAP, dims);
    size[0] = 1;
    label_list(b, "slice_sizes", size, dims);
    return builder_label(b, made);
}

int32_t build_put(struct builder *b, int32_t a, int32_t index, int64_t rows)
{
    int64_t size[BUILDER_DIMS];
    int dims = builder_dims(b, a, size);
    enum dtype_id dtype = builder_dtype(b, a);
    assert(b->sum[dtype] >= 0);
    size[0] = rows;
    int32_t zero = build_broadcast(b, build_scalar(b, dtype, 0), size, dims, NULL);
    int32_t made =
        builder_add(b, HLO_SCATTER, builder_like(b, a, size, dims), (int32_t[]){zero, index, a}, 3);
    label_dims(b, "update_window_dims", ATTR_INSERTED_WINDOW_DIMS, ATTR_SCATTER_DIMS, dims);
    module_attribute(b->module, ATTR_TO_APPLY, &(int64_t){b->sum[dtype]}, 1);
    return builder_label(b, made);
}

int32_t build_sort(struct builder *b, int32_t a)
{
    enum dtype_id dtype = builder_dtype(b, a);
    assert(b->less[dtype] >= 0);
    int32_t made = builder_add(b, HLO_SORT, module_at(b->module, a)->shape, &a, 1);
    module_attribute(b->module, ATTR_DIMENSIONS, &(int64_t){0}, 1);
    module_attribute_text(b->module, ATTR_OTHER, "is_stable", "true");
    module_attribute(b->module, ATTR_TO_APPLY, &(int64_t){b->less[dtype]}, 1);
    return builder_label(b, made);
}

/* Labels this one instruction with the rows as well. */
static int32_t label_rows(struct builder *b, int32_t made, const struct ragged_rows *rows)
{
    b->rows = rows && rows->row ? rows : NULL;
    builder_label(b, made);
    b->rows = NULL;
    return made;
}

/* A product of groups of rows that contracts this dim of both operands. */
static int32_t ragged_product(struct builder *b, const int32_t operand[3], int32_t shape, int64_t contracted,
                              const struct ragged_rows *rows)
{
    int32_t made = builder_add(b, HLO_RAGGED_DOT, shape, operand, 3);
    module_attribute(b->module, ATTR_LHS_CONTRACTING, &contracted, 1);
    module_attribute(b->module, ATTR_RHS_CONTRACTING, &contracted, 1);
    module_attribute(b->module, ATTR_LHS_RAGGED, &(int64_t){0}, 1);
    if (contracted > 0)
        module_attribute(b->module, ATTR_RHS_GROUP, &(int64_t){0}, 1);
    return label_rows(b, made, rows);
}

int32_t build_ragged_dot(struct builder *b, int32_t a, int32_t matrices, int32_t sizes, enum dtype_id dtype,
                         const struct ragged_rows *rows)
{
    int64_t left[BUILDER_DIMS], right[BUILDER_DIMS];
    builder_dims(b, a, left);
    builder_dims(b, matrices, right);
    assert(b->module->error || left[1] == right[1]);
    int32_t shape = builder_shape(b, dtype, (int64_t[]){left[0], right[2]}, 2);
    return ragged_product(b, (int32_t[]){a, matrices, sizes}, shape, 1, rows);
}

int32_t build_ragged_outer(struct builder *b, int32_t a, int32_t c, int32_t sizes, enum dtype_id dtype,
                           const struct ragged_rows *rows)
{
    int64_t left[BUILDER_DIMS], right[BUILDER_DIMS], groups[BUILDER_DIMS];
    builder_dims(b, a, left);
    builder_dims(b, c, right);
    builder_dims(b, sizes, groups);
    assert(b->module->error || left[0] == right[0]);
    int32_t shape = builder_shape(b, dtype, (int64_t[]){groups[0], left[1], right[1]}, 3);
    return ragged_product(b, (int32_t[]){a, c, sizes}, shape, 0, rows);
}

int32_t build_ragged_all_to_all(struct builder *b, int32_t in, int32_t out, const int32_t offset[2],
                                const int32_t size[2], const struct axis_list *over,
                                const struct ragged_rows *rows)
{
    const int32_t operand[] = {in, out, offset[0], size[0], offset[1], size[1]};
    int32_t made = builder_add(b, HLO_RAGGED_ALL_TO_ALL, module_at(b->module, out)->shape, operand, 6);
    builder_over_axes(b, made, over);
    return label_rows(b, made, rows);
}
