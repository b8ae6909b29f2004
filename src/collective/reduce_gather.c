/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-gather, reduce-scatter and all-reduce on rings and lines, over one axis or several at once (E1 to E7).
 *
 * The array is one buffer, worked on in place: a grid of chunks, with one dim for each ring, and one for the
 * parts that take the rings in different orders. An all-gather starts with the chip's own chunk and ends with
 * all chunks; a reduce-scatter starts with the chip's whole contribution and ends with its own chunk reduced.
 * On a twisted torus parts have special rings (turns.c).
 */
#include "collective/reduce_gather.h"

#include "collective/builders.h"

/* Sets phase i of a part: first the phases of a scatter, from the last ring to the first, then those of a
 * gather. Returns whether it is a gather. */
static bool set_phase(const struct walk *walk, struct phase *phase, int i, bool scatter)
{
    bool gathers = !scatter || i >= walk->rings;
    phase->m = gathers ? i % walk->rings : walk->rings - 1 - i;
    if (gathers)
        phase->combine = COMBINE_COPY;
    if (i > 0)
        phase->setup_s = 0;
    return gathers;
}

struct ends rings_part(struct walk *walk, struct phase phase, bool scatter, bool gather, int32_t before)
{
    struct ends ends = {1, {before}};
    int phases = walk->rings * (scatter + gather);
    for (int i = 0; i < phases; i++) {
        bool gathers = set_phase(walk, &phase, i, scatter);
        ends = walk_phase(walk, &phase, gathers, &ends);
    }
    return ends;
}

static void set_part(struct walk *walk, struct phase *phase, const struct part *part)
{
    phase->part = part;
    if (walk->spec->stages_are_parts)
        walk->stage = part->index % walk->rings;
}

/* Writes all parts, of `phase.bytes` together, phase by phase: no part begins a phase before all parts have
 * ended the previous one. */
static struct ends write_in_step(struct walk *walk, struct phase phase, bool scatter, bool gather,
                                 int32_t before)
{
    struct part part[WALK_PARTS];
    struct ends all = {1, {before}};
    double chunk_bytes = phase.bytes;
    int parts = walk_parts(walk, part), phases = walk->rings * (scatter + gather);
    for (int i = 0; i < phases; i++) {
        int32_t end[WALK_PARTS * PHASE_ENDS];
        int count = 0;
        bool gathers = set_phase(walk, &phase, i, scatter);
        for (int p = 0; p < parts; p++) {
            if (part[p].frac <= 0)
                continue;
            set_part(walk, &phase, &part[p]);
            phase.bytes = chunk_bytes * part[p].frac;
            struct ends ends = walk_phase(walk, &phase, gathers, &all);
            for (int e = 0; e < ends.count; e++)
                end[count++] = ends.op[e];
        }
        all = (struct ends){1, {program_join_of(walk->program, end, count, walk->members, walk->stage)}};
    }
    return all;
}

int32_t reduce_gather_write(struct walk *walk, struct phase phase, bool scatter, bool gather, bool ends,
                            int32_t before)
{
    const struct collective_spec *spec = walk->spec;
    struct part part[WALK_PARTS];
    int32_t end[WALK_PARTS * PHASE_ENDS];
    int parts = walk_parts(walk, part), count = 0;
    struct collective_buffers *buffers = walk_buffers(walk);
    if (!spec->timing_only && buffers->in < 0)
        buffers->in = make_chunks(spec, walk->program);
    phase.buffer = buffers->in;
    double chunk_bytes = (double)chunk_elements(spec->elements, walk->chips) * spec->elem_bytes;
    phase.bytes = chunk_bytes;
    if (spec->in_step && spec->pattern == PATTERN_RINGS && walk->rings > 1)
        return write_in_step(walk, phase, scatter, gather, before).op[0];
    for (int p = 0; p < parts; p++) {
        if (part[p].frac <= 0)
            continue;
        set_part(walk, &phase, &part[p]);
        phase.bytes = chunk_bytes * part[p].frac;
        struct ends of_part = collective_patterns[spec->pattern].write(walk, phase, scatter, gather, before);
        for (int i = 0; i < of_part.count; i++)
            end[count++] = of_part.op[i];
    }
    return ends && parts ? program_join_of(walk->program, end, count, walk->members, walk->stage) : before;
}

static int build(const struct collective_spec *spec, struct program *program, enum collective_id id,
                 int32_t before, int32_t *after, struct status *st)
{
    struct walk walk;
    const char *name = collective_of(id)->name;
    if (spec->as_all_reduce)
        id = COLLECTIVE_ALL_REDUCE;
    if (!collective_has_pattern(collective_of(id), spec->pattern))
        return status_fail(st, STATUS_INPUT, "%s has no algorithm %s; all-reduce has",
                           collective_of(id)->name, pattern_name(spec->pattern));
    if (walk_init(&walk, spec, program, name, st) < 0)
        return st->code;
    if (collective_has_turns(spec))
        walk_twist(&walk);
    struct phase phase = {.combine = spec->combine == COMBINE_COPY ? COMBINE_SUM : spec->combine,
                          .setup_s = spec->setup_s};
    int32_t end = reduce_gather_write(&walk, phase, id != COLLECTIVE_ALL_GATHER,
                                      id != COLLECTIVE_REDUCE_SCATTER, after != NULL, before);
    if (after)
        *after = end;
    walk_buffers(&walk)->out = walk_buffers(&walk)->in;
    walk_free(&walk);
    return program_close(program, st);
}

int all_gather_build(const struct collective_spec *spec, struct program *program, int32_t before,
                     int32_t *after, struct status *st)
{
    return build(spec, program, COLLECTIVE_ALL_GATHER, before, after, st);
}

int reduce_scatter_build(const struct collective_spec *spec, struct program *program, int32_t before,
                         int32_t *after, struct status *st)
{
    return build(spec, program, COLLECTIVE_REDUCE_SCATTER, before, after, st);
}

int all_reduce_build(const struct collective_spec *spec, struct program *program, int32_t before,
                     int32_t *after, struct status *st)
{
    return build(spec, program, COLLECTIVE_ALL_REDUCE, before, after, st);
}
