/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The chip files of topologies/, compiled in by embed.cmake; a row with a NULL name ends the list. */
#ifndef EMBEDDED_H
#define EMBEDDED_H

#include <stddef.h>

struct embedded_file {
    const char *name; /* of the file, without folder and ending */
    const char *text;
    size_t bytes;
};

extern const struct embedded_file embedded_chips[];

#endif
