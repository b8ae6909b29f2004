/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slow links, dead links and slow chips: what they do to times, worked out by hand, in both engines and folded. */
#include <math.h>
#include <string.h>

#include "engine/engine.h"
#include "machine/defects.h"
#include "points.h"
#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

static const double a = 1e-6, w = 45e9;

static struct point gather(const char *slice, int ring, const char *link)
{
    struct point point;
    point_init(&point);
    point.work.op = "all-gather";
    point.machine.slice = slice;
    point.work.axis = "x";
    point.work.size_bytes = 16u << 20;
    point.schedule.ring = ring;
    point.machine.link = link;
    return point;
}

/* In both engines, and in the event engine with and without folding, which must be equal. */
static struct result takes(struct point point, double time_s)
{
    struct result result;
    point.run.check = true;
    for (int run = 0; run < 3; run++) {
        point.run.fold = run == 2;
        point.run.engine = engine_number(run ? "event" : "simgrid");
        result = result_of(&point);
        NEAR(result.time_s, time_s, 1e-9);
        CU_ASSERT(result.bound_s <= result.time_s);
        CU_ASSERT(isnan(result.formula_exact_s) && isnan(result.formula_rule_s));
    }
    return result;
}

/* v5e 4x4 has lines of 4. A chunk c = 4 MiB / w crosses a link in c, the slow one from chip 1 to 2 in 1.25c. By + it has
 * two to carry: the chip's own, done at a + 1.25c, then that of chip 0, done at 2a + 2.5c, which chip 2 passes on: 3a + 3.5c.
 * bidi-half is the line algorithm, too. */
static void a_slow_link(void)
{
    double c = 4194304 / w;
    takes(gather("4x4", RING_BIDI, "1,0:x+=0.8"), 3 * a + 3.5 * c);
    takes(gather("4x4", RING_BIDI_HALF, "1,0:x+=80%"), 3 * a + 3.5 * c);
    /* At half its speed it would be 3a + 5c: it is avoided as if it were dead, see below. At a tenth 3a + 21c. */
    struct result result = takes(gather("4x4", RING_BIDI, "1,0:x+=0.5"), 5 * c + 2 * a);
    CU_ASSERT_STRING_EQUAL(result.rerouted,
                           "slow ones are avoided as if dead; rerouted: (1,0) to (2,0) by y+1 x+1 y-1");
    takes(gather("4x4", RING_BIDI, "1,0:x=0.1"), 5 * c + 2 * a);
    /* The last of two counts, and 1 is what it was: 3a + 3c. */
    takes(gather("4x4", RING_BIDI, "1,0:x=0.1 1,0:x=1"), 3 * a + 3 * c);
}

/* With it dead, row 0 goes by the link of row 1 beside it, L, three links instead of one:
 *     a          row 1's first chunk begins on L; from 3a on, row 0's has a share
 *     2c - a     row 1's has ended: it was alone for 2a and then had half. Row 0's has 2a of its time left
 *     2c         row 1's second chunk begins on L; row 0's first has a left, which takes 2a of half
 *     2c + 2a    row 0's first chunk has ended; its second begins on L at 2c + 5a, until when row 1 is alone
 *     4c - 3a    row 1's second has ended: at 2c + 5a c - 4a of it were left
 *     4c + a     row 0's second has ended; chip 2 passes it on to chip 3: 5c + 2a */
static void a_dead_link(void)
{
    double c = 4194304 / w;
    struct result result = takes(gather("4x4", RING_BIDI, "1,0:x+=0"), 5 * c + 2 * a);
    CU_ASSERT_STRING_EQUAL(result.rerouted, "rerouted: (1,0) to (2,0) by y+1 x+1 y-1");
    result = takes(gather("4x4", RING_BIDI, "1,0:x=0"), 5 * c + 2 * a);
    CU_ASSERT_STRING_EQUAL(result.rerouted,
                           "rerouted: (1,0) to (2,0) by y+1 x+1 y-1, (2,0) to (1,0) by y+1 x-1 y-1");
    /* What nobody uses changes nothing: 3a + 3c. */
    result = takes(gather("4x4", RING_BIDI, "1,0:y=0"), 3 * a + 3 * c);
    CU_ASSERT_STRING_EQUAL(result.rerouted, "nothing passes them");
}

/* Rings of 16 along x; where a cable of one is dead all are walked as lines, this one from beyond the break, so that
 * nothing goes round: E4, 15 (a + c) with c = V/16. */
static void a_ring_becomes_a_line(void)
{
    double c = 1048576 / w;
    struct result result = takes(gather("16x4", RING_BIDI_HALF, "5,2:x=0"), 15 * (a + c));
    CU_ASSERT_STRING_EQUAL(result.rerouted, "rings over x become lines");
    takes(gather("16x4", RING_BIDI, "5,2:x-=0"), 15 * (a + c));
    /* Each ring has its own break. */
    takes(gather("16x4", RING_BIDI_HALF, "5,2:x=0 15,0:x=0 11,3:x+=0"), 15 * (a + c));
    /* By + only, a ring whose + links are alive is as good as ever: E1. */
    takes(gather("16x4", RING_UNI, "5,2:x-=0"), 15 * (a + c));
}

