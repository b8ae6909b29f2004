/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heap: a binary heap, with the least key on top; of equal keys the one with the least number.
 *
 *     struct heap heap = {0};
 *     if (!heap_push(&heap, 2.385, 7, item))
 *         return status_nomem(st);
 *     while (heap.count > 0)
 *         item = heap_pop(&heap);
 *
 * Pairs of key and number are different, so the order is fixed. Units: the caller's. Errors: heap_push() is false, and nothing
 * has changed, when memory runs out. Ownership: `entry` is the caller's, freed with free(), safe when zeroed.
 */
#pragma once

#include "base/grow.h"

struct heap_entry {
    double key;
    int64_t number;
    int32_t item;
};

struct heap {
    struct heap_entry *entry; /* the least first */
    int32_t count, room;
};

static inline bool heap_is_before(struct heap_entry a, struct heap_entry b)
{
    return a.key < b.key || (a.key <= b.key && a.number < b.number);
}

static inline bool heap_push(struct heap *heap, double key, int64_t number, int32_t item)
{
    struct heap_entry pushed = {key, number, item};
    if (!GROW(heap->entry, heap->count, heap->room))
        return false;
    int32_t at = heap->count++;
    for (; at > 0 && heap_is_before(pushed, heap->entry[(at - 1) / 2]); at = (at - 1) / 2)
        heap->entry[at] = heap->entry[(at - 1) / 2];
    heap->entry[at] = pushed;
    return true;
}

/* Removes the least entry of a heap that is not empty, and returns its item. */
static inline int32_t heap_pop(struct heap *heap)
{
    int32_t item = heap->entry[0].item, at = 0, child;
    struct heap_entry moved = heap->entry[--heap->count];
    while ((child = 2 * at + 1) < heap->count) {
        child += child + 1 < heap->count && heap_is_before(heap->entry[child + 1], heap->entry[child]);
        if (!heap_is_before(heap->entry[child], moved))
            break;
        heap->entry[at] = heap->entry[child];
        at = child;
    }
    heap->entry[at] = moved;
    return item;
}
