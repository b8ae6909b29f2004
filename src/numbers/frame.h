/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to numbers/. */
/*
 * frame: one run of a computation on the devices that take part in it; and the rules of its three kinds of
 * instructions.
 *
 *   local       makes an array from arrays of the same device: a row of a table (elementwise.c, shaping.c, contract.c, by_rows.c);
 *               attention.c
 *   collective  needs all devices of a group at once (communicate.c)
 *   control     tuples, calls: it works on values as they are (interpret.c)
 */
#pragma once

#include <stdbool.h>

#include "hlo/module.h"
#include "numbers/value.h"

struct frame {
    const struct module *module;
    int devices;
    int32_t first, count;    /* the computation's instructions */
    const bool *active;      /* [devices] */
    struct value **value;    /* [count] */
    struct value **argument; /* of the computation */
    struct status *st;
};

static inline struct value **frame_slot(const struct frame *frame, int32_t instruction)
{
    return &frame->value[instruction - frame->first];
}
static inline struct value *frame_operand(const struct frame *frame, int32_t instruction, int which)
{
    return *frame_slot(frame, module_operand(frame->module, instruction, which));
}

/* One instruction on one device: operands as arrays, the result zeroed, in its shape. */
struct operation {
    const struct operation_rule *rule;
    const struct module *module;
    int32_t instruction;
    int device, operands;
    const struct array *const *operand;
    struct status *st;
};
struct operation_rule {
    enum opcode opcode;
    int (*apply)(const struct operation *op, struct array *out);
    double (*unary)(double a); /* what the elementwise ones of one operand do to each element */
};

/* Each table ends with a rule without apply. */
extern const struct operation_rule elementwise_rules[], shaping_rules[], contract_rules[], rows_rules[];

/* out[rows][columns] += left . right, where left[i][k] stands at i * step[0] + k * step[1] and right is [inner][columns]. */
void contract_add(const int64_t size[static 3], const double left[], const int64_t step[static 2],
                  const double right[], double out[]);

/* Two numbers combined by an elementwise opcode. */
double elementwise_binary(enum opcode opcode, double a, double b);
/* The opcode by which the root of a computation of two scalars combines them: add, maximum ...; HLO_OPCODES
 * if it does anything else. */
enum opcode elementwise_combine(const struct module *module, int32_t computation);

/* Sets the value of a collective, or of its start. Any other opcode has no definition, and fails. */
int communicate(struct frame *frame, int32_t instruction);

/* Does attention.c implement this custom call? Other custom calls have no definition. */
bool attention_knows(const struct module *module, int32_t instruction);
int attention_run(struct frame *frame, int32_t instruction);

/* Reports a failure at an instruction; returns STATUS_INPUT. */
int interpret_fail(const struct module *module, int32_t instruction, struct status *st, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));
