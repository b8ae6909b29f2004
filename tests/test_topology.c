/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A topology is a const struct of functions: a torus that is twisted, written here and nowhere else, is walked,
 * simulated, folded and broken like the one that is built in.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collective/collective.h"
#include "engine/engine.h"
#include "engine/trace.h"
#include "machine/topology.h"
#include "program/fold.h"
#include "suite.h"

/* a x b, where stepping over an end of x moves half of b along y. Both rounds of y close as ever. */
static int twisted_neighbour(const struct slice *slice, int chip, int axis, int sign)
{
    int a = slice->len[0], b = slice->len[1], x = chip / b, y = chip % b;
    if (axis == 1)
        return x * b + (y + sign + b) % b;
    if (x + sign >= 0 && x + sign < a)
        return (x + sign) * b + y;
    return (x + sign + a) % a * b + (y + slice->span[1] / 2) % b;
}

/* Straight along x, or over one of its ends; then the shorter way along y. */
static unsigned twisted_routes(const struct slice *slice, int from, int to,
                               struct minimal_route minimal[static MINIMAL_ROUTES])
{
    int a = slice->len[0], b = slice->len[1], least = 2 * (a + b);
    for (int over = 0; over <= 2; over++) {
        int dx = to / b - from / b + (over == 1 ? a : over == 2 ? -a : 0);
        int dy = ((to % b - from % b + (over ? b / 2 : 0)) % b + b) % b;
        dy = 2 * dy <= b ? dy : dy - b;
        if (abs(dx) + abs(dy) >= least)
            continue;
        least = abs(dx) + abs(dy);
        minimal[0].hops = 0;
        if (dx)
            minimal[0].hop[minimal[0].hops++] = (struct hop){0, dx};
        if (dy)
            minimal[0].hop[minimal[0].hops++] = (struct hop){1, dy};
    }
    return 0;
}

/* Moved along x, the twist would come to lie elsewhere. */
static int twisted_period(const struct slice *slice, int axis)
{
    return axis == 1 ? 1 : slice->len[0];
}

static const struct topology twisted = {.name = "twisted",
                                        .neighbour = twisted_neighbour,
                                        .fill = topology_fill,
                                        .routes = twisted_routes,
                                        .period = twisted_period};

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
    bool wraps = topology == &topology_torus;
    *w = (struct world){0};
    OKAY(slice_init(&w->slice, 2, (int[]){4, 8}, (bool[]){wraps, true}, 1e9, 1e-6, &w->st), w->st);
    w->slice.topology = topology;
    OKAY(slice_check(&w->slice, &w->st), w->st);
}

static void build(struct world *w)
{
    struct collective_spec spec = {.kind = RING_BIDI,
                                   .algorithm = ALGORITHM_DIRECT,
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
        setup(&w, t ? &twisted : &topology_torus);
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
        setup(&w, &twisted);
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
    setup(&w, &twisted);
    CU_ASSERT_STRING_EQUAL(slice_print_shape(&w.slice, text), "4x8_twisted");
    teardown(&w);
}

SUITE("topology", TEST(routes_are_shortest), TEST(engines_and_folding_agree),
      TEST(shapes_name_their_topology))
