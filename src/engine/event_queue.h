/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * event_queue: what happens next, for programs in which thousands of things happen at the same instant.
 *
 * A heap orders the distinct instants only, and each instant keeps its events in a list, first come first
 * served. An instant is found by hashing the bits of its time: 4.4 million events of a pod share 180
 * instants, and most pushes go to the instant of the push before. So equal times must be bit-equal, and the
 * engine takes care that they are.
 *
 * Units: seconds. Errors: `fault` is set when memory is used up, and stays. Ownership: queue_free().
 */
#ifndef ICISIM_EVENT_QUEUE_H
#define ICISIM_EVENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/event_pool.h"

/* An event is a kind and an index: of a wave, a flow, a link or a group. */
enum event_kind { EVENT_WAVE, EVENT_FLOW, EVENT_LINK, EVENT_GROUP };
enum { EVENT_KIND_SHIFT = 30 };

static inline uint32_t event_of(enum event_kind kind, uint32_t index)
{
    return (uint32_t)kind << EVENT_KIND_SHIFT | index;
}
static inline enum event_kind event_kind(uint32_t event)
{
    return (enum event_kind)(event >> EVENT_KIND_SHIFT);
}
static inline uint32_t event_index(uint32_t event)
{
    return event & (((uint32_t)1 << EVENT_KIND_SHIFT) - 1);
}

/* Events of one instant, a cache line of them. */
enum { BATCH_EVENTS = 14 };
struct batch {
    uint32_t next, events;
    uint32_t event[BATCH_EVENTS];
};

struct instant {
    double time_s;
    uint32_t first, last; /* batches */
    uint32_t next_alike;  /* the next instant of the same hash */
};

struct queue_entry {
    double time_s;
    uint32_t instant;
};

struct queue {
    struct pool batches, instants;
    struct queue_entry *heap; /* [0 .. entries) */
    uint32_t entries, heap_room;
    uint32_t *hash; /* [1 << hash_bits], index of an instant */
    int hash_bits;
    uint32_t latest; /* the instant pushed to last ... */
    double latest_s; /* ... and its time, NaN if it is gone */
    bool fault;
};

bool queue_init(struct queue *queue);
void queue_free(struct queue *queue);

/* The instant of a time, made if there is none; 0 when memory is used up. */
uint32_t queue_find(struct queue *queue, double time_s);

/* Makes room for one more batch after an instant's last; false when memory is used up. */
bool queue_extend(struct queue *queue, uint32_t instant);

static inline struct instant *queue_instant(const struct queue *queue, uint32_t instant)
{
    return (struct instant *)queue->instants.item + instant;
}
static inline struct batch *queue_batch(const struct queue *queue, uint32_t batch)
{
    return (struct batch *)queue->batches.item + batch;
}

static inline void queue_push(struct queue *queue, double time_s, uint32_t event)
{
    if (!(time_s == queue->latest_s)) {
        uint32_t found = queue_find(queue, time_s);
        if (!found) {
            queue->fault = true;
            return;
        }
        queue->latest = found;
        queue->latest_s = time_s;
    }
    uint32_t last = queue_instant(queue, queue->latest)->last;
    if (!last || queue_batch(queue, last)->events == BATCH_EVENTS) {
        if (!queue_extend(queue, queue->latest)) {
            queue->fault = true;
            return;
        }
        last = queue_instant(queue, queue->latest)->last;
    }
    struct batch *batch = queue_batch(queue, last);
    batch->event[batch->events++] = event;
}

/* The earliest instant, or 0 if nothing is left. It stays in the queue, and takes events that happen at once,
 * until queue_drop(). */
static inline uint32_t queue_first(const struct queue *queue)
{
    return queue->entries ? queue->heap[0].instant : 0;
}

/* Moves the oldest batch of an instant into `batch`; false if there is none. */
static inline bool queue_pop(struct queue *queue, uint32_t instant, struct batch *batch)
{
    struct instant *at = queue_instant(queue, instant);
    uint32_t first = at->first;
    if (!first)
        return false;
    *batch = *queue_batch(queue, first);
    at->first = batch->next;
    if (!at->first)
        at->last = 0;
    pool_give_back(&queue->batches, first);
    return true;
}

/* Removes the earliest instant, whose events have all been popped. */
void queue_drop(struct queue *queue);

#endif
