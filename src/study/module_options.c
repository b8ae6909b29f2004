/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/module_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "hlo/ragged_rows.h"
#include "settings/option.h"

/* "int32=19.17Tflops,bf16=197Tflops" */
static int read_peaks(const char *text, double peak_flops[DTYPE_COUNT], struct status *st)
{
    for (const char *at = text; at && *at;) {
        char name[32], rate[32];
        double flops;
        size_t length = strcspn(at, ","), key = strcspn(at, "=,");
        if (key >= length || key >= sizeof name || length - key > sizeof rate)
            return status_fail(st, STATUS_INPUT, "--peak '%s': write TYPE=RATE, such as int32=19.17Tflops",
                               text);
        snprintf(name, sizeof name, "%.*s", (int)key, at);
        snprintf(rate, sizeof rate, "%.*s", (int)(length - key - 1), at + key + 1);
        int id = dtype_by_name(name, st);
        if (id < 0 || units_parse_rate("--peak", rate, &flops, st) < 0)
            return status_prefix(st, st->code == STATUS_INPUT && id < 0 ? "--peak: " : "");
        if (!(flops > 0))
            return status_fail(st, STATUS_INPUT, "--peak '%s': a rate must be above 0", text);
        peak_flops[id] = flops;
        at += length + (at[length] == ',');
    }
    return 0;
}

static int read_rates(struct roofline *roofline, const struct point *point, const struct chip *chip,
                      struct status *st)
{
    roofline_init(roofline, chip);
    if (!isnan(point->machine.matmul_efficiency))
        roofline->efficiency = point->machine.matmul_efficiency;
    roofline->given_launch_s = point->machine.launch_overhead_s;
    if (!isnan(roofline->given_launch_s))
        roofline->launch_s = roofline->given_launch_s;
    roofline->mxu_padding = point->machine.mxu_padding;
    roofline->passes = precision_passes((enum precision)point->machine.precision);
    return read_peaks(point->machine.peak, roofline->peak_flops, st);
}

enum algorithm algorithm_of(const struct point *point, enum algorithm unnamed)
{
    const struct point_schedule *asked = &point->schedule;
    if (asked->algorithm >= ALGORITHMS)
        return ALGORITHM_SCHEDULE;
    if (asked->algorithm != CHOICE_OPEN)
        return (enum algorithm)asked->algorithm;
    bool named = asked->ring != CHOICE_OPEN || asked->one_ring || asked->all_axes || asked->keep_ties ||
                 point->given[option_index(option_by_name("all-to-all"))];
    return named ? ALGORITHM_SCHEDULE : unnamed;
}

enum collective_queue module_options_queue(const struct point *point, const struct chip *chip)
{
    int asked = point->schedule.collective_queue;
    bool sparse = strcmp(chip->collective_queue, "sparsecore") == 0;
    return asked != CHOICE_OPEN ? (enum collective_queue)(asked + 1)
           : sparse             ? QUEUE_SPARSECORE
                                : QUEUE_TENSORCORE;
}

int module_options(const struct point *point, const struct chip *chip, struct lower_options *options,
                   struct status *st)
{
    int kind = ring_kind_or(point->schedule.ring, false, chip->ring, st);
    int exchange_kind = ring_kind_or(point->schedule.ring, true, chip->ring, st);
    if (kind < 0)
        return kind;
    if (point->work.ragged && strcmp(point->work.ragged, "uniform") != 0)
        return status_fail(st, STATUS_INPUT, "--ragged '%s': write uniform", point->work.ragged);
    *options = (struct lower_options){.kind = (enum ring_kind)kind,
                                      .queue = (enum collective_queue)(point->schedule.collective_queue + 1),
                                      .exchange_kind = (enum ring_kind)exchange_kind,
                                      .algorithm = algorithm_of(point, ALGORITHM_AS_COMPILED),
                                      .chip = chip->name,
                                      .one_ring = point->schedule.one_ring,
                                      .all_axes = point->schedule.all_axes,
                                      .pattern = pattern_of_choice(point->schedule.algorithm),
                                      .time_limit_s = point->run.time_limit_s,
                                      .all_to_all = (enum all_to_all)point->schedule.all_to_all,
                                      .setup_s = chip->setup_s,
                                      .contention_frac = chip->contention_frac,
                                      .unroll = point->schedule.unroll,
                                      .products_only = !point->machine.elementwise,
                                      .branch = point->work.branch,
                                      .ragged_uniform = point->work.ragged != NULL};
    int code = read_rates(&options->roofline, point, chip, st);
    options->roofline.step = true;
    return code;
}

