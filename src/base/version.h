/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * version: icisim's own, and those of what it was built with, as the build has found them.
 *
 * Units: none. Errors: none. Ownership: constant.
 */
#ifndef ICISIM_VERSION_H
#define ICISIM_VERSION_H

struct version_part {
    const char *name;    /* "SimGrid" */
    const char *version; /* "3.32" */
};

/* icisim comes first; a row without a name ends the list. */
extern const struct version_part version_parts[];

#endif
