/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The SimGrid engine on programs small enough to be timed by hand: world.h says how fast their links are.
 * What it does with random programs is the event engine's business, too: test_engines.c.
 */
#include "suite.h"

#include <math.h>

#include "engine/engine.h"
#include "world.h"

/* Engines add and divide in another order than a hand does. */
static const double close_frac = 1e-11;
static const double us = WORLD_US;

static void setup(struct world *w, int x, bool ring, double hop_s)
{
    world_setup_in(w, "simgrid", x, 1, ring, hop_s);
}

static double start_of(const struct world *w, int op, int chip)
{
    return w->trace.start_s[op * w->trace.chips + chip];
}

static double end_of(const struct world *w, int op, int chip)
{
    return w->trace.end_s[op * w->trace.chips + chip];
}

/* A send of one chip, and of all chips. */
static int32_t send(struct world *w, int chip, int delta, double bytes)
{
    return world_send(w, delta, bytes, 0, world_only(w, chip));
}

static int32_t send_all(struct world *w, int delta, double bytes)
{
    return world_send(w, delta, bytes, 0, WHERE_ALL);
}

/* Latency, then bytes: 2 + 7 us for one hop, 6 + 7 us for three at once (cut-through). */
static void one_transfer(void)
{
    struct world w;
    setup(&w, 5, false, WORLD_HOP_S);
    send(&w, 0, 1, 21000);
    send(&w, 1, 3, 21000);
    world_simulate(&w);
    NEAR(end_of(&w, 0, 0), 9 * us, close_frac);
    NEAR(end_of(&w, 1, 1), 13 * us, close_frac);
    NEAR(w.trace.total_s, 13 * us, close_frac);
    world_teardown(&w);
}

/* The largest and the smallest of these differ by 2^60, so that one scale must serve both. */
static void any_size(void)
{
    struct world w;
    setup(&w, 4, false, 0);
    send(&w, 0, 1, 1099511627776.0);
    send(&w, 1, 1, 0.75);
    send(&w, 2, 1, 1.0 / 1048576);
    world_simulate(&w);
    NEAR(end_of(&w, 0, 0), 1099511627776.0 / WORLD_LINK_BPS, close_frac);
    /* Instants are merged to 2^-42 of the longest: 0.25 ns of 366 s cannot be told from 0. */
    CU_ASSERT(end_of(&w, 1, 1) < 1e-9);
    world_teardown(&w);

    setup(&w, 2, false, 0);
    send(&w, 0, 1, 1.0 / 1048576);
    world_simulate(&w);
    NEAR(w.trace.total_s, 1.0 / 1048576 / WORLD_LINK_BPS, close_frac);
    world_teardown(&w);
}

/* 6000 and 12000 bytes over one link: both at half speed until 2 + 4 us, the rest (6000) at full: 2 us more.
 * The 1-hop flow and the 3-hop flow of the same size that meet on one link share it evenly too, whatever
 * their latencies: without latency both end at the same time, 2 * 7 us. */
static void shared_link(void)
{
    struct world w;
    setup(&w, 5, false, WORLD_HOP_S);
    send(&w, 0, 1, 6000);
    send(&w, 0, 1, 12000);
    world_simulate(&w);
    NEAR(end_of(&w, 0, 0), 6 * us, close_frac);
    NEAR(end_of(&w, 1, 0), 8 * us, close_frac);
    world_teardown(&w);

    setup(&w, 5, false, 0);
    send(&w, 0, 3, 21000);
    send(&w, 2, 1, 21000);
    world_simulate(&w);
    NEAR(end_of(&w, 0, 0), 14 * us, close_frac);
    NEAR(end_of(&w, 1, 2), 14 * us, close_frac);
    world_teardown(&w);
}

/* With latencies of 6 us and 2 us, the short one has the link alone for 4 us (12000 of its 21000 bytes);
 * the other 9000 at half speed take 6 us: ends at 12 us. The long one has then sent 9000 and needs 4 us. */
