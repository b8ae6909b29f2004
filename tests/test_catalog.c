/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points that share what a catalog keeps have the results of each alone, to the bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

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

SUITE("catalog", TEST(experts_of_a_catalog_are_as_alone))
