/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/event_plan.h"

#include <stdlib.h>
#include <string.h>

int32_t plan_set_of(const struct plan *plan, const struct op *op)
{
    return op->where == WHERE_ALL ? SET_ALL : plan->set_of_mask[op->where];
}

static bool draw_map(struct plan *plan)
{
    const struct slice *slice = plan->program->slice;
    struct map *map = &plan->map;
    map->links = slice_link_ids(slice);
    map->chips = slice->chips;
    map->ports = 2 * slice->axes;
    map->alike = !slice->link;
    size_t n = (size_t)map->links;
    map->out = malloc(n * sizeof *map->out);
    map->start = malloc(n * sizeof *map->start);
    map->end = malloc(n * sizeof *map->end);
    map->Bps = malloc(n * sizeof *map->Bps);
    if (!map->out || !map->start || !map->end || !map->Bps)
        return false;
    for (int32_t l = 0; l < map->links; l++)
        map->Bps[map_id(map, l)] = slice_link_Bps(slice, l);
    for (int chip = 0; chip < slice->chips; chip++)
        for (int port = 0; port < map->ports; port++) {
            int link = slice_link(slice, chip, port / 2, port % 2 ? -1 : 1);
            int32_t id = link >= 0 ? map_id(map, link) : -1;
            map->out[map_out(map, chip, port)] = id;
            if (id >= 0) {
                map->start[id] = chip;
                map->end[id] = slice_link_end(slice, link);
            }
        }
    return true;
}

int32_t map_walk(const struct map *map, int32_t chip, const struct hop hop[], int hops, int32_t link[])
{
    for (int h = 0; h < hops; h++) {
        int32_t port = 2 * hop[h].axis + (hop[h].delta < 0);
        for (int left = abs(hop[h].delta); left > 0; left--) {
            int32_t id = map->out[map_out(map, chip, port)];
            if (id < 0)
                return -1;
            if (link)
                *link++ = id;
            chip = map->end[id];
        }
    }
    return chip;
}

static bool measure_routes(struct plan *plan)
{
    const struct program *program = plan->program;
    int32_t longest = 0;
    plan->route_info = malloc(((size_t)program->routes + 1) * sizeof *plan->route_info);
    if (!plan->route_info)
        return false;
    for (int32_t r = 0; r < program->routes; r++) {
        struct route route = program->route[r];
        const struct hop *hop = program->hop + route.first;
        struct route_info info = {.links = route_length(hop, route.hops), .port = -1};
        for (int h = 0; info.links == 1 && h < route.hops; h++)
            if (hop[h].delta != 0)
                info.port = 2 * hop[h].axis + (hop[h].delta < 0);
        /* Summed link by link, as it is where links differ. */
        for (int l = 0; l < info.links; l++)
            info.latency_s += program->slice->hop_latency_s;
        if (program->slice->link && info.links > 0)
            info.latency_s = NAN;
        plan->route_info[r] = info;
        longest = info.links > longest ? info.links : longest;
    }
    plan->walked = malloc(((size_t)longest + 1) * sizeof *plan->walked);
    return plan->walked;
}

/* Where links have latencies of their own. */
static double route_latency_s(const struct plan *plan, int32_t chip, struct route route)
{
    const struct hop *hop = plan->program->hop + route.first;
    double latency_s = 0;
    map_walk(&plan->map, chip, hop, route.hops, plan->walked);
    for (int l = 0; l < route_length(hop, route.hops); l++)
        latency_s += slice_link_latency_s(plan->program->slice, map_slice_link(&plan->map, plan->walked[l]));
    return latency_s;
}

double plan_delay_s(const struct plan *plan, int32_t o, int32_t chip)
{
    const struct task *task = &plan->task[o];
    if (!isnan(task->delay_s))
        return task->delay_s;
    if (task->compute)
        return plan_amount(plan, o, chip);
    int32_t route = plan_route(plan, o, chip);
    double latency_s = plan->route_info[route].latency_s;
    if (isnan(latency_s))
        latency_s = route_latency_s(plan, chip, plan->program->route[route]);
    return plan->program->op[o].setup_s + latency_s;
}

