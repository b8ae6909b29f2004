/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module_bound: a time that no schedule of a module's products and collectives beats.
 *
 *     T >= max( sum of the products' least times, each collective's own bound )
 *
 * The products add up, for a chip's queue runs them one at a time, and every chip runs all of them, a slow one too. The module
 * is as it is before loops are made of it. Loops and branches in it are not looked into.
 *
 * Units: seconds. Errors: STATUS_NOMEM. Ownership: everything is borrowed.
 */
#ifndef WORKLOAD_MODULE_BOUND_H
#define WORKLOAD_MODULE_BOUND_H

#include "hlo/module.h"
#include "machine/mesh.h"
#include "machine/roofline.h"

int module_bound(const struct module *module, const struct mesh *mesh, const struct roofline *roofline,
                 double *bound_s, struct status *st);

#endif
