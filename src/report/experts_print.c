/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the report of a step with experts. */
#include <stdlib.h>
#include <string.h>

#include "metrics/metrics.h"
#include "model/experts_load.h"
#include "report/module_print.h"
#include "report/table.h"

enum { SHOWN = 8 };

static int by_kept(const void *a, const void *b)
{
    const struct load *left = a, *right = b;
    if (left->kept > right->kept || left->kept < right->kept)
        return left->kept > right->kept ? -1 : 1;
    return left->layer != right->layer ? left->layer - right->layer : left->index - right->index;
}

struct experts_report {
    const struct job *job;
    const struct module_job *m;
    const struct model_experts *experts;
    const struct run *run;
    const struct experts_loads *loads;
};

static int print_loads(const char *what, const struct load *load, int count, double mean, FILE *out,
                       struct status *st)
{
    char heads[128];
    struct load *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    if (!sorted)
        return status_nomem(st);
    memcpy(sorted, load, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_kept);
    fprintf(out, "# load by %s, the largest of %d: rows that were routed to it, and that came\n", what,
            count);
    snprintf(heads, sizeof heads, "layer (), %s (), routed (), dropped (), rows (), of mean ()%%.3f", what);
    struct table table = table_of(heads);
    table.column[0].hidden = !load->layer;
    for (const struct load *l = sorted; l < sorted + (count < SHOWN ? count : SHOWN); l++)
        table_row(&table, (double)l->layer, (double)l->index, l->routed, l->routed - l->kept, l->kept,
                  mean > 0 ? l->kept / mean : 0);
    free(sorted);
    return table_end(&table, out, st);
}

/* Prints the position of a device, "chip 5 (1,1)". */
static void print_place(const struct experts_report *r, int device, FILE *out)
{
    char place[SLICE_PLACE];
    int chip = r->m->placement.chip_of[device];
    fprintf(out, "chip %d %s", chip, slice_print_place(&r->job->machine.slice, chip, place));
}

/* The row of the exchange that sends tokens to the experts of a layer (0: of any layer); NULL if there is none. */
static const struct module_row *find_tokens(const struct experts_report *r, const struct module_rows *rows,
                                            int layer)
{
    for (int32_t i = 0; i < rows->rows; i++) {
        const struct module_row *row = &rows->row[i];
        if (row->collective >= 0 && module_has_label(&r->m->module, row->collective, "what=\"tokens\"") &&
            module_has_label(&r->m->module, row->collective, "phase=\"fwd\"") &&
            (layer == 0 || module_layer(&r->m->module, row->collective) == layer))
            return row;
    }
    return NULL;
}

/* The rows that a device sends to its own experts. */
static double own_rows(const struct experts_report *r, const struct dispatch *d, int device)
{
    int position = 0;
    for (int at = 0; at < d->devices; at++)
        position = r->experts->groups.member[at] == device ? at % d->peers : position;
    return (double)d->size[(int64_t)device * d->peers + position];
}

/* The bandwidth of all links into a chip. */
static double into_Bps(const struct slice *slice, int chip, int *ports)
{
    double in_Bps = 0;
    *ports = 0;
    for (int link = 0; link < slice_link_ids(slice); link++)
        if (slice_is_link(slice, link) && slice_link_end(slice, link) == chip) {
            in_Bps += slice_link_Bps(slice, link);
            ++*ports;
        }
    return in_Bps;
}

/* Compares the time of the tokens' exchange, if the rows have it, with its lower bound: the bytes into the
 * hot chip divided by the bandwidth of its links. */
