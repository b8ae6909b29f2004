/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * version: icisim's own version and those of the libraries and the compiler it was built with, as the build
 * found them.
 *
 * Units: none. Errors: none. Ownership: constant.
 */
#pragma once

struct version_part {
    const char *name;    /* "SimGrid" */
    const char *version; /* "3.32" */
};

/* icisim comes first; a row without a name ends the list. */
extern const struct version_part version_parts[];
