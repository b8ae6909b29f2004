/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/document.h"

#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/node.h"

/* Nodes and texts are taken from blocks and freed all at once. */
struct document_block {
    struct document_block *next;
    size_t used, room;
    _Alignas(max_align_t) char bytes[];
};

/* Zeroed memory that lives as long as the document; NULL when there is none. */
static void *take(struct document *document, size_t bytes)
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

/* A name given to a node with &. */
struct anchor {
    const char *name;
    const struct node *node;
    struct anchor *next;
};

/* State while the parser's events become a tree. */
struct composer {
    struct document *document;
    const char *file;
    struct fy_parser *parser;
    struct fy_diag *diag;
    struct anchor *anchors; /* the one defined last first, which is the one an alias means */
    struct status *st;
    int depth;
    int line, column; /* of the event read last, from 1 */
};

/* A sequence or mapping while it is read. */
struct children {
    const char **name;
    const struct node **node;
    int count, room;
};

static int children_add(struct children *c, const char *name, const struct node *node, struct status *st)
{
    if (c->count == c->room) {
        int room = c->room ? 2 * c->room : 8;
        const char **names = realloc(c->name, (size_t)room * sizeof *names);
        if (names)
            c->name = names;
        const struct node **nodes = realloc(c->node, (size_t)room * sizeof *nodes);
        if (nodes)
            c->node = nodes;
        if (!names || !nodes)
            return status_nomem(st);
        c->room = room;
    }
    c->name[c->count] = name;
    c->node[c->count++] = node;
    return 0;
}

static void children_free(struct children *c)
{
    free(c->name);
    free(c->node);
}

static int fail_here(struct composer *c, const char *what)
{
    return status_fail(c->st, STATUS_INPUT, "%s:%d:%d: %s", c->file, c->line, c->column, what);
}

/* A fault that the parser found: the first of those it collected. */
static int fail_parser(struct composer *c)
{
    void *at = NULL;
    const struct fy_diag_error *error = fy_diag_errors_iterate(c->diag, &at);
    if (!error)
        return status_nomem(c->st);
    return status_fail(c->st, STATUS_INPUT, "%s:%d:%d: %s", c->file, error->line, error->column, error->msg);
}

/* The next event and where it stands. An empty value has no place of its own and keeps the last one, that of
 * its name. */
static struct fy_event *next_event(struct composer *c)
{
    struct fy_event *event = fy_parser_parse(c->parser);
    const struct fy_mark *mark = event ? fy_event_start_mark(event) : NULL;
    if (!mark)
        return event;
    c->line = mark->line + 1;
    c->column = mark->column + 1;
    if (event->type == FYET_SCALAR) {
        /* The mark of a quoted text is behind its quote. */
        enum fy_scalar_style style = fy_token_scalar_style(event->scalar.value);
        c->column -= style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
    }
    return event;
}

static struct node *new_node(struct composer *c, enum node_kind kind)
{
    struct node *node = take(c->document, sizeof *node);
    if (!node) {
        status_nomem(c->st);
        return NULL;
    }
    *node = (struct node){.kind = kind, .file = c->file, .line = c->line, .column = c->column, .text = ""};
    return node;
}

/* Text of a token as a string of the document; NULL and a fault where there is none. */
static const char *copy_text(struct composer *c, struct fy_token *token)
{
    size_t bytes = 0;
    const char *text = fy_token_get_text(token, &bytes);
    char *copy = take(c->document, bytes + 1);
    if (!copy) {
        status_nomem(c->st);
        return NULL;
    }
    if (text)
        memcpy(copy, text, bytes);
    if (strlen(copy) != bytes) {
        fail_here(c, "a text with a NUL character");
        return NULL;
    }
    return copy;
}

static const struct node *compose(struct composer *c, struct fy_event *event);

static const struct node *compose_scalar(struct composer *c, struct fy_event *event)
{
    struct node *node = new_node(c, NODE_SCALAR);
    struct fy_token *token = event->scalar.value;
    if (!node || !token)
        return node;
    node->quoted = fy_token_scalar_style(token) != FYSS_PLAIN;
    node->text = copy_text(c, token);
    return node->text ? node : NULL;
}

