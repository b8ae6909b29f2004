/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/module_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "report/sheet.h"

enum { TOP = 10 };

static const struct module *module_of(const struct module_rows *rows)
{
    return &rows->job->module;
}

/* Collectives of one class: the same opcode, groups and bytes. */
static bool same_class(const struct module_rows *rows, const struct module_row *a, const struct module_row *b)
{
    char text[2][MODULE_ROW_TEXT];
    return strcmp(module_row_opcode(rows, a), module_row_opcode(rows, b)) == 0 && a->bytes == b->bytes &&
           a->layout == b->layout &&
           strcmp(module_row_groups(rows, a, text[0]), module_row_groups(rows, b, text[1])) == 0;
}

/* The collectives of a class as one row, by total time. */
static int32_t collect_classes(const struct module_rows *rows, struct module_row class[])
{
    int32_t classes = 0;
    for (int32_t r = 0; r < rows->rows; r++) {
        const struct module_row *row = &rows->row[r];
        int32_t c = 0;
        if (row->collective < 0)
            continue;
        while (c < classes && !same_class(rows, &class[c], row))
            c++;
        if (c == classes) {
            class[classes++] = *row;
            continue;
        }
        class[c].executions += row->executions;
        class[c].time_s += row->time_s;
        class[c].exposed_s += row->exposed_s;
    }
    return classes;
}

/* Longer ones first; what takes as long stays in the order of the module. */
static int longer_first(const void *a, const void *b)
{
    const struct module_row *left = a, *right = b;
    if (left->time_s != right->time_s)
        return left->time_s < right->time_s ? 1 : -1;
    return left->instruction < right->instruction ? -1 : left->instruction > right->instruction;
}

static int print_classes(const struct module_rows *rows, struct module_row class[], FILE *out,
                         struct status *st)
{
    static const char heads[] =
        "collective, groups, on, bytes (B), count (), each (us), all (us), exposed (us)";
    struct sheet sheet = {0};
    int32_t classes = collect_classes(rows, class);
    char text[MODULE_ROW_TEXT];
    if (classes == 0)
        return 0;
    qsort(class, (size_t)classes, sizeof *class, longer_first);
    fputs("# collectives by class: bytes of the whole array of a group; times of one execution and of all\n",
          out);
    sheet_columns(&sheet, heads);
    for (const struct module_row *c = class; c < class + classes; c++)
        sheet_row(&sheet, module_row_opcode(rows, c), module_row_groups(rows, c, text),
                  c->layout ? c->layout->text : "shortest routes", c->bytes, c->executions,
                  c->time_s / c->executions, c->time_s, c->exposed_s);
    return sheet_end(&sheet, out, st);
}

/* The rows that come first, of which so few are shown that nothing needs to be sorted. Returns how many. */
static int find_top(const struct module_rows *rows, const struct module_row *top[TOP])
{
    int count = 0;
    for (int32_t r = 0; r < rows->rows; r++) {
        const struct module_row *row = &rows->row[r];
        if (!(row->time_s > 0) || (count == TOP && longer_first(row, top[TOP - 1]) > 0))
            continue;
        int place = count < TOP ? count++ : TOP - 1;
        for (; place > 0 && longer_first(row, top[place - 1]) < 0; place--)
            top[place] = top[place - 1];
        top[place] = row;
    }
    return count;
}

static const char *bound_of(const struct module_row *row)
{
    return row->collective >= 0 ? "ICI" : bound_kind_name(row->product ? row->bound : BOUND_HBM);
}

static int print_top(const struct module_rows *rows, double total_s, FILE *out, struct status *st)
{
    static const char heads[] =
        "instruction, opcode, bound, count (), each (us), all (us), exposed (us), share (%)";
    const struct module *module = module_of(rows);
    struct sheet sheet = {0};
    const struct module_row *top[TOP];
    int count = find_top(rows, top);
    fprintf(out, "# the instructions that take longest, of %d that take time\n", rows->rows);
    sheet_columns(&sheet, heads);
    for (int r = 0; r < count; r++)
        sheet_row(&sheet, module_word(module, module_at(module, top[r]->instruction)->name),
                  module_row_opcode(rows, top[r]), bound_of(top[r]), top[r]->executions,
                  top[r]->time_s / top[r]->executions, top[r]->time_s, top[r]->exposed_s,
                  total_s > 0 ? top[r]->time_s / total_s : NAN);
    return sheet_end(&sheet, out, st);
}

