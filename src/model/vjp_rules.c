/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rules, by opcode. `c` is the cotangent of the result y; the cotangents of the operands are
 *
 *   y = a + b        c; c                    y = exp a        c y
 *   y = a - b        c; -c                   y = log a        c / a
 *   y = a b          c b; c a                y = tanh a       c (1 - y y)
 *   y = a / b        c / b; -(c y / b)       y = logistic a   c y (1 - y)
 *   y = -a           -c                      y = sqrt a       c / (2 y)
 *   y = max(a, b)    c where a > b; else     y = rsqrt a      -c y y y / 2
 *   y = select p     c where p; where not    y = convert a    c in the type of a
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hlo/cost.h"
#include "model/tensor.h"
#include "model/vjp.h"

int32_t vjp_operand(const struct vjp_rule *r, int which)
{
    return module_operand(r->b->module, r->at, which);
}

void vjp_give(struct vjp_rule *r, int which, int32_t part)
{
    vjp_add(r->vjp, vjp_operand(r, which), part, r->axes);
}

int vjp_changed_dim(const struct vjp_rule *r, int64_t size[static BUILDER_DIMS],
                    int64_t was[static BUILDER_DIMS])
{
    int dims = builder_dims(r->b, r->at, size), changed = 0;
    builder_dims(r->b, vjp_operand(r, 0), was);
    for (int d = 0; d < dims; d++)
        changed = size[d] != was[d] ? d : changed;
    return changed;
}

static bool wants(const struct vjp_rule *r, int which)
{
    return vjp_wants(r->vjp, vjp_operand(r, which));
}

static int32_t times(struct vjp_rule *r, int32_t a, int32_t c)
{
    return build_binary(r->b, HLO_MULTIPLY, a, c);
}

static int32_t quotient(struct vjp_rule *r, int32_t a, int32_t c)
{
    return build_binary(r->b, HLO_DIVIDE, a, c);
}

static int32_t negative(struct vjp_rule *r, int32_t a)
{
    return build_unary(r->b, HLO_NEGATE, a);
}

static int32_t number(struct vjp_rule *r, double value)
{
    return build_fill(r->b, value, r->c);
}

static int32_t one_less(struct vjp_rule *r, int32_t a)
{
    return build_binary(r->b, HLO_SUBTRACT, build_fill(r->b, 1, a), a);
}

/* c where the predicate equals `is`, 0 elsewhere. */
static int32_t c_where(struct vjp_rule *r, int32_t pred, bool is)
{
    int32_t zero = number(r, 0);
    return build_select(r->b, pred, is ? r->c : zero, is ? zero : r->c);
}

/* The part for operand `which` of an element-wise instruction. */
static int32_t elementwise(struct vjp_rule *r, int which)
{
    int32_t y = r->at, c = r->c, a = vjp_operand(r, 0);
    int32_t other = module_at(r->b->module, y)->operands > 1 ? vjp_operand(r, 1) : -1;
    switch (module_at(r->b->module, y)->opcode) {
    case HLO_SUBTRACT:
        return which == 0 ? c : negative(r, c);
    case HLO_MULTIPLY:
        return times(r, c, which == 0 ? other : a);
    case HLO_DIVIDE:
        return which == 0 ? quotient(r, c, other) : negative(r, quotient(r, times(r, c, y), other));
    case HLO_NEGATE:
        return negative(r, c);
    case HLO_MAXIMUM:
        return c_where(r, build_compare(r->b, "GT", a, other), which == 0);
    case HLO_SELECT:
        return c_where(r, a, which == 1);
    case HLO_EXPONENTIAL:
        return times(r, c, y);
    case HLO_LOG:
        return quotient(r, c, a);
    case HLO_TANH:
        return times(r, c, one_less(r, times(r, y, y)));
    case HLO_LOGISTIC:
        return times(r, c, times(r, y, one_less(r, y)));
    case HLO_SQRT:
        return quotient(r, times(r, c, number(r, 0.5)), y);
    case HLO_RSQRT:
        c = times(r, c, number(r, -0.5));
        return times(r, c, times(r, y, times(r, y, y)));
    case HLO_CONVERT:
        return build_convert(r->b, c, builder_dtype(r->b, a));
    case HLO_ADD:
    case HLO_BITCAST: /* a build_vary(): the sum over its axes is added at the operand */
        return c;
    default:
        return -1;
    }
}

