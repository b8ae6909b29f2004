/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/step_bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/lookup.h"
#include "study/module_job.h"

int step_bound_matches(const struct point *point, struct status *st)
{
    return model_file_has(point->work.op, "model", "transformer", st);
}

static struct module_job *module_of(const struct step_bound *step)
{
    return step->job.state;
}

/* Was its strategy chosen while collectives took no time? Then its computes are the least of all strategies', and that is all
 * that is known. */
static bool is_chosen(const struct step_bound *step)
{
    return strncmp(module_of(step)->step.strategy, "auto:", strlen("auto:")) == 0;
}

/* The time of the step with the present lengths of its waits. */
static int run(struct step_bound *step, double *time_s, struct status *st)
{
    bool again;
    double more_s = 0;
    lower_least_set(&step->least);
    timing_renew(&step->timing);
    int code = timing_run(&step->timing, RECORD_NONE, st);
    if (code == 0)
        code = module_job_settle(&step->job, &step->timing.trace, &again, &more_s, st);
    *time_s = step->timing.trace.total_s + more_s;
    return code;
}

/* Notes a ring of a mesh: whether it is closed, and the places of the devices along its axes. */
static int add_ring(const struct mesh *mesh, const char *axes, uint32_t *rings, struct status *st)
{
    struct axis_list list;
    struct ring ring;
    if (mesh_parse_axes(mesh, axes, &list, st) < 0)
        return st->code;
    int size = axis_list_size(&list, &mesh->axes);
    if (size < 3)
        return 0;
    int32_t *device = malloc((size_t)mesh->devices * sizeof *device);
    if (!device)
        return status_nomem(st);
    axis_list_groups(&list, &mesh->axes, device);
    int code = ring_of_loop(&ring, mesh, &list, st);
    for (int i = 0; code == 0 && i < size; i++)
        device[i] = ring_position(&ring, mesh->slice, mesh_chip(mesh, device[i]));
    if (code == 0) {
        *rings = lookup_hash(*rings, &(int){ring.closed}, sizeof(int));
        *rings = lookup_hash(*rings, device, (size_t)size * sizeof *device);
        ring_free(&ring);
    }
    free(device);
    return code;
}

/* Finds a number for the rings on which the step's loops depend, as they lie on a mesh. */
static int find_rings(const struct step_bound *step, const struct mesh *mesh, uint32_t *rings,
                      struct status *st)
{
    const struct model_step *own = &module_of(step)->step;
    int code = 0;
    *rings = 0;
    for (int r = 0; r < own->rings && code == 0; r++)
        code = add_ring(mesh, own->ring[r], rings, st);
    return code;
}

/* Returns 1 if the step's loops would be different on a mesh. */
static int check_loops(const struct step_bound *step, const struct mesh *mesh, struct status *st)
{
    uint32_t rings;
    if (!step->loops || is_chosen(step))
        return 0;
    return find_rings(step, mesh, &rings, st) < 0 ? st->code : rings != step->loop_rings;
}

/* Computes run one at a time. Those that differ by chip are left out. */
static double sum_computes_s(const struct lower *lower)
{
    double sum_s = 0;
    for (const struct lowered *item = lower->item; item < lower->item + lower->items; item++)
        sum_s += item->aside || item->each_s || !(item->seconds > 0) ? 0 : item->seconds * item->times;
    return sum_s;
}

static int find_bounds(struct step_bound *step, struct status *st)
{
    double bound_s;
    step->compute_s = sum_computes_s(&module_of(step)->lower);
    step->sent_s = lower_least_sum_s(&step->least);
    lower_least_bounds(&step->least);
    int code = run(step, &bound_s, st);
    step->bound_s = fmax(is_chosen(step) ? 0 : bound_s, fmax(step->compute_s, step->sent_s));
    return code;
}

int step_bound_open(struct step_bound *step, const struct point *point, struct catalog *catalog,
                    struct least_table *table, struct status *st)
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
    if (step->loops && find_rings(step, &step->job.machine.mesh, &step->loop_rings, st) < 0)
        return st->code;
    return find_bounds(step, st);
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

/* Is a time known of waits that are all as long as the present ones? Else finds what these take about at least: what a run took
 * in which none was longer. (A longer wait takes less HBM per second of the computes beside it, which is neglected.) */
static bool is_known(const struct step_bound *step, double *least_s)
{
    int32_t classes = step->least.classes, longer, c;
    *least_s = 0;
    for (int64_t r = 0; r < step->runs; r++) {
        const struct least_wait *then = step->waited + r * classes;
        for (c = longer = 0; c < classes; c++) {
            struct least_wait now = step->least.class[c].wait;
            if (now.seconds < then[c].seconds || now.delay_s < then[c].delay_s)
                break;
            longer += now.seconds > then[c].seconds || now.delay_s > then[c].delay_s;
        }
        if (c == classes)
            *least_s = longer ? fmax(*least_s, step->took_s[r]) : step->took_s[r];
        if (c == classes && longer == 0)
            return true;
    }
    return false;
}

static int keep_run(struct step_bound *step, double time_s, struct status *st)
{
    int32_t classes = step->least.classes;
    if (!GROW(step->took_s, step->runs, step->run_room) ||
        !GROW_BY(step->waited, step->waits, step->wait_room, classes))
        return status_nomem(st);
    for (int32_t c = 0; c < classes; c++)
        step->waited[step->waits++] = step->least.class[c].wait;
    step->took_s[step->runs++] = time_s;
    return 0;
}

/* Estimates the step with the loops that it has; if it is above enough_s, it may take longer yet. */
static int estimate(struct step_bound *step, const struct machine *machine, bool other_loops, double enough_s,
                    double *estimate_s, struct status *st)
{
    struct placement placement = {0};
    double delay_s = 0, time_s;
    int code = lay(step, machine, &placement, st);
    if (code == 0)
        code = lower_least_estimate(&step->least, &placement, other_loops, &delay_s, st);
    placement_free(&placement);
    if (code < 0)
        return code;
    bool ahead = step->point.schedule.prefetch > 0 || step->point.schedule.combine || other_loops;
    double compute_s = (other_loops ? STEP_LOOPS : 1) * (step->compute_s + delay_s),
           share = is_chosen(step) ? 0
                   : ahead         ? STEP_AHEAD
                                   : STEP_SHARE;
    bool known = is_known(step, &time_s) || is_chosen(step);
    if (!known && compute_s + share * (time_s - compute_s) <= enough_s) {
        code = run(step, &time_s, st);
        code = code < 0 ? code : keep_run(step, time_s, st);
    }
    *estimate_s = compute_s + share * (time_s - compute_s);
    return code;
}

int step_bound_estimate(struct step_bound *step, const struct point *point, double enough_s,
                        struct catalog *catalog, double *estimate_s, struct status *st)
{
    struct machine machine = {0};
    int other = 0, code = machine_open(&machine, point, catalog, st);
    if (code == 0)
        code = other = check_loops(step, &machine.mesh, st);
    if (code >= 0)
        code = estimate(step, &machine, other, enough_s, estimate_s, st);
    machine_close(&machine);
    return code < 0 ? code : other;
}

void step_bound_close(struct step_bound *step)
{
    free(step->waited);
    free(step->took_s);
    timing_free(&step->timing);
    lower_least_free(&step->least);
    job_close(&step->job);
    *step = (struct step_bound){0};
}
