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

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
