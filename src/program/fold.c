/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In two halves: finding the periods with which a program repeats itself, and making the program of one
 * period. */
#include "program/fold.h"

#include <stdlib.h>
#include <string.h>

/* A table with one entry for each chip. Entries of chips whose mask is 0 are never read, so they need not
 * repeat; the mask itself is checked before the table. */
struct column {
    const void *entry;
    size_t entry_bytes;
    const uint8_t *mask; /* NULL: all chips read it */
};

/* Are the n entries starting at `from` equal to those starting at `to`, except for entries that are never
 * read? */
static bool alike(const struct column *column, int64_t from, int64_t to, int64_t n)
{
    const char *entry = column->entry;
    size_t bytes = column->entry_bytes;
    if (memcmp(entry + (size_t)from * bytes, entry + (size_t)to * bytes, (size_t)n * bytes) == 0)
        return true;
    if (!column->mask)
        return false;
    for (int64_t i = 0, run; i < n; i += run + 1) {
        for (run = 0; i + run < n && column->mask[from + i + run];)
            run++;
        if (memcmp(entry + (size_t)(from + i) * bytes, entry + (size_t)(to + i) * bytes, (size_t)run * bytes))
            return false;
    }
    return true;
}

/* Is the table the same when all chips move along an axis by its period, where chips that move over the end come back at
 * the start, on a twisted torus of another line? With other axes it is known to repeat along the first one. */
static bool repeats(const struct slice *slice, const struct column *column, int axis, const int period[])
{
    int64_t stride = 1, chips = axis > 0 ? slice->chips / slice->len[0] * period[0] : slice->chips;
    for (int a = axis + 1; a < SLICE_AXES; a++)
        stride *= slice->len[a];
    int64_t whole = slice->len[axis] * stride, moved = period[axis] * stride;
    bool twisted = slice_is_twisted(slice);
    int64_t each = twisted ? 1 : moved;
    for (int64_t end = whole; end <= chips; end += whole) {
        if (!alike(column, end - whole, end - whole + moved, whole - moved))
            return false;
        for (int64_t chip = end - moved; chip < end; chip += each) {
            int64_t to = twisted ? slice_moved(slice, (int)chip, axis, period[axis]) : end - whole;
            if (!alike(column, chip, to, each))
                return false;
        }
    }
    return true;
}

/* Widens the periods until the table repeats. The periods of a table are the multiples of its shortest one.
 * So the first multiple of the period found for other tables with which this table repeats is a period of all
 * of them. */
static void widen(const struct slice *slice, const struct column *column, int period[SLICE_AXES])
{
    for (int a = 0; a < slice->axes; a++) {
        int shortest = period[a];
        while (period[a] < slice->len[a] &&
               (slice->len[a] % period[a] != 0 || !repeats(slice, column, a, period)))
            period[a] += shortest;
    }
}

/* The mask of the op that read each table last. Ops of one collective share table and mask, so that most
 * tables are checked only once. */
struct seen {
    bool *mask;                    /* [masks] */
    int32_t *by_index, *by_amount; /* [index_tables], [amount_tables]: `where` of that op + 2; 0 at first */
};

/* Widens the periods for a table that an op reads under the mask `where`, unless the last op that read it had
 * the same mask. */
static void widen_seen(const struct program *program, struct column column, int32_t where, int32_t *seen_by,
                       int period[SLICE_AXES])
{
    if (*seen_by == where + 2)
        return;
    *seen_by = where + 2;
    column.mask = where == WHERE_ALL ? NULL : program->mask[where];
    widen(program->slice, &column, period);
}

static void widen_for(const struct program *program, const struct op *op, struct seen *seen,
                      int period[SLICE_AXES])
{
    int32_t index = op->kind == OP_SEND ? op->towards.table : NO_TABLE, amount = op->amount.table;
    if (op->where != WHERE_ALL && !seen->mask[op->where]) {
        widen(program->slice, &(struct column){program->mask[op->where], sizeof **program->mask, NULL},
              period);
        seen->mask[op->where] = true;
    }
    if (index != NO_TABLE)
        widen_seen(program, (struct column){program->index_table[index], sizeof **program->index_table, NULL},
                   op->where, &seen->by_index[index], period);
    if (amount != NO_TABLE)
        widen_seen(program,
                   (struct column){program->amount_table[amount], sizeof **program->amount_table, NULL},
                   op->where, &seen->by_amount[amount], period);
}

