/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim eval of a step with experts. */
#include <stdlib.h>

#include "compile/pass.h"
#include "faces/eval.h"
#include "model/numbers.h"

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

/* Entries (token, slot) by their number token * top_k + slot. */
static void print_dropped(const struct dispatch *d, FILE *out)
{
    fprintf(out, "# entries of each device that are dropped\n");
    for (int i = 0; i < d->devices; i++) {
        const char *between = "";
        fprintf(out, "%s{", i ? ", " : "");
        for (int64_t e = 0; e < d->entries; e++)
            if (d->dropped[i * d->entries + e]) {
                fprintf(out, "%s%lld", between, (long long)e);
                between = ",";
            }
        fprintf(out, "}");
    }
    fprintf(out, "\n");
}

static int compare(const struct point *point, const struct model *model, const struct array *y, FILE *out,
                   struct status *st)
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

static int run(const struct point *point, const struct model *model, const struct module *module, FILE *out,
               struct status *st)
{
    const struct dispatch *d = &model->experts->of[0].dispatch;
    struct array *in = calloc((size_t)model->inputs + (size_t)model->outputs + 1, sizeof *in),
                 *made = in + model->inputs;
    if (!in)
        return status_nomem(st);
    if (!d->order) {
        free(in);
        return status_fail(st, STATUS_INPUT,
                           "counts do not say which tokens go to which expert; eval needs a routing "
                           "with device,token,expert,gate, or one that is drawn");
    }
    int code = numbers_read(point->work.file, model, in, st);
    if (code == 0)
        code = numbers_run(model, module, in, 0, made, st);
    if (code == 0) {
        fprintf(out, "# each of %d experts takes %lld rows of a device\n", d->experts,
                (long long)d->capacity);
        print_sends(d, out);
        print_dropped(d, out);
        fprintf(out, "# %s\n", model->output[0].name);
        array_print(&made[0], out);
        code = compare(point, model, &made[0], out, st);
    }
    for (int i = 0; i < model->inputs + model->outputs; i++)
        array_free(&in[i]);
    free(in);
    return code;
}

int eval_experts(const struct point *point, FILE *out, struct status *st)
{
    struct machine machine = {0};
    struct catalog catalog = {0};
    struct model model = {0};
    struct module module = {0};
    int code = machine_open(&machine, point, &catalog, st);
    if (code == 0)
        code = model_read(point, &(struct model_options){.numbers = true}, &machine.mesh.axes, &model, st);
    if (code == 0)
        code = pass_recompute(&model.module, REMAT_NONE, &module, st);
    if (code == 0)
        code = run(point, &model, &module, out, st);
    module_free(&module);
    model_free(&model);
    machine_close(&machine);
    catalog_free(&catalog);
    return code;
}
