/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the critical path says, in one sentence and in three tables. */
#include "report/critical_print.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "metrics/names.h"
#include "report/sheet.h"

enum { TOLD = 3 }; /* waits in the sentence */

struct sentence {
    char *text;
    size_t n;
};

static void say(struct sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct sentence *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(s->text + s->n, CRITICAL_TEXT - s->n, format, args);
    va_end(args);
    s->n = n < 0 ? s->n : s->n + (size_t)n < CRITICAL_TEXT ? s->n + (size_t)n : CRITICAL_TEXT - 1;
}

/* XLA's word for the sends of a decomposed collective, if all are of that kind. */
static const char *noun(const struct critical *critical)
{
    const struct program *program = critical->waits->program;
    bool permutes = critical->sends > 0;
    for (int32_t o = 0; o < program->ops && permutes; o++)
        if (critical_send(critical, o).chip >= 0)
            permutes = program->stage[program->op[o].stage].permutes;
    return permutes ? critical->sends == 1 ? "permute" : "permutes" : critical->sends == 1 ? "send" : "sends";
}

/* Do all computes of the chip belong to one stage, so that a step says it all? */
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

static int by_length(const void *a, const void *b)
{
    const struct critical_wait *x = *(const struct critical_wait *const *)a;
    const struct critical_wait *y = *(const struct critical_wait *const *)b;
    double dx_s = x->end_s - x->start_s, dy_s = y->end_s - y->start_s;
    return dx_s != dy_s ? (dx_s < dy_s) - (dx_s > dy_s) : (x > y) - (x < y);
}

static void say_wait(struct sentence *s, const struct critical *critical, const struct critical_wait *idle,
                     bool stage_too)
{
    const struct program *program = critical->waits->program;
    char op[NAMES_OP], direction[NAMES_ROUTE], time[UNITS_TEXT];
    if (idle->op < 0)
        say(s, "; the end");
    else if (critical->computes == 1)
        say(s, "; %s", program->stage[program->op[idle->op].stage].name);
    else if (stage_too)
        say(s, "; %s", names_op(program, idle->op, op));
    else
        say(s, "; step %d", program->op[idle->op].step);
    say(s, " waits %s for ", units_print_time(idle->end_s - idle->start_s, time));
    struct cell cell = idle->cause.cell;
    if (program->op[cell.op].kind == OP_SEND && names_links(program, cell.op, cell.chip) > 0)
        say(s, "%s", names_route(program, cell.op, cell.chip, direction));
    else
        say(s, "%s of TPU:%d", names_op(program, cell.op, op), cell.chip);
}

/* The longest waits, told in the order of time. `longest` is room for all. */
static void say_waits(struct sentence *s, const struct critical *critical,
                      const struct critical_wait *longest[])
{
    double rest_s = 0;
    bool stage_too = !one_stage(critical);
    for (int32_t i = 0; i < critical->idles; i++)
        longest[i] = &critical->idle[i];
    qsort(longest, (size_t)critical->idles, sizeof *longest, by_length);
    for (int32_t i = 0; i < critical->idles; i++) {
        bool told = false;
        for (int32_t k = 0; k < TOLD && k < critical->idles; k++)
            told = told || longest[k] == &critical->idle[i];
        if (told)
            say_wait(s, critical, &critical->idle[i], stage_too);
        else
            rest_s += critical->idle[i].end_s - critical->idle[i].start_s;
    }
    char time[UNITS_TEXT];
    int32_t more = critical->idles - TOLD;
    if (more > 0)
        say(s, "; %d more wait%s, together %s", more, more > 1 ? "s" : "", units_print_time(rest_s, time));
}

char *critical_sentence(const struct critical *critical, char text[static CRITICAL_TEXT])
{
    struct sentence s = {text, 0};
    text[0] = '\0';
    if (critical->computes == 0) {
        say(&s, "%d %s, no compute to hide behind", critical->sends, noun(critical));
        return text;
    }
    if (critical->sends == 0)
        say(&s, "no communication");
    else if (critical->hidden == critical->sends)
        say(&s, "all %d %s hidden", critical->sends, noun(critical));
    else
        say(&s, "%d of %d %s hidden", critical->hidden, critical->sends, noun(critical));
    const struct critical_wait **longest = malloc(((size_t)critical->idles + 1) * sizeof *longest);
    if (longest)
        say_waits(&s, critical, longest);
    free(longest);
    return text;
}

static void put_us(struct sheet *sheet, double time_s)
{
    sheet_real(sheet, "%.3f", time_s * 1e6);
}

static void put_op(struct sheet *sheet, const struct program *program, struct cell cell)
{
    char text[NAMES_OP_ROUTE];
    sheet_text(sheet, names_op_route(program, cell.op, cell.chip, text));
}

static void put_chip(struct sheet *sheet, int32_t chip)
{
    char text[24];
    snprintf(text, sizeof text, "TPU:%d", chip);
    sheet_text(sheet, text);
}

