/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operations and bytes of instructions, worked out by hand. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hlo/cost.h"
#include "suite.h"

static struct module m;

static void begin(void)
{
    module_init(&m, "costs", 1);
    module_begin(&m, "main");
}

static int32_t array(enum dtype_id dtype, int dims, const int64_t dim[])
{
    return module_array(&m, dtype, dim, dims);
}
#define ARRAY(dtype, ...)                                                                                    \
    array(dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})
#define ADD(opcode, shape, ...)                                                                              \
    module_add(&m, opcode, NULL, shape, (int32_t[]){__VA_ARGS__},                                            \
               (int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))

static int32_t parameter(int32_t shape)
{
    return module_add(&m, HLO_PARAMETER, NULL, shape, NULL, 0);
}

static void attribute(enum attribute_key key, int64_t number)
{
    module_attribute(&m, key, &number, 1);
}

static void dots(void)
{
    begin();
    int32_t a = parameter(ARRAY(DTYPE_BF16, 3, 5, 7)), b = parameter(ARRAY(DTYPE_F32, 3, 7, 11));
    int32_t dot = ADD(HLO_DOT, ARRAY(DTYPE_F32, 3, 5, 11), a, b);
    attribute(ATTR_LHS_BATCH, 0);
    attribute(ATTR_RHS_BATCH, 0);
    attribute(ATTR_LHS_CONTRACTING, 2);
    attribute(ATTR_RHS_CONTRACTING, 1);
    struct cost cost = module_cost(&m, dot);
    /* 3 batches of 5x7 . 7x11 */
    CU_ASSERT(cost.product && cost.dtype == DTYPE_F32);
    NEAR(cost.flops, 3 * 2.0 * 5 * 7 * 11, 0);
    CU_ASSERT(cost.m == 15 && cost.k == 7 && cost.n == 11);
    NEAR(cost.hbm_bytes, 3 * 5 * 7 * 2 + 3 * 7 * 11 * 4 + 3 * 5 * 11 * 4, 0);
    /* rows of 6 groups: each meets one matrix */
    int32_t rows = parameter(ARRAY(DTYPE_BF16, 13, 7)), experts = parameter(ARRAY(DTYPE_BF16, 6, 7, 11));
    int32_t sizes = parameter(ARRAY(DTYPE_S32, 6));
    int32_t ragged = ADD(HLO_RAGGED_DOT, ARRAY(DTYPE_BF16, 13, 11), rows, experts, sizes);
    attribute(ATTR_LHS_CONTRACTING, 1);
    NEAR(module_cost(&m, ragged).flops, 2.0 * 13 * 7 * 11, 0);
    /* in batches of 3; and outer products whose rows are the last dim: a matrix for each group */
    int32_t many = parameter(ARRAY(DTYPE_BF16, 3, 13, 7)), each = parameter(ARRAY(DTYPE_BF16, 3, 6, 7, 11));
    int32_t batched = ADD(HLO_RAGGED_DOT, ARRAY(DTYPE_BF16, 3, 13, 11), many, each, sizes);
    attribute(ATTR_LHS_BATCH, 0);
    attribute(ATTR_LHS_CONTRACTING, 2);
    attribute(ATTR_LHS_RAGGED, 1);
    NEAR(module_cost(&m, batched).flops, 2.0 * 3 * 13 * 7 * 11, 0);
    int32_t turned = parameter(ARRAY(DTYPE_BF16, 5, 13)), other = parameter(ARRAY(DTYPE_BF16, 13, 11));
    int32_t outer = ADD(HLO_RAGGED_DOT, ARRAY(DTYPE_BF16, 6, 5, 11), turned, other, sizes);
    attribute(ATTR_LHS_CONTRACTING, 1);
    attribute(ATTR_LHS_RAGGED, 1);
    NEAR(module_cost(&m, outer).flops, 2.0 * 5 * 13 * 11, 0);
    struct cost some = module_ragged_cost(&m, outer, 4); /* so many rows in a group, on average */
    NEAR(some.k * some.batches, 4, 1e-12);
    module_free(&m);
}

