/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formula/spanning.h"

#include <limits.h>
#include <stdlib.h>

#include "formula/planes.h"
#include "machine/route.h"

int links_between(const struct slice *slice, int from, int to)
{
    struct minimal_route minimal[MINIMAL_ROUTES];
    route_minimal(slice, from, to, minimal);
    return route_length(minimal[0].hop, minimal[0].hops);
}

/* The farthest chip of a group that spans axes, from one whose other coordinates are 0: on every axis by itself. */
int links_farthest(const struct slice *slice, unsigned axes)
{
    int corner[SLICE_AXES] = {0};
    for (int a = 0; a < slice->axes; a++)
        for (int to = 1, most = 0; to < slice->len[a] && (axes >> a & 1); to++) {
            int at[SLICE_AXES] = {0};
            at[a] = to;
            int links = links_between(slice, 0, slice_chip(slice, at));
            corner[a] = links > most ? to : corner[a];
            most = links > most ? links : most;
        }
    return links_between(slice, 0, slice_chip(slice, corner));
}

/* Where all links are alike one chip tells it for those that it comes to lie on. */
static void count_ports(struct spanning *spanning, const struct slice *slice, unsigned axes)
{
    int step[SLICE_AXES], times = planes_alike(slice, -1, step), at[SLICE_AXES], least = INT_MAX, all = 0;
    for (at[0] = 0; at[0] < step[0]; at[0]++)
        for (at[1] = 0; at[1] < step[1]; at[1]++)
            for (at[2] = 0; at[2] < step[2]; at[2]++) {
                int chip = slice_chip(slice, at), ports = 0;
                for (int id = chip * 2 * slice->axes; id < (chip + 1) * 2 * slice->axes; id++)
                    ports += slice_is_link(slice, id) && (axes >> slice_link_axis(slice, id) & 1);
                least = ports < least ? ports : least;
                all += times * ports;
            }
    spanning->port_Bps = least * slice->link_Bps;
    spanning->all_Bps = all * slice->link_Bps;
}

int spanning_init(struct spanning *spanning, const struct slice *slice, unsigned axes, struct status *st)
{
    *spanning = (struct spanning){.farthest_links = links_farthest(slice, axes)};
    count_ports(spanning, slice, axes);
    for (int axis = 0; axis < slice->axes; axis++) {
        size_t planes = (size_t)slice->len[axis] + 1;
        if (!(axes >> axis & 1))
            continue;
        double *Bps = spanning->plane_Bps[axis] = calloc(2 * planes, sizeof *Bps);
        if (!Bps)
            return status_nomem(st);
        planes_add_links(&(struct planes){
            .slice = slice, .axis = axis, .len = slice->len[axis], .Bps = {Bps, Bps + planes}});
    }
    return 0;
}

void spanning_free(struct spanning *spanning)
{
    for (int axis = 0; axis < SLICE_AXES; axis++)
        free(spanning->plane_Bps[axis]);
    *spanning = (struct spanning){0};
}
