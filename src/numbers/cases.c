/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One case is a mapping:
 *
 *   id, note               names; note is not read
 *   style                  pmap or shard_map
 *   mesh                   {axis: size, ...} in mesh order
 *   op, axis               call.h; one axis or a list of them
 *   in_spec, out_spec      per dim null, an axis or a list of axes; shard_map only
 *   tiled, dim, scatter_dimension, split_axis, concat_axis, axis_index_groups, offset, perm, root, rows
 *   local                  local.h
 *   dtype                  of the input: uint8; default: bool, int32 or float32, as the numbers are written
 *   input, output          nested lists; axis_index has no input
 *   inputs, outputs, in_specs, out_specs, dtypes   of a tuple instead: a list of as many each; what all parts share has no s
 */
#include "numbers/cases.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "numbers/shard.h"

/* Replicas that a program summed in different orders may differ in their last digits. */
static const double replica_tolerance = 1e-9;

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

/* Prints a value in the notation of the command line: null is None, a list stands in brackets, a mapping is
 * name=value, ... */
static int print_value(const struct node *node, const char *brackets, FILE *out, struct status *st)
{
    bool list = node->kind == NODE_SEQUENCE, mapping = node->kind == NODE_MAPPING;
    const char *text = "None";
    int code = list || mapping || node_is_empty(node) ? 0 : node_text(node, "a value", &text, st);
    if (code < 0)
        return code;
    if (!list && !mapping)
        fputs(text, out);
    if (list)
        fputc(brackets[0], out);
    for (int i = 0; i < node->count && code == 0; i++) {
        fprintf(out, "%s%s%s", i ? "," : "", mapping ? node->name[i] : "", mapping ? "=" : "");
        code = print_value(node->child[i], brackets, out, st);
    }
    if (list)
        fputc(brackets[1], out);
    return code;
}

/* The keys of a case, in the order in which a file has them. */
static const struct {
    const char *name;
    const char *brackets;
    enum { OPTIONAL, NEEDED, NEEDED_BUT_FOR_PMAP } need;
} fields[CASE_FIELDS] = {
    [CASE_STYLE] = {"style", "()", NEEDED},
    [CASE_MESH] = {"mesh", "()", NEEDED},
    [CASE_OP] = {"op", "()", NEEDED},
    [CASE_AXIS] = {"axis", "()", OPTIONAL},
    [CASE_GROUPS] = {"axis_index_groups", "[]", OPTIONAL},
    [CASE_PERM] = {"perm", "[]", OPTIONAL},
    [CASE_ROWS] = {"rows", "[]", OPTIONAL},
    [CASE_LOCAL] = {"local", "()", OPTIONAL},
    [CASE_DTYPE] = {"dtype", "()", OPTIONAL},
    [CASE_IN_SPEC] = {"in_spec", "()", NEEDED_BUT_FOR_PMAP},
    [CASE_OUT_SPEC] = {"out_spec", "()", NEEDED_BUT_FOR_PMAP},
};

/* ragged_all_to_all: a matrix, rows from position to position. */
static int read_rows(struct call *call, int n, const char *text, struct status *st)
{
    struct array rows = {0};
    int code = text ? array_read(text, &rows, st) : 0;
    if (code < 0)
        return code;
    if (rows.dims != 2 || rows.shape[0] != n || rows.shape[1] != n || !array_is_whole(&rows))
        code =
            status_fail(st, STATUS_INPUT,
                        "ragged_all_to_all needs a matrix of %d x %d whole numbers: row i, column j says how "
                        "many rows position i sends to j",
                        n, n);
    else if (!(call->rows = calloc((size_t)(n * n) + 1, sizeof *call->rows)))
        code = status_nomem(st);
    for (int i = 0; i < n * n && code == 0; i++) {
        if (rows.data[i] >= 0 && rows.data[i] <= (double)ARRAY_ELEMENTS)
            call->rows[i] = (int64_t)rows.data[i];
        else
            code = status_fail(st, STATUS_INPUT, "%.9g rows from %d to %d; write 0 to %lld", rows.data[i],
                               i / n, i % n, (long long)ARRAY_ELEMENTS);
    }
    array_free(&rows);
    return code;
}

