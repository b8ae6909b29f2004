/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the results of `icisim fit`, writes its CSV, and the machine as a chip file, which --chip FILE
 * --profile measured reads. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "study/fitting.h"

typedef char *print_function(double value, char text[static UNITS_TEXT]);

/* "alpha        13.7 us   [13.1 us, 14.3 us]" */
static void print_parameter(const char *name, const struct fit_parameter *p, bool held, print_function *print)
{
    char value[UNITS_TEXT], low[UNITS_TEXT], high[UNITS_TEXT];
    printf("  %-14s %12s", name, print(p->value, value));
    if (held)
        printf("   held");
    else if (isnan(p->low))
        printf("   no interval: as many unknowns as points");
    else
        printf("   95 %%: %s to %s", print(p->low, low),
               isfinite(p->high) ? print(p->high, high) : "no limit");
    putchar('\n');
}

/* Intervals may reach below 0, but no measured time does. */
static char *print_time(double time_s, char text[static UNITS_TEXT])
{
    if (time_s >= 0)
        return units_print_time(time_s, text);
    char positive[UNITS_TEXT];
    snprintf(text, UNITS_TEXT, "-%.*s", UNITS_TEXT - 2, units_print_time(-time_s, positive));
    return text;
}

/* The parameters of a machine: name, key in a profile, and what to measure if the parameter is unknown. */
static const struct {
    const char *name, *key, *more;
    print_function *print;
} quantities[MACHINE_PARAMETERS] = {
    [MACHINE_OVERHEAD] = {"overhead", "setup", "measure smaller sizes", print_time},
    [MACHINE_HOP] = {"hop latency", "hop_latency", "measure rings of more sizes", print_time},
    [MACHINE_LINK] = {"link, one-way", "link_bandwidth", "measure larger sizes", units_print_bandwidth},
};

/* The difference in per cent, to two decimals; never a negative zero. */
static double per_cent(double value, double reference)
{
    double difference = 100 * (value / reference - 1);
    return fabs(difference) < 0.005 ? 0 : difference;
}

static void print_row(const struct fitting_row *row)
{
    char size[UNITS_TEXT], measured[UNITS_TEXT], fitted[UNITS_TEXT], machine[UNITS_TEXT];
    double time_s = row->measured->time_s;
    printf("  line %-5d %12s %12s", row->measured->line,
           units_print_bytes((uint64_t)row->measured->size_bytes, size), units_print_time(time_s, measured));
    if (!isnan(row->line.value))
        printf(" %12s %+7.2f %%", print_time(row->line.value, fitted), per_cent(time_s, row->line.value));
    if (!isnan(row->machine_s))
        printf(" %12s %+7.2f %%", units_print_time(row->machine_s, machine),
               per_cent(time_s, row->machine_s));
    printf("%s\n", row->outlier ? "  outlier" : "");
}

static void print_predictions(const struct fitting_group *group, const uint64_t size_bytes[], int sizes)
{
    for (int i = 0; i < sizes; i++) {
        char size[UNITS_TEXT], name[UNITS_TEXT + 16];
        struct fit_parameter p = fit_line_predict(&group->line, (double)size_bytes[i]);
        snprintf(name, sizeof name, "at %s", units_print_bytes(size_bytes[i], size));
        print_parameter(name, &p, false, print_time);
    }
}

static bool contains_0(const struct fit_parameter *p)
{
    return p->low <= 0 && p->high >= 0;
}

/* Prints what to measure in addition, so that both parameters of a line can be fitted. */
static void print_doubts_of_line(const struct fit_line *line)
{
    if (contains_0(&line->fit.parameter[0]))
        puts("  warning: the interval of alpha contains 0, so latency is not known; measure smaller sizes");
    if (contains_0(&line->fit.parameter[1]))
        puts("  warning: the bandwidth has no upper limit; measure larger sizes");
}

static void print_group(const struct fitting *f, int g, const uint64_t size_bytes[], int sizes)
{
    const struct fitting_group *group = &f->group[g];
    char crossover[UNITS_TEXT];
    printf("%s: %d point%s\n", group->name, group->points, group->points == 1 ? "" : "s");
    if (group->fitted) {
        const struct fit_line *line = &group->line;
        print_parameter("alpha", &line->fit.parameter[0], false, print_time);
        print_parameter("bandwidth", &line->bandwidth_Bps, false, units_print_bandwidth);
        printf("  %-14s %12.6f\n", "R^2", line->fit.r2);
        if (!isnan(line->fit.spread))
            printf("  %-14s %10.2f %%\n", "scatter", 100 * line->fit.spread);
        if (line->crossover_bytes > 0)
            printf("  %-14s %12s   below it latency costs more than bandwidth\n", "crossover",
                   units_print_about_bytes(line->crossover_bytes, crossover));
        print_doubts_of_line(line);
        print_predictions(group, size_bytes, sizes);
    } else {
        printf("  no line: %s\n", group->reason);
    }
    for (int i = 0; i < f->rows; i++)
        if (f->row[i].group == g)
            print_row(&f->row[i]);
}

