/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Halving and doubling: reduce-scatters, all-gathers and all-reduces in log2 N steps along each ring.
 *
 * In step s of a reduce-scatter each chip sends one partner the chunks that the partner is still responsible
 * for, half of its own chunks, and receives as many; after log2 N steps it has its own chunk. An all-gather
 * is the reverse. The partner of the chip with piece q is
 *
 *   halving-doubling  q xor 2^s: neighbours first, since most bytes are sent then (Rabenseifner 2004; Thakur et al. 2005)
 *   swing             q + r(s) for even q, q - r(s) for odd q, r(s) = (1 - (-2)^(s+1))/3 = 1, -1, 3, -5, 11, ... modulo N: from the
 *                     second step on, distances are shorter than those of xor (De Sensi et al., Swing, NSDI 2024)
 *
 * The chunks that a chip is responsible for follow from the partners alone: after the last step its own
 * chunk; before step s, the chunks of itself and its partner after step s. Rings whose length is not a power
 * of two, or larger than a set of chunks can represent, are walked in both directions instead (bidi).
 */
#include <stdlib.h>

#include "collective/reduce_gather.h"

enum { STEPS_MOST = 5 }; /* log2 PICK_SET_MOST */

/* The partners along a ring, and the chunks that the chip with piece q is responsible for before each step,
 * one bit each. */
struct exchange {
    int n, steps;
    int partner[STEPS_MOST][PICK_SET_MOST];
    uint32_t chunks[STEPS_MOST + 1][PICK_SET_MOST];
};

static int partner_of(bool swings, int n, int step, int piece)
{
    int distance = (1 - (step % 2 ? 2 << step : -(2 << step))) / 3;
    if (!swings)
        return piece ^ 1 << step;
    return ((piece + (piece % 2 ? -distance : distance)) % n + n) % n;
}

/* Returns false if the ring does not allow exchanges. */
static bool exchange_of(bool swings, int n, struct exchange *exchange)
{
    exchange->n = n;
    exchange->steps = __builtin_ctz((unsigned)n);
    if (n > PICK_SET_MOST || n != 1 << exchange->steps)
        return false;
    for (int step = exchange->steps; step >= 0; step--)
        for (int q = 0; q < n; q++) {
            if (step == exchange->steps) {
                exchange->chunks[step][q] = 1u << q;
                continue;
            }
            int partner = exchange->partner[step][q] = partner_of(swings, n, step, q);
            exchange->chunks[step][q] = exchange->chunks[step + 1][q] | exchange->chunks[step + 1][partner];
        }
    return true;
}

/* The shorter way along an axis; if both ways tie, even positions go in + direction and odd ones in -. */
static struct hop hop_to(const struct ring *ring, int from, int to)
{
    int steps = to - from, n = ring->n;
    if (ring->closed && 2 * abs(steps) == n)
        steps = from % 2 ? -n / 2 : n / 2;
    else if (ring->closed && 2 * abs(steps) > n)
        steps += steps > 0 ? -n : n;
    return (struct hop){ring->axis, steps};
}

/* The route of each chip to its partner. */
static struct towards partner_routes(struct walk *walk, int of_ring, const struct exchange *exchange,
                                     int step)
{
    struct program *program = walk->program;
    const struct slice *slice = program->slice;
    const struct ring *ring = walk->ring[of_ring];
    for (int chip = 0; chip < slice->chips; chip++) {
        walk->index[chip] = -1;
        if (ring_position(ring, slice, chip) < 0)
            continue;
        int q = ring_piece(ring, slice, chip), partner = exchange->partner[step][q];
        struct hop hop = hop_to(ring, q, partner);
        if (ring->axis >= 0)
            walk->index[chip] = program_route(program, &hop, 1);
        else
            walk->index[chip] = program_route_between(
                program, chip, walk_along(walk, of_ring, chip, (partner - q + ring->n) % ring->n));
    }
    return program_towards_table(program, walk->index, walk->members);
}

/* The chunks that each chip sends: in a scatter those that its partner is responsible for after the step, in
 * a gather those that it has itself. */
static int32_t sent_chunks(struct walk *walk, int ring, const struct exchange *exchange, int step,
                           bool gather)
{
    const struct slice *slice = walk->program->slice;
    for (int chip = 0; chip < slice->chips; chip++) {
        if (ring_position(walk->ring[ring], slice, chip) < 0) {
            walk->index[chip] = 1;
            continue;
        }
        int q = ring_piece(walk->ring[ring], slice, chip);
        walk->index[chip] = (int32_t)exchange->chunks[step + 1][gather ? q : exchange->partner[step][q]];
    }
    return program_var_table(walk->program, exchange->n, walk->index);
}

static struct ends write_exchange(struct walk *walk, const struct phase *phase,
                                  const struct exchange *exchange, bool gather, const struct ends *before)
{
    struct program *program = walk->program;
    int ring = phase->part->order[phase->m];
    int32_t last = -1, sum = -1;
    for (int i = 0; i < exchange->steps; i++) {
        int step = gather ? exchange->steps - 1 - i : i;
        struct payload payload = {.combine = phase->combine};
        if (!walk->spec->timing_only)
            payload.a = phase_view(
                walk, phase, (struct pick){PICK_SET, sent_chunks(walk, ring, exchange, step, gather), 0});
        payload.to = payload.a;
        double chunks = exchange->n >> (step + 1);
        struct op send = {.kind = OP_SEND,
                          .where = walk->members,
                          .towards = partner_routes(walk, ring, exchange, step),
                          .amount = amount_of(phase_bytes(walk, phase) * chunks),
                          .setup_s = i == 0 ? phase->setup_s : 0,
                          .memory = gather ? MEMORY_ENDS : MEMORY_REDUCES,
                          .payload = walk_payload(walk, &payload),
                          .stage = walk->stage,
                          .step = i};
        int32_t before_it = last;
        last = program_add(program, send);
        for (int e = 0; e < before->count && i == 0; e++)
            program_wait(program, before->op[e]);
        program_wait(program, before_it);
        program_after(program, sum, AFTER_DONE);
        sum = gather ? -1 : walk_sum(walk, phase, last, sum);
    }
    return sum >= 0 ? (struct ends){2, {last, sum}} : (struct ends){1, {last}};
}

static struct ends write_part(struct walk *walk, struct phase phase, bool scatter, bool gather,
                              int32_t before, bool swings)
{
    struct ends ends = {1, {before}};
    struct exchange exchange;
    int phases = walk->rings * (scatter + gather);
    for (int i = 0; i < phases; i++, phase.setup_s = 0) {
        bool gathers = !scatter || i >= walk->rings;
        phase.m = gathers ? i % walk->rings : walk->rings - 1 - i;
        if (gathers)
            phase.combine = COMBINE_COPY;
        if (exchange_of(swings, walk->ring[phase.part->order[phase.m]]->n, &exchange))
            ends = write_exchange(walk, &phase, &exchange, gathers, &ends);
        else
            ends = walk_phase(walk, &phase, gathers, &ends);
    }
    return ends;
}

struct ends halving_doubling_part(struct walk *walk, struct phase phase, bool scatter, bool gather,
                                  int32_t before)
{
    return write_part(walk, phase, scatter, gather, before, false);
}

struct ends swing_part(struct walk *walk, struct phase phase, bool scatter, bool gather, int32_t before)
{
    return write_part(walk, phase, scatter, gather, before, true);
}
