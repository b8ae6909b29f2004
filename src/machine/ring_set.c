/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/ring_set.h"

#include <stdlib.h>

void ring_set_free(struct ring_set *set)
{
    for (int r = 0; r < COLLECTIVE_RINGS; r++)
        ring_free(&set->ring[r]);
    set->rings = 0;
}

int ring_set_of_axes(struct ring_set *set, const struct mesh *mesh, const struct axis_list *list,
                     struct status *st)
{
    char text[AXES_TEXT];
    int chips = axis_list_size(list, &mesh->axes);
    *set = (struct ring_set){0};
    for (int i = 0; i < list->count; i++) {
        if (mesh->axes.axis[list->axis[i]].n == 1 && (chips > 1 || i > 0))
            continue;
        if (set->rings == COLLECTIVE_RINGS)
            return status_fail(st, STATUS_INPUT,
                               "--axis %s: a collective runs over %d axes at most; merge some, as in X=x*y",
                               axis_list_print(list, &mesh->axes, text), COLLECTIVE_RINGS);
        int code = ring_along(&set->ring[set->rings], mesh, list->axis[i], st);
        if (code < 0)
            return code;
        set->rings++;
    }
    return 0;
}

int ring_set_of_ring(struct ring_set *set, const struct mesh *mesh, const struct axis_list *list,
                     struct status *st)
{
    *set = (struct ring_set){.rings = 1};
    return ring_through(&set->ring[0], mesh, list, st);
}

int ring_set_of_groups(struct ring_set *set, const struct mesh *mesh, const struct groups *groups,
                       struct status *st)
{
    size_t devices = (size_t)groups->count * (size_t)groups->size;
    int32_t *chip = malloc((devices + 1) * sizeof *chip);
    *set = (struct ring_set){0};
    if (!chip)
        return status_nomem(st);
    for (size_t i = 0; i < devices; i++)
        chip[i] = mesh_chip(mesh, groups->member[i]);
    int code = ring_of_groups(&set->ring[0], mesh->slice, chip, groups->count, groups->size, st);
    set->rings = code == 0;
    free(chip);
    return code;
}

int ring_set_of_lines(struct ring_set *set, const struct mesh *mesh, const struct axis_list *list,
                      struct status *st)
{
    struct side line[MESH_LAYOUT_LINES];
    int lines = mesh_layout_lines(&mesh->layout, list, line);
    *set = (struct ring_set){0};
    if (lines > COLLECTIVE_RINGS)
        return 0;
    for (; set->rings < lines; set->rings++)
        if (ring_of_part(&set->ring[set->rings], mesh->slice, &line[set->rings], st) < 0)
            return st->code;
    return 0;
}

bool ring_set_has_choice(const struct mesh *mesh, const struct axis_list *list)
{
    for (int i = 0; i < list->count; i++)
        if (mesh->layout.sides[list->axis[i]] > 0 && mesh->lay[list->axis[i]].physical < 0)
            return true;
    return false;
}

int ring_set_piece(const struct ring_set *set, const struct slice *slice, int chip)
{
    const struct ring *ring[COLLECTIVE_RINGS];
    for (int r = 0; r < set->rings; r++)
        ring[r] = &set->ring[r];
    return rings_piece(ring, set->rings, slice, chip);
}

void ring_set_positions(const struct ring_set *set, const struct mesh *mesh, const struct axis_list *list,
                        int32_t position[])
{
    for (int device = 0; device < mesh->devices; device++)
        position[axis_list_position(list, &mesh->axes, device)] =
            ring_set_piece(set, mesh->slice, mesh_chip(mesh, device));
}

int ring_set_edge_links(const struct ring_set *set)
{
    int most = 0;
    for (int r = 0; r < set->rings; r++)
        most = set->ring[r].edge_links > most ? set->ring[r].edge_links : most;
    return most;
}
