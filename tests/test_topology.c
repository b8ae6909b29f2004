/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Another wiring than the torus: the twisted torus (src/machine/twisted.c), by its graph, folded and not, in both engines, as users call
 * it; test_collective_data.c moves numbers on it. The tests name small ones, 3x3x6_twisted, which no cloud offers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective/collective.h"
#include "engine/engine.h"
#include "engine/trace.h"
#include "machine/chip.h"
#include "machine/route.h"
#include "machine/topology.h"
#include "program/fold.h"
#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

static void make(struct slice *slice, int x, int y, int z, struct status *st)
{
    *st = (struct status){0};
    OKAY(slice_init(slice, 3, (int[]){x, y, z}, (bool[]){true, true, true}, 1e9, 1e-6, st), *st);
    OKAY(slice_twist(slice, true, st), *st);
    OKAY(slice_check(slice, st), *st);
}

static const int shapes[][SLICE_AXES] = {{3, 3, 6}, {6, 3, 3}, {3, 6, 3}, {3, 6, 6}, {6, 3, 6},
                                         {4, 4, 8}, {4, 8, 8}, {8, 8, 4}, {5, 5, 10}};
enum { SHAPES = sizeof shapes / sizeof *shapes, CHIPS = 256 };

/* Links from a chip to all, found by walking all links. */
static void measure(const struct slice *slice, int from, int links[])
{
    int queue[CHIPS], first = 0, last = 0;
    for (int chip = 0; chip < slice->chips; chip++)
        links[chip] = -1;
    links[from] = 0;
    queue[last++] = from;
    while (first < last)
        for (int chip = queue[first++], port = 0; port < 6; port++) {
            int to = slice_link_end(slice, slice_link(slice, chip, port / 2, port % 2 ? -1 : 1));
            if (links[to] >= 0)
                continue;
            links[to] = links[chip] + 1;
            queue[last++] = to;
        }
}

/* Shortest on the graph, as many of them as lead there in one order of the axes, no two alike. */
static void routes_are_shortest(void)
{
    for (int s = 0; s < SHAPES; s++) {
        struct slice slice;
        struct status st;
        make(&slice, shapes[s][0], shapes[s][1], shapes[s][2], &st);
        int links[CHIPS];
        for (int from = 0; from < slice.chips; from += 17) {
            measure(&slice, from, links);
            for (int to = 0; to < slice.chips; to++) {
                struct minimal_route minimal[MINIMAL_ROUTES];
                int ways = route_minimal(&slice, from, to, minimal);
                for (int w = 0; w < ways; w++) {
                    CU_ASSERT_EQUAL(route_walk(&slice, from, minimal[w].hop, minimal[w].hops, NULL), to);
                    CU_ASSERT_EQUAL(route_length(minimal[w].hop, minimal[w].hops), links[to]);
                    for (int v = 0; v < w; v++)
                        CU_ASSERT(memcmp(minimal[v].hop, minimal[w].hop,
                                         (size_t)minimal[w].hops * sizeof *minimal[w].hop) != 0);
                }
            }
        }
    }
}

/* Pairs that are closest in n links, the six ends of the three axes of a 4x4x8 half way round, tie in six ways; a slice looks alike from
 * every chip. The longest way is 6 links on 4x4x8 and on 4x8x8, 12 on twice these (facts of the network, and by measure()). */
static void chips_are_alike(void)
{
    static const int diameter[SHAPES] = {4, 4, 4, 4, 4, 6, 6, 6, 7};
    for (int s = 0; s < SHAPES; s++) {
        struct slice slice;
        struct status st;
        make(&slice, shapes[s][0], shapes[s][1], shapes[s][2], &st);
        int links[CHIPS], farthest = 0;
        measure(&slice, 0, links);
        for (int chip = 0; chip < slice.chips; chip++)
            farthest = links[chip] > farthest ? links[chip] : farthest;
        CU_ASSERT_EQUAL(farthest, diameter[s]);
        for (int axis = 0; axis < 3; axis++)
            for (int chip = 0, there[CHIPS]; chip < slice.chips; chip += 7) {
                measure(&slice, slice_moved(&slice, 0, axis, 3), there);
                CU_ASSERT_EQUAL(there[slice_moved(&slice, chip, axis, 3)], links[chip]);
                CU_ASSERT_EQUAL(slice_moved(&slice, slice_moved(&slice, chip, axis, 3), axis, -3), chip);
            }
    }
    struct slice slice;
    struct status st;
    struct minimal_route minimal[MINIMAL_ROUTES];
    make(&slice, 4, 4, 8, &st);
    CU_ASSERT_EQUAL(route_minimal(&slice, 0, 4, minimal), 6);
}

