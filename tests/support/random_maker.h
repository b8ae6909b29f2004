/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files that make a random module share: the computation that is built, and the values in it. */
#ifndef RANDOM_MAKER_H
#define RANDOM_MAKER_H

#include "random_module.h"

enum { MAKER_VALUES = 64 };
struct maker {
    struct module *module;
    struct suite_random *r;
    int32_t value[MAKER_VALUES]; /* of the computation that is built */
    int values, parameters, names;
    int32_t sum[DTYPE_COUNT]; /* reducers */
};

int make_below(struct maker *m, int n);
int32_t make_shape(struct maker *m);
void make_begin(struct maker *m, const char *prefix);
int32_t make_add(struct maker *m, enum opcode opcode, int32_t shape, const int32_t operand[], int operands);
int32_t make_parameter(struct maker *m, int32_t shape);
/* A value of a shape: one that is there, or a parameter. */
int32_t make_value(struct maker *m, int32_t shape);
/* Attributes that may stand anywhere. */
void make_decoration(struct maker *m, int32_t value);
/* So many instructions of any kind that calls nothing. */
void make_some(struct maker *m, int instructions);

#endif
