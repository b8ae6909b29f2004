/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ops wait for: the ops that values come from, through tuples, each once. */
#include "lower/lower_walker.h"

int32_t walker_op_of(struct walker *w, struct value value)
{
    int32_t op[WAITS_MOST];
    int n = 0;
    if (value.count == 0)
        return value.op;
    for (int32_t i = 0; i < value.count && n < WAITS_MOST; i++) {
        int32_t one = walker_op_of(w, w->pool[value.first + i]);
        bool known = one < 0;
        for (int k = 0; k < n && !known; k++)
            known = op[k] == one;
        if (!known)
            op[n++] = one;
    }
    return program_join_of(w->program, op, n, w->all, 0);
}

int walker_inputs(struct walker *w, const struct frame *f, int32_t instruction, int32_t op[WAITS_MOST])
{
    int n = 0, count;
    const struct instruction *i = module_at(w->module, instruction);
    const int64_t *before = module_numbers(w->module, instruction, ATTR_CONTROL_PREDECESSORS, &count);
    for (int k = 0; k < i->operands + count && n < WAITS_MOST; k++) {
        int32_t of =
            k < i->operands ? module_operand(w->module, instruction, k) : (int32_t)before[k - i->operands];
        int32_t one = walker_op_of(w, walker_value(f, of));
        bool known = one < 0;
        for (int j = 0; j < n && !known; j++)
            known = op[j] == one;
        if (!known)
            op[n++] = one;
    }
    return n;
}

void walker_collect(struct walker *w, struct value value, bool loose, struct waits *waits)
{
    for (int32_t i = 0; i < value.count; i++)
        walker_collect(w, w->pool[value.first + i], loose, waits);
    bool known = value.count > 0 || value.op < 0 || (loose && !value.loose) || waits->count == WAITS_MOST;
    for (int i = 0; i < waits->count && !known; i++)
        known = waits->of[i].op == value.op && waits->of[i].arrives == value.arrives;
    if (!known)
        waits->of[waits->count++] = value;
}

void walker_collect_inputs(struct walker *w, const struct frame *f, int32_t instruction, bool loose,
                           struct waits *waits)
{
    waits->count = 0;
    for (int o = 0; o < module_at(w->module, instruction)->operands; o++)
        walker_collect(w, walker_value(f, module_operand(w->module, instruction, o)), loose, waits);
}

void walker_wait(struct walker *w, const struct waits *waits)
{
    for (int i = 0; i < waits->count; i++)
        if (waits->of[i].arrives)
            program_after(w->program, waits->of[i].op, AFTER_ARRIVED);
        else
            program_wait(w->program, waits->of[i].op);
}

void walker_add_wait(struct waits *waits, int32_t op)
{
    if (op >= 0 && waits->count < WAITS_MOST)
        waits->of[waits->count++] = (struct value){.op = op, .item = -1};
}

int32_t walker_join(struct walker *w, const struct waits *waits)
{
    if (waits->count == 0 || (waits->count == 1 && !waits->of[0].arrives))
        return waits->count ? waits->of[0].op : -1;
    int32_t op = program_join(w->program, w->all, 0);
    walker_wait(w, waits);
    return op;
}
