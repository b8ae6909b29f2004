/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run_stations.h"

#include <math.h>
#include <stdlib.h>

#include "report/sheet.h"
#include "workload/stations.h"

bool run_stations_matches(const struct grid *grid)
{
    struct point point;
    grid_point(grid, 0, &point);
    return stations_match(&point);
}

/* One point: what was asked for and what came out. */
struct row {
    struct point point;
    struct stations_result result;
    char part[2][STATION_NAME];
    int chips[2];
};

static int run_one(const struct grid *grid, int64_t index, struct row *row, struct status *st)
{
    struct stations stations = {0};
    grid_point(grid, index, &row->point);
    int code = stations_open(&stations, &row->point, st);
    if (code == 0)
        code = stations_run(&stations, &row->result, st);
    for (int i = 0; i < 2; i++) {
        row->chips[i] = stations.part[i].mesh.devices;
        snprintf(row->part[i], sizeof row->part[i], "%s", stations.part[i].name);
    }
    stations_close(&stations);
    return code;
}

static double busy(const struct row *row, int station)
{
    return row->result.period_s > 0 ? row->result.within_s[station] / row->result.period_s : 0;
}

static void add_columns(struct sheet *sheet, const struct row *row)
{
    sheet_column(sheet, "in flight", "");
    sheet_text_column(sheet, "chips");
    sheet_column(sheet, row->part[0], "(us)");
    sheet_column(sheet, "transfer", "(us)");
    sheet_column(sheet, row->part[1], "(us)");
    sheet_column(sheet, "a batch", "(us)");
    sheet_column(sheet, "formula", "(us)");
    sheet_column(sheet, "contention", "(us)");
    sheet_column(sheet, row->part[0], "busy %");
    sheet_column(sheet, "transfer", "busy %");
    sheet_column(sheet, row->part[1], "busy %");
}

static int print_rows(const struct row row[], int64_t rows, FILE *out, struct status *st)
{
    struct sheet sheet = {0};
    int64_t best = 0;
    fprintf(out,
            "# by themselves %s, transfer, %s; in the steady state a batch, what max(T, X, S, (T + X + S) / "
            "in flight) "
            "has for them, and the rest; of a batch's time each is busy\n",
            row->part[0], row->part[1]);
    add_columns(&sheet, row);
    for (int64_t i = 0; i < rows; i++) {
        const struct stations_result *r = &row[i].result;
        char chips[32];
        snprintf(chips, sizeof chips, "%d/%d", row[i].chips[0], row[i].chips[1]);
        sheet_count(&sheet, row[i].point.host_transfer ? 1 : row[i].point.in_flight);
        sheet_text(&sheet, chips);
        for (int k = 0; k < 3; k++)
            sheet_real(&sheet, "%.4f", r->alone_s[k] * 1e6);
        sheet_real(&sheet, "%.4f", r->period_s * 1e6);
        sheet_real(&sheet, "%.4f", r->bound_s * 1e6);
        sheet_real(&sheet, "%.4f", fmax(0, r->period_s - r->bound_s) * 1e6);
        for (int k = 0; k < 3; k++)
            sheet_real(&sheet, "%.1f", 100 * busy(&row[i], k));
        best = r->period_s < row[best].result.period_s ? i : best;
    }
    int code = sheet_print(&sheet, out, st);
    sheet_free(&sheet);
    const struct row *b = &row[best];
    double wait_s[2] = {b->result.period_s - b->result.within_s[0],
                        b->result.period_s - b->result.within_s[2]};
    fprintf(out,
            "# %s waits %.4f us of a batch's time until a batch has left, %s %.4f us until one comes%s\n",
            b->part[0], fmax(0, wait_s[0]) * 1e6, b->part[1], fmax(0, wait_s[1]) * 1e6,
            rows > 1 ? "; that of the fastest:" : "");
    if (rows > 1)
        fprintf(out, "# fastest: %d/%d chips, %d in flight, %.4f us a batch\n", b->chips[0], b->chips[1],
                b->point.host_transfer ? 1 : b->point.in_flight, b->result.period_s * 1e6);
    return code;
}

static void write_rows(const struct row row[], int64_t rows, struct csv_writer *csv)
{
    static const char *const names[] = {
        "in_flight",       "status",          "chips_first",        "chips_second",
        "first_s",         "transfer_s",      "second_s",           "time_s",
        "formula_exact_s", "first_busy_frac", "transfer_busy_frac", "second_busy_frac"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        csv_text(csv, names[i]);
    csv_end_row(csv);
    for (int64_t i = 0; i < rows; i++) {
        csv_count(csv, row[i].point.host_transfer ? 1 : row[i].point.in_flight);
        csv_text(csv, "ok");
        for (int k = 0; k < 2; k++)
            csv_count(csv, row[i].chips[k]);
        for (int k = 0; k < 3; k++)
            csv_real(csv, row[i].result.alone_s[k]);
        csv_real(csv, row[i].result.period_s);
        csv_real(csv, row[i].result.bound_s);
        for (int k = 0; k < 3; k++)
            csv_real(csv, busy(&row[i], k));
        csv_end_row(csv);
    }
}

int run_stations(const struct grid *grid, struct csv_writer *csv, bool table, struct status *st)
{
    struct row *row = calloc((size_t)grid->points + 1, sizeof *row);
    int code = row ? 0 : status_nomem(st);
    for (int64_t i = 0; i < grid->points && code == 0; i++)
        code = run_one(grid, i, &row[i], st);
    if (code == 0 && table)
        code = print_rows(row, grid->points, stdout, st);
    if (code == 0 && csv->output.file)
        write_rows(row, grid->points, csv);
    free(row);
    return code;
}

int eval_stations(const struct point *point, FILE *out, struct status *st)
{
    struct stations stations = {0};
    int code = stations_open(&stations, point, st);
    double *loss = code == 0 ? calloc((size_t)stations.batches + 1, sizeof *loss) : NULL;
    if (code == 0 && !loss)
        code = status_nomem(st);
    if (code == 0)
        code = stations_eval(&stations, loss, st);
    if (code == 0) {
        fprintf(out, "# %s: the loss of %s, batch by batch\n", point->file, stations.part[1].name);
        for (int64_t i = 0; i < stations.batches; i++)
            fprintf(out, "%.2f%s", loss[i], i + 1 < stations.batches ? " " : "\n");
    }
    free(loss);
    stations_close(&stations);
    return code;
}
