/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The event engine: time advances from instant to instant, and all events of one instant are handled
 * together.
 *
 * With a tolerance the program runs twice in parallel (engine.h): flows over several links that are due within
 * that share of the time end together, early in one run and late in the other. Flows over one link are exact.
 */

#include <pthread.h>

#include "engine/engines.h"
#include "engine/event_run.h"

/* More transfers than this would take more than a day. */
#define TRANSFERS_MAX ((int64_t)1 << 32)

static void handle(struct run *run, struct event event)
{
    if (event.kind == EVENT_WAVE)
        run_wave_due(run, event.index);
    else if (event.kind == EVENT_LINK)
        network_link_event(&run->network, (int32_t)event.index, run->now_s);
    else
        network_group_event(&run->network, (int32_t)event.index, run->now_s);
}

/* Reports the flows that have ended in this instant to run_end(), those of one op together. */
static void pass_ends(struct run *run)
{
    const struct network_end *end = run->network.end;
    for (int32_t i = 0, n; i < run->network.ends; i += n) {
        for (n = 0;
             i + n < run->network.ends && end[i + n].op == end[i].op && end[i + n].start_s == end[i].start_s;
             n++) {
            run->here[n] = end[i + n].chip;
            run->there[n] = end[i + n].to;
            run->filling[end[i + n].chip] -= run->plan.task[end[i + n].op].fills;
        }
        run_end(run, end[i].op, end[i].start_s, run->here, run->there, n);
    }
    run->network.ends = 0;
}

/* Checks the clock, reports progress, and stops the run when its time is over. Returns whether the run must
 * stop. */
static bool look(struct run *run)
{
    enum { EACH = 64 };
    const struct engine_limits *limits = run->limits;
    if (run->instants++ % EACH == 0) {
        double spent_s = limits->time_s > 0 || limits->progress ? stopwatch_wall_s(&limits->since) : 0;
        double done_frac = (double)run->ended / (double)run->plan.pairs;
        run->out_of_time = (limits->time_s > 0 && spent_s > limits->time_s) || engine_is_cancelled(limits);
        if (limits->watch)
            atomic_store_explicit(&limits->watch->done_frac, done_frac, memory_order_relaxed);
        if (limits->progress && spent_s >= run->told_s + ENGINE_PROGRESS_S) {
            limits->progress(limits->context, spent_s, done_frac);
            run->told_s = spent_s;
        }
    }
    if (!run->code)
        run->code = run->network.code;
    if (!run->code && (run->queue.fault || run->out_of_time))
        run->code = run->queue.fault ? STATUS_NOMEM : STATUS_LIMIT;
    return run->code;
}

/* Advances from instant to instant until no event is left. */
static void pass_time(struct run *run)
{
    while (!look(run) && run->queue.heap.count > 0) {
        run->now_s = queue_next_s(&run->queue);
        uint32_t batch = queue_pop(&run->queue);
        for (uint32_t i = 0; i < queue_batch(&run->queue, batch)->events; i++)
            handle(run, queue_batch(&run->queue, batch)->event[i]);
        pool_give_back(&run->queue.batches, batch);
        if (queue_next_s(&run->queue) != run->now_s) {
            network_due_soon(&run->network, run->now_s);
            pass_ends(run);
        }
        /* An op that starts now, or a flow that is settled, may end in this very instant. */
        if (queue_next_s(&run->queue) != run->now_s)
            network_settle(&run->network, run->now_s);
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

/* A complete run. The fields of `run` for program, trace and limits are set. */
static int run_once(struct run *run, double early_frac, double late_frac, struct status *st)
{
    size_t chips = (size_t)run->program->slice->chips;
    run->queue = queue_of();
    run->rows = pool_of(chips * sizeof *run->ready);
    run->ready = calloc(4 * chips, sizeof *run->ready);
    run->here = run->ready + chips;
    run->there = run->here + chips;
    run->filling = run->there + chips;
    int code = run->ready ? plan_init(&run->plan, run->program, st) : status_nomem(st);
    if (code == 0 && network_init(&run->network, &run->plan, &run->queue) < 0)
        code = status_nomem(st);
    if (code == 0) {
        run->network.early_frac = early_frac;
        run->network.late_frac = late_frac;
        run_start_first(run);
        pass_time(run);
        code = report(run, st);
    }
    network_free(&run->network);
    plan_free(&run->plan);
    queue_free(&run->queue);
    pool_free(&run->rows);
    free(run->ready);
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

/* Runs both in parallel, as they share only data that they read; one after the other if no second thread can
 * be created. */
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
