/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `--steps`: when each step of each stage began and ended, over all chips, the bytes it moved, and, if single
 * times were recorded, its longest wait on the critical chip. */
#include <math.h>
#include <stdlib.h>

#include "metrics/metrics.h"
#include "metrics/names.h"
#include "metrics/waits.h"
#include "report/report.h"
#include "report/table.h"

enum { DIRECTIONS = 2 * SLICE_AXES }; /* x+, x-, y+, ... */

/* Sends of a stage with the same number of sends before them form one step with that number; computes are
 * counted separately. Both count from 0. */
struct step_op {
    int32_t op, stage, index;
    enum op_kind kind;
};

/* What all steps are made from. */
struct steps {
    const struct run *run;
    const struct waits *waits; /* NULL without single times */
    bool computes;             /* with them: does anything compute, and so wait in a queue */
    int32_t critical;
    int32_t count;
    struct step_op *of;         /* [count] all ops but joins, step by step */
    int32_t *depth;             /* [ops] */
    struct op *part;            /* [ops] room for the ops of a step */
    bool direction[DIRECTIONS]; /* has any step moved something in that direction */
};

static int by_step(const void *a, const void *b)
{
    const struct step_op *s = a, *t = b;
    int32_t difference = s->stage - t->stage;
    difference = difference ? difference : s->index - t->index;
    return difference ? difference : (int)s->kind - (int)t->kind;
}

static int by_step_and_op(const void *a, const void *b)
{
    int difference = by_step(a, b);
    return difference ? difference : ((const struct step_op *)a)->op - ((const struct step_op *)b)->op;
}

static void gather_steps(struct steps *all)
{
    const struct program *program = all->run->timing.program;
    program_depths(program, all->depth);
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        bool send = op->kind == OP_SEND;
        if (!send || op_crosses_links(program, op)) /* a join moves nothing */
            all->of[all->count++] =
                (struct step_op){o, op->stage, send ? all->depth[o] - 1 : op->step, op->kind};
        all->computes |= all->waits && op->kind == OP_COMPUTE;
    }
    qsort(all->of, (size_t)all->count, sizeof *all->of, by_step_and_op);
}

/* The most bytes that one chip sends, and that the busiest link of each direction carries. */
struct step_bytes {
    double sent, direction[DIRECTIONS];
};

static double most_sent(const struct program *part)
{
    double most = 0;
    for (int chip = 0; chip < part->slice->chips; chip++) {
        double sent = 0;
        for (int32_t o = 0; o < part->ops; o++)
            if (op_takes_part(part, &part->op[o], chip))
                sent += op_amount(part, &part->op[o], chip);
        most = fmax(most, sent);
    }
    return most;
}

/* Counts the bytes of one step of `ops` ops, as a program of only these ops. */
static int count_bytes(const struct steps *all, const struct step_op step[], int32_t ops,
                       struct step_bytes *bytes, struct status *st)
{
    struct program part = *all->run->timing.program; /* all but its ops is borrowed */
    const struct slice *slice = part.slice;
    for (int32_t i = 0; i < ops; i++)
        all->part[i] = part.op[step[i].op];
    part.op = all->part;
    part.ops = ops;
    *bytes = (struct step_bytes){.sent = most_sent(&part)};
    double *link_bytes = metrics_link_bytes(&part, st);
    for (int link = 0; link_bytes && link < slice_link_ids(slice); link++) {
        double *of = &bytes->direction[2 * slice_link_axis(slice, link) + (slice_link_sign(link) < 0)];
        *of = fmax(*of, link_bytes[link]);
    }
    free(link_bytes);
    return st->code;
}

/* The step's op on the critical chip whose compute waits longest, else the first one; op -1 if the step has
 * none. */
static struct cell longest_wait(const struct steps *all, const struct step_op step[], int32_t ops,
                                double *idle_s)
{
    const struct waits *waits = all->waits;
    struct cell longest = {-1, all->critical};
    *idle_s = NAN;
    for (int32_t i = 0; i < ops; i++) {
        struct cell cell = {step[i].op, all->critical};
        if (!waits_takes_part(waits, cell))
            continue;
        if (longest.op < 0)
            longest = cell;
        if (step->kind == OP_SEND)
            break;
        struct cell before = waits_before(waits, cell);
        double for_s = waits_start_s(waits, cell) - (before.op < 0 ? 0 : waits_end_s(waits, before));
        if (!(for_s <= *idle_s)) {
            *idle_s = for_s;
            longest = cell;
        }
    }
    return longest;
}

