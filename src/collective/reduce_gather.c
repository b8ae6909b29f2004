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
static void write_part(struct walk *walk, struct phase phase, bool scatter, bool gather,
                       const struct front *before, struct front *after)
{
    struct front front = *before, next;
    int first = scatter ? walk->rings - 1 : 0;
    if (scatter) {
        for (phase.m = first; phase.m >= 0; phase.m--) {
            walk_scatter(walk, &phase, &front, &next);
            front = next;
            phase.setup_s = 0;
        }
    }
    if (gather) {
        phase.combine = COMBINE_COPY;
        for (phase.m = 0; phase.m < walk->rings; phase.m++) {
            walk_gather(walk, &phase, &front, &next);
            front = next;
            phase.setup_s = 0;
        }
    }
    for (int i = 0; i < front.count; i++)
        front_add(after, front.op[i]);
}

int32_t reduce_gather_buffer(struct walk *walk, const char *name, int64_t rows, int64_t cols, bool by_cols)
{
    struct grid_dim dim[GRID_DIMS];
    struct part part[2 * COLLECTIVE_RINGS];
    int dims = 0, parts = walk_parts(walk, part);
    for (; dims < walk->rings; dims++)
        dim[dims] = (struct grid_dim){walk->ring[dims]->n, by_cols};
    if (parts > 1)
        dim[dims++] = (struct grid_dim){parts, by_cols};
    return program_buffer(walk->program, name, rows, cols, walk->spec->elem_bytes, dim, dims, NULL);
}

void reduce_gather_write(struct walk *walk, int32_t buffer, bool scatter, bool gather,
                         const struct front *before, struct front *after)
{
    const struct collective_spec *spec = walk->spec;
    struct part part[2 * COLLECTIVE_RINGS];
    int parts = walk_parts(walk, part);
    if (parts == 0) {
        *after = *before;
        return;
    }
    *after = (struct front){0};
    for (int p = 0; p < parts; p++) {
        struct phase phase = {
            .part = &part[p],
            .buffer = buffer,
            .bytes = (double)chunk_elements(spec->elements, walk->chips) * spec->elem_bytes / parts,
            .combine = spec->combine == COMBINE_COPY ? COMBINE_SUM : spec->combine,
            .setup_s = spec->setup_s,
        };
        if (!scatter)
            phase.combine = COMBINE_COPY;
        write_part(walk, phase, scatter, gather, before, after);
    }
}

static int build(const struct collective_spec *spec, struct program *program, const char *name, bool scatter,
                 bool gather, const struct front *before, struct front *after, struct status *st)
{
    struct walk walk;
    if (walk_init(&walk, spec, program, name, st) < 0)
        return st->code;
    int32_t in = reduce_gather_buffer(&walk, "in", spec->elements, 1, false);
    reduce_gather_write(&walk, in, scatter, gather, before, after);
    walk_free(&walk);
    return program_close(program, st);
}

int all_gather_build(const struct collective_spec *spec, struct program *program, const struct front *before,
                     struct front *after, struct status *st)
{
    return build(spec, program, "all-gather", false, true, before, after, st);
}

int reduce_scatter_build(const struct collective_spec *spec, struct program *program,
                         const struct front *before, struct front *after, struct status *st)
{
    return build(spec, program, "reduce-scatter", true, false, before, after, st);
}

int all_reduce_build(const struct collective_spec *spec, struct program *program, const struct front *before,
                     struct front *after, struct status *st)
{
    return build(spec, program, "all-reduce", true, true, before, after, st);
}
