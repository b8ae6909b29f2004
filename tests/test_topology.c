/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A topology is a const struct of functions: a torus that is twisted, which only the tests have (support/twisted.c), is walked,
 * simulated, folded and broken like the one that is built in. The list of topologies is replaced by one that has it, so
 * that a slice is called by its name, "4x8_twisted", as users would; test_collective_data.c moves numbers on it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective/collective.h"
#include "engine/engine.h"
#include "engine/trace.h"
#include "program/fold.h"
#include "settings/option.h"
#include "study/job.h"
#include "suite.h"
#include "twisted.h"

const struct topology *const topologies[] = {&topology_torus, &topology_twisted, NULL};

struct world {
    struct slice slice;
    struct mesh mesh;
    struct ring ring[2];
    struct program program;
    struct status st;
};

/* A direct all-to-all of 3,000 B a pair over both axes of a 4x8, on links of 1 GB/s and 1 us. */
static void setup(struct world *w, const struct topology *topology)
{
    *w = (struct world){0};
    OKAY(slice_init(&w->slice, 2, (int[]){4, 8}, (bool[]){true, true}, 1e9, 1e-6, &w->st), w->st);
    w->slice.topology = topology;
    OKAY(slice_check(&w->slice, &w->st), w->st);
}

static void build(struct world *w)
{
    struct collective_spec spec = {.kind = RING_BIDI,
                                   .all_to_all = ALL_TO_ALL_DIRECT,
                                   .rings = 2,
                                   .ring = {&w->ring[0], &w->ring[1]},
                                   .elements = 3000 * 32 * 32,
                                   .elem_bytes = 1,
                                   .keep_ties = true};
    OKAY(mesh_init(&w->mesh, &w->slice, NULL, &w->st), w->st);
    for (int r = 0; r < 2; r++)
        OKAY(ring_along(&w->ring[r], &w->mesh, r, &w->st), w->st);
    program_init(&w->program, &w->slice);
    OKAY(collective_by_name("all-to-all", &w->st)->build(&spec, &w->program, -1, NULL, &w->st), w->st);
    OKAY(program_check(&w->program, &w->st), w->st);
}

static void teardown(struct world *w)
{
    program_free(&w->program);
    ring_free(&w->ring[0]);
    ring_free(&w->ring[1]);
    mesh_free(&w->mesh);
    slice_free(&w->slice);
}

static double run_s(const struct program *program, const char *engine, struct status *st)
{
    struct trace trace = {0};
    OKAY(trace_init(&trace, program, false, st), *st);
    OKAY(engine_run(engine_by_name(engine), program, &trace, st), *st);
    double total_s = trace.total_s;
    trace_free(&trace);
    return total_s;
}

/* On the torus 4x8 all pairs are 32 * (8 * (0+1+2+1) + 4 * (0+1+2+3+4+3+2+1)) = 32 * 96 links apart in all; twisted
 * they are closer. */
static void routes_are_shortest(void)
{
    int links[2] = {0};
    for (int t = 0; t < 2; t++) {
        struct world w;
        setup(&w, t ? &topology_twisted : &topology_torus);
        for (int from = 0; from < 32; from++)
            for (int to = 0; to < 32; to++) {
                struct hop hop[ROUTE_HOPS];
                int hops = route_between(&w.slice, from, to, hop, &w.st);
                CU_ASSERT_EQUAL(route_walk(&w.slice, from, hop, hops, NULL), to);
                links[t] += route_length(hop, hops);
            }
        teardown(&w);
    }
    CU_ASSERT_EQUAL(links[0], 32 * 96);
    CU_ASSERT(links[1] < links[0]);
}

static void engines_and_folding_agree(void)
{
    for (int dead = 0; dead < 2; dead++) {
        struct world w;
        struct fold fold;
        setup(&w, &topology_twisted);
        if (dead) {
            /* All links that leave the last row over the twist but one: what they carried goes round. */
            for (int y = 1; y < 8; y++)
                OKAY(slice_kill_link(&w.slice, slice_link(&w.slice, 24 + y, 0, 1), &w.st), w.st);
            OKAY(slice_check(&w.slice, &w.st), w.st);
        }
        build(&w);
        OKAY(fold_init(&fold, &w.program, &w.st), w.st);
        CU_ASSERT_EQUAL(fold.orbit, dead ? 1 : 8);
        double event_s = run_s(&w.program, "event", &w.st);
        NEAR(run_s(&w.program, "simgrid", &w.st), event_s, 1e-9);
        if (!dead) {
            OKAY(slice_check(&fold.slice, &w.st), w.st);
            NEAR(run_s(&fold.program, "event", &w.st), event_s, 1e-9);
        }
        fold_free(&fold);
        teardown(&w);
    }
}

