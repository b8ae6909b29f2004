/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/mesh.h"

#include <stdlib.h>
#include <string.h>

#include "machine/route.h"
#include "machine/snake.h"

void ring_free(struct ring *ring)
{
    free(ring->position);
    free(ring->next);
    free(ring->piece);
    free(ring->slot);
    ring->position = ring->next = ring->piece = ring->slot = NULL;
}

/* A step of a ring: its links, in the longer of the two directions, and its links without dead ones; its hop, of no links if
 * it is not one. */
struct edge {
    int links, built_links;
    struct hop hop;
};

static int measure_edge(const struct slice *slice, int from, int to, struct edge *edge, struct status *st)
{
    struct minimal_route minimal[MINIMAL_ROUTES];
    struct hop hop[ROUTE_HOPS];
    route_minimal(slice, from, to, minimal);
    edge->links = edge->built_links = route_length(minimal[0].hop, minimal[0].hops);
    edge->hop = minimal[0].hops == 1 && !slice->link ? minimal[0].hop[0] : (struct hop){0};
    for (int back = 0; back < 2 && slice->link; back++) {
        int hops = back ? route_between(slice, to, from, hop, st) : route_between(slice, from, to, hop, st);
        if (hops < 0)
            return hops;
        int links = route_length(hop, hops);
        edge->links = links > edge->links ? links : edge->links;
    }
    return 0;
}

/* The longest steps of all groups, and the hop that is the same for all: edge[0] of all steps except the closing ones, edge[1]
 * of the closing steps. */
static int measure_ring(const struct slice *slice, const int32_t chip[], int groups, int n,
                        struct edge edge[2], struct status *st)
{
    struct extent extent = slice_extent(slice, chip, n);
    edge[0] = edge[1] = (struct edge){0};
    for (const int32_t *group = chip; group < chip + groups * n; group += n) {
        if (group != chip && slice_is_moved(slice, chip, group, n, &extent))
            continue;
        for (int i = 0; i < n; i++) {
            bool closes = i == n - 1;
            struct edge one, *most = &edge[closes];
            if (measure_edge(slice, group[i], group[closes ? 0 : i + 1], &one, st) < 0)
                return st->code;
            if (most->links == 0)
                most->hop = one.hop;
            else if (memcmp(&one.hop, &most->hop, sizeof one.hop) != 0)
                most->hop = (struct hop){0};
            most->links = one.links > most->links ? one.links : most->links;
            most->built_links = one.built_links > most->built_links ? one.built_links : most->built_links;
        }
    }
    return 0;
}

/* The position after the longest step that dead links have made longer, where the line of a group begins; 0
 * if there is no such step. */
static int find_break(const struct slice *slice, const int32_t chip[], int n, bool *broken, struct status *st)
{
    int start = 0, most = 0;
    for (int i = 0; i < n; i++) {
        struct edge edge;
        if (measure_edge(slice, chip[i], chip[(i + 1) % n], &edge, st) < 0)
            return st->code;
        if (edge.links > edge.built_links && edge.links > most) {
            most = edge.links;
            start = (i + 1) % n;
            *broken = true;
        }
    }
    return start;
}

/* Makes lines of rings that dead links break: rotates every group in `order` so that its break comes last. */
static int open_broken(struct ring *ring, const struct slice *slice, int32_t order[], int groups,
                       struct status *st)
{
    int n = ring->n, code = 0;
    int32_t *turned = malloc((size_t)n * sizeof *turned);
    ring->piece = malloc((size_t)slice->chips * sizeof *ring->piece);
    if (!turned || !ring->piece) {
        code = status_nomem(st);
        goto out;
    }
    memset(ring->piece, -1, (size_t)slice->chips * sizeof *ring->piece);
    for (int g = 0; g < groups && code == 0; g++) {
        int32_t *chip = order + (size_t)g * (size_t)n;
        int start = find_break(slice, chip, n, &ring->broken, st);
        code = start < 0 ? start : 0;
        for (int i = 0; i < n && code == 0; i++) {
            turned[i] = chip[(start + i) % n];
            ring->piece[chip[i]] = i;
        }
        if (code == 0)
            memcpy(chip, turned, (size_t)n * sizeof *chip);
    }
out:
    free(turned);
    if (!ring->broken) {
        free(ring->piece);
        ring->piece = NULL;
    }
    return code;
}

