/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the step of a model takes of a chip's memory, by kind. */
#include "report/module_print.h"
#include "report/sheet.h"

int module_print_memory(const struct module_rows *rows, FILE *out, struct status *st)
{
    static const char *const names[MEMORY_KINDS] = {
        [MEMORY_PARAMETERS] = "parameters", [MEMORY_GRADIENTS] = "gradients",     [MEMORY_STATE] = "state",
        [MEMORY_GATHERED] = "gathered",     [MEMORY_ACTIVATIONS] = "activations", [MEMORY_LOGITS] = "logits",
    };
    const struct model_step *step = &rows->job->step;
    const double *bytes =
        step->model.size.memory_bytes[rows->job->of_model ? step->point->schedule.remat : 0];
    struct sheet sheet = {0};
    double sum = 0;
    if (!rows->job->of_model || step->model.size.tokens <= 0)
        return 0;
    fputs("# memory of a chip; gathered is of the layers that compute or are fetched ahead, gradients also "
          "those of "
          "one layer before they are shared out\n",
          out);
    for (int kind = 0; kind < MEMORY_KINDS; kind++) {
        sheet_column(&sheet, names[kind], "(B)");
        sum += bytes[kind];
    }
    sheet_column(&sheet, "all", "(B)");
    for (int kind = 0; kind < MEMORY_KINDS; kind++)
        sheet_real(&sheet, "%.0f", bytes[kind]);
    sheet_real(&sheet, "%.0f", sum);
    return sheet_end(&sheet, out, st);
}
