/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lookup: finds again what an array holds already: a table from hashes to indices of the caller's array.
 *
 * The table knows nothing of what is hashed. Several indices may have one hash: the caller compares, one after the other.
 *
 *     const struct lookup_entry *at = NULL;
 *     for (int32_t i; (i = lookup_next(&table, hash, &at)) >= 0;)
 *         if (array[i] is the one)
 *             return i;
 *
 * uthash does the work. Nothing is ever removed. Indices of one hash come in an order that only the order of adding
 * decides.
 *
 * Units: none. Errors: STATUS_NOMEM. Ownership: the caller's struct, freed with lookup_free(), safe when zeroed.
 */
#ifndef ICISIM_LOOKUP_H
#define ICISIM_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct lookup_entry;
struct lookup_block;
struct lookup {
    struct lookup_entry *first;
    struct lookup_block *block;
};

void lookup_free(struct lookup *table);

/* The next index that was added with this hash, -1 if there are no more; *at starts at NULL. */
int32_t lookup_next(const struct lookup *table, uint32_t hash, const struct lookup_entry **at);
int lookup_add(struct lookup *table, uint32_t hash, int32_t index);

/* Of bytes; `seed` is 0, or the hash of what stood before them. */
uint32_t lookup_hash(uint32_t seed, const void *bytes, size_t n);

#endif
