/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * ranking: the fastest points of many, kept as they come, in whatever order.
 *
 * Units: seconds. Errors: status.h. Ownership: the caller's struct, freed with ranking_free(), safe on a zeroed one.
 */
#ifndef RANKING_H
#define RANKING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "settings/settings.h"
#include "study/result.h"

enum { RANKING_MAX = 10000 };

struct ranking {
    int top, count;        /* how many are wanted, 0: none; and how many there are */
    int width;             /* of the table, as rows_width() has it */
    struct result *result; /* [top], the fastest first */
    int64_t *index;        /* [top] of their points: of two that take as long, the first one comes first */
    int64_t seen, timed;   /* points, and those among them that have a time */

    /* Without a time: too large for the memory, without whole sequences on a shard, wrong in another way; or right, but their
     * simulation failed. A search (search.h) prints these, and how many points it did not simulate: by a proven bound, by an
     * estimate. */
    int64_t unfit, uneven, refused, failed;
    bool searched;
    int64_t bounded, slower;
};

/* For as many points as --top says; if it was not given for none, or of a program's ways to lay its mesh for all. */
int ranking_init(struct ranking *ranking, const struct settings *settings, struct status *st);
void ranking_add(struct ranking *ranking, int64_t index, const struct result *result);

/* Prints a table of the fastest. */
int ranking_print(const struct ranking *ranking, FILE *out, struct status *st);
void ranking_free(struct ranking *ranking);

#endif
