/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines without ends: chips are alike, and time, bytes and the busiest link are those of lines with ends. */
#include "collective/collective.h"

#include <math.h>

#include "engine/timing.h"
#include "metrics/metrics.h"
#include "suite.h"

/* Lines along parts of the axes of a torus, and a collective of as many bytes over them. */
struct lines {
    struct slice slice;
    struct ring ring[COLLECTIVE_RINGS];
    struct collective_spec spec;
};

/* Each part has so many chips, `stride` apart; 0: the axis has none. */
static void lines_open(struct lines *lines, const int len[], const int n[], const int stride[], int64_t bytes)
{
    struct status st = {0};
    *lines = (struct lines){.spec = {.elements = bytes,
                                     .elem_bytes = 1,
                                     .kind = RING_BIDI_HALF,
                                     .setup_s = 2.385e-6,
                                     .timing_only = true}};
    OKAY(slice_init(&lines->slice, 3, len, (bool[]){true, true, true}, 45e9, 1e-6, &st), st);
    for (int a = 0; a < 3; a++) {
        struct ring *ring = &lines->ring[lines->spec.rings];
        if (n[a] == 0)
            continue;
        OKAY(
            ring_of_part(ring, &lines->slice, &(struct side){.axis = a, .n = n[a], .stride = stride[a]}, &st),
            st);
        lines->spec.ring[lines->spec.rings++] = ring;
    }
}

static void lines_close(struct lines *lines)
{
    for (int r = 0; r < lines->spec.rings; r++)
        ring_free(&lines->ring[r]);
    slice_free(&lines->slice);
}

/* What a run says. */
struct ran {
    struct metrics metrics;
    double link_bytes;
    int orbit;
};

static struct ran run(struct lines *lines, const char *op, bool endless)
{
    struct status st = {0};
    struct program program;
    struct timing timing;
    struct counts counts;
    struct ran ran = {0};
    lines->spec.endless = endless;
    program_init(&program, &lines->slice);
    OKAY(collective_by_name(op, &st)->build(&lines->spec, &program, -1, NULL, &st), st);
    OKAY(program_check(&program, &st), st);
    CU_ASSERT_EQUAL(program_is_endless(&program), endless);
    OKAY(timing_init(&timing, &program, engine_fastest(), true, &st), st);
    OKAY(timing_run(&timing, RECORD_NONE, &st), st);
    OKAY(counts_find(&counts, timing.program, timing.fold.orbit, &st), st);
    const struct metrics_run of = {timing.program, &counts, &timing.trace, 0, 0, timing.fold.orbit};
    OKAY(metrics_compute(&ran.metrics, &of, &st), st);
    ran.link_bytes = program_link_bytes(&program);
    ran.orbit = timing.fold.orbit;
    timing_free(&timing);
    program_free(&program);
    return ran;
}

/* The time of a line is that of its ends: n - 1 steps of a chunk and a hop, so also that of a line without ends. A gather fills
 * its last link, a scatter its first one, and an all-reduce both a little more than half. */
static void single_lines_take_as_long(void)
{
    static const char *const ops[] = {"all-gather", "reduce-scatter", "all-reduce"};
    static const int n[][3] = {{7, 0, 0}, {0, 5, 0}, {0, 0, 3}};
    for (int i = 0; i < 9; i++) {
        struct lines lines;
        lines_open(&lines, (int[]){14, 15, 21}, n[i % 3], (int[]){1, 1, 1}, 3 * 5 * 7 * 1995);
        struct ran real = run(&lines, ops[i / 3], false), endless = run(&lines, ops[i / 3], true);
        NEAR(endless.metrics.time_s, real.metrics.time_s, 1e-9);
        NEAR(endless.link_bytes, real.link_bytes, 1e-12);
        NEAR(endless.metrics.link_bytes, real.metrics.link_bytes, 1e-12);
        NEAR(endless.metrics.max_link_bytes, real.metrics.max_link_bytes, 1e-12);
        NEAR(endless.metrics.max_link_frac, real.metrics.max_link_frac, 1e-9);
        NEAR(endless.metrics.mean_link_frac, real.metrics.mean_link_frac, 1e-9);
        CU_ASSERT_EQUAL(endless.metrics.counts.transfers, real.metrics.counts.transfers);
        CU_ASSERT_EQUAL(endless.metrics.counts.steps, real.metrics.counts.steps);
        CU_ASSERT_EQUAL(endless.orbit, lines.slice.chips);
        CU_ASSERT(real.orbit < lines.slice.chips);
        lines_close(&lines);
    }
}