static const struct node *compose_alias(struct composer *c, struct fy_event *event)
{
    const char *name = copy_text(c, event->alias.anchor);
    for (const struct anchor *a = c->anchors; name && a; a = a->next)
        if (strcmp(a->name, name) == 0)
            return a->node;
    /* An anchor counts from the end of its node on, so that no node holds itself. */
    if (name)
        status_fail(c->st, STATUS_INPUT, "%s:%d:%d: *%s stands for nothing; define &%s before it", c->file,
                    c->line, c->column, name, name);
    return NULL;
}

static int find(const struct children *children, const char *name)
{
    for (int i = 0; i < children->count; i++)
        if (strcmp(children->name[i], name) == 0)
            return i;
    return -1;
}

/* Adds what a merge key brings: a mapping's values whose names are not there yet, or those of several. */
static int merge(struct composer *c, struct children *children, const struct node *from)
{
    if (from->kind == NODE_SCALAR)
        return node_fail(from, c->st, STATUS_INPUT, "<< takes a mapping or a list of mappings");
    for (int i = 0; i < from->count; i++) {
        int code = 0;
        if (from->kind == NODE_SEQUENCE && from->child[i]->kind != NODE_MAPPING)
            code = node_fail(from->child[i], c->st, STATUS_INPUT, "<< takes a mapping or a list of mappings");
        else if (from->kind == NODE_SEQUENCE)
            code = merge(c, children, from->child[i]);
        else if (find(children, from->name[i]) < 0)
            code = children_add(children, from->name[i], from->child[i], c->st);
        if (code < 0)
            return code;
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* A name twice is a slip of the pen: which of the values counts would be a guess. */
static int refuse_twice(struct composer *c, const struct children *children)
{
    size_t n = (size_t)children->count;
    const char **sorted = n ? malloc(n * sizeof *sorted) : NULL;
    int code = n && !sorted ? status_nomem(c->st) : 0;
    if (sorted) {
        memcpy(sorted, children->name, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_name);
    }
    for (size_t i = 1; sorted && i < n && code == 0; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) != 0)
            continue;
        const struct node *first = children->node[find(children, sorted[i])], *second = first;
        for (int k = 0; k < children->count; k++)
            if (strcmp(children->name[k], sorted[i]) == 0)
                second = children->node[k];
        code = node_fail(second, c->st, STATUS_INPUT, "'%s' appears twice (first in line %d); keep one",
                         sorted[i], first->line);
    }
    free(sorted);
    return code;
}

/* Reads children up to the end of the sequence or mapping. Merge keys are put aside in `merges`. */
static int read_children(struct composer *c, bool mapping, struct children *children, struct children *merges)
{
    for (;;) {
        struct fy_event *event = next_event(c);
        if (!event)
            return fail_parser(c);
        bool end = event->type == FYET_SEQUENCE_END || event->type == FYET_MAPPING_END;
        const char *name = NULL;
        bool merging = false;
        if (!end && mapping) {
            bool scalar = event->type == FYET_SCALAR && event->scalar.value;
            name = scalar ? copy_text(c, event->scalar.value) : NULL;
            merging =
                name && strcmp(name, "<<") == 0 && fy_token_scalar_style(event->scalar.value) == FYSS_PLAIN;
            if (!scalar)
                fail_here(c, "a name must be plain text");
        }
        if (end || (mapping && !name)) {
            fy_parser_event_free(c->parser, event);
            return end ? 0 : c->st->code;
        }
        if (mapping) {
            fy_parser_event_free(c->parser, event);
            event = next_event(c);
            if (!event)
                return fail_parser(c);
        }
        const struct node *node = compose(c, event);
        fy_parser_event_free(c->parser, event);
        if (!node)
            return c->st->code;
        int code = children_add(merging ? merges : children, name, node, c->st);
        if (code < 0)
            return code;
    }
}

