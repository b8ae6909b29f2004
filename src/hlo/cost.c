/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/kernel.h"
#include "hlo/window.h"

static double operand_bytes(const struct module *module, int32_t at, int which)
{
    return shape_hbm_bytes(module, module_at(module, module_operand(module, at, which))->shape);
}

static double result_bytes(const struct module *module, int32_t at)
{
    return shape_hbm_bytes(module, module_at(module, at)->shape);
}

static double all_bytes(const struct module *module, int32_t at)
{
    double bytes = result_bytes(module, at);
    for (int o = 0; o < module_at(module, at)->operands; o++)
        bytes += operand_bytes(module, at, o);
    return bytes;
}

static const struct shape *operand_shape(const struct module *module, int32_t at, int which)
{
    return module_shape_of(module, module_operand(module, at, which));
}

/* The product of the sizes of the dims that an attribute lists. */
static double dims_product(const struct module *module, const struct shape *shape, int32_t at,
                           enum attribute_key key)
{
    int count;
    const int64_t *dim = module_numbers(module, at, key, &count);
    double product = 1;
    for (int i = 0; i < count; i++)
        if (dim[i] >= 0 && dim[i] < shape->count)
            product *= (double)module->number[shape->first + dim[i]];
    return product;
}

static enum dtype_id wider_type(const struct module *module, int32_t at)
{
    int32_t left = operand_shape(module, at, 0)->dtype, right = operand_shape(module, at, 1)->dtype;
    if (left < 0 || right < 0)
        return DTYPE_BF16;
    return (enum dtype_id)(
        dtype_info((enum dtype_id)right)->bytes > dtype_info((enum dtype_id)left)->bytes ? right : left);
}

static struct cost dot_cost(const struct module *module, int32_t at)
{
    double left = shape_elements(module, module_at(module, module_operand(module, at, 0))->shape);
    double right = shape_elements(module, module_at(module, module_operand(module, at, 1))->shape);
    double k = dims_product(module, operand_shape(module, at, 0), at, ATTR_LHS_CONTRACTING);
    double batch = dims_product(module, operand_shape(module, at, 0), at, ATTR_LHS_BATCH);
    struct cost cost = {.product = true, .dtype = wider_type(module, at), .hbm_bytes = all_bytes(module, at)};
    cost.m = k > 0 ? left / k : 0;
    cost.k = k;
    cost.n = k > 0 && batch > 0 ? right / k / batch : 0;
    cost.flops = 2 * cost.m * cost.k * cost.n;
    cost.batches = cost.m > 0 ? batch : 0;
    cost.left_bytes = operand_bytes(module, at, 0);
    cost.right_bytes = operand_bytes(module, at, 1);
    return cost;
}

static double dim_of(const struct module *module, const struct shape *shape, int dim)
{
    return dim < shape->count ? (double)module->number[shape->first + dim] : 0;
}

/* Is the ragged dim contracted? If the text does not say which dim is ragged, it is the first. */
static bool sums_groups(const struct module *module, int32_t at, int64_t *ragged)
{
    int count;
    const int64_t *dim = module_numbers(module, at, ATTR_LHS_CONTRACTING, &count);
    *ragged = module_number(module, at, ATTR_LHS_RAGGED, 0);
    return module_dim_in(dim, count, *ragged) >= 0;
}

struct cost module_ragged_cost(const struct module *module, int32_t at, double rows)
{
    struct cost cost = {.product = true, .dtype = wider_type(module, at), .hbm_bytes = all_bytes(module, at)};
    const struct shape *a = operand_shape(module, at, 0), *result = module_shape_of(module, at);
    int64_t ragged;
    bool outer = sums_groups(module, at, &ragged);
    double all = dim_of(module, a, (int)ragged), left = rows < 0 || rows > all ? 0 : all - rows;
    double share = all > 0 ? (all - left) / all : 0;
    double mk = shape_elements(module, module_at(module, module_operand(module, at, 0))->shape);
    double mn = shape_elements(module, module_at(module, at)->shape);
    double other = outer ? operand_bytes(module, at, 1) : result_bytes(module, at);
    cost.k = dims_product(module, a, at, ATTR_LHS_CONTRACTING);
    cost.m = cost.k > 0 ? mk / cost.k : 0;
    double groups = dim_of(module, outer ? result : operand_shape(module, at, 1), 0);
    if (outer) /* a result for each group, groups first */
        mn = groups > 0 ? mn / groups : 0;
    cost.n = cost.m > 0 ? mn / cost.m : 0;
    *(outer ? &cost.k : &cost.m) *= share;
    cost.flops = 2 * cost.m * cost.k * cost.n;
    cost.batches = cost.m > 0 && cost.k > 0 ? groups : 0;
    if (outer && groups > 0) {
        cost.m *= groups;
        cost.k /= groups;
    }
    cost.left_bytes = operand_bytes(module, at, 0) * share;
    cost.right_bytes = operand_bytes(module, at, 1) * (outer ? share : 1);
    cost.hbm_bytes -= (operand_bytes(module, at, 0) + other) * (1 - share);
    return cost;
}

