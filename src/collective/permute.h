/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builder of permute.c, a row of the table in collective.c. */
#ifndef PERMUTE_H
#define PERMUTE_H

#include "collective/collective.h"

enum { PERMUTE_ROUTES = 2 * SLICE_AXES };

collective_builder collective_permute_build;

#endif
