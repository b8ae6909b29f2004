/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "program/selection.h"

int64_t memory_elements(const struct program *program, int chip, int32_t buffer)
{
    const struct buffer *b = &program->buffer[buffer];
    if (!b->ragged)
        return b->elements;
    int64_t sum = 0;
    for (int32_t i = 0; i < b->dim[0]; i++)
        sum += b->ragged[(int64_t)chip * b->dim[0] + i];
    return sum;
}

/* Places the buffers of all chips; *used is their total size. */
static int place_buffers(struct memory *memory, int64_t *used, struct status *st)
{
    const struct program *program = memory->program;
    for (int chip = 0; chip < program->slice->chips; chip++)
        for (int32_t b = 0; b < program->buffers; b++) {
            const struct buffer *buffer = &program->buffer[b];
            bool fits = buffer->ragged || buffer->elements <= MEMORY_ELEMENTS;
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

int memory_print_view(const struct program *program, const struct view *view, int vars, int at,
                      char text[static MEMORY_TEXT])
{
    struct selection s;
    int printed = 0;
    snprintf(text, MEMORY_TEXT, "%s[", program->buffer[view->buffer].name);
    int code = selection_init(&s, program, view, vars, at, NULL);
    if (code < 0)
        return code;
    for (int32_t p = 0; p < s.pieces;) { /* neighbouring ranges as one */
        int64_t first = s.piece[p].first, end = first;
        while (p < s.pieces && s.piece[p].first == end)
            end += s.piece[p++].n;
        if (end > first)
            text_add(text, MEMORY_TEXT - 1, "%s%lld:%lld", printed++ ? "+" : "", (long long)first,
                     (long long)end);
    }
    text_add(text, MEMORY_TEXT, "]");
    selection_free(&s);
    return 0;
}
