/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The collectives that a module issues, as a table. */
#include <stdlib.h>

#include "hlo/cost.h"
#include "hlo/tally.h"
#include "report/module_print.h"
#include "report/table.h"

int module_print_issued(const struct module *module, FILE *out, struct status *st)
{
    struct tally tally = {0};
    int code = tally_collectives(module, &tally, st);
    if (code == 0) {
        fputs("# collectives issued: group is the devices of one; bytes on a device, all of a row together\n",
              out);
        struct table table = table_of("phase, collective, axes, group (), what, count (), in (B), out (B)");
        for (int r = 0; r < tally.rows; r++) {
            const struct tally_row *row = &tally.row[r];
            char name[2 * TALLY_WORD];
            snprintf(name, sizeof name, "%s%s", opcode_info(row->opcode)->name,
                     row->recomputed ? " (again)" : "");
            table_row(&table, row->phase, name, row->axes, (double)row->group, row->what, row->count,
                      row->in_bytes, row->out_bytes);
        }
        code = table_end(&table, out, st);
    }
    tally_free(&tally);
    return code;
}

/* Fusion bodies do run, but their work is counted at the fusion. */
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
           kernels = 0, kernel_flops = 0, uncosted = 0;
    int code = runs ? module_executions(module, runs, st) : status_nomem(st);
    if (code == 0)
        leave_out_bodies(module, runs);
    for (int32_t c = 0; c < module->computations && code == 0; c++)
        for (int32_t i = module->computation[c].first;
             i < module->computation[c].first + module->computation[c].count; i++) {
            struct cost cost = module_cost(module, i);
            bool kernel = opcode_info(module_at(module, i)->opcode)->class == CLASS_OPAQUE;
            *(kernel ? &kernel_flops : &flops) += runs[c] * cost.flops;
            *(kernel ? &kernels : &products) += cost.product ? runs[c] : 0;
            uncosted += cost.uncosted && module_called(module, i, 0) < 0
                            ? runs[c]
                            : 0; /* else its computations count */
        }
    free(runs);
    if (code < 0)
        return code;
    fprintf(out,
            "# %d devices, %s; on each: %.0f products of %.6g operations, %.0f calls that the text does not "
            "cost",
            module->partitions * module->replicas, module->scheduled ? "scheduled" : "without a schedule",
            products, flops, uncosted);
    if (kernels > 0)
        fprintf(out, ", %.0f kernels of %.6g operations", kernels, kernel_flops);
    fputs("\n", out);
    return module_print_issued(module, out, st);
}
