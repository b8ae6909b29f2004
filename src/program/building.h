/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to program/. */
/* What the builders of a program's arrays share: the first fault sticks, and arrays grow. */
#ifndef PROGRAM_BUILDING_H
#define PROGRAM_BUILDING_H

#include "base/grow.h"
#include "program/program.h"

/* The growing arrays of a program, in the order of program.room. */
enum {
    ROOM_OP,
    ROOM_AFTER,
    ROOM_ROUTE,
    ROOM_HOP,
    ROOM_MASK,
    ROOM_INDEX,
    ROOM_AMOUNT,
    ROOM_VAR,
    ROOM_BUFFER,
    ROOM_PAYLOAD,
    ROOM_STAGE
};

/* Keeps the first fault; returns 0, an index that is there if any is. */
static inline int32_t program_fault(struct program *program, int code)
{
    if (!program->error)
        program->error = code;
    return 0;
}

/* Is there room for `more` elements after program->count of them? If not, that is the fault. */
#define HAS_ROOM(program, which, array, count, more)                                                         \
    (((program)->count <= INT32_MAX / 2 - (more) &&                                                          \
      GROW_BY((program)->array, (program)->count, (program)->room[which], more)) ||                          \
     program_fault(program, (program)->count > INT32_MAX / 2 - (more) ? STATUS_LIMIT : STATUS_NOMEM))

/* Appends an element to program->array and returns its index, 0 after a fault. */
#define APPEND(program, which, array, count, element)                                                        \
    do {                                                                                                     \
        if (!HAS_ROOM(program, which, array, count, 1))                                                      \
            return 0;                                                                                        \
        (program)->array[(program)->count] = (element);                                                      \
        return (program)->count++;                                                                           \
    } while (0)

#endif