/* Over several lines, chips in the middle of one begin the next one early, which those without ends do not: within 5 %, all
 * bytes the same. Strides of 2 and 3 share links. */
static void boxes_take_about_as_long(void)
{
    static const char *const ops[] = {"all-gather", "reduce-scatter", "all-reduce"};
    static const int n[][3] = {{7, 5, 7}, {7, 5, 0}, {0, 5, 7}, {7, 0, 7}};
    for (int i = 0; i < 24; i++) {
        struct lines lines;
        int stride = i % 3 == 0 ? 2 : 1;
        lines_open(&lines, (int[]){14 * stride, 15, 21}, n[i % 4], (int[]){stride, 1, 1},
                   i < 12 ? 3 * 5 * 7 * 1995 : (int64_t)3 * 5 * 7 * 1995 * 385);
        struct ran real = run(&lines, ops[i / 4 % 3], false), endless = run(&lines, ops[i / 4 % 3], true);
        NEAR(endless.metrics.time_s, real.metrics.time_s, 0.05);
        NEAR(endless.link_bytes, real.link_bytes, 1e-12);
        NEAR(endless.metrics.max_link_bytes, real.metrics.max_link_bytes, 1e-9);
        CU_ASSERT_EQUAL(endless.orbit, lines.slice.chips);
        lines_close(&lines);
    }
}

/* An all-to-all is as long as the middle of its longest line is busy, n^2/4 blocks each way, but for the ways there. */
static void all_to_alls_fill_the_middle(void)
{
    static const int n[][3] = {{7, 0, 0}, {0, 4, 0}, {7, 4, 0}, {7, 4, 3}, {7, 2, 0}, {7, 0, 21}};
    for (int i = 0; i < 6; i++) {
        struct lines lines;
        lines_open(&lines, (int[]){14, 16, 21}, n[i], (int[]){1, 1, 1},
                   (int64_t)3 * 5 * 7 * 1995 * 7 * 385 * 16);
        struct ran real = run(&lines, "all-to-all", false), endless = run(&lines, "all-to-all", true);
        NEAR(endless.metrics.time_s, real.metrics.time_s, 0.03);
        NEAR(endless.link_bytes, real.link_bytes, 1e-9);
        CU_ASSERT_EQUAL(endless.metrics.counts.steps, real.metrics.counts.steps);
        CU_ASSERT_EQUAL(endless.orbit, lines.slice.chips);
        lines_close(&lines);
    }
}

/* Which rings have a hop that is the same for all their steps. */
static void steps_are_alike(void)
{
    static const struct {
        int n, stride, delta;
        bool closed;
    } part[] = {{7, 1, 1, false}, {7, 2, 2, true}, {14, 1, 1, true}, {2, 1, 1, false}, {2, 7, 7, false}};
    for (int i = 0; i < 5; i++) {
        struct lines lines;
        lines_open(&lines, (int[]){5, 14, 3}, (int[]){0, part[i].n, 0}, (int[]){1, part[i].stride, 1}, 1995);
        CU_ASSERT_EQUAL(lines.ring[0].closed, part[i].closed);
        CU_ASSERT_EQUAL(lines.ring[0].step_axis, 1);
        CU_ASSERT_EQUAL(lines.ring[0].step_delta, part[i].delta);
        lines_close(&lines);
    }
    struct status st = {0};
    struct slice slice;
    struct ring ring;
    OKAY(slice_init(&slice, 1, (int[]){8}, (bool[]){true}, 45e9, 1e-6, &st), st);
    OKAY(ring_of_groups(&ring, &slice, (int32_t[]){0, 1, 3, 2, 4, 5, 7, 6}, 2, 4, &st), st);
    CU_ASSERT_EQUAL(ring.step_delta, 0); /* +1 and +2 */
    ring_free(&ring);
    OKAY(ring_of_groups(&ring, &slice, (int32_t[]){0, 1, 2, 4, 5, 6}, 2, 3, &st), st);
    CU_ASSERT_EQUAL(ring.step_delta, 0); /* not all chips */
    ring_free(&ring);
    slice_free(&slice);
}

SUITE("endless", TEST(single_lines_take_as_long), TEST(boxes_take_about_as_long),
      TEST(all_to_alls_fill_the_middle), TEST(steps_are_alike))
