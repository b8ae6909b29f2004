/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The critical path and what is hidden: hand-derived on small programs, invariants on random ones. */
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "random_program.h"
#include "report/critical_print.h"
#include "traced.h"

static const double us = 1e-6;

struct world {
    struct traced t;
    struct waits waits;
    struct critical critical;
};

static void look(struct world *w)
{
    OKAY(waits_init(&w->waits, &w->t.program, &w->t.trace, &w->t.st), w->t.st);
    OKAY(critical_init(&w->critical, &w->waits, &w->t.st), w->t.st);
}

static void close_world(struct world *w)
{
    critical_free(&w->critical);
    critical_free(&w->critical); /* freeing twice is fine */
    waits_free(&w->waits);
    traced_free(&w->t);
}

#define SAYS(critical, want)                                                                                 \
    do {                                                                                                     \
        char text_[CRITICAL_TEXT];                                                                           \
        if (strcmp(critical_sentence((critical), text_), (want)) != 0)                                       \
            printf("it says '%s'\n", text_);                                                                 \
        CU_ASSERT_STRING_EQUAL(text_, (want));                                                               \
    } while (0)

/* Permutes of 20 us follow each other: they arrive at 20, 40, 60, 80. Product 0 ends at 25, product 1 at
 * 28.6, so product 2 waits 40 - 28.6 = 11.4; it ends at 65 and product 3 at 85, after the arrivals at 60
 * and 80. */
static void one_wait(void)
{
    struct world w;
    traced_loop(&w.t, 5, 20, (const double[]){25, 3.6, 25, 20, 7});
    look(&w);
    SAYS(&w.critical, "3 of 4 permutes hidden; step 2 waits 11.4 us for x+");
    NEAR(w.t.trace.total_s, 92 * us, 1e-12);
    CU_ASSERT_EQUAL_FATAL(w.critical.idles, 1);
    NEAR(w.critical.idle[0].start_s, 28.6 * us, 1e-12);
    NEAR(w.critical.idle[0].end_s, 40 * us, 1e-12);
    CU_ASSERT_EQUAL(w.critical.idle[0].cause.kind, CAUSE_ARRIVED);
    CU_ASSERT_EQUAL(w.critical.idle[0].cause.cell.chip, 4); /* x+ of chip 4 comes to chip 0 */
    NEAR(w.critical.exposed_s[2], 11.4 * us, 1e-9);         /* op 2 is permute 1 */
    /* permute 0 from chip 3 to 4, permute 1 from 4 to 0, products 2, 3, 4 of chip 0 */
    const struct {
        int op, chip;
        double start_us;
        enum cause_kind kind;
    } want[] = {{0, 3, 0, CAUSE_START},
                {2, 4, 20, CAUSE_ARRIVED},
                {5, 0, 40, CAUSE_ARRIVED},
                {7, 0, 65, CAUSE_QUEUE},
                {8, 0, 85, CAUSE_QUEUE}};
    CU_ASSERT_EQUAL_FATAL(w.critical.segments, 5);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(w.critical.segment[i].cell.op, want[i].op);
        CU_ASSERT_EQUAL(w.critical.segment[i].cell.chip, want[i].chip);
        CU_ASSERT_EQUAL(w.critical.segment[i].cause.kind, want[i].kind);
        NEAR(w.critical.segment[i].start_s, want[i].start_us * us, 1e-12);
    }
    close_world(&w);
}

/* Products of 21 us hide permutes of 20; of 20 us too: an arrival at the instant at which the queue is free
 * anyway holds nothing up. */
static void all_hidden(void)
{
    for (int same = 0; same < 2; same++) {
        struct world w;
        double p = same ? 20 : 21;
        traced_loop(&w.t, 4, 20, (const double[]){p, p, p, p});
        look(&w);
        SAYS(&w.critical, "all 3 permutes hidden");
        CU_ASSERT_EQUAL(w.critical.idles, 0);
        CU_ASSERT_EQUAL(w.critical.segments, 4); /* the products of chip 0, from the start */
        CU_ASSERT_EQUAL(w.critical.segment[3].cause.kind, CAUSE_QUEUE);
        close_world(&w);
    }
}

