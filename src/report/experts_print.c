/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/experts_print.h"

#include <stdlib.h>
#include <string.h>

#include "metrics/metrics.h"
#include "report/sheet.h"

enum { SHOWN = 8 };

/* One expert or one chip: what came to it. */
struct load {
    int index;
    double routed, kept;
};

static int by_kept(const void *a, const void *b)
{
    const struct load *left = a, *right = b;
    if (left->kept > right->kept || left->kept < right->kept)
        return left->kept > right->kept ? -1 : 1;
    return left->index - right->index;
}

struct experts_report {
    const struct job *job;
    const struct module_job *m;
    const struct routing *routing;
    const struct dispatch *dispatch;
    const struct run *run;
    struct groups groups; /* of the experts' axis */
    struct load *expert, *device;
    double mean; /* rows of a device */
};

/* Of expert e the devices that have it are those at its position in each group; `load` sums over all groups. */
static void count_loads(struct experts_report *r)
{
    const struct dispatch *d = r->dispatch;
    int each = d->experts / d->peers;
    for (int e = 0; e < d->experts; e++)
        r->expert[e].index = e;
    for (int i = 0; i < d->devices; i++)
        r->device[i].index = i;
    for (int at = 0; at < d->devices; at++) {
        int from = r->groups.member[at];
        const int *member = r->groups.member + at / d->peers * d->peers;
        for (int e = 0; e < d->experts; e++) {
            int64_t slot = (int64_t)from * d->experts + e;
            double routed = (double)r->routing->routed[slot], kept = (double)d->kept[slot];
            r->expert[e].routed += routed;
            r->expert[e].kept += kept;
            r->device[member[e / each]].routed += routed;
            r->device[member[e / each]].kept += kept;
            r->mean += kept / d->devices;
        }
    }
}

static int print_loads(const char *what, const struct load *load, int count, double mean, FILE *out,
                       struct status *st)
{
    struct sheet sheet = {0};
    struct load *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    if (!sorted)
        return status_nomem(st);
    memcpy(sorted, load, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_kept);
    fprintf(out, "# load by %s, the largest of %d: rows that were routed to it, and that came\n", what,
            count);
    sheet_column(&sheet, what, "");
    sheet_column(&sheet, "routed", "");
    sheet_column(&sheet, "dropped", "");
    sheet_column(&sheet, "rows", "");
    sheet_column(&sheet, "of mean", "");
    for (int i = 0; i < count && i < SHOWN; i++) {
        sheet_count(&sheet, sorted[i].index);
        sheet_real(&sheet, "%.0f", sorted[i].routed);
        sheet_real(&sheet, "%.0f", sorted[i].routed - sorted[i].kept);
        sheet_real(&sheet, "%.0f", sorted[i].kept);
        sheet_real(&sheet, "%.3f", mean > 0 ? sorted[i].kept / mean : 0);
    }
    int code = sheet_print(&sheet, out, st);
    sheet_free(&sheet);
    free(sorted);
    return code;
}

static const struct load *hottest(const struct load load[], int count)
{
    const struct load *most = load;
    for (int i = 1; i < count; i++)
        if (load[i].kept > most->kept)
            most = &load[i];
    return most;
}

/* Where a device is: "chip 5 (1,1)". */
static void print_place(const struct experts_report *r, int device, FILE *out)
{
    char place[SLICE_PLACE];
    int chip = r->m->placement.chip_of[device];
    fprintf(out, "chip %d %s", chip, slice_print_place(&r->job->machine.slice, chip, place));
}

