/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/lower_branch.h"

#include "hlo/scalar.h"

int32_t lower_branch(const struct module *module, int32_t conditional, int which)
{
    static const enum attribute_key keys[] = {ATTR_BRANCHES, ATTR_TRUE_COMPUTATION, ATTR_FALSE_COMPUTATION};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        int count;
        const int64_t *branch = module_numbers(module, conditional, keys[k], &count);
        if (which < count)
            return (int32_t)branch[which];
        which -= count;
    }
    return -1;
}

static int branches(const struct module *module, int32_t conditional)
{
    int n = 0;
    while (lower_branch(module, conditional, n) >= 0)
        n++;
    return n;
}

/* Of two branches that devices of a chip take at the same time the longer one counts. */
static int longer_branch(const struct module *module, int32_t conditional, int a, int b)
{
    return a < 0 || (b >= 0 && module->computation[lower_branch(module, conditional, b)].count >
                                   module->computation[lower_branch(module, conditional, a)].count)
               ? b
               : a;
}

int lower_branch_likely(const struct module *module, int32_t conditional)
{
    int best = 0, n = branches(module, conditional);
    for (int b = 1; b < n; b++)
        best = longer_branch(module, conditional, best, b);
    return best;
}

static bool communicates(const struct lower *lower, int32_t computation);

/* Does an instruction communicate, or what it calls? */
static bool is_communicating(const struct lower *lower, int32_t at)
{
    const struct module *module = lower->module;
    enum opcode opcode = module_at(module, at)->opcode;
    enum opcode_class class = opcode_info(opcode)->class;
    if (class == CLASS_COLLECTIVE ||
        (class == CLASS_START && opcode != HLO_ASYNC_START && opcode != HLO_COPY_START))
        return true;
    for (int which = 0; module_called(module, at, which) >= 0; which++)
        if (communicates(lower, module_called(module, at, which)))
            return true;
    return false;
}

/* Does a computation? Its groups would be cut by who takes the branch. */
static bool communicates(const struct lower *lower, int32_t computation)
{
    const struct computation *c = &lower->module->computation[computation];
    int32_t *known = &lower->fusion[computation].communicates;
    for (int32_t at = c->first; at < c->first + c->count && *known == LOWER_UNKNOWN; at++)
        if (is_communicating(lower, at))
            *known = true;
    *known = *known == true;
    return *known;
}

/* The branch of so many that one device takes: a predicate chooses the first by 1, an index that is none of them the last. */
static int find_taken(const struct module *module, int32_t conditional, int n, int device)
{
    struct scalar_place place = {.module = module,
                                 .loop = SCALAR_UNKNOWN,
                                 .replica = device / module->partitions,
                                 .partition = device % module->partitions,
                                 .steps = SCALAR_STEPS};
    struct scalar index;
    if (!scalar_find(&place, module_operand(module, conditional, 0), SCALAR_UNKNOWN, &index) ||
        index.carried >= 0)
        return -1;
    if (module_shape_of(module, module_operand(module, conditional, 0))->dtype == DTYPE_PRED)
        return index.value ? 0 : 1;
    return index.value < 0 || index.value >= n ? n - 1 : (int)index.value;
}

bool lower_branches_taken(const struct lower *lower, int32_t conditional, int taken[])
{
    const struct module *module = lower->module;
    const struct placement *placement = lower->placement;
    int n = branches(module, conditional);
    for (int b = 0; b < n; b++)
        if (communicates(lower, lower_branch(module, conditional, b)))
            return false;
    for (int chip = 0; chip < placement->slice->chips; chip++)
        taken[chip] = -1;
    for (int d = 0; d < placement->devices; d++) {
        int branch = find_taken(module, conditional, n, d), *of_chip = &taken[placement->chip_of[d]];
        if (branch < 0)
            return false;
        *of_chip = longer_branch(module, conditional, *of_chip, branch);
    }
    return true;
}
