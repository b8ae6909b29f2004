/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/simulate.h"

#include <string.h>

#include "study/collective_job.h"
#include "study/workloads.h"

static int read_formula(const struct job *job, bool *has_formula, struct formula_case *formula,
                        struct status *st)
{
    *has_formula = job->workload == &workload_collective;
    return *has_formula ? collective_case(job->state, job, formula, st) : 0;
}

int simulate_point(const struct point *point, struct catalog *catalog, struct simulation *simulation,
                   struct status *st)
{
    struct job job = {.options.few_layers = true};
    struct run run = {0};
    int code = job_open(&job, point, catalog, st);
    if (code == 0)
        code = job_build(&job, st);
    if (code == 0)
        code = job_run(&job, RECORD_NONE, &run, st);
    if (code == 0)
        code = read_formula(&job, &simulation->has_formula, &simulation->formula, st);
    simulation->result = run.result;
    run_free(&run);
    job_close(&job);
    return code;
}

int simulate_formula(const struct point *point, struct catalog *catalog, struct formula_case *formula,
                     struct status *st)
{
    struct job job = {0};
    bool has_formula = false;
    int code = job_open(&job, point, catalog, st);
    if (code == 0)
        code = job_build(&job, st);
    if (code == 0)
        code = read_formula(&job, &has_formula, formula, st);
    if (code == 0 && !has_formula)
        code = status_fail(st, STATUS_INPUT, "'%s' is not a collective, so it has no closed form",
                           point->work.op);
    job_close(&job);
    return code;
}

int simulate_workload(const char *file, const char *arguments, struct catalog *catalog,
                      struct simulation *simulation, struct status *st)
{
    struct settings settings;
    struct grid grid;
    struct point point;
    settings_init(&settings);
    int code = measured_arguments(&settings, arguments, st);
    if (code == 0 && file)
        code = settings_read(&settings, file, st);
    if (code == 0)
        code = grid_init(&grid, &settings, st);
    if (code == 0) {
        grid_point(&grid, 0, &point);
        code = simulate_point(&point, catalog, simulation, st);
    }
    settings_free(&settings);
    if (code)
        status_prefix(st, "%s%s%s: ", file ? file : "", file ? " " : "", arguments);
    return code;
}

int simulate(const char *arguments, struct catalog *catalog, struct simulation *simulation, struct status *st)
{
    return simulate_workload(NULL, arguments, catalog, simulation, st);
}
