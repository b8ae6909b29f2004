/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What formulas and bounds need to know of a collective on its slice. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/metrics.h"
#include "workload/collective_job.h"

/* Is every step of every ring one link of its own? Rings of a group start from different chips, so links of
 * one hop are never shared; only where `uni` closes a line it walks back, on links of its own on a physical
 * axis. */
static bool steps_are_links(const struct collective_job *c)
{
    for (int r = 0; r < c->rings; r++) {
        const struct ring *ring = &c->ring[r];
        bool own_way_back = ring->closed ? ring->closing_links == 1 : ring->axis >= 0 || c->kind != RING_UNI;
        if (ring->n > 1 && (ring->edge_links != 1 || !own_way_back))
            return false;
    }
    return true;
}

static bool rings_are_axes(const struct collective_job *c)
{
    for (int r = 0; r < c->rings; r++)
        if (c->ring[r].n > 1 && c->ring[r].axis < 0)
            return false;
    return true;
}

/* The group of each chip: only who is with whom, in no order. */
static void number_groups(const struct collective_job *c, const struct job *job, int32_t group[])
{
    const struct mesh *mesh = &job->machine.mesh;
    const struct slice *slice = &job->machine.slice;
    for (int chip = 0; chip < slice->chips; chip++)
        group[chip] = -1;
    int groups = 0;
    for (int chip = 0; chip < slice->chips && job->point->groups; chip++) {
        for (int at = chip; group[at] < 0; at = ring_next(&c->ring[0], slice, at))
            group[at] = groups;
        groups += group[chip] == groups;
    }
    for (int chip = 0; chip < slice->chips && !job->point->groups; chip++) {
        group[chip] = 0;
        for (int a = 0; a < mesh->axes.count; a++) {
            bool within = false;
            for (int i = 0; i < c->axes.count; i++)
                within |= c->axes.axis[i] == a;
            if (!within)
                group[chip] =
                    group[chip] * mesh->axes.axis[a].n + axes_coord(&mesh->axes, mesh_device(mesh, chip), a);
        }
    }
}

/* Pairs with one chip before a plane of an axis and the other behind it have to cross the plane, and at the
 * other end of a ring the wrap: seconds per byte of a pair, on the plane where that takes longest. */
static double worst_cut(const struct slice *slice, const int32_t group[], int group_chips, int64_t before[])
{
    double worst_s = 0;
    int groups = slice->chips / group_chips;
    for (int axis = 0; axis < slice->axes; axis++) {
        memset(before, 0, (size_t)groups * sizeof *before);
        double links = (double)slice->chips / slice->len[axis] * (slice_is_ring(slice, axis) ? 2 : 1);
        for (int plane = 0; plane < slice->len[axis] - 1; plane++) {
            double pairs = 0;
            for (int chip = 0; chip < slice->chips; chip++)
                before[group[chip]] += slice_coord(slice, chip, axis) == plane;
            for (int g = 0; g < groups; g++)
                pairs += (double)before[g] * (double)(group_chips - before[g]);
            worst_s = fmax(worst_s, pairs / (links * slice->link_Bps));
        }
    }
    return worst_s;
}

static int find_worst_cut(const struct collective_job *c, const struct job *job, struct formula_case *formula,
                          struct status *st)
{
    size_t chips = (size_t)job->machine.slice.chips;
    int32_t *group = malloc(chips * sizeof *group);
    int64_t *before = malloc(chips * sizeof *before);
    if (group && before) {
        number_groups(c, job, group);
        formula->worst_cut_s_per_byte = worst_cut(&job->machine.slice, group, c->group_chips, before);
    }
    int code = group && before ? 0 : status_nomem(st);
    free(group);
    free(before);
    return code;
}

/* Do no two sends of the program share a link? */
static int is_free_of_contention(const struct program *program, double bytes, bool *free_of,
                                 struct status *st)
{
    int links = slice_link_ids(program->slice);
    double *link_bytes = malloc(((size_t)links + 1) * sizeof *link_bytes);
    if (!link_bytes)
        return status_nomem(st);
    int code = metrics_link_bytes(program, link_bytes, st);
    *free_of = true;
    for (int link = 0; link < links && code == 0; link++)
        *free_of &= link_bytes[link] <= bytes * (1 + 1e-9);
    free(link_bytes);
    return code;
}

/* A permute: its longest route, and the fewest ports of a chip that gets something from another. */
static int find_routes(const struct collective_job *c, const struct job *job, struct formula_case *formula,
                       struct status *st)
{
    const struct program *program = &job->program;
    const struct slice *slice = &job->machine.slice;
    int longest = 0;
    formula->least_ports = 0;
    for (int chip = 0; chip < slice->chips; chip++) {
        int to = c->target[chip];
        if (to < 0 || to == chip)
            continue;
        int ports = slice_count_ports(slice, to);
        if (formula->least_ports == 0 || ports < formula->least_ports)
            formula->least_ports = ports;
        for (int32_t o = 0; o < program->ops; o++) {
            struct route route = op_route(program, &program->op[o], chip);
            int links = route_length(program->hop + route.first, route.hops);
            longest = links > longest ? links : longest;
        }
    }
    bool free_of = false;
    double bytes = (double)c->elements * c->dtype->bytes / formula->routes;
    int code = is_free_of_contention(program, bytes, &free_of, st);
    formula->route_links = free_of ? longest : 0;
    return code;
}

int collective_case(const struct collective_job *c, const struct job *job, struct formula_case *formula,
                    struct status *st)
{
    const struct slice *slice = &job->machine.slice;
    *formula = (struct formula_case){.op = c->collective->id,
                                     .kind = c->kind,
                                     .algorithm = (enum algorithm)job->point->algorithm,
                                     .rings = c->rings,
                                     .one_link = steps_are_links(c),
                                     .on_axes = rings_are_axes(c),
                                     .elements = c->elements,
                                     .elem_bytes = c->dtype->bytes,
                                     .hop_latency_s = slice->hop_latency_s,
                                     .link_Bps = slice->link_Bps,
                                     .setup_s = job->machine.chip->setup_s,
                                     .keep_ties = job->point->keep_ties,
                                     .routes = job->point->routes > 0 ? job->point->routes : 1,
                                     .groups = slice->chips / c->group_chips,
                                     .least_ports = slice_count_ports(slice, 0), /* a corner has the fewest */
                                     .directed_links = slice_count_links(slice)};
    for (int r = 0; r < c->rings; r++) {
        formula->n[r] = c->ring[r].n;
        formula->closed[r] = c->ring[r].closed;
    }
    if (c->target)
        return find_routes(c, job, formula, st);
    return formula->op == COLLECTIVE_ALL_TO_ALL ? find_worst_cut(c, job, formula, st) : 0;
}
