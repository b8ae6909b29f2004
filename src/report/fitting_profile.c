/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine of a fit as a chip file, which --chip FILE --profile measured reads. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "collective/collective.h"
#include "study/fitting.h"

/* "name" or "base" of a chip that may be a file: the last part of its path, without its ending. */
static void base_name(const char *chip, char name[static 64])
{
    const char *slash = strrchr(chip, '/');
    const char *start = slash ? slash + 1 : chip;
    text_one_line(start, name, 64);
    name[strcspn(name, ".")] = '\0';
}

/* As YAML's double quotes want it. */
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

static bool is_of(const struct fitting_row *row, const struct fitting_chip *chip)
{
    return row->has_case && strcmp(row->measured->point.machine.chip, chip->name) == 0;
}

/* The rows fitted, by their ids or, without ids, by their lines. */
static void write_rows(const struct fitting *f, const struct fitting_chip *chip, FILE *out)
{
    const char *separator = "";
    for (int i = 0; i < f->rows; i++) {
        if (!is_of(&f->row[i], chip) || (chip->left_out && f->row[i].outlier))
            continue;
        const char *id = measured_cell(&f->measured, f->row[i].measured, "id");
        fputs(separator, out);
        if (*id)
            write_quoted(id, out);
        else
            fprintf(out, "\"line %d\"", f->row[i].measured->line);
        separator = ", ";
    }
}

static const char *held_or_fitted(const struct fitting_chip *chip, enum fit_machine_parameter k)
{
    return chip->machine.held[k] ? "held" : "fitted";
}

static void write_profile(const struct fitting *f, const struct fitting_chip *chip, FILE *out)
{
    const struct fit_parameter *p = chip->machine.fit.parameter;
    int ring = CHOICE_OPEN;
    char name[64], fitted[80];
    for (int i = 0; i < f->rows && ring == CHOICE_OPEN; i++)
        if (is_of(&f->row[i], chip))
            ring = f->row[i].measured->point.schedule.ring;
    base_name(chip->name, name);
    fprintf(out, "# A measured profile of %s, written by icisim fit from %d measurements.\n", name,
            chip->points);
    if (chip->machine.note)
        fprintf(out, "# %s.\n", chip->machine.note);
    fitting_print_doubts(chip, "# Warning: ", out);
    snprintf(fitted, sizeof fitted, "%s-fitted", name);
    fputs("name: ", out);
    write_quoted(fitted, out);
    fputs("\nbase: ", out);
    write_quoted(chip->name, out);
    char link[UNITS_TEXT], hop[UNITS_TEXT], overhead[UNITS_TEXT];
    fprintf(out, "\n\nmeasured:\n  link_bandwidth:\n    value: %s\n    source: &source ",
            units_print_bandwidth(p[MACHINE_LINK].value, link));
    write_quoted(f->file, out);
    fprintf(out, "\n    how: &how \"icisim fit: overhead %s, hop latency %s, link bandwidth %s\"\n",
            held_or_fitted(chip, MACHINE_OVERHEAD), held_or_fitted(chip, MACHINE_HOP),
            held_or_fitted(chip, MACHINE_LINK));
    fputs("    fitted_on: &rows [", out);
    write_rows(f, chip, out);
    fputs("]\n", out);
    fprintf(out, "  hop_latency: {value: %s, source: *source, how: *how, fitted_on: *rows}\n",
            units_print_time(p[MACHINE_HOP].value, hop));
    fprintf(out, "  setup: {value: %s, source: *source, how: *how, fitted_on: *rows}\n",
            units_print_time(p[MACHINE_OVERHEAD].value, overhead));
    if (ring != CHOICE_OPEN)
        fprintf(out, "  ring: {value: %s, source: *source, how: the schedule assumed in the fit}\n",
                ring_kind_name((enum ring_kind)ring));
}

int fitting_write_profile(const struct fitting *f, FILE *out, struct status *st)
{
    const struct fitting_chip *chip = NULL;
    for (int c = 0; c < f->chips; c++) {
        if (chip && f->chip[c].fitted)
            return status_fail(st, STATUS_INPUT,
                               "a profile is of one chip, but %s and %s were fitted; pick one by "
                               "--where chip=%s",
                               chip->name, f->chip[c].name, chip->name);
        if (f->chip[c].fitted)
            chip = &f->chip[c];
    }
    if (!chip)
        return status_fail(
            st, STATUS_INPUT, "no machine was fitted, so there is no profile to write: %s",
            f->chips ? f->chip[0].reason
                     : "no row says its collective, chip and slice; add the columns operation, chip, "
                       "slice, axes, ring, or give --operation, --chip, --slice, --axis, --ring");
    write_profile(f, chip, out);
    return 0;
}
