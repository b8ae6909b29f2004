/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shell: words of a command line, written and read as bash does it: 'quotes', "quotes", \ and $'\n'. What is printed is
 * one line, whatever the word, and is read back as the same word. Variables, patterns and redirections mean nothing here.
 *
 * Units: none. Errors: STATUS_INPUT for a quote that is not closed, STATUS_NOMEM. Ownership: a word read is the caller's.
 */
#ifndef ICISIM_SHELL_H
#define ICISIM_SHELL_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

/* In quotes if a shell would read anything else. */
void shell_print(const char *word, FILE *out);

/* Reads the word at *at and moves beyond it: *word is a new text, or NULL where no more words follow. */
int shell_next(const char **at, char **word, struct status *st);

#endif
