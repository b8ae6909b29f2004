/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-to-all by direct sends: every pair of a group at once, each on a shortest route, dimension by
 * dimension. A route that ties on an axis (exactly half way round) is split in two halves, one each way, on
 * two axes in four quarters and so on, so that symmetric traffic loads all links alike (E6).
 *
 * Sends are grouped by offset: op d moves the block for the chip d positions on. Where all chips are alike
 * (whole axes that close) an offset is one op and one route for all. Elsewhere routes are a table, and chips
 * that tie on different axes take part in different ops.
 *
 * Buffers: "in" holds a block for each chip of the group, "out" one from each; dims of two cut blocks in
 * halves.
 */
#include "collective/builders.h"
#include "collective/direct.h"

#include <stdlib.h>
#include <string.h>

static bool is_alike(const struct walk *walk)
{
    for (int r = 0; r < walk->rings; r++) {
        const struct ring *ring = walk->ring[r];
        if (ring->axis < 0 || (!ring->closed && ring->n > 2))
            return false;
    }
    return true;
}

void direct_add(struct direct *d, struct op op, const struct payload *payload)
{
    struct program *program = d->walk->program;
    op.kind = OP_SEND;
    /* A chip's own block stays, and takes no time. */
    op.setup_s = op_crosses_links(program, &op) ? d->walk->spec->setup_s : 0;
    op.payload = walk_payload(d->walk, payload);
    op.stage = d->walk->stage;
    program_add(program, op);
    program_wait(program, d->before);
}

static struct payload block(const struct direct *d, int tie, int signs)
{
    struct payload payload = {.a.buffer = d->buffer.in, .to.buffer = d->buffer.out};
    int rings = d->walk->rings;
    for (int r = 0; r < rings; r++) {
        payload.a.pick[r] = pick_var(d->walk->var[r], d->offset[r]);
        payload.to.pick[r] = pick_var(d->walk->var[r], 0);
    }
    for (int h = 0, ties = 0; h < d->halves; h++) {
        struct pick pick = pick_all();
        if (tie >> d->half_axis[h] & 1)
            pick = pick_fixed(signs >> ties++ & 1);
        payload.a.pick[rings + h] = payload.to.pick[rings + h] = pick;
    }
    return payload;
}

/* The send over one of the minimal routes of a tie set: `signs` is its index, a bit for each axis that ties. */
static void send_tied(struct direct *d, int32_t where, int tie, int signs)
{
    struct program *program = d->walk->program;
    struct towards towards;
    if (d->looked_at == 1) {
        towards = (struct towards){d->minimal[signs], NO_TABLE};
    } else {
        for (int chip = 0; chip < d->looked_at; chip++)
            d->route[chip] = d->mask[chip] ? d->minimal[chip * MINIMAL_ROUTES + signs] : -1;
        towards = program_towards_table(program, d->route, where);
    }
    struct payload payload = block(d, tie, signs);
    direct_add(d,
               (struct op){.where = where,
                           .towards = towards,
                           .amount = amount_of(d->bytes / direct_routes((unsigned)tie))},
               &payload);
}

/* The routes of a pair of chips: those that tie where all of them are alive, else one that goes round. Returns the
 * set of axes that tie, 0 for a single route. */
static unsigned find_routes(struct direct *d, int from, int to, int32_t route[])
{
    struct program *program = d->walk->program;
    struct minimal_route minimal[MINIMAL_ROUTES];
    unsigned ties = d->halves > 0 ? route_minimal(program->slice, from, to, minimal) : 0;
    for (int w = 0; w < direct_routes(ties) && ties; w++) {
        if (program->slice->link &&
            route_walk(program->slice, from, minimal[w].hop, minimal[w].hops, NULL) != to)
            ties = 0;
        else
            route[w] = program_route(program, minimal[w].hop, minimal[w].hops);
    }
    if (!ties)
        route[0] = program_route_between(program, from, to);
    return ties;
}

void direct_find_routes(struct direct *d)
{
    for (int chip = 0; chip < d->looked_at; chip++) {
        int to = d->to[d->walk->rings][chip];
        d->tie[chip] = to < 0 || !d->mask[chip]
                           ? NO_MEMBER
                           : (uint8_t)find_routes(d, chip, to, &d->minimal[chip * MINIMAL_ROUTES]);
    }
}

static void send_offset(struct direct *d)
{
    memset(d->mask, 1, (size_t)d->looked_at);
    direct_find_routes(d);
    for (int tie = 0; tie < 1 << SLICE_AXES; tie++) {
        bool any = false;
        for (int chip = 0; chip < d->looked_at; chip++)
            any |= d->mask[chip] = d->tie[chip] == tie;
        if (!any)
            continue;
        int32_t where = d->looked_at == 1 ? WHERE_ALL : program_mask(d->walk->program, d->mask);
        for (int signs = 0; signs < direct_routes((unsigned)tie); signs++)
            send_tied(d, where, tie, signs);
    }
}

