/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/chance.h"
#include "base/grow.h"
#include "base/units.h"
#include "study/validate.h"

static const char *const verdict_names[VERDICTS] = {"ok", "OUT", "beyond", "fitted"};

void checks_free(struct checks *checks)
{
    free(checks->check);
    *checks = (struct checks){0};
}

double check_difference(const struct check *check)
{
    if (check->simulated == check->expected)
        return 0;
    return (check->simulated - check->expected) / check->expected;
}

int checks_add(struct checks *checks, struct check check, struct status *st)
{
    if (!GROW(checks->check, checks->count, checks->room))
        return status_nomem(st);
    if (check.verdict == VERDICT_OK && !(fabs(check_difference(&check)) <= check.tolerance_frac))
        check.verdict = VERDICT_OUT;
    checks->check[checks->count++] = check;
    return 0;
}

int checks_add_median(struct checks *checks, double difference[], int n, const struct median_words *words,
                      double tolerance_frac, struct status *st)
{
    if (n == 0)
        return 0;
    struct chance_summary summary = chance_summarise(difference, n);
    struct check check = {.part = "median",
                          .simulated = 1 + summary.median,
                          .expected = 1,
                          .unit = CHECK_RATIO,
                          .tolerance_frac = tolerance_frac};
    snprintf(check.id, sizeof check.id, "%s", words->id);
    snprintf(check.what, sizeof check.what, "median difference of %d %s, the worst is off by %.1f %%", n,
             words->predictions, 100 * summary.most);
    return checks_add(checks, check, st);
}

int checks_out(const struct checks *checks)
{
    int out = 0;
    for (int i = 0; i < checks->count; i++)
        out += checks->check[i].verdict == VERDICT_OUT;
    return out;
}

static bool is_predicted(const struct check *check)
{
    return check->verdict == VERDICT_OK || check->verdict == VERDICT_OUT;
}

static char *print_quantity(const struct check *check, double value, char text[static UNITS_TEXT])
{
    if (isnan(value))
        return strcpy(text, "-");
    if (check->unit == CHECK_SECONDS)
        return units_print_time(value, text);
    if (check->unit == CHECK_BYTES)
        return units_print_bytes((uint64_t)value, text);
    snprintf(text, UNITS_TEXT, "%.4g", value);
    return text;
}

/* The column of ids is as wide as the longest, which may be a user's own. */
enum { ID_WIDTH = 17 };
static int wider(int width, const char *id)
{
    int length = (int)strlen(id);
    return length > width ? length : width;
}

static void print_check(const struct check *check, int width, FILE *out)
{
    char simulated[UNITS_TEXT], expected[UNITS_TEXT], difference[16] = "-", tolerance[16] = "";
    if (!isnan(check->simulated))
        snprintf(difference, sizeof difference, "%+.3g", 100 * check_difference(check));
    if (!isnan(check->tolerance_frac))
        snprintf(tolerance, sizeof tolerance, "%.2g", 100 * check->tolerance_frac);
    fprintf(out, "%-9s %-*s %12s %12s %11s %9s  %-6s  %s%s%s\n", check->part, width, check->id,
            print_quantity(check, check->simulated, simulated),
            print_quantity(check, check->expected, expected), difference, tolerance,
            verdict_names[check->verdict], check->what, *check->note ? "; " : "", check->note);
}

void checks_print(const struct checks *checks, FILE *out)
{
    int width = ID_WIDTH;
    for (int i = 0; i < checks->count; i++)
        width = wider(width, checks->check[i].id);
    fprintf(out, "# %-7s %-*s %12s %12s %11s %9s  %-6s  %s\n", "part", width, "id", "simulated", "expected",
            "difference", "tolerance", "", "what");
    fprintf(out, "# %-7s %-*s %12s %12s %11s %9s\n", "", width, "", "", "", "(%)", "(%)");
    for (int i = 0; i < checks->count; i++)
        print_check(&checks->check[i], width, out);
}

/* A line of the summary: the checks of one part and one id, or of measurements one kind, judged or beyond its range. */
struct group {
    const struct check *first;
    bool judged, fitted;
    int count, out;
    double largest, median;
    int sizes;
    double *size; /* [sizes]: absolute differences of those that have one */
};

