/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON documents, and files of eval's cases: whatever is read has places and texts, and cases can be worked out. */
#include <stdlib.h>

#include "base/document.h"
#include "case_define.h"
#include "fuzz.h"

static int64_t count_nodes(const struct node *node, struct status *st)
{
    int64_t nodes = 1;
    double real;
    struct status own = {0};
    fuzz_promise(node->line >= 1 && node->column >= 1, "a node has a place", st);
    if (node->kind == NODE_SCALAR && node_real(node, "x", &real, &own) < 0)
        fuzz_refused(&own);
    for (int i = 0; i < node->count; i++)
        nodes += count_nodes(node->child[i], st);
    return nodes;
}

static void work_out(const struct example *example)
{
    struct status st = {0};
    struct array result = {0};
    if (axes_devices(&example->axes) > 256 || array_elements(&example->input) > 4096)
        return;
    if (case_define(example, &result, &st) < 0)
        fuzz_refused(&st);
    array_free(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct status st = {0}, own = {0};
    struct document document = {0};
    struct cases cases = {0};
    if (document_parse(&document, "input.json", (const char *)data, bytes, &st) < 0)
        fuzz_refused(&st);
    else
        fuzz_promise(count_nodes(document.root, &st) <= DOCUMENT_VALUES, "no more values than there may be",
                     &st);
    document_free(&document);
    if (cases_load(&cases, fuzz_file(".json", data, bytes), &own) < 0)
        fuzz_refused(&own);
    for (int i = 0; i < cases.count; i++)
        if (cases.item[i].fault.code == 0)
            work_out(&cases.item[i]);
    cases_free(&cases);
    return 0;
}
