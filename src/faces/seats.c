/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/seats.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void print_sizes(const struct axes *axes, char text[static AXES_TEXT])
{
    struct axes sorted = *axes;
    /* the struct begins with the name */
    qsort(sorted.axis, (size_t)sorted.count, sizeof *sorted.axis, by_name);
    axes_print(&sorted, text);
}

/* The sizes of the axes of a point's mesh. A mesh that counts chips is counted in devices only when it is
 * laid out. */
static int read_sizes(const struct point *point, struct catalog *catalog, struct axes *axes,
                      struct status *st)
{
    struct machine machine = {0};
    struct mesh_layout layout = {0};
    bool cores = strstr(point->machine.mesh, "cores");
    const struct chip *chip = catalog_chip_of(catalog, point, st);
    int code = !chip   ? st->code
               : cores ? machine_open(&machine, point, catalog, st)
                       : chip_slice(chip, point->machine.slice, point->machine.wrap, &machine.slice, st);
    if (code >= 0 && cores)
        *axes = machine.mesh.axes;
    else if (code >= 0)
        code = mesh_layout_parse(&layout, point->machine.mesh, &machine.slice, axes, st);
    machine_close(&machine);
    return code < 0 ? code : 0;
}

static int by_sizes(const void *a, const void *b)
{
    const struct seat *left = a, *right = b;
    int order = strcmp(left->sizes, right->sizes), chips = strcmp(left->chip, right->chip);
    return order ? order : chips ? chips : left->value - right->value;
}

int seats_find(struct seats *seats, const struct grid *grid, struct catalog *catalog, struct status *st)
{
    const struct option_row *slice = option_by_name("slice");
    int count = settings_count(grid->settings, "slice"), code = 0;
    *seats = (struct seats){.seat = calloc((size_t)count, sizeof *seats->seat),
                            .count = count,
                            .stride = count > 1 ? grid_with(grid, 0, slice, 1) : grid->points};
    if (!seats->seat)
        return status_nomem(st);
    for (int v = 0; v < count && code == 0; v++) {
        struct axes axes = {0};
        struct point point;
        grid_point(grid, v * seats->stride, &point);
        code = read_sizes(&point, catalog, &axes, st);
        print_sizes(&axes, seats->seat[v].sizes);
        seats->seat[v].chip = point.machine.chip;
        seats->seat[v].value = v;
    }
    qsort(seats->seat, (size_t)count, sizeof *seats->seat, by_sizes);
    for (int s = 0; s < count; s++)
        seats->groups += s == 0 || !seats_alike(seats, s - 1, s);
    return code;
}

void seats_free(struct seats *seats)
{
    free(seats->seat);
    *seats = (struct seats){0};
}

bool seats_alike(const struct seats *seats, int a, int b)
{
    return strcmp(seats->seat[a].sizes, seats->seat[b].sizes) == 0 &&
           strcmp(seats->seat[a].chip, seats->seat[b].chip) == 0;
}