int case_set(struct example *example, enum case_field field, const char *text, struct status *st)
{
    int op, dtype;
    switch (field) {
    case CASE_STYLE:
        example->pmap = strcmp(text, "pmap") == 0;
        return example->pmap || strcmp(text, "shard_map") == 0
                   ? 0
                   : status_fail(st, STATUS_INPUT, "unknown style '%.40s'; it is pmap or shard_map", text);
    case CASE_MESH:
        return axes_parse(text, &example->axes, st);
    case CASE_OP:
        op = call_by_name(text, st);
        example->call.op = op < 0 ? CALL_NONE : (enum call_op)op;
        return op < 0 ? op : 0;
    case CASE_AXIS:
        return axis_list_parse(text, &example->axes, &example->call.axes, st);
    case CASE_GROUPS:
        return strcmp(text, "None") == 0 ? 0 : groups_parse_uneven(text, &example->call.divide, st);
    case CASE_PERM:
        return call_parse_pairs(text, &example->call, st);
    case CASE_ROWS:
        return read_rows(&example->call, axis_list_size(&example->call.axes, &example->axes), text, st);
    case CASE_LOCAL:
        return local_parse(text, &example->local, st);
    case CASE_DTYPE:
        dtype = dtype_by_name(text, st);
        example->typed = dtype >= 0;
        example->dtype = dtype < 0 ? DTYPE_F32 : (enum dtype_id)dtype;
        return dtype < 0 ? dtype : 0;
    case CASE_IN_SPEC:
        return spec_parse(text, &example->axes, &example->in_spec, st);
    default:
        return spec_parse(text, &example->axes, &example->out_spec, st);
    }
}

/* The value of a key of a case; for a part of a tuple, from the list of the plural key or from the key that
 * all parts share. NULL if there is none. */
static const struct node *part_of(const struct node *node, const char *name, int part)
{
    char plural[32];
    snprintf(plural, sizeof plural, "%ss", name);
    const struct node *list = node_get(node, plural);
    if (!list)
        return node_get(node, name);
    return list->kind == NODE_SEQUENCE && part < list->count ? list->child[part] : NULL;
}

static int read_field(const struct node *node, enum case_field field, struct example *example,
                      struct status *st)
{
    const struct node *at = part_of(node, fields[field].name, example->part);
    char *text = NULL;
    size_t bytes = 0;
    bool no_input = field == CASE_IN_SPEC && example->call.op == CALL_AXIS_INDEX;
    if (fields[field].need == OPTIONAL || no_input
            ? !at
            : example->pmap && fields[field].need == NEEDED_BUT_FOR_PMAP)
        return 0;
    if (!at)
        return node_need(node, fields[field].name, &at, st);
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return status_nomem(st);
    int code = print_value(at, fields[field].brackets, out, st);
    if (!text_end(out, &text))
        return status_nomem(st);
    if (code == 0 && (code = case_set(example, field, text, st)) < 0)
        node_prefix(at, st, code);
    free(text);
    return code;
}

static int read_numbers(const struct node *node, struct call *call, struct status *st)
{
    bool scatters = call->op == CALL_PSUM_SCATTER;
    const struct {
        const char *name;
        int *value;
    } numbers[] = {{scatters ? "scatter_dimension" : "dim", &call->dim},
                   {"split_axis", &call->split_axis},
                   {"concat_axis", &call->concat_axis},
                   {"offset", &call->offset},
                   {"root", &call->root}};
    const struct node *tiled = node_get(node, "tiled");
    int code = tiled ? node_bool(tiled, "tiled", &call->tiled, st) : 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && code == 0; i++) {
        const struct node *at = node_get(node, numbers[i].name);
        int64_t n = 0;
        code = at ? node_integer(at, numbers[i].name, &n, st) : 0;
        if (code == 0 && (n < INT_MIN / 2 || n > INT_MAX / 2))
            code = node_fail(at, st, STATUS_INPUT, "%s is out of range", numbers[i].name);
        *numbers[i].value = (int)n;
    }
    return code;
}