static int add_step(struct table *table, struct steps *all, const struct step_op step[], int32_t ops,
                    struct status *st)
{
    const struct timing *timing = &all->run->timing;
    const struct program *program = timing->program;
    char after[NAMES_OP_ROUTE] = "";
    double idle_s = NAN, start_s = INFINITY, end_s = 0;
    int64_t cells = 0; /* (op, chip) pairs */
    struct step_bytes bytes = {NAN, {0}};
    if (step->kind != OP_SEND)
        for (int d = 0; d < DIRECTIONS; d++)
            bytes.direction[d] = NAN;
    else if (count_bytes(all, step, ops, &bytes, st) < 0)
        return st->code;
    if (all->waits) {
        struct cell cell = longest_wait(all, step, ops, &idle_s);
        struct cause cause = {.kind = CAUSE_START};
        if (cell.op >= 0)
            cause = waits_cause(all->waits, cell, true);
        if (cause.kind != CAUSE_START)
            names_op_route(all->waits->program, cause.cell.op, cause.cell.chip, after);
    }
    for (int32_t i = 0; i < ops; i++) {
        start_s = fmin(start_s, timing->trace.op_start_s[step[i].op]);
        end_s = fmax(end_s, timing->trace.op_end_s[step[i].op]);
        cells += op_takers(program, &program->op[step[i].op]) * timing->fold.orbit;
    }
    const double *d = bytes.direction;
    for (int direction = 0; direction < DIRECTIONS; direction++)
        all->direction[direction] |= d[direction] > 0;
    table_row(table, program->stages > 0 ? program->stage[step->stage].name : "", (double)step->index,
              step->kind == OP_SEND ? "send" : "compute", start_s, end_s, end_s - start_s, (double)cells,
              bytes.sent, d[0], d[1], d[2], d[3], d[4], d[5], idle_s, after);
    return 0;
}

static void print_heading(const struct steps *all, FILE *out)
{
    fputs("# step, from 0: of computes, which of their stage; of sends, how many come before, each waiting "
          "for\n"
          "# the last; start of the first chip, end of the last; ops: of all chips; bytes: the most that one "
          "chip\n"
          "# sends; x+ and so on: the most over one link in that direction\n",
          out);
    if (all->computes)
        fprintf(out, "# waits: how long the compute queue of TPU:%d idles; after: what it starts after\n",
                all->critical);
    else if (all->waits)
        fprintf(out, "# after: what it starts after on TPU:%d\n", all->critical);
}

static int print_steps(struct steps *all, FILE *out, struct status *st)
{
    enum { FIXED = 8 }; /* the columns before those of directions and waits */
    struct table table = table_of("stage, step (), kind, start (us), end (us), took (us), ops (), bytes (B), "
                                  "x+ (B), x- (B), y+ (B), y- (B), z+ (B), z- (B), waits (us), after");
    int code = 0;
    for (int32_t first = 0, next; code == 0 && first < all->count; first = next) {
        next = first + 1;
        while (next < all->count && by_step(&all->of[first], &all->of[next]) == 0)
            next++;
        code = add_step(&table, all, &all->of[first], next - first, st);
    }
    for (int direction = 0; direction < DIRECTIONS; direction++)
        table.column[FIXED + direction].hidden = !all->direction[direction];
    table.column[FIXED + DIRECTIONS].hidden = !all->computes;
    table.column[FIXED + DIRECTIONS + 1].hidden = !all->waits;
    print_heading(all, out);
    if (code < 0)
        table_free(&table);
    return code < 0 ? code : table_end(&table, out, st);
}

int report_steps(const struct run *run, FILE *out, struct status *st)
{
    const struct timing *timing = &run->timing;
    size_t ops = (size_t)timing->program->ops + 1;
    struct waits waits = {0};
    struct steps all = {.run = run};
    all.of = malloc(ops * sizeof *all.of);
    all.depth = malloc(ops * sizeof *all.depth);
    all.part = malloc(ops * sizeof *all.part);
    int code = all.of && all.depth && all.part ? 0 : status_nomem(st);
    if (code == 0 && timing->trace.start_s) {
        code = waits_init(&waits, timing->whole, &timing->fold, &timing->trace, st);
        all.waits = &waits;
        all.critical = code == 0 ? waits_critical_chip(&waits) : 0;
    }
    if (code == 0) {
        gather_steps(&all);
        code = print_steps(&all, out, st);
    }
    waits_free(&waits);
    free(all.of);
    free(all.depth);
    free(all.part);
    return code;
}
