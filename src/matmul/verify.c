/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real numbers through a matmul program, against the plain product. */
#include <stdlib.h>

#include "base/random.h"
#include "execute/execute.h"
#include "execute/memory.h"
#include "matmul/matmul.h"
#include "program/selection.h"

struct matrix {
    int64_t rows, cols;
    double *at;
};

static int matrix_init(struct matrix *m, int64_t rows, int64_t cols, struct status *st)
{
    *m = (struct matrix){rows, cols, calloc((size_t)(rows * cols), sizeof *m->at)};
    return m->at ? 0 : status_nomem(st);
}

/* Small integers: sums stay exact. */
static void randomize(struct matrix *m, uint64_t *state)
{
    for (int64_t i = 0; i < m->rows * m->cols; i++)
        m->at[i] = (double)random_below(state, 19) - 9;
}

static int multiply(const struct matrix *a, const struct matrix *b, struct matrix *c, struct status *st)
{
    if (matrix_init(c, a->rows, b->cols, st) < 0)
        return st->code;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t k = 0; k < a->cols; k++)
            for (int64_t j = 0; j < b->cols; j++)
                c->at[i * b->cols + j] += a->at[i * a->cols + k] * b->at[k * b->cols + j];
    return 0;
}

/* Where index i of a chip's shard lies in the whole dim. */
static int64_t whole_index(const struct expr_dim *dim, const struct ring *cut, const struct mesh *mesh,
                           int chip, int64_t i)
{
    int64_t len = dim->n / axis_list_size(&dim->shard, &mesh->axes);
    if (cut) {
        int64_t piece = len / cut->n;
        i = cut->slot[i / piece] * piece + i % piece;
    }
    return axis_list_position(&dim->shard, &mesh->axes, mesh_device(mesh, chip)) * len + i;
}

/* One chip's shard of a tensor: written into its place, or compared with what is there. */
static int visit_shard(const struct matmul_place *place, const struct expr_tensor *tensor,
                       const struct matrix *whole, const struct mesh *mesh, struct memory *memory, int chip,
                       bool write, struct status *st)
{
    struct selection s;
    if (selection_init(&s, memory->program, &place->own, chip, chip, st) < 0)
        return st->code;
    double *buffer = memory_of(memory, chip, place->own.buffer);
    double *value = malloc((size_t)(s.rows * s.cols + 1) * sizeof *value);
    int code = value ? 0 : status_nomem(st);
    if (code == 0 && !write)
        selection_take(&s, ORDER_MATRIX, buffer, value);
    for (int64_t r = 0; r < s.rows && code == 0; r++) {
        for (int64_t c = 0; c < s.cols && code == 0; c++) {
            int64_t row = whole_index(&tensor->dim[0], place->cut[0], mesh, chip, r);
            int64_t col = whole_index(&tensor->dim[1], place->cut[1], mesh, chip, c);
            double want = whole->at[row * whole->cols + col], *have = &value[r * s.cols + c];
            if (write)
                *have = want;
            else if (!(*have >= want && *have <= want))
                code =
                    status_fail(st, STATUS_CHECK, "chip %d: element (%lld,%lld) of the product is %g, not %g",
                                chip, (long long)row, (long long)col, *have, want);
        }
    }
    if (code == 0 && write)
        selection_put(&s, ORDER_MATRIX, buffer, value, COMBINE_COPY);
    free(value);
    selection_free(&s);
    return code;
}

static int load(const struct matmul_plan *plan, const struct matmul_build *build, const struct mesh *mesh,
                const struct matrix operand[], struct memory *memory, struct status *st)
{
    for (int device = 0; device < mesh->devices; device++) {
        int chip = mesh_chip(mesh, device);
        for (int32_t b = 0; b < memory->program->buffers; b++) {
            double *buffer = memory_of(memory, chip, b);
            for (int64_t i = 0; i < memory_elements(memory->program, chip, b); i++)
                buffer[i] = 0;
        }
        for (int i = 0; i <= plan->products; i++) {
            const struct expr_tensor *tensor = i ? &plan->product[i - 1].right : &plan->product[0].left;
            if (visit_shard(&build->operand[i], tensor, &operand[i], mesh, memory, chip, true, st) < 0)
                return st->code;
        }
    }
    return 0;
}

int matmul_verify(const struct matmul_plan *plan, const struct matmul_build *build, const struct mesh *mesh,
                  const struct program *program, uint64_t seed, struct status *st)
{
    struct matrix operand[EXPR_OPERANDS] = {{0}}, product[EXPR_OPERANDS] = {{0}};
    struct memory memory = {0};
    struct execute_options options = {.pace = (enum execute_pace)(seed % EXECUTE_PACES), .seed = seed};
    uint64_t state = seed;
    int code = memory_init(&memory, program, st);
    for (int i = 0; i <= plan->products && code == 0; i++) {
        const struct expr_tensor *tensor = i ? &plan->product[i - 1].right : &plan->product[0].left;
        code = matrix_init(&operand[i], tensor->dim[0].n, tensor->dim[1].n, st);
        if (code == 0)
            randomize(&operand[i], &state);
        if (code == 0 && i > 0)
            code = multiply(i == 1 ? &operand[0] : &product[i - 1], &operand[i], &product[i], st);
    }
    if (code == 0)
        code = load(plan, build, mesh, operand, &memory, st);
    if (code == 0)
        code = execute(&memory, &options, st);
    for (int device = 0; device < mesh->devices && code == 0; device++)
        code = visit_shard(&build->output, &plan->product[plan->products - 1].out, &product[plan->products],
                           mesh, &memory, mesh_chip(mesh, device), false, st);
    for (int i = 0; i < EXPR_OPERANDS; i++) {
        free(operand[i].at);
        free(product[i].at);
    }
    memory_free(&memory);
    return code;
}
