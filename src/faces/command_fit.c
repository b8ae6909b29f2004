/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim fit: fits the parameters of a machine to measured times; icisim compare-measured: compares measured
 * with simulated times. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "faces/command.h"
#include "faces/rows.h"
#include "report/measured_compare.h"
#include "study/fitting.h"

/* Reads the sizes to predict, from all --predict options. */
static int read_sizes(const struct settings *settings, uint64_t **size_bytes, int *sizes, struct status *st)
{
    const struct setting *setting = &settings->of[option_index(option_by_name("predict"))];
    int code = 0;
    *sizes = setting->count;
    *size_bytes = calloc((size_t)setting->count + 1, sizeof **size_bytes);
    if (!*size_bytes)
        return status_nomem(st);
    for (int i = 0; i < setting->count && code == 0; i++)
        code = units_parse_size("--predict", setting->text[i], &(*size_bytes)[i], st);
    return code;
}

/* --operation is the name here for the positional argument that is --op elsewhere. */
static int name_operation(struct settings *settings, struct status *st)
{
    const char *operation = settings_text(settings, "operation");
    return operation ? settings_add(settings, option_by_name("op"), operation, st) : 0;
}

static int fit(struct settings *settings, struct status *st)
{
    struct fitting fitting = {0};
    uint64_t *size_bytes = NULL;
    int sizes = 0;
    struct csv_writer csv = {0};
    struct output profile = {0};
    bool fitted = settings_check(settings, st) == 0 && read_sizes(settings, &size_bytes, &sizes, st) == 0 &&
                  name_operation(settings, st) == 0 && rows_open(settings, "csv", &csv.output, st) == 0 &&
                  rows_open(settings, "write-profile", &profile, st) == 0 &&
                  fitting_init(&fitting, settings, st) == 0 && fitting_check(&fitting, st) == 0;
    bool table = !rows_take_stdout(settings, "csv") && !rows_take_stdout(settings, "write-profile");
    if (fitted && table)
        fitting_print(&fitting, size_bytes, sizes);
    if (fitted)
        fitting_print_dropped(&fitting, table ? stdout : stderr);
    if (fitted && csv.output.file)
        fitting_write(&fitting, &csv, size_bytes, sizes);
    if (fitted && profile.file)
        fitted = fitting_write_profile(&fitting, profile.file, st) == 0;
    if (fitted && csv_commit(&csv, st) == 0)
        output_commit(&profile, st);
    csv_abandon(&csv);
    output_abandon(&profile);
    fitting_free(&fitting);
    free(size_bytes);
    return st->code;
}

const struct command command_fit = {
    .name = "fit",
    .arguments = "FILE",
    .what =
        "fits alpha, bandwidth and a machine's overhead, hop latency and link bandwidth to measured times",
    .more = "FILE is CSV with the columns operation,chip,slice,axes,ring,size_bytes,time_s (or a column run "
            "with the arguments of icisim run), or as nccl-tests or accelerator-microbenchmarks name them. "
            "What it does not say may be said by options. A line t = alpha + bytes/bandwidth is fitted to "
            "each collective and slice; overhead, hop latency and link bandwidth to all of a chip, where "
            "closed forms exist.",
    .bit = FOR_FIT,
    .run = fit,
};

static int compare(struct settings *settings, struct status *st)
{
    struct measured_compare compared = {0};
    struct csv_writer csv = {0};
    const char *operation = settings_text(settings, "operation");
    bool of_text = operation && settings_kind(settings, operation) == ON_TEXT;
    bool ready = settings_check(settings, st) == 0 && name_operation(settings, st) == 0 &&
                 rows_open(settings, "csv", &csv.output, st) == 0;
    if (ready && of_text)
        measured_compare_module(&compared, settings, st);
    else if (ready)
        measured_compare_points(&compared, settings, st);
    if (st->code == 0 && csv.output.file)
        measured_compare_write(&compared, &csv);
    if (st->code == 0 && !rows_take_stdout(settings, "csv"))
        measured_compare_print(&compared, rows_width(settings), stdout, st);
    if (st->code == 0)
        csv_commit(&csv, st);
    csv_abandon(&csv);
    measured_compare_free(&compared);
    return st->code;
}

const struct command command_compare_measured = {
    .name = "compare-measured",
    .arguments = "FILE",
    .what = "puts measured times beside simulated ones, what differs most first, and says what a fit would "
            "change",
    .more = "FILE is what icisim fit reads: CSV, or what nccl-tests prints. With --operation STEP.hlo it is "
            "XProf's hlo_stats of that program as CSV: each instruction beside the simulated one.",
    .bit = FOR_MEASURED,
    .run = compare,
};
