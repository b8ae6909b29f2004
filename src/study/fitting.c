/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/fitting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "study/simulate.h"

/* The settings of a row except its size, as a command line; NULL if memory is out. */
static char *group_name(const struct measured_row *row)
{
    char *name = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&name, &bytes);
    if (!out)
        return NULL;
    for (int i = 0; i < option_count; i++) {
        const struct option_row *option = &option_table[i];
        const struct setting *setting = &row->settings.of[i];
        if (setting->count == 0 || strcmp(option->name, "size") == 0)
            continue;
        const char *text = setting->text[setting->count - 1];
        if (option->positional)
            fprintf(out, "%s%s", ftell(out) > 0 ? " " : "", text);
        else
            fprintf(out, "%s--%s %s", ftell(out) > 0 ? " " : "", option->name, text);
    }
    if (ftell(out) == 0)
        fputs("all rows", out);
    char *line = text_end(out, &name) ? text_one_line_new(name) : NULL;
    free(name);
    return line;
}

static int find_group(struct fitting *f, struct fitting_row *row, struct status *st)
{
    enum { GROUPS = 2000 };
    int g = 0;
    while (g < f->groups && !measured_same(row->measured, f->row[f->group[g].first].measured))
        g++;
    if (g == GROUPS)
        return status_fail(
            st, STATUS_LIMIT,
            "%s: rows that differ in more than their sizes make over %d groups; pick some by --where",
            f->file, GROUPS);
    if (g == f->groups) {
        f->group[f->groups++] =
            (struct fitting_group){.name = group_name(row->measured), .first = (int)(row - f->row)};
        if (!f->group[g].name)
            return status_nomem(st);
    }
    f->group[g].points++;
    row->group = g;
    return 0;
}

/* Does a row meet all conditions "column=value"? Returns 1 or 0, or fails if there is no such column. */
static int meets(const struct csv_table *table, int row, const struct setting *where, struct status *st)
{
    for (int i = 0; i < where->count; i++) {
        char column[64];
        const char *equals = strchr(where->text[i], '=');
        if (!equals)
            return status_fail(st, STATUS_INPUT, "--where '%s': write COLUMN=VALUE, such as chip=v5e",
                               where->text[i]);
        snprintf(column, sizeof column, "%.*s", (int)(equals - where->text[i]), where->text[i]);
        int at = csv_table_need(table, column, st);
        if (at < 0)
            return st->code;
        if (strcmp(csv_table_cell(table, row, at), equals + 1) != 0)
            return 0;
    }
    return 1;
}

static int gather_rows(struct fitting *f, const struct setting *where, struct status *st)
{
    size_t n = (size_t)f->measured.rows + 1;
    f->row = calloc(n, sizeof *f->row);
    f->group = calloc(n, sizeof *f->group);
    f->chip = calloc(n, sizeof *f->chip);
    if (!f->row || !f->group || !f->chip)
        return status_nomem(st);
    for (int i = 0; i < f->measured.rows; i++) {
        struct measured_row *measured = &f->measured.row[i];
        int code = meets(&f->measured.table, measured->row, where, st);
        if (code == 1 && !(measured->size_bytes > 0)) {
            f->measured.gap[f->measured.gaps++] = (struct measured_gap){measured->line, "size"};
        } else if (code == 1) {
            struct fitting_row *row = &f->row[f->rows++];
            *row = (struct fitting_row){.measured = measured, .machine_s = NAN, .line = {NAN, NAN, NAN, NAN}};
            code = find_group(f, row, st);
        }
        if (code < 0)
            return code;
    }
    return f->rows > 0 ? 0 : status_fail(st, STATUS_INPUT, "%s: no row is left to fit", f->file);
}

/* Points of a group or a chip, one after the other, for the fits. */
struct points {
    int count;
    struct fitting_row **row;
    double *bytes, *time_s, *relative;
    struct formula_case *formula;
};

static int points_init(struct points *p, int room, struct status *st)
{
    size_t n = (size_t)room + 1;
    *p = (struct points){.row = malloc(n * sizeof *p->row),
                         .bytes = malloc(n * 3 * sizeof *p->bytes),
                         .formula = malloc(n * sizeof *p->formula)};
    if (!p->row || !p->bytes || !p->formula)
        return status_nomem(st);
    p->time_s = p->bytes + n;
    p->relative = p->time_s + n;
    return 0;
}