/* The tokens' way there, if the rows say what it took: its bytes into the hot chip cannot come faster than its links let them. */
static void print_hot(const struct experts_report *r, const struct module_rows *rows, FILE *out)
{
    const struct slice *slice = &r->job->machine.slice;
    const struct load *hot = hottest(r->device, r->dispatch->devices);
    int chip = r->m->placement.chip_of[hot->index], ports = 0;
    double in_Bps = 0, own = 0;
    for (int link = 0; link < slice_link_ids(slice); link++)
        if (slice_is_link(slice, link) && slice_link_end(slice, link) == chip) {
            in_Bps += slice_link_Bps(slice, link);
            ports++;
        }
    int position = 0;
    for (int at = 0; at < r->dispatch->devices; at++)
        position = r->groups.member[at] == hot->index ? at % r->dispatch->peers : position;
    own = (double)r->dispatch->size[(int64_t)hot->index * r->dispatch->peers + position];
    fputs("# hot: ", out);
    print_place(r, hot->index, out);
    fprintf(out, " gets %.0f rows, %.3f of the mean", hot->kept, r->mean > 0 ? hot->kept / r->mean : 0);
    for (int32_t i = 0; i < rows->rows; i++) {
        const struct module_row *row = &rows->row[i];
        char what[16], phase[8];
        if (row->collective < 0 || !module_label(&r->m->module, row->collective, "what", what, sizeof what) ||
            !module_label(&r->m->module, row->collective, "phase", phase, sizeof phase) ||
            strcmp(what, "tokens") != 0 || strcmp(phase, "fwd") != 0 || ports == 0)
            continue;
        double sent = 0;
        for (int d = 0; d < r->dispatch->devices; d++)
            sent += r->device[d].kept;
        double bytes = sent > 0 ? (hot->kept - own) * (row->bytes / sent) : 0;
        fprintf(out,
                "; of its tokens%s %.0f B come over %d links, which takes %.3f us; all are sent in %.3f us",
                r->m->step.model.experts->chunks > 1 ? " in a chunk" : "", bytes, ports, bytes / in_Bps * 1e6,
                row->time_s * 1e6);
        break;
    }
    fputs("\n", out);
}

/* The last chip to end, and what it had to do. */
static void print_last(const struct experts_report *r, FILE *out)
{
    const struct trace *trace = &r->run->timing.trace;
    if (r->run->timing.fold.orbit > 1)
        return;
    int chip = trace_critical_chip(trace), device = 0;
    double mean_s = 0;
    for (int d = 0; d < r->dispatch->devices; d++) {
        device = r->m->placement.chip_of[d] == chip ? d : device;
        mean_s += trace->chip_busy_s[r->m->placement.chip_of[d]] / r->dispatch->devices;
    }
    const struct load *hot = hottest(r->device, r->dispatch->devices);
    fputs("# ends last: ", out);
    print_place(r, device, out);
    fprintf(out, ", with %.0f rows, %.3f of the mean, and %.3f us of computes (mean %.3f us): ",
            r->device[device].kept, r->mean > 0 ? r->device[device].kept / r->mean : 0,
            trace->chip_busy_s[chip] * 1e6, mean_s * 1e6);
    if (device == hot->index)
        fputs("it is the hot chip\n", out);
    else {
        fputs("it waits for results of ", out);
        print_place(r, hot->index, out);
        fputs(", the hot one\n", out);
    }
}

static int print_link(const struct experts_report *r, FILE *out, struct status *st)
{
    const struct slice *slice = &r->job->machine.slice;
    int links = slice_link_ids(slice), most = -1;
    double *bytes = malloc(((size_t)links + 1) * sizeof *bytes), time_s = r->run->result.time_s;
    char place[SLICE_PLACE];
    int code = bytes ? metrics_link_bytes(&r->job->program, bytes, st) : status_nomem(st);
    for (int link = 0; code == 0 && link < links; link++)
        if (slice_is_link(slice, link) && (most < 0 || bytes[link] > bytes[most]))
            most = link;
    if (code == 0 && most >= 0)
        fprintf(out, "# hottest link: from chip %d %s %c%c, %.0f B, busy %.1f %% of the time\n",
                slice_link_start(slice, most), slice_print_place(slice, slice_link_start(slice, most), place),
                slice_axis_name(slice_link_axis(slice, most)), slice_link_sign(most) > 0 ? '+' : '-',
                bytes[most], time_s > 0 ? 100 * bytes[most] / (slice_link_Bps(slice, most) * time_s) : 0);
    free(bytes);
    return code;
}

