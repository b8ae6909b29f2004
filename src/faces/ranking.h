/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * ranking: keeps the fastest of many points, which may arrive in any order.
 *
 * Units: seconds. Errors: status.h. Ownership: the caller's struct, freed with ranking_free(), safe on a zeroed one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "settings/settings.h"
#include "study/result.h"

enum { RANKING_MAX = 10000 };

struct ranking {
    int top, count;        /* size of the list, 0: none; entries so far */
    int width;             /* of the table, from rows_width() */
    struct result *result; /* [top], the fastest first */
    int64_t *index;        /* [top] of their points: of two equal times, the lower index comes first */
    int64_t seen, timed;   /* points so far, and those of them with a time */

    /* Points without a time: they exceed memory, cannot split the batch evenly, or are invalid otherwise; or
     * their simulation failed. A search (search.h) prints these counts, and how many points it has pruned: by
     * a proven bound, by an estimate. */
    int64_t unfit, uneven, refused, failed;
    bool searched;
    int64_t bounded, slower;
};

/* Sets up a list of --top entries; by default none, or all if the points are layouts of one program's mesh.
 * */
int ranking_init(struct ranking *ranking, const struct settings *settings, struct status *st);
/* Counts a point by what its code says; ranking_add() does. */
void ranking_count(struct ranking *ranking, int code);
void ranking_add(struct ranking *ranking, int64_t index, const struct result *result);

/* Prints a table of the fastest points. */
int ranking_print(const struct ranking *ranking, FILE *out, struct status *st);
void ranking_free(struct ranking *ranking);
