/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The event engine: time goes from instant to instant, and all that happens at one instant happens together. */
#include "engine/engine.h"

#include "engine/event_run.h"

/* More transfers than this would take many minutes. */
#define TRANSFERS_MAX ((int64_t)1 << 32)

/* The work that the solver may spend, a minute's worth. Whether the program will keep to that is
 * asked as often as a sixty-fourth of it has been spent, so that a refusal comes within seconds; while
 * no path ends there is nothing to judge by, and an eighth may be spent. */
#define WORK_MAX      ((uint64_t)1 << 34)
#define WORK_ASKED    (WORK_MAX / 64)
#define WORK_UNJUDGED (WORK_MAX / 8)

static void handle(struct run *run, uint32_t event)
{
    uint32_t index = event_index(event), flow;
    int32_t to;
    switch (event_kind(event)) {
    case EVENT_WAVE:
        run_wave_due(run, index);
        break;
    case EVENT_FLOW:
        run_flow_due(run, index);
        break;
    case EVENT_LINK:
        if (network_link_due(&run->network, (int32_t)index, run->now_s))
            while ((flow = network_next_single(&run->network, (int32_t)index, run->now_s)))
                run_flow_ends(run, flow, run->plan.map.end[index]);
        break;
    case EVENT_GROUP:
        if (network_group_due(&run->network, index, run->now_s))
            while ((flow = network_next_path(&run->network, index, &to)))
                run_flow_ends(run, flow, to);
        break;
    }
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
    run_free_rows(run);
    free(run->count);
    network_free(&run->network);
    queue_free(&run->queue);
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
    struct run run = {.program = program, .trace = trace};
    int code = plan_init(&run.plan, program, st);
    if (code == 0) {
        run.count = malloc((size_t)program->slice->chips * sizeof *run.count);
        if (!run.count || !queue_init(&run.queue) ||
            network_init(&run.network, &run.plan.map, &run.queue) < 0)
            code = status_nomem(st);
    }
    if (code == 0)
        code = run_start_first(&run, st);
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
    .folds = true,
    .run = event_run,
};
