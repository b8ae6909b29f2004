/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rule for matmuls inside steps (product_estimate.h) against the cycles that XLA:TPU's cost model gives single
 * matmuls.
 *
 * A row has chip, M, K, N, cycles, and optionally dtype (default bf16; f32h: f32 at the highest precision), batch (1)
 * and space_a, space_b, space_out (0: HBM). The rule was fitted to bf16 matmuls with more than one row and no batch;
 * the checks are of their median and of the difference that 95 of 100 are within. Other types use the rule with their
 * own peak.
 */
#include <math.h>
#include <string.h>

#include "machine/product_estimate.h"
#include "machine/roofline.h"
#include "study/machine.h"
#include "study/validate.h"

static const double median_frac = 0.03, most_frac = 0.16;

static double number_or(const struct csv_table *table, int row, const char *name, double unnamed,
                        struct status *st)
{
    int column = csv_table_column(table, name);
    double value = unnamed;
    return column < 0 || csv_table_number(table, row, column, &value, st) < 0 ? unnamed : value;
}

/* Reads a matmul and its type; f32h is f32 in six passes. Results of integer matmuls have four bytes. */
static int read_product(const struct csv_table *table, int row, struct product *product, int *passes,
                        struct status *st)
{
    const char *type = csv_table_text(table, row, "dtype");
    *passes = strcmp(type, "f32h") == 0 ? precision_passes(PRECISION_HIGHEST) : 1;
    int dtype = dtype_by_name(*passes > 1 ? "f32" : *type ? type : "bf16", st);
    if (dtype < 0)
        return dtype;
    struct product_shape *shape = &product->shape;
    shape->m = number_or(table, row, "M", NAN, st);
    shape->k = number_or(table, row, "K", NAN, st);
    shape->n = number_or(table, row, "N", NAN, st);
    shape->batch = number_or(table, row, "batch", 1, st);
    bool left = number_or(table, row, "space_a", 0, st) > 0,
         right = number_or(table, row, "space_b", 0, st) > 0;
    bool out = number_or(table, row, "space_out", 0, st) > 0;
    if (st->code == 0 && !(shape->m > 0 && shape->k > 0 && shape->n > 0 && shape->batch > 0))
        return csv_table_fail(table, row, csv_table_column(table, "M"), st,
                              "M, K, N and batch must be above 0");
    double bytes = dtype_info((enum dtype_id)dtype)->bytes,
           out_bytes = dtype_is_whole((enum dtype_id)dtype) ? 4 : bytes;
    shape->left_bytes = left ? 0 : shape->batch * bytes * product_padded(shape->m, shape->k);
    shape->right_bytes = right ? 0 : shape->batch * bytes * product_padded(shape->k, shape->n);
    shape->hbm_bytes = shape->left_bytes + shape->right_bytes +
                       (out ? 0 : shape->batch * out_bytes * product_padded(shape->m, shape->n));
    shape->results = !out;
    product->dtype = (enum dtype_id)dtype;
    return st->code;
}

/* The estimate without what was fitted on steps, as the compiler knows nothing of them. NaN if the chip has no peak
 * for the type. */
static double estimate_s(const struct chip *chip, struct product product, int passes)
{
    struct chip compiled = *chip;
    struct roofline roofline;
    struct status no_peak = {0};
    double seconds = NAN;
    compiled.step_efficiency = NAN;
    roofline_init(&roofline, &compiled);
    roofline.step = true;
    roofline.passes = passes;
    roofline.cores = chip->cores;
    roofline_product_s(&roofline, product, &seconds, NULL, &no_peak);
    return seconds;
}

static int check_row(struct checks *checks, const struct csv_table *table, int row, struct catalog *catalog,
                     struct status *st)
{
    const char *name = csv_table_text(table, row, "chip");
    char id[CHECK_ID], what[CHECK_TEXT];
    struct product product = {.dtype = DTYPE_BF16};
    int passes = 1;
    double cycles = number_or(table, row, "cycles", NAN, st);
    const struct chip *chip = catalog_chip(catalog, name, CHIP_MEASURED, st);
    int code = chip ? read_product(table, row, &product, &passes, st) : st->code;
    if (code == 0 && !(chip->product_rule.fixed_cycles > 0 && chip->clock_Hz > 0))
        code = status_fail(st, STATUS_INPUT, "%s has no product_estimate; add one to its file", chip->name);
    if (code < 0)
        return code;
    const struct product_shape *shape = &product.shape;
    bool batched = shape->batch > 1, judged = product.dtype == DTYPE_BF16 && !batched && shape->m > 1;
    const char *type = *csv_table_text(table, row, "dtype") ? csv_table_text(table, row, "dtype") : "bf16";
    snprintf(id, sizeof id, "%.30s %.10s%s%s", chip->name, type, batched ? " batches" : "",
             shape->m > 1 || batched ? "" : " one row");
    snprintf(what, sizeof what, "%.0fx%.0fx%.0f%s", shape->m, shape->k, shape->n,
             batched ? ", a batch of it" : "");
    struct check check = {.part = "products",
                          .kind = judged ? "judged" : NULL,
                          .simulated = estimate_s(chip, product, passes),
                          .expected = cycles / chip->clock_Hz,
                          .tolerance_frac = judged ? INFINITY : (double)NAN};
    return checks_add(checks, check, id, what, "", st);
}

int validate_products(struct checks *checks, const char *file, struct status *st)
{
    static const char *const needed[] = {"chip", "M", "K", "N", "cycles"};
    struct csv_table table = {0};
    struct catalog catalog = {0};
    int code = csv_table_read(&table, file, st);
    for (int i = 0; i < 5 && code == 0; i++)
        if (csv_table_column(&table, needed[i]) < 0)
            code = csv_table_need(&table, needed[i], st);
    for (int i = 0; i < table.rows && code == 0; i++) {
        code = check_row(checks, &table, i, &catalog, st);
        if (code < 0 && strncmp(st->text, file, strlen(file)) != 0)
            status_prefix(st, "%s:%d: ", file, table.line[i]);
    }
    const struct check of = {.part = "products", .kind = "judged"};
    if (code == 0)
        code = checks_add_spread(checks, &of, median_frac, most_frac, st);
    csv_table_free(&table);
    catalog_free(&catalog);
    return code;
}
