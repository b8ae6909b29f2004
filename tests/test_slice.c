/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices and routes: shapes as text, links and neighbours, bisections, shortest ways. */
#include <stdlib.h>
#include <string.h>

#include "machine/route.h"
#include "machine/slice.h"
#include "suite.h"

static const bool no_wrap[3] = {false}, all_wrap[3] = {true, true, true};

static struct slice make(const char *shape, const bool wrap[])
{
    struct slice slice;
    struct status st = {0};
    int len[SLICE_AXES], axes = slice_parse_shape(shape, len, &st);
    OKAY(slice_init(&slice, axes, len, wrap, 45e9, 1e-6, &st), st);
    OKAY(slice_check(&slice, &st), st);
    return slice;
}

static void shapes_print_back(void)
{
    static const char *const good[] = {"4", "1x8", "4x4x8", "16x20x28", "2x2x1"};
    static const char *const bad[] = {"", "4x", "x4", "4x4x4x4", "0x4", "-4", "4y4", "4 x4", "99999999999"};
    char text[SLICE_TEXT];
    for (int i = 0; i < 5; i++) {
        struct slice slice = make(good[i], all_wrap);
        CU_ASSERT_STRING_EQUAL(slice_print_shape(&slice, text), good[i]);
    }
    for (int i = 0; i < 9; i++) {
        struct status st = {0};
        int len[SLICE_AXES];
        CU_ASSERT_EQUAL(slice_parse_shape(bad[i], len, &st), STATUS_INPUT);
    }
}

static void chips_have_coordinates(void)
{
    struct slice slice = make("4x4x8", all_wrap);
    /* (0,1,5): 0 * 32 + 1 * 8 + 5 */
    CU_ASSERT_EQUAL(slice_chip(&slice, (int[]){0, 1, 5}), 13);
    for (int chip = 0; chip < slice.chips; chip++) {
        int coord[3] = {slice_coord(&slice, chip, 0), slice_coord(&slice, chip, 1),
                        slice_coord(&slice, chip, 2)};
        CU_ASSERT_EQUAL(slice_chip(&slice, coord), chip);
    }
}

/* 3x5x7 wrapped has 6 links out of each of 105 chips. Open, an axis of n has n-1 cables a line: 2 (2*35 + 4*21 + 6*15)
 * links. An axis of 2 has one cable, of 1 none. */
static void counts_links(void)
{
    struct slice slice = make("3x5x7", all_wrap);
    CU_ASSERT_EQUAL(slice_count_links(&slice), 630);
    slice = make("3x5x7", no_wrap);
    CU_ASSERT_EQUAL(slice_count_links(&slice), 2 * (2 * 35 + 4 * 21 + 6 * 15));
    slice = make("2x1x3", all_wrap);
    CU_ASSERT_EQUAL(slice_count_links(&slice), 2 * (3 + 2 * 3));
    CU_ASSERT_EQUAL(slice_link(&slice, 0, 0, 1), slice_link(&slice, 0, 0, -1));
    CU_ASSERT_EQUAL(slice_link_end(&slice, slice_link(&slice, 0, 0, -1)), 3);
    CU_ASSERT_EQUAL(slice_link(&slice, 0, 1, 1), -1);
    CU_ASSERT_FALSE(slice.wrap[0]);
}

/* facts: v5e 16x16 at the nominal 50 GB/s has 1.6 TB/s. A mesh 4x8 is cut across its longer axis: 4 cables. With x
 * open and y closed on 8x6, 6 cables against 2 * 8. */
static void cuts_planes(void)
{
    struct slice slice = make("16x16", all_wrap);
    slice.link_Bps = 50e9;
    NEAR(slice_bisection_Bps(&slice), 1.6e12, 1e-12);
    slice = make("4x8", no_wrap);
    NEAR(slice_bisection_Bps(&slice), 4 * 45e9, 1e-12);
    slice = make("8x6", (bool[]){false, true});
    NEAR(slice_bisection_Bps(&slice), 6 * 45e9, 1e-12);
    slice = make("1", no_wrap);
    CU_ASSERT(slice_bisection_Bps(&slice) <= 0);
}

