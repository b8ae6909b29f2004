/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to numbers/. */
/*
 * memory: the buffers of a program with real numbers in them, on every chip.
 *
 * Each buffer is an array of doubles; the pieces of a ragged one stand one after another. Elements that have not been written are NaN, so that a schedule that reads too early is noticed.
 *
 * Units: elements. Errors: STATUS_LIMIT above MEMORY_ELEMENTS in all. Ownership: the caller's struct, freed
 * with memory_free(), safe when zeroed; the program is borrowed and must not change.
 */
#pragma once

#include <stdint.h>

#include "program/program.h"

#define MEMORY_ELEMENTS ((int64_t)1 << 28)
enum { MEMORY_TEXT = 160 };

struct memory {
    const struct program *program;
    double *data;
    int64_t *at; /* [chips * buffers]: where a chip's buffer starts in data */
};

int memory_init(struct memory *memory, const struct program *program, struct status *st);
void memory_free(struct memory *memory);

/* The data of a chip's buffer. */
double *memory_of(const struct memory *memory, int chip, int32_t buffer);
int64_t memory_elements(const struct program *program, int chip, int32_t buffer);

/* Prints the elements that a view picks with the variables of chip `vars` on chip `at`, as Python would:
 * "in[4:6]", of several ranges "in[0:2+6:8]". Fails if memory is out, with the
 * buffer's name in `text`. */
int memory_print_view(const struct program *program, const struct view *view, int vars, int at,
                      char text[static MEMORY_TEXT]);