/* Element-wise instructions; false: it is another one, or has no rule. */
static bool of_elementwise(struct vjp_rule *r)
{
    int operands = module_at(r->b->module, r->at)->operands;
    for (int o = 0; o < operands; o++) {
        int32_t part = operands == 1 || wants(r, o) ? elementwise(r, o) : 0;
        if (part < 0)
            return false;
        vjp_give(r, o, part);
    }
    return true;
}

/* Sums over the repeated dims, and transposes the others back to the order of the operand. */
static void of_broadcast(struct vjp_rule *r)
{
    int64_t dim[BUILDER_DIMS], over[BUILDER_DIMS], order[BUILDER_DIMS];
    int dims = builder_dims(r->b, r->c, dim), from, overs = 0;
    const int64_t *at = module_numbers(r->b->module, r->at, ATTR_DIMENSIONS, &from);
    for (int d = 0; d < dims; d++)
        if (module_dim_in(at, from, d) < 0)
            over[overs++] = d;
    for (int i = 0; i < from; i++) {
        order[i] = 0;
        for (int j = 0; j < from; j++)
            order[i] += at[j] < at[i];
    }
    int32_t sum = overs ? build_reduce(r->b, HLO_ADD, r->c, over, overs) : r->c;
    vjp_give(r, 0, build_transpose(r->b, sum, order));
}

static void of_reduce(struct vjp_rule *r)
{
    int64_t dim[BUILDER_DIMS], at[BUILDER_DIMS];
    int dims = builder_dims(r->b, vjp_operand(r, 0), dim), overs, left = 0;
    const int64_t *over = module_numbers(r->b->module, r->at, ATTR_DIMENSIONS, &overs);
    for (int d = 0; d < dims; d++)
        if (module_dim_in(over, overs, d) < 0)
            at[left++] = d;
    vjp_give(r, 0, build_broadcast(r->b, r->c, dim, dims, at));
}

static void of_transpose(struct vjp_rule *r)
{
    int64_t back[BUILDER_DIMS];
    int dims;
    const int64_t *order = module_numbers(r->b->module, r->at, ATTR_DIMENSIONS, &dims);
    for (int d = 0; d < dims; d++)
        back[order[d]] = d;
    vjp_give(r, 0, build_transpose(r->b, r->c, back));
}

static void of_reshape(struct vjp_rule *r)
{
    int64_t dim[BUILDER_DIMS];
    int dims = builder_dims(r->b, vjp_operand(r, 0), dim);
    vjp_give(r, 0, build_reshape(r->b, r->c, dim, dims));
}

/* A kernel names its backward kernel, which gets the operands and the cotangent. */
static bool of_custom_call(struct vjp_rule *r)
{
    enum { OPERANDS = 6 };
    const struct module *module = r->b->module;
    const struct instruction *i = module_at(module, r->at);
    int32_t operands[OPERANDS + 1];
    char target[64];
    const char *forward = module_value(module, r->at, ATTR_CUSTOM_CALL_TARGET);
    struct kernel_cost cost = {.flops = module_config_number(module, r->at, "backward_flops"),
                               .hbm_bytes = module_config_number(module, r->at, "backward_bytes")};
    double sequence = module_config_number(module, r->at, "sequence");
    if (sequence > 0) {
        cost.sequence = (int64_t)sequence;
        cost.head_dim = (int64_t)module_config_number(module, r->at, "head_dim");
        double window = module_config_number(module, r->at, "window");
        cost.window = window > 0 ? (int64_t)window : 0;
    }
    int n = i->operands;
    if (isnan(cost.flops) || n > OPERANDS)
        return false;
    for (int o = 0; o < n; o++)
        operands[o] = vjp_operand(r, o);
    operands[n] = r->c;
    snprintf(target, sizeof target, "%.*s_backward", (int)strcspn(forward + 1, "\""), forward + 1);
    int32_t made = build_custom_call(r->b, target, operands, n + 1, operands, n, &cost);
    for (int o = 0; o < n; o++)
        if (wants(r, o))
            vjp_give(r, o, n == 1 ? made : build_element(r->b, made, o));
    return true;
}

static void of_slice(struct vjp_rule *r)
{
    int64_t size[BUILDER_DIMS], was[BUILDER_DIMS];
    int count, d = vjp_changed_dim(r, size, was);
    int64_t start = module_numbers(r->b->module, r->at, ATTR_SLICE, &count)[3 * d];
    vjp_give(r, 0, build_pad(r->b, r->c, d, start, was[d] - start - size[d]));
}

