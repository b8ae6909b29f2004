/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random_call.h"

#include <stdlib.h>

/* Some axes of the mesh in some order. */
struct axis_list random_axes(const struct mesh *mesh, struct suite_random *random)
{
    struct axis_list list = {0};
    int axis[AXES_MAX], left = mesh->axes.count;
    for (int a = 0; a < left; a++)
        axis[a] = a;
    for (int count = 1 + (int)suite_random(random, (unsigned)left); list.count < count;) {
        int i = (int)suite_random(random, (unsigned)left);
        list.axis[list.count++] = axis[i];
        axis[i] = axis[--left];
    }
    return list;
}

static void shuffle(int member[], int n, struct suite_random *random)
{
    for (int i = 0; i < n; i++)
        member[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int other = (int)suite_random(random, (unsigned)i + 1), swap = member[i];
        member[i] = member[other];
        member[other] = swap;
    }
}

/* Cuts the n positions into groups of a size that divides n, in any order. Returns the size. */
static int random_groups(struct call *call, int n, struct suite_random *random)
{
    struct status st = {0};
    int size = 1 + (int)suite_random(random, (unsigned)n);
    while (n % size)
        size--;
    OKAY(groups_init(&call->divide, n / size, size, &st), st);
    shuffle(call->divide.member, n, random);
    return size;
}

/* Sources and destinations, each once, some left out. */
static void random_pairs(struct call *call, int n, struct suite_random *random)
{
    int to[RANDOM_CALL_DEVICES];
    shuffle(to, n, random);
    call->pair = malloc((size_t)n * sizeof *call->pair);
    CU_ASSERT_PTR_NOT_NULL_FATAL(call->pair);
    for (int i = 0; i < n; i++)
        if (suite_random(random, 4) > 0) {
            call->pair[call->pairs][0] = i;
            call->pair[call->pairs++][1] = to[i];
        }
}

/* Rows from position to position, each position's as many in all, as its block has. */
static int64_t random_rows(struct call *call, int n, struct suite_random *random)
{
    int64_t rows = suite_random(random, 3) * (unsigned)n;
    call->rows = calloc((size_t)(n * n), sizeof *call->rows);
    CU_ASSERT_PTR_NOT_NULL_FATAL(call->rows);
    for (int64_t i = 0; i < n * rows; i++)
        call->rows[i % n * n + suite_random(random, (unsigned)n)]++;
    return rows;
}

/* A random call over n devices and the shape of a block that it takes. */
void random_call(struct call *call, enum call_op op, int n, int *dims, int64_t shape[],
                 struct suite_random *random)
{
    *call = (struct call){.op = op, .axes = call->axes, .tiled = suite_random(random, 2)};
    if (op != CALL_PPERMUTE && op != CALL_NONE && suite_random(random, 3) == 0)
        n = random_groups(call, n, random);
    *dims = (int)suite_random(random, 4);
    if (*dims == 0 && (op == CALL_PSUM_SCATTER || op == CALL_ALL_TO_ALL || op == CALL_RAGGED ||
                       (op == CALL_ALL_GATHER && call->tiled)))
        *dims = 1;
    for (int d = 0; d < *dims; d++)
        shape[d] = suite_random(random, 12) == 0 ? 0 : 1 + suite_random(random, 5);
    call->dim = (int)suite_random(random, (unsigned)(*dims + (op == CALL_ALL_GATHER && !call->tiled)));
    call->split_axis = (int)suite_random(random, (unsigned)*dims);
    call->concat_axis = (int)suite_random(random, (unsigned)*dims);
    if (op == CALL_PSUM_SCATTER)
        shape[call->dim] = n * (call->tiled ? 1 + (int)suite_random(random, 2) : 1);
    if (op == CALL_ALL_TO_ALL)
        shape[call->split_axis] = n * (call->tiled ? 1 + (int)suite_random(random, 2) : 1);
    if (op == CALL_PPERMUTE)
        random_pairs(call, n, random);
    if (op == CALL_RAGGED)
        shape[0] = random_rows(call, n, random);
    call->offset = (int)suite_random(random, 40) - 20;
    call->root = (int)suite_random(random, (unsigned)n);
}
