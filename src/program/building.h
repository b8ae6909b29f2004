/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to program/. */
/* Helpers of the functions that append to a program's arrays: the first fault is kept, and arrays grow. */
#pragma once

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

/* Records a fault, if it is the first. Returns 0, the most harmless index. */
static inline int32_t program_fault(struct program *program, int code)
{
    if (!program->error)
        program->error = code;
    return 0;
}

/* Makes room for `more` elements after the program->count present ones. False, with the fault recorded, if
 * there is none. */
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
