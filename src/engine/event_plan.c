/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/event_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static bool draw_map(struct plan *plan)
{
    const struct slice *slice = plan->program->slice;
    struct map *map = &plan->map;
    int32_t chips = slice->chips, ports = 2 * slice->axes;
    int32_t ids = plan->sharing ? resource_ids(slice) : slice_link_ids(slice);
    size_t n = (size_t)ids;
    *map = (struct map){.links = ids, .chips = chips};
    map->out = malloc(4 * n * sizeof *map->out);
    map->Bps = malloc(n * sizeof *map->Bps);
    if (!map->out || !map->Bps)
        return false;
    map->start = map->out + n;
    map->end = map->start + n;
    map->in = map->end + n;
    memset(map->in, -1, n * sizeof *map->in);
    for (int32_t chip = 0; chip < chips; chip++)
        for (int32_t port = 0; port < ports; port++) {
            int link = slice_link(slice, chip, port / 2, port % 2 ? -1 : 1);
            int32_t id = link % ports * chips + link / ports;
            map->out[port * chips + chip] = link < 0 ? -1 : id;
            if (link < 0)
                continue;
            map->start[id] = chip;
            map->end[id] = slice_link_end(slice, link);
            map->in[port * chips + map->end[id]] = id;
            map->Bps[id] = slice_link_Bps(slice, link);
        }
    for (int32_t id = slice_link_ids(slice); id < ids; id++) {
        map->start[id] = map->end[id] = (id - slice_link_ids(slice)) % chips;
        map->Bps[id] = id_Bps(slice, id);
    }
    return true;
}

