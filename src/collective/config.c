/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collective/config.h"

#include <string.h>

#include "base/text.h"

void config_of_emitter(struct collective_config *config)
{
    const char *emitter = config->emitter;
    config->pattern = strstr(emitter, "SinglePhase") ? PATTERN_SINGLE_PHASE
                      : strstr(emitter, "Short")     ? PATTERN_SHORT_RING
                                                     : PATTERN_RINGS;
    config->small = config->pattern != PATTERN_RINGS;
    if (strstr(emitter, "RingSum") || strncmp(emitter, "1DAllGather", strlen("1DAllGather")) == 0)
        config->rings = CONFIG_ONE_RING;
    else if (strstr(emitter, "DAllGather"))
        config->rings = CONFIG_ALL_AXES;
    config->kind = strstr(emitter, "Imbalanced") || strstr(emitter, "Phase") ? RING_BIDI : RING_BIDI_HALF;
}

bool config_fits(const struct collective_config *config, int rings)
{
    int phases = 0;
    for (int p = 0; p < config->phases && config->rings == CONFIG_ALL_AXES; p++)
        phases += config->colour[0].axis[p] != CONFIG_AXIS_CHIP;
    if (config->rings != CONFIG_ALL_AXES)
        return config->rings == CONFIG_ONE_RING;
    return config->phases > 0 ? phases == rings : rings > 1;
}

/* Finds the rings of a colour in the order of its phases; returns their number. The spec has one ring for
 * each axis, sorted by axis, so the index of a ring is the number of the colour's axes that come before its
 * axis; a ring that names its own axis is found by that. A phase within chips has no ring. */
static int rings_of_phases(const struct config_colour *colour, int phases, const struct collective_spec *spec,
                           int ring[static COLLECTIVE_RINGS])
{
    int rings = 0;
    for (int p = 0; p < phases; p++) {
        if (colour->axis[p] == CONFIG_AXIS_CHIP)
            continue;
        ring[rings] = 0;
        for (int other = 0; other < phases; other++)
            ring[rings] += colour->axis[other] >= 0 && colour->axis[other] < colour->axis[p];
        for (int r = 0; r < spec->rings; r++)
            if (spec->ring[r]->axis >= 0 && spec->ring[r]->axis == colour->axis[p])
                ring[rings] = r;
        rings++;
    }
    return rings;
}

/* Is it a short ring on lines only? These are walked to their middles in the order of the part, and back
 * (short_ring.c). */
static bool goes_to_middle(const struct collective_config *config, const struct collective_spec *spec)
{
    for (int r = 0; r < spec->rings; r++)
        if (spec->ring[r]->n > 1 && spec->ring[r]->closed)
            return false;
    return config->pattern == PATTERN_SHORT_RING;
}

void config_follow(const struct collective_config *config, bool gathers, struct collective_spec *spec)
{
    bool turned = (gathers && !config->as_all_reduce) || goes_to_middle(config, spec);
    spec->kind = config->kind;
    spec->pattern = config->pattern;
    spec->as_all_reduce = config->as_all_reduce;
    spec->colours = config->colours;
    for (int c = 0; c < config->colours; c++) {
        struct collective_colour *colour = &spec->colour[c];
        int ring[COLLECTIVE_RINGS] = {0};
        int rings = rings_of_phases(&config->colour[c], config->phases, spec, ring);
        colour->sign = config->colour[c].sign;
        for (int m = 0; m < rings; m++) /* phases are in the order of a scatter, except for an all-gather */
            colour->order[m] = ring[turned ? m : rings - 1 - m];
    }
}

/* Prints "{0 1}" for the TensorCore, "{X:CW Y:CW}" for the SparseCores. */
static void print_colour(const struct collective_config *config, const struct config_colour *colour,
                         char text[static CONFIG_TEXT])
{
    for (int p = 0; p < config->phases; p++) {
        char name[8] = "D2D";
        int axis = colour->axis[p];
        if (axis >= 0)
            snprintf(name, sizeof name, "%c", config->sparse_core ? 'X' + axis : '0' + config_dim(axis));
        text_add(text, CONFIG_TEXT, "%s%s%s%s", p ? " " : "{", name,
                 !config->sparse_core ? ""
                 : colour->sign < 0   ? ":CCW"
                                      : ":CW",
                 p + 1 == config->phases ? "}" : "");
    }
}

char *config_print(const struct collective_config *config, char text[static CONFIG_TEXT])
{
    snprintf(text, CONFIG_TEXT, "%s", config->emitter);
    if (config->colours == 0)
        return text;
    text_add(text, CONFIG_TEXT, " %s{colors:%d phases:%d", config->strategy, config->colours, config->phases);
    for (int c = 0; c < config->colours && config->rings == CONFIG_ALL_AXES; c++)
        print_colour(config, &config->colour[c], text_add(text, CONFIG_TEXT, c ? "," : " dim_used:"));
    return text_add(text, CONFIG_TEXT, "}");
}
