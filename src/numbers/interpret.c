/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/interpret.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "numbers/frame.h"

static int run(const struct frame *outer, int32_t computation, const bool active[], struct value **argument,
               struct value **result);

int interpret_fail(const struct module *module, int32_t instruction, struct status *st, const char *format,
                   ...)
{
    char why[256];
    TEXT_OF_REST(why, format);
    return status_fail(st, STATUS_INPUT, "%s: %s", module_name_at(module, instruction), why);
}

/* An array of a shape of the module, zeroed. All floating-point types are stored as doubles. */
static int zeroed(const struct module *module, int32_t shape, struct array *out, struct status *st)
{
    const struct shape *s = &module->shape[shape];
    *out = (struct array){0};
    if (s->dtype < 0)
        return status_fail(st, STATUS_INPUT, "a tuple or token where an array is needed");
    enum dtype_id dtype = (enum dtype_id)s->dtype;
    return array_init(out, s->count, module->number + s->first, dtype_is_whole(dtype) ? dtype : DTYPE_F64,
                      st);
}

/* Checks an argument against its parameter. */
static int check_argument(const struct module *module, int parameter, const struct array *argument,
                          struct status *st)
{
    struct array wanted;
    char text[2][ARRAY_TEXT];
    int32_t at = module_parameter(module, module->entry, parameter);
    if (at < 0)
        return status_fail(st, STATUS_INPUT, "the module has no parameter %d", parameter);
    if (zeroed(module, module_at(module, at)->shape, &wanted, st) < 0)
        return st->code;
    bool same = array_same_shape(&wanted, argument);
    array_print_shape(&wanted, text[0]);
    array_free(&wanted);
    return same ? 0
                : interpret_fail(module, at, st, "it is %s on a device, not %s", text[0],
                                 array_print_shape(argument, text[1]));
}

static const struct operation_rule *find_rule(enum opcode opcode)
{
    static const struct operation_rule *const tables[] = {elementwise_rules, shaping_rules, contract_rules,
                                                          rows_rules};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct operation_rule *rule = tables[t]; rule->apply; rule++)
            if (rule->opcode == opcode)
                return rule;
    return NULL;
}

static int run_local(struct frame *frame, int32_t at, const struct operation_rule *rule)
{
    const struct instruction *i = module_at(frame->module, at);
    const struct array **operand = malloc(((size_t)i->operands + 1) * sizeof *operand);
    struct operation op = {rule, frame->module, at, 0, i->operands, operand, frame->st};
    struct value *value = *frame_slot(frame, at) = value_new(frame->devices, frame->st);
    int code = operand && value ? 0 : status_nomem(frame->st);
    for (int d = 0; d < frame->devices && code == 0; d++) {
        if (!frame->active[d])
            continue;
        for (int o = 0; o < i->operands; o++)
            operand[o] = &frame_operand(frame, at, o)->array[d];
        op.device = d;
        code = zeroed(frame->module, i->shape, &value->array[d], frame->st);
        if (code == 0)
            code = rule->apply(&op, &value->array[d]);
        if (code == 0 && array_is_whole(&value->array[d]))
            array_hold(&value->array[d], value->array[d].dtype);
    }
    free(operand);
    return code;
}

/* The values of an instruction's operands, in an array that the caller frees; NULL if memory is out. */
static struct value **operands_of(const struct frame *frame, int32_t at)
{
    int operands = module_at(frame->module, at)->operands;
    struct value **value = calloc((size_t)operands + 1, sizeof *value);
    for (int o = 0; value && o < operands; o++)
        value[o] = frame_operand(frame, at, o);
    return value;
}

/* Runs a computation on the operands of an instruction. */
static int run_called(struct frame *frame, int32_t at, int32_t computation)
{
    struct value **argument = operands_of(frame, at);
    int code = argument ? run(frame, computation, frame->active, argument, frame_slot(frame, at))
                        : status_nomem(frame->st);
    free(argument);
    return code;
}

/* Runs one branch on the devices that take it, and merges its result with those of the branches before. */
static int run_branch(struct frame *frame, int32_t at, int32_t computation, int operand, const bool active[])
{
    struct value *argument = frame_operand(frame, at, operand), *result = NULL;
    struct value **slot = frame_slot(frame, at);
    int code = run(frame, computation, active, &argument, &result);
    if (code == 0 && !(*slot = value_merge(*slot, result, active, frame->st)))
        code = frame->st->code;
    value_drop(result);
    return code;
}

/* Operand 0 is a pred: each device takes the true or the false computation. */
static int run_conditional(struct frame *frame, int32_t at)
{
    static const enum attribute_key computation[] = {ATTR_TRUE_COMPUTATION, ATTR_FALSE_COMPUTATION};
    const struct array *pred = frame_operand(frame, at, 0)->array;
    bool *active = calloc((size_t)frame->devices, sizeof *active);
    int code = active ? 0 : status_nomem(frame->st);
    for (int b = 0; b < 2 && code == 0; b++) {
        bool any = false;
        for (int d = 0; d < frame->devices; d++) {
            active[d] = frame->active[d] && (pred[d].data[0] != 0) == (b == 0);
            any = any || active[d];
        }
        if (any)
            code = run_branch(frame, at, (int32_t)module_number(frame->module, at, computation[b], -1), 1 + b,
                              active);
    }
    free(active);
    return code;
}

