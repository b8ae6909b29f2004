/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/step_bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/module_job.h"

int step_bound_matches(const struct point *point, struct status *st)
{
    return model_file_has(point->work.op, "model", "transformer", st);
}

static struct module_job *module_of(const struct step_bound *step)
{
    return step->job.state;
}

/* The time of the step with the present lengths of its waits. */
static int run(struct step_bound *step, double *time_s, struct status *st)
{
    bool again;
    double more_s = 0;
    timing_renew(&step->timing);
    int code = timing_run(&step->timing, RECORD_NONE, st);
    if (code == 0)
        code = module_job_settle(&step->job, &step->timing.trace, &again, &more_s, st);
    *time_s = step->timing.trace.total_s + more_s;
    return code;
}

/* Finds the axes of a mesh whose rings are closed, one bit each, numbered as the step's own axes. */
static int find_closed(const struct step_bound *step, const struct mesh *mesh, unsigned *closed,
                       struct status *st)
{
    const struct axes *axes = &step->job.machine.mesh.axes;
    *closed = 0;
    for (int a = 0; a < axes->count && mesh->cores == 1; a++) {
        struct axis_list list = {.count = 1, .axis = {axes_find(&mesh->axes, axes->axis[a].name)}};
        struct ring ring;
        if (axes->axis[a].n < 3)
            continue;
        if (ring_of_loop(&ring, mesh, &list, st) < 0)
            return st->code;
        *closed |= (unsigned)ring.closed << a;
        ring_free(&ring);
    }
    return 0;
}

/* Returns 1 if the step's loops would be different on a mesh. Loops that were chosen as the fastest hold for one
 * layout. */
static int check_loops(const struct step_bound *step, const struct point *point, const struct mesh *mesh,
                       struct status *st)
{
    const struct point_machine *own = &step->point.machine, *other = &point->machine;
    unsigned closed;
    if (!step->loops)
        return 0;
    if (find_closed(step, mesh, &closed, st) < 0)
        return st->code;
    bool chosen = strncmp(module_of(step)->step.strategy, "auto:", strlen("auto:")) == 0,
         same = strcmp(own->mesh, other->mesh) == 0 && strcmp(own->slice, other->slice) == 0;
    return closed != step->closed || (chosen && !same);
}

/* Computes run one at a time. */
static double sum_computes_s(const struct lower *lower)
{
    double sum_s = 0;
    for (const struct lowered *item = lower->item; item < lower->item + lower->items; item++)
        sum_s += item->aside || !(item->seconds > 0) ? 0 : item->seconds * item->times;
    return sum_s;
}

static int find_bounds(struct step_bound *step, double enough_s, struct status *st)
{
    step->compute_s = sum_computes_s(&module_of(step)->lower);
    step->sent_s = lower_least_sum_s(&step->least);
    step->bound_s = fmax(step->compute_s, step->sent_s);
    if (step->bound_s > enough_s)
        return 0;
    double bound_s;
    lower_least_bounds(&step->least, 1);
    int code = run(step, &bound_s, st);
    step->bound_s = fmax(step->bound_s, bound_s);
    return code;
}

int step_bound_open(struct step_bound *step, const struct point *point, struct catalog *catalog,
                    struct least_table *table, double enough_s, struct status *st)
{
    const struct job_options options = {
        .least = true, .least_table = table, .few_layers = true, .model.must_fit = true};
    *step = (struct step_bound){.point = *point, .job.options = options};
    int code = job_open(&step->job, &step->point, catalog, st);
    if (code == 0)
        code = job_build(&step->job, st);
    if (code == 0)
        code = lower_least_init(&step->least, &module_of(step)->lower, &step->job.program, st);
    if (code == 0)
        code = timing_init(&step->timing, &step->job.program, engine_fastest(), true, st);
    if (code < 0)
        return code;
    const struct model *model = &module_of(step)->step.model;
    step->memory_bytes = model_memory_bytes(&model->size, model->remat);
    step->loops = module_of(step)->step.loops;
    if (step->loops && find_closed(step, &step->job.machine.mesh, &step->closed, st) < 0)
        return st->code;
    return find_bounds(step, enough_s, st);
}