enum { OPTIONS = 16, TEXT = 64 };
typedef const char *options[OPTIONS][2];

/* Runs a point in an engine. Fails only where its input is wrong: returns the code. */
static int run_point(options option, const char *engine, struct result *result, struct status *st)
{
    struct point point;
    struct catalog catalog = {0};
    int code = 0;
    *st = (struct status){0};
    *result = (struct result){0};
    point_init(&point);
    for (int i = 0; option[i][0] && code == 0; i++)
        code = option[i][1] ? option_set(option_by_name(option[i][0]), option[i][1], &point, st) : 0;
    OKAY(option_set(option_by_name("engine"), engine, &point, st), *st);
    if (code == 0)
        code = job_result(&point, &catalog, result, st);
    catalog_free(&catalog);
    return code;
}

/* By hand, on links of 50 GB/s and 1 us. Along x of 4x4x8 are lines of 4: no end is joined to the other of its row; bidi-half takes
 * 3 (a + V/(4 w)). Along z are rings of 8, 7 (a + V/(16 w)). Over all chips rings of 8, 4 and 4, in three orders, both ways: all
 * links work all the time, and an all-gather takes (7 + 3 + 3) a + V (1 - 1/128)/(6 w); of 4x8x8 rings of 8, 8 and 4. */
static void times_by_hand(void)
{
    const double v_s = (768 << 20) / 50e9;
    const struct {
        const char *op, *axis, *slice;
        double time_s;
    } row[] = {
        {"all-gather", "x", "4x4x8", 3 * (1e-6 + v_s / 4)},
        {"reduce-scatter", "z", "4x4x8", 7 * (1e-6 + v_s / 16)},
        {"all-gather", "z,x,y", "4x4x8", 13e-6 + v_s * 127 / 128 / 6},
        {"reduce-scatter", NULL, "8x4x4", 13e-6 + v_s * 127 / 128 / 6},
        {"all-reduce", NULL, "4x8x8", 2 * (17e-6 + v_s * 255 / 256 / 6)},
        {"all-reduce", NULL, "4x8x8_torus", NAN},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct result result;
        struct status st;
        options option = {{"op", row[i].op},
                          {"chip", "v4"},
                          {"slice", row[i].slice},
                          {"size", "768MiB"},
                          {"axis", row[i].axis},
                          {"ring", "bidi-half"},
                          {"link-bandwidth", "50GBps"},
                          {"hop-latency", "1us"}};
        OKAY(run_point(option, "event", &result, &st), st);
        if (!isnan(row[i].time_s)) {
            NEAR(result.time_s, row[i].time_s, 1e-9);
            continue;
        }
        /* the parts walk rings of other lengths, and wait for each other */
        CU_ASSERT(result.time_s > 2 * (17e-6 + v_s * 255 / 256 / 6));
    }
}

/* 1 GiB, no latency: what the busiest link carries, of one unit a pair: on the torus N * n / 8 for the longest axis of n; twisted the sum of
 * all distances over 6 links a chip, which all carry as much: 440/6 on 4x4x8, 1104/6 on 4x8x8, 7136/6, 17856/6. */
