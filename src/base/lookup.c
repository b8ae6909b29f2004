/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/lookup.h"

#include <stdlib.h>
#include <string.h>

/* Out of memory: the entry is not added, and the caller is told. By itself, uthash would end the process. */
#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(entry) (no_memory = true)
#include <uthash.h>

/* uthash links the entries by pointers, so they must never move: they are allocated in blocks. */
struct lookup_entry {
    uint32_t hash;
    int32_t index;
    struct lookup_entry *next; /* another entry with the same hash */
    UT_hash_handle hh;
};
enum { BLOCK_ENTRIES = 32 };
struct lookup_block {
    struct lookup_block *next;
    int used;
    struct lookup_entry entry[BLOCK_ENTRIES];
};

void lookup_free(struct lookup *table)
{
    HASH_CLEAR(hh, table->first);
    for (struct lookup_block *block = table->block, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *table = (struct lookup){0};
}

static struct lookup_entry *find(const struct lookup *table, uint32_t hash)
{
    struct lookup_entry *found;
    HASH_FIND_BYHASHVALUE(hh, table->first, &hash, sizeof hash, hash, found);
    return found;
}

int32_t lookup_next(const struct lookup *table, uint32_t hash, const struct lookup_entry **at)
{
    *at = *at ? (*at)->next : find(table, hash);
    return *at ? (*at)->index : -1;
}

static struct lookup_entry *new_entry(struct lookup *table)
{
    if (!table->block || table->block->used == BLOCK_ENTRIES) {
        struct lookup_block *block = malloc(sizeof *block);
        if (!block)
            return NULL;
        block->next = table->block;
        block->used = 0;
        table->block = block;
    }
    return &table->block->entry[table->block->used++];
}

int lookup_add(struct lookup *table, uint32_t hash, int32_t index)
{
    struct lookup_entry *entry = new_entry(table);
    if (!entry)
        return STATUS_NOMEM;
    struct lookup_entry *same = find(table, hash);
    *entry = (struct lookup_entry){.hash = hash, .index = index};
    if (same) { /* uthash holds one entry of each hash; the other entries form a list behind it */
        entry->next = same->next;
        same->next = entry;
        return 0;
    }
    bool no_memory = false;
    HASH_ADD_BYHASHVALUE(hh, table->first, hash, sizeof entry->hash, hash, entry);
    return no_memory ? STATUS_NOMEM : 0;
}

/* Mixes in eight bytes by a multiplication with 2^64 / golden ratio. The upper half of the product depends on
 * every bit. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

uint32_t lookup_hash(uint32_t seed, const void *bytes, size_t n)
{
    const unsigned char *from = bytes;
    uint64_t hash = seed ^ (uint64_t)n << 32, word = 0;
    for (; n >= sizeof word; n -= sizeof word, from += sizeof word) {
        memcpy(&word, from, sizeof word);
        hash = mix(hash, word);
    }
    if (n > 0) {
        word = 0;
        memcpy(&word, from, n);
        hash = mix(hash, word);
    }
    return (uint32_t)(hash ^ hash >> 29);
}
