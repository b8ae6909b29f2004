/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the time breakdown of a model's step, from its operations at peak speed to the whole step, and its
 * memory on a chip by kind. */
#include <stdio.h>

#include "report/module_print.h"
#include "report/table.h"
#include "study/time_breakdown.h"

/* Prints a part of the step: its time, its share, and the cumulative share. */
static void put(struct table *table, const char *name, double seconds, double total_s, double *sum_s)
{
    *sum_s += seconds;
    table_row(table, name, seconds, seconds / total_s, *sum_s);
}

int module_print_breakdown(const struct module_rows *rows, double total_s, FILE *out, struct status *st)
{
    struct time_breakdown parts;
    double sum_s = 0;
    if (!module_is_step(rows->job) || !(total_s > 0))
        return 0;
    if (time_breakdown_find(rows->job, rows->trace, total_s, &parts, st) < 0)
        return st->code;
    fputs("# where the time goes: operations of the model at the peak (their share is the MFU), done "
          "besides, products slower than the peak, what is no product, and how much longer these take beside "
          "collectives\n",
          out);
    struct table table = table_of("what, time (us), share (%), so far (us)");
    put(&table, "model at the peak", parts.model_s, total_s, &sum_s);
    put(&table, "recomputed and masked", parts.beyond_s, total_s, &sum_s);
    put(&table, "products below the peak", parts.below_peak_s, total_s, &sum_s);
    put(&table, "products bound by HBM", parts.hbm_s, total_s, &sum_s);
    put(&table, "others", parts.others_s, total_s, &sum_s);
    put(&table, "contention", parts.contention_s, total_s, &sum_s);
    for (int i = 0; i < parts.lists; i++) {
        char name[TALLY_AXES + 16];
        snprintf(name, sizeof name, "exposed over %s", parts.exposed[i].axes);
        put(&table, name, parts.exposed[i].seconds, total_s, &sum_s);
    }
    put(&table, "rest", parts.rest_s, total_s, &sum_s);
    return table_end(&table, out, st);
}

static int print_largest(const struct memory_tensor *tensor, FILE *out, struct status *st)
{
    struct table table = table_of("tensor, number (), each (B)");
    fputs("# the largest tensors of these; equal ones of all layers are one, as are the gathered weights of "
          "a layer\n",
          out);
    for (int i = 0; i < MEMORY_LARGEST && tensor[i].bytes > 0; i++)
        table_row(&table, tensor[i].name, (double)tensor[i].tensors, tensor[i].bytes);
    return table_end(&table, out, st);
}

int module_print_memory(const struct module_rows *rows, FILE *out, struct status *st)
{
    /* in the order of enum memory_kind */
    const struct model_step *step = &rows->job->step;
    const double *bytes = step->model.size.memory_bytes[step->model.remat];
    const struct memory_tensor *largest = step->model.size.largest[step->model.remat];
    double sum = 0;
    if (!rows->job->of_model || step->model.size.tokens <= 0)
        return 0;
    if (step->model.size.parameters > 0) {
        fprintf(out, "# %.0f parameters", step->model.size.parameters);
        if (step->model.size.met < step->model.size.parameters)
            fprintf(out, ", of which each token meets %.0f", step->model.size.met);
        fputs("\n", out);
    }
    fputs("# memory of a chip at its peak, in the backward loop or at the head; gathered: copies in the type "
          "of compute, and weights of layers that compute or are fetched ahead\n",
          out);
    struct table table = table_of(
        "parameters (B), gradients (B), state (B), gathered (B), activations (B), logits (B), all (B)");
    for (int kind = 0; kind < MEMORY_KINDS; kind++) {
        table_number(&table, bytes[kind]);
        sum += bytes[kind];
    }
    table_number(&table, sum);
    int code = table_end(&table, out, st);
    return code < 0 || !(largest->bytes > 0) ? code : print_largest(largest, out, st);
}
