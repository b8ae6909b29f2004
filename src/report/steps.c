/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `--steps`: when each step of each stage began and ended, over all chips, and what it moved. */
#include <math.h>
#include <stdlib.h>

#include "icisim/report.h"
#include "icisim/sheet.h"

struct step {
    double start_s, end_s;
    int64_t ops;  /* (op, chip) pairs */
    double bytes; /* that the sends of one chip carry, at most */
};

/* One line for the ops of a stage that share a step, in the order of their first op. Sends and computes of the
 * same step are lines of their own, as they overlap. */
static bool same_step(const struct op *a, const struct op *b)
{
    return a->stage == b->stage && a->step == b->step && a->kind == b->kind;
}

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

/* Joins, which stay where they are, are no transfers. */
static bool moves(const struct program *program, const struct op *op)
{
    return op->kind == OP_COMPUTE || op->towards.table != NO_TABLE ||
           program->route[op->towards.route].hops > 0;
}

static void add_step(struct sheet *sheet, const struct run *run, int32_t first, bool seen[])
{
    const struct program *program = run->program;
    const struct op *op = &program->op[first];
    struct step step = {INFINITY, 0, 0, 0};
    for (int32_t o = first; o < program->ops; o++) {
        if (seen[o] || !same_step(op, &program->op[o]))
            continue;
        seen[o] = true;
        if (!moves(program, &program->op[o]))
            continue;
        step.start_s = fmin(step.start_s, run->trace.op_start_s[o]);
        step.end_s = fmax(step.end_s, run->trace.op_end_s[o]);
        step.ops += takers(program, &program->op[o]) * (run->folded ? run->fold.orbit : 1);
        if (op->kind == OP_SEND)
            step.bytes += most_amount(program, &program->op[o]);
    }
    if (step.ops == 0)
        return;
    sheet_text(sheet, program->stages > 0 ? program->stage[op->stage].name : "");
    sheet_count(sheet, op->step);
    sheet_text(sheet, op->kind == OP_SEND ? "send" : "compute");
    sheet_real(sheet, "%.3f", step.start_s * 1e6);
    sheet_real(sheet, "%.3f", step.end_s * 1e6);
    sheet_real(sheet, "%.3f", (step.end_s - step.start_s) * 1e6);
    sheet_count(sheet, step.ops);
    sheet_real(sheet, "%.0f", op->kind == OP_SEND ? step.bytes : NAN);
}

int report_steps(const struct run *run, FILE *out, struct status *st)
{
    struct sheet sheet = {0};
    bool *seen = calloc((size_t)run->program->ops + 1, sizeof *seen);
    if (!seen)
        return status_nomem(st);
    sheet_text_column(&sheet, "stage");
    sheet_column(&sheet, "step", "");
    sheet_text_column(&sheet, "kind");
    sheet_column(&sheet, "start", "(us)");
    sheet_column(&sheet, "end", "(us)");
    sheet_column(&sheet, "took", "(us)");
    sheet_column(&sheet, "ops", "");
    sheet_column(&sheet, "each chip", "(B)");
    for (int32_t o = 0; o < run->program->ops; o++)
        if (!seen[o])
            add_step(&sheet, run, o, seen);
    free(seen);
    fputs("# steps: from the first chip's start to the last chip's end; what the sends of one chip carry\n",
          out);
    int code = sheet_print(&sheet, out, st);
    sheet_free(&sheet);
    return code;
}
