/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is shown of a step with experts. */
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

/* Of all layers the device that gets most rows: the others wait for it there. */
static void print_hot(const struct experts_report *r, FILE *out)
{
    const struct experts_loads *loads = r->loads;
    const struct load *hot = experts_hottest(loads->in_layer, loads->routings * loads->devices);
    const struct load *layer = loads->in_layer + (hot - loads->in_layer) / loads->devices * loads->devices;
    char place[SLICE_PLACE];
    double sent = 0;
    int chip = r->m->placement.chip_of[hot->index];
    for (int d = 0; d < loads->devices; d++)
        sent += layer[d].kept;
    fprintf(out, "# hot: chip %d %s gets %.0f rows", chip,
            slice_print_place(&r->job->machine.slice, chip, place), hot->kept);
    if (hot->layer)
        fprintf(out, " in layer %d", hot->layer);
    fprintf(out, ", %.3f of the mean\n", sent > 0 ? hot->kept * loads->devices / sent : 0);
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
    return row_groups_end(&groups, table_end(&table, out, st), st);
}

static int print_cost(const struct experts_report *r, FILE *out, struct status *st)
{
    double even_s = 0, time_s = r->run->result.time_s;
    struct lower_options even = r->m->options;
    even.rows_even = true;
    if (module_job_time(r->m, &even, &even_s, st) < 0)
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
    int chunks = r->experts->chunks;
    if (chunks > 1 && comm_s > 0)
        fprintf(out, "# chunks: %d; of %.3f us of communication %.3f us hide behind products, %.1f %%\n",
                chunks, comm_s * 1e6, hidden_s * 1e6, 100 * hidden_s / comm_s);
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
    print_hidden(r, out);
    print_hot(r, out);
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
