/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings from workload files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "settings/settings.h"

/* Reads a mapping, {dp: 4, tp: 2}, as dp=4,tp=2. */
static int read_map(struct settings *settings, const struct option_row *option, const struct node *node,
                    struct status *st)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return status_nomem(st);
    int code = 0;
    for (int i = 0; i < node->count && code == 0; i++) {
        const char *value;
        code = node_text(node->child[i], node->name[i], &value, st);
        if (code == 0)
            fprintf(out, "%s%s=%s", i ? "," : "", node->name[i], value);
    }
    if (!text_end(out, &text) && code == 0)
        code = status_nomem(st);
    if (code == 0)
        code = node_prefix(node, st, settings_add(settings, option, text, st));
    free(text);
    return code;
}

static int read_item(struct settings *settings, const struct option_row *option, const struct node *node,
                     struct status *st)
{
    const char *text;
    if (option->map && node->kind == NODE_MAPPING)
        return read_map(settings, option, node, st);
    int code = node_text(node, option->name, &text, st);
    return code < 0 ? code : node_prefix(node, st, settings_add(settings, option, text, st));
}

/* Reads a key of a workload file: one value or a sequence of values. */
static int read_key(struct settings *settings, const struct option_row *option, const struct node *node,
                    struct status *st)
{
    bool list = node->kind == NODE_SEQUENCE;
    for (int i = 0; i < (list ? node->count : 1); i++) {
        const struct node *item = list ? node->child[i] : node;
        int code = read_item(settings, option, item, st);
        if (code < 0)
            return code;
    }
    return 0;
}

/* Does the file describe a model? Its other keys are read by its front end (model/read.c). */
static bool is_model(const struct node *root)
{
    return root->kind == NODE_MAPPING && (node_get(root, "model") || node_get(root, "parts"));
}

static int read_keys(struct settings *settings, const struct node *root, struct status *st)
{
    const char *names[OPTIONS_MAX + 2];
    int n = option_keys(names);
    names[n++] = "about";
    names[n] = NULL;
    int code = node_is_mapping(root, "a workload file", st);
    if (code == 0 && node_get(root, "meshes"))
        code = node_fail(node_get(root, "meshes"), st, STATUS_INPUT, "write parts: instead of meshes:");
    if (code == 0 && !is_model(root))
        code = node_only(root, names, st);
    for (int i = 0; code == 0 && i < root->count; i++) {
        const struct option_row *option = option_by_name(root->name[i]);
        bool own = option && option->of_model && is_model(root);
        if (!option || own || settings->of[option_index(option)].count > 0)
            continue;
        code = read_key(settings, option, root->child[i], st);
        char place[NODE_PLACE];
        if (code == 0 &&
            !(settings->of[option_index(option)].place = strdup(node_place(root->child[i], place))))
            code = status_nomem(st);
    }
    return code;
}

/* A model with experts has an axis for these, too, or several. */
static void find_every_mesh(struct settings *settings, const struct node *root)
{
    const char *axes = "ep";
    const struct node *moe = node_get(root, "moe"), *own = moe ? node_get(moe, "expert-axis") : NULL;
    struct status ignored = {0};
    if (!moe || (own && node_text(own, "expert-axis", &axes, &ignored) < 0))
        return;
    for (size_t n; *axes; axes += n + (axes[n] == ',')) {
        n = strcspn(axes, ",");
        char axis[AXIS_NAME];
        snprintf(axis, sizeof axis, "%.*s", (int)n, axes);
        if (!text_has_word("dp fsdp tp", axis))
            text_add(settings->every_mesh, sizeof settings->every_mesh, ",%s=?", axis);
    }
}

int settings_read(struct settings *settings, const char *path, struct status *st)
{
    struct document document = {0};
    int code = document_load(&document, path, st);
    if (code == 0)
        code = read_keys(settings, document.root, st);
    if (code == 0 && !(settings->file = strdup(path)))
        code = status_nomem(st);
    settings->has_parts = code == 0 && node_get(document.root, "parts") != NULL;
    if (code == 0)
        find_every_mesh(settings, document.root);
    if (code == 0 && settings_count(settings, "op") == 0) {
        code = is_model(document.root)
                   ? settings_add(settings, option_by_name("op"), path, st)
                   : node_fail(document.root, st, STATUS_INPUT, "a workload needs 'op:', such as all-gather");
    }
    document_free(&document);
    return code;
}

/* The option with which a message begins, "--size 1B is ..." or "mesh: ..."; *end is the end of its name. */
static const struct option_row *option_at_fault(const char *text, const char **end)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz-";
    char name[OPTION_NAME];
    text += strspn(text, "-");
    size_t n = strspn(text, letters);
    *end = text + n;
    if (n >= sizeof name)
        return NULL;
    memcpy(name, text, n);
    name[n] = '\0';
    return option_by_name(name);
}

int settings_locate(const struct settings *settings, struct status *st)
{
    const char *end;
    const struct option_row *option = option_at_fault(st->text, &end);
    const char *place = option ? settings->of[option_index(option)].place : NULL;
    if (!place || st->code == 0)
        return st->code;
    struct status found = {0};
    status_fail(&found, st->code, "%s: %s%s", place, option->name, end);
    *st = found;
    return st->code;
}

/* Is the op a model? */
static bool runs_model(const struct settings *settings)
{
    const char *op = settings_text(settings, "op");
    return op && document_is_path(op);
}

static bool same(const struct setting *a, const struct setting *b)
{
    bool equal = a->count == b->count;
    for (int v = 0; equal && v < a->count; v++)
        equal = strcmp(a->text[v], b->text[v]) == 0;
    return equal;
}

int settings_add_model(struct settings *settings, const char *path, struct status *st)
{
    struct settings other;
    settings_init(&other);
    int code = settings_read(&other, path, st);
    if (code == 0 && (!runs_model(settings) || !runs_model(&other) || settings->has_parts != other.has_parts))
        code =
            status_fail(st, STATUS_INPUT, "'%s': one workload file at a time, unless all are models", path);
    for (int i = 0; i < option_count && code == 0; i++) {
        const struct option_row *option = &option_table[i];
        if (!option->of_point || strcmp(option->name, "op") == 0 || settings_has_argument(settings, option) ||
            same(&settings->of[i], &other.of[i]))
            continue;
        code = status_fail(st, STATUS_INPUT, "%s: %s is %s here and %s in %s; give --%s for both", path,
                           option->name, other.of[i].count > 0 ? other.of[i].text[0] : "nothing",
                           settings->of[i].count > 0 ? settings->of[i].text[0] : "nothing", settings->file,
                           option->name);
    }
    if (strlen(other.every_mesh) > strlen(settings->every_mesh))
        memcpy(settings->every_mesh, other.every_mesh, sizeof settings->every_mesh);
    if (code == 0)
        code = settings_add(settings, option_by_name("op"), path, st);
    settings_free(&other);
    return code;
}
