/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulation on the measured profile against published measurements of training steps, matmuls, copies and
 * collectives.
 *
 * A row has a measurement, in seconds or as MFU, and in the column run (or else workload) a workload file and options
 * to simulate it. Chip and slice come from the row, and so does the mesh if the column parallelism is written as one
 * ("fsdp=64,tp=4"). MFU is compared by both ways of counting attention, half or in full; the column attention says
 * which one the source uses. Rows that the chip's profile was fitted on must be met within 3 %. The others are
 * predictions: each within 15 %, their median within 7 %. Every step ran, so it must fit in the memory of its chips.
 *
 * A step that the profile was fitted on is also predicted without it: the chip's step_efficiency, the only value that
 * is fitted on steps, is then the median of the other chips'. Each within 20 %, their median within 8 %. The errors
 * are kept in analysis/published/step-errors.csv, and printed beside every time of a model (validate_typical_error()).
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/distribution.h"
#include "base/embedded.h"
#include "machine/roofline.h"
#include "study/simulate.h"
#include "study/validate.h"

static const double fitted_frac = 0.03, mfu_points = 0.02, each_frac = 0.15, median_frac = 0.07;
static const double left_out_frac = 0.2, left_out_median_frac = 0.08;

/* A row of the file, and its simulation. */
struct row {
    const struct csv_table *table;
    int row;
    struct catalog *catalog;
    enum chip_profile profile;
    const char *run; /* the column run, or workload */
    const struct chip *chip;
    bool fitted, left_out, over; /* fitted on it; predicted without it; exceeds memory */
    double simulated_s;
    double half_frac, full_frac; /* MFU; NaN: none */
    double bytes;                /* that a copy moves; NaN: not a copy */
};

static const char *cell(const struct row *row, const char *column)
{
    return csv_table_text(row->table, row->row, column);
}

/* Times "matmul 8192x8192x16384" or "copy 33554432", alone on a chip, or on one of its cores if the slice says so. */
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

/* The mesh in the column parallelism, "fsdp=64, tp=4"; "" if it is in words, which are only compared. */
static void find_mesh(const struct row *row, char mesh[static AXES_TEXT])
{
    const char *cell_text = cell(row, "parallelism");
    size_t n = 0;
    bool is_mesh = strchr(cell_text, '=') &&
                   !cell_text[strspn(cell_text, "abcdefghijklmnopqrstuvwxyz_=, 0123456789")] &&
                   !strstr(row->run, "--mesh");
    for (const char *at = cell_text; *at && is_mesh && n < AXES_TEXT - 1; at++)
        if (*at == ' ' && at > cell_text && at[-1] != ',')
            is_mesh = false; /* words, such as "fsdp=128 devices" */
        else if (*at != ' ')
            mesh[n++] = *at;
    mesh[is_mesh ? n : 0] = '\0';
}

/* Checks that axes in words, "fsdp=16 x tensor=4", are those of the mesh that ran. */
static int compare_mesh(const struct row *row, const char *ran, struct status *st)
{
    static const char *const also[][2] = {{"tensor", "tp"}, {"model", "tp"}, {"data", "dp"}};
    for (const char *at = strchr(cell(row, "parallelism"), '='); at && !strstr(row->run, "--mesh");
         at = strchr(at + 1, '=')) {
        char name[32] = "", axis[48];
        const char *from = at;
        int size = atoi(at + 1), n = 0;
        while (from > cell(row, "parallelism") && (isalpha((unsigned char)from[-1]) || from[-1] == '_'))
            from--;
        snprintf(name, sizeof name, "%.*s", (int)(at - from), from);
        for (size_t i = 0; i < sizeof also / sizeof *also; i++)
            if (strcmp(name, also[i][0]) == 0)
                snprintf(name, sizeof name, "%s", also[i][1]);
        n = snprintf(axis, sizeof axis, "%s=%d", name, size);
        const char *found = strstr(ran, axis);
        bool whole = found && (found == ran || found[-1] == ',') && (found[n] == ',' || found[n] == '\0');
        if (!whole && size > 1)
            return csv_table_fail(row->table, row->row, csv_table_column(row->table, "parallelism"), st,
                                  "%s is not in the mesh that runs, %s; write the mesh alone, such as %s",
                                  axis, ran, "fsdp=64,tp=4");
    }
    return 0;
}

