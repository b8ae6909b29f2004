/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ragged-all-to-all, by its definition (XLA's operation semantics; jax.lax.ragged_all_to_all): device i of a group sends to
 * device j rows send_size[j] of its input from input_offset[j] on, which go into j's output from i's output_offset[j] on;
 * what nobody writes stays as it was. recv_size only says again what the senders say, and must.
 */
#include <string.h>

#include "numbers/frame.h"

enum operand { INPUT, OUTPUT, INPUT_OFFSET, SEND_SIZE, OUTPUT_OFFSET, RECV_SIZE };

static const struct array *array_of(const struct frame *frame, int32_t at, enum operand which, int device)
{
    return &frame_operand(frame, at, which, device)->array;
}

static int64_t number_of(const struct frame *frame, int32_t at, enum operand which, int device, int position)
{
    return (int64_t)array_of(frame, at, which, device)->data[position];
}

static bool is_within(int64_t first, int64_t count, int64_t rows)
{
    return first >= 0 && count >= 0 && first <= rows - count;
}

/* What the device at position i sends to the one at j. */
static int send(const struct frame *frame, int32_t at, const int member[], int i, int j, struct array *to)
{
    const struct array *from = array_of(frame, at, INPUT, member[i]);
    int64_t rows = number_of(frame, at, SEND_SIZE, member[i], j);
    int64_t first = number_of(frame, at, INPUT_OFFSET, member[i], j);
    int64_t into = number_of(frame, at, OUTPUT_OFFSET, member[i], j);
    int64_t n = from->shape[0] ? array_elements(from) / from->shape[0] : 0;
    if (number_of(frame, at, RECV_SIZE, member[j], i) != rows)
        return interpret_fail(
            frame->module, at, frame->st, "device %d sends %lld rows to device %d, which expects %lld",
            member[i], (long long)rows, member[j], (long long)number_of(frame, at, RECV_SIZE, member[j], i));
    if (!is_within(first, rows, from->shape[0]) || !is_within(into, rows, to->shape[0]))
        return interpret_fail(frame->module, at, frame->st,
                              "device %d sends rows %lld to %lld to device %d, into rows from %lld on: they "
                              "have %lld and %lld",
                              member[i], (long long)first, (long long)(first + rows - 1), member[j],
                              (long long)into, (long long)from->shape[0], (long long)to->shape[0]);
    if (rows > 0)
        memcpy(to->data + into * n, from->data + first * n, (size_t)(rows * n) * sizeof *to->data);
    return 0;
}

static int check_shapes(const struct frame *frame, int32_t at, const struct groups *groups)
{
    const struct array *in = array_of(frame, at, INPUT, groups->member[0]);
    const struct array *out = array_of(frame, at, OUTPUT, groups->member[0]);
    bool fits = in->dims > 0 && in->dims == out->dims;
    for (int d = 1; fits && d < in->dims; d++)
        fits = in->shape[d] == out->shape[d];
    for (int o = INPUT_OFFSET; fits && o <= RECV_SIZE; o++) {
        const struct array *list = array_of(frame, at, (enum operand)o, groups->member[0]);
        fits = list->dims == 1 && list->shape[0] == groups->size;
    }
    if (fits)
        return 0;
    return interpret_fail(frame->module, at, frame->st,
                          "rows of input and output must be alike, and offsets and sizes one for each of %d "
                          "devices",
                          groups->size);
}

int exchange_rows(struct frame *frame, int32_t at)
{
    struct groups groups = {0};
    int code = module_groups_of(frame->module, at, &groups, frame->st);
    if (code == 0)
        code = check_shapes(frame, at, &groups);
    for (int g = 0; code == 0 && g < groups.count * groups.size; g++) {
        const int *member = groups.member + g / groups.size * groups.size;
        int j = g % groups.size;
        struct array out = {0};
        code = array_copy(array_of(frame, at, OUTPUT, member[j]), &out, frame->st);
        for (int i = 0; code == 0 && i < groups.size; i++)
            code = send(frame, at, member, i, j, &out);
        struct value **slot = frame_slot(frame, at, member[j]);
        if (code == 0)
            code = (*slot = value_of(&out, frame->st)) ? 0 : frame->st->code;
        else
            array_free(&out);
    }
    groups_free(&groups);
    return code;
}
