/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One case is a mapping:
 *
 *   id, note               names; note is not read
 *   style                  pmap or shard_map
 *   mesh                   {axis: size, ...} in mesh order
 *   op, axis               call.h; one axis or a list of them
 *   in_spec, out_spec      per dim null, an axis or a list of axes; shard_map only
 *   tiled, dim, scatter_dimension, split_axis, concat_axis, axis_index_groups, offset, perm, root
 *   local                  local.h
 *   input, output          nested lists
 */
#include "numbers/cases.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "numbers/definition.h"
#include "numbers/node_array.h"

void case_free(struct example *example)
{
    call_free(&example->call);
    array_free(&example->input);
    array_free(&example->output);
}

void cases_free(struct cases *cases)
{
    for (int i = 0; i < cases->count; i++)
        case_free(&cases->item[i]);
    free(cases->item);
    *cases = (struct cases){0};
}

static int read_int(const struct node *node, const char *name, int *value, struct status *st)
{
    const struct node *at = node_get(node, name);
    int64_t n = *value;
    int code = at ? node_integer(at, name, &n, st) : 0;
    if (code == 0 && (n < INT_MIN / 2 || n > INT_MAX / 2))
        code = node_fail(at, st, STATUS_INPUT, "%s is out of range", name);
    *value = (int)n;
    return code;
}

static int read_mesh(const struct node *node, struct axes *axes, struct status *st)
{
    const struct node *mesh;
    int code = node_need(node, "mesh", &mesh, st);
    if (code < 0 || (code = node_is_mapping(mesh, "mesh", st)) < 0)
        return code;
    for (int i = 0; i < node_count(mesh); i++) {
        const struct node *size = node_child(mesh, i);
        int64_t n = 0;
        if ((code = node_integer(size, "the size of an axis", &n, st)) < 0)
            return code;
        n = n < 0 ? 0 : n > AXES_DEVICES_MAX ? AXES_DEVICES_MAX + 1 : n;
        if ((code = axes_add(axes, node_name(mesh, i), (int)n, st)) < 0)
            return node_prefix(size, st, code);
    }
    return 0;
}

static int read_axes(const struct node *node, const struct axes *axes, struct axis_list *list,
                     struct status *st)
{
    const struct node *axis = node_get(node, "axis");
    bool many = axis && node_kind(axis) == NODE_SEQUENCE;
    for (int i = 0; axis && i < (many ? node_count(axis) : 1); i++) {
        const struct node *one = many ? node_child(axis, i) : axis;
        const char *name;
        int code = node_text(one, "axis", &name, st);
        if (code < 0)
            return code;
        if ((code = axis_list_add(list, axes, name, st)) < 0)
            return node_prefix(one, st, code);
    }
    return 0;
}

static int read_spec_entry(const struct node *entry, const struct axes *axes, struct spec *spec,
                           struct status *st)
{
    bool many = node_kind(entry) == NODE_SEQUENCE;
    if (spec->dims == ARRAY_DIMS)
        return node_fail(entry, st, STATUS_INPUT, "a spec has at most %d entries", ARRAY_DIMS);
    spec->dims++;
    if (node_is_empty(entry))
        return 0;
    for (int i = 0; i < (many ? node_count(entry) : 1); i++) {
        const struct node *one = many ? node_child(entry, i) : entry;
        const char *name;
        int code = node_text(one, "an axis of a spec", &name, st);
        if (code < 0)
            return code;
        if ((code = spec_add(spec, axes, name, st)) < 0)
            return node_prefix(one, st, code);
    }
    return 0;
}

static int read_spec(const struct node *node, const char *name, const struct axes *axes, struct spec *spec,
                     struct status *st)
{
    const struct node *entries;
    int code = node_need(node, name, &entries, st);
    if (code == 0)
        code = node_is_sequence(entries, name, st);
    for (int i = 0; code == 0 && i < node_count(entries); i++)
        code = read_spec_entry(node_child(entries, i), axes, spec, st);
    return code;
}

/* A list of lists of integers, all of one length; *flat is the caller's to free. */
static int read_table(const struct node *node, const char *what, int *rows, int *columns, int **flat,
                      struct status *st)
{
    int code = node_is_sequence(node, what, st);
    if (code < 0)
        return code;
    *rows = node_count(node);
    *columns = *rows && node_kind(node_child(node, 0)) == NODE_SEQUENCE ? node_count(node_child(node, 0)) : 0;
    *flat = calloc((size_t)*rows * (size_t)*columns + 1, sizeof **flat);
    if (!*flat)
        return status_nomem(st);
    for (int r = 0; r < *rows && code == 0; r++) {
        const struct node *row = node_child(node, r);
        if ((code = node_is_sequence(row, what, st)) == 0 && node_count(row) != *columns)
            code = node_fail(row, st, STATUS_INPUT,
                             "%s: %d members after lists of %d; all must have the same size", what,
                             node_count(row), *columns);
        for (int c = 0; c < *columns && code == 0; c++) {
            int64_t value = 0;
            if ((code = node_integer(node_child(row, c), what, &value, st)) == 0 &&
                (value < 0 || value > AXES_DEVICES_MAX))
                code = node_fail(node_child(row, c), st, STATUS_INPUT, "%s: there is no device %lld", what,
                                 (long long)value);
            (*flat)[r * *columns + c] = (int)value;
        }
    }
    return code;
}

