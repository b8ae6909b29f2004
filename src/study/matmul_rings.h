/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * matmul_rings: a loop of permutes steps round one ring, however many physical axes its mesh axes lie on: what that ring is,
 * and what a step costs whose ends are more than a link apart.
 *
 * Units: in the text. Errors: status.h. Ownership: the caller's texts.
 */
#ifndef ICISIM_MATMUL_RINGS_H
#define ICISIM_MATMUL_RINGS_H

#include "hlo/module.h"
#include "machine/mesh.h"
#include "study/result.h"

/* Loops are the permutes that say which axes they go over (pass/loop.h): over="X,Y". `rings` gets what the mesh axes lie on, and the loops' rings where they go through several axes; `edges`, "" before, the
 * first loop whose ring has longer steps. */
int matmul_rings_print(const struct module *module, const struct mesh *mesh, char rings[static RESULT_LINE],
                       char edges[static RESULT_LINE], struct status *st);

#endif
