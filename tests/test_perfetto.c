/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Chrome trace: loaded again with a JSON parser, and held to what viewers and readers rely on. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "loaded.h"
#include "random_program.h"
#include "traced.h"

/* The loop of 4 chips with permutes of 10 us and products of 12.5, 6, 12.5, 5 us. Permutes arrive at 10, 20,
 * 30; bytes flow from 1 us after their start. Products: 0 .. 12.5, 12.5 .. 18.5, 20 .. 32.5 (it waits 1.5 us
 * for permute 1), 32.5 .. 37.5. */
static const double products_us[] = {12.5, 6, 12.5, 5};

static void events_of_a_loop(void)
{
    struct traced t;
    struct loaded l;
    traced_loop(&t, 4, 10, products_us);
    loaded_read(&l, &t.program, &t.trace, (struct perfetto_options){0});
    /* Per chip 3 arrows from an arrival to a product; 2 from a permute to the next, from the one that arrived
     * and from the chip's own. */
    CU_ASSERT_EQUAL(loaded_check(&l), 4 * (3 + 2 * 2));
    for (int chip = 0; chip < 4; chip++) {
        const struct node *product = loaded_find(&l, chip, "XLA Ops", "fusion.2", 20, 12.5);
        CU_ASSERT_PTR_NOT_NULL_FATAL(product);
        CU_ASSERT_STRING_EQUAL(event_text(product, "cat"), "compute");
        CU_ASSERT_STRING_EQUAL(event_arg(product, "step"), "2");
        const struct node *wait = loaded_find(&l, chip, "XLA Ops", "collective-permute-done.1", 18.5, 1.5);
        CU_ASSERT_PTR_NOT_NULL_FATAL(wait);
        CU_ASSERT_STRING_EQUAL(event_text(wait, "cat"), "wait");
        CU_ASSERT_STRING_EQUAL(event_arg(wait, "axis"), "x+");
        CU_ASSERT_STRING_EQUAL(event_arg(wait, "step"), "1");
        const struct node *start =
            loaded_find(&l, chip, "Async XLA Ops", "collective-permute-start.1", 10, 10);
        CU_ASSERT_PTR_NOT_NULL_FATAL(start);
        CU_ASSERT_STRING_EQUAL(event_text(start, "cat"), "comm");
        char row[32];
        snprintf(row, sizeof row, "ICI x+ -> TPU:%d", (chip + 1) % 4);
        const struct node *flow = loaded_find(&l, chip, row, "collective-permute.1", 11, 9);
        CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
        CU_ASSERT_STRING_EQUAL(event_arg(flow, "bytes"), "9000");
        CU_ASSERT_STRING_EQUAL(event_arg(flow, "hops"), "1");
        CU_ASSERT_PTR_NOT_NULL(loaded_find(&l, chip, "Steps", "collective-permute.1", 0, 30));
        CU_ASSERT_PTR_NOT_NULL(loaded_find(&l, chip, "Steps", "collective-permute.1[1]", 10, 10));
        CU_ASSERT_PTR_NOT_NULL(loaded_find(&l, chip, "Steps (2)", "fusion.2[3]", 32.5, 5));
    }
    loaded_free(&l);
    traced_free(&t);
}

/* The same file, byte by byte, as tests/golden has it: the numbers in it follow from the comment above. */
static void golden(void)
{
    static const char path[] = "tests/golden/trace-loop.json";
    struct traced t;
    struct loaded l;
    struct result result;
    result_init(&result);
    RESULT_PUT(result.op, "loop of 4 chips");
    traced_loop(&t, 4, 10, products_us);
    loaded_read(&l, &t.program, &t.trace, (struct perfetto_options){.chips = 2, .result = &result});
    char *want = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    ssize_t bytes = getdelim(&want, &room, EOF, file);
    fclose(file);
    bool same = bytes == (ssize_t)l.bytes && memcmp(want, l.text, l.bytes) == 0;
    if (!same)
        fprintf(stderr, "%s differs; it is now:\n%s", path, l.text);
    CU_ASSERT(same);
    free(want);
    loaded_free(&l);
    traced_free(&t);
}

