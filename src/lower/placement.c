/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lower/placement.h"

#include "lower/cores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int placement_init(struct placement *placement, const struct slice *slice, int devices, int cores,
                   const struct mesh *mesh, const int32_t chip_of[], struct status *st)
{
    char shape[SLICE_TEXT];
    cores = placement_cores(slice, devices, mesh ? mesh->cores : cores);
    *placement = (struct placement){.slice = slice, .devices = devices, .cores = cores};
    if (mesh && mesh->devices < slice->chips && devices != mesh->devices)
        return status_fail(st, STATUS_INPUT, "the module runs on %d devices, but its mesh has %d", devices,
                           mesh->devices);
    if (devices != slice->chips * cores && !(mesh && devices == mesh->devices))
        return status_fail(
            st, STATUS_INPUT,
            "the module runs on %d devices, but the slice %s has %d chips; give a --slice of %d chips",
            devices, slice_print_shape(slice, shape), slice->chips, devices);
    placement->chip_of = malloc((size_t)devices * sizeof *placement->chip_of);
    if (!placement->chip_of)
        return status_nomem(st);
    for (int d = 0; d < devices; d++)
        placement->chip_of[d] = chip_of ? chip_of[d] : mesh ? mesh_chip(mesh, d) : d / cores;
    return 0;
}

void placement_free(struct placement *placement)
{
    free(placement->chip_of);
    placement->chip_of = NULL;
}

/* The chips of a group, if they are those of a box, or every second one of it along an axis, and so on: its lowest corner, how
 * many there are along each axis, and how far apart. */
struct box {
    int low[SLICE_AXES], len[SLICE_AXES], stride[SLICE_AXES];
};

/* The smallest that holds a group along an axis: apart are any two by a multiple of what the lowest two are. Returns false if
 * some are not. */
static bool bound(const struct placement *placement, const int member[], int n, int axis, struct box *box)
{
    const struct slice *slice = placement->slice;
    int low = slice->len[axis], high = 0, next = slice->len[axis], step = 1, len = slice->len[axis];
    for (int a = axis + 1; a < slice->axes; a++)
        step *= slice->len[a];
    for (int i = 0; i < n; i++) {
        int c = placement->chip_of[member[i]] / step % len;
        if (c < low) {
            next = low;
            low = c;
        } else if (c > low && c < next) {
            next = c;
        }
        high = c > high ? c : high;
    }
    int stride = high > low ? next - low : 1;
    for (int i = 0; i < n && stride > 1; i++)
        if ((placement->chip_of[member[i]] / step % len - low) % stride != 0)
            return false;
    box->low[axis] = low;
    box->stride[axis] = stride;
    box->len[axis] = (high - low) / stride + 1;
    return true;
}

/* Does a group fill a box? One that holds as many different chips as it has is full. */
static bool bound_all(const struct placement *placement, const int member[], int n, struct box *box)
{
    int chips = 1;
    *box = (struct box){0};
    for (int a = 0; a < placement->slice->axes; a++) {
        if (!bound(placement, member, n, a, box))
            return false;
        chips *= box->len[a];
    }
    return chips == n;
}

/* Do all groups fill a box of the same lengths and strides? `box` is that of the last one. */
static bool find_box(const struct placement *placement, const struct groups *groups, struct box *box)
{
    struct box first;
    for (int g = 0; g < groups->count; g++) {
        if (!bound_all(placement, groups->member + (size_t)g * (size_t)groups->size, groups->size, box))
            return false;
        if (g == 0)
            first = *box;
        if (memcmp(box->len, first.len, sizeof first.len) != 0 ||
            memcmp(box->stride, first.stride, sizeof first.stride) != 0)
            return false;
    }
    return true;
}

/* Lines of `n` chips along an axis, one after the other: of all chips, each line from its lowest coordinate up. Boxes of
 * one shape that share no chip may lie anywhere, so a line starts where its box does. */
