/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formula/planes.h"

void planes_cross(double *const crossing[2], int from, int to, double amount)
{
    double *planes = crossing[from > to];
    planes[(from < to ? from : to) + 1] += amount;
    planes[(from < to ? to : from) + 1] -= amount;
}

void planes_add_up(const struct planes *p, double *const crossing[2])
{
    for (int w = 0; w < 2; w++)
        for (int k = 1; k <= p->len; k++)
            crossing[w][k] += crossing[w][k - 1];
}

static void cross_links(const struct planes *p, int chip, double times)
{
    const struct slice *slice = p->slice;
    for (int port = 0; port < 2 * slice->axes; port++) {
        struct slice_link link = slice_link_row(slice, chip * 2 * slice->axes + port);
        if (link.kind == LINK_ICI)
            planes_cross(p->Bps, slice_coord(slice, link.from, p->axis), slice_coord(slice, link.to, p->axis),
                         times * link.bandwidth_Bps);
    }
}

int planes_alike(const struct slice *slice, int whole, int step[static SLICE_AXES])
{
    int times = 1;
    for (int a = 0; a < SLICE_AXES; a++) {
        bool all = a >= slice->axes || a == whole || slice->link;
        step[a] = all ? slice->len[a] : slice_period(slice, a);
        times *= slice->len[a] / step[a];
    }
    return times;
}

/* One of the chips that are alike is looked at for all: of a pod that is one for each coordinate of this axis. */
void planes_add_links(const struct planes *p)
{
    const struct slice *slice = p->slice;
    int step[SLICE_AXES], times = planes_alike(slice, p->axis, step), at[SLICE_AXES];
    for (at[0] = 0; at[0] < step[0]; at[0]++)
        for (at[1] = 0; at[1] < step[1]; at[1]++)
            for (at[2] = 0; at[2] < step[2]; at[2]++)
                cross_links(p, slice_chip(slice, at), times);
    planes_add_up(p, p->Bps);
}
