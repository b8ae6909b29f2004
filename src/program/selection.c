/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "program/selection.h"

#include <math.h>
#include <stdlib.h>

/* The number of indices picked out of n, and below it the k-th one. */
static int32_t pick_count(const struct program *program, struct pick pick, int32_t n, int vars)
{
    if (pick.kind == PICK_SET)
        return __builtin_popcount((unsigned)program_var(program, pick.var, vars));
    return pick.kind == PICK_ALL ? n : 1;
}

static int32_t pick_index(const struct program *program, struct pick pick, int32_t n, int vars, int32_t k)
{
    int32_t i = pick.offset;
    if (pick.kind == PICK_ALL)
        return k;
    if (pick.kind == PICK_SET) {
        unsigned bits = (unsigned)program_var(program, pick.var, vars);
        while (k-- > 0)
            bits &= bits - 1;
        return __builtin_ctz(bits);
    }
    if (pick.kind == PICK_VAR)
        i += program_var(program, pick.var, vars);
    return (i % n + n) % n;
}

int32_t view_dim(const struct buffer *buffer, const struct view *view, int d)
{
    return view->pieces.is && d < RENUMBERED_DIMS ? view->pieces.n[d] : buffer->dim[d].n;
}

/* The number of ranges that the dims of one direction pick. */
static int32_t count_ranges(const struct program *program, const struct view *view, int vars, bool by_cols)
{
    const struct buffer *buffer = &program->buffer[view->buffer];
    int32_t count = 1;
    for (int d = 0; d < buffer->dims; d++)
        if (buffer->dim[d].by_cols == by_cols)
            count *= pick_count(program, view->pick[d], view_dim(buffer, view, d), vars);
    return count;
}

/* State of a walk over the cuts of one direction. */
struct cutter {
    const struct program *program;
    const struct buffer *buffer;
    const struct view *view;
    int vars;
    bool by_cols;
    struct range *out;
    int32_t made;
};

static struct range cut(const struct cutter *c, int d, struct range whole, int32_t i)
{
    int64_t first = buffer_cut(c->buffer, d, whole.n, i);
    return (struct range){whole.first + first, buffer_cut(c->buffer, d, whole.n, i + 1) - first};
}

static void cut_dims(struct cutter *c, int d, struct range part);

/* Visits the picked places of the renumbered dims, and continues with the remaining dims from the piece at
 * each place. */
static void cut_renumbered(struct cutter *c, int d, int32_t place, struct range whole)
{
    const struct renumbering *pieces = &c->view->pieces;
    if (d < RENUMBERED_DIMS) {
        struct pick pick = c->view->pick[d];
        int32_t n = pieces->n[d], count = pick_count(c->program, pick, n, c->vars);
        for (int32_t k = 0; k < count; k++)
            cut_renumbered(c, d + 1, place * n + pick_index(c->program, pick, n, c->vars, k), whole);
        return;
    }
    int32_t piece = c->program->index_table[pieces->table][place], digit[RENUMBERED_DIMS];
    for (int g = RENUMBERED_DIMS - 1; g >= 0; piece /= c->buffer->dim[g].n, g--)
        digit[g] = piece % c->buffer->dim[g].n;
    for (int g = 0; g < RENUMBERED_DIMS; g++)
        whole = cut(c, g, whole, digit[g]);
    cut_dims(c, RENUMBERED_DIMS, whole);
}

/* Cuts the part made so far by dims d, d+1, ... Recursion is bounded by GRID_DIMS. */
static void cut_dims(struct cutter *c, int d, struct range part)
{
    while (d < c->buffer->dims && c->buffer->dim[d].by_cols != c->by_cols)
        d++;
    if (d == c->buffer->dims) {
        c->out[c->made++] = part;
        return;
    }
    struct pick pick = c->view->pick[d];
    int32_t n = c->buffer->dim[d].n;
    int32_t count = pick_count(c->program, pick, n, c->vars);
    for (int32_t k = 0; k < count; k++)
        cut_dims(c, d + 1, cut(c, d, part, pick_index(c->program, pick, n, c->vars, k)));
}

static void cut_buffer(struct cutter *c, struct range whole)
{
    if (c->view->pieces.is && c->buffer->dim[0].by_cols == c->by_cols)
        cut_renumbered(c, 0, 0, whole);
    else
        cut_dims(c, 0, whole);
}

/* Ragged pieces lie one after another, each with its own size. */
static void cut_ragged(struct cutter *c, int at)
{
    int32_t n = c->buffer->dim[0].n;
    const int64_t *sizes = c->buffer->ragged + (int64_t)at * n;
    struct pick pick = c->view->pick[0];
    int32_t only = pick.kind == PICK_ALL ? -1 : pick_index(c->program, pick, n, c->vars, 0);
    int64_t first = 0;
    for (int32_t i = 0; i < n; i++) {
        if (only < 0 || only == i)
            c->out[c->made++] = (struct range){first, sizes[i]};
        first += sizes[i];
    }
}

