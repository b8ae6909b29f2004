/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-reduce on short rings in both directions at once, like XLA's PincerShort: the directions meet half way,
 * and the sum goes back.
 *
 * - on a closed ring each chunk has its own meeting point, which is the reduce-scatter and all-gather of bidi;
 * - on a line everything meets in the middle: chips add the array that arrives from their end and pass it on;
 *   the middle chip then has the sum, which goes back over the same links. These are 2 floor(N/2) steps, not
 *   2(N-1), and each link carries the array once in each direction: c pipelined chunks take
 *   (2 floor(N/2) + c - 1)(a + V/(c w)). With several lines, the middles of one line are reduced along the next.
 *
 * Closed rings are scattered first and gathered last, so that lines have less to move; each part takes the
 * rings in another order.
 */
#include "collective/reduce_gather.h"

/* State while one chunk of a part is written along its lines. */
struct lines {
    struct walk *walk;
    struct phase phase; /* m: the line; bytes: of each chip's send */
    struct view view;
    const struct ends *before;
    int chunk;
    int32_t stride; /* number of ops of a chunk; 0: this is the first chunk */
    int32_t there;  /* op that ends on a chip when the lines so far are done there; -1: none */
};

/* One direction along a line, + or -: from an end to the middle, or back from the middle to an end. */
struct way {
    int sign;
    bool back;
};

/* The step of a way at which a chip sends; -1: it never sends. The middle is the chip that has piece N/2. */
static int step_of(const struct ring *ring, const struct slice *slice, int chip, const struct way *way)
{
    int position = ring_position(ring, slice, chip), n = ring->n;
    int middle = (n / 2 + position - ring_piece(ring, slice, chip) + n) % n;
    int from_end = way->sign > 0 ? position : n - 1 - position;
    int to_middle = (way->sign > 0 ? middle : n - 1 - middle) - from_end;
    if (position < 0)
        return -1;
    if (way->back)
        return to_middle <= 0 && from_end < n - 1 ? -to_middle : -1;
    return to_middle > 0 ? from_end : -1;
}

/* Marks the senders of a step, which are in the middle of all lines before this one; false if there
 * are none. */
static bool find_senders(const struct lines *lines, const struct way *way, int step)
{
    struct walk *walk = lines->walk;
    const struct slice *slice = walk->program->slice;
    const int *order = lines->phase.part->order;
    bool any = false;
    for (int chip = 0; chip < slice->chips; chip++) {
        bool is_there = step_of(walk->ring[order[lines->phase.m]], slice, chip, way) == step;
        for (int m = 0; m < lines->phase.m && is_there; m++)
            is_there = ring_piece(walk->ring[order[m]], slice, chip) == walk->ring[order[m]]->n / 2;
        any |= walk->mask[chip] = is_there;
    }
    return any;
}

static void write_way(const struct lines *lines, const struct way *way)
{
    struct walk *walk = lines->walk;
    struct program *program = walk->program;
    const struct phase *phase = &lines->phase;
    int ring = phase->part->order[phase->m];
    bool adds = phase->combine != COMBINE_COPY;
    struct payload payload = {.combine = phase->combine, .a = lines->view};
    if (walk->chunks > 1)
        payload.a.pick[walk->rings] = pick_fixed(lines->chunk);
    payload.to = payload.a;
    for (int t = 0, send = -1, sum = -1; find_senders(lines, way, t); t++) {
        int came = send;
        send = program_add(
            program,
            (struct op){.kind = OP_SEND,
                        .where = program_mask(program, walk->mask),
                        .towards = way->sign > 0 ? walk->plus[ring] : walk->minus[ring],
                        .amount = amount_of(phase->bytes / walk->chunks),
                        .setup_s = t == 0 && lines->there < 0 && lines->chunk == 0 ? phase->setup_s : 0,
                        .memory = adds ? MEMORY_REDUCES : MEMORY_ENDS,
                        .payload = walk_payload(walk, &payload),
                        .stage = walk->stage,
                        .step = lines->chunk + t});
        for (int i = 0; i < lines->before->count; i++)
            program_wait(program, lines->before->op[i]);
        program_wait(program, lines->there);
        program_after(program, came, AFTER_ARRIVED);
        program_after(program, sum, AFTER_DONE);
        if (lines->stride > 0)
            program_after(program, send - lines->stride, AFTER_DONE);
        sum = adds ? walk_sum(walk, phase, send, sum) : -1;
    }
}

/* Writes both directions of a line: to the middle, or back. */
static void write_line(struct lines *lines, bool back)
{
    struct program *program = lines->walk->program;
    int32_t start = program->ops, before = lines->there;
    write_way(lines, &(struct way){1, back});
    write_way(lines, &(struct way){-1, back});
    lines->there = program_join(program, lines->walk->members, lines->walk->stage);
    program_wait(program, before);
    for (int i = 0; before < 0 && i < lines->before->count; i++) /* also where nothing arrives */
        program_wait(program, lines->before->op[i]);
    for (int32_t op = start; op < lines->there; op++)
        program_after(program, op, AFTER_ARRIVED);
}

/* Writes all chunks along `count` lines, to the middles and back. */
static struct ends reduce_lines(struct walk *walk, const struct phase *phase, int count,
                                const struct ends *before)
{
    struct lines lines = {.walk = walk, .phase = *phase, .before = before};
    int32_t start = walk->program->ops;
    lines.phase.m = count - 1; /* lines are not scattered */
    lines.view = phase_view(walk, &lines.phase, pick_all());
    lines.phase.bytes = phase_bytes(walk, &lines.phase) * walk->ring[phase->part->order[count - 1]]->n;
    for (lines.chunk = 0; lines.chunk < walk->chunks; lines.chunk++) {
        start = walk->program->ops;
        lines.there = -1;
        for (int i = 0; i < 2 * count; i++) {
            lines.phase.m = i < count ? i : 2 * count - 1 - i;
            lines.phase.combine = i < count ? phase->combine : COMBINE_COPY;
            write_line(&lines, i >= count);
        }
        lines.stride = walk->program->ops - start;
    }
    return (struct ends){1, {program_join_since(walk->program, start, walk->members, walk->stage)}};
}

/* The order of a part with its lines first. A phase takes the rings before it as whole and those after it as
 * scattered, which is the state when lines are reduced. */
static struct part lines_first(const struct walk *walk, const struct part *part, int *lines)
{
    struct part sorted = *part;
    int to = 0;
    for (int closed = 0; closed < 2; closed++) {
        for (int m = 0; m < walk->rings; m++)
            if (walk->ring[part->order[m]]->closed == closed)
                sorted.order[to++] = part->order[m];
        *lines = closed ? *lines : to;
    }
    return sorted;
}

struct ends short_ring_part(struct walk *walk, struct phase phase, bool scatter, bool gather, int32_t before)
{
    struct ends ends = {1, {before}};
    int lines;
    struct part part = lines_first(walk, phase.part, &lines);
    (void)scatter;
    (void)gather; /* only all-reduces have this pattern */
    phase.part = &part;
    for (phase.m = walk->rings - 1; phase.m >= lines; phase.m--, phase.setup_s = 0)
        ends = walk_phase(walk, &phase, false, &ends);
    if (lines > 0)
        ends = reduce_lines(walk, &phase, lines, &ends);
    phase.combine = COMBINE_COPY;
    for (phase.m = lines; phase.m < walk->rings; phase.m++)
        ends = walk_phase(walk, &phase, true, &ends);
    return ends;
}
