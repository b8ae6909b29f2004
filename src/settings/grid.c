/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/document.h"
#include "base/shell.h"
#include "base/text.h"
#include "compile/pass.h"
#include "machine/schedule.h"
#include "settings/settings.h"

static void set(const struct option_row *option, const char *text, struct point *point)
{
    int code = option_set(option, text, point, NULL);
    assert(code == 0); /* settings_add() has checked the value */
    (void)code;
}

int grid_init(struct grid *grid, const struct settings *settings, struct status *st)
{
    *grid = (struct grid){.settings = settings, .points = 1, .led = {-1, -1}, .leader = -1};
    point_init(&grid->common);
    grid->common.work.file = settings->file;
    grid->common.work.has_parts = settings->has_parts;
    for (int i = 0; i < option_count; i++) {
        int count = settings->of[i].count;
        grid->common.given[i] = count > 0;
        if (!option_table[i].of_point || count == 0)
            continue;
        if ((settings->tied || settings->tied_chips) && i == option_index(option_by_name("slice")))
            grid->leader = grid->dims;
        bool is_mesh = settings->tied && i == option_index(option_by_name("mesh"));
        if (is_mesh || (settings->tied_chips && i == option_index(option_by_name("chip")))) {
            grid->led[is_mesh] = grid->dims;
            count = 1;
        }
        grid->option[grid->dims] = i;
        grid->count[grid->dims++] = count;
        if (grid->points > GRID_POINTS_MAX / count)
            return status_fail(st, STATUS_LIMIT,
                               "the options span more than %d points; give shorter lists or larger steps",
                               GRID_POINTS_MAX);
        grid->points *= count;
        if (count == 1)
            set(&option_table[i], settings->of[i].text[0], &grid->common);
    }
    return 0;
}

/* The dim of an option, -1 if it has no values; a step along the dim adds *stride to an index. */
static int dim_of(const struct grid *grid, const struct option_row *option, int64_t *stride)
{
    *stride = 1;
    for (int d = grid->dims - 1; d >= 0; d--) {
        if (grid->option[d] == option_index(option))
            return d;
        *stride *= grid->count[d];
    }
    return -1;
}

void grid_point(const struct grid *grid, int64_t index, struct point *point)
{
    *point = grid->common;
    int leader = 0;
    for (int d = grid->dims - 1; d >= 0; d--) {
        int count = grid->count[d], option = grid->option[d], value = (int)(index % count);
        if (count > 1)
            set(&option_table[option], grid->settings->of[option].text[value], point);
        leader = d == grid->leader ? value : leader;
        index /= count;
    }
    for (int i = 0; i < 2 && leader > 0; i++)
        if (grid->led[i] >= 0) {
            int option = grid->option[grid->led[i]];
            set(&option_table[option], grid->settings->of[option].text[leader], point);
        }
    if (point->schedule.ring == RING_AS_XLA) {
        point->schedule.ring = CHOICE_OPEN;
        point->schedule.algorithm = ALGORITHM_XLA;
    }
    if (point->schedule.async == ASYNC_PERMUTES) /* no gather starts ahead then */
        point->schedule.prefetch = 0;
    if (point->work.file && point->work.op && document_is_path(point->work.op))
        point->work.file = point->work.op; /* several models have a file each */
}

int grid_value(const struct grid *grid, int64_t index, const struct option_row *option)
{
    int64_t stride;
    int d = dim_of(grid, option, &stride);
    if (d >= 0 && (d == grid->led[0] || d == grid->led[1]))
        d = dim_of(grid, &option_table[grid->option[grid->leader]], &stride);
    return d < 0 ? -1 : (int)(index / stride % grid->count[d]);
}

int64_t grid_with(const struct grid *grid, int64_t index, const struct option_row *option, int value)
{
    int64_t stride;
    int d = dim_of(grid, option, &stride);
    return d < 0 ? index : index + (value - index / stride % grid->count[d]) * stride;
}

const char *grid_text(const struct grid *grid, int64_t index, const struct option_row *option)
{
    int value = grid_value(grid, index, option);
    return value < 0 ? NULL : grid->settings->of[option_index(option)].text[value];
}

char *grid_print_given(const struct grid *grid, int64_t index, char *text, size_t room)
{
    *text = '\0';
    for (int d = 0; d < grid->dims; d++) {
        const struct option_row *option = &option_table[grid->option[d]];
        if (!option->has_column && option->group != GROUP_ENGINE && !grid_is_idle(grid, index, option))
            text_add(text, room, "%s%s=%s", *text ? " " : "", option->name, grid_text(grid, index, option));
    }
    return text;
}

char *grid_print_varied(const struct grid *grid, int64_t index, char *text, size_t room)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.,=+@_-";
    enum { SHORT = 24 };
    *text = '\0';
    for (int d = 0; d < grid->dims; d++) {
        const struct option_row *option = &option_table[grid->option[d]];
        const char *value = grid_text(grid, index, option), *separator = *text ? "-" : "";
        if (grid->count[d] < 2)
            continue;
        if (value[strspn(value, plain)] == '\0' && strlen(value) <= SHORT && d != grid->leader)
            text_add(text, room, "%s%s", separator, value);
        else
            text_add(text, room, "%s%s%d", separator, option->name, grid_value(grid, index, option));
    }
    return text;
}

char *grid_command(const struct grid *grid, int64_t index)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    fputs("run", out);
    for (int d = 0; d < grid->dims; d++) {
        const struct option_row *option = &option_table[grid->option[d]];
        const char *value = grid_text(grid, index, option);
        bool off = !option->argument && strcmp(value, "on") != 0 && strcmp(value, "true") != 0;
        if (off || grid_is_idle(grid, index, option))
            continue;
        if (!option->positional)
            fprintf(out, " --%s", option->name);
        if (option->argument) {
            fputc(' ', out);
            shell_print(value, out);
        }
    }
    return text_end(out, &text) ? text : NULL;
}

int grid_find(const struct grid *grid, const struct option_row *option, const char *text)
{
    const struct setting *setting = &grid->settings->of[option_index(option)];
    for (int v = 0; v < setting->count; v++)
        if (strcmp(setting->text[v], text) == 0)
            return v;
    return -1;
}