static void links_have_speeds_of_their_own(void)
{
    struct slice slice = make("5x3", all_wrap);
    struct status st = {0};
    int link = slice_link(&slice, 7, 1, -1);
    OKAY(slice_set_link(&slice, link, 11e9, 2.385e-6, &st), st);
    NEAR(slice_link_Bps(&slice, link), 11e9, 0);
    NEAR(slice_link_latency_s(&slice, link), 2.385e-6, 0);
    NEAR(slice_link_Bps(&slice, link + 1), 45e9, 0);
    CU_ASSERT_EQUAL(slice_set_link(&slice, link, 0, 0, &st), STATUS_INPUT);
    slice_free(&slice);
}

/* The hop between two chips of one axis; 0 where there are several. */
static int only_hop(const struct slice *slice, int from, int to)
{
    struct minimal_route minimal[MINIMAL_ROUTES];
    route_minimal(slice, from, to, minimal);
    return minimal[0].hops == 1 ? minimal[0].hop[0].delta : 0;
}

/* On a ring of 8: 5 on is 3 back, half way goes by +, and both ways where ties are asked for. */
static void takes_the_shorter_way(void)
{
    struct slice ring = make("8", all_wrap), line = make("8", no_wrap), pair = make("2", all_wrap);
    CU_ASSERT_EQUAL(only_hop(&ring, 1, 6), -3);
    CU_ASSERT_EQUAL(only_hop(&ring, 6, 2), 4);
    CU_ASSERT_EQUAL(only_hop(&line, 1, 6), 5);
    CU_ASSERT_EQUAL(only_hop(&pair, 1, 0), 1);
    struct minimal_route minimal[MINIMAL_ROUTES];
    struct slice cube = make("4x4x4", all_wrap);
    /* x and z tie: the four ways differ in the signs of these two */
    CU_ASSERT_EQUAL(route_minimal(&cube, 0, slice_chip(&cube, (int[]){2, 1, 2}), minimal), 4);
    for (int w = 0; w < 4; w++) {
        CU_ASSERT_EQUAL(minimal[w].hop[0].delta, w & 1 ? -2 : 2);
        CU_ASSERT_EQUAL(minimal[w].hop[1].delta, 1);
        CU_ASSERT_EQUAL(minimal[w].hop[2].delta, w & 2 ? -2 : 2);
    }
    CU_ASSERT_EQUAL(route_minimal(&cube, 5, 5, minimal), 1);
    CU_ASSERT_EQUAL(minimal[0].hops, 0);
}

/* Every way between any two chips ends there, is as long as the first, and walks links that follow each other. */
static void ways_lead_there(void)
{
    struct suite_random random = {357};
    for (int i = 0; i < 300; i++) {
        int len[3] = {1 + (int)suite_random(&random, 6), 1 + (int)suite_random(&random, 6),
                      1 + (int)suite_random(&random, 4)};
        bool wrap[3] = {suite_random(&random, 2), suite_random(&random, 2), suite_random(&random, 2)};
        struct slice slice;
        struct status st = {0};
        OKAY(slice_init(&slice, 3, len, wrap, 45e9, 1e-6, &st), st);
        OKAY(slice_check(&slice, &st), st);
        int from = (int)suite_random(&random, (unsigned)slice.chips),
            to = (int)suite_random(&random, (unsigned)slice.chips);
        struct minimal_route minimal[MINIMAL_ROUTES];
        int ways = route_minimal(&slice, from, to, minimal), link[64];
        for (int w = 0; w < ways; w++) {
            int links = route_length(minimal[w].hop, minimal[w].hops);
            CU_ASSERT_EQUAL(links, route_length(minimal[0].hop, minimal[0].hops));
            CU_ASSERT_EQUAL(route_walk(&slice, from, minimal[w].hop, minimal[w].hops, link), to);
            for (int l = 0; l < links; l++)
                CU_ASSERT_EQUAL(slice_link_start(&slice, link[l]),
                                l ? slice_link_end(&slice, link[l - 1]) : from);
        }
    }
    struct slice line = make("4", no_wrap);
    CU_ASSERT_EQUAL(route_walk(&line, 2, &(struct hop){0, 2}, 1, NULL), -1);
}

