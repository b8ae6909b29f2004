/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spanning: what the links of a slice can take for groups that span some of its axes, whatever these send. All links are alike.
 *
 * Units: in the names. Errors: STATUS_NOMEM. Ownership: the caller's struct, freed with spanning_free(), also after a failure
 * or zeroed; the slice is not looked at any more.
 */
#ifndef FORMULA_SPANNING_H
#define FORMULA_SPANNING_H

#include "base/status.h"
#include "machine/slice.h"

struct spanning {
    double *plane_Bps
        [SLICE_AXES];   /* over plane k of each of the axes upwards, [k], and downwards, [length + 1 + k] */
    double port_Bps;    /* of these axes' links out of one chip, the fewest */
    double all_Bps;     /* of all of them */
    int farthest_links; /* between the two chips of a group that are farthest apart */
};
int spanning_init(struct spanning *spanning, const struct slice *slice, unsigned axes, struct status *st);
void spanning_free(struct spanning *spanning);

/* The links between two chips, and the last of the above. */
int links_between(const struct slice *slice, int from, int to);
int links_farthest(const struct slice *slice, unsigned axes);

#endif
