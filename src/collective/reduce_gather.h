/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builders of reduce_gather.c: rows of the table in collective.c. */
#ifndef REDUCE_GATHER_H
#define REDUCE_GATHER_H

#include "collective/collective.h"

collective_builder all_gather_build, reduce_scatter_build, all_reduce_build;

#endif
