/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to collective/. */
/* The builders, each a row of the tables in collectives.c. */
#pragma once

#include "collective/collective.h"

collective_builder all_gather_build, reduce_scatter_build, all_reduce_build; /* reduce_gather.c */
collective_builder all_to_all_direct_build, all_to_all_ring_build,
    ragged_all_to_all_build;                 /* all_to_all*.c */
collective_builder collective_permute_build; /* permute.c */
collective_builder broadcast_build;          /* broadcast.c */
