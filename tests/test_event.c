/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The event engine on programs small enough to be timed by hand: world.h says how fast their links are. */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "engine/engine.h"
#include "random_program.h"
#include "world.h"

static void one_hop(void)
{
    struct world w;
    world_setup(&w, 4, 1, true);
    int32_t a = world_send(&w, 1, 3000, 0, WHERE_ALL);
    int32_t b = world_send(&w, -1, 3000, 1 * WORLD_US, WHERE_ALL);
    program_after(&w.program, a, AFTER_ARRIVED);
    world_simulate(&w);
    world_runs(&w, a, 2, 0, 3);
    world_runs(&w, b, 2, 3, 7); /* 3 + 1 of setup + 2 + 1 */
    NEAR(w.trace.total_s, 7 * WORLD_US, WORLD_CLOSE_FRAC);
    world_teardown(&w);
}

/* 3000 and 6000 bytes on one link: half the rate each until the first has gone, 4 us; then 3000 are left. */
static void two_sends_share_a_link(void)
{
    struct world w;
    world_setup(&w, 3, 1, false);
    int32_t a = world_send(&w, 1, 3000, 0, world_only(&w, 0)),
            b = world_send(&w, 1, 6000, 0, world_only(&w, 0));
    world_simulate(&w);
    world_runs(&w, a, 0, 0, 4);
    world_runs(&w, b, 0, 0, 5);
    world_teardown(&w);
}

/* The second comes 1 us later, when 3000 bytes of the first are left: both have 3000 to go at half the
 * rate. */
static void a_late_send_shares_what_is_left(void)
{
    struct world w;
    world_setup(&w, 3, 1, false);
    int32_t a = world_send(&w, 1, 6000, 0, world_only(&w, 0)),
            b = world_send(&w, 1, 3000, 1 * WORLD_US, world_only(&w, 0));
    world_simulate(&w);
    world_runs(&w, a, 0, 0, 5);
    world_runs(&w, b, 0, 0, 5);
    world_teardown(&w);
}

/* Three links (6 us) and one link (4 us of setup, 2 us): both flow from 6 us on at half the rate,
 * whatever their latencies. The short one has gone at 8, the long one has 3000 bytes left then. */
static void near_and_far_share_alike(void)
{
    struct world w;
    world_setup(&w, 4, 1, false);
    int32_t far = world_send(&w, 3, 6000, 0, world_only(&w, 0)),
            near = world_send(&w, 1, 3000, 4 * WORLD_US, world_only(&w, 1));
    world_simulate(&w);
    world_runs(&w, far, 0, 0, 9);
    world_runs(&w, near, 1, 0, 8);
    world_teardown(&w);
}

/* Link 0-1 carries 3e9 B/s, link 1-2 1.2e9. From 4 us on the long flow and its neighbour on 1-2 get
 * 0.6e9 each, the neighbour on 0-1 all that is left there, 2.4e9. 600 bytes of the long one end at 5.
 * Then the neighbours are alone: 600 bytes at 1.2e9 are 0.5 us, 4800 - 2400 at 3e9 are 0.8 us. */
static void what_one_cannot_use_goes_to_the_others(void)
{
    struct world w;
    world_setup(&w, 3, 1, false);
    OKAY(slice_set_link(&w.slice, slice_link(&w.slice, 1, 0, 1), 1.2e9, WORLD_HOP_S, &w.st), w.st);
    int32_t through = world_send(&w, 2, 600, 0, world_only(&w, 0));
    int32_t fast = world_send(&w, 1, 4800, 2 * WORLD_US, world_only(&w, 0)),
            slow = world_send(&w, 1, 1200, 2 * WORLD_US, world_only(&w, 1));
    world_simulate(&w);
    world_runs(&w, through, 0, 0, 5);
    world_runs(&w, slow, 1, 0, 5.5);
    world_runs(&w, fast, 0, 0, 5.8);
    world_teardown(&w);
}

/* Twice round a ring of three: every link is passed twice, so that the flow has half the rate. 12 us + 2
 * us. */
static void round_and_round(void)
{
    struct world w;
    world_setup(&w, 3, 1, true);
    int32_t a = world_send(&w, 6, 3000, 0, world_only(&w, 0)), b = world_send(&w, -6, 0, 0, WHERE_ALL);
    world_simulate(&w);
    world_runs(&w, a, 0, 0, 14);
    world_runs(&w, b, 1, 0, 12);
    world_teardown(&w);
}

