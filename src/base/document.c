/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Documents are read with libyaml, node by node. JSON needs no reader of its own: it is YAML's flow style. */
#include "base/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "base/embedded.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/lookup.h"
#include "base/text.h"

/* A name given to a node with &. */
struct anchor {
    const char *name;
    const struct node *node;
    struct anchor *next;
};

struct children {
    const char **name;
    const struct node **node;
    int count, room;
};

struct reader {
    struct document *document;
    const char *file;
    struct status *st;
    yaml_parser_t parser;
    struct anchor *anchors; /* the last one defined first: an alias refers to that one */
    int depth;
    int values; /* in the document, including those that merge keys added */
    int line, column;
};

static int read_node(struct reader *r, const yaml_event_t *event, const struct node **out);

static int fail(const struct reader *r, const char *what)
{
    return status_fail(r->st, STATUS_INPUT, "%s:%d:%d: %s", r->file, r->line, r->column, what);
}

static void set_place(struct reader *r, yaml_mark_t mark)
{
    r->line = (int)mark.line + 1;
    r->column = (int)mark.column + 1;
}

/* Fails with the parser's problem and its place. For a byte that is not valid text libyaml gives only an
 * offset, so line and column are counted here. */
static int fail_parser(struct reader *r, const char *text)
{
    const yaml_parser_t *parser = &r->parser;
    yaml_mark_t mark = parser->problem_mark;
    if (parser->error == YAML_MEMORY_ERROR)
        return status_nomem(r->st);
    const char *cure = parser->error == YAML_PARSER_ERROR || parser->error == YAML_SCANNER_ERROR
                           ? "; indent a line like the one before it, and write NAME: VALUE"
                           : "";
    if (parser->error == YAML_READER_ERROR) {
        mark = (yaml_mark_t){0};
        for (size_t i = 0; i < parser->problem_offset; i++) {
            mark.column = text[i] == '\n' ? 0 : mark.column + 1;
            mark.line += text[i] == '\n';
        }
    }
    set_place(r, mark);
    const char *problem = parser->problem ? parser->problem : "not YAML";
    if (!parser->context)
        return status_fail(r->st, STATUS_INPUT, "%s:%d:%d: %s%s", r->file, r->line, r->column, problem, cure);
    return status_fail(r->st, STATUS_INPUT, "%s:%d:%d: %s %s that starts in line %zu%s", r->file, r->line,
                       r->column, problem, parser->context, parser->context_mark.line + 1, cure);
}

/* Reads the next event and records its place; an empty value keeps the place of its name. If the parser
 * itself fails, document_parse() writes the message. */
static int next_event(struct reader *r, yaml_event_t *event)
{
    if (!yaml_parser_parse(&r->parser, event))
        return STATUS_INPUT;
    yaml_event_type_t type = event->type;
    const char *tag = NULL;
    bool empty = false;
    if (type == YAML_SCALAR_EVENT) {
        tag = (const char *)event->data.scalar.tag;
        empty = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && event->data.scalar.length == 0;
    } else if (type == YAML_MAPPING_START_EVENT) {
        tag = (const char *)event->data.mapping_start.tag;
    } else if (type == YAML_SEQUENCE_START_EVENT) {
        tag = (const char *)event->data.sequence_start.tag;
    }
    if (!empty)
        set_place(r, event->start_mark);
    if (!tag)
        return 0;
    yaml_event_delete(event);
    return fail(r, "tags (!...) are not used here; remove it");
}

/* Copies a text into the document's memory. */
static int keep(struct reader *r, const void *text, size_t bytes, const char **kept)
{
    char *copy = document_take(r->document, bytes + 1);
    if (!copy)
        return status_nomem(r->st);
    memcpy(copy, text, bytes);
    *kept = copy;
    return strlen(copy) == bytes ? 0 : fail(r, "a text with a NUL character");
}

static int count_values(struct reader *r, int values)
{
    r->values += values;
    if (r->values <= DOCUMENT_VALUES)
        return 0;
    return status_fail(
        r->st, STATUS_LIMIT,
        "%s:%d:%d: more than %d values, merged ones included; split the file, or write a long array as .csv",
        r->file, r->line, r->column, DOCUMENT_VALUES);
}

static int new_node(struct reader *r, enum node_kind kind, struct node **node)
{
    int code = count_values(r, 1);
    *node = code == 0 ? document_take(r->document, sizeof **node) : NULL;
    if (!*node)
        return code < 0 ? code : status_nomem(r->st);
    **node = (struct node){.kind = kind, .file = r->file, .line = r->line, .column = r->column, .text = ""};
    return 0;
}

