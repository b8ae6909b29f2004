/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/lower_own.h"

#include <math.h>
#include <stdlib.h>

#include "hlo/ragged_rows.h"

/* The rows of an instruction; all equal if the options say so, and a remainder goes to the first ones. */
static int read_rows(const struct lower *lower, int32_t instruction, int each, struct ragged_rows *rows,
                     struct status *st)
{
    int code = ragged_rows_of(lower->module, instruction, each, rows, st), n = rows->devices * rows->each;
    int64_t sum = 0;
    if (code < 0 || !lower->options->rows_even)
        return code;
    for (int i = 0; i < n; i++)
        sum += rows->row[i];
    for (int i = 0; i < n; i++)
        rows->row[i] = sum / n + (i < sum % n);
    return 0;
}

/* Reads the rows together with the groups of the exchange. */
static int read_groups(const struct lower *lower, int32_t instruction, struct groups *groups,
                       struct ragged_rows *rows, struct status *st)
{
    int code = module_groups_of(lower->module, instruction, groups, st);
    return code < 0 ? code : read_rows(lower, instruction, groups->size, rows, st);
}

int lower_ragged_seconds(const struct lower *lower, int32_t instruction, double seconds[],
                         struct ragged_time *longest, struct status *st)
{
    const struct roofline *roofline = &lower->options->roofline;
    const struct placement *placement = lower->placement;
    struct ragged_rows rows;
    int code = read_rows(lower, instruction, 1, &rows, st);
    *longest = (struct ragged_time){.seconds = -1};
    for (int c = 0; c < placement->slice->chips; c++)
        seconds[c] = 0;
    for (int d = 0; d < placement->devices && code == 0; d++) {
        struct cost cost = module_ragged_cost(lower->module, instruction, (double)rows.row[d]);
        double took_s;
        enum bound_kind by;
        struct product product = compute_product(&cost, roofline);
        code = roofline_product_s(roofline, product, &took_s, &by, st);
        if (code < 0)
            break;
        int chip = placement->chip_of[d];
        double frac = placement->slice->chip_frac ? slice_chip_frac(placement->slice, chip) : 1;
        double fixed_s = roofline_fixed_s(roofline, &product);
        took_s = fixed_s + (took_s - fixed_s) / frac;
        seconds[chip] = fmax(seconds[chip], took_s);
        if (took_s > longest->seconds)
            *longest = (struct ragged_time){took_s, cost.hbm_bytes * roofline->cores / took_s, by};
    }
    ragged_rows_free(&rows);
    return code;
}

static double row_bytes(const struct module *module, int32_t instruction)
{
    int32_t shape = module_at(module, module_operand(module, instruction, 0))->shape;
    const struct shape *s = &module->shape[shape];
    double rows = s->count > 0 ? (double)module->number[s->first] : 0;
    return rows > 0 ? shape_bytes(module, shape) / rows : 0;
}

int lower_ragged_pairs(const struct lower *lower, int32_t instruction, struct collective_spec *spec,
                       int64_t **pair, struct status *st)
{
    const struct placement *placement = lower->placement;
    int64_t chips = placement->slice->chips;
    struct groups groups = {0};
    struct ragged_rows rows = {0};
    int code = read_groups(lower, instruction, &groups, &rows, st);
    *pair = code == 0 ? calloc((size_t)(chips * chips) + 1, sizeof **pair) : NULL;
    if (code == 0 && !*pair)
        code = status_nomem(st);
    spec->elements = 0;
    for (int i = 0; code == 0 && i < groups.count * groups.size; i++)
        for (int j = 0; j < groups.size; j++) {
            int from = groups.member[i], to = groups.member[i / groups.size * groups.size + j];
            int64_t row = rows.row[from * groups.size + j];
            (*pair)[placement->chip_of[from] * chips + placement->chip_of[to]] += row;
            spec->elements += row;
        }
    spec->elem_bytes = row_bytes(lower->module, instruction);
    spec->pair_elements = *pair;
    spec->pairs_of_chips = true;
    ragged_rows_free(&rows);
    groups_free(&groups);
    return code;
}

int lower_ragged_most(const struct lower *lower, int32_t instruction, double *bytes, struct status *st)
{
    struct groups groups = {0};
    struct ragged_rows rows = {0};
    int64_t most = 0;
    int code = read_groups(lower, instruction, &groups, &rows, st);
    for (int i = 0; code == 0 && i < groups.count * groups.size; i++) {
        const int *member = groups.member + i / groups.size * groups.size;
        int64_t sent = 0, got = 0;
        for (int j = 0; j < groups.size; j++) {
            sent += rows.row[groups.member[i] * groups.size + j];
            got += rows.row[member[j] * groups.size + i % groups.size];
        }
        most = sent > most ? sent : most;
        most = got > most ? got : most;
    }
    *bytes = (double)most * row_bytes(lower->module, instruction);
    ragged_rows_free(&rows);
    groups_free(&groups);
    return code;
}

double lower_ragged_bytes(const struct module *module, int32_t instruction)
{
    return ragged_rows_sum(module, instruction) * row_bytes(module, instruction);
}
