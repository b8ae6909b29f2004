/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * manual: a program of the build, icisim_manual TEMPLATE FILE, which writes manual pages and shell completions from tables:
 * options, commands, collectives, columns, closed forms, chips.
 *
 * A template (install/) is the text of a page with lines that start with @, each the name of a part, and is
 * replaced by that part. The roff is that of man(7), in which - is a hyphen and \- a typed minus.
 *
 * Units: none. Errors: an unknown name is a fault with the template's line. Ownership: nothing is kept.
 */
#pragma once

#include <stdio.h>

/* A part and its name, "options"; a name of NULL ends the list. */
struct manual_part {
    const char *name;
    void (*write)(FILE *out);
};
extern const struct manual_part manual_roff[], manual_shell[];
