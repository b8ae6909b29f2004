/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs, built from ops or collectives, and their traces. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "faces/api.h"
#include "study/collective_job.h"
#include "study/job.h"

struct icisim_program {
    struct program program; /* the slice is borrowed */
    int32_t stage;          /* of the next ops */
    struct status fault;    /* the first fault while building */
    uint8_t *mask;          /* scratch of [chips] */
    int32_t *route;         /* scratch of [chips] */
};

struct icisim_trace {
    struct trace trace;
};

struct icisim_program *icisim_program_new(const struct icisim_slice *slice, struct icisim_status *st)
{
    struct api_call call = api_begin();
    if (!api_given(&call, slice)) {
        api_end(&call, call.st.code, st);
        return NULL;
    }
    size_t chips = (size_t)slice->machine.slice.chips;
    struct icisim_program *program = calloc(1, sizeof *program);
    if (program) {
        program_init(&program->program, &slice->machine.slice);
        program->stage = program_stage(&program->program, "program");
        program->mask = malloc(chips * sizeof *program->mask);
        program->route = malloc(chips * sizeof *program->route);
    }
    bool made = program && program->mask && program->route;
    if (api_end(&call, made ? 0 : status_nomem(&call.st), st) == 0)
        return program;
    icisim_program_free(program);
    return NULL;
}

void icisim_program_free(struct icisim_program *program)
{
    if (!program)
        return;
    program_free(&program->program);
    free(program->mask);
    free(program->route);
    free(program);
}

void icisim_program_stage(struct icisim_program *program, const char *name)
{
    program->stage = program_stage(&program->program, name);
}

/* The participants: the chips in `where` and, for a send with targets, only those with a target. */
static int32_t mask_of(struct icisim_program *program, const uint8_t where[], const int32_t to[])
{
    for (int chip = 0; chip < program->program.slice->chips; chip++)
        program->mask[chip] = (!where || where[chip]) && (!to || to[chip] >= 0);
    return program_mask(&program->program, program->mask);
}

/* Checks that the hops of a route stay within existing axes and do not go round one. */
static int check_hops(struct icisim_program *program, const struct icisim_send *send, struct hop hop[])
{
    const struct slice *slice = program->program.slice;
    struct status *st = &program->fault;
    if (send->hops < 0 || send->hops > ICISIM_HOPS)
        return status_fail(st, STATUS_INPUT, "op %d: %d hops; a route has 0 to %d", (int)program->program.ops,
                           send->hops, ICISIM_HOPS);
    for (int h = 0; h < send->hops; h++) {
        int axis = send->hop[h].axis, links = send->hop[h].links;
        if (axis < 0 || axis >= slice->axes)
            return status_fail(st, STATUS_INPUT, "op %d: a hop along axis %d; the slice has axes 0 to %d",
                               (int)program->program.ops, axis, slice->axes - 1);
        if (links <= -slice->len[axis] || links >= slice->len[axis])
            return status_fail(st, STATUS_INPUT, "op %d: a hop of %d links along an axis of %d chips",
                               (int)program->program.ops, links, slice->len[axis]);
        hop[h] = (struct hop){axis, links};
    }
    return 0;
}

/* Routes to the chips in send->to. */
static struct towards targets(struct icisim_program *program, const struct icisim_send *send, int32_t where)
{
    const struct slice *slice = program->program.slice;
    for (int chip = 0; chip < slice->chips; chip++) {
        int32_t to = send->to[chip];
        if (to >= slice->chips) {
            status_fail(&program->fault, STATUS_INPUT,
                        "op %d: chip %d sends to chip %d; the slice has chips 0 to %d",
                        (int)program->program.ops, chip, (int)to, slice->chips - 1);
            return (struct towards){0, NO_TABLE};
        }
        program->route[chip] = program_route_between(&program->program, chip, to < 0 ? chip : to);
    }
    return program_towards_table(&program->program, program->route, where);
}

int32_t icisim_program_send(struct icisim_program *program, const struct icisim_send *send)
{
    struct program *p = &program->program;
    struct hop hop[ICISIM_HOPS];
    if (check_hops(program, send, hop) < 0)
        return program->fault.code;
    struct op op = {.kind = OP_SEND,
                    .where = mask_of(program, send->where, send->to),
                    .setup_s = send->setup_s,
                    .payload = NO_PAYLOAD,
                    .stage = program->stage};
    op.towards = send->to ? targets(program, send, op.where) : program_towards(p, hop, send->hops);
    op.amount = send->bytes_of ? program_amount_table(p, send->bytes_of, op.where) : amount_of(send->bytes);
    return program->fault.code < 0 ? program->fault.code : program_add(p, op);
}

int32_t icisim_program_compute(struct icisim_program *program, const struct icisim_compute *compute)
{
    struct program *p = &program->program;
    struct op op = {.kind = OP_COMPUTE,
                    .where = mask_of(program, compute->where, NULL),
                    .towards = {0, NO_TABLE},
                    .payload = NO_PAYLOAD,
                    .stage = program->stage};
    op.amount = compute->time_of_s ? program_amount_table(p, compute->time_of_s, op.where)
                                   : amount_of(compute->time_s);
    return program_add(p, op);
}

void icisim_program_after(struct icisim_program *program, int32_t op, enum icisim_after kind)
{
    program_after(&program->program, op, kind == ICISIM_ARRIVED ? AFTER_ARRIVED : AFTER_DONE);
}

