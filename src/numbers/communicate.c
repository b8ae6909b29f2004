/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives, by their definitions. */
#include <stdlib.h>
#include <string.h>

#include "numbers/definition.h"
#include "numbers/frame.h"

/* The JAX call that a collective stands for; CALL_NONE if it has no definition here. */
static enum call_op call_of(const struct frame *frame, int32_t at)
{
    static const struct {
        enum opcode whole;
        enum call_op op;
    } calls[] = {{HLO_ALL_GATHER, CALL_ALL_GATHER},    {HLO_ALL_REDUCE, CALL_PSUM},
                 {HLO_ALL_TO_ALL, CALL_ALL_TO_ALL},    {HLO_COLLECTIVE_PERMUTE, CALL_PPERMUTE},
                 {HLO_RAGGED_ALL_TO_ALL, CALL_RAGGED}, {HLO_REDUCE_SCATTER, CALL_PSUM_SCATTER}};
    enum opcode whole = module_whole_at(frame->module, at);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].whole == whole)
            return calls[i].op;
    return CALL_NONE;
}

/* Finds psum, pmax or pmin from the computation that a reduction applies. */
static int reduction(const struct frame *frame, int32_t at, enum call_op *op)
{
    int32_t body = (int32_t)module_number(frame->module, at, ATTR_TO_APPLY, -1);
    enum opcode root =
        body < 0 ? HLO_OPCODES : module_at(frame->module, frame->module->computation[body].root)->opcode;
    *op = root == HLO_MAXIMUM ? CALL_PMAX : CALL_PSUM;
    if (root == HLO_ADD || root == HLO_MAXIMUM)
        return 0;
    return interpret_fail(frame->module, at, frame->st, "only sums and maxima are interpreted");
}

static int permute_pairs(const struct frame *frame, int32_t at, struct call *call)
{
    int count;
    const int64_t *pair = module_numbers(frame->module, at, ATTR_SOURCE_TARGET_PAIRS, &count);
    call->pairs = count / 2;
    call->pair = malloc(((size_t)call->pairs + 1) * sizeof *call->pair);
    if (!call->pair)
        return status_nomem(frame->st);
    for (int i = 0; i < count; i++)
        call->pair[i / 2][i % 2] = (int)pair[i];
    return 0;
}

/* The JAX call that the instruction stands for, and its groups. Permutes have one group of all devices, and
 * their pairs are positions in it. */
static int find_call(const struct frame *frame, int32_t at, struct call *call, struct groups *groups)
{
    const struct module *module = frame->module;
    *call = (struct call){.op = call_of(frame, at), .tiled = true};
    *groups = (struct groups){0};
    call->dim = call->split_axis = call->concat_axis = (int)module_number(module, at, ATTR_DIMENSIONS, 0);
    if (call->op == CALL_PPERMUTE)
        return permute_pairs(frame, at, call) < 0 ? frame->st->code
                                                  : groups_parse("{}", frame->devices, groups, frame->st);
    enum call_op op = call->op;
    if (call_reduces(op) && reduction(frame, at, &op) < 0)
        return frame->st->code;
    if (call->op == CALL_PSUM)
        call->op = op;
    else if (call->op == CALL_PSUM_SCATTER && op != CALL_PSUM)
        return interpret_fail(module, at, frame->st, "only sums are scattered");
    if (op == CALL_ALL_TO_ALL && !module_find(module, at, ATTR_DIMENSIONS))
        return interpret_fail(module, at, frame->st, "only all-to-alls along a dim are interpreted");
    return module_groups_of(module, at, groups, frame->st);
}

enum operand { INPUT, OUTPUT, INPUT_OFFSET, SEND_SIZE, OUTPUT_OFFSET, RECV_SIZE };

static const struct array *array_of(const struct frame *frame, int32_t at, enum operand which, int device)
{
    return &frame_operand(frame, at, which)->array[device];
}

static int64_t number_of(const struct frame *frame, int32_t at, enum operand which, int device, int position)
{
    return (int64_t)array_of(frame, at, which, device)->data[position];
}

static bool is_within(int64_t first, int64_t count, int64_t rows)
{
    return first >= 0 && count >= 0 && first <= rows - count;
}

/* Copies the rows that the device at position i sends to the device at position j. */
static int send(const struct frame *frame, int32_t at, const int member[], int i, int j, struct array *to)
{
    const struct array *from = array_of(frame, at, INPUT, member[i]);
    int64_t rows = number_of(frame, at, SEND_SIZE, member[i], j);
    int64_t first = number_of(frame, at, INPUT_OFFSET, member[i], j);
    int64_t into = number_of(frame, at, OUTPUT_OFFSET, member[i], j);
    int64_t n = from->shape[0] ? array_elements(from) / from->shape[0] : 0;
    if (number_of(frame, at, RECV_SIZE, member[j], i) != rows)
        return interpret_fail(
            frame->module, at, frame->st, "device %d sends %lld rows to device %d, which expects %lld",
            member[i], (long long)rows, member[j], (long long)number_of(frame, at, RECV_SIZE, member[j], i));
    if (!is_within(first, rows, from->shape[0]) || !is_within(into, rows, to->shape[0]))
        return interpret_fail(frame->module, at, frame->st,
                              "device %d sends rows %lld to %lld to device %d, into rows from %lld on: they "
                              "have %lld and %lld",
                              member[i], (long long)first, (long long)(first + rows - 1), member[j],
                              (long long)into, (long long)from->shape[0], (long long)to->shape[0]);
    if (rows > 0)
        memcpy(to->data + into * n, from->data + first * n, (size_t)(rows * n) * sizeof *to->data);
    return 0;
}