static bool collect_sets(struct plan *plan)
{
    const struct program *program = plan->program;
    if (!sets_init(&plan->sets, program->slice->chips))
        return false;
    plan->set_of_mask = malloc(((size_t)program->masks + 1) * sizeof *plan->set_of_mask);
    if (!plan->set_of_mask)
        return false;
    for (int32_t m = 0; m < program->masks; m++) {
        plan->set_of_mask[m] = sets_add(&plan->sets, program->mask[m]);
        if (plan->set_of_mask[m] < 0)
            return false;
    }
    return true;
}

/* Turns "op waits for k" round into "k is waited for by op". */
static bool turn_round(struct plan *plan)
{
    const struct program *program = plan->program;
    plan->fan = malloc(((size_t)program->afters + 1) * sizeof *plan->fan);
    if (!plan->fan)
        return false;
    for (int32_t a = 0; a < program->afters; a++) {
        struct task *before = &plan->task[program->after[a].op];
        *(program->after[a].kind == AFTER_DONE ? &before->done_fans : &before->arrived_fans) += 1;
    }
    int32_t first = 0;
    for (int32_t o = 0; o < program->ops; o++) {
        struct task *task = &plan->task[o];
        task->first_fan = first;
        first += task->done_fans + task->arrived_fans;
        task->arrived_fans = 0; /* counted again as they are filled in */
        task->waiting = 0;
    }
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
            struct task *before = &plan->task[program->after[a].op];
            int32_t at = program->after[a].kind == AFTER_DONE ? before->waiting++
                                                              : before->done_fans + before->arrived_fans++;
            plan->fan[before->first_fan + at] = o;
        }
    }
    return true;
}

/* Is every chip of a set sent exactly one thing by op? */
static bool one_each(const struct plan *plan, int32_t op, int32_t set)
{
    if (plan->pattern_of[op] < 0)
        return false;
    const struct pattern *pattern = &plan->pattern[plan->pattern_of[op]];
    return !pattern->arrivals && (pattern->arrive_set == SET_ALL || pattern->arrive_set == set);
}

/* The number of things that op waits for where that is the same on all chips, or DEPS_DIFFER. */
static int32_t deps_alike(const struct plan *plan, int32_t o)
{
    const struct op *op = &plan->program->op[o];
    int32_t set = plan->task[o].set, deps = 0;
    for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
        struct after after = plan->program->after[a];
        int32_t other = plan->task[after.op].set;
        if (after.kind == AFTER_DONE ? other == SET_ALL || other == set : one_each(plan, after.op, set))
            deps++;
        else if (after.kind == AFTER_DONE ? other != SET_NONE : plan->pattern_of[after.op] >= 0)
            return DEPS_DIFFER;
    }
    if (op->kind == OP_COMPUTE) {
        if (plan->classes > 1)
            return DEPS_DIFFER;
        deps += plan->compute_op[0] != o;
    }
    return deps;
}

/* Counts, of each member of a set in turn, what is in another one: `each` for every member of that, NULL: once. */
static void count_both(const struct chip_set *set, const struct chip_set *other, const uint16_t each[],
                       int32_t chips, int32_t count[])
{
    for (int32_t w = 0; w <= (chips - 1) / 64; w++) {
        uint64_t left = set_word(set, chips, w), has = set_word(other, chips, w);
        for (; left; left &= left - 1, count++)
            if (has & left & -left)
                *count += each ? each[set_rank(other, w * 64 + __builtin_ctzll(left))] : 1;
    }
}

/* Where one of the things that an op waits for comes about: `each` for every member of that set, NULL: once. */
struct source {
    int32_t set;
    const uint16_t *each;
};

static struct source source_of(const struct plan *plan, struct after after)
{
    if (after.kind == AFTER_DONE)
        return (struct source){plan->task[after.op].set, NULL};
    if (plan->pattern_of[after.op] < 0)
        return (struct source){SET_NONE, NULL};
    const struct pattern *pattern = &plan->pattern[plan->pattern_of[after.op]];
    return (struct source){pattern->arrive_set, pattern->arrivals};
}

