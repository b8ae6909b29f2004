/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is due to the operands of collectives: JAX's transposition rules (gradient.h). */
#include <assert.h>
#include <stdlib.h>

#include "model/due.h"

static int32_t operand(const struct due *due, int32_t at)
{
    return module_operand(due->b->module, at, 0);
}

static int dim_of(const struct due *due, int32_t at)
{
    return (int)module_number(due->b->module, at, ATTR_DIMENSIONS, 0);
}

/* Along the axes of the gather either all devices hold parts of what is due, or all hold the same. */
static void of_all_gather(struct due *due, int32_t at, int32_t c, unsigned axes)
{
    const struct axis_list over = builder_note(due->b, at).over;
    unsigned own = due_set(&over), parts = axes & own;
    if (parts && parts != own) {
        struct axis_list first = due_list(parts);
        c = build_all_reduce(due->b, c, &first);
        parts = 0;
    }
    c = parts ? build_reduce_scatter(due->b, c, &over, dim_of(due, at))
              : build_own_block(due->b, c, &over, dim_of(due, at));
    due_add(due, operand(due, at), c, axes | own);
}

/* The dim that a device takes its own block of. */
static int cut_dim(const struct due *due, int32_t at)
{
    int64_t size[BUILDER_DIMS], was[BUILDER_DIMS];
    int dims = builder_dims(due->b, at, size), cut = 0;
    builder_dims(due->b, operand(due, at), was);
    for (int d = 0; d < dims; d++)
        cut = size[d] != was[d] ? d : cut;
    return cut;
}

static void of_permute(struct due *due, int32_t at, int32_t c, unsigned axes)
{
    int count;
    const int64_t *pair = module_numbers(due->b->module, at, ATTR_SOURCE_TARGET_PAIRS, &count);
    int64_t *back = malloc((size_t)count * sizeof *back);
    if (!back) {
        due->b->module->error = STATUS_NOMEM;
        return;
    }
    for (int i = 0; i < count; i += 2) {
        back[i] = pair[i + 1];
        back[i + 1] = pair[i];
    }
    due_add(due, operand(due, at), build_permute_pairs(due->b, c, back, count / 2), axes);
    free(back);
}

/* How many rows go back, from the label of those that came. */
static int turn_rows(const struct due *due, int32_t at, const struct axis_list *over,
                     struct ragged_rows *turned)
{
    struct groups groups = {0};
    struct ragged_rows rows = {0};
    struct status st = {0};
    int code = groups_over_axes(due->b->axes, over, &groups, &st);
    if (code == 0)
        code = ragged_rows_of(due->b->module, at, groups.size, &rows, &st);
    if (code == 0 && rows.row)
        code = ragged_rows_turned(&rows, groups.member, turned, &st);
    ragged_rows_free(&rows);
    groups_free(&groups);
    return code;
}

/* Operands: input, output, offsets of what is sent, its sizes, offsets at the receivers, sizes of what comes. Each device
 * learns from the others where what they sent had come from, and where it lies at theirs, by two small all-to-alls; what the
 * rows were written into is a constant. */
static void of_ragged(struct due *due, int32_t at, int32_t c, unsigned axes)
{
    struct builder *b = due->b;
    const struct axis_list over = builder_note(b, at).over;
    struct ragged_rows turned = {0};
    int32_t part[6];
    for (int o = 0; o < 6; o++)
        part[o] = module_operand(b->module, at, o);
    assert(!due_wanted(due, part[1]));
    int code = turn_rows(due, at, &over, &turned);
    if (code < 0) {
        b->module->error = code;
        return;
    }
    const char *what = b->what;
    b->what = "offsets";
    int32_t offset[2] = {build_all_to_all(b, part[4], &over, 0)};
    offset[1] = build_all_to_all(b, part[2], &over, 0);
    b->what = what;
    int32_t zero = build_fill(b, 0, part[0]), size[] = {part[5], part[3]};
    c = build_ragged_all_to_all(b, c, zero, offset, size, &over, &turned);
    ragged_rows_free(&turned);
    due_add(due, part[0], c, axes);
}

bool due_pass_on_collective(struct due *due, int32_t at, int32_t c, unsigned axes)
{
    const struct axis_list over = builder_note(due->b, at).over;
    switch (module_at(due->b->module, at)->opcode) {
    case HLO_ALL_GATHER:
        of_all_gather(due, at, c, axes);
        return true;
    case HLO_REDUCE_SCATTER:
        due_add(due, operand(due, at), build_all_gather(due->b, c, &over, dim_of(due, at)), axes);
        return true;
    case HLO_ALL_REDUCE:
        due_add(due, operand(due, at), c, axes);
        return true;
    case HLO_ALL_TO_ALL:
        due_add(due, operand(due, at), build_all_to_all(due->b, c, &over, dim_of(due, at)), axes);
        return true;
    case HLO_COLLECTIVE_PERMUTE:
        of_permute(due, at, c, axes);
        return true;
    case HLO_RAGGED_ALL_TO_ALL:
        of_ragged(due, at, c, axes);
        return true;
    case HLO_DYNAMIC_SLICE:
        if (over.count == 0)
            return false;
        c = build_all_gather(due->b, c, &over, cut_dim(due, at));
        due_add(due, operand(due, at), c, axes & ~due_set(&over));
        return true;
    default:
        return false;
    }
}