/* What each exchange takes, and the products between them: rows by phase and label. */
static int print_exchanges(const struct experts_report *r, const struct module_rows *rows, FILE *out,
                           struct status *st)
{
    static const char *const phases[] = {"fwd", "bwd"};
    static const char *const whats[] = {"sizes",         "offsets", "tokens",  "gates",
                                        "local experts", "results", "experts", "w"};
    struct sheet sheet = {0};
    fputs("# dispatch, products and return: collectives from issue to end; exposed is what the chip waited\n",
          out);
    sheet_text_column(&sheet, "phase");
    sheet_text_column(&sheet, "what");
    sheet_text_column(&sheet, "by");
    sheet_column(&sheet, "count", "");
    sheet_column(&sheet, "bytes", "(B)");
    sheet_column(&sheet, "time", "(us)");
    sheet_column(&sheet, "exposed", "(us)");
    for (size_t p = 0; p < sizeof phases / sizeof *phases; p++)
        for (size_t w = 0; w < sizeof whats / sizeof *whats; w++)
            for (int sends = 1; sends >= 0; sends--) {
                double count = 0, bytes = 0, time_s = 0, exposed_s = 0;
                for (int32_t i = 0; i < rows->rows; i++) {
                    const struct module_row *row = &rows->row[i];
                    char what[24] = "", phase[8] = "";
                    int32_t at = row->collective >= 0 ? row->collective : row->instruction;
                    module_label(&r->m->module, at, "what", what, sizeof what);
                    module_label(&r->m->module, at, "phase", phase, sizeof phase);
                    if ((row->collective >= 0) != sends || (!sends && !row->product) ||
                        strcmp(what, whats[w]) != 0 || strcmp(phase, phases[p]) != 0)
                        continue;
                    count += row->executions;
                    bytes += row->bytes * row->executions;
                    time_s += row->time_s;
                    exposed_s += row->exposed_s;
                }
                if (count <= 0)
                    continue;
                sheet_text(&sheet, phases[p]);
                sheet_text(&sheet, whats[w]);
                sheet_text(&sheet, sends ? "collectives" : "products");
                sheet_real(&sheet, "%.0f", count);
                sheet_real(&sheet, "%.0f", bytes);
                sheet_real(&sheet, "%.3f", time_s * 1e6);
                sheet_real(&sheet, "%.3f", exposed_s * 1e6);
            }
    int code = sheet_print(&sheet, out, st);
    sheet_free(&sheet);
    return code;
}

static int print_cost(const struct experts_report *r, FILE *out, struct status *st)
{
    double even_s = 0, time_s = r->run->result.time_s;
    if (module_job_even_s(r->m, &even_s, st) < 0)
        return st->code;
    fprintf(out, "# imbalance: %.3f us if all loads were alike, so it costs %.3f us, %.1f %%\n", even_s * 1e6,
            (time_s - even_s) * 1e6, even_s > 0 ? 100 * (time_s - even_s) / even_s : 0);
    return 0;
}

/* What chunks are for. */
static void print_hidden(const struct experts_report *r, FILE *out)
{
    const struct result *result = &r->run->result;
    double comm_s = result->comm_s, hidden_s = comm_s - result->exposed_comm_s;
    int chunks = r->m->step.model.experts->chunks;
    if (chunks > 1 && comm_s > 0)
        fprintf(out, "# chunks: %d; of %.3f us of communication %.3f us hide behind products, %.1f %%\n",
                chunks, comm_s * 1e6, hidden_s * 1e6, 100 * hidden_s / comm_s);
}

static int print_all(struct experts_report *r, const struct module_rows *rows, FILE *out, struct status *st)
{
    const struct dispatch *d = r->dispatch;
    double all = (double)d->devices * (double)d->entries;
    int64_t dropped = dispatch_dropped(d, r->routing, -1);
    count_loads(r);
    fprintf(
        out,
        "# experts: %d on each %d devices; top-%d of %lld tokens a device; each takes %lld rows of a sender; "
        "dropped %lld of %.0f rows, %.2f %%\n",
        d->experts, d->peers, r->routing->top_k, (long long)r->routing->tokens, (long long)d->capacity,
        (long long)dropped, all, 100 * (double)dropped / all);
    int code = print_loads("expert", r->expert, d->experts, r->mean * d->devices / d->experts, out, st);
    if (code == 0)
        code = print_loads("device", r->device, d->devices, r->mean, out, st);
    if (code == 0)
        code = print_exchanges(r, rows, out, st);
    if (code < 0)
        return code;
    print_hidden(r, out);
    print_hot(r, rows, out);
    print_last(r, out);
    code = print_link(r, out, st);
    return code < 0 ? code : print_cost(r, out, st);
}

int experts_print(const struct job *job, const struct run *run, const struct module_rows *rows, FILE *out,
                  struct status *st)
{
    const struct module_job *m = module_job_of(job);
    if (!m || !m->step.model.experts)
        return 0;
    const struct model_experts *experts = m->step.model.experts;
    struct experts_report r = {
        .job = job, .m = m, .routing = &experts->routing, .dispatch = &experts->dispatch, .run = run};
    int code = groups_over_axes(&job->machine.mesh.axes, &experts->over, &r.groups, st);
    r.expert = calloc((size_t)r.dispatch->experts + 1, sizeof *r.expert);
    r.device = calloc((size_t)r.dispatch->devices + 1, sizeof *r.device);
    if (code == 0)
        code = r.expert && r.device ? print_all(&r, rows, out, st) : status_nomem(st);
    groups_free(&r.groups);
    free(r.expert);
    free(r.device);
    return code;
}