bool module_takes_passes(const struct module *module, const struct roofline *roofline)
{
    bool takes = false;
    for (int32_t at = 0; at < module->instructions && !takes; at++) {
        enum opcode opcode = module_at(module, at)->opcode;
        takes = (opcode == HLO_DOT || opcode == HLO_CONVOLUTION) &&
                roofline_takes_passes(roofline, module_cost(module, at).dtype);
    }
    return takes;
}

int module_options_apply(const struct point *point, const struct module *module,
                         const struct roofline *roofline, struct status *st)
{
    bool open = false;
    for (int32_t at = 0; at < module->instructions; at++)
        open = open ||
               (module_at(module, at)->opcode == HLO_RAGGED_ALL_TO_ALL && !ragged_rows_known(module, at));
    if (point->work.ragged && !open)
        return status_fail(st, STATUS_INPUT,
                           "--ragged does not apply: there is no ragged all-to-all of unknown sizes");
    if (option_is_given(point, "precision") && !module_takes_passes(module, roofline))
        return status_fail(st, STATUS_INPUT,
                           "--precision does not apply: no product takes passes, as f32 does");
    return 0;
}

/* The columns of coordinates; `columns` is 1 where they are numbers of chips. */
static int find_columns(const struct csv_table *table, const struct slice *slice, int column[SLICE_AXES],
                        int *columns, struct status *st)
{
    bool headless = csv_table_is_headless(table), chips = csv_table_column(table, "chip") >= 0;
    *columns = headless ? table->columns : chips ? 1 : slice->axes;
    if (*columns != 1 && *columns != slice->axes)
        return status_fail(st, STATUS_INPUT,
                           "%s: %d columns; write the number of a chip, or its %d coordinates", table->file,
                           *columns, slice->axes);
    for (int a = 0; a < *columns; a++) {
        char name[] = {slice_axis_name(a), '\0'};
        column[a] = headless ? a : csv_table_need(table, chips ? "chip" : name, st);
        if (column[a] < 0)
            return column[a];
    }
    return 0;
}

/* A whole number below `end`; of a file without a header the names of the columns are the first row. */
static int read_place(const struct csv_table *table, int row, int column, int end, int *place,
                      struct status *st)
{
    double value;
    int code = 0;
    if (row < 0)
        value = strtod(table->name[column], NULL);
    else
        code = csv_table_number(table, row, column, &value, st);
    if (code == 0 && !(value >= 0 && value < end && floor(value) >= value))
        return csv_table_fail(table, row < 0 ? 0 : row, column, st, "%g is not there; write 0 to %d", value,
                              end - 1);
    *place = code == 0 ? (int)value : 0;
    return code;
}

/* On which of a chip's devices row `d` is: the column core, or the next one. Negative: a code. */
static int read_core(const struct csv_table *table, int row, int column, const struct device_list *list,
                     int next, struct status *st)
{
    int core = next < list->most ? next : list->most - 1;
    int code = column < 0 ? 0 : read_place(table, row, column, list->most, &core, st);
    return code < 0 ? code : core;
}

/* As many devices on each chip that has any. */
static int check_each(const struct csv_table *table, const int32_t on_chip[], struct device_list *list,
                      struct status *st)
{
    int first = list->chip_of[0];
    list->each = on_chip[first];
    for (int d = 1; d < list->devices; d++)
        if (on_chip[list->chip_of[d]] != list->each)
            return status_fail(st, STATUS_INPUT,
                               "%s: chip %d has %d devices and chip %d has %d; write as many for each",
                               table->file, first, list->each, list->chip_of[d], on_chip[list->chip_of[d]]);
    return 0;
}

