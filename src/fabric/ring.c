/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fabric/mesh.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/route.h"
#include "fabric/snake.h"

void ring_free(struct ring *ring)
{
    free(ring->position);
    free(ring->next);
    free(ring->slot);
    ring->position = ring->next = ring->slot = NULL;
}

static int links_between(const struct slice *slice, int from, int to)
{
    struct way way = route_shortest(slice, from, to);
    return route_length(way.hop, way.hops);
}

int ring_of_groups(struct ring *ring, const struct slice *slice, const int32_t chip[], int groups, int n,
                   struct status *st)
{
    size_t chips = (size_t)slice->chips;
    *ring = (struct ring){.n = n, .axis = -1};
    ring->position = malloc(chips * sizeof *ring->position);
    ring->next = malloc(chips * sizeof *ring->next);
    if (!ring->position || !ring->next) {
        ring_free(ring);
        return status_nomem(st);
    }
    memset(ring->position, -1, chips * sizeof *ring->position);
    memset(ring->next, -1, chips * sizeof *ring->next);
    for (int at = 0; at < groups * n; at++) {
        int from = chip[at], to = at % n == n - 1 ? chip[at - n + 1] : chip[at + 1];
        int links = links_between(slice, from, to);
        int *most = at % n == n - 1 ? &ring->closing_links : &ring->edge_links;
        if (links > *most)
            *most = links;
        ring->position[from] = at % n;
        ring->next[from] = to;
    }
    ring->closed = n > 2 && ring->closing_links <= ring->edge_links;
    return 0;
}

int ring_along(struct ring *ring, const struct mesh *mesh, int axis, struct status *st)
{
    int n = mesh->axes.axis[axis].n, physical = mesh->lay[axis].physical;
    if (physical >= 0) {
        bool closed = slice_is_ring(mesh->slice, physical);
        *ring = (struct ring){.n = n, .closed = closed, .axis = physical, .edge_links = n > 1};
        ring->closing_links = closed ? 1 : n - 1;
        return 0;
    }
    struct axis_list list = {.count = 1, .axis = {axis}};
    return ring_through(ring, mesh, &list, st);
}

int ring_through(struct ring *ring, const struct mesh *mesh, const struct axis_list *list, struct status *st)
{
    if (list->count == 1 && mesh->lay[list->axis[0]].physical >= 0)
        return ring_along(ring, mesh, list->axis[0], st);
    int chips = mesh->slice->chips, n = axis_list_size(list, &mesh->axes), sides[AXES_MAX], code = 0;
    bool closed[AXES_MAX];
    *ring = (struct ring){.axis = -1};
    int32_t *chip = malloc((size_t)chips * sizeof *chip), *way = malloc((size_t)chips * sizeof *way);
    int32_t *slot = malloc((size_t)n * sizeof *slot);
    if (!chip || !way || !slot) {
        code = status_nomem(st);
        goto out;
    }
    mesh_groups(mesh, list, chip);
    for (int i = 0; i < n; i++)
        slot[i] = i;
    if (list->count > 1) {
        for (int i = 0; i < list->count && code == 0; i++) {
            struct ring side;
            code = ring_along(&side, mesh, list->axis[i], st);
            sides[i] = side.n;
            closed[i] = side.closed;
            ring_free(&side);
        }
        if (code == 0)
            code = snake_order(list->count, sides, closed, slot, st);
    }
    for (int at = 0; at < chips && code == 0; at++)
        way[at] = chip[at - at % n + slot[at % n]];
    if (code == 0)
        code = ring_of_groups(ring, mesh->slice, way, chips / n, n, st);
    if (code == 0 && list->count > 1) {
        ring->slot = slot;
        slot = NULL;
    }
out:
    free(chip);
    free(way);
    free(slot);
    return code;
}

int ring_next(const struct ring *ring, const struct slice *slice, int chip)
{
    if (ring->axis < 0)
        return ring->next[chip];
    int coord[SLICE_AXES];
    for (int a = 0; a < slice->axes; a++)
        coord[a] = slice_coord(slice, chip, a);
    coord[ring->axis] = (coord[ring->axis] + 1) % ring->n;
    return slice_chip(slice, coord);
}
