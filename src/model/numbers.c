/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/numbers.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "model/front.h"
#include "numbers/interpret.h"
#include "numbers/shard.h"

/* "w" of w3; returns the number's text in the name. */
static const char *cut_stem(const char *name, char stem[static TENSOR_NAME])
{
    size_t letters = strlen(name);
    while (letters > 0 && isdigit((unsigned char)name[letters - 1]))
        letters--;
    snprintf(stem, TENSOR_NAME, "%.*s", (int)letters, name);
    return name + letters;
}

/* Can a file set the numbers of this input? The front end sets some itself. */
static bool is_given(const struct model_tensor *input, const char *name)
{
    char stem[TENSOR_NAME];
    cut_stem(input->name, stem);
    return !input->given.data && (strcmp(input->name, name) == 0 || strcmp(stem, name) == 0);
}

int numbers_check(const struct node *root, const struct model *model, struct status *st)
{
    const struct node *data = node_get(root, "data");
    int code = data ? node_is_mapping(data, "data", st) : 0, count = 0;
    const char **names = calloc((size_t)model->inputs + 2, sizeof *names);
    if (!names)
        return status_nomem(st);
    for (int i = 0; i < model->inputs; i++)
        if (!model->input[i].given.data)
            names[count++] = model->input[i].name;
    if (model->experts) /* eval compares it */
        names[count++] = model->output[0].name;
    for (int d = 0; data && code == 0 && d < data->count; d++) {
        const char *name = data->name[d];
        bool known = text_index(name, names) >= 0;
        for (int i = 0; i < model->inputs && !known; i++)
            known = is_given(&model->input[i], name);
        if (!known)
            code = node_prefix(data->child[d], st, text_unknown("tensor", name, names, st));
    }
    free(names);
    return code;
}

int front_path(const struct node *node, const char *file, const char *number, char path[static FRONT_PATH],
               struct status *st)
{
    const char *text;
    int code = node_text(node, "a file of numbers", &text, st);
    if (code < 0)
        return code;
    const char *slash = strrchr(file, '/'), *hole = strstr(text, "{}");
    int folder = slash && text[0] != '/' ? (int)(slash - file) + 1 : 0,
        before = hole ? (int)(hole - text) : 0;
    int n = snprintf(path, FRONT_PATH, "%.*s%.*s%s%s", folder, file, before, text, hole ? number : "",
                     hole ? hole + 2 : text);
    return n < FRONT_PATH
               ? 0
               : node_fail(node, st, STATUS_INPUT, "the path is longer than %d letters", FRONT_PATH - 1);
}

int numbers_shape(const struct model_tensor *tensor, int64_t shape[static TENSOR_DIMS])
{
    bool flat = tensor->flat.dims > 0;
    int dims = flat ? tensor->flat.dims : tensor->tensor.dims;
    for (int d = 0; d < dims; d++)
        shape[d] = flat ? tensor->flat.dim[d] : tensor->tensor.dim[d].n;
    return dims;
}

/* Reads the node of w3 under `data:`, or that of w, in whose text {} stands for 3; *found: there is one. */
static int read_one(const struct node *data, const char *file, const struct model_tensor *tensor,
                    struct array *array, bool *found, struct status *st)
{
    char path[FRONT_PATH], stem[TENSOR_NAME], text[ARRAY_TEXT], wanted[TENSOR_TEXT];
    int64_t shape[TENSOR_DIMS], elements = 1;
    struct tensor whole = {.dims = numbers_shape(tensor, shape)};
    const char *number = cut_stem(tensor->name, stem);
    const struct node *own = data ? node_get(data, tensor->name) : NULL,
                      *node = own || !data ? own : node_get(data, stem);
    *found = node != NULL;
    if (!node)
        return 0;
    if (front_path(node, file, number, path, st) < 0 || array_read(path, array, st) < 0)
        return st->code;
    for (int d = 0; d < whole.dims; d++)
        elements *= whole.dim[d].n = shape[d];
    array->dtype = DTYPE_F32;
    if (array_elements(array) == elements)
        return array_reshape(array, whole.dims, shape, st);
    node_fail(node, st, STATUS_INPUT, "%s holds %s, but %s is %s", path, array_print_shape(array, text),
              tensor->name, tensor_print(&whole, &(struct axes){0}, wanted));
    array_free(array);
    return st->code;
}

/* Random numbers from -1 to 1, divided by the square root of the first dim if there are several dims, as that
 * many are summed. */
static int draw(const struct model_tensor *input, uint64_t seed, struct array *array, struct status *st)
{
    int64_t shape[TENSOR_DIMS];
    uint64_t random = seed;
    int dims = numbers_shape(input, shape);
    double scale = dims > 1 ? 1 / sqrt((double)shape[0]) : 1;
    if (array_init(array, dims, shape, DTYPE_F32, st) < 0)
        return st->code;
    int64_t n = array_elements(array);
    for (int64_t i = 0; i < n; i++)
        array->data[i] = input->below ? floor((double)input->below * random_unit(&random))
                                      : scale * (2 * random_unit(&random) - 1);
    return 0;
}

