/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The event engine: time goes from instant to instant, and all that happens at one instant happens together.
 *
 *     op ready on a chip -> flow -> (setup and latency) -> joins its links -> ends -> ops that waited for it
 *
 * What is kept for each (op, chip) is a counter of two bytes of what it still waits for, and that only from
 * the first thing that it waited for until the last chip has started. All else belongs to what is in flight.
 */
#include <stdlib.h>

#include "engine/engine.h"
#include "engine/event_network.h"
#include "engine/event_plan.h"
#include "engine/event_queue.h"

enum { ROW_CLASSES = 32 };

/* More transfers than this would take many minutes. */
#define TRANSFERS_MAX ((int64_t)1 << 32)

/* The work that the solver may spend, a minute's worth. Whether the program will keep to that is
 * asked as often as a sixty-fourth of it has been spent, so that a refusal comes within seconds; while
 * no path ends there is nothing to judge by, and an eighth may be spent. */
#define WORK_MAX      ((uint64_t)1 << 34)
#define WORK_ASKED    (WORK_MAX / 64)
#define WORK_UNJUDGED (WORK_MAX / 8)

struct run {
    const struct program *program;
    struct trace *trace;
    struct plan plan;
    struct queue queue;
    struct pool flows;
    struct network network;
    double now_s;
    int64_t started, ended;
    uint64_t
        work_asked; /* the solver's work, and the paths ended, when it was last asked where this will end */
    int64_t paths_asked;
    void *rows[ROW_CLASSES]; /* given back, by size: rows of 2^k counters; each begins with the next one */
    int32_t *count;          /* [chips] scratch */
    int code;
};

static struct flow *flow_at(const struct run *run, uint32_t flow)
{
    return (struct flow *)run->flows.item + flow;
}

static int row_class(int32_t members)
{
    int k = 3; /* a pointer at least */
    while (members > 1 << k)
        k++;
    return k;
}

/* The counters of an op, at the first thing that one of its chips waited for. */
static bool open_row(struct run *run, int32_t op)
{
    struct task *task = &run->plan.task[op];
    int32_t members = plan_set(&run->plan, task->set)->members;
    int k = row_class(members);
    if (run->rows[k]) {
        task->row = run->rows[k];
        memcpy(&run->rows[k], task->row, sizeof run->rows[k]);
    } else {
        task->row = malloc(sizeof *task->row << k);
    }
    if (!task->row) {
        run->code = STATUS_NOMEM;
        return false;
    }
    if (task->deps == DEPS_DIFFER) {
        plan_count(&run->plan, op, run->count);
        for (int32_t i = 0; i < members; i++)
            task->row[i] = (uint16_t)run->count[i];
    } else {
        for (int32_t i = 0; i < members; i++)
            task->row[i] = (uint16_t)task->deps;
    }
    return true;
}

static void close_row(struct run *run, struct task *task)
{
    int k = row_class(plan_set(&run->plan, task->set)->members);
    memcpy(task->row, &run->rows[k], sizeof run->rows[k]);
    run->rows[k] = task->row;
    task->row = NULL;
}

static double route_latency_s(const struct run *run, int32_t chip, struct route route)
{
    const struct map *map = &run->plan.map;
    double latency_s = 0;
    for (int32_t h = route.first; h < route.first + route.hops; h++) {
        struct hop hop = run->program->hop[h];
        for (int left = abs(hop.delta); left > 0; left--) {
            int32_t link = map->out[chip * map->ports + 2 * hop.axis + (hop.delta < 0)];
            latency_s += slice_link_latency_s(run->program->slice, link);
            chip = map->end[link];
        }
    }
    return latency_s;
}

/* From the start of a send to its first byte, where chips differ. */
static double delay_s(const struct run *run, int32_t op, int32_t chip)
{
    int32_t route = plan_route(&run->plan, op, chip);
    double latency_s = run->plan.road[route].latency_s;
    if (isnan(latency_s))
        latency_s = route_latency_s(run, chip, run->program->route[route]);
    return run->program->op[op].setup_s + latency_s;
}

static double amount(const struct run *run, int32_t op, int32_t chip)
{
    double each = run->plan.task[op].amount;
    return isnan(each) ? op_amount(run->program, &run->program->op[op], chip) : each;
}

