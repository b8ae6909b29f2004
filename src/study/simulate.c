/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/simulate.h"

#include "study/collective_job.h"

int simulate_point(const struct point *point, struct catalog *catalog, bool runs,
                   struct simulation *simulation, struct status *st)
{
    struct job job = {.options.few_layers = true};
    struct run run = {0};
    int code = job_open(&job, point, catalog, st);
    if (code == 0)
        code = job_build(&job, st);
    if (code == 0 && runs)
        code = job_run(&job, RECORD_NONE, &run, st);
    simulation->has_formula = code == 0 && job.workload == &workload_collective;
    if (simulation->has_formula)
        code = collective_case(job.state, &job, &simulation->formula, st);
    simulation->result = run.result;
    run_free(&run);
    job_close(&job);
    return code;
}

int simulate_read(const char *file, const char *arguments, struct settings *settings, struct point *point,
                  struct status *st)
{
    struct grid grid;
    settings_init(settings);
    int code = measured_arguments(settings, arguments, st);
    if (code == 0 && file)
        code = settings_read(settings, file, st);
    if (code == 0)
        code = grid_init(&grid, settings, st);
    if (code == 0)
        grid_point(&grid, 0, point);
    return code;
}

int simulate(const char *file, const char *arguments, struct catalog *catalog, struct simulation *simulation,
             struct status *st)
{
    struct settings settings;
    struct point point;
    int code = simulate_read(file, arguments, &settings, &point, st);
    if (code == 0)
        code = simulate_point(&point, catalog, true, simulation, st);
    settings_free(&settings);
    return code ? status_prefix(st, "%s%s%s: ", file ? file : "", file ? " " : "", arguments) : 0;
}