static void all_to_alls_gain(void)
{
    static const struct {
        const char *slice;
        double load;
    } row[] = {{"4x4x8", 440. / 6},  {"4x8x8", 184},       {"8x8x16", 7136. / 6},  {"8x16x16", 2976},
               {"4x4x8_torus", 128}, {"4x8x8_torus", 256}, {"8x8x16_torus", 2048}, {"8x16x16_torus", 4096}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct result result;
        struct status st;
        options option = {{"op", "all-to-all"}, {"chip", "v5p"},       {"slice", row[i].slice},
                          {"size", "1GiB"},     {"hop-latency", "0s"}, {"dtype", "u8"}};
        OKAY(run_point(option, "event", &result, &st), st);
        double chips = (double)result.chips, pair_bytes = 1073741824 / (chips * chips);
        NEAR(result.time_s, row[i].load * pair_bytes / 90e9, 1e-9);
    }
}

/* A direct all-to-all, a gather and a permute fold onto one chip; with a slow link they may only where it sets the pace of all. */
static void folded_is_unfolded(void)
{
    static const char *const ops[] = {"all-to-all", "all-gather", "all-reduce"};
    static const char *const links[] = {NULL, "1,0,0:x=0.5"};
    for (int i = 0; i < 6; i++) {
        struct result folded, whole;
        struct status st;
        options option = {{"op", ops[i / 2]}, {"chip", "v5p"},        {"slice", "3x3x6_twisted"},
                          {"wrap", "all"},    {"link", links[i % 2]}, {"size", "3MB"}};
        OKAY(run_point(option, "event", &folded, &st), st);
        CU_ASSERT(i % 2 == 1 || strncmp(folded.fold, "1 of", 4) == 0);
        OKAY(run_point(option, "simgrid", &whole, &st), st);
        NEAR(whole.time_s, folded.time_s, 1e-9);
    }
}

/* By default where the chip's file says so; by name, or by --twist. */
static void names_and_options(void)
{
    static const struct {
        const char *chip, *slice, *wrap, *twist, *prints;
    } row[] = {{"v5p", "4x4x8", NULL, NULL, "4x4x8_twisted"},
               {"v4", "8x4x4", NULL, NULL, "8x4x4_twisted"},
               {"v7x", "8x16x16", NULL, NULL, "8x16x16_twisted"},
               {"v5p", "4x4x8", NULL, "off", "4x4x8"},
               {"v5p", "4x4x8", "x,z", NULL, "4x4x8"},
               {"v5p", "4x4x8_torus", NULL, NULL, "4x4x8"},
               {"v5p", "4x8x16", NULL, NULL, "4x8x16"},
               {"v5p", "3x6x3", "all", "on", "3x6x3_twisted"},
               {"v5p", "3x6x3", "all", NULL, "3x6x3"},
               {"v5p", "4x4x4", NULL, "on", NULL},
               {"v5p", "4x4x4_twisted", NULL, NULL, NULL},
               {"v5p", "4x4x8_toris", NULL, NULL, NULL}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct result result;
        struct status st;
        options option = {{"op", "all-gather"},  {"chip", row[i].chip},   {"slice", row[i].slice},
                          {"wrap", row[i].wrap}, {"twist", row[i].twist}, {"size", "1MB"}};
        CU_ASSERT_EQUAL(run_point(option, "event", &result, &st), row[i].prints ? 0 : STATUS_INPUT);
        if (row[i].prints)
            CU_ASSERT_STRING_EQUAL(result.slice, row[i].prints);
    }
}

#define ONE_OF(r, list) ((list)[suite_random((r), sizeof(list) / sizeof *(list))])

