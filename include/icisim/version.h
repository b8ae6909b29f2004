/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * version: the version of icisim.
 *
 * Units: none. Errors: none. Ownership: constant texts.
 */
#ifndef ICISIM_API_VERSION_H
#define ICISIM_API_VERSION_H

#include <icisim/visibility.h>

ICISIM_BEGIN

/* The version of these headers, for #if; icisim_version() is the version of the loaded library. */
#define ICISIM_VERSION_MAJOR 0
#define ICISIM_VERSION_MINOR 2
#define ICISIM_VERSION_PATCH 0
#define ICISIM_VERSION_NUMBER                                                                                \
    (ICISIM_VERSION_MAJOR * 10000 + ICISIM_VERSION_MINOR * 100 + ICISIM_VERSION_PATCH)

/* The version of the loaded library: "0.2.0". */
ICISIM_API const char *icisim_version(void);

ICISIM_END

#endif
