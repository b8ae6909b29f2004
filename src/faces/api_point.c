/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points, and their results. */
#include <stdlib.h>
#include <string.h>

#include "faces/api.h"
#include "report/report.h"
#include "study/job.h"
#include "study/result.h"

struct icisim_result {
    struct result result;
};

/* Finds an option of points; other options belong to commands. */
static const struct option_row *find_option(const char *name, struct status *st)
{
    const struct option_row *option = option_by_name(name);
    if (option && option->of_point)
        return option;
    status_fail(st, STATUS_INPUT, "'%s' is no option of a point; icisim_option_name() lists them", name);
    return NULL;
}

static int set(struct icisim_point *point, const char *name, const char *text, struct status *st)
{
    const struct option_row *option = find_option(name, st);
    if (!option)
        return st->code;
    struct settings given;
    settings_init(&given);
    int code = settings_add(&given, option, text, st);
    struct setting *new = &given.of[option_index(option)];
    if (code == 0 && new->count != 1)
        code = status_fail(st, STATUS_INPUT, "%s '%s': a point has one value; set one after the other", name,
                           text);
    if (code == 0) {
        struct setting *kept = &point->settings.of[option_index(option)], old = *kept;
        *kept = *new;
        *new = old;
    }
    settings_free(&given);
    return code;
}

int icisim_point_set(struct icisim_point *point, const char *option, const char *text,
                     struct icisim_status *st)
{
    struct api_call call = api_begin();
    bool given = api_given(&call, point && option && text);
    return api_end(&call, given ? set(point, option, text, &call.st) : call.st.code, st);
}

int icisim_point_unset(struct icisim_point *point, const char *name, struct icisim_status *st)
{
    struct api_call call = api_begin();
    const struct option_row *option = api_given(&call, point && name) ? find_option(name, &call.st) : NULL;
    if (option)
        settings_drop(&point->settings, name);
    return api_end(&call, call.st.code, st);
}

const char *icisim_point_get(const struct icisim_point *point, const char *name)
{
    const struct option_row *option = option_by_name(name);
    return option && option->of_point ? settings_text(&point->settings, name) : NULL;
}

int icisim_point_read(struct icisim_point *point, const char *path, struct icisim_status *st)
{
    struct api_call call = api_begin();
    bool given = api_given(&call, point && path);
    return api_end(&call, given ? settings_read(&point->settings, path, &call.st) : call.st.code, st);
}

struct icisim_point *icisim_point_new(struct icisim_status *st)
{
    struct api_call call = api_begin();
    struct icisim_point *point = calloc(1, sizeof *point);
    api_end(&call, point ? 0 : status_nomem(&call.st), st);
    return point;
}

void icisim_point_free(struct icisim_point *point)
{
    if (!point)
        return;
    settings_free(&point->settings);
    catalog_free(&point->catalog);
    free(point);
}

int api_point(const struct icisim_point *point, struct point *said, struct status *st)
{
    struct grid grid;
    if (grid_init(&grid, &point->settings, st) < 0)
        return st->code;
    if (grid.points > 1) /* only a workload file makes several */
        return status_fail(st, STATUS_INPUT,
                           "the workload file has several values for an option; set that one");
    grid_point(&grid, 0, said);
    return 0;
}

struct icisim_result *icisim_point_run(struct icisim_point *point, struct icisim_status *st)
{
    struct api_call call = api_begin();
    struct point said;
    struct icisim_result *result = calloc(1, sizeof *result);
    int code = !api_given(&call, point) ? call.st.code
               : result                 ? api_point(point, &said, &call.st)
                                        : status_nomem(&call.st);
    if (code == 0)
        code = job_result_with(&said, &(struct job_options){.watch = &point->watch}, &point->catalog,
                               &result->result, &call.st);
    if (point)
        settings_locate(&point->settings, &call.st);
    if (api_end(&call, code, st) == 0)
        return result;
    icisim_result_free(result);
    return NULL;
}

void icisim_point_cancel(struct icisim_point *point)
{
    atomic_store(&point->watch.cancelled, true);
}

double icisim_point_progress(const struct icisim_point *point)
{
    return atomic_load(&point->watch.done_frac);
}

