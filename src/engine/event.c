/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The event engine: time goes from instant to instant, and all that happens at one instant happens together.
 *
 * With a tolerance the program runs twice (engine.h): flows of several links that are connected and are due within
 * that share of the time end together, early in one run and late in the other, both at once. Flows of one link are exact.
 */
#include "engine/engine.h"

#include <pthread.h>

#include "engine/engines.h"
#include "engine/event_run.h"

/* More transfers than this would not end in a day. */
#define TRANSFERS_MAX ((int64_t)1 << 32)

/* The clock is looked at after so many instants, and within one after so many batches of events. */
enum { INSTANTS_A_LOOK = 16, BATCHES_A_LOOK = 4096 };

static void handle(struct run *run, uint32_t event)
{
    uint32_t index = event_index(event), flow;
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
        for (int32_t ends = network_group_ends(&run->network, index, run->now_s), i = 0; i < ends; i++)
            run_flow_ends(run, run->network.end[i].flow, run->network.end[i].to);
        break;
    }
}

/* Looks at the clock: tells how far the run is, and stops it when its time is over. */
static void look(struct run *run)
{
    const struct engine_limits *limits = run->limits;
    double spent_s = limits->time_s > 0 || limits->progress ? stopwatch_wall_s(&limits->since) : 0;
    if (limits->time_s > 0 && spent_s > limits->time_s && !run->code) {
        run->code = STATUS_LIMIT;
        run->out_of_time = true;
    }
    if (limits->progress && spent_s >= run->told_s + ENGINE_PROGRESS_S) {
        double done_frac = (double)run->ended / (double)run->plan.pairs;
        limits->progress(limits->context, spent_s, done_frac);
        run->told_s = spent_s;
    }
}

static int fault(struct run *run)
{
    if (run->instants++ % INSTANTS_A_LOOK == 0)
        look(run);
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
        for (int b = 1; !run->code && queue_pop(&run->queue, instant, &batch); b++) {
            for (uint32_t i = 0; i < batch.events; i++)
                handle(run, batch.event[i]);
            if (b % BATCHES_A_LOOK == 0)
                look(run);
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
        return run->out_of_time ? engine_out_of_time(run->limits, st)
                                : status_fail(st, STATUS_LIMIT,
                                              "too many transfers of several links share the network at "
                                              "once: they cross links more than %d times; fold, or take "
                                              "fewer chips",
                                              NETWORK_CROSSINGS_MAX);
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

/* A run from the beginning to the end. `run` says of which program, into which trace and within which limits. */
static int run_once(struct run *run, double early_frac, double late_frac, struct status *st)
{
    int code = plan_init(&run->plan, run->program, st);
    if (code == 0) {
        run->count = malloc((size_t)run->program->slice->chips * sizeof *run->count);
        if (!run->count || !queue_init(&run->queue) ||
            network_init(&run->network, &run->plan.map, &run->queue) < 0)
            code = status_nomem(st);
    }
    if (code == 0) {
        run->network.early_frac = early_frac;
        run->network.late_frac = late_frac;
        code = run_start_first(run, st);
    }
    if (code == 0) {
        pass_time(run);
        code = report(run, st);
    }
    release_all(run);
    return code;
}

/* One of the two runs of a tolerance. */
struct side {
    struct run run;
    double early_frac, late_frac;
    int code;
    struct status status;
};

static void *run_side(void *context)
{
    struct side *side = context;
    side->code = run_once(&side->run, side->early_frac, side->late_frac, &side->status);
    return NULL;
}

/* Both at once, for they share nothing but what they read; one after the other where there is no second thread. */
static void run_sides(struct side *early, struct side *late)
{
    pthread_t thread;
    bool beside = pthread_create(&thread, NULL, run_side, late) == 0;
    run_side(early);
    if (beside)
        pthread_join(thread, NULL);
    else if (early->code == 0)
        run_side(late);
}

static int run_within(const struct program *program, const struct engine_limits *limits, struct trace *trace,
                      struct status *st)
{
    struct engine_limits silent = *limits;
    silent.progress = NULL;
    struct trace other = {0};
    struct side early = {.run = {.program = program, .limits = limits, .trace = trace},
                         .early_frac = limits->tolerance_frac};
    struct side late = {.run = {.program = program, .limits = &silent, .trace = &other},
                        .late_frac = limits->tolerance_frac};
    int code = trace_init(&other, program, trace->start_s != NULL, st);
    if (code == 0) {
        run_sides(&early, &late);
        const struct side *failed = early.code ? &early : &late;
        if (failed->code)
            code = status_fail(st, failed->code, "%s", failed->status.text);
        else
            trace_middle(trace, &other);
    }
    trace_free(&other);
    return code;
}

static int event_run(const struct program *program, const struct engine_limits *limits, struct trace *trace,
                     struct status *st)
{
    bool many = (int64_t)program->ops * program->slice->chips > TRANSFERS_MAX;
    int64_t transfers = many ? program_transfers(program) : 0;
    if (transfers > TRANSFERS_MAX)
        return status_fail(st, STATUS_LIMIT,
                           "%lld transfers are more than the event engine takes (%lld); fold, or "
                           "take fewer chips",
                           (long long)transfers, (long long)TRANSFERS_MAX);
    if (event_run_alone(program, trace))
        return 0;
    if (limits->tolerance_frac > 0)
        return run_within(program, limits, trace, st);
    struct run run = {.program = program, .limits = limits, .trace = trace};
    return run_once(&run, 0, 0, st);
}

const struct engine engine_event = {
    .name = "event",
    .what = "the same model, written for speed: millions of transfers a second",
    .folds = true,
    .tolerates = true,
    .run = event_run,
};
