/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

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

struct tree_level {
    struct tree_level *outer;
    struct node *node;
    const char *anchor;
    const char *name;         /* of the value that comes next in a mapping; NULL: a name comes */
    bool merging;             /* that name is the merge key, << */
    struct children children; /* then what merge keys bring */
    struct children merges;
};

static int children_add(struct children *c, const char *name, const struct node *node, struct status *st)
{
    int room = c->room; /* both arrays grow alike */
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

int tree_fail(const struct tree *tree, int code, const char *what)
{
    return status_fail(tree->st, code, "%s:%d:%d: %s", tree->file, tree->line, tree->column, what);
}

/* A text as one of the document; NULL and a fault where there is none. */
static const char *keep(struct tree *tree, const char *text, size_t bytes)
{
    char *copy = document_take(tree->document, bytes + 1);
    if (!copy) {
        status_nomem(tree->st);
        return NULL;
    }
    memcpy(copy, text, bytes);
    if (strlen(copy) != bytes) {
        tree_fail(tree, STATUS_INPUT, "a text with a NUL character");
        return NULL;
    }
    return copy;
}

static int count_values(struct tree *tree, int values)
{
    tree->values += values;
    if (tree->values <= DOCUMENT_VALUES)
        return 0;
    return status_fail(
        tree->st, STATUS_LIMIT,
        "%s:%d:%d: more than %d values, merged ones included; split the file, or write a long array as "
        ".csv",
        tree->file, tree->line, tree->column, DOCUMENT_VALUES);
}

static struct node *new_node(struct tree *tree, enum node_kind kind)
{
    if (count_values(tree, 1) < 0)
        return NULL;
    struct node *node = document_take(tree->document, sizeof *node);
    if (!node) {
        status_nomem(tree->st);
        return NULL;
    }
    *node = (struct node){
        .kind = kind, .file = tree->file, .line = tree->line, .column = tree->column, .text = ""};
    return node;
}

/* Gives a node that is whole its name, and its place in what is around it. */
static int put(struct tree *tree, const struct node *node, const char *anchor)
{
    struct tree_level *level = tree->levels;
    if (anchor) {
        struct anchor *entry = document_take(tree->document, sizeof *entry);
        if (!entry)
            return status_nomem(tree->st);
        *entry = (struct anchor){anchor, node, tree->anchors};
        tree->anchors = entry;
    }
    if (!level) {
        tree->document->root = node;
        return 0;
    }
    int code = children_add(level->merging ? &level->merges : &level->children, level->name, node, tree->st);
    level->name = NULL;
    level->merging = false;
    return code;
}

/* In a mapping, is it a name's turn? */
static bool wants_name(const struct tree *tree)
{
    return tree->levels && tree->levels->node->kind == NODE_MAPPING && !tree->levels->name;
}

int tree_scalar(struct tree *tree, const char *text, size_t bytes, bool quoted, const char *anchor)
{
    const char *kept = keep(tree, text, bytes);
    if (!kept)
        return tree->st->code;
    if (wants_name(tree)) {
        tree->levels->name = kept;
        tree->levels->merging = !quoted && strcmp(kept, "<<") == 0;
        return 0;
    }
    struct node *node = new_node(tree, NODE_SCALAR);
    if (!node)
        return tree->st->code;
    node->quoted = quoted;
    node->text = kept;
    const char *name = anchor ? keep(tree, anchor, strlen(anchor)) : NULL;
    return anchor && !name ? tree->st->code : put(tree, node, name);
}

int tree_open(struct tree *tree, enum node_kind kind, const char *anchor)
{
    if (wants_name(tree))
        return tree_fail(tree, STATUS_INPUT, "a name must be plain text");
    if (tree->depth == DOCUMENT_DEPTH)
        return tree_fail(tree, STATUS_INPUT, "nested too deeply");
    struct tree_level *level = calloc(1, sizeof *level);
    if (!level)
        return status_nomem(tree->st);
    level->outer = tree->levels;
    level->node = new_node(tree, kind);
    level->anchor = anchor ? keep(tree, anchor, strlen(anchor)) : NULL;
    if (!level->node || (anchor && !level->anchor)) {
        free(level);
        return tree->st->code;
    }
    tree->levels = level;
    tree->depth++;
    return 0;
}

int tree_alias(struct tree *tree, const char *name)
{
    if (wants_name(tree))
        return tree_fail(tree, STATUS_INPUT, "a name must be plain text");
    for (const struct anchor *a = tree->anchors; a; a = a->next)
        if (strcmp(a->name, name) == 0)
            return put(tree, a->node, NULL);
    /* An anchor counts from the end of its node on, so that no node holds itself. */
    return status_fail(tree->st, STATUS_INPUT, "%s:%d:%d: *%s stands for nothing; define &%s before it",
                       tree->file, tree->line, tree->column, name, name);
}

/* Adds what a merge key brings: a mapping's values, or those of several. */
static int merge(struct tree *tree, struct children *children, const struct node *from)
{
    if (from->kind == NODE_SCALAR)
        return node_fail(from, tree->st, STATUS_INPUT, "<< takes a mapping or a list of mappings");
    int code = count_values(tree, from->count);
    for (int i = 0; i < from->count && code == 0; i++) {
        if (from->kind == NODE_MAPPING)
            code = children_add(children, from->name[i], from->child[i], tree->st);
        else if (from->child[i]->kind == NODE_MAPPING)
            code = merge(tree, children, from->child[i]);
        else
            code =
                node_fail(from->child[i], tree->st, STATUS_INPUT, "<< takes a mapping or a list of mappings");
    }
    return code;
}

/* A child and where it stands among the others. */
struct place {
    const char *name;
    int order;
};

static int by_name(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int sign = strcmp(x->name, y->name);
    return sign ? sign : x->order - y->order;
}

/* Of the values of one name the first counts, which is the mapping's own, then what is merged first. But the first
 * `own` ones are the mapping's own, where a name twice is a slip of the pen: which of them is meant would be a guess. */
static int drop_repeated(struct tree *tree, struct children *children, int own)
{
    int n = children->count, kept = 0;
    struct place *place = malloc(((size_t)n + 1) * sizeof *place);
    if (!place)
        return status_nomem(tree->st);
    for (int i = 0; i < n; i++)
        place[i] = (struct place){children->name[i], i};
    qsort(place, (size_t)n, sizeof *place, by_name);
    int code = 0;
    for (int i = 1; i < n && code == 0; i++) {
        if (strcmp(place[i - 1].name, place[i].name) != 0)
            continue;
        const struct node *first = children->node[place[i - 1].order],
                          *second = children->node[place[i].order];
        if (place[i].order < own)
            code = node_fail(second, tree->st, STATUS_INPUT,
                             "'%s' appears twice (first in line %d); keep one", place[i].name, first->line);
        children->name[place[i].order] = NULL;
        place[i].order = place[i - 1].order; /* for the next of this name */
    }
    free(place);
    for (int i = 0; i < n; i++) {
        if (!children->name[i])
            continue;
        children->name[kept] = children->name[i];
        children->node[kept++] = children->node[i];
    }
    children->count = kept;
    return code;
}

/* The children as the document's own. */
static int keep_children(struct tree *tree, struct node *node, const struct children *children)
{
    size_t n = (size_t)children->count;
    if (n == 0)
        return 0;
    node->name = document_take(tree->document, n * sizeof *node->name);
    node->child = document_take(tree->document, n * sizeof *node->child);
    if (!node->name || !node->child)
        return status_nomem(tree->st);
    memcpy(node->name, children->name, n * sizeof *node->name);
    memcpy(node->child, children->node, n * sizeof *node->child);
    node->count = children->count;
    return 0;
}

static void pop(struct tree *tree)
{
    struct tree_level *level = tree->levels;
    tree->levels = level->outer;
    tree->depth--;
    children_free(&level->children);
    children_free(&level->merges);
    free(level);
}

int tree_close(struct tree *tree)
{
    struct tree_level *level = tree->levels;
    struct node *node = level->node;
    const char *anchor = level->anchor;
    int own = level->children.count, code = 0;
    for (int i = 0; i < level->merges.count && code == 0; i++)
        code = merge(tree, &level->children, level->merges.node[i]);
    if (code == 0 && node->kind == NODE_MAPPING)
        code = drop_repeated(tree, &level->children, own);
    if (code == 0)
        code = keep_children(tree, node, &level->children);
    pop(tree);
    return code < 0 ? code : put(tree, node, anchor);
}

void tree_free(struct tree *tree)
{
    while (tree->levels)
        pop(tree);
}
