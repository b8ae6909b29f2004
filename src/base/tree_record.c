/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of its own, which the build runs: icisim_record FILE.yaml OUT writes down what the reader of YAML says of a file
 * (recording.h). The functions of tree.h that make nodes are its own here: they write.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/recording.h"
#include "base/tree.h"

/* All that is read at once. */
enum { FILE_BYTES = 1 << 20 };

struct recorder {
    struct tree tree; /* first: what the reader knows of it */
    FILE *out;
};

static int record(const struct tree *tree, enum recorded what, const char *anchor, const char *text)
{
    FILE *out = ((const struct recorder *)tree)->out;
    if (tree->line > RECORDING_PLACE_MAX || tree->column > RECORDING_PLACE_MAX)
        return tree_fail(tree, STATUS_LIMIT, "too far down, or to the right, to be compiled in");
    fputc(what, out);
    fputc(tree->line >> 8, out);
    fputc(tree->line & 255, out);
    fputc(tree->column >> 8, out);
    fputc(tree->column & 255, out);
    fprintf(out, "%s%c%s%c", anchor ? anchor : "", 0, text, 0);
    return 0;
}

int tree_scalar(struct tree *tree, const char *text, size_t bytes, bool quoted, const char *anchor)
{
    if (strlen(text) != bytes)
        return tree_fail(tree, STATUS_INPUT, "a text with a NUL character");
    return record(tree, quoted ? RECORDED_QUOTED : RECORDED_PLAIN, anchor, text);
}

int tree_open(struct tree *tree, enum node_kind kind, const char *anchor)
{
    return record(tree, kind == NODE_MAPPING ? RECORDED_MAPPING : RECORDED_SEQUENCE, anchor, "");
}

int tree_close(struct tree *tree)
{
    return record(tree, RECORDED_END, NULL, "");
}

int tree_alias(struct tree *tree, const char *name)
{
    return record(tree, RECORDED_ALIAS, NULL, name);
}

int main(int argc, char **argv)
{
    static char text[FILE_BYTES];
    struct status st = {0};
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL, *out = in ? fopen(argv[2], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "icisim_record: icisim_record FILE.yaml OUT: %s\n", in ? argv[2] : "no file");
        return EXIT_FAILURE;
    }
    size_t bytes = fread(text, 1, sizeof text, in);
    struct document document = {0};
    struct recorder recorder = {.tree = {.document = &document, .file = argv[1], .st = &st}, .out = out};
    if (bytes == sizeof text)
        tree_fail(&recorder.tree, STATUS_LIMIT, "too large to be compiled in");
    else
        tree_read_yaml(&recorder.tree, text, bytes);
    bool written = fclose(out) == 0;
    fclose(in);
    if (st.code == 0 && written)
        return EXIT_SUCCESS;
    fprintf(stderr, "icisim_record: %s\n", written ? st.text : argv[2]);
    remove(argv[2]);
    return EXIT_FAILURE;
}
