/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-to-all by direct sends: every pair of a group at once, each on shortest routes, dimension by dimension.
 * If a pair has several shortest routes, its block is split equally among them: into halves if the two
 * directions tie on one axis (exactly half way round), into quarters if they tie on two axes, and so on; on a
 * twisted torus into up to six parts. So symmetric traffic loads all links equally (E6).
 *
 * Sends are grouped by offset: op d moves the block for the chip d positions further on. If all chips are
 * equivalent (whole axes that close, or a whole twisted torus, where an offset is a number of steps along
 * each axis, following its cables), an offset is one op with one route for all. Otherwise routes are a table,
 * and chips with different numbers of routes take part in different ops.
 *
 * Lines without ends (collective_spec.endless): every chip sends what the chips of a line do on average, so much more of it that
 * links are as busy as those in the middle of the longest line.
 *
 * Buffers: "in" holds a block for each chip of the group, "out" one from each; further dims of 2 and 3 cut
 * blocks into parts.
 */
#include "collective/builders.h"
#include "collective/direct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_alike(const struct walk *walk)
{
    if (collective_is_twisted(walk->spec) || walk->spec->endless)
        return walk->spec->timing_only;
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
    /* A chip's own block stays on the chip and takes no time. */
    op.setup_s = op_crosses_links(program, &op) ? d->walk->spec->setup_s : 0;
    op.payload = walk_payload(d->walk, payload);
    op.stage = d->walk->stage;
    program_add(program, op);
    program_wait(program, d->before);
}

/* The piece, on ring r, of each chip's destination. */
static struct pick piece_there(const struct direct *d, int r)
{
    const struct walk *walk = d->walk;
    const struct ring *ring = walk->ring[r];
    if (!collective_is_twisted(walk->spec) || walk->spec->timing_only)
        return pick_var(walk->var[r], d->offset[r]);
    for (int chip = 0; chip < walk->program->slice->chips; chip++)
        walk->index[chip] = ring_piece(ring, walk->program->slice, d->to[walk->rings][chip]);
    return pick_var(program_var_table(walk->program, ring->n, walk->index), 0);
}

/* The part of the block for route `way` of `tie` equal routes: dims whose sizes multiply to `tie` select it,
 * and the other dims are whole. */
static struct payload block(const struct direct *d, int tie, int way)
{
    struct payload payload = {.a.buffer = d->buffer.in, .to.buffer = d->buffer.out};
    int rings = d->walk->rings;
    for (int r = 0; r < rings; r++) {
        payload.a.pick[r] = piece_there(d, r);
        payload.to.pick[r] = pick_var(d->walk->var[r], 0);
    }
    for (int p = 0; p < d->dims; p++) {
        struct pick pick = pick_all();
        if (tie % d->part[p] == 0) {
            pick = pick_fixed(way % d->part[p]);
            way /= d->part[p];
            tie /= d->part[p];
        }
        payload.a.pick[rings + p] = payload.to.pick[rings + p] = pick;
    }
    return payload;
}

/* Adds the send over route `way` for all chips that have `tie` shortest routes. */
static void send_tied(struct direct *d, int32_t where, int tie, int way)
{
    struct program *program = d->walk->program;
    struct towards towards;
    if (d->looked_at == 1) {
        towards = (struct towards){d->ways[0]->route[way], NO_TABLE};
    } else {
        for (int chip = 0; chip < d->looked_at; chip++)
            d->route[chip] = d->mask[chip] ? d->ways[chip]->route[way] : -1;
        towards = program_towards_table(program, d->route, where);
    }
    struct payload payload = block(d, tie, way);
    direct_add(d, (struct op){.where = where, .towards = towards, .amount = amount_of(d->bytes / tie)},
               &payload);
}

/* Finds the routes of a pair of chips: all shortest ones if every link on them is alive, else a single one
 * around the dead links. Returns their number. */