static int check_shapes(const struct frame *frame, int32_t at, const struct groups *groups)
{
    const struct array *in = array_of(frame, at, INPUT, groups->member[0]);
    const struct array *out = array_of(frame, at, OUTPUT, groups->member[0]);
    bool fits = in->dims > 0 && in->dims == out->dims;
    for (int d = 1; fits && d < in->dims; d++)
        fits = in->shape[d] == out->shape[d];
    for (int o = INPUT_OFFSET; fits && o <= RECV_SIZE; o++) {
        const struct array *list = array_of(frame, at, (enum operand)o, groups->member[0]);
        fits = list->dims == 1 && list->shape[0] == groups->size;
    }
    if (fits)
        return 0;
    return interpret_fail(frame->module, at, frame->st,
                          "rows of input and output must be alike, and offsets and sizes one for each of %d "
                          "devices",
                          groups->size);
}

/* By its definition (XLA's operation semantics; jax.lax.ragged_all_to_all): device i of a group sends to
 * device j rows send_size[j] of its input from input_offset[j] on, which go into j's output from i's
 * output_offset[j] on; rows that no device writes keep their old values. recv_size must equal the sizes that
 * the senders give. */
static int exchange_rows(struct frame *frame, int32_t at, struct value *result)
{
    struct groups groups = {0};
    int code = module_groups_of(frame->module, at, &groups, frame->st);
    if (code == 0)
        code = check_shapes(frame, at, &groups);
    for (int g = 0; code == 0 && g < groups.count * groups.size; g++) {
        const int *member = groups.member + g / groups.size * groups.size;
        int j = g % groups.size;
        struct array *out = &result->array[member[j]];
        code = array_copy(array_of(frame, at, OUTPUT, member[j]), out, frame->st);
        for (int i = 0; code == 0 && i < groups.size; i++)
            code = send(frame, at, member, i, j, out);
    }
    groups_free(&groups);
    return code;
}

/* Computes part[operand] of the result by the JAX call. */
static int apply(struct frame *frame, int32_t at, struct value *part[])
{
    int operands = module_at(frame->module, at)->operands, code = 0;
    struct call call;
    struct groups groups;
    if (call_of(frame, at) == CALL_RAGGED)
        return (part[0] = value_new(frame->devices, frame->st)) ? exchange_rows(frame, at, part[0])
                                                                : frame->st->code;
    code = find_call(frame, at, &call, &groups);
    for (int o = 0; o < operands && code == 0; o++)
        code = (part[o] = value_new(frame->devices, frame->st))
                   ? definition_apply(&call, &groups, frame_operand(frame, at, o)->array, part[o]->array,
                                      frame->st)
                   : frame->st->code;
    call_free(&call);
    groups_free(&groups);
    return code;
}

/* Wraps the parts as the instruction's result: a tuple for several operands; for a start, a tuple of its
 * operands and results. */
static struct value *wrap(const struct frame *frame, int32_t at, struct value *const part[])
{
    bool start = opcode_info(module_at(frame->module, at)->opcode)->class == CLASS_START;
    bool rows = call_of(frame, at) == CALL_RAGGED;
    int operands = module_at(frame->module, at)->operands;
    struct value *result =
        operands == 1 || rows ? value_keep(part[0]) : value_tuple(part, operands, frame->st);
    if (!result || !start || rows || module_shape_of(frame->module, at)->dtype != SHAPE_TUPLE)
        return result;
    struct value *both = value_tuple((struct value *[]){frame_operand(frame, at, 0), result}, 2, frame->st);
    value_drop(result);
    return both;
}

int communicate(struct frame *frame, int32_t at)
{
    int operands = module_at(frame->module, at)->operands;
    if (call_of(frame, at) == CALL_NONE)
        return interpret_fail(frame->module, at, frame->st, "%s has no definition here",
                              opcode_info(module_at(frame->module, at)->opcode)->name);
    for (int d = 0; d < frame->devices; d++)
        if (!frame->active[d])
            return interpret_fail(frame->module, at, frame->st, "device %d does not come to it, others do",
                                  d);
    struct value **part = calloc((size_t)operands + 1, sizeof *part);
    if (!part)
        return status_nomem(frame->st);
    int code = apply(frame, at, part);
    if (code == 0 && !(*frame_slot(frame, at) = wrap(frame, at, part)))
        code = frame->st->code;
    for (int o = 0; o < operands; o++)
        value_drop(part[o]);
    free(part);
    return code;
}
