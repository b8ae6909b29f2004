/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chip: the rates and sizes of a chip of one TPU generation.
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

/* Names of the built-in chips, from index 0; NULL beyond the last. */
ICISIM_API const char *icisim_chip_name(int index);

ICISIM_API struct icisim_chip *icisim_chip_new(const char *name_or_path, const char *profile,
                                               struct icisim_status *st);
ICISIM_API void icisim_chip_free(struct icisim_chip *chip);

/* Bandwidth of one link in one direction, as collectives get it, and the latency of one link. */
ICISIM_API double icisim_chip_link_Bps(const struct icisim_chip *chip);
ICISIM_API double icisim_chip_hop_latency_s(const struct icisim_chip *chip);

ICISIM_API double icisim_chip_hbm_Bps(const struct icisim_chip *chip);
ICISIM_API double icisim_chip_hbm_bytes(const struct icisim_chip *chip);

/* JAX devices of a chip: 2 where each of its cores is one. */
ICISIM_API int icisim_chip_cores(const struct icisim_chip *chip);

/* Peak rate for a type ("bf16", "int8"): ICISIM_INPUT if the chip has none. */
ICISIM_API int icisim_chip_peak_flops(const struct icisim_chip *chip, const char *dtype, double *flops,
                                      struct icisim_status *st);

/* The source that the chip file gives for a value, by its key ("link_bandwidth", "peak.bf16"); NULL if it
 * gives none. */
ICISIM_API const char *icisim_chip_source(const struct icisim_chip *chip, const char *key);

ICISIM_END

#endif
