/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs within limits: a tolerance, which must bracket the exact time, and a time limit, which must only refuse. */
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/timing.h"
#include "ragged_program.h"
#include "world.h"

/* Runs a world's program within limits, into its trace. */
static int run_within(struct world *w, const char *engine, struct engine_limits limits)
{
    trace_free(&w->trace);
    OKAY(program_close(&w->program, &w->st), w->st);
    OKAY(trace_init(&w->trace, &w->program, true, &w->st), w->st);
    return engine_run_within(engine_by_name(engine), &w->program, &limits, &w->trace, &w->st);
}

static void lies_between(const struct world *w, double low_us, double high_us)
{
    NEAR(w->trace.low_s, low_us * WORLD_US, WORLD_CLOSE_FRAC);
    NEAR(w->trace.high_s, high_us * WORLD_US, WORLD_CLOSE_FRAC);
    NEAR(w->trace.total_s, (low_us + high_us) / 2 * WORLD_US, WORLD_CLOSE_FRAC);
}

/* Two transfers of the same two links have half the rate each from 4 us on. 3000 bytes are through at 6 us; 3030 at
 * that rate would be at 6.02 us, and are at 6.01 us, for their last 30 have the links to themselves. Within 1 %, both
 * end at 6 us if early and at 6 us * 1.01 if late. Within 0.1 % each ends alone: at 6 us, and then 30 bytes later;
 * or at 6.006 us, when 3030 - 1.5 * 2006 = 21 bytes are left, whose end at 6.013 us is 6.019013 us if late. */
static void ends_within_the_tolerance_are_one(void)
{
    struct world w;
    world_setup(&w, 4, 1, false);
    int32_t less = world_send(&w, 2, 3000, 0, world_only(&w, 0)),
            more = world_send(&w, 2, 3030, 0, world_only(&w, 0));
    OKAY(run_within(&w, "event", (struct engine_limits){0}), w.st);
    lies_between(&w, 6.01, 6.01);
    OKAY(run_within(&w, "event", (struct engine_limits){.tolerance_frac = 0.01}), w.st);
    lies_between(&w, 6, 6.06);
    world_runs(&w, less, 0, 0, 6.03);
    world_runs(&w, more, 0, 0, 6.03);
    NEAR(w.trace.chip_end_s[0], 6.03 * WORLD_US, WORLD_CLOSE_FRAC);
    OKAY(run_within(&w, "event", (struct engine_limits){.tolerance_frac = 0.001}), w.st);
    lies_between(&w, 6.01, 6.013 * 1.001);
    world_runs(&w, less, 0, 0, (6 + 6.006) / 2);
    world_teardown(&w);
}

/* Transfers of one link are exact, whatever the tolerance. */
static void one_link_needs_no_tolerance(void)
{
    struct world w;
    world_setup(&w, 4, 1, false);
    world_send(&w, 1, 3000, 0, world_only(&w, 0));
    world_send(&w, 1, 3030, 0, world_only(&w, 0));
    OKAY(run_within(&w, "event", (struct engine_limits){.tolerance_frac = 0.5}), w.st);
    lies_between(&w, 4.01, 4.01);
    world_teardown(&w);
}

static double ragged_s(const struct program *program, double tolerance_frac, double *low_s, double *high_s)
{
    struct trace trace = {0};
    struct status st = {0};
    OKAY(trace_init(&trace, program, false, &st), st);
    struct engine_limits limits = {.tolerance_frac = tolerance_frac};
    OKAY(engine_run_within(engine_by_name("event"), program, &limits, &trace, &st), st);
    double total_s = trace.total_s;
    *low_s = trace.low_s;
    *high_s = trace.high_s;
    trace_free(&trace);
    return total_s;
}

/* What the documentation says that is observed: on ragged traffic, half of it staggered. */
static void the_exact_time_lies_between(void)
{
    static const int shape[][SLICE_AXES] = {{6, 6, 1}, {4, 4, 4}, {11, 1, 1}, {8, 5, 1}, {3, 4, 5}};
    static const double tolerances_frac[] = {1e-1, 1e-2, 1e-3};
    enum { SHAPES = sizeof shape / sizeof *shape, DRAWS = 30, TOLERANCES = 3 };
    double worst_frac[TOLERANCES] = {0};
    for (unsigned long seed = 1; seed <= DRAWS; seed++) {
        struct suite_random r = {seed};
        struct ragged_program ragged;
        struct status st = {0};
        double low_s, high_s;
        OKAY(ragged_program_init(&ragged, shape[seed % SHAPES], seed % 2, &r, &st), st);
        double exact_s = ragged_s(&ragged.program, 0, &low_s, &high_s);
        CU_ASSERT(low_s == exact_s && high_s == exact_s);
        for (int t = 0; t < TOLERANCES; t++) {
            double middle_s = ragged_s(&ragged.program, tolerances_frac[t], &low_s, &high_s);
            CU_ASSERT(low_s <= exact_s && exact_s <= high_s);
            NEAR(middle_s, (low_s + high_s) / 2, 1e-15);
            worst_frac[t] = fmax(worst_frac[t], (high_s - low_s) / exact_s);
        }
        ragged_program_free(&ragged);
    }
    for (int t = 1; t < TOLERANCES; t++) /* a lower one narrows it, though not below what it is */
        CU_ASSERT(worst_frac[t] < worst_frac[t - 1] && worst_frac[t] > tolerances_frac[t]);
}

