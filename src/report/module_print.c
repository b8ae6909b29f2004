/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/module_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct module *module_of(const struct module_rows *rows)
{
    return &rows->job->module;
}

/* Sorts longer rows first; equal ones stay in the order of the module. */
static int longer_first(const void *a, const void *b)
{
    const struct row_group *left = a, *right = b;
    if (left->all.sum.time_s != right->all.sum.time_s)
        return left->all.sum.time_s < right->all.sum.time_s ? 1 : -1;
    return left->first->instruction < right->first->instruction ? -1 : 1;
}

/* Prints collectives by class: same opcode, groups and bytes. */
static int print_classes(const struct module_rows *rows, FILE *out, struct status *st)
{
    struct row_groups classes = {0};
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++) {
        char text[MODULE_ROW_TEXT], class[MODULE_ROW_TEXT];
        if (row->collective < 0)
            continue;
        snprintf(class, sizeof class, "%.17g %p", row->bytes, (const void *)row->layout);
        row_groups_add(
            &classes,
            (const char *[]){module_row_opcode(rows, row), module_row_groups(rows, row, text), class}, row,
            NULL);
    }
    if (classes.count == 0 && !classes.failed)
        return 0;
    struct table table =
        table_of("collective, groups, ?on, bytes (B), count (), each (us), all (us), exposed (us)");
    table.most = rows->width;
    if (classes.count > 0)
        qsort(classes.of, (size_t)classes.count, sizeof *classes.of, longer_first);
    fputs("# collectives by class: bytes of the whole array of a group; times of one execution and of all\n",
          out);
    for (const struct row_group *c = classes.of; c < classes.of + classes.count; c++)
        table_row(&table, c->key[0], c->key[1], c->first->layout ? c->first->layout->text : "shortest routes",
                  c->first->bytes, c->all.sum.executions, c->all.sum.time_s / c->all.sum.executions,
                  c->all.sum.time_s, c->all.sum.exposed_s);
    return row_groups_end(&classes, &table, out, st);
}

static bool is_kernel(const struct module_rows *rows, const struct module_row *row)
{
    const char *target = module_value(module_of(rows), row->instruction, ATTR_CUSTOM_CALL_TARGET);
    return strcmp(target, "\"tpu_custom_call\"") == 0;
}

/* The name of a custom call: its target, for a Pallas kernel its own name without number, else its opcode. */
static const char *opaque_name(const struct module_rows *rows, const struct module_row *row,
                               char text[static MODULE_ROW_TEXT])
{
    const char *target = module_value(module_of(rows), row->instruction, ATTR_CUSTOM_CALL_TARGET);
    if (!is_kernel(rows, row))
        return *target ? target : module_row_opcode(rows, row);
    const char *name = module_name_at(module_of(rows), row->instruction);
    snprintf(text, MODULE_ROW_TEXT, "%.*s", (int)strcspn(name, "."), name);
    return text;
}

static int print_uncosted(const struct module_rows *rows, FILE *out, struct status *st)
{
    struct row_groups names = {0};
    double executions = 0;
    for (int other = 0; other < 2; other++) /* kernels first: they take most time */
        for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++)
            if (row->uncosted && is_kernel(rows, row) == !other) {
                char text[MODULE_ROW_TEXT];
                row_groups_add(&names, (const char *[]){opaque_name(rows, row, text), "", ""}, row, NULL);
                executions += row->sum.executions;
            }
    if (executions > 0)
        fprintf(out,
                "# not in the time, since the text does not say what they cost (--op-cost FILE does): %.0f "
                "executions of",
                executions);
    for (int32_t n = 0; n < names.count && executions > 0; n++)
        fprintf(out, "%s %s (%.0f)%s", n ? "," : "", names.of[n].key[0], names.of[n].all.sum.executions,
                n + 1 < names.count ? "" : "\n");
    return row_groups_end(&names, NULL, out, st);
}

/* Neither the compiler nor a measurement says how long a sort takes. */
static void print_sorts(const struct module_rows *rows, FILE *out)
{
    double sorts = 0;
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++)
        if (module_at(module_of(rows), row->instruction)->opcode == HLO_SORT && !row->uncosted)
            sorts += row->sum.executions;
    if (sorts > 0)
        fprintf(out, "# sorts: %.0f executions, each timed as one pass over its bytes, which is a guess\n",
                sorts);
}

/* Text does not name its chip. By estimates for its own one, the fastest of its matmuls of bf16 that take long
 * and are not bound by HBM reaches 0.67 to 0.99 of the peak. Convolutions may reach less. */
static void print_foreign(const struct module_rows *rows, FILE *out)
{
    const struct roofline *roofline = &rows->job->options.roofline;
    const double long_s = 20e-6, least_frac = 0.5, most_frac = 1.02;
    double frac = 0, peak_flops;
    char name[SOURCE_TEXT];
    struct status no_peak = {0};
    if (rows->job->options.compute == COMPUTE_ROOFLINE ||
        roofline_peak(roofline, DTYPE_BF16, &peak_flops, &no_peak) < 0)
        return;
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++) {
        struct cost cost = module_cost(module_of(rows), row->instruction);
        double cycles = module_estimated_cycles(module_of(rows), row->instruction);
        double least_s = cost.flops / peak_flops,
               bytes_s = cost.hbm_bytes * roofline->cores / roofline->hbm_Bps;
        bool matmul = strstr(module_op_name(module_of(rows), row->instruction, name), "dot_general");
        if (matmul && cost.dtype == DTYPE_BF16 && cycles > 0 && least_s >= fmax(long_s, bytes_s))
            frac = fmax(frac, least_s * roofline->chip->clock_Hz / cycles);
    }
    if (frac > 0 && (frac < least_frac || frac > most_frac))
        fprintf(
            out,
            "# estimates: the fastest large matmul reaches %.3g %% of the peak of %s: the text seems to be "
            "compiled for another chip, whose cycles these are; --compute roofline does not use them\n",
            100 * frac, roofline->chip->name);
}

