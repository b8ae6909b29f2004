/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workers: every index once, whatever dies. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/workers.h"
#include "suite.h"

enum { COUNT = 500 };

struct tally {
    int times[COUNT], lost[COUNT];
    int64_t stop_at; /* done() fails there; -1 never */
    int after;       /* that it came after that */
    char how[64];
    char *tries; /* [COUNT] in memory that workers share, of what dies the first time */
};

struct square {
    int64_t index, square;
    char padding[3000]; /* as large as a result of a simulation */
};

static void work(void *context, int64_t index, void *result)
{
    (void)context;
    struct square *square = result;
    square->index = index;
    square->square = index * index;
}

/* Dies at three indices, in three ways. */
static void work_dangerously(void *context, int64_t index, void *result)
{
    if (index == 7)
        raise(SIGKILL);
    if (index == 8)
        _exit(3);
    if (index == COUNT - 1)
        raise(SIGTERM);
    work(context, index, result);
}

static int done(void *context, int64_t index, const void *result, const char *how, struct status *st)
{
    struct tally *tally = context;
    const struct square *square = result;
    tally->times[index]++;
    tally->after += tally->stop_at >= 0 && tally->times[tally->stop_at] > 0 && index != tally->stop_at;
    tally->lost[index] = !square;
    if (square && (square->index != index || square->square != index * index))
        return status_fail(st, STATUS_CHECK, "the result of another index");
    if (!square)
        strncpy(tally->how, how, sizeof tally->how - 1);
    return index == tally->stop_at ? status_fail(st, STATUS_CHECK, "enough") : 0;
}

static struct workers_task make_task(struct tally *tally)
{
    *tally = (struct tally){.stop_at = -1};
    return (struct workers_task){
        .count = COUNT, .result_bytes = sizeof(struct square), .context = tally, .work = work, .done = done};
}

static void every_index_comes_once(void)
{
    static const int workers[] = {0, 1, 2, 7};
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        struct tally tally;
        struct status st = {0};
        struct workers_task task = make_task(&tally);
        OKAY(workers_run(&task, workers[i], &st), st);
        for (int index = 0; index < COUNT; index++)
            CU_ASSERT(tally.times[index] == 1 && !tally.lost[index]);
    }
}

static void dead_workers_cost_their_index_only(void)
{
    for (int workers = 1; workers <= 3; workers++) {
        struct tally tally;
        struct status st = {0};
        struct workers_task task = make_task(&tally);
        task.work = work_dangerously;
        OKAY(workers_run(&task, workers, &st), st);
        for (int index = 0; index < COUNT; index++) {
            CU_ASSERT_EQUAL(tally.times[index], 1);
            CU_ASSERT_EQUAL(tally.lost[index], index == 7 || index == 8 || index == COUNT - 1);
        }
    }
}

/* Dies at some indices the first time that they are tried. */
static void work_with_luck(void *context, int64_t index, void *result)
{
    const struct tally *tally = context;
    if (index % 100 == 7 && tally->tries[index]++ == 0)
        raise(SIGKILL);
    work(context, index, result);
}

static void what_a_worker_died_of_is_tried_again(void)
{
    for (int workers = 1; workers <= 3; workers++) {
        struct tally tally;
        struct status st = {0};
        struct workers_task task = make_task(&tally);
        tally.tries = mmap(NULL, COUNT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        CU_ASSERT_FATAL(tally.tries != MAP_FAILED);
        task.work = work_with_luck;
        OKAY(workers_run(&task, workers, &st), st);
        for (int index = 0; index < COUNT; index++) {
            CU_ASSERT(tally.times[index] == 1 && !tally.lost[index]);
            CU_ASSERT_EQUAL(tally.tries[index], index % 100 == 7 ? 2 : 0);
        }
        munmap(tally.tries, COUNT);
    }
}

/* Workers that an alarm ends some microseconds after their first index, at any instruction, also while they take the next: no
 * index is lost or comes twice. */
static void work_until_the_alarm(void *context, int64_t index, void *result)
{
    static bool set;
    (void)context;
    if (!set)
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 20 + index * 7919 % 61}, NULL);
    set = true;
    *(int64_t *)result = index;
}

static int count_times(void *context, int64_t index, const void *result, const char *how, struct status *st)
{
    (void)how;
    ((int *)context)[index]++;
    return result && *(const int64_t *)result != index ? status_fail(st, STATUS_CHECK, "another index") : 0;
}

static void an_index_is_taken_at_once(void)
{
    enum { MANY = 60000 };
    struct status st = {0};
    int *times = calloc(MANY, sizeof *times), wrong = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(times);
    struct workers_task task = {.count = MANY,
                                .result_bytes = sizeof(int64_t),
                                .context = times,
                                .work = work_until_the_alarm,
                                .done = count_times};
    OKAY(workers_run(&task, 3, &st), st);
    for (int index = 0; index < MANY; index++)
        wrong += times[index] != 1;
    CU_ASSERT_EQUAL(wrong, 0);
    free(times);
}

static void death_has_a_cause(void)
{
    struct tally tally;
    struct status st = {0};
    struct workers_task task = make_task(&tally);
    task.work = work_dangerously;
    task.count = 8; /* only index 7 dies */
    OKAY(workers_run(&task, 2, &st), st);
    CU_ASSERT_STRING_EQUAL(tally.how, "killed by signal 9 (Killed)");
}

static void a_fault_of_the_caller_ends_it(void)
{
    struct tally tally;
    struct status st = {0};
    struct workers_task task = make_task(&tally);
    tally.stop_at = 20;
    CU_ASSERT_EQUAL(workers_run(&task, 2, &st), STATUS_CHECK);
    CU_ASSERT_STRING_EQUAL(st.text, "enough");
    CU_ASSERT_EQUAL(tally.times[20], 1);
    CU_ASSERT_EQUAL(tally.after, 0);
    CU_ASSERT(waitpid(-1, NULL, WNOHANG) < 0); /* nobody is left, nor a zombie */
}