static struct value *make_tuple(const struct frame *frame, int32_t at)
{
    struct value **part = operands_of(frame, at), *made = NULL;
    if (part)
        made = value_tuple(part, module_at(frame->module, at)->operands, frame->st);
    else
        status_nomem(frame->st);
    free(part);
    return made;
}

/* Evaluates instructions that only pass values on. */
static struct value *hand_on(const struct frame *frame, int32_t at)
{
    struct value *from;
    switch (module_at(frame->module, at)->opcode) {
    case HLO_PARAMETER:
        return value_keep(frame->argument[module_number(frame->module, at, ATTR_PARAMETER_NUMBER, 0)]);
    case HLO_TUPLE:
        return make_tuple(frame, at);
    case HLO_GET_TUPLE_ELEMENT:
        return value_keep(frame_operand(frame, at, 0)->part[module_number(frame->module, at, ATTR_INDEX, 0)]);
    default: /* a done returns the results of its start */
        from = frame_operand(frame, at, 0);
        return value_keep(from->parts >= 2 ? from->part[1] : from);
    }
}

static int run_instruction(struct frame *frame, int32_t at)
{
    enum opcode opcode = module_at(frame->module, at)->opcode;
    const struct operation_rule *rule = find_rule(opcode);
    int32_t called = (int32_t)module_number(frame->module, at, ATTR_CALLS, -1);
    if (rule)
        return run_local(frame, at, rule);
    if (opcode == HLO_PARAMETER || opcode == HLO_TUPLE || opcode == HLO_GET_TUPLE_ELEMENT ||
        opcode_info(opcode)->class == CLASS_DONE)
        return (*frame_slot(frame, at) = hand_on(frame, at)) ? 0 : frame->st->code;
    if (attention_knows(frame->module, at))
        return attention_run(frame, at);
    if (opcode == HLO_CONDITIONAL)
        return run_conditional(frame, at);
    return called >= 0 ? run_called(frame, at, called) : communicate(frame, at);
}

/* Is the result of the instruction used? An unused one needs no definition: it may be a kernel that is only
 * there for its time. */
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

/* Runs a computation on active devices, with the module, devices and status of `outer`. */
static int run(const struct frame *outer, int32_t computation, const bool active[], struct value **argument,
               struct value **result)
{
    const struct computation *c = &outer->module->computation[computation];
    struct frame frame = *outer;
    int code = 0;
    *result = NULL;
    frame.first = c->first;
    frame.count = c->count;
    frame.active = active;
    frame.argument = argument;
    frame.value = calloc((size_t)c->count + 1, sizeof *frame.value);
    if (!frame.value)
        return status_nomem(outer->st);
    for (int32_t at = c->first; at < c->first + c->count && code == 0; at++)
        if (module_at(outer->module, at)->opcode != HLO_CUSTOM_CALL || is_used(&frame, at))
            code = run_instruction(&frame, at);
    if (code == 0)
        *result = value_keep(*frame_slot(&frame, c->root));
    for (int32_t i = 0; i < c->count; i++)
        value_drop(frame.value[i]);
    free(frame.value);
    return code;
}

/* The arrays of the root, or of the parts of its tuple. */
static int take_results(const struct value *root, struct interpretation *out, struct status *st)
{
    int n = out->devices, results = root->parts < 0 ? 1 : root->parts, code = 0;
    out->result = calloc((size_t)results * (size_t)n + 1, sizeof *out->result);
    if (!out->result)
        return status_nomem(st);
    out->results = results;
    for (int r = 0; r < results; r++)
        for (int d = 0; d < n && code == 0; d++) {
            const struct value *value = root->parts < 0 ? root : root->part[r];
            code = array_copy(&value->array[d], &out->result[r * n + d], st);
        }
    return code;
}

/* A parameter's arguments on all devices. */
static struct value *take_argument(const struct module *module, int parameter, const struct array of[],
                                   int devices, struct status *st)
{
    struct value *value = value_new(devices, st);
    int code = value ? 0 : st->code;
    for (int d = 0; d < devices && code == 0; d++)
        if ((code = check_argument(module, parameter, &of[d], st)) == 0)
            code = array_copy(&of[d], &value->array[d], st);
    if (code == 0)
        return value;
    value_drop(value);
    return NULL;
}

int interpret(const struct module *module, const struct array argument[], int parameters,
              struct interpretation *out, struct status *st)
{
    int n = module->partitions * module->replicas, code = 0;
    struct frame outer = {.module = module, .devices = n, .st = st};
    struct value **given = calloc((size_t)parameters + 1, sizeof *given), *root = NULL;
    bool *active = malloc((size_t)n * sizeof *active);
    *out = (struct interpretation){.devices = n};
    if (!given || !active)
        code = status_nomem(st);
    for (int p = 0; p < parameters && code == 0; p++)
        if (!(given[p] = take_argument(module, p, argument + (ptrdiff_t)p * n, n, st)))
            code = st->code;
    if (code == 0) {
        memset(active, 1, (size_t)n * sizeof *active);
        code = run(&outer, module->entry, active, given, &root);
    }
    if (code == 0)
        code = take_results(root, out, st);
    value_drop(root);
    for (int p = 0; given && p < parameters; p++)
        value_drop(given[p]);
    free(given);
    free(active);
    if (code < 0)
        interpretation_free(out);
    return code;
}

void interpretation_free(struct interpretation *interpretation)
{
    for (int i = 0; i < interpretation->results * interpretation->devices; i++)
        array_free(&interpretation->result[i]);
    free(interpretation->result);
    *interpretation = (struct interpretation){0};
}