/* route_walk() by the map, which is faster: an all-to-all starts by walking some 10^6 routes. */
static int32_t map_walk(const struct map *map, int32_t chip, const struct hop hop[], int hops, int32_t link[])
{
    for (int h = 0; h < hops; h++) {
        int32_t port = 2 * hop[h].axis + (hop[h].delta < 0);
        for (int left = abs(hop[h].delta); left > 0; left--) {
            *link = map_out(map, chip, port);
            if (*link < 0)
                return -1;
            chip = map->end[*link++];
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
        /* Summed link by link, as in route_latency_s(), so that both agree to the last bit. */
        for (int l = 0; l < info.links; l++)
            info.latency_s += program->slice->hop_latency_s;
        if (program->slice->link && info.links > 0)
            info.latency_s = NAN;
        plan->route_info[r] = info;
        longest = info.links > longest ? info.links : longest;
    }
    plan->walked = malloc(((size_t)longest + RESOURCES_MOST) * sizeof *plan->walked);
    return plan->walked;
}

/* The latency of a route if links have different latencies. */
static double route_latency_s(const struct plan *plan, int32_t chip, struct route route)
{
    const struct slice *slice = plan->program->slice;
    const struct hop *hop = plan->program->hop + route.first;
    double latency_s = 0;
    route_walk(slice, chip, hop, route.hops, plan->walked);
    for (int l = 0; l < route_length(hop, route.hops); l++)
        latency_s += slice_link_latency_s(slice, plan->walked[l]);
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

int32_t plan_walk(struct plan *plan, int32_t o, int32_t chip, int32_t link[], int32_t *to)
{
    const struct program *program = plan->program;
    const struct op *op = &program->op[o];
    int32_t links = 0;
    *to = chip;
    if (op->kind == OP_SEND) {
        int32_t r = plan_route(plan, o, chip);
        struct route route = program->route[r];
        *to = map_walk(&plan->map, chip, program->hop + route.first, route.hops, link);
        links = plan->route_info[r].links;
    } else {
        *link = resource_of(program->slice, RESOURCE_COMPUTE, chip);
        plan->map.Bps[*link] = compute_Bps(program, op, chip);
        links = plan->yields;
    }
    return plan->task[o].memory && !plan->yields
               ? links + op_resources(program, op, plan->sharing, chip, *to, link + links)
               : links;
}

/* Walks every send of an op once, which also finds routes that leave the slice before the simulation
 * starts. */
static int fill_arrivals(struct plan *plan, int32_t o, struct arrivals *arrivals, struct status *st)
{
    const struct program *program = plan->program;
    const struct op *op = &program->op[o];
    int32_t chips = program->slice->chips;
    bool one_each = true;
    arrivals->each = calloc((size_t)chips, sizeof *arrivals->each);
    if (!arrivals->each)
        return status_nomem(st);
    for (int32_t c = 0; c < chips; c++) {
        if (!op_takes_part(program, op, c))
            continue;
        int32_t r = plan_route(plan, o, c);
        struct route route = program->route[r];
        int32_t to = map_walk(&plan->map, c, program->hop + route.first, route.hops, plan->walked);
        if (to < 0)
            return status_fail(st, STATUS_INPUT, "op %d leaves the slice from chip %d", o, c);
        arrivals->each[to]++;
    }
    for (int32_t c = 0; c < chips && one_each; c++)
        one_each = arrivals->each[c] == op_takes_part(program, op, c);
    if (one_each) {
        free(arrivals->each);
        arrivals->each = NULL;
    }
    return 0;
}

static bool arrives_alike(const struct arrivals *arrivals, const struct op *op)
{
    return arrivals->where == op->where && arrivals->towards.table == op->towards.table &&
           (op->towards.table != NO_TABLE || arrivals->towards.route == op->towards.route);
}

/* Finds or makes the arrivals of an op's sends. */
static int find_arrivals(struct plan *plan, int32_t o, struct lookup *known, int32_t *found,
                         struct status *st)
{
    const struct op *op = &plan->program->op[o];
    const int32_t key[] = {op->where, op->towards.table,
                           op->towards.table == NO_TABLE ? op->towards.route : 0};
    uint32_t hash = lookup_hash(0, key, sizeof key);
    const struct lookup_entry *at = NULL;
    while ((*found = lookup_next(known, hash, &at)) >= 0)
        if (arrives_alike(&plan->arrivals[*found], op))
            return 0;
    if (!GROW(plan->arrivals, plan->arrivals_count, plan->arrivals_room))
        return status_nomem(st);
    *found = plan->arrivals_count++;
    plan->arrivals[*found] = (struct arrivals){.where = op->where, .towards = op->towards};
    if (lookup_add(known, hash, *found) < 0)
        return status_nomem(st);
    return fill_arrivals(plan, o, &plan->arrivals[*found], st);
}

/* Inverts the dependencies: lists, for each op, the ops that wait for it. */
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
        task->arrived_fans = 0; /* counted again while they are filled in */
    }
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
            struct task *before = &plan->task[program->after[a].op];
            bool done = program->after[a].kind == AFTER_DONE;
            int32_t at = done ? before->waiting++ : before->done_fans + before->arrived_fans++;
            plan->fan[before->first_fan + at] = o;
        }
    }
    return true;
}

/* Finds how often an `after` is fulfilled on each chip: each[chip] times, or, if `each` is NULL, once on the
 * chips of a mask. False: never. */
static bool find_source(const struct plan *plan, struct after after, int32_t *where, const int32_t **each)
{
    const struct task *before = &plan->task[after.op];
    *where = plan->program->op[after.op].where;
    *each = NULL;
    if (after.kind == AFTER_ARRIVED && !before->compute)
        *each = plan->arrivals[before->arrivals].each;
    return after.kind == AFTER_DONE || !before->compute;
}

/* The number of things that an op waits for if it is the same on all chips, or DEPS_DIFFER. */
static int32_t deps_alike(const struct plan *plan, int32_t o)
{
    const struct op *op = &plan->program->op[o];
    int32_t deps = op->kind == OP_COMPUTE, where;
    const int32_t *each;
    for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
        if (!find_source(plan, plan->program->after[a], &where, &each))
            continue;
        if (each || (where != WHERE_ALL && where != op->where))
            return DEPS_DIFFER;
        deps++;
    }
    return deps;
}

void plan_count(const struct plan *plan, int32_t o, int32_t count[])
{
    const struct program *program = plan->program;
    const struct op *op = &program->op[o];
    int32_t chips = program->slice->chips, of_all = op->kind == OP_COMPUTE, where;
    const int32_t *each;
    memset(count, 0, (size_t)chips * sizeof *count);
    for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
        if (!find_source(plan, program->after[a], &where, &each))
            continue;
        if (!each && (where == WHERE_ALL || where == op->where))
            of_all++;
        else if (each)
            for (int32_t c = 0; c < chips; c++)
                count[c] += each[c];
        else
            for (int32_t c = 0; c < chips; c++)
                count[c] += program->mask[where][c] != 0;
    }
    for (int32_t c = 0; c < chips && of_all > 0; c++)
        count[c] += of_all;
}

