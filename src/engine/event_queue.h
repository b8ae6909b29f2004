/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/*
 * event_queue: the next events, for programs in which thousands of events have the same time.
 *
 * A binary heap orders batches of events instead of single events: an event with the same time as the
 * previous push joins its batch, and most pushes do. Batches of one instant come out in the order of their
 * creation.
 *
 * Units: seconds. Errors: `fault` is set when memory runs out, and stays. Ownership: queue_free().
 */
#pragma once

#include <math.h>

#include "base/heap.h"
#include "engine/event_pool.h"

/* An event is a kind and an index: of a wave, a link or a group of links. */
enum event_kind { EVENT_WAVE, EVENT_LINK, EVENT_GROUP };
struct event {
    uint32_t kind : 2, index : 30;
};

enum { BATCH_EVENTS = 15 };
struct batch {
    uint32_t events;
    struct event event[BATCH_EVENTS];
};

struct queue {
    struct pool batches;
    struct heap heap; /* of batches by time; equal times in the order of their creation */
    int64_t numbers;
    uint32_t latest; /* the batch created last ... */
    double latest_s; /* ... and its time, NaN once it has been popped */
    bool fault;
};

static inline struct queue queue_of(void)
{
    return (struct queue){.batches = pool_of(sizeof(struct batch)), .latest_s = NAN};
}

static inline void queue_free(struct queue *queue)
{
    pool_free(&queue->batches);
    free(queue->heap.entry);
    queue->heap = (struct heap){0};
}

static inline struct batch *queue_batch(const struct queue *queue, uint32_t batch)
{
    return (struct batch *)queue->batches.item + batch;
}

static inline bool queue_begin_batch(struct queue *queue, double time_s)
{
    uint32_t batch = pool_take(&queue->batches);
    if (!batch || !heap_push(&queue->heap, time_s, queue->numbers++, (int32_t)batch))
        return false;
    queue_batch(queue, batch)->events = 0;
    queue->latest = batch;
    queue->latest_s = time_s;
    return true;
}

static inline void queue_push(struct queue *queue, double time_s, enum event_kind kind, uint32_t index)
{
    bool joins = time_s == queue->latest_s && queue_batch(queue, queue->latest)->events < BATCH_EVENTS;
    if (!joins && !queue_begin_batch(queue, time_s)) {
        queue->fault = true;
        return;
    }
    struct batch *batch = queue_batch(queue, queue->latest);
    batch->event[batch->events++] = (struct event){kind, index & (POOL_ITEMS_MAX - 1)};
}

/* Time of the next event; infinity if there is none. */
static inline double queue_next_s(const struct queue *queue)
{
    return queue->heap.count > 0 ? queue->heap.entry[0].key : INFINITY;
}

/* Removes and returns the earliest batch of a queue that is not empty; the caller gives it back. */
static inline uint32_t queue_pop(struct queue *queue)
{
    uint32_t first = (uint32_t)heap_pop(&queue->heap);
    if (first == queue->latest)
        queue->latest_s = NAN;
    return first;
}
