/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chip files, in both profiles. */
#include "fuzz.h"
#include "machine/chip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    for (int profile = 0; chip_profile_names[profile]; profile++) {
        struct status st = {0};
        struct chip chip = {0};
        if (chip_parse(&chip, "input.yaml", (const char *)data, bytes, (enum chip_profile)profile, &st) < 0)
            fuzz_refused(&st);
        else
            fuzz_promise(chip.link_Bps > 0 && chip.hop_latency_s >= 0, "a chip has links", &st);
        chip_free(&chip);
    }
    return 0;
}
