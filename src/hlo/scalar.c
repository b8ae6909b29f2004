/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/scalar.h"

/* Follows instructions that change neither the number nor the tuple. */
static int32_t follow(const struct module *module, int32_t instruction)
{
    for (;;) {
        const struct instruction *i = module_at(module, instruction);
        switch (i->opcode) {
        case HLO_COPY:
        case HLO_COPY_START:
        case HLO_COPY_DONE:
        case HLO_BITCAST:
        case HLO_CONVERT:
        case HLO_RESHAPE:
        case HLO_OPTIMIZATION_BARRIER:
            if (i->operands != 1)
                return instruction;
            instruction = module_operand(module, instruction, 0);
            break;
        default:
            return instruction;
        }
    }
}

/* Does every trip of the loop pass this element on unchanged? */
static bool is_kept(const struct module *module, int32_t loop, int32_t element)
{
    int32_t body = (int32_t)module_number(module, loop, ATTR_BODY, -1);
    int32_t root = body < 0 ? -1 : follow(module, module->computation[body].root);
    if (root < 0 || element < 0 || module_at(module, root)->opcode != HLO_TUPLE ||
        element >= module_at(module, root)->operands)
        return false;
    int32_t passed = follow(module, module_operand(module, root, element));
    if (module_at(module, passed)->opcode != HLO_GET_TUPLE_ELEMENT ||
        module_number(module, passed, ATTR_INDEX, -1) != element)
        return false;
    return module_at(module, follow(module, module_operand(module, passed, 0)))->opcode == HLO_PARAMETER;
}

static bool find_parameter(struct scalar_place *place, int32_t parameter, int32_t element,
                           struct scalar *found)
{
    const struct module *module = place->module;
    int32_t caller = module->caller[module_at(module, parameter)->computation];
    if (caller < 0)
        return false;
    const struct instruction *i = module_at(module, caller);
    int64_t number = module_number(module, parameter, ATTR_PARAMETER_NUMBER, -1);
    if (i->opcode == HLO_WHILE && !is_kept(module, caller, element)) {
        *found = (struct scalar){.carried = element < 0 ? 0 : element};
        return caller == place->loop;
    }
    if (i->opcode == HLO_CONDITIONAL || number < 0 || number >= i->operands)
        return false;
    return scalar_find(place, module_operand(module, caller, (int)number), element, found);
}

/* An element of a table of constants, at an index that can be found. */
static bool find_in_table(struct scalar_place *place, int32_t slice, struct scalar *found)
{
    const struct module *module = place->module;
    int count;
    int32_t table = follow(module, module_operand(module, slice, 0));
    const int64_t *number = module_numbers(module, table, ATTR_LITERAL, &count);
    if (module_at(module, slice)->operands != 2 || module_shape_of(module, table)->count != 1 || count == 0 ||
        module_number(module, slice, ATTR_DYNAMIC_SLICE_SIZES, 0) != 1 ||
        !scalar_find(place, module_operand(module, slice, 1), SCALAR_UNKNOWN, found) || found->carried >= 0)
        return false;
    int64_t at = found->value < 0 ? 0 : found->value < count ? found->value : count - 1;
    found->value = number[at];
    return true;
}

const int64_t *scalar_table(const struct module *module, int32_t instruction)
{
    int count;
    int32_t slice = follow(module, instruction);
    if (module_at(module, slice)->opcode != HLO_DYNAMIC_SLICE || module_at(module, slice)->operands != 2 ||
        module_at(module, follow(module, module_operand(module, slice, 1)))->opcode != HLO_PARTITION_ID)
        return NULL;
    int32_t table = follow(module, module_operand(module, slice, 0));
    const int64_t *number = module_numbers(module, table, ATTR_LITERAL, &count);
    return count == module->partitions ? number : NULL;
}

static bool divides(int64_t a, int64_t b)
{
    return b != 0 && !(a == INT64_MIN && b == -1);
}

static bool compute(enum opcode opcode, int64_t a, int64_t b, int64_t *value)
{
    switch (opcode) {
    case HLO_ADD:
        return !__builtin_add_overflow(a, b, value);
    case HLO_SUBTRACT:
        return !__builtin_sub_overflow(a, b, value);
    case HLO_MULTIPLY:
        return !__builtin_mul_overflow(a, b, value);
    case HLO_DIVIDE:
        *value = divides(a, b) ? a / b : 0;
        return divides(a, b);
    case HLO_REMAINDER:
        *value = divides(a, b) ? a % b : 0;
        return divides(a, b);
    case HLO_MAXIMUM:
        *value = a > b ? a : b;
        return true;
    case HLO_MINIMUM:
        *value = a < b ? a : b;
        return true;
    case HLO_AND:
        *value = a & b;
        return true;
    default:
        return false;
    }
}

static bool find_binary(struct scalar_place *place, int32_t instruction, struct scalar *found)
{
    const struct module *module = place->module;
    enum opcode opcode = module_at(module, instruction)->opcode;
    struct scalar a, b;
    if (module_at(module, instruction)->operands != 2 ||
        !scalar_find(place, module_operand(module, instruction, 0), SCALAR_UNKNOWN, &a) ||
        !scalar_find(place, module_operand(module, instruction, 1), SCALAR_UNKNOWN, &b))
        return false;
    found->carried = a.carried >= 0 ? a.carried : b.carried;
    if (found->carried >= 0) /* only sums with constants keep their form */
        if ((a.carried >= 0 && b.carried >= 0) ||
            !(opcode == HLO_ADD || (opcode == HLO_SUBTRACT && b.carried < 0)))
            return false;
    return compute(opcode, a.value, b.value, &found->value);
}

bool scalar_find(struct scalar_place *place, int32_t instruction, int32_t element, struct scalar *found)
{
    const struct module *module = place->module;
    instruction = follow(module, instruction);
    const struct instruction *i = module_at(module, instruction);
    int32_t called;
    int count;
    *found = (struct scalar){.carried = SCALAR_UNKNOWN};
    if (place->steps-- <= 0)
        return false;
    switch (i->opcode) {
    case HLO_CONSTANT:
        module_numbers(module, instruction, ATTR_LITERAL, &count);
        found->value = module_number(module, instruction, ATTR_LITERAL, 0);
        return count == 1;
    case HLO_PARTITION_ID:
        found->value = place->partition;
        return place->partition >= 0;
    case HLO_REPLICA_ID:
        found->value = place->replica;
        return place->replica >= 0;
    case HLO_GET_TUPLE_ELEMENT:
        return element < 0 && scalar_find(place, module_operand(module, instruction, 0),
                                          (int32_t)module_number(module, instruction, ATTR_INDEX, 0), found);
    case HLO_TUPLE:
        return element >= 0 && element < i->operands &&
               scalar_find(place, module_operand(module, instruction, element), SCALAR_UNKNOWN, found);
    case HLO_WHILE:
        return is_kept(module, instruction, element) &&
               scalar_find(place, module_operand(module, instruction, 0), element, found);
    case HLO_PARAMETER:
        return find_parameter(place, instruction, element, found);
    case HLO_DYNAMIC_SLICE:
        return find_in_table(place, instruction, found);
    case HLO_FUSION:
    case HLO_CALL:
        called = (int32_t)module_number(module, instruction,
                                        i->opcode == HLO_CALL ? ATTR_TO_APPLY : ATTR_CALLS, -1);
        return called >= 0 && scalar_find(place, module->computation[called].root, element, found);
    default:
        return find_binary(place, instruction, found);
    }
}
