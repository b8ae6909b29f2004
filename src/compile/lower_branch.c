/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conditionals. If each device's index follows from constants and its number, chips take different branches
 * at the same time. Otherwise the branch is unknown: the slowest stands for all, by an estimate, unless
 * --branch names another or all of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "compile/lower_own.h"
#include "hlo/scalar.h"

/* The branches are its called computations; for a predicate the true branch comes first. */
static int branches(const struct module *module, int32_t conditional)
{
    int n = 0;
    while (module_called(module, conditional, n) >= 0)
        n++;
    return n;
}

/* If the devices of a chip take two branches at the same time, the longer one counts. */
static int longer_branch(const struct module *module, int32_t conditional, int a, int b)
{
    return a < 0 || (b >= 0 && module->computation[module_called(module, conditional, b)].count >
                                   module->computation[module_called(module, conditional, a)].count)
               ? b
               : a;
}

/* Does a computation, or one that it calls, communicate? Branches would cut its groups. */
static bool communicates(const struct module *module, int32_t computation)
{
    const struct computation *c = &module->computation[computation];
    for (int32_t at = c->first; at < c->first + c->count; at++) {
        if (lower_collective_in(module, at) >= 0)
            return true;
        for (int32_t which = 0, called; (called = module_called(module, at, which)) >= 0; which++)
            if (communicates(module, called))
                return true;
    }
    return false;
}

/* The branch, of n, that a device takes: a predicate of 1 takes the first, an index out of range the last. `table` has the
 * indices of all partitions, or is NULL. */
static int find_taken(const struct module *module, int32_t conditional, int n, int device,
                      const int64_t table[])
{
    struct scalar_place place = {.module = module,
                                 .loop = SCALAR_UNKNOWN,
                                 .replica = device / module->partitions,
                                 .partition = device % module->partitions,
                                 .steps = SCALAR_STEPS};
    struct scalar index = {table ? table[place.partition] : 0, SCALAR_UNKNOWN};
    if (!table && (!scalar_find(&place, module_operand(module, conditional, 0), SCALAR_UNKNOWN, &index) ||
                   index.carried >= 0))
        return -1;
    if (module_shape_of(module, module_operand(module, conditional, 0))->dtype == DTYPE_PRED)
        return index.value ? 0 : 1;
    return index.value < 0 || index.value >= n ? n - 1 : (int)index.value;
}

/* taken[chips of the slice]: the number of the branch that each chip takes, -1 for chips without a device.
 * Returns false if the index of some device is unknown, or a branch communicates. */
static bool find_branches(const struct lower *lower, int32_t conditional, int taken[])
{
    const struct module *module = lower->module;
    const struct placement *placement = lower->placement;
    const int64_t *table = scalar_table(module, module_operand(module, conditional, 0));
    int n = branches(module, conditional);
    for (int b = 0; b < n; b++)
        if (communicates(module, module_called(module, conditional, b)))
            return false;
    for (int chip = 0; chip < placement->slice->chips; chip++)
        taken[chip] = -1;
    for (int d = 0; d < placement->devices; d++) {
        int branch = find_taken(module, conditional, n, d, table), *of_chip = &taken[placement->chip_of[d]];
        if (branch < 0)
            return false;
        *of_chip = longer_branch(module, conditional, *of_chip, branch);
    }
    return true;
}

/* Walks one branch of a conditional, whose operands are the index and the argument of each branch. */
static int walk_branch(struct walker *w, const struct frame *f, int32_t instruction, int which,
                       struct value *value)
{
    struct value argument = walker_no_value();
    if (which + 1 < module_at(w->module, instruction)->operands)
        argument = walker_value(f, module_operand(w->module, instruction, which + 1));
    int32_t outer = w->site;
    w->site = instruction;
    int code = walker_computation(w, module_called(w->module, instruction, which), argument, NULL, -1, value);
    w->site = outer;
    return code;
}