static int read_array(const struct node *node, const char *name, int part, struct array *array,
                      struct status *st)
{
    const struct node *at = part_of(node, name, part);
    return at ? array_of_node(at, array, st) : node_need(node, name, &at, st);
}

/* Like NumPy, refuses numbers that an integer type cannot hold. */
static int set_dtype(struct array *input, enum dtype_id dtype, struct status *st)
{
    const char *name = dtype_info(dtype)->jax;
    for (int64_t i = 0; dtype_is_whole(dtype) && dtype != DTYPE_PRED && i < array_elements(input); i++)
        if (fabs(dtype_hold(dtype, input->data[i]) - input->data[i]) > 0)
            return status_fail(st, STATUS_INPUT,
                               "the input has %.9g, which %s does not hold; as %s it is %.9g", input->data[i],
                               name, name, dtype_hold(dtype, input->data[i]));
    array_hold(input, dtype);
    return 0;
}

int case_resolve(struct example *example, struct status *st)
{
    struct call *call = &example->call;
    int dims = example->input.dims - example->pmap;
    if (example->input.data &&
        set_dtype(&example->input, example->typed ? example->dtype : example->input.dtype, st) < 0)
        return st->code;
    return call_resolve(call, axis_list_size(&call->axes, &example->axes), dims, st);
}

/* The number of parts of a tuple; 1 if the case is no tuple. */
static int count_parts(const struct node *node)
{
    const struct node *inputs = node->kind == NODE_MAPPING ? node_get(node, "inputs") : NULL;
    return inputs && inputs->kind == NODE_SEQUENCE && inputs->count > 0 ? inputs->count : 1;
}

/* Every plural key must list as many entries as there are parts. */
static int check_parts(const struct node *node, struct status *st)
{
    static const char *const lists[] = {"inputs", "outputs", "in_specs", "out_specs", "dtypes"};
    for (int i = 0; i < 5; i++) {
        const struct node *list = node_get(node, lists[i]);
        if (list && (list->kind != NODE_SEQUENCE || list->count != count_parts(node)))
            return node_fail(list, st, STATUS_INPUT, "%s must be a list of %d, as many as inputs", lists[i],
                             count_parts(node));
    }
    return 0;
}

static int read_case(const struct node *node, struct example *example, struct status *st)
{
    enum { OTHERS = 16 };
    const char *names[CASE_FIELDS + OTHERS + 1] = {
        "id",     "note",   "input",   "output",   "tiled",     "dim",    "scatter_dimension", "split_axis",
        "inputs", "offset", "outputs", "in_specs", "out_specs", "dtypes", "concat_axis",       "root"};
    for (int f = 0; f < CASE_FIELDS; f++)
        names[OTHERS + f] = fields[f].name;
    const struct node *id;
    const char *text;
    int code = node_is_mapping(node, "a case", st);
    if (code < 0 || (code = node_only(node, names, st)) < 0 || (code = node_need(node, "id", &id, st)) < 0 ||
        (code = node_text(id, "id", &text, st)) < 0)
        return code;
    text_one_line(text, example->id, sizeof example->id);
    example->line = node->line;
    code = check_parts(node, st);
    for (int f = 0; f < CASE_FIELDS && code == 0; f++)
        code = read_field(node, (enum case_field)f, example, st);
    if (code < 0 || (code = read_numbers(node, &example->call, st)) < 0)
        return code;
    if (example->call.op != CALL_AXIS_INDEX &&
        (code = read_array(node, "input", example->part, &example->input, st)) < 0)
        return code;
    if ((code = read_array(node, "output", example->part, &example->output, st)) < 0)
        return code;
    return case_resolve(example, st) < 0 ? node_prefix(node, st, st->code) : 0;
}

static int read_parts(const struct node *node, int number, struct cases *cases, struct status *st)
{
    int parts = count_parts(node);
    for (int part = 0; part < parts; part++) {
        struct example *example = &cases->item[cases->count++];
        snprintf(example->id, sizeof example->id, "case %d", number + 1);
        example->part = part;
        if (read_case(node, example, &example->fault) == STATUS_NOMEM)
            return status_nomem(st);
    }
    return 0;
}

