/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-gather, reduce-scatter and all-reduce on rings and lines, over one axis or several at once (E1 to E7).
 *
 * The array is one buffer, worked on in place: a grid of chunks, one dim for each ring, and one for the parts
 * that walk the rings in different orders. An all-gather starts with the chip's own chunk and ends with all;
 * a reduce-scatter starts with all of the chip's own contribution and ends with its chunk reduced.
 */
#include "collective/reduce_gather.h"

#include "collective/walk.h"

/* The phases of one part: scatter in reverse order, then gather, or one of the two. */
static struct ends write_part(struct walk *walk, struct phase phase, bool scatter, bool gather,
                              int32_t before)
{
    struct ends ends = {1, {before}};
    int phases = walk->rings * (scatter + gather);
    for (int i = 0; i < phases; i++) {
        bool gathers = !scatter || i >= walk->rings;
        phase.m = gathers ? i % walk->rings : walk->rings - 1 - i;
        if (gathers)
            phase.combine = COMBINE_COPY;
        ends = walk_phase(walk, &phase, gathers, &ends);
        phase.setup_s = 0;
    }
    return ends;
}

static void write_parts(struct walk *walk, int32_t buffer, bool scatter, bool gather, int32_t before,
                        int32_t *after)
{
    const struct collective_spec *spec = walk->spec;
    struct part part[2 * COLLECTIVE_RINGS];
    int32_t end[2 * COLLECTIVE_RINGS * PHASE_ENDS];
    int parts = walk_parts(walk, part), ends = 0;
    for (int p = 0; p < parts; p++) {
        struct phase phase = {
            .part = &part[p],
            .buffer = buffer,
            .bytes = (double)chunk_elements(spec->elements, walk->chips) * spec->elem_bytes / parts,
            .combine = spec->combine == COMBINE_COPY ? COMBINE_SUM : spec->combine,
            .setup_s = spec->setup_s,
        };
        struct ends of_part = write_part(walk, phase, scatter, gather, before);
        for (int i = 0; i < of_part.count; i++)
            end[ends++] = of_part.op[i];
    }
    if (after)
        *after = parts ? program_join_of(walk->program, end, ends, walk->members, walk->stage) : before;
}

static int build(const struct collective_spec *spec, struct program *program, const char *name, bool scatter,
                 bool gather, int32_t before, int32_t *after, struct status *st)
{
    struct walk walk;
    if (walk_init(&walk, spec, program, name, st) < 0)
        return st->code;
    struct collective_buffers *buffers = walk_buffers(&walk);
    if (!spec->timing_only && buffers->in < 0)
        buffers->in = collective_buffer(spec, program, "in", spec->elements, 1, false);
    buffers->out = buffers->in;
    write_parts(&walk, buffers->in, scatter, gather, before, after);
    walk_free(&walk);
    return program_close(program, st);
}

int all_gather_build(const struct collective_spec *spec, struct program *program, int32_t before,
                     int32_t *after, struct status *st)
{
    return build(spec, program, "all-gather", false, true, before, after, st);
}

int reduce_scatter_build(const struct collective_spec *spec, struct program *program, int32_t before,
                         int32_t *after, struct status *st)
{
    return build(spec, program, "reduce-scatter", true, false, before, after, st);
}

int all_reduce_build(const struct collective_spec *spec, struct program *program, int32_t before,
                     int32_t *after, struct status *st)
{
    return build(spec, program, "all-reduce", true, true, before, after, st);
}
