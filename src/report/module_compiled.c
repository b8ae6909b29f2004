/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports on a program that XLA compiled: its time, attributed to the user's program. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/module_print.h"
#include "report/table.h"

/* The share of rows in the step time: their computes, and the time that the chip waits for them. */
static double share_s(const struct amounts *sum)
{
    return sum->matmul_s + sum->elementwise_s + sum->exposed_s;
}

static int larger_share_first(const void *a, const void *b)
{
    const struct row_group *left = a, *right = b;
    double left_s = share_s(&left->all.sum), right_s = share_s(&right->all.sum);
    if (left_s != right_s)
        return left_s < right_s ? 1 : -1;
    return left->first->instruction < right->first->instruction ? -1 : 1;
}

static void sort(struct row_groups *groups)
{
    if (groups->count > 0)
        qsort(groups->of, (size_t)groups->count, sizeof *groups->of, larger_share_first);
}

/* The time that no instruction accounts for, if it is more than rounding. */
static double rest_of(const struct row_groups *groups, double total_s)
{
    double rest_s = total_s;
    for (int32_t g = 0; g < groups->count; g++)
        rest_s -= share_s(&groups->of[g].all.sum);
    return fabs(rest_s) > 1e-6 * total_s ? rest_s : 0;
}

static int print_categories(const struct module_rows *rows, double total_s, FILE *out, struct status *st)
{
    struct row_groups categories = {0};
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++)
        row_groups_add(&categories, (const char *[]){module_row_category(rows, row), "", ""}, row, NULL);
    sort(&categories);
    fputs("# by category: bytes of HBM, of collectives those of the whole arrays; bytes that a device puts "
          "on links; of the step collectives, and copies that go on beside computes, have what is exposed, "
          "others all of their time\n",
          out);
    struct table table = table_of(
        "category, count (), operations ()%.4g, bytes (), on links (B), time (us), exposed (us), share (%)");
    for (const struct row_group *c = categories.of; c < categories.of + categories.count; c++) {
        const struct amounts *sum = &c->all.sum;
        bool communicates = c->first->collective >= 0;
        table_row(&table, c->key[0], sum->executions, communicates ? NAN : sum->flops,
                  communicates ? sum->bytes : sum->hbm_bytes, communicates ? sum->ici_bytes : NAN,
                  sum->time_s, communicates || sum->exposed_s > 0 ? sum->exposed_s : NAN,
                  share_s(sum) / total_s);
    }
    double rest_s = rest_of(&categories, total_s);
    if (rest_s != 0)
        table_row(&table, "idle", NAN, NAN, NAN, NAN, rest_s, NAN, rest_s / total_s);
    return row_groups_end(&categories, &table, out, st);
}

static int most_first(const void *a, const void *b)
{
    const struct ranked_row *left = a, *right = b;
    if (left->seconds != right->seconds)
        return left->seconds < right->seconds ? 1 : -1;
    return left->row->instruction < right->row->instruction ? -1 : 1;
}

struct ranked_row *module_rank(const struct module_rows *rows, bool only_collectives, double total_s,
                               int32_t *count)
{
    struct ranked_row *ranked = malloc(((size_t)rows->rows + 1) * sizeof *ranked);
    *count = 0;
    for (struct module_row *row = rows->row; ranked && row < rows->row + rows->rows; row++) {
        double seconds = only_collectives ? row->sum.exposed_s : row->sum.time_s;
        if (seconds > 1e-6 * total_s && (!only_collectives || row->collective >= 0))
            ranked[(*count)++] = (struct ranked_row){seconds, row};
    }
    if (*count > 0)
        qsort(ranked, (size_t)*count, sizeof *ranked, most_first);
    return ranked;
}

/* "model.py:20" of "/home/me/model.py:20". */
static const char *short_source(const struct module_rows *rows, const struct module_row *row,
                                char text[static SOURCE_TEXT])
{
    const char *source = module_source(&rows->sources, row->instruction, text), *slash = strrchr(source, '/');
    return slash ? slash + 1 : source;
}

int module_print_slowest(const struct module_rows *rows, double total_s, FILE *out, struct status *st)
{
    enum { OPS = 7, HBM, SOURCE = 10, OP_NAME };
    int32_t count;
    struct ranked_row *slowest = module_rank(rows, false, total_s, &count);
    if (!slowest)
        return status_nomem(st);
    struct table table = table_of(
        "instruction, ?category, bound, count (), each (us), all (us), share (%), ?rate (Top/s)%.1f, "
        "?HBM (GB/s)%.1f, ?intensity (op/B)%.1f, source, op_name");
    table.most = rows->width;
    table.column[OPS].scale = 1e-12;
    table.column[HBM].scale = 1e-9;
    table.column[SOURCE].hidden = table.column[OP_NAME].hidden = rows->job->of_model;
    fprintf(
        out,
        "# the instructions that take longest, of %d that take time; rate over intensity, operations of a "
        "byte of HBM, is a point on the roofline\n",
        count);
    for (int32_t r = 0; r < count && r < MODULE_TOP; r++) {
        const struct module_row *row = slowest[r].row;
        const struct amounts *sum = &row->sum;
        char source[SOURCE_TEXT], op_name[SOURCE_TEXT];
        bool computes = sum->flops > 0, reads = sum->hbm_bytes > 0;
        table_row(&table, module_name_at(&rows->job->module, row->instruction),
                  module_row_category(rows, row), module_row_bound(rows, row), sum->executions,
                  sum->time_s / sum->executions, sum->time_s, share_s(sum) / total_s,
                  computes ? sum->flops / sum->time_s : NAN, reads ? sum->hbm_bytes / sum->time_s : NAN,
                  computes && reads ? sum->flops / sum->hbm_bytes : NAN, short_source(rows, row, source),
                  module_op_name(&rows->job->module, row->instruction, op_name));
    }
    free(slowest);
    return table_end(&table, out, st);
}