void direct_each_offset(struct direct *d, int r, void (*act)(struct direct *d))
{
    const struct slice *slice = d->walk->program->slice;
    if (r == d->walk->rings || r == COLLECTIVE_RINGS) {
        act(d);
        return;
    }
    int32_t *to = d->to[r + 1];
    memcpy(to, d->to[r], (size_t)d->looked_at * sizeof *to);
    for (d->offset[r] = 0; d->offset[r] < d->walk->ring[r]->n; d->offset[r]++) {
        direct_each_offset(d, r + 1, act);
        for (int chip = 0; chip < d->looked_at; chip++)
            to[chip] = to[chip] < 0 ? -1 : ring_next(d->walk->ring[r], slice, to[chip]);
    }
}

/* Axes on which two chips of a group may be as far from each other both ways: half way round a ring of an even axis; any that the
 * topology walks in a way of its own. */
static void find_halves(struct direct *d)
{
    const struct slice *slice = d->walk->program->slice;
    if (d->walk->spec->keep_ties)
        return;
    for (int axis = 0; axis < slice->axes; axis++)
        if (!slice_is_straight(slice, axis) || (slice_ring(slice, axis) > 0 && slice->len[axis] % 2 == 0))
            d->half_axis[d->halves++] = axis;
}

static int write_equal(struct direct *d, struct status *st)
{
    (void)st;
    const struct collective_spec *spec = d->walk->spec;
    int64_t block = block_elements(d->walk);
    struct grid grid = grid_of_rings(d->walk);
    for (int h = 0; h < d->halves; h++)
        grid.dim[grid.dims++].n = 2;
    struct collective_buffers *buffers = walk_buffers(d->walk);
    d->bytes = (double)block * spec->elem_bytes;
    make_buffer(spec, d->walk->program, &buffers->in, "in", &grid);
    make_buffer(spec, d->walk->program, &buffers->out, "out", &grid);
    d->buffer = *buffers;
    direct_each_offset(d, 0, send_offset);
    return 0;
}

static void direct_free(struct direct *d)
{
    for (int r = 0; r <= COLLECTIVE_RINGS; r++)
        free(d->to[r]);
    free(d->minimal);
    free(d->tie);
    free(d->route);
    free(d->mask);
}

static int direct_init(struct direct *d, struct walk *walk, bool one_for_all, int32_t before,
                       struct status *st)
{
    size_t chips = (size_t)walk->program->slice->chips;
    *d = (struct direct){.walk = walk, .before = before};
    d->looked_at = one_for_all && is_alike(walk) ? 1 : (int)chips;
    bool all = true;
    for (int r = 0; r <= walk->rings; r++)
        all &= (d->to[r] = malloc(chips * sizeof *d->to[r])) != NULL;
    all &= (d->minimal = malloc((size_t)d->looked_at * MINIMAL_ROUTES * sizeof *d->minimal)) != NULL;
    all &= (d->tie = calloc(chips, 1)) != NULL;
    all &= (d->mask = calloc(chips, 1)) != NULL;
    all &= (d->route = malloc(chips * sizeof *d->route)) != NULL;
    if (!all) {
        direct_free(d);
        return status_nomem(st);
    }
    for (int chip = 0; chip < (int)chips; chip++)
        d->to[0][chip] =
            walk->rings == 0 || ring_position(walk->ring[0], walk->program->slice, chip) >= 0 ? chip : -1;
    find_halves(d);
    return 0;
}

int direct_build(const struct direct_form *form, const struct collective_spec *spec, struct program *program,
                 int32_t before, int32_t *after, struct status *st)
{
    struct walk walk;
    struct direct d;
    if (walk_init(&walk, spec, program, form->name, st) < 0)
        return st->code;
    int32_t first = program->ops;
    int code = direct_init(&d, &walk, form->one_for_all, before, st);
    if (code == 0) {
        code = form->write(&d, st);
        direct_free(&d);
    }
    if (code == 0 && after)
        *after = program->ops > first ? program_join_since(program, first, walk.members, walk.stage) : before;
    walk_free(&walk);
    return code < 0 ? code : program_close(program, st);
}

int all_to_all_direct_build(const struct collective_spec *spec, struct program *program, int32_t before,
                            int32_t *after, struct status *st)
{
    const struct direct_form equal = {"all-to-all", true, write_equal};
    return direct_build(&equal, spec, program, before, after, st);
}
