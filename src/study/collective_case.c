/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inputs of formulas and bounds for a collective on its slice. */
#include <stdlib.h>
#include <string.h>

#include "formula/bound.h"
#include "metrics/metrics.h"
#include "study/collective_job.h"

/* Rings of a group start from different chips, so links of one hop are never shared; if `uni` closes a line,
 * as in all collectives but broadcasts, it returns over the same links. */
static bool steps_are_links(const struct collective_job *c)
{
    bool closes = c->kind == RING_UNI && c->collective->id != COLLECTIVE_BROADCAST;
    for (int r = 0; r < c->choice.set.rings; r++)
        if (c->choice.set.ring[r].n > 1 && !ring_is_of_links(&c->choice.set.ring[r], closes))
            return false;
    return true;
}

static bool rings_are_axes(const struct collective_job *c)
{
    for (int r = 0; r < c->choice.set.rings; r++)
        if (c->choice.set.ring[r].n > 1 && c->choice.set.ring[r].axis < 0)
            return false;
    return true;
}

/* Do no two sends of the program share a link? */
static int is_free_of_contention(const struct program *program, double bytes, bool *free_of,
                                 struct status *st)
{
    int links = slice_link_ids(program->slice);
    double *link_bytes = metrics_link_bytes(program, st);
    *free_of = true;
    for (int link = 0; link < links && link_bytes; link++)
        *free_of &= link_bytes[link] <= bytes * (1 + 1e-9);
    free(link_bytes);
    return st->code;
}

/* A permute: its longest route. */
static int find_routes(const struct collective_job *c, const struct job *job, struct formula_case *formula,
                       struct status *st)
{
    const struct program *program = &job->program;
    const struct slice *slice = &job->machine.slice;
    int longest = 0;
    for (int chip = 0; chip < slice->chips; chip++) {
        int to = c->target[chip];
        if (to < 0 || to == chip)
            continue;
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
    *formula =
        (struct formula_case){.op = c->collective->id,
                              .kind = c->kind,
                              .all_to_all = c->all_to_all,
                              .rings = c->choice.set.rings,
                              .one_link = steps_are_links(c),
                              .on_axes = rings_are_axes(c),
                              .elements = c->elements,
                              .elem_bytes = c->dtype->bytes,
                              .hop_latency_s = slice->hop_latency_s,
                              .link_Bps = slice->link_Bps,
                              .reduce_Bps = slice->reduce_Bps,
                              .setup_s = job->machine.chip->setup_s,
                              .keep_ties = job->point->schedule.keep_ties,
                              .root = ring_choice_root(c, job),
                              .routes = job->point->schedule.routes > 0 ? job->point->schedule.routes : 1,
                              .uneven = slice->link != NULL};
    for (int r = 0; r < c->choice.set.rings; r++) {
        formula->n[r] = c->choice.set.ring[r].n;
        formula->closed[r] = c->choice.set.ring[r].closed;
    }
    return c->target ? find_routes(c, job, formula, st) : 0;
}

/* The members of each group, by their pieces: group by group. */
static void list_members(const struct collective_job *c, const struct job *job, int32_t chip[])
{
    const struct slice *slice = &job->machine.slice;
    if (!job->point->work.groups) {
        mesh_groups(&job->machine.mesh, &c->axes, chip);
        return;
    }
    const struct ring *ring = &c->choice.set.ring[0];
    int groups = 0;
    for (int first = 0; first < slice->chips; first++) {
        if (ring_piece(ring, slice, first) != 0)
            continue;
        for (int i = 0, at = first; i < ring->n; i++, at = ring_next(ring, slice, at))
            chip[groups * ring->n + i] = at;
        groups++;
    }
}

/* Bytes of each pair of positions, from elements. */
static double *pair_bytes(const struct collective_job *c)
{
    size_t pairs = (size_t)c->group_chips * (size_t)c->group_chips;
    double *bytes = malloc(pairs * sizeof *bytes);
    for (size_t i = 0; bytes && i < pairs; i++)
        bytes[i] = (double)c->pair_elements[i] * c->dtype->bytes;
    return bytes;
}

/* The bound for the chips of the devices: joints are not included, nor are bytes of single pairs. */
static int bound_devices(const struct collective_job *c, const struct job *job, double *bound_s,
                         struct status *st)
{
    struct groups chips = {0};
    if (c->collective->has_targets || c->pair_elements || c->collective->id == COLLECTIVE_BROADCAST)
        return 0;
    int code = mesh_chips_of(&job->machine.mesh, &c->devices, &chips, st);
    if (code == 0 && chips.size > 1)
        code = bound_find(&(struct bound_case){.slice = &job->machine.slice,
                                               .op = c->collective->id,
                                               .bytes = (double)c->elements * c->dtype->bytes *
                                                        (c->devices.count / chips.count),
                                               .n = chips.size,
                                               .groups = chips.count,
                                               .chip = chips.member},
                          bound_s, st);
    groups_free(&chips);
    return code;
}

int collective_bound(const struct collective_job *c, const struct job *job, double *bound_s,
                     struct status *st)
{
    if (job->machine.mesh.cores > 1)
        return bound_devices(c, job, bound_s, st);
    const struct slice *slice = &job->machine.slice;
    struct bound_case bound = {.slice = slice,
                               .op = c->collective->id,
                               .bytes = (double)c->elements * c->dtype->bytes,
                               .n = c->group_chips,
                               .groups = job->machine.mesh.devices / c->group_chips,
                               .root = job->point->work.root,
                               .target = c->target};
    bool has_places = c->target || c->pair_elements || c->collective->id == COLLECTIVE_BROADCAST;
    if (!job->point->work.groups && !has_places)
        bound.axes = mesh_spanned(&job->machine.mesh, &c->axes);
    int32_t *chip = NULL;
    double *bytes = NULL;
    int code = 0;
    if (!c->target && !bound.axes) {
        bound.chip = chip = malloc((size_t)slice->chips * sizeof *chip);
        if (chip)
            list_members(c, job, chip);
        else
            code = status_nomem(st);
    }
    if (code == 0 && c->pair_elements) {
        bound.pair_bytes = bytes = pair_bytes(c);
        code = bytes ? 0 : status_nomem(st);
    }
    if (code == 0)
        code = bound_find(&bound, bound_s, st);
    free(chip);
    free(bytes);
    return code;
}
