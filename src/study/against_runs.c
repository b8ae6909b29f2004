/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulation against training steps, products, copies and collectives that others have measured, on the measured profile.
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
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "machine/roofline.h"
#include "study/fitted.h"
#include "study/simulate.h"

static const double fitted_frac = 0.03, mfu_points = 0.02, each_frac = 0.15, median_frac = 0.07;

enum run_column { ID, RUN, CHIP, SLICE, MEASURED, UNIT, ATTENTION, PARALLELISM, COLUMNS };

struct runs {
    struct csv_table table;
    int column[COLUMNS]; /* attention, parallelism: -1 where there is none */
    enum chip_profile profile;
    struct catalog catalog;
    double *off; /* [rows] of predictions, absolute */
    int predicted;
};

static const char *cell(const struct runs *r, int row, enum run_column column)
{
    return r->column[column] < 0 ? "" : csv_table_cell(&r->table, row, r->column[column]);
}

/* What a row is checked with: its own units, and what the simulation has of it. */
struct row {
    int row;
    const struct chip *chip;
    double simulated_s;
    double half_frac, full_frac; /* MFU; NaN where there is none */
    double bytes;                /* of a copy, moved; NaN */
};

/* "matmul 8192x8192x16384" or "copy 33554432", alone on a chip or, where the slice says so, on a core of it. */
static int run_alone(struct runs *r, struct row *row, bool *is_alone, struct status *st)
{
    const char *run = cell(r, row->row, RUN);
    double m, k, n, bytes;
    int end = 0;
    struct roofline roofline;
    roofline_init(&roofline, row->chip);
    roofline.cores = strstr(cell(r, row->row, SLICE), "core") ? row->chip->cores : 1;
    *is_alone = true;
    if (sscanf(run, "matmul %lfx%lfx%lf%n", &m, &k, &n, &end) == 3 && !run[end])
        return roofline_product_s(&roofline, DTYPE_BF16, 2 * m * k * n, 2 * (m * k + k * n + m * n),
                                  &row->simulated_s, NULL, st);
    *is_alone = sscanf(run, "copy %lf%n", &bytes, &end) == 1 && !run[end];
    if (*is_alone) {
        row->bytes = 2 * bytes;
        row->simulated_s = roofline_memory_s(&roofline, row->bytes);
    }
    return 0;
}

/* The shape that a cell begins with, "4x4" of "4x4 chips (v3-32)"; empty if it does not. */
static void shape_of(const char *text, char shape[static SLICE_TEXT])
{
    size_t n = strspn(text, "0123456789x");
    bool whole = n > 0 && n < SLICE_TEXT && (text[n] == '\0' || text[n] == ' ') && memchr(text, 'x', n);
    snprintf(shape, SLICE_TEXT, "%.*s", whole ? (int)n : 0, text);
}

/* "--mesh fsdp=64" where the row says so and the run does not say otherwise. */
static void mesh_of(const struct runs *r, const struct row *row, char text[static AXES_TEXT])
{
    const char *mesh = cell(r, row->row, PARALLELISM);
    bool is_mesh = strchr(mesh, '=') && !mesh[strspn(mesh, "abcdefghijklmnopqrstuvwxyz_=,0123456789")];
    bool is_said = strstr(cell(r, row->row, RUN), "--mesh");
    snprintf(text, AXES_TEXT, "%s%s", is_mesh && !is_said ? " --mesh " : "", is_mesh && !is_said ? mesh : "");
}

/* A workload file and options, or a collective and options: the chip and the slice are the row's. */
static int run_command(struct runs *r, struct row *row, struct status *st)
{
    const char *run = cell(r, row->row, RUN);
    char file[256] = "", shape[SLICE_TEXT], mesh[AXES_TEXT], arguments[1024];
    struct simulation simulation;
    size_t word = strcspn(run, " "), n = word < sizeof file ? word : sizeof file - 1;
    snprintf(file, sizeof file, "%.*s", (int)n, run);
    bool is_file = document_is_path(file);
    shape_of(cell(r, row->row, SLICE), shape);
    mesh_of(r, row, mesh);
    snprintf(arguments, sizeof arguments, "%s --chip %s%s%s%s --profile %s", is_file ? run + word : run,
             cell(r, row->row, CHIP), *shape ? " --slice " : "", shape, mesh, chip_profile_names[r->profile]);
    if (simulate_workload(is_file ? file : NULL, arguments, &r->catalog, &simulation, st))
        return st->code;
    row->simulated_s = simulation.result.time_s;
    row->half_frac = simulation.result.mfu_half_frac;
    row->full_frac = simulation.result.mfu_full_frac;
    return 0;
}

/* What was measured, in seconds. */
static int measured_s(struct runs *r, const struct row *row, double *time_s, struct status *st)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"s", 1}, {"s/step", 1}, {"ms", 1e-3}, {"us", 1e-6}};
    const char *unit = cell(r, row->row, UNIT);
    double value;
    int code = csv_table_number(&r->table, row->row, r->column[MEASURED], &value, st);
    if (code == 0 && !(value > 0))
        return csv_table_fail(&r->table, row->row, r->column[MEASURED], st, STATUS_INPUT,
                              "what was measured must be above 0");
    if (code < 0)
        return code;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].unit) == 0) {
            *time_s = value * units[i].seconds;
            return 0;
        }
    bool full = strcmp(cell(r, row->row, ATTENTION), "full") == 0;
    double mfu = full ? row->full_frac : row->half_frac, of = 0;
    if (strncmp(unit, "% MFU", 5) == 0 && mfu > 0) { /* the same operations: MFU x time is alike */
        double peak = row->chip->peak_flops[DTYPE_BF16];
        of = sscanf(unit, "%% MFU of %lf", &of) == 1 ? of * 1e12 : peak;
        *time_s = mfu * row->simulated_s * peak / of / (value / 100);
        return 0;
    }
    if (strcmp(unit, "GB/s") == 0 && row->bytes > 0) {
        *time_s = row->bytes / (value * 1e9);
        return 0;
    }
    return csv_table_fail(&r->table, row->row, r->column[UNIT], st, STATUS_INPUT,
                          "'%s' is none of s/step, s, ms, us; of a step %% MFU of PEAK; of a copy GB/s",
                          unit);
}