static void print_hot(const struct experts_report *r, const struct module_rows *rows, FILE *out)
{
    const struct experts_loads *loads = r->loads;
    const struct load *hot = experts_hottest(loads->in_layer, loads->routings * loads->devices);
    int at = (int)(hot - loads->in_layer) / loads->devices, ports;
    const struct load *layer = loads->in_layer + (ptrdiff_t)at * loads->devices;
    double sent = 0, in_Bps = into_Bps(&r->job->machine.slice, r->m->placement.chip_of[hot->index], &ports);
    for (int d = 0; d < loads->devices; d++)
        sent += layer[d].kept;
    fputs("# hot: ", out);
    print_place(r, hot->index, out);
    fprintf(out, " gets %.0f rows", hot->kept);
    if (hot->layer)
        fprintf(out, " in layer %d", hot->layer);
    fprintf(out, ", %.3f of the mean", sent > 0 ? hot->kept * loads->devices / sent : 0);
    const struct module_row *row = find_tokens(r, rows, hot->layer);
    if (row && ports > 0) {
        double own = own_rows(r, &r->experts->of[at].dispatch, hot->index);
        double bytes = sent > 0 ? (hot->kept - own) * (row->bytes / sent) : 0;
        fprintf(out,
                "; of its tokens%s %.0f B come over %d links, which takes %.3f us; all are sent in %.3f us",
                r->experts->chunks > 1 ? " in a chunk" : "", bytes, ports, bytes / in_Bps * 1e6,
                row->sum.time_s * 1e6);
    }
    fputs("\n", out);
}

/* Prints which chip ends last, its load, and what it waited for. */
static void print_last(const struct experts_report *r, FILE *out)
{
    const struct trace *trace = &r->run->timing.trace;
    const struct experts_loads *loads = r->loads;
    if (r->run->timing.fold.orbit > 1)
        return;
    int chip = trace_critical_chip(trace), device = 0;
    double mean_s = 0;
    for (int d = 0; d < loads->devices; d++) {
        device = r->m->placement.chip_of[d] == chip ? d : device;
        mean_s += trace->chip_busy_s[r->m->placement.chip_of[d]] / loads->devices;
    }
    const struct load *hot = experts_hottest(loads->device, loads->devices);
    fputs("# ends last: ", out);
    print_place(r, device, out);
    fprintf(out, ", with %.0f rows%s, %.3f of the mean, and %.3f us of computes (mean %.3f us): ",
            loads->device[device].kept, loads->routings > 1 ? " of all layers" : "",
            loads->mean > 0 ? loads->device[device].kept / loads->mean : 0, trace->chip_busy_s[chip] * 1e6,
            mean_s * 1e6);
    if (loads->routings > 1)
        fputs("in each layer all wait for the chip that is hot there\n", out);
    else if (device == hot->index)
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
    double *bytes = metrics_link_bytes(&r->job->program, st), time_s = r->run->result.time_s;
    char place[SLICE_PLACE];
    for (int link = 0; bytes && link < links; link++)
        if (slice_is_link(slice, link) && (most < 0 || bytes[link] > bytes[most]))
            most = link;
    if (most >= 0)
        fprintf(out, "# hottest link: from chip %d %s %c%c, %.0f B, busy %.1f %% of the time\n",
                slice_link_start(slice, most), slice_print_place(slice, slice_link_start(slice, most), place),
                slice_axis_name(slice_link_axis(slice, most)), slice_link_sign(most) > 0 ? '+' : '-',
                bytes[most], time_s > 0 ? 100 * bytes[most] / (slice_link_Bps(slice, most) * time_s) : 0);
    free(bytes);
    return st->code;
}

