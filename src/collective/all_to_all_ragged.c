/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ragged all-to-all: every pair of a group has a block of its own size. Blocks are sent as in an all-to-all
 * of equal blocks (all_to_all.c), directly and offset by offset. A block of a pair with several shortest
 * routes is cut into nearly equal parts, one for each route. So equal blocks take the time of an all-to-all.
 * Chips that have nothing to send at an offset take no part in its op.
 *
 * Buffers: "in" and "out" hold a block for each position of the group, one after the other. Every block has
 * as many pieces as a block may have parts; pieces that a pair does not need are empty.
 */
#include "collective/builders.h"
#include "collective/direct.h"

#include <stdlib.h>

struct ragged {
    int32_t *position; /* [chips]: index in the group; -1: in no group */
    double *amount;    /* scratch [chips] */
    int pieces;        /* number of pieces of a block */
    int32_t own;       /* variable: the first piece of the chip's own position */
    int64_t *sends, *gets;
};

/* The index of every chip in its group, the first ring slowest. */
static void number_group(const struct direct *d, int32_t position[])
{
    const struct walk *walk = d->walk;
    const struct slice *slice = walk->program->slice;
    for (int chip = 0; chip < slice->chips; chip++)
        position[chip] = d->to[0][chip] < 0 ? -1 : rings_piece(walk->ring, walk->rings, slice, chip);
}

/* Elements that a chip sends to the chip at the current offset; 0 if it is in no group. */
static int64_t block_of(const struct direct *d, int chip)
{
    const struct ragged *ragged = d->own;
    int to = d->to[d->walk->rings][chip];
    const struct collective_spec *spec = d->walk->spec;
    if (to < 0)
        return 0;
    if (spec->pairs_of_chips)
        return spec->pair_elements[(int64_t)chip * d->walk->program->slice->chips + to];
    return spec->pair_elements[ragged->position[chip] * d->walk->chips + ragged->position[to]];
}

/* Elements of part `w` of `ways` nearly equal parts, larger ones first. */
static int64_t part_of(int64_t elements, int ways, int w)
{
    return elements / ways + (w < elements % ways);
}

/* Finds the routes of all chips that have something to send at the offset; ways[] is NULL for all other chips. */
static void find_routes(struct direct *d)
{
    for (int chip = 0; chip < d->looked_at; chip++)
        d->mask[chip] = block_of(d, chip) > 0;
    direct_find_routes(d);
}

/* Records the elements of each part that chips send and receive at the offset. */
static void fill_sizes(struct direct *d)
{
    const struct ragged *ragged = d->own;
    size_t row = (size_t)d->walk->chips * (size_t)ragged->pieces;
    find_routes(d);
    for (int chip = 0; chip < d->looked_at; chip++) {
        int to = d->to[d->walk->rings][chip], ways = direct_ties(d, chip);
        if (ways == 0)
            continue;
        int64_t *sends = ragged->sends + (size_t)chip * row + ragged->position[to] * ragged->pieces;
        int64_t *gets = ragged->gets + (size_t)to * row + ragged->position[chip] * ragged->pieces;
        for (int w = 0; w < ways; w++)
            sends[w] = gets[w] = part_of(block_of(d, chip), ways, w);
    }
}

/* Makes a variable: for each chip, the first piece of the block that belongs to the position of chip
 * to[chip]. */
static int32_t first_piece(const struct direct *d, const int32_t to[])
{
    const struct ragged *ragged = d->own;
    struct walk *walk = d->walk;
    for (int chip = 0; chip < walk->program->slice->chips; chip++)
        walk->index[chip] = to[chip] < 0 ? -1 : ragged->position[to[chip]] * ragged->pieces;
    return program_var_table(walk->program, walk->chips * ragged->pieces, walk->index);
}

static int make_buffers(struct direct *d, struct status *st)
{
    struct ragged *ragged = d->own;
    struct program *program = d->walk->program;
    const struct collective_spec *spec = d->walk->spec;
    struct collective_buffers *buffers = walk_buffers(d->walk);
    struct grid grid = {.dims = 1, .dim = {d->walk->chips * ragged->pieces}};
    size_t entries = (size_t)program->slice->chips * (size_t)grid.dim[0];
    ragged->sends = calloc(entries, sizeof *ragged->sends);
    ragged->gets = calloc(entries, sizeof *ragged->gets);
    if (!ragged->sends || !ragged->gets)
        return status_nomem(st);
    direct_each_offset(d, 0, fill_sizes);
    grid.ragged = ragged->sends;
    make_buffer(spec, program, &buffers->in, "in", &grid);
    grid.ragged = ragged->gets;
    make_buffer(spec, program, &buffers->out, "out", &grid);
    d->buffer = *buffers;
    ragged->own = first_piece(d, d->to[0]);
    return 0;
}

/* Adds the send of part w for all chips with `tie` shortest routes, on the w-th of them. */
static void send_tied(struct direct *d, int tie, int w)
{
    struct program *program = d->walk->program;
    struct ragged *ragged = d->own;
    bool any = false;
    for (int chip = 0; chip < d->looked_at; chip++) {
        int64_t elements = direct_ties(d, chip) == tie ? part_of(block_of(d, chip), tie, w) : 0;
        any |= d->mask[chip] = elements > 0;
        ragged->amount[chip] = (double)elements * d->walk->spec->elem_bytes;
        d->route[chip] = elements > 0 ? d->ways[chip]->route[w] : -1;
    }
    if (!any)
        return;
    int32_t where = program_mask(program, d->mask);
    struct payload payload = {.a.buffer = d->buffer.in, .to.buffer = d->buffer.out};
    if (!d->walk->spec->timing_only) { /* from the block for the receiver to the block from this chip */
        payload.a.pick[0] = pick_var(first_piece(d, d->to[d->walk->rings]), w);
        payload.to.pick[0] = pick_var(ragged->own, w);
    }
    direct_add(d,
               (struct op){.where = where,
                           .towards = program_towards_table(program, d->route, where),
                           .amount = program_amount_table(program, ragged->amount, where)},
               &payload);
}

static void send_offset(struct direct *d)
{
    find_routes(d);
    for (int tie = 1; tie <= d->most; tie++)
        for (int w = 0; w < tie; w++)
            send_tied(d, tie, w);
}

static int write_ragged(struct direct *d, struct status *st)
{
    size_t chips = (size_t)d->walk->program->slice->chips;
    struct ragged ragged = {.pieces = d->most, .position = malloc(chips * sizeof *ragged.position)};
    ragged.amount = malloc(chips * sizeof *ragged.amount);
    d->own = &ragged;
    int code = ragged.position && ragged.amount ? 0 : status_nomem(st);
    if (code == 0) {
        number_group(d, ragged.position);
        code = d->walk->spec->timing_only ? 0 : make_buffers(d, st);
    }
    if (code == 0)
        direct_each_offset(d, 0, send_offset);
    free(ragged.position);
    free(ragged.amount);
    free(ragged.sends);
    free(ragged.gets);
    return code;
}

int ragged_all_to_all_build(const struct collective_spec *spec, struct program *program, int32_t before,
                            int32_t *after, struct status *st)
{
    const struct direct_form ragged = {"ragged-all-to-all", false, write_ragged};
    return direct_build(&ragged, spec, program, before, after, st);
}