/* The check of a row in one quantity; fitted ones are out where they are not met. */
static struct check check_of(const struct runs *r, const struct row *row, double simulated, double expected,
                             double tolerance_frac)
{
    bool fitted = is_fitted_on(row->chip, cell(r, row->row, ID));
    struct check check = {
        .part = "steps", .simulated = simulated, .expected = expected, .tolerance_frac = tolerance_frac};
    snprintf(check.id, sizeof check.id, "%s", cell(r, row->row, ID));
    snprintf(check.what, sizeof check.what, "%s on %s %s", cell(r, row->row, RUN), cell(r, row->row, CHIP),
             cell(r, row->row, SLICE));
    snprintf(check.kind, sizeof check.kind, "%s", fitted ? "fitted" : "predicted");
    if (r->profile == CHIP_SPEC)
        check.verdict = VERDICT_BEYOND;
    else if (fitted && fabs(check_difference(&check)) <= tolerance_frac)
        check.verdict = VERDICT_FITTED;
    return check;
}

/* MFU by one way of counting attention; its tolerance is in points. */
static int check_mfu(struct checks *checks, const struct runs *r, const struct row *row, double time_s,
                     double mfu, const char *how, struct status *st)
{
    double expected = mfu * row->simulated_s / time_s;
    bool fitted = is_fitted_on(row->chip, cell(r, row->row, ID));
    struct check check = check_of(r, row, mfu, expected, fitted ? mfu_points / expected : each_frac);
    check.unit = CHECK_RATIO;
    snprintf(check.note, sizeof check.note, "MFU, %s", how);
    return checks_add(checks, check, st);
}

static int check_row(struct checks *checks, struct runs *r, struct row *row, struct status *st)
{
    double time_s = NAN;
    bool is_alone;
    int code = run_alone(r, row, &is_alone, st);
    if (code == 0 && !is_alone)
        code = run_command(r, row, st);
    if (code == 0)
        code = measured_s(r, row, &time_s, st);
    if (code < 0)
        return code;
    bool fitted = is_fitted_on(row->chip, cell(r, row->row, ID));
    struct check check = check_of(r, row, row->simulated_s, time_s, fitted ? fitted_frac : each_frac);
    if (!fitted)
        r->off[r->predicted++] = fabs(check_difference(&check));
    code = checks_add(checks, check, st);
    if (code == 0 && row->full_frac > 0)
        code = check_mfu(checks, r, row, time_s, row->half_frac, "attention counted half", st);
    if (code == 0 && row->full_frac > 0)
        code = check_mfu(checks, r, row, time_s, row->full_frac, "attention counted in full", st);
    return code;
}

static int find_columns(struct runs *r, struct status *st)
{
    static const char *const names[] = {[ID] = "id",
                                        [RUN] = "run",
                                        [CHIP] = "chip",
                                        [SLICE] = "slice",
                                        [MEASURED] = "measured",
                                        [UNIT] = "unit",
                                        [ATTENTION] = "attention",
                                        [PARALLELISM] = "parallelism"};
    for (enum run_column c = 0; c < COLUMNS; c++) {
        r->column[c] = csv_table_column(&r->table, names[c]);
        if (c == RUN && r->column[c] < 0)
            r->column[c] = csv_table_column(&r->table, "workload");
        if (r->column[c] < 0 && c < ATTENTION)
            return csv_table_need(&r->table, names[c], st);
    }
    return 0;
}

int validate_runs(struct checks *checks, enum chip_profile profile, const char *file, struct status *st)
{
    const struct embedded_file *own = embedded_published_file("published-steps");
    struct runs r = {.profile = profile};
    int code = file ? csv_table_read(&r.table, file, st)
                    : csv_table_parse(&r.table, "published-steps.csv", own->text, own->bytes, st);
    if (code == 0)
        code = find_columns(&r, st);
    if (code == 0 && !(r.off = malloc(((size_t)r.table.rows + 1) * sizeof *r.off)))
        code = status_nomem(st);
    for (int i = 0; i < r.table.rows && code == 0; i++) {
        struct row row = {.row = i, .half_frac = NAN, .full_frac = NAN, .bytes = NAN};
        if (!*cell(&r, i, RUN))
            continue; /* for orientation only */
        row.chip = catalog_chip(&r.catalog, cell(&r, i, CHIP), profile, st);
        if (!row.chip || check_row(checks, &r, &row, st) < 0)
            code = status_prefix(st, "%s:%d: ", r.table.file, r.table.line[i]);
    }
    static const struct median_words words = {"steps", "predicted rows"};
    if (code == 0 && profile != CHIP_SPEC)
        code = checks_add_median(checks, r.off, r.predicted, &words, median_frac, st);
    free(r.off);
    catalog_free(&r.catalog);
    csv_table_free(&r.table);
    return code;
}
