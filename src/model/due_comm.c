/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is due to the operands of collectives: JAX's transposition rules (gradient.h). */
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