static void shared_link_with_latency(void)
{
    struct world w;
    setup(&w, 5, false, WORLD_HOP_S);
    send(&w, 0, 3, 21000);
    send(&w, 2, 1, 21000);
    world_simulate(&w);
    NEAR(end_of(&w, 1, 2), 12 * us, close_frac);
    NEAR(end_of(&w, 0, 0), 16 * us, close_frac);
    world_teardown(&w);
}

/* Max-min: flow A crosses links 0 and 1, B and C link 0, D link 1. Link 0 has three flows, so A, B and C get
 * 1/3, and D the 2/3 that A leaves of link 1. Sizes that end together after 15 us: 15000 and 30000. */
static void max_min(void)
{
    struct world w;
    setup(&w, 3, false, 0);
    send(&w, 0, 2, 15000);
    send(&w, 0, 1, 15000);
    send(&w, 0, 1, 15000);
    send(&w, 1, 1, 30000);
    world_simulate(&w);
    for (int op = 0; op < 4; op++)
        NEAR(end_of(&w, op, op == 3), 15 * us, close_frac);
    world_teardown(&w);
}

/* Both ways of a cable are links of their own: 2 + 7 us each, all at once, on every chip of a ring. */
static void both_ways(void)
{
    struct world w;
    setup(&w, 4, true, WORLD_HOP_S);
    send_all(&w, 1, 21000);
    send_all(&w, -1, 21000);
    world_simulate(&w);
    for (int chip = 0; chip < 4; chip++) {
        NEAR(end_of(&w, 0, chip), 9 * us, close_frac);
        NEAR(end_of(&w, 1, chip), 9 * us, close_frac);
    }
    world_teardown(&w);
}

/* An axis of 2 has one cable: + and - of a chip are one link, so two sends of 21000 take 2 + 14 us. */
static void axis_of_two(void)
{
    struct world w;
    setup(&w, 2, true, WORLD_HOP_S);
    send_all(&w, 1, 21000);
    send_all(&w, -1, 21000);
    world_simulate(&w);
    NEAR(w.trace.total_s, 16 * us, close_frac);
    world_teardown(&w);
}

/* Zero bytes still wait 3 hops; a route of no links takes its setup only, and nothing at all without one. */
static void nothing_to_send(void)
{
    struct world w;
    setup(&w, 5, false, WORLD_HOP_S);
    send(&w, 0, 3, 0);
    world_send(&w, 0, 21000, 5 * us, world_only(&w, 1));
    send(&w, 2, 0, 21000);
    world_simulate(&w);
    NEAR(end_of(&w, 0, 0), 6 * us, close_frac);
    NEAR(end_of(&w, 1, 1), 5 * us, close_frac);
    CU_ASSERT_EQUAL(end_of(&w, 2, 2), 0);
    world_teardown(&w);
}

/* Setup comes before the latency, and no link is busy meanwhile: 5 + 2 + 7 us; the send without setup that
 * uses the link in between (from 2 us, 5 us long) is done when it starts. */
static void setup_time(void)
{
    struct world w;
    setup(&w, 2, false, WORLD_HOP_S);
    world_send(&w, 1, 21000, 5 * us, world_only(&w, 0));
    send(&w, 0, 1, 15000);
    world_simulate(&w);
    NEAR(end_of(&w, 1, 0), 7 * us, close_frac);
    NEAR(end_of(&w, 0, 0), 14 * us, close_frac);
    world_teardown(&w);
}

/* Two routes between the same pair, and one from a chip to itself. Half way round a ring of 4 by + and by -
 * (2 links, no latency, 21000 bytes each) and all the way round by + (4 links, 21000) from chip 0. The last
 * shares links 0 and 1 with the first: these two take 14 us, the one by - 7 us. */