/* Writes the position of every chip, and the next chip, from the order of every group. */
static void place(struct ring *ring, const struct slice *slice, const int32_t chip[], int groups)
{
    int n = ring->n;
    memset(ring->position, -1, (size_t)slice->chips * sizeof *ring->position);
    memset(ring->next, -1, (size_t)slice->chips * sizeof *ring->next);
    for (const int32_t *group = chip; group < chip + groups * n; group += n)
        for (int i = 0; i < n; i++) {
            ring->position[group[i]] = i;
            ring->next[group[i]] = group[i == n - 1 ? 0 : i + 1];
        }
}

/* Sets ring->overlap to the largest number of steps over one link. The closing step of a line does
 * not count. */
static int count_overlap(struct ring *ring, const struct slice *slice, struct status *st)
{
    if (ring->edge_links < 2)
        return 0;
    int32_t *steps = calloc((size_t)slice_link_ids(slice) + 1, sizeof *steps);
    int *link = malloc((size_t)slice_link_ids(slice) * sizeof *link), code = 0;
    if (!steps || !link)
        code = status_nomem(st);
    for (int chip = 0; chip < slice->chips && code == 0; chip++) {
        struct hop hop[ROUTE_HOPS];
        if (ring->next[chip] < 0 || (!ring->closed && ring->position[chip] == ring->n - 1))
            continue;
        int hops = route_between(slice, chip, ring->next[chip], hop, st);
        code = hops < 0 ? hops : 0;
        if (code == 0)
            route_walk(slice, chip, hop, hops, link);
        for (int l = 0, links = route_length(hop, hops); code == 0 && l < links; l++)
            ring->overlap = ++steps[link[l]] > ring->overlap ? steps[link[l]] : ring->overlap;
        if (ring->step_delta != 0 && ring->overlap == ring->edge_links)
            break; /* no more chips than that can step over a link */
    }
    free(steps);
    free(link);
    if (code < 0)
        ring_free(ring);
    return code;
}

/* The ring through each group, without its overlap. */
static int order_groups(struct ring *ring, const struct slice *slice, const int32_t chip[], int groups, int n,
                        struct status *st)
{
    size_t chips = (size_t)slice->chips, listed = (size_t)groups * (size_t)n;
    struct edge edge[2];
    *ring = (struct ring){.n = n, .axis = -1, .along = -1};
    int32_t *order = malloc((listed + 1) * sizeof *order);
    ring->position = malloc(chips * sizeof *ring->position);
    ring->next = malloc(chips * sizeof *ring->next);
    int code = order && ring->position && ring->next ? 0 : status_nomem(st);
    if (code == 0) {
        memcpy(order, chip, listed * sizeof *order);
        code = measure_ring(slice, order, groups, n, edge, st);
    }
    bool closed = code == 0 && n > 2 && edge[1].built_links <= edge[0].built_links;
    if (closed && slice->link)
        code = open_broken(ring, slice, order, groups, st);
    if (code == 0 && ring->broken)
        code = measure_ring(slice, order, groups, n, edge, st);
    if (code == 0) {
        place(ring, slice, order, groups);
        ring->closed = closed && !ring->broken;
        ring->edge_links = edge[0].links;
        ring->step_axis = edge[0].hop.axis;
        bool alike = !closed || memcmp(&edge[0].hop, &edge[1].hop, sizeof edge[0].hop) == 0;
        ring->step_delta = listed == chips && alike ? edge[0].hop.delta : 0;
        ring->closing_links = edge[1].links;
        ring->overlap = 1;
    }
    if (code < 0)
        ring_free(ring);
    free(order);
    return code;
}

int ring_of_groups(struct ring *ring, const struct slice *slice, const int32_t chip[], int groups, int n,
                   struct status *st)
{
    int code = order_groups(ring, slice, chip, groups, n, st);
    return code < 0 ? code : count_overlap(ring, slice, st);
}

/* Are all links of a physical axis alive? */
static bool is_alive(const struct slice *slice, int axis)
{
    for (int id = 0; slice->link && id < slice_link_ids(slice); id++)
        if (slice->link[id].kind == LINK_DEAD && slice_link_axis(slice, id) == axis)
            return false;
    return true;
}

