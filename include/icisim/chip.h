/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chip: the sizes of a chip of one TPU generation.
 *
 * Chips come by name or from a file (anything with a '/' in it or with the ending .yaml). The profile "spec"
 * has the data sheet's values; "measured" has values fitted to measurements, if the chip file has any.
 *
 * Units: in the names; an unknown value is NaN. Errors: ICISIM_INPUT. Ownership: icisim_chip_free().
 */
#ifndef ICISIM_API_CHIP_H
#define ICISIM_API_CHIP_H

#include <icisim/status.h>

ICISIM_BEGIN

struct icisim_chip;

ICISIM_API struct icisim_chip *icisim_chip_new(const char *name_or_path, const char *profile,
                                               struct icisim_status *st);
ICISIM_API void icisim_chip_free(struct icisim_chip *chip);

ICISIM_API double icisim_chip_hbm_bytes(const struct icisim_chip *chip);

/* JAX devices of a chip: 2 where each of its cores is one. */
ICISIM_API int icisim_chip_cores(const struct icisim_chip *chip);

ICISIM_END

#endif
