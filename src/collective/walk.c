/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collective/walk.h"

#include <assert.h>
#include <stdlib.h>

/* Routes of one step along a ring, for every chip: as a table, or as one route where all are alike. */
static struct towards step_route(struct walk *walk, const struct ring *ring, bool forward)
{
    struct program *program = walk->program;
    const struct slice *slice = program->slice;
    bool steps_back =
        walk->spec->kind == RING_UNI && !ring->closed; /* a line, closed over its reverse links */
    if (ring->axis >= 0 && !steps_back)
        return program_towards(program, &(struct hop){ring->axis, forward ? 1 : -1}, 1);
    for (int chip = 0; chip < slice->chips; chip++)
        walk->index[chip] = -1;
    for (int chip = 0; chip < slice->chips; chip++) {
        if (ring->axis < 0 && ring->position[chip] < 0)
            continue;
        int next = ring_next(ring, slice, chip);
        int from = forward ? chip : next, to = forward ? next : chip;
        struct way way = route_shortest(slice, from, to);
        walk->index[from] = program_route(program, way.hop, way.hops);
    }
    return program_towards_table(program, walk->index, walk->members);
}

int walk_init(struct walk *walk, const struct collective_spec *spec, struct program *program,
              const char *name, struct status *st)
{
    const struct slice *slice = program->slice;
    size_t chips = (size_t)slice->chips;
    *walk = (struct walk){.spec = spec, .program = program, .members = WHERE_ALL, .chips = 1};
    walk->mask = malloc(chips * sizeof *walk->mask);
    walk->index = malloc(chips * sizeof *walk->index);
    if (!walk->mask || !walk->index) {
        walk_free(walk);
        return status_nomem(st);
    }
    walk->stage = program_stage(program, "%s.%d", name, program->stages + 1);
    for (int r = 0; r < spec->rings; r++) {
        const struct ring *ring = spec->ring[r];
        if (ring->n < 2)
            continue;
        int k = walk->rings++;
        walk->ring[k] = ring;
        walk->chips *= ring->n;
        walk->var[k] = ring->axis >= 0 ? program_var_axis(program, ring->axis)
                                       : program_var_table(program, ring->n, ring->position);
        walk->members = walk_where(walk, k, 0, ring->n - 1);
        walk->plus[k] = step_route(walk, ring, true);
        walk->minus[k] = step_route(walk, ring, false);
    }
    return 0;
}