/* Reads "flops" or "bytes" out of {"flops":1.5e9,"bytes":"4096"}. */
double module_config_number(const struct module *module, int32_t instruction, const char *key)
{
    const char *config = module_value(module, instruction, ATTR_BACKEND_CONFIG);
    size_t n = strlen(key);
    for (const char *at = config; (at = strstr(at, key)); at += n) {
        if (at == config || at[-1] != '"' || at[n] != '"')
            continue;
        const char *value = at + n + 1;
        value += strspn(value, " :\"");
        char *end;
        double number = strtod(value, &end);
        if (end > value && number >= 0 && isfinite(number))
            return number;
    }
    return NAN;
}

/* The compute type of a kernel: the type of most of its bytes, as operands include tables of groups and
 * offsets. */
static enum dtype_id kernel_type(const struct module *module, int32_t at)
{
    enum dtype_id type = DTYPE_BF16;
    double most_bytes = 0;
    for (int o = -1; o < module_at(module, at)->operands; o++) {
        int32_t of = o < 0 ? at : module_operand(module, at, o);
        double bytes = shape_bytes(module, module_at(module, of)->shape);
        if (module_shape_of(module, of)->dtype < 0 || bytes <= most_bytes)
            continue;
        most_bytes = bytes;
        type = (enum dtype_id)module_shape_of(module, of)->dtype;
    }
    return type;
}

static struct cost opaque_cost(const struct module *module, int32_t at)
{
    double flops = module_config_number(module, at, "flops"),
           bytes = module_config_number(module, at, "bytes");
    const char *target = module_value(module, at, ATTR_CUSTOM_CALL_TARGET);
    if (strcmp(target, "\"AllocateBuffer\"") == 0 || strcmp(target, "\"ConcatBitcast\"") == 0 ||
        strcmp(target, "\"NopReturnToken\"") == 0) /* they only name memory, views of it or an order */
        return (struct cost){0};
    if (isnan(bytes))
        bytes = module_config_number(module, at, "bytes_accessed");
    if (isnan(flops) && isnan(bytes) && kernel_is_attention(module, at))
        return kernel_attention_cost(module, at, all_bytes(module, at));
    struct cost cost = {.uncosted = isnan(flops) && isnan(bytes), .dtype = kernel_type(module, at)};
    cost.flops = isnan(flops) ? 0 : flops;
    cost.hbm_bytes = isnan(bytes) ? 0 : bytes;
    cost.product = cost.flops > 0;
    double width = module_config_number(module, at, "head_dim");
    if (width > 0) { /* a model's attention */
        cost.head_width = width;
        if (strstr(module_value(module, at, ATTR_CUSTOM_CALL_TARGET), "causal"))
            cost.causal_length = module_config_number(module, at, "sequence");
    }
    return cost;
}

/* The operand of an update that has the size of the bytes written: it is written into operand 0. */
static int update_operand(enum opcode opcode)
{
    return opcode == HLO_DYNAMIC_UPDATE_SLICE ? 1 : opcode == HLO_SCATTER ? 2 : -1;
}

static bool takes_slices(enum opcode opcode)
{
    return opcode == HLO_SLICE || opcode == HLO_DYNAMIC_SLICE || opcode == HLO_GATHER;
}

static bool is_row_major(const struct module *module, const struct shape *shape)
{
    const char *layout = module_word(module, shape->layout);
    if (strchr(layout, ':'))
        return false; /* tiled */
    int64_t before = INT64_MAX;
    for (const char *at = layout; *at; at++)
        if (*at >= '0' && *at <= '9') {
            char *end;
            int64_t dim = strtoll(at, &end, 10);
            if (dim > before)
                return false;
            before = dim;
            at = end - 1;
        }
    return true;
}

