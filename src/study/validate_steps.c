/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulation against training steps, matmuls, copies and collectives that others have measured, on the measured profile.
 *
 * A row says what was measured, in seconds or as MFU, and, in the column run (or workload, where there is none), what
 * simulates it: a workload file and options. Chip and slice are the row's, and the mesh, where the column parallelism is
 * written as one ("fsdp=64,tp=4"). MFU is held against MFU by
 * both ways of counting attention: a source that counts it in full has operations that another one leaves out, and the
 * column attention says which. Rows that shaped the chip's profile must be met within 3 %, since they were fitted. The others
 * are predictions: 15 % each, 7 % their median.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/embedded.h"
#include "machine/roofline.h"
#include "study/simulate.h"
#include "study/validate.h"

static const double fitted_frac = 0.03, mfu_points = 0.02, each_frac = 0.15, median_frac = 0.07;

/* A row of the file, and what the simulation has of it. */
struct row {
    const struct csv_table *table;
    int row;
    struct catalog *catalog;
    enum chip_profile profile;
    const char *run; /* what simulates it: the column run, or workload */
    const struct chip *chip;
    bool fitted;
    double simulated_s;
    double half_frac, full_frac; /* MFU; NaN where there is none */
    double bytes;                /* of a copy, moved; NaN */
};

static const char *cell(const struct row *row, const char *column)
{
    return csv_table_text(row->table, row->row, column);
}

/* "matmul 8192x8192x16384" or "copy 33554432", alone on a chip or, where the slice says so, on a core of it. */
static int run_alone(struct row *row, bool *is_alone, struct status *st)
{
    double m, k, n, bytes;
    int end = 0;
    struct roofline roofline;
    roofline_init(&roofline, row->chip);
    roofline.cores = strstr(cell(row, "slice"), "core") ? row->chip->cores : 1;
    *is_alone = true;
    if (sscanf(row->run, "matmul %lfx%lfx%lf%n", &m, &k, &n, &end) == 3 && !row->run[end])
        return roofline_product_s(&roofline,
                                  (struct product){.dtype = DTYPE_BF16,
                                                   .flops = 2 * m * k * n,
                                                   .hbm_bytes = 2 * (m * k + k * n + m * n)},
                                  &row->simulated_s, NULL, st);
    *is_alone = sscanf(row->run, "copy %lf%n", &bytes, &end) == 1 && !row->run[end];
    if (*is_alone) {
        row->bytes = 2 * bytes;
        row->simulated_s = roofline_memory_s(&roofline, row->bytes);
    }
    return 0;
}

/* A workload file and options, or a collective and options. The row has the chip; the slice where its cell begins with a
 * shape, as "4x4 chips (v3-32)" does; and the mesh, "fsdp=64", unless the run has one. */
static int run_command(struct row *row, struct status *st)
{
    const char *slice = cell(row, "slice"), *mesh = cell(row, "parallelism");
    char file[256] = "", arguments[1024];
    struct simulation simulation;
    size_t word = strcspn(row->run, " "), n = strspn(slice, "0123456789x");
    snprintf(file, sizeof file, "%.*s", (int)(word < sizeof file ? word : sizeof file - 1), row->run);
    bool is_file = document_is_path(file);
    bool is_shape = n < SLICE_TEXT && (slice[n] == '\0' || slice[n] == ' ') && memchr(slice, 'x', n);
    bool is_mesh = strchr(mesh, '=') && !mesh[strspn(mesh, "abcdefghijklmnopqrstuvwxyz_=,0123456789")] &&
                   !strstr(row->run, "--mesh");
    snprintf(arguments, sizeof arguments, "%s --chip %s%s%.*s%s%s --profile %s",
             is_file ? row->run + word : row->run, cell(row, "chip"), is_shape ? " --slice " : "",
             is_shape ? (int)n : 0, slice, is_mesh ? " --mesh " : "", is_mesh ? mesh : "",
             chip_profile_names[row->profile]);
    if (simulate(is_file ? file : NULL, arguments, row->catalog, &simulation, st))
        return st->code;
    row->simulated_s = simulation.result.time_s;
    row->half_frac = simulation.result.mfu_half_frac;
    row->full_frac = simulation.result.mfu_full_frac;
    return 0;
}

