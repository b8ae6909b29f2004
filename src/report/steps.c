/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `--steps`: when each step of each stage began and ended, over all chips, and what it moved. */
#include <math.h>
#include <stdlib.h>

#include "icisim/report.h"
#include "icisim/sheet.h"

/* The ops of a stage and a kind that stand behind equally many sends are one step. */
struct step {
    int32_t stage, depth;
    enum op_kind kind;
    double start_s, end_s;
    int64_t ops;  /* (op, chip) pairs */
    double bytes; /* that the sends of one chip carry, at most */
};

static int64_t takers(const struct program *program, const struct op *op)
{
    int64_t chips = 0;
    for (int chip = 0; chip < program->slice->chips; chip++)
        chips += op_takes_part(program, op, chip);
    return chips;
}

static double most_amount(const struct program *program, const struct op *op)
{
    double most = 0;
    for (int chip = 0; chip < program->slice->chips; chip++)
        if (op_takes_part(program, op, chip))
            most = fmax(most, op_amount(program, op, chip));
    return most;
}

/* Steps of a program in the order of their first op; returns their number. Latest first: neighbours in a program
 * are neighbours in time. */
static int gather_steps(const struct run *run, const int32_t depth[], struct step step[])
{
    const struct program *program = run->program;
    int steps = 0;
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        if (op->kind == OP_SEND && !op_crosses_links(program, op))
            continue; /* a join moves nothing */
        int s = steps - 1;
        while (s >= 0 &&
               (step[s].stage != op->stage || step[s].depth != depth[o] || step[s].kind != op->kind))
            s--;
        if (s < 0) {
            s = steps++;
            step[s] = (struct step){op->stage, depth[o], op->kind, INFINITY, 0, 0, 0};
        }
        step[s].start_s = fmin(step[s].start_s, run->trace.op_start_s[o]);
        step[s].end_s = fmax(step[s].end_s, run->trace.op_end_s[o]);
        step[s].ops += takers(program, op) * (run->folded ? run->fold.orbit : 1);
        if (op->kind == OP_SEND)
            step[s].bytes += most_amount(program, op);
    }
    return steps;
}

static int by_stage_and_depth(const void *a, const void *b)
{
    const struct step *s = a, *t = b;
    int32_t difference = s->stage - t->stage;
    difference = difference ? difference : s->depth - t->depth;
    return difference ? difference : (int)s->kind - (int)t->kind;
}

static void add_step(struct sheet *sheet, const struct program *program, const struct step *step)
{
    sheet_text(sheet, program->stages > 0 ? program->stage[step->stage].name : "");
    sheet_count(sheet, step->depth);
    sheet_text(sheet, step->kind == OP_SEND ? "send" : "compute");
    sheet_real(sheet, "%.3f", step->start_s * 1e6);
    sheet_real(sheet, "%.3f", step->end_s * 1e6);
    sheet_real(sheet, "%.3f", (step->end_s - step->start_s) * 1e6);
    sheet_count(sheet, step->ops);
    sheet_real(sheet, "%.0f", step->kind == OP_SEND ? step->bytes : NAN);
}

int report_steps(const struct run *run, FILE *out, struct status *st)
{
    const struct program *program = run->program;
    struct sheet sheet = {0};
    int32_t *depth = malloc(((size_t)program->ops + 1) * sizeof *depth);
    struct step *step = malloc(((size_t)program->ops + 1) * sizeof *step);
    int code = depth && step ? 0 : status_nomem(st), steps = 0;
    if (code == 0) {
        program_depths(program, depth);
        steps = gather_steps(run, depth, step);
        qsort(step, (size_t)steps, sizeof *step, by_stage_and_depth);
        sheet_text_column(&sheet, "stage");
        sheet_column(&sheet, "step", "");
        sheet_text_column(&sheet, "kind");
        sheet_column(&sheet, "start", "(us)");
        sheet_column(&sheet, "end", "(us)");
        sheet_column(&sheet, "took", "(us)");
        sheet_column(&sheet, "ops", "");
        sheet_column(&sheet, "bytes", "(B)");
        for (int s = 0; s < steps; s++)
            add_step(&sheet, program, &step[s]);
        fputs("# step: how many sends, each waiting for the one before, it is behind; start of the first "
              "chip, end "
              "of the last;\n# ops: sends or computes of all chips; bytes: what one chip sends\n",
              out);
        code = sheet_print(&sheet, out, st);
    }
    sheet_free(&sheet);
    free(depth);
    free(step);
    return code;
}
