/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one ring that a loop of permutes needs: where it lies, and what its longest step costs. */
#include "study/matmul_rings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "collective/collective.h"
#include "engine/timing.h"
#include "hlo/tally.h"

/* Is an instruction the first permute of a loop? Then over which axes. */
static bool begins_loop(const struct module *module, int32_t at, const struct mesh *mesh,
                        struct axis_list *over)
{
    char axes[TALLY_AXES];
    return module_at(module, at)->opcode == HLO_COLLECTIVE_PERMUTE_START &&
           module_has_label(module, at, "step=\"0\"") &&
           module_label(module, at, "over", axes, sizeof axes) &&
           mesh_parse_axes(mesh, axes, over, NULL) >= 0;
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

static int print_edge(double bytes, const struct mesh *mesh, const struct ring *ring, const char *axes,
                      char text[static RESULT_LINE], struct status *st)
{
    const struct slice *slice = mesh->slice;
    char size[UNITS_TEXT], far[UNITS_TEXT], near[UNITS_TEXT];
    double time_s = 0;
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
static bool is_looped(const struct module *module, const struct mesh *mesh, int axis)
{
    struct axis_list over;
    for (int32_t at = 0; at < module->instructions; at++)
        if (begins_loop(module, at, mesh, &over) && over.count == 1 && over.axis[0] == axis)
            return true;
    return false;
}

static size_t print_mapping(const struct module *module, const struct mesh *mesh,
                            char rings[static RESULT_LINE])
{
    size_t used = 0;
    for (int a = 0; a < mesh->axes.count && used < RESULT_LINE; a++)
        used += (size_t)snprintf(
            rings + used, RESULT_LINE - used, "%s%s on %s%s", a ? ", " : "", mesh->axes.axis[a].name,
            mesh->lay[a].how, mesh->layout.sides[a] > 1 && is_looped(module, mesh, a) ? " as one ring" : "");
    return used;
}

int matmul_rings_print(const struct module *module, const struct mesh *mesh, char rings[static RESULT_LINE],
                       char edges[static RESULT_LINE], struct status *st)
{
    char axes[AXES_TEXT], loop[16], last[16] = "";
    size_t used = print_mapping(module, mesh, rings);
    for (int32_t at = 0; at < module->instructions; at++) {
        struct axis_list over;
        struct ring ring;
        if (!begins_loop(module, at, mesh, &over) || !module_label(module, at, "loop", loop, sizeof loop) ||
            strcmp(loop, last) == 0)
            continue; /* the other way round of the same loop */
        snprintf(last, sizeof last, "%s", loop);
        if (ring_through(&ring, mesh, &over, st) < 0)
            return st->code;
        axis_list_print(&over, &mesh->axes, axes);
        if (over.count > 1 && used < RESULT_LINE)
            used += (size_t)snprintf(rings + used, RESULT_LINE - used, ", one ring over %s", axes);
        int code = 0;
        double bytes = shape_bytes(module, module_at(module, module_operand(module, at, 0))->shape);
        if (ring.edge_links > 1 && !*edges && !mesh->slice->link)
            code = print_edge(bytes, mesh, &ring, axes, edges, st);
        ring_free(&ring);
        if (code < 0)
            return code;
    }
    return 0;
}
