/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * json: writes JSON as a stream, for traces.
 *
 * Calls follow the text: json_object(), then json_key() and a value again and again, then json_end(). A fault
 * (text that is not UTF-8, a write that fails) sticks; json_close() reports the first.
 * Values down to `lines` levels deep start on lines of their own: 2 puts every event of
 * {"traceEvents":[...]} on one line, so that files compare well.
 *
 * Units: numbers are written in the format given, so the caller's. Errors: STATUS_IO, STATUS_NOMEM.
 * Ownership: the caller's struct, ended with json_close(); the file stays open and is the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

enum { JSON_DEPTH = 32 };

struct json {
    FILE *out;
    void *generator;        /* yajl's generator ... */
    void *memory;           /* ... and the memory that it allocates from */
    int lines;              /* levels whose values start lines of their own */
    int depth;              /* of open objects and arrays */
    bool array[JSON_DEPTH]; /* is the open one an array */
    bool starts;            /* the next text may be the comma before a value */
    const char *fault;      /* first fault, NULL if none */
};

int json_open(struct json *json, FILE *out, int lines, struct status *st);
/* Ends the text with a newline. Fails too if an object or array is still open. */
int json_close(struct json *json, struct status *st);

void json_object(struct json *json);
void json_array(struct json *json);
void json_end(struct json *json); /* of the object or array opened last */

void json_key(struct json *json, const char *key);
void json_string(struct json *json, const char *text);
void json_int(struct json *json, int64_t value);

/* A number in printf's format, "%.6f" or "%.9g"; null if JSON cannot write it (nan, inf). */
void json_number(struct json *json, const char *format, ...) __attribute__((format(printf, 2, 3)));
