/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The critical path and what is hidden: hand-derived on small programs, invariants on random ones. */
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/timing.h"
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
    OKAY(waits_init(&w->waits, &w->t.program, NULL, &w->t.trace, &w->t.st), w->t.st);
    OKAY(critical_init(&w->critical, &w->waits, &w->t.st), w->t.st);
}

static void close_world(struct world *w)
{
    critical_free(&w->critical);
    critical_free(&w->critical); /* freeing twice is fine */
    waits_free(&w->waits);
    traced_free(&w->t);
}

static void says(const struct critical *critical, const char *want)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    critical_say(critical, out);
    fclose(out);
    if (strcmp(text, want) != 0)
        printf("it says '%s'\n", text);
    CU_ASSERT_STRING_EQUAL(text, want);
    free(text);
}

/* Permutes of 20 us follow each other: they arrive at 20, 40, 60, 80. Product 0 ends at 25, product 1 at
 * 28.6, so product 2 waits 40 - 28.6 = 11.4; it ends at 65 and product 3 at 85, after the arrivals at 60
 * and 80. */
static void one_wait(void)
{
    struct world w;
    traced_loop(&w.t, 5, 20, (const double[]){25, 3.6, 25, 20, 7});
    look(&w);
    says(&w.critical, "3 of 4 permutes hidden; step 2 waits 11.4 us for x+");
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
        says(&w.critical, "all 3 permutes hidden");
        CU_ASSERT_EQUAL(w.critical.idles, 0);
        CU_ASSERT_EQUAL(w.critical.segments, 4); /* the products of chip 0, from the start */
        CU_ASSERT_EQUAL(w.critical.segment[3].cause.kind, CAUSE_QUEUE);
        close_world(&w);
    }
}