/* On slices, uniformly ragged, at the tolerance that is advised: ICISIM_DRAWS=50 of 64, 100 and 128 chips. */
static void the_exact_time_of_slices_lies_between(void)
{
    static const int shape[][SLICE_AXES] = {{4, 4, 4}, {4, 5, 5}, {4, 4, 8}};
    const char *asked = getenv("ICISIM_DRAWS");
    int draws = asked ? atoi(asked) : 1, shapes = asked ? 3 : 1, outside = 0;
    for (int s = 0; s < shapes; s++) {
        double widest_frac = 0, off_frac = 0;
        for (int seed = 1; seed <= draws; seed++) {
            struct suite_random r = {(unsigned long)seed};
            struct ragged_program ragged;
            struct status st = {0};
            double low_s, high_s;
            OKAY(ragged_program_init(&ragged, shape[s], false, &r, &st), st);
            double exact_s = ragged_s(&ragged.program, 0, &low_s, &high_s);
            double middle_s = ragged_s(&ragged.program, 1e-3, &low_s, &high_s);
            outside += !(low_s <= exact_s && exact_s <= high_s);
            widest_frac = fmax(widest_frac, (high_s - low_s) / exact_s);
            off_frac = fmax(off_frac, fabs(middle_s / exact_s - 1));
            ragged_program_free(&ragged);
        }
        if (asked)
            printf("%d draws of %d chips: brackets of %.3f %% at most, middles off by %.4f %%; %d outside so "
                   "far\n",
                   draws, shape[s][0] * shape[s][1] * shape[s][2], 100 * widest_frac, 100 * off_frac,
                   outside);
    }
    CU_ASSERT_EQUAL(outside, 0);
}

struct told {
    int times;
    double spent_s, done_frac;
};

static void note_progress(const void *context, double spent_s, double done_frac)
{
    struct told *told = *(struct told *const *)context;
    CU_ASSERT(done_frac >= told->done_frac && done_frac <= 1);
    *told = (struct told){told->times + 1, spent_s, done_frac};
}

/* As if the point had been begun some time ago. */
static struct engine_limits begun(double ago_s, double time_s)
{
    struct engine_limits limits = {.time_s = time_s, .since = stopwatch_start()};
    limits.since.last.wall_s -= ago_s;
    return limits;
}

static void a_run_that_takes_too_long_is_refused(void)
{
    static const char *const engines[] = {"event", "simgrid"};
    for (int e = 0; e < 2; e++) {
        struct world w;
        world_setup(&w, 4, 1, false);
        for (int i = 0; i < 300; i++)
            program_after(&w.program, world_send(&w, 2, 3000, 0, world_only(&w, 0)) - 1, AFTER_DONE);
        if (engine_is_here(engine_by_name(engines[e]))) {
            CU_ASSERT_EQUAL(run_within(&w, engines[e], begun(61, 60)), STATUS_LIMIT);
            CU_ASSERT_PTR_NOT_NULL(
                strstr(w.st.text, "has not ended after 60 s; allow more time (--time-limit)"));
            w.st.code = 0;
            OKAY(run_within(&w, engines[e], begun(61, 0)), w.st);
            OKAY(run_within(&w, engines[e], begun(1, 3600)), w.st);
        }
        world_teardown(&w);
    }
}

/* The same bits whether somebody looks at the clock or not. */
static void a_limit_changes_no_number(void)
{
    struct suite_random r = {2385};
    struct ragged_program ragged;
    struct status st = {0};
    struct trace trace[2];
    struct told told = {0}, *context = &told;
    OKAY(ragged_program_init(&ragged, (const int[]){5, 4, 1}, true, &r, &st), st);
    for (int i = 0; i < 2; i++) {
        struct engine_limits limits = i ? begun(1000, 5000) : (struct engine_limits){0};
        limits.progress = i ? note_progress : NULL;
        limits.context = &context;
        OKAY(trace_init(&trace[i], &ragged.program, true, &st), st);
        OKAY(engine_run_within(engine_by_name("event"), &ragged.program, &limits, &trace[i], &st), st);
    }
    size_t bytes = (size_t)trace[0].ops * (size_t)trace[0].chips * sizeof(double);
    CU_ASSERT_EQUAL(memcmp(trace[0].start_s, trace[1].start_s, bytes), 0);
    CU_ASSERT_EQUAL(memcmp(trace[0].end_s, trace[1].end_s, bytes), 0);
    CU_ASSERT(told.times >= 1 && told.spent_s >= 1000 && told.spent_s < 5000);
    trace_free(&trace[0]);
    trace_free(&trace[1]);
    ragged_program_free(&ragged);
}

