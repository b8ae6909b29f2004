/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What runs other computations: do their parameters and results fit the operands and the result? And starts and dones. */
#include "hlo/module_check.h"

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
    if (module_called(module, instruction, 1) >= 0 || parameters != i->operands)
        return status_fail(st, STATUS_INPUT, "it has %d operands for the %d parameters of '%s'", i->operands,
                           parameters, module_word(module, module->computation[called].name));
    return 0;
}

/* A done or an update waits for a start or an update of its own kind, an async-done for any whole as well. */
int check_wait(const struct module *module, int32_t instruction, struct status *st)
{
    const struct opcode_info *info = opcode_info(module_at(module, instruction)->opcode);
    if (module_at(module, instruction)->operands > 0) {
        int32_t start = module_operand(module, instruction, 0);
        const struct opcode_info *of = opcode_info(module_at(module, start)->opcode);
        if ((of->class == CLASS_START || of->class == CLASS_UPDATE) && of->whole == info->whole)
            return 0;
    }
    return status_fail(st, STATUS_INPUT,
                       "a done without its start: its first operand must be a start of its kind");
}
