/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/charts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

enum { WIDE = 560, ROW = 20 }; /* a whole waterfall, and a bar of it */
#define SVG                                                                                                  \
    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"%s\" width=\"%.0f\" height=\"%.0f\" "                 \
    "font-size=\"11\" "                                                                                      \
    "font-family=\"sans-serif\" fill=\"#4c78a8\">\n"
#define TEXT "<text x=\"%.1f\" y=\"%.1f\" fill=\"#444\">"

struct waterfall {
    FILE *out;
    double time_s, from, y;
};

/* A bar, which begins where the one before it ends. */
static void draw_bar(struct waterfall *at, const char *name, double seconds)
{
    char time[UNITS_TEXT];
    double share = seconds / at->time_s;
    if (!(share > 0))
        return;
    fprintf(at->out, TEXT "%s</text><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"15\"%s/>", 4.,
            at->y + 14, name, at->from, at->y + 3, fmax(1, WIDE * share),
            strncmp(name, "exposed", 7) == 0 ? " fill=\"#f58518\"" : "");
    at->from += WIDE * share;
    fprintf(at->out, TEXT "%s, %.1f %%</text>\n", at->from + 5, at->y + 14, units_print_time(seconds, time),
            100 * share);
    at->y += ROW;
}

/* From the columns `spent`, or else compute_s and exposed_comm_s, and time_s. */
static void draw_waterfall(const char *spent, double compute_s, double exposed_s, double time_s, FILE *out)
{
    static const char *const names[][2] = {{"model", "model at the peak"},
                                           {"beyond", "recomputed and masked"},
                                           {"below_peak", "products below the peak"},
                                           {"hbm", "products bound by HBM"}};
    struct waterfall at = {.out = out, .time_s = time_s, .from = 180};
    char key[RESULT_LINE], name[RESULT_LINE + 16];
    double seconds;
    int used;
    fprintf(out, SVG, "waterfall", at.from + WIDE + 120, 10. * ROW);
    if (!*spent) {
        draw_bar(&at, "compute", compute_s);
        draw_bar(&at, "exposed communication", exposed_s);
    }
    for (; sscanf(spent, " %511[^=]=%lf%n", key, &seconds, &used) == 2; spent += used) {
        const char *axes = strchr(key, ':');
        snprintf(name, sizeof name, "%s%s", axes ? "exposed over " : "", axes ? axes + 1 : key);
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            if (strcmp(key, names[n][0]) == 0)
                snprintf(name, sizeof name, "%s", names[n][1]);
        draw_bar(&at, name, seconds);
    }
    fputs("</svg>\n", out);
}

static double number_of(const struct csv_table *rows, int row, const char *column)
{
    return strtod(csv_table_text(rows, row, column), NULL);
}

void chart_waterfalls(const struct csv_table *rows, FILE *out)
{
    for (int row = 0; row < rows->rows && row < CHART_ROWS; row++)
        draw_waterfall(csv_table_text(rows, row, "spent"), number_of(rows, row, "compute_s"),
                       number_of(rows, row, "exposed_comm_s"), number_of(rows, row, "time_s"), out);
}

struct spot {
    double x, y;
};

/* Where a chip is drawn: x to the right, y down, z aslant within the space to the next. */
static struct spot place(const struct slice *slice, int chip, double scale)
{
    double at[SLICE_AXES] = {0};
    for (int a = 0; a < slice->axes; a++)
        at[a] = scale * slice_coord(slice, chip, a);
    double depth = slice->axes == SLICE_AXES ? at[2] / slice->len[2] : 0;
    return (struct spot){25 + at[0] + 0.7 * depth, 25 + at[1] + 0.55 * depth};
}

