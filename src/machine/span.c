/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/span.h"

#include <stdlib.h>

void span_free(struct span *span)
{
    for (int r = 0; r < COLLECTIVE_RINGS; r++)
        ring_free(&span->ring[r]);
    span->rings = 0;
}

int span_of_axes(struct span *span, const struct mesh *mesh, const struct axis_list *list, struct status *st)
{
    char text[AXES_TEXT];
    int chips = axis_list_size(list, &mesh->axes);
    *span = (struct span){0};
    for (int i = 0; i < list->count; i++) {
        if (mesh->axes.axis[list->axis[i]].n == 1 && (chips > 1 || i > 0))
            continue;
        if (span->rings == COLLECTIVE_RINGS)
            return status_fail(st, STATUS_INPUT,
                               "--axis %s: a collective runs over %d axes at most; merge some, as in X=x*y",
                               axis_list_print(list, &mesh->axes, text), COLLECTIVE_RINGS);
        int code = ring_along(&span->ring[span->rings], mesh, list->axis[i], st);
        if (code < 0)
            return code;
        span->rings++;
    }
    return 0;
}

int span_of_ring(struct span *span, const struct mesh *mesh, const struct axis_list *list, struct status *st)
{
    *span = (struct span){.rings = 1};
    return ring_through(&span->ring[0], mesh, list, st);
}

/* The rings of all chips along a line, of a whole axis or of part of one. */
static int ring_of_line(struct ring *ring, const struct slice *slice, const struct side *line,
                        struct status *st)
{
    return line->n == slice->len[line->axis] ? ring_of_axis(ring, slice, line->axis, st)
                                             : ring_of_part(ring, slice, line, st);
}

int span_of_lines(struct span *span, const struct mesh *mesh, const struct axis_list *list, struct status *st)
{
    struct side line[LAYING_LINES];
    int lines = laying_lines(&mesh->laying, list, line);
    *span = (struct span){0};
    if (lines > COLLECTIVE_RINGS)
        return 0;
    for (; span->rings < lines; span->rings++)
        if (ring_of_line(&span->ring[span->rings], mesh->slice, &line[span->rings], st) < 0)
            return st->code;
    return 0;
}

bool span_has_choice(const struct mesh *mesh, const struct axis_list *list)
{
    for (int i = 0; i < list->count; i++)
        if (mesh->laying.sides[list->axis[i]] > 0 && mesh->lay[list->axis[i]].physical < 0)
            return true;
    return false;
}

void span_positions(const struct span *span, const struct mesh *mesh, const struct axis_list *list,
                    int32_t position[])
{
    for (int device = 0; device < mesh->devices; device++) {
        int chip = mesh_chip(mesh, device), at = 0;
        for (int r = 0; r < span->rings; r++)
            at = at * span->ring[r].n + ring_piece(&span->ring[r], mesh->slice, chip);
        position[axis_list_position(list, &mesh->axes, device)] = at;
    }
}

int span_edge_links(const struct span *span)
{
    int most = 0;
    for (int r = 0; r < span->rings; r++)
        most = span->ring[r].edge_links > most ? span->ring[r].edge_links : most;
    return most;
}
