/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices and meshes that are left open: all ways to place them, each once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/assignments.h"
#include "machine/mesh.h"
#include "settings/settings.h"
#include "suite.h"

static int find(struct assignments *assignments, const char *name, const struct assignments_query *query,
                struct status *st)
{
    struct chip chip;
    OKAY(chip_load(&chip, name, CHIP_SPEC, st), *st);
    int code = assignments_find(assignments, &chip, query, st);
    chip_free(&chip);
    return code;
}

/* By hand. Two axes on 16x16: the first has 1, 2, 4, 8 or 16 of x, and as many or fewer of y, 15 pairs; all but the three of
 * whole axes share one, and there either may lie inside the other. On 2x4 lengths differ: 2 x 3 pairs, of which those with 2
 * of 4 share. On a slice of v5p 4x4x4: parts 1, 2, 4 of three axes alike are 10, of which 4 share nothing. Three axes on a
 * ring of 4: 1x1x4 in 3 assignments, 2x2 in 3, each in 2 orders. */
static void counts_ways(void)
{
    static const struct {
        const char *chip, *slice, *mesh, *wrap;
        int ways;
    } cases[] = {{"v5e", "16x16", "a=?,b=?", NULL, 15 + 12},
                 {"v5e", "2x4", "a=?,b=?", NULL, 6 + 2},
                 {"v5p", "4x4x4", "a=?,b=?", NULL, 10 + 6},
                 {"v5e", "4", "a=?,b=?,c=?", NULL, 3 + 3 * 2},
                 {"v5e", "16x16", "a=?,b=8", NULL, 2 * 2},
                 {"v5e", "4x4", "a=?,b=?", "x", 9 + 5},
                 {"v5e", "4x4", "a=16", NULL, 1},
                 {"v5e", "1", "a=?,b=?", NULL, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct status st = {0};
        struct assignments assignments = {0};
        struct assignments_query query = {
            .slice = cases[i].slice, .mesh = cases[i].mesh, .wrap = cases[i].wrap};
        OKAY(find(&assignments, cases[i].chip, &query, &st), st);
        CU_ASSERT_EQUAL(assignments.count, cases[i].ways);
        if (assignments.count != cases[i].ways)
            printf("%s on %s: %d\n", cases[i].mesh, cases[i].slice, assignments.count);
        assignments_free(&assignments);
    }
}

/* Two devices a chip: on a ring of 4 the first of two axes has 1, 2 or 4 chips, 2 in two ways, and either axis has the devices:
 * twice 4. Of 2 devices are those of one chip, or of two, where the other axis has them; an odd size has no pairs. */
static void counts_devices(void)
{
    static const struct {
        const char *slice, *mesh;
        int ways;
    } cases[] = {{"4", "a=?,b=?", 2 * 4}, {"4", "a=?,b=2", 1 + 2}, {"3", "a=?,b=3", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct status st = {0};
        struct assignments assignments = {0};
        struct assignments_query query = {.slice = cases[i].slice, .mesh = cases[i].mesh, .cores = 2};
        OKAY(find(&assignments, "v3", &query, &st), st);
        CU_ASSERT_EQUAL(assignments.count, cases[i].ways);
        assignments_free(&assignments);
    }
    struct status st = {0};
    struct assignments assignments = {0};
    OKAY(find(&assignments, "v3", &(struct assignments_query){.slice = "4", .mesh = "a=?,b=2", .cores = 2},
              &st),
         st);
    CU_ASSERT_STRING_EQUAL(assignments.item[assignments.count - 1].mesh, "a=x,b=cores");
    assignments_free(&assignments);
}

/* All that is found can be laid, has the sizes that were given, and lies nowhere twice: devices on other chips, or other
 * sizes. */
static void finds_each_once(void)
{
    struct status st = {0};
    struct assignments assignments = {0};
    struct assignments_query query = {.chips = 48, .slice = "all", .mesh = "dp=?,ep=2,tp=?"};
    struct chip chip;
    OKAY(chip_load(&chip, "v5p", CHIP_SPEC, &st), st);
    OKAY(assignments_find(&assignments, &chip, &query, &st), st);
    CU_ASSERT(assignments.count > 100);
    for (int i = 0; i < assignments.count; i++) {
        struct slice slice;
        struct mesh mesh;
        OKAY(chip_slice(&chip, assignments.item[i].slice, NULL, &slice, &st), st);
        OKAY(mesh_init(&mesh, &slice, assignments.item[i].mesh, NULL, &st), st);
        CU_ASSERT_EQUAL(mesh.axes.axis[axes_find(&mesh.axes, "ep")].n, 2);
        OKAY(mesh_check(&mesh, &st), st);
        mesh_free(&mesh);
        slice_free(&slice);
        for (int j = 0; j < i; j++)
            CU_ASSERT(strcmp(assignments.item[i].slice, assignments.item[j].slice) != 0 ||
                      strcmp(assignments.item[i].mesh, assignments.item[j].mesh) != 0);
    }
    assignments_free(&assignments);
    chip_free(&chip);
}

/* Of a program, whose devices have numbers, each way puts them elsewhere: 4 of 4 on 4x4 each on an axis, or on halves of both,
 * inside or outside of the other; 8 on 2x4 row by row or column by column; beside devices of chips, which either axis has. */
static void lays_numbered_devices(void)
{
    static const struct {
        const char *chip, *slice, *mesh;
        int ways;
    } cases[] = {{"v5e", "4x4", "a=4,b=4", 3}, {"v5e", "2x4", "a=8", 2}, {"v3", "4", "a=4,b=2", 1 + 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct status st = {0};
        struct assignments assignments = {0};
        struct assignments_query query = {.slice = cases[i].slice, .mesh = cases[i].mesh, .all_ways = true};
        OKAY(find(&assignments, cases[i].chip, &query, &st), st);
        CU_ASSERT_EQUAL(assignments.count, cases[i].ways);
        for (int a = 0; a < assignments.count; a++)
            for (int b = 0; b < a; b++)
                CU_ASSERT_STRING_NOT_EQUAL(assignments.item[a].mesh, assignments.item[b].mesh);
        assignments_free(&assignments);
    }
}

/* The command line's slices and meshes are replaced by pairs, which the grid takes together. */
static void ties_slices_and_meshes(void)
{
    static const char *const want[][2] = {
        {"2x4", "a=x*y,b=1"}, {"2x4", "a=x*y:2,b=y:2"}, {"2x4", "b=y:2,a=x*y:2"}, {"2x4", "a=x,b=y"},
        {"2x4", "a=y,b=x"},   {"2x4", "a=y:2,b=x*y:2"}, {"2x4", "b=x*y:2,a=y:2"}, {"2x4", "a=1,b=x*y"}};
    struct settings settings;
    struct status st = {0};
    struct grid grid;
    struct point point;
    settings_init(&settings);
    OKAY(settings_add(&settings, option_by_name("chips"), "8", &st), st);
    OKAY(settings_add(&settings, option_by_name("mesh"), "a=?,b=?", &st), st);
    OKAY(settings_add(&settings, option_by_name("ring"), "uni,bidi", &st), st);
    OKAY(settings_enumerate(&settings, &st), st);
    OKAY(grid_init(&grid, &settings, &st), st);
    CU_ASSERT_EQUAL(grid.points, 16);
    for (int64_t i = 0; i < grid.points; i++) {
        grid_point(&grid, i, &point);
        CU_ASSERT_STRING_EQUAL(point.machine.slice, want[i / 2][0]);
        CU_ASSERT_STRING_EQUAL(point.machine.mesh, want[i / 2][1]);
        CU_ASSERT_STRING_EQUAL(grid_text(&grid, i, option_by_name("mesh")), point.machine.mesh);
        CU_ASSERT_EQUAL(point.schedule.ring, (int)(i % 2));
        CU_ASSERT_EQUAL(grid_with(&grid, i, option_by_name("ring"), 0), i / 2 * 2);
    }
    settings_free(&settings);
}

SUITE("assignments", TEST(counts_ways), TEST(counts_devices), TEST(finds_each_once),
      TEST(lays_numbered_devices), TEST(ties_slices_and_meshes))