/* The chips that take a branch, as a mask of the program, and their share of all chips that take any. */
static int32_t mask_of(struct walker *w, const int taken[], int which, uint8_t mask[], double *share)
{
    int chips = w->program->slice->chips, takers = 0, all = 0;
    for (int c = 0; c < chips; c++) {
        mask[c] = taken[c] == which;
        takers += mask[c];
        all += taken[c] >= 0;
    }
    *share = (double)takers / all;
    return takers ? program_mask(w->program, mask) : w->all;
}

/* An op that ends on each chip when the ops of the branches since `first` have, and their results `made`;
 * when scheduled, also the queue's op before them, for chips without work. */
static int32_t join_branches(struct walker *w, int32_t before, int32_t first, const int32_t made[], int n)
{
    int32_t end = w->program->ops;
    if (end == first && n == 0)
        return -1;
    int32_t join = program_join(w->program, w->all, 0);
    if (!walker_overlaps(w))
        program_wait(w->program, before);
    for (int32_t op = first; op < end; op++)
        program_wait(w->program, op);
    for (int i = 0; i < n; i++)
        program_wait(w->program, made[i]);
    return join;
}

/* Walks each branch for the chips that take it; the next op on the queue waits for all of them. A branch
 * counts by the share of its chips, so that reports show the average chip. */
static int walk_taken(struct walker *w, const struct frame *f, int32_t instruction, const int taken[],
                      struct value *value)
{
    int code = 0, n = 0;
    int32_t where = w->where, before = w->queue, first = w->program->ops, made[WAITS_MOST];
    uint8_t *mask = malloc((size_t)w->program->slice->chips);
    if (!mask)
        return status_nomem(w->st);
    for (int b = 0; module_called(w->module, instruction, b) >= 0 && code == 0; b++) {
        struct value returned = walker_no_value();
        w->where = mask_of(w, taken, b, mask, &w->share);
        if (w->share <= 0)
            continue;
        w->queue = before;
        code = walk_branch(w, f, instruction, b, &returned);
        int32_t op = walker_op_of(w, returned);
        if (op >= 0 && op < first && n < WAITS_MOST)
            made[n++] = op;
    }
    w->where = where;
    w->share = 1;
    value->op = join_branches(w, before, first, made, n);
    w->queue = w->program->ops > first ? value->op : before;
    free(mask);
    return code;
}

static double computation_s(const struct lower *lower, int32_t computation);

/* The estimated time of a branch, a body or a call, with everything in sequence. */
static double estimate_s(const struct lower *lower, int32_t at)
{
    const struct module *module = lower->module;
    enum opcode opcode = module_at(module, at)->opcode;
    double seconds = 0;
    if (opcode_info(opcode)->class != CLASS_CALL || opcode == HLO_FUSION)
        return lower_estimate_s(lower, at);
    for (int which = 0; module_called(module, at, which) >= 0; which++) {
        double one_s = computation_s(lower, module_called(module, at, which));
        seconds = opcode == HLO_CONDITIONAL ? fmax(seconds, one_s) : seconds + one_s;
    }
    return opcode == HLO_WHILE ? seconds * (double)module_trip_count(module, at) : seconds;
}

static double computation_s(const struct lower *lower, int32_t computation)
{
    const struct computation *c = &lower->module->computation[computation];
    double seconds = 0;
    for (int32_t at = c->first; at < c->first + c->count; at++)
        seconds += estimate_s(lower, at);
    return seconds;
}

/* Of equal branches the one with more instructions wins, then the first. */
static int slowest_branch(const struct lower *lower, int32_t conditional)
{
    const struct module *module = lower->module;
    int best = 0, n = branches(module, conditional);
    double most_s = -1;
    for (int b = 0; b < n; b++) {
        double took_s = computation_s(lower, module_called(module, conditional, b));
        if (took_s > most_s)
            best = b;
        else if (took_s >= most_s)
            best = longer_branch(module, conditional, best, b);
        most_s = fmax(most_s, took_s);
    }
    return best;
}

