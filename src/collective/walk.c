/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collective/walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The kind of ring. Patterns other than PATTERN_RINGS walk rings in both directions. */
static enum ring_kind kind_of(const struct walk *walk)
{
    return walk->spec->pattern == PATTERN_RINGS ? walk->spec->kind : RING_BIDI;
}

static bool is_endless(const struct walk *walk, const struct ring *ring)
{
    return walk->spec->endless && kind_of(walk) != RING_UNI && !ring->closed && ring->n > 2;
}

/* The route of one step along a ring: a table, or a single route if it is the same for all chips. */
static struct towards step_route(struct walk *walk, const struct ring *ring, bool forward)
{
    struct program *program = walk->program;
    const struct slice *slice = program->slice;
    if (ring->step_delta != 0 && (ring->closed || is_endless(walk, ring)))
        return program_towards(
            program, &(struct hop){ring->step_axis, forward ? ring->step_delta : -ring->step_delta}, 1);
    /* a line, closed over its reverse links; of two chips they are those of the other, as on an axis of two */
    bool steps_back = (kind_of(walk) == RING_UNI || ring->n == 2) && !ring->closed;
    if (ring->axis >= 0 && (!steps_back || ring->n == 2))
        return program_towards(program, &(struct hop){ring->axis, forward ? 1 : -1}, 1);
    for (int chip = 0; chip < slice->chips; chip++)
        walk->index[chip] = walk->target[chip] = -1;
    for (int chip = 0; chip < slice->chips; chip++) {
        if (ring->axis < 0 && ring->position[chip] < 0)
            continue;
        if (!ring->closed && !steps_back && ring_position(ring, slice, chip) == ring->n - 1)
            continue; /* no collective takes this step */
        int next = ring_next(ring, slice, chip);
        walk->target[forward ? chip : next] = forward ? next : chip;
    }
    double bytes = (double)walk->spec->elements * walk->spec->elem_bytes / walk->chips;
    unsigned busy = 0;
    for (int r = 0; r < walk->rings; r++)
        if (walk->ring[r]->along >= 0)
            busy |= 1u << walk->ring[r]->along;
    permute_routes(program, walk->target, bytes, busy, walk->index);
    return program_towards_table(program, walk->index, walk->members);
}

/* The number of pipelined chunks along the lines of a short ring, to the middle and back: (h + c - 1)(a +
 * V/(c w)) for h steps is least near c = sqrt((h - 1) V/(w a)). With several lines the links in the middle
 * carry all parts. */
static int count_chunks(const struct walk *walk)
{
    enum { CHUNKS_MAX = 256 };
    const struct collective_spec *spec = walk->spec;
    const struct slice *slice = walk->program->slice;
    double elements = (double)spec->elements / walk->rings;
    int steps = 0, lines = 0;
    for (int r = 0; r < walk->rings; r++) {
        const struct ring *ring = walk->ring[r];
        if (ring->closed)
            elements /= ring->n;
        steps += ring->closed ? 0 : ring->n / 2 * 2;
        lines += !ring->closed;
    }
    if (spec->pattern != PATTERN_SHORT_RING || lines == 0)
        return 1;
    double seconds = elements * spec->elem_bytes * lines / slice->link_Bps;
    double best = sqrt((steps - 1) * seconds / slice->hop_latency_s), most = fmin(CHUNKS_MAX, elements);
    return most < 1 ? 1 : best < most ? (int)fmax(best, 1) : (int)most;
}

/* Selects the rings of two chips or more, and makes their variables. */
static void choose_rings(struct walk *walk, const struct collective_spec *spec, struct program *program)
{
    *walk =
        (struct walk){.spec = spec, .program = program, .members = WHERE_ALL, .chips = 1, .made = {-1, -1}};
    for (int r = 0; r < spec->rings; r++) {
        const struct ring *ring = spec->ring[r];
        if (ring->n < 2)
            continue;
        int k = walk->rings++;
        walk->ring[k] = ring;
        walk->chips *= ring->n;
        walk->var[k] = ring->axis >= 0
                           ? program_var_axis(program, ring->axis)
                           : program_var_table(program, ring->n, ring->piece ? ring->piece : ring->position);
    }
    walk->chunks = count_chunks(walk);
}

int32_t stage_of(const struct collective_spec *spec, struct program *program, const char *kind)
{
    char name[STAGE_NAME];
    if (spec->name)
        return program_stage(program, spec->name);
    snprintf(name, sizeof name, "%s.%d", kind, program->stages + 1);
    return program_stage(program, name);
}

