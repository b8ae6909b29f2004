/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/pass.h"
#include "hlo/module_check.h"
#include "model/numbers.h"
#include "settings/option.h"

void arrays_free(struct array array[], int n)
{
    for (int i = 0; i < n; i++)
        array_free(&array[i]);
}

double arrays_difference(const struct array *a, const struct array *b)
{
    double most = 0, largest = 0;
    int64_t n = array_elements(b);
    if (array_elements(a) != n)
        return INFINITY;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(a->data[i] - b->data[i]));
        largest = fmax(largest, fabs(b->data[i]));
    }
    return largest > 0 ? most / largest : INFINITY;
}

void text_write(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT(fputs(text, out) >= 0);
    CU_ASSERT_EQUAL(fclose(out), 0);
}

void experts_load(const char *path, const char *mesh, int chunks, struct model *model, struct module *module)
{
    struct module whole = {0};
    struct status st = {0};
    struct axes axes;
    struct point point;
    point_init(&point);
    point.work.file = path;
    point.work.dtype = "f32";
    point.schedule.chunks = chunks;
    point.given[option_index(option_by_name("chunks"))] = chunks > 1;
    OKAY(axes_parse(mesh, &axes, &st), st);
    OKAY(model_read(&point, &(struct model_options){.numbers = true}, &axes, model, &st), st);
    OKAY(pass_recompute(&model->module, REMAT_NONE, &whole, &st), st);
    if (chunks > 1)
        OKAY(pass_exchange(&whole, false, module, &st), st);
    else
        *module = whole;
    OKAY(module_check(module, NULL, &st), st);
    if (chunks > 1)
        module_free(&whole);
}

/* Small, with sizes that are not alike: 6 heads of 4, 2 key-value heads; 4 sequences of 6 tokens. */
static const char small[] = "model: transformer\nd-model: 20\nd-ff: 36\nheads: 6\n"
                            "sequence: 6\nvocabulary: 60\n";

/* On a mesh; without one on one device, like a model that was read. */
void transformer_load_like(struct transformer_case *s, const char *text, const char *mesh,
                           const struct model *like, enum remat remat, int micro_batches)
{
    bool head = strstr(text, "head: true") != NULL;
    char path[] = "/tmp/icisim_transformer_XXXXXX";
    struct status st = {0};
    struct axes axes;
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    fputs(text, file);
    fclose(file);
    point_init(&s->point);
    s->point.work.file = path;
    s->point.work.dtype = "f32";
    s->point.work.head = head;
    s->point.schedule.plan = strstr(text, "plan: textbook") ? PLAN_TEXTBOOK : PLAN_AUTO;
    s->point.schedule.micro_batches = micro_batches;
    s->point.schedule.chunks = strstr(text, "# chunks") ? 3 : 1;
    s->point.given[option_index(option_by_name("chunks"))] = s->point.schedule.chunks > 1;
    OKAY(mesh ? axes_parse(mesh, &axes, &st) : 0, st);
    const struct model_options options = {.numbers = true,
                                          .sums_whole = strstr(text, "# whole") != NULL,
                                          .loop_columns = strstr(text, "# loops") ? 5 : 0};
    OKAY(mesh ? model_read(&s->point, &options, &axes, &s->model, &st)
              : model_read_one(&s->point, like, &s->model, &st),
         st);
    OKAY(pass_recompute(&s->model.module, remat, &s->module, &st), st);
    OKAY(module_check(&s->module, NULL, &st), st);
    remove(path);
}

void transformer_load(struct transformer_case *s, const char *text, const char *mesh, enum remat remat,
                      int micro_batches)
{
    transformer_load_like(s, text, mesh, NULL, remat, micro_batches);
}

void transformer_unload(struct transformer_case *s)
{
    model_free(&s->model);
    module_free(&s->module);
}

