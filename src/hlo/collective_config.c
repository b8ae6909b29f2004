/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/collective_config.h"

#include <stdlib.h>
#include <string.h>

/* The end of the object or list that begins at `at`. Brackets in strings are skipped. */
static const char *end_of(const char *at)
{
    bool quoted = false;
    for (int depth = 0; *at; at++) {
        if (quoted && *at == '\\' && at[1])
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && strchr("{[", *at))
            depth++;
        else if (!quoted && strchr("}]", *at) && --depth == 0)
            break;
    }
    return at;
}

/* The text after `key`, before `end`; NULL if the key is not there. */
static const char *after(const char *at, const char *end, const char *key)
{
    const char *found = strstr(at, key);
    return found && found < end ? found + strlen(key) : NULL;
}

static void read_name(const char *at, const char *end, const char *key, char name[static CONFIG_NAME])
{
    const char *value = after(at, end, key);
    snprintf(name, CONFIG_NAME, "%.*s", value ? (int)strcspn(value, "\"") : 0, value ? value : "");
}

/* {2 0}: the dims of one colour. Returns the end of the list, NULL if it is not a valid order. */
static const char *read_dims(const char *at, int phases, struct config_colour *colour)
{
    unsigned seen = 0;
    if (*at++ != '{')
        return NULL;
    for (int p = 0; p < phases; p++) {
        at += *at == ' ';
        int dim = *at++ - '0';
        if (dim < 0 || dim >= COLLECTIVE_RINGS || seen & 1u << dim)
            return NULL;
        seen |= 1u << dim;
        colour->axis[p] = config_dim(dim);
    }
    return *at == '}' ? at + 1 + (at[1] == ',') : NULL;
}

/* StrategyND{colors:2 phases:2 .. dim_used:{0 1},{1 0}: orders that are not printed for the second half are those of the first. */
static void read_strategy(const char *debug, const char *end, struct collective_config *config)
{
    const char *colours = after(debug, end, "{colors:"), *phases = after(debug, end, " phases:");
    const char *dims = after(debug, end, "dim_used:");
    bool one_way = strncmp(config->strategy, "UniDirection", strlen("UniDirection")) == 0;
    config->colours = colours ? atoi(colours) : 0;
    config->phases = phases ? atoi(phases) : 0;
    config->kind = one_way ? RING_BIDI_HALF : RING_BIDI;
    bool phased = config->phases > 0 && config->phases <= COLLECTIVE_RINGS && config->colours > 0;
    config->rings = phased && config->colours <= COLLECTIVE_COLOURS ? CONFIG_ONE_RING : CONFIG_OPEN;
    if (strstr(config->strategy, "ND") && config->rings != CONFIG_OPEN)
        config->rings = CONFIG_ALL_AXES;
    for (int c = 0; c < config->colours && config->rings != CONFIG_OPEN; c++) {
        struct config_colour *colour = &config->colour[c];
        int half = (config->colours + 1) / 2;
        *colour = (struct config_colour){{CONFIG_AXIS_OPEN, CONFIG_AXIS_OPEN, CONFIG_AXIS_OPEN},
                                         one_way ? c < half ? 1 : -1 : 0};
        if (config->rings == CONFIG_ONE_RING)
            continue;
        dims = dims ? read_dims(dims, config->phases, colour) : NULL;
        if (!dims && one_way && c >= half)
            memcpy(colour->axis, config->colour[c - half].axis, sizeof colour->axis);
        else if (!dims)
            config->rings = CONFIG_OPEN;
    }
}

static void read_algorithm(const char *at, struct collective_config *config)
{
    const char *end = end_of(at), *debug = after(at, end, "\"debug\":\"");
    read_name(at, end, "\"emitter\":\"", config->emitter);
    read_name(at, end, "\"strategy\":\"", config->strategy);
    config_of_emitter(config);
    if (config->strategy[0])
        read_strategy(debug ? debug : end, end, config);
}

/* "ICI_RING_DIM_X_MESH", "ICI_RING_DIM_D2D"; a ring whose neighbours are listed has none. */
static int axis_of_ring(const char *at, const char *end)
{
    const char *dim = after(at, end, "\"ring_dim\":\"ICI_RING_DIM_");
    if (!dim)
        return CONFIG_AXIS_OPEN;
    return *dim >= 'X' && *dim <= 'Z' ? *dim - 'X' : CONFIG_AXIS_CHIP;
}

/* [{"ring_dim":"ICI_RING_DIM_X_MESH","ring_type":"ICI_RING_TYPE_UNIDIR_CW"},..]: the phases of one colour. */
static void read_phases(const char *at, struct collective_config *config)
{
    const char *end = end_of(at);
    struct config_colour *colour = &config->colour[config->colours++];
    int phases = 0;
    colour->sign = after(at, end, "_CCW\"") ? -1 : after(at, end, "_CW\"") ? 1 : 0;
    for (at = strchr(at, '{'); at && at < end && phases < COLLECTIVE_RINGS; at = strchr(at, '{')) {
        const char *ring_end = end_of(at);
        colour->axis[phases++] = axis_of_ring(at, ring_end);
        at = ring_end;
    }
    config->phases = phases;
}

static void read_offload(const char *at, struct collective_config *config)
{
    const char *end = end_of(at);
    *config = (struct collective_config){
        .emitter = "SparseCore", .sparse_core = true, .kind = RING_BIDI_HALF, .rings = CONFIG_ALL_AXES};
    while (config->colours < COLLECTIVE_COLOURS && (at = after(at, end, "\"phase_rings\":")))
        read_phases(at, config);
    if (config->colours == 0 || config->phases == 0)
        config->rings = CONFIG_OPEN;
    else if (config->colour[0].axis[0] == CONFIG_AXIS_OPEN)
        config->rings = config->phases == 1 ? CONFIG_ONE_RING : CONFIG_OPEN;
}

/* Reads a backend_config. False if it does not describe a collective. */
static bool read_config(const char *text, struct collective_config *config)
{
    static const char algorithm[] = "\"collective_algorithm_config\":", offload[] = "\"color_strategies\":";
    const char *at = strstr(text, offload);
    *config = (struct collective_config){.rings = CONFIG_OPEN};
    if (at) {
        read_offload(at + strlen(offload), config);
        return true;
    }
    at = strstr(text, algorithm);
    if (at)
        read_algorithm(at + strlen(algorithm), config);
    return at && config->emitter[0];
}

bool collective_config_of(const struct module *module, int32_t collective, struct collective_config *config)
{
    const int32_t *callers = module->caller;
    if (read_config(module_value(module, collective, ATTR_BACKEND_CONFIG), config))
        return true;
    int32_t caller = callers ? callers[module_at(module, collective)->computation] : -1;
    return caller >= 0 && module_at(module, caller)->opcode == HLO_FUSION &&
           read_config(module_value(module, caller, ATTR_BACKEND_CONFIG), config);
}
