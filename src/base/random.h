/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * random: pseudo-random numbers from a seed, the same on every machine.
 *
 * splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): a counter and a mix of its
 * bits, so that any 64 bits are a seed.
 *
 * Units: none. Errors: none. Ownership: the caller's state.
 */
#pragma once

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 to below - 1; the bias is below / 2^64. */
static inline uint64_t random_below(uint64_t *state, uint64_t below)
{
    return random_next(state) % below;
}

/* [0, 1), a multiple of 2^-53. */
static inline double random_unit(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}
