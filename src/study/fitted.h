/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What measurements of both kinds share: which of them shaped a chip's profile, and the files that are compiled in. */
#ifndef VALIDATE_FITTED_H
#define VALIDATE_FITTED_H

#include "base/embedded.h"
#include "machine/chip.h"

/* Is a row among those that some value of the chip's profile was fitted on? */
bool is_fitted_on(const struct chip *chip, const char *id);

/* A file of analysis/published/, which is there. */
const struct embedded_file *embedded_published_file(const char *name);

#endif
