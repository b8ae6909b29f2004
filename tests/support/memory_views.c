/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory_views.h"

#include <string.h>

#include "program/selection.h"

int32_t memory_buffer(const struct program *program, const char *name)
{
    for (int32_t b = 0; b < program->buffers; b++)
        if (strcmp(program->buffer[b].name, name) == 0)
            return b;
    return -1;
}

int memory_take(const struct memory *memory, const struct view *view, int chip, double value[],
                struct status *st)
{
    struct selection s;
    int code = selection_init(&s, memory->program, view, chip, chip, st);
    if (code < 0)
        return code;
    selection_take(&s, memory_of(memory, chip, view->buffer), value);
    selection_free(&s);
    return 0;
}

int memory_put(struct memory *memory, const struct view *view, int chip, const double value[],
               struct status *st)
{
    struct selection s;
    int code = selection_init(&s, memory->program, view, chip, chip, st);
    if (code < 0)
        return code;
    selection_put(&s, memory_of(memory, chip, view->buffer), value, COMBINE_COPY);
    selection_free(&s);
    return 0;
}

double start_value(int chip, int64_t i)
{
    return 7919 * chip + 13 * (double)i + 5;
}
