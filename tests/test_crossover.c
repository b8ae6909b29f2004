/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where bidi-half overtakes bidi: found from the simulation, known from the closed forms. */
#include <string.h>

#include "collective/collective.h"
#include "report/crossover.h"
#include "settings/option.h"
#include "suite.h"

static struct crossover find(const char *slice, const char *axis, const char *wrap, int first, int second)
{
    struct point a, b;
    struct catalog catalog = {0};
    struct crossover crossover;
    struct status st = {0};
    point_init(&a);
    a.work.op = "all-gather";
    a.machine.chip = "v5p";
    a.machine.slice = slice;
    a.work.axis = axis;
    a.machine.wrap = wrap;
    a.schedule.ring = first;
    b = a;
    b.schedule.ring = second;
    OKAY(crossover_find(&a, &b, &catalog, &crossover, &st), st);
    catalog_free(&catalog);
    return crossover;
}

/* E2 = E3: N/2 (a + V/(N w)) = (N-1)(a + V/(2 N w)), so V = N (N-2) a w, with a = 1 us, w = 90 GB/s. */
static void even_rings_cross(void)
{
    static const struct {
        const char *slice;
        int n;
    } cases[] = {{"4", 4}, {"6", 6}, {"8", 8}, {"16", 16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct crossover found = find(cases[i].slice, "x", "all", RING_BIDI, RING_BIDI_HALF);
        CU_ASSERT_EQUAL(found.first, -1);
        CU_ASSERT_EQUAL_FATAL(found.count, 1);
        NEAR(found.bytes[0], cases[i].n * (cases[i].n - 2) * 1e-6 * 90e9, 1e-4);
    }
}

/* On an odd ring bidi is ahead by (N-1)/2 hops of latency at every size; a line has one algorithm for both. */
static void odd_rings_and_lines_do_not(void)
{
    struct crossover odd = find("7", "x", "all", RING_BIDI, RING_BIDI_HALF);
    CU_ASSERT(odd.first == -1 && odd.count == 0);
    struct crossover line = find("8", "x", "none", RING_BIDI, RING_BIDI_HALF);
    CU_ASSERT(line.first == 0 && line.count == 0);
}

/* E7, k = 3, N = 8: 3 [N/2 a] + V' (N/2)/((N-1) 3 w) = 3 (N-1) a + V'/(6 w), V' = V (1 - N^-3): V' (4/21 - 1/6)/w =
 * 9 a, so V = 378 a w / (1 - 1/512) = 34.087 MB. */
static void three_axes_cross_later(void)
{
    struct crossover found = find("8x8x8", NULL, "all", RING_BIDI, RING_BIDI_HALF);
    CU_ASSERT_EQUAL_FATAL(found.count, 1);
    NEAR(found.bytes[0], 378 * 1e-6 * 90e9 / (1 - 1.0 / 512), 1e-4);
}

static void sides_may_be_swapped(void)
{
    struct crossover found = find("8", "x", "all", RING_BIDI_HALF, RING_BIDI);
    CU_ASSERT(found.first == 1 && found.count == 1);
}

static void sentences_read_well(void)
{
    static const struct {
        struct crossover crossover;
        const char *text;
    } cases[] = {
        {{-1, 1, {4320123}}, "# bidi-half overtakes bidi at 4.32 MB\n"},
        {{1, 2, {1234567, 9.8765e9}},
         "# bidi overtakes bidi-half at 1.235 MB\n# bidi-half overtakes bidi at 9.877 GB\n"},
        {{-1, 0, {0}}, "# bidi-half never overtakes bidi (from 1KiB to 1TiB)\n"},
        {{0, 0, {0}}, "# bidi and bidi-half take the same time at every size\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256] = "";
        FILE *out = fmemopen(text, sizeof text, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(out);
        crossover_print(&cases[i].crossover, "bidi", "bidi-half", out);
        fclose(out);
        CU_ASSERT_STRING_EQUAL(text, cases[i].text);
    }
}

SUITE("crossover", TEST(even_rings_cross), TEST(odd_rings_and_lines_do_not), TEST(three_axes_cross_later),
      TEST(sides_may_be_swapped), TEST(sentences_read_well))
