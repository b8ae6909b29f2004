/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often the set-up of a collective is paid: once in the time of one, whatever its axes, phases, chunks and hops are;
 * once for each permute of a loop, as each is a collective. Times with and without are compared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "settings/measured.h"
#include "study/job.h"
#include "suite.h"

static const double setup_s = 13e-6;
static char chip_path[] = "/tmp/icisim-setup-XXXXXX";

static struct result run(const char *arguments, const char *chip, struct status *st)
{
    struct settings settings;
    struct grid grid;
    struct point point;
    struct catalog catalog = {0};
    struct result result;
    settings_init(&settings);
    OKAY(measured_arguments(&settings, arguments, st), *st);
    OKAY(grid_init(&grid, &settings, st), *st);
    grid_point(&grid, 0, &point);
    point.machine.chip = chip;
    job_result(&point, &catalog, &result, st);
    catalog_free(&catalog);
    settings_free(&settings);
    return result;
}

/* v5p with a set-up. */
static void make_chip(void)
{
    int fd = mkstemp(chip_path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("name: slow-start\nbase: v5p\nspec:\n  setup: 13us\n", file);
    fclose(file);
}

static const struct {
    int times;
    const char *arguments;
} cases[] = {
    {1, "all-gather --slice 4x4x4 --axis x --ring uni --size 6MB"},
    {1, "all-gather --slice 4x4x4 --ring bidi-half --size 6MB"},
    {1, "all-gather --slice 4x3 --wrap none --ring bidi --size 6MB"},
    {1, "reduce-scatter --slice 4x4x4 --ring bidi --size 6MB"},
    {1, "all-reduce --slice 4x4 --wrap all --ring uni --size 6MB"}, /* no barrier between its halves */
    {1, "all-to-all --slice 4x4 --size 6MB"},
    {1, "all-to-all --slice 5x4 --wrap all --all-to-all ring --ring uni --size 6MB"},
    {0, "all-to-all --slice 4x1 --axis y --size 6MB"}, /* what stays on its chip needs none */
    {1, "collective-permute --slice 4x4 --axis x --offset 1 --size 6MB"},
    {1, "collective-permute --slice 4x4 --pairs 0-15 --routes 2 --size 6MB"},
    {1, "ragged-all-to-all --slice 4x2 --pair-sizes random:7 --size 6MB"},
    {1, "broadcast --slice 4x4x4 --ring uni --size 6MB"},
    {1, "broadcast --slice 4x4x4 --ring bidi-half --size 6MB"},
    {1, "broadcast --slice 7 --wrap none --ring bidi --root 2 --size 6MB"},
    /* thin products: every step waits for its permute; on a ring of 4 there are 3, both ways 2 */
    {1, "'bf16[4096@x,512] . bf16[512,8] -> bf16[4096,8]' --slice 4 --wrap all --strategy naive --plan "
        "textbook"},
    {3, "'bf16[4096@x,512] . bf16[512,8] -> bf16[4096,8]' --slice 4 --wrap all --strategy uni"},
    {2, "'bf16[4096@x,512] . bf16[512,8] -> bf16[4096,8]' --slice 4 --wrap all --strategy bidi"},
    {3, "'bf16[4096@x,512] . bf16[512,8] -> bf16[4096,8]' --slice 4 --wrap all --strategy bidi-half"},
    {1, "'bf16[4096,8@x] . bf16[8@x,512] -> bf16[4096@x,512]' --slice 4 --wrap all --strategy naive --plan "
        "textbook"},
    {3, "'bf16[4096,8@x] . bf16[8@x,512] -> bf16[4096@x,512]' --slice 4 --wrap all --strategy uni"},
    /* five all-reduces, one after the other */
    {5, "'bf16[4000,8@x] . bf16[8@x,512] -> bf16[4000,512]' --slice 4 --wrap all --strategy bidi "
        "--all-reduce chunks "
        "--chunks 5"},
};

static void is_paid_so_often(void)
{
    make_chip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct status st = {0};
        struct result with = run(cases[i].arguments, chip_path, &st);
        struct result without = run(cases[i].arguments, "v5p", &st);
        OKAY(st.code, st);
        double paid = (with.time_s - without.time_s) / setup_s;
        if (!(fabs(paid - cases[i].times) < 1e-6))
            printf("%s: paid %.9g times, not %d\n", cases[i].arguments, paid, cases[i].times);
        CU_ASSERT_DOUBLE_EQUAL(paid, cases[i].times, 1e-6);
        if (!isnan(without.formula_exact_s)) /* closed forms have it, too */
            NEAR(with.formula_exact_s, with.time_s, 1e-9);
    }
    /* The times of the choices where an output is ambiguous have it, too. V = 4000 * 512 * 2 bytes on a ring of 4 with
     * links of 90 GB/s: 3 (1 us + V / (8 w)) = 20.07 us; twice that, or once, and 13 us */
    struct status st = {0};
    run("'bf16[4000,8@x] . bf16[8@x,512]' --slice 4 --wrap all", chip_path, &st);
    CU_ASSERT_EQUAL(st.code, STATUS_INPUT);
    CU_ASSERT(strstr(st.text, "all-reduce over x (53.13 us)") &&
              strstr(st.text, "reduce-scatter (33.07 us)"));
    unlink(chip_path);
}

SUITE("collective_setup", TEST(is_paid_so_often))
