/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives events rows on which they nest; then arrows between them, and counters of links. */
#include "report/perfetto_events.h"

#include <stdlib.h>

/* One row while it is being filled. */
struct lane {
    int64_t end_ps;       /* of all events on it */
    int64_t inner_end_ps; /* of the steps inside its stage */
    int32_t stage;        /* of the EVENT_STAGE that comes last on it, or -1 */
};

/* Sorts by row group, then time; a stage comes before its steps, an event without duration before later ones.
 * */
static int by_group(const void *x, const void *y)
{
    const struct event *a = x, *b = y;
    ORDER(a->pid, b->pid);
    ORDER(a->group, b->group);
    ORDER(a->start_ps, b->start_ps);
    ORDER(a->kind == EVENT_STEP, b->kind == EVENT_STEP);
    ORDER(a->end_ps, b->end_ps);
    ORDER(a->kind, b->kind);
    ORDER(a->cell.op, b->cell.op);
    ORDER(a->cell.chip, b->cell.chip);
    ORDER(a->link, b->link);
    return 0;
}

static int32_t stage_of(const struct events *events, const struct event *event)
{
    return events->waits->program->op[event->cell.op].stage;
}

/* The first lane where an event overlaps nothing; a step prefers the lane of its stage. */
static int32_t find_lane(const struct events *events, const struct event *event, const struct lane lane[],
                         int32_t lanes)
{
    for (int32_t l = 0; event->kind == EVENT_STEP && l < lanes; l++)
        if (lane[l].stage == stage_of(events, event) && lane[l].end_ps >= event->end_ps &&
            lane[l].inner_end_ps <= event->start_ps)
            return l;
    for (int32_t l = 0; l < lanes; l++)
        if (lane[l].end_ps <= event->start_ps)
            return l;
    return lanes;
}

static void fill_lane(const struct events *events, const struct event *event, struct lane *lane)
{
    if (event->kind == EVENT_STEP && lane->stage >= 0 && lane->end_ps >= event->end_ps) {
        lane->inner_end_ps = event->end_ps;
        return;
    }
    lane->end_ps = event->end_ps;
    lane->inner_end_ps = event->start_ps;
    lane->stage = event->kind == EVENT_STAGE ? stage_of(events, event) : -1;
}

/* Every chip has all its rows, also those of unused links. */
static void least_rows(struct events *events)
{
    const struct slice *slice = events->waits->program->slice;
    for (int32_t c = 0; c < events->chips; c++) {
        for (int g = 0; g < GROUP_LINKS; g++)
            events->rows[c][g] = 1;
        for (int axis = 0; axis < slice->axes; axis++)
            for (int minus = 0; minus < 2; minus++) {
                int link = slice_link(slice, events->chip[c], axis, minus ? -1 : 1);
                bool own = link >= 0 && (slice_link_sign(link) < 0) == (minus == 1);
                events->rows[c][GROUP_LINKS + 2 * axis + minus] = own;
            }
    }
}

static void number_rows(struct events *events)
{
    for (int32_t c = 0; c < events->chips; c++) {
        int32_t tid = 1;
        for (int g = 0; g < GROUPS; g++) {
            events->first[c][g] = tid;
            tid += events->rows[c][g];
        }
    }
    for (int64_t e = 0; e < events->count; e++) {
        struct event *event = &events->event[e];
        event->tid += events->first[events->place[event->pid]][event->group];
    }
}

int events_place(struct events *events, struct status *st)
{
    struct lane *lane = malloc(((size_t)events->count + 1) * sizeof *lane);
    if (!lane)
        return status_nomem(st);
    if (events->count > 0)
        qsort(events->event, (size_t)events->count, sizeof *events->event, by_group);
    least_rows(events);
    int32_t lanes = 0;
    for (int64_t e = 0; e < events->count; e++) {
        struct event *event = &events->event[e];
        if (e == 0 || event->pid != event[-1].pid || event->group != event[-1].group)
            lanes = 0;
        event->tid = find_lane(events, event, lane, lanes);
        if (event->tid == lanes)
            lane[lanes++] = (struct lane){.end_ps = -1, .stage = -1};
        fill_lane(events, event, &lane[event->tid]);
        int32_t *rows = &events->rows[events->place[event->pid]][event->group];
        *rows = lanes > *rows ? lanes : *rows;
    }
    free(lane);
    number_rows(events);
    return 0;
}

/* The events where arrows of a cell begin and end: the compute, or the send on its first link; -1 if it is
 * not shown. */
