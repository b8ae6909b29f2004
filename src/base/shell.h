/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shell: words of a command line, written and read as bash does it: 'quotes', "quotes", \ and $'\n'. Every
 * word is printed on one line and read back as the same word. Variables, patterns and redirections mean
 * nothing here.
 *
 * Units: none. Errors: STATUS_INPUT for a quote that is not closed, STATUS_NOMEM. Ownership: a word read is the caller's.
 */
#pragma once

#include <stdio.h>

#include "base/status.h"

/* Prints a word, in quotes if a shell would otherwise read something else. */
void shell_print(const char *word, FILE *out);

/* Reads the word at *at and moves past it: *word is a new text, or NULL if there are no more words. */
int shell_next(const char **at, char **word, struct status *st);