/* What was measured, in seconds. */
static int measured_s(const struct row *row, double *time_s, struct status *st)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"s", 1}, {"s/step", 1}, {"ms", 1e-3}, {"us", 1e-6}};
    const char *unit = cell(row, "unit");
    int column = csv_table_column(row->table, "measured");
    double value;
    if (csv_table_number(row->table, row->row, column, &value, st))
        return st->code;
    if (!(value > 0))
        return csv_table_fail(row->table, row->row, column, st, STATUS_INPUT,
                              "what was measured must be above 0");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].unit) == 0) {
            *time_s = value * units[i].seconds;
            return 0;
        }
    double mfu = strcmp(cell(row, "attention"), "full") == 0 ? row->full_frac : row->half_frac;
    if (strncmp(unit, "% MFU", 5) == 0 && mfu > 0) { /* the same operations: MFU x time is alike */
        double peak = row->chip->peak_flops[DTYPE_BF16], of;
        of = sscanf(unit, "%% MFU of %lf", &of) == 1 ? of * 1e12 : peak;
        *time_s = mfu * row->simulated_s * peak / of / (value / 100);
        return 0;
    }
    if (strcmp(unit, "GB/s") == 0 && row->bytes > 0) {
        *time_s = row->bytes / (value * 1e9);
        return 0;
    }
    return csv_table_fail(row->table, row->row, csv_table_column(row->table, "unit"), st, STATUS_INPUT,
                          "'%s' is none of s/step, s, ms, us; of a step %% MFU of PEAK; of a copy GB/s",
                          unit);
}

/* Adds the check of a row in one quantity; fitted ones are out where they are not met. */
static int add(struct checks *checks, const struct row *row, struct check check, const char *note,
               struct status *st)
{
    char what[CHECK_TEXT];
    snprintf(what, sizeof what, "%s on %s %s", row->run, cell(row, "chip"), cell(row, "slice"));
    check.part = "steps";
    check.kind = row->fitted ? "fitted" : "predicted";
    if (row->profile == CHIP_SPEC)
        check.verdict = VERDICT_BEYOND;
    else if (row->fitted && fabs(check_difference(&check)) <= check.tolerance_frac)
        check.verdict = VERDICT_FITTED;
    return checks_add(checks, check, cell(row, "id"), what, note, st);
}

/* A row in seconds and, of a step, as MFU by both ways of counting attention, whose tolerance is in points. */
static int check_row(struct checks *checks, struct row *row, struct status *st)
{
    double time_s = NAN;
    bool is_alone;
    int code = run_alone(row, &is_alone, st);
    if (code == 0 && !is_alone)
        code = run_command(row, st);
    if (code == 0)
        code = measured_s(row, &time_s, st);
    if (code < 0)
        return code;
    struct check check = {.simulated = row->simulated_s,
                          .expected = time_s,
                          .tolerance_frac = row->fitted ? fitted_frac : each_frac};
    code = add(checks, row, check, "", st);
    for (int full = 0; full < 2 && row->full_frac > 0 && code == 0; full++) {
        check.unit = CHECK_RATIO;
        check.simulated = full ? row->full_frac : row->half_frac;
        check.expected = check.simulated * row->simulated_s / time_s;
        check.tolerance_frac = row->fitted ? mfu_points / check.expected : each_frac;
        code = add(checks, row, check,
                   full ? "MFU, attention counted in full" : "MFU, attention counted half", st);
    }
    return code;
}

static int check_table(struct checks *checks, const struct csv_table *table, enum chip_profile profile,
                       struct status *st)
{
    static const char *const needed[] = {"id", "run", "chip", "slice", "measured", "unit"};
    const char *run = csv_table_column(table, "run") < 0 ? "workload" : "run";
    struct catalog catalog = {0};
    for (int i = 0; i < 6; i++)
        if (csv_table_column(table, i == 1 ? run : needed[i]) < 0)
            return csv_table_need(table, needed[i], st);
    int code = 0;
    for (int i = 0; i < table->rows && code == 0; i++) {
        struct row row = {table, i, &catalog, profile, .half_frac = NAN, .full_frac = NAN, .bytes = NAN};
        row.run = cell(&row, run);
        if (!*row.run)
            continue; /* for orientation only */
        row.chip = catalog_chip(&catalog, cell(&row, "chip"), profile, st);
        row.fitted = row.chip && is_fitted_on(row.chip, cell(&row, "id"));
        if (!row.chip || check_row(checks, &row, st) < 0)
            code = strncmp(st->text, table->file, strlen(table->file)) == 0 /* it says where */
                       ? st->code
                       : status_prefix(st, "%s:%d: ", table->file, table->line[i]);
    }
    catalog_free(&catalog);
    return code;
}

int validate_runs(struct checks *checks, enum chip_profile profile, const char *file, struct status *st)
{
    const struct embedded_file *own = published_file("published-steps");
    struct csv_table table = {0};
    int code = file ? csv_table_read(&table, file, st)
                    : csv_table_parse(&table, "published-steps.csv", own->text, own->bytes, st);
    if (code == 0)
        code = check_table(checks, &table, profile, st);
    struct check of = {.part = "steps", .kind = "predicted", .tolerance_frac = median_frac};
    if (code == 0)
        code = checks_add_median(checks, &of, "steps", "predicted rows", st);
    csv_table_free(&table);
    return code;
}
