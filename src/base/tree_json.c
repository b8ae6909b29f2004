/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON, by yajl.
 *
 * yajl does not look at what malloc() returns. So its memory is the document's, and where there is none left, it is
 * left by longjmp(): nothing of its own has to be freed.
 */
#include <setjmp.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/tree.h"

struct reader {
    struct tree *tree;
    const char *text;
    size_t bytes;
    bool finishing; /* all of it is read; a number may still have to be told */
    size_t at;      /* the place of the tree is that of this offset */
    yajl_handle handle;
    jmp_buf out_of_memory;
};

/* A block, and before it its size. */
struct block {
    size_t bytes;
    _Alignas(max_align_t) char data[];
};

static void *take(void *context, size_t bytes)
{
    struct reader *reader = context;
    struct block *block = document_take(reader->tree->document, sizeof *block + bytes);
    if (!block)
        longjmp(reader->out_of_memory, 1);
    block->bytes = bytes;
    return block->data;
}

static void *take_more(void *context, void *data, size_t bytes)
{
    char *grown = take(context, bytes);
    if (data) {
        size_t had = ((struct block *)((char *)data - offsetof(struct block, data)))->bytes;
        memcpy(grown, data, had < bytes ? had : bytes);
    }
    return grown;
}

static void give_back(void *context, void *data)
{
    (void)context;
    (void)data;
}

/* The offset that yajl has come to. */
static size_t reached(const struct reader *reader)
{
    return reader->finishing ? reader->bytes : yajl_get_bytes_consumed(reader->handle);
}

/* Moves the tree's place on to an offset. */
static void move_to(struct reader *reader, size_t offset)
{
    struct tree *tree = reader->tree;
    for (; reader->at < offset; reader->at++) {
        tree->column = reader->text[reader->at] == '\n' ? 1 : tree->column + 1;
        tree->line += reader->text[reader->at] == '\n';
    }
}

/* Where the token of so many letters starts that has just been read. */
static struct tree *at_token(void *context, size_t length)
{
    struct reader *reader = context;
    move_to(reader, reached(reader) - length);
    return reader->tree;
}

static int on_word(void *context, const char *word)
{
    size_t n = strlen(word);
    return tree_scalar(at_token(context, n), word, n, false, NULL) == 0;
}

static int on_null(void *context)
{
    return on_word(context, "null");
}

static int on_boolean(void *context, int value)
{
    return on_word(context, value ? "true" : "false");
}

static int on_number(void *context, const char *text, size_t length)
{
    return tree_scalar(at_token(context, length), text, length, false, NULL) == 0;
}

/* With its escapes a text was longer: it starts at the quote before the last one that has no backslash before it. */
static int on_string(void *context, const unsigned char *text, size_t length)
{
    const struct reader *reader = context;
    size_t end = reached(reader), start = end - 1;
    size_t slashes;
    do {
        start--;
        for (slashes = 0; slashes < start && reader->text[start - 1 - slashes] == '\\'; slashes++)
            ;
    } while (reader->text[start] != '"' || slashes % 2 == 1);
    return tree_scalar(at_token(context, end - start), (const char *)text, length, true, NULL) == 0;
}

static int on_object(void *context)
{
    return tree_open(at_token(context, 1), NODE_MAPPING, NULL) == 0;
}

static int on_array(void *context)
{
    return tree_open(at_token(context, 1), NODE_SEQUENCE, NULL) == 0;
}

static int on_end(void *context)
{
    return tree_close(at_token(context, 1)) == 0;
}

static const yajl_callbacks callbacks = {.yajl_null = on_null,
                                         .yajl_boolean = on_boolean,
                                         .yajl_number = on_number,
                                         .yajl_string = on_string,
                                         .yajl_start_map = on_object,
                                         .yajl_map_key = on_string,
                                         .yajl_end_map = on_end,
                                         .yajl_start_array = on_array,
                                         .yajl_end_array = on_end};

/* What yajl stopped at, without the newline that it ends with. */
static int fail_parser(struct reader *reader)
{
    unsigned char *why = yajl_get_error(reader->handle, 0, NULL, 0);
    char *text = (char *)why;
    text[strcspn(text, "\n")] = '\0';
    size_t offset = reached(reader);
    move_to(reader, offset > 0 && !reader->finishing ? offset - 1 : offset);
    return tree_fail(reader->tree, STATUS_INPUT, text);
}

int tree_read_json(struct tree *tree, const char *text, size_t bytes)
{
    struct reader reader = {.tree = tree, .text = text, .bytes = bytes};
    yajl_alloc_funcs memory = {take, take_more, give_back, &reader};
    if (setjmp(reader.out_of_memory))
        return status_nomem(tree->st);
    reader.handle = yajl_alloc(&callbacks, &memory, &reader);
    yajl_status status = yajl_parse(reader.handle, (const unsigned char *)text, bytes);
    reader.finishing = status == yajl_status_ok;
    if (status == yajl_status_ok)
        status = yajl_complete_parse(reader.handle);
    if (status == yajl_status_ok)
        return 0;
    return tree->st->code < 0 ? tree->st->code : fail_parser(&reader);
}