static void print_totals(const struct module_rows *rows, FILE *out)
{
    struct amounts all = {0};
    for (int32_t r = 0; r < rows->rows; r++)
        amounts_add(&all, &rows->row[r].sum, 1);
    fprintf(out,
            "# on each %s: products %.6g operations in %.3f us, other instructions %.3f us, collectives "
            "%.3f us end to end\n",
            rows->job->lower.placement->cores > 1 ? "device" : "chip", all.flops, all.matmul_s * 1e6,
            all.elementwise_s * 1e6, all.collective_s * 1e6);
}

/* Prints which branches were taken for conditionals whose branch is not known from the text. */
static void print_branches(const struct module_rows *rows, FILE *out)
{
    const struct lower *lower = &rows->job->lower;
    for (int i = 0; i < lower->choices; i++) {
        const struct lowered_choice *c = &lower->choice[i];
        const char *name = module_name_at(lower->module, c->conditional);
        if (c->branch < 0)
            fprintf(out, "# %s: all branches run, one after the other\n", name);
        else
            fprintf(out, "# %s: branch %d runs%s\n", name, c->branch,
                    c->slowest ? ", the slowest; --branch names another" : "");
    }
}

/* Prints to which devices kernels send the bytes of their cost_estimate. */
static void print_remote(const struct module_rows *rows, FILE *out)
{
    const struct module *module = module_of(rows);
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++) {
        double bytes = lower_remote_bytes(module, row->instruction);
        if (bytes > 0)
            fprintf(out, "# %s: %.0f bytes a device over ICI, %s\n", module_name_at(module, row->instruction),
                    bytes,
                    module_find(module, row->instruction, ATTR_SOURCE_TARGET_PAIRS)
                        ? "by its source_target_pairs"
                        : "to the next device: its text names none");
    }
}

static int print_model(const struct module_rows *rows, double total_s, FILE *out, struct status *st)
{
    print_totals(rows, out);
    if (module_print_breakdown(rows, total_s, out, st) < 0 || module_print_memory(rows, out, st) < 0 ||
        module_print_parts(rows, out, st) < 0 || print_classes(rows, out, st) < 0)
        return st->code;
    if (rows->gains && module_print_exposed(rows, total_s, out, st) < 0)
        return st->code;
    return module_print_slowest(rows, total_s, out, st);
}

int module_print(const struct module_rows *rows, double total_s, FILE *out, struct status *st)
{
    int code = rows->job->of_model ? print_model(rows, total_s, out, st)
                                   : module_print_compiled(rows, total_s, out, st);
    if (code < 0)
        return code;
    print_branches(rows, out);
    print_remote(rows, out);
    print_sorts(rows, out);
    print_foreign(rows, out);
    code = module_print_schedules(rows, out, st);
    return code < 0 ? code : print_uncosted(rows, out, st);
}

void module_write(const struct module_rows *rows, struct csv_writer *csv)
{
    static const char *const labels[] = {"phase", "layer", "what"};
    const struct module *module = module_of(rows);
#define COLUMNS                                                                                              \
    "hlo_op_name,category,tf_op_name,source_info,occurrences,total_time_s,avg_time_s,exposed_time_s,flops,"  \
    "hbm_bytes,ici_bytes,bound_by,estimated_s,groups,phase,layer,what"
    csv_names(csv, rows->gains ? COLUMNS ",saves_s,alone_s,uni_s,bidi_s,bidi_half_s" : COLUMNS);
#undef COLUMNS
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++) {
        const struct amounts *sum = &row->sum;
        char text[MODULE_ROW_TEXT], label[3][MODULE_ROW_TEXT], op_name[SOURCE_TEXT], source[SOURCE_TEXT];
        for (int l = 0; l < 3; l++)
            if (!module_label(module, row->instruction, labels[l], label[l], sizeof label[l]))
                label[l][0] = '\0';
        csv_row(csv, rows->gains ? "ttttrrrrrrrtrttttrrrrr" : "ttttrrrrrrrtrtttt",
                module_name_at(module, row->instruction), module_row_category(rows, row),
                module_op_name(&rows->job->module, row->instruction, op_name),
                module_source(&rows->sources, row->instruction, source), sum->executions, sum->time_s,
                sum->time_s / sum->executions, sum->exposed_s, sum->flops, sum->hbm_bytes, sum->ici_bytes,
                module_row_bound(rows, row), module_row_estimated_s(rows, row),
                module_row_groups(rows, row, text), label[0], label[1], label[2], row->gain_s[GAIN_SAVES],
                row->gain_s[GAIN_ALONE], row->gain_s[GAIN_KINDS + RING_UNI],
                row->gain_s[GAIN_KINDS + RING_BIDI], row->gain_s[GAIN_KINDS + RING_BIDI_HALF]);
    }
}