static void routes_of_one_pair(void)
{
    struct world w;
    setup(&w, 4, true, 0);
    send(&w, 0, 2, 21000);
    send(&w, 0, -2, 21000);
    send(&w, 0, 4, 21000);
    world_simulate(&w);
    NEAR(end_of(&w, 0, 0), 14 * us, close_frac);
    NEAR(end_of(&w, 1, 0), 7 * us, close_frac);
    NEAR(end_of(&w, 2, 0), 14 * us, close_frac);
    CU_ASSERT_EQUAL(op_destination(&w.program, &w.program.op[2], 0), 0);
    world_teardown(&w);
}

/* x+4 on a ring of 3 passes link 0 twice, so it takes two shares of it: alone it flows at w/2 (14 us). The
 * other flow on link 0 has a rate of w/3 while both last (w/3 * 2 + w/3 = w): 15000 bytes by 15 us, by when
 * the first has sent 15000 too; its last 6000 at w/2 take 4 us. */
static void link_passed_twice(void)
{
    struct world w;
    setup(&w, 3, true, 0);
    send(&w, 0, 4, 21000);
    world_simulate(&w);
    NEAR(w.trace.total_s, 14 * us, close_frac);
    world_teardown(&w);

    setup(&w, 3, true, 0);
    send(&w, 0, 4, 21000);
    send(&w, 0, 1, 15000);
    world_simulate(&w);
    NEAR(end_of(&w, 1, 0), 15 * us, close_frac);
    NEAR(end_of(&w, 0, 0), 19 * us, close_frac);
    world_teardown(&w);
}

/* Program order: the first compute waits for a transfer (9 us), so the second, which waits for nothing, runs
 * from 9 + 3 us on; on chip 0, where nothing arrives, both run at once. */
static void compute_queue(void)
{
    struct world w;
    setup(&w, 2, false, WORLD_HOP_S);
    int32_t moved = send(&w, 0, 1, 21000);
    world_compute(&w, 3 * us, WHERE_ALL);
    program_after(&w.program, moved, AFTER_ARRIVED);
    world_compute(&w, 4 * us, WHERE_ALL);
    world_simulate(&w);
    NEAR(start_of(&w, 1, 1), 9 * us, close_frac);
    NEAR(start_of(&w, 2, 1), 12 * us, close_frac);
    NEAR(w.trace.total_s, 16 * us, close_frac);
    CU_ASSERT_EQUAL(start_of(&w, 1, 0), 0);
    NEAR(start_of(&w, 2, 0), 3 * us, close_frac);
    NEAR(w.trace.chip_busy_s[1], 7 * us, close_frac);
    CU_ASSERT_EQUAL(trace_critical_chip(&w.trace), 1);
    world_teardown(&w);
}

/* A compute and a send that wait for nothing overlap freely. A send after a compute waits for it; one after
 * an op that the chip takes no part in, or that sends it nothing, does not. */
static void waits(void)
{
    struct world w;
    setup(&w, 3, false, WORLD_HOP_S);
    int32_t busy = world_compute(&w, 6 * us, world_only(&w, 0));
    int32_t moved = send(&w, 0, 1, 21000);
    int32_t last = send_all(&w, 0, 0);
    program_after(&w.program, busy, AFTER_DONE);
    program_after(&w.program, moved, AFTER_ARRIVED);
    world_simulate(&w);
    NEAR(end_of(&w, moved, 0), 9 * us, close_frac);
    NEAR(start_of(&w, last, 0), 6 * us, close_frac);
    NEAR(start_of(&w, last, 1), 9 * us, close_frac);
    CU_ASSERT_EQUAL(start_of(&w, last, 2), 0);
    CU_ASSERT(isnan(start_of(&w, busy, 1)));
    world_teardown(&w);
}

/* Everything that an op sends to a chip: chips 0, 1 and 2 send to chip 3 by a table of routes (3, 2 and 1
 * links, all over the last one) 3000, 6000 and 9000 bytes. They flow from 6, 4 and 2 us on. Chip 2 sends
 * 6000 until 4 us; its last 3000 and 3000 of chip 1 share the link until 6 us; chip 1 has 3000 left and
 * chip 0 its 3000: both until 8 us, when ARRIVED holds. */
