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
    return view->pieces.is && d < RENUMBERED_DIMS ? view->pieces.n[d] : buffer->dim[d];
}

/* State of a walk over the cuts. */
struct cutter {
    const struct program *program;
    const struct buffer *buffer;
    const struct view *view;
    int vars;
    struct selection *out;
};

static void add(struct cutter *c, struct range piece)
{
    c->out->piece[c->out->pieces++] = piece;
    c->out->elements += piece.n;
}

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
    for (int g = RENUMBERED_DIMS - 1; g >= 0; piece /= c->buffer->dim[g], g--)
        digit[g] = piece % c->buffer->dim[g];
    for (int g = 0; g < RENUMBERED_DIMS; g++)
        whole = cut(c, g, whole, digit[g]);
    cut_dims(c, RENUMBERED_DIMS, whole);
}

/* Cuts the part made so far by dims d, d+1, ... Recursion is bounded by GRID_DIMS. */
static void cut_dims(struct cutter *c, int d, struct range part)
{
    if (d == c->buffer->dims || d == GRID_DIMS) {
        add(c, part);
        return;
    }
    struct pick pick = c->view->pick[d];
    int32_t n = c->buffer->dim[d];
    int32_t count = pick_count(c->program, pick, n, c->vars);
    for (int32_t k = 0; k < count; k++)
        cut_dims(c, d + 1, cut(c, d, part, pick_index(c->program, pick, n, c->vars, k)));
}

/* Ragged pieces lie one after another, each with its own size. */
static void cut_ragged(struct cutter *c, int at)
{
    int32_t n = c->buffer->dim[0];
    const int64_t *sizes = c->buffer->ragged + (int64_t)at * n;
    struct pick pick = c->view->pick[0];
    int32_t only = pick.kind == PICK_ALL ? -1 : pick_index(c->program, pick, n, c->vars, 0);
    int64_t first = 0;
    for (int32_t i = 0; i < n; i++) {
        if (only < 0 || only == i)
            add(c, (struct range){first, sizes[i]});
        first += sizes[i];
    }
}

int selection_init(struct selection *s, const struct program *program, const struct view *view, int vars,
                   int at, struct status *st)
{
    const struct buffer *buffer = &program->buffer[view->buffer];
    struct cutter cutter = {program, buffer, view, vars, s};
    struct range whole = {0, buffer->elements};
    size_t pieces = 1;
    for (int d = 0; d < buffer->dims; d++)
        pieces *= (size_t)pick_count(program, view->pick[d], view_dim(buffer, view, d), vars);
    *s = (struct selection){.piece = malloc((pieces + 1) * sizeof *s->piece)};
    if (!s->piece)
        return status_nomem(st);
    if (buffer->ragged)
        cut_ragged(&cutter, at);
    else if (view->pieces.is)
        cut_renumbered(&cutter, 0, 0, whole);
    else
        cut_dims(&cutter, 0, whole);
    return 0;
}

void selection_free(struct selection *s)
{
    free(s->piece);
    *s = (struct selection){0};
}

int64_t view_elements(const struct program *program, const struct view *view, int vars, int at)
{
    struct selection s;
    struct status unused = {0};
    if (selection_init(&s, program, view, vars, at, &unused) < 0)
        return -1;
    int64_t elements = s.elements;
    selection_free(&s);
    return elements;
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

void selection_take(const struct selection *s, const double memory[], double value[])
{
    for (int32_t p = 0; p < s->pieces; p++)
        for (int64_t i = 0; i < s->piece[p].n; i++)
            *value++ = memory[s->piece[p].first + i];
}

void selection_put(const struct selection *s, double memory[], const double value[], enum combine combine)
{
    for (int32_t p = 0; p < s->pieces; p++)
        for (int64_t i = s->piece[p].first; i < s->piece[p].first + s->piece[p].n; i++)
            memory[i] = combined(combine, memory[i], *value++);
}
