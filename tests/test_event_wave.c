/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chips that start together in the event engine: what rides alone, and what becomes of it when others join its
 * links. By hand; world.h says how fast links are.
 */
#include "suite.h"

#include "world.h"

/* More chips than one batch holds, and more than two. */
enum { RING = 33 };

/* Every chip's 6000 bytes flow from 2 to 4 us. At 3 us another send of chip 2 joins its link: 3000 bytes of
 * each are left then, at half the rate. What waits for it waits on chip 3 and on no other. */
static void a_late_send_breaks_one_link_of_a_wave(void)
{
    struct world w;
    world_setup(&w, RING, 1, true);
    int32_t wave = world_send(&w, 1, 6000, 0, WHERE_ALL);
    int32_t late = world_send(&w, 1, 3000, 1 * WORLD_US, world_only(&w, 2));
    int32_t next = world_compute(&w, 7 * WORLD_US, WHERE_ALL);
    program_after(&w.program, wave, AFTER_ARRIVED);
    world_simulate(&w);
    world_runs(&w, late, 2, 0, 5);
    for (int c = 0; c < RING; c++) {
        world_runs(&w, wave, c, 0, c == 2 ? 5 : 4);
        world_runs(&w, next, c, c == 3 ? 5 : 4, c == 3 ? 12 : 11);
    }
    world_teardown(&w);
}

/* Every chip's 12000 bytes flow from 2 to 6 us. The path begins at 4 us, when 6000 are left, and takes half of
 * two links until 5 us; 4500 are left there then. */
static void a_path_breaks_all_links_that_it_crosses(void)
{
    struct world w;
    world_setup(&w, RING, 1, true);
    int32_t wave = world_send(&w, 1, 12000, 0, WHERE_ALL);
    int32_t path = world_send(&w, 2, 1500, 0, world_only(&w, 16));
    world_simulate(&w);
    world_runs(&w, path, 16, 0, 5);
    for (int c = 0; c < RING; c++)
        world_runs(&w, wave, c, 0, c == 16 || c == 17 ? 6.5 : 6);
    world_teardown(&w);
}

/* A path on its way over two links when the wave begins: both have half of them from 4 us on. 3000 bytes of the
 * path take 2 us; then the wave has 9000 left there, and ends at 9 instead of 8 us. */
static void a_wave_finds_links_in_use(void)
{
    struct world w;
    world_setup(&w, RING, 1, true);
    int32_t path = world_send(&w, 2, 3000, 0, world_only(&w, 16));
    int32_t wave = world_send(&w, 1, 12000, 2 * WORLD_US, WHERE_ALL);
    world_simulate(&w);
    world_runs(&w, path, 16, 0, 6);
    for (int c = 0; c < RING; c++)
        world_runs(&w, wave, c, 0, c == 16 || c == 17 ? 9 : 8);
    world_teardown(&w);
}

/* One begins in the instant in which the other ends, whichever comes first in the program: they never share. */
static void one_wave_follows_the_other(void)
{
    for (int late = 0; late < 2; late++) {
        struct world w;
        world_setup(&w, RING, 1, true);
        int32_t op[2];
        for (int i = 0; i < 2; i++)
            op[i] = world_send(&w, 1, 3000, i == late ? 1 * WORLD_US : 0, WHERE_ALL);
        world_simulate(&w);
        for (int c = 0; c < RING; c++) {
            world_runs(&w, op[!late], c, 0, 3);
            world_runs(&w, op[late], c, 0, 4);
        }
        world_teardown(&w);
    }
}

/* Another send of chip 2 begins in the instant in which the wave ends: it makes no difference to the wave, not
 * even to the last bit, whatever the bytes. */
static void an_end_is_an_end(void)
{
    for (int i = 1; i <= 40; i++) {
        struct world w;
        double bytes = 1000.7 * i;
        world_setup(&w, RING, 1, true);
        int32_t wave = world_send(&w, 1, bytes, 0, WHERE_ALL);
        world_send(&w, 1, 3000, bytes / WORLD_LINK_BPS, world_only(&w, 2));
        world_simulate(&w);
        const double *end_s = &w.trace.end_s[(int64_t)wave * RING];
        for (int c = 1; c < RING; c++)
            CU_ASSERT(end_s[c] == end_s[0]);
        world_teardown(&w);
    }
}