/* Three slow links, one in each row of 4x3 at the same place along x, leave the rows alike: folding keeps that. */
static void what_is_alike_still_folds(void)
{
    struct catalog catalog = {0};
    struct result result;
    struct status st = {0};
    struct point point = gather("4x3", RING_UNI, "1,0:x+=0.995 1,1:x+=0.995 1,2:x+=0.995");
    point.machine.wrap = "all";
    OKAY(job_result(&point, &catalog, &result, &st), st);
    CU_ASSERT_STRING_EQUAL(result.fold, "4 of 12");
    /* uni: every chunk passes the slow link but one, which ends there: 3 steps of c/0.995, and latencies. The first step of
     * the slow link ends at a + c/0.995, and from then on it is never idle; the last chunk has to be passed on no more. */
    NEAR(result.time_s, 3 * (a + 4194304 / 0.995 / w), 1e-9);
    point.machine.link = "1,0:x+=0.995 1,1:x+=0.995";
    OKAY(job_result(&point, &catalog, &result, &st), st);
    CU_ASSERT_STRING_EQUAL(result.fold, "");
    catalog_free(&catalog);
}

/* 1024 x 4096 x 4096 on one chip is 2 * 2^34 flops: 174.4 us at 197 Tflops. At 0.8 of it 218 us, and the launch takes
 * as long as ever. A chip whose links pass everything is no slower for that. */
static void a_slow_chip(void)
{
    struct catalog catalog = {0};
    struct result result;
    struct status st = {0};
    struct point point;
    point_init(&point);
    point.work.op = "bf16[4096@(X,Y),4096] . bf16[4096,4096] -> bf16[4096@(X,Y),4096]";
    point.machine.mesh = "X=x,Y=y";
    point.machine.slice = "2x2";
    point.machine.launch_overhead_s = 2e-6;
    double product_s = 2.0 * 1024 * 4096 * 4096 / 197e12;
    OKAY(job_result(&point, &catalog, &result, &st), st);
    NEAR(result.time_s, product_s + 2e-6, 1e-9);
    point.machine.slow_chip = "1,0=0.8 0,1=0.9";
    OKAY(job_result(&point, &catalog, &result, &st), st);
    NEAR(result.time_s, product_s / 0.8 + 2e-6, 1e-9);
    NEAR(result.bound_s, result.time_s, 1e-9);
    point.work.op = "all-gather";
    point.work.size_bytes = 1 << 20;
    point.work.axis = "X";
    point.machine.launch_overhead_s = NAN;
    OKAY(job_result(&point, &catalog, &result, &st), st);
    NEAR(result.time_s, result.formula_exact_s, 1e-9);
    catalog_free(&catalog);
}

/* Rows of 8 that are rings overlap on what dead cables leave of them, lines: as without the wrap of x, whichever rows they are in, and
 * where each row breaks elsewhere. 2 * 8192 * 4096 * 8192 flops at 197 Tflops hide 7 steps of a chunk of 1024 x 4096 bf16; of uni the last
 * of a line is 7 links from the first: 7 (a + c) + 6 a. */
static void loops_go_on_along_lines(void)
{
    static const char *const links[] = {NULL, "3,3:x=0", "3,3:x=0 5,6:x=0"};
    const double c = 1024 * 4096 * 2 / w;
    for (int i = 0; i < 9; i++) {
        struct point point;
        struct status st = {0};
        point_init(&point);
        point.work.op = "bf16[8192@x,4096] . bf16[4096,8192] -> bf16[8192,8192]";
        point.machine.slice = "8x8";
        point.machine.wrap = links[i / 3] ? "x,y" : "y";
        point.machine.link = links[i / 3];
        point.run.check = true;
        OKAY(option_set(option_by_name("gather"), "before", &point, &st), st);
        OKAY(option_set(option_by_name("engine"), "both", &point, &st), st);
        OKAY(option_set(option_by_name("strategy"),
                        i % 3 == 0   ? "uni"
                        : i % 3 == 1 ? "bidi"
                                     : "bidi-half",
                        &point, &st),
             st);
        struct result result = result_of(&point);
        NEAR(result.time_s, 2.0 * 8192 * 4096 * 8192 / 197e12, 1e-9);
        NEAR(result.comm_s, 7 * (a + c) + (i % 3 == 0 ? 6 * a : 0), 1e-9);
    }
}

/* By a dead link chip (3,3) sends back over the seven others of its row where bytes count, and over three beside it, one of which row 4
 * uses first and alone, where latencies do. */
static void a_permute_goes_round(void)
{
    static const struct {
        uint64_t bytes;
        const char *rerouted;
        double time_s;
    } row[] = {{9000000, "(3,3) to (4,3) by x-7", 7e-6 + 9000000 / 45e9},
               {4500, "(3,3) to (4,3) by y+1 x+1 y-1", 3e-6 + 4500 / 45e9}};
    for (int i = 0; i < 2; i++) {
        struct point point = gather("8x8", RING_UNI, "3,3:x=0");
        point.work.op = "collective-permute";
        point.schedule.ring = CHOICE_OPEN;
        point.machine.wrap = "all";
        point.work.size_bytes = row[i].bytes;
        struct result result = result_of(&point);
        NEAR(result.time_s, row[i].time_s, 1e-9);
        CU_ASSERT_PTR_NOT_NULL(strstr(result.rerouted, row[i].rerouted));
    }
}

SUITE("defects", TEST(loops_go_on_along_lines), TEST(a_permute_goes_round), TEST(a_slow_link),
      TEST(a_dead_link), TEST(a_ring_becomes_a_line), TEST(what_is_alike_still_folds), TEST(a_slow_chip))
