/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ranking: the fastest points of many, kept as they come, whatever their order.
 *
 * Units: seconds. Errors: status.h. Ownership: the caller's struct, freed with ranking_free(), safe on a zeroed one.
 */
#ifndef RANKING_H
#define RANKING_H

#include <stdint.h>
#include <stdio.h>

#include "settings/settings.h"
#include "study/result.h"

struct ranked {
    int64_t index; /* of the point: of two that take as long, the first one */
    struct result result;
};

struct ranking {
    int top, count;
    int64_t seen, timed; /* points, and those among them that have a time */
    int64_t unfit, uneven, refused,
        slower; /* left out of a search: no memory, no whole sequences, else wrong, not simulated */
    struct ranked *ranked;
};

/* What --top says, 0 where it was not given; and whether that is a number of points. */
enum { RANKING_MAX = 10000 };
int ranking_top(const struct settings *settings);
int ranking_check(const struct settings *settings, struct status *st);

int ranking_init(struct ranking *ranking, int top, struct status *st);
void ranking_add(struct ranking *ranking, int64_t index, const struct result *result);

/* Of a search (search.h), which sees points before they are simulated: a result; and one that has none, by its code. */
void ranking_rank(struct ranking *ranking, int64_t index, const struct result *result);
void ranking_leave(struct ranking *ranking, int code);

/* A table, the fastest first. */
int ranking_print(const struct ranking *ranking, FILE *out, struct status *st);
void ranking_free(struct ranking *ranking);

#endif
