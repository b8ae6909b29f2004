/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A CSV of every link: where it is, what crossed it, how busy it was. */
#include <stdlib.h>

#include "metrics/metrics.h"
#include "report/report.h"

static void write_link(struct csv_writer *csv, const struct slice *slice, int link, double bytes,
                       double time_s)
{
    int chip = slice_link_start(slice, link);
    csv_count(csv, chip);
    for (int a = 0; a < slice->axes; a++)
        csv_count(csv, slice_coord(slice, chip, a));
    csv_row(csv, "ttnrr", (char[]){slice_axis_name(slice_link_axis(slice, link)), '\0'},
            slice_link_sign(link) > 0 ? "+" : "-", (int64_t)slice_link_end(slice, link), bytes,
            time_s > 0 ? bytes / (slice_link_Bps(slice, link) * time_s) : 0.0);
}

int report_links(const struct program *program, double time_s, struct csv_writer *csv, struct status *st)
{
    const struct slice *slice = program->slice;
    int links = slice_link_ids(slice);
    double *bytes = malloc(((size_t)links + 1) * sizeof *bytes);
    int code = bytes ? metrics_link_bytes(program, bytes, st) : status_nomem(st);
    if (code == 0) {
        csv_text(csv, "chip");
        for (int axis = 0; axis < slice->axes; axis++)
            csv_text(csv, (char[]){slice_axis_name(axis), '\0'});
        csv_names(csv, "axis,direction,to_chip,link_bytes,link_frac");
        for (int link = 0; link < links; link++)
            if (slice_is_link(slice, link))
                write_link(csv, slice, link, bytes[link], time_s);
    }
    free(bytes);
    return code;
}
