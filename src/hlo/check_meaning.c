/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do operands, dims, groups and called computations of an instruction fit together? */
#include "hlo/module_check.h"
#include "hlo/window.h"

/* Instructions that run other computations: do their parameters and results fit the operands and the result?
 * Also checks starts and dones. */

static int count_parameters(const struct module *module, int32_t computation)
{
    const struct computation *c = &module->computation[computation];
    int parameters = 0;
    for (int32_t i = c->first; i < c->first + c->count; i++)
        parameters += module_at(module, i)->opcode == HLO_PARAMETER;
    return parameters;
}

static int check_while(const struct module *module, int32_t instruction, struct status *st)
{
    int32_t body = (int32_t)module_number(module, instruction, ATTR_BODY, -1);
    int32_t condition = (int32_t)module_number(module, instruction, ATTR_CONDITION, -1);
    const struct instruction *i = module_at(module, instruction);
    if (body < 0 || condition < 0 || i->operands != 1)
        return status_fail(st, STATUS_INPUT, "a while needs one operand, body= and condition=");
    if (count_parameters(module, body) != 1 || count_parameters(module, condition) != 1)
        return status_fail(st, STATUS_INPUT, "its body and its condition must have one parameter each");
    int32_t state = module_at(module, module_operand(module, instruction, 0))->shape;
    int32_t root = module->computation[body].root, decides = module->computation[condition].root;
    if (!shape_alike(module, state, i->shape) ||
        !shape_alike(module, module_at(module, root)->shape, i->shape))
        return status_fail(st, STATUS_INPUT, "its operand, its result and its body's must have one shape");
    if (module_shape_of(module, decides)->dtype != DTYPE_PRED || module_shape_of(module, decides)->count != 0)
        return status_fail(st, STATUS_INPUT, "its condition must be a pred[]");
    return 0;
}

int check_call(const struct module *module, int32_t instruction, struct status *st)
{
    const struct instruction *i = module_at(module, instruction);
    enum opcode whole = opcode_info(i->opcode)->whole;
    int32_t called = module_called(module, instruction, 0);
    if (whole == HLO_WHILE)
        return check_while(module, instruction, st);
    if (called < 0)
        return status_fail(st, STATUS_INPUT, "it does not say which computation it runs");
    if (whole == HLO_CONDITIONAL) {
        int branches = 1;
        while (module_called(module, instruction, branches) >= 0)
            branches++;
        return i->operands == branches + 1
                   ? 0
                   : status_fail(st, STATUS_INPUT, "it has %d operands; %d branches need %d", i->operands,
                                 branches, branches + 1);
    }
    int parameters = count_parameters(module, called);
    if (opcode_info(i->opcode)->class == CLASS_START && i->operands == 0)
        return 0; /* the update has the operands */
    if (module_called(module, instruction, 1) >= 0 || parameters != i->operands)
        return status_fail(st, STATUS_INPUT, "it has %d operands for the %d parameters of '%s'", i->operands,
                           parameters, module_word(module, module->computation[called].name));
    return 0;
}

/* A done or an update waits for a start or an update of its own kind, an async-done also for any wrapped
 * collective. A collective that one trip of a loop starts for the next one comes out of a tuple there. */
int check_wait(const struct module *module, int32_t instruction, struct status *st)
{
    const struct opcode_info *info = opcode_info(module_at(module, instruction)->opcode);
    if (module_at(module, instruction)->operands > 0) {
        int32_t start = module_operand(module, instruction, 0);
        const struct opcode_info *of = opcode_info(module_at(module, start)->opcode);
        if (of->whole == HLO_GET_TUPLE_ELEMENT && module_shape_of(module, start)->dtype == SHAPE_TUPLE)
            return 0;
        if ((of->class == CLASS_START || of->class == CLASS_UPDATE) && of->whole == info->whole)
            return 0;
    }
    return status_fail(st, STATUS_INPUT,
                       "a done without its start: its first operand must be a start of its kind");
}

/* Collectives: do groups, dims, operands and result fit together? */

/* One operand and its result: equal except for dim `dim`, which is `times` times as long in the larger of the
 * two, and for the type of sums: f32 operands may have a bf16 result. */
