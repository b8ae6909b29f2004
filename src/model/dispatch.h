/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dispatch: what each device sends to the experts' devices: which entries of its routing are dropped, in which order the
 * others go, how many rows to whom.
 *
 * An expert takes `capacity` entries of every sender: those with the higher gates, of equal ones those that come first. A
 * device's entries stand in the order (device of the expert, dropped or not, expert), and else as they are. So what goes to a device is
 * one block of rows; input offsets count dropped rows too, sizes do not.
 *
 * Expert e lives at position e / (experts / peers) of its group. Of a routing that is known by counts only, there are sizes
 * and offsets, but no order.
 *
 * Units: rows, which are entries of the routing. Errors: status.h. Ownership: the caller's struct, freed with
 * dispatch_free(), safe when zeroed.
 */
#ifndef DISPATCH_H
#define DISPATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "model/routing.h"

struct dispatch {
    int devices, experts, peers; /* peers: devices of a group */
    int64_t entries;             /* of a device: tokens * top_k */
    int64_t capacity;
    int64_t *kept;          /* [devices][experts] */
    int64_t *size, *offset; /* [devices][peers]: rows to each peer, and where they begin at the sender */
    int64_t *order; /* [devices][entries]: the entry at each place; NULL where only counts are known */
    bool *dropped;  /* [devices][entries]: by entry; NULL too */
};

/* ceil(tokens * top_k * peers / experts * factor), exactly; the factor is a decimal number as it is written, "1.25". Errors:
 * anything else, or a capacity of more than all entries of a group need. */
int dispatch_capacity(const char *factor, int64_t tokens, int top_k, int peers, int experts,
                      int64_t *capacity, struct status *st);

int dispatch_init(struct dispatch *dispatch, const struct routing *routing, int peers, int64_t capacity,
                  struct status *st);
/* Of a routing that was joined (routing_join()), the dispatch on one device, of which the same entries are dropped. */
int dispatch_join(struct dispatch *one, const struct routing *routing, const struct dispatch *of,
                  const int device[], struct status *st);
void dispatch_free(struct dispatch *dispatch);

/* One of several parts of what is sent, so that one can be on its way while another is multiplied: of each block of rows
 * those from size * part / parts on. They lie without gaps, without those that are dropped; the only part of one is all that the
 * dispatch has, as it lies there. */
struct dispatch_part {
    int64_t rows;           /* places of a device, the same for each part; not all are taken */
    int64_t *size, *offset; /* [devices][peers] */
    int64_t
        *order; /* [devices][rows]: the entry at each place, 0 where there is none; NULL as in the dispatch */
};
int dispatch_part_init(struct dispatch_part *out, const struct dispatch *dispatch, int part, int parts,
                       struct status *st);
void dispatch_part_free(struct dispatch_part *part);

/* Rows that were dropped: of a device, or of all (-1). */
int64_t dispatch_dropped(const struct dispatch *dispatch, const struct routing *routing, int device);

#endif
