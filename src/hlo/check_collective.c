/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives: do groups, dims, operands and result fit together? */
#include <string.h>

#include "hlo/module_check.h"

/* One operand and its result: the same but for dim `dim`, which is `grown` times as long in the larger of the two. */
static int check_dims(const struct module *module, int32_t small, int32_t large, int64_t dim, int64_t times,
                      struct status *st)
{
    const struct shape *a = &module->shape[small], *b = &module->shape[large];
    bool fits = a->dtype >= 0 && a->dtype == b->dtype && a->count == b->count;
    for (int d = 0; fits && d < a->count; d++)
        fits = module->number[a->first + d] * (d == dim ? times : 1) == module->number[b->first + d];
    if (!fits)
        return status_fail(st, STATUS_INPUT,
                           "operand and result must differ in dim %lld, by the group's %lld devices",
                           (long long)dim, (long long)times);
    return 0;
}

static int check_pair(const struct module *module, int32_t instruction, int32_t operand, int32_t result,
                      int64_t size, struct status *st)
{
    enum opcode whole = opcode_info(module_at(module, instruction)->opcode)->whole;
    int64_t dim = module_number(module, instruction, ATTR_DIMENSIONS, -1);
    if (whole == HLO_ALL_GATHER || whole == HLO_REDUCE_SCATTER) {
        if (dim < 0 || dim >= module->shape[operand].count)
            return status_fail(st, STATUS_INPUT, "it needs dimensions={D} with D less than %d",
                               module->shape[operand].count);
        bool gathers = whole == HLO_ALL_GATHER;
        return check_dims(module, gathers ? operand : result, gathers ? result : operand, dim, size, st);
    }
    if (!shape_alike(module, operand, result))
        return status_fail(st, STATUS_INPUT, "its result must have the shape of its operand");
    return 0;
}

/* Of several operands the result is a tuple. */
static int check_shapes(const struct module *module, int32_t instruction, int64_t size, struct status *st)
{
    const struct instruction *i = module_at(module, instruction);
    int32_t result = module_result(module, instruction);
    const struct shape *shape = &module->shape[result];
    bool tuple = shape->dtype == SHAPE_TUPLE;
    if (tuple ? shape->count != i->operands : i->operands != 1)
        return status_fail(st, STATUS_INPUT, "its result must have one shape for each of its %d operands",
                           i->operands);
    int code = 0;
    for (int o = 0; o < i->operands && code == 0; o++) {
        int32_t of = tuple ? (int32_t)module->number[shape->first + o] : result;
        code = check_pair(module, instruction,
                          module_at(module, module_operand(module, instruction, o))->shape, of, size, st);
    }
    return code;
}

int check_collective(const struct module *module, int32_t instruction, struct status *st)
{
    const struct instruction *i = module_at(module, instruction);
    enum opcode whole = opcode_info(i->opcode)->whole;
    struct groups groups;
    int code = module_groups_of(module, instruction, &groups, st);
    int64_t size = groups.size;
    groups_free(&groups);
    if (code < 0)
        return code;
    if (whole == HLO_RAGGED_ALL_TO_ALL)
        return i->operands == 6
                   ? 0
                   : status_fail(st, STATUS_INPUT,
                                 "it needs six operands: input, output, offsets and sizes of both");
    if (i->operands == 0)
        return status_fail(st, STATUS_INPUT, "it needs an operand");
    if (whole == HLO_ALL_TO_ALL && i->operands > 1 && i->operands != size)
        return status_fail(st, STATUS_INPUT, "it has %d operands for groups of %lld devices", i->operands,
                           (long long)size);
    /* a permute into slices of a buffer has operands of its own kind; a broadcast may be told its root */
    if ((whole == HLO_COLLECTIVE_PERMUTE || whole == HLO_COLLECTIVE_BROADCAST) && i->operands > 1)
        return 0;
    return check_shapes(module, instruction, size, st);
}
