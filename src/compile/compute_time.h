/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to compile/. */
/*
 * compute_time: the time of a compute in text that XLA:TPU compiled, and the basis of that time.
 *
 * Most instructions of such text have estimated_cycles, from XLA's own cost model. In measurements, products
 * take that time within 4 %, but element-wise loops and copies less than half of it, since it adds up work
 * that runs in parallel (facts/compiled.md). So there are three rules:
 *
 *   auto       a product: its estimate / clock; one without: the roofline with the chip's efficiency of products,
 *              and HBM as of a loop, if that takes longer.
 *              What moves bytes of HBM: bytes / (the rate that loops reach) + the overhead of a loop.
 *              What moves none works in VMEM: the overhead + (estimate - overhead) / 2.2, by which loops in HBM are off, as
 *              nothing was measured there. Scalars take nothing.
 *   estimated  estimate / clock, and nothing where there is none; without sharing HBM with what runs beside it
 *   roofline   roofline.h for everything, as text without estimates is timed under any rule
 *
 * The basis says which of these it was: the estimate, the bytes, a guess (the 2.2; a product or a kernel by its shapes; a sort
 * by its bytes, of which it may need many times as many), what --op-cost gives, or nothing, of what takes a time that nobody
 * knows. lower_time_of() (lower.h) is what tells them apart.
 *
 * Units: seconds. Errors: status.h. Ownership: plain values.
 */
#pragma once

#include "hlo/cost.h"
#include "machine/roofline.h"

enum compute_rule { COMPUTE_ROOFLINE, COMPUTE_AUTO, COMPUTE_ESTIMATED };

/* The rule for a text on a chip: the rule asked for, but roofline if the text has no estimates or the chip no
 * clock. Without text, for a product in the notation, auto uses the chip's own rates. Fails if estimates are
 * asked for but missing. */
int compute_rule_for(const struct module *module, const struct chip *chip, enum compute_rule asked,
                     struct status *st);

/* A product of this cost, padded if the options say so. */
struct product compute_product(const struct cost *cost, const struct roofline *roofline);

enum basis { BASIS_NOTHING, BASIS_ESTIMATE, BASIS_BYTES, BASIS_GUESS, BASIS_GIVEN, BASES };
const char *basis_name(enum basis basis);

struct compute_time {
    double seconds;
    double fixed_s;        /* the part that does not depend on the chip's speed */
    enum bound_kind bound; /* of a product */
    enum basis basis;      /* also NOTHING if there is no work */
};
