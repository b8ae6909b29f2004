/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings of YAML. They are our own, made by the build. */
#include <string.h>

#include "base/recording.h"
#include "base/tree.h"

static int replay(struct tree *tree, enum recorded what, const char *anchor, const char *text)
{
    switch (what) {
    case RECORDED_MAPPING:
        return tree_open(tree, NODE_MAPPING, anchor);
    case RECORDED_SEQUENCE:
        return tree_open(tree, NODE_SEQUENCE, anchor);
    case RECORDED_END:
        return tree_close(tree);
    case RECORDED_ALIAS:
        return tree_alias(tree, text);
    default:
        return tree_scalar(tree, text, strlen(text), what == RECORDED_QUOTED, anchor);
    }
}

int tree_read_recording(struct tree *tree, const char *recording, size_t bytes)
{
    int code = 0;
    for (const char *at = recording; at < recording + bytes && code == 0;) {
        const unsigned char *head = (const unsigned char *)at;
        const char *anchor = at + 5, *text = anchor + strlen(anchor) + 1;
        tree->line = head[1] << 8 | head[2];
        tree->column = head[3] << 8 | head[4];
        code = replay(tree, (enum recorded)head[0], *anchor ? anchor : NULL, text);
        at = text + strlen(text) + 1;
    }
    return code;
}
