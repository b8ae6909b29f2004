/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * frame: one run of a computation on the devices that take part in it; and the three kinds of instructions.
 *
 *   local       makes an array from arrays of the same device: a row of a table (elementwise.c, shaping.c, contract.c, by_rows.c); attention.c
 *   collective  needs all devices of a group at once (communicate.c, exchange_rows.c)
 *   control     tuples, calls, loops: it works on values as they are (frame.c)
 */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>

#include "numbers/interpret.h"
#include "numbers/value.h"

struct frame {
    const struct module *module;
    int devices;
    int32_t first, count;    /* the computation's instructions */
    const bool *active;      /* [devices] */
    struct value **value;    /* [count * devices] */
    struct value **argument; /* [arguments * devices] */
    int arguments;
    struct status *st;
};

static inline struct value **frame_slot(const struct frame *frame, int32_t instruction, int device)
{
    return &frame->value[(size_t)(instruction - frame->first) * (size_t)frame->devices + (size_t)device];
}
static inline struct value *frame_operand(const struct frame *frame, int32_t instruction, int which,
                                          int device)
{
    return *frame_slot(frame, module_operand(frame->module, instruction, which), device);
}

/* Runs a computation on active devices, with the module, devices and status of `outer`; writes a value to result[device]
 * for each of them. */
int frame_run(const struct frame *outer, int32_t computation, const bool active[], struct value **argument,
              int arguments, struct value **result);

/* One instruction on one device: operands as arrays, the result zeroed, in its shape. */
typedef double (*combine_fn)(double a, double b);
struct local {
    const struct local_rule *rule;
    const struct module *module;
    int32_t instruction;
    int operands;
    const struct array *const *operand;
    struct status *st;
};
struct local_rule {
    enum opcode opcode;
    int (*apply)(const struct local *local, struct array *out);
    double (*unary)(double a); /* what the elementwise ones do to each element */
    combine_fn binary;
};

/* Each ends with a rule without apply. */
extern const struct local_rule elementwise_rules[], shaping_rules[], contract_rules[], rows_rules[];

/* Combines two numbers as the root of a computation of two scalars does: add, maximum ...; NULL if it is no such. */
combine_fn elementwise_combine(const struct module *module, int32_t computation);

/* Sets the value of a collective, a start or a done on all active devices. */
int communicate(struct frame *frame, int32_t instruction);
bool communicate_knows(enum opcode opcode);
/* The one whose devices send as many rows as each says. */
int exchange_rows(struct frame *frame, int32_t instruction);

/* The kernels of attention; any other custom call has no definition. */
bool attention_knows(const struct module *module, int32_t instruction);
int attention_run(struct frame *frame, int32_t instruction, int device);

/* Fails at an instruction; returns STATUS_INPUT. */
int interpret_fail(const struct module *module, int32_t instruction, struct status *st, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* An array of the shape of an instruction's result (or of shape `shape`), zeroed. */
int interpret_array(const struct module *module, int32_t shape, struct array *out, struct status *st);

#endif
