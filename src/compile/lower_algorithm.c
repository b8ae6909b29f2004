/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the schedule of a collective on the rings of its groups: the one in the text, our own, or the
 * fastest. */
#include <math.h>
#include <string.h>

#include "base/grow.h"
#include "collective/choice.h"
#include "compile/lower_own.h"
#include "hlo/communication.h"

static void take_one_ring(const struct layout *layout, struct collective_spec *spec)
{
    if (layout->rings < 2)
        return;
    spec->rings = 1;
    spec->ring[0] = &layout->through;
}

bool lower_takes_way(const struct lower *lower, const struct layout *layout, bool one_ring,
                     struct collective_spec *spec)
{
    if (layout->rings < 2)
        return !one_ring;
    if (one_ring ? lower->options->all_axes : lower->options->one_ring)
        return false;
    if (one_ring)
        take_one_ring(layout, spec);
    return true;
}

/* Does it go as XLA chooses: as all of them, or because its label says so? */
static bool is_by_xla(const struct lower *lower, int32_t instruction)
{
    enum algorithm algorithm = lower->options->algorithm;
    return algorithm == ALGORITHM_XLA ||
           (algorithm == ALGORITHM_AS_COMPILED && lower->placement->cores == 1 &&
            module_has_label(lower->module, instruction, "algorithm=\"xla\""));
}

bool lower_by_schedule(const struct lower *lower, int32_t instruction)
{
    struct collective_config config;
    return lower->options->algorithm == ALGORITHM_SCHEDULE ||
           (lower->options->algorithm == ALGORITHM_AS_COMPILED && !is_by_xla(lower, instruction) &&
            !collective_config_of(lower->module, instruction, &config));
}

/* The time on one choice of rings: with the fastest schedule, or with the requested one and its best shares.
 * A single ring whose least time is no better than the time so far is not simulated. */
static int time_way(const struct lower *lower, const struct collective *collective,
                    struct collective_spec *spec, double best_s, double *time_s, struct status *st)
{
    const struct slice *slice = lower->placement->slice;
    double links_s;
    if (lower->options->algorithm == ALGORITHM_BEST)
        return collective_best(collective, slice, spec, time_s, st);
    *time_s = INFINITY;
    double least_s = collective_least_s(collective, slice, spec, &links_s);
    if (spec->pattern == PATTERN_RINGS && least_s >= best_s)
        return 0;
    return collective_best_share(collective, slice, spec, time_s, st);
}

/* The faster of two choices: all axes of a box at once, or one ring through all its chips. */
static int find_best(const struct lower *lower, const struct collective *collective,
                     const struct layout *layout, struct collective_spec asked, struct lowered_share *found,
                     struct status *st)
{
    double best_s = INFINITY, time_s;
    for (int one_ring = 0; one_ring < 2; one_ring++) {
        struct collective_spec spec = asked;
        if (!lower_takes_way(lower, layout, one_ring, &spec))
            continue;
        spec.root = lower_root(lower, layout, &spec);
        if (time_way(lower, collective, &spec, best_s, &time_s, st) < 0)
            return st->code;
        if (time_s >= best_s * (1 - 1e-9))
            continue;
        best_s = time_s;
        found->way = spec;
        found->one_ring = one_ring;
    }
    return 0;
}

static const struct lowered_share *find_known(const struct lower *lower, const struct lowered_share *key)
{
    for (int i = 0; i < lower->shares; i++) {
        const struct lowered_share *known = &lower->share[i];
        if (known->slot == key->slot && known->whole == key->whole && known->kind == key->kind &&
            known->bytes == key->bytes)
            return known;
    }
    return NULL;
}

/* Chooses among our own schedules: the requested kind, with the array split so that it is fastest; or the
 * best of all. The result is shared by all equal collectives. */
static int choose(struct lower *lower, struct lowered_share key, const struct layout *layout,
                  struct collective_spec *spec, struct status *st)
{
    const struct collective *collective = collective_by_name(opcode_info(key.whole)->name, st);
    if (!collective)
        return st->code;
    if (collective_has_pattern(collective, lower->options->pattern))
        spec->pattern = lower->options->pattern;
    if (!collective->uses_ring ||
        (lower->options->algorithm != ALGORITHM_BEST && (layout->rings < 2 || lower->options->all_axes) &&
         !collective_has_shares(collective, lower->placement->slice, spec)))
        return 0;
    const struct lowered_share *known = find_known(lower, &key);
    if (!known) {
        if (find_best(lower, collective, layout, *spec, &key, st) < 0)
            return st->code;
        if (!GROW(lower->share, lower->shares, lower->shares_room))
            return status_nomem(st);
        lower->share[lower->shares] = key;
        known = &lower->share[lower->shares++];
    }
    if (known->one_ring)
        take_one_ring(layout, spec);
    collective_go_like(&known->way, spec);
    return 0;
}

/* The type of a collective's data; for several arrays, of the first. */
static const struct dtype *type_of(const struct module *module, int32_t instruction)
{
    const struct shape *shape = &module->shape[module_result(module, instruction)];
    while (shape->dtype == SHAPE_TUPLE && shape->count > 0)
        shape = &module->shape[module->number[shape->first]];
    return dtype_info(shape->dtype < 0 ? DTYPE_BF16 : (enum dtype_id)shape->dtype);
}

int lower_choice(struct lower *lower, int32_t instruction, struct collective_config *config, bool *follows,
                 struct status *st)
{
    const struct ring *ring[COLLECTIVE_RINGS];
    const struct layout *layout;
    if (lower_layout(lower, instruction, &layout, st) < 0)
        return st->code;
    const struct collective *collective =
        collective_by_name(opcode_info(communication_kind(lower->module, instruction))->name, st);
    bool several = lower->placement->cores > 1;
    if (!collective)
        return st->code;
    for (int r = 0; r < layout->rings; r++)
        ring[r] = &layout->ring[r];
    struct choice_case of = {.chip = lower->options->chip,
                             .slice = lower->placement->slice,
                             .group = choice_group_of(lower->placement->slice, ring, layout->rings),
                             .collective = collective->id,
                             .dtype = type_of(lower->module, instruction),
                             .bytes = lower_collective_bytes(lower->module, instruction, layout->devices)};
    of.group.devices = layout->devices;
    of.group.several = several;
    of.group.all_devices = !several || layout->together == 1;
    int code = choice_find(&of, config, follows, st);
    *follows = *follows && config_fits(config, layout->rings);
    return code;
}

int lower_schedule(struct lower *lower, int32_t instruction, struct lowered_share key,
                   struct collective_spec *spec, struct status *st)
{
    struct collective_config config;
    const struct layout *layout;
    int code = lower_layout(lower, instruction, &layout, st);
    bool follows = code == 0 && lower->options->algorithm == ALGORITHM_AS_COMPILED &&
                   collective_config_of(lower->module, instruction, &config) &&
                   config_fits(&config, layout->rings);
    if (code == 0 && is_by_xla(lower, instruction))
        code = lower_choice(lower, instruction, &config, &follows, st);
    if (code == 0 && (follows ? config.rings == CONFIG_ONE_RING : !lower->options->all_axes))
        code = lower_join(lower, instruction, st);
    if (code < 0)
        return code;
    key.kind = spec->kind;
    key.bytes = spec->elements;
    if (!follows)
        return choose(lower, key, layout, spec, st);
    if (config.rings == CONFIG_ONE_RING)
        take_one_ring(layout, spec);
    config_follow(&config, key.whole == HLO_ALL_GATHER, spec);
    return 0;
}