static int find_routes(struct direct *d, int from, int to, int32_t route[])
{
    struct program *program = d->walk->program;
    struct minimal_route minimal[MINIMAL_ROUTES];
    int ways = d->most > 1 ? route_minimal(program->slice, from, to, minimal) : 1;
    for (int w = 0; w < ways && ways > 1; w++) {
        if (program->slice->link &&
            route_walk(program->slice, from, minimal[w].hop, minimal[w].hops, NULL) != to)
            ways = 1;
        else
            route[w] = program_route(program, minimal[w].hop, minimal[w].hops);
    }
    if (ways == 1)
        route[0] = program_route_between(program, from, to);
    return ways;
}

/* The routes from a chip to another. On a torus without defects they are alike for all pairs that are as far apart. */
static const struct ways *find_ways(struct direct *d, int from, int to)
{
    const struct slice *slice = d->walk->program->slice;
    int64_t middle = (int64_t)slice->chips << (SLICE_AXES - 1);
    struct ways *ways = &d->apart[slice->link ? from : middle + d->place[to] - d->place[from]];
    if (slice->link || ways->count == 0)
        ways->count = find_routes(d, from, to, ways->route);
    return ways;
}

void direct_find_routes(struct direct *d)
{
    for (int chip = 0; chip < d->looked_at; chip++) {
        int to = d->to[d->walk->rings][chip];
        d->ways[chip] = to < 0 || !d->mask[chip] ? NULL : find_ways(d, chip, to);
    }
}

static void send_offset(struct direct *d)
{
    memset(d->mask, 1, (size_t)d->looked_at);
    direct_find_routes(d);
    for (int tie = 1; tie <= d->most; tie++) {
        bool any = false;
        for (int chip = 0; chip < d->looked_at; chip++)
            any |= d->mask[chip] = direct_ties(d, chip) == tie;
        if (!any)
            continue;
        int32_t where = d->looked_at == 1 ? WHERE_ALL : program_mask(d->walk->program, d->mask);
        for (int way = 0; way < tie; way++)
            send_tied(d, where, tie, way);
    }
}

void direct_each_offset(struct direct *d, int r, void (*act)(struct direct *d))
{
    const struct slice *slice = d->walk->program->slice;
    bool twisted = collective_is_twisted(d->walk->spec);
    if (r == d->walk->rings || r == COLLECTIVE_RINGS) {
        act(d);
        return;
    }
    int32_t *to = d->to[r + 1];
    memcpy(to, d->to[r], (size_t)d->looked_at * sizeof *to);
    for (d->offset[r] = 0; d->offset[r] < d->walk->ring[r]->n; d->offset[r]++) {
        direct_each_offset(d, r + 1, act);
        for (int chip = 0; chip < d->looked_at; chip++)
            to[chip] = to[chip] < 0 ? -1
                       : twisted    ? slice_moved(slice, to[chip], d->walk->ring[r]->along, 1)
                                    : ring_next(d->walk->ring[r], slice, to[chip]);
    }
}

/* The busiest links, for one block a pair: in the middle of a line of n chips n^2/4 of the pairs pass, and (n^2 - 1)/6 on
 * average; on a ring n/8 of its n chips' blocks everywhere. Returns how much busier than on average they are. */
static double middle_ratio(const struct walk *walk)
{
    double most = 0, ratio = 1;
    for (int r = 0; r < walk->rings; r++) {
        double n = walk->ring[r]->n, mean = walk->ring[r]->closed ? n / 8 : (n * n - 1) / 6 / n,
               busy = walk->ring[r]->closed ? mean : floor(n * n / 4) / n;
        ratio = busy > most ? busy / mean : ratio;
        most = fmax(most, busy);
    }
    return ratio;
}

/* The blocks at an offset e of each ring. On a line (n - e)/n of the chips send them e forward and the others n - e back, on a
 * ring all the shorter way. */
