/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulation against what others have published: measurements on a chip's profile, worked problems on the book's
 * numbers.
 *
 * A measurement that shaped the profile (`fitted_on` in the chip's file) proves nothing and is only shown. Of the
 * others each must be met within 20 %, and the median of each kind (interpolated, transferred) within 10 %: with two or three numbers for a whole chip
 * more is not to be had, as a line without wraparound measures 15 to 20 % above its ideal. On the spec profile the
 * differences say how far real machines are from the book, and nothing is judged.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "study/fitted.h"
#include "study/simulate.h"

static const double each_frac = 0.20, median_frac = 0.10, most_fitted_frac = 0.5, worked_frac = 1e-6;

static const char *const kinds[] = {"interpolated", "transferred"};
enum { INTERPOLATED, TRANSFERRED, KINDS };

struct published {
    const struct measured *measured;
    struct catalog catalog;
    struct predicted {
        double *difference; /* absolute ones, of the predicted rows */
        int count;
    } predicted[KINDS];
};

/* Do two rows say the same but for the size? */
static bool is_same_shape(const struct measured_row *a, const struct measured_row *b)
{
    for (int i = 0; i < option_count; i++) {
        const struct setting *x = &a->settings.of[i], *y = &b->settings.of[i];
        if (i == option_index(option_by_name("size")))
            continue;
        if (x->count != y->count || (x->count > 0 && strcmp(x->text[0], y->text[0]) != 0))
            return false;
    }
    return true;
}

static int kind_of(const struct published *p, const struct chip *chip, const struct measured_row *row)
{
    for (int i = 0; i < p->measured->rows; i++) {
        const struct measured_row *other = &p->measured->row[i];
        if (is_same_shape(row, other) && is_fitted_on(chip, measured_cell(p->measured, other, "id")))
            return INTERPOLATED;
    }
    return TRANSFERRED;
}

static void name_row(struct check *check, const struct measured *m, const struct measured_row *row)
{
    snprintf(check->part, sizeof check->part, "published");
    snprintf(check->id, sizeof check->id, "%s", measured_cell(m, row, "id"));
    snprintf(check->what, sizeof check->what, "%s on %s %s", measured_cell(m, row, "operation"),
             measured_cell(m, row, "chip"), measured_cell(m, row, "slice"));
}

/* On the spec profile: shown, not judged, and not simulated where the book has no number (int32 matmuls). */
static int show_row(struct checks *checks, struct published *p, const struct measured_row *row,
                    struct status *st)
{
    struct simulation simulation;
    struct status own = {0};
    struct check check = {.expected = row->time_s, .tolerance_frac = NAN, .verdict = VERDICT_BEYOND};
    int code = simulate_point(&row->point, &p->catalog, &simulation, &own);
    if (code < 0 && code != STATUS_INPUT)
        return status_fail(st, code, "%s", own.text);
    check.simulated = code == 0 ? simulation.result.time_s : NAN;
    name_row(&check, p->measured, row);
    snprintf(check.note, sizeof check.note, "%.*s", (int)sizeof check.note - 1,
             code == 0 ? "spec profile, not judged" : own.text);
    return checks_add(checks, check, st);
}

static int check_row(struct checks *checks, struct published *p, const struct measured_row *row,
                     struct status *st)
{
    struct point point = row->point;
    struct simulation simulation;
    point.machine.profile = CHIP_MEASURED;
    const struct chip *chip = catalog_chip(&p->catalog, point.machine.chip, CHIP_MEASURED, st);
    if (!chip || simulate_point(&point, &p->catalog, &simulation, st))
        return status_prefix(st, "%s:%d: ", p->measured->table.file, row->line);
    bool fitted = is_fitted_on(chip, measured_cell(p->measured, row, "id"));
    struct check check = {.simulated = simulation.result.time_s,
                          .expected = row->time_s,
                          .tolerance_frac = each_frac,
                          .verdict = fitted ? VERDICT_FITTED : VERDICT_OK};
    int kind = kind_of(p, chip, row);
    struct predicted *predicted = &p->predicted[kind];
    if (!fitted)
        predicted->difference[predicted->count++] = fabs(check_difference(&check));
    name_row(&check, p->measured, row);
    snprintf(check.kind, sizeof check.kind, "%s", fitted ? "" : kinds[kind]);
    snprintf(check.note, sizeof check.note, "%s",
             fitted ? "fitted: its profile was fitted on it" : kinds[kind]);
    return checks_add(checks, check, st);
}

/* How many rows of a chip its profile was fitted on: half of them at most. */
static int check_share(struct checks *checks, struct published *p, const char *chip_name, struct status *st)
{
    const struct measured *m = p->measured;
    const struct chip *chip = catalog_chip(&p->catalog, chip_name, CHIP_MEASURED, st);
    int rows = 0, fitted = 0;
    for (int i = 0; chip && i < m->rows; i++) {
        if (strcmp(m->row[i].point.machine.chip, chip_name) != 0)
            continue;
        rows++;
        fitted += is_fitted_on(chip, measured_cell(m, &m->row[i], "id"));
    }
    if (!chip)
        return st->code;
    struct check check = {.simulated = fitted,
                          .expected = rows,
                          .unit = CHECK_RATIO,
                          .tolerance_frac = NAN,
                          .verdict = fitted <= most_fitted_frac * rows ? VERDICT_FITTED : VERDICT_OUT};
    snprintf(check.part, sizeof check.part, "profile");
    snprintf(check.id, sizeof check.id, "%s", chip_name);
    snprintf(check.what, sizeof check.what, "profile fitted on %d of %d rows; half are allowed", fitted,
             rows);
    return checks_add(checks, check, st);
}

static int check_shares(struct checks *checks, struct published *p, struct status *st)
{
    const struct measured *m = p->measured;
    int code = 0;
    for (int i = 0; i < m->rows && code == 0; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++)
            seen |= strcmp(m->row[i].point.machine.chip, m->row[j].point.machine.chip) == 0;
        if (!seen)
            code = check_share(checks, p, m->row[i].point.machine.chip, st);
    }
    return code;
}

