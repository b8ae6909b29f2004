/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The collectives that a module issues, as a table. */
#include <stdlib.h>

#include "hlo/cost.h"
#include "hlo/tally.h"
#include "report/module_print.h"
#include "report/sheet.h"

static void add_row(struct sheet *sheet, const struct tally_row *row)
{
    char name[2 * TALLY_WORD];
    snprintf(name, sizeof name, "%s%s", opcode_info(row->opcode)->name, row->again ? " (again)" : "");
    sheet_text(sheet, *row->phase ? row->phase : "-");
    sheet_text(sheet, name);
    sheet_text(sheet, row->axes);
    sheet_count(sheet, row->group);
    sheet_text(sheet, *row->what ? row->what : "-");
    sheet_real(sheet, "%.0f", row->count);
    sheet_real(sheet, "%.0f", row->in_bytes);
    sheet_real(sheet, "%.0f", row->out_bytes);
}

int module_print_issued(const struct module *module, FILE *out, struct status *st)
{
    struct tally tally = {0};
    struct sheet sheet = {0};
    int code = tally_collectives(module, &tally, st);
    if (code == 0) {
        fputs("# collectives issued: group is the devices of one; bytes on a device, all of a row together\n",
              out);
        sheet_text_column(&sheet, "phase");
        sheet_text_column(&sheet, "collective");
        sheet_text_column(&sheet, "axes");
        sheet_column(&sheet, "group", "");
        sheet_text_column(&sheet, "what");
        sheet_column(&sheet, "count", "");
        sheet_column(&sheet, "in", "(B)");
        sheet_column(&sheet, "out", "(B)");
        for (int r = 0; r < tally.rows; r++)
            add_row(&sheet, &tally.row[r]);
        code = sheet_print(&sheet, out, st);
    }
    sheet_free(&sheet);
    tally_free(&tally);
    return code;
}

/* Bodies of fusions run, but what they compute is counted where they are called. */
static void leave_out_bodies(const struct module *module, double runs[])
{
    for (int32_t i = 0; i < module->instructions; i++)
        if (module_at(module, i)->opcode == HLO_FUSION) {
            int64_t body = module_number(module, i, ATTR_CALLS, -1);
            if (body >= 0)
                runs[body] = 0;
        }
}

int module_print_counts(const struct module *module, FILE *out, struct status *st)
{
    double *runs = malloc(((size_t)module->computations + 1) * sizeof *runs), flops = 0, products = 0,
           uncosted = 0;
    int code = runs ? module_executions(module, runs, st) : status_nomem(st);
    if (code == 0)
        leave_out_bodies(module, runs);
    for (int32_t c = 0; c < module->computations && code == 0; c++)
        for (int32_t i = module->computation[c].first;
             i < module->computation[c].first + module->computation[c].count; i++) {
            struct cost cost = module_cost(module, i);
            flops += runs[c] * cost.flops;
            products += cost.product ? runs[c] : 0;
            uncosted += cost.uncosted ? runs[c] : 0;
        }
    free(runs);
    if (code < 0)
        return code;
    fprintf(out,
            "# %d devices, %s; on each: %.0f products of %.6g operations, %.0f calls that the text does not "
            "cost\n",
            module->partitions * module->replicas, module->scheduled ? "scheduled" : "without a schedule",
            products, flops, uncosted);
    return module_print_issued(module, out, st);
}