int32_t icisim_program_ops(const struct icisim_program *program)
{
    return program->program.ops;
}

static int check(const struct icisim_program *program, struct status *st)
{
    if (program->fault.code < 0)
        return status_fail(st, program->fault.code, "%s", program->fault.text);
    int code = program_close(&program->program, st);
    return code < 0 ? code : program_check(&program->program, st);
}

int icisim_program_check(const struct icisim_program *program, struct icisim_status *st)
{
    struct api_call call = api_begin();
    return api_end(&call, api_given(&call, program) ? check(program, &call.st) : call.st.code, st);
}

void icisim_program_dump(const struct icisim_program *program, FILE *out)
{
    struct api_call call = api_begin();
    program_dump(&program->program, out);
    api_end(&call, 0, NULL);
}

/* Do two slices have the same links? */
static bool same_slice(const struct slice *a, const struct slice *b)
{
    bool same = a->topology == b->topology && a->axes == b->axes &&
                memcmp(a->len, b->len, sizeof a->len) == 0 && memcmp(a->wrap, b->wrap, sizeof a->wrap) == 0;
    for (int link = 0; same && (a->link || b->link) && link < slice_link_ids(a); link++)
        same = slice_is_link(a, link) == slice_is_link(b, link); /* routes avoid dead links */
    return same;
}

static int32_t append(struct icisim_program *program, struct job *job, int32_t after, struct status *st)
{
    struct program *p = &program->program;
    if (job->workload != &workload_collective)
        return status_fail(st, STATUS_INPUT, "'%s' is no collective; only collectives can be appended",
                           job->point->work.op);
    if (!same_slice(&job->machine.slice, p->slice))
        return status_fail(st, STATUS_INPUT, "the point's slice is not that of the program");
    if (after >= p->ops)
        return status_fail(st, STATUS_INPUT, "there is no op %d to start after; the program has %d",
                           (int)after, (int)p->ops);
    int32_t done = -1;
    int code = collective_job_append(job, true, p, after, &done, st); /* its numbers are never read */
    if (code == 0 && done < 0)                                        /* nothing to do for single chips */
        return program_join(p, WHERE_ALL, program->stage);
    return code < 0 ? code : done;
}

int32_t icisim_collective_append(struct icisim_program *program, struct icisim_point *point, int32_t after,
                                 struct icisim_status *st)
{
    struct api_call call = api_begin();
    struct point said;
    struct job job = {0};
    bool open = api_given(&call, program && point) && api_point(point, &said, &call.st) == 0 &&
                job_open(&job, &said, &point->catalog, &call.st) == 0;
    int32_t done = open ? append(program, &job, after, &call.st) : call.st.code;
    job_close(&job);
    return api_end(&call, done, st);
}

/* The collective with an index in the table; beyond the last, the empty row that ends it. */
static const struct collective *collective_at(int index)
{
    const struct collective *row = collectives;
    while (row->name && index-- != 0)
        row++;
    return row;
}

const char *icisim_collective_name(int index)
{
    return collective_at(index)->name;
}

const char *icisim_collective_help(int index)
{
    return collective_at(index)->what;
}

const char *icisim_engine_name(int index)
{
    for (const struct engine *const *engine = engine_list(); *engine && index >= 0; engine++)
        if (index-- == 0)
            return (*engine)->name;
    return NULL;
}

static int run_program(const struct icisim_program *program, const char *name, struct trace *trace,
                       struct status *st)
{
    const struct engine *engine = engine_by_name(name);
    if (!engine)
        return status_fail(st, STATUS_INPUT, "'%s' is no engine; icisim_engine_name() lists them", name);
    if (check(program, st) < 0 || trace_init(trace, &program->program, true, st) < 0)
        return st->code;
    return engine_run(engine, &program->program, trace, st);
}

struct icisim_trace *icisim_trace_new(const struct icisim_program *program, const char *engine,
                                      struct icisim_status *st)
{
    struct api_call call = api_begin();
    struct icisim_trace *trace = calloc(1, sizeof *trace);
    int code = !api_given(&call, program && engine) ? call.st.code
               : trace                              ? run_program(program, engine, &trace->trace, &call.st)
                                                    : status_nomem(&call.st);
    if (api_end(&call, code, st) == 0)
        return trace;
    icisim_trace_free(trace);
    return NULL;
}

void icisim_trace_free(struct icisim_trace *trace)
{
    if (trace)
        trace_free(&trace->trace);
    free(trace);
}

double icisim_trace_total_s(const struct icisim_trace *trace)
{
    return trace->trace.total_s;
}

int icisim_trace_critical_chip(const struct icisim_trace *trace)
{
    return trace_critical_chip(&trace->trace);
}

static double time_of(const struct trace *trace, const double times_s[], int32_t op, int chip)
{
    bool there = op >= 0 && op < trace->ops && chip >= 0 && chip < trace->chips;
    return there ? times_s[(int64_t)op * trace->chips + chip] : NAN;
}

double icisim_trace_start_s(const struct icisim_trace *trace, int32_t op, int chip)
{
    return time_of(&trace->trace, trace->trace.start_s, op, chip);
}

double icisim_trace_end_s(const struct icisim_trace *trace, int32_t op, int chip)
{
    return time_of(&trace->trace, trace->trace.end_s, op, chip);
}

double icisim_trace_busy_s(const struct icisim_trace *trace, int chip)
{
    return chip >= 0 && chip < trace->trace.chips ? trace->trace.chip_busy_s[chip] : NAN;
}