static int64_t *find_anchors(const struct events *events)
{
    const struct program *program = events->waits->program;
    int64_t *anchor = malloc(((size_t)program->ops * (size_t)events->chips + 1) * sizeof *anchor);
    for (int64_t i = 0; anchor && i < (int64_t)program->ops * events->chips; i++)
        anchor[i] = -1;
    for (int64_t e = 0; anchor && e < events->count; e++) {
        const struct event *event = &events->event[e];
        if (event->kind == EVENT_COMPUTE || (event->kind == EVENT_LINK && event->link == 0))
            anchor[(int64_t)event->cell.op * events->chips + events->place[event->cell.chip]] = e;
    }
    return anchor;
}

/* Adds an arrow. Both ends lie on existing events, the first one before its event ends. No arrow is drawn
 * where nothing takes time. */
static void add_arrow(struct events *events, int64_t from, int64_t to, enum cause_kind why, int64_t *arrows)
{
    struct event start = events->event[from], end = events->event[to];
    start.kind = EVENT_ARROW_START;
    end.kind = EVENT_ARROW_END;
    start.start_ps = start.end_ps > start.start_ps ? start.end_ps - 1 : start.start_ps;
    if (start.start_ps >= end.start_ps)
        return;
    start.arrow = end.arrow = ++*arrows;
    start.why = end.why = why;
    events_add(events, start);
    events_add(events, end);
}

/* Adds one arrow from every send that the cell waits for. Ids count from 1. */
static void add_arrows(struct events *events, const int64_t anchor[], struct cell cell, int64_t *arrows)
{
    const struct program *program = events->waits->program;
    const struct op *op = &program->op[cell.op];
    int64_t to = anchor[(int64_t)cell.op * events->chips + events->place[cell.chip]], first = events->count;
    for (int32_t a = op->first_after; to >= 0 && a < op->first_after + op->afters; a++) {
        struct cause cause = waits_after(events->waits, a, cell.chip);
        if (cause.kind == CAUSE_START || program->op[cause.cell.op].kind != OP_SEND ||
            events->place[cause.cell.chip] < 0)
            continue;
        int64_t from = anchor[(int64_t)cause.cell.op * events->chips + events->place[cause.cell.chip]];
        bool again = from < 0;
        for (int64_t e = first; e < events->count && !again; e += 2)
            again =
                events->event[e].cell.op == cause.cell.op && events->event[e].cell.chip == cause.cell.chip;
        if (!again)
            add_arrow(events, from, to, cause.kind, arrows);
    }
}

/* The use of a link changes when a flow begins or ends. */
struct change {
    int64_t at_ps;
    int flows;
    double use_frac;
};

static int by_time(const void *x, const void *y)
{
    const struct change *a = x, *b = y;
    ORDER(a->at_ps, b->at_ps);
    ORDER(a->flows, b->flows);
    ORDER(a->use_frac, b->use_frac);
    return 0;
}

/* Adds the counter of one link after the events first .. last of its rows. */
static void add_uses(struct events *events, int64_t first, int64_t last, struct change change[])
{
    int64_t changes = 0;
    for (int64_t e = first; e < last; e++) {
        const struct event *event = &events->event[e];
        if (!(event->use_frac > 0))
            continue;
        change[changes++] = (struct change){event->start_ps, 1, event->use_frac};
        change[changes++] = (struct change){event->end_ps, -1, -event->use_frac};
    }
    qsort(change, (size_t)changes, sizeof *change, by_time);
    struct event use = events->event[first];
    use.kind = EVENT_USE;
    use.use_frac = 0;
    use.tid = events->first[events->place[use.pid]][use.group];
    int flows = 0;
    for (int64_t i = 0; i < changes; i++) {
        flows += change[i].flows;
        use.use_frac = flows > 0 ? use.use_frac + change[i].use_frac : 0; /* no rounding residue */
        use.start_ps = use.end_ps = change[i].at_ps;
        if (i + 1 == changes || change[i + 1].at_ps > use.start_ps)
            events_add(events, use);
    }
}

static int add_counters(struct events *events, int64_t count, struct status *st)
{
    struct change *change = malloc((2 * (size_t)count + 1) * sizeof *change);
    if (!change)
        return status_nomem(st);
    for (int64_t e = 0, last; e < count; e = last) {
        for (last = e + 1; last < count; last++)
            if (events->event[last].pid != events->event[e].pid ||
                events->event[last].group != events->event[e].group)
                break;
        if (events->event[e].kind == EVENT_LINK)
            add_uses(events, e, last, change);
    }
    free(change);
    return 0;
}

int events_connect(struct events *events, struct status *st)
{
    int64_t count = events->count, arrows = 0, *anchor = find_anchors(events);
    int code = anchor ? add_counters(events, count, st) : status_nomem(st);
    for (int32_t c = 0; code == 0 && c < events->chips; c++)
        for (int32_t o = 0; o < events->waits->program->ops; o++)
            add_arrows(events, anchor, (struct cell){o, events->chip[c]}, &arrows);
    free(anchor);
    return code == 0 && events->failed ? status_nomem(st) : code;
}
