/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes events as JSON. */
#include "report/perfetto.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "metrics/names.h"
#include "report/perfetto_events.h"

static const double total_max_s = 1e6; /* 10^18 picoseconds */

/* As they are written; what contains others comes before them. */
static int by_time(const void *x, const void *y)
{
    const struct event *a = x, *b = y;
    ORDER(a->start_ps, b->start_ps);
    ORDER(a->pid, b->pid);
    ORDER(a->tid, b->tid);
    ORDER(a->kind >= EVENT_USE, b->kind >= EVENT_USE);
    ORDER(b->end_ps, a->end_ps);
    ORDER(a->kind, b->kind);
    ORDER(a->arrow, b->arrow);
    ORDER(a->cell.op, b->cell.op);
    ORDER(a->cell.chip, b->cell.chip);
    ORDER(a->link, b->link);
    return 0;
}

static void put_text(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

static void put_int(struct json *json, const char *key, int64_t value)
{
    json_key(json, key);
    json_int(json, value);
}

static void put_us(struct json *json, const char *key, int64_t ps)
{
    json_key(json, key);
    json_number(json, "%lld.%06lld", (long long)(ps / 1000000), (long long)(ps % 1000000));
}

/* "all-gather.1" with "-start" or "-done" before its number, as XLA names the halves of an async op. */
enum { NAME = STAGE_NAME + 24 };
static const char *half_name(const char *stage, const char *half, char name[static NAME])
{
    const char *dot = strrchr(stage, '.');
    int n = dot && isdigit((unsigned char)dot[1]) ? (int)(dot - stage) : (int)strlen(stage);
    snprintf(name, NAME, "%.*s-%s%s", n, stage, half, stage + n);
    return name;
}

static const char *name_of(const struct program *program, const struct event *event, char name[static NAME])
{
    const char *stage = program->stage[program->op[event->cell.op].stage].name;
    switch (event->kind) {
    case EVENT_STEP:
        return names_op(program, event->cell.op, name);
    case EVENT_WAIT:
        return half_name(stage, "done", name);
    case EVENT_COLLECTIVE:
    case EVENT_PERMUTE:
        return half_name(stage, "start", name);
    case EVENT_USE: {
        int port = event->group - GROUP_LINKS;
        snprintf(name, NAME, "use of ICI %c%c", slice_axis_name(port / 2), port % 2 ? '-' : '+');
        return name;
    }
    case EVENT_ARROW_START:
    case EVENT_ARROW_END:
        return event->why == CAUSE_ARRIVED ? "arrived" : "done";
    default:
        return stage;
    }
}

static const char *category(const struct program *program, const struct event *event)
{
    if (event->kind == EVENT_WAIT)
        return "wait";
    bool computes = program->op[event->cell.op].kind == OP_COMPUTE;
    return computes && event->kind < EVENT_ARROW_START ? "compute" : "comm";
}

static void put_axis(struct json *json, unsigned directions)
{
    char text[4 * SLICE_AXES * 2 + 1] = "";
    int n = 0;
    for (int direction = 0; direction < 2 * SLICE_AXES; direction++)
        if (directions >> direction & 1)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%c%c", n ? " " : "",
                          slice_axis_name(direction / 2), direction % 2 ? '-' : '+');
    if (n > 0)
        put_text(json, "axis", text);
}

static void put_chip(struct json *json, const char *key, int32_t chip)
{
    char text[24];
    snprintf(text, sizeof text, "TPU:%d", chip);
    put_text(json, key, text);
}

static void put_args(struct json *json, const struct program *program, const struct event *event)
{
    const struct op *op = &program->op[event->cell.op];
    enum event_kind kind = event->kind;
    bool many = kind == EVENT_STAGE || kind == EVENT_COLLECTIVE;
    json_key(json, "args");
    json_object(json);
    if (kind == EVENT_USE) {
        json_key(json, "frac");
        json_number(json, "%.6f", event->use_frac);
        json_end(json);
        return;
    }
    if (op->kind == OP_SEND && kind != EVENT_WAIT) {
        json_key(json, "bytes");
        json_number(json, "%.15g", event->bytes);
    }
    if (op->kind == OP_SEND)
        put_axis(json, event->directions);
    put_int(json, many ? "steps" : "step", many ? event->steps : op->step);
    if (op->kind == OP_SEND && (kind == EVENT_PERMUTE || kind == EVENT_LINK || kind == EVENT_WAIT)) {
        put_int(json, "hops", names_links(program, event->cell.op, event->cell.chip));
        put_chip(json, "from", event->cell.chip);
        put_chip(json, "to", op_destination(program, op, event->cell.chip));
    }
    json_end(json);
}