int cases_load(struct cases *cases, const char *path, struct status *st)
{
    struct document document = {0};
    *cases = (struct cases){0};
    int code = document_load(&document, path, st);
    if (code == 0 && (code = node_is_sequence(document.root, "a file of cases", st)) == 0) {
        int count = document.root->count, items = 0;
        for (int i = 0; i < count; i++)
            items += count_parts(document.root->child[i]);
        cases->item = calloc((size_t)items + 1, sizeof *cases->item);
        code = cases->item ? 0 : status_nomem(st);
        for (int i = 0; i < count && code == 0; i++)
            code = read_parts(document.root->child[i], i, cases, st);
    }
    document_free(&document);
    if (code < 0)
        cases_free(cases);
    return code;
}

void case_free_blocks(struct array *block, int devices)
{
    for (int i = 0; block && i < devices; i++)
        array_free(&block[i]);
    free(block);
}

/* The sharding of a pmap: the devices lie along dim 0, and each has one row of it. */
static struct spec spec_of(const struct example *example, const struct spec *spec)
{
    struct spec rows = {.dims = 1};
    for (int a = 0; a < example->axes.count; a++)
        rows.dim[0].axis[rows.dim[0].count++] = a;
    return example->pmap ? rows : *spec;
}

int case_blocks(const struct example *example, struct array block[], struct status *st)
{
    const struct array *input = &example->input;
    int devices = axes_devices(&example->axes), code = 0;
    struct spec spec = spec_of(example, &example->in_spec);
    char shape[ARRAY_TEXT];
    memset(block, 0, (size_t)devices * sizeof *block);
    if (example->call.op == CALL_AXIS_INDEX) {
        for (int i = 0; i < devices && code == 0; i++)
            code = array_init(&block[i], 0, NULL, DTYPE_S32, st);
        return code;
    }
    if (example->pmap && (input->dims == 0 || input->shape[0] != devices))
        return status_fail(st, STATUS_INPUT, "pmap over %d devices needs an input whose dim 0 is %d, not %s",
                           devices, devices, array_print_shape(input, shape));
    code = spec_shard(&spec, &example->axes, input, block, st);
    for (int i = 0; i < devices && code == 0; i++) {
        struct array cut = block[i];
        if (example->pmap) /* devices do not see dim 0 */
            array_remove_dim(&cut, 0);
        code = local_apply(&example->local, &cut, &block[i], st);
        array_free(&cut);
    }
    for (int i = 0; code < 0 && i < devices; i++)
        array_free(&block[i]);
    return code;
}

/* Adds leading dims of length 1 to the blocks: the dim that pmap's devices do not see, or the dims of a
 * scalar's spec. */
static int add_dims(const struct example *example, int dims, const struct array block[], struct array row[],
                    struct status *st)
{
    int devices = axes_devices(&example->axes);
    for (int i = 0; i < devices; i++) {
        row[i] = block[i];
        if (row[i].dims + dims > ARRAY_DIMS)
            return status_fail(st, STATUS_LIMIT,
                               "pmap's result has a dim more than its blocks; at most %d fit", ARRAY_DIMS);
        for (int d = 0; d < dims; d++)
            array_insert_dim(&row[i], 0);
    }
    return 0;
}

int case_result(const struct example *example, const struct array block[], struct array *result,
                struct status *st)
{
    struct spec spec = spec_of(example, &example->out_spec);
    int devices = axes_devices(&example->axes);
    int dims = example->call.op == CALL_AXIS_INDEX ? spec.dims : example->pmap;
    struct array *row = calloc((size_t)devices, sizeof *row);
    *result = (struct array){0};
    int code = row ? 0 : status_nomem(st);
    if (code == 0 && dims > 0 && (code = add_dims(example, dims, block, row, st)) == 0)
        block = row;
    if (code == 0)
        code = spec_check_replicas(&spec, &example->axes, block, replica_tolerance, st);
    if (code == 0)
        code = spec_assemble(&spec, &example->axes, block, result, st);
    free(row);
    return code;
}