/* The ring of a straight axis, where the position of a chip is its coordinate. */
static struct ring ring_of_links(const struct slice *slice, int axis)
{
    int n = slice->len[axis];
    bool closed = slice_ring(slice, axis) > 0;
    struct ring ring = {
        .n = n, .closed = closed, .axis = axis, .along = axis, .edge_links = n > 1, .overlap = 1};
    ring.closing_links = closed ? 1 : n - 1;
    ring.step_axis = axis;
    ring.step_delta = !slice->link;
    return ring;
}

int ring_of_part(struct ring *ring, const struct slice *slice, const struct side *part, struct status *st)
{
    bool whole = part->n == slice->len[part->axis] && is_alive(slice, part->axis);
    if (whole && slice_is_straight(slice, part->axis)) {
        *ring = ring_of_links(slice, part->axis);
        return 0;
    }
    int at = 0;
    int32_t *chip = malloc((size_t)slice->chips * sizeof *chip);
    if (!chip)
        return status_nomem(st);
    for (int first = 0; first < slice->chips; first++) {
        int coord[SLICE_AXES];
        for (int a = 0; a < slice->axes; a++)
            coord[a] = slice_coord(slice, first, a);
        if (coord[part->axis] / part->stride % part->n != 0)
            continue;
        for (int i = 0; i < part->n; i++, coord[part->axis] += part->stride)
            chip[at++] = slice_chip(slice, coord);
    }
    int code = ring_of_groups(ring, slice, chip, slice->chips / part->n, part->n, st);
    ring->along = whole ? part->axis : -1;
    free(chip);
    return code;
}

int ring_of_axis(struct ring *ring, const struct slice *slice, int axis, struct status *st)
{
    return ring_of_part(ring, slice, &(struct side){axis, slice->len[axis], 1, false}, st);
}

int ring_along(struct ring *ring, const struct mesh *mesh, int axis, struct status *st)
{
    struct axis_list list = {.count = 1, .axis = {axis}};
    return ring_through(ring, mesh, &list, st);
}

/* The number of different coordinates of the chips along an axis; *closed tells whether these are evenly
 * spaced round the whole ring. `seen` is scratch, [length of the axis]. */
static int count_places(const struct slice *slice, const int32_t chip[], int n, int axis, char seen[],
                        bool *closed)
{
    int len = slice->len[axis], places = 0, stride = 0, last = -1;
    bool even = true;
    memset(seen, 0, (size_t)len);
    for (int i = 0; i < n; i++)
        seen[slice_coord(slice, chip[i], axis)] = 1;
    for (int at = 0; at < len; at++) {
        if (!seen[at])
            continue;
        even &= places < 2 || at - last == stride;
        stride = places++ > 0 ? at - last : 0;
        last = at;
    }
    *closed = even && places > 2 && stride * places == len && slice_ring(slice, axis) == len;
    return places;
}

/* A side of a box of chips. */
struct box_side {
    int axis, n, stride; /* stride: between the row-major numbers of its points */
    bool closed;
};

/* If links differ, sorts the sides in an order that does not depend on the names of the axes, since the order
 * of the sides changes the snake. */
static void sort_sides(const struct slice *slice, struct box_side side[], int count)
{
    for (int i = 0; i < count && slice->link; i++)
        for (int k = count - 1; k > i; k--) {
            struct box_side one = side[k], before = side[k - 1];
            double one_Bps = slice_slowest_Bps(slice, one.axis),
                   before_Bps = slice_slowest_Bps(slice, before.axis);
            if (one.n != before.n             ? one.n > before.n
                : one.closed == before.closed ? one_Bps >= before_Bps
                                              : before.closed)
                continue;
            side[k] = before;
            side[k - 1] = one;
        }
}

/* Writes the snake through a box as row-major numbers of its points. */
static int snake_through(const struct slice *slice, struct box_side side[], int count, int n, int32_t order[],
                         struct status *st)
{
    int sides[SLICE_AXES];
    bool closed[SLICE_AXES];
    for (int s = count - 1, stride = 1; s >= 0; stride *= side[s--].n)
        side[s].stride = stride;
    sort_sides(slice, side, count);
    for (int s = 0; s < count; s++) {
        sides[s] = side[s].n;
        closed[s] = side[s].closed;
    }
    int code = snake_order(count, sides, closed, order, st);
    for (int i = 0; i < n && code == 0; i++) {
        int rest = order[i];
        order[i] = 0;
        for (int s = count - 1; s >= 0; rest /= side[s--].n)
            order[i] += rest % side[s].n * side[s].stride;
    }
    return code;
}