static int check_dims(const struct module *module, int32_t small, int32_t large, int64_t dim, int64_t times,
                      struct status *st)
{
    const struct shape *a = &module->shape[small], *b = &module->shape[large];
    bool fits = a->dtype >= 0 && b->dtype >= 0 && a->count == b->count;
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
    enum opcode whole = module_whole_at(module, instruction);
    int64_t dim = module_number(module, instruction, ATTR_DIMENSIONS, -1);
    if (whole == HLO_ALL_GATHER || whole == HLO_REDUCE_SCATTER) {
        if (dim < 0 || dim >= module->shape[operand].count)
            return status_fail(st, STATUS_INPUT, "it needs dimensions={D} with D less than %d",
                               module->shape[operand].count);
        bool gathers = whole == HLO_ALL_GATHER;
        if (gathers && module->shape[operand].dtype != module->shape[result].dtype)
            return status_fail(st, STATUS_INPUT, "its result must have the type of its operand");
        return check_dims(module, gathers ? operand : result, gathers ? result : operand, dim, size, st);
    }
    if (whole == HLO_ALL_REDUCE && check_dims(module, operand, result, -1, 1, NULL) == 0)
        return 0;
    if (!shape_alike(module, operand, result))
        return status_fail(st, STATUS_INPUT, "its result must have the shape of its operand");
    return 0;
}

/* If there are several operands, the result is a tuple. */
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

/* Dots, convolutions: do dims, operands and result fit together? */

/* The dims that a list names, each in range and once, and the product of their sizes. */
static int multiply_dims(const struct module *module, int32_t instruction, int which, enum attribute_key key,
                         double *product, struct status *st)
{
    int count;
    const int64_t *dim = module_numbers(module, instruction, key, &count);
    const struct shape *shape = module_shape_of(module, module_operand(module, instruction, which));
    *product = 1;
    for (int i = 0; i < count; i++) {
        bool twice = false;
        for (int j = 0; j < i; j++)
            twice |= dim[j] == dim[i];
        if (dim[i] < 0 || dim[i] >= shape->count || twice)
            return status_fail(st, STATUS_INPUT, "%s names dim %lld %s; its operand has %d",
                               attribute_info(key)->name, (long long)dim[i], twice ? "twice" : "",
                               shape->count);
        *product *= (double)module->number[shape->first + dim[i]];
    }
    return 0;
}

static int check_dot(const struct module *module, int32_t instruction, struct status *st)
{
    double left, right, batch, other;
    int code;
    int32_t a = module_operand(module, instruction, 0), b = module_operand(module, instruction, 1);
    if ((code = multiply_dims(module, instruction, 0, ATTR_LHS_CONTRACTING, &left, st)) < 0 ||
        (code = multiply_dims(module, instruction, 1, ATTR_RHS_CONTRACTING, &right, st)) < 0 ||
        (code = multiply_dims(module, instruction, 0, ATTR_LHS_BATCH, &batch, st)) < 0 ||
        (code = multiply_dims(module, instruction, 1, ATTR_RHS_BATCH, &other, st)) < 0)
        return code;
    if (left != right || batch != other)
        return status_fail(st, STATUS_INPUT,
                           "its operands have %.9g and %.9g elements in %s dims; they must be equal",
                           left != right ? left : batch, left != right ? right : other,
                           left != right ? "contracting" : "batch");
    double want = shape_elements(module, module_at(module, a)->shape) *
                  shape_elements(module, module_at(module, b)->shape);
    double got = shape_elements(module, module_at(module, instruction)->shape) * left * right * batch;
    if (module_at(module, instruction)->opcode == HLO_DOT && want != got)
        return status_fail(st, STATUS_INPUT,
                           "its result has %.9g elements; from its operands and dims come %.9g",
                           shape_elements(module, module_at(module, instruction)->shape),
                           got > 0 ? want / (left * right * batch) : 0);
    return 0;
}

int check_product(const struct module *module, int32_t instruction, struct status *st)
{
    double flops;
    if (module_at(module, instruction)->operands < 2)
        return status_fail(st, STATUS_INPUT, "a product needs two operands");
    if (module_at(module, instruction)->opcode == HLO_CONVOLUTION)
        return window_convolution_flops(module, instruction, &flops, st);
    return check_dot(module, instruction, st);
}
