/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics on programs small enough to count by hand. */
#include <math.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "metrics/metrics.h"
#include "program/fold.h"
#include "suite.h"

/* 3.5 GB/s and 2.385 us: nothing divides by accident. */
static const double link_Bps = 3.5e9, hop_s = 2.385e-6;

static struct slice make_slice(int x, int y, bool wrap)
{
    struct slice slice;
    struct status st = {0};
    OKAY(slice_init(&slice, 2, (int[]){x, y, 1}, (bool[]){wrap, wrap, false}, link_Bps, hop_s, &st), st);
    return slice;
}

static int32_t send(struct program *program, int axis, int delta, double bytes, int32_t where)
{
    return program_add(program,
                       (struct op){.kind = OP_SEND,
                                   .where = where,
                                   .towards = program_towards(program, &(struct hop){axis, delta}, 1),
                                   .amount = amount_of(bytes),
                                   .payload = NO_PAYLOAD});
}

static void run(const struct program *program, struct trace *trace)
{
    struct status st = {0};
    OKAY(trace_init(trace, program, false, &st), st);
    OKAY(engine_run(engine_by_name("event"), program, trace, &st), st);
}

static void measure(struct metrics *m, const struct program *program, const struct trace *trace,
                    double more_s, double comm_s, int orbit)
{
    struct counts counts;
    struct status st = {0};
    OKAY(counts_find(&counts, program, orbit, &st), st);
    struct metrics_run run = {program, &counts, trace, more_s, comm_s, orbit};
    OKAY(metrics_compute(m, &run, &st), st);
}

/* On a 5x3 torus all 15 chips send 700 B by x+2: each x+ link carries two flows, each x- and y link none. */
static void alike_sends_are_counted_by_axis(void)
{
    struct slice slice = make_slice(5, 3, true);
    struct program program;
    struct trace trace;
    struct metrics m;
    program_init(&program, &slice);
    send(&program, 0, 2, 700, WHERE_ALL);
    run(&program, &trace);
    measure(&m, &program, &trace, 0, NAN, 1);
    double time_s = 2 * hop_s + 1400 / link_Bps; /* two hops of latency, half of the bandwidth each */
    NEAR(m.time_s, time_s, 1e-12);
    NEAR(m.link_bytes, 15 * 2 * 700, 1e-15);
    NEAR(m.max_link_bytes, 1400, 1e-15);
    NEAR(m.max_link_frac, 1400 / link_Bps / time_s, 1e-12);
    NEAR(m.mean_link_frac, m.max_link_frac / 2,
         1e-12); /* of x's 30 links every other one works; y has no use */
    CU_ASSERT_EQUAL(m.counts.transfers, 15);
    CU_ASSERT_EQUAL(m.counts.steps, 1);
    CU_ASSERT(isnan(m.overlap_frac) && !m.counts.has_computes);
    NEAR(m.comm_s, time_s, 1e-12);
    NEAR(m.exposed_comm_s, time_s, 1e-12);
    trace_free(&trace);
    program_free(&program);
}

/* A masked send is counted link by link: chips 0 and 4 of a line of 6x1 send 300 B by x+1. */
static void masked_sends_are_counted_by_link(void)
{
    struct slice slice = make_slice(6, 1, false);
    struct program program;
    struct status st = {0};
    program_init(&program, &slice);
    int32_t where = program_mask(&program, (const uint8_t[]){1, 0, 0, 0, 1, 0});
    send(&program, 0, 1, 300, where);
    double *bytes = metrics_link_bytes(&program, &st);
    CU_ASSERT_FATAL(bytes != NULL);
    for (int link = 0; link < slice_link_ids(&slice); link++) {
        bool used = link == slice_link(&slice, 0, 0, 1) || link == slice_link(&slice, 4, 0, 1);
        NEAR(bytes[link], used ? 300.0 : 0.0, 0);
    }
    free(bytes);
    program_free(&program);
}

