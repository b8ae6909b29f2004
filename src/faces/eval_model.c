/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim eval WORKLOAD: the step of a model on numbers; what comes out, and whether it is what one device gets. */
#include "faces/eval.h"
#include "report/sheet.h"
#include "study/model_eval.h"
#include "study/module_job.h"

/* How far the forward pass, and gradients, may be off: as shares of the largest number. */
static const double forward_frac = 1e-6, gradient_frac = 1e-5;
static const double rounding_frac = 1e-12; /* what another order of additions makes, and less, is not told */

/* "w1", of a gradient "dw1": the first output is the forward pass's. */
static char *name_of(const struct model_eval *eval, int output, char text[static TENSOR_NAME + 1])
{
    snprintf(text, TENSOR_NAME + 1, "%s%s", output ? "d" : "", eval->one.output[output].name);
    return text;
}

static int print_outputs(const struct model_eval *eval, FILE *out, struct status *st)
{
    struct sheet sheet = {0};
    char shape[ARRAY_TEXT], name[TENSOR_NAME + 1];
    sheet_text_column(&sheet, "output");
    sheet_text_column(&sheet, "shape");
    sheet_column(&sheet, "norm", "");
    sheet_column(&sheet, "off", "(share)");
    for (int o = 0; o < eval->outputs; o++) {
        sheet_text(&sheet, name_of(eval, o, name));
        sheet_text(&sheet, array_print_shape(&eval->out[o], shape));
        sheet_real(&sheet, "%.9g", model_eval_norm(eval, o));
        double off = model_eval_difference(eval, o);
        if (off < rounding_frac)
            sheet_text(&sheet, "<1e-12");
        else
            sheet_real(&sheet, "%.1e", off);
    }
    int code = sheet_print(&sheet, out, st);
    sheet_free(&sheet);
    return code;
}

static int judge(const struct model_eval *eval, FILE *out, struct status *st)
{
    char name[TENSOR_NAME + 1];
    for (int o = 0; o < eval->outputs; o++) {
        double off = model_eval_difference(eval, o);
        if (!(off <= (o ? gradient_frac : forward_frac)))
            return status_fail(st, STATUS_CHECK, "%s differs from one device's by %.1e of its largest number",
                               name_of(eval, o, name), off);
    }
    fprintf(out, "# equals one device's: %s to %g, gradients to %g\n", eval->one.output[0].name, forward_frac,
            gradient_frac);
    return 0;
}

int eval_model(const struct point *point, FILE *out, struct status *st)
{
    struct catalog catalog = {0};
    struct job job = {.options.model.numbers = true};
    struct model_eval eval = {0};
    char mesh[AXES_TEXT];
    int code = job_open(&job, point, &catalog, st);
    if (code == 0)
        code = job_build(&job, st);
    const struct module_job *m = code == 0 ? module_job_of(&job) : NULL;
    if (code == 0)
        code = model_eval(&eval, &m->step, &m->module, st);
    if (code == 0) {
        fprintf(out, "# %s on %d devices, mesh %s, strategy %s: norms, and how far one device's are\n",
                m->path, m->module.partitions, axes_print(&m->step.model.axes, mesh), m->step.strategy);
        code = print_outputs(&eval, out, st);
    }
    if (code == 0)
        code = judge(&eval, out, st);
    model_eval_free(&eval);
    job_close(&job);
    catalog_free(&catalog);
    return code;
}
