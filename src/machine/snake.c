/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/snake.h"

#include <stdlib.h>
#include <string.h>

/* Writes a path through a x b points as indices i * b + j. With `transposed` the roles of the sides are
 * swapped, so that the same code can run along either side. */
struct pen {
    int a, b;
    bool transposed;
    int at;
    int32_t *order;
};

static void mark(struct pen *pen, int i, int j)
{
    pen->order[pen->at++] = pen->transposed ? j * pen->a + i : i * pen->b + j;
}

/* Row by row in alternating directions, always to a neighbour. If a is even, the path ends in the first
 * column, which is next to the start if side a is closed. */
static void there_and_back(struct pen *pen)
{
    for (int i = 0; i < pen->a; i++)
        for (int j = 0; j < pen->b; j++)
            mark(pen, i, i % 2 ? pen->b - 1 - j : j);
}

/* Row by row in alternating directions over all columns except the first, and back along the first column: a
 * cycle without any wrap, for even a. */
static void comb(struct pen *pen)
{
    mark(pen, 0, 0);
    for (int i = 0; i < pen->a; i++)
        for (int j = 1; j < pen->b; j++)
            mark(pen, i, i % 2 ? pen->b - j : j);
    for (int i = pen->a - 1; i > 0; i--)
        mark(pen, i, 0);
}

/* Writes a path through a box of two sides; returns whether it closes. */
static bool two_sides(int a, bool a_closed, int b, bool b_closed, int32_t order[])
{
    struct pen rows = {.a = a, .b = b, .order = order};
    struct pen cols = {.a = b, .b = a, .transposed = true, .order = order};
    bool even_a = a % 2 == 0, even_b = b % 2 == 0;
    if (even_a && (a_closed || a == 2))
        there_and_back(&rows);
    else if (even_b && (b_closed || b == 2))
        there_and_back(&cols);
    else if (even_a && b > 1)
        comb(&rows);
    else if (even_b && a > 1)
        comb(&cols);
    else
        there_and_back(&rows);
    return even_a || even_b;
}

int snake_order(int sides, const int n[], const bool closed[], int32_t order[], struct status *st)
{
    int b = n[sides - 1], points = b;
    bool b_closed = closed[sides - 1];
    for (int s = 0; s < sides - 1; s++)
        points *= n[s];
    int32_t *inner = malloc((size_t)points * sizeof *inner), *both = malloc((size_t)points * sizeof *both);
    if (!inner || !both) {
        free(inner);
        free(both);
        return status_nomem(st);
    }
    for (int i = 0; i < b; i++)
        inner[i] = i;
    /* The path through the inner sides becomes one side of the next, larger box. */
    for (int s = sides - 2; s >= 0; s--) {
        b_closed = two_sides(n[s], closed[s], b, b_closed, both);
        for (int i = 0; i < n[s] * b; i++)
            order[i] = both[i] / b * b + inner[both[i] % b];
        b *= n[s];
        memcpy(inner, order, (size_t)b * sizeof *inner);
    }
    memcpy(order, inner, (size_t)points * sizeof *order);
    free(inner);
    free(both);
    return 0;
}
