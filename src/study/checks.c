/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/distribution.h"
#include "base/grow.h"
#include "base/units.h"
#include "study/collective_job.h"
#include "study/simulate.h"
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

int checks_add(struct checks *checks, struct check check, const char *id, const char *what, const char *note,
               struct status *st)
{
    if (!GROW(checks->check, checks->count, checks->room))
        return status_nomem(st);
    snprintf(check.id, sizeof check.id, "%s", id);
    snprintf(check.what, sizeof check.what, "%s", what);
    snprintf(check.note, sizeof check.note, "%s", note);
    if (check.verdict == VERDICT_OK && isnan(check.tolerance_frac))
        check.verdict = VERDICT_BEYOND;
    else if (check.verdict == VERDICT_OK && !(fabs(check_difference(&check)) <= check.tolerance_frac))
        check.verdict = VERDICT_OUT;
    checks->check[checks->count++] = check;
    return 0;
}

static bool is_judged(const struct check *check)
{
    return check->verdict == VERDICT_OK || check->verdict == VERDICT_OUT;
}

static bool is_kind(const struct check *a, const struct check *b)
{
    return strcmp(a->part, b->part) == 0 && strcmp(a->kind ? a->kind : "", b->kind ? b->kind : "") == 0;
}

/* Summarises the sizes of the differences of the judged times of a kind, and returns their number. */
static int summarise(const struct checks *checks, const struct check *of, struct sample_summary *summary,
                     struct status *st)
{
    int n = 0;
    double *difference = malloc(((size_t)checks->count + 1) * sizeof *difference);
    if (!difference)
        return status_nomem(st);
    for (int i = 0; i < checks->count; i++) {
        const struct check *check = &checks->check[i];
        if (is_judged(check) && is_kind(check, of) && check->unit == CHECK_SECONDS &&
            !isnan(check->simulated))
            difference[n++] = fabs(check_difference(check));
    }
    if (n > 0)
        *summary = sample_summarise(difference, n);
    free(difference);
    return n;
}

int checks_add_median(struct checks *checks, const struct check *of, const char *id, const char *words,
                      struct status *st)
{
    char what[CHECK_TEXT];
    struct sample_summary summary;
    int n = summarise(checks, of, &summary, st);
    if (n <= 0)
        return n;
    snprintf(what, sizeof what, "median difference of %d %s, the worst is off by %.1f %%", n, words,
             100 * summary.most);
    struct check median = {.part = "median",
                           .simulated = 1 + summary.median,
                           .expected = 1,
                           .unit = CHECK_RATIO,
                           .tolerance_frac = of->tolerance_frac};
    return checks_add(checks, median, id, what, "", st);
}

int checks_add_spread(struct checks *checks, const struct check *of, double median_frac, double most_frac,
                      struct status *st)
{
    struct sample_summary summary;
    int n = summarise(checks, of, &summary, st), code = n < 0 ? n : 0;
    for (int high = 0; high < 2 && n > 0 && code == 0; high++) {
        char what[CHECK_TEXT];
        snprintf(what, sizeof what, "%s differences of %d %s",
                 high ? "95th percentile of the" : "median of the", n, of->part);
        struct check check = {.part = high ? "95 %" : "median",
                              .simulated = 1 + (high ? summary.high : summary.median),
                              .expected = 1,
                              .unit = CHECK_RATIO,
                              .tolerance_frac = high ? most_frac : median_frac};
        code = checks_add(checks, check, of->part, what, "", st);
    }
    return code;
}