int walk_init(struct walk *walk, const struct collective_spec *spec, struct program *program,
              const char *name, struct status *st)
{
    size_t chips = (size_t)program->slice->chips;
    choose_rings(walk, spec, program);
    walk->mask = malloc(chips * sizeof *walk->mask);
    walk->index = malloc(chips * sizeof *walk->index);
    walk->target = malloc(chips * sizeof *walk->target);
    if (!walk->mask || !walk->index || !walk->target) {
        walk_free(walk);
        return status_nomem(st);
    }
    walk->stage = stage_of(spec, program, name);
    for (int r = 0; r < walk->rings; r++) {
        walk->members = walk_where(walk, r, 0, walk->ring[r]->n - 1);
        walk->plus[r] = step_route(walk, walk->ring[r], true);
        walk->minus[r] = step_route(walk, walk->ring[r], false);
    }
    return 0;
}

void walk_free(struct walk *walk)
{
    free(walk->mask);
    free(walk->index);
    free(walk->target);
    walk->mask = NULL;
    walk->index = walk->target = NULL;
}

int32_t walk_where(struct walk *walk, int ring, int lo, int hi)
{
    const struct ring *r = walk->ring[ring];
    const struct slice *slice = walk->program->slice;
    if (r->axis >= 0 && lo <= 0 && hi >= r->n - 1)
        return WHERE_ALL;
    for (int chip = 0; chip < slice->chips; chip++) {
        int at = ring_position(r, slice, chip);
        walk->mask[chip] = at >= 0 && at >= lo && at <= hi;
    }
    return program_mask(walk->program, walk->mask);
}

int32_t walk_payload(const struct walk *walk, const struct payload *payload)
{
    return walk->spec->timing_only ? NO_PAYLOAD : program_payload(walk->program, *payload);
}

struct collective_buffers *walk_buffers(struct walk *walk)
{
    return walk->spec->buffers ? walk->spec->buffers : &walk->made;
}

struct grid grid_of_rings(const struct walk *walk)
{
    struct grid grid = {.elements = block_elements(walk) * walk->chips, .dims = walk->rings};
    for (int r = 0; r < walk->rings; r++)
        grid.dim[r] = walk->ring[r]->n;
    return grid;
}

void make_buffer(const struct collective_spec *spec, struct program *program, int32_t *buffer,
                 const char *name, const struct grid *grid)
{
    if (!spec->timing_only && *buffer < 0)
        *buffer = program_buffer(program, name, (struct buffer_size){grid->elements, spec->elem_bytes},
                                 grid->dim, grid->dims, grid->ragged);
}

static bool spec_has_shares(const struct collective_spec *spec)
{
    return spec->share[0] + spec->share[1] + spec->share[2] > 0;
}

/* Parts as a compiler cuts them. Rings of one chip are left out. */
static int coloured_parts(const struct walk *walk, struct part part[static WALK_PARTS])
{
    const struct collective_spec *spec = walk->spec;
    for (int p = 0; p < spec->colours; p++) {
        part[p] = (struct part){
            .index = p, .of = spec->colours, .sign = spec->colour[p].sign, .frac = 1.0 / spec->colours};
        for (int m = 0, to = 0; m < spec->rings; m++)
            for (int k = 0; k < walk->rings; k++)
                if (walk->ring[k] == spec->ring[spec->colour[p].order[m]])
                    part[p].order[to++] = k;
    }
    return spec->colours;
}

int walk_parts(const struct walk *walk, struct part part[static WALK_PARTS])
{
    int k = walk->rings, ways = 1;
    if (walk->spec->colours > 0)
        return coloured_parts(walk, part);
    if (kind_of(walk) == RING_BIDI_HALF)
        for (int r = 0; r < k; r++)
            if (walk->ring[r]->closed)
                ways = 2;
    for (int p = 0; p < ways * k; p++) {
        part[p] = (struct part){.index = p,
                                .of = ways * k,
                                .sign = ways == 1 ? 0
                                        : p < k   ? 1
                                                  : -1,
                                .frac = 1.0 / (ways * k)};
        if (spec_has_shares(walk->spec))
            part[p].frac = (double)walk->spec->share[p % k] / (COLLECTIVE_SHARES * ways);
        for (int m = 0; m < k; m++)
            part[p].order[m] =
                walk->twisted ? walk_turn(p % k, m) : (p + (walk->spec->turned ? k - m : m)) % k;
    }
    return ways * k;
}