/* Lists the pieces in the order of the grid: an odometer over the dims. */
static void order_pieces(struct selection *s, const struct program *program, const struct view *view,
                         int vars)
{
    const struct buffer *buffer = &program->buffer[view->buffer];
    int32_t digit[GRID_DIMS] = {0}, count[GRID_DIMS];
    for (int d = 0; d < buffer->dims; d++)
        count[d] = pick_count(program, view->pick[d], view_dim(buffer, view, d), vars);
    for (int32_t p = 0; p < s->pieces; p++) {
        int32_t index[2] = {0, 0};
        for (int d = 0; d < buffer->dims; d++)
            index[buffer->dim[d].by_cols] = index[buffer->dim[d].by_cols] * count[d] + digit[d];
        s->piece[p][0] = index[0];
        s->piece[p][1] = index[1];
        for (int d = buffer->dims - 1; d >= 0; d--) {
            if (++digit[d] < count[d])
                break;
            digit[d] = 0;
        }
    }
}

static int64_t total(const struct range range[], int32_t n)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += range[i].n;
    return sum;
}

int selection_init(struct selection *s, const struct program *program, const struct view *view, int vars,
                   int at, struct status *st)
{
    const struct buffer *buffer = &program->buffer[view->buffer];
    *s = (struct selection){.width = buffer->ragged ? 1 : buffer->cols};
    s->row_ranges = count_ranges(program, view, vars, false);
    s->col_ranges = count_ranges(program, view, vars, true);
    s->pieces = s->row_ranges * s->col_ranges;
    s->row = malloc((size_t)s->row_ranges * sizeof *s->row);
    s->col = malloc((size_t)s->col_ranges * sizeof *s->col);
    s->piece = malloc((size_t)s->pieces * sizeof *s->piece);
    if (!s->row || !s->col || !s->piece) {
        selection_free(s);
        return status_nomem(st);
    }
    struct cutter rows = {program, buffer, view, vars, false, s->row, 0};
    struct cutter cols = {program, buffer, view, vars, true, s->col, 0};
    if (buffer->ragged)
        cut_ragged(&rows, at);
    else
        cut_buffer(&rows, (struct range){0, buffer->rows});
    cut_buffer(&cols, (struct range){0, s->width});
    order_pieces(s, program, view, vars);
    s->rows = total(s->row, s->row_ranges);
    s->cols = total(s->col, s->col_ranges);
    return 0;
}

void selection_free(struct selection *s)
{
    free(s->row);
    free(s->col);
    free(s->piece);
    *s = (struct selection){0};
}

int64_t view_elements(const struct program *program, const struct view *view, int vars, int at)
{
    struct selection s;
    struct status unused = {0};
    if (selection_init(&s, program, view, vars, at, &unused) < 0)
        return -1;
    int64_t elements = s.rows * s.cols;
    selection_free(&s);
    return elements;
}

static bool same_pieces(const struct selection *a, const struct selection *b)
{
    if (a->pieces != b->pieces)
        return false;
    for (int32_t p = 0; p < a->pieces; p++)
        if (a->row[a->piece[p][0]].n != b->row[b->piece[p][0]].n ||
            a->col[a->piece[p][1]].n != b->col[b->piece[p][1]].n)
            return false;
    return true;
}

bool selection_match(const struct selection *a, const struct selection *b, enum order *order)
{
    *order = same_pieces(a, b) ? ORDER_PIECES : ORDER_MATRIX;
    return *order == ORDER_PIECES || (a->rows == b->rows && a->cols == b->cols);
}

static double combined(enum combine combine, double have, double comes)
{
    switch (combine) {
    case COMBINE_SUM:
        return have + comes;
    case COMBINE_MAX:
        return isnan(have) || have > comes ? have : comes;
    case COMBINE_MIN:
        return isnan(have) || have < comes ? have : comes;
    case COMBINE_FILL:
        return isnan(have) ? comes : have;
    default:
        return comes;
    }
}

/* Visits the selected elements in order, one contiguous run after another. It either reads `from` into
 * `value` or combines `comes` into `to`; the pointers of the other direction are NULL. */
static void walk(const struct selection *s, enum order order, const double from[], double to[],
                 double value[], const double comes[], enum combine combine)
{
    int32_t outer = order == ORDER_PIECES ? s->pieces : s->row_ranges;
    for (int32_t o = 0; o < outer; o++) {
        struct range row = s->row[order == ORDER_PIECES ? s->piece[o][0] : o];
        int32_t first = order == ORDER_PIECES ? s->piece[o][1] : 0;
        int32_t last = order == ORDER_PIECES ? first : s->col_ranges - 1;
        for (int64_t r = row.first; r < row.first + row.n; r++)
            for (int32_t c = first; c <= last; c++)
                for (int64_t i = 0, at = r * s->width + s->col[c].first; i < s->col[c].n; i++, at++) {
                    if (value)
                        *value++ = from[at];
                    else
                        to[at] = combined(combine, to[at], *comes++);
                }
    }
}

void selection_take(const struct selection *s, enum order order, const double memory[], double value[])
{
    walk(s, order, memory, NULL, value, NULL, COMBINE_COPY);
}

void selection_put(const struct selection *s, enum order order, double memory[], const double value[],
                   enum combine combine)
{
    walk(s, order, NULL, memory, NULL, value, combine);
}