static void of_pad(struct vjp_rule *r)
{
    int64_t size[BUILDER_DIMS], was[BUILDER_DIMS];
    int count, d = vjp_changed_dim(r, size, was);
    int64_t low = module_numbers(r->b->module, r->at, ATTR_PADDING, &count)[3 * d];
    vjp_give(r, 0, build_slice(r->b, r->c, d, low, low + was[d]));
}

static void of_concatenate(struct vjp_rule *r)
{
    int64_t size[BUILDER_DIMS], low = 0;
    int d = (int)module_number(r->b->module, r->at, ATTR_DIMENSIONS, 0);
    for (int o = 0; o < module_at(r->b->module, r->at)->operands; o++) {
        builder_dims(r->b, vjp_operand(r, o), size);
        if (wants(r, o))
            vjp_give(r, o, build_slice(r->b, r->c, d, low, low + size[d]));
        low += size[d];
    }
}

/* The dims of a dot, and those of each operand that are neither batch nor contracted. */
struct dot_sides {
    struct dot_dims dims;
    int owns[2];
    int64_t own[2][BUILDER_DIMS];
};

static void read_dot(const struct vjp_rule *r, struct dot_sides *s)
{
    static const enum attribute_key contract[] = {ATTR_LHS_CONTRACTING, ATTR_RHS_CONTRACTING},
                                    batch[] = {ATTR_LHS_BATCH, ATTR_RHS_BATCH};
    *s = (struct dot_sides){.owns = {0}};
    for (int side = 0; side < 2; side++) {
        int64_t dim[BUILDER_DIMS];
        int dims = builder_dims(r->b, vjp_operand(r, side), dim);
        const int64_t *list = module_numbers(r->b->module, r->at, batch[side], &s->dims.batches);
        for (int i = 0; i < s->dims.batches; i++)
            s->dims.batch[side][i] = list[i];
        list = module_numbers(r->b->module, r->at, contract[side], &s->dims.contracted);
        for (int i = 0; i < s->dims.contracted; i++)
            s->dims.contract[side][i] = list[i];
        for (int d = 0; d < dims; d++)
            if (module_dim_in(s->dims.batch[side], s->dims.batches, d) < 0 &&
                module_dim_in(s->dims.contract[side], s->dims.contracted, d) < 0)
                s->own[side][s->owns[side]++] = d;
    }
}

/* Transposes from the order batch, own, contracted (if `last`: batch, contracted, own) to the operand's order. */
static int32_t in_order(struct vjp_rule *r, int32_t made, const struct dot_sides *s, int which, bool last)
{
    int64_t order[BUILDER_DIMS];
    const struct dot_dims *dims = &s->dims;
    for (int i = 0; i < dims->batches; i++)
        order[dims->batch[which][i]] = i;
    for (int i = 0; i < s->owns[which]; i++)
        order[s->own[which][i]] = dims->batches + (last ? dims->contracted : 0) + i;
    for (int i = 0; i < dims->contracted; i++) {
        int rank = 0;
        for (int j = 0; j < dims->contracted; j++)
            rank += dims->contract[1 - which][j] < dims->contract[1 - which][i];
        order[dims->contract[which][i]] = dims->batches + (last ? 0 : s->owns[which]) + rank;
    }
    return build_transpose(r->b, made, order);
}

/* The type of an operand's cotangent: its own; but an operand of 8 bits was quantized for this matmul only, and its
 * cotangent keeps the type of c. */
static enum dtype_id type_of_product(const struct vjp_rule *r, enum dtype_id operand)
{
    return dtype_info(operand)->bytes == 1 ? builder_dtype(r->b, r->c) : operand;
}

/* y[batch, a's, b's] = a . b: the cotangent of a is c . b over b's own dims, that of b is a . c over a's; the other way round where a
 * matrix is transposed in the product, so that its cotangent need not be, and may be summed in a loop beside its product. */