static int read_devices(const struct csv_table *table, const struct slice *slice, struct device_list *list,
                        struct status *st)
{
    int column[SLICE_AXES], columns, first = csv_table_is_headless(table) ? -1 : 0;
    int cores = first < 0 ? -1 : csv_table_column(table, "core");
    int code = find_columns(table, slice, column, &columns, st);
    int32_t *device_of = calloc((size_t)slice->chips * (size_t)(list->most + 1), sizeof *device_of);
    int32_t *on_chip = device_of + (size_t)slice->chips * (size_t)list->most; /* so many */
    if (code == 0 && !device_of)
        code = status_nomem(st);
    if (code == 0 && table->rows - first != list->devices)
        code =
            status_fail(st, STATUS_INPUT, "%s: %d devices, but the module runs on %d; write a row for each",
                        table->file, table->rows - first, list->devices);
    for (int d = 0; code == 0 && d < list->devices; d++) {
        int place[SLICE_AXES] = {0};
        for (int a = 0; a < columns && code == 0; a++)
            code = read_place(table, first + d, column[a], columns == 1 ? slice->chips : slice->len[a],
                              &place[a], st);
        int chip = columns == 1 ? place[0] : slice_chip(slice, place);
        int core = code == 0 ? read_core(table, first + d, cores, list, on_chip[chip], st) : code;
        if (core < 0)
            break;
        int32_t *taken = &device_of[chip * list->most + core]; /* by this device, from 1 */
        if (*taken)
            code = status_fail(st, STATUS_INPUT,
                               "%s: devices %d and %d are both on chip %d; write each chip %s", table->file,
                               *taken - 1, d, chip, list->most > 1 ? "once for each of its devices" : "once");
        *taken = d + 1;
        on_chip[chip]++;
        list->chip_of[d] = chip;
    }
    if (st->code == 0)
        code = check_each(table, on_chip, list, st);
    free(device_of);
    return st->code < 0 ? st->code : code;
}

int devices_read(const char *path, const struct slice *slice, struct device_list *list, struct status *st)
{
    struct csv_table table = {0};
    list->chip_of = calloc((size_t)list->devices, sizeof *list->chip_of);
    int code = list->chip_of ? csv_table_read(&table, path, st) : status_nomem(st);
    if (code == 0)
        code = read_devices(&table, slice, list, st);
    csv_table_free(&table);
    return code;
}

int op_costs_read(const char *path, struct csv_table *table, struct op_cost **op_cost, int *op_costs,
                  struct status *st)
{
    static const char *const names[] = {"time_s", "flops", "bytes"};
    int code = csv_table_read(table, path, st);
    int column = code == 0 ? csv_table_need(table, "name", st) : code;
    if (column < 0)
        return column;
    *op_cost = calloc((size_t)table->rows + 1, sizeof **op_cost);
    if (!*op_cost)
        return status_nomem(st);
    for (int row = 0; row < table->rows; row++) {
        double value[] = {NAN, NAN, NAN}; /* an empty cell, or a column that is not there */
        for (int i = 0; i < 3; i++) {
            int at = csv_table_column(table, names[i]);
            if (at >= 0 && csv_table_number(table, row, at, &value[i], st) < 0)
                return st->code;
            if (value[i] < 0)
                return csv_table_fail(table, row, at, st, "%g is below 0", value[i]);
        }
        if (isnan(value[0]) && isnan(value[1]) && isnan(value[2]))
            return csv_table_fail(table, row, column, st, "has no cost; give time_s, or flops and bytes");
        (*op_cost)[row] = (struct op_cost){.name = csv_table_cell(table, row, column),
                                           .seconds = value[0],
                                           .flops = isnan(value[1]) ? 0 : value[1],
                                           .hbm_bytes = isnan(value[2]) ? 0 : value[2]};
        *op_costs = row + 1;
    }
    return 0;
}