/* The mapping `data:` of a file, NULL if it has none. */
static int open_data(struct document *document, const char *file, const struct node **data, struct status *st)
{
    if (document_load(document, file, st) < 0)
        return st->code;
    *data = node_get(document->root, "data");
    return *data ? node_is_mapping(*data, "data", st) : 0;
}

int numbers_read(const char *file, const struct model *model, struct array in[], struct status *st)
{
    struct document document = {0};
    const struct node *data = NULL;
    int code = open_data(&document, file, &data, st), read = 0;
    for (; read < model->inputs && code == 0; read++) {
        const struct model_tensor *input = &model->input[read];
        bool found = input->given.data != NULL;
        code = found ? array_copy(&input->given, &in[read], st)
                     : read_one(data, file, input, &in[read], &found, st);
        if (code == 0 && !found)
            code = draw(input, (uint64_t)read + 1, &in[read], st);
    }
    while (code < 0 && read > 0)
        array_free(&in[--read]);
    document_free(&document);
    return code;
}

int numbers_expected(const char *file, const struct model_tensor *output, struct array *array, bool *found,
                     struct status *st)
{
    struct document document = {0};
    const struct node *data = NULL;
    int code = open_data(&document, file, &data, st);
    if (code == 0)
        code = read_one(data, file, output, array, found, st);
    document_free(&document);
    return code;
}

/* The position in the flat tensor of element [row, column] of a matrix; `elements` in all. */
static int64_t place(const struct model_flat *flat, int64_t elements, int64_t row, int64_t column)
{
    int64_t at[] = {row, column}, local[] = {flat->dim[0], flat->dims > 1 ? flat->dim[1] : 1}, part = 0;
    if (flat->cut >= 0) {
        local[flat->cut] /= flat->parts;
        part = at[flat->cut] / local[flat->cut];
        at[flat->cut] %= local[flat->cut];
    }
    return part * (elements / flat->parts) + at[0] * local[1] + at[1];
}

/* Converts a matrix to its flat tensor, or back: model_flat. */
static int refit(const struct model_tensor *tensor, const struct array *from, bool hold, struct array *to,
                 struct status *st)
{
    const struct model_flat *flat = &tensor->flat;
    int64_t elements = tensor->tensor.dim[0].n, columns = flat->dims > 1 ? flat->dim[1] : 1;
    int64_t all = flat->dim[0] * columns;
    if (hold && array_elements(from) != all)
        return status_fail(st, STATUS_INPUT, "%lld numbers for a matrix of %lld",
                           (long long)array_elements(from), (long long)all);
    if (array_init(to, hold ? 1 : flat->dims, hold ? &elements : flat->dim, DTYPE_F32, st) < 0)
        return st->code;
    for (int64_t i = 0; i < all; i++) {
        int64_t held = place(flat, elements, i / columns, i % columns);
        to->data[hold ? held : i] = from->data[hold ? i : held];
    }
    return 0;
}

static int join(const struct model *model, const struct model_tensor *output, const struct array block[],
                double relative, struct array *out, struct status *st)
{
    struct spec spec = tensor_spec(&output->tensor);
    int code = spec_check_replicas(&spec, &model->axes, block, relative, st);
    if (code < 0)
        return status_prefix(st, "%s: ", output->name);
    code = spec_assemble(&spec, &model->axes, block, out, st);
    if (code < 0 || output->flat.dims == 0)
        return code;
    struct array held = *out;
    code = refit(output, &held, false, out, st);
    array_free(&held);
    return code;
}

/* Splits an input into the blocks of the devices. */
static int cut(const struct model *model, const struct model_tensor *input, const struct array *whole,
               struct array block[], struct status *st)
{
    struct spec spec = tensor_spec(&input->tensor);
    struct array held = {0};
    int code = input->flat.dims ? refit(input, whole, true, &held, st) : 0;
    if (code == 0)
        code = spec_shard(&spec, &model->axes, input->flat.dims ? &held : whole, block, st);
    array_free(&held);
    return code < 0 ? status_prefix(st, "%s: ", input->name) : 0;
}

int numbers_run(const struct model *model, const struct module *module, const struct array in[],
                double relative, struct array out[], struct status *st)
{
    int n = axes_devices(&model->axes), joined = 0, code = 0;
    struct interpretation made = {0};
    struct array *block = calloc((size_t)model->inputs * (size_t)n + 1, sizeof *block);
    if (!block)
        return status_nomem(st);
    for (int i = 0; i < model->inputs && code == 0; i++)
        code = cut(model, &model->input[i], &in[i], block + (size_t)i * (size_t)n, st);
    if (code == 0)
        code = interpret(module, block, model->inputs, &made, st);
    for (; joined < model->outputs && code == 0; joined++)
        code = join(model, &model->output[joined], made.result + (size_t)joined * (size_t)n, relative,
                    &out[joined], st);
    while (code < 0 && joined > 0)
        array_free(&out[--joined]);
    for (int i = 0; i < model->inputs * n; i++)
        array_free(&block[i]);
    free(block);
    interpretation_free(&made);
    return code;
}
