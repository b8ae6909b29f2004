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
    for (int32_t i = 0; i < sets->sets; i++)
        free(sets->set[i].word);
    free(sets->next.word);
    free(sets->set);
    *sets = (struct sets){0};
}

/* The set in sets->next, which takes memory where the one before has kept its own. */
static bool fill(struct sets *sets, const uint8_t member[])
{
    struct chip_set *set = &sets->next;
    int32_t chips = sets->chips, n = words(sets);
    if (!set->word && !(set->word = malloc((size_t)n * (sizeof *set->word + sizeof *set->before))))
        return false;
    *set = (struct chip_set){.word = set->word, .before = (int32_t *)(set->word + n)};
    uint64_t hash = 0;
    for (int32_t w = 0; w < n; w++) {
        uint64_t word = 0;
        for (int32_t chip = 64 * w; chip < chips && chip < 64 * w + 64; chip++)
            word |= (uint64_t)(member[chip] != 0) << (chip - 64 * w);
        set->word[w] = word;
        set->before[w] = set->members;
        set->members += __builtin_popcountll(word);
        hash = ((hash ^ hash >> 29) ^ word) * 0x9e3779b97f4a7c15ull;
    }
    set->hash = (uint32_t)(hash >> 32);
    return true;
}

int32_t sets_add(struct sets *sets, const uint8_t member[])
{
    const struct chip_set *set = &sets->next;
    if (!fill(sets, member) || !make_room(sets))
        return -1;
    if (set->members == sets->chips)
        return SET_ALL;
    for (int32_t i = sets->sets - 1; i >= SET_NONE; i--) {
        const struct chip_set *have = &sets->set[i];
        if (have->hash == set->hash && have->members == set->members &&
            memcmp(have->word, set->word, (size_t)words(sets) * sizeof *set->word) == 0)
            return i;
    }
    sets->set[sets->sets] = *set;
    sets->next.word = NULL;
    return sets->sets++;
}
