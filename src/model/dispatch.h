/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dispatch: what each device sends to the experts' devices: in which order the entries of its routing go, how many rows to
 * whom.
 *
 * A device's entries stand in the order (device of the expert, dropped or not, expert), and else as they are. So what goes to
 * a device is one block of rows; input offsets count dropped rows too, sizes do not. Of a routing that is known by counts
 * only, there are sizes and offsets, but no order.
 *
 * Units: rows, which are entries of the routing. Errors: status.h. Ownership: the caller's struct, freed with
 * dispatch_free(), safe when zeroed.
 */
#ifndef DISPATCH_H
#define DISPATCH_H

#include "model/routing.h"

struct dispatch {
    int devices, peers;     /* peers: devices of a group */
    int64_t rows;           /* places of a device; not all are taken */
    int64_t *size, *offset; /* [devices][peers]: rows to each peer, and where they begin at the sender */
    int64_t *
        order; /* [devices][rows]: the entry at each place, 0 where there is none; NULL if only counts are known */
};

int dispatch_init(struct dispatch *dispatch, const struct routing *routing, struct status *st);
void dispatch_free(struct dispatch *dispatch);

/* One of several parts of what is sent, so that one can be on its way while another is multiplied: of each block of rows
 * those from size * part / parts on, without gaps and those that are dropped. */
int dispatch_part(struct dispatch *part, const struct dispatch *whole, int number, int parts,
                  struct status *st);

#endif
