/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/event_queue.h"

#include <math.h>

enum { FIRST_HASH_BITS = 8 };

bool queue_init(struct queue *queue)
{
    *queue = (struct queue){.batches = pool_of(sizeof(struct batch)),
                            .instants = pool_of(sizeof(struct instant)),
                            .hash_bits = FIRST_HASH_BITS,
                            .latest_s = NAN};
    queue->hash = calloc((size_t)1 << FIRST_HASH_BITS, sizeof *queue->hash);
    return queue->hash != NULL;
}

void queue_free(struct queue *queue)
{
    pool_free(&queue->batches);
    pool_free(&queue->instants);
    free(queue->heap);
    free(queue->hash);
    *queue = (struct queue){.latest_s = NAN};
}

/* Fibonacci hashing of the bits: times on a grid differ in few of them. */
static uint32_t *hash_slot(const struct queue *queue, double time_s)
{
    uint64_t bits;
    memcpy(&bits, &time_s, sizeof bits);
    bits ^= bits >> 32;
    return &queue->hash[bits * 0x9e3779b97f4a7c15ull >> (64 - queue->hash_bits)];
}

static void hash_add(struct queue *queue, uint32_t instant)
{
    struct instant *at = queue_instant(queue, instant);
    uint32_t *slot = hash_slot(queue, at->time_s);
    at->next_alike = *slot;
    *slot = instant;
}

/* Twice the slots, so that chains stay short. Without memory for it they grow longer, which is no fault. */
static bool hash_widen(struct queue *queue)
{
    uint32_t *wide = calloc((size_t)2 << queue->hash_bits, sizeof *wide);
    if (!wide)
        return false;
    free(queue->hash);
    queue->hash = wide;
    queue->hash_bits++;
    for (uint32_t i = 0; i < queue->entries; i++)
        hash_add(queue, queue->heap[i].instant);
    return true;
}

static bool heap_add(struct queue *queue, double time_s, uint32_t instant)
{
    if (queue->entries == queue->heap_room) {
        uint32_t room = queue->heap_room ? 2 * queue->heap_room : 64;
        struct queue_entry *heap = realloc(queue->heap, room * sizeof *heap);
        if (!heap)
            return false;
        queue->heap = heap;
        queue->heap_room = room;
    }
    uint32_t at = queue->entries++;
    for (; at > 0 && queue->heap[(at - 1) / 2].time_s > time_s; at = (at - 1) / 2)
        queue->heap[at] = queue->heap[(at - 1) / 2];
    queue->heap[at] = (struct queue_entry){time_s, instant};
    return true;
}

uint32_t queue_find(struct queue *queue, double time_s)
{
    for (uint32_t i = *hash_slot(queue, time_s); i; i = queue_instant(queue, i)->next_alike)
        if (queue_instant(queue, i)->time_s == time_s)
            return i;
    uint32_t instant = pool_take(&queue->instants);
    if (!instant)
        return 0;
    if (!heap_add(queue, time_s, instant)) {
        pool_give_back(&queue->instants, instant);
        return 0;
    }
    *queue_instant(queue, instant) = (struct instant){.time_s = time_s};
    if (!(queue->entries >> queue->hash_bits) || !hash_widen(queue))
        hash_add(queue, instant);
    return instant;
}

bool queue_extend(struct queue *queue, uint32_t instant)
{
    uint32_t batch = pool_take(&queue->batches);
    if (!batch)
        return false;
    struct instant *at = queue_instant(queue, instant);
    struct batch *fresh = queue_batch(queue, batch);
    fresh->next = fresh->events = 0;
    if (at->last)
        queue_batch(queue, at->last)->next = batch;
    else
        at->first = batch;
    at->last = batch;
    return true;
}

void queue_drop(struct queue *queue)
{
    uint32_t instant = queue->heap[0].instant;
    uint32_t *slot = hash_slot(queue, queue->heap[0].time_s);
    while (*slot != instant)
        slot = &queue_instant(queue, *slot)->next_alike;
    *slot = queue_instant(queue, instant)->next_alike;
    if (queue->latest == instant)
        queue->latest_s = NAN;
    pool_give_back(&queue->instants, instant);

    struct queue_entry moved = queue->heap[--queue->entries];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < queue->entries) {
        if (child + 1 < queue->entries && queue->heap[child + 1].time_s < queue->heap[child].time_s)
            child++;
        if (!(queue->heap[child].time_s < moved.time_s))
            break;
        queue->heap[at] = queue->heap[child];
        at = child;
    }
    queue->heap[at] = moved;
}
