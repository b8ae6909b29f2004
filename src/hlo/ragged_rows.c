/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/ragged_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ragged_rows_init(struct ragged_rows *rows, int devices, int each, struct status *st)
{
    *rows = (struct ragged_rows){.devices = devices, .each = each};
    rows->row = calloc((size_t)devices * (size_t)each + 1, sizeof *rows->row);
    return rows->row ? 0 : status_nomem(st);
}

void ragged_rows_free(struct ragged_rows *rows)
{
    free(rows->row);
    *rows = (struct ragged_rows){0};
}

/* Reads whole numbers separated by commas; returns the text after the last one. */
static const char *read_rows(const char *at, struct ragged_rows *rows, int *read)
{
    int most = rows->devices * rows->each;
    for (*read = 0; *read < most; (*read)++) {
        char *end;
        errno = 0;
        int64_t row = strtoll(at, &end, 10);
        if (end == at || row < 0 || errno)
            return at;
        rows->row[*read] = row;
        at = end;
        if (*read < most - 1 && *at != ',')
            break;
        at += *read < most - 1;
    }
    return at;
}

int ragged_rows_of(const struct module *module, int32_t instruction, int each, struct ragged_rows *rows,
                   struct status *st)
{
    int read = 0, devices = module->partitions * module->replicas;
    const char *attributes = module_value(module, instruction, ATTR_FRONTEND_ATTRIBUTES);
    size_t room = strlen(attributes) + 1;
    char *text = malloc(room);
    *rows = (struct ragged_rows){0};
    if (!text)
        return status_nomem(st);
    int code = 0;
    if (module_label(module, instruction, RAGGED_ROWS_LABEL, text, (int)room) &&
        (code = ragged_rows_init(rows, devices, each, st)) == 0 &&
        (*read_rows(text, rows, &read) || read < devices * each)) {
        ragged_rows_free(rows);
        code = status_fail(st, STATUS_INPUT,
                           "%s: rows=\"...\" must be %d whole numbers, %d for each of %d devices",
                           module_name_at(module, instruction), devices * each, each, devices);
    }
    free(text);
    return code;
}

double ragged_rows_sum(const struct module *module, int32_t instruction)
{
    static const char label[] = RAGGED_ROWS_LABEL "=\"";
    const char *at = strstr(module_value(module, instruction, ATTR_FRONTEND_ATTRIBUTES), label);
    double sum = 0;
    char *end;
    for (at = at ? at + strlen(label) : ""; *at; at = *end == ',' ? end + 1 : "")
        sum += (double)strtoll(at, &end, 10);
    return sum;
}

int ragged_rows_turned(const struct ragged_rows *rows, const int member[], struct ragged_rows *turned,
                       struct status *st)
{
    int n = rows->each;
    if (ragged_rows_init(turned, rows->devices, n, st) < 0)
        return st->code;
    for (int first = 0; first < rows->devices; first += n)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                turned->row[member[first + i] * n + j] = rows->row[member[first + j] * n + i];
    return 0;
}

/* Digit by digit: with printf() a search of meshes for experts took a quarter longer. */
char *ragged_rows_print(const struct ragged_rows *rows)
{
    enum { DIGITS = 20 };
    size_t n = (size_t)rows->devices * (size_t)rows->each;
    char *text = malloc(n * (DIGITS + 1) + 1), *at = text;
    for (size_t i = 0; i < n && text; i++) {
        char digits[DIGITS], *first = digits + DIGITS;
        int64_t row = rows->row[i];
        do
            *--first = (char)('0' + row % 10);
        while ((row /= 10) > 0);
        at = mempcpy(at, ",", i > 0);
        at = mempcpy(at, first, (size_t)(digits + DIGITS - first));
    }
    if (text)
        *at = '\0';
    return text;
}
