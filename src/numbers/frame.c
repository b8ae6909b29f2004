/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/frame.h"

#include <stdlib.h>
#include <string.h>

static const struct local_rule *find_rule(enum opcode opcode)
{
    static const struct local_rule *const tables[] = {elementwise_rules, shaping_rules, contract_rules,
                                                      rows_rules};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct local_rule *rule = tables[t]; rule->apply; rule++)
            if (rule->opcode == opcode)
                return rule;
    return NULL;
}

static int run_local(struct frame *frame, int32_t at, const struct local_rule *rule, int device)
{
    const struct instruction *i = module_at(frame->module, at);
    const struct array **operand = malloc(((size_t)i->operands + 1) * sizeof *operand);
    struct local local = {rule, frame->module, at, i->operands, operand, frame->st};
    struct array out = {0};
    if (!operand)
        return status_nomem(frame->st);
    for (int o = 0; o < i->operands; o++)
        operand[o] = &frame_operand(frame, at, o, device)->array;
    int code = interpret_array(frame->module, i->shape, &out, frame->st);
    if (code == 0)
        code = rule->apply(&local, &out);
    free(operand);
    if (code < 0) {
        array_free(&out);
        return code;
    }
    struct value *value = value_of(&out, frame->st);
    *frame_slot(frame, at, device) = value;
    return value ? 0 : frame->st->code;
}

/* Runs a computation on operands first .. of an instruction, on some devices; its result becomes the instruction's. */
static int run_called(struct frame *frame, int32_t at, int32_t computation, const bool active[], int first,
                      int arguments)
{
    int n = frame->devices;
    struct value **argument = calloc((size_t)(arguments + 1) * (size_t)n, sizeof *argument);
    if (!argument)
        return status_nomem(frame->st);
    for (int a = 0; a < arguments; a++)
        for (int d = 0; d < n; d++)
            argument[a * n + d] = active[d] ? frame_operand(frame, at, first + a, d) : NULL;
    int code = frame_run(frame, computation, active, argument, arguments, frame_slot(frame, at, 0));
    free(argument);
    return code;
}

/* Do the active devices go on? -1: they disagree. */
static int agree(const struct frame *frame, struct value *const pred[])
{
    int all = -2;
    for (int d = 0; d < frame->devices; d++) {
        if (!frame->active[d])
            continue;
        int one = pred[d]->array.data[0] != 0;
        if (all != -2 && one != all)
            return -1;
        all = one;
    }
    return all;
}

/* Drops what devices hold, and lets them hold something else. */
static void replace(struct value *held[], struct value *const now[], int n)
{
    for (int d = 0; d < n; d++) {
        value_drop(held[d]);
        held[d] = now ? now[d] : NULL;
    }
}

static int run_loop(struct frame *frame, int32_t at)
{
    const struct module *module = frame->module;
    int n = frame->devices, code = 0, more = 1;
    int32_t condition = (int32_t)module_number(module, at, ATTR_CONDITION, -1);
    int32_t body = (int32_t)module_number(module, at, ATTR_BODY, -1);
    struct value **state = calloc(2 * (size_t)n, sizeof *state), **next = state + n;
    if (!state)
        return status_nomem(frame->st);
    for (int d = 0; d < n; d++)
        if (frame->active[d])
            state[d] = value_keep(frame_operand(frame, at, 0, d));
    while (code == 0 && more == 1) {
        memset(next, 0, (size_t)n * sizeof *next);
        code = frame_run(frame, condition, frame->active, state, 1, next);
        more = code == 0 ? agree(frame, next) : 0;
        replace(next, NULL, n);
        if (code == 0 && more < 0)
            code = interpret_fail(module, at, frame->st, "devices disagree about another trip");
        if (code < 0 || more == 0)
            break;
        code = frame_run(frame, body, frame->active, state, 1, next);
        if (code == 0)
            replace(state, next, n);
    }
    for (int d = 0; d < n && code == 0; d++)
        *frame_slot(frame, at, d) = state[d] ? value_keep(state[d]) : NULL;
    replace(state, NULL, n);
    free(state);
    return code;
}

/* The branch that a device takes: operand 0 is pred (true, false) or a number, the last branch where it is out of range. */
static int branch_of(const struct frame *frame, int32_t at, int device, int branches, bool pred)
{
    double which = frame_operand(frame, at, 0, device)->array.data[0];
    if (pred)
        return which != 0 ? 0 : 1;
    return which >= 0 && which < branches ? (int)which : branches - 1;
}

static int run_conditional(struct frame *frame, int32_t at)
{
    const struct module *module = frame->module;
    int n = frame->devices, branches, code = 0;
    const int64_t *list = module_numbers(module, at, ATTR_BRANCHES, &branches);
    int64_t two[] = {module_number(module, at, ATTR_TRUE_COMPUTATION, -1),
                     module_number(module, at, ATTR_FALSE_COMPUTATION, -1)};
    bool pred = module_shape_of(module, module_operand(module, at, 0))->dtype == DTYPE_PRED;
    bool *active = calloc((size_t)n, sizeof *active);
    if (!active)
        return status_nomem(frame->st);
    if (branches == 0) {
        list = two;
        branches = 2;
    }
    for (int b = 0; b < branches && code == 0; b++) {
        bool any = false;
        for (int d = 0; d < n; d++) {
            active[d] = frame->active[d] && branch_of(frame, at, d, branches, pred) == b;
            any = any || active[d];
        }
        if (any)
            code = run_called(frame, at, (int32_t)list[b], active, 1 + b, 1);
    }
    free(active);
    return code;
}

