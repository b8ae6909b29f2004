/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the critical path as one sentence and three tables. */
#include "report/critical_print.h"

#include <string.h>

#include "base/units.h"
#include "metrics/names.h"
#include "report/table.h"

enum { LONGEST = 3 }; /* waits in the sentence */

/* XLA's word for the sends of a decomposed collective, if all sends are of that kind. */
static const char *noun(const struct critical *critical)
{
    const struct program *program = critical->waits->program;
    bool permutes = critical->sends > 0;
    for (int32_t o = 0; o < program->ops && permutes; o++)
        if (critical_send(critical, o).chip >= 0)
            permutes = program->stage[program->op[o].stage].permutes;
    return permutes ? critical->sends == 1 ? "permute" : "permutes" : critical->sends == 1 ? "send" : "sends";
}

/* Do all computes of the chip belong to one stage, so that the step alone identifies them? */
static bool one_stage(const struct critical *critical)
{
    const struct waits *waits = critical->waits;
    int32_t stage = -1;
    for (int32_t o = 0; o < waits->program->ops; o++) {
        const struct op *op = &waits->program->op[o];
        if (op->kind != OP_COMPUTE || !waits_takes_part(waits, (struct cell){o, critical->chip}))
            continue;
        if (stage >= 0 && op->stage != stage)
            return false;
        stage = op->stage;
    }
    return true;
}

/* Is the wait one of the longest, which the sentence names? */
static bool is_long(const struct critical *critical, int32_t wait)
{
    const struct critical_wait *idle = critical->idle;
    int longer = 0;
    double length_s = idle[wait].end_s - idle[wait].start_s;
    for (int32_t i = 0; i < critical->idles && longer < LONGEST; i++) {
        double other_s = idle[i].end_s - idle[i].start_s;
        longer += other_s > length_s || (other_s == length_s && i < wait);
    }
    return longer < LONGEST;
}

static void say_wait(FILE *out, const struct critical *critical, const struct critical_wait *idle,
                     bool stage_too)
{
    const struct program *program = critical->waits->program;
    char op[NAMES_OP], direction[NAMES_ROUTE], time[UNITS_TEXT];
    if (idle->op < 0)
        fprintf(out, "; the end");
    else if (critical->computes == 1)
        fprintf(out, "; %s", program->stage[program->op[idle->op].stage].name);
    else if (stage_too)
        fprintf(out, "; %s", names_op(program, idle->op, op));
    else
        fprintf(out, "; step %d", program->op[idle->op].step);
    fprintf(out, " waits %s for ", units_print_time(idle->end_s - idle->start_s, time));
    struct cell cell = idle->cause.cell;
    if (program->op[cell.op].kind == OP_SEND && names_links(program, cell.op, cell.chip) > 0)
        fprintf(out, "%s", names_route(program, cell.op, cell.chip, direction));
    else
        fprintf(out, "%s of TPU:%d", names_op(program, cell.op, op), cell.chip);
}

/* Prints the longest waits in the order of time, and the sum of all others. */
static void say_waits(FILE *out, const struct critical *critical)
{
    double more_s = 0;
    bool stage_too = !one_stage(critical);
    for (int32_t i = 0; i < critical->idles; i++)
        if (is_long(critical, i))
            say_wait(out, critical, &critical->idle[i], stage_too);
        else
            more_s += critical->idle[i].end_s - critical->idle[i].start_s;
    char time[UNITS_TEXT];
    int32_t more = critical->idles - LONGEST;
    if (more > 0)
        fprintf(out, "; %d more wait%s, together %s", more, more > 1 ? "s" : "",
                units_print_time(more_s, time));
}

void critical_say(const struct critical *critical, FILE *out)
{
    if (critical->computes == 0) {
        fprintf(out, "%d %s, no compute to hide behind", critical->sends, noun(critical));
        return;
    }
    if (critical->sends == 0)
        fputs("no communication", out);
    else if (critical->hidden == critical->sends)
        fprintf(out, "all %d %s hidden", critical->sends, noun(critical));
    else
        fprintf(out, "%d of %d %s hidden", critical->hidden, critical->sends, noun(critical));
    say_waits(out, critical);
}