int checks_out(const struct checks *checks)
{
    int out = 0;
    for (int i = 0; i < checks->count; i++)
        out += checks->check[i].verdict == VERDICT_OUT;
    return out;
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

static char *print_percent(const char *format, double frac, const char *missing, char text[static UNITS_TEXT])
{
    if (isnan(frac))
        return strcpy(text, missing);
    snprintf(text, UNITS_TEXT, format, 100 * frac);
    return text;
}

/* In some parts an id stands for many checks; in others it is the id of a row in a file. */
static bool by_id(const struct check *check)
{
    return strcmp(check->part, "published") != 0 && strcmp(check->part, "worked") != 0 &&
           strcmp(check->part, "steps") != 0;
}

/* The width of the id column: the longest id, which may be a user's own. */
static int id_width(const struct checks *checks, bool all)
{
    int width = 17;
    for (int i = 0; i < checks->count; i++) {
        int length = (int)strlen(checks->check[i].id);
        width = length > width && (all || by_id(&checks->check[i])) ? length : width;
    }
    return width;
}

void checks_print(const struct checks *checks, FILE *out)
{
    int width = id_width(checks, true);
    fprintf(out, "# %-7s %-*s %12s %12s %11s %9s  %-6s  %s\n", "part", width, "id", "simulated", "expected",
            "difference", "tolerance", "", "what");
    fprintf(out, "# %-7s %-*s %12s %12s %11s %9s\n", "", width, "", "", "", "(%)", "(%)");
    for (int i = 0; i < checks->count; i++) {
        const struct check *c = &checks->check[i];
        char text[4][UNITS_TEXT];
        fprintf(out, "%-9s %-*s %12s %12s %11s %9s  %-6s  %s%s%s\n", c->part, width, c->id,
                print_quantity(c, c->simulated, text[0]), print_quantity(c, c->expected, text[1]),
                print_percent("%+.3g", check_difference(c), "-", text[2]),
                print_percent("%.2g", isinf(c->tolerance_frac) ? NAN : c->tolerance_frac, "", text[3]),
                verdict_names[c->verdict], c->what, *c->note ? "; " : "", c->note);
    }
}

/* Do two checks share a line of the summary: the same part and id, or for measurements the same kind and
 * judgement? */
static bool share_line(const struct check *a, const struct check *b)
{
    return is_kind(a, b) && (!by_id(a) || strcmp(a->id, b->id) == 0) && is_judged(a) == is_judged(b) &&
           (a->verdict == VERDICT_FITTED) == (b->verdict == VERDICT_FITTED);
}

/* Prints the line that begins with check `first`, if there is one. */
static void print_line(const struct checks *checks, int first, double size[], int width, FILE *out)
{
    const struct check *c = &checks->check[first];
    int count = 0, sizes = 0, failed = 0;
    struct sample_summary summary = {.median = NAN, .most = NAN};
    for (int i = 0; i < first; i++)
        if (share_line(c, &checks->check[i]))
            return;
    for (int i = first; i < checks->count; i++) {
        const struct check *check = &checks->check[i];
        if (!share_line(c, check))
            continue;
        count++;
        failed += check->verdict == VERDICT_OUT;
        if (!isnan(check->simulated))
            size[sizes++] = fabs(check_difference(check));
    }
    if (sizes > 0)
        summary = sample_summarise(size, sizes);
    fprintf(out, "%-9s %-*s %7d %6d %12.3g %12.3g  %s\n", c->part, width,
            by_id(c)  ? c->id
            : c->kind ? c->kind
                      : "",
            count, failed, 100 * summary.most, 100 * summary.median,
            verdict_names[failed ? VERDICT_OUT : c->verdict]);
}

void checks_print_summary(const struct checks *checks, FILE *out)
{
    double *size = malloc(((size_t)checks->count + 1) * sizeof *size);
    if (!size)
        return;
    int width = id_width(checks, false), failed = checks_out(checks);
    fprintf(out, "# %-7s %-*s %7s %6s %12s %12s\n", "part", width, "id", "checks", "out", "largest",
            "median");
    fprintf(out, "# %-7s %-*s %7s %6s %12s %12s\n", "", width, "", "", "", "(%)", "(%)");
    for (int i = 0; i < checks->count; i++)
        print_line(checks, i, size, width, out);
    free(size);
    fprintf(out, "# %d checks, %d out%s\n", checks->count, failed,
            failed ? "" : ": all within their tolerance");
}

void checks_write(const struct checks *checks, struct csv_writer *csv)
{
    csv_names(csv, "part,id,simulated_s,expected_s,simulated_bytes,expected_bytes,difference_frac,"
                   "tolerance_frac,verdict,what,note,kind");
    for (int i = 0; i < checks->count; i++) {
        const struct check *c = &checks->check[i];
        bool seconds = c->unit == CHECK_SECONDS, bytes = c->unit == CHECK_BYTES;
        csv_row(csv, "ttrrrrrrtttt", c->part, c->id, seconds ? c->simulated : (double)NAN,
                seconds ? c->expected : (double)NAN, bytes ? c->simulated : (double)NAN,
                bytes ? c->expected : (double)NAN, check_difference(c), c->tolerance_frac,
                verdict_names[c->verdict], c->what, c->note, c->kind ? c->kind : "");
    }
}

int simulate_point(const struct point *point, struct catalog *catalog, bool runs,
                   struct simulation *simulation, struct status *st)
{
    struct job job = {.options.few_layers = true};
    struct run run = {0};
    int code = job_open(&job, point, catalog, st);
    if (code == 0)
        code = job_build(&job, st);
    if (code == 0 && runs)
        code = job_run(&job, RECORD_NONE, &run, st);
    simulation->has_formula = code == 0 && job.workload == &workload_collective;
    if (simulation->has_formula)
        code = collective_case(job.state, &job, &simulation->formula, st);
    simulation->result = run.result;
    run_free(&run);
    job_close(&job);
    return code;
}

int simulate_read(const char *file, const char *arguments, struct settings *settings, struct point *point,
                  struct status *st)
{
    struct grid grid;
    settings_init(settings);
    int code = measured_arguments(settings, arguments, st);
    if (code == 0 && file)
        code = settings_read(settings, file, st);
    if (code == 0)
        code = grid_init(&grid, settings, st);
    if (code == 0)
        grid_point(&grid, 0, point);
    return code;
}

int simulate(const char *file, const char *arguments, struct catalog *catalog, struct simulation *simulation,
             struct status *st)
{
    struct settings settings;
    struct point point;
    int code = simulate_read(file, arguments, &settings, &point, st);
    if (code == 0)
        code = simulate_point(&point, catalog, true, simulation, st);
    settings_free(&settings);
    if (code && file && strncmp(st->text, file, strlen(file)) == 0)
        return code; /* it names the place */
    return code ? status_prefix(st, "%s%s%s: ", file ? file : "", file ? " " : "", arguments) : 0;
}