/* An anchor is defined when its node ends, so that no node can contain itself. */
static int add_anchor(struct reader *r, const yaml_char_t *name, const struct node *node)
{
    if (!name)
        return 0;
    struct anchor *anchor = document_take(r->document, sizeof *anchor);
    if (!anchor)
        return status_nomem(r->st);
    *anchor = (struct anchor){.node = node, .next = r->anchors};
    r->anchors = anchor;
    return keep(r, name, strlen((const char *)name), &anchor->name);
}

static int find_anchor(const struct reader *r, const char *name, const struct node **node)
{
    for (const struct anchor *a = r->anchors; a; a = a->next)
        if (strcmp(a->name, name) == 0) {
            *node = a->node;
            return 0;
        }
    return status_fail(r->st, STATUS_INPUT, "%s:%d:%d: *%s stands for nothing; define &%s before it", r->file,
                       r->line, r->column, name, name);
}

static int children_add(struct children *c, const char *name, const struct node *node, struct status *st)
{
    int room = c->room; /* both arrays grow together */
    if (!GROW(c->name, c->count, room) || !GROW(c->node, c->count, c->room))
        return status_nomem(st);
    c->name[c->count] = name;
    c->node[c->count++] = node;
    return 0;
}

static void children_free(struct children *c)
{
    free(c->name);
    free(c->node);
}

/* Adds the values of a merge key: those of one mapping, or of a list of mappings. */
static int merge(struct reader *r, struct children *children, const struct node *from, bool within)
{
    static const char what[] = "<< takes a mapping or a list of mappings";
    if (from->kind == NODE_SCALAR || (within && from->kind == NODE_SEQUENCE))
        return node_fail(from, r->st, STATUS_INPUT, what);
    int code = count_values(r, from->count);
    for (int i = 0; i < from->count && code == 0; i++)
        code = from->kind == NODE_MAPPING ? children_add(children, from->name[i], from->child[i], r->st)
                                          : merge(r, children, from->child[i], true);
    return code;
}

/* Keeps the first value of each name: the mapping's own value comes before merged ones, and an earlier merge
 * before a later one. A name that appears twice among the first `own` values, which the mapping itself lists,
 * is an error, since it is unclear which one is meant. */
static int drop_repeated(struct reader *r, struct children *children, int own)
{
    struct lookup names = {0};
    int kept = 0, code = 0;
    for (int i = 0; i < children->count && code == 0; i++) {
        const char *name = children->name[i];
        const struct lookup_entry *at = NULL;
        uint32_t hash = lookup_hash(0, name, strlen(name));
        int32_t first;
        do
            first = lookup_next(&names, hash, &at);
        while (first >= 0 && strcmp(children->name[first], name) != 0);
        if (first >= 0 && i < own) {
            code = node_fail(children->node[i], r->st, STATUS_INPUT,
                             "'%s' appears twice (first in line %d); keep one", name,
                             children->node[first]->line);
        } else if (first < 0) {
            children->name[kept] = name;
            children->node[kept] = children->node[i];
            if (lookup_add(&names, hash, kept++) < 0)
                code = status_nomem(r->st);
        }
    }
    children->count = kept;
    lookup_free(&names);
    return code;
}

