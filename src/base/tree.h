/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tree: how the readers of YAML and JSON make a document's nodes.
 *
 * A reader says where it is (`line`, `column`) and calls what stands there, in the order of the text: a scalar, the
 * beginning and the end of a sequence or a mapping, an alias. In a mapping names and values take turns. What is refused
 * whatever the notation is found here: nesting, names that appear twice, too many values.
 *
 * Units: lines and columns from 1. Errors: STATUS_INPUT, STATUS_LIMIT, STATUS_NOMEM, with the place.
 * Ownership: nodes and texts are the document's; tree_free() frees what is left of a tree that was not finished.
 */
#ifndef TREE_H
#define TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/node.h"

/* A sequence or mapping that is not closed yet. */
struct tree_level;

struct anchor;

struct tree {
    struct document *document;
    const char *file;
    struct status *st;
    struct anchor *anchors;    /* the one defined last first, which is the one an alias means */
    struct tree_level *levels; /* the innermost first */
    int depth;
    int values; /* of the document, and those that merges brought */
    int line, column;
};

/* `anchor` names the node; NULL if nothing does. A scalar in quotes is a text and no number. */
int tree_scalar(struct tree *tree, const char *text, size_t bytes, bool quoted, const char *anchor);
int tree_open(struct tree *tree, enum node_kind kind, const char *anchor);
int tree_close(struct tree *tree);
int tree_alias(struct tree *tree, const char *name);
void tree_free(struct tree *tree);

/* Fails where the reader is. */
int tree_fail(const struct tree *tree, int code, const char *what);

/* The readers of a whole text. What they fail with is in the tree's status. */
int tree_read_yaml(struct tree *tree, const char *text, size_t bytes);
int tree_read_json(struct tree *tree, const char *text, size_t bytes);

#endif