static void put_event(struct json *json, const struct program *program, const struct event *event)
{
    char name[NAME];
    bool arrow = event->kind == EVENT_ARROW_START || event->kind == EVENT_ARROW_END;
    bool lasts = event->kind < EVENT_USE;
    json_object(json);
    put_text(json, "ph", lasts ? "X" : !arrow ? "C" : event->kind == EVENT_ARROW_START ? "s" : "f");
    put_int(json, "pid", event->pid);
    put_int(json, "tid", event->tid);
    put_us(json, "ts", event->start_ps);
    if (lasts)
        put_us(json, "dur", event->end_ps > event->start_ps ? event->end_ps - event->start_ps : 1);
    put_text(json, "name", name_of(program, event, name));
    put_text(json, "cat", category(program, event));
    if (arrow)
        put_int(json, "id", event->arrow);
    if (event->kind == EVENT_ARROW_END)
        put_text(json, "bp", "e"); /* it ends on the event that begins here, not on the next one */
    if (!arrow)
        put_args(json, program, event);
    json_end(json);
}

static void put_metadata(struct json *json, int32_t pid, int32_t tid, const char *what, const char *name,
                         int64_t index)
{
    json_object(json);
    put_text(json, "ph", "M");
    put_int(json, "pid", pid);
    if (tid > 0)
        put_int(json, "tid", tid);
    put_text(json, "name", what);
    json_key(json, "args");
    json_object(json);
    if (name)
        put_text(json, "name", name);
    else
        put_int(json, "sort_index", index);
    json_end(json);
    json_end(json);
}

static void process_name(const struct slice *slice, int32_t chip, char name[static NAME])
{
    int n = snprintf(name, NAME, "/device:TPU:%d (", chip);
    for (int axis = 0; axis < slice->axes; axis++)
        n += snprintf(name + n, NAME - (size_t)n, "%s%d", axis ? "," : "", slice_coord(slice, chip, axis));
    snprintf(name + n, NAME - (size_t)n, ")");
}

static void row_name(const struct slice *slice, int32_t chip, int group, int32_t row, char name[static NAME])
{
    static const char *const names[] = {"Steps", "XLA Ops", "Async XLA Ops"};
    int n;
    if (group < GROUP_LINKS) {
        n = snprintf(name, NAME, "%s", names[group]);
    } else {
        int axis = (group - GROUP_LINKS) / 2, sign = (group - GROUP_LINKS) % 2 ? -1 : 1;
        n = snprintf(name, NAME, "ICI %c%c -> TPU:%d", slice_axis_name(axis), sign < 0 ? '-' : '+',
                     slice_link_end(slice, slice_link(slice, chip, axis, sign)));
    }
    if (row > 0)
        snprintf(name + n, NAME - (size_t)n, " (%d)", row + 1);
}

static void put_rows(struct json *json, const struct events *events)
{
    const struct slice *slice = events->waits->program->slice;
    char name[NAME];
    for (int32_t c = 0; c < events->chips; c++) {
        int32_t pid = events->chip[c];
        process_name(slice, pid, name);
        put_metadata(json, pid, 0, "process_name", name, 0);
        put_metadata(json, pid, 0, "process_sort_index", NULL, pid);
        for (int group = 0; group < GROUPS; group++) {
            for (int32_t row = 0; row < events->rows[c][group]; row++) {
                int32_t tid = events->first[c][group] + row;
                row_name(slice, pid, group, row, name);
                put_metadata(json, pid, tid, "thread_name", name, 0);
                put_metadata(json, pid, tid, "thread_sort_index", NULL, tid);
            }
        }
    }
}

static int write_json(const struct events *events, const struct perfetto_options *options, FILE *out,
                      struct status *st)
{
    struct json json;
    int code = json_open(&json, out, 2, st);
    if (code < 0)
        return code;
    json_object(&json);
    put_text(&json, "displayTimeUnit", "ns");
    json_key(&json, "otherData");
    json_object(&json);
    for (int i = 0; i < options->pairs; i++)
        put_text(&json, options->manifest[i].key, options->manifest[i].value);
    put_int(&json, "chips", events->waits->program->slice->chips);
    put_int(&json, "chips_traced", events->chips);
    json_end(&json);
    json_key(&json, "traceEvents");
    json_array(&json);
    put_rows(&json, events);
    for (int64_t e = 0; e < events->count; e++)
        put_event(&json, events->waits->program, &events->event[e]);
    json_end(&json);
    json_end(&json);
    return json_close(&json, st);
}

int perfetto_write(const struct program *program, const struct fold *fold, const struct trace *trace,
                   const struct perfetto_options *options, FILE *out, struct status *st)
{
    if (!(trace->total_s <= total_max_s))
        return status_fail(st, STATUS_LIMIT,
                           "a run of %g s is too long for a trace in picoseconds; the most is %g s",
                           trace->total_s, total_max_s);
    struct waits waits = {0};
    struct events events = {0};
    int code = waits_init(&waits, program, fold, trace, st);
    if (code == 0)
        code = events_collect(&events, &waits, options->chips > 0 ? options->chips : PERFETTO_CHIPS, st);
    if (code == 0)
        code = events_place(&events, st);
    if (code == 0)
        code = events_connect(&events, st);
    if (code == 0) {
        if (events.count > 0)
            qsort(events.event, (size_t)events.count, sizeof *events.event, by_time);
        code = write_json(&events, options, out, st);
    }
    events_free(&events);
    waits_free(&waits);
    return code;
}
