/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where logical axes lie: as JAX lays them, as the user writes them; the lines that this makes; boxes of chips. */
#include <stdio.h>
#include <string.h>

#include "machine/boxes.h"
#include "machine/mesh.h"
#include "machine/ring_set.h"
#include "suite.h"

struct bench {
    struct slice slice;
    struct mesh mesh;
};

static int open_bench(struct bench *b, const char *shape, const char *mesh, struct status *st)
{
    int len[SLICE_AXES], axes = slice_parse_shape(shape, len, st);
    OKAY(slice_init(&b->slice, axes, len, (bool[SLICE_AXES]){true, true, true}, 45e9, 1e-6, st), *st);
    return mesh_init(&b->mesh, &b->slice, mesh, &(struct mesh_rule){.split = true}, st);
}

/* The first ten are those of jax/tests/mesh_utils_test.py, without its axes of 1; the others were worked out by a script
 * that follows jax/_src/mesh_utils.py (2026) by prime factors and combinations, as that does; of 10 it finds 5 alone. */
static void lays_as_jax_does(void)
{
    static const struct {
        const char *slice, *mesh, *mapping;
    } cases[] = {
        {"2x2x1", "a=4", "a on x*y"},
        {"2x2x4", "a=4,b=4", "a on z, b on x*y"},
        {"4x4x4", "a=16,b=4", "a on y*z, b on x"},
        {"4x4x8", "a=16,b=8", "a on x*y, b on z"},
        {"4x4x8", "a=8,b=16", "a on z, b on x*y"},
        {"4x4x8", "a=16,b=8,c=1", "a on x*y, b on z, c on one chip"},
        {"4x4x8", "a=16,b=8,c=1,d=1", "a on x*y, b on z, c and d on one chip"},
        {"4x8x8", "a=32,b=8", "a on x*z, b on y"},
        {"8x8x8", "a=64,b=8", "a on y*z, b on x"},
        {"8x8x16", "a=64,b=16", "a on x*y, b on z"},
        {"8x8x1", "a=8,b=8", "a on y, b on x"},
        {"4x4", "a=2,b=8", "a on y:2, b on x*y:2"},
        {"16x16", "a=32,b=8", "a on x:2*y, b on x:8"},
        {"16x16", "a=8,b=32", "a on y:8, b on x*y:2"},
        {"4x8x8", "a=2,b=4,c=32", "a on z:2, b on z:4, c on x*y"},
        {"4x4x4", "a=2,b=2,c=4,d=4", "a on z:2, b on z:2, c on y, d on x"},
        {"8x8", "a=2,b=2,c=16", "a on y:2, b on y:2, c on x*y:2"},
        {"6x12", "a=9,b=8", "a on x:3*y:3, b on x:2*y:4"},
        {"4x4", "a=2,b=2,c=2,d=2", "a on y:2, b on y:2, c on x:2, d on x:2"},
        {"4x6x10", "a=12,b=20", "a on y*z:2, b on x*z:5"},
        {"8x16x16", "a=4,b=512", "a on x:4, b on x:2*y*z"},
        {"4x9", "a=6,b=6", "a on x:2*y:3, b on x:2*y:3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        struct status st = {0};
        char text[MESH_TEXT];
        OKAY(open_bench(&b, cases[i].slice, cases[i].mesh, &st), st);
        CU_ASSERT_PTR_EQUAL(strstr(mesh_print_mapping(&b.mesh, text), cases[i].mapping), text);
        OKAY(mesh_check(&b.mesh, &st), st);
        mesh_free(&b.mesh);
    }
}

/* What is printed can be typed, and lies where it did. */
static void reads_what_it_prints(void)
{
    static const char *const meshes[][2] = {
        {"4x9", "a=6,b=6"}, {"16x16", "a=32,b=8"}, {"4x6x10", "a=12,b=20"}};
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
        struct bench b, again;
        struct status st = {0};
        char text[MESH_TEXT] = "", how[MESH_LAYOUT_TEXT];
        OKAY(open_bench(&b, meshes[i][0], meshes[i][1], &st), st);
        for (int a = 0; a < b.mesh.axes.count; a++) {
            size_t n = strlen(text);
            snprintf(text + n, sizeof text - n, "%s%s=%s", a ? "," : "", b.mesh.axes.axis[a].name,
                     mesh_layout_print(&b.mesh.layout, &b.slice, a, how));
        }
        OKAY(open_bench(&again, meshes[i][0], text, &st), st);
        for (int d = 0; d < b.mesh.devices; d++)
            CU_ASSERT_EQUAL(mesh_chip(&b.mesh, d), mesh_chip(&again.mesh, d));
        mesh_free(&b.mesh);
        mesh_free(&again.mesh);
    }
}