int32_t plan_turn(struct plan *plan, int32_t chip, bool pass)
{
    const struct program *program = plan->program;
    int32_t *turn = &plan->turn[chip];
    *turn += pass;
    while (*turn < plan->computes && !op_takes_part(program, &program->op[plan->compute_op[*turn]], chip))
        ++*turn;
    return *turn < plan->computes ? plan->compute_op[*turn] : -1;
}

static void describe(struct plan *plan, int32_t o)
{
    const struct op *op = &plan->program->op[o];
    struct task *task = &plan->task[o];
    task->compute = op->kind == OP_COMPUTE;
    bool alike = op->amount.table == NO_TABLE || (plan->program->silent && task->compute);
    task->amount = alike ? op_amount(plan->program, op, 0) : NAN;
    task->delay_s = NAN;
    bool passes = passes_memory(plan->program, op, plan->sharing);
    bool fills = passes && fills_memory(plan->program, op, plan->links_Bps);
    task->memory = plan->yields ? fills : passes;
    task->fills = fills && !plan->yields;
    if (task->compute) {
        plan->compute_op[plan->computes++] = o;
        task->delay_s = task->memory ? 0 : task->amount;
        task->rides = task->amount > 0 && task->memory && plan->rides && !task->fills;
    } else {
        bool table = op->towards.table != NO_TABLE;
        const struct route_info *info = table ? NULL : &plan->route_info[op->towards.route];
        task->delay_s = table ? NAN : op->setup_s + info->latency_s;
        task->rides = task->amount > 0 && (!task->memory || (plan->rides && !task->fills)) &&
                      (table || info->port >= 0);
    }
}

static int describe_all(struct plan *plan, struct status *st)
{
    const struct program *program = plan->program;
    struct lookup known = {0};
    int32_t i = -1;
    int code = 0;
    for (int32_t o = 0; o < program->ops && code == 0; o++) {
        const struct op *op = &program->op[o];
        struct task *task = &plan->task[o];
        bool sends = op->kind == OP_SEND;
        if (sends &&
            (i < 0 || !arrives_alike(&plan->arrivals[i], op))) /* most are like those of the op before */
            code = find_arrivals(plan, o, &known, &i, st);
        task->arrivals = sends ? i : 0;
        describe(plan, o);
        task->waiting = (int32_t)op_takers(program, op);
        task->deps = deps_alike(plan, o);
        plan->pairs += task->waiting;
    }
    lookup_free(&known);
    return code;
}

int plan_init(struct plan *plan, const struct program *program, struct status *st)
{
    size_t ops = (size_t)program->ops;
    *plan = (struct plan){.program = program, .sharing = program_sharing(program)};
    plan->links_Bps = plan->sharing == SHARES_MEMORY ? program_links_Bps(program) : 0;
    plan->yields = plan->sharing == SHARES_MEMORY && computes_yield(program, plan->links_Bps);
    plan->rides = !plan->yields && plan->links_Bps <= program->slice->hbm_Bps && !program->slice->chip_frac;
    plan->task = calloc(ops + 1, sizeof *plan->task);
    plan->compute_op = malloc((ops + 1) * sizeof *plan->compute_op);
    plan->turn = calloc((size_t)program->slice->chips, sizeof *plan->turn);
    if (!plan->task || !plan->compute_op || !plan->turn || !draw_map(plan) || !measure_routes(plan) ||
        !turn_round(plan))
        return status_nomem(st);
    return describe_all(plan, st);
}

void plan_free(struct plan *plan)
{
    for (int32_t i = 0; i < plan->arrivals_count; i++)
        free(plan->arrivals[i].each);
    free(plan->arrivals);
    free(plan->map.out);
    free(plan->map.Bps);
    free(plan->route_info);
    free(plan->walked);
    free(plan->task);
    free(plan->fan);
    free(plan->compute_op);
    free(plan->turn);
    *plan = (struct plan){0};
}