static void draw_link(const struct slice *slice, int link, double frac, double scale, FILE *out)
{
    int from = slice_link_start(slice, link), to = slice_link_end(slice, link),
        axis = slice_link_axis(slice, link);
    int apart = abs(slice_coord(slice, to, axis) - slice_coord(slice, from, axis));
    double aside = slice_link_sign(link) > 0 ? 2 : -2, stub = 0.4 / apart;
    struct spot a = place(slice, from, scale), b = place(slice, to, scale);
    if (apart > 1)
        b = (struct spot){a.x + stub * (a.x - b.x), a.y + stub * (a.y - b.y)};
    fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"hsl(%.0f,75%%,%.0f%%)\"/>\n",
            a.x + aside, a.y + aside, b.x + aside, b.y + aside, 210 - 190 * frac, 78 - 33 * frac);
}

int chart_torus(const struct job *job, const struct run *run, struct trace_part part, FILE *out,
                struct status *st)
{
    enum { MOST = 1024, LABELLED = 128 };
    (void)part;
    const struct slice *slice = job->program.slice;
    double longest = fmax(slice->len[0], slice->len[1]), layers = slice->len[2];
    double scale = fmin(layers > 1 ? 28 * layers : 56, fmax(16, 900 / longest)), time_s = run->result.time_s;
    double *bytes = metrics_link_bytes(&job->program, st);
    struct spot last = place(slice, slice->chips - 1, scale);
    fprintf(out, SVG "<g stroke-width=\"3\">", "torus", last.x + 40, last.y + 30);
    for (int link = 0; bytes && link < slice_link_ids(slice) && slice->chips <= MOST; link++)
        if (slice_is_link(slice, link))
            draw_link(slice, link, fmin(1, bytes[link] / (slice_link_Bps(slice, link) * time_s)), scale, out);
    fputs("</g>\n", out);
    for (int chip = 0; chip < slice->chips && slice->chips <= MOST; chip++) {
        struct spot at = place(slice, chip, scale);
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"#555\"/>", at.x, at.y);
        if (slice->chips <= LABELLED)
            fprintf(out, TEXT "%d</text>\n", at.x + 6, at.y - 6, chip);
    }
    fputs("</svg>\n", out);
    free(bytes);
    return st->code;
}

/* A row's cost and time; false where one of them is missing. */
static bool find_dot(const struct csv_table *rows, int row, const char *cost, double value[static 2])
{
    value[0] = number_of(rows, row, cost);
    value[1] = number_of(rows, row, "time_s");
    return value[0] > 0 && value[1] > 0;
}

static void draw_scatter(const struct csv_table *rows, const char *cost, const char *name, double scale,
                         FILE *out)
{
    enum { HEIGHT = 300, EDGE = 30 };
    double low[2] = {INFINITY, INFINITY}, high[2] = {0, 0}, value[2];
    for (int row = 0; row < rows->rows; row++)
        for (int i = 0; i < 2 && find_dot(rows, row, cost, value); i++) {
            low[i] = fmin(low[i], value[i]);
            high[i] = fmax(high[i], value[i]);
        }
    if (!(low[0] < high[0] && low[1] < high[1]))
        return;
    fprintf(out, SVG "<path d=\"M16 20V282H540\" stroke=\"#bbb\" fill=\"none\"/>", "scatter", 1. * WIDE,
            1. * HEIGHT);
    fprintf(out, TEXT "time (s): %.4g to %.4g</text>" TEXT "%s: %.4g to %.4g</text>\n", 4., 12., low[1],
            high[1], 4., HEIGHT - 4., name, low[0] * scale, high[0] * scale);
    for (int row = 0; row < rows->rows; row++)
        if (find_dot(rows, row, cost, value))
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill-opacity=\"0.6\" data-row=\"%d\"/>\n",
                    EDGE + (WIDE - 2 * EDGE) * (value[0] - low[0]) / (high[0] - low[0]),
                    EDGE + (HEIGHT - 2 * EDGE) * (high[1] - value[1]) / (high[1] - low[1]), row);
    fputs("</svg>\n", out);
}

void chart_scatters(const struct csv_table *rows, FILE *out)
{
    draw_scatter(rows, "memory_bytes", "memory of a chip (GB)", 1e-9, out);
    draw_scatter(rows, "usd_per_Mtoken", "cost ($/Mtoken)", 1, out);
    draw_scatter(rows, "chips", "chips", 1, out);
}
