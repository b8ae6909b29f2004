/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sweep_shard: which points of a grid a sweep runs: all of them, or every 16th from the third one on, so that sixteen machines
 * share the work evenly (neighbouring points cost alike).
 *
 * Units: none. Errors: STATUS_INPUT. Ownership: a plain value.
 */
#ifndef SWEEP_SHARD_H
#define SWEEP_SHARD_H

#include <stdint.h>

#include "base/status.h"

enum { SHARDS_MAX = 4096 };

struct shard {
    int index, of; /* 0/1: all points */
};

/* Reads "3/16", from 0/16 to 15/16; NULL is 0/1. */
int shard_parse(const char *text, struct shard *shard, struct status *st);

/* How many of the points it has, the point that is its number `row` (from 0 on), and the row of a point, which may be
 * another's (shard_has()). */
static inline int64_t shard_rows(struct shard shard, int64_t points)
{
    return (points - shard.index + shard.of - 1) / shard.of;
}

static inline int64_t shard_point(struct shard shard, int64_t row)
{
    return shard.index + row * shard.of;
}

static inline int64_t shard_row(struct shard shard, int64_t point)
{
    return point / shard.of;
}

static inline int shard_has(struct shard shard, int64_t point)
{
    return point % shard.of == shard.index;
}

#endif