static void print_doubts(const struct fitting_chip *chip, const char *begin, FILE *out)
{
    const struct fit_parameter *p = chip->machine.fit.parameter;
    char nominal[UNITS_TEXT];
    for (int k = 0; k < MACHINE_PARAMETERS; k++)
        if (!chip->machine.held[k] && contains_0(&p[k]))
            fprintf(out, "%sthe interval of the %s contains 0, so it is not known; %s\n", begin,
                    quantities[k].name, quantities[k].more);
    if (p[MACHINE_LINK].value > chip->nominal_Bps)
        fprintf(out, "%sthe link is above its nominal %s; was another ring or slice measured than is said?\n",
                begin, units_print_bandwidth(chip->nominal_Bps, nominal));
}

static void print_chip(const struct fitting_chip *chip)
{
    printf("machine from %d point%s of %s", chip->points, chip->points == 1 ? "" : "s", chip->name);
    if (chip->left_out)
        printf(", %d outlier%s left out", chip->left_out, chip->left_out == 1 ? "" : "s");
    putchar('\n');
    if (!chip->fitted) {
        printf("  not fitted: %s\n", chip->reason);
        return;
    }
    for (int k = 0; k < MACHINE_PARAMETERS; k++)
        print_parameter(quantities[k].name, &chip->machine.fit.parameter[k], chip->machine.held[k],
                        quantities[k].print);
    if (!isnan(chip->machine.fit.spread))
        printf("  %-14s %10.2f %%\n", "scatter", 100 * chip->machine.fit.spread);
    if (chip->machine.note)
        printf("  note: %s\n", chip->machine.note);
    print_doubts(chip, "  warning: ", stdout);
}

void fitting_print(const struct fitting *f, const uint64_t size_bytes[], int sizes)
{
    printf("# %d of %d times in %s (columns of %s)\n", f->rows, f->measured.rows, f->file, f->measured.kind);
    printf("# each row: size, measured, by the line t = alpha + bytes/bandwidth, difference%s\n",
           f->chips ? "; by the machine, difference" : "");
    for (int g = 0; g < f->groups; g++)
        print_group(f, g, size_bytes, sizes);
    for (int c = 0; c < f->chips; c++)
        print_chip(&f->chip[c]);
}

void fitting_print_dropped(const struct fitting *f, FILE *out)
{
    enum { SHOWN = 20 };
    const struct measured *m = &f->measured;
    for (int i = 0; i < m->gaps && i < SHOWN; i++)
        fprintf(out, "%sline %d has no %s", i ? ", " : "# left out: ", m->gap[i].line, m->gap[i].what);
    if (m->gaps > SHOWN)
        fprintf(out, " and %d more", m->gaps - SHOWN);
    if (m->gaps > 0)
        fputc('\n', out);
}

static void write_row(struct csv_writer *csv, const char *group, const struct fitting_row *row)
{
    const struct measured_row *m = row->measured;
    double formula_s = row->has_case ? formula_exact_s(&row->formula) : (double)NAN;
    csv_row(csv, "rtnrrrrrtrrrr", m->line > 0 ? m->line : (double)NAN, group, (int64_t)m->size_bytes,
            m->time_s, row->line.value, row->line.low, row->line.high, m->time_s / row->line.value - 1,
            row->outlier ? "outlier" : "", row->machine_s, m->time_s / row->machine_s - 1, formula_s,
            m->time_s / formula_s - 1);
}

/* The rows, then predictions, which are rows without a line in the file, a time or a machine. */
void fitting_write(const struct fitting *f, struct csv_writer *csv, const uint64_t size_bytes[], int sizes)
{
    csv_names(csv, "line,group,size_bytes,time_s,fitted_s,low_s,high_s,residual_frac,outlier,machine_s,"
                   "machine_residual_frac,formula_exact_s,formula_error_frac");
    for (int i = 0; i < f->rows; i++)
        write_row(csv, f->group[f->row[i].group].name, &f->row[i]);
    for (int g = 0; g < f->groups; g++)
        for (int i = 0; i < sizes && f->group[g].fitted; i++) {
            struct measured_row at = {.size_bytes = (double)size_bytes[i], .time_s = NAN};
            struct fitting_row row = {&at, .line = fit_line_predict(&f->group[g].line, at.size_bytes),
                                      .machine_s = NAN};
            write_row(csv, f->group[g].name, &row);
        }
}

