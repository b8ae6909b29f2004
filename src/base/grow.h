/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * grow: arrays that grow as elements are appended.
 *
 *     struct list {
 *         double *value;
 *         int count, room;
 *     } list = {0};
 *     if (!GROW(list.value, list.count, list.room))
 *         return status_nomem(st);
 *     list.value[list.count++] = 2.5;
 *
 * The first allocation has room for 16 elements or 512 bytes, whichever is more. The room doubles from then
 * on, so that appending takes constant time on average. New elements are not cleared.
 *
 * Units: elements; `count` and `room` are of any integer type of four or eight bytes. Errors: false, and
 * nothing has changed, when memory runs out or `room` would exceed its type. Ownership: the array is the
 * caller's, freed with free().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Make room for one more element, or for `more` of them. Every argument but `more` must be an lvalue. */
#define GROW(array, count, room) GROW_BY(array, count, room, 1)
#define GROW_BY(array, count, room, more)                                                                    \
    ((int64_t)(more) <= (int64_t)((room) - (count)) ||                                                       \
     grow_array(&(array), sizeof *(array), (int64_t)(count), (int64_t)(more), &(room), sizeof(room)))

/* The function behind GROW: `array` points to the caller's pointer, `room` to its integer of `room_bytes`
 * bytes. */
bool grow_array(void *array, size_t element_bytes, int64_t count, int64_t more, void *room,
                size_t room_bytes);