/* "cond.1=0,cond.2=all": the value of a name, NULL where it is not in the list. */
static const char *value_of(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            return at + n + 1;
    return NULL;
}

/* The number of a branch, or all of them, or the slowest. */
enum { BRANCH_ALL = -1, BRANCH_SLOWEST = -2, BRANCH_NONE = -3 };
static int branch_by_value(const char *value, int n)
{
    size_t length = value ? strcspn(value, ",") : 0;
    char *end;
    if (!value || (length == strlen("slowest") && strncmp(value, "slowest", length) == 0))
        return BRANCH_SLOWEST;
    if (length == strlen("all") && strncmp(value, "all", length) == 0)
        return BRANCH_ALL;
    long branch = strtol(value, &end, 10);
    return end == value + length && length > 0 && branch >= 0 && branch < n ? (int)branch : BRANCH_NONE;
}

/* The conditional of an entry "NAME=...", -1 if the module has none with that name. */
static int32_t named_conditional(const struct module *module, const char *entry)
{
    for (int32_t at = 0; at < module->instructions; at++) {
        const char *name = module_name_at(module, at);
        size_t n = strlen(name);
        if (module_at(module, at)->opcode == HLO_CONDITIONAL && strncmp(entry, name, n) == 0 &&
            entry[n] == '=')
            return at;
    }
    return -1;
}

int lower_check_branches(const struct module *module, const char *list, struct status *st)
{
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
        int32_t conditional = named_conditional(module, at);
        int length = (int)strcspn(at, ","), n = conditional < 0 ? 0 : branches(module, conditional);
        if (conditional < 0)
            return status_fail(
                st, STATUS_INPUT,
                "--branch '%.*s': write NAME=0, NAME=all or NAME=slowest, with the name of a conditional",
                length, at);
        if (branch_by_value(strchr(at, '=') + 1, n) == BRANCH_NONE)
            return status_fail(st, STATUS_INPUT, "--branch '%.*s': write 0 to %d, all or slowest", length, at,
                               n - 1);
    }
    return 0;
}

/* Records the choice for reports, once for each conditional. */
static int note_branch(struct lower *lower, int32_t conditional, int branch, bool slowest, struct status *st)
{
    for (int32_t c = 0; c < lower->choices; c++)
        if (lower->choice[c].conditional == conditional)
            return 0;
    if (!GROW(lower->choice, lower->choices, lower->room[2]))
        return status_nomem(st);
    lower->choice[lower->choices++] = (struct lowered_choice){conditional, branch, slowest};
    return 0;
}

/* Walks branches one after the other, from the first to the last. */
static int walk_from(struct walker *w, const struct frame *f, int32_t instruction, int first, int last,
                     struct value *value)
{
    int code = 0;
    for (int b = first; b <= last && code == 0; b++)
        code = walk_branch(w, f, instruction, b, value);
    return code;
}

/* Walks the slowest branch, the named one, or all. */
static int walk_chosen(struct walker *w, const struct frame *f, int32_t instruction, int branch,
                       struct value *value)
{
    bool slowest = branch == BRANCH_SLOWEST, all = branch == BRANCH_ALL;
    if (slowest)
        branch = slowest_branch(w->lower, instruction);
    if (note_branch(w->lower, instruction, branch, slowest, w->st) < 0)
        return w->st->code;
    return all ? walk_from(w, f, instruction, 0, branches(w->module, instruction) - 1, value)
               : walk_from(w, f, instruction, branch, branch, value);
}

int walker_conditional(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    const char *given = value_of(w->lower->options->branch, module_name_at(w->module, instruction));
    int branch = branch_by_value(given, branches(w->module, instruction));
    int *taken = malloc((size_t)w->program->slice->chips * sizeof *taken);
    if (!taken)
        return status_nomem(w->st);
    int code = !given && w->where == w->all && find_branches(w->lower, instruction, taken)
                   ? walk_taken(w, f, instruction, taken, value)
                   : walk_chosen(w, f, instruction, branch, value);
    free(taken);
    return code;
}
