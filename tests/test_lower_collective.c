/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A collective in a module takes what the same one takes by itself, on the chips that its groups lie on: to 1e-9, which is
 * more than a CSV has digits for. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/module_rows.h"
#include "settings/point.h"
#include "study/module_job.h"
#include "suite.h"

/* What lies where groups of these words lie; both NULL: the whole slice. */
struct place {
    const char *groups, *mesh, *axis;
};

struct machine_words {
    const char *chip, *slice, *wrap;
};

static struct point point_on(const char *op, const struct machine_words *machine)
{
    struct point point;
    point_init(&point);
    point.work.op = op;
    point.machine.chip = machine->chip;
    point.machine.slice = machine->slice;
    point.machine.wrap = machine->wrap;
    point.machine.profile = CHIP_SPEC; /* of text too */
    return point;
}

static double alone_s(const char *op, const struct machine_words *machine, const struct place *place,
                      double bytes)
{
    struct point point = point_on(op, machine);
    struct catalog catalog = {0};
    struct result result = {0};
    struct status st = {0};
    point.machine.mesh = place->mesh;
    point.machine.split_axes = true;
    point.work.axis = place->axis;
    point.work.dtype = "s8";
    point.work.size_bytes = (uint64_t)bytes;
    OKAY(job_result(&point, &catalog, &result, &st), st);
    catalog_free(&catalog);
    return result.time_s;
}

static const struct place *place_of(const struct place place[], const char *groups)
{
    for (; place->groups; place++)
        if (strcmp(place->groups, groups) == 0)
            return place;
    return NULL;
}

/* Each kind, place and size once. Returns how many there are; sizes of less than 64 KiB have other parts by themselves. */
static int compare_rows(const struct module_rows *rows, const struct machine_words *machine,
                        const struct place place[])
{
    enum { CLASSES = 64 };
    char groups[MODULE_ROW_TEXT], seen[CLASSES][MODULE_ROW_TEXT + 64];
    int classes = 0;
    for (int32_t i = 0; i < rows->rows; i++) {
        const struct module_row *row = &rows->row[i];
        if (row->collective < 0 || row->bytes < 65536)
            continue;
        const char *op = module_row_opcode(rows, row);
        const struct place *at = place_of(place, module_row_groups(rows, row, groups));
        int c = 0;
        if (!at)
            continue;
        CU_ASSERT_FATAL(classes < CLASSES);
        snprintf(seen[classes], sizeof *seen, "%s %s %.0f", op, groups, row->bytes);
        while (strcmp(seen[c], seen[classes]) != 0)
            c++;
        classes += c == classes;
        if (c + 1 == classes)
            NEAR(row->sum.time_s / row->sum.executions, alone_s(op, machine, at, row->bytes), 1e-9);
    }
    return classes;
}

static int compare(const char *path, const struct machine_words *machine, const struct place place[])
{
    struct point point = point_on(path, machine);
    struct catalog catalog = {0};
    struct job job = {0};
    struct run run = {0};
    struct module_rows rows = {0};
    struct status st = {0};
    OKAY(job_open(&job, &point, &catalog, &st), st);
    OKAY(job_build(&job, &st), st);
    OKAY(job_run(&job, RECORD_NONE, &run, &st), st);
    OKAY(module_rows_init(&rows, module_job_of(&job), &run, &st), st);
    int classes = compare_rows(&rows, machine, place);
    module_rows_free(&rows);
    run_free(&run);
    job_close(&job);
    catalog_free(&catalog);
    return classes;
}

/* Every spelling of groups, along one axis and over the slice. */
static void of_all_spellings(void)
{
    const struct machine_words machine = {"tests/golden/hlo/round.yaml", "4x4", "all"};
    const struct place place[] = {{"[4,4]<=[16]", NULL, "y"},
                                  {"[4,4]<=[4,4]T(1,0)", NULL, "x"},
                                  {"{{0,1,2,3},{4,5,6,7},{8,9,10,11},{12,13,14,15}}", NULL, "y"},
                                  {"mesh['x'=4,'y'=4] {'x'}", NULL, "x"},
                                  {"{}", NULL, NULL},
                                  {"{{0}}", NULL, NULL},
                                  {0}};
    CU_ASSERT(compare("tests/golden/hlo/4_groups.hlo", &machine, place) >= 4);
}

/* A real step, where it is at hand: groups of 128 devices lie on boxes of 4x8x4. */
static void of_a_real_step(void)
{
    static const char path[] = "../shared/hlo/xla_bench_hlo_llama31_70b_bf16_32x8.hlo";
    const struct machine_words machine = {"v5p", "8x8x4", NULL};
    const struct place place[] = {
        {"[2,128]<=[256]", "d=2,f=4,y=8,z=4", "f,y,z"}, {"[1,256]<=[256]", NULL, NULL}, {0}};
    if (access(path, R_OK) == 0)
        CU_ASSERT(compare(path, &machine, place) >= 6);
}

SUITE("lower_collective", TEST(of_all_spellings), TEST(of_a_real_step))
