/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a node is made of: document.c makes nodes, node.c reads them. */
#ifndef NODE_H
#define NODE_H

#include "base/document.h"

struct node {
    enum node_kind kind;
    bool quoted;      /* a scalar in quotes is a text and never a number */
    int line, column; /* from 1 */
    int count;        /* of children */
    const char *file;
    const char *text;          /* of a scalar; "" of others */
    const char **name;         /* [count] of a mapping's values; of a sequence NULLs */
    const struct node **child; /* [count] */
};

#endif
