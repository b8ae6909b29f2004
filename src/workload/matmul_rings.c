/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one ring that a loop of permutes needs: where it lies, and what its longest step costs. */
#include "workload/matmul_rings.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "engine/timing.h"

/* Bytes that a chip sends at each step, both ways together. */
static double step_bytes(const struct matmul_product *p, const struct matmul_move *move, int n)
{
    double elements = move->kind == MOVE_GATHER_LEFT    ? (double)p->m * (double)p->k
                      : move->kind == MOVE_GATHER_RIGHT ? (double)p->k * (double)p->n
                                                        : (double)p->m * (double)p->n;
    return elements / n * dtype_info(matmul_moved(p, move->kind)->dtype)->bytes;
}

/* One step of all chips, one way, simulated. */
static int time_step(const struct ring *ring, const struct slice *slice, double bytes, double *time_s,
                     struct status *st)
{
    int32_t *target = malloc((size_t)slice->chips * sizeof *target);
    if (!target)
        return status_nomem(st);
    for (int chip = 0; chip < slice->chips; chip++) {
        int at = ring_position(ring, slice, chip);
        bool ends = at < 0 || (!ring->closed && at == ring->n - 1);
        target[chip] = ends ? -1 : ring_next(ring, slice, chip);
    }
    struct collective_spec spec = {
        .elements = (int64_t)bytes, .elem_bytes = 1, .target = target, .routes = 1, .timing_only = true};
    struct program program;
    program_init(&program, slice);
    int code = collective_of(COLLECTIVE_PERMUTE)->build(&spec, &program, -1, NULL, st);
    if (code == 0)
        code = program_time(&program, time_s, st);
    program_free(&program);
    free(target);
    return code;
}

static int print_edge(const struct matmul_product *p, const struct matmul_options *options,
                      const struct mesh *mesh, const struct ring *ring, const char *axes,
                      char text[static RESULT_LINE], struct status *st)
{
    const struct slice *slice = mesh->slice;
    char size[UNITS_TEXT], far[UNITS_TEXT], near[UNITS_TEXT];
    int ways = options->strategy == STRATEGY_BIDI_HALF && ring->closed ? 2 : 1;
    double bytes = step_bytes(p, &p->move[p->overlap], ring->n) / ways, time_s = 0;
    int code = time_step(ring, slice, bytes, &time_s, st);
    if (code == 0)
        snprintf(text, RESULT_LINE,
                 "the loop over %s is one ring of %d, neighbours up to %d hops apart: a step of %s takes %s, "
                 "side by "
                 "side %s",
                 axes, ring->n, ring->edge_links, units_print_bytes((uint64_t)bytes, size),
                 units_print_time(time_s, far),
                 units_print_time(slice->hop_latency_s + bytes / slice->link_Bps, near));
    return code;
}

/* Does some loop go through this axis alone? */
static bool is_looped(const struct matmul_plan *plan, int axis)
{
    for (int i = 0; i < plan->products; i++) {
        const struct matmul_product *p = &plan->product[i];
        if (p->overlap >= 0 && p->move[p->overlap].axes.count == 1 &&
            p->move[p->overlap].axes.axis[0] == axis)
            return true;
    }
    return false;
}

static size_t print_mapping(const struct matmul_plan *plan, const struct mesh *mesh, bool loops,
                            char rings[static RESULT_LINE])
{
    size_t used = 0;
    for (int a = 0; a < mesh->axes.count && used < RESULT_LINE; a++)
        used += (size_t)snprintf(
            rings + used, RESULT_LINE - used, "%s%s on %s%s", a ? ", " : "", mesh->axes.axis[a].name,
            mesh->lay[a].how, loops && mesh->laying.sides[a] > 1 && is_looped(plan, a) ? " as one ring" : "");
    return used;
}

int matmul_rings_print(const struct matmul_plan *plan, const struct matmul_options *options,
                       const struct mesh *mesh, char rings[static RESULT_LINE],
                       char edges[static RESULT_LINE], struct status *st)
{
    char axes[AXES_TEXT];
    bool loops = options->strategy != STRATEGY_NAIVE;
    size_t used = print_mapping(plan, mesh, loops, rings);
    for (int i = 0; i < plan->products && loops; i++) {
        const struct matmul_product *p = &plan->product[i];
        struct ring ring;
        if (p->overlap < 0)
            continue;
        const struct axis_list *list = &p->move[p->overlap].axes;
        if (ring_through(&ring, mesh, list, st) < 0)
            return st->code;
        axis_list_print(list, &mesh->axes, axes);
        if (list->count > 1 && used < RESULT_LINE)
            used += (size_t)snprintf(rings + used, RESULT_LINE - used, ", one ring over %s", axes);
        int code = 0;
        if (ring.edge_links > 1 && !*edges && !mesh->slice->link)
            code = print_edge(p, options, mesh, &ring, axes, edges, st);
        ring_free(&ring);
        if (code < 0)
            return code;
    }
    return 0;
}