static void send_endless(struct direct *d)
{
    const struct walk *walk = d->walk;
    double ratio = middle_ratio(walk);
    for (unsigned back = 0; back < 1u << walk->rings; back++) {
        struct hop hop[COLLECTIVE_RINGS];
        double frac = 1;
        int hops = 0;
        for (int r = 0; r < walk->rings; r++) {
            const struct ring *ring = walk->ring[r];
            int n = ring->n, e = d->offset[r], there = back >> r & 1 ? e - n : e;
            double ahead = !ring->closed ? 1 - (double)e / n : 2 * e < n ? 1 : 2 * e == n ? 0.5 : 0;
            frac *= there < 0 ? 1 - ahead : ahead;
            if (e > 0)
                hop[hops++] = (struct hop){ring->step_axis, there * ring->step_delta};
        }
        if (frac > 0)
            direct_add(d,
                       (struct op){.where = WHERE_ALL,
                                   .towards = program_towards(walk->program, hop, hops),
                                   .amount = amount_of(d->bytes * frac * ratio),
                                   .real_frac = 1 / ratio},
                       &(struct payload){.a.buffer = d->buffer.in});
    }
}

/* Finds the dims that cut blocks into parts. On a torus, each axis that is a ring of even length cuts them in
 * two, since half way round both directions tie. On a twisted torus 2, 3, 4 or 6 routes tie. */
static void find_parts(struct direct *d)
{
    const struct slice *slice = d->walk->program->slice;
    d->most = 1;
    if (d->walk->spec->keep_ties)
        return;
    if (slice_is_twisted(slice)) {
        d->dims = 3;
        memcpy(d->part, (int[]){2, 2, 3}, sizeof d->part);
        d->most = 6;
    }
    for (int axis = 0; axis < slice->axes && d->most != 6; axis++)
        if (slice_ring(slice, axis) > 0 && slice->len[axis] % 2 == 0) {
            d->part[d->dims++] = 2;
            d->most *= 2;
        }
}

static int write_equal(struct direct *d, struct status *st)
{
    (void)st;
    const struct collective_spec *spec = d->walk->spec;
    int64_t block = block_elements(d->walk);
    struct grid grid = grid_of_rings(d->walk);
    for (int p = 0; p < d->dims; p++)
        grid.dim[grid.dims++] = d->part[p];
    struct collective_buffers *buffers = walk_buffers(d->walk);
    d->bytes = (double)block * spec->elem_bytes;
    make_buffer(spec, d->walk->program, &buffers->in, "in", &grid);
    make_buffer(spec, d->walk->program, &buffers->out, "out", &grid);
    d->buffer = *buffers;
    direct_each_offset(d, 0, spec->endless ? send_endless : send_offset);
    return 0;
}

static void direct_free(struct direct *d)
{
    for (int r = 0; r <= COLLECTIVE_RINGS; r++)
        free(d->to[r]);
    free(d->place);
    free(d->apart);
    free(d->ways);
    free(d->route);
    free(d->mask);
}

static int direct_init(struct direct *d, struct walk *walk, bool one_for_all, int32_t before,
                       struct status *st)
{
    const struct slice *slice = walk->program->slice;
    size_t chips = (size_t)slice->chips;
    *d = (struct direct){.walk = walk, .before = before};
    d->looked_at = one_for_all && is_alike(walk) ? 1 : (int)chips;
    bool all = true;
    for (int r = 0; r <= walk->rings; r++)
        all &= (d->to[r] = malloc(chips * sizeof *d->to[r])) != NULL;
    all &= (d->place = calloc(chips, sizeof *d->place)) != NULL;
    all &= (d->apart = calloc(chips << SLICE_AXES, sizeof *d->apart)) != NULL;
    all &= (d->ways = calloc(chips, sizeof *d->ways)) != NULL;
    all &= (d->mask = calloc(chips, 1)) != NULL;
    all &= (d->route = malloc(chips * sizeof *d->route)) != NULL;
    if (!all) {
        direct_free(d);
        return status_nomem(st);
    }
    for (int chip = 0; chip < (int)chips; chip++) {
        d->to[0][chip] = walk->rings == 0 || ring_position(walk->ring[0], slice, chip) >= 0 ? chip : -1;
        for (int a = 0; a < slice->axes; a++)
            d->place[chip] = d->place[chip] * 2 * slice->len[a] + slice_coord(slice, chip, a);
    }
    find_parts(d);
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
