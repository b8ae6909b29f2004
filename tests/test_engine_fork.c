/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Engines by name, and those that run in a process of their own. */
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "engine/engine.h"

static int *tries; /* in memory that processes share */

static int die(const struct program *program, const struct engine_limits *limits, struct trace *trace,
               struct status *st)
{
    (void)limits;
    (void)program;
    (void)trace;
    (void)st;
    ++*tries;
    return raise(SIGKILL);
}

static int die_once(const struct program *program, const struct engine_limits *limits, struct trace *trace,
                    struct status *st)
{
    if (*tries == 0)
        return die(program, limits, trace, st);
    ++*tries;
    return 0;
}

/* As SimGrid does it: lines of which one says why, where it was called from, then SIGABRT. The sanitizers would say more. */
#ifndef ICISIM_SANITIZE
static int lament(const struct program *program, const struct engine_limits *limits, struct trace *trace,
                  struct status *st)
{
    (void)limits;
    (void)program;
    (void)trace;
    (void)st;
    fprintf(stderr,
            "[0.1] one\n[0.2] two\n"
            "[0.000001] ./src/kernel/resource/Model.cpp:99: [root/CRITICAL] The Impossible Did Happen\n"
            "Backtrace (displayed in actor maestro):\n  ->  0# main in icisim\n\n");
    abort();
}

static int starve(const struct program *program, const struct engine_limits *limits, struct trace *trace,
                  struct status *st)
{
    (void)limits;
    (void)program;
    (void)trace;
    (void)st;
    fprintf(stderr, "terminate called after throwing an instance of 'std::bad_alloc'\n");
    abort();
}
#endif

static void wake(int number)
{
    (void)number;
}

static void leave(int number)
{
    (void)number;
    _exit(EXIT_FAILURE);
}

/* As SimGrid: a handler of its own, whatever was there before. */
static int handle(const struct program *program, const struct engine_limits *limits, struct trace *trace,
                  struct status *st)
{
    (void)limits;
    (void)program;
    (void)trace;
    (void)st;
    signal(SIGINT, leave);
    raise(SIGINT);
    return 0;
}

/* Ends, but late. */
static int linger(const struct program *program, const struct engine_limits *limits, struct trace *trace,
                  struct status *st)
{
    (void)limits;
    (void)program;
    (void)trace;
    (void)st;
    sleep(5);
    return 0;
}

static int refuse(const struct program *program, const struct engine_limits *limits, struct trace *trace,
                  struct status *st)
{
    (void)limits;
    (void)program;
    (void)trace;
    return status_fail(st, STATUS_INPUT, "no");
}

/* An engine's process that dies, or that fails, says so to the caller; what the caller had buffered for
 * output comes out once. */
static void process(void)
{
    const struct engine dies = {.name = "dies", .once_a_process = true, .run = die};
    const struct engine recovers = {.name = "recovers", .once_a_process = true, .run = die_once};
    const struct engine refuses = {.name = "refuses", .once_a_process = true, .run = refuse};
    struct slice slice;
    struct program program;
    struct trace trace;
    struct status st = {0};
    const int len[SLICE_AXES] = {2, 1, 1};
    const bool wrap[SLICE_AXES] = {false, false, false};
    OKAY(slice_init(&slice, 1, len, wrap, 3e9, 2e-6, &st), st);
    program_init(&program, &slice);
    program_stage(&program, "test");
    OKAY(trace_init(&trace, &program, false, &st), st);
    FILE *file = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("once", file);
    tries = mmap(NULL, sizeof *tries, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(tries != MAP_FAILED);
    OKAY(engine_run(&recovers, &program, &trace, &st), st);
    CU_ASSERT_EQUAL(*tries, 2);
    *tries = 0;
    CU_ASSERT_EQUAL(engine_run(&dies, &program, &trace, &st), STATUS_ENGINE);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "dies was twice killed by signal 9"));
    CU_ASSERT_EQUAL(*tries, 2);
    munmap(tries, sizeof *tries);
#ifndef ICISIM_SANITIZE
    /* its words do not get to the terminal, and the last of them is in the message */
    st.code = 0;
    const struct engine laments = {.name = "laments", .once_a_process = true, .run = lament};
    CU_ASSERT_EQUAL(engine_run(&laments, &program, &trace, &st), STATUS_ENGINE);
    CU_ASSERT_STRING_EQUAL(st.text, "engine laments died of signal 6 (Aborted): 'The Impossible Did Happen'; "
                                    "try another engine");
    st.code = 0;
    const struct engine starves = {.name = "starves", .once_a_process = true, .run = starve};
    CU_ASSERT_EQUAL(engine_run(&starves, &program, &trace, &st), STATUS_NOMEM);
#endif
    st.code = 0;
    const struct engine handles = {.name = "handles", .once_a_process = true, .run = handle};
    OKAY(engine_run(&handles, &program, &trace, &st), st);
    const struct engine lingers = {.name = "lingers", .once_a_process = true, .run = linger};
    const struct engine_limits limits = {.time_s = 20e-3, .since = stopwatch_start_wall()};
    /* the caller has an alarm of its own, which does not end its wait; its process inherits the handler */
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = wake}, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 5000}, NULL);
    CU_ASSERT_EQUAL(engine_run_within(&lingers, &program, &limits, &trace, &st), STATUS_LIMIT);
    signal(SIGALRM, SIG_DFL);
    st.code = 0;
    CU_ASSERT_EQUAL(engine_run(&refuses, &program, &trace, &st), STATUS_INPUT);
    CU_ASSERT_STRING_EQUAL(st.text, "no");
    fflush(file);
    CU_ASSERT_EQUAL(ftell(file), 4);
    fclose(file);
    trace_free(&trace);
    program_free(&program);
    slice_free(&slice);
}

static void table_of_engines(void)
{
    int rows = 0;
    for (const struct engine *const *engine = engine_list(); *engine; engine++, rows++)
        CU_ASSERT_PTR_EQUAL(engine_by_name((*engine)->name), *engine);
    CU_ASSERT(rows >= 2);
    CU_ASSERT_PTR_NULL(engine_by_name("simgrid "));
}

SUITE("engine_fork", TEST(process), TEST(table_of_engines))