static void points_add(struct points *p, struct fitting_row *row)
{
    p->row[p->count] = row;
    p->bytes[p->count] = row->measured->size_bytes;
    p->time_s[p->count] = row->measured->time_s;
    p->formula[p->count++] = row->formula;
}

/* The reason why a group was not fitted is printed instead of its fit; out of memory is a failure. */
static int keep_reason(const struct status *own, char *reason, size_t room, struct status *st)
{
    snprintf(reason, room, "%.*s", (int)room - 1, own->text);
    return own->code == STATUS_INPUT ? 0 : status_fail(st, own->code, "%s", own->text);
}

/* Outliers are always found by a robust fit: they pull an ordinary one towards themselves. */
static int mark_outliers(struct points *p, struct status *st)
{
    struct fit_line line;
    struct status own = {0};
    enum { LEAST = 5 };
    if (p->count < LEAST)
        return 0;
    if (fit_line(p->bytes, p->time_s, p->count, true, &line, &own))
        return own.code == STATUS_INPUT ? 0 : status_fail(st, own.code, "%s", own.text);
    for (int i = 0; i < p->count; i++)
        p->relative[i] = p->time_s[i] / fit_line_predict(&line, p->bytes[i]).value - 1;
    double limit = fit_outlier_limit(p->relative, p->count, st);
    for (int i = 0; i < p->count && limit > 0; i++)
        p->row[i]->outlier = fabs(p->relative[i]) > limit;
    return st->code;
}

static int fit_group(struct fitting *f, int g, bool robust, struct points *p, struct status *st)
{
    struct fitting_group *group = &f->group[g];
    struct status own = {0};
    p->count = 0;
    for (int i = 0; i < f->rows; i++)
        if (f->row[i].group == g)
            points_add(p, &f->row[i]);
    group->fitted = fit_line(p->bytes, p->time_s, p->count, robust, &group->line, &own) == 0;
    if (!group->fitted)
        return keep_reason(&own, group->reason, sizeof group->reason, st);
    for (int i = 0; i < p->count; i++)
        p->row[i]->line = fit_line_predict(&group->line, p->bytes[i]);
    return mark_outliers(p, st);
}

/* The case of a row for the formulas; none without a chip and a slice, or without a closed form. A row of
 * nccl-tests' all-to-all counts the data of one chip. */
static int read_case(struct fitting_row *row, struct catalog *catalog, struct status *st)
{
    struct measured_row *m = row->measured;
    bool placed = settings_count(&m->settings, "slice") > 0 || settings_count(&m->settings, "mesh") > 0;
    if (!m->has_op || !placed || settings_count(&m->settings, "chip") == 0 || strchr(m->point.work.op, '['))
        return 0;
    struct simulation simulation;
    int code = simulate_point(&m->point, catalog, false, &simulation, st);
    if (code == 0 && !simulation.has_formula)
        code = status_fail(st, STATUS_INPUT, "'%s' is not a collective, so it has no closed form",
                           m->point.work.op);
    if (code)
        return code;
    row->formula = simulation.formula;
    if (m->size_per_chip)
        for (int r = 0; r < row->formula.rings; r++)
            row->formula.elements *= row->formula.n[r];
    row->has_case = formula_exact_s(&row->formula) > 0;
    return 0;
}

/* "overhead,hop=0.7us": held at the chip's value, or at the given one. */
static int hold(struct fit_machine *machine, const char *list, struct status *st)
{
    char name[64];
    for (const char *at = list; at && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        char *value = strchr(name, '=');
        if (value)
            *value++ = '\0';
        int k = text_index(name, fit_machine_names);
        if (k < 0)
            return text_unknown("parameter of --hold", name, fit_machine_names, st);
        double *held = &machine->fit.parameter[k].value;
        int code = !value              ? 0
                   : k == MACHINE_LINK ? units_parse_bandwidth("--hold link", value, held, st)
                                       : units_parse_time("--hold", value, held, st);
        if (code == 0 && k == MACHINE_LINK && !(*held > 0))
            code = status_fail(st, STATUS_INPUT, "--hold link: must be above 0, such as 45GBps");
        if (code < 0)
            return code;
        machine->held[k] = true;
    }
    return 0;
}