bool plan_waits(const struct plan *plan, int32_t o)
{
    const struct op *op = &plan->program->op[o];
    bool waits = false;
    for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
        struct source source = source_of(plan, plan->program->after[a]);
        if (source.each)
            return false;
        waits |= source.set == SET_ALL || source.set == plan->task[o].set;
    }
    return waits && op->afters < DEPS_MAX;
}

void plan_count(const struct plan *plan, int32_t o, int32_t count[])
{
    const struct program *program = plan->program;
    const struct op *op = &program->op[o];
    int32_t chips = program->slice->chips, own = plan->task[o].set, of_all = 0, at = 0;
    const struct chip_set *set = plan_set(plan, own);
    memset(count, 0, (size_t)set->members * sizeof *count);
    for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
        struct source source = source_of(plan, program->after[a]);
        if (!source.each && (source.set == SET_ALL || source.set == own))
            of_all++;
        else
            count_both(set, plan_set(plan, source.set), source.each, chips, count);
    }
    for (int32_t i = 0; i < set->members && of_all > 0; i++)
        count[i] += of_all;
    if (op->kind == OP_COMPUTE)
        for (int32_t c = set_next(set, chips, 0); c < chips; c = set_next(set, chips, c + 1))
            count[at++] += plan->first_compute[c] < o;
}

static void describe(struct plan *plan, int32_t o)
{
    const struct op *op = &plan->program->op[o];
    struct task *task = &plan->task[o];
    task->compute = op->kind == OP_COMPUTE;
    task->set = plan_set_of(plan, op);
    bool alike = op->amount.table == NO_TABLE || (plan->program->silent && op->kind == OP_COMPUTE);
    task->amount = alike ? op_amount(plan->program, op, 0) : NAN;
    task->delay_s = task->compute ? task->amount : NAN;
    task->port = -1;
    if (!task->compute && op->towards.table == NO_TABLE) {
        const struct route_info *info = &plan->route_info[op->towards.route];
        task->delay_s = op->setup_s + info->latency_s;
        task->port = info->port;
    }
    task->alike = !isnan(task->delay_s) && (task->compute || (task->port >= 0 && task->amount > 0));
}

int plan_init(struct plan *plan, const struct program *program, struct status *st)
{
    *plan = (struct plan){.program = program};
    plan->task = calloc((size_t)program->ops + 1, sizeof *plan->task);
    if (!plan->task || !draw_map(plan) || !measure_routes(plan) || !collect_sets(plan))
        return status_nomem(st);
    for (int32_t o = 0; o < program->ops; o++)
        describe(plan, o);
    int code = plan_patterns(plan, st);
    if (code < 0 || (code = plan_computes(plan, st)) < 0)
        return code;
    if (!turn_round(plan))
        return status_nomem(st);
    for (int32_t o = 0; o < program->ops; o++) {
        struct task *task = &plan->task[o];
        task->waiting = plan_set(plan, task->set)->members;
        plan->pairs += task->waiting;
        task->deps = deps_alike(plan, o);
        if (task->deps > DEPS_MAX)
            return status_fail(st, STATUS_LIMIT, "op %d waits for %d things; the event engine counts to %d",
                               o, task->deps, DEPS_MAX);
    }
    return 0;
}

void plan_free(struct plan *plan)
{
    for (int32_t p = 0; p < plan->patterns; p++)
        free(plan->pattern[p].arrivals);
    sets_free(&plan->sets);
    free(plan->map.out);
    free(plan->map.start);
    free(plan->map.end);
    free(plan->map.Bps);
    free(plan->set_of_mask);
    free(plan->route_info);
    free(plan->walked);
    free(plan->task);
    free(plan->fan);
    free(plan->pattern_of);
    free(plan->pattern);
    free(plan->compute_op);
    free(plan->class);
    free(plan->first_cursor);
    free(plan->cursor);
    free(plan->first_compute);
    *plan = (struct plan){0};
}
