/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "machine/topology.h"

const struct topology *const topologies[] = {&topology_torus, &topology_twisted, NULL};
