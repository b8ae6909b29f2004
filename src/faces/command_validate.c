/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim validate: simulation against closed forms, engine against engine, and published results. */
#include <string.h>

#include "faces/command.h"
#include "faces/rows.h"
#include "study/validate.h"

/* Runs the parts given, or all if none is. Measurements are compared with the measured profile unless another
 * one is given. */
static int run_parts(const struct settings *settings, struct checks *checks, struct status *st)
{
    bool formulas = settings_flag(settings, "formulas"), engines = settings_flag(settings, "engines");
    bool published = settings_flag(settings, "published");
    const struct setting *runs = &settings->of[option_index(option_of_command("steps", FOR_VALIDATE))];
    const char *steps = runs->count > 0 ? runs->text[runs->count - 1] : NULL;
    const char *products = settings_text(settings, "products");
    bool all = !formulas && !engines && !published && !steps && !products;
    enum chip_profile profile = CHIP_MEASURED;
    if (settings_count(settings, "profile") > 0 && !published && !all)
        return status_fail(st, STATUS_INPUT,
                           "--profile does not apply without --published; leave it out or add that");
    if (settings_count(settings, "profile") > 0 && strcmp(settings_text(settings, "profile"), "spec") == 0)
        profile = CHIP_SPEC;
    if (((formulas || all) && validate_formulas(checks, true, st) < 0) ||
        ((engines || all) && validate_engines(checks, st) < 0))
        return st->code;
    if ((published || all) &&
        (validate_published(checks, profile, NULL, st) < 0 || validate_runs(checks, profile, NULL, st) < 0))
        return st->code;
    int code =
        steps ? validate_runs(checks, CHIP_MEASURED, strcmp(steps, "published") == 0 ? NULL : steps, st) : 0;
    if (code == 0 && products)
        code = validate_products(checks, products, st);
    return code == 0 && (published || all) ? validate_worked(checks, st) : code;
}

static int validate(struct settings *settings, struct status *st)
{
    struct checks checks = {0};
    struct csv_writer csv = {0};
    bool done = settings_check(settings, st) == 0 && rows_open(settings, "csv", &csv.output, st) == 0 &&
                run_parts(settings, &checks, st) == 0;
    if (done && csv.output.file)
        checks_write(&checks, &csv);
    done = done && csv_commit(&csv, st) == 0;
    csv_abandon(&csv);
    if (done && !rows_take_stdout(settings, "csv")) {
        if (!settings_flag(settings, "summary"))
            checks_print(&checks, stdout);
        checks_print_summary(&checks, stdout);
    }
    int out = checks_out(&checks);
    if (done && out > 0)
        status_fail(st, STATUS_CHECK, "%d of %d checks are out of their tolerance", out, checks.count);
    checks_free(&checks);
    return st->code;
}

const struct command command_validate = {
    .name = "validate",
    .arguments = "",
    .what = "checks simulation against formulas, engine against engine, and what others have published",
    .more = "Without --formulas, --engines, --published, --steps or --products it does the first three. "
            "Published measurements are held against the measured profiles; --profile spec holds them "
            "against the book's numbers. Exit status 1 if any check is out.",
    .bit = FOR_VALIDATE,
    .run = validate,
};
