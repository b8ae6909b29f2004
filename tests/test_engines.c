/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Engine against engine on random programs: every start and every end must agree. The event engine is held
 * against SimGrid, and on more programs against the naive engine, which says who is right when they differ.
 *
 * ICISIM_RANDOM=100000 runs that many programs, ICISIM_SEED=17 begins at that seed; a failure prints its own.
 */
#include "suite.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.h"
#include "naive_engine.h"
#include "ragged_program.h"
#include "random_program.h"

#ifdef ICISIM_SANITIZE
enum { AGAINST_SIMGRID = 300, AGAINST_NAIVE = 2000 }; /* slow there, and the sanitizers see as much */
#else
enum { AGAINST_SIMGRID = 2000, AGAINST_NAIVE = 10000 };
#endif
enum { WORKERS = 2, FAILURES_SHOWN = 5 };

/* SimGrid keeps times to 1e-15 s, and steps of some microseconds add up a few of those. */
static const double close_frac = 1e-9, simgrid_floor_s = 2e-14, naive_floor_s = 0;

static long from_environment(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

/* NaN (takes no part) equals NaN. */
static bool same(double got_s, double want_s, double floor_s)
{
    if (isnan(got_s) || isnan(want_s))
        return isnan(got_s) && isnan(want_s);
    return fabs(got_s - want_s) <= close_frac * fabs(want_s) + floor_s;
}

static bool agree(const struct trace *got, const struct trace *want, double floor_s, unsigned long seed)
{
    for (int64_t i = 0; i < (int64_t)got->ops * got->chips; i++) {
        if (same(got->start_s[i], want->start_s[i], floor_s) && same(got->end_s[i], want->end_s[i], floor_s))
            continue;
        fprintf(stderr,
                "seed %lu: op %lld on chip %lld runs from %.17g to %.17g, not from %.17g to %.17g s\n", seed,
                (long long)(i / got->chips), (long long)(i % got->chips), got->start_s[i], got->end_s[i],
                want->start_s[i], want->end_s[i]);
        return false;
    }
    return same(got->total_s, want->total_s, floor_s);
}

/* Both engines on a program; false if they differ. */
static bool try_program(const struct program *program, const struct engine *other, double floor_s,
                        unsigned long seed)
{
    struct trace got = {0}, want = {0};
    struct status st = {0};
    int code = program_check(program, &st);
    if (code == 0)
        code = trace_init(&got, program, true, &st);
    if (code == 0)
        code = trace_init(&want, program, true, &st);
    if (code == 0)
        code = engine_run(engine_by_name("event"), program, &got, &st);
    if (code == 0)
        code = trace_check(&got, program, &st);
    if (code == 0)
        code = engine_run(other, program, &want, &st);
    if (code == 0)
        code = trace_check(&want, program, &st);
    if (code < 0)
        fprintf(stderr, "seed %lu: %s\n", seed, st.text);
    bool done = code == 0 && agree(&got, &want, floor_s, seed);
    trace_free(&got);
    trace_free(&want);
    return done;
}

static bool try_seed(unsigned long seed, const struct engine *other, struct random_limits limits,
                     double floor_s)
{
    struct suite_random r = {seed};
    struct random_program random;
    struct status st = {0};
    int code = random_program_init(&random, limits, &r, &st);
    if (code < 0)
        fprintf(stderr, "seed %lu: %s\n", seed, st.text);
    bool done = code == 0 && try_program(&random.program, other, floor_s, seed);
    random_program_free(&random);
    return done;
}

/* Shares the seeds out to some processes, and returns how many of these met a difference. */
static int try_many(long programs, const struct engine *other, struct random_limits limits, double floor_s)
{
    unsigned long first = (unsigned long)from_environment("ICISIM_SEED", 1);
    programs = from_environment("ICISIM_RANDOM", programs);
    pid_t worker[WORKERS];
    int failed = 0;
    if (other->prepare)
        other->prepare();
    fflush(NULL);
    for (int w = 0; w < WORKERS; w++) {
        worker[w] = fork();
        if (worker[w] != 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that is stopped leaves nobody at work */
        int differ = 0;
        for (long i = w; i < programs && differ < FAILURES_SHOWN; i += WORKERS)
            differ += !try_seed(first + (unsigned long)i, other, limits, floor_s);
        _exit(differ > 0);
    }
    for (int w = 0; w < WORKERS; w++) {
        int how = -1;
        failed += worker[w] < 0 || waitpid(worker[w], &how, 0) < 0 || how != 0;
    }
    return failed;
}

static void event_equals_simgrid(void)
{
    struct random_limits limits = {.chips = 24, .ops = 12};
    CU_ASSERT_EQUAL(try_many(AGAINST_SIMGRID, engine_by_name("simgrid"), limits, simgrid_floor_s), 0);
}

static void event_equals_naive(void)
{
    struct random_limits limits = {.chips = 24, .ops = 12};
    CU_ASSERT_EQUAL(try_many(AGAINST_NAIVE, &engine_naive, limits, naive_floor_s), 0);
}

/* Few programs, but with more going on at once, and more chips than a word has bits. */
static void event_equals_naive_on_larger_programs(void)
{
    struct random_limits busy = {.chips = 48, .ops = 40}, wide = {.chips = 160, .ops = 10};
    CU_ASSERT_EQUAL(try_many(AGAINST_NAIVE / 50, &engine_naive, busy, naive_floor_s), 0);
    CU_ASSERT_EQUAL(try_many(AGAINST_NAIVE / 50, &engine_naive, wide, naive_floor_s), 0);
}

/* Hundreds of transfers that are connected and end one by one: most fillings start in the middle, and most
 * links hold what they held. Lines, rings, a torus; some of more links than the filling leaves marks for. */
static void event_equals_naive_on_ragged_traffic(void)
{
    static const int shape[][SLICE_AXES] = {{7, 1, 1}, {4, 3, 1},  {2, 3, 3},
                                            {5, 5, 1}, {13, 1, 1}, {3, 2, 4}};
    enum { SHAPES = sizeof shape / sizeof *shape, ROUNDS = 4 };
    for (unsigned long seed = 1; seed <= SHAPES * ROUNDS; seed++) {
        struct suite_random r = {seed};
        struct ragged_program ragged;
        struct status st = {0};
        OKAY(ragged_program_init(&ragged, shape[seed % SHAPES], seed % 2, &r, &st), st);
        CU_ASSERT(try_program(&ragged.program, &engine_naive, naive_floor_s, seed));
        ragged_program_free(&ragged);
    }
}

SUITE("engines", TEST(event_equals_simgrid), TEST(event_equals_naive),
      TEST(event_equals_naive_on_larger_programs), TEST(event_equals_naive_on_ragged_traffic))