/* A collective is one async event; the wait for it is one; a join is not seen, but looked through. */
static void events_of_a_collective(void)
{
    struct traced t;
    struct loaded l;
    traced_naive(&t, 4, 10, 40);
    loaded_read(&l, &t.program, &t.trace, (struct perfetto_options){0});
    /* Per chip one arrow to the product, from the last arrival; 2 sends with one each from both before. */
    CU_ASSERT_EQUAL(loaded_check(&l), 4 * (1 + 2 * 2));
    const struct node *gather = loaded_find(&l, 3, "Async XLA Ops", "all-gather-start.1", 0, 30);
    CU_ASSERT_PTR_NOT_NULL_FATAL(gather);
    CU_ASSERT_STRING_EQUAL(event_arg(gather, "bytes"), "27000");
    CU_ASSERT_STRING_EQUAL(event_arg(gather, "steps"), "3");
    CU_ASSERT_PTR_NOT_NULL(loaded_find(&l, 3, "XLA Ops", "all-gather-done.1", 0, 30));
    CU_ASSERT_PTR_NOT_NULL(loaded_find(&l, 3, "XLA Ops", "fusion.2", 30, 40));
    CU_ASSERT_PTR_NOT_NULL(loaded_find(&l, 3, "Steps", "all-gather.1[1]", 10, 10));
    loaded_free(&l);
    traced_free(&t);
}

/* Value of a counter of chip 0 from an instant on; -1 if it does not change then. */
static double counter_at(const struct loaded *l, const char *name, double at_us)
{
    for (int e = 0; e < loaded_events(l); e++) {
        const struct node *event = l->events->child[e];
        if (event_is(event, "C") && event_number(event, "pid") == 0 &&
            strcmp(event_text(event, "name"), name) == 0 &&
            event_ps(event, "ts") == (long long)(at_us * 1e6 + 0.5))
            return atof(event_arg(event, "frac"));
    }
    return -1;
}

/* Two flows from chip 0 share its link x+, one of them goes on over the next: 6000 bytes on 1 link and 3000
 * on 2. Both rows of chip 0's link are used: latencies are 1 and 2 us. Alone from 1 to 2 us the first has
 * 5000 left; then both have half: the second ends at 2 + 6 = 8, the first has 2000 left and ends at 10.
 * Mean rates: 6000 / 9 us and 3000 / 6 us of 1000 a us. */
static void shared_links(void)
{
    struct traced t;
    struct loaded l;
    traced_init(&t, 1, (const int[]){4, 1, 1}, false);
    int32_t stage = program_stage(&t.program, "all-to-all.1");
    traced_send(&t, stage, 0, 0, 1, 6000);
    traced_send(&t, stage, 0, 0, 2, 3000);
    traced_run(&t);
    loaded_read(&l, &t.program, &t.trace, (struct perfetto_options){0});
    loaded_check(&l);
    CU_ASSERT_PTR_NOT_NULL(loaded_find(&l, 0, "ICI x+ -> TPU:1", "all-to-all.1", 1, 9));
    CU_ASSERT_PTR_NOT_NULL(loaded_find(&l, 0, "ICI x+ -> TPU:1 (2)", "all-to-all.1", 2, 6));
    CU_ASSERT_PTR_NOT_NULL(loaded_find(&l, 1, "ICI x+ -> TPU:2", "all-to-all.1", 2, 6));
    CU_ASSERT_PTR_NOT_NULL(
        loaded_find(&l, 2, "Async XLA Ops", "all-to-all-start.1", 0, 8)); /* only receives */
    NEAR(counter_at(&l, "use of ICI x+", 1), 6.0 / 9, 1e-5);
    NEAR(counter_at(&l, "use of ICI x+", 2), 6.0 / 9 + 3.0 / 6, 1e-5);
    NEAR(counter_at(&l, "use of ICI x+", 8), 6.0 / 9, 1e-5);
    CU_ASSERT_EQUAL(counter_at(&l, "use of ICI x+", 10), 0);
    loaded_free(&l);
    traced_free(&t);
}

/* Rows of a chip have the stated order, and names that say where a link leads. Events of no length have 1
 * ps. */