static bool folds(const struct fold *fold)
{
    return memcmp(fold->period, fold->span, sizeof fold->period) != 0;
}

/* The properties of a link apart from its place; a dead link has no bandwidth. */
struct face {
    double bandwidth_Bps, latency_s;
};

/* Widens the periods until a translation maps every link onto a link of the same speed and latency. */
static int widen_for_links(const struct slice *slice, int period[SLICE_AXES], struct status *st)
{
    size_t links = (size_t)slice_link_ids(slice);
    struct face *face = slice->link ? malloc((links + 1) * sizeof *face) : NULL;
    if (!slice->link)
        return 0;
    if (!face)
        return status_nomem(st);
    for (size_t l = 0; l < links; l++)
        face[l] = (struct face){slice->link[l].bandwidth_Bps, slice->link[l].latency_s};
    widen(slice, &(struct column){face, 2 * (size_t)slice->axes * sizeof *face, NULL}, period);
    free(face);
    return 0;
}

static int find_periods(struct fold *fold, const struct program *program, struct status *st)
{
    const struct slice *slice = program->slice;
    bool used[SLICE_AXES];
    program_axes(program, used);
    for (int a = 0; a < SLICE_AXES; a++) {
        fold->span[a] = slice->len[a];
        fold->period[a] = used[a] && slice_moved(slice, 0, a, 1) < 0 ? slice->len[a] : 1;
    }
    if (widen_for_links(slice, fold->period, st) < 0)
        return st->code;
    if (slice->chip_frac)
        widen(slice, &(struct column){slice->chip_frac, sizeof *slice->chip_frac, NULL}, fold->period);
    struct seen seen = {.mask = calloc((size_t)program->masks + 1, sizeof *seen.mask),
                        .by_index = calloc((size_t)program->index_tables + 1, sizeof *seen.by_index),
                        .by_amount = calloc((size_t)program->amount_tables + 1, sizeof *seen.by_amount)};
    bool room = seen.mask && seen.by_index && seen.by_amount;
    for (int32_t o = 0; o < program->ops && room && folds(fold); o++)
        widen_for(program, &program->op[o], &seen, fold->period);
    free(seen.mask);
    free(seen.by_index);
    free(seen.by_amount);
    return room ? 0 : status_nomem(st);
}

/* Reduces a chip's coordinates modulo the periods. `chip` is a number in a box of lengths `from`, the result
 * a number in a box of lengths `to`. */
static int renumber(const struct fold *fold, int chip, const int from[], const int to[])
{
    int coord[SLICE_AXES], number = 0;
    for (int a = SLICE_AXES - 1; a >= 0; a--) {
        coord[a] = chip % from[a] % fold->period[a];
        chip /= from[a];
    }
    for (int a = 0; a < SLICE_AXES; a++)
        number = number * to[a] + coord[a];
    return number;
}

int fold_first(const struct fold *fold, int chip)
{
    return renumber(fold, chip, fold->period, fold->span);
}

/* The table of the quotient's chips; NULL when memory runs out. */
static void *fold_table(const struct fold *fold, const void *table, size_t entry_bytes)
{
    char *folded = malloc((size_t)fold->slice.chips * entry_bytes);
    for (int chip = 0; folded && chip < fold->slice.chips; chip++)
        memcpy(folded + (size_t)chip * entry_bytes,
               (const char *)table + (size_t)fold_first(fold, chip) * entry_bytes, entry_bytes);
    return folded;
}

/* Fills to->tables[0 .. from->count). The count goes up table by table, so that program_free() frees exactly
 * those that exist. */
#define FOLD_TABLES(fold, to, from, tables, count)                                                           \
    do {                                                                                                     \
        for (int32_t t = 0; t < (from)->count; t++, (to)->count++) {                                         \
            (to)->tables[t] = fold_table((fold), (from)->tables[t], sizeof **(to)->tables);                  \
            if (!(to)->tables[t])                                                                            \
                return false;                                                                                \
        }                                                                                                    \
    } while (0)

/* A copy of n items. It has room for one more, so that the copy of an empty array is not NULL. */
static void *copy(const void *from, int32_t n, size_t item_bytes)
{
    void *to = malloc(((size_t)n + 1) * item_bytes);
    if (to && n > 0)
        memcpy(to, from, (size_t)n * item_bytes);
    return to;
}