/* The bridge ties two flows together, and ends at 5 us. Then each has its links to itself, and ends when
 * its own bytes are through: 6000 - 1500 in 1.5 us, 12000 - 1500 in 3.5 us. */
static void flows_fall_apart(void)
{
    struct world w;
    world_setup(&w, 5, 1, false);
    int32_t left = world_send(&w, 2, 6000, 0, world_only(&w, 0)),
            right = world_send(&w, 2, 12000, 0, world_only(&w, 2));
    int32_t bridge = world_send(&w, 2, 1500, 0, world_only(&w, 1));
    world_simulate(&w);
    world_runs(&w, bridge, 1, 0, 5);
    world_runs(&w, left, 0, 0, 6.5);
    world_runs(&w, right, 2, 0, 8.5);
    world_teardown(&w);
}

static void nothing_to_carry(void)
{
    struct world w;
    world_setup(&w, 4, 1, true);
    int32_t empty = world_send(&w, 2, 0, 1 * WORLD_US, WHERE_ALL); /* waits for its links all the same */
    int32_t nowhere =
        world_send(&w, 0, 3e9, 5 * WORLD_US, world_only(&w, 3)); /* takes no time but its setup */
    int32_t then = world_send(&w, 1, 0, 0, world_only(&w, 3));
    program_after(&w.program, nowhere, AFTER_ARRIVED);
    world_simulate(&w);
    world_runs(&w, empty, 1, 0, 5);
    world_runs(&w, nowhere, 3, 0, 5);
    world_runs(&w, then, 3, 5, 7);
    world_teardown(&w);
}

/* One cable: + and - are the same link, and the way back is another. */
static void an_axis_of_two(void)
{
    struct world w;
    world_setup(&w, 2, 1, true);
    int32_t a = world_send(&w, 1, 3000, 0, world_only(&w, 0)),
            b = world_send(&w, -1, 3000, 0, world_only(&w, 0));
    int32_t back = world_send(&w, 1, 3000, 0, world_only(&w, 1));
    world_simulate(&w);
    world_runs(&w, a, 0, 0, 4);
    world_runs(&w, b, 0, 0, 4);
    world_runs(&w, back, 1, 0, 3);
    world_teardown(&w);
}

/* The second compute could start at 0, but comes after the first in the program. */
static void computes_keep_program_order(void)
{
    struct world w;
    world_setup(&w, 3, 1, true);
    int32_t a = world_send(&w, 1, 3000, 0, world_only(&w, 0));
    int32_t first = world_compute(&w, 2 * WORLD_US, world_only(&w, 1));
    program_after(&w.program, a, AFTER_ARRIVED);
    int32_t second = world_compute(&w, 1 * WORLD_US, WHERE_ALL),
            third = world_compute(&w, 4 * WORLD_US, world_only(&w, 1));
    world_simulate(&w);
    world_runs(&w, first, 1, 3, 5);
    world_runs(&w, second, 1, 5, 6);
    world_runs(&w, third, 1, 6, 10);
    world_runs(&w, second, 2, 0, 1); /* takes no part in the others */
    NEAR(w.trace.chip_busy_s[1], 7 * WORLD_US, WORLD_CLOSE_FRAC);
    world_teardown(&w);
}

/* Chips 1 and 3 send to 2. There ARRIVED holds when both are here; where nothing comes it holds at once. */
static void arrived_waits_for_all_senders(void)
{
    struct world w;
    world_setup(&w, 4, 1, false);
    struct hop plus = {0, 1}, minus = {0, -1};
    int32_t right = program_route(&w.program, &plus, 1), left = program_route(&w.program, &minus, 1);
    int32_t route[4] = {right, right, right, left};
    uint8_t mask[4] = {0, 1, 0, 1};
    double bytes[4] = {0, 3000, 0, 9000};
    int32_t where = program_mask(&w.program, mask);
    int32_t a =
        program_add(&w.program, (struct op){.kind = OP_SEND,
                                            .where = where,
                                            .towards = program_towards_table(&w.program, route, where),
                                            .amount = program_amount_table(&w.program, bytes, where),
                                            .payload = NO_PAYLOAD});
    int32_t arrived = world_compute(&w, 0, WHERE_ALL);
    program_after(&w.program, a, AFTER_ARRIVED);
    int32_t done = world_send(&w, 0, 0, 1 * WORLD_US, WHERE_ALL);
    program_after(&w.program, a, AFTER_DONE);
    world_simulate(&w);
    world_runs(&w, arrived, 2, 5, 5);
    world_runs(&w, arrived, 1, 0, 0);
    world_runs(&w, done, 1, 3, 4);
    world_runs(&w, done, 3, 5, 6);
    world_runs(&w, done, 2, 0, 1); /* takes no part in what it waits for */
    world_teardown(&w);
}

