/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "metrics/critical.h"

#include <stdlib.h>

#include "metrics/names.h"

static struct critical_segment segment_of(const struct waits *waits, struct cell cell)
{
    return (struct critical_segment){cell, waits_start_s(waits, cell), waits_end_s(waits, cell),
                                     waits_cause(waits, cell, false)};
}

/* A cause has a lower op index than its effect, so a path has at most as many segments as there are ops. */
static void find_path(struct critical *critical)
{
    struct cell cell = waits_last(critical->waits, critical->chip);
    while (cell.op >= 0) {
        struct critical_segment *segment = &critical->segment[critical->segments++];
        *segment = segment_of(critical->waits, cell);
        cell = segment->cause.kind == CAUSE_START ? (struct cell){-1, -1} : segment->cause.cell;
    }
    for (int32_t i = 0, j = critical->segments - 1; i < j; i++, j--) {
        struct critical_segment swap = critical->segment[i];
        critical->segment[i] = critical->segment[j];
        critical->segment[j] = swap;
    }
}

/* Follows the path that leads to the cause of a wait, back to the time at which the wait began. */
static void expose(struct critical *critical, const struct critical_wait *idle)
{
    struct cause cause = idle->cause;
    while (cause.kind != CAUSE_START) {
        struct critical_segment segment = segment_of(critical->waits, cause.cell);
        double from_s = segment.start_s > idle->start_s ? segment.start_s : idle->start_s;
        double to_s = segment.end_s < idle->end_s ? segment.end_s : idle->end_s;
        if (to_s - from_s > critical->waits->slack_s) {
            critical->exposed_s[cause.cell.op] += to_s - from_s;
            critical->exposed_on[cause.cell.op] = cause.cell.chip;
        }
        if (segment.start_s <= idle->start_s + critical->waits->slack_s)
            break;
        cause = segment.cause;
    }
}

static void add_wait(struct critical *critical, int32_t op, double start_s, double end_s, struct cause cause)
{
    if (end_s - start_s <= critical->waits->slack_s || cause.kind == CAUSE_START)
        return; /* a queue never idles without a cause, unless the trace is wrong */
    struct critical_wait *idle = &critical->idle[critical->idles++];
    *idle = (struct critical_wait){op, start_s, end_s, cause};
    critical->idle_s += end_s - start_s;
    expose(critical, idle);
}

static void find_waits(struct critical *critical)
{
    const struct waits *waits = critical->waits;
    double busy_until_s = 0;
    for (int32_t o = 0; o < waits->program->ops; o++) {
        struct cell cell = {o, critical->chip};
        if (waits->program->op[o].kind != OP_COMPUTE || !waits_takes_part(waits, cell))
            continue;
        critical->computes++;
        add_wait(critical, o, busy_until_s, waits_start_s(waits, cell), waits_cause(waits, cell, true));
        busy_until_s = waits_end_s(waits, cell);
    }
    struct cell last = waits_last(waits, critical->chip);
    if (last.op >= 0)
        add_wait(critical, -1, busy_until_s, waits_end_s(waits, last), waits_of_end(waits, last));
}

struct cell critical_send(const struct critical *critical, int32_t op)
{
    const struct waits *waits = critical->waits;
    struct cell cell = {op, -1};
    if (waits->program->op[op].kind != OP_SEND)
        return cell;
    cell.chip = critical->exposed_on[op];
    if (cell.chip >= 0)
        return cell;
    cell.chip = waits_sender(waits, (struct cell){op, critical->chip});
    if (cell.chip >= 0 && names_links(waits->program, op, cell.chip) == 0)
        cell.chip = -1;
    return cell;
}

int critical_init(struct critical *critical, const struct waits *waits, struct status *st)
{
    size_t ops = (size_t)waits->program->ops;
    *critical = (struct critical){.waits = waits, .chip = waits_critical_chip(waits)};
    critical->segment = malloc((ops + 1) * sizeof *critical->segment);
    critical->idle = malloc((ops + 1) * sizeof *critical->idle);
    critical->exposed_s = calloc(ops + 1, sizeof *critical->exposed_s);
    critical->exposed_on = malloc((ops + 1) * sizeof *critical->exposed_on);
    if (!critical->segment || !critical->idle || !critical->exposed_s || !critical->exposed_on) {
        critical_free(critical);
        return status_nomem(st);
    }
    for (size_t o = 0; o < ops; o++)
        critical->exposed_on[o] = -1;
    find_path(critical);
    find_waits(critical);
    for (int32_t o = 0; o < waits->program->ops; o++) {
        if (critical_send(critical, o).chip < 0)
            continue;
        critical->sends++;
        critical->hidden += !(critical->exposed_s[o] > 0);
    }
    return 0;
}

void critical_free(struct critical *critical)
{
    free(critical->segment);
    free(critical->idle);
    free(critical->exposed_s);
    free(critical->exposed_on);
    *critical = (struct critical){0};
}
