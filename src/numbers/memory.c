/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/selection.h"

int64_t memory_elements(const struct program *program, int chip, int32_t buffer)
{
    const struct buffer *b = &program->buffer[buffer];
    if (!b->ragged)
        return b->rows * b->cols;
    int64_t sum = 0;
    for (int32_t i = 0; i < b->dim[0].n; i++)
        sum += b->ragged[(int64_t)chip * b->dim[0].n + i];
    return sum;
}

/* Places the buffers of all chips; *used is their total size. */
static int place_buffers(struct memory *memory, int64_t *used, struct status *st)
{
    const struct program *program = memory->program;
    for (int chip = 0; chip < program->slice->chips; chip++)
        for (int32_t b = 0; b < program->buffers; b++) {
            const struct buffer *buffer = &program->buffer[b];
            bool fits = buffer->ragged || buffer->cols <= 0 || buffer->rows <= MEMORY_ELEMENTS / buffer->cols;
            memory->at[(int64_t)chip * program->buffers + b] = *used;
            *used += fits ? memory_elements(program, chip, b) : 0;
            if (!fits || *used > MEMORY_ELEMENTS)
                return status_fail(
                    st, STATUS_LIMIT,
                    "the buffers of all chips hold more than %lld elements; evaluate on smaller arrays",
                    (long long)MEMORY_ELEMENTS);
        }
    return 0;
}

int memory_init(struct memory *memory, const struct program *program, struct status *st)
{
    int64_t used = 0;
    size_t buffers = (size_t)program->slice->chips * (size_t)program->buffers;
    *memory = (struct memory){.program = program, .at = calloc(buffers + 1, sizeof *memory->at)};
    int code = memory->at ? place_buffers(memory, &used, st) : status_nomem(st);
    if (code == 0 && !(memory->data = malloc(((size_t)used + 1) * sizeof *memory->data)))
        code = status_nomem(st);
    for (int64_t i = 0; i < used && code == 0; i++)
        memory->data[i] = NAN;
    if (code < 0)
        memory_free(memory);
    return code;
}

void memory_free(struct memory *memory)
{
    free(memory->data);
    free(memory->at);
    *memory = (struct memory){0};
}

double *memory_of(const struct memory *memory, int chip, int32_t buffer)
{
    return memory->data + memory->at[(int64_t)chip * memory->program->buffers + buffer];
}

int32_t memory_buffer(const struct program *program, const char *name)
{
    for (int32_t b = 0; b < program->buffers; b++)
        if (strcmp(program->buffer[b].name, name) == 0)
            return b;
    return -1;
}

/* "4:6+8:10", neighbouring ranges as one. Returns how much of the room it used. */
static size_t print_ranges(const struct range range[], int32_t ranges, char text[], size_t room)
{
    size_t used = 0;
    int32_t printed = 0;
    for (int32_t i = 0; i < ranges && used < room;) {
        int64_t first = range[i].first, end = first;
        while (i < ranges && range[i].first == end)
            end += range[i++].n;
        if (end > first)
            used += (size_t)snprintf(text + used, room - used, "%s%lld:%lld", printed++ ? "+" : "",
                                     (long long)first, (long long)end);
    }
    return used < room ? used : room - 1;
}

int memory_print_view(const struct program *program, const struct view *view, int vars, int at,
                      char text[static MEMORY_TEXT])
{
    struct selection s;
    int used = snprintf(text, MEMORY_TEXT, "%s[", program->buffer[view->buffer].name);
    size_t end = (size_t)used;
    int code = selection_init(&s, program, view, vars, at, NULL);
    if (code < 0)
        return code;
    end += print_ranges(s.row, s.row_ranges, text + end, MEMORY_TEXT - end - 4);
    if (s.width > 1) {
        end += (size_t)snprintf(text + end, MEMORY_TEXT - end, ", ");
        end += print_ranges(s.col, s.col_ranges, text + end, MEMORY_TEXT - end - 1);
    }
    snprintf(text + end, MEMORY_TEXT - end, "]");
    selection_free(&s);
    return 0;
}