static void list_lines(const struct placement *placement, const struct groups *groups, int axis, int n,
                       int32_t chip[])
{
    const struct slice *slice = placement->slice;
    int at = 0;
    for (int g = 0; g < groups->count; g++) {
        const int *member = groups->member + (size_t)g * (size_t)groups->size;
        struct box box;
        bound_all(placement, member, groups->size, &box);
        for (int i = 0; i < groups->size; i++) {
            int first = placement->chip_of[member[i]], coord[SLICE_AXES];
            if (slice_coord(slice, first, axis) != box.low[axis])
                continue;
            for (int a = 0; a < slice->axes; a++)
                coord[a] = slice_coord(slice, first, a);
            for (int k = 0; k < n; k++, coord[axis] += box.stride[axis])
                chip[at++] = slice_chip(slice, coord);
        }
    }
}

static void print_ring(struct layout *layout, char axis, int stride)
{
    const struct ring *ring = &layout->ring[layout->rings];
    size_t n = strlen(layout->text);
    n += (size_t)snprintf(layout->text + n, sizeof layout->text - n, "%s%c %s", layout->rings ? ", " : " (",
                          axis, ring->closed ? "ring" : "line");
    if (stride > 1 && n < sizeof layout->text)
        snprintf(layout->text + n, sizeof layout->text - n, " by %d", stride);
}

static int ring_on_axis(struct layout *layout, const struct placement *placement, const struct groups *groups,
                        int axis, int n, int32_t chip[], struct status *st)
{
    const struct slice *slice = placement->slice;
    struct ring *ring = &layout->ring[layout->rings];
    if (n == slice->len[axis] && groups->count * groups->size == slice->chips) {
        return ring_of_axis(ring, slice, axis, st);
    }
    list_lines(placement, groups, axis, n, chip);
    return ring_of_groups(ring, slice, chip, groups->count * groups->size / n, n, st);
}

static int walk_box(struct layout *layout, const struct placement *placement, const struct groups *groups,
                    const struct box *box, int32_t chip[], struct status *st)
{
    const struct slice *slice = placement->slice;
    const int *len = box->len;
    size_t n =
        (size_t)snprintf(layout->text, sizeof layout->text, "%s of ", groups->count > 1 ? "boxes" : "box");
    for (int a = 0; a < slice->axes; a++)
        n += (size_t)snprintf(layout->text + n, sizeof layout->text - n, "%s%d", a ? "x" : "", len[a]);
    for (int a = 0; a < slice->axes; a++) {
        if (len[a] < 2)
            continue;
        int code = ring_on_axis(layout, placement, groups, a, len[a], chip, st);
        if (code < 0)
            return code;
        print_ring(layout, slice_axis_name(a), box->stride[a]);
        layout->rings++;
    }
    n = strlen(layout->text);
    snprintf(layout->text + n, sizeof layout->text - n, layout->rings ? ")" : "");
    return 0;
}

static int walk_list(struct layout *layout, const struct placement *placement, const struct groups *groups,
                     int32_t chip[], struct status *st)
{
    for (int i = 0; i < groups->count * groups->size; i++)
        chip[i] = placement->chip_of[groups->member[i]];
    int code = ring_of_groups(&layout->ring[0], placement->slice, chip, groups->count, groups->size, st);
    if (code < 0)
        return code;
    layout->rings = 1;
    snprintf(layout->text, sizeof layout->text, "one %s of %d, edges of up to %d hops",
             layout->ring[0].closed ? "ring" : "line", groups->size, layout->ring[0].edge_links);
    return 0;
}

int layout_init(struct layout *layout, const struct placement *placement, const struct groups *groups,
                struct status *st)
{
    struct box box;
    struct groups of_chips = {0};
    *layout = (struct layout){.devices = groups->size, .chips = groups->size, .together = 1};
    if (placement->cores > 1) {
        if (cores_fold(layout, placement, groups, &of_chips, st) < 0) {
            groups_free(&of_chips);
            return st->code;
        }
        groups = &of_chips;
    }
    int32_t *chip = malloc(((size_t)groups->count * (size_t)groups->size + 1) * sizeof *chip);
    int code = chip ? 0 : status_nomem(st);
    layout->box = code == 0 && find_box(placement, groups, &box);
    if (code == 0)
        code = layout->box ? walk_box(layout, placement, groups, &box, chip, st)
                           : walk_list(layout, placement, groups, chip, st);
    free(chip);
    groups_free(&of_chips);
    if (code < 0)
        layout_free(layout);
    return code;
}

void layout_free(struct layout *layout)
{
    for (int r = 0; r < COLLECTIVE_RINGS; r++)
        ring_free(&layout->ring[r]);
    layout->rings = 0;
}
