/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulation against published numbers: measured collectives on a chip's profile, and worked problems on the book's
 * numbers.
 *
 * A measurement that the profile was fitted on (`fitted_on` in the chip's file) proves nothing and is only shown. Each
 * of the others must be met within 20 %, and the median of each kind (interpolated, transferred) within 10 %. Two or
 * three numbers for a whole chip cannot do better, as lines without wraparound measure 15 to 20 % above their ideal.
 * Ratios of two runs (gains.csv) must be met within 8 %. On the spec profile the differences show how far real
 * machines are from the book, and nothing is judged.
 */
#include <math.h>
#include <string.h>

#include "base/embedded.h"
#include "base/units.h"
#include "study/simulate.h"
#include "study/validate.h"

static const double each_frac = 0.20, median_frac = 0.10, gain_frac = 0.08, most_fitted_frac = 0.5,
                    worked_frac = 1e-6;

static const char interpolated[] = "interpolated", transferred[] = "transferred";

bool is_fitted_on(const struct chip *chip, const char *id)
{
    for (int i = 0; i < chip->facts; i++) {
        const struct node *rows = chip->fact[i].measured ? chip->fact[i].fitted_on : NULL;
        for (int r = 0; rows && r < rows->count; r++) {
            const char *text;
            if (node_text(rows->child[r], "fitted_on", &text, NULL) == 0 && strcmp(text, id) == 0)
                return true;
        }
    }
    return false;
}

const struct embedded_file *published_file(const char *name)
{
    const struct embedded_file *file = embedded_published;
    while (strcmp(file->name, name) != 0)
        file++;
    return file;
}

static const char *cell(const struct measured *m, int row, const char *column)
{
    return csv_table_text(&m->table, m->row[row].row, column);
}

static const char *kind_of(const struct measured *m, const struct chip *chip, int row)
{
    for (int i = 0; i < m->rows; i++)
        if (measured_same(&m->row[row], &m->row[i]) && is_fitted_on(chip, cell(m, i, "id")))
            return interpolated;
    return transferred;
}

/* On the spec profile a row is only shown, and it is skipped if the book has no number for it (int32 matmuls). */
static int check_row(struct checks *checks, const struct measured *m, int row, enum chip_profile profile,
                     struct catalog *catalog, struct status *st)
{
    bool spec = profile == CHIP_SPEC;
    char what[CHECK_TEXT];
    struct simulation simulation;
    struct status own = {0};
    struct point point = m->row[row].point;
    point.machine.profile = profile;
    const struct chip *chip = catalog_chip(catalog, point.machine.chip, profile, &own);
    if (!chip || simulate_point(&point, catalog, true, &simulation, &own) < 0)
        simulation.result.time_s = NAN;
    if (own.code && !(spec && own.code == STATUS_INPUT))
        return status_fail(st, own.code, "%s:%d: %s", m->table.file, m->row[row].line, own.text);
    bool fitted = !spec && is_fitted_on(chip, cell(m, row, "id"));
    const char *kind = spec || fitted ? NULL : kind_of(m, chip, row);
    const char *note = own.code ? own.text
                       : spec   ? "spec profile, not judged"
                       : fitted ? "fitted: its profile was fitted on it"
                                : kind;
    struct check check = {.part = "published",
                          .kind = kind,
                          .simulated = simulation.result.time_s,
                          .expected = m->row[row].time_s,
                          .tolerance_frac = spec ? NAN : each_frac,
                          .verdict = fitted ? VERDICT_FITTED : VERDICT_OK};
    snprintf(what, sizeof what, "%s on %s %s", cell(m, row, "operation"), cell(m, row, "chip"),
             cell(m, row, "slice"));
    return checks_add(checks, check, cell(m, row, "id"), what, note, st);
}

/* At the first row of a chip, checks how many of its rows its profile was fitted on: at most half. */
static int check_share(struct checks *checks, const struct measured *m, int first, struct catalog *catalog,
                       struct status *st)
{
    char what[CHECK_TEXT];
    const char *name = m->row[first].point.machine.chip;
    const struct chip *chip = catalog_chip(catalog, name, CHIP_MEASURED, st);
    int rows = 0, fitted = 0;
    for (int i = 0; chip && i < m->rows; i++) {
        if (strcmp(m->row[i].point.machine.chip, name) != 0)
            continue;
        if (i < first)
            return 0;
        rows++;
        fitted += is_fitted_on(chip, cell(m, i, "id"));
    }
    if (!chip)
        return st->code;
    struct check check = {.part = "profile",
                          .simulated = fitted,
                          .expected = rows,
                          .unit = CHECK_RATIO,
                          .tolerance_frac = NAN,
                          .verdict = fitted <= most_fitted_frac * rows ? VERDICT_FITTED : VERDICT_OUT};
    snprintf(what, sizeof what, "profile fitted on %d of %d rows; half are allowed", fitted, rows);
    return checks_add(checks, check, name, what, "", st);
}

/* Checks a published ratio of the times of one run and of the same with more options; no profile was fitted on these. */
static int check_gain(struct checks *checks, const struct csv_table *table, int row,
                      enum chip_profile profile, struct catalog *catalog, struct status *st)
{
    struct simulation simulation[2];
    char options[2 * CHECK_TEXT], what[CHECK_TEXT];
    double gain;
    if (csv_table_number(table, row, csv_table_column(table, "gain"), &gain, st))
        return st->code;
    for (int i = 0; i < 2; i++) {
        snprintf(options, sizeof options, "%s --profile %s %s", csv_table_text(table, row, "run"),
                 chip_profile_names[profile], i ? csv_table_text(table, row, "than") : "");
        if (simulate(NULL, options, catalog, &simulation[i], st))
            return status_prefix(st, "%s:%d: ", table->file, table->line[row]);
    }
    struct check check = {.part = "published",
                          .simulated = simulation[1].result.time_s / simulation[0].result.time_s,
                          .expected = gain,
                          .unit = CHECK_RATIO,
                          .kind = profile == CHIP_SPEC ? NULL : transferred,
                          .tolerance_frac = profile == CHIP_SPEC ? NAN : gain_frac};
    snprintf(what, sizeof what, "%s on %s %s", csv_table_text(table, row, "operation"),
             csv_table_text(table, row, "chip"), csv_table_text(table, row, "slice"));
    return checks_add(checks, check, csv_table_text(table, row, "id"), what,
                      profile == CHIP_SPEC ? "spec profile, not judged" : transferred, st);
}

static int check_gains(struct checks *checks, enum chip_profile profile, struct catalog *catalog,
                       struct status *st)
{
    const struct embedded_file *own = published_file("gains");
    struct csv_table table = {0};
    int code = csv_table_parse(&table, "gains.csv", own->text, own->bytes, st);
    for (int row = 0; row < table.rows && code == 0; row++)
        code = check_gain(checks, &table, row, profile, catalog, st);
    csv_table_free(&table);
    return code;
}

int validate_published(struct checks *checks, enum chip_profile profile, const char *file, struct status *st)
{
    static const char *const kinds[] = {interpolated, transferred};
    const struct embedded_file *own = published_file("published");
    struct measured m = {0};
    struct catalog catalog = {0};
    int code = file ? measured_read(&m, file, NULL, st)
                    : measured_parse(&m, "published.csv", own->text, own->bytes, NULL, st);
    for (int i = 0; i < m.rows && code == 0; i++)
        code = check_row(checks, &m, i, profile, &catalog, st);
    if (!file && code == 0)
        code = check_gains(checks, profile, &catalog, st);
    for (int i = 0; i < m.rows && code == 0 && profile == CHIP_MEASURED; i++)
        code = check_share(checks, &m, i, &catalog, st);
    for (int k = 0; k < 2 && code == 0; k++) {
        char words[CHECK_TEXT];
        struct check of = {.part = "published", .kind = kinds[k], .tolerance_frac = median_frac};
        snprintf(words, sizeof words, "%s predictions", kinds[k]);
        code = checks_add_median(checks, &of, kinds[k], words, st);
    }
    catalog_free(&catalog);
    measured_free(&m);
    return code;
}

/* Appends "; the book says 12 us, +1.2 %": another number for the same quantity, and the simulation's difference from
 * it. */
static void compare(char *text, size_t room, const char *says, double simulated, double other_s)
{
    char time[UNITS_TEXT];
    snprintf(text, room, "; %s %s, %+.1f %%", says, units_print_time(other_s, time),
             100 * (simulated / other_s - 1));
}

/* Checks a worked problem: the time of its schedule, computed by hand; the note has the answers of the book and the
 * rule. */
static int check_worked(struct checks *checks, struct catalog *catalog, const struct csv_table *table,
                        int row, struct status *st)
{
    static const char *const names[] = {"book_s", "exact_s", "exact_link_bytes"};
    double number[3];
    struct simulation simulation;
    const char *run = csv_table_text(table, row, "run");
    for (int i = 0; i < 3; i++)
        if (csv_table_number(table, row, csv_table_column(table, names[i]), &number[i], st))
            return st->code;
    if (simulate(NULL, run, catalog, &simulation, st))
        return status_prefix(st, "%s:%d: ", table->file, table->line[row]);
    const struct result *result = &simulation.result;
    double book_s = number[0];
    bool bytes = !isnan(number[2]);
    struct check check = {.part = "worked",
                          .simulated = bytes ? result->max_link_bytes : result->time_s,
                          .expected = bytes ? number[2] : number[1],
                          .unit = bytes ? CHECK_BYTES : CHECK_SECONDS,
                          .tolerance_frac = worked_frac};
    char book[64] = "", rule[80] = "", says[32], note[4 * CHECK_TEXT];
    if (!isnan(book_s))
        compare(book, sizeof book, "the book says", check.simulated, book_s);
    snprintf(says, sizeof says, "rule %s says", result->rule_id);
    if (!bytes && result->formula_rule_s > 0)
        compare(rule, sizeof rule, says, check.simulated, result->formula_rule_s);
    snprintf(note, sizeof note, "%s%s%s%s", bytes ? "bytes over the busiest link: " : "",
             csv_table_text(table, row, "derivation"), book, rule);
    return checks_add(checks, check, csv_table_text(table, row, "id"), run, note, st);
}

int validate_worked(struct checks *checks, struct status *st)
{
    const struct embedded_file *own = published_file("worked-problems");
    struct csv_table table = {0};
    struct catalog catalog = {0};
    int code = csv_table_parse(&table, "worked-problems.csv", own->text, own->bytes, st);
    for (int row = 0; row < table.rows && code == 0; row++)
        code = check_worked(checks, &catalog, &table, row, st);
    catalog_free(&catalog);
    csv_table_free(&table);
    return code;
}
