/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

static void fault(struct json *json, const char *what)
{
    if (!json->fault)
        json->fault = what;
}

/* Called with each piece of text. The first piece of a value may be the comma before it. A newline follows
 * that comma if values of this depth start on new lines. */
static void print(void *context, const char *text, size_t length)
{
    struct json *json = context;
    bool comma = json->starts && length == 1 && text[0] == ',';
    json->starts = false;
    if (fwrite(text, 1, length, json->out) != length)
        fault(json, "the file cannot be written");
    if (comma && json->depth <= json->lines && putc('\n', json->out) == EOF)
        fault(json, "the file cannot be written");
}

/* yajl does not check what malloc() returns, so it gets its memory from this block. It allocates only when it
 * is opened. */
struct memory {
    size_t used;
    _Alignas(max_align_t) char bytes[2048];
};

static void *take(void *context, size_t bytes)
{
    struct memory *memory = context;
    size_t align = _Alignof(max_align_t), at = memory->used;
    assert(bytes <= sizeof memory->bytes - at);
    memory->used = (at + bytes + align - 1) / align * align;
    return memory->bytes + at;
}

static void *take_more(void *context, void *data, size_t bytes)
{
    (void)data; /* yajl's generator never enlarges a block */
    return take(context, bytes);
}

static void give_back(void *context, void *data)
{
    (void)context;
    (void)data;
}

int json_open(struct json *json, FILE *out, int lines, struct status *st)
{
    struct memory *memory = calloc(1, sizeof *memory);
    *json = (struct json){.out = out, .lines = lines, .memory = memory};
    if (!memory)
        return status_nomem(st);
    yajl_alloc_funcs functions = {take, take_more, give_back, memory};
    yajl_gen generator = yajl_gen_alloc(&functions);
    yajl_gen_config(generator, yajl_gen_print_callback, print, json);
    yajl_gen_config(generator, yajl_gen_validate_utf8, 1);
    json->generator = generator;
    return 0;
}

int json_close(struct json *json, struct status *st)
{
    if (!json->generator)
        return 0;
    yajl_gen_free(json->generator);
    free(json->memory);
    json->generator = json->memory = NULL;
    if (json->depth)
        fault(json, "an object or array is still open");
    if (putc('\n', json->out) == EOF)
        fault(json, "the file cannot be written");
    return json->fault ? status_fail(st, STATUS_IO, "JSON: %s", json->fault) : 0;
}

/* Called before each value; false after a fault. */
static bool begin(struct json *json)
{
    json->starts = true;
    return !json->fault && json->generator;
}

static void end(struct json *json, yajl_gen_status status)
{
    json->starts = false;
    if (status == yajl_gen_invalid_string)
        fault(json, "a text that is not UTF-8");
    else if (status != yajl_gen_status_ok)
        fault(json, "a value where none can be");
}

static void open_level(struct json *json, bool array)
{
    if (!begin(json))
        return;
    assert(json->depth < JSON_DEPTH);
    end(json, array ? yajl_gen_array_open(json->generator) : yajl_gen_map_open(json->generator));
    if (json->fault)
        return;
    json->array[json->depth++] = array;
    if (json->depth <= json->lines && putc('\n', json->out) == EOF)
        fault(json, "the file cannot be written");
}

void json_object(struct json *json)
{
    open_level(json, false);
}

void json_array(struct json *json)
{
    open_level(json, true);
}

void json_end(struct json *json)
{
    if (!begin(json))
        return;
    assert(json->depth > 0);
    if (json->depth <= json->lines && putc('\n', json->out) == EOF)
        fault(json, "the file cannot be written");
    json->depth--;
    end(json, json->array[json->depth] ? yajl_gen_array_close(json->generator)
                                       : yajl_gen_map_close(json->generator));
}

void json_key(struct json *json, const char *key)
{
    assert(json->fault || (json->depth > 0 && !json->array[json->depth - 1]));
    json_string(json, key);
}

void json_string(struct json *json, const char *text)
{
    if (begin(json))
        end(json, yajl_gen_string(json->generator, (const unsigned char *)text, strlen(text)));
}

void json_int(struct json *json, int64_t value)
{
    if (begin(json))
        end(json, yajl_gen_integer(json->generator, value));
}

void json_number(struct json *json, const char *format, ...)
{
    char number[64];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(number, sizeof number, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof number)
        fault(json, "a number too long");
    else if (begin(json))
        end(json, isdigit((unsigned char)number[number[0] == '-'])
                      ? yajl_gen_number(json->generator, number, (size_t)n)
                      : yajl_gen_null(json->generator));
}
