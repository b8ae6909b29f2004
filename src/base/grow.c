/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

/* The first allocation: this many elements or this many bytes, whichever holds more elements. */
enum { FIRST_ROOM = 16, FIRST_BYTES = 512 };

/* The pointer and the room have types unknown here, so they are read and written with memcpy(). */
bool grow_array(void *array, size_t element_bytes, int64_t count, int64_t more, void *room, size_t room_bytes)
{
    int64_t most = room_bytes == sizeof(int32_t) ? INT32_MAX : INT64_MAX;
    if (most > (int64_t)(SIZE_MAX / 2 / element_bytes))
        most = (int64_t)(SIZE_MAX / 2 / element_bytes);
    if (more < 0 || count > most - more)
        return false;
    int64_t few = FIRST_BYTES / (int64_t)element_bytes, first = few > FIRST_ROOM ? few : FIRST_ROOM;
    int64_t wide = count < first / 2 ? first : count > most / 2 ? most : 2 * count;
    if (wide < count + more)
        wide = count + more;
    void *old;
    memcpy(&old, array, sizeof old);
    void *moved = realloc(old, (size_t)wide * element_bytes);
    if (!moved)
        return false;
    memcpy(array, &moved, sizeof moved);
    int32_t narrow = (int32_t)wide;
    if (room_bytes == sizeof narrow)
        memcpy(room, &narrow, sizeof narrow);
    else
        memcpy(room, &wide, sizeof wide);
    return true;
}
