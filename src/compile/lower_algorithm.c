/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By which schedule a collective goes round the rings of its groups: as its text says, by our own, or by the fastest. */
#include <math.h>
#include <string.h>

#include "base/grow.h"
#include "compile/lower_own.h"

bool lower_follows(const struct layout *layout, const struct collective_config *config)
{
    return config_fits(config, layout->rings);
}

bool lower_by_schedule(const struct lower *lower, int32_t instruction)
{
    struct collective_config config;
    return lower->options->algorithm == ALGORITHM_SCHEDULE ||
           (lower->options->algorithm == ALGORITHM_AS_COMPILED &&
            !collective_config_of(lower->module, instruction, &config));
}

static void take_one_ring(const struct layout *layout, struct collective_spec *spec)
{
    if (layout->rings < 2)
        return;
    spec->rings = 1;
    spec->ring[0] = &layout->through;
}

/* The fastest way along the axes of a box or through all its chips. */
static int find_best(const struct lower *lower, const struct collective *collective,
                     const struct layout *layout, struct collective_spec asked, struct lowered_share *found,
                     struct status *st)
{
    double best_s = INFINITY, time_s;
    for (int one_ring = 0; one_ring <= (layout->rings > 1); one_ring++) {
        struct collective_spec spec = asked;
        if (one_ring)
            take_one_ring(layout, &spec);
        if (collective_best(collective, lower->placement->slice, &spec, &time_s, st) < 0)
            return st->code;
        if (time_s >= best_s * (1 - 1e-9))
            continue;
        best_s = time_s;
        found->best = spec.kind;
        found->pattern = spec.pattern;
        found->one_ring = one_ring;
        memcpy(found->share, spec.share, sizeof found->share);
    }
    return 0;
}

static const struct lowered_share *find_known(const struct lower *lower, const struct lowered_share *key)
{
    for (const struct lowered_share *known = lower->share; known < lower->share + lower->shares; known++)
        if (known->slot == key->slot && known->whole == key->whole && known->kind == key->kind &&
            known->bytes == key->bytes)
            return known;
    return NULL;
}

/* Of our own schedules the one of the kind that is asked for, its array cut so that it is fastest; or the best of all. Found once
 * for all collectives that are alike. */
static int choose(struct lower *lower, struct lowered_share key, const struct layout *layout,
                  struct collective_spec *spec, struct status *st)
{
    const struct collective *collective = collective_by_name(opcode_info(key.whole)->name, st);
    bool any = lower->options->algorithm == ALGORITHM_BEST;
    if (!collective)
        return st->code;
    if (collective_has_pattern(collective, lower->options->pattern))
        key.pattern = spec->pattern = lower->options->pattern;
    if (!collective->uses_ring || (!any && !collective_has_shares(collective, spec)))
        return 0;
    const struct lowered_share *known = find_known(lower, &key);
    if (!known) {
        int code = any ? find_best(lower, collective, layout, *spec, &key, st)
                       : collective_best_share(collective, lower->placement->slice, spec, NULL, st);
        if (code < 0)
            return code;
        if (!any)
            memcpy(key.share, spec->share, sizeof key.share);
        if (!GROW(lower->share, lower->shares, lower->shares_room))
            return status_nomem(st);
        lower->share[lower->shares] = key;
        known = &lower->share[lower->shares++];
    }
    spec->kind = known->best;
    spec->pattern = known->pattern;
    if (known->one_ring)
        take_one_ring(layout, spec);
    memcpy(spec->share, known->share, sizeof spec->share);
    return 0;
}

int lower_schedule(struct lower *lower, int32_t instruction, struct lowered_share key,
                   struct collective_spec *spec, struct status *st)
{
    struct collective_config config;
    enum algorithm algorithm = lower->options->algorithm;
    const struct layout *layout;
    int code = lower_layout(lower, instruction, &layout, st);
    bool follows = code == 0 && algorithm == ALGORITHM_AS_COMPILED &&
                   collective_config_of(lower->module, instruction, &config) &&
                   lower_follows(layout, &config);
    if (code == 0 && layout->rings > 1 &&
        (algorithm == ALGORITHM_BEST || (follows && config.rings == CONFIG_ONE_RING)))
        code = lower_join(lower, instruction, st);
    if (code < 0)
        return code;
    key.kind = key.best = spec->kind;
    key.bytes = spec->elements;
    if (!follows)
        return choose(lower, key, layout, spec, st);
    if (config.rings == CONFIG_ONE_RING)
        take_one_ring(layout, spec);
    config_follow(&config, key.whole == HLO_ALL_GATHER, spec);
    return 0;
}