/* Finds an order in which a group goes from neighbour to neighbour, if its chips fill a box (or, say, every
 * second place of one); otherwise keeps its order. */
static int order_along_neighbours(const struct slice *slice, const int32_t chip[], int n, int32_t slot[],
                                  struct status *st)
{
    int count = 0, code = 0;
    int64_t filled = 1;
    struct box_side side[SLICE_AXES];
    /* a chip's place in the group's order, and these places in the order of the chips */
    int32_t *at = malloc((size_t)slice->chips * sizeof *at), *placed = malloc((size_t)n * sizeof *placed);
    if (!at || !placed) {
        code = status_nomem(st);
        goto out;
    }
    for (int a = 0; a < slice->axes; a++) {
        side[count].axis = a;
        side[count].n = count_places(slice, chip, n, a, (char *)at, &side[count].closed);
        filled *= side[count].n;
        count += side[count].n > 1;
    }
    memset(at, -1, (size_t)slice->chips * sizeof *at);
    for (int i = 0; i < n; i++)
        at[chip[i]] = slot[i] = i;
    if (filled != n || count == 0)
        goto out;
    for (int c = 0, next = 0; c < slice->chips; c++)
        if (at[c] >= 0)
            placed[next++] = at[c];
    code = snake_through(slice, side, count, n, slot, st);
    for (int i = 0; i < n && code == 0; i++)
        slot[i] = placed[slot[i]];
out:
    free(at);
    free(placed);
    return code;
}

/* A ring through the chips that some mesh axes span together, in their order or from neighbour to neighbour.
 * All groups take the order of the first one, as they are translated or mirrored copies of it. */
static int ring_over(struct ring *ring, const struct mesh *mesh, const struct axis_list *list,
                     bool along_neighbours, struct status *st)
{
    int chips = mesh->devices, n = axis_list_size(list, &mesh->axes), code = 0;
    *ring = (struct ring){.axis = -1, .along = -1};
    if (list->count == 1 && mesh->lay[list->axis[0]].physical >= 0)
        return ring_of_axis(ring, mesh->slice, mesh->lay[list->axis[0]].physical, st);
    int32_t *chip = malloc((size_t)chips * sizeof *chip), *ordered = malloc((size_t)chips * sizeof *ordered);
    int32_t *slot = along_neighbours ? malloc((size_t)n * sizeof *slot) : NULL;
    if (!chip || !ordered || (along_neighbours && !slot)) {
        code = status_nomem(st);
        goto out;
    }
    mesh_groups(mesh, list, chip);
    if (slot)
        code = order_along_neighbours(mesh->slice, chip, n, slot, st);
    for (int i = 0; i < chips && code == 0; i++)
        ordered[i] = slot ? chip[i / n * n + slot[i % n]] : chip[i];
    if (code == 0)
        code = order_groups(ring, mesh->slice, ordered, chips / n, n, st);
    if (code == 0) {
        ring->slot = slot;
        slot = NULL;
    }
out:
    free(chip);
    free(ordered);
    free(slot);
    return code;
}

int ring_through(struct ring *ring, const struct mesh *mesh, const struct axis_list *list, struct status *st)
{
    int code = ring_over(ring, mesh, list, true, st);
    return code < 0 ? code : count_overlap(ring, mesh->slice, st);
}

int ring_of_loop(struct ring *ring, const struct mesh *mesh, const struct axis_list *list, struct status *st)
{
    struct mesh chips = {.devices = 0};
    int code = mesh->cores > 1 ? mesh_init_of_chips(&chips, mesh, st) : 0;
    if (code == 0)
        code = ring_over(ring, mesh->cores > 1 ? &chips : mesh, list, mesh->order == DEVICE_ORDER_RING, st);
    mesh_free(&chips);
    return code;
}

int rings_piece(const struct ring *const ring[], int rings, const struct slice *slice, int chip)
{
    int piece = 0;
    for (int r = 0; r < rings; r++)
        piece = piece * ring[r]->n + ring_piece(ring[r], slice, chip);
    return piece;
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
