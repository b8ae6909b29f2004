/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fuzz: a fuzz target is a file fuzz_NAME.c with this function, a program of its own, and corpus/NAME/ with inputs to start
 * from. `./dev fuzz NAME` lets libFuzzer look for inputs that break it; as a ctest it is given those of the corpus only.
 *
 * An input may be refused. What is found is a crash, a report of a sanitizer, a promise that is broken (abort()), or time
 * and memory out of all proportion.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Aborts where a promise is broken. fuzz_refused(): a refusal has a code, and a text of one line. */
void fuzz_promise(bool kept, const char *what, const struct status *st);
void fuzz_refused(const struct status *st);

/* The input as a text that ends with a zero; the caller's, NULL if memory is out. */
char *fuzz_text(const uint8_t *data, size_t bytes);

/* The text up to the next newline, or its end; ends it there, and moves *rest beyond. */
char *fuzz_line(char **rest);

/* A file of this process with the input, whose name ends as asked for: for what reads files only. */
const char *fuzz_file(const char *ending, const uint8_t *data, size_t bytes);

#endif
