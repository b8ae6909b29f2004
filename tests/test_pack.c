/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks as buffers of chunks and back, against the definitions. */
#include <stdlib.h>
#include <string.h>

#include "numbers/definition.h"
#include "numbers/pack.h"
#include "suite.h"

/* Chunk by chunk, what a program of the op moves from the input buffers to the output buffer of a position. */
static void move_chunks(const struct call *call, int n, const int32_t order[], double *const in[],
                        int64_t in_elements, int position, double out[], int64_t out_elements)
{
    int place = 0; /* of the chunks of `position` in a buffer */
    while (order[place] != position)
        place++;
    bool many = call->op == CALL_ALL_GATHER || call->op == CALL_ALL_TO_ALL || call->op == CALL_RAGGED;
    int64_t chunk = many ? out_elements / n : out_elements;
    for (int i = 0; call->op != CALL_PSUM_SCATTER && i < n; i++)
        memcpy(out + i * chunk, in[order[i]] + (call->op == CALL_ALL_TO_ALL ? place * chunk : 0),
               (size_t)chunk * sizeof *out);
    for (int64_t i = 0; call->op == CALL_PSUM_SCATTER && i < out_elements; i++) {
        out[i] = 0;
        for (int k = 0; k < n; k++)
            out[i] += in[k][place * (in_elements / n) + i];
    }
}

/* Packing, moving chunks and unpacking is the definition, for every dim, tiled or not, and any ring order. */
static void packing_is_the_definition(void)
{
    enum { COUNT = 3, CASES = 24 };
    static const enum call_op ops[] = {CALL_ALL_GATHER, CALL_PSUM_SCATTER, CALL_ALL_TO_ALL};
    static const int32_t order[COUNT] = {1, 2, 0};
    for (int i = 0; i < 3 * CASES; i++) {
        struct axes axes = {1, {{"i", COUNT}}};
        struct call call = {.op = ops[i % 3], .axes = {1, {0}}, .tiled = i / 3 % 2};
        call.dim = call.split_axis = i / 6 % 3;
        call.concat_axis = (i / 18 + call.dim) % 3;
        struct status st = {0};
        struct groups groups;
        struct array block[COUNT], want[COUNT];
        double *in[COUNT];
        OKAY(call_groups(&call, &axes, &groups, &st), st);
        for (int p = 0; p < COUNT; p++) {
            const int64_t shape[] = {3, call.tiled ? 6 : 3, call.tiled ? 9 : 3};
            OKAY(array_init(&block[p], 3, shape, DTYPE_S32, &st), st);
            for (int64_t e = 0; e < array_elements(&block[p]); e++) /* no two alike, in no order */
                block[p].data[e] = (double)((e * COUNT + p) * 7919 % 10007);
            in[p] = malloc((size_t)array_elements(&block[p]) * sizeof *in[p]);
            pack_block(&call, COUNT, order, &block[p], in[p]);
        }
        OKAY(definition_apply(&call, &groups, block, want, &st), st);
        for (int p = 0; p < COUNT; p++) {
            struct array got;
            int64_t elements = array_elements(&want[p]), at;
            double *out = malloc((size_t)elements * sizeof *out);
            OKAY(array_init(&got, want[p].dims, want[p].shape, DTYPE_S32, &st), st);
            move_chunks(&call, COUNT, order, in, array_elements(&block[p]), p, out, elements);
            unpack_block(&call, COUNT, order, out, &got);
            CU_ASSERT_TRUE(array_near(&got, &want[p], 0, &at));
            array_free(&got);
            free(out);
        }
        for (int p = 0; p < COUNT; p++) {
            array_free(&block[p]);
            array_free(&want[p]);
            free(in[p]);
        }
        groups_free(&groups);
    }
}

SUITE("pack", TEST(packing_is_the_definition))