static int read_published(struct measured *measured, const char *file, struct status *st)
{
    const struct embedded_file *own = embedded_published_file("published");
    if (file)
        return measured_read(measured, file, NULL, st);
    return measured_parse(measured, "published.csv", own->text, own->bytes, NULL, st);
}

int validate_published(struct checks *checks, enum chip_profile profile, const char *file, struct status *st)
{
    struct measured measured = {0};
    int code = read_published(&measured, file, st);
    struct published p = {.measured = &measured};
    for (int k = 0; k < KINDS && code == 0; k++)
        if (!(p.predicted[k].difference = malloc(((size_t)measured.rows + 1) * sizeof(double))))
            code = status_nomem(st);
    for (int i = 0; i < measured.rows && code == 0; i++)
        code = (profile == CHIP_SPEC ? show_row : check_row)(checks, &p, &measured.row[i], st);
    if (code == 0 && profile == CHIP_MEASURED)
        code = check_shares(checks, &p, st);
    for (int k = 0; k < KINDS; k++) {
        char predictions[CHECK_TEXT];
        snprintf(predictions, sizeof predictions, "%s predictions", kinds[k]);
        if (code == 0)
            code = checks_add_median(checks, p.predicted[k].difference, p.predicted[k].count,
                                     &(struct median_words){kinds[k], predictions}, median_frac, st);
        free(p.predicted[k].difference);
    }
    catalog_free(&p.catalog);
    measured_free(&measured);
    return code;
}

/* How the number comes about, and how far the book's answer and the textbook's rule are from it. */
static void write_note(struct check *check, const char *derivation, double book_s,
                       const struct result *result)
{
    char text[UNITS_TEXT];
    int n = snprintf(check->note, sizeof check->note, "%s%s",
                     check->unit == CHECK_BYTES ? "bytes over the busiest link: " : "", derivation);
    if (!isnan(book_s) && n >= 0 && (size_t)n < sizeof check->note)
        n += snprintf(check->note + n, sizeof check->note - (size_t)n, "; the book says %s, %+.1f %%",
                      units_print_time(book_s, text), 100 * (check->simulated / book_s - 1));
    if (check->unit == CHECK_SECONDS && result->formula_rule_s > 0 && n >= 0 &&
        (size_t)n < sizeof check->note)
        snprintf(check->note + n, sizeof check->note - (size_t)n, "; rule %s says %s, %+.1f %%",
                 result->rule_id, units_print_time(result->formula_rule_s, text),
                 100 * (check->simulated / result->formula_rule_s - 1));
}

/* A worked problem: what its schedule takes, worked out by hand, and beside it what the book answers. */
static int check_worked(struct checks *checks, struct catalog *catalog, const struct csv_table *table,
                        int row, const int column[static 6], struct status *st)
{
    double book_s, exact_s, exact_bytes;
    struct simulation simulation;
    const char *run = csv_table_cell(table, row, column[1]);
    if (csv_table_number(table, row, column[2], &book_s, st) ||
        csv_table_number(table, row, column[3], &exact_s, st) ||
        csv_table_number(table, row, column[4], &exact_bytes, st))
        return st->code;
    if (simulate(run, catalog, &simulation, st))
        return status_prefix(st, "%s:%d: ", table->file, table->line[row]);
    bool bytes = !isnan(exact_bytes);
    struct check check = {.simulated = bytes ? simulation.result.max_link_bytes : simulation.result.time_s,
                          .expected = bytes ? exact_bytes : exact_s,
                          .unit = bytes ? CHECK_BYTES : CHECK_SECONDS,
                          .tolerance_frac = worked_frac};
    snprintf(check.part, sizeof check.part, "worked");
    snprintf(check.id, sizeof check.id, "%s", csv_table_cell(table, row, column[0]));
    snprintf(check.what, sizeof check.what, "%s", run);
    write_note(&check, csv_table_cell(table, row, column[5]), book_s, &simulation.result);
    return checks_add(checks, check, st);
}

int validate_worked(struct checks *checks, const char *file, struct status *st)
{
    static const char *const names[] = {"id", "run", "book_s", "exact_s", "exact_link_bytes", "derivation"};
    const struct embedded_file *own = embedded_published_file("worked-problems");
    struct csv_table table = {0};
    struct catalog catalog = {0};
    int column[6];
    int code = file ? csv_table_read(&table, file, st)
                    : csv_table_parse(&table, "worked-problems.csv", own->text, own->bytes, st);
    for (int i = 0; i < 6 && code == 0; i++)
        if ((column[i] = csv_table_need(&table, names[i], st)) < 0)
            code = column[i];
    for (int row = 0; row < table.rows && code == 0; row++)
        code = check_worked(checks, &catalog, &table, row, column, st);
    catalog_free(&catalog);
    csv_table_free(&table);
    return code;
}
