/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workers: every index once, whatever dies. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/workers.h"
#include "suite.h"

enum { COUNT = 500 };

struct tally {
    int times[COUNT], lost[COUNT];
    int64_t stop_at; /* done() fails there; -1 never */
    char how[64];
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
    CU_ASSERT_EQUAL(tally.times[COUNT - 1], 0);
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
      TEST(death_has_a_cause), TEST(a_fault_of_the_caller_ends_it), TEST(nothing_to_do_is_done))
