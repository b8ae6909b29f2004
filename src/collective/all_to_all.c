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
#include "collective/all_to_all.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/route.h"

enum { NO_MEMBER = 255 };

/* What the recursion over offsets carries. to[k] holds for every chip where the offsets on the first k rings
 * lead, -1 for chips that are in no group. */
struct direct {
    struct walk *walk;
    int32_t before;
    int32_t *to[COLLECTIVE_RINGS + 1];
    int offset[COLLECTIVE_RINGS];
    int looked_at; /* chips to compute: 1 where all are alike */
    int halves;    /* axes that can tie, as dims of two after those of the rings */
    int half_axis[SLICE_AXES];
    struct collective_buffers buffer;
    double bytes;
    int32_t *way;      /* [chips][ROUTE_WAYS]: routes */
    uint8_t *tie;      /* [chips]: set of axes that tie; or NO_MEMBER */
    int32_t *route;    /* scratch [chips] */
    uint8_t *mask;     /* scratch [chips] */
    double *amount;    /* scratch [chips], ragged only */
    int32_t *position; /* [chips]: linear index in the group, ragged only */
    int32_t own;       /* its variable */
};

static bool is_alike(const struct walk *walk)
{
    for (int r = 0; r < walk->rings; r++) {
        const struct ring *ring = walk->ring[r];
        if (ring->axis < 0 || (!ring->closed && ring->n > 2))
            return false;
    }
    return true;
}

static void add_send(struct direct *d, struct op op, struct payload payload)
{
    struct program *program = d->walk->program;
    op.kind = OP_SEND;
    /* A chip's own block stays, and takes no time. */
    op.setup_s = op_crosses_links(program, &op) ? d->walk->spec->setup_s : 0;
    op.payload = walk_payload(d->walk, &payload);
    op.stage = d->walk->stage;
    program_add(program, op);
    program_wait(program, d->before);
}

