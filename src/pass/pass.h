/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pass: functions from module to module. Each writes a new module that computes the same as the old one, otherwise
 * scheduled: what goes in and what comes out stay as they are, and so do names and labels of what is kept.
 *
 * Passes look at labels (layer, phase, what: builder.h) where they have to know which layer something belongs to; what has
 * none is left alone.
 *
 * Errors: STATUS_NOMEM, STATUS_LIMIT. Ownership: `out` is the caller's, freed with module_free(), safe after a failure.
 */
#ifndef ICISIM_PASS_H
#define ICISIM_PASS_H

#include "base/status.h"
#include "module/module.h"

/* Leaves out what nothing needs: instructions that the root does not depend on, computations that nobody calls. */
int pass_prune(const struct module *in, struct module *out, struct status *st);

/* What the backward pass finds again rather than keeps:
 *   none      what was gathered: it is gathered again
 *   products  also what is cheap: all but results of products, of custom calls and of other collectives
 *   full      also all of a layer but its inputs, from them
 * What is found again is labelled again="true", and stands before its first use. */
enum remat { REMAT_NONE, REMAT_PRODUCTS, REMAT_FULL, REMATS };
int pass_recompute(const struct module *in, enum remat remat, struct module *out, struct status *st);
const char *pass_remat_name(enum remat remat);
int pass_remat_by_name(const char *name, struct status *st);

#endif
