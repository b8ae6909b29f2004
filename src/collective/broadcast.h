/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builder of broadcast.c, a row of the table in collective.c. */
#ifndef BROADCAST_H
#define BROADCAST_H

#include "collective/collective.h"

collective_builder broadcast_build;

#endif
