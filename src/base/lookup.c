/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/lookup.h"

#include <stdlib.h>
#include <string.h>

void lookup_free(struct lookup *table)
{
    free(table->slot);
    *table = (struct lookup){0};
}

int32_t lookup_next(const struct lookup *table, uint32_t hash, uint32_t *at)
{
    if (table->slots == 0)
        return -1;
    for (;;) {
        const struct lookup_slot *slot = &table->slot[(hash + (*at)++) & (table->slots - 1)];
        if (slot->index == 0)
            return -1;
        if (slot->hash == hash)
            return slot->index - 1;
    }
}

static void put(struct lookup *table, struct lookup_slot entry)
{
    uint32_t at = entry.hash;
    while (table->slot[at & (table->slots - 1)].index != 0)
        at++;
    table->slot[at & (table->slots - 1)] = entry;
}

static int widen(struct lookup *table)
{
    struct lookup wide = {.slots = table->slots ? 2 * table->slots : 64, .used = table->used};
    if (table->slots > UINT32_MAX / 4)
        return STATUS_LIMIT;
    wide.slot = calloc(wide.slots, sizeof *wide.slot);
    if (!wide.slot)
        return STATUS_NOMEM;
    for (uint32_t i = 0; i < table->slots; i++)
        if (table->slot[i].index != 0)
            put(&wide, table->slot[i]);
    free(table->slot);
    *table = wide;
    return 0;
}

int lookup_add(struct lookup *table, uint32_t hash, int32_t index)
{
    int code = 2 * table->used < table->slots ? 0 : widen(table);
    if (code < 0)
        return code;
    put(table, (struct lookup_slot){hash, index + 1});
    table->used++;
    return 0;
}

/* Eight bytes at a time, each multiplied into 2^64 / golden ratio; the upper half has seen every bit. */
uint32_t lookup_hash(uint32_t seed, const void *bytes, size_t n)
{
    const unsigned char *from = bytes;
    uint64_t hash = seed ^ (uint64_t)n << 32;
    for (; n > 0; n -= n < 8 ? n : 8, from += 8) {
        uint64_t word = 0;
        memcpy(&word, from, n < 8 ? n : 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return (uint32_t)(hash ^ hash >> 29);
}