/* All that op waited for on a chip holds. */
static void start(struct run *run, int32_t op, int32_t chip)
{
    struct task *task = &run->plan.task[op];
    uint32_t flow = pool_take(&run->flows);
    if (!flow) {
        run->code = STATUS_NOMEM;
        return;
    }
    struct flow *f = flow_at(run, flow);
    f->start_s = run->now_s;
    f->op = op;
    f->chip = chip;
    run->started++;
    if (task->compute) {
        queue_push(&run->queue, run->now_s + amount(run, op, chip), event_of(EVENT_COMPUTED, flow));
        return;
    }
    double wait_s = isnan(task->delay_s) ? delay_s(run, op, chip) : task->delay_s;
    queue_push(&run->queue, run->now_s + wait_s, event_of(EVENT_BEGIN, flow));
}

/* The place of a chip among the members of a set, -1 if it is none. Kept out of the way of programs in
 * which all chips take part, whose every release would work out half of it beforehand. */
static __attribute__((noinline)) int32_t place_in(const struct chip_set *set, int32_t chip)
{
    return set_has(set, chip) ? set_rank(set, chip) : -1;
}

/* One of the things that op waits for holds on a chip. */
static inline void release(struct run *run, int32_t op, int32_t chip)
{
    struct task *task = &run->plan.task[op];
    int32_t at = task->set == SET_ALL ? chip : place_in(plan_set(&run->plan, task->set), chip);
    if (at < 0)
        return;
    if (task->deps != 1) {
        if (!task->row && !open_row(run, op))
            return;
        if (--task->row[at] > 0)
            return;
    }
    start(run, op, chip);
    if (--task->waiting == 0 && task->row)
        close_row(run, task);
}

/* A flow has ended, at chip `to` if it is a send. */
static void end(struct run *run, uint32_t flow, int32_t to)
{
    const struct flow *f = flow_at(run, flow);
    int32_t op = f->op, chip = f->chip;
    const struct task *task = &run->plan.task[op];
    trace_note(run->trace, op, chip, task->compute, f->start_s, run->now_s);
    pool_give_back(&run->flows, flow);
    run->ended++;
    const int32_t *fan = run->plan.fan + task->first_fan;
    for (int32_t i = 0; i < task->done_fans; i++)
        release(run, fan[i], chip);
    if (task->compute) {
        int32_t next = plan_next_compute(&run->plan, chip);
        if (next >= 0)
            release(run, next, chip);
        return;
    }
    fan += task->done_fans;
    for (int32_t i = 0; i < task->arrived_fans; i++)
        release(run, fan[i], to);
}

/* A send has waited its setup and latency: its bytes begin to flow. */
static void begin(struct run *run, uint32_t flow)
{
    const struct program *program = run->program;
    const struct map *map = &run->plan.map;
    const struct flow *f = flow_at(run, flow);
    int32_t chip = f->chip, port = run->plan.task[f->op].port, links = 1;
    struct route route = {0, 0};
    if (port < 0) {
        int32_t r = plan_route(&run->plan, f->op, chip);
        route = program->route[r];
        links = run->plan.road[r].links;
        port = run->plan.road[r].port;
    }
    double bytes = amount(run, f->op, chip);
    if (links == 0) {
        end(run, flow, chip);
    } else if (bytes <= 0) {
        int32_t to = port >= 0 ? map->end[map->out[chip * map->ports + port]]
                               : op_destination(program, &program->op[f->op], chip);
        end(run, flow, to);
    } else if (links == 1) {
        network_join(&run->network, flow, map->out[chip * map->ports + port], bytes, run->now_s);
    } else {
        network_join_path(&run->network, flow, chip, program->hop + route.first, route.hops, links, bytes,
                          run->now_s);
    }
}

static void handle(struct run *run, uint32_t event)
{
    uint32_t index = event_index(event), flow;
    int32_t to;
    switch (event_kind(event)) {
    case EVENT_BEGIN:
        begin(run, index);
        break;
    case EVENT_COMPUTED:
        end(run, index, -1);
        break;
    case EVENT_LINK:
        if (network_link_due(&run->network, (int32_t)index, run->now_s))
            while ((flow = network_next_single(&run->network, (int32_t)index, run->now_s)))
                end(run, flow, run->plan.map.end[index]);
        break;
    case EVENT_GROUP:
        if (network_group_due(&run->network, index, run->now_s))
            while ((flow = network_next_path(&run->network, index, &to)))
                end(run, flow, to);
        break;
    }
}