static bool by_id(const struct check *check)
{
    return strcmp(check->part, "published") != 0 && strcmp(check->part, "worked") != 0 &&
           strcmp(check->part, "steps") != 0;
}

static bool belongs(const struct group *group, const struct check *check)
{
    return strcmp(group->first->part, check->part) == 0 && strcmp(group->first->kind, check->kind) == 0 &&
           (!by_id(check) || strcmp(group->first->id, check->id) == 0) &&
           group->judged == is_predicted(check) && group->fitted == (check->verdict == VERDICT_FITTED);
}

static void close_group(struct group *group)
{
    int n = group->sizes;
    group->median = group->largest = NAN;
    if (n == 0)
        return;
    struct chance_summary summary = chance_summarise(group->size, n);
    group->median = summary.median;
    group->largest = summary.most;
}

static void print_group(const struct group *group, int width, FILE *out)
{
    const char *kind = group->fitted ? "fitted" : !group->judged ? "beyond" : group->out ? "OUT" : "ok";
    fprintf(out, "%-9s %-*s %7d %6d %12.3g %12.3g  %s\n", group->first->part, width,
            by_id(group->first) ? group->first->id : group->first->kind, group->count, group->out,
            100 * group->largest, 100 * group->median, kind);
}

/* Gathers the group that begins at check i, if it does. */
static bool gather(const struct checks *checks, int i, double size[], struct group *group)
{
    const struct check *first = &checks->check[i];
    *group = (struct group){.first = first,
                            .judged = is_predicted(first),
                            .fitted = first->verdict == VERDICT_FITTED,
                            .size = size};
    for (int j = 0; j < i; j++)
        if (belongs(group, &checks->check[j]))
            return false;
    for (int j = i; j < checks->count; j++) {
        const struct check *check = &checks->check[j];
        if (belongs(group, check)) {
            group->count++;
            if (!isnan(check->simulated))
                size[group->sizes++] = fabs(check_difference(check));
            group->out += check->verdict == VERDICT_OUT;
        }
    }
    close_group(group);
    return true;
}

void checks_print_summary(const struct checks *checks, FILE *out)
{
    double *size = malloc(((size_t)checks->count + 1) * sizeof *size);
    if (!size)
        return;
    int width = ID_WIDTH;
    for (int i = 0; i < checks->count; i++)
        if (by_id(&checks->check[i]))
            width = wider(width, checks->check[i].id);
    fprintf(out, "# %-7s %-*s %7s %6s %12s %12s\n", "part", width, "id", "checks", "out", "largest",
            "median");
    fprintf(out, "# %-7s %-*s %7s %6s %12s %12s\n", "", width, "", "", "", "(%)", "(%)");
    for (int i = 0; i < checks->count; i++) {
        struct group group;
        if (gather(checks, i, size, &group))
            print_group(&group, width, out);
    }
    free(size);
    int failed = checks_out(checks);
    fprintf(out, "# %d checks, %d out%s\n", checks->count, failed,
            failed ? "" : ": all within their tolerance");
}

void checks_write(const struct checks *checks, struct csv_writer *csv)
{
    static const char *const names[] = {"part",
                                        "id",
                                        "simulated_s",
                                        "expected_s",
                                        "simulated_bytes",
                                        "expected_bytes",
                                        "difference_frac",
                                        "tolerance_frac",
                                        "verdict",
                                        "what",
                                        "note",
                                        "kind"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        csv_text(csv, names[i]);
    csv_end_row(csv);
    for (int i = 0; i < checks->count; i++) {
        const struct check *check = &checks->check[i];
        csv_text(csv, check->part);
        csv_text(csv, check->id);
        csv_real(csv, check->unit == CHECK_SECONDS ? check->simulated : NAN);
        csv_real(csv, check->unit == CHECK_SECONDS ? check->expected : NAN);
        csv_real(csv, check->unit == CHECK_BYTES ? check->simulated : NAN);
        csv_real(csv, check->unit == CHECK_BYTES ? check->expected : NAN);
        csv_real(csv, check_difference(check));
        csv_real(csv, check->tolerance_frac);
        csv_text(csv, verdict_names[check->verdict]);
        csv_text(csv, check->what);
        csv_text(csv, check->note);
        csv_text(csv, check->kind);
        csv_end_row(csv);
    }
}