/* Products of 8 us behind permutes of 20: each of 6 waits 12, and the longest three are told. */
static void many_waits(void)
{
    struct world w;
    traced_loop(&w.t, 7, 20, (const double[]){8, 8, 8, 8, 8, 8, 8});
    look(&w);
    SAYS(&w.critical, "0 of 6 permutes hidden; step 1 waits 12 us for x+; step 2 waits 12 us for x+; "
                      "step 3 waits 12 us for x+; 3 more waits, together 36 us");
    NEAR(w.critical.idle_s, 72 * us, 1e-12);
    close_world(&w);
}

/* Three sends of 10 us, one after the other, before a product of 40. All are exposed, and none of it is the
 * join's. */
static void naive(void)
{
    struct world w;
    traced_naive(&w.t, 4, 10, 40);
    look(&w);
    SAYS(&w.critical, "0 of 3 sends hidden; fusion.2 waits 30 us for x+");
    NEAR(w.critical.idle_s, 30 * us, 1e-12);
    for (int op = 0; op < 3; op++)
        NEAR(w.critical.exposed_s[op], 10 * us, 1e-12);
    CU_ASSERT_EQUAL(w.critical.idle[0].cause.cell.op, 2);
    close_world(&w);
}

/* Chip 0 computes 10 us and sends 4000 B (5 us) to chip 1, which computes 3 us, then sends 1000 B back (2
 * us): 20 us in all. Chip 1 is done last, by its send (op 3), and was idle for 15 + 2. */
static void slow_neighbour(void)
{
    struct world w;
    traced_init(&w.t, 1, (const int[]){2, 1, 1}, false);
    int32_t fusion = program_stage(&w.t.program, "fusion.1"), there = program_stage(&w.t.program, "send.2");
    int32_t slow = traced_compute(&w.t, fusion, 0, 0, 10);
    int32_t sent = traced_send(&w.t, there, 0, 0, 1, 4000);
    program_after(&w.t.program, slow, AFTER_DONE);
    int32_t quick = traced_compute(&w.t, fusion, 1, 1, 3);
    program_after(&w.t.program, sent, AFTER_ARRIVED);
    int32_t back = traced_send(&w.t, there, 1, 1, -1, 1000);
    program_after(&w.t.program, quick, AFTER_DONE);
    traced_run(&w.t);
    look(&w);
    CU_ASSERT_EQUAL(w.critical.chip, 1);
    CU_ASSERT_EQUAL(w.critical.segments, 4);
    /* an axis of 2 has one cable: its link is x+ of either chip */
    SAYS(&w.critical, "0 of 2 sends hidden; fusion.1 waits 15 us for x+; the end waits 2 us for x+");
    NEAR(w.critical.exposed_s[slow], 10 * us, 1e-12);
    NEAR(w.critical.exposed_s[sent], 5 * us, 1e-12);
    NEAR(w.critical.exposed_s[back], 2 * us, 1e-12);
    CU_ASSERT_EQUAL(w.critical.exposed_s[quick], 0);
    close_world(&w);
}

/* No compute, and a program of nothing at all. Two links away is 2 us; each link has two flows of 1 us. */
static void nothing_to_hide_behind(void)
{
    struct world w;
    traced_init(&w.t, 1, (const int[]){4, 1, 1}, true);
    traced_send(&w.t, program_stage(&w.t.program, "all-to-all.1"), 0, -1, 2, 1000);
    traced_run(&w.t);
    look(&w);
    SAYS(&w.critical, "1 send, no compute to hide behind");
    NEAR(w.critical.idle_s, 4 * us, 1e-12);
    close_world(&w);
    traced_init(&w.t, 1, (const int[]){4, 1, 1}, true);
    traced_run(&w.t);
    look(&w);
    CU_ASSERT_EQUAL(w.critical.segments, 0);
    SAYS(&w.critical, "0 sends, no compute to hide behind");
    close_world(&w);
}

static void needs_single_times(void)
{
    struct world w;
    struct trace summary;
    traced_naive(&w.t, 4, 10, 40);
    OKAY(trace_init(&summary, &w.t.program, false, &w.t.st), w.t.st);
    CU_ASSERT_EQUAL(waits_init(&w.waits, &w.t.program, &summary, &w.t.st), STATUS_INPUT);
    trace_free(&summary);
    traced_free(&w.t);
}

/* The tables, as they are read. Products of 8, 30, 8 us; permutes arrive at 20 and 40: product 1 waits 12 and
 * ends at 50, after the second arrival. */