static void rows_and_names(void)
{
    static const char *const want[] = {"Steps",           "XLA Ops",         "Async XLA Ops",
                                       "ICI x+ -> TPU:4", "ICI y+ -> TPU:1", "ICI y- -> TPU:3"};
    struct traced t;
    struct loaded l;
    traced_init(&t, 2, (const int[]){2, 4, 1}, true);
    int32_t stage = program_stage(&t.program, "fusion.1");
    traced_compute(&t, stage, 0, 0, 0);
    traced_compute(&t, stage, 1, 0, 5);
    traced_run(&t);
    loaded_read(&l, &t.program, &t.trace, (struct perfetto_options){0});
    loaded_check(&l);
    CU_ASSERT_PTR_NOT_NULL(loaded_find(&l, 0, "XLA Ops", "fusion.1", 0, 0.000001));
    int row = 0;
    for (int e = 0; e < loaded_events(&l); e++) {
        const struct node *event = l.events->child[e];
        if (event_number(event, "pid") == 5 && strcmp(event_text(event, "name"), "process_name") == 0)
            CU_ASSERT_STRING_EQUAL(event_arg(event, "name"), "/device:TPU:5 (1,1)");
        if (event_number(event, "pid") != 0 || strcmp(event_text(event, "name"), "thread_name") != 0)
            continue;
        CU_ASSERT_FATAL(row < 6);
        CU_ASSERT_STRING_EQUAL(event_arg(event, "name"), want[row]);
        row++;
        CU_ASSERT_EQUAL(event_number(event, "tid"), row);
    }
    CU_ASSERT_EQUAL(row, 6);
    loaded_free(&l);
    traced_free(&t);
}

/* No more chips than asked for, the critical one among them: of 4 chips, chip 3 alone computes. */
static void chips_are_capped(void)
{
    struct traced t;
    struct loaded l;
    traced_init(&t, 1, (const int[]){4, 1, 1}, true);
    traced_compute(&t, program_stage(&t.program, "fusion.1"), 0, 3, 5);
    traced_run(&t);
    loaded_read(&l, &t.program, &t.trace, (struct perfetto_options){.chips = 2});
    int processes = 0;
    for (int e = 0; e < loaded_events(&l); e++) {
        const struct node *event = l.events->child[e];
        long pid = event_number(event, "pid");
        CU_ASSERT(pid == 0 || pid == 3);
        processes += strcmp(event_text(event, "name"), "process_name") == 0;
    }
    CU_ASSERT_EQUAL(processes, 2);
    CU_ASSERT_PTR_NOT_NULL(loaded_find(&l, 3, "XLA Ops", "fusion.1", 0, 5));
    loaded_free(&l);
    traced_free(&t);
}

static void faults(void)
{
    struct traced t;
    struct trace summary;
    struct perfetto_options options = {0};
    struct status st = {0};
    traced_naive(&t, 4, 10, 40);
    OKAY(trace_init(&summary, &t.program, false, &st), st);
    CU_ASSERT_EQUAL(perfetto_write(&t.program, NULL, &summary, &options, stdout, &st), STATUS_INPUT);
    trace_free(&summary);
    st = (struct status){0};
    FILE *full = fopen("/dev/full", "w");
    setvbuf(full, NULL, _IONBF, 0);
    CU_ASSERT_EQUAL(perfetto_write(&t.program, NULL, &t.trace, &options, full, &st), STATUS_IO);
    fclose(full);
    t.trace.total_s = 2e6;
    CU_ASSERT_EQUAL(perfetto_write(&t.program, NULL, &t.trace, &options, stdout, &st), STATUS_LIMIT);
    traced_free(&t);
}

static void random_programs(void)
{
    int arrows = 0;
    for (unsigned seed = 0; seed < 150; seed++) {
        struct suite_random r = {seed};
        struct random_program random;
        struct trace trace;
        struct loaded l;
        struct status st = {0};
        OKAY(random_program_init(&random, (struct random_limits){12, 30, false}, &r, &st), st);
        OKAY(trace_init(&trace, &random.program, true, &st), st);
        OKAY(engine_run(engine_by_name("event"), &random.program, &trace, &st), st);
        unsigned failures = CU_get_number_of_failures();
        loaded_read(&l, &random.program, &trace, (struct perfetto_options){.chips = 1 + (int)(seed % 12)});
        arrows += loaded_check(&l);
        loaded_free(&l);
        trace_free(&trace);
        random_program_free(&random);
        if (CU_get_number_of_failures() > failures) {
            printf("seed %u\n", seed);
            break;
        }
    }
    CU_ASSERT(arrows > 1000);
}

SUITE("perfetto", TEST(events_of_a_loop), TEST(golden), TEST(events_of_a_collective), TEST(shared_links),
      TEST(rows_and_names), TEST(chips_are_capped), TEST(faults), TEST(random_programs))
