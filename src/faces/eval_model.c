/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim eval WORKLOAD: the step of a model on numbers. The results are compared with those of one device;
 * with experts, the tokens sent and dropped are shown, and the result is compared with the file's data. */
#include <stdlib.h>

#include "faces/eval.h"
#include "model/numbers.h"
#include "report/table.h"
#include "study/budget.h"
#include "study/model_eval.h"
#include "study/module_job.h"

/* The tolerances of the forward pass and of gradients, relative to the largest number. */
static const double forward_frac = 1e-6, gradient_frac = 1e-5;
static const double rounding_frac = 1e-12; /* differences by the order of additions are not reported */

/* The name of an output, "w1", or "dw1" for a gradient; the first output is that of the forward pass. */
static char *name_of(const struct model_eval *eval, int output, char text[static TENSOR_NAME + 1])
{
    snprintf(text, TENSOR_NAME + 1, "%s%s", output ? "d" : "", eval->one.output[output].name);
    return text;
}

static int print_outputs(const struct model_eval *eval, FILE *out, struct status *st)
{
    struct table table = table_of("output, shape, norm ()%.9g, off (share)%.1e");
    char shape[ARRAY_TEXT], name[TENSOR_NAME + 1];
    for (int o = 0; o < eval->outputs; o++) {
        double off = model_eval_difference(eval, o);
        table_text(&table, name_of(eval, o, name));
        table_text(&table, array_print_shape(&eval->out[o], shape));
        table_number(&table, model_eval_norm(eval, o));
        if (off < rounding_frac)
            table_text(&table, "<1e-12");
        else
            table_number(&table, off);
    }
    return table_end(&table, out, st);
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

static void print_sends(const struct dispatch *d, FILE *out)
{
    fprintf(out, "# rows from each device to each of its %d peers\n[", d->peers);
    for (int i = 0; i < d->devices; i++) {
        fprintf(out, "%s[", i ? "," : "");
        for (int p = 0; p < d->peers; p++)
            fprintf(out, "%s%lld", p ? "," : "", (long long)d->size[i * d->peers + p]);
        fprintf(out, "]");
    }
    fprintf(out, "]\n");
}

/* Prints dropped entries (token, slot), which have the number token * top_k + slot. */
static void print_dropped(const struct routing *r, FILE *out)
{
    int64_t entries = routing_entries(r);
    fprintf(out, "# entries of each device that are dropped\n");
    for (int i = 0; i < r->devices; i++) {
        const char *between = "";
        fprintf(out, "%s{", i ? ", " : "");
        for (int64_t e = 0; e < entries; e++)
            if (r->entry[i * entries + e].dropped) {
                fprintf(out, "%s%lld", between, (long long)e);
                between = ",";
            }
        fprintf(out, "}");
    }
    fprintf(out, "\n");
}

static int judge_experts(const struct point *point, const struct model *model, const struct array *y,
                         FILE *out, struct status *st)
{
    struct array wanted = {0};
    bool found = false;
    int64_t at = 0;
    int code = numbers_expected(point->work.file, &model->output[0], &wanted, &found, st);
    if (code < 0 || !found)
        return code;
    if (array_near(y, &wanted, 0, &at))
        fprintf(out, "# equals what the file says of %s\n", model->output[0].name);
    else
        code = status_fail(st, STATUS_CHECK, "%s: element %lld is %.9g; the file says %.9g",
                           model->output[0].name, (long long)at, y->data[at], wanted.data[at]);
    array_free(&wanted);
    return code;
}

static int show_experts(const struct point *point, const struct module_job *m, FILE *out, struct status *st)
{
    const struct model *model = &m->step.model;
    const struct routing *r = &model->experts->of[0].routing;
    if (!r->entry)
        return status_fail(st, STATUS_INPUT,
                           "counts do not say which tokens go to which expert; eval needs a routing with "
                           "device,token,expert,gate, or one that is drawn");
    struct array *in = calloc((size_t)model->inputs + (size_t)model->outputs + 1, sizeof *in),
                 *made = in + model->inputs;
    if (!in)
        return status_nomem(st);
    if (numbers_read(point->work.file, model, in, st) == 0 &&
        numbers_run(model, &m->module, in, 0, made, st) == 0) {
        fprintf(out, "# each of %d experts takes %lld rows of a device\n", r->experts,
                (long long)r->capacity);
        print_sends(&model->experts->of[0].dispatch, out);
        print_dropped(r, out);
        fprintf(out, "# %s\n", model->output[0].name);
        array_print(&made[0], out);
        judge_experts(point, model, &made[0], out, st);
    }
    for (int i = 0; i < model->inputs + model->outputs; i++)
        array_free(&in[i]);
    free(in);
    return st->code;
}

static int show_step(const struct module_job *m, FILE *out, struct status *st)
{
    struct model_eval eval = {0};
    char mesh[AXES_TEXT];
    if (model_eval(&eval, &m->step, &m->module, st) == 0) {
        fprintf(out, "# %s on %d devices, mesh %s, strategy %s: norms, and how far one device's are\n",
                m->path, m->module.partitions, axes_print(&m->step.model.axes, mesh), m->step.strategy);
        if (print_outputs(&eval, out, st) == 0)
            judge(&eval, out, st);
    }
    model_eval_free(&eval);
    return st->code;
}

int eval_model(struct job *job, FILE *out, struct status *st)
{
    if (job_build(job, st) < 0)
        return st->code;
    const struct module_job *m = module_job_of(job);
    if (budget_numbers(job->point, &m->module, st) < 0)
        return st->code;
    int experts = model_file_has(job->point->work.file, "model", "experts", st);
    return experts < 0 ? experts : experts ? show_experts(job->point, m, out, st) : show_step(m, out, st);
}

int eval_parts(struct job *job, FILE *out, struct status *st)
{
    const struct parts *parts = parts_of(job);
    double *loss = calloc((size_t)parts->batches, sizeof *loss);
    int code = loss ? parts_eval(parts, loss, st) : status_nomem(st);
    if (code == 0)
        fprintf(out, "# %s: the loss of %s, batch by batch\n", job->point->work.file,
                parts->part[parts->order[parts->parts - 1]].name);
    for (int64_t i = 0; code == 0 && i < parts->batches; i++)
        fprintf(out, "%.2f%s", loss[i], i + 1 < parts->batches ? " " : "\n");
    free(loss);
    return code;
}
