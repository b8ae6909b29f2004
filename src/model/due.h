/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * due: what the backward pass has found so far to be due to each value: parts that are summed once all are there.
 *
 * A part holds along which axes it is not whole, or not the same, on each device.
 */
#ifndef DUE_H
#define DUE_H

#include "hlo/builder.h"

struct due_part {
    int32_t value;
    unsigned axes;
    int32_t next; /* of the same value, -1 after the last */
};
struct due {
    struct builder *b;
    int32_t first, count; /* the instructions that can have parts: of the forward pass */
    int32_t *head;        /* [count]: their parts, -1 for none */
    bool *wanted;         /* [count]: does anything that is asked for depend on it */
    struct due_part *part;
    int32_t parts, room;
};

int due_init(struct due *due, struct builder *b, int32_t first, int32_t count, struct status *st);
void due_free(struct due *due);

bool due_wanted(const struct due *due, int32_t value);
/* Adds a part, unless nobody wants it. */
void due_add(struct due *due, int32_t value, int32_t part, unsigned axes);
/* Sums the parts of a value, the ones that are parts along the same axes first; over axes outside of `keep` by
 * all-reduces. Returns the sum, -1 if nothing is due, and the axes along which it is still not whole. */
int32_t due_sum(struct due *due, int32_t value, unsigned keep, unsigned *axes);

/* Appends the rule of one instruction: what is due to its operands if `c` is due to it. */
int due_pass_on(struct due *due, int32_t at, int32_t c, unsigned axes, struct status *st);
/* The rules of collectives; false if it is none. */
bool due_pass_on_collective(struct due *due, int32_t at, int32_t c, unsigned axes);

unsigned due_set(const struct axis_list *list);
struct axis_list due_list(unsigned axes);

#endif
