/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Element by element. */
#include <math.h>

#include "numbers/frame.h"

static double negate(double a)
{
    return -a;
}
static double rsqrt(double a)
{
    return 1 / sqrt(a);
}
static double logistic(double a)
{
    return 1 / (1 + exp(-a));
}

double elementwise_binary(enum opcode opcode, double a, double b)
{
    switch (opcode) {
    case HLO_ADD:
        return a + b;
    case HLO_AND:
        return (double)((int64_t)a & (int64_t)b);
    case HLO_DIVIDE:
        return a / b;
    case HLO_MAXIMUM:
        return isnan(a) || a > b ? a : b;
    case HLO_MULTIPLY:
        return a * b;
    case HLO_REMAINDER:
        return fmod(a, b);
    case HLO_SUBTRACT:
        return a - b;
    default:
        return NAN; /* not in the table below */
    }
}

static int apply_unary(const struct operation *op, struct array *out)
{
    int64_t n = array_elements(out);
    for (int64_t i = 0; i < n; i++)
        out->data[i] = op->rule->unary(op->operand[0]->data[i]);
    return 0;
}

static int apply_binary(const struct operation *op, struct array *out)
{
    int64_t n = array_elements(out);
    for (int64_t i = 0; i < n; i++) {
        double y = elementwise_binary(op->rule->opcode, op->operand[0]->data[i], op->operand[1]->data[i]);
        out->data[i] = array_is_whole(out) ? trunc(y) : y;
    }
    return 0;
}

/* Converting to a whole type drops the fraction; converting to pred tests for non-zero. */
static int apply_convert(const struct operation *op, struct array *out)
{
    bool pred = module_shape_of(op->module, op->instruction)->dtype == DTYPE_PRED;
    int64_t n = array_elements(out);
    for (int64_t i = 0; i < n; i++) {
        double x = op->operand[0]->data[i];
        out->data[i] = pred ? x != 0 : array_is_whole(out) ? trunc(x) : x;
    }
    return 0;
}

static bool compare(const char *direction, double a, double b)
{
    bool negated = direction[0] == 'N', less = direction[0] == 'L', greater = direction[0] == 'G';
    bool or_equal = !negated && direction[1] == 'E';
    if (negated)
        return a != b;
    return (less && a < b) || (greater && a > b) || ((or_equal || direction[0] == 'E') && a == b);
}

static int apply_compare(const struct operation *op, struct array *out)
{
    const char *direction = module_value(op->module, op->instruction, ATTR_DIRECTION);
    int64_t n = array_elements(out);
    for (int64_t i = 0; i < n; i++)
        out->data[i] = compare(direction, op->operand[0]->data[i], op->operand[1]->data[i]);
    return 0;
}

static int apply_select(const struct operation *op, struct array *out)
{
    int64_t n = array_elements(out);
    bool one = op->operand[0]->dims == 0;
    for (int64_t i = 0; i < n; i++)
        out->data[i] = op->operand[op->operand[0]->data[one ? 0 : i] != 0 ? 1 : 2]->data[i];
    return 0;
}

const struct operation_rule elementwise_rules[] = {
    {HLO_EXPONENTIAL, .apply = apply_unary, .unary = exp},
    {HLO_LOG, .apply = apply_unary, .unary = log},
    {HLO_LOGISTIC, .apply = apply_unary, .unary = logistic},
    {HLO_NEGATE, .apply = apply_unary, .unary = negate},
    {HLO_RSQRT, .apply = apply_unary, .unary = rsqrt},
    {HLO_SQRT, .apply = apply_unary, .unary = sqrt},
    {HLO_TANH, .apply = apply_unary, .unary = tanh},
    {HLO_ADD, .apply = apply_binary},
    {HLO_AND, .apply = apply_binary},
    {HLO_DIVIDE, .apply = apply_binary},
    {HLO_MAXIMUM, .apply = apply_binary},
    {HLO_MULTIPLY, .apply = apply_binary},
    {HLO_REMAINDER, .apply = apply_binary},
    {HLO_SUBTRACT, .apply = apply_binary},
    {HLO_CONVERT, .apply = apply_convert},
    {HLO_COMPARE, .apply = apply_compare},
    {HLO_SELECT, .apply = apply_select},
    {HLO_OPCODES, .apply = NULL},
};

enum opcode elementwise_combine(const struct module *module, int32_t computation)
{
    int32_t root = module->computation[computation].root;
    const struct instruction *i = module_at(module, root);
    if (i->operands != 2 || module_at(module, module_operand(module, root, 0))->opcode != HLO_PARAMETER ||
        module_at(module, module_operand(module, root, 1))->opcode != HLO_PARAMETER)
        return HLO_OPCODES;
    for (const struct operation_rule *rule = elementwise_rules; rule->apply; rule++)
        if (rule->opcode == i->opcode && rule->apply == apply_binary)
            return rule->opcode;
    return HLO_OPCODES;
}
