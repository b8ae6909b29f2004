/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * event_sets: sets of chips, small enough to keep one for every mask of a program.
 *
 * A set is a bit a chip and, for each word of 64 bits, how many members come before it: a fifth of a byte a
 * chip. So "is it a member" and "which member is it" take a few instructions, and counters need room for the
 * members only. Equal sets are kept once: sets are equal if their ids are.
 *
 * Units: none. Errors: a negative id when memory is used up. Ownership: sets_free().
 */
#ifndef ICISIM_EVENT_SETS_H
#define ICISIM_EVENT_SETS_H

#include <stdbool.h>
#include <stdint.h>

struct chip_set {
    int32_t members;
    uint32_t hash;   /* of the words */
    uint64_t *word;  /* NULL for the set of all chips */
    int32_t *before; /* members in the words before; in the same memory */
};

/* The set of all chips, and that of none, which is there from the start too. */
enum { SET_ALL, SET_NONE };

struct sets {
    int32_t chips, sets, room;
    struct chip_set *set;
    struct chip_set next; /* the one that is added */
};

bool sets_init(struct sets *sets, int32_t chips);
void sets_free(struct sets *sets);

/* The id of the set of those chips whose byte is not 0; negative when memory is used up. */
int32_t sets_add(struct sets *sets, const uint8_t member[]);

static inline bool set_has(const struct chip_set *set, int32_t chip)
{
    return !set->word || (set->word[chip >> 6] >> (chip & 63) & 1);
}

/* The bits of chips 64 word .. 64 word + 63, of so many chips in all. */
static inline uint64_t set_word(const struct chip_set *set, int32_t chips, int32_t word)
{
    int32_t left = chips - 64 * word;
    return set->word ? set->word[word] : left >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << left) - 1;
}

/* How many members come before a chip. */
static inline int32_t set_rank(const struct chip_set *set, int32_t chip)
{
    if (!set->word)
        return chip;
    uint64_t below = set->word[chip >> 6] & (((uint64_t)1 << (chip & 63)) - 1);
    return set->before[chip >> 6] + __builtin_popcountll(below);
}

/* The first member at or after a chip, or `chips` if there is none: for (c = set_next(.., 0); c < chips;
 * c = set_next(.., c + 1)) runs over the members. */
static inline int32_t set_next(const struct chip_set *set, int32_t chips, int32_t chip)
{
    if (!set->word || chip >= chips)
        return chip;
    uint64_t word = set->word[chip >> 6] >> (chip & 63);
    if (word)
        return chip + __builtin_ctzll(word);
    for (int32_t w = (chip >> 6) + 1; w <= (chips - 1) >> 6; w++)
        if (set->word[w])
            return w * 64 + __builtin_ctzll(set->word[w]);
    return chips;
}

#endif