/* Finds the chips of the step's devices on a mesh with the same axes in another order. */
static void find_chips(const struct mesh *ours, const struct mesh *mesh, int32_t chip[])
{
    int axis[AXES_MAX];
    for (int a = 0; a < ours->axes.count; a++)
        axis[a] = axes_find(&mesh->axes, ours->axes.axis[a].name);
    for (int device = 0; device < ours->devices; device++) {
        int at[AXES_MAX] = {0}, there = 0;
        for (int a = ours->axes.count - 1, left = device; a >= 0; left /= ours->axes.axis[a--].n)
            at[axis[a]] = left % ours->axes.axis[a].n;
        for (int a = 0; a < mesh->axes.count; a++)
            there = there * mesh->axes.axis[a].n + at[a];
        chip[device] = mesh_chip(mesh, there);
    }
}

static int lay(const struct step_bound *step, const struct machine *machine, struct placement *placement,
               struct status *st)
{
    const struct mesh *ours = &step->job.machine.mesh;
    int code =
        placement_init(placement, &machine->slice, ours->devices, ours->cores, &machine->mesh, NULL, st);
    if (code == 0)
        find_chips(ours, &machine->mesh, placement->chip_of);
    return code;
}

/* Do mesh axes share axes of the slice? */
static bool is_split(const struct mesh *mesh)
{
    bool split = false;
    for (int a = 0; a < mesh->axes.count; a++) {
        split |= mesh->axes.axis[a].n > 1 && mesh->layout.sides[a] == 0;
        for (int s = 0; s < mesh->layout.sides[a]; s++)
            split |= mesh->layout.side[a][s].n < mesh->slice->len[mesh->layout.side[a][s].axis];
    }
    return split;
}

static double share_of(const struct step_bound *step, const struct mesh *mesh, enum least_way way)
{
    if (way == LEAST_OTHER_LOOPS)
        return STEP_SPLIT;
    bool loops = step->loops && strcmp(module_of(step)->step.strategy, "xla") != 0;
    bool beside = loops || step->point.schedule.prefetch > 0 || step->point.schedule.combine;
    return !is_split(mesh) ? STEP_WHOLE : beside ? STEP_SPLIT : STEP_SYNCHRONOUS;
}

/* Estimates the step with the loops that it has. */
static int estimate(struct step_bound *step, const struct machine *machine, enum least_way way,
                    double *estimate_s, struct status *st)
{
    struct placement placement = {0};
    double delay_s = 0;
    int code = lay(step, machine, &placement, st);
    if (code == 0)
        code = lower_least_estimate(&step->least, &placement, way, &delay_s, st);
    if (code == 0)
        code = run(step, estimate_s, st);
    double compute_s = (way == LEAST_OTHER_LOOPS ? STEP_LOOPS : 1) * (step->compute_s + delay_s);
    if (code == 0)
        *estimate_s = compute_s + share_of(step, &machine->mesh, way) * (*estimate_s - compute_s);
    placement_free(&placement);
    return code;
}

int step_bound_estimate(struct step_bound *step, const struct point *point, bool simulated,
                        struct catalog *catalog, double *estimate_s, struct status *st)
{
    struct machine machine = {0};
    int code = machine_open(&machine, point, catalog, st);
    if (code == 0)
        code = check_loops(step, point, &machine.mesh, st);
    if (code == 0 || (code > 0 && !simulated))
        code = estimate(step, &machine,
                        simulated  ? LEAST_SIMULATED
                        : code > 0 ? LEAST_OTHER_LOOPS
                                   : LEAST_AT_ONCE,
                        estimate_s, st);
    machine_close(&machine);
    return code;
}

void step_bound_close(struct step_bound *step)
{
    timing_free(&step->timing);
    lower_least_free(&step->least);
    job_close(&step->job);
    *step = (struct step_bound){0};
}
