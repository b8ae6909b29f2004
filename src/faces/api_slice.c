/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "faces/api.h"

static int open_slice(struct icisim_slice *slice, const struct icisim_point *point, struct status *st)
{
    struct point said;
    int code = api_point(point, &said, st);
    if (code == 0)
        code = machine_open(&slice->machine, &said, &slice->catalog, st);
    if (code == 0)
        mesh_print_mapping(&slice->machine.mesh, slice->mapping);
    return code;
}

struct icisim_slice *icisim_slice_new(const struct icisim_point *point, struct icisim_status *st)
{
    struct api_call call;
    api_begin(&call);
    struct icisim_slice *slice = calloc(1, sizeof *slice);
    int code = slice ? open_slice(slice, point, &call.st) : status_nomem(&call.st);
    if (api_end(&call, code, st) == 0)
        return slice;
    icisim_slice_free(slice);
    return NULL;
}

void icisim_slice_free(struct icisim_slice *slice)
{
    if (!slice)
        return;
    machine_close(&slice->machine);
    catalog_free(&slice->catalog);
    free(slice);
}

int icisim_slice_chips(const struct icisim_slice *slice)
{
    return slice->machine.slice.chips;
}

int icisim_slice_axes(const struct icisim_slice *slice)
{
    return slice->machine.slice.axes;
}

static bool has_axis(const struct icisim_slice *slice, int axis)
{
    return axis >= 0 && axis < slice->machine.slice.axes;
}

static bool has_chip(const struct icisim_slice *slice, int chip)
{
    return chip >= 0 && chip < slice->machine.slice.chips;
}

int icisim_slice_length(const struct icisim_slice *slice, int axis)
{
    return has_axis(slice, axis) ? slice->machine.slice.len[axis] : 1;
}

int icisim_slice_wraps(const struct icisim_slice *slice, int axis)
{
    return has_axis(slice, axis) && slice_ring(&slice->machine.slice, axis) != 0;
}

int icisim_slice_coordinate(const struct icisim_slice *slice, int chip, int axis)
{
    return has_chip(slice, chip) && has_axis(slice, axis) ? slice_coord(&slice->machine.slice, chip, axis)
                                                          : -1;
}

int icisim_slice_chip(const struct icisim_slice *slice, int device)
{
    bool known = device >= 0 && device < slice->machine.mesh.devices;
    return known ? mesh_chip(&slice->machine.mesh, device) : -1;
}

int icisim_slice_device(const struct icisim_slice *slice, int chip)
{
    return has_chip(slice, chip) ? mesh_device(&slice->machine.mesh, chip) : -1;
}

const char *icisim_slice_mapping(const struct icisim_slice *slice)
{
    return slice->mapping;
}

double icisim_slice_bisection_Bps(const struct icisim_slice *slice)
{
    return slice_bisection_Bps(&slice->machine.slice);
}

bool api_same_slice(const struct slice *a, const struct slice *b)
{
    bool same = a->topology == b->topology && a->axes == b->axes &&
                memcmp(a->len, b->len, sizeof a->len) == 0 && memcmp(a->wrap, b->wrap, sizeof a->wrap) == 0;
    for (int link = 0; same && (a->link || b->link) && link < slice_link_ids(a); link++)
        same = slice_is_link(a, link) == slice_is_link(b, link); /* routes go round dead ones */
    return same;
}