/* An axis of two chips has one cable: what goes by + and by - adds up on the same link. */
static void two_chips_have_one_link_each_way(void)
{
    struct slice slice = make_slice(2, 1, true);
    struct program program;
    struct status st = {0};
    program_init(&program, &slice);
    send(&program, 0, 1, 300, WHERE_ALL);
    send(&program, 0, -1, 50, WHERE_ALL);
    double *bytes = metrics_link_bytes(&program, &st);
    CU_ASSERT_FATAL(bytes != NULL);
    NEAR(bytes[slice_link(&slice, 0, 0, 1)], 350, 0);
    NEAR(bytes[slice_link(&slice, 1, 0, 1)], 350, 0);
    free(bytes);
    program_free(&program);
}

/* A compute of 7 us beside a send of 2.385 + 2 us: 7 us in all, nothing of the communication is exposed. Then a
 * second send that waits for that compute, and a compute of 3 us that waits for this send: 4.385 us are exposed. */
static void overlap_is_what_hides(void)
{
    struct slice slice = make_slice(4, 1, true);
    struct program program;
    struct trace trace;
    struct metrics m;
    const struct op compute = {
        .kind = OP_COMPUTE, .where = WHERE_ALL, .amount = {7e-6, NO_TABLE}, .payload = NO_PAYLOAD};
    program_init(&program, &slice);
    send(&program, 0, 1, 7000, WHERE_ALL);
    int32_t first = program_add(&program, compute);
    run(&program, &trace);
    measure(&m, &program, &trace, 0, hop_s + 2e-6, 1);
    NEAR(m.time_s, 7e-6, 1e-12);
    NEAR(m.compute_s, 7e-6, 1e-12);
    NEAR(m.overlap_frac, 1, 1e-12);
    trace_free(&trace);

    int32_t second = send(&program, 0, 1, 7000, WHERE_ALL);
    program_after(&program, first, AFTER_DONE);
    struct op last = compute;
    last.amount.each = 3e-6;
    program_add(&program, last);
    program_after(&program, second, AFTER_ARRIVED);
    run(&program, &trace);
    /* without computes the two sends run at once and share the link: 2.385 + 4 us */
    measure(&m, &program, &trace, 0, hop_s + 4e-6, 1);
    NEAR(m.time_s, 7e-6 + hop_s + 2e-6 + 3e-6, 1e-12);
    NEAR(m.compute_s, 10e-6, 1e-12);
    NEAR(m.exposed_comm_s, hop_s + 2e-6, 1e-12);
    NEAR(m.overlap_frac, 1 - (hop_s + 2e-6) / (hop_s + 4e-6), 1e-12);
    trace_free(&trace);
    program_free(&program);
}

/* Chip 3 sends for 2.385 + 4 us to chip 4, which computes for 7 us and then for 5 us, and sends back for as long; the
 * others compute for 11 us. Chip 4 is the critical one: 12 us of its own and one send; without computes two. */
static void exposed_is_that_of_the_last_chip(void)
{
    struct slice slice = make_slice(5, 1, false);
    struct program program;
    struct trace trace;
    struct metrics m;
    const double first_s[5] = {11e-6, 11e-6, 11e-6, 11e-6, 7e-6};
    uint8_t third[5] = {0, 0, 0, 1, 0}, last[5] = {0, 0, 0, 0, 1};
    struct op compute = {.kind = OP_COMPUTE, .where = WHERE_ALL, .payload = NO_PAYLOAD};
    program_init(&program, &slice);
    compute.amount = program_amount_table(&program, first_s, WHERE_ALL);
    program_add(&program, compute);
    int32_t sent = send(&program, 0, 1, 14000, program_mask(&program, third));
    compute.amount = amount_of(5e-6);
    compute.where = program_mask(&program, last);
    program_add(&program, compute);
    program_after(&program, sent, AFTER_ARRIVED);
    program_after(&program, 0, AFTER_DONE);
    int32_t back = send(&program, 0, -1, 14000, compute.where);
    program_after(&program, back - 1, AFTER_DONE);
    run(&program, &trace);
    measure(&m, &program, &trace, 0, 2 * (hop_s + 4e-6), 1);
    NEAR(m.time_s, 12e-6 + hop_s + 4e-6, 1e-12);
    CU_ASSERT_EQUAL(m.critical_chip, 4);
    NEAR(m.compute_s, 12e-6, 1e-12);
    NEAR(m.exposed_comm_s, hop_s + 4e-6, 1e-12);
    NEAR(m.overlap_frac, 0.5, 1e-12);
    trace_free(&trace);
    program_free(&program);
}

