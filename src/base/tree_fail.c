/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/tree.h"

int tree_fail(const struct tree *tree, int code, const char *what)
{
    return status_fail(tree->st, code, "%s:%d:%d: %s", tree->file, tree->line, tree->column, what);
}
