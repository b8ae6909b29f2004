/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives, by their definitions. */
#include <stdlib.h>
#include <string.h>

#include "numbers/definition.h"
#include "numbers/frame.h"

static enum opcode whole_of(enum opcode opcode)
{
    return opcode_info(opcode)->whole;
}

bool communicate_knows(enum opcode opcode)
{
    switch (whole_of(opcode)) {
    case HLO_ALL_GATHER:
    case HLO_ALL_REDUCE:
    case HLO_ALL_TO_ALL:
    case HLO_COLLECTIVE_PERMUTE:
    case HLO_REDUCE_SCATTER:
    case HLO_RAGGED_ALL_TO_ALL:
        return true;
    default:
        return false;
    }
}

/* psum, pmax or pmin, by what is applied. */
static int reduction(const struct frame *frame, int32_t at, enum call_op *op)
{
    const struct module *module = frame->module;
    int32_t body = (int32_t)module_number(module, at, ATTR_TO_APPLY, -1);
    enum opcode root = body < 0 ? HLO_OPCODES : module_at(module, module->computation[body].root)->opcode;
    *op = root == HLO_MAXIMUM ? CALL_PMAX : root == HLO_MINIMUM ? CALL_PMIN : CALL_PSUM;
    if (root == HLO_ADD || root == HLO_MAXIMUM || root == HLO_MINIMUM)
        return 0;
    return interpret_fail(module, at, frame->st, "only sums, maxima and minima are interpreted");
}

/* One group of all devices, for permutes: pairs are positions in it. */
static int all_devices(const struct frame *frame, struct groups *groups)
{
    int code = groups_init(groups, 1, frame->devices, frame->st);
    for (int i = 0; code == 0 && i < frame->devices; i++)
        groups->member[i] = i;
    return code;
}

static int permute_pairs(const struct frame *frame, int32_t at, struct call *call)
{
    int count;
    const int64_t *pair = module_numbers(frame->module, at, ATTR_SOURCE_TARGET_PAIRS, &count);
    call->op = CALL_PPERMUTE;
    call->pairs = count / 2;
    call->pair = malloc(((size_t)call->pairs + 1) * sizeof *call->pair);
    if (!call->pair)
        return status_nomem(frame->st);
    for (int i = 0; i < count; i++)
        call->pair[i / 2][i % 2] = (int)pair[i];
    return 0;
}

/* The call of JAX that the instruction is, and its groups. */
static int find_call(const struct frame *frame, int32_t at, struct call *call, struct groups *groups)
{
    const struct module *module = frame->module;
    *call = (struct call){.tiled = true};
    *groups = (struct groups){0};
    call->dim = call->split_axis = call->concat_axis = (int)module_number(module, at, ATTR_DIMENSIONS, 0);
    switch (whole_of(module_at(module, at)->opcode)) {
    case HLO_ALL_GATHER:
        call->op = CALL_ALL_GATHER;
        break;
    case HLO_ALL_REDUCE:
        if (reduction(frame, at, &call->op) < 0)
            return frame->st->code;
        break;
    case HLO_REDUCE_SCATTER:
        if (reduction(frame, at, &call->op) < 0)
            return frame->st->code;
        if (call->op != CALL_PSUM)
            return interpret_fail(module, at, frame->st, "only sums are scattered");
        call->op = CALL_PSUM_SCATTER;
        break;
    case HLO_ALL_TO_ALL:
        call->op = CALL_ALL_TO_ALL;
        if (!module_find(module, at, ATTR_DIMENSIONS))
            return interpret_fail(module, at, frame->st, "only all-to-alls along a dim are interpreted");
        break;
    default:
        return permute_pairs(frame, at, call) < 0 ? frame->st->code : all_devices(frame, groups);
    }
    return module_groups_of(module, at, groups, frame->st);
}

/* Applies it to one operand: result[device]. */
static int apply(const struct frame *frame, int32_t at, int which, const struct call *call,
                 const struct groups *groups, struct value *result[])
{
    int n = frame->devices, code = 0;
    struct array *in = calloc(2 * (size_t)n, sizeof *in), *out = in + n;
    if (!in)
        return status_nomem(frame->st);
    for (int d = 0; d < n; d++)
        in[d] = frame_operand(frame, at, which, d)->array;
    code = definition_apply(call, groups, in, out, frame->st);
    for (int d = 0; d < n && code == 0; d++)
        if (!(result[d] = value_of(&out[d], frame->st)))
            code = frame->st->code;
    for (int d = 0; d < n; d++)
        array_free(&out[d]);
    free(in);
    return code;
}

/* Of a start, what it was given and what will come; of several operands, a tuple of each. */
static int wrap(const struct frame *frame, int32_t at, int device, struct value *const part[], int operands)
{
    bool start = opcode_info(module_at(frame->module, at)->opcode)->class == CLASS_START;
    struct value *result = operands == 1 ? value_keep(part[0]) : value_tuple(part, operands, frame->st),
                 *both = NULL;
    if (result && start && module_shape_of(frame->module, at)->dtype == SHAPE_TUPLE)
        both = value_tuple((struct value *[]){frame_operand(frame, at, 0, device), result}, 2, frame->st);
    else if (result)
        both = value_keep(result);
    value_drop(result);
    *frame_slot(frame, at, device) = both;
    return both ? 0 : frame->st->code;
}

int communicate(struct frame *frame, int32_t at)
{
    const struct module *module = frame->module;
    int operands = module_at(module, at)->operands, n = frame->devices;
    struct call call;
    struct groups groups;
    for (int d = 0; d < n; d++)
        if (!frame->active[d])
            return interpret_fail(module, at, frame->st, "device %d does not come to it, others do", d);
    if (whole_of(module_at(module, at)->opcode) == HLO_RAGGED_ALL_TO_ALL)
        return exchange_rows(frame, at);
    struct value **part = calloc((size_t)operands * (size_t)n + 1, sizeof *part);
    if (!part)
        return status_nomem(frame->st);
    int code = find_call(frame, at, &call, &groups);
    /* by device, then by operand */
    struct value **result = calloc((size_t)n, sizeof *result);
    if (!result && code == 0)
        code = status_nomem(frame->st);
    for (int o = 0; o < operands && code == 0; o++) {
        memset(result, 0, (size_t)n * sizeof *result);
        code = apply(frame, at, o, &call, &groups, result);
        for (int d = 0; d < n; d++)
            part[d * operands + o] = result[d];
    }
    for (int d = 0; d < n && code == 0; d++)
        code = wrap(frame, at, d, part + (size_t)d * (size_t)operands, operands);
    for (int i = 0; i < operands * n; i++)
        value_drop(part[i]);
    free(part);
    free(result);
    call_free(&call);
    groups_free(&groups);
    return code;
}