/* Runs a workload file or a collective with options. The chip is the row's; so is the slice if its cell begins with a
 * shape, as "4x4 chips (v3-32)" does, and the mesh, "fsdp=64", unless the run has one. */
static int run_command(struct row *row, struct status *st)
{
    const char *slice = cell(row, "slice");
    char file[256] = "", arguments[1024], mesh[AXES_TEXT];
    struct simulation simulation;
    size_t word = strcspn(row->run, " "), n = strspn(slice, "0123456789x");
    snprintf(file, sizeof file, "%.*s", (int)(word < sizeof file ? word : sizeof file - 1), row->run);
    bool is_file = document_is_path(file);
    bool is_shape = n < SLICE_TEXT && (slice[n] == '\0' || slice[n] == ' ') && memchr(slice, 'x', n);
    find_mesh(row, mesh);
    snprintf(arguments, sizeof arguments, "%s --chip %s%s%.*s%s%s --profile %s",
             is_file ? row->run + word : row->run, cell(row, "chip"), is_shape ? " --slice " : "",
             is_shape ? (int)n : 0, slice, *mesh ? " --mesh " : "", mesh, chip_profile_names[row->profile]);
    if (simulate(is_file ? file : NULL, arguments, row->catalog, &simulation, st))
        return st->code;
    row->simulated_s = simulation.result.time_s;
    row->half_frac = simulation.result.mfu_half_frac;
    row->full_frac = simulation.result.mfu_full_frac;
    row->over = strcmp(simulation.result.memory_fit, memory_fit_name(MEMORY_OVER)) == 0;
    return is_file ? compare_mesh(row, simulation.result.mesh, st) : 0;
}

/* The measurement in seconds. */
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
        return csv_table_fail(row->table, row->row, column, st, "what was measured must be above 0");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].unit) == 0) {
            *time_s = value * units[i].seconds;
            return 0;
        }
    double mfu = strcmp(cell(row, "attention"), "full") == 0 ? row->full_frac : row->half_frac;
    if (strncmp(unit, "% MFU", 5) == 0 && mfu > 0) { /* for the same FLOPs, MFU x time is constant */
        double peak = row->chip->peak_flops[DTYPE_BF16], of;
        of = sscanf(unit, "%% MFU of %lf", &of) == 1 ? of * 1e12 : peak;
        *time_s = mfu * row->simulated_s * peak / of / (value / 100);
        return 0;
    }
    if (strcmp(unit, "GB/s") == 0 && row->bytes > 0) {
        *time_s = row->bytes / (value * 1e9);
        return 0;
    }
    return csv_table_fail(row->table, row->row, csv_table_column(row->table, "unit"), st,
                          "'%s' is none of s/step, s, ms, us; of a step %% MFU of PEAK; of a copy GB/s",
                          unit);
}

/* Adds a check of one quantity of a row; fitted rows are judged, too. */
static int add(struct checks *checks, const struct row *row, struct check check, const char *note,
               struct status *st)
{
    char what[CHECK_TEXT];
    snprintf(what, sizeof what, "%s on %s %s", row->run, cell(row, "chip"), cell(row, "slice"));
    check.part = "steps";
    check.kind = row->left_out ? "left out" : row->fitted ? "fitted" : "predicted";
    if (row->over) {
        check.verdict = VERDICT_OUT;
        note = "it ran, but is said not to fit the memory of its chips";
    } else if (row->left_out)
        note = "by the other chips' rows";
    else if (row->profile == CHIP_SPEC)
        check.verdict = VERDICT_BEYOND;
    else if (row->fitted && fabs(check_difference(&check)) <= check.tolerance_frac)
        check.verdict = VERDICT_FITTED;
    return checks_add(checks, check, cell(row, "id"), what, note, st);
}

