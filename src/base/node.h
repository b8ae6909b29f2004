/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to base/. */
/*
 * node: the values that a document (document.h) is made of, and how they are read.
 *
 * A node is a scalar (a text), a sequence of nodes or a mapping from names to nodes, and knows its place in
 * the file. The caller that reads a node names the type it expects; a node of another type fails with its
 * place.
 *
 * Units: none; quantities are texts for units.h. Errors: STATUS_INPUT, STATUS_LIMIT, with the place.
 * Ownership: nodes and their texts are the document's and live until document_free(), safe on a zeroed document.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { DOCUMENT_DEPTH = 64, DOCUMENT_VALUES = 1 << 20 };

enum node_kind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING };

struct node {
    enum node_kind kind;
    bool quoted;      /* a scalar in quotes is a text and never a number */
    int line, column; /* from 1 */
    int count;        /* number of children: the items of a sequence, the values of a mapping */
    const char *file;
    const char *text;          /* the text of a scalar; "" otherwise */
    const char **name;         /* [count] names of a mapping's values; NULLs in a sequence */
    const struct node **child; /* [count] */
};

struct document {
    const struct node *root;
    struct document_block *blocks; /* memory of the nodes and texts */
};

/* Zeroed memory that lives as long as the document; NULL when memory runs out. */
void *document_take(struct document *document, size_t bytes);
void document_free(struct document *document);

bool node_is_empty(const struct node *node); /* an empty scalar, as after "name:", or null */

/* "FILE:LINE:COLUMN". Returns `text`. */
enum { NODE_PLACE = 320 };
char *node_place(const struct node *node, char text[static NODE_PLACE]);

/* The value of a name in a mapping, NULL if it is not there or `node` is no mapping. node_need() fails
 * instead. */
const struct node *node_get(const struct node *node, const char *name);
int node_need(const struct node *node, const char *name, const struct node **value, struct status *st);

/* Fail unless the node has this type. `what` names the value in the message: "peak must be a mapping". */
int node_is_mapping(const struct node *node, const char *what, struct status *st);
int node_is_sequence(const struct node *node, const char *what, struct status *st);

/* Fails if a mapping has a name that is not in `names` (which ends with NULL), with the nearest ones. */
int node_only(const struct node *node, const char *const names[], struct status *st);

/* Reads a scalar. A text may be quoted; a number and a truth value may not ("true", "false"). */
int node_text(const struct node *node, const char *what, const char **text, struct status *st);
int node_integer(const struct node *node, const char *what, int64_t *value, struct status *st);
int node_real(const struct node *node, const char *what, double *value, struct status *st);
int node_bool(const struct node *node, const char *what, bool *value, struct status *st);

/* Fails at a node: "FILE:LINE:COLUMN: ...". Returns `code`. */
int node_fail(const struct node *node, struct status *st, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds a node's place to a message written without it, such as one from a parser of units.h. Returns
 * `code`. */
int node_prefix(const struct node *node, struct status *st, int code);