static void shapes_name_their_topology(void)
{
    struct status st = {0};
    int len[SLICE_AXES];
    CU_ASSERT_EQUAL(slice_parse_shape("4x4x8_torus", len, &st), 3);
    CU_ASSERT_PTR_EQUAL(slice_parse_topology("4x4x8_torus", &st), &topology_torus);
    CU_ASSERT_PTR_EQUAL(slice_parse_topology("4x4x8", &st), topologies[0]);
    CU_ASSERT_PTR_NULL(slice_parse_topology("4x4x8_toris", &st));
    CU_ASSERT_STRING_EQUAL(st.text, "unknown topology 'toris'; the nearest is torus");
    struct world w;
    char text[SLICE_TEXT];
    setup(&w, &topology_twisted);
    CU_ASSERT_STRING_EQUAL(slice_print_shape(&w.slice, text), "4x8_twisted");
    teardown(&w);
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

/* By hand, of 8 MiB on links of 50 GB/s and 1 us. Along x are lines of 4: no end is joined to the other of its row, and bidi-half
 * takes 3 (a + V/(4 w)). Along y are rings of 8, 7 (a + V/(16 w)); and so are the chips that one passes along x until
 * one is back, where they are listed as groups. Direct sends along x have no closed form. */
static void axes_are_what_the_topology_says(void)
{
    static const char long_rings[] = "[[0,8,16,24,4,12,20,28],[1,9,17,25,5,13,21,29],[2,10,18,26,6,14,22,30],"
                                     "[3,11,19,27,7,15,23,31]]";
    const double v_s = (8 << 20) / 50e9;
    const struct {
        const char *op, *axis, *groups, *slice;
        double time_s;
    } row[] = {
        {"all-gather", "x", NULL, "4x8_twisted", 3 * (1e-6 + v_s / 4)},
        {"all-gather", "x", NULL, "4x8", 3 * (1e-6 + v_s / 8)},
        {"reduce-scatter", "y", NULL, "4x8_twisted", 7 * (1e-6 + v_s / 16)},
        {"all-gather", NULL, long_rings, "4x8_twisted", 7 * (1e-6 + v_s / 16)},
        {"all-reduce", NULL, long_rings, "4x8_twisted", 14 * (1e-6 + v_s / 16)},
        {"all-to-all", "x", NULL, "4x8_twisted", NAN},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct result result;
        struct status st;
        options option = {
            {"op", row[i].op},         {"chip", "v4"},
            {"slice", row[i].slice},   {"wrap", "all"},
            {"size", "8MiB"},          {"link-bandwidth", "50GBps"},
            {"hop-latency", "1us"},    {"axis", row[i].axis},
            {"groups", row[i].groups}, {"ring", strcmp(row[i].op, "all-to-all") ? "bidi-half" : NULL}};
        OKAY(run_point(option, "event", &result, &st), st);
        if (isnan(row[i].time_s)) {
            CU_ASSERT(isnan(result.formula_exact_s));
            continue;
        }
        NEAR(result.time_s, row[i].time_s, 1e-9);
        NEAR(result.formula_exact_s, row[i].time_s, 1e-9);
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
                                      "bf16[96@x,64] . bf16[64,48] -> bf16[96@x,48]",
                                      "bf16[96,64@x] . bf16[64@x,48] -> bf16[96@x,48]"};
    static const char *const slices[] = {"3x4_twisted", "4x6_twisted", "4x4_twisted", "3x8_twisted",
                                         "5x3_twisted"};
    static const char *const meshes[] = {NULL, NULL, NULL, "x=x*y"}, *const axes[] = {"x", "y", "x,y", "y,x"};
    static const char *const rings[] = {"uni", "bidi", "bidi-half"}, *const sizes[] = {"1KiB", "96KiB",
                                                                                       "3MiB"};
    static const char *const wraps[] = {"all", "all", "x"}, *const links[] = {NULL, NULL, "1,0:x=0.5",
                                                                              "2,1:x+=0"};
    const char *op = ONE_OF(r, ops), *mesh = ONE_OF(r, meshes), *axis = ONE_OF(r, axes);
    bool matmul = strchr(op, '['), ragged = op[0] == 'r' && op[1] == 'a', permute = op[0] == 'c';
    bool to_all = strstr(op, "all-to-all"), direct = ragged || permute || (to_all && suite_random(r, 2));
    const char *chosen[OPTIONS][2] = {
        {"op", op},
        {"chip", "v4"},
        {"slice", ONE_OF(r, slices)},
        {"wrap", ONE_OF(r, wraps)},
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
    int runs = 0, forms = 0, matmuls = 0;
    for (unsigned long seed = 0; seed < 400; seed++) {
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
    CU_ASSERT(runs > 250);
    CU_ASSERT(forms > 20);
    CU_ASSERT(matmuls > 30);
}

SUITE("topology", TEST(routes_are_shortest), TEST(engines_and_folding_agree),
      TEST(shapes_name_their_topology), TEST(axes_are_what_the_topology_says), TEST(points_agree))
