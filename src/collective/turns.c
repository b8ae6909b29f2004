/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rings for gathers and reductions over all chips of a twisted torus that keep all links busy all the time,
 * as on a plain torus (E7).
 *
 * Steps in + direction along an axis return to the first chip after the length of its ring, which may be two
 * turns of the axis. All chips of that ring have the same data once it is gathered. So along the next axis
 * all chips of one such ring count as one place, and a walk returns to the first place after fewer steps,
 * perhaps at another of its chips; and so on for the third axis. Every part of the array has its own order of
 * axes, its own rings, and its own numbering of the chips: 4x4x8 has rings of 8, 4 and 4, whichever axis
 * comes first, and 4x8x8 rings of 8, 8 and 4. All of them close, and every step is one link.
 */
#include "collective/walk.h"

bool collective_is_twisted(const struct collective_spec *spec)
{
    unsigned axes = 0;
    bool turns = false;
    for (int r = 0; r < spec->rings; r++) {
        if (spec->ring[r]->along < 0)
            return false;
        axes |= 1u << spec->ring[r]->along;
        turns |= spec->ring[r]->axis < 0;
    }
    return turns && axes == (1u << SLICE_AXES) - 1;
}

bool collective_has_turns(const struct collective_spec *spec)
{
    return spec->pattern == PATTERN_RINGS && spec->colours == 0 && collective_is_twisted(spec);
}

void collective_turns(const struct collective_spec *spec, const struct slice *slice, int first,
                      int n[static COLLECTIVE_RINGS])
{
    int along[COLLECTIVE_RINGS], at = 0;
    for (int m = 0; m < COLLECTIVE_RINGS; m++) {
        along[m] = spec->ring[(first + m) % COLLECTIVE_RINGS]->along;
        n[m] = 0;
    }
    do {
        at = slice_moved(slice, at, along[0], 1);
        n[0]++;
    } while (at != 0);
    for (bool back = false; !back; n[1]++)
        for (int i = 0; i < n[0] && !back; i++)
            back = slice_moved(slice, slice_moved(slice, 0, along[0], i), along[1], n[1] + 1) == 0;
    n[2] = slice->chips / (n[0] * n[1]);
}

/* The chip at a place of a part's numbering, which counts steps along the three axes, the last one
 * fastest. */
static int chip_at(const struct walk *walk, int first, const int n[], int place)
{
    int chip = 0;
    for (int m = COLLECTIVE_RINGS - 1; m >= 0; place /= n[m], m--)
        chip = slice_moved(walk->program->slice, chip,
                           walk->spec->ring[(first + m) % COLLECTIVE_RINGS]->along, place % n[m]);
    return chip;
}

/* Makes the variables and the table with which parts that start with ring `first` name pieces: every chip's
 * place on each ring, and the piece at each place. */
static void number_places(struct walk *walk, int first, const int n[])
{
    struct program *program = walk->program;
    for (int m = 0, stride = program->slice->chips; m < COLLECTIVE_RINGS; m++) {
        stride /= n[m];
        for (int place = 0; place < program->slice->chips; place++)
            walk->index[chip_at(walk, first, n, place)] = place / stride % n[m];
        walk->var[walk_turn(first, m)] = program_var_table(program, n[m], walk->index);
    }
    for (int place = 0; place < program->slice->chips; place++)
        walk->index[place] =
            rings_piece(walk->ring, COLLECTIVE_RINGS, program->slice, chip_at(walk, first, n, place));
    walk->pieces[first].table = program_index_table(program, walk->index);
}

void walk_twist(struct walk *walk)
{
    walk->twisted = true;
    for (int first = 0; first < COLLECTIVE_RINGS; first++) {
        int n[COLLECTIVE_RINGS];
        collective_turns(walk->spec, walk->program->slice, first, n);
        walk->pieces[first] = (struct renumbering){.is = true, .n = {n[0], n[1], n[2]}};
        for (int m = 0; m < COLLECTIVE_RINGS; m++) {
            int turn = walk_turn(first, m), axis = walk->spec->ring[(first + m) % COLLECTIVE_RINGS]->along;
            walk->turn[turn] = (struct ring){
                .n = n[m], .closed = true, .axis = -1, .along = axis, .edge_links = 1, .closing_links = 1};
            walk->ring[turn] = &walk->turn[turn];
            walk->plus[turn] = program_towards(walk->program, &(struct hop){axis, 1}, 1);
            walk->minus[turn] = program_towards(walk->program, &(struct hop){axis, -1}, 1);
        }
        if (!walk->spec->timing_only)
            number_places(walk, first, n);
    }
}
