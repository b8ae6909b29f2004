/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables that run and compare print. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "report/report.h"
#include "report/sheet.h"

/* What names a result. In the heading if all results agree on it, else in a column of its own. */
struct label {
    const char *name;   /* of the column */
    const char *format; /* in the heading; %s is the text */
    size_t offset;
};
#define LABEL(member, name, format)                                                                          \
    {                                                                                                        \
        name, format, offsetof(struct result, member)                                                        \
    }
static const struct label labels[] = {
    LABEL(op, "op", "%s"),
    LABEL(dtype, "dtype", "of %s"),
    LABEL(chip, "chip", "on %s"),
    LABEL(slice, "slice", "%s"),
    LABEL(wrap, "wrap", "(wrap: %s),"),
    LABEL(mesh, "mesh", "mesh %s,"),
    LABEL(axes, "axes", "axes %s,"),
    LABEL(profile, "profile", "%s profile,"),
    LABEL(engine, "engine", "engine %s,"),
    LABEL(strategy, "strategy", "strategy %s,"),
    LABEL(ring, "ring", "ring %s,"),
    LABEL(fold, "folded", "folded %s,"),
    LABEL(varied, "with", "with %s,"),
};
enum { LABELS = sizeof labels / sizeof *labels };

static const char *label_text(const struct label *label, const struct result *result)
{
    return (const char *)result + label->offset;
}

static bool is_common(const struct label *label, const struct result result[], int results)
{
    for (int i = 1; i < results; i++)
        if (strcmp(label_text(label, &result[i]), label_text(label, &result[0])) != 0)
            return false;
    return true;
}

void report_heading(const struct result result[], int results, FILE *out)
{
    char line[4 * RESULT_LINE + 64] = "#";
    size_t used = 1;
    for (int l = 0; l < LABELS; l++) {
        const char *text = label_text(&labels[l], &result[0]);
        if (!*text || !is_common(&labels[l], result, results) || used + RESULT_LINE >= sizeof line)
            continue;
        line[used++] = ' ';
        used += (size_t)snprintf(line + used, sizeof line - used, labels[l].format, text);
    }
    if (line[used - 1] == ',')
        used--;
    fprintf(out, "%.*s\n", (int)used, line);
    if (*result[0].plan)
        fprintf(out, "# on each chip: %s\n", result[0].plan);
}

/* Relative difference of the simulation from a formula, in percent. */
static double percent_off(double time_s, double formula_s)
{
    return formula_s > 0 ? (time_s / formula_s - 1) * 100 : NAN;
}

/* What the columns of a table are for: sizes, bandwidths and formulas are a collective's. */
struct layout {
    bool label[LABELS];
    bool sizes, computes, compares;
};

static struct layout layout_of(const struct result result[], int results)
{
    struct layout layout = {.sizes = false};
    for (int l = 0; l < LABELS; l++)
        layout.label[l] = !is_common(&labels[l], result, results);
    for (int i = 0; i < results; i++) {
        layout.sizes |= result[i].size_bytes > 0;
        layout.computes |= result[i].compute_s > 0;
        layout.compares |= !isnan(result[i].speedup);
    }
    return layout;
}

static void add_columns(struct sheet *sheet, const struct layout *layout)
{
    if (layout->sizes)
        sheet_column(sheet, "size", "(B)");
    for (int l = 0; l < LABELS; l++)
        if (layout->label[l])
            sheet_text_column(sheet, labels[l].name);
    sheet_column(sheet, "time", "(us)");
    if (layout->sizes) {
        sheet_column(sheet, "algbw", "(GB/s)");
        sheet_column(sheet, "busbw", "(GB/s)");
        sheet_column(sheet, "formula", "(us)");
        sheet_column(sheet, "diff", "(%)");
        sheet_column(sheet, "rule", "(us)");
        sheet_column(sheet, "diff", "(%)");
    }
    sheet_column(sheet, "bound", "(us)");
    if (!layout->sizes)
        sheet_column(sheet, "over bound", "(%)");
    sheet_column(sheet, "max link", "(%)");
    sheet_column(sheet, "mean link", "(%)");
    sheet_column(sheet, "steps", "");
    if (layout->computes) {
        sheet_column(sheet, "compute", "(us)");
        sheet_column(sheet, "comm", "(us)");
        sheet_column(sheet, "exposed", "(us)");
        sheet_column(sheet, "overlap", "(%)");
    }
    if (layout->compares)
        sheet_column(sheet, "speed-up", "(x)");
}

