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

/* Chips that come to lie on each other when all are moved along another axis have the same links over the planes of
 * this one, so that one of them is looked at for all: of a pod that is one for each coordinate. */
void planes_add_links(const struct planes *p)
{
    const struct slice *slice = p->slice;
    int step[SLICE_AXES] = {1, 1, 1}, times = 1, at[SLICE_AXES];
    for (int a = 0; a < slice->axes; a++) {
        step[a] = slice->link || a == p->axis ? slice->len[a] : slice_period(slice, a);
        times *= slice->len[a] / step[a];
    }
    for (at[0] = 0; at[0] < step[0]; at[0]++)
        for (at[1] = 0; at[1] < step[1]; at[1]++)
            for (at[2] = 0; at[2] < step[2]; at[2]++)
                cross_links(p, slice_chip(slice, at), times);
    planes_add_up(p, p->Bps);
}