static int print_sends(const struct critical *critical, FILE *out, struct status *st)
{
    const struct waits *waits = critical->waits;
    const struct program *program = waits->program;
    struct sheet sheet = {0};
    sheet_text_column(&sheet, "send");
    sheet_text_column(&sheet, "of");
    sheet_column(&sheet, "bytes", "(B)");
    sheet_column(&sheet, "start", "(us)");
    sheet_column(&sheet, "end", "(us)");
    sheet_column(&sheet, "took", "(us)");
    sheet_column(&sheet, "exposed", "(us)");
    for (int32_t o = 0; o < program->ops; o++) {
        struct cell cell = critical_send(critical, o);
        if (cell.chip < 0)
            continue;
        put_op(&sheet, program, cell);
        put_chip(&sheet, cell.chip);
        sheet_real(&sheet, "%.0f", op_amount(program, &program->op[o], cell.chip));
        put_us(&sheet, waits_start_s(waits, cell));
        put_us(&sheet, waits_end_s(waits, cell));
        put_us(&sheet, waits_end_s(waits, cell) - waits_start_s(waits, cell));
        put_us(&sheet, critical->exposed_s[o]);
    }
    fputs("# sends that come to the critical chip, and others that it waits for: what of each is exposed\n",
          out);
    int code = sheet_print(&sheet, out, st);
    sheet_free(&sheet);
    return code;
}

static int print_waits(const struct critical *critical, FILE *out, struct status *st)
{
    const struct program *program = critical->waits->program;
    struct sheet sheet = {0};
    sheet_text_column(&sheet, "before");
    sheet_column(&sheet, "from", "(us)");
    sheet_column(&sheet, "to", "(us)");
    sheet_column(&sheet, "waits", "(us)");
    sheet_text_column(&sheet, "for");
    sheet_text_column(&sheet, "of");
    for (int32_t i = 0; i < critical->idles; i++) {
        const struct critical_wait *idle = &critical->idle[i];
        if (idle->op < 0)
            sheet_text(&sheet, "the end");
        else
            put_op(&sheet, program, (struct cell){idle->op, critical->chip});
        put_us(&sheet, idle->start_s);
        put_us(&sheet, idle->end_s);
        put_us(&sheet, idle->end_s - idle->start_s);
        put_op(&sheet, program, idle->cause.cell);
        put_chip(&sheet, idle->cause.cell.chip);
    }
    fprintf(out, "# waits of the compute queue of TPU:%d: %.3f us in all\n", critical->chip,
            critical->idle_s * 1e6);
    int code = sheet_print(&sheet, out, st);
    sheet_free(&sheet);
    return code;
}

static void put_cause(struct sheet *sheet, struct cause cause)
{
    char text[48];
    switch (cause.kind) {
    case CAUSE_START:
        sheet_text(sheet, "the program started");
        return;
    case CAUSE_QUEUE:
        sheet_text(sheet, "the compute before it ended");
        return;
    case CAUSE_ARRIVED:
        snprintf(text, sizeof text, "it arrived from TPU:%d", cause.cell.chip);
        sheet_text(sheet, text);
        return;
    case CAUSE_DONE:
        sheet_text(sheet, "the chip was done with it");
    }
}

static int print_path(const struct critical *critical, FILE *out, struct status *st)
{
    const struct waits *waits = critical->waits;
    struct sheet sheet = {0};
    sheet_text_column(&sheet, "op");
    sheet_text_column(&sheet, "on");
    sheet_column(&sheet, "start", "(us)");
    sheet_column(&sheet, "end", "(us)");
    sheet_column(&sheet, "took", "(us)");
    sheet_text_column(&sheet, "started when");
    for (int32_t i = 0; i < critical->segments; i++) {
        const struct critical_segment *segment = &critical->segment[i];
        if (waits_is_join(waits, segment->cell))
            continue;
        put_op(&sheet, waits->program, segment->cell);
        put_chip(&sheet, segment->cell.chip);
        put_us(&sheet, segment->start_s);
        put_us(&sheet, segment->end_s);
        put_us(&sheet, segment->end_s - segment->start_s);
        put_cause(&sheet, waits_cause(waits, segment->cell, true));
    }
    fputs("# critical path: each op starts when the one above it ends\n", out);
    int code = sheet_print(&sheet, out, st);
    sheet_free(&sheet);
    return code;
}

int critical_print(const struct critical *critical, FILE *out, struct status *st)
{
    char text[CRITICAL_TEXT];
    fprintf(out, "# critical chip TPU:%d: %s\n", critical->chip, critical_sentence(critical, text));
    int code = print_sends(critical, out, st);
    if (code == 0 && critical->idles > 0 && critical->computes > 0)
        code = print_waits(critical, out, st);
    if (code == 0)
        code = print_path(critical, out, st);
    return code;
}