void walk_free(struct walk *walk)
{
    free(walk->mask);
    free(walk->index);
    walk->mask = NULL;
    walk->index = NULL;
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

void front_wait(struct program *program, const struct front *front)
{
    for (int i = 0; i < front->count; i++) {
        program_after(program, front->op[i], AFTER_ARRIVED);
        program_after(program, front->op[i], AFTER_DONE);
    }
}

void walk_after(struct walk *walk, const struct front *front)
{
    front_wait(walk->program, front);
}

void front_add(struct front *front, int32_t op)
{
    assert(front->count < FRONT_OPS);
    front->op[front->count++] = op;
}

int32_t walk_join(struct walk *walk, int32_t first, int32_t last, bool own)
{
    struct program *program = walk->program;
    int32_t join = program_add(program, (struct op){.kind = OP_SEND,
                                                    .where = walk->members,
                                                    .towards = program_towards(program, NULL, 0),
                                                    .amount = amount_of(0),
                                                    .payload = NO_PAYLOAD,
                                                    .stage = walk->stage});
    for (int32_t op = first; op <= last; op++) {
        program_after(program, op, AFTER_ARRIVED);
        if (own)
            program_after(program, op, AFTER_DONE);
    }
    return join;
}

int walk_parts(const struct walk *walk, struct part part[static 2 * COLLECTIVE_RINGS])
{
    int k = walk->rings, ways = 1;
    if (walk->spec->kind == RING_BIDI_HALF)
        for (int r = 0; r < k; r++)
            if (walk->ring[r]->closed)
                ways = 2;
    for (int p = 0; p < ways * k; p++) {
        part[p] = (struct part){.index = p, .of = ways * k, .sign = ways == 1 ? 0 : p < k ? 1 : -1};
        for (int m = 0; m < k; m++)
            part[p].order[m] = (p + m) % k;
    }
    return ways * k;
}

int walk_legs(const struct walk *walk, const struct part *part, int ring, struct leg leg[static 2])
{
    int n = walk->ring[ring]->n;
    if (walk->spec->kind == RING_UNI) {
        leg[0] = (struct leg){1, n - 1, false};
        return 1;
    }
    if (!walk->ring[ring]->closed) {
        leg[0] = (struct leg){1, n - 1, true};
        leg[1] = (struct leg){-1, n - 1, true};
        return 2;
    }
    if (part->sign) {
        leg[0] = (struct leg){part->sign, n - 1, false};
        return 1;
    }
    leg[0] = (struct leg){1, n / 2, false};
    leg[1] = (struct leg){-1, (n - 1) / 2, false};
    return leg[1].steps ? 2 : 1;
}

/* Which pieces a phase moves: all along the rings gathered before it, the chip's own along those after. */
static struct payload phase_payload(const struct walk *walk, const struct phase *phase, int32_t offset)
{
    struct payload payload = {.kind = PAYLOAD_MOVE, .combine = phase->combine};
    struct view *view = &payload.a;
    const struct part *part = phase->part;
    view->buffer = phase->buffer;
    for (int m = 0; m < walk->rings; m++) {
        int ring = part->order[m];
        view->pick[ring] = m < phase->m   ? pick_all()
                           : m > phase->m ? pick_var(walk->var[ring], 0)
                                          : pick_var(walk->var[ring], offset);
    }
    if (part->of > 1)
        view->pick[walk->rings] = pick_fixed(part->index);
    payload.to = payload.a;
    return payload;
}

int32_t leg_offset(const struct leg *leg, bool gather, int t)
{
    return gather ? -leg->sign * t : leg->sign * (leg->steps - t);
}

int32_t leg_where(struct walk *walk, int ring, const struct leg *leg, bool gather, int t)
{
    int n = walk->ring[ring]->n;
    if (!leg->line)
        return walk->members;
    int reach = gather ? n - 2 - t : t; /* so many positions beside the first that takes part */
    int first = gather ? (leg->sign > 0 ? t : 1) : (leg->sign > 0 ? 0 : n - 1 - t);
    return walk_where(walk, ring, first, first + reach);
}

static void write_leg(struct walk *walk, const struct phase *phase, const struct leg *leg, bool gather,
                      const struct front *before, struct front *after)
{
    struct program *program = walk->program;
    int ring = phase->part->order[phase->m];
    double bytes = phase->bytes;
    for (int m = 0; m < phase->m; m++)
        bytes *= walk->ring[phase->part->order[m]]->n;
    int32_t first = -1, last = -1;
    /* Sends follow each other, but where uni closes a line: there those of the last chip share the long way back (E4u).
     * Round a ring a chip's send says that its own part was there for the one before; on a line it may be its first. */
    bool in_turn = leg->line || walk->ring[ring]->closed, adds_own = !gather && !walk->ring[ring]->closed;
    for (int t = 0; t < leg->steps; t++) {
        struct payload payload = phase_payload(walk, phase, leg_offset(leg, gather, t));
        int32_t op =
            program_add(program, (struct op){.kind = OP_SEND,
                                             .where = leg_where(walk, ring, leg, gather, t),
                                             .towards = leg->sign > 0 ? walk->plus[ring] : walk->minus[ring],
                                             .amount = amount_of(bytes),
                                             .setup_s = t == 0 ? phase->setup_s : 0,
                                             .payload = program_payload(program, payload),
                                             .stage = walk->stage,
                                             .step = t});
        if (t == 0 || adds_own)
            walk_after(walk, before);
        if (t == 0)
            first = op;
        program_after(program, last, AFTER_ARRIVED);
        if (in_turn)
            program_after(program, last, AFTER_DONE);
        last = op;
    }
    /* Round a ring the last arrival comes after all others. On a line each chip has another last one. */
    bool ordered = in_turn && !leg->line;
    front_add(after, ordered || leg->steps == 1 ? last : walk_join(walk, first, last, true));
}

static void write_phase(struct walk *walk, const struct phase *phase, bool gather, const struct front *before,
                        struct front *after)
{
    struct leg leg[2];
    int legs = walk_legs(walk, phase->part, phase->part->order[phase->m], leg);
    *after = (struct front){0};
    for (int i = 0; i < legs; i++)
        write_leg(walk, phase, &leg[i], gather, before, after);
}

void walk_gather(struct walk *walk, const struct phase *phase, const struct front *before,
                 struct front *after)
{
    write_phase(walk, phase, true, before, after);
}

void walk_scatter(struct walk *walk, const struct phase *phase, const struct front *before,
                  struct front *after)
{
    write_phase(walk, phase, false, before, after);
}