/* A folded program says the same as the whole one. */
static void folding_changes_no_metric(void)
{
    struct slice slice = make_slice(6, 4, true);
    struct program program;
    struct fold fold;
    struct trace whole, quotient;
    struct metrics a, b;
    struct status st = {0};
    program_init(&program, &slice);
    int32_t first = send(&program, 0, 2, 700, WHERE_ALL);
    send(&program, 1, -1, 1100, WHERE_ALL);
    program_after(&program, first, AFTER_ARRIVED);
    OKAY(fold_init(&fold, &program, &st), st);
    CU_ASSERT_EQUAL_FATAL(fold.orbit, 24);
    run(&program, &whole);
    run(&fold.program, &quotient);
    measure(&a, &program, &whole, 0, NAN, 1);
    measure(&b, &fold.program, &quotient, 0, NAN, fold.orbit);
    NEAR(b.time_s, a.time_s, 1e-12);
    NEAR(b.link_bytes, a.link_bytes, 1e-12);
    NEAR(b.max_link_bytes, a.max_link_bytes, 1e-12);
    NEAR(b.mean_link_frac, a.mean_link_frac, 1e-12);
    NEAR(b.max_link_frac, a.max_link_frac, 1e-12);
    CU_ASSERT(a.counts.transfers == 48 && b.counts.transfers == 48 && a.counts.steps == 2 &&
              b.counts.steps == 2);
    trace_free(&whole);
    trace_free(&quotient);
    fold_free(&fold);
    program_free(&program);
}

/* A loop of 7 trips, of which one is written: a compute of 3 us, then 700 B one hop on. The other six add 6 (3 us + hop +
 * 0.2 us) to the time, and their bytes and computes count. Without computes a trip is a hop and 0.2 us. */
static void what_stands_for_several_counts_for_all(void)
{
    struct slice slice = make_slice(5, 3, true);
    struct program program;
    struct trace trace;
    struct metrics m;
    program_init(&program, &slice);
    int32_t compute = program_add(&program, (struct op){.kind = OP_COMPUTE,
                                                        .where = WHERE_ALL,
                                                        .amount = amount_of(3e-6),
                                                        .payload = NO_PAYLOAD,
                                                        .times = 7});
    int32_t op = send(&program, 0, 1, 700, WHERE_ALL);
    program_wait(&program, compute);
    program.op[op].times = 7;
    run(&program, &trace);
    double hop = hop_s + 700 / link_Bps, trip_s = 3e-6 + hop;
    measure(&m, &program, &trace, 6 * trip_s, 7 * hop, 1);
    NEAR(m.time_s, 7 * trip_s, 1e-12);
    NEAR(m.compute_s, 21e-6, 1e-12);
    NEAR(m.exposed_comm_s, 7 * hop, 1e-12);
    CU_ASSERT_EQUAL(m.overlap_frac, 0); /* exactly */
    NEAR(m.link_bytes, 7 * 15 * 700, 1e-15);
    NEAR(m.max_link_bytes, 7 * 700, 1e-15);
    NEAR(program_link_bytes(&program), 7 * 15 * 700, 1e-15);
    CU_ASSERT_EQUAL(m.counts.transfers, 7 * 15);
    trace_free(&trace);
    program_free(&program);
}

SUITE("metrics", TEST(alike_sends_are_counted_by_axis), TEST(masked_sends_are_counted_by_link),
      TEST(two_chips_have_one_link_each_way), TEST(overlap_is_what_hides),
      TEST(exposed_is_that_of_the_last_chip), TEST(folding_changes_no_metric),
      TEST(what_stands_for_several_counts_for_all))
