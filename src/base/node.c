/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/node.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Nodes and texts are allocated from blocks, and the blocks are freed all at once. */
struct document_block {
    struct document_block *next;
    size_t used, room;
    _Alignas(max_align_t) char bytes[];
};

void *document_take(struct document *document, size_t bytes)
{
    enum { BLOCK = 16384 };
    size_t align = _Alignof(max_align_t);
    bytes = (bytes + align - 1) / align * align;
    struct document_block *block = document->blocks;
    if (!block || block->room - block->used < bytes) {
        size_t room = bytes > BLOCK ? bytes : BLOCK;
        block = calloc(1, sizeof *block + room);
        if (!block)
            return NULL;
        block->room = room;
        block->next = document->blocks;
        document->blocks = block;
    }
    void *at = block->bytes + block->used;
    block->used += bytes;
    return at;
}

void document_free(struct document *document)
{
    while (document->blocks) {
        struct document_block *block = document->blocks;
        document->blocks = block->next;
        free(block);
    }
    document->root = NULL;
}

bool node_is_empty(const struct node *node)
{
    return node->kind == NODE_SCALAR && !node->quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "null") == 0 || strcmp(node->text, "~") == 0);
}

char *node_place(const struct node *node, char text[static NODE_PLACE])
{
    snprintf(text, NODE_PLACE, "%s:%d:%d", node->file, node->line, node->column);
    return text;
}

const struct node *node_get(const struct node *node, const char *name)
{
    if (node->kind != NODE_MAPPING)
        return NULL;
    for (int i = 0; i < node->count; i++)
        if (strcmp(node->name[i], name) == 0)
            return node->child[i];
    return NULL;
}

int node_need(const struct node *node, const char *name, const struct node **value, struct status *st)
{
    *value = node_get(node, name);
    if (*value)
        return 0;
    return node_fail(node, st, STATUS_INPUT, "'%s' is missing", name);
}

int node_is_mapping(const struct node *node, const char *what, struct status *st)
{
    if (node->kind == NODE_MAPPING)
        return 0;
    return node_fail(node, st, STATUS_INPUT, "%s must be a mapping, 'name: value'", what);
}

int node_is_sequence(const struct node *node, const char *what, struct status *st)
{
    if (node->kind == NODE_SEQUENCE)
        return 0;
    return node_fail(node, st, STATUS_INPUT, "%s must be a list, '[a, b]'", what);
}

int node_only(const struct node *node, const char *const names[], struct status *st)
{
    int code = node_is_mapping(node, "this", st);
    for (int i = 0; i < node->count && code == 0; i++) {
        char nearest[TEXT_NEAREST];
        if (text_index(node->name[i], names) < 0)
            code = node_fail(node->child[i], st, STATUS_INPUT, "unknown name '%s'; %s", node->name[i],
                             text_nearest(node->name[i], names, nearest));
    }
    return code;
}

int node_text(const struct node *node, const char *what, const char **text, struct status *st)
{
    if (node->kind != NODE_SCALAR)
        return node_fail(node, st, STATUS_INPUT, "%s must be one value, not a %s", what,
                         node->kind == NODE_SEQUENCE ? "list" : "mapping");
    if (node_is_empty(node))
        return node_fail(node, st, STATUS_INPUT, "%s has no value", what);
    *text = node->text;
    return 0;
}

/* The text of a number or a truth value. A quoted scalar is refused, since quotes mean a text. */
static int plain_text(const struct node *node, const char *what, const char *should, const char **text,
                      struct status *st)
{
    int code = node_text(node, what, text, st);
    if (code == 0 && node->quoted)
        code = node_fail(node, st, STATUS_INPUT, "%s must be %s, without quotes", what, should);
    return code;
}

int node_integer(const struct node *node, const char *what, int64_t *value, struct status *st)
{
    const char *text = "";
    int code = plain_text(node, what, "a whole number", &text, st);
    if (code < 0)
        return code;
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end)
        return node_fail(node, st, STATUS_INPUT, "%s '%s' must be a whole number", what, text);
    if (errno == ERANGE)
        return node_fail(node, st, STATUS_LIMIT, "%s '%s' is too large", what, text);
    *value = v;
    return 0;
}

int node_real(const struct node *node, const char *what, double *value, struct status *st)
{
    const char *text = "";
    int code = plain_text(node, what, "a number", &text, st);
    if (code < 0)
        return code;
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v))
        return node_fail(node, st, STATUS_INPUT, "%s '%s' must be a number", what, text);
    *value = v;
    return 0;
}

int node_bool(const struct node *node, const char *what, bool *value, struct status *st)
{
    const char *text = "";
    int code = plain_text(node, what, "true or false", &text, st);
    if (code < 0)
        return code;
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0)
        return node_fail(node, st, STATUS_INPUT, "%s '%s' must be true or false", what, text);
    *value = yes;
    return 0;
}

int node_fail(const struct node *node, struct status *st, int code, const char *format, ...)
{
    char text[560], place[NODE_PLACE];
    TEXT_OF_REST(text, format);
    return status_fail(st, code, "%s: %s", node_place(node, place), text);
}

int node_prefix(const struct node *node, struct status *st, int code)
{
    char place[NODE_PLACE];
    if (code < 0 && st)
        status_prefix(st, "%s: ", node_place(node, place));
    return code;
}
