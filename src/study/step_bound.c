/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/step_bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/lookup.h"
#include "metrics/waits.h"
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
static int run(struct step_bound *step, enum record record, double *time_s, struct status *st)
{
    bool again;
    double more_s = 0;
    lower_least_set(&step->least);
    timing_renew(&step->timing);
    int code = timing_run(&step->timing, record, st);
    if (code == 0)
        code = module_job_settle(&step->job, &step->timing.trace, &again, &more_s, st);
    *time_s = step->timing.trace.total_s + more_s;
    return code;
}

/* How often each class is on the path that the time of a run comes from. */
static void find_slopes(const struct step_bound *step, const struct waits *waits, double took_s,
                        struct step_wait of[])
{
    for (int32_t c = 0; c < step->least.classes; c++)
        of[c] = (struct step_wait){.wait = step->least.class[c].wait, .took_s = took_s};
    for (struct cell cell = waits_last(waits, waits_critical_chip(waits)); cell.op >= 0;) {
        const struct op *op = &waits->program->op[cell.op];
        int32_t c = step->least.class_of[cell.op];
        struct cause cause = waits_cause(waits, cell, false);
        if (c >= 0)
            *(op->kind == OP_SEND ? &of[c].times : &of[c].delays) += fmax(op->times, 1);
        cell = cause.kind == CAUSE_START ? (struct cell){-1, -1} : cause.cell;
    }
}

/* Runs the step with the present waits, and keeps what it takes and why. */
static int keep_run(struct step_bound *step, double *time_s, struct status *st)
{
    const struct timing *timing = &step->timing;
    struct waits waits = {0};
    int code = run(step, RECORD_ALL, time_s, st);
    if (code == 0)
        code = waits_init(&waits, timing->whole, &timing->fold, &timing->trace, st);
    if (code == 0 && !GROW_BY(step->waited, step->waits, step->wait_room, step->least.classes))
        code = status_nomem(st);
    if (code == 0) {
        find_slopes(step, &waits, *time_s, step->waited + step->waits);
        step->waits += step->least.classes;
    }
    waits_free(&waits);
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

/* Finds a number for what the step's loops and sums depend on: the slice, rings, and axes on squares of devices, as they lie on a
 * mesh. */
static int find_rings(const struct step_bound *step, const struct mesh *mesh, uint32_t *rings,
                      struct status *st)
{
    const struct model_step *own = &module_of(step)->step;
    int code = 0;
    *rings = model_step_sums_whole(mesh->slice);
    for (int a = 0; a < mesh->axes.count && own->model.options.loop_columns > 0; a++)
        if (mesh_layout_is_square(&mesh->layout, a))
            *rings += lookup_hash(1, mesh->axes.axis[a].name, strlen(mesh->axes.axis[a].name));
    for (int r = 0; r < own->rings && code == 0; r++)
        code = add_ring(mesh, own->ring[r], rings, st);
    return code;
}

/* Returns 1 if the step's loops would be different on a mesh. */
static int check_loops(const struct step_bound *step, const struct mesh *mesh, struct status *st)
{
    uint32_t rings;
    if (is_chosen(step))
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
    /* It is not kept: such short waits take more HBM of the computes than any estimate's. */
    int code = run(step, RECORD_NONE, &bound_s, st);
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
    if (find_rings(step, &step->job.machine.mesh, &step->loop_rings, st) < 0)
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

/* What the step takes at least with the present waits. What it takes is the longest of paths, so that those waits count that are
 * longer than in a run and on the path that its time came from. All others may count that are shorter, as they slowed the computes
 * beside them. (A longer wait takes less HBM per second of these, which is neglected.) */
static double known_s(const struct step_bound *step)
{
    double most_s = 0;
    for (int64_t first = 0; first < step->waits; first += step->least.classes) {
        double least_s = step->waited[first].took_s;
        for (int32_t c = 0; c < step->least.classes; c++) {
            const struct step_wait *then = &step->waited[first + c];
            const struct least_class *class = &step->least.class[c];
            double longer_s = class->wait.seconds - then->wait.seconds,
                   delayed_s = class->wait.delay_s - then->wait.delay_s;
            least_s += longer_s * (longer_s > 0 ? then->times : class->times) +
                       delayed_s * (delayed_s > 0 ? then->delays : class->delays);
        }
        most_s = fmax(most_s, least_s);
    }
    return most_s;
}

/* Estimates the step with the loops that it has, class by class of its collectives; if it is above enough_s, it may take longer
 * yet. */
static int estimate(struct step_bound *step, const struct placement *placement, bool other_loops,
                    double enough_s, double *estimate_s, struct status *st)
{
    const struct lower_least *least = &step->least;
    struct lower there = {0};
    bool ahead = step->point.schedule.prefetch > 0 || step->point.schedule.combine || other_loops;
    double loops = other_loops ? STEP_LOOPS : 1, compute_s = loops * step->compute_s, delay_s, time_s = 0;
    double share = is_chosen(step) ? 0 : ahead ? STEP_AHEAD : STEP_SHARE;
    int code = lower_init(&there, least->lower->module, placement, least->lower->options, st);
    lower_least_bounds(&step->least);
    *estimate_s = compute_s;
    for (int32_t c = 0; c < least->classes && code == 0 && *estimate_s <= enough_s; c++) {
        code = lower_least_estimate(least, least->heaviest[c], &there, other_loops, &delay_s, st);
        compute_s += loops * delay_s;
        *estimate_s = compute_s + share * fmax(0, known_s(step) - compute_s);
    }
    if (code == 0 && share > 0 && *estimate_s <= enough_s) {
        code = keep_run(step, &time_s, st);
        *estimate_s = compute_s + share * (time_s - compute_s);
    }
    lower_free(&there);
    return code;
}

int step_bound_estimate(struct step_bound *step, const struct point *point, double enough_s,
                        struct catalog *catalog, double *estimate_s, struct status *st)
{
    struct machine machine = {0};
    struct placement placement = {0};
    int other = 0, code = machine_open(&machine, point, catalog, st);
    if (code == 0)
        code = other = check_loops(step, &machine.mesh, st);
    if (code >= 0)
        code = lay(step, &machine, &placement, st);
    if (code == 0)
        code = estimate(step, &placement, other, enough_s, estimate_s, st);
    placement_free(&placement);
    machine_close(&machine);
    return code < 0 ? code : other;
}

void step_bound_close(struct step_bound *step)
{
    free(step->waited);
    timing_free(&step->timing);
    lower_least_free(&step->least);
    job_close(&step->job);
    *step = (struct step_bound){0};
}
