/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lookup: a table from hashes to indices of the caller's array, to find an element that the array already
 * holds.
 *
 * The table does not know the elements. Several indices may share a hash, so the caller compares the elements
 * one by one.
 *
 *     const struct lookup_entry *at = NULL;
 *     for (int32_t i; (i = lookup_next(&table, hash, &at)) >= 0;)
 *         if (array[i] is the one)
 *             return i;
 *
 * The implementation is uthash. Nothing is ever removed. The order of the indices of one hash depends only on
 * the order in which they were added.
 *
 * Units: none. Errors: STATUS_NOMEM. Ownership: the caller's struct, freed with lookup_free(), safe when zeroed.
 */
#pragma once

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

/* Hash of n bytes. `seed` is 0, or the hash of the preceding bytes. */
uint32_t lookup_hash(uint32_t seed, const void *bytes, size_t n);