static struct payload block(const struct direct *d, int tie, int signs)
{
    struct payload payload = {.kind = PAYLOAD_MOVE, .a.buffer = d->buffer.in, .to.buffer = d->buffer.out};
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

/* The send of one of the ways of a tie set: `signs` is the index of the way, a bit for each axis that ties.
 */
static void send_way(struct direct *d, int32_t where, int tie, int signs)
{
    struct program *program = d->walk->program;
    struct towards towards;
    if (d->looked_at == 1) {
        towards = (struct towards){d->way[signs], NO_TABLE};
    } else {
        for (int chip = 0; chip < d->looked_at; chip++)
            d->route[chip] = d->mask[chip] ? d->way[chip * ROUTE_WAYS + signs] : -1;
        towards = program_towards_table(program, d->route, where);
    }
    add_send(d,
             (struct op){.where = where,
                         .towards = towards,
                         .amount = amount_of(d->bytes / (1 << __builtin_popcount((unsigned)tie)))},
             block(d, tie, signs));
}

/* The routes of a pair of chips: those that tie where all of them are alive, else one that goes round. Returns the
 * set of axes that tie, 0 for a single route. */
static unsigned find_routes(struct direct *d, int from, int to, int32_t route[])
{
    struct program *program = d->walk->program;
    struct way way[ROUTE_WAYS];
    unsigned ties = d->halves > 0 ? route_ways(program->slice, from, to, way) : 0;
    for (int w = 0; w < 1 << __builtin_popcount(ties) && ties; w++) {
        if (program->slice->link && route_walk(program->slice, from, way[w].hop, way[w].hops, NULL) != to)
            ties = 0;
        else
            route[w] = program_route(program, way[w].hop, way[w].hops);
    }
    if (!ties)
        route[0] = program_route_between(program, from, to);
    return ties;
}

static void find_ways(struct direct *d)
{
    for (int chip = 0; chip < d->looked_at; chip++) {
        int to = d->to[d->walk->rings][chip];
        d->tie[chip] = to < 0 ? NO_MEMBER : (uint8_t)find_routes(d, chip, to, &d->way[chip * ROUTE_WAYS]);
    }
}

static void send_offset(struct direct *d)
{
    find_ways(d);
    for (int tie = 0; tie < 1 << SLICE_AXES; tie++) {
        bool any = false;
        for (int chip = 0; chip < d->looked_at; chip++)
            any |= d->mask[chip] = d->tie[chip] == tie;
        if (!any)
            continue;
        int32_t where = d->looked_at == 1 ? WHERE_ALL : program_mask(d->walk->program, d->mask);
        for (int signs = 0; signs < 1 << __builtin_popcount((unsigned)tie); signs++)
            send_way(d, where, tie, signs);
    }
}

/* The same for blocks of all sizes: one op an offset, ties whole by +, chips without bytes for it left out.
 */
static void send_ragged_offset(struct direct *d)
{
    struct walk *walk = d->walk;
    struct program *program = walk->program;
    const struct collective_spec *spec = walk->spec;
    for (int chip = 0; chip < d->looked_at; chip++) {
        int to = d->to[walk->rings][chip];
        int64_t elements =
            to < 0 ? 0 : spec->pair_elements[d->position[chip] * walk->chips + d->position[to]];
        d->mask[chip] = elements > 0;
        d->amount[chip] = (double)elements * spec->elem_bytes;
        d->route[chip] = elements > 0 ? program_route_between(program, chip, to) : -1;
        walk->index[chip] = to < 0 ? -1 : d->position[to];
    }
    int32_t where = program_mask(program, d->mask);
    if (where != WHERE_ALL && !memchr(d->mask, 1, (size_t)d->looked_at))
        return;
    int32_t target = program_var_table(program, walk->chips, walk->index);
    struct payload payload = {.kind = PAYLOAD_MOVE, .a.buffer = d->buffer.in, .to.buffer = d->buffer.out};
    payload.a.pick[0] = pick_var(target, 0);
    payload.to.pick[0] = pick_var(d->own, 0);
    add_send(d,
             (struct op){.where = where,
                         .towards = program_towards_table(program, d->route, where),
                         .amount = program_amount_table(program, d->amount, where)},
             payload);
}

/* All offsets on ring r and those after it. */
static void each_offset(struct direct *d, int r)
{
    const struct slice *slice = d->walk->program->slice;
    if (r == d->walk->rings || r == COLLECTIVE_RINGS) {
        if (d->position)
            send_ragged_offset(d);
        else
            send_offset(d);
        return;
    }
    int32_t *to = d->to[r + 1];
    memcpy(to, d->to[r], (size_t)d->looked_at * sizeof *to);
    for (d->offset[r] = 0; d->offset[r] < d->walk->ring[r]->n; d->offset[r]++) {
        each_offset(d, r + 1);
        for (int chip = 0; chip < d->looked_at; chip++)
            to[chip] = to[chip] < 0 ? -1 : ring_next(d->walk->ring[r], slice, to[chip]);
    }
}

/* Axes on which two chips of a group can be half way round from each other. */
static void find_halves(struct direct *d)
{
    const struct slice *slice = d->walk->program->slice;
    if (d->walk->spec->keep_ties || d->position)
        return;
    for (int axis = 0; axis < slice->axes; axis++)
        if (slice_is_ring(slice, axis) && slice->len[axis] % 2 == 0)
            d->half_axis[d->halves++] = axis;
}

static void make_buffers(struct direct *d)
{
    const struct collective_spec *spec = d->walk->spec;
    struct grid_dim dim[GRID_DIMS];
    int dims = 0;
    for (; dims < d->walk->rings; dims++)
        dim[dims] = (struct grid_dim){d->walk->ring[dims]->n, false};
    for (int h = 0; h < d->halves; h++)
        dim[dims++] = (struct grid_dim){2, false};
    int64_t block = block_elements(d->walk), rows = block * d->walk->chips;
    struct collective_buffers *buffers = walk_buffers(d->walk);
    d->bytes = (double)block * spec->elem_bytes;
    make_buffer(spec, d->walk->program, &buffers->in, "in", rows, 1, dim, dims, NULL);
    make_buffer(spec, d->walk->program, &buffers->out, "out", rows, 1, dim, dims, NULL);
    d->buffer = *buffers;
}

/* Ragged buffers have pieces of their own sizes on every chip: what it sends to each, and what it gets. */
static int make_ragged_buffers(struct direct *d, struct status *st)
{
    struct program *program = d->walk->program;
    const struct collective_spec *spec = d->walk->spec;
    struct collective_buffers *buffers = walk_buffers(d->walk);
    size_t chips = (size_t)program->slice->chips, n = (size_t)d->walk->chips;
    d->own = program_var_table(program, (int32_t)n, d->position);
    if (spec->timing_only)
        return 0;
    int64_t *sends = calloc(chips * n, sizeof *sends), *gets = calloc(chips * n, sizeof *gets);
    for (size_t chip = 0; chip < chips && sends && gets; chip++) {
        for (size_t i = 0; i < n && d->position[chip] >= 0; i++) {
            sends[chip * n + i] = spec->pair_elements[(size_t)d->position[chip] * n + i];
            gets[chip * n + i] = spec->pair_elements[i * n + (size_t)d->position[chip]];
        }
    }
    int code = sends && gets ? 0 : status_nomem(st);
    if (code == 0) {
        struct grid_dim dim = {(int32_t)n, false};
        make_buffer(spec, program, &buffers->in, "in", 0, 1, &dim, 1, sends);
        make_buffer(spec, program, &buffers->out, "out", 0, 1, &dim, 1, gets);
        d->buffer = *buffers;
    }
    free(sends);
    free(gets);
    return code;
}

/* The index of every chip in its group, the first ring slowest. */
static void number_group(struct direct *d)
{
    const struct walk *walk = d->walk;
    const struct slice *slice = walk->program->slice;
    for (int chip = 0; chip < slice->chips; chip++) {
        d->position[chip] = d->to[0][chip] < 0 ? -1 : 0;
        for (int r = 0; r < walk->rings && d->position[chip] >= 0; r++)
            d->position[chip] = d->position[chip] * walk->ring[r]->n + ring_piece(walk->ring[r], slice, chip);
    }
}

static void direct_free(struct direct *d)
{
    for (int r = 0; r <= COLLECTIVE_RINGS; r++)
        free(d->to[r]);
    free(d->way);
    free(d->tie);
    free(d->route);
    free(d->mask);
    free(d->amount);
    free(d->position);
}

static int direct_init(struct direct *d, struct walk *walk, bool ragged, int32_t before, struct status *st)
{
    size_t chips = (size_t)walk->program->slice->chips;
    *d = (struct direct){.walk = walk, .before = before};
    d->looked_at = !ragged && is_alike(walk) ? 1 : (int)chips;
    bool all = true;
    for (int r = 0; r <= walk->rings; r++)
        all &= (d->to[r] = malloc(chips * sizeof *d->to[r])) != NULL;
    all &= (d->way = malloc((size_t)d->looked_at * ROUTE_WAYS * sizeof *d->way)) != NULL;
    all &= (d->tie = calloc(chips, 1)) != NULL;
    all &= (d->mask = calloc(chips, 1)) != NULL;
    all &= (d->route = malloc(chips * sizeof *d->route)) != NULL;
    if (ragged) {
        all &= (d->amount = malloc(chips * sizeof *d->amount)) != NULL;
        all &= (d->position = malloc(chips * sizeof *d->position)) != NULL;
    }
    if (!all) {
        direct_free(d);
        return status_nomem(st);
    }
    for (int chip = 0; chip < (int)chips; chip++)
        d->to[0][chip] =
            walk->rings == 0 || ring_position(walk->ring[0], walk->program->slice, chip) >= 0 ? chip : -1;
    return 0;
}

static int write_direct(struct walk *walk, bool ragged, int32_t before, int32_t *after, struct status *st)
{
    struct direct d;
    if (direct_init(&d, walk, ragged, before, st) < 0)
        return st->code;
    int32_t first = walk->program->ops;
    int code = 0;
    if (ragged) {
        number_group(&d);
        code = make_ragged_buffers(&d, st);
    } else {
        find_halves(&d);
        make_buffers(&d);
    }
    if (code == 0)
        each_offset(&d, 0);
    if (after)
        *after = walk->program->ops > first
                     ? program_join_since(walk->program, first, walk->members, walk->stage)
                     : before;
    direct_free(&d);
    return code;
}

static int build(const struct collective_spec *spec, struct program *program, bool ragged, int32_t before,
                 int32_t *after, struct status *st)
{
    struct walk walk;
    if (walk_init(&walk, spec, program, ragged ? "ragged-all-to-all" : "all-to-all", st) < 0)
        return st->code;
    int code = write_direct(&walk, ragged, before, after, st);
    walk_free(&walk);
    return code < 0 ? code : program_close(program, st);
}

int all_to_all_direct_build(const struct collective_spec *spec, struct program *program, int32_t before,
                            int32_t *after, struct status *st)
{
    return build(spec, program, false, before, after, st);
}

int ragged_all_to_all_build(const struct collective_spec *spec, struct program *program, int32_t before,
                            int32_t *after, struct status *st)
{
    return build(spec, program, true, before, after, st);
}
