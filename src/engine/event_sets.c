/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/event_sets.h"

#include <stdlib.h>
#include <string.h>

static int32_t words(const struct sets *sets)
{
    return (sets->chips + 63) / 64;
}

static bool make_room(struct sets *sets)
{
    if (sets->sets < sets->room)
        return true;
    int32_t room = sets->room ? 2 * sets->room : 8;
    struct chip_set *set = realloc(sets->set, (size_t)room * sizeof *set);
    if (!set)
        return false;
    sets->set = set;
    sets->room = room;
    return true;
}

bool sets_init(struct sets *sets, int32_t chips)
{
    *sets = (struct sets){.chips = chips};
    if (!make_room(sets))
        return false;
    sets->set[sets->sets++] = (struct chip_set){.members = chips};
    uint8_t *nobody = calloc((size_t)chips, 1);
    bool done = nobody && sets_add(sets, nobody) == SET_NONE;
    free(nobody);
    return done;
}

void sets_free(struct sets *sets)
{
    for (int32_t i = 0; i < sets->sets; i++) {
        free(sets->set[i].word);
        free(sets->set[i].before);
    }
    free(sets->set);
    *sets = (struct sets){0};
}

static bool fill(struct chip_set *set, int32_t chips, const uint8_t member[])
{
    size_t n = (size_t)(chips + 63) / 64;
    *set = (struct chip_set){.word = calloc(n, sizeof *set->word), .before = malloc(n * sizeof *set->before)};
    if (!set->word || !set->before)
        return false;
    for (int32_t chip = 0; chip < chips; chip++) {
        if (chip % 64 == 0)
            set->before[chip / 64] = set->members;
        if (member[chip]) {
            set->word[chip / 64] |= (uint64_t)1 << (chip % 64);
            set->members++;
        }
    }
    uint64_t hash = 0;
    for (size_t w = 0; w < n; w++)
        hash = ((hash ^ hash >> 29) ^ set->word[w]) * 0x9e3779b97f4a7c15ull;
    set->hash = (uint32_t)(hash >> 32);
    return true;
}

int32_t sets_add(struct sets *sets, const uint8_t member[])
{
    struct chip_set set;
    bool filled = fill(&set, sets->chips, member) && make_room(sets);
    if (filled && set.members < sets->chips) {
        for (int32_t i = sets->sets - 1; i >= SET_NONE; i--) {
            const struct chip_set *have = &sets->set[i];
            if (have->hash == set.hash && have->members == set.members &&
                memcmp(have->word, set.word, (size_t)words(sets) * sizeof *set.word) == 0) {
                free(set.word);
                free(set.before);
                return i;
            }
        }
        sets->set[sets->sets] = set;
        return sets->sets++;
    }
    free(set.word);
    free(set.before);
    return filled ? SET_ALL : -1;
}
