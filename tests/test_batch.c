/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points that share what they have in common have the results of each alone, to the bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

enum { OPTIONS = 12 };
typedef const char *const choice[OPTIONS][2];

/* Tori, lines, rings that do not lie side by side, shares that depend on the size, masks, amounts of each chip, all kinds of
 * collectives; what cannot run with some sizes, and what is never kept. */
static choice batches[] = {
    {{"op", "all-reduce"}, {"chip", "v5p"}, {"slice", "4x4x4"}, {NULL, NULL}},
    {{"op", "all-reduce"}, {"chip", "v5p"}, {"slice", "8x4x4"}, {"ring", "bidi"}, {NULL, NULL}},
    {{"op", "all-gather"}, {"chip", "v5e"}, {"slice", "4x8"}, {NULL, NULL}},
    {{"op", "reduce-scatter"}, {"chip", "v6e"}, {"slice", "16x16"}, {"axis", "y"}, {NULL, NULL}},
    {{"op", "all-gather"}, {"chip", "v4"}, {"slice", "4x4x4"}, {"mesh", "X=64"}, {NULL, NULL}},
    {{"op", "all-gather"},
     {"chip", "v5e"},
     {"slice", "4x4"},
     {"groups", "0,1,5,4;2,3,7,6;8,9,13,12;10,11,15,14"},
     {NULL, NULL}},
    {{"op", "broadcast"}, {"chip", "v5p"}, {"slice", "4x4x4"}, {"root", "7"}, {NULL, NULL}},
    {{"op", "all-to-all"}, {"chip", "v5e"}, {"slice", "4x4"}, {NULL, NULL}},
    {{"op", "all-to-all"},
     {"chip", "v5e"},
     {"slice", "16x16"},
     {"all-to-all", "ring"},
     {"axis", "x"},
     {NULL, NULL}},
    {{"op", "ragged-all-to-all"},
     {"chip", "v5e"},
     {"slice", "4x4"},
     {"pair-sizes", "random:7"},
     {NULL, NULL}},
    {{"op", "collective-permute"},
     {"chip", "v5p"},
     {"slice", "4x4x4"},
     {"pairs", "0-21,3-5"},
     {"routes", "2"},
     {NULL, NULL}},
    {{"op", "all-reduce"}, {"chip", "v5p"}, {"slice", "4x4x4"}, {"link", "2,1,0:x+=0.5"}, {NULL, NULL}},
    {{"op", "all-reduce"}, {"chip", "v5p"}, {"slice", "4x4x4"}, {"fold", "off"}, {NULL, NULL}},
    {{"op", "all-gather"}, {"chip", "v5p"}, {"slice", "4x4x4"}, {"check", "on"}, {NULL, NULL}},
    {{"op", "all-gather"}, {"chip", "v5e"}, {"slice", "4x4"}, {"profile", "measured"}, {NULL, NULL}},
};
enum { BATCHES = sizeof batches / sizeof *batches };

/* The last one is no number of elements of four bytes. */
static const char *const sizes[] = {"64KiB", "1MiB", "48KiB", "3MiB", "1GiB", "4KiB", "65538B"};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void make_point(const choice *batch, int varied, struct point *point)
{
    struct status st = {0};
    point_init(point);
    for (int i = 0; (*batch)[i][0]; i++)
        OKAY(option_set(option_by_name((*batch)[i][0]), (*batch)[i][1], point, &st), st);
    OKAY(option_set(option_by_name("engine"), "event", point, &st), st);
    OKAY(option_set(option_by_name("dtype"), "f32", point, &st), st);
    OKAY(option_set(option_by_name("size"), sizes[varied], point, &st), st);
}

static bool is_same(const struct result *a, const struct result *b)
{
    for (int c = 0; c < column_count; c++) {
        double values[2] = {column_value(&columns[c], a), column_value(&columns[c], b)};
        bool text = columns[c].kind == COLUMN_TEXT;
        if (text ? strcmp(column_text(&columns[c], a), column_text(&columns[c], b)) != 0
                 : memcmp(&values[0], &values[1], sizeof *values) != 0 && values[0] == values[0])
            return false;
        if (!text && (values[0] == values[0]) != (values[1] == values[1]))
            return false;
    }
    return a->code == b->code;
}

