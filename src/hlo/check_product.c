/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dots, convolutions: do dims, operands and result fit together? */
#include "hlo/module_check.h"
#include "hlo/window.h"

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
