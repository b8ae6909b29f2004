/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The workload "parts": the time of a batch in the steady state, and how busy each part is. */
#include <math.h>
#include <stdlib.h>

#include "study/parts.h"

struct parts_job {
    struct parts parts;
    struct flow flow;
    double *alone_s; /* [parts + transfers] the time of each alone; NULL until it is needed */
};

/* FILL batches, and BURSTS times those in flight, are run; the last MEASURED times those in flight measure the steady
 * state: a multiple, as batches may leave in bursts. */
enum { FILL = 8, BURSTS = 12, MEASURED = 4 };

static int parts_build(struct job *job, struct status *st)
{
    struct parts_job *p = job->state;
    struct parts *parts = &p->parts;
    int in_flight = parts->point->schedule.host_transfer ? 1 : parts->point->schedule.in_flight;
    p->flow = (struct flow){.batches = BURSTS * in_flight + FILL, .in_flight = in_flight};
    return flow_build(&p->flow, parts, &job->program, st);
}

static int time_all_alone(struct parts_job *p, struct status *st)
{
    int all = p->parts.parts + p->parts.transfers, code = 0;
    if (p->alone_s)
        return 0;
    p->alone_s = calloc((size_t)all, sizeof *p->alone_s);
    if (!p->alone_s)
        return status_nomem(st);
    for (int i = 0; i < all && code == 0; i++)
        code = parts_time_alone(&p->parts, i, -1, -1, &p->alone_s[i], st);
    return code;
}

/* The longest path of a batch that begins in part `from`, with the message back that it has left. way_s[parts] is
 * scratch: the time until each part begins, negative if the path does not reach it. */
static int longest_way(struct parts_job *p, int from, double way_s[], double *most_s, struct status *st)
{
    struct parts *parts = &p->parts;
    for (int i = 0; i < parts->parts; i++)
        way_s[i] = i == from ? 0 : -1;
    for (int i = 0; i < parts->parts; i++) {
        int part = parts->order[i];
        double end_s = way_s[part] + p->alone_s[part], word_s = 0;
        if (way_s[part] < 0)
            continue;
        if (!parts->part[part].gives && part != from &&
            parts_time_alone(parts, -1, part, from, &word_s, st) < 0)
            return st->code;
        *most_s = fmax(*most_s, end_s + word_s);
        for (int t = 0; t < parts->transfers; t++) {
            double *next_s = &way_s[parts->transfer[t].to];
            if (parts->transfer[t].from == part)
                *next_s = fmax(*next_s, end_s + p->alone_s[parts->parts + t]);
        }
    }
    return 0;
}

/* The time of a batch by the formula in parts.h. */
static int find_formula(struct parts_job *p, double *time_s, struct status *st)
{
    const struct parts *parts = &p->parts;
    double *way_s = malloc((size_t)parts->parts * sizeof *way_s), most_s = 0;
    int code = way_s ? 0 : status_nomem(st);
    for (int i = 0; i < parts->parts && code == 0; i++)
        if (!parts->part[i].gets)
            code = longest_way(p, i, way_s, &most_s, st);
    free(way_s);
    *time_s = most_s / p->flow.in_flight;
    for (int i = 0; i < parts->parts + parts->transfers; i++)
        *time_s = fmax(*time_s, p->alone_s[i]);
    return code;
}

/* When a batch has left the last part. */
static double left_s(const struct parts_job *p, const struct trace *trace, int batch)
{
    double end_s = 0;
    for (int i = 0; i < p->parts.parts; i++)
        if (!p->parts.part[i].gives)
            end_s = fmax(end_s, trace->op_end_s[p->flow.step[i * p->flow.batches + batch].end]);
    return end_s;
}

/* How long a part, or (from parts.parts on) a transfer, worked on a batch; a transfer starts when it is free and the
 * part before it has ended. */
static double took_s(const struct parts_job *p, const struct trace *trace, int which, int batch)
{
    int batches = p->flow.batches, parts = p->parts.parts;
    if (which < parts) {
        const struct passage *step = &p->flow.step[which * batches + batch];
        return trace->op_end_s[step->end] - trace->op_end_s[step->begin];
    }
    const struct transfer *t = &p->parts.transfer[which - parts];
    const struct passage *sent = &p->flow.sent[(which - parts) * batches + batch];
    return trace->op_end_s[sent->end] -
           fmax(trace->op_end_s[p->flow.step[t->from * batches + batch].end], trace->op_end_s[sent[-1].end]);
}