/* One direction of a phase: a number of steps in + or - direction. On a line, only chips that have something
 * to send and a chip to send it to take part in a step. */
struct direction {
    int sign, steps;
    bool line;
};

static int directions_of(const struct walk *walk, const struct part *part, int ring,
                         struct direction direction[static 2])
{
    int n = walk->ring[ring]->n;
    if (kind_of(walk) == RING_UNI) {
        direction[0] = (struct direction){1, n - 1, false};
        return 1;
    }
    if (!walk->ring[ring]->closed && n > 2) { /* two chips swap theirs */
        bool line = !is_endless(walk, walk->ring[ring]);
        direction[0] = (struct direction){1, n - 1, line};
        direction[1] = (struct direction){-1, n - 1, line};
        return 2;
    }
    if (part->sign) {
        direction[0] = (struct direction){part->sign, n - 1, false};
        return 1;
    }
    direction[0] = (struct direction){1, n / 2, false};
    direction[1] = (struct direction){-1, (n - 1) / 2, false};
    return direction[1].steps ? 2 : 1;
}

struct view phase_view(const struct walk *walk, const struct phase *phase, struct pick pick)
{
    struct view view = {.buffer = phase->buffer};
    const struct part *part = phase->part;
    if (walk->twisted)
        view.pieces = walk->pieces[part->index % walk->rings];
    struct pick *of_ring = view.pick + phase->copies;
    for (int m = 0; m < walk->rings; m++) {
        int ring = part->order[m];
        of_ring[walk->twisted ? m : ring] = m < phase->m || phase->copies ? pick_all()
                                            : m > phase->m                ? pick_var(walk->var[ring], 0)
                                                                          : pick;
    }
    if (phase->copies)
        view.pick[0] = pick;
    if (part->of > 1)
        of_ring[walk->rings + (walk->chunks > 1)] = pick_fixed(part->index);
    return view;
}

double phase_bytes(const struct walk *walk, const struct phase *phase)
{
    double bytes = phase->bytes;
    for (int m = 0; m < (phase->copies ? walk->rings : phase->m); m++)
        bytes *= walk->ring[phase->part->order[m]]->n;
    return bytes;
}

static int32_t phase_payload(const struct walk *walk, const struct phase *phase, int32_t offset)
{
    if (walk->spec->timing_only)
        return NO_PAYLOAD;
    int ring = phase->part->order[phase->m];
    struct payload payload = {.combine = phase->combine,
                              .a = phase_view(walk, phase, pick_var(walk->var[ring], offset))};
    payload.to = payload.a;
    return walk_payload(walk, &payload);
}

/* Mask of the chips that send at step t. */
static int32_t senders_at(struct walk *walk, int ring, const struct direction *direction, bool gather, int t)
{
    int n = walk->ring[ring]->n;
    if (!direction->line)
        return walk->members;
    int reach = gather ? n - 2 - t : t; /* number of senders besides the first */
    int first = gather ? (direction->sign > 0 ? t : 1) : (direction->sign > 0 ? 0 : n - 1 - t);
    return walk_where(walk, ring, first, first + reach);
}

/* Mask of the chips that receive the sends of an op. */
static int32_t receivers(struct walk *walk, int32_t send)
{
    const struct program *program = walk->program;
    const struct op *op = &program->op[send];
    if (op->where == WHERE_ALL)
        return WHERE_ALL;
    memset(walk->mask, 0, (size_t)program->slice->chips * sizeof *walk->mask);
    for (int chip = 0; chip < program->slice->chips; chip++)
        if (op_takes_part(program, op, chip))
            walk->mask[op_destination(program, op, chip)] = 1;
    return program_mask(walk->program, walk->mask);
}

static bool adds(const struct phase *phase)
{
    return phase->combine != COMBINE_COPY && phase->combine != COMBINE_FILL;
}

int32_t walk_sum(struct walk *walk, const struct phase *phase, int32_t send, int32_t sum_before)
{
    struct program *program = walk->program;
    double reduce_Bps = program->slice->reduce_Bps;
    if (!adds(phase) || !(reduce_Bps > 0) || program->error)
        return -1;
    struct op local = program_local(program, receivers(walk, send), 0, walk->stage);
    local.setup_s = program->op[send].amount.each / reduce_Bps;
    local.step = program->op[send].step;
    int32_t sum = program_add(program, local);
    program_after(program, send, AFTER_ARRIVED);
    program_after(program, sum_before, AFTER_DONE);
    return sum;
}