static int read_groups(const struct node *node, struct call *call, struct status *st)
{
    const struct node *at = node_get(node, "axis_index_groups");
    if (!at || node_is_empty(at))
        return 0;
    return read_table(at, "axis_index_groups", &call->divide.count, &call->divide.size, &call->divide.member,
                      st);
}

static int read_pairs(const struct node *node, struct call *call, struct status *st)
{
    const struct node *at = node_get(node, "perm");
    int columns = 0, *flat = NULL;
    int code = at ? read_table(at, "perm", &call->pairs, &columns, &flat, st) : 0;
    if (code == 0 && call->pairs > 0 && columns != 2)
        code = node_fail(at, st, STATUS_INPUT, "perm must be a list of [source, destination]");
    if (code < 0) {
        free(flat);
        call->pairs = 0;
        return code;
    }
    call->pair = (int(*)[2])flat;
    return 0;
}

static int read_call(const struct node *node, const struct axes *axes, struct call *call, struct status *st)
{
    const struct node *op, *tiled = node_get(node, "tiled");
    const char *name;
    int code = node_need(node, "op", &op, st);
    if (code < 0 || (code = node_text(op, "op", &name, st)) < 0)
        return code;
    if ((code = call_by_name(name, st)) < 0)
        return node_prefix(op, st, code);
    call->op = (enum call_op)code;
    bool scatters = call->op == CALL_PSUM_SCATTER;
    if ((code = tiled ? node_bool(tiled, "tiled", &call->tiled, st) : 0) < 0 ||
        (code = read_axes(node, axes, &call->axes, st)) < 0 ||
        (code = read_int(node, scatters ? "scatter_dimension" : "dim", &call->dim, st)) < 0 ||
        (code = read_int(node, "split_axis", &call->split_axis, st)) < 0 ||
        (code = read_int(node, "concat_axis", &call->concat_axis, st)) < 0 ||
        (code = read_int(node, "offset", &call->offset, st)) < 0 ||
        (code = read_int(node, "root", &call->root, st)) < 0 || (code = read_groups(node, call, st)) < 0)
        return code;
    return read_pairs(node, call, st);
}

static int read_style(const struct node *node, bool *pmap, struct status *st)
{
    const struct node *style;
    const char *name;
    int code = node_need(node, "style", &style, st);
    if (code < 0 || (code = node_text(style, "style", &name, st)) < 0)
        return code;
    *pmap = strcmp(name, "pmap") == 0;
    return *pmap || strcmp(name, "shard_map") == 0
               ? 0
               : node_fail(style, st, STATUS_INPUT, "unknown style '%.40s'; it is pmap or shard_map", name);
}

static int read_array(const struct node *node, const char *name, struct array *array, struct status *st)
{
    const struct node *at;
    int code = node_need(node, name, &at, st);
    return code < 0 ? code : node_array(at, array, st);
}

static int read_case(const struct node *node, struct example *example, struct status *st)
{
    static const char *const names[] = {"id",
                                        "note",
                                        "style",
                                        "mesh",
                                        "op",
                                        "axis",
                                        "in_spec",
                                        "out_spec",
                                        "tiled",
                                        "dim",
                                        "scatter_dimension",
                                        "split_axis",
                                        "concat_axis",
                                        "axis_index_groups",
                                        "offset",
                                        "perm",
                                        "root",
                                        "local",
                                        "input",
                                        "output",
                                        NULL};
    const struct node *id, *local = node_get(node, "local");
    const char *text;
    int code = node_is_mapping(node, "a case", st);
    if (code < 0 || (code = node_only(node, names, st)) < 0 || (code = node_need(node, "id", &id, st)) < 0 ||
        (code = node_text(id, "id", &text, st)) < 0)
        return code;
    text_one_line(text, example->id, sizeof example->id);
    example->line = node_line(node);
    if (local && ((code = node_text(local, "local", &text, st)) < 0 ||
                  (code = node_prefix(local, st, local_parse(text, &example->local, st))) < 0))
        return code;
    if ((code = read_style(node, &example->pmap, st)) < 0 ||
        (code = read_mesh(node, &example->axes, st)) < 0 ||
        (code = read_call(node, &example->axes, &example->call, st)) < 0 ||
        (code = read_array(node, "input", &example->input, st)) < 0 ||
        (code = read_array(node, "output", &example->output, st)) < 0)
        return code;
    if (example->pmap)
        return 0;
    code = read_spec(node, "in_spec", &example->axes, &example->in_spec, st);
    return code < 0 ? code : read_spec(node, "out_spec", &example->axes, &example->out_spec, st);
}

int cases_load(struct cases *cases, const char *path, struct status *st)
{
    struct document document = {0};
    *cases = (struct cases){0};
    int code = document_load(&document, path, st);
    if (code == 0 && (code = node_is_sequence(document.root, "a file of cases", st)) == 0) {
        int count = node_count(document.root);
        cases->item = calloc((size_t)count + 1, sizeof *cases->item);
        code = cases->item ? 0 : status_nomem(st);
        for (int i = 0; i < count && code == 0; i++) {
            cases->count = i + 1; /* a case that fails half-way is freed with the others */
            code = read_case(node_child(document.root, i), &cases->item[i], st);
        }
    }
    document_free(&document);
    if (code < 0)
        cases_free(cases);
    return code;
}