/* Links between two chips over live links, found by trying all; -1 if there is no way. */
static int distance(const struct slice *slice, int from, int to)
{
    int links[512];
    for (int chip = 0; chip < slice->chips; chip++)
        links[chip] = chip == from ? 0 : -1;
    for (bool more = true; more;) {
        more = false;
        for (int id = 0; id < slice_link_ids(slice); id++) {
            struct slice_link row = slice_link_row(slice, id);
            if (row.kind != LINK_ICI || links[row.from] < 0 ||
                (links[row.to] >= 0 && links[row.to] <= links[row.from] + 1))
                continue;
            links[row.to] = links[row.from] + 1;
            more = true;
        }
    }
    return links[to];
}

/* On any slice with any dead links, a route is as short as can be, takes live links only, and is the regular one
 * where that is alive; there is none exactly where nothing leads there. */
static void routes_go_round_dead_links(void)
{
    struct suite_random random = {7411};
    int rounds = 0, round_about = 0, cut_off = 0;
    for (; rounds < 400; rounds++) {
        int len[3] = {1 + (int)suite_random(&random, 6), 1 + (int)suite_random(&random, 6),
                      1 + (int)suite_random(&random, 4)};
        bool wrap[3] = {suite_random(&random, 2), suite_random(&random, 2), suite_random(&random, 2)};
        struct slice slice;
        struct status st = {0}, none = {0};
        OKAY(slice_init(&slice, 3, len, wrap, 45e9, 1e-6, &st), st);
        for (int id = 0; id < slice_link_ids(&slice); id++)
            if (slice_is_link(&slice, id) && suite_random(&random, 5) == 0)
                OKAY(slice_kill_link(&slice, id, &st), st);
        OKAY(slice_check(&slice, &st), st);
        int from = (int)suite_random(&random, (unsigned)slice.chips),
            to = (int)suite_random(&random, (unsigned)slice.chips), want = distance(&slice, from, to);
        struct minimal_route minimal[MINIMAL_ROUTES];
        struct hop hop[ROUTE_HOPS];
        int hops = route_between(&slice, from, to, hop, &none);
        route_minimal(&slice, from, to, minimal);
        bool regular = route_walk(&slice, from, minimal[0].hop, minimal[0].hops, NULL) == to;
        CU_ASSERT_EQUAL(hops < 0, want < 0);
        if (hops >= 0) {
            CU_ASSERT_EQUAL(route_walk(&slice, from, hop, hops, NULL), to);
            CU_ASSERT_EQUAL(route_length(hop, hops), want);
            CU_ASSERT(!regular || (hops == minimal[0].hops &&
                                   memcmp(hop, minimal[0].hop, (size_t)hops * sizeof *hop) == 0));
        }
        round_about += hops >= 0 && !regular;
        cut_off += hops < 0;
        slice_free(&slice);
    }
    CU_ASSERT(round_about > 50 && cut_off > 5);
}

/* On 4x4 without wraps, from (1,0) to (2,0) past the dead link between them: y first, since x does not come closer.
 * A corner without its two links out is cut off, but can still be reached. */
