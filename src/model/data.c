/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of a model's inputs: from files that the workload names, or drawn. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/random.h"
#include "base/text.h"
#include "model/front.h"
#include "model/numbers.h"
#include "numbers/array.h"

/* "w" of w3; returns the number's text in the name. */
static const char *cut_stem(const char *name, char stem[static TENSOR_NAME])
{
    size_t letters = strlen(name);
    while (letters > 0 && isdigit((unsigned char)name[letters - 1]))
        letters--;
    snprintf(stem, TENSOR_NAME, "%.*s", (int)letters, name);
    return name + letters;
}

/* The node for w3: w3's own, or that of w, in whose text {} stands for 3. */
static const struct node *find_node(const struct node *data, const char *name, const char **number)
{
    char stem[TENSOR_NAME];
    const struct node *own = node_get(data, name);
    *number = cut_stem(name, stem);
    return own ? own : node_get(data, stem);
}

/* Can a file give numbers to this input? Some have them already. */
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
    for (int d = 0; data && code == 0 && d < node_count(data); d++) {
        const char *name = node_name(data, d);
        bool known = text_index(name, names) >= 0;
        for (int i = 0; i < model->inputs && !known; i++)
            known = is_given(&model->input[i], name);
        if (!known)
            code = node_prefix(node_child(data, d), st, text_unknown("tensor", name, names, st));
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

static int read_one(const struct node *node, const char *file, const char *number,
                    const struct model_tensor *input, struct array *array, struct status *st)
{
    char path[FRONT_PATH], text[ARRAY_TEXT], wanted[TENSOR_TEXT];
    int64_t shape[TENSOR_DIMS];
    struct tensor whole = {.dims = numbers_shape(input, shape)};
    int code = front_path(node, file, number, path, st);
    if (code < 0 || (code = array_read(path, array, st)) < 0)
        return code;
    int64_t elements = 1;
    for (int d = 0; d < whole.dims; d++) {
        whole.dim[d].n = shape[d];
        elements *= shape[d];
    }
    array->integer = false;
    if (array_elements(array) == elements)
        return array_reshape(array, whole.dims, shape, st);
    code =
        node_fail(node, st, STATUS_INPUT, "%s holds %s, but %s is %s", path, array_print_shape(array, text),
                  input->name, tensor_print(&whole, &(struct axes){0}, wanted));
    array_free(array);
    return code;
}

/* Numbers from -1 to 1, smaller where many are summed: over the square root of the first dim, where there are several. */
static int draw(const struct model_tensor *input, uint64_t seed, struct array *array, struct status *st)
{
    int64_t shape[TENSOR_DIMS];
    uint64_t random = seed;
    int dims = numbers_shape(input, shape);
    double scale = dims > 1 ? 1 / sqrt((double)shape[0]) : 1;
    if (array_init(array, dims, shape, false, st) < 0)
        return st->code;
    int64_t n = array_elements(array);
    for (int64_t i = 0; i < n; i++)
        array->data[i] = input->below ? floor((double)input->below * random_unit(&random))
                                      : scale * (2 * random_unit(&random) - 1);
    return 0;
}

int numbers_read(const char *file, const struct model *model, struct array in[], struct status *st)
{
    struct document document = {0};
    int code = document_load(&document, file, st), read = 0;
    const struct node *data = code == 0 ? node_get(document.root, "data") : NULL;
    if (data)
        code = node_is_mapping(data, "data", st);
    for (; read < model->inputs && code == 0; read++) {
        const char *number;
        const struct node *node = data ? find_node(data, model->input[read].name, &number) : NULL;
        code = model->input[read].given.data ? array_copy(&model->input[read].given, &in[read], st)
               : node ? read_one(node, file, number, &model->input[read], &in[read], st)
                      : draw(&model->input[read], (uint64_t)read + 1, &in[read], st);
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
    const char *number = "";
    int code = document_load(&document, file, st);
    const struct node *data = code == 0 ? node_get(document.root, "data") : NULL;
    const struct node *node = data ? node_get(data, output->name) : NULL;
    *found = node != NULL;
    if (node)
        code = read_one(node, file, number, output, array, st);
    document_free(&document);
    return code;
}
