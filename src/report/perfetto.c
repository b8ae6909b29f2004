/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes events as JSON. */
#include "report/perfetto.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "metrics/names.h"
#include "report/module_rows.h"
#include "report/perfetto_events.h"

static const double total_max_s = 1e6; /* 10^18 picoseconds */

/* Sorts events as they are written: an event that contains others comes before them. */
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

/* Members of an object by a list of them, "name:s pid:i": texts (s), int (i), int64_t (l), picoseconds as
 * microseconds (t), bytes (g) and shares (f) as double, and objects that are opened ({). Values that are
 * NULL, below 0 or NaN are left out. */
static void put(struct json *json, const char *members, ...)
{
    va_list list;
    va_start(list, members);
    for (const char *at = members; *at; at += strspn(at, " ")) {
        char key[24];
        size_t n = strcspn(at, ":");
        char kind = at[n + 1];
        memcpy(key, at, n);
        key[n] = '\0';
        at += n + 2;
        const char *text = kind == 's' ? va_arg(list, const char *) : NULL;
        int64_t whole = kind == 'i'                  ? va_arg(list, int)
                        : kind == 'l' || kind == 't' ? va_arg(list, int64_t)
                                                     : -1;
        double real = kind == 'g' || kind == 'f' ? va_arg(list, double) : (double)NAN;
        if (!text && whole < 0 && isnan(real) && kind != '{')
            continue;
        json_key(json, key);
        if (text)
            json_string(json, text);
        else if (kind == '{')
            json_object(json);
        else if (kind == 't')
            json_number(json, "%lld.%06lld", (long long)(whole / 1000000), (long long)(whole % 1000000));
        else if (whole >= 0)
            json_int(json, whole);
        else
            json_number(json, kind == 'g' ? "%.15g" : "%.6f", real);
    }
    va_end(list);
}

/* "all-gather.1" with "-start" or "-done" before its number, as XLA names the halves of an async op; the name may be that of
 * the first half already. */