static void refuses(void)
{
    static const char *const bad[][3] = {
        {"4x6", "a=x:2,b=y", "takes 2 chips along axis x"},
        {"4x6", "a=x*y,b=y", "takes 36 chips along axis y"},
        {"4x6", "a=x:5,b=y", "x:2*y"},
        {"4x6", "a=x:,b=y", "x:2*y"},
        {"4x6", "a=x*x,b=y", "each once"},
        {"4x6", "a=x:2*y,b=2", "all are"},
        {"4x6", "a=x:0*y,b=x", "x:2*y"},
        {"4x6", "a=x:4:,b=y", "x:2*y"},
        {"4x6", "a=x:2:3,b=x:2*y", "inside each other"},
        {"4x6", "a=x:2:2,b=x:2:2*y", "inside each other"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bench b;
        struct status st = {0};
        CU_ASSERT_EQUAL(open_bench(&b, bad[i][0], bad[i][1], &st), STATUS_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(st.text, bad[i][2]));
        mesh_free(&b.mesh);
    }
}

/* Parts that say how far apart their places are lie where they would with the axes the other way round. */
static void nests_as_said(void)
{
    struct bench said, turned;
    struct status st = {0};
    OKAY(open_bench(&said, "4x6", "a=x:2:1*y:3:1,b=x:2:2*y:2:3", &st), st);
    OKAY(open_bench(&turned, "4x6", "b=x:2*y:2,a=x:2*y:3", &st), st);
    OKAY(mesh_check(&said.mesh, &st), st);
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 4; b++)
            CU_ASSERT_EQUAL(mesh_chip(&said.mesh, a * 4 + b), mesh_chip(&turned.mesh, b * 6 + a));
    mesh_free(&said.mesh);
    mesh_free(&turned.mesh);
}

/* Of a=32,b=8 on 16x16, a has the whole y and every eighth chip of x, b eight next to each other: a line, as they are half
 * of a ring. Both together are the slice's own axes. */
