/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logical meshes: how axes are laid, which rings close, who is in whose group. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/mesh.h"
#include "suite.h"

struct bench {
    struct slice slice;
    struct mesh mesh;
};

static int open_bench(struct bench *b, const char *shape, bool wraps, const char *mesh, struct status *st)
{
    bool wrap[SLICE_AXES] = {wraps, wraps, wraps};
    int len[SLICE_AXES], axes = slice_parse_shape(shape, len, st);
    OKAY(slice_init(&b->slice, axes, len, wrap, 45e9, 1e-6, st), *st);
    return mesh_init(&b->mesh, &b->slice, mesh, &(struct mesh_rule){.split = true}, st);
}

static void lays_axes(void)
{
    static const struct {
        const char *slice, *mesh, *mapping;
    } cases[] = {
        {"4x2", NULL, "x on x, y on y"},
        {"4x2", "dp=4,tp=2", "dp on x, tp on y"},
        {"4x8", "X=8,Y=4", "X on y, Y on x"}, /* as jax.make_mesh finds the axis of 8 */
        {"2x2", "x=4", "x on x*y"},
        {"2x2x4", "a=4,b=4", "a on z, b on x*y"}, /* the last axis first, on as many as it can have */
        {"2x2x2", "a=4,b=2", "a on y*z, b on x"},
        {"2x4x2", "a=4,b=4", "a on y, b on x*z"},
        {"4x2x2", "a=8,b=2", "a on x*z, b on y"},
        {"8", "dp=2,tp=4", "dp on x:2, tp on x:4"},
        {"4x4", "a=2,b=8", "a on y:2, b on x*y:2"},
        {"4x2", "X=y*x", "X on y*x"},
        {"1x8", "X=1,Y=8", "X on one chip, Y on y"},
        {"4x4x4", "m=x*z,n=y", "m on x*z, n on y"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        struct status st = {0};
        char text[MESH_TEXT];
        OKAY(open_bench(&b, cases[i].slice, true, cases[i].mesh, &st), st);
        CU_ASSERT_PTR_EQUAL(strstr(mesh_print_mapping(&b.mesh, text), cases[i].mapping), text);
        OKAY(mesh_check(&b.mesh, &st), st);
        mesh_free(&b.mesh);
    }
}

static void refuses(void)
{
    static const char *const bad[][2] = {
        {"4x4", "a=3,b=5"},  {"4x4", "a=4,a=4"}, {"4x4", "a=x*q,b=y"}, {"4x4", "a=x,b=x"},
        {"4x4", "a=x*,b=y"}, {"4x4", "a"},       {"4x4", "a=x,b=4"},   {"4x4", "a=0"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bench b;
        struct status st = {0};
        CU_ASSERT_EQUAL(open_bench(&b, bad[i][0], true, bad[i][1], &st), STATUS_INPUT);
        CU_ASSERT(st.text[0] != '\0');
        mesh_free(&b.mesh);
    }
}

static struct ring ring_of(const char *shape, bool wraps, const char *mesh, const char *axes)
{
    struct bench b;
    struct status st = {0};
    struct axis_list list;
    struct ring ring;
    OKAY(open_bench(&b, shape, wraps, mesh, &st), st);
    OKAY(mesh_parse_axes(&b.mesh, axes, &list, &st), st);
    OKAY(ring_through(&ring, &b.mesh, &list, &st), st);
    mesh_free(&b.mesh);
    return ring;
}

/* A k x 2 block closes into a ring without any wrap (maxtext 4911), a line does not, 3x3 cannot: it has an odd number
 * of chips, and every closed way over a grid has an even one. */
static void closes_where_it_can(void)
{
    static const struct {
        const char *slice, *mesh, *axes;
        bool wraps, closed;
    } cases[] = {
        {"2x2", "x=4", "x", false, true},         {"4x2", "X=8", "X", false, true},
        {"8", "X=8", "X", false, false},          {"8", "X=8", "X", true, true},
        {"3x4", "X=12", "X", false, true},        {"3x3", "X=9", "X", false, false},
        {"4x4", "a=4,b=4", "(a,b)", false, true}, {"4x2", "a=4,b=2", "(b,a)", false, true},
        {"2x3x3", "X=18", "X", false, true},      {"1x5", "a=1,b=5", "(a,b)", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ring ring = ring_of(cases[i].slice, cases[i].wraps, cases[i].mesh, cases[i].axes);
        CU_ASSERT_EQUAL(ring.closed, cases[i].closed);
        CU_ASSERT_EQUAL(ring.edge_links, 1);
        ring_free(&ring);
    }
    /* Half of an axis of 8 has no ends that meet; snaked through 3 others it comes back. */
    struct ring snake = ring_of("8x3", true, "a=2,b=12", "b");
    CU_ASSERT_TRUE(snake.closed);
    CU_ASSERT_EQUAL(snake.edge_links, 1);
    CU_ASSERT_EQUAL(snake.closing_links, 1);
    ring_free(&snake);
    /* A part of an axis that is split is a line; the slower part steps over the faster: 4 links an edge. */
    struct ring ring = ring_of("8", true, "dp=2,tp=4", "tp");
    CU_ASSERT_FALSE(ring.closed);
    CU_ASSERT_EQUAL(ring.edge_links, 1);
    ring_free(&ring);
    ring = ring_of("8", true, "dp=4,tp=2", "dp");
    CU_ASSERT_TRUE(ring.closed);
    CU_ASSERT_EQUAL(ring.edge_links, 2);
    ring_free(&ring);
}

/* On random meshes: a ring visits every chip of every group once, in an order whose slots are the positions in the
 * order of the axes given. */
static void rings_visit_all(void)
{
    struct suite_random random = {1735};
    for (int i = 0; i < 200; i++) {
        static const char *const meshes[][2] = {{"4x6", "a=4,b=6"},     {"4x6", "a=24"},
                                                {"4x6", "a=2,b=2,c=6"}, {"3x5", "a=3,b=5"},
                                                {"2x3x4", "a=3,b=8"},   {"2x3x4", "a=2,b=3,c=4"}};
        const char *const *m = meshes[suite_random(&random, 6)];
        struct bench b;
        struct status st = {0};
        struct ring ring;
        OKAY(open_bench(&b, m[0], suite_random(&random, 2), m[1], &st), st);
        OKAY(mesh_check(&b.mesh, &st), st);
        struct axis_list list = {0};
        int first = (int)suite_random(&random, (unsigned)b.mesh.axes.count);
        int count = 1 + (int)suite_random(&random, (unsigned)b.mesh.axes.count);
        for (int a = 0; a < count; a++)
            list.axis[list.count++] = (first + a) % b.mesh.axes.count;
        OKAY(ring_through(&ring, &b.mesh, &list, &st), st);
        CU_ASSERT_EQUAL(ring.n, axis_list_size(&list, &b.mesh.axes));
        for (int chip = 0; chip < b.slice.chips; chip++) {
            int at = ring_position(&ring, &b.slice, chip), next = ring_next(&ring, &b.slice, chip);
            CU_ASSERT_EQUAL(ring_position(&ring, &b.slice, next), (at + 1) % ring.n);
            int logical = axis_list_position(&list, &b.mesh.axes, mesh_device(&b.mesh, chip));
            CU_ASSERT_EQUAL(ring.slot ? ring.slot[at] : at, logical);
        }
        ring_free(&ring);
        mesh_free(&b.mesh);
    }
}

/* Over (tp,dp) of dp=4,tp=2 the group is the whole mesh, tp slowest: devices 0 2 4 6 1 3 5 7. */
static void groups_follow_the_order_given(void)
{
    struct bench b;
    struct status st = {0};
    struct axis_list list;
    int32_t chip[8];
    OKAY(open_bench(&b, "4x2", false, "dp=4,tp=2", &st), st);
    OKAY(mesh_parse_axes(&b.mesh, "(tp,dp)", &list, &st), st);
    mesh_groups(&b.mesh, &list, chip);
    CU_ASSERT_EQUAL(memcmp(chip, (int32_t[]){0, 2, 4, 6, 1, 3, 5, 7}, sizeof chip), 0);
    mesh_free(&b.mesh);
}

SUITE("mesh", TEST(lays_axes), TEST(refuses), TEST(closes_where_it_can), TEST(rings_visit_all),
      TEST(groups_follow_the_order_given))
