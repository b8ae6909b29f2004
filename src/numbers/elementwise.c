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
static double sign(double a)
{
    return a > 0 ? 1 : a < 0 ? -1 : a;
}
static double is_finite(double a)
{
    return isfinite(a) ? 1 : 0;
}
static double not(double a)
{
    return a == 0;
}
static double add(double a, double b)
{
    return a + b;
}
static double subtract(double a, double b)
{
    return a - b;
}
static double multiply(double a, double b)
{
    return a * b;
}
static double divide(double a, double b)
{
    return a / b;
}
static double maximum(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}
static double minimum(double a, double b)
{
    return isnan(a) || a < b ? a : b;
}
static double and (double a, double b)
{
    return (double)((int64_t)a & (int64_t)b);
}
static double or (double a, double b)
{
    return (double)((int64_t)a | (int64_t)b);
}
static double xor (double a, double b) { return (double)((int64_t)a ^ (int64_t)b); }

    static int apply_unary(const struct local *local, struct array *out)
{
    int64_t n = array_elements(out);
    for (int64_t i = 0; i < n; i++)
        out->data[i] = local->rule->unary(local->operand[0]->data[i]);
    return 0;
}

static int apply_binary(const struct local *local, struct array *out)
{
    int64_t n = array_elements(out);
    for (int64_t i = 0; i < n; i++) {
        double y = local->rule->binary(local->operand[0]->data[i], local->operand[1]->data[i]);
        out->data[i] = out->integer ? trunc(y) : y;
    }
    return 0;
}

/* Whole numbers drop the fraction; pred is whether it is not 0. */
static int apply_convert(const struct local *local, struct array *out)
{
    bool pred = module_shape_of(local->module, local->instruction)->dtype == DTYPE_PRED;
    int64_t n = array_elements(out);
    for (int64_t i = 0; i < n; i++) {
        double x = local->operand[0]->data[i];
        out->data[i] = pred ? x != 0 : out->integer ? trunc(x) : x;
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

static int apply_compare(const struct local *local, struct array *out)
{
    const char *direction = module_value(local->module, local->instruction, ATTR_DIRECTION);
    int64_t n = array_elements(out);
    for (int64_t i = 0; i < n; i++)
        out->data[i] = compare(direction, local->operand[0]->data[i], local->operand[1]->data[i]);
    return 0;
}

static int apply_select(const struct local *local, struct array *out)
{
    int64_t n = array_elements(out);
    bool one = local->operand[0]->dims == 0;
    for (int64_t i = 0; i < n; i++)
        out->data[i] = local->operand[local->operand[0]->data[one ? 0 : i] != 0 ? 1 : 2]->data[i];
    return 0;
}

static int apply_clamp(const struct local *local, struct array *out)
{
    int64_t n = array_elements(out);
    bool scalar[2] = {local->operand[0]->dims == 0, local->operand[2]->dims == 0};
    for (int64_t i = 0; i < n; i++)
        out->data[i] =
            minimum(maximum(local->operand[1]->data[i], local->operand[0]->data[scalar[0] ? 0 : i]),
                    local->operand[2]->data[scalar[1] ? 0 : i]);
    return 0;
}

const struct local_rule elementwise_rules[] = {
    {HLO_ABS, .apply = apply_unary, .unary = fabs},
    {HLO_CBRT, .apply = apply_unary, .unary = cbrt},
    {HLO_CEIL, .apply = apply_unary, .unary = ceil},
    {HLO_COSINE, .apply = apply_unary, .unary = cos},
    {HLO_ERF, .apply = apply_unary, .unary = erf},
    {HLO_EXPONENTIAL, .apply = apply_unary, .unary = exp},
    {HLO_EXPONENTIAL_MINUS_ONE, .apply = apply_unary, .unary = expm1},
    {HLO_FLOOR, .apply = apply_unary, .unary = floor},
    {HLO_IS_FINITE, .apply = apply_unary, .unary = is_finite},
    {HLO_LOG, .apply = apply_unary, .unary = log},
    {HLO_LOG_PLUS_ONE, .apply = apply_unary, .unary = log1p},
    {HLO_LOGISTIC, .apply = apply_unary, .unary = logistic},
    {HLO_NEGATE, .apply = apply_unary, .unary = negate},
    {HLO_NOT, .apply = apply_unary, .unary = not },
    {HLO_ROUND_AFZ, .apply = apply_unary, .unary = round},
    {HLO_ROUND_EVEN, .apply = apply_unary, .unary = rint},
    {HLO_RSQRT, .apply = apply_unary, .unary = rsqrt},
    {HLO_SIGN, .apply = apply_unary, .unary = sign},
    {HLO_SINE, .apply = apply_unary, .unary = sin},
    {HLO_SQRT, .apply = apply_unary, .unary = sqrt},
    {HLO_TAN, .apply = apply_unary, .unary = tan},
    {HLO_TANH, .apply = apply_unary, .unary = tanh},
    {HLO_ADD, .apply = apply_binary, .binary = add},
    {HLO_AND, .apply = apply_binary, .binary = and},
    {HLO_ATAN2, .apply = apply_binary, .binary = atan2},
    {HLO_DIVIDE, .apply = apply_binary, .binary = divide},
    {HLO_MAXIMUM, .apply = apply_binary, .binary = maximum},
    {HLO_MINIMUM, .apply = apply_binary, .binary = minimum},
    {HLO_OR, .apply = apply_binary, .binary = or },
    {HLO_MULTIPLY, .apply = apply_binary, .binary = multiply},
    {HLO_POWER, .apply = apply_binary, .binary = pow},
    {HLO_REMAINDER, .apply = apply_binary, .binary = fmod},
    {HLO_XOR, .apply = apply_binary, .binary = xor},
    {HLO_SUBTRACT, .apply = apply_binary, .binary = subtract},
    {HLO_CONVERT, .apply = apply_convert},
    {HLO_COMPARE, .apply = apply_compare},
    {HLO_SELECT, .apply = apply_select},
    {HLO_CLAMP, .apply = apply_clamp},
    {HLO_OPCODES, .apply = NULL},
};

combine_fn elementwise_combine(const struct module *module, int32_t computation)
{
    int32_t root = module->computation[computation].root;
    const struct instruction *i = module_at(module, root);
    if (i->operands != 2 || module_at(module, module_operand(module, root, 0))->opcode != HLO_PARAMETER ||
        module_at(module, module_operand(module, root, 1))->opcode != HLO_PARAMETER)
        return NULL;
    for (const struct local_rule *rule = elementwise_rules; rule->apply; rule++)
        if (rule->opcode == i->opcode)
            return rule->binary;
    return NULL;
}