static double convolve(const char *window, const char *labels, int32_t left, int32_t right, int32_t result)
{
    int32_t at = ADD(HLO_CONVOLUTION, result, left, right);
    module_attribute_text(&m, ATTR_WINDOW, NULL, window);
    module_attribute_text(&m, ATTR_DIM_LABELS, NULL, labels);
    return module_cost(&m, at).flops;
}

static void convolutions(void)
{
    begin();
    int32_t x = parameter(ARRAY(DTYPE_BF16, 13, 7)), w = parameter(ARRAY(DTYPE_BF16, 7, 11));
    /* without a window it is a matmul */
    NEAR(convolve("", "bf_io->bf", x, w, ARRAY(DTYPE_BF16, 13, 11)), 2.0 * 13 * 7 * 11, 0);
    NEAR(module_cost(&m, m.instructions - 1).hbm_bytes, 2.0 * (13 * 7 + 7 * 11 + 13 * 11), 0);
    /* a TPU's einsum, as XLA writes it: one element under a window of 32 that reaches 31 over each edge, so that each of
     * 32 outputs has one valid tap: 2 * 128 rows * 128 features * 4096 * 32 */
    int32_t rows = parameter(ARRAY(DTYPE_BF16, 128, 4096, 1)),
            heads = parameter(ARRAY(DTYPE_BF16, 4096, 32, 128));
    NEAR(convolve("{size=32 pad=31_31 rhs_reversal=1}", "bf0_i0o->b0f", rows, heads,
                  ARRAY(DTYPE_BF16, 128, 32, 128)),
         2.0 * 128 * 128 * 4096 * 32, 0);
    /* 3x3 over 5x6, padded by 1 at the low ends: rows see 2+3+3 of 3 taps with stride 2 (outputs at -1, 1, 3), columns
     * all of 3 but one at the first of 5 */
    int32_t image = parameter(ARRAY(DTYPE_BF16, 2, 5, 6, 3)),
            kernel = parameter(ARRAY(DTYPE_BF16, 3, 3, 3, 4));
    NEAR(convolve("{size=3x3 stride=2x1 pad=1_1x1_0}", "b01f_01io->b01f", image, kernel,
                  ARRAY(DTYPE_BF16, 2, 3, 5, 4)),
         2.0 * 2 * 4 * 3 * (2 + 3 + 2) * (2 + 3 + 3 + 3 + 3), 0);
    /* elements 2 apart, as in the gradient of a stride: of a window of 2 over positions 0..4 only even ones count:
     * outputs 0..3 see taps {0}, {2}, {2}, {4} */
    int32_t thin = parameter(ARRAY(DTYPE_BF16, 1, 3, 1)), pair = parameter(ARRAY(DTYPE_BF16, 2, 1, 1));
    NEAR(convolve("{size=2 lhs_dilate=2}", "b0f_0io->b0f", thin, pair, ARRAY(DTYPE_BF16, 1, 4, 1)), 2.0 * 4,
         0);
    /* the same by padding: one element between those of the input; and none, with one before and after */
    NEAR(convolve("{pad=0_0_1 size=2}", "b0f_0io->b0f", thin, pair, ARRAY(DTYPE_BF16, 1, 4, 1)), 2.0 * 4, 0);
    NEAR(convolve("{pad=1_1_0 size=2}", "b0f_0io->b0f", thin, pair, ARRAY(DTYPE_BF16, 1, 4, 1)), 2.0 * 6, 0);
    /* taps 3 apart: positions o and o+3 of 5 for outputs 0, 1 */
    int32_t five = parameter(ARRAY(DTYPE_BF16, 1, 5, 1));
    NEAR(convolve("{size=2 rhs_dilate=3}", "b0f_0io->b0f", five, pair, ARRAY(DTYPE_BF16, 1, 2, 1)), 2.0 * 4,
         0);
    module_free(&m);
}