static bool fold_slice(struct fold *fold, const struct slice *slice)
{
    struct slice *quotient = &fold->slice;
    *quotient = *slice;
    quotient->link = NULL;
    quotient->chip_frac = NULL;
    memcpy(quotient->len, fold->period, sizeof fold->period);
    quotient->chips = slice->chips / fold->orbit;
    if (slice->chip_frac &&
        !(quotient->chip_frac = fold_table(fold, slice->chip_frac, sizeof *slice->chip_frac)))
        return false;
    if (!slice->link)
        return true;
    quotient->link = fold_table(fold, slice->link, 2 * (size_t)slice->axes * sizeof *slice->link);
    for (int id = 0; quotient->link && id < slice_link_ids(quotient); id++) {
        quotient->link[id].from = fold_chip(fold, quotient->link[id].from);
        quotient->link[id].to = fold_chip(fold, quotient->link[id].to);
    }
    return quotient->link != NULL;
}

static bool fold_program(struct fold *fold, const struct program *from)
{
    struct program *to = &fold->program;
    program_init(to, &fold->slice);
    to->op = copy(from->op, from->ops, sizeof *to->op);
    to->after = copy(from->after, from->afters, sizeof *to->after);
    to->route = copy(from->route, from->routes, sizeof *to->route);
    to->hop = copy(from->hop, from->hops, sizeof *to->hop);
    to->stage = copy(from->stage, from->stages, sizeof *to->stage);
    to->mask = copy(from->mask, from->masks, sizeof *to->mask);
    to->index_table = copy(from->index_table, from->index_tables, sizeof *to->index_table);
    to->amount_table = copy(from->amount_table, from->amount_tables, sizeof *to->amount_table);
    if (!to->op || !to->after || !to->route || !to->hop || !to->stage || !to->mask || !to->index_table ||
        !to->amount_table)
        return false;
    to->ops = from->ops;
    to->afters = from->afters;
    to->routes = from->routes;
    to->hops = from->hops;
    to->stages = from->stages;
    for (int32_t o = 0; o < to->ops; o++)
        to->op[o].payload = NO_PAYLOAD;
    FOLD_TABLES(fold, to, from, mask, masks);
    FOLD_TABLES(fold, to, from, index_table, index_tables);
    FOLD_TABLES(fold, to, from, amount_table, amount_tables);
    return true;
}

int fold_init(struct fold *fold, const struct program *program, struct status *st)
{
    *fold = (struct fold){.orbit = 1, .axes = program->slice->axes};
    int code = find_periods(fold, program, st);
    if (code < 0 || !folds(fold))
        return code;
    for (int a = 0; a < SLICE_AXES; a++)
        fold->orbit *= fold->span[a] / fold->period[a];
    if (!fold_slice(fold, program->slice) || !fold_program(fold, program)) {
        fold_free(fold);
        return status_nomem(st);
    }
    return 0;
}

void fold_renew(struct fold *fold, const struct program *program)
{
    for (int32_t o = 0; o < fold->program.ops; o++) {
        fold->program.op[o].amount = program->op[o].amount;
        fold->program.op[o].setup_s = program->op[o].setup_s;
        fold->program.op[o].hbm_Bps = program->op[o].hbm_Bps;
    }
}

void fold_free(struct fold *fold)
{
    program_free(&fold->program);
    slice_free(&fold->slice);
}

int fold_chip(const struct fold *fold, int chip)
{
    return renumber(fold, chip, fold->span, fold->period);
}

int fold_moved(const struct fold *fold, int from, int to, int chip)
{
    struct slice whole = fold->slice;
    memcpy(whole.len, fold->span, sizeof whole.len);
    for (int a = 0; a < fold->axes; a++) {
        int places = slice_coord(&whole, to, a) - slice_coord(&whole, from, a);
        /* chips of a line that nothing is sent along also stand for one another */
        whole.wrap[a] |= places != 0;
        chip = places ? slice_moved(&whole, chip, a, places) : chip;
    }
    return chip;
}

char *fold_print(const struct fold *fold, char text[static FOLD_TEXT])
{
    int chips = 1;
    for (int axis = 0; axis < fold->axes; axis++)
        chips *= fold->span[axis];
    snprintf(text, FOLD_TEXT, "%d of %d", fold->slice.chips, chips);
    return text;
}