static const struct node *compose_children(struct composer *c, enum node_kind kind)
{
    struct children children = {0}, merges = {0};
    struct node *node = new_node(c, kind);
    int code = node ? 0 : c->st->code;
    if (code == 0 && c->depth == DOCUMENT_DEPTH)
        code = fail_here(c, "nested too deeply");
    c->depth++;
    if (code == 0)
        code = read_children(c, kind == NODE_MAPPING, &children, &merges);
    c->depth--;
    if (code == 0 && kind == NODE_MAPPING)
        code = refuse_twice(c, &children);
    for (int i = 0; i < merges.count && code == 0; i++)
        code = merge(c, &children, merges.node[i]);
    if (code == 0 && children.count) {
        size_t n = (size_t)children.count;
        node->name = take(c->document, n * sizeof *node->name);
        node->child = take(c->document, n * sizeof *node->child);
        if (!node->name || !node->child) {
            code = status_nomem(c->st);
        } else {
            memcpy(node->name, children.name, n * sizeof *node->name);
            memcpy(node->child, children.node, n * sizeof *node->child);
            node->count = children.count;
        }
    }
    children_free(&children);
    children_free(&merges);
    return code == 0 ? node : NULL;
}

/* Turns an event, and those that belong to it, into a node. NULL after a fault. */
static const struct node *compose(struct composer *c, struct fy_event *event)
{
    if (event->type == FYET_ALIAS)
        return compose_alias(c, event);
    if (fy_event_get_tag_token(event)) {
        fail_here(c, "tags (!...) are not used here; remove it");
        return NULL;
    }
    struct fy_token *token = fy_event_get_anchor_token(event);
    const char *name = token ? copy_text(c, token) : NULL;
    const struct node *node = event->type == FYET_SCALAR           ? compose_scalar(c, event)
                              : event->type == FYET_SEQUENCE_START ? compose_children(c, NODE_SEQUENCE)
                                                                   : compose_children(c, NODE_MAPPING);
    if (!node || !name)
        return token && !name ? NULL : node;
    struct anchor *anchor = take(c->document, sizeof *anchor);
    if (!anchor) {
        status_nomem(c->st);
        return NULL;
    }
    *anchor = (struct anchor){name, node, c->anchors};
    c->anchors = anchor;
    return node;
}

/* Reads the stream: one document, whose node becomes the root. */
static int compose_document(struct composer *c)
{
    c->line = c->column = 1;
    for (;;) {
        struct fy_event *event = next_event(c);
        if (!event)
            return fy_diag_got_error(c->diag) ? fail_parser(c)
                   : c->document->root        ? 0
                                              : fail_here(c, "the file is empty");
        int code = 0;
        bool node = event->type == FYET_SCALAR || event->type == FYET_SEQUENCE_START ||
                    event->type == FYET_MAPPING_START || event->type == FYET_ALIAS;
        if (node) {
            c->document->root = compose(c, event);
            code = c->document->root ? 0 : c->st->code;
        } else if (event->type == FYET_DOCUMENT_START && c->document->root) {
            code = fail_here(c, "a second document; put it into a file of its own");
        }
        bool end = event->type == FYET_STREAM_END;
        fy_parser_event_free(c->parser, event);
        if (code < 0 || (end && c->document->root))
            return code;
    }
}

int document_parse(struct document *document, const char *name, const char *text, size_t bytes,
                   struct status *st)
{
    /* The fault's code decides below, so there must be a status. */
    struct status own = {0};
    struct composer c = {.document = document, .st = st ? st : &own};
    *document = (struct document){0};
    char *file = take(document, strlen(name) + 1);
    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    c.diag = fy_diag_create(&diag_cfg);
    size_t n = strlen(name);
    bool json = n > 5 && strcmp(name + n - 5, ".json") == 0;
    struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | (json ? FYPCF_JSON_FORCE : FYPCF_JSON_NONE),
                               .diag = c.diag};
    int code = 0;
    if (c.diag) {
        fy_diag_set_collect_errors(c.diag, true);
        c.parser = fy_parser_create(&cfg);
    }
    if (!file || !c.parser || fy_parser_set_string(c.parser, text, bytes) != 0) {
        code = status_nomem(c.st);
    } else {
        c.file = strcpy(file, name);
        code = compose_document(&c);
    }
    if (c.parser)
        fy_parser_destroy(c.parser);
    if (c.diag)
        fy_diag_destroy(c.diag);
    if (code < 0)
        document_free(document);
    return code;
}

int document_load(struct document *document, const char *path, struct status *st)
{
    struct file file;
    *document = (struct document){0};
    int code = file_read(&file, path, st);
    if (code == 0)
        code = document_parse(document, file.name, file.text, file.bytes, st);
    file_free(&file);
    return code;
}