/* Says who it is, and does not end. */
static void work_forever(void *context, int64_t index, void *result)
{
    (void)index;
    (void)result;
    pid_t self = getpid();
    if (write(*(int *)context, &self, sizeof self) == sizeof self)
        for (;;)
            pause();
}

/* Whatever ends the caller, its workers end with it. A pipe that all of them have open says so: it has an end. */
static void workers_end_with_their_caller(void)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGINT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        int ends[2], how = 0;
        pid_t worker[2] = {0};
        CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
        pid_t caller = fork();
        if (caller == 0) {
            struct status st = {0};
            struct workers_task task = {
                .count = 2, .result_bytes = 8, .context = &ends[1], .work = work_forever};
            signal(signals[i], SIG_DFL);
            close(ends[0]);
            workers_run(&task, 2, &st);
            _exit(1);
        }
        close(ends[1]);
        CU_ASSERT_EQUAL(read(ends[0], &worker[0], sizeof *worker), sizeof *worker);
        CU_ASSERT_EQUAL(read(ends[0], &worker[1], sizeof *worker), sizeof *worker);
        do { /* the first SIGINT would wait for what is at work */
            kill(caller, signals[i]);
            usleep(1000);
        } while (waitpid(caller, &how, WNOHANG) == 0);
        CU_ASSERT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == signals[i]);
        struct pollfd wait = {.fd = ends[0], .events = POLLIN};
        bool ended = poll(&wait, 1, 2000) == 1 && read(ends[0], worker, sizeof worker) == 0;
        CU_ASSERT_TRUE(ended);
        for (int w = 0; w < 2 && !ended; w++)
            kill(worker[w], SIGKILL);
        close(ends[0]);
    }
}

/* Ctrl-C at some index: what was begun is handed back, nothing else, and a caller that goes on has all its signals. */
struct interrupt {
    int64_t at, came;
    pid_t caller;
};

static void work_and_interrupt(void *context, int64_t index, void *result)
{
    const struct interrupt *interrupt = context;
    if (index == interrupt->at)
        kill(interrupt->caller, SIGINT);
    usleep(2000);
    *(int64_t *)result = index;
}

static int count(void *context, int64_t index, const void *result, const char *how, struct status *st)
{
    (void)how;
    struct interrupt *interrupt = context;
    interrupt->came++;
    return result && *(const int64_t *)result == index ? 0 : status_fail(st, STATUS_CHECK, "another index");
}

static void an_interrupt_ends_it_early(void)
{
    for (int workers = 1; workers <= 3; workers++) {
        struct status st = {0};
        struct interrupt interrupt = {.at = 10, .caller = getpid()};
        struct workers_task task = {.count = COUNT,
                                    .result_bytes = sizeof(int64_t),
                                    .context = &interrupt,
                                    .work = work_and_interrupt,
                                    .done = count};
        CU_ASSERT_EQUAL(workers_run(&task, workers, &st), WORKERS_STOPPED);
        /* they lie on desks for 10 ms, which are five; who gets no processor may be as far behind again */
        CU_ASSERT(llabs(interrupt.came - 11) <= 10 * workers);
        sigset_t set;
        sigprocmask(SIG_BLOCK, NULL, &set);
        CU_ASSERT_EQUAL(sigismember(&set, SIGINT), 0);
    }
}

/* No index is begun before the caller wants it, and the caller is asked now and then how it goes. */
struct pace {
    int64_t done, most_ahead;
    int ticks;
};

static int64_t pace_limit(void *context)
{
    const struct pace *pace = context;
    return pace->done + 3;
}

static int pace_done(void *context, int64_t index, const void *result, const char *how, struct status *st)
{
    (void)result;
    (void)how;
    (void)st;
    struct pace *pace = context;
    if (index - pace->done > pace->most_ahead)
        pace->most_ahead = index - pace->done;
    pace->done++;
    return 0;
}

static int pace_tick(void *context, struct status *st)
{
    struct pace *pace = context;
    return ++pace->ticks < 0 ? status_fail(st, STATUS_CHECK, "never") : 0;
}

static void the_caller_sets_the_pace(void)
{
    struct status st = {0};
    struct pace pace = {0};
    struct workers_task task = {.count = COUNT,
                                .result_bytes = sizeof(struct square),
                                .context = &pace,
                                .work = work,
                                .done = pace_done,
                                .limit = pace_limit,
                                .tick = pace_tick};
    OKAY(workers_run(&task, 4, &st), st);
    CU_ASSERT_EQUAL(pace.done, COUNT);
    CU_ASSERT(pace.most_ahead <= 3);
    CU_ASSERT(pace.ticks > 0);
}

static void nothing_to_do_is_done(void)
{
    struct tally tally;
    struct status st = {0};
    struct workers_task task = make_task(&tally);
    task.count = 0;
    OKAY(workers_run(&task, 4, &st), st);
    CU_ASSERT_EQUAL(workers_run(&task, WORKERS_MAX + 1, &st), STATUS_INPUT);
}

SUITE("workers", TEST(every_index_comes_once), TEST(dead_workers_cost_their_index_only),
      TEST(what_a_worker_died_of_is_tried_again), TEST(an_index_is_taken_at_once), TEST(death_has_a_cause),
      TEST(a_fault_of_the_caller_ends_it), TEST(workers_end_with_their_caller),
      TEST(an_interrupt_ends_it_early), TEST(the_caller_sets_the_pace), TEST(nothing_to_do_is_done))