int module_print_exposed(const struct module_rows *rows, double total_s, FILE *out, struct status *st)
{
    int32_t count;
    char head[256];
    struct ranked_row *exposed = module_rank(rows, true, total_s, &count);
    if (!exposed)
        return status_nomem(st);
    snprintf(
        head, sizeof head,
        "collective, ?kind, groups, ?on, bytes (B), count (), each (us), exposed (us), share (%%), %s%s%s"
        "source, op_name",
        rows->gains ? "saves (us), " : "", rows->gains ? algorithm_name(rows->job->options.algorithm) : "",
        rows->gains ? " (us), uni (us), bidi (us), bidi-half (us), " : "");
    struct table table = table_of(head);
    table.most = rows->width;
    if (count > 0)
        fprintf(
            out, "# the collectives that the chip waits for most, of %d that it waits for%s\n", count,
            rows->gains
                ? "; saves is what the step, simulated again, takes less where this one takes no time; then "
                  "one execution alone, as it is and by each kind of ring"
                : "");
    for (int32_t r = 0; r < count && r < MODULE_TOP; r++) {
        const struct module_row *row = exposed[r].row;
        char groups[MODULE_ROW_TEXT];
        table_text(&table, module_name_at(&rows->job->module, row->instruction));
        table_text(&table, module_row_opcode(rows, row));
        table_text(&table, module_row_groups(rows, row, groups));
        table_text(&table, row->layout ? row->layout->text : "shortest routes");
        table_number(&table, row->bytes);
        table_number(&table, row->sum.executions);
        table_number(&table, row->sum.time_s / row->sum.executions);
        table_number(&table, row->sum.exposed_s);
        table_number(&table, row->sum.exposed_s / total_s);
        for (int g = 0; g < GAINS && rows->gains; g++)
            table_number(&table, row->gain_s[g]);
        char source[SOURCE_TEXT], op_name[SOURCE_TEXT];
        table_text(&table, short_source(rows, row, source));
        table_text(&table, module_op_name(&rows->job->module, row->instruction, op_name));
    }
    free(exposed);
    if (count == 0)
        table_free(&table);
    return count == 0 ? 0 : table_end(&table, out, st);
}

/* Prints the loops without a known trip count. */
static void print_trips(const struct module_rows *rows, FILE *out)
{
    const struct lower *lower = &rows->job->lower;
    const struct module *module = &rows->job->module;
    int32_t printed = -1, all = 0;
    /* a loop has a row at its first run, and one more for each further run */
    for (int32_t i = 0; i < module->instructions; i++)
        for (int32_t l = 0; l < lower->loops && module_at(module, i)->opcode == HLO_WHILE; l++)
            if (lower->loop[l].instruction == i && printed != i && module_trips_are_inferred(module, i)) {
                fprintf(out, "%s %s %lld", all++ ? "," : "# trips of loops, found from their conditions:",
                        module_name_at(module, i), (long long)lower->loop[l].trips);
                printed = i;
            }
    if (all)
        fputc('\n', out);
}

int module_print_compiled(const struct module_rows *rows, double total_s, FILE *out, struct status *st)
{
    if (print_categories(rows, total_s, out, st) < 0 || module_print_slowest(rows, total_s, out, st) < 0 ||
        module_print_exposed(rows, total_s, out, st) < 0 || module_print_why(rows, out, st) < 0)
        return st->code;
    print_trips(rows, out);
    return 0;
}

int module_print_by(const struct module_rows *rows, const char *by, double total_s, FILE *out,
                    struct status *st)
{
    const double least_frac = 1e-3;
    struct row_groups groups = {0};
    int32_t printed = 0;
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++) {
        char text[SOURCE_TEXT];
        const char *key = strcmp(by, "source") == 0 ? module_source(&rows->sources, row->instruction, text)
                          : strcmp(by, "op_name") == 0
                              ? module_op_name(&rows->job->module, row->instruction, text)
                              : module_row_layer(rows, row, text);
        row_groups_add(&groups, (const char *[]){key, "", ""}, row, NULL);
    }
    sort(&groups);
    struct table table =
        table_of("share (%), products (us), others (us), collectives (us), exposed (us), what");
    table.column[5].name = by;
    for (; printed < groups.count; printed++) {
        const struct amounts *sum = &groups.of[printed].all.sum;
        if (share_s(sum) < least_frac * total_s)
            break;
        table_row(&table, share_s(sum) / total_s, sum->matmul_s, sum->elementwise_s, sum->collective_s,
                  sum->exposed_s, groups.of[printed].key[0]);
    }
    if (!groups.failed)
        fprintf(
            out,
            "# by %s: the share of the step is products, others and what of collectives is exposed; %d below "
            "0.1 %% each\n",
            by, groups.count - printed);
    return row_groups_end(&groups, &table, out, st);
}