/* "TPU:5", for a cell of a table. */
enum { CHIP_TEXT = 24 };
static const char *chip_name(int32_t chip, char text[static CHIP_TEXT])
{
    snprintf(text, CHIP_TEXT, "TPU:%d", chip);
    return text;
}

static int print_sends(const struct critical *critical, FILE *out, struct status *st)
{
    const struct waits *waits = critical->waits;
    const struct program *program = waits->program;
    struct table table = table_of("send, of, bytes (B), start (us), end (us), took (us), exposed (us)");
    for (int32_t o = 0; o < program->ops; o++) {
        char op[NAMES_OP_ROUTE], chip[CHIP_TEXT];
        struct cell cell = critical_send(critical, o);
        if (cell.chip < 0)
            continue;
        double start_s = waits_start_s(waits, cell), end_s = waits_end_s(waits, cell);
        table_row(&table, names_op_route(program, o, cell.chip, op), chip_name(cell.chip, chip),
                  op_amount(program, &program->op[o], cell.chip), start_s, end_s, end_s - start_s,
                  critical->exposed_s[o]);
    }
    fputs("# sends that come to the critical chip, and others that it waits for: what of each is exposed\n",
          out);
    return table_end(&table, out, st);
}

static int print_waits(const struct critical *critical, FILE *out, struct status *st)
{
    const struct program *program = critical->waits->program;
    struct table table = table_of("before, from (us), to (us), waits (us), for, of");
    for (int32_t i = 0; i < critical->idles; i++) {
        const struct critical_wait *idle = &critical->idle[i];
        struct cell cause = idle->cause.cell;
        char before[NAMES_OP_ROUTE], op[NAMES_OP_ROUTE], chip[CHIP_TEXT];
        table_row(&table,
                  idle->op < 0 ? "the end" : names_op_route(program, idle->op, critical->chip, before),
                  idle->start_s, idle->end_s, idle->end_s - idle->start_s,
                  names_op_route(program, cause.op, cause.chip, op), chip_name(cause.chip, chip));
    }
    fprintf(out, "# waits of the compute queue of TPU:%d: %.3f us in all\n", critical->chip,
            critical->idle_s * 1e6);
    return table_end(&table, out, st);
}

static const char *cause_text(struct cause cause, char text[static 48])
{
    static const char *const texts[] = {[CAUSE_START] = "the program started",
                                        [CAUSE_QUEUE] = "the compute before it ended",
                                        [CAUSE_DONE] = "the chip was done with it"};
    if (cause.kind != CAUSE_ARRIVED)
        return texts[cause.kind];
    snprintf(text, 48, "it arrived from TPU:%d", cause.cell.chip);
    return text;
}

static int print_path(const struct critical *critical, FILE *out, struct status *st)
{
    const struct waits *waits = critical->waits;
    struct table table = table_of("op, on, start (us), end (us), took (us), started when");
    for (int32_t i = 0; i < critical->segments; i++) {
        const struct critical_segment *segment = &critical->segment[i];
        struct cell cell = segment->cell;
        char op[NAMES_OP_ROUTE], chip[CHIP_TEXT], cause[48];
        if (!waits_is_join(waits, cell))
            table_row(&table, names_op_route(waits->program, cell.op, cell.chip, op),
                      chip_name(cell.chip, chip), segment->start_s, segment->end_s,
                      segment->end_s - segment->start_s, cause_text(waits_cause(waits, cell, true), cause));
    }
    fputs("# critical path: each op starts when the one above it ends\n", out);
    return table_end(&table, out, st);
}

int critical_print(const struct critical *critical, FILE *out, struct status *st)
{
    fprintf(out, "# critical chip TPU:%d: ", critical->chip);
    critical_say(critical, out);
    fputc('\n', out);
    if (print_sends(critical, out, st) < 0)
        return st->code;
    if (critical->idles > 0 && critical->computes > 0 && print_waits(critical, out, st) < 0)
        return st->code;
    return print_path(critical, out, st);
}