/* Writes one direction of a phase and returns its last op; *ordered tells whether all others have ended when
 * that op has. */
static int32_t write_direction(struct walk *walk, const struct phase *phase,
                               const struct direction *direction, bool gather, const struct ends *before,
                               bool *ordered)
{
    struct program *program = walk->program;
    int ring = phase->part->order[phase->m];
    int32_t last = -1, sum = -1;
    /* A send waits for the chip's own previous send, except where uni closes a line: there, the sends
     * of the last chip share the long way back (E4u). On a ring, a chip's first send has waited for
     * its own data, and later sends follow it; on a line any send may be the chip's first, so each
     * must wait for the data. */
    bool endless = is_endless(walk, walk->ring[ring]), closed = walk->ring[ring]->closed || endless,
         in_turn = direction->line || closed, adds_own = !gather && !closed;
    struct op send = {.kind = OP_SEND,
                      .towards = direction->sign > 0 ? walk->plus[ring] : walk->minus[ring],
                      .amount = amount_of(phase_bytes(walk, phase)),
                      .setup_s = phase->setup_s,
                      .memory = adds(phase) ? MEMORY_REDUCES : MEMORY_ENDS,
                      .stage = walk->stage,
                      .real_frac = endless ? 0.5 : 0,
                      .line = endless ? (gather ? 1 : -1) * direction->steps : 0};
    for (int t = 0; t < direction->steps; t++, send.setup_s = 0) {
        send.where = senders_at(walk, ring, direction, gather, t);
        /* The chip at position p sends chunk p + offset at step t. A gather passes on the chunk that started t steps
         * ago; a scatter is its time reverse: a chunk sent at step t has steps - t steps to go. */
        int32_t offset = gather ? -direction->sign * t : direction->sign * (direction->steps - t);
        send.payload = phase_payload(walk, phase, offset);
        send.step = t;
        int32_t before_it = last;
        last = program_add(program, send);
        for (int i = 0; i < before->count && (t == 0 || adds_own); i++)
            program_wait(program, before->op[i]);
        program_after(program, before_it, AFTER_ARRIVED);
        program_after(program, in_turn ? before_it : -1, AFTER_DONE);
        program_after(program, sum, AFTER_DONE);
        sum = walk_sum(walk, phase, last, sum);
    }
    /* On a ring the last arrival comes after all others. On a line the last arrival differs from chip to
     * chip. */
    *ordered = ((in_turn && !direction->line) || direction->steps == 1) && sum < 0;
    return last;
}

struct ends walk_phase(struct walk *walk, const struct phase *phase, bool gather, const struct ends *before)
{
    struct direction direction[PHASE_ENDS];
    struct ends ends = {.count = directions_of(walk, phase->part, phase->part->order[phase->m], direction)};
    int32_t first = walk->program->ops;
    bool all_ordered = true, ordered;
    for (int i = 0; i < ends.count; i++) {
        ends.op[i] = write_direction(walk, phase, &direction[i], gather, before, &ordered);
        all_ordered &= ordered;
    }
    if (!all_ordered)
        ends = (struct ends){1, {program_join_since(walk->program, first, walk->members, walk->stage)}};
    return ends;
}

int walk_along(const struct walk *walk, int ring, int chip, int steps)
{
    for (int step = 0; step < steps; step++)
        chip = ring_next(walk->ring[ring], walk->program->slice, chip);
    return chip;
}

int32_t make_chunks(const struct collective_spec *spec, struct program *program)
{
    struct walk walk;
    int32_t dim[GRID_DIMS];
    struct part part[WALK_PARTS];
    choose_rings(&walk, spec, program);
    int dims = 0, parts = walk_parts(&walk, part);
    for (; dims < walk.rings; dims++)
        dim[dims] = walk.ring[dims]->n;
    if (walk.chunks > 1)
        dim[dims++] = walk.chunks;
    if (parts > 1)
        dim[dims++] = parts;
    int32_t buffer = program_buffer(program, "in", (struct buffer_size){spec->elements, spec->elem_bytes},
                                    dim, dims, NULL);
    if (spec->colours == 0 && spec_has_shares(spec) && parts > 1) {
        int share[GRID_SHARES] = {0};
        for (int p = 0; p < parts; p++)
            share[p] = spec->share[p % walk.rings];
        program_share(program, buffer, share);
    }
    return buffer;
}
