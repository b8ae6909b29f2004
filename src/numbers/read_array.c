/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays from documents and tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "numbers/cases.h"
#include "numbers/node_array.h"

/* Copies a node's numbers to the array from `at` on; every list must have the length that the first ones had. */
static int fill(const struct node *node, int depth, struct array *array, double **at, struct status *st)
{
    if (depth == array->dims) {
        const char *text;
        int code = node_real(node, "an element", *at, st);
        if (code < 0 || (code = node_text(node, "an element", &text, st)) < 0)
            return code;
        array->integer = array->integer && !strpbrk(text, ".eE");
        ++*at;
        return 0;
    }
    int code = node_is_sequence(node, "this dim of an array", st);
    if (code < 0)
        return code;
    if (node_count(node) != array->shape[depth])
        return node_fail(node, st, STATUS_INPUT, "a list of %d after lists of %lld at the same depth",
                         node_count(node), (long long)array->shape[depth]);
    for (int i = 0; i < node_count(node) && code == 0; i++)
        code = fill(node_child(node, i), depth + 1, array, at, st);
    return code;
}

int node_array(const struct node *node, struct array *array, struct status *st)
{
    int64_t shape[ARRAY_DIMS];
    int dims = 0;
    *array = (struct array){0};
    for (const struct node *at = node; node_kind(at) == NODE_SEQUENCE; at = node_child(at, 0)) {
        if (dims == ARRAY_DIMS)
            return node_fail(at, st, STATUS_INPUT, "an array has at most %d dims", ARRAY_DIMS);
        shape[dims++] = node_count(at);
        if (node_count(at) == 0)
            break;
    }
    int code = array_init(array, dims, shape, true, st);
    if (code < 0)
        return node_prefix(node, st, code);
    double *at = array->data;
    if ((code = fill(node, 0, array, &at, st)) < 0)
        array_free(array);
    return code;
}

static int read_json(const char *path, struct array *array, struct status *st)
{
    struct document document = {0};
    int code = document_load(&document, path, st);
    if (code == 0)
        code = node_array(document.root, array, st);
    document_free(&document);
    return code;
}

/* One cell of a table; row -1 is the first row of a file without a header. */
static int read_cell(const struct csv_table *table, int row, int column, double *value, struct status *st)
{
    if (row < 0) {
        *value = strtod(table->name[column], NULL);
        return 0;
    }
    int code = csv_table_number(table, row, column, value, st);
    return code == 0 && isnan(*value)
               ? csv_table_fail(table, row, column, st, STATUS_INPUT, "an empty cell; write a number")
               : code;
}

static int read_csv(const char *path, struct array *array, struct status *st)
{
    struct csv_table table = {0};
    int code = csv_table_read(&table, path, st);
    int first = code == 0 && csv_table_is_headless(&table) ? -1 : 0;
    if (code == 0)
        code = array_init(array, 2, (int64_t[]){table.rows - first, table.columns}, true, st);
    double *at = array->data;
    for (int row = first; row < table.rows; row++)
        for (int column = 0; column < table.columns && code == 0; column++) {
            const char *text = row < 0 ? table.name[column] : csv_table_cell(&table, row, column);
            code = read_cell(&table, row, column, at++, st);
            array->integer = array->integer && !strpbrk(text, ".eE");
        }
    csv_table_free(&table);
    if (code < 0)
        array_free(array);
    return code;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

int case_read_array(const char *text_or_path, struct array *array, struct status *st)
{
    *array = (struct array){0};
    if (ends_with(text_or_path, ".json"))
        return read_json(text_or_path, array, st);
    if (ends_with(text_or_path, ".csv"))
        return read_csv(text_or_path, array, st);
    return array_parse(text_or_path, array, st);
}
