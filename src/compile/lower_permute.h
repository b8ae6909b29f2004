/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lower_permute: a collective-permute between devices as sends between chips and within them. */
#ifndef LOWER_PERMUTE_H
#define LOWER_PERMUTE_H

#include "collective/collective.h"
#include "compile/lower.h"

/* Appends what a permute sends, all at once: over links what goes to other chips, by HBM what the devices of a chip give each
 * other. All waits for `before`, and `after` ends when all has arrived; it is `before` where nobody sends. The stage is that of
 * lower_collective(). */
int lower_permute(struct lower *lower, int32_t instruction, struct collective_spec *spec, int32_t stage,
                  int32_t before, int32_t *after, struct status *st);

#endif