/* Products of 8 us after permutes of 20: each of 6 waits 12, and the longest three are told. */
static void many_waits(void)
{
    struct world w;
    traced_loop(&w.t, 7, 20, (const double[]){8, 8, 8, 8, 8, 8, 8});
    look(&w);
    says(&w.critical, "0 of 6 permutes hidden; step 1 waits 12 us for x+; step 2 waits 12 us for x+; "
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
    says(&w.critical, "0 of 3 sends hidden; fusion.2 waits 30 us for x+");
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
    says(&w.critical, "0 of 2 sends hidden; fusion.1 waits 15 us for x+; the end waits 2 us for x+");
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
    says(&w.critical, "1 send, no compute to hide behind");
    NEAR(w.critical.idle_s, 4 * us, 1e-12);
    close_world(&w);
    traced_init(&w.t, 1, (const int[]){4, 1, 1}, true);
    traced_run(&w.t);
    look(&w);
    CU_ASSERT_EQUAL(w.critical.segments, 0);
    says(&w.critical, "0 sends, no compute to hide behind");
    close_world(&w);
}

static void needs_single_times(void)
{
    struct world w;
    struct trace summary;
    traced_naive(&w.t, 4, 10, 40);
    OKAY(trace_init(&summary, &w.t.program, false, &w.t.st), w.t.st);
    CU_ASSERT_EQUAL(waits_init(&w.waits, &w.t.program, NULL, &summary, &w.t.st), STATUS_INPUT);
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

/* Runs a random program, folded if that is wanted and it folds. */
struct random_run {
    struct random_program random;
    struct timing timing;
    struct waits waits;
};

static void start_random(struct random_run *run, unsigned seed, struct random_limits limits, bool folds,
                         struct status *st)
{
    struct suite_random r = {seed};
    *run = (struct random_run){0};
    OKAY(random_program_init(&run->random, limits, &r, st), *st);
    OKAY(timing_init(&run->timing, &run->random.program, engine_fastest(), folds, st), *st);
    OKAY(timing_run(&run->timing, RECORD_ALL, st), *st);
    OKAY(waits_init(&run->waits, run->timing.whole, &run->timing.fold, &run->timing.trace, st), *st);
}

static void end_random(struct random_run *run)
{
    waits_free(&run->waits);
    timing_free(&run->timing);
    random_program_free(&run->random);
}

static void random_programs(void)
{
    for (unsigned seed = 0; seed < 800; seed++) {
        struct random_run run;
        struct critical critical;
        struct status st = {0};
        struct random_limits limits = {.chips = 12, .ops = 40, .folds = seed % 2};
        start_random(&run, seed, limits, true, &st);
        OKAY(critical_init(&critical, &run.waits, &st), st);
        unsigned failures = CU_get_number_of_failures();
        int chip = waits_run_chip(&run.waits, critical.chip);
        check_random(&critical, run.timing.trace.chip_busy_s[chip]);
        FILE *out = fopen("/dev/null", "w");
        OKAY(critical_print(&critical, out, &st), st);
        fclose(out);
        critical_free(&critical);
        end_random(&run);
        if (CU_get_number_of_failures() > failures) {
            printf("seed %u\n", seed);
            break;
        }
    }
}

/* Do two runs of one program say the same of a cell? Of what holds at once either may be named. */
static bool same_cell(const struct waits *a, const struct waits *b, struct cell cell)
{
    double slack_s = 4 * a->slack_s;
    int32_t senders[2] = {waits_sender(a, cell), waits_sender(b, cell)};
    if ((senders[0] < 0) != (senders[1] < 0))
        return false;
    const struct op *op = &a->program->op[cell.op];
    for (int i = 0; i < 2 && senders[0] >= 0; i++)
        if (op_destination(a->program, op, senders[i]) != cell.chip ||
            fabs(waits_end_s(a, (struct cell){cell.op, senders[i]}) -
                 waits_end_s(b, (struct cell){cell.op, senders[0]})) > slack_s)
            return false;
    if (!waits_takes_part(a, cell))
        return true;
    struct cause x = waits_cause(a, cell, true), y = waits_cause(b, cell, true);
    bool starts = x.kind == CAUSE_START || y.kind == CAUSE_START;
    return fabs(waits_start_s(a, cell) - waits_start_s(b, cell)) <= slack_s &&
           fabs(waits_end_s(a, cell) - waits_end_s(b, cell)) <= slack_s &&
           (starts ? x.kind == y.kind : fabs(waits_end_s(a, x.cell) - waits_end_s(b, y.cell)) <= slack_s);
}

/* Every chip waits for what it waits for where all chips are run, and the same chip is the last to finish. */
static void a_fold_tells_what_all_chips_do(void)
{
    int folded = 0;
    for (unsigned seed = 0; seed < 300; seed++) {
        struct random_run whole, quotient;
        struct status st = {0};
        struct random_limits limits = {.chips = 36, .ops = 12, .folds = true};
        start_random(&whole, seed, limits, false, &st);
        start_random(&quotient, seed, limits, true, &st);
        bool same = waits_critical_chip(&whole.waits) == waits_critical_chip(&quotient.waits);
        for (int32_t o = 0; o < whole.random.program.ops; o++)
            for (int32_t chip = 0; chip < whole.random.slice.chips; chip++)
                same = same && same_cell(&whole.waits, &quotient.waits, (struct cell){o, chip});
        if (!same)
            printf("seed %u\n", seed);
        CU_ASSERT_TRUE(same);
        CU_ASSERT_EQUAL(quotient.waits.fold != NULL, quotient.timing.fold.orbit > 1);
        folded += quotient.timing.fold.orbit > 1;
        end_random(&whole);
        end_random(&quotient);
    }
    CU_ASSERT(folded > 100); /* else little was tested */
}

SUITE("critical", TEST(one_wait), TEST(all_hidden), TEST(many_waits), TEST(naive), TEST(slow_neighbour),
      TEST(nothing_to_hide_behind), TEST(needs_single_times), TEST(tables), TEST(random_programs),
      TEST(a_fold_tells_what_all_chips_do))
