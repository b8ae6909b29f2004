/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patterns of the plan: who is sent something by whom. Walking every route once here also finds the routes
 * that leave the slice, before time starts. */
#include "engine/event_plan.h"

#include <stdlib.h>
#include <string.h>

/* Counts the sends of op that arrive at each chip. */
static int count_arrivals(const struct plan *plan, int32_t o, int32_t arrivals[], struct status *st)
{
    const struct program *program = plan->program;
    const struct chip_set *set = plan_set(plan, plan->task[o].set);
    int32_t chips = program->slice->chips;
    memset(arrivals, 0, (size_t)chips * sizeof *arrivals);
    for (int32_t c = set_next(set, chips, 0); c < chips; c = set_next(set, chips, c + 1)) {
        struct route route = program->route[plan_route(plan, o, c)];
        int32_t to = map_walk(&plan->map, c, program->hop + route.first, route.hops, NULL);
        if (to < 0)
            return status_fail(st, STATUS_INPUT, "op %d leaves the slice from chip %d", o, c);
        arrivals[to]++;
    }
    return 0;
}

/* Keeps the counts of a pattern, in as little as they need. */
static int keep_arrivals(struct plan *plan, struct pattern *pattern, const int32_t arrivals[],
                         uint8_t member[], struct status *st)
{
    int32_t chips = plan->program->slice->chips, most = 0;
    for (int32_t c = 0; c < chips; c++) {
        member[c] = arrivals[c] > 0;
        most = arrivals[c] > most ? arrivals[c] : most;
    }
    if (most > DEPS_MAX)
        return status_fail(st, STATUS_LIMIT, "%d sends of one op to one chip; the event engine counts to %d",
                           most, DEPS_MAX);
    pattern->arrive_set = sets_add(&plan->sets, member);
    if (pattern->arrive_set < 0)
        return status_nomem(st);
    if (most <= 1)
        return 0;
    const struct chip_set *set = plan_set(plan, pattern->arrive_set);
    pattern->arrivals = malloc((size_t)set->members * sizeof *pattern->arrivals);
    if (!pattern->arrivals)
        return status_nomem(st);
    int32_t at = 0;
    for (int32_t c = set_next(set, chips, 0); c < chips; c = set_next(set, chips, c + 1))
        pattern->arrivals[at++] = (uint16_t)arrivals[c];
    return 0;
}

static uint64_t hash_of(const struct op *op)
{
    uint64_t hash = (uint32_t)op->where;
    hash = hash * 0x9e3779b97f4a7c15ull + (uint32_t)op->towards.route;
    hash = hash * 0x9e3779b97f4a7c15ull + (uint32_t)op->towards.table;
    return hash * 0x9e3779b97f4a7c15ull >> 32;
}

static bool is_of(const struct pattern *have, const struct op *op)
{
    return have->where == op->where && have->table == op->towards.table &&
           (have->table != NO_TABLE || have->route == op->towards.route);
}

/* The pattern of an op, or -1 if it is new; `slot` is where the hash table has it or wants it. */
static int32_t find(const struct plan *plan, const struct op *op, const int32_t table[], uint64_t mask,
                    uint64_t *slot)
{
    for (*slot = hash_of(op) & mask; table[*slot]; *slot = (*slot + 1) & mask) {
        if (is_of(&plan->pattern[table[*slot] - 1], op))
            return table[*slot] - 1;
    }
    return -1;
}

static struct pattern *append(struct plan *plan)
{
    if (plan->patterns == plan->patterns_room) {
        int32_t room = plan->patterns_room ? 2 * plan->patterns_room : 16;
        struct pattern *pattern = realloc(plan->pattern, (size_t)room * sizeof *pattern);
        if (!pattern)
            return NULL;
        plan->pattern = pattern;
        plan->patterns_room = room;
    }
    struct pattern *fresh = &plan->pattern[plan->patterns++];
    *fresh = (struct pattern){0};
    return fresh;
}

static int add(struct plan *plan, int32_t o, int32_t arrivals[], uint8_t member[], struct status *st)
{
    const struct op *op = &plan->program->op[o];
    struct pattern *pattern = append(plan);
    if (!pattern)
        return status_nomem(st);
    pattern->where = op->where;
    pattern->route = op->towards.route;
    pattern->table = op->towards.table;
    int code = count_arrivals(plan, o, arrivals, st);
    return code < 0 ? code : keep_arrivals(plan, pattern, arrivals, member, st);
}

static int add_all(struct plan *plan, int32_t table[], uint64_t mask, int32_t arrivals[], uint8_t member[],
                   struct status *st)
{
    int32_t pattern = -1;
    for (int32_t o = 0; o < plan->program->ops; o++) {
        const struct op *op = &plan->program->op[o];
        uint64_t slot;
        plan->pattern_of[o] = -1;
        if (op->kind != OP_SEND)
            continue;
        if (pattern < 0 || !is_of(&plan->pattern[pattern], op)) /* most are of the one before */
            pattern = find(plan, op, table, mask, &slot);
        if (pattern < 0) {
            int code = add(plan, o, arrivals, member, st);
            if (code < 0)
                return code;
            pattern = plan->patterns - 1;
            table[slot] = plan->patterns;
        }
        plan->pattern_of[o] = pattern;
    }
    return 0;
}

int plan_patterns(struct plan *plan, struct status *st)
{
    size_t ops = (size_t)plan->program->ops, chips = (size_t)plan->program->slice->chips, slots = 16;
    while (slots < 2 * ops)
        slots *= 2;
    int32_t *table = calloc(slots, sizeof *table);
    int32_t *arrivals = malloc(chips * sizeof *arrivals);
    uint8_t *member = malloc(chips);
    plan->pattern_of = malloc((ops + 1) * sizeof *plan->pattern_of);
    int code = table && arrivals && member && plan->pattern_of
                   ? add_all(plan, table, slots - 1, arrivals, member, st)
                   : status_nomem(st);
    free(table);
    free(arrivals);
    free(member);
    return code;
}