/* Pairs of an output and a tap that meet an element, counted one by one. */
static double count_pairs(int size, int stride, int low, int lhs_dilate, int rhs_dilate, int in, int out)
{
    double pairs = 0;
    for (int o = 0; o < out; o++)
        for (int t = 0; t < size; t++) {
            int at = o * stride + t * rhs_dilate - low;
            pairs += at >= 0 && at % lhs_dilate == 0 && at / lhs_dilate < in;
        }
    return pairs;
}

static void random_windows(void)
{
    struct suite_random r = {1};
    begin();
    for (int i = 0; i < 2000; i++) {
        int f[3][6]; /* of each dim: size, stride, low, lhs_dilate, rhs_dilate, in */
        int out[3];
        double want = 2.0 * 2 * 3 * 5;
        for (int d = 0; d < 3; d++) {
            for (int k = 0; k < 6; k++)
                f[d][k] = 1 + (int)suite_random(&r, k == 0 || k == 5 ? 6 : 7);
            f[d][2] -= 4;
            out[d] = 1 + (int)suite_random(&r, 9);
            want *= count_pairs(f[d][0], f[d][1], f[d][2], f[d][3], f[d][4], f[d][5], out[d]);
        }
        char window[200];
        snprintf(
            window, sizeof window,
            "{size=%dx%dx%d stride=%dx%dx%d pad=%d_9x%d_0x%d_-3 lhs_dilate=%dx%dx%d rhs_dilate=%dx%dx%d}",
            f[0][0], f[1][0], f[2][0], f[0][1], f[1][1], f[2][1], f[0][2], f[1][2], f[2][2], f[0][3], f[1][3],
            f[2][3], f[0][4], f[1][4], f[2][4]);
        double got = convolve(window, "0b1f2_i012o->f210b",
                              parameter(ARRAY(DTYPE_BF16, f[0][5], 2, f[1][5], 3, f[2][5])),
                              parameter(ARRAY(DTYPE_BF16, 3, f[0][0], f[1][0], f[2][0], 5)),
                              ARRAY(DTYPE_BF16, 5, out[2], out[1], out[0], 2));
        if (got != want)
            fprintf(stderr, "%s on %d x %d x %d, %d x %d x %d outputs\n", window, f[0][5], f[1][5], f[2][5],
                    out[0], out[1], out[2]);
        CU_ASSERT_EQUAL_FATAL(got, want);
    }
    module_free(&m);
}

static void memory(void)
{
    begin();
    int32_t stack = parameter(ARRAY(DTYPE_F32, 80, 5, 7)), one = ARRAY(DTYPE_F32, 1, 5, 7);
    int32_t index = parameter(ARRAY(DTYPE_S32, 1));
    NEAR(module_cost(&m, ADD(HLO_DYNAMIC_SLICE, one, stack, index, index, index)).hbm_bytes, 2 * 35 * 4, 0);
    int32_t piece = parameter(one);
    NEAR(module_cost(&m, ADD(HLO_DYNAMIC_UPDATE_SLICE, module_at(&m, stack)->shape, stack, piece, index))
             .hbm_bytes,
         2 * 35 * 4, 0);
    NEAR(module_cost(&m, ADD(HLO_ADD, one, piece, piece)).hbm_bytes, 3 * 35 * 4, 0);
    NEAR(module_cost(&m, ADD(HLO_RESHAPE, ARRAY(DTYPE_F32, 35), piece)).hbm_bytes, 0, 0);
    int64_t dims[] = {5, 7};
    struct shape turned = {.dtype = DTYPE_F32, .count = 2, .layout = module_text(&m, "{0,1}", -1)};
    NEAR(module_cost(&m, ADD(HLO_RESHAPE, module_shape(&m, turned, dims), piece)).hbm_bytes, 2 * 35 * 4, 0);
    struct shape near = {
        .dtype = DTYPE_F32, .count = 2, .layout = module_text(&m, "{1,0:S(1)}", -1), .on_chip = true};
    NEAR(module_cost(&m, ADD(HLO_COPY, module_shape(&m, near, dims), piece)).hbm_bytes, 35 * 4, 0);
    NEAR(module_cost(&m, ADD(HLO_BITCAST, one, piece)).hbm_bytes, 0, 0);
    module_free(&m);
}

