/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workload files: refused, or the first of their points is opened, with all that its front end makes of it. */
#include <stdlib.h>

#include "fuzz.h"
#include "settings/settings.h"
#include "study/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct status st = {0};
    struct settings settings;
    struct grid grid;
    struct point point;
    struct catalog catalog = {0};
    struct job job = {0};
    settings_init(&settings);
    int code = settings_read(&settings, fuzz_file(".yaml", data, bytes), &st);
    if (code == 0)
        code = grid_init(&grid, &settings, &st);
    if (code == 0) {
        grid_point(&grid, 0, &point);
        code = job_open(&job, &point, &catalog, &st);
    }
    if (code < 0)
        fuzz_refused(&st);
    job_close(&job);
    catalog_free(&catalog);
    settings_free(&settings);
    return 0;
}
