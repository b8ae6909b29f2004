/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * manual: the parts of manual pages and shell completions that follow from tables: options, commands, collectives,
 * columns, closed forms, chips.
 *
 * A page is a template (*.in): its text with lines that start with @, each the name of a part, which stands there instead.
 * Roff is that of man(7), in which - is a hyphen and \- what one types.
 *
 * Units: none. Errors: a name that is unknown is STATUS_INPUT with the template's line. Ownership: nothing is kept.
 */
#ifndef MANUAL_H
#define MANUAL_H

#include <stdio.h>

#include "base/status.h"

/* A part by its name, "options"; NULL ends the list. */
struct manual_part {
    const char *name;
    void (*write)(FILE *out);
};
extern const struct manual_part manual_roff[], manual_shell[];

#endif
