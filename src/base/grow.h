/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * grow: arrays that are appended to.
 *
 *     struct list {
 *         double *value;
 *         int count, room;
 *     } list = {0};
 *     if (!GROW(list.value, list.count, list.room))
 *         return status_nomem(st);
 *     list.value[list.count++] = 2.5;
 *
 * There is room for 16 elements or 512 bytes at first. It doubles, so that appending takes constant time on average. What is
 * new is not cleared.
 *
 * Units: elements; `count` and `room` are of any integer type of four or eight bytes. Errors: false, with all as it was,
 * when memory is used up or the type of `room` ends. Ownership: the array is the caller's, freed with free().
 */
#ifndef ICISIM_GROW_H
#define ICISIM_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes sure that one more fits, or so many. All but `more` are named variables. */
#define GROW(array, count, room) GROW_BY(array, count, room, 1)
#define GROW_BY(array, count, room, more)                                                                    \
    ((int64_t)(more) <= (int64_t)((room) - (count)) ||                                                       \
     grow_array(&(array), sizeof *(array), (int64_t)(count), (int64_t)(more), &(room), sizeof(room)))

/* What GROW does: `array` points to the pointer, `room` to an integer of `room_bytes`. */
bool grow_array(void *array, size_t element_bytes, int64_t count, int64_t more, void *room,
                size_t room_bytes);

#endif