/* Starts, at time zero, whatever waits for nothing. */
static int start_all(struct run *run, struct status *st)
{
    int32_t chips = run->program->slice->chips;
    for (int32_t o = 0; o < run->program->ops; o++) {
        struct task *task = &run->plan.task[o];
        if (task->deps > 0)
            continue;
        const struct chip_set *set = plan_set(&run->plan, task->set);
        if (task->deps == DEPS_DIFFER)
            plan_count(&run->plan, o, run->count);
        int32_t at = 0;
        for (int32_t c = set_next(set, chips, 0); c < chips; c = set_next(set, chips, c + 1), at++) {
            if (task->deps == DEPS_DIFFER && run->count[at] > DEPS_MAX)
                return status_fail(st, STATUS_LIMIT,
                                   "op %d waits for %d things on chip %d; the event engine counts to %d", o,
                                   run->count[at], c, DEPS_MAX);
            if (task->deps == 0 || run->count[at] == 0) {
                start(run, o, c);
                task->waiting--;
            }
        }
    }
    return 0;
}

/* Will the solver's work end in reasonable time? The paths left will cost half of what as many cost now: the
 * fewer they are, the cheaper is a solution. */
static void ask_work(struct run *run)
{
    const struct network *network = &run->network;
    int64_t ended = network->paths_ended - run->paths_asked, left = run->plan.paths - network->paths_ended;
    double each = (double)(network->work - run->work_asked) / (double)(ended > 0 ? ended : 1);
    double rest = ended > 0 ? each * (double)left / 2 : (double)(WORK_MAX - WORK_UNJUDGED);
    if ((double)network->work + rest > (double)WORK_MAX)
        run->code = STATUS_LIMIT;
    run->work_asked = network->work;
    run->paths_asked = network->paths_ended;
}

static int fault(struct run *run)
{
    if (!run->code && run->network.work > run->work_asked + WORK_ASKED)
        ask_work(run);
    if (!run->code)
        run->code = run->network.code;
    if (!run->code && run->queue.fault)
        run->code = STATUS_NOMEM;
    return run->code;
}

/* From instant to instant, until nothing is left to happen. */
static void pass_time(struct run *run)
{
    uint32_t instant;
    struct batch batch;
    while (!fault(run) && (instant = queue_first(&run->queue))) {
        run->now_s = queue_instant(&run->queue, instant)->time_s;
        while (queue_pop(&run->queue, instant, &batch)) {
            for (uint32_t i = 0; i < batch.events; i++)
                handle(run, batch.event[i]);
            /* What is settled may end at once, in this instant. */
            if (!queue_instant(&run->queue, instant)->first)
                network_settle(&run->network, run->now_s);
        }
        queue_drop(&run->queue);
    }
}

static int report(const struct run *run, struct status *st)
{
    int32_t op = 0;
    switch (run->code) {
    case STATUS_NOMEM:
        return status_nomem(st);
    case STATUS_LIMIT:
        return status_fail(
            st, STATUS_LIMIT,
            "too many transfers of several links share the network at once: %lld, ending one by one, "
            "would take the event engine minutes; fold, or take fewer chips",
            (long long)run->plan.paths);
    default:
        while (op < run->program->ops && run->plan.task[op].waiting == 0)
            op++;
        if (op < run->program->ops || run->started != run->ended)
            return status_fail(st, STATUS_ENGINE, "the program stops before op %d has run everywhere", op);
        return 0;
    }
}

static void release_all(struct run *run)
{
    for (int32_t o = 0; run->plan.task && o < run->program->ops; o++)
        free(run->plan.task[o].row);
    for (int k = 0; k < ROW_CLASSES; k++)
        while (run->rows[k]) {
            void *row = run->rows[k];
            memcpy(&run->rows[k], row, sizeof run->rows[k]);
            free(row);
        }
    free(run->count);
    network_free(&run->network);
    queue_free(&run->queue);
    pool_free(&run->flows);
    plan_free(&run->plan);
}

static int event_run(const struct program *program, struct trace *trace, struct status *st)
{
    int64_t transfers = program_transfers(program);
    if (transfers > TRANSFERS_MAX)
        return status_fail(st, STATUS_LIMIT,
                           "%lld transfers are more than the event engine takes (%lld); fold, or "
                           "take fewer chips",
                           (long long)transfers, (long long)TRANSFERS_MAX);
    struct run run = {.program = program, .trace = trace, .flows = pool_of(sizeof(struct flow))};
    int code = plan_init(&run.plan, program, st);
    if (code == 0) {
        run.count = malloc((size_t)program->slice->chips * sizeof *run.count);
        if (!run.count || !queue_init(&run.queue) ||
            network_init(&run.network, program->slice, &run.plan.map, &run.queue, &run.flows) < 0)
            code = status_nomem(st);
    }
    if (code == 0)
        code = start_all(&run, st);
    if (code == 0) {
        pass_time(&run);
        code = report(&run, st);
    }
    release_all(&run);
    return code;
}

const struct engine engine_event = {
    .name = "event",
    .what = "the same model, written for speed: millions of transfers a second",
    .run = event_run,
};
