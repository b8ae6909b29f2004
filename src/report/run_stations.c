/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/run_stations.h"

#include <math.h>
#include <stdlib.h>

#include "report/sheet.h"
#include "study/stations.h"

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
    double pcie_Bps;       /* of a batch that goes through the hosts */
    struct status refused; /* why there is no result */
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
    row->pcie_Bps =
        row->point.schedule.host_transfer && stations.machine.chip ? stations.machine.chip->pcie_Bps : 0;
    stations_close(&stations);
    return code;
}

/* A split that a mesh does not allow is told in its row, as long as there are others. */
static int run_all(const struct grid *grid, struct row row[], struct status *st)
{
    int64_t done = 0;
    for (int64_t i = 0; i < grid->points; i++) {
        struct status own = {0};
        int code = run_one(grid, i, &row[i], &own);
        if (code < 0 && (!status_is_refusal(code) || !row[i].point.machine.split))
            return status_fail(st, code, "%s", own.text);
        row[i].refused = own;
        done += code == 0;
    }
    return done ? 0 : status_fail(st, row[0].refused.code, "%s", row[0].refused.text);
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

static const char *chips_of(const struct row *row, char text[static 32])
{
    if (row->refused.code < 0)
        snprintf(text, 32, "%s", row->point.machine.split);
    else
        snprintf(text, 32, "%d/%d", row->chips[0], row->chips[1]);
    return text;
}

static void put_row(struct sheet *sheet, const struct row *row)
{
    const struct stations_result *r = &row->result;
    bool refused = row->refused.code < 0;
    char chips[32];
    double contention_s = refused ? NAN : fmax(0, r->period_s - r->bound_s);
    sheet_count(sheet, row->point.schedule.host_transfer ? 1 : row->point.schedule.in_flight);
    sheet_text(sheet, chips_of(row, chips));
    for (int k = 0; k < 3; k++)
        sheet_real(sheet, "%.4f", refused ? NAN : r->alone_s[k] * 1e6);
    sheet_real(sheet, "%.4f", refused ? NAN : r->period_s * 1e6);
    sheet_real(sheet, "%.4f", refused ? NAN : r->bound_s * 1e6);
    sheet_real(sheet, "%.4f", contention_s * 1e6);
    for (int k = 0; k < 3; k++)
        sheet_real(sheet, "%.1f", refused ? NAN : 100 * busy(row, k));
}

/* What the rows cannot say: why some are empty, and what a way through the hosts leaves out. */
static void print_remarks(const struct row row[], int64_t rows, FILE *out)
{
    char chips[32];
    for (int64_t i = 0; i < rows; i++)
        if (row[i].refused.code < 0)
            fprintf(out, "# %s chips: %s\n", chips_of(&row[i], chips), row[i].refused.text);
    if (row->pcie_Bps > 0)
        fprintf(out,
                "# through the hosts, up and down over %.4g GB/s of PCIe a chip: the loop blocks, so that "
                "one batch is "
                "in flight; what PCIe takes to begin, and what the host does itself, are not known and not "
                "in it\n",
                row->pcie_Bps * 1e-9);
}

static int print_rows(const struct row row[], int64_t rows, FILE *out, struct status *st)
{
    struct sheet sheet = {0};
    int64_t best = -1;
    fprintf(
        out,
        "# by themselves %s (T), transfer (X), %s (S); in the steady state a batch, what max(T, X, S, (T + X "
        "+ S) / in flight) has for them, and the rest; of a batch's time each is busy\n",
        row->part[0], row->part[1]);
    add_columns(&sheet, row);
    for (int64_t i = 0; i < rows; i++) {
        put_row(&sheet, &row[i]);
        if (row[i].refused.code == 0 && (best < 0 || row[i].result.period_s < row[best].result.period_s))
            best = i;
    }
    int code = sheet_print(&sheet, out, st);
    sheet_free(&sheet);
    print_remarks(row, rows, out);
    const struct row *b = &row[best];
    double wait_s[2] = {b->result.period_s - b->result.within_s[0],
                        b->result.period_s - b->result.within_s[2]};
    if (rows > 1)
        fprintf(out, "# fastest: %d/%d chips, %d in flight, %.4f us a batch; there:\n", b->chips[0],
                b->chips[1], b->point.schedule.host_transfer ? 1 : b->point.schedule.in_flight,
                b->result.period_s * 1e6);
    fprintf(out, "# %s waits %.4f us of a batch's time until a batch has left, %s %.4f us until one comes\n",
            b->part[0], fmax(0, wait_s[0]) * 1e6, b->part[1], fmax(0, wait_s[1]) * 1e6);
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
        csv_count(csv, row[i].point.schedule.host_transfer ? 1 : row[i].point.schedule.in_flight);
        bool refused = row[i].refused.code < 0;
        csv_text(csv, refused ? row[i].refused.text : "ok");
        for (int k = 0; k < 2; k++)
            csv_count(csv, row[i].chips[k]);
        for (int k = 0; k < 3; k++)
            csv_real(csv, refused ? NAN : row[i].result.alone_s[k]);
        csv_real(csv, refused ? NAN : row[i].result.period_s);
        csv_real(csv, refused ? NAN : row[i].result.bound_s);
        for (int k = 0; k < 3; k++)
            csv_real(csv, refused ? NAN : busy(&row[i], k));
        csv_end_row(csv);
    }
}

int run_stations(const struct grid *grid, struct csv_writer *csv, bool table, struct status *st)
{
    struct row *row = calloc((size_t)grid->points + 1, sizeof *row);
    int code = row ? 0 : status_nomem(st);
    if (code == 0)
        code = run_all(grid, row, st);
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
        fprintf(out, "# %s: the loss of %s, batch by batch\n", point->work.file, stations.part[1].name);
        for (int64_t i = 0; i < stations.batches; i++)
            fprintf(out, "%.2f%s", loss[i], i + 1 < stations.batches ? " " : "\n");
    }
    free(loss);
    stations_close(&stations);
    return code;
}