enum { NAME = STAGE_NAME + 24 };
static const char *half_name(const char *stage, const char *half, char name[static NAME])
{
    static const char start[] = "-start";
    const char *dot = strrchr(stage, '.');
    int n = dot && isdigit((unsigned char)dot[1]) ? (int)(dot - stage) : (int)strlen(stage);
    int cut = (int)sizeof start - 1;
    int stem = n > cut && strncmp(stage + n - cut, start, (size_t)cut) == 0 ? n - cut : n;
    snprintf(name, NAME, "%.*s-%s%s", stem, stage, half, stage + n);
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

enum { AXES = 4 * SLICE_AXES * 2 + 1 };
static const char *axes_name(unsigned directions, char text[static AXES])
{
    int n = 0;
    for (int direction = 0; direction < 2 * SLICE_AXES; direction++)
        if (directions >> direction & 1)
            n += snprintf(text + n, AXES - (size_t)n, "%s%c%c", n ? " " : "", slice_axis_name(direction / 2),
                          direction % 2 ? '-' : '+');
    return n ? text : NULL;
}

/* Its op_name in the user's program; NULL if it has none. */
static const char *op_name_of(const struct perfetto_options *options, const struct event *event,
                              char text[static SOURCE_TEXT])
{
    int32_t instruction = options->instruction ? options->instruction[event->cell.op] : -1;
    if (event->kind == EVENT_USE || instruction < 0)
        return NULL;
    module_op_name(options->module, instruction, text);
    return *text ? text : NULL;
}

static void put_args(struct json *json, const struct program *program, const struct perfetto_options *options,
                     const struct event *event)
{
    const struct op *op = &program->op[event->cell.op];
    enum event_kind kind = event->kind;
    int32_t chip = event->cell.chip;
    bool send = op->kind == OP_SEND && kind != EVENT_USE;
    bool many = kind == EVENT_STAGE || kind == EVENT_COLLECTIVE;
    bool one = send && (kind == EVENT_PERMUTE || kind == EVENT_LINK || kind == EVENT_WAIT);
    char axes[AXES], from[24], to[24], op_name[SOURCE_TEXT];
    if (one) {
        snprintf(from, sizeof from, "TPU:%d", chip);
        snprintf(to, sizeof to, "TPU:%d", op_destination(program, op, chip));
    }
    put(json, "args:{ frac:f bytes:g axis:s step:i steps:i hops:i from:s to:s op_name:s",
        kind == EVENT_USE ? event->use_frac : (double)NAN,
        send && kind != EVENT_WAIT ? event->bytes : (double)NAN,
        send ? axes_name(event->directions, axes) : NULL, many || kind == EVENT_USE ? -1 : op->step,
        many ? event->steps : -1, one ? names_links(program, event->cell.op, chip) : -1, one ? from : NULL,
        one ? to : NULL, op_name_of(options, event, op_name));
    json_end(json);
}

static void put_event(struct json *json, const struct program *program,
                      const struct perfetto_options *options, const struct event *event)
{
    char name[NAME];
    bool start = event->kind == EVENT_ARROW_START, end = event->kind == EVENT_ARROW_END;
    bool lasts = event->kind < EVENT_USE;
    int64_t ps = event->end_ps > event->start_ps ? event->end_ps - event->start_ps : 1;
    json_object(json);
    /* binds the end of an arrow (bp) to the event that begins there, not to the next one */
    put(json, "ph:s pid:i tid:i ts:t dur:t name:s cat:s id:l bp:s",
        lasts   ? "X"
        : start ? "s"
        : end   ? "f"
                : "C",
        event->pid, event->tid, event->start_ps, lasts ? ps : (int64_t)-1, name_of(program, event, name),
        category(program, event), start || end ? event->arrow : (int64_t)-1, end ? "e" : NULL);
    if (!start && !end)
        put_args(json, program, options, event);
    json_end(json);
}

/* Metadata: the name of a process (tid 0) or of a thread in it, and its place in the order of these numbers.
 * */
static void put_track(struct json *json, int32_t pid, int32_t tid, const char *name)
{
    for (int order = 0; order < 2; order++) {
        char what[24];
        snprintf(what, sizeof what, "%s_%s", tid ? "thread" : "process", order ? "sort_index" : "name");
        json_object(json);
        put(json, "ph:s pid:i tid:i name:s args:{ name:s sort_index:i", "M", pid, tid ? tid : -1, what,
            order ? NULL : name,
            !order ? -1
            : tid  ? tid
                   : pid);
        json_end(json);
        json_end(json);
    }
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
    char name[NAME], place[SLICE_PLACE];
    for (int32_t c = 0; c < events->chips; c++) {
        int32_t pid = events->chip[c];
        snprintf(name, NAME, "/device:TPU:%d %s", pid, slice_print_place(slice, pid, place));
        put_track(json, pid, 0, name);
        for (int group = 0; group < GROUPS; group++) {
            for (int32_t row = 0; row < events->rows[c][group]; row++) {
                row_name(slice, pid, group, row, name);
                put_track(json, pid, events->first[c][group] + row, name);
            }
        }
    }
}

/* Writes the run's parameters and results by columns; empty ones are left out. */
static void put_result(struct json *json, const struct result *result)
{
    static const char *const names[] = {"op",   "chip",     "profile", "slice", "wrap",       "mesh",
                                        "ring", "strategy", "engine",  "dtype", "size_bytes", "time_s"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct column *column = columns;
        while (!column->name || strcmp(column->name, names[i]) != 0)
            column++;
        char number[32] = "";
        double value = column_value(column, result);
        if (!isnan(value))
            snprintf(number, sizeof number, column->kind == COLUMN_BYTES ? "%.0f" : "%.9g", value);
        const char *text = column->kind == COLUMN_TEXT ? column_text(column, result) : number;
        if (!*text)
            continue;
        json_key(json, names[i]);
        json_string(json, text);
    }
}

static bool in_span(const struct perfetto_options *options, const struct event *event)
{
    bool any = false;
    for (int i = 0; i < 2; i++) {
        const struct perfetto_span *span = &options->span[i];
        if (span->to_s > 0 && event->start_ps >= picoseconds(span->from_s) &&
            event->start_ps < picoseconds(span->to_s))
            return true;
        any |= span->to_s > 0;
    }
    return !any;
}

/* Keeps the events to show: all, those of a window, or as many as a viewer can open. Returns whether some
 * were dropped. */
static bool keep_shown(struct events *events, const struct perfetto_options *options)
{
    int64_t most = options->whole ? INT64_MAX : options->most > 0 ? options->most : PERFETTO_EVENTS;
    int64_t kept = 0;
    bool part = false;
    for (int64_t e = 0; e < events->count; e++) {
        if (options->most > 0 && events->event[e].kind == EVENT_USE)
            continue;
        bool keeps = kept < most && in_span(options, &events->event[e]);
        if (keeps)
            events->event[kept++] = events->event[e];
        part |= !keeps;
    }
    events->count = kept;
    return part;
}

/* Writes which part of the trace is shown, if some events were dropped. */
static void put_shown(struct json *json, const struct events *events, const struct perfetto_options *options,
                      bool part)
{
    const struct trace *trace = events->waits->trace;
    if (part && events->count > 0)
        put(json, "shown_from_us:t shown_to_us:t shown_layers:i", events->event[0].start_ps,
            events->event[events->count - 1].start_ps, options->layers > 0 ? options->layers : -1);
    if (options->result && trace->total_s < options->result->time_s * (1 - 1e-9))
        put(json, "traced_us:t repeated:s", picoseconds(trace->total_s),
            "equal layers and trips take as long as those that are shown; --trace-window all has every one");
}

static int write_json(struct events *events, const struct perfetto_options *options, FILE *out,
                      struct status *st)
{
    struct json json;
    int code = json_open(&json, out, 2, st);
    if (code < 0)
        return code;
    json_object(&json);
    put(&json, "displayTimeUnit:s otherData:{", "ns");
    if (options->result)
        put_result(&json, options->result);
    put(&json, "chips:i chips_traced:i", events->waits->program->slice->chips, events->chips);
    bool part = keep_shown(events, options);
    put_shown(&json, events, options, part);
    json_end(&json);
    json_key(&json, "traceEvents");
    json_array(&json);
    put_rows(&json, events);
    for (int64_t e = 0; e < events->count; e++)
        put_event(&json, events->waits->program, options, &events->event[e]);
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
    int chips = options->chips > 0 ? options->chips : PERFETTO_CHIPS;
    if (waits_init(&waits, program, fold, trace, st) == 0 &&
        events_collect(&events, &waits, chips, st) == 0 && events_place(&events, st) == 0 &&
        events_connect(&events, st) == 0) {
        if (events.count > 0)
            qsort(events.event, (size_t)events.count, sizeof *events.event, by_time);
        write_json(&events, options, out, st);
    }
    events_free(&events);
    waits_free(&waits);
    return st->code;
}