static void says_what_cannot_be_reached(void)
{
    struct slice slice = make("4x4", no_wrap);
    struct status st = {0};
    struct hop hop[ROUTE_HOPS];
    OKAY(slice_kill_link(&slice, slice_link(&slice, 4, 0, 1), &st), st);
    CU_ASSERT_EQUAL(slice_link(&slice, 4, 0, 1), -1);
    CU_ASSERT_EQUAL(slice_count_links(&slice), 47);
    CU_ASSERT_EQUAL_FATAL(route_between(&slice, 4, 8, hop, &st), 3);
    CU_ASSERT(hop[0].axis == 1 && hop[0].delta == 1 && hop[1].axis == 0 && hop[1].delta == 1 &&
              hop[2].axis == 1 && hop[2].delta == -1);
    CU_ASSERT_EQUAL(route_between(&slice, 8, 4, hop, &st), 1); /* the link back is alive */
    OKAY(slice_kill_link(&slice, slice_link(&slice, 15, 0, -1), &st), st);
    OKAY(slice_kill_link(&slice, slice_link(&slice, 15, 1, -1), &st), st);
    CU_ASSERT_EQUAL(route_between(&slice, 2, 15, hop, &st), 2);
    CU_ASSERT_EQUAL(route_between(&slice, 15, 2, hop, &st), STATUS_INPUT);
    CU_ASSERT_STRING_EQUAL(
        st.text, "no route from chip (3,3) to chip (0,2): the links that are alive do not lead there");
    slice_free(&slice);
}

/* Groups of 3 chips on 5x7, listed by their numbers (7 x + y), against the first of them, (1,1) (2,1) (1,3). */
static void groups_are_moved(void)
{
    static const struct {
        int32_t chip[3];
        bool moved;
    } of[] = {
        {{8, 15, 10}, true},   /* itself */
        {{18, 25, 20}, true},  /* (2,4) (3,4) (2,6): the highest y */
        {{19, 26, 21}, false}, /* (2,5) (3,5) (3,0): past the end of y, though numbers are as far apart */
        {{7, 14, 9}, true},    /* (1,0) (2,0) (1,2): the lowest */
        {{21, 28, 23}, true},  /* (3,0) (4,0) (3,2): the highest x */
        {{8, 10, 15}, false},  /* another order */
        {{9, 16, 12}, false}}; /* another shape */
    struct slice slice = make("5x7", no_wrap);
    struct status st = {0};
    struct extent extent = slice_extent(&slice, of[0].chip, 3);
    CU_ASSERT(extent.low[0] == 0 && extent.high[0] == 1 && extent.low[1] == 0 && extent.high[1] == 2);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        CU_ASSERT_EQUAL(slice_is_moved(&slice, of[0].chip, of[i].chip, 3, &extent), of[i].moved);
    struct extent back = slice_extent(&slice, (int32_t[]){10, 15, 8}, 3); /* from (1,3) on */
    CU_ASSERT(back.low[0] == 0 && back.high[0] == 1 && back.low[1] == -2 && back.high[1] == 0);
    CU_ASSERT(
        !slice_is_moved(&slice, (int32_t[]){10, 15, 8}, (int32_t[]){15, 20, 13}, 3, &back)); /* y = 1 - 2 */
    CU_ASSERT(slice_is_moved(&slice, (int32_t[]){10, 15, 8}, (int32_t[]){16, 21, 14}, 3, &back));
    OKAY(slice_kill_link(&slice, slice_link(&slice, 30, 0, -1), &st), st);
    CU_ASSERT(
        !slice_is_moved(&slice, of[0].chip, of[1].chip, 3, &extent)); /* dead links make distances differ */
    slice_free(&slice);
}

SUITE("slice", TEST(shapes_print_back), TEST(chips_have_coordinates), TEST(counts_links), TEST(cuts_planes),
      TEST(links_have_speeds_of_their_own), TEST(takes_the_shorter_way), TEST(ways_lead_there),
      TEST(routes_go_round_dead_links), TEST(says_what_cannot_be_reached), TEST(groups_are_moved))