/* The two runs of a tolerance go at once, on two threads, unless there is none to be had. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *context);
static int threads;
static bool no_threads;
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *context)
{
    threads++;
    return no_threads ? EAGAIN : __real_pthread_create(thread, attr, start, context);
}

static void both_runs_go_at_once_or_one_after_the_other(void)
{
    struct suite_random r = {2385};
    struct ragged_program ragged;
    struct status st = {0};
    double low_s[2], high_s[2];
    OKAY(ragged_program_init(&ragged, (const int[]){5, 4, 1}, true, &r, &st), st);
    threads = 0;
    ragged_s(&ragged.program, 0, low_s, high_s);
    CU_ASSERT_EQUAL(threads, 0);
    for (int i = 0; i < 2; i++) {
        no_threads = i == 1;
        ragged_s(&ragged.program, 0.03, &low_s[i], &high_s[i]);
        CU_ASSERT_EQUAL(threads, 3 * i + 1);
        CU_ASSERT(low_s[i] < high_s[i]);
        struct trace trace = {0};
        struct told told = {0}, *context = &told;
        struct engine_limits late = begun(61, 60), watched = begun(61, 3600);
        late.tolerance_frac = watched.tolerance_frac = 0.03;
        watched.progress = note_progress;
        watched.context = &context;
        OKAY(trace_init(&trace, &ragged.program, false, &st), st);
        OKAY(engine_run_within(engine_by_name("event"), &ragged.program, &watched, &trace, &st), st);
        CU_ASSERT_EQUAL(told.times, 1); /* by one of the two, at once */
        CU_ASSERT_EQUAL(engine_run_within(engine_by_name("event"), &ragged.program, &late, &trace, &st),
                        STATUS_LIMIT);
        CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "has not ended after 60 s"));
        st = (struct status){0};
        trace_free(&trace);
    }
    no_threads = false;
    CU_ASSERT(low_s[0] == low_s[1] && high_s[0] == high_s[1]);
    ragged_program_free(&ragged);
}

static void the_reference_is_exact(void)
{
    struct world w;
    world_setup(&w, 4, 1, false);
    world_send(&w, 2, 3000, 0, world_only(&w, 0));
    CU_ASSERT_EQUAL(run_within(&w, "simgrid", (struct engine_limits){.tolerance_frac = 0.01}), STATUS_INPUT);
    CU_ASSERT_STRING_EQUAL(w.st.text,
                           "engine simgrid knows no --tolerance; leave it out, or take --engine event");
    world_teardown(&w);
}

/* The same program without its computes is held to the same limits as the program. */
static void limits_hold_for_the_silent_program(void)
{
    struct world w;
    struct timing timing;
    struct trace silent = {0};
    world_setup(&w, 4, 1, false);
    int32_t wait = world_compute(&w, 5 * WORLD_US, world_only(&w, 0));
    for (int i = 0; i < 2; i++) {
        world_send(&w, 2, 3000 + 30 * i, 0, world_only(&w, 0));
        program_after(&w.program, wait, AFTER_DONE);
    }
    OKAY(timing_init(&timing, &w.program, engine_by_name("event"), false, &w.st), w.st);
    timing.limits.tolerance_frac = 0.01;
    OKAY(timing_run(&timing, RECORD_NONE, &w.st), w.st);
    NEAR(timing.trace.low_s, 11 * WORLD_US, WORLD_CLOSE_FRAC);
    OKAY(timing_silent(&timing, &silent, &w.st), w.st);
    NEAR(silent.low_s, 6 * WORLD_US, WORLD_CLOSE_FRAC);
    NEAR(silent.high_s, 6.06 * WORLD_US, WORLD_CLOSE_FRAC);
    trace_free(&silent);
    timing.limits = begun(2, 1);
    trace_free(&timing.trace);
    CU_ASSERT_EQUAL(timing_run(&timing, RECORD_NONE, &w.st), STATUS_LIMIT);
    timing_free(&timing);
    world_teardown(&w);
}

SUITE("engine_limits", TEST(ends_within_the_tolerance_are_one), TEST(one_link_needs_no_tolerance),
      TEST(the_exact_time_lies_between), TEST(the_exact_time_of_slices_lies_between),
      TEST(a_run_that_takes_too_long_is_refused), TEST(a_limit_changes_no_number),
      TEST(both_runs_go_at_once_or_one_after_the_other), TEST(the_reference_is_exact),
      TEST(limits_hold_for_the_silent_program))