static double memory_bytes(const struct module *module, int32_t at)
{
    enum opcode opcode = module_at(module, at)->opcode;
    int update = update_operand(opcode);
    if (opcode == HLO_RESHAPE && is_row_major(module, module_shape_of(module, at)) &&
        is_row_major(module, operand_shape(module, at, 0)))
        return 0; /* it only renames */
    if (takes_slices(opcode))
        return 2 * result_bytes(module, at);
    if (update >= 0 && module_at(module, at)->operands > update)
        return 2 * operand_bytes(module, at, update);
    return all_bytes(module, at);
}

/* Is the tuple the state of a collective that is in flight? Then its parameters, buffers and flags are only
 * passed on, too. */
static bool is_in_flight(const struct module *module, int32_t at)
{
    const struct instruction *i = module_at(module, at);
    for (int o = 0; i->opcode == HLO_TUPLE && o < i->operands; o++)
        if (opcode_communicates(module_at(module, module_operand(module, at, o))->opcode))
            return true;
    return false;
}

/* The called computation of a fusion, -1 if it has none. */
static int32_t body_of(const struct module *module, int32_t at)
{
    return (int32_t)module_number(module, at, ATTR_CALLS, -1);
}

static double read_bytes(const struct module *module, int32_t value, double whole);

/* Is a value of the body another value in a different layout or type? Then it is only made where it is read.
 * */
static bool is_recast(const struct module *module, int32_t user, double elements)
{
    const struct instruction *i = module_at(module, user);
    return (i->opcode == HLO_BITCAST || i->opcode == HLO_COPY || i->opcode == HLO_CONVERT ||
            i->opcode == HLO_FUSION) &&
           shape_elements(module, i->shape) == elements;
}

/* The bytes that one user reads of a value as its operand `which`: a slice counts in the value's own type,
 * even if the slice has a different one. The target of an update is not read, and the operands of a
 * collective are its own. */
static double used_bytes(const struct module *module, int32_t user, int which, double whole)
{
    const struct instruction *i = module_at(module, user);
    double elements = shape_elements(module, module_at(module, module_operand(module, user, which))->shape);
    if (opcode_communicates(i->opcode) || is_in_flight(module, user))
        return 0;
    if (takes_slices(i->opcode) && which == 0)
        return elements > 0 ? shape_elements(module, i->shape) * (whole / elements) : 0;
    if (update_operand(i->opcode) >= 0 && which == 0)
        return 0;
    int32_t inner = i->opcode == HLO_FUSION ? module_parameter(module, body_of(module, user), which) : -1;
    double inside = inner >= 0 ? read_bytes(module, inner, whole) : whole;
    return is_recast(module, user, elements) ? fmin(inside, read_bytes(module, user, whole)) : inside;
}

/* The bytes read of a value by the rest of its computation, and by the fusions in it: the slices, if only
 * slices are read. */
static double read_bytes(const struct module *module, int32_t value, double whole)
{
    const struct computation *c = &module->computation[module_at(module, value)->computation];
    double bytes = 0;
    for (int32_t at = value + 1; at < c->first + c->count && bytes < whole; at++)
        for (int o = 0; o < module_at(module, at)->operands; o++)
            if (module_operand(module, at, o) == value)
                bytes += used_bytes(module, at, o, whole);
    return value == c->root ? whole : fmin(bytes, whole);
}

/* The bytes that a body writes as the value of an instruction: for an update in place, the update. */
static double written_bytes(const struct module *module, int32_t at)
{
    const struct instruction *i = module_at(module, at);
    int update = update_operand(i->opcode);
    if (i->opcode == HLO_TUPLE) {
        double bytes = 0;
        bool flies = is_in_flight(module, at);
        for (int o = 0; o < i->operands; o++) {
            int32_t of = module_operand(module, at, o);
            enum opcode opcode = module_at(module, of)->opcode;
            bytes += flies && (opcode == HLO_PARAMETER || opcode_communicates(opcode))
                         ? 0
                         : written_bytes(module, of);
        }
        return bytes;
    }
    if (i->opcode == HLO_BITCAST && i->operands == 1)
        return written_bytes(module, module_operand(module, at, 0));
    if (i->opcode == HLO_FUSION && body_of(module, at) >= 0)
        return fmin(result_bytes(module, at),
                    written_bytes(module, module->computation[body_of(module, at)].root));
    if (update >= 0 && i->operands > update) {
        /* updates one after the other of the same array all count */
        int32_t into = module_operand(module, at, 0);
        double before =
            update_operand(module_at(module, into)->opcode) >= 0 ? written_bytes(module, into) : 0;
        return before + shape_bytes(module, module_at(module, module_operand(module, at, update))->shape);
    }
    return result_bytes(module, at);
}