static void tables(void)
{
    struct world w;
    setup(&w, 4, false, WORLD_HOP_S);
    int32_t route[4];
    for (int chip = 0; chip < 4; chip++)
        route[chip] = program_route(&w.program, &(struct hop){0, 3 - chip}, chip < 3);
    const double bytes[4] = {3000, 6000, 9000, 0};
    uint8_t mask[4] = {1, 1, 1, 0};
    struct op op = {.kind = OP_SEND, .where = program_mask(&w.program, mask), .payload = NO_PAYLOAD};
    op.towards = program_towards_table(&w.program, route, op.where);
    op.amount = program_amount_table(&w.program, bytes, op.where);
    int32_t all = program_add(&w.program, op);
    int32_t next = world_compute(&w, 1 * us, world_only(&w, 3));
    program_after(&w.program, all, AFTER_ARRIVED);
    world_simulate(&w);
    NEAR(end_of(&w, all, 2), 6 * us, close_frac);
    NEAR(end_of(&w, all, 1), 8 * us, close_frac);
    NEAR(end_of(&w, all, 0), 8 * us, close_frac);
    NEAR(start_of(&w, next, 3), 8 * us, close_frac);
    world_teardown(&w);
}

/* A slow link and a slow latency of its own: chip 1's + takes 5 us and 1e9 B/s: 2 + 5 + 21 us. */
static void link_of_its_own(void)
{
    struct world w;
    setup(&w, 3, false, WORLD_HOP_S);
    OKAY(slice_set_link(&w.slice, slice_link(&w.slice, 1, 0, 1), 1e9, 5 * us, &w.st), w.st);
    send(&w, 0, 2, 21000);
    world_simulate(&w);
    NEAR(w.trace.total_s, 28 * us, close_frac);
    world_teardown(&w);
}

/* The uni all-gather of a ring of 5: every step waits for the one before; 4 (a + V/(N w)) = 4 (2 + 7) us. */
static void ring_of_five(void)
{
    struct world w;
    setup(&w, 5, true, WORLD_HOP_S);
    for (int step = 0; step < 4; step++) {
        send_all(&w, 1, 21000);
        if (step > 0)
            program_after(&w.program, step - 1, AFTER_ARRIVED);
    }
    world_simulate(&w);
    NEAR(w.trace.total_s, 36 * us, close_frac);
    world_teardown(&w);
}

static void empty_program(void)
{
    struct world w;
    setup(&w, 1, false, WORLD_HOP_S);
    world_simulate(&w);
    CU_ASSERT_EQUAL(w.trace.total_s, 0);
    world_teardown(&w);
}

static void expect_refusal(int ops, const char *why)
{
    struct world w;
    world_setup_in(&w, "simgrid", 64, 64, true, WORLD_HOP_S);
    for (int o = 0; o < ops; o++)
        send_all(&w, 1, 21000);
    world_refused(&w, why);
    world_teardown(&w);
}

/* 4096 chips: 2049 ops are just above 2^23 in all; 25 that all start at once are 102,400 actors. */
static void too_large(void)
{
    expect_refusal(2049, "2049 ops on 4096 chips");
    expect_refusal(25, "102400 ops at once");
}

SUITE("simgrid", TEST(one_transfer), TEST(any_size), TEST(shared_link), TEST(shared_link_with_latency),
      TEST(max_min), TEST(both_ways), TEST(axis_of_two), TEST(nothing_to_send), TEST(setup_time),
      TEST(routes_of_one_pair), TEST(link_passed_twice), TEST(compute_queue), TEST(waits), TEST(tables),
      TEST(link_of_its_own), TEST(ring_of_five), TEST(empty_program), TEST(too_large))
