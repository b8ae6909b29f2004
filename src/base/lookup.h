/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lookup: finds again what an array holds already: a table from hashes to indices of the caller's array.
 *
 * The table knows nothing of what is hashed. Several indices may have one hash: the caller compares, one after the other.
 *
 *     uint32_t at = 0;
 *     for (int32_t i; (i = lookup_next(&table, hash, &at)) >= 0;)
 *         if (array[i] is the one)
 *             return i;
 *
 * Eight bytes an entry at half load, linear probing, nothing is ever removed. Any order of adding finds the same.
 *
 * Units: none. Errors: STATUS_NOMEM, STATUS_LIMIT. Ownership: the caller's struct, freed with lookup_free(), safe when
 * zeroed.
 */
#ifndef ICISIM_LOOKUP_H
#define ICISIM_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct lookup {
    struct lookup_slot {
        uint32_t hash;
        int32_t index; /* + 1; 0: empty */
    } * slot;
    uint32_t slots, used; /* slots: 0 or a power of two */
};

void lookup_free(struct lookup *table);

/* The next index that was added with this hash, -1 if there are no more; *at starts at 0. */
int32_t lookup_next(const struct lookup *table, uint32_t hash, uint32_t *at);
int lookup_add(struct lookup *table, uint32_t hash, int32_t index);

/* Of bytes; `seed` is 0, or the hash of what stood before them. */
uint32_t lookup_hash(uint32_t seed, const void *bytes, size_t n);

#endif