/* Numbers by name, so that they are the same for each mesh; those of micro-batch 2 follow those of 1. */
void transformer_fill(const struct model *m, struct array in[])
{
    struct status st = {0};
    for (int i = 0; i < m->inputs; i++) {
        int64_t shape[TENSOR_DIMS], n;
        int dims = numbers_shape(&m->input[i], shape);
        struct suite_random r = {0};
        for (const char *c = m->input[i].name; *c; c++)
            r.state = r.state * 31 + (uint64_t)*c;
        OKAY(array_init(&in[i], dims, shape, DTYPE_F32, &st), st);
        n = array_elements(&in[i]);
        for (int64_t e = 0; e < n; e++)
            in[i].data[e] = m->input[i].given.data ? m->input[i].given.data[e]
                            : m->input[i].below
                                ? (double)suite_random(&r, (unsigned)m->input[i].below)
                                : (suite_random_unit(&r) - 0.47) / (dims > 1 ? 2 : 1) + (dims == 1);
    }
}

void transformer_run(struct transformer_case *s, struct array out[])
{
    struct array in[MODEL_INPUTS] = {0};
    struct status st = {0};
    transformer_fill(&s->model, in);
    OKAY(numbers_run(&s->model, &s->module, in, 1e-11, out, &st), st);
    arrays_free(in, MODEL_INPUTS);
}

/* Each gather starts when the one before it is waited for: the same numbers. */
void transformer_run_early(struct transformer_case *s, struct array out[])
{
    struct module was = s->module;
    struct status st = {0};
    OKAY(pass_exchange(&was, true, &s->module, &st), st);
    OKAY(module_check(&s->module, NULL, &st), st);
    transformer_run(s, out);
    module_free(&was);
}

/* Weights are fetched a layer ahead, and sums of gradients waited for two layers later: the same numbers. */
void transformer_run_ahead(struct transformer_case *s, struct array out[])
{
    struct module was = s->module, fetched = {0};
    struct status st = {0};
    OKAY(pass_prefetch(&was, 1, &fetched, &st), st);
    OKAY(pass_postpone(&fetched, 2, &s->module, &st), st);
    if (s->point.schedule.chunks > 1) {
        module_free(&fetched);
        fetched = s->module;
        OKAY(pass_exchange(&fetched, false, &s->module, &st), st);
    }
    OKAY(module_check(&s->module, NULL, &st), st);
    transformer_run(s, out);
    module_free(&fetched);
    module_free(&was);
}

void transformer_same_numbers(const struct model *model, const char *mesh, const struct array many[],
                              const struct array one[])
{
    for (int o = 0; o < model->outputs; o++) {
        double off = arrays_difference(&many[o], &one[o]);
        CU_ASSERT(off < 1e-11);
        if (!(off < 1e-11))
            fprintf(stderr, "%s: %s differs by %g\n", mesh, model->output[o].name, off);
    }
}

void transformer_same_as(const char *text, const char *one_chip, const char *mesh, enum remat remat)
{
    struct array one[MODEL_INPUTS] = {0}, many[MODEL_INPUTS] = {0};
    struct transformer_case s;
    transformer_load(&s, text, one_chip, REMAT_NONE, 1);
    transformer_run(&s, one);
    transformer_unload(&s);
    transformer_load(&s, text, mesh, remat, 1);
    transformer_run_ahead(&s, many);
    transformer_same_numbers(&s.model, mesh, many, one);
    transformer_unload(&s);
    arrays_free(one, MODEL_INPUTS);
    arrays_free(many, MODEL_INPUTS);
}

void transformer_same_as_one_chip(const char *text, const char *mesh, enum remat remat)
{
    transformer_same_as(text, "dp=1", mesh, remat);
}

const char *transformer_with(const char *more)
{
    static char text[1024];
    snprintf(text, sizeof text, "%s%s%s%s", small, strstr(more, "layers:") ? "" : "layers: 2\n",
             strstr(more, "mla:") ? "" : "kv-heads: 2\nhead-dim: 4\n", more);
    return text;
}

int64_t routing_dropped(const struct routing *r, int device)
{
    int64_t dropped = 0;
    for (int64_t i = 0; i < (int64_t)r->devices * r->experts; i++)
        if (device < 0 || i / r->experts == device)
            dropped += r->routed[i] - r->kept[i];
    return dropped;
}
