/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-reduce in a single phase: each chip gathers the whole arrays of all other chips along a ring, each by
 * the shorter way, and adds them up. So each chip has the sum after floor(N/2) steps, half as many as scatter
 * and gather take, but every link carries N/2 times the array: floor(N/2) (a + V/w). This is XLA's
 * SinglePhaseRingSum. Several rings follow one after the other, and each part takes them in another order.
 * All chips add in the order of positions, and so get the same bits.
 */
#include "collective/reduce_gather.h"

/* Adds an op of no links, in which each chip moves its own data; it takes `seconds`. */
static int32_t add_local(struct walk *walk, const struct phase *phase, struct view from, struct view to,
                         double seconds)
{
    struct payload payload = {.combine = phase->combine, .a = from, .to = to};
    struct op local = program_local(walk->program, walk->members, phase_bytes(walk, phase), walk->stage);
    local.setup_s = seconds;
    local.payload = walk_payload(walk, &payload);
    return program_add(walk->program, local);
}

/* A buffer with room for the copies of all chips of a ring. */
static int32_t make_copies(const struct walk *walk, const struct phase *phase, int n)
{
    struct buffer like = walk->program->buffer[phase->buffer];
    int32_t dim[GRID_DIMS] = {n};
    for (int d = 0; d < like.dims && d < GRID_DIMS - 1; d++)
        dim[d + 1] = like.dim[d];
    int32_t copies =
        program_buffer(walk->program, "copies", (struct buffer_size){n * like.elements, like.elem_bytes}, dim,
                       like.dims + 1, NULL);
    program_share(walk->program, copies, like.share);
    return copies;
}

/* Adds the gathered copies to the result, one after the other. */
static struct ends add_up(struct walk *walk, const struct phase *phase, const struct phase *gathers, int n,
                          const struct ends *came)
{
    struct program *program = walk->program;
    struct view all = phase_view(walk, phase, pick_all());
    double reduce_Bps = program->slice->reduce_Bps;
    double each_s = reduce_Bps > 0 ? phase_bytes(walk, gathers) / reduce_Bps : 0;
    struct phase adds = *gathers;
    int32_t sum = -1;
    for (int k = 0; k < n; k++) {
        int32_t before = sum;
        adds.combine = k == 0 ? COMBINE_COPY : phase->combine;
        if (walk->spec->timing_only && k > 0 && k < n - 1)
            continue;
        double seconds = k == 0 ? 0 : walk->spec->timing_only ? (n - 1) * each_s : each_s;
        sum = add_local(walk, &adds, phase_view(walk, gathers, pick_fixed(k)), all, seconds);
        program_wait(program, before);
        for (int i = 0; i < came->count && before < 0; i++)
            program_wait(program, came->op[i]);
    }
    return (struct ends){1, {sum}};
}

struct ends single_phase_part(struct walk *walk, struct phase phase, bool scatter, bool gather,
                              int32_t before)
{
    struct ends ends = {1, {before}};
    (void)scatter;
    (void)gather; /* only all-reduces have this pattern */
    for (int m = 0; m < walk->rings; m++) {
        int ring = phase.part->order[m], n = walk->ring[ring]->n;
        struct phase gathers = phase;
        gathers.m = m;
        gathers.copies = true;
        gathers.combine = COMBINE_COPY;
        gathers.buffer = walk->spec->timing_only ? -1 : make_copies(walk, &phase, n);
        phase.m = walk->rings; /* views cover the whole part, whatever the ring */
        int32_t own = add_local(walk, &gathers, phase_view(walk, &phase, pick_all()),
                                phase_view(walk, &gathers, pick_var(walk->var[ring], 0)), 0);
        for (int i = 0; i < ends.count; i++)
            program_wait(walk->program, ends.op[i]);
        ends = (struct ends){1, {own}};
        ends = walk_phase(walk, &gathers, true, &ends);
        ends = add_up(walk, &phase, &gathers, n, &ends);
        phase.setup_s = 0;
    }
    return ends;
}
