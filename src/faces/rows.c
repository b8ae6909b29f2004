/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/table.h"

int rows_grid(struct settings *settings, struct grid *grid, struct status *st)
{
    if (settings_check(settings, st) < 0 || settings_enumerate(settings, st) < 0)
        return st->code;
    return grid_init(grid, settings, st);
}

int rows_fail_open(const char *option, const struct status *why, struct status *st)
{
    const char *cure =
        why->code == STATUS_IO ? "; name a file in a folder that is there, or - for stdout" : "";
    return status_fail(st, why->code, "--%s: %s%s", option, why->text, cure);
}

int rows_open_path(const char *option, const char *path, struct output *output, struct status *st)
{
    struct status own = {0};
    return output_open(output, path, &own) == 0 ? 0 : rows_fail_open(option, &own, st);
}

int rows_open(const struct settings *settings, const char *option, struct output *output, struct status *st)
{
    const char *path = settings_text(settings, option);
    return path ? rows_open_path(option, path, output, st) : 0;
}

int rows_width(const struct settings *settings)
{
    return settings_flag(settings, "wide") ? 0 : TABLE_WIDTH;
}

bool rows_take_stdout(const struct settings *settings, const char *option)
{
    const char *path = settings_text(settings, option);
    return path && strcmp(path, "-") == 0;
}

int64_t rows_reference(const struct grid *grid, int64_t index, const struct result *result)
{
    if (!*result->reference)
        return -1;
    const struct option_row *option = option_by_name(result->reference_option);
    int value = grid_find(grid, option, result->reference);
    return value < 0 ? -1 : grid_with(grid, index, option, value);
}

int rows_write(struct csv_writer *csv, const struct grid *grid, int64_t index, const struct result *result,
               struct status *st)
{
    char *command = grid_command(grid, index);
    if (!command)
        return status_nomem(st);
    columns_write(csv, result, command);
    free(command);
    return 0;
}

void rows_fail(const struct grid *grid, int64_t index, struct catalog *catalog, const struct status *why,
               struct result *result)
{
    struct point point;
    grid_point(grid, index, &point);
    job_result_failed(&point, catalog, result, why);
    grid_print_given(grid, index, result->varied, sizeof result->varied);
}

void rows_take(const struct grid *grid, int64_t index, struct catalog *catalog, const void *data,
               const char *how, struct result *result)
{
    struct status died = {0};
    if (data) {
        memcpy(result, data, sizeof *result);
        grid_print_given(grid, index, result->varied, sizeof result->varied);
        return;
    }
    status_fail(&died, STATUS_ENGINE, "the worker was %s", how);
    rows_fail(grid, index, catalog, &died, result);
}

void rows_say_points(const struct grid *grid)
{
    if (grid->settings->enumerated)
        fprintf(stderr, "icisim: points to simulate: %" PRId64 "; %s: %d\n", grid->points,
                grid->settings->tied ? "ways to lay the mesh" : "slices",
                settings_count(grid->settings, "slice"));
}

int rows_say_modules(const struct settings *settings, struct status *st)
{
    const char *op = settings_text(settings, "op");
    return op && workload_kind(op) == ON_TEXT ? hlo_list_dump(op, stderr, st) : 0;
}
