/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/transfer.h"

#include <stdlib.h>

void transfer_free(struct transfer *t)
{
    free(t->value);
    selection_free(&t->to);
    *t = (struct transfer){0};
}

static int misfit(const struct selection *a, const struct selection *b, struct status *st)
{
    return status_fail(st, STATUS_CHECK, "%lld x %lld elements in %d pieces do not fit %lld x %lld in %d",
                       (long long)a->rows, (long long)a->cols, a->pieces, (long long)b->rows,
                       (long long)b->cols, b->pieces);
}

/* Room for n elements; never NULL for none. */
static double *room(int64_t n)
{
    return malloc(((size_t)n + 1) * sizeof(double));
}

static int take_move(struct transfer *t, const struct memory *memory, const struct payload *payload, int chip,
                     struct status *st)
{
    struct selection a;
    int code = selection_init(&a, memory->program, &payload->a, chip, chip, st);
    if (code < 0)
        return code;
    t->elements = a.rows * a.cols;
    if (!selection_match(&a, &t->to, &t->order))
        code = misfit(&a, &t->to, st);
    else if (!(t->value = room(t->elements)))
        code = status_nomem(st);
    else
        selection_take(&a, t->order, memory_of(memory, chip, payload->a.buffer), t->value);
    selection_free(&a);
    return code;
}

/* What a view picks, as a matrix of its own. */
static int take_matrix(const struct memory *memory, const struct view *view, int chip, struct selection *s,
                       double **value, struct status *st)
{
    int code = selection_init(s, memory->program, view, chip, chip, st);
    if (code < 0)
        return code;
    if (!(*value = room(s->rows * s->cols)))
        return status_nomem(st);
    selection_take(s, ORDER_MATRIX, memory_of(memory, chip, view->buffer), *value);
    return 0;
}

/* c[i][j] = sum over k of a[i][k] b[k][j], k ascending. */
static void multiply(const double a[], const double b[], double c[], int64_t m, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < m; i++) {
        double *row = c + i * n;
        for (int64_t j = 0; j < n; j++)
            row[j] = 0;
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++)
                row[j] += a[i * k + l] * b[l * n + j];
    }
}

static int take_product(struct transfer *t, const struct memory *memory, const struct payload *payload,
                        int chip, struct status *st)
{
    struct selection a = {0}, b = {0};
    double *left = NULL, *right = NULL;
    t->order = ORDER_MATRIX;
    t->elements = t->to.rows * t->to.cols;
    int code = take_matrix(memory, &payload->a, chip, &a, &left, st);
    if (code == 0 && (code = take_matrix(memory, &payload->b, chip, &b, &right, st)) == 0) {
        if (a.cols != b.rows)
            code = misfit(&a, &b, st);
        else if (t->to.rows != a.rows || t->to.cols != b.cols)
            code = misfit(a.rows != t->to.rows ? &a : &b, &t->to, st);
        else if (!(t->value = room(t->elements)))
            code = status_nomem(st);
        else
            multiply(left, right, t->value, a.rows, b.cols, a.cols);
    }
    free(left);
    free(right);
    selection_free(&a);
    selection_free(&b);
    return code;
}

int transfer_take(struct transfer *t, const struct memory *memory, const struct payload *payload, int chip,
                  int to, struct status *st)
{
    *t = (struct transfer){0};
    int code = selection_init(&t->to, memory->program, &payload->to, chip, to, st);
    if (code < 0)
        return code;
    code = payload->kind == PAYLOAD_MATMUL ? take_product(t, memory, payload, chip, st)
                                           : take_move(t, memory, payload, chip, st);
    if (code < 0)
        transfer_free(t);
    return code;
}

void transfer_put(const struct transfer *t, struct memory *memory, const struct payload *payload, int to)
{
    selection_put(&t->to, t->order, memory_of(memory, to, payload->to.buffer), t->value, payload->combine);
}