/* "name" or "base" of a chip that may be a file: the last part of its path, without its ending. */
static void base_name(const char *chip, char name[static 64])
{
    const char *slash = strrchr(chip, '/');
    const char *start = slash ? slash + 1 : chip;
    text_one_line(start, name, 64);
    name[strcspn(name, ".")] = '\0';
}

/* Writes a text in YAML's double quotes. */
static void write_quoted(const char *text, FILE *out)
{
    putc('"', out);
    for (; *text; text++) {
        if (iscntrl((unsigned char)*text))
            fprintf(out, "\\x%02x", (unsigned char)*text);
        else
            fprintf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    }
    putc('"', out);
}

/* Writes which rows were fitted: their ids or, without ids, their lines. */
static void write_rows(const struct fitting *f, const struct fitting_chip *chip, FILE *out)
{
    const char *separator = "";
    for (int i = 0; i < f->rows; i++) {
        if (!fitting_is_of(&f->row[i], chip) || (chip->left_out && f->row[i].outlier))
            continue;
        const char *id = csv_table_text(&f->measured.table, f->row[i].measured->row, "id");
        fputs(separator, out);
        if (*id)
            write_quoted(id, out);
        else
            fprintf(out, "\"line %d\"", f->row[i].measured->line);
        separator = ", ";
    }
}

static void write_profile(const struct fitting *f, const struct fitting_chip *chip, FILE *out)
{
    static const char *const how[] = {"fitted", "held"};
    const struct fit_parameter *p = chip->machine.fit.parameter;
    const bool *held = chip->machine.held;
    int ring = CHOICE_OPEN;
    char name[80], text[UNITS_TEXT];
    for (int i = 0; i < f->rows && ring == CHOICE_OPEN; i++)
        if (fitting_is_of(&f->row[i], chip))
            ring = f->row[i].measured->point.schedule.ring;
    base_name(chip->name, name);
    fprintf(out, "# A measured profile of %s, written by icisim fit from %d measurements.\n", name,
            chip->points);
    if (chip->machine.note)
        fprintf(out, "# %s.\n", chip->machine.note);
    print_doubts(chip, "# Warning: ", out);
    fputs("name: ", out);
    strcat(name, "-fitted");
    write_quoted(name, out);
    fputs("\nbase: ", out);
    write_quoted(chip->name, out);
    fprintf(out, "\n\nmeasured:\n  link_bandwidth:\n    value: %s\n    source: &source ",
            units_print_bandwidth(p[MACHINE_LINK].value, text));
    write_quoted(f->file, out);
    fprintf(out, "\n    how: &how \"icisim fit: overhead %s, hop latency %s, link bandwidth %s\"\n",
            how[held[MACHINE_OVERHEAD]], how[held[MACHINE_HOP]], how[held[MACHINE_LINK]]);
    fputs("    fitted_on: &rows [", out);
    write_rows(f, chip, out);
    fputs("]\n", out);
    for (int k = MACHINE_HOP; k >= MACHINE_OVERHEAD; k--)
        fprintf(out, "  %s: {value: %s, source: *source, how: *how, fitted_on: *rows}\n", quantities[k].key,
                quantities[k].print(p[k].value, text));
    fprintf(out, "  algorithm: {value: schedule, source: *source, how: the schedule assumed in the fit}\n");
    if (ring != CHOICE_OPEN)
        fprintf(out, "  ring: {value: %s, source: *source, how: the schedule assumed in the fit}\n",
                ring_kind_name((enum ring_kind)ring));
}

int fitting_write_profile(const struct fitting *f, FILE *out, struct status *st)
{
    const struct fitting_chip *chip = NULL;
    for (int c = 0; c < f->chips; c++) {
        if (chip && f->chip[c].fitted)
            return status_fail(
                st, STATUS_INPUT,
                "a profile is of one chip, but %s and %s were fitted; pick one by --where chip=%s",
                chip->name, f->chip[c].name, chip->name);
        if (f->chip[c].fitted)
            chip = &f->chip[c];
    }
    if (!chip)
        return status_fail(
            st, STATUS_INPUT, "no machine was fitted, so there is no profile to write: %s",
            f->chips ? f->chip[0].reason
                     : "no row says its collective, chip and slice; add the columns operation, chip, slice, "
                       "axes, ring, or give --operation, --chip, --slice, --axis, --ring");
    write_profile(f, chip, out);
    return 0;
}
