/* SPDX-License-Identifier: GPL-3.0-or-later */
/* YAML, by libyaml. */
#include <string.h>
#include <yaml.h>

#include "base/tree.h"

/* Line and column of an offset, where the library tells no more than that. */
static void find_offset(struct tree *tree, const char *text, size_t offset)
{
    tree->line = tree->column = 1;
    for (size_t i = 0; i < offset; i++) {
        tree->column = text[i] == '\n' ? 1 : tree->column + 1;
        tree->line += text[i] == '\n';
    }
}

static void set_place(struct tree *tree, yaml_mark_t mark)
{
    tree->line = (int)mark.line + 1;
    tree->column = (int)mark.column + 1;
}

/* What the parser stopped at. */
static int fail_parser(struct tree *tree, const yaml_parser_t *parser, const char *text)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return status_nomem(tree->st);
    if (parser->error == YAML_READER_ERROR)
        find_offset(tree, text, parser->problem_offset);
    else
        set_place(tree, parser->problem_mark);
    const char *problem = parser->problem ? parser->problem : "not YAML";
    if (!parser->context)
        return tree_fail(tree, STATUS_INPUT, problem);
    return status_fail(tree->st, STATUS_INPUT, "%s:%d:%d: %s %s that starts in line %zu", tree->file,
                       tree->line, tree->column, problem, parser->context, parser->context_mark.line + 1);
}

/* An empty value has no place of its own and keeps the last one, that of its name. */
static int read_scalar(struct tree *tree, const yaml_event_t *event)
{
    bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (quoted || event->data.scalar.length > 0)
        set_place(tree, event->start_mark);
    if (event->data.scalar.tag)
        return tree_fail(tree, STATUS_INPUT, "tags (!...) are not used here; remove it");
    return tree_scalar(tree, (const char *)event->data.scalar.value, event->data.scalar.length, quoted,
                       (const char *)event->data.scalar.anchor);
}

static int read_start(struct tree *tree, const yaml_event_t *event)
{
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    set_place(tree, event->start_mark);
    if (mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag)
        return tree_fail(tree, STATUS_INPUT, "tags (!...) are not used here; remove it");
    return tree_open(
        tree, mapping ? NODE_MAPPING : NODE_SEQUENCE,
        (const char *)(mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor));
}

static int read_event(struct tree *tree, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        set_place(tree, event->start_mark);
        return tree->document->root
                   ? tree_fail(tree, STATUS_INPUT, "a second document; put it into a file of its own")
                   : 0;
    case YAML_SCALAR_EVENT:
        return read_scalar(tree, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return read_start(tree, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return tree_close(tree);
    case YAML_ALIAS_EVENT:
        set_place(tree, event->start_mark);
        return tree_alias(tree, (const char *)event->data.alias.anchor);
    default:
        return 0;
    }
}

int tree_read_yaml(struct tree *tree, const char *text, size_t bytes)
{
    yaml_parser_t parser;
    yaml_event_t event;
    bool more = true;
    int code = 0;
    if (!yaml_parser_initialize(&parser))
        return status_nomem(tree->st);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
    while (more && code == 0) {
        if (!yaml_parser_parse(&parser, &event)) {
            code = fail_parser(tree, &parser, text);
            break;
        }
        more = event.type != YAML_STREAM_END_EVENT;
        code = read_event(tree, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return code;
}