/* "teacher=1.27e-05 teacher>student=4e-06 ...": a number for each part and transfer, in the order of a batch. */
static void print_each(const struct parts *parts, const double value[], const char *format,
                       char text[static RESULT_LINE])
{
    *text = '\0';
    for (int i = 0; i < parts->parts; i++)
        for (int t = -1; t < parts->transfers; t++) {
            const struct transfer *transfer = &parts->transfer[t < 0 ? 0 : t];
            if (t >= 0 && transfer->from != parts->order[i])
                continue;
            text_add(text, RESULT_LINE, "%s%s%s%s=", *text ? " " : "", parts->part[parts->order[i]].name,
                     t < 0 ? "" : ">", t < 0 ? "" : parts->part[transfer->to].name);
            text_add(text, RESULT_LINE, format, value[t < 0 ? parts->order[i] : parts->parts + t]);
        }
}

/* "teacher:tp=4 student:dp=4" */
static void print_meshes(const struct parts *parts, char *text, size_t room)
{
    *text = '\0';
    for (int i = 0; i < parts->parts; i++) {
        char axes[AXES_TEXT];
        text_add(text, room, "%s%s:%s", i ? " " : "", parts->part[i].name,
                 axes_print(&parts->part[i].mesh.axes, axes));
    }
}

static void print_schedule(const struct job *job, const struct parts_job *p, char text[static RESULT_LINE])
{
    char order[RESULT_LINE];
    if (!job->point->schedule.host_transfer)
        flow_print(&p->parts, text);
    else
        snprintf(text, RESULT_LINE,
                 "through the hosts, up and down over %.4g GB/s of PCIe a chip: the loop blocks, so that one "
                 "batch is in flight; what PCIe takes to begin, and what the host does itself, are not known "
                 "and not in it: %.200s",
                 job->machine.chip->pcie_Bps * 1e-9, flow_print(&p->parts, order));
}

/* The steady state: a batch leaves time_s after the one before it. Counts of ops and bytes would be of all batches,
 * and are left out. */
static int find_steady(const struct parts_job *p, const struct trace *trace, struct result *result,
                       struct status *st)
{
    int last = p->flow.batches - 1, over = MEASURED * p->flow.in_flight;
    int all = p->parts.parts + p->parts.transfers;
    double *busy = calloc((size_t)all, sizeof *busy);
    if (!busy)
        return status_nomem(st);
    result->time_s = (left_s(p, trace, last) - left_s(p, trace, last - over)) / over;
    for (int i = 0; i < all; i++)
        for (int batch = last - over + 1; batch <= last; batch++)
            busy[i] += result->time_s > 0 ? took_s(p, trace, i, batch) / over / result->time_s : 0;
    print_each(&p->parts, busy, "%.4g", result->busy);
    free(busy);
    result->transfers = result->steps = -1;
    result->compute_s = result->comm_s = result->exposed_comm_s = result->overlap_frac = NAN;
    result->link_bytes = result->max_link_bytes = NAN;
    return 0;
}

static int parts_describe(const struct job *job, const struct trace *trace, struct result *result,
                          struct status *st)
{
    struct parts_job *p = job->state;
    RESULT_PUT(result->op, job->point->work.file);
    RESULT_PUT(result->dtype, job->point->work.dtype);
    RESULT_PUT(result->reference_option, "in-flight");
    RESULT_PUT(result->reference, "1");
    print_meshes(&p->parts, result->mesh, sizeof result->mesh);
    print_schedule(job, p, result->schedule);
    int code = time_all_alone(p, st);
    if (code == 0)
        code = find_formula(p, &result->formula_exact_s, st);
    if (code < 0)
        return code;
    print_each(&p->parts, p->alone_s, "%.9g", result->parts);
    return find_steady(p, trace, result, st);
}

static int parts_job_open(struct job *job, struct status *st)
{
    struct parts_job *p = job->state;
    return parts_open(&p->parts, job->point, &job->machine, st);
}

static void parts_job_close(void *state)
{
    struct parts_job *p = state;
    parts_close(&p->parts);
    flow_free(&p->flow);
    free(p->alone_s);
}

static bool parts_match(const struct point *point)
{
    return point->work.has_parts;
}

static const char *parts_variants(const struct point *point, const char **values)
{
    (void)point;
    *values = "1,2,3";
    return "in-flight";
}

const struct parts *parts_of(const struct job *job)
{
    return job->workload == &workload_parts ? &((const struct parts_job *)job->state)->parts : NULL;
}

const struct workload workload_parts = {WORKLOAD(parts),
                                        .matches = parts_match,
                                        .ops = ON_PARTS,
                                        .called = "parts",
                                        .open = parts_job_open,
                                        .build = parts_build,
                                        .describe = parts_describe,
                                        .record = RECORD_FEW,
                                        .close = parts_job_close,
                                        .variants = parts_variants};
