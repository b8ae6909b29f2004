/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/*
 * event_pool: items of one size that are frequently taken and given back, each with a fixed index.
 *
 * The array doubles when it is full, so a run soon stops allocating. The item given back last is taken first,
 * while it is still in the cache. Index 0 is never used: it means none.
 *
 * Units: none. Errors: pool_take() returns 0 when memory or indices run out. Ownership: pool_free(). A
 * pointer into a pool is valid until the next pool_take().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Indices share a word with the two bits of an event's kind. */
enum { POOL_ITEMS_MAX = 1 << 30 };

struct pool {
    char *item;
    size_t item_bytes; /* at least 4: a free item holds the index of the next free one */
    uint32_t used, room, given_back;
    uint32_t taken; /* items in use */
};

static inline struct pool pool_of(size_t item_bytes)
{
    return (struct pool){.item_bytes = item_bytes, .used = 1};
}

static inline void pool_free(struct pool *pool)
{
    free(pool->item);
    pool->item = NULL;
    pool->room = 0;
}

static inline int pool_grow(struct pool *pool)
{
    if (pool->room >= POOL_ITEMS_MAX)
        return 0;
    uint32_t room = pool->room ? 2 * pool->room : 64;
    char *item = realloc(pool->item, room * pool->item_bytes);
    if (!item)
        return 0;
    pool->item = item;
    pool->room = room;
    return 1;
}

static inline uint32_t pool_take(struct pool *pool)
{
    uint32_t index = pool->given_back;
    if (!index && pool->used >= pool->room && !pool_grow(pool))
        return 0;
    pool->taken++;
    if (!index)
        return pool->used++;
    memcpy(&pool->given_back, pool->item + index * pool->item_bytes, sizeof pool->given_back);
    return index;
}

static inline void pool_give_back(struct pool *pool, uint32_t index)
{
    memcpy(pool->item + index * pool->item_bytes, &pool->given_back, sizeof pool->given_back);
    pool->given_back = index;
    pool->taken--;
}

/* If no item is in use, resets the pool, so that items taken together lie together in memory again. */
static inline void pool_tidy(struct pool *pool)
{
    if (pool->taken == 0) {
        pool->used = 1;
        pool->given_back = 0;
    }
}