static void of_dot(struct vjp_rule *r, int which)
{
    struct dot_sides s;
    char what[24];
    const char *before = r->b->what;
    int other = 1 - which;
    read_dot(r, &s);
    bool turned = s.dims.batches == 0 && s.owns[which] > 0 && s.dims.contracted > 0 &&
                  (s.own[which][0] < s.dims.contract[which][0]) == which;
    int of_c = turned ? other : which, of_other = 1 - of_c;
    struct dot_dims how = {.batches = s.dims.batches, .contracted = s.owns[other]};
    for (int i = 0; i < how.batches; i++) {
        how.batch[of_c][i] = i;
        how.batch[of_other][i] = s.dims.batch[other][i];
    }
    for (int i = 0; i < how.contracted; i++) {
        how.contract[of_c][i] = how.batches + (other == 1 ? s.owns[0] : 0) + i;
        how.contract[of_other][i] = s.own[other][i];
    }
    if (module_label(r->b->module, vjp_operand(r, which), "what", what, sizeof what))
        r->b->what = what;
    enum dtype_id dtype = builder_dtype(r->b, vjp_operand(r, which));
    int32_t side[2];
    side[of_c] = build_convert(r->b, r->c, dtype);
    side[of_other] = vjp_operand(r, other);
    int32_t made = build_dot(r->b, side[0], side[1], &how, type_of_product(r, dtype));
    vjp_give(r, which, in_order(r, made, &s, which, of_c == 1));
    r->b->what = before;
}

/* Weights first, so that sums of their gradients can start while the rest is multiplied. */
static void of_dot_both(struct vjp_rule *r)
{
    for (int which = 1; which >= 0; which--)
        if (wants(r, which))
            of_dot(r, which);
}

/* A gather of rows scatters the cotangent back, and a scatter gathers it. */
static void of_gather(struct vjp_rule *r)
{
    int64_t was[BUILDER_DIMS];
    builder_dims(r->b, vjp_operand(r, 0), was);
    vjp_give(r, 0, build_put(r->b, r->c, vjp_operand(r, 1), was[0]));
}

static void of_scatter(struct vjp_rule *r)
{
    vjp_give(r, 0, r->c);
    if (wants(r, 2))
        vjp_give(r, 2, build_take(r->b, r->c, vjp_operand(r, 1)));
}

/* rows . matrices: the cotangent of the matrices is the outer products of their rows with c, that of the rows c .
 * transposed matrices. */
static void of_ragged_dot(struct vjp_rule *r)
{
    int32_t a = vjp_operand(r, 0), matrices = vjp_operand(r, 1), sizes = vjp_operand(r, 2);
    enum dtype_id dtype = builder_dtype(r->b, a);
    struct ragged_rows rows = {0};
    struct status st = {0};
    char what[24];
    const char *before = r->b->what;
    if (ragged_rows_of(r->b->module, r->at, 1, &rows, &st) < 0)
        tensor_fail_as(r->b, &st);
    int32_t c = build_convert(r->b, r->c, dtype);
    if (wants(r, 1)) {
        r->b->what = module_label(r->b->module, matrices, "what", what, sizeof what) ? what : before;
        vjp_give(r, 1, build_ragged_outer(r->b, a, c, sizes, type_of_product(r, dtype), &rows));
        r->b->what = before;
    }
    if (wants(r, 0)) {
        int32_t turned = build_transpose(r->b, matrices, (int64_t[]){0, 2, 1});
        vjp_give(r, 0, build_ragged_dot(r->b, c, turned, sizes, type_of_product(r, dtype), &rows));
    }
    ragged_rows_free(&rows);
}

static const struct {
    enum opcode opcode;
    void (*apply)(struct vjp_rule *r);
} rules[] = {
    {HLO_BROADCAST, of_broadcast},     {HLO_REDUCE, of_reduce},         {HLO_TRANSPOSE, of_transpose},
    {HLO_RESHAPE, of_reshape},         {HLO_SLICE, of_slice},           {HLO_PAD, of_pad},
    {HLO_CONCATENATE, of_concatenate}, {HLO_DOT, of_dot_both},          {HLO_GATHER, of_gather},
    {HLO_SCATTER, of_scatter},         {HLO_RAGGED_DOT, of_ragged_dot},
};

bool vjp_apply(struct vjp_rule *r)
{
    enum opcode opcode = module_at(r->b->module, r->at)->opcode;
    if (vjp_apply_to_collective(r))
        return true;
    if (opcode == HLO_CUSTOM_CALL)
        return of_custom_call(r);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].opcode == opcode) {
            rules[i].apply(r);
            return true;
        }
    return of_elementwise(r);
}