/* What a custom call is called: its target, or its opcode. */
static const char *opaque_name(const struct module_rows *rows, const struct module_row *row)
{
    const char *target = module_value(module_of(rows), row->instruction, ATTR_CUSTOM_CALL_TARGET);
    return *target ? target : module_row_opcode(rows, row);
}

static void print_uncosted(const struct module_rows *rows, FILE *out)
{
    double executions = 0;
    int32_t kinds = 0;
    for (int32_t r = 0; r < rows->rows; r++)
        executions += rows->row[r].uncosted ? rows->row[r].executions : 0;
    if (executions <= 0)
        return;
    fprintf(out,
            "# not in the time, since the text does not say what they cost (--op-cost FILE does): %.0f "
            "executions of",
            executions);
    for (int32_t r = 0; r < rows->rows; r++) {
        const struct module_row *row = &rows->row[r];
        double same = 0;
        bool before = false;
        for (int32_t o = 0; o < rows->rows && row->uncosted; o++) {
            bool alike = rows->row[o].uncosted &&
                         strcmp(opaque_name(rows, &rows->row[o]), opaque_name(rows, row)) == 0;
            before |= alike && o < r;
            same += alike ? rows->row[o].executions : 0;
        }
        if (row->uncosted && !before)
            fprintf(out, "%s %s (%.0f)", kinds++ ? "," : "", opaque_name(rows, row), same);
    }
    fputc('\n', out);
}

static void print_totals(const struct module_rows *rows, FILE *out)
{
    double matmul_s = 0, elementwise_s = 0, flops = 0, collectives_s = 0;
    for (int32_t r = 0; r < rows->rows; r++) {
        const struct module_row *row = &rows->row[r];
        *(row->collective >= 0 ? &collectives_s : row->product ? &matmul_s : &elementwise_s) += row->time_s;
        flops += row->flops;
    }
    fprintf(out,
            "# on each chip: products %.6g operations in %.3f us, other instructions %.3f us, collectives "
            "%.3f us end to end\n",
            flops, matmul_s * 1e6, elementwise_s * 1e6, collectives_s * 1e6);
}

int module_print(const struct module_rows *rows, double total_s, FILE *out, struct status *st)
{
    struct module_row *class = malloc(((size_t)rows->rows + 1) * sizeof *class);
    if (!class)
        return status_nomem(st);
    print_totals(rows, out);
    int code = module_print_breakdown(rows, total_s, out, st);
    if (code == 0)
        code = module_print_memory(rows, out, st);
    if (code == 0)
        code = module_print_parts(rows, out, st);
    if (code == 0)
        code = print_classes(rows, class, out, st);
    if (code == 0)
        code = print_top(rows, total_s, out, st);
    print_uncosted(rows, out);
    free(class);
    return code;
}

void module_write(const struct module_rows *rows, struct csv_writer *csv)
{
    static const char *const labels[] = {"phase", "layer", "what"};
    const struct module *module = module_of(rows);
    csv_names(csv, "name,category,executions,time_s,flops,bytes,exposed_s,bound,groups,phase,layer,what");
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++) {
        char text[MODULE_ROW_TEXT], label[3][MODULE_ROW_TEXT];
        for (int l = 0; l < 3; l++)
            if (!module_label(module, row->instruction, labels[l], label[l], sizeof label[l]))
                label[l][0] = '\0';
        csv_row(csv, "ttrrrrrttttt", module_word(module, module_at(module, row->instruction)->name),
                module_row_opcode(rows, row), row->executions, row->time_s, row->flops,
                row->collective >= 0 ? row->bytes * row->executions : row->hbm_bytes, row->exposed_s,
                row->uncosted ? "uncosted" : bound_of(row), module_row_groups(rows, row, text), label[0],
                label[1], label[2]);
    }
}