/* The median step_efficiency of the other built-in chips; NaN if there are none. */
static double median_of_others(const struct row *row, struct status *st)
{
    const char *names[CHIP_BUILT_IN_MAX];
    double other[CHIP_BUILT_IN_MAX];
    int others = 0;
    chip_names(names);
    for (int i = 0; names[i]; i++) {
        const struct chip *chip = catalog_chip(row->catalog, names[i], CHIP_MEASURED, st);
        if (chip && !isnan(chip->step_efficiency) && strcmp(chip->name, row->chip->name) != 0)
            other[others++] = chip->step_efficiency;
    }
    return others ? sample_summarise(other, others).median : (double)NAN;
}

/* Checks the row again without the value that was fitted on it. */
static int check_left_out(struct checks *checks, const struct row *row, double time_s, struct status *st)
{
    struct catalog others = {.step_efficiency = median_of_others(row, st)};
    struct row own = *row;
    own.catalog = &others;
    own.left_out = true;
    int code = isnan(others.step_efficiency) ? st->code : run_command(&own, st);
    struct check check = {.simulated = own.simulated_s, .expected = time_s, .tolerance_frac = left_out_frac};
    if (code == 0 && !isnan(others.step_efficiency))
        code = add(checks, &own, check, "", st);
    catalog_free(&others);
    return code;
}

/* Checks a row in seconds and, for a step, as MFU by both ways of counting attention, with a tolerance in points. */
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
    return code < 0 || !row->fitted || !(row->full_frac > 0) || row->profile == CHIP_SPEC
               ? code
               : check_left_out(checks, row, time_s, st);
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
    of.kind = "left out";
    of.tolerance_frac = left_out_median_frac;
    if (code == 0)
        code = checks_add_median(checks, &of, "steps", "rows by what other chips' rows say", st);
    csv_table_free(&table);
    return code;
}

/* The errors of rows of a kind of model, and of a chip unless that is NULL. */
static struct sample_summary errors_of(const struct csv_table *table, const char *kind, const char *chip,
                                       int *rows, struct status *st)
{
    double error[64];
    *rows = 0;
    for (int i = 0; i < table->rows && *rows < 64; i++) {
        bool is_like = strcmp(csv_table_text(table, i, "kind"), kind) == 0 &&
                       (!chip || strcmp(csv_table_text(table, i, "chip"), chip) == 0);
        if (is_like &&
            csv_table_number(table, i, csv_table_column(table, "error_frac"), &error[*rows], st) == 0) {
            error[*rows] = fabs(error[*rows]);
            ++*rows;
        }
    }
    return *rows ? sample_summarise(error, *rows) : (struct sample_summary){.median = NAN, .most = NAN};
}

int validate_typical_error(const char *chip, const char *kind, double *error_frac,
                           char text[static CHECK_TEXT], struct status *st)
{
    enum { ENOUGH = 3 }; /* rows of a chip for a median of its own */
    const struct embedded_file *own = published_file("step-errors");
    struct csv_table table = {0};
    int of_chip, all;
    int code = csv_table_parse(&table, "step-errors.csv", own->text, own->bytes, st);
    if (code < 0)
        return code;
    struct sample_summary like = errors_of(&table, kind, chip, &of_chip, st);
    struct sample_summary any = errors_of(&table, kind, NULL, &all, st);
    char here[CHECK_TEXT / 2] = "";
    if (of_chip)
        snprintf(here, sizeof here, "%s: median %.1f %%, worst %.1f %% of %d row%s; ", chip,
                 100 * like.median, 100 * like.most, of_chip, of_chip == 1 ? "" : "s");
    if (all)
        snprintf(text, CHECK_TEXT, "%s, %sall chips: median %.1f %%, worst %.1f %% of %d rows", kind, here,
                 100 * any.median, 100 * any.most, all);
    else
        snprintf(text, CHECK_TEXT, "%s: no published row to judge by", kind);
    *error_frac = of_chip >= ENOUGH ? like.median : any.median;
    csv_table_free(&table);
    return st->code;
}