static struct cost fusion_cost(const struct module *module, int32_t at)
{
    int32_t body = body_of(module, at);
    struct cost cost = {.dtype = DTYPE_BF16};
    if (body < 0)
        return (struct cost){.uncosted = true};
    const struct computation *c = &module->computation[body];
    for (int32_t inner = c->first; inner < c->first + c->count; inner++) {
        enum opcode opcode = module_at(module, inner)->opcode;
        if (opcode == HLO_PARAMETER)
            cost.hbm_bytes += read_bytes(module, inner, result_bytes(module, inner));
        if (opcode_info(opcode)->class != CLASS_MATMUL && opcode != HLO_FUSION)
            continue;
        struct cost own = module_cost(module, inner);
        bool first = !cost.product;
        if (!own.product)
            continue;
        cost.flops += own.flops;
        cost.m = first ? own.m : 0;
        cost.k = first ? own.k : 0;
        cost.n = first ? own.n : 0;
        cost.batches = first ? own.batches : 0;
        cost.left_bytes += own.left_bytes;
        cost.right_bytes += own.right_bytes;
        cost.dtype = own.dtype;
        cost.product = true;
    }
    /* A result of the fusion in another memory space is not in HBM, whatever its body says. */
    double out = result_bytes(module, at);
    cost.hbm_bytes += out > 0 ? fmin(out, written_bytes(module, c->root)) : 0;
    return cost;
}

static struct cost unlabelled_cost(const struct module *module, int32_t instruction)
{
    enum opcode opcode = module_at(module, instruction)->opcode;
    switch (opcode) {
    case HLO_DOT:
        return dot_cost(module, instruction);
    case HLO_RAGGED_DOT:
        return module_ragged_cost(module, instruction, -1);
    case HLO_CONVOLUTION: {
        struct cost cost = {.product = true, .dtype = wider_type(module, instruction)};
        cost.hbm_bytes = all_bytes(module, instruction);
        window_convolution_flops(module, instruction, &cost.flops, NULL);
        return cost;
    }
    case HLO_FUSION:
        return fusion_cost(module, instruction);
    case HLO_SORT: {
        double bytes = memory_bytes(module, instruction); /* at least those that it reads and writes in HBM */
        return (struct cost){.hbm_bytes = bytes, .uncosted = !(bytes > 0)};
    }
    case HLO_SEND:
    case HLO_SEND_DONE:
    case HLO_RECV:
    case HLO_RECV_DONE:
        return (struct cost){0};
    default:
        break;
    }
    switch (opcode_info(opcode)->class) {
    case CLASS_ELEMENTWISE:
    case CLASS_MEMORY:
        return (struct cost){.hbm_bytes = memory_bytes(module, instruction)};
    case CLASS_OPAQUE:
        return opaque_cost(module, instruction);
    default:
        return (struct cost){0};
    }
}

double module_estimated_cycles(const struct module *module, int32_t instruction)
{
    const double missing = 9.2e18; /* INT64_MAX, as printed in the text */
    double cycles = module_config_number(module, instruction, "estimated_cycles");
    return cycles < missing ? cycles : NAN;
}

struct cost module_cost(const struct module *module, int32_t instruction)
{
    char text[32];
    struct cost cost = unlabelled_cost(module, instruction);
    bool labelled = cost.product && module_label(module, instruction, "results", text, sizeof text);
    cost.results = labelled ? strtod(text, NULL) : 1;
    if (module_label(module, instruction, "hbm_bytes", text, sizeof text))
        cost.hbm_bytes = strtod(text, NULL);
    return cost;
}

void module_label_number(struct module *module, const char *key, double value)
{
    char text[32];
    if (value > 0)
        snprintf(text, sizeof text, "%.17g", value);
    module_add_label(module, key, value > 0 ? text : "0");
}