static int make_tuple(struct frame *frame, int32_t at, int device)
{
    int operands = module_at(frame->module, at)->operands;
    struct value **part = malloc(((size_t)operands + 1) * sizeof *part), *made = NULL;
    if (!part)
        return status_nomem(frame->st);
    for (int o = 0; o < operands; o++)
        part[o] = frame_operand(frame, at, o, device);
    made = value_tuple(part, operands, frame->st);
    free(part);
    *frame_slot(frame, at, device) = made;
    return made ? 0 : frame->st->code;
}

/* Instructions that only hand values on, on one device. */
static int hand_on(struct frame *frame, int32_t at, int device)
{
    const struct module *module = frame->module;
    const struct instruction *i = module_at(module, at);
    struct value **slot = frame_slot(frame, at, device), *from;
    struct array scalar = {0};
    int64_t number =
        module_number(module, at, i->opcode == HLO_PARAMETER ? ATTR_PARAMETER_NUMBER : ATTR_INDEX, 0);
    switch (i->opcode) {
    case HLO_PARAMETER:
        *slot = value_keep(frame->argument[number * frame->devices + device]);
        return 0;
    case HLO_TUPLE:
        return make_tuple(frame, at, device);
    case HLO_GET_TUPLE_ELEMENT:
        *slot = value_keep(frame_operand(frame, at, 0, device)->part[number]);
        return 0;
    case HLO_PARTITION_ID:
        if (array_init(&scalar, 0, NULL, true, frame->st) < 0)
            return frame->st->code;
        scalar.data[0] = device;
        *slot = value_of(&scalar, frame->st);
        return *slot ? 0 : frame->st->code;
    default: /* a done: of what was given and what came, what came */
        from = frame_operand(frame, at, 0, device);
        *slot = value_keep(from->parts >= 2 ? from->part[1] : from);
        return 0;
    }
}

static bool hands_on(enum opcode opcode)
{
    return opcode == HLO_PARAMETER || opcode == HLO_TUPLE || opcode == HLO_GET_TUPLE_ELEMENT ||
           opcode == HLO_PARTITION_ID || opcode_info(opcode)->class == CLASS_DONE;
}

static int run_instruction(struct frame *frame, int32_t at)
{
    enum opcode opcode = module_at(frame->module, at)->opcode;
    const struct local_rule *rule = find_rule(opcode);
    int32_t called =
        (int32_t)module_number(frame->module, at, opcode == HLO_CALL ? ATTR_TO_APPLY : ATTR_CALLS, -1);
    int code = 0;
    if (rule || hands_on(opcode)) {
        for (int d = 0; d < frame->devices && code == 0; d++)
            if (frame->active[d])
                code = rule ? run_local(frame, at, rule, d) : hand_on(frame, at, d);
        return code;
    }
    for (int d = 0; attention_knows(frame->module, at) && d < frame->devices && code == 0; d++)
        if (frame->active[d])
            code = attention_run(frame, at, d);
    if (attention_knows(frame->module, at))
        return code;
    if (opcode == HLO_WHILE)
        return run_loop(frame, at);
    if (opcode == HLO_CONDITIONAL)
        return run_conditional(frame, at);
    if (called >= 0)
        return run_called(frame, at, called, frame->active, 0, module_at(frame->module, at)->operands);
    if (communicate_knows(opcode))
        return communicate(frame, at);
    return interpret_fail(frame->module, at, frame->st, "%s has no definition here",
                          opcode_info(opcode)->name);
}

/* Does anything use the instruction? What nobody uses needs no meaning: a kernel that is there for its time. */
static bool is_used(const struct frame *frame, int32_t at)
{
    const struct module *module = frame->module;
    int32_t computation = module_at(module, at)->computation;
    bool used = module->computation[computation].root == at;
    for (int32_t later = at + 1; later < frame->first + frame->count && !used; later++)
        for (int o = 0; o < module_at(module, later)->operands && !used; o++)
            used = module_operand(module, later, o) == at;
    return used;
}

int frame_run(const struct frame *outer, int32_t computation, const bool active[], struct value **argument,
              int arguments, struct value **result)
{
    const struct computation *c = &outer->module->computation[computation];
    struct frame frame = {.module = outer->module,
                          .devices = outer->devices,
                          .first = c->first,
                          .count = c->count,
                          .active = active,
                          .argument = argument,
                          .arguments = arguments,
                          .st = outer->st};
    size_t slots = (size_t)c->count * (size_t)outer->devices;
    int code = 0;
    frame.value = calloc(slots + 1, sizeof *frame.value);
    if (!frame.value)
        return status_nomem(outer->st);
    for (int32_t at = c->first; at < c->first + c->count && code == 0; at++)
        if (module_at(outer->module, at)->opcode != HLO_CUSTOM_CALL || is_used(&frame, at))
            code = run_instruction(&frame, at);
    for (int d = 0; d < frame.devices && code == 0; d++)
        if (active[d])
            result[d] = value_keep(*frame_slot(&frame, c->root, d));
    for (size_t i = 0; i < slots; i++)
        value_drop(frame.value[i]);
    free(frame.value);
    return code;
}