/* Prints the times of the exchanges and of the matmuls between them, summed by phase and label. */
static int print_exchanges(const struct experts_report *r, const struct module_rows *rows, FILE *out,
                           struct status *st)
{
    static const char *const phases[] = {"fwd", "bwd"};
    static const char *const whats[] = {"sizes",         "offsets", "tokens",  "gates",
                                        "local experts", "results", "experts", "w"};
    static const char *const bys[] = {"collectives", "products"};
    enum { WHATS = sizeof whats / sizeof *whats };
    struct row_groups groups = {0};
    struct table table = table_of("phase, what, by, count (), bytes (B), time (us), exposed (us)");
    fputs("# dispatch, products and return: collectives from issue to end; exposed is what the chip waited\n",
          out);
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++) {
        char what[24] = "", phase[8] = "";
        int32_t at = row->collective >= 0 ? row->collective : row->instruction;
        module_label(&r->m->module, at, "what", what, sizeof what);
        module_label(&r->m->module, at, "phase", phase, sizeof phase);
        if (row->collective >= 0 || row->product)
            row_groups_add(&groups,
                           (const char *[]){phase, what, row->collective >= 0 ? "collectives" : "products"},
                           row, NULL);
    }
    for (size_t i = 0; i < 2 * WHATS * 2; i++) {
        const struct row_group *group =
            row_groups_find(&groups, phases[i / 2 / WHATS], whats[i / 2 % WHATS], bys[i % 2]);
        if (group && group->first)
            table_row(&table, group->key[0], group->key[1], group->key[2], group->all.sum.executions,
                      group->all.sum.bytes, group->all.sum.time_s, group->all.sum.exposed_s);
    }
    return row_groups_end(&groups, &table, out, st);
}

/* Does each device send as many rows to each other? */
static bool is_even(const struct model_experts *experts)
{
    for (int i = 0; i < experts->count; i++) {
        const struct dispatch *d = &experts->of[i].dispatch;
        for (int pair = 1; pair < d->devices * d->peers; pair++)
            if (d->size[pair] != d->size[0])
                return false;
    }
    return true;
}

static int print_cost(const struct experts_report *r, FILE *out, struct status *st)
{
    double time_s = r->run->result.time_s, even_s = time_s;
    struct lower_options even = r->m->options;
    even.rows_even = true;
    if (!is_even(r->experts) && module_job_time(r->m, &even, &even_s, st) < 0)
        return st->code;
    fprintf(out, "# imbalance: %.3f us if all loads were alike, so it costs %.3f us, %.1f %%\n", even_s * 1e6,
            (time_s - even_s) * 1e6, even_s > 0 ? 100 * (time_s - even_s) / even_s : 0);
    return 0;
}

static int print_all(const struct experts_report *r, const struct module_rows *rows, FILE *out,
                     struct status *st)
{
    const struct experts_loads *loads = r->loads;
    const struct routing *routing = &r->experts->of[0].routing;
    int experts = loads->routings * loads->each;
    fprintf(out,
            "# experts: %d on each %d devices; top-%d of %lld tokens a device; each takes %lld rows of a "
            "sender; dropped %.0f of %.0f rows, %.2f %%",
            routing->experts, routing->peers, routing->top_k, (long long)routing->tokens,
            (long long)routing->capacity, loads->dropped, loads->routed,
            100 * loads->dropped / loads->routed);
    if (loads->routings > 1)
        fprintf(out, "; %d layers, each with a routing of its own", loads->routings);
    fputs("\n", out);
    if (print_loads("expert", loads->expert, experts, loads->mean * loads->devices / experts, out, st) < 0 ||
        print_loads("device", loads->device, loads->devices, loads->mean, out, st) < 0 ||
        print_exchanges(r, rows, out, st) < 0)
        return st->code;
    print_hot(r, rows, out);
    print_last(r, out);
    return print_link(r, out, st) < 0 ? st->code : print_cost(r, out, st);
}

int experts_print(const struct job *job, const struct run *run, const struct module_rows *rows, FILE *out,
                  struct status *st)
{
    const struct module_job *m = module_job_of(job);
    const struct model_experts *experts = m ? m->step.model.experts : NULL;
    if (!experts)
        return 0;
    struct experts_loads loads = {0};
    const struct experts_report r = {.job = job, .m = m, .experts = experts, .run = run, .loads = &loads};
    if (experts_loads_count(&loads, experts, st) == 0)
        print_all(&r, rows, out, st);
    experts_loads_free(&loads);
    return st->code;
}