static void tables(void)
{
    static const char want[] =
        "# critical chip TPU:0: 1 of 2 permutes hidden; step 1 waits 12 us for x+\n"
        "# sends that come to the critical chip, and others that it waits for: what of each is exposed\n"
        "#  send                        of     bytes   start     end    took  exposed\n"
        "#                                       (B)    (us)    (us)    (us)     (us)\n"
        "   collective-permute.1[0] x+  TPU:2  19000   0.000  20.000  20.000   12.000\n"
        "   collective-permute.1[1] x+  TPU:2  19000  20.000  40.000  20.000    0.000\n"
        "# waits of the compute queue of TPU:0: 12.000 us in all\n"
        "#  before        from      to   waits  for                         of\n"
        "#                (us)    (us)    (us)\n"
        "   fusion.2[1]  8.000  20.000  12.000  collective-permute.1[0] x+  TPU:2\n"
        "# critical path: each op starts when the one above it ends\n"
        "#  op                          on      start     end    took  started when\n"
        "#                                       (us)    (us)    (us)\n"
        "   collective-permute.1[0] x+  TPU:2   0.000  20.000  20.000  the program started\n"
        "   fusion.2[1]                 TPU:0  20.000  50.000  30.000  it arrived from TPU:2\n"
        "   fusion.2[2]                 TPU:0  50.000  58.000   8.000  the compute before it ended\n";
    struct world w;
    traced_loop(&w.t, 3, 20, (const double[]){8, 30, 8});
    look(&w);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    OKAY(critical_print(&w.critical, out, &w.t.st), w.t.st);
    fclose(out);
    if (strcmp(text, want) != 0)
        printf("%s", text);
    CU_ASSERT_STRING_EQUAL(text, want);
    free(text);
    close_world(&w);
}

/* Segments follow each other from 0 to the end, each begins where its cause ends, and what is exposed lies
 * within the waits, which are what the compute queue does not work. */
static void check_random(const struct critical *critical, double busy_s)
{
    const struct waits *waits = critical->waits;
    double slack_s = 4 * waits->slack_s, total_s = waits->trace->total_s, at_s = 0, exposed_s = 0;
    for (int32_t i = 0; i < critical->segments; i++) {
        const struct critical_segment *segment = &critical->segment[i];
        CU_ASSERT(fabs(segment->start_s - at_s) <= slack_s);
        CU_ASSERT_EQUAL(segment->cause.kind == CAUSE_START, i == 0);
        CU_ASSERT(waits_takes_part(waits, segment->cell));
        at_s = segment->end_s;
    }
    CU_ASSERT(fabs(total_s - at_s) <= slack_s);
    CU_ASSERT(fabs(critical->idle_s + busy_s - total_s) <= slack_s * (1 + critical->idles));
    for (int32_t i = 0; i < critical->idles; i++)
        CU_ASSERT(fabs(waits_end_s(waits, critical->idle[i].cause.cell) - critical->idle[i].end_s) <=
                  slack_s);
    for (int32_t o = 0; o < waits->program->ops; o++)
        exposed_s += critical->exposed_s[o];
    CU_ASSERT(fabs(exposed_s - critical->idle_s) <= slack_s * (1 + waits->program->ops));
    CU_ASSERT(critical->hidden >= 0 && critical->hidden <= critical->sends);
}

static void random_programs(void)
{
    for (unsigned seed = 0; seed < 400; seed++) {
        struct suite_random r = {seed};
        struct random_program random;
        struct trace trace;
        struct waits waits;
        struct critical critical;
        struct status st = {0};
        OKAY(random_program_init(&random, (struct random_limits){12, 40, false}, &r, &st), st);
        OKAY(trace_init(&trace, &random.program, true, &st), st);
        OKAY(engine_run(engine_by_name("event"), &random.program, &trace, &st), st);
        OKAY(waits_init(&waits, &random.program, &trace, &st), st);
        OKAY(critical_init(&critical, &waits, &st), st);
        unsigned failures = CU_get_number_of_failures();
        check_random(&critical, trace.chip_busy_s[critical.chip]);
        FILE *out = fopen("/dev/null", "w");
        OKAY(critical_print(&critical, out, &st), st);
        fclose(out);
        critical_free(&critical);
        waits_free(&waits);
        trace_free(&trace);
        random_program_free(&random);
        if (CU_get_number_of_failures() > failures) {
            printf("seed %u\n", seed);
            break;
        }
    }
}

SUITE("critical", TEST(one_wait), TEST(all_hidden), TEST(many_waits), TEST(naive), TEST(slow_neighbour),
      TEST(nothing_to_hide_behind), TEST(needs_single_times), TEST(tables), TEST(random_programs))
