/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "faces/api.h"

const char *icisim_chip_name(int index)
{
    const char *names[CHIP_BUILT_IN_MAX];
    chip_names(names);
    for (int i = 0; i < index && names[i]; i++)
        if (i + 1 == index)
            return names[index];
    return index == 0 ? names[0] : NULL;
}

static int load(struct icisim_chip *chip, const char *name_or_path, const char *profile, struct status *st)
{
    int index = text_index(profile, chip_profile_names);
    if (index < 0)
        return text_unknown("profile", profile, chip_profile_names, st);
    return chip_load(&chip->chip, name_or_path, (enum chip_profile)index, st);
}

struct icisim_chip *icisim_chip_new(const char *name_or_path, const char *profile, struct icisim_status *st)
{
    struct api_call call;
    api_begin(&call);
    struct icisim_chip *chip = calloc(1, sizeof *chip);
    int code = chip ? load(chip, name_or_path, profile, &call.st) : status_nomem(&call.st);
    if (api_end(&call, code, st) == 0)
        return chip;
    icisim_chip_free(chip);
    return NULL;
}

void icisim_chip_free(struct icisim_chip *chip)
{
    if (chip)
        chip_free(&chip->chip);
    free(chip);
}

double icisim_chip_link_Bps(const struct icisim_chip *chip)
{
    return chip->chip.link_Bps;
}

double icisim_chip_hop_latency_s(const struct icisim_chip *chip)
{
    return chip->chip.hop_latency_s;
}

double icisim_chip_hbm_Bps(const struct icisim_chip *chip)
{
    return chip->chip.hbm_Bps;
}

double icisim_chip_hbm_bytes(const struct icisim_chip *chip)
{
    return chip->chip.hbm_bytes > 0 ? (double)chip->chip.hbm_bytes : NAN;
}

int icisim_chip_peak_flops(const struct icisim_chip *chip, const char *dtype, double *flops,
                           struct icisim_status *st)
{
    struct api_call call;
    api_begin(&call);
    int index = dtype_by_name(dtype, &call.st);
    int code = index < 0 ? index : chip_peak(&chip->chip, (enum dtype_id)index, flops, &call.st);
    return api_end(&call, code, st);
}

const char *icisim_chip_source(const struct icisim_chip *chip, const char *key)
{
    return chip_source(&chip->chip, key);
}