static void joins_parts_to_lines(void)
{
    static const struct {
        const char *axes;
        int rings, n[2], edge_links[2];
        bool closed[2];
        unsigned spanned;
    } cases[] = {
        {"a", 2, {2, 16}, {8, 1}, {false, true}, 0},
        {"b", 1, {8, 0}, {1, 0}, {false, false}, 0},
        {"b,a", 2, {16, 16}, {1, 1}, {true, true}, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        struct status st = {0};
        struct axis_list list;
        struct ring_set set;
        OKAY(open_bench(&b, "16x16", "a=32,b=8", &st), st);
        OKAY(mesh_parse_axes(&b.mesh, cases[i].axes, &list, &st), st);
        OKAY(ring_set_of_lines(&set, &b.mesh, &list, &st), st);
        CU_ASSERT_EQUAL(set.rings, cases[i].rings);
        for (int r = 0; r < set.rings; r++) {
            CU_ASSERT_EQUAL(set.ring[r].n, cases[i].n[r]);
            CU_ASSERT_EQUAL(set.ring[r].edge_links, cases[i].edge_links[r]);
            CU_ASSERT_EQUAL(set.ring[r].closed, cases[i].closed[r]);
        }
        CU_ASSERT_EQUAL(mesh_spanned(&b.mesh, &list), cases[i].spanned);
        CU_ASSERT_EQUAL(ring_set_edge_links(&set), cases[i].edge_links[0]);
        ring_set_free(&set);
        mesh_free(&b.mesh);
    }
}

/* On 3x5, one axis of 15 snakes; along the lines a chip's position is its place in the box, row by row. */
static void numbers_by_lines(void)
{
    struct bench b;
    struct status st = {0};
    struct axis_list list;
    struct ring_set set;
    int32_t position[15];
    OKAY(open_bench(&b, "3x5", "X=15", &st), st);
    OKAY(mesh_parse_axes(&b.mesh, "X", &list, &st), st);
    OKAY(ring_set_of_lines(&set, &b.mesh, &list, &st), st);
    ring_set_positions(&set, &b.mesh, &list, position);
    for (int device = 0; device < 15; device++)
        CU_ASSERT_EQUAL(position[device], mesh_chip(&b.mesh, device));
    ring_set_free(&set);
    mesh_free(&b.mesh);
}

/* The boxes of 64 chips that fit a pod of 16x20x28, by hand: the most cubic first. */
static void finds_boxes(void)
{
    static const char *const want[] = {"4x4x4", "2x4x8", "1x8x8", "2x2x16", "1x4x16"};
    struct chip chip;
    struct status st = {0};
    struct box box[BOXES_MAX];
    char text[SLICE_TEXT];
    OKAY(chip_load(&chip, "v5p", CHIP_SPEC, &st), st);
    CU_ASSERT_EQUAL(boxes_of(&chip, 64, box), 5);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_STRING_EQUAL(box_print(&box[i], &chip, text), want[i]);
        CU_ASSERT_EQUAL(box[i].offered, i == 0);
    }
    chip_free(&chip);
}

/* What each cloud offers for a number of chips, or the nearest numbers. */
static void finds_offers(void)
{
    static const struct {
        const char *chip;
        int chips;
        const char *want;
    } cases[] = {
        {"v5e", 8, "2x4"},         {"v5e", 1, "1x1"},     {"v6e", 128, "8x16"},      {"v5e", 12, "8 and 16"},
        {"v5e", 2, "1 and 4"},     {"v5e", 512, "256."},  {"v3", 32, "4x8"},         {"v3", 1, "have 4."},
        {"v4", 4, "2x2x1"},        {"v4", 16, "2x2x4"},   {"v5p", 32, "2x4x4"},      {"v5p", 256, "4x8x8"},
        {"v5p", 6144, "16x16x24"}, {"v7x", 128, "4x4x8"}, {"v5p", 96, "64 and 128"}, {"v5p", 8961, "8960."},
        {"v2", 64, "8x8"},         {"v5p", 512, "8x8x8"}, {"v5p", 8960, "16x20x28"}, {"v5p", 1344, "4x12x28"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct chip chip;
        struct status st = {0};
        struct box box;
        char text[SLICE_TEXT];
        OKAY(chip_load(&chip, cases[i].chip, CHIP_SPEC, &st), st);
        bool found = boxes_offered(&chip, cases[i].chips, &box, &st) == 0;
        const char *got = found ? box_print(&box, &chip, text) : st.text;
        CU_ASSERT_PTR_NOT_NULL(strstr(got, cases[i].want));
        if (!strstr(got, cases[i].want))
            printf("%s, %d chips: %s\n", cases[i].chip, cases[i].chips, got);
        chip_free(&chip);
    }
}

SUITE("mesh_layout", TEST(lays_as_jax_does), TEST(reads_what_it_prints), TEST(refuses), TEST(nests_as_said),
      TEST(joins_parts_to_lines), TEST(numbers_by_lines), TEST(finds_boxes), TEST(finds_offers))
