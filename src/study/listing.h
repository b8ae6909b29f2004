/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * listing: HLO text as points name it, read once: a catalog keeps what it has read for all points that follow, so that a
 * sweep does not read a module again for each slice, and stdin can be the module of several points.
 *
 * Errors: status.h. Ownership: the catalog's, until catalog_free().
 */
#ifndef LISTING_H
#define LISTING_H

#include "hlo/hlo_read.h"
#include "settings/point.h"
#include "study/machine.h"

struct listing {
    struct listing *next;
    char *op, *trips; /* of the point: what was read, the trip counts that it says, or NULL */
    bool as_written;
    struct module module;
    char path[HLO_PATH]; /* what was read */
    int disguised;       /* reduce-scatters found, which stand in the module as such */
};

/* That of a point, read if the catalog does not have it; NULL if that failed. */
const struct listing *listing_of(struct catalog *catalog, const struct point *point, struct status *st);
void listings_free(struct listing *first);

/* Reads it for a caller who frees the module. As compilers write it; or, since TPUs run them so, with reduce-scatters for what
 * is one in disguise. */
int listing_read(const struct point *point, struct module *module, char path[HLO_PATH], int *disguised,
                 struct status *st);

#endif