/* Reads the children of a node until the node ends; the values of merge keys go to a separate list. */
static int read_children(struct reader *r, bool mapping, struct children *own, struct children *merges)
{
    int code;
    for (;;) {
        yaml_event_t event;
        const char *name = NULL;
        const struct node *node = NULL;
        bool merging = false;
        if ((code = next_event(r, &event)) < 0)
            break;
        if (event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (mapping) {
            code = event.type == YAML_SCALAR_EVENT
                       ? keep(r, event.data.scalar.value, event.data.scalar.length, &name)
                       : fail(r, "a name must be plain text");
            merging = code == 0 && event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !strcmp(name, "<<");
            yaml_event_delete(&event);
            if (code < 0 || (code = next_event(r, &event)) < 0)
                break;
        }
        code = read_node(r, &event, &node);
        yaml_event_delete(&event);
        if (code < 0 || (code = children_add(merging ? merges : own, name, node, r->st)) < 0)
            break;
    }
    return code;
}

static int read_collection(struct reader *r, bool mapping, struct node *node)
{
    struct children own = {0}, merges = {0};
    int code = read_children(r, mapping, &own, &merges), written = own.count;
    for (int i = 0; i < merges.count && code == 0; i++)
        code = merge(r, &own, merges.node[i], false);
    if (code == 0 && mapping)
        code = drop_repeated(r, &own, written);
    size_t bytes = (size_t)own.count * sizeof(void *);
    if (code == 0 && bytes > 0) {
        node->name = document_take(r->document, bytes);
        node->child = document_take(r->document, bytes);
        code = node->name && node->child ? 0 : status_nomem(r->st);
    }
    if (code == 0 && bytes > 0) {
        memcpy(node->name, own.name, bytes);
        memcpy(node->child, own.node, bytes);
        node->count = own.count;
    }
    children_free(&own);
    children_free(&merges);
    return code;
}

/* Reads the node whose first event is `event`. */
static int read_node(struct reader *r, const yaml_event_t *event, const struct node **out)
{
    bool scalar = event->type == YAML_SCALAR_EVENT, mapping = event->type == YAML_MAPPING_START_EVENT;
    struct node *node;
    if (event->type == YAML_ALIAS_EVENT)
        return find_anchor(r, (const char *)event->data.alias.anchor, out);
    if (!scalar && r->depth == DOCUMENT_DEPTH)
        return fail(r, "nested too deeply");
    int code = new_node(r, scalar ? NODE_SCALAR : mapping ? NODE_MAPPING : NODE_SEQUENCE, &node);
    if (code == 0 && scalar) {
        node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        code = keep(r, event->data.scalar.value, event->data.scalar.length, &node->text);
    } else if (code == 0) {
        r->depth++;
        code = read_collection(r, mapping, node);
        r->depth--;
    }
    *out = node;
    return code < 0 ? code
                    : add_anchor(r,
                                 scalar    ? event->data.scalar.anchor
                                 : mapping ? event->data.mapping_start.anchor
                                           : event->data.sequence_start.anchor,
                                 node);
}

/* Reads the only document of the stream; a second one is an error. */
static int read_stream(struct reader *r)
{
    bool more = true;
    int code = 0;
    while (more && code == 0) {
        yaml_event_t event;
        if ((code = next_event(r, &event)) < 0)
            break;
        more = event.type != YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT && r->document->root)
            code = fail(r, "a second document; put it into a file of its own");
        else if (event.type >= YAML_ALIAS_EVENT)
            code = read_node(r, &event, &r->document->root);
        yaml_event_delete(&event);
    }
    if (code == 0 && !r->document->root)
        code = status_fail(r->st, STATUS_INPUT, "%s:1:1: the file is empty", r->file);
    return code;
}

int document_parse(struct document *document, const char *name, const char *text, size_t bytes,
                   struct status *st)
{
    /* st->code tells below whether there is a message already, so a status is needed in any case. */
    struct status own = {0};
    struct reader reader = {.document = document, .st = st ? st : &own, .line = 1, .column = 1};
    *document = (struct document){0};
    if (bytes > DOCUMENT_BYTES)
        return status_fail(reader.st, STATUS_LIMIT,
                           "%s: %zu bytes are more than the %d of a document; split it", name, bytes,
                           DOCUMENT_BYTES);
    int code = keep(&reader, name, strlen(name), &reader.file);
    if (code == 0 && !yaml_parser_initialize(&reader.parser))
        code = status_nomem(reader.st);
    if (code == 0) {
        yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, bytes);
        code = read_stream(&reader);
        if (code < 0 && reader.st->code == 0)
            code = fail_parser(&reader, text);
    }
    yaml_parser_delete(&reader.parser);
    if (code < 0)
        document_free(document);
    return code;
}

/* The compiled-in file of a path such as workloads/steps/v5e-32b.yaml; NULL if there is none. */
static const struct embedded_file *find_embedded(const char *path)
{
    char name[64];
    int end = 0;
    if (sscanf(path, "workloads/%63[a-z0-9/-].yaml%n", name, &end) != 1 || path[end])
        return NULL;
    for (const struct embedded_file *file = embedded_workloads; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}

void document_suggest(const char *path, struct status *st)
{
    enum { NAMES = 64 };
    char nearest[TEXT_NEAREST], name[64];
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path, *names[NAMES + 1];
    int n = 0;
    for (; embedded_workloads[n].name && n < NAMES; n++)
        names[n] = embedded_workloads[n].name;
    names[n] = NULL;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(file, "."), file);
    text_nearest(name, names, nearest);
    if (strncmp(nearest, "the nearest", strlen("the nearest")) == 0)
        status_suffix(st, "; of the workloads compiled in, workloads/NAME.yaml, %s", nearest);
}

int document_load(struct document *document, const char *path, struct status *st)
{
    struct file file;
    const struct embedded_file *embedded = access(path, F_OK) == 0 ? NULL : find_embedded(path);
    if (embedded)
        return document_parse(document, path, embedded->text, embedded->bytes, st);
    *document = (struct document){0};
    int code = file_read(&file, path, st);
    if (code == 0)
        code = document_parse(document, file.name, file.text, file.bytes, st);
    else if (st && access(path, F_OK) != 0)
        document_suggest(path, st);
    file_free(&file);
    return code;
}

bool document_is_path(const char *text)
{
    const char *dot = strrchr(text, '.');
    return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
}
