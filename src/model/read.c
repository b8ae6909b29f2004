/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a model from a workload file. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/front.h"
#include "model/numbers.h"
#include "settings/option.h"

enum { FRONT_KEYS = 24 };

static const struct front *const fronts[] = {&front_mlp, &front_transformer, &front_experts,
                                             &front_statements};
enum { FRONTS = sizeof fronts / sizeof *fronts };

/* Checks the keys of the file: options, keys of every model, and those of the front end. */
static int check_keys(const struct node *root, const struct front *front, struct status *st)
{
    const char *names[OPTIONS_MAX + FRONT_KEYS + 3];
    int n = option_keys(names);
    names[n++] = "about";
    names[n++] = "model";
    for (int i = 0; front->keys[i]; i++)
        names[n++] = front->keys[i];
    names[n] = NULL;
    return node_only(root, names, st);
}

/* Refuses options that the model does not support. */
static int check_options(const struct point *point, const struct front *front, struct status *st)
{
    static const char *const some[] = {"layers", "tokens-per-chip", "micro-batches", "head", "dims", "plan"};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (option_is_given(point, some[i]) && !text_has_word(front->options, some[i]))
            return status_fail(st, STATUS_INPUT, "--%s does not apply to model: %s; leave it out", some[i],
                               front->name);
    return 0;
}

static int find_front(const struct node *root, const struct front **front, struct status *st)
{
    const char *names[FRONTS + 1] = {NULL}, *name;
    const struct node *node = NULL;
    if (node_need(root, "model", &node, st) < 0 || node_text(node, "model", &name, st) < 0)
        return st->code;
    for (int i = 0; i < FRONTS; i++)
        names[i] = fronts[i]->name;
    int which = text_index(name, names);
    if (which < 0)
        return node_prefix(node, st, text_unknown("model", name, names, st));
    *front = fronts[which];
    return 0;
}

static int read_front(const struct point *point, const struct axes *axes, struct model *model,
                      struct status *st)
{
    struct document document = {0};
    const struct front *front = NULL;
    struct front_source source = {
        .point = point, .axes = axes, .devices = axes_devices(model->like ? &model->like->axes : axes)};
    int code = document_load(&document, point->work.file, st), dtype = 0;
    source.root = document.root;
    source.squares = model->options.squares;
    if (code < 0 || find_front(source.root, &front, st) < 0 || check_keys(source.root, front, st) < 0 ||
        check_options(point, front, st) < 0 || (dtype = dtype_by_name(point->work.dtype, st)) < 0)
        code = st->code;
    source.dtype = (enum dtype_id)dtype;
    model->remat = point->schedule.remat == REMAT_AUTO ? REMAT_NONE : (enum remat)point->schedule.remat;
    if (code == 0 && (front->build(&source, model, st) < 0 || numbers_check(source.root, model, st) < 0))
        code = st->code;
    if (code < 0)
        model_free(model);
    document_free(&document);
    return code;
}

int model_read(const struct point *point, const struct model_options *options, const struct axes *axes,
               struct model *model, struct status *st)
{
    *model = (struct model){.options = options ? *options : (struct model_options){0}};
    return read_front(point, axes, model, st);
}

int model_read_one(const struct point *point, const struct model *like, struct model *one, struct status *st)
{
    struct axes axes = like->axes;
    for (int a = 0; a < axes.count; a++)
        axes.axis[a].n = 1;
    *one = (struct model){.options = like->options, .like = like};
    int code = read_front(point, &axes, one, st);
    one->like = NULL;
    return code < 0 ? status_prefix(st, "on one device: ") : 0;
}

int model_file_has(const char *file, const char *key, const char *value, struct status *st)
{
    struct document document = {0};
    struct status ignored = {0};
    const char *text;
    int code = document_load(&document, file, &ignored);
    const struct node *node = code == 0 ? node_get(document.root, key) : NULL;
    bool has = node && node_text(node, key, &text, &ignored) == 0 && strcmp(text, value) == 0;
    document_free(&document);
    return code == STATUS_NOMEM ? status_nomem(st) : has;
}