/* 3000 bytes take 1 us, and 2 us on one link of half the speed: the first one of the wave, or another. */
static void a_slow_link_ends_later(void)
{
    for (int slow = 0; slow < RING; slow += RING - 1) {
        struct world w;
        world_setup(&w, RING, 1, true);
        int link = slice_link(&w.slice, slow, 0, 1);
        OKAY(slice_set_link(&w.slice, link, WORLD_LINK_BPS / 2, WORLD_HOP_S, &w.st), w.st);
        int32_t wave = world_send(&w, 1, 3000, 0, WHERE_ALL);
        world_simulate(&w);
        for (int c = 0; c < RING; c++)
            world_runs(&w, wave, c, 0, c == slow ? 4 : 3);
        world_teardown(&w);
    }
}

/* Latencies that differ: 2 us, and 5 us on one link. */
static void a_far_link_begins_later(void)
{
    struct world w;
    world_setup(&w, RING, 1, true);
    OKAY(slice_set_link(&w.slice, slice_link(&w.slice, 7, 0, 1), WORLD_LINK_BPS, 5e-6, &w.st), w.st);
    int32_t wave = world_send(&w, 1, 3000, 0, WHERE_ALL);
    world_simulate(&w);
    for (int c = 0; c < RING; c++)
        world_runs(&w, wave, c, 0, c == 7 ? 6 : 3);
    world_teardown(&w);
}

/* 3000 and 6000 bytes share every link, 4 and 5 us, and so in every round: enough rounds for sends to start
 * apart for a while, and as waves again. */
static void waves_that_always_break(void)
{
    enum { ROUNDS = 70 };
    struct world w;
    int32_t small[ROUNDS], large[ROUNDS];
    world_setup(&w, RING, 1, true);
    for (int i = 0; i < ROUNDS; i++) {
        small[i] = world_send(&w, 1, 3000, 0, WHERE_ALL);
        program_after(&w.program, i ? large[i - 1] : -1, AFTER_ARRIVED);
        large[i] = world_send(&w, 1, 6000, 0, WHERE_ALL);
        program_after(&w.program, i ? large[i - 1] : -1, AFTER_ARRIVED);
    }
    world_simulate(&w);
    for (int i = 0; i < ROUNDS; i++)
        for (int c = 0; c < RING; c++) {
            world_runs(&w, small[i], c, 5 * i, 5 * i + 4);
            world_runs(&w, large[i], c, 5 * i, 5 * i + 5);
        }
    world_teardown(&w);
}

/* Three of 3000 bytes and one of 4500 share a link and have a quarter of it each: 4 us for the three, which end
 * at the same byte, then 1500 bytes alone. */
static void several_end_at_the_same_byte(void)
{
    struct world w;
    world_setup(&w, RING, 1, true);
    int32_t one = world_send(&w, 1, 3000, 0, world_only(&w, 5)),
            more = world_send(&w, 1, 4500, 0, world_only(&w, 5)),
            two = world_send(&w, 1, 3000, 0, world_only(&w, 5)),
            three = world_send(&w, 1, 3000, 0, world_only(&w, 5));
    world_simulate(&w);
    world_runs(&w, one, 5, 0, 6);
    world_runs(&w, two, 5, 0, 6);
    world_runs(&w, three, 5, 0, 6);
    world_runs(&w, more, 5, 0, 6.5);
    world_teardown(&w);
}

SUITE("event_wave", TEST(a_late_send_breaks_one_link_of_a_wave),
      TEST(a_path_breaks_all_links_that_it_crosses), TEST(a_wave_finds_links_in_use),
      TEST(one_wave_follows_the_other), TEST(an_end_is_an_end), TEST(a_slow_link_ends_later),
      TEST(a_far_link_begins_later), TEST(waves_that_always_break), TEST(several_end_at_the_same_byte))