static void points_of_a_batch_are_as_alone(void)
{
    struct catalog catalog = {0};
    struct batch batch = {0};
    struct suite_random random = {2026};
    for (int i = 0; i < 400; i++) {
        int f = i < 2 * BATCHES * SIZES ? i / 2 / SIZES : (int)suite_random(&random, BATCHES);
        int varied = (int)suite_random(&random, SIZES);
        struct point point;
        struct result together, alone;
        struct status a = {0}, b = {0};
        make_point(&batches[f], varied, &point);
        batch_result(&batch, f, &point, &catalog, &together, &a);
        job_result(&point, &catalog, &alone, &b);
        if (!is_same(&together, &alone) || strcmp(a.text, b.text) != 0) {
            printf("%s of %s, batch %d: %.17g s, alone %.17g s (%s; %s)\n", batches[f][0][1], sizes[varied],
                   f, together.time_s, alone.time_s, together.status, alone.status);
            CU_FAIL("a batch changes a result");
        }
    }
    batch_close(&batch);
    catalog_free(&catalog);
}

/* What does not depend on the size is not made again: the struct says so. */
static void shapes_are_kept(void)
{
    struct catalog catalog = {0};
    struct batch batch = {0};
    struct point point;
    struct result result;
    struct status st = {0};
    for (int s = 0; s < 3; s++) {
        make_point(&batches[0], s, &point);
        OKAY(batch_result(&batch, 0, &point, &catalog, &result, &st), st);
        CU_ASSERT_EQUAL(program_kept_shape(&batch.job.program), s > 0);
        CU_ASSERT_EQUAL(result.size_bytes, point.work.size_bytes);
    }
    batch_close(&batch);
    catalog_free(&catalog);
}

/* Experts' counts are drawn once for all points of a catalog that have the same: each of these differs from the first in one thing. */
static void experts_of_a_catalog_are_as_alone(void)
{
    static const char *const of[][4] = {{"8", "2", "draw: zipf, exponent: 1.2", "48"},
                                        {"8", "2", "draw: zipf, exponent: 1.7", "48"},
                                        {"8", "2", "draw: uniform", "48"},
                                        {"8", "2", "draw: even", "48"},
                                        {"8", "2", "draw: hot, share: 0.3", "48"},
                                        {"8", "2", "draw: hot, share: 0.6", "48"},
                                        {"8", "2", "draw: zipf, exponent: 1.2, seed: 2", "48"},
                                        {"12", "2", "draw: zipf, exponent: 1.2", "48"},
                                        {"8", "1", "draw: zipf, exponent: 1.2", "48"},
                                        {"8", "2", "draw: zipf, exponent: 1.2", "96"}};
    enum { FILES = sizeof of / sizeof *of };
    struct catalog catalog = {0};
    char path[] = "/tmp/icisim_test_XXXXXX.yaml";
    CU_ASSERT_FATAL(mkstemps(path, 5) >= 0);
    for (int i = 0; i < 3 * FILES; i++) {
        const char *const *with = of[i % FILES];
        struct catalog own = {0};
        struct point point;
        struct result together, alone;
        struct status st = {0};
        FILE *file = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        fprintf(file,
                "model: experts\nexperts: %s\ntop-k: %s\ntokens: %s\ncapacity-factor: 4\nlayers: [64, 128]\n"
                "expert-axis: ep\nrouting: {%s}\n",
                with[0], with[1], with[3], with[2]);
        fclose(file);
        point_init(&point);
        point.work.op = point.work.file = path;
        OKAY(option_set(option_by_name("chip"), "v5e", &point, &st), st);
        OKAY(option_set(option_by_name("slice"), i < 2 * FILES ? "2x2" : "1x2", &point, &st), st);
        OKAY(option_set(option_by_name("mesh"), i < 2 * FILES ? "ep=4" : "ep=2", &point, &st), st);
        OKAY(job_result(&point, &catalog, &together, &st), st);
        OKAY(job_result(&point, &own, &alone, &st), st);
        CU_ASSERT(is_same(&together, &alone));
        CU_ASSERT_PTR_NOT_NULL(catalog.drawn);
        catalog_free(&own);
    }
    catalog_free(&catalog);
    unlink(path);
}

SUITE("batch", TEST(points_of_a_batch_are_as_alone), TEST(shapes_are_kept),
      TEST(experts_of_a_catalog_are_as_alone))
