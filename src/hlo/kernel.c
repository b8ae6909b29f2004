/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/kernel.h"

#include <string.h>

static const double attention_efficiency = 0.6;

/* Is the word in the kernel's name, or in the last scope of its op_name,
 * "jit(f)/attend/jit(paged_attention)/pallas_call"? Outer scopes are not searched: they may contain other kernels. */
static bool is_called(const struct module *module, int32_t at, const char *word)
{
    const char *from = module_value(module, at, ATTR_METADATA), *end = strstr(from, "/pallas_call");
    if (strstr(module_name_at(module, at), word))
        return true;
    for (const char *slash = end ? strchr(from, '/') : NULL; slash && slash < end; slash = strchr(from, '/'))
        from = slash + 1;
    const char *found = end ? strstr(from, word) : NULL;
    return found && found < end;
}

bool kernel_is_attention(const struct module *module, int32_t at)
{
    return strcmp(module_value(module, at, ATTR_CUSTOM_CALL_TARGET), "\"tpu_custom_call\"") == 0 &&
           (is_called(module, at, "attention") || is_called(module, at, "splash_mha") ||
            is_called(module, at, "flash_mha"));
}

/* The first operand after `before` of a floating-point type and at least three dims (heads, sequence, features), q
 * and then k; -1: none. */
static int32_t next_array(const struct module *module, int32_t at, int before, int *which)
{
    for (*which = before + 1; *which < module_at(module, at)->operands; ++*which) {
        int32_t operand = module_operand(module, at, *which);
        const struct shape *shape = module_shape_of(module, operand);
        if (shape->dtype >= 0 && shape->count >= 3 && !dtype_is_whole((enum dtype_id)shape->dtype))
            return operand;
    }
    return -1;
}

struct cost kernel_attention_cost(const struct module *module, int32_t at, double hbm_bytes)
{
    int which;
    int32_t q = next_array(module, at, -1, &which), k = next_array(module, at, which, &which);
    struct cost cost = {.hbm_bytes = hbm_bytes, .dtype = DTYPE_BF16};
    if (is_called(module, at, "paged") || q < 0 || k < 0)
        return cost;
    const struct shape *keys = module_shape_of(module, k);
    double products = is_called(module, at, "dkv") ? 4 : is_called(module, at, "dq") ? 3 : 2;
    double seen_frac = is_called(module, at, "splash") ? 0.5 : 1;
    cost.product = true;
    cost.dtype = (enum dtype_id)module_shape_of(module, q)->dtype;
    cost.efficiency = attention_efficiency;
    cost.head_width = (double)module->number[keys->first + keys->count - 1];
    if (seen_frac < 1)
        cost.causal_length = (double)module->number[keys->first + keys->count - 2];
    cost.flops = 2 * products * seen_frac * shape_elements(module, module_at(module, q)->shape) *
                 (double)module->number[keys->first + keys->count - 2];
    return cost;
}