static void fusions(void)
{
    module_init(&m, "fusions", 1);
    int32_t body = module_begin(&m, "one.layer"), stack = ARRAY(DTYPE_BF16, 80, 13, 7),
            layer = ARRAY(DTYPE_S32, 1);
    int32_t p0 = parameter(stack), p1 = parameter(layer), p2 = parameter(ARRAY(DTYPE_BF16, 7, 11));
    int32_t slice = ADD(HLO_DYNAMIC_SLICE, ARRAY(DTYPE_BF16, 13, 7), p0, p1);
    ADD(HLO_DOT, ARRAY(DTYPE_BF16, 13, 11), slice, p2);
    attribute(ATTR_LHS_CONTRACTING, 1);
    attribute(ATTR_RHS_CONTRACTING, 0);
    int32_t update = module_begin(&m, "update"), q0 = parameter(stack),
            q1 = parameter(ARRAY(DTYPE_BF16, 1, 13, 7));
    int32_t at = parameter(layer);
    ADD(HLO_DYNAMIC_UPDATE_SLICE, stack, q0, q1, at);
    module_begin(&m, "main");
    int32_t a = parameter(stack), b = parameter(layer), c = parameter(ARRAY(DTYPE_BF16, 7, 11));
    int32_t fusion = ADD(HLO_FUSION, ARRAY(DTYPE_BF16, 13, 11), a, b, c);
    attribute(ATTR_CALLS, body);
    struct cost cost = module_cost(&m, fusion);
    NEAR(cost.flops, 2.0 * 13 * 7 * 11, 0);
    CU_ASSERT(cost.product && cost.m == 13 && cost.k == 7 && cost.n == 11);
    /* one slice of the stack, the index, the matrix, the result */
    NEAR(cost.hbm_bytes, 2 * 13 * 7 + 4 + 2 * 7 * 11 + 2 * 13 * 11, 0);
    int32_t piece = parameter(ARRAY(DTYPE_BF16, 1, 13, 7)), put = ADD(HLO_FUSION, stack, a, piece, b);
    attribute(ATTR_CALLS, update);
    /* reads the piece and the index, writes the piece */
    NEAR(module_cost(&m, put).hbm_bytes, 2 * (2 * 13 * 7) + 4, 0);
    module_free(&m);
}

static void custom_calls(void)
{
    begin();
    int32_t q = parameter(ARRAY(DTYPE_BF16, 3, 5));
    int32_t call = ADD(HLO_CUSTOM_CALL, ARRAY(DTYPE_BF16, 3, 5), q);
    struct cost cost = module_cost(&m, call);
    CU_ASSERT(cost.uncosted && cost.flops == 0 && cost.hbm_bytes == 0);
    int32_t known = ADD(HLO_CUSTOM_CALL, ARRAY(DTYPE_BF16, 3, 5), q);
    module_attribute_text(&m, ATTR_BACKEND_CONFIG, NULL, "{\"flops\":1.5e9, \"bytes\": \"4096\"}");
    cost = module_cost(&m, known);
    CU_ASSERT(!cost.uncosted && cost.product && cost.dtype == DTYPE_BF16);
    NEAR(cost.flops, 1.5e9, 0);
    NEAR(cost.hbm_bytes, 4096, 0);
    /* a table of groups comes first; it computes in the type that most of its bytes have */
    ADD(HLO_CUSTOM_CALL, ARRAY(DTYPE_F32, 3, 5), parameter(ARRAY(DTYPE_S32, 7)), q,
        parameter(ARRAY(DTYPE_S8, 5, 31)));
    module_attribute_text(&m, ATTR_BACKEND_CONFIG, NULL, "{\"flops\":1.5e9}");
    CU_ASSERT_EQUAL(module_cost(&m, m.instructions - 1).dtype, DTYPE_S8);
    module_free(&m);
}

SUITE("cost", TEST(dots), TEST(convolutions), TEST(random_windows), TEST(memory), TEST(fusions),
      TEST(custom_calls))