/* Differences of rounding are no differences: they print as 0.00, never as -0.00. */
static double tidy(double percent)
{
    return fabs(percent) < 0.005 ? 0 : percent;
}

static void add_row(struct sheet *sheet, const struct result *r, const struct layout *layout)
{
    if (layout->sizes)
        sheet_count(sheet, (int64_t)r->size_bytes);
    for (int l = 0; l < LABELS; l++)
        if (layout->label[l])
            sheet_text(sheet, label_text(&labels[l], r));
    sheet_real(sheet, "%.2f", r->time_s * 1e6);
    if (layout->sizes) {
        sheet_real(sheet, "%.2f", r->algbw_Bps / 1e9);
        sheet_real(sheet, "%.2f", r->busbw_Bps / 1e9);
        sheet_real(sheet, "%.2f", r->formula_exact_s * 1e6);
        sheet_real(sheet, "%.2f", tidy(percent_off(r->time_s, r->formula_exact_s)));
        sheet_real(sheet, "%.2f", r->formula_rule_s * 1e6);
        sheet_real(sheet, "%.2f", tidy(percent_off(r->time_s, r->formula_rule_s)));
    }
    sheet_real(sheet, "%.2f", r->bound_s * 1e6);
    if (!layout->sizes)
        sheet_real(sheet, "%.1f", tidy(percent_off(r->time_s, r->bound_s)));
    sheet_real(sheet, "%.1f", r->max_link_frac * 100);
    sheet_real(sheet, "%.1f", r->mean_link_frac * 100);
    sheet_count(sheet, r->steps);
    if (layout->computes) {
        sheet_real(sheet, "%.2f", r->compute_s * 1e6);
        sheet_real(sheet, "%.2f", r->comm_s * 1e6);
        sheet_real(sheet, "%.2f", r->exposed_comm_s * 1e6);
        sheet_real(sheet, "%.1f", r->overlap_frac * 100);
    }
    if (layout->compares)
        sheet_real(sheet, "%.3f", r->speedup);
}

/* "formula: E3, E4; rule: F2", for those who want to look them up. */
static void print_ids(const struct result result[], int results, FILE *out)
{
    static const struct {
        const char *what;
        size_t offset;
    } kinds[] = {{"formula", offsetof(struct result, exact_id)}, {"rule", offsetof(struct result, rule_id)}};
    for (int k = 0; k < 2; k++) {
        int listed = 0;
        for (int i = 0; i < results; i++) {
            const char *id = (const char *)&result[i] + kinds[k].offset;
            bool before = !*id;
            for (int j = 0; j < i && !before; j++)
                before = strcmp((const char *)&result[j] + kinds[k].offset, id) == 0;
            if (!before)
                fprintf(out, "%s%s", listed++ ? ", " : k ? "; rule of thumb: " : "# formula: ", id);
        }
        if (listed == 0)
            fprintf(out, k ? "; rule of thumb: none" : "# formula: none");
    }
    fputs("; diff = time / formula - 1\n", out);
}

int report_table(const struct result result[], int results, FILE *out, struct status *st)
{
    struct layout layout = layout_of(result, results);
    struct sheet sheet = {0};
    report_heading(result, results, out);
    add_columns(&sheet, &layout);
    for (int i = 0; i < results; i++)
        add_row(&sheet, &result[i], &layout);
    int code = sheet_print(&sheet, out, st);
    if (code == 0 && layout.sizes)
        print_ids(result, results, out);
    sheet_free(&sheet);
    return code;
}

int report_compare(const struct result result[], int rows, int variants, const char *const names[], FILE *out,
                   struct status *st)
{
    struct sheet sheet = {0};
    sheet_column(&sheet, "size", "(B)");
    for (int v = 0; v < variants; v++) {
        sheet_column(&sheet, names[v], "(us)");
        if (v > 0)
            sheet_column(&sheet, "speed-up", "(x)");
    }
    sheet_text_column(&sheet, "fastest");
    for (int row = 0; row < rows; row++) {
        const struct result *r = &result[row * variants];
        int best = 0;
        sheet_count(&sheet, (int64_t)r->size_bytes);
        for (int v = 0; v < variants; v++) {
            sheet_real(&sheet, "%.2f", r[v].time_s * 1e6);
            if (v > 0)
                sheet_real(&sheet, "%.3f", r[0].time_s / r[v].time_s);
            best = r[v].time_s < r[best].time_s * (1 - 1e-9) ? v : best;
        }
        sheet_text(&sheet, names[best]);
    }
    int code = sheet_print(&sheet, out, st);
    sheet_free(&sheet);
    return code;
}