/* Simulates the point, and writes to a file, or into `stream`. */
static int run_and_write(struct icisim_point *point, const char *what, FILE *stream, struct status *st)
{
    struct point said;
    const struct run_writer *writer = run_writers;
    while (writer->name && strcmp(writer->name, what) != 0)
        writer++;
    if (!writer->name)
        return status_fail(st, STATUS_INPUT,
                           "'%s' cannot be written; there are trace, links, instructions, torus", what);
    struct job job = {.options = {.watch = &point->watch, .few_layers = writer->record == RECORD_ALL}};
    struct run run = {0};
    bool written = api_point(point, &said, st) == 0 && job_open(&job, &said, &point->catalog, st) == 0 &&
                   job_build(&job, st) == 0 && job_run(&job, writer->record, &run, st) == 0 &&
                   writer->write(&job, &run, (struct trace_part){0}, stream, st) == 0;
    run_free(&run);
    job_close(&job);
    settings_locate(&point->settings, st);
    return written ? 0 : st->code;
}

int icisim_point_write(struct icisim_point *point, const char *what, const char *path,
                       struct icisim_status *st)
{
    struct api_call call = api_begin();
    struct output output = {0};
    bool written = api_given(&call, point && what && path) && output_open(&output, path, &call.st) == 0 &&
                   run_and_write(point, what, output.file, &call.st) == 0 &&
                   output_commit(&output, &call.st) == 0;
    output_abandon(&output);
    return api_end(&call, written ? 0 : call.st.code, st);
}

char *icisim_point_text(struct icisim_point *point, const char *what, struct icisim_status *st)
{
    struct api_call call = api_begin();
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    int code = !api_given(&call, point && what) ? call.st.code
               : stream                         ? run_and_write(point, what, stream, &call.st)
                                                : status_nomem(&call.st);
    if (stream && !text_end(stream, &text))
        code = status_nomem(&call.st);
    if (api_end(&call, code, st) == 0)
        return text;
    free(text);
    return NULL;
}

/* The option of a point by index; beyond the last, one without a name. */
static const struct option_row *option_at(int index)
{
    static const struct option_row none;
    for (int i = 0; i < option_count; i++)
        if (option_table[i].of_point && index-- == 0)
            return &option_table[i];
    return &none;
}

const char *icisim_option_name(int index)
{
    return option_at(index)->name;
}

const char *icisim_option_help(int index)
{
    return option_at(index)->doc;
}

const char *icisim_option_values(int index)
{
    return option_at(index)->values;
}

void icisim_result_free(struct icisim_result *result)
{
    free(result);
}

/* Columns that only exist in tables, and the command line, are not public. */
static bool is_public(const struct column *column)
{
    return column->name && column->kind != COLUMN_COMMAND;
}

static const struct column *find_column(const char *name, bool text, struct status *st)
{
    for (const struct column *column = columns; column < columns + column_count; column++) {
        if (!is_public(column) || strcmp(column->name, name) != 0)
            continue;
        if ((column->kind == COLUMN_TEXT) == text)
            return column;
        status_fail(st, STATUS_INPUT, "the column '%s' holds %s; use icisim_result_%s()", name,
                    text ? "numbers" : "text", text ? "real" : "text");
        return NULL;
    }
    status_fail(st, STATUS_INPUT, "'%s' is no column; icisim_column_name() lists them", name);
    return NULL;
}

int icisim_result_real(const struct icisim_result *result, const char *name, double *value,
                       struct icisim_status *st)
{
    struct api_call call = api_begin();
    bool given = api_given(&call, result && name && value);
    const struct column *column = given ? find_column(name, false, &call.st) : NULL;
    if (column)
        *value = column_value(column, &result->result);
    return api_end(&call, call.st.code, st);
}

const char *icisim_result_text(const struct icisim_result *result, const char *name, struct icisim_status *st)
{
    struct api_call call = api_begin();
    const struct column *column = api_given(&call, result && name) ? find_column(name, true, &call.st) : NULL;
    api_end(&call, call.st.code, st);
    return column ? column_text(column, &result->result) : NULL;
}

static const struct column *column_at(int index)
{
    static const struct column none;
    for (const struct column *column = columns; column < columns + column_count; column++)
        if (is_public(column) && index-- == 0)
            return column;
    return &none;
}

const char *icisim_column_name(int index)
{
    return column_at(index)->name;
}

const char *icisim_column_meaning(int index)
{
    return column_at(index)->meaning;
}

int icisim_column_is_text(int index)
{
    return column_at(index)->kind == COLUMN_TEXT;
}