/* All to all on a torus: chips are alike, so that their ends must be equal to the last bit. */
static void what_is_alike_ends_at_the_same_bit(void)
{
    struct world w;
    world_setup(&w, 6, 5, true);
    for (int to = 1; to < w.slice.chips; to++) {
        struct minimal_route minimal[MINIMAL_ROUTES];
        int ways = route_minimal(&w.slice, 0, to, minimal);
        for (int i = 0; i < ways; i++)
            program_add(&w.program,
                        (struct op){.kind = OP_SEND,
                                    .where = WHERE_ALL,
                                    .towards = program_towards(&w.program, minimal[i].hop, minimal[i].hops),
                                    .amount = amount_of(23850.0 / ways),
                                    .payload = NO_PAYLOAD});
    }
    world_simulate(&w);
    for (int32_t o = 0; o < w.program.ops; o++)
        for (int c = 1; c < w.slice.chips; c++)
            CU_ASSERT(w.trace.end_s[o * w.slice.chips + c] == w.trace.end_s[o * w.slice.chips]);
    world_teardown(&w);
}

static void the_same_program_gives_the_same_bits(void)
{
    struct suite_random r = {2385};
    struct random_program random;
    struct trace trace[2];
    struct status st = {0};
    OKAY(random_program_init(&random, (struct random_limits){.chips = 60, .ops = 60}, &r, &st), st);
    for (int i = 0; i < 2; i++) {
        OKAY(trace_init(&trace[i], &random.program, true, &st), st);
        OKAY(engine_run(engine_by_name("event"), &random.program, &trace[i], &st), st);
    }
    size_t n = (size_t)trace[0].ops * (size_t)trace[0].chips;
    CU_ASSERT_EQUAL(memcmp(trace[0].start_s, trace[1].start_s, n * sizeof(double)), 0);
    CU_ASSERT_EQUAL(memcmp(trace[0].end_s, trace[1].end_s, n * sizeof(double)), 0);
    CU_ASSERT(isfinite(trace[0].total_s));
    trace_free(&trace[0]);
    trace_free(&trace[1]);
    random_program_free(&random);
}

static void nothing_happens(void)
{
    struct world w;
    uint8_t nobody[4] = {0};
    world_setup(&w, 2, 2, false);
    world_simulate(&w); /* no ops */
    CU_ASSERT_EQUAL(w.trace.total_s, 0);
    trace_free(&w.trace);
    int32_t a = world_send(&w, 1, 3000, 0, program_mask(&w.program, nobody));
    int32_t then = world_send(&w, 1, 3000, 0, WHERE_ALL);
    program_after(&w.program, a, AFTER_DONE);
    program_after(&w.program, a, AFTER_ARRIVED);
    world_simulate(&w);
    CU_ASSERT(isnan(w.trace.op_end_s[a]));
    world_runs(&w, then, 3, 0, 3);
    world_teardown(&w);
}

/* 2^20 chips times 2^12 + 1 sends. */
static void too_many_transfers(void)
{
    struct world w;
    world_setup(&w, 1 << 10, 1 << 10, true);
    for (int i = 0; i <= 1 << 12; i++)
        world_send(&w, 1, 3000, 0, WHERE_ALL);
    world_refused(&w, "4296015872 transfers");
    world_teardown(&w);
}

SUITE("event", TEST(one_hop), TEST(two_sends_share_a_link), TEST(a_late_send_shares_what_is_left),
      TEST(near_and_far_share_alike), TEST(what_one_cannot_use_goes_to_the_others), TEST(round_and_round),
      TEST(flows_fall_apart), TEST(nothing_to_carry), TEST(an_axis_of_two), TEST(computes_keep_program_order),
      TEST(arrived_waits_for_all_senders), TEST(what_is_alike_ends_at_the_same_bit),
      TEST(the_same_program_gives_the_same_bits), TEST(nothing_happens), TEST(too_many_transfers))