bool fitting_is_of(const struct fitting_row *row, const struct fitting_chip *chip)
{
    return row->has_case && strcmp(row->measured->point.machine.chip, chip->name) == 0;
}

static int fit_chip(struct fitting *f, struct fitting_chip *chip, const struct settings *settings,
                    struct points *p, struct status *st)
{
    struct status own = {0};
    p->count = 0;
    for (int i = 0; i < f->rows; i++) {
        if (!fitting_is_of(&f->row[i], chip))
            continue;
        if (settings_flag(settings, "robust") && f->row[i].outlier)
            chip->left_out++;
        else
            points_add(p, &f->row[i]);
    }
    chip->points = p->count;
    if (p->count == 0) {
        snprintf(chip->reason, sizeof chip->reason,
                 "no row says a collective with a closed form, and its slice");
        return 0;
    }
    fit_machine_init(&chip->machine, &p->formula[0]);
    int code = hold(&chip->machine, settings_text(settings, "hold"), st);
    if (code)
        return code;
    chip->fitted = fit_machine(p->formula, p->time_s, p->count, &chip->machine, &own) == 0;
    if (!chip->fitted)
        return keep_reason(&own, chip->reason, sizeof chip->reason, st);
    for (int i = 0; i < f->rows; i++)
        if (fitting_is_of(&f->row[i], chip))
            f->row[i].machine_s = fit_machine_time_s(&chip->machine, &f->row[i].formula);
    return 0;
}

/* Appends the chip of a row that has a case, unless it is there. */
static int find_chip(struct fitting *f, const struct fitting_row *row, struct catalog *catalog,
                     struct status *st)
{
    for (int c = 0; c < f->chips; c++)
        if (fitting_is_of(row, &f->chip[c]))
            return 0;
    if (!row->has_case)
        return 0;
    const char *name = row->measured->point.machine.chip;
    const struct chip *chip = catalog_chip(catalog, name, CHIP_SPEC, st);
    if (chip)
        f->chip[f->chips++] = (struct fitting_chip){.name = name, .nominal_Bps = chip->link_nominal_Bps};
    return chip ? 0 : st->code;
}

static int fit_all(struct fitting *f, const struct settings *settings, struct status *st)
{
    struct points points;
    struct catalog catalog = {0};
    int code = points_init(&points, f->rows, st);
    for (int g = 0; g < f->groups && code == 0; g++)
        code = fit_group(f, g, settings_flag(settings, "robust"), &points, st);
    for (int i = 0; i < f->rows && code == 0; i++)
        if ((code = read_case(&f->row[i], &catalog, st)) < 0)
            status_prefix(st, "%s:%d: ", f->file, f->row[i].measured->line);
    for (int i = 0; i < f->rows && code == 0; i++)
        code = find_chip(f, &f->row[i], &catalog, st);
    for (int c = 0; c < f->chips && code == 0; c++)
        code = fit_chip(f, &f->chip[c], settings, &points, st);
    catalog_free(&catalog);
    free(points.row);
    free(points.bytes);
    free(points.formula);
    return code;
}

int fitting_check(const struct fitting *f, struct status *st)
{
    for (int g = 0; g < f->groups; g++)
        if (f->group[g].fitted)
            return 0;
    for (int c = 0; c < f->chips; c++)
        if (f->chip[c].fitted)
            return 0;
    return status_fail(st, STATUS_INPUT, "%s: %s: %s", f->file, f->group[0].name, f->group[0].reason);
}

int fitting_init(struct fitting *f, const struct settings *settings, struct status *st)
{
    *f = (struct fitting){.file = settings_text(settings, "file")};
    if (!f->file)
        return status_fail(st, STATUS_INPUT, "which file? give a CSV of measured times, or - for stdin");
    const struct setting *where = &settings->of[option_index(option_by_name("where"))];
    int code = measured_read(&f->measured, f->file, settings, st);
    if (code == 0)
        f->file = f->measured.table.file; /* "stdin" for - */
    if (code == 0)
        code = gather_rows(f, where, st);
    return code ? code : fit_all(f, settings, st);
}

void fitting_free(struct fitting *f)
{
    for (int g = 0; g < f->groups; g++)
        free(f->group[g].name);
    free(f->group);
    free(f->chip);
    free(f->row);
    measured_free(&f->measured);
    *f = (struct fitting){0};
}