/* A collective, or a matmul, over the axes of a twisted slice, by any schedule; now and then with a slow or a dead link. */
static void choose_point(struct suite_random *r, options option)
{
    static const char *const ops[] = {"all-gather",
                                      "reduce-scatter",
                                      "all-reduce",
                                      "all-to-all",
                                      "ragged-all-to-all",
                                      "collective-permute",
                                      "broadcast",
                                      "bf16[108@x,64] . bf16[64,48] -> bf16[108@x,48]",
                                      "bf16[108,54@x] . bf16[54@x,48] -> bf16[108@x,48]"};
    static const char *const slices[] = {"3x3x6_twisted", "3x6x3_twisted", "6x3x3_twisted"};
    static const char *const meshes[] = {NULL, NULL, NULL, "x=x*y*z"}, *const axes[] = {"x", "y", "z",
                                                                                        "z,x,y", NULL};
    static const char *const rings[] = {"uni", "bidi", "bidi-half"}, *const sizes[] = {"1KiB", "96KiB",
                                                                                       "3MiB"};
    static const char *const links[] = {NULL, NULL, "1,0,0:x=0.5", "2,1,2:x+=0", "0,2,1:z=0 0,0,2:y=0.3"};
    const char *op = ONE_OF(r, ops), *mesh = ONE_OF(r, meshes), *axis = ONE_OF(r, axes);
    bool matmul = strchr(op, '['), ragged = op[0] == 'r' && op[1] == 'a', permute = op[0] == 'c';
    bool to_all = strstr(op, "all-to-all"), direct = ragged || permute || (to_all && suite_random(r, 2));
    const char *chosen[OPTIONS][2] = {
        {"op", op},
        {"chip", "v4"},
        {"slice", ONE_OF(r, slices)},
        {"wrap", "all"},
        {"link", ONE_OF(r, links)},
        {"mesh", mesh},
        {"axis", matmul ? NULL
                 : mesh ? "x"
                        : axis},
        {"size", matmul ? NULL : ONE_OF(r, sizes)},
        {"ring", matmul || direct ? NULL : ONE_OF(r, rings)},
        {"all-to-all", to_all && !ragged ? direct ? "direct" : "ring" : NULL},
        {"pair-sizes", ragged ? "random:7" : NULL},
        {"routes", permute && suite_random(r, 2) ? "2" : NULL},
        {"offset", permute && suite_random(r, 2) ? "3" : NULL},
        {"strategy", matmul ? ONE_OF(r, rings) : NULL},
        {matmul || permute || suite_random(r, 3) ? NULL : "one-ring", "on"},
    };
    memcpy(option, chosen, sizeof chosen);
}

/* Both engines agree, no bound is above them, and a closed form is right or there is none. */
static void points_agree(void)
{
    const char *more = getenv("ICISIM_ROUNDS");
    int runs = 0, forms = 0, matmuls = 0, rounds = more ? atoi(more) : 30;
    for (unsigned long seed = 0; seed < (unsigned long)rounds; seed++) {
        struct suite_random random = {seed};
        struct result event, simgrid;
        struct status st;
        options option;
        choose_point(&random, option);
        if (run_point(option, "event", &event, &st) <
            0) { /* an axis that there is not, no second route, no way */
            CU_ASSERT_EQUAL(st.code, STATUS_INPUT);
            continue;
        }
        OKAY(run_point(option, "simgrid", &simgrid, &st), st);
        bool right = fabs(simgrid.time_s - event.time_s) <= 1e-9 * event.time_s &&
                     event.bound_s <= event.time_s * (1 + 1e-9) &&
                     (isnan(event.formula_exact_s) ||
                      fabs(event.formula_exact_s - event.time_s) <= 1e-9 * event.time_s);
        runs++;
        forms += !isnan(event.formula_exact_s);
        matmuls += strchr(option[0][1], '[') != NULL;
        CU_ASSERT(right);
        for (int i = 0; !right && option[i][0]; i++)
            fprintf(stderr, "%s%s", option[i][1] ? " --" : "", option[i][1] ? option[i][0] : "");
        for (int i = 0; !right && option[i][0]; i++)
            fprintf(stderr, " %s", option[i][1] ? option[i][1] : "");
        if (!right)
            fprintf(stderr, "\n  seed %lu: %.9g s, simgrid %.9g s, bound %.9g s, formula %.9g s\n", seed,
                    event.time_s, simgrid.time_s, event.bound_s, event.formula_exact_s);
    }
    CU_ASSERT(runs > rounds / 2);
    CU_ASSERT(forms > rounds / 20);
    CU_ASSERT(matmuls > rounds / 15);
}

SUITE("topology", TEST(routes_are_shortest), TEST(chips_are_alike), TEST(times_by_hand),
      TEST(all_to_alls_gain), TEST(folded_is_unfolded), TEST(names_and_options), TEST(points_agree))
