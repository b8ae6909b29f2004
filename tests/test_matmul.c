/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharded matmuls: what is inferred, that every strategy's program is sound and makes the product. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fabric/chip.h"
#include "matmul/matmul.h"
#include "suite.h"

struct problem {
    const char *slice, *mesh, *expr, *plan;
};

/* The matmuls of the sources, and shapes that reach every kind of loop. */
static const struct problem problems[] = {
    {"2x4", "X=2,Y=4", "int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]",
     "all-gather left columns over Y, then multiply 512x2048 . 2048x2048"},
    {"2x2", "x=4", "f32[16384@x,1024] . f32[1024,2048] -> f32[16384,2048]",
     "all-gather left rows over x, then multiply 16384x1024 . 1024x2048"},
    {"2x2", "x=4", "f32[16384,1024@x] . f32[1024@x,2048] -> f32[16384@x,2048]",
     "multiply 16384x256 . 256x2048, then reduce-scatter rows over x"},
    {"2x2", "x=2,y=2", "f32[8@x,16@y] . f32[16@y,4] -> f32[8@x,4@y]",
     "multiply 4x8 . 8x4, then reduce-scatter columns over y"},
    {"2x2", "x=2,y=2", "f32[8@x,16@y] . f32[16@y,4] -> f32[8@x,4]",
     "multiply 4x8 . 8x4, then all-reduce over y"},
    {"2x2", "x=2,y=2", "f32[8@x,16@y] . f32[16@y,4] -> f32[8,4@y]",
     "multiply 4x8 . 8x4, then reduce-scatter columns over y, then all-gather output rows over x"},
    {"4x2", "X=4,Y=2", "bf16[8@X,2048@Y] . bf16[2048@Y,8192] -> bf16[8@X,8192]",
     "multiply 2x1024 . 1024x8192, then all-reduce over Y"},
    {"2x4", "X=2,Y=4", "bf16[1024@X,8192@Y] . bf16[8192@Y,2048] -> bf16[1024@X,2048@Y]",
     "multiply 512x2048 . 2048x2048, then reduce-scatter columns over Y"},
    {"4x2", "dp=4,tp=2", "f32[1024@dp,4096] . f32[4096@dp,256] -> f32[1024@dp,256]",
     "all-gather right rows over dp, then multiply 256x4096 . 4096x256"},
    {"4x2", "dp=4,tp=2", "f32[1024,4096@(dp,tp)] . f32[4096@(dp,tp),256] -> f32[1024@(dp,tp),256]",
     "multiply 1024x512 . 512x256, then reduce-scatter rows over (dp,tp)"},
    {"16", "X=16", "bf16[96@X,80] . bf16[80,48] -> bf16[96,48]",
     "all-gather left rows over X, then multiply 96x80 . 80x48"},
    {"5x3", "X=5,Y=3", "bf16[30@X,45@Y] . bf16[45@Y,60@X] -> bf16[30@X,60@Y]", NULL},
    {"4x4", "X=4,Y=4", "bf16[32@X,48@Y] . bf16[48,64@X] -> bf16[32,64@X]",
     "all-gather left columns over Y, then all-gather left rows over X, then multiply 32x48 . 48x16"},
    {"4x4", "X=4,Y=4", "bf16[32,48@(X,Y)] . bf16[48,64] -> bf16[32,64]",
     "all-gather left columns over (X,Y), then multiply 32x48 . 48x64"},
    {"4x4", "X=4,Y=4", "bf16[32@(Y,X),48] . bf16[48,64] -> bf16[32,64]",
     "all-gather left rows over (Y,X), then multiply 32x48 . 48x64"},
    {"4x4", "X=4,Y=4", "bf16[32,48@(Y,X)] . bf16[48@(Y,X),64] -> bf16[32,64]",
     "multiply 32x3 . 3x64, then all-reduce over (Y,X)"},
    {"2x4", "X=2,Y=4", "bf16[64@X,32@Y] . bf16[32,128@Y] . bf16[128@Y,32] -> bf16[64@X,32@Y]",
     "all-gather left columns over Y, then multiply 32x32 . 32x32"},
    {"4x4", "X=4,Y=4", "bf16[64@(X,Y),32] . bf16[32,128@(X,Y)] . bf16[128@(X,Y),32] -> bf16[64@(X,Y),32]",
     NULL},
    {"4x4", "X=4,Y=4", "bf16[64,32@(X,Y)] . bf16[32,128@(X,Y)] . bf16[128@(X,Y),32] -> bf16[64@(X,Y),32]",
     "all-gather left columns over (X,Y), then multiply 64x32 . 32x8"},
    {"4x4", "X=4,Y=4", "bf16[64@(Y,X),32] . bf16[32,128] . bf16[128,32] -> bf16[64,32]",
     "multiply 4x32 . 32x128"},
    {"4x4", "X=4,Y=4", "bf16[32@X,48@Y] . bf16[48@Y,64] -> bf16[32,64]",
     "multiply 8x12 . 12x64, then all-reduce over Y, then all-gather output rows over X"},
    /* 9 columns a chip, which halves do not divide */
    {"4", "X=4", "bf16[48,48@X] . bf16[48@X,36] -> bf16[48,36@X]",
     "multiply 48x12 . 12x36, then reduce-scatter columns over X"},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

struct bench {
    struct chip chip;
    struct slice slice;
    struct mesh mesh;
    struct expr expr;
    struct matmul_plan plan;
};

static int open_bench(struct bench *b, const struct problem *problem, const char *wrap, int64_t most,
                      struct status *st)
{
    memset(b, 0, sizeof *b);
    if (chip_load(&b->chip, "v5e", CHIP_SPEC, st) < 0 ||
        chip_slice(&b->chip, problem->slice, wrap, 45e9, 1e-6, &b->slice, st) < 0 ||
        mesh_init(&b->mesh, &b->slice, problem->mesh, st) < 0 ||
        expr_parse(problem->expr, NULL, DTYPE_BF16, &b->mesh.axes, &b->expr, st) < 0)
        return st->code;
    if (most)
        expr_scale(&b->expr, &b->mesh.axes, most);
    return matmul_infer(&b->expr, &b->mesh.axes, &b->plan, st);
}

static void close_bench(struct bench *b)
{
    mesh_free(&b->mesh);
    slice_free(&b->slice);
    chip_free(&b->chip);
}

static void infers(void)
{
    for (int i = 0; i < PROBLEMS; i++) {
        struct bench b;
        struct status st = {0};
        char text[MATMUL_TEXT];
        int code = open_bench(&b, &problems[i], "none", 0, &st);
        if (problems[i].plan) {
            OKAY(code, st);
            CU_ASSERT_STRING_EQUAL(matmul_explain(&b.plan.product[0], &b.mesh.axes, text), problems[i].plan);
        } else {
            CU_ASSERT_EQUAL(code, STATUS_INPUT);
        }
        close_bench(&b);
    }
}

static void multiplies_with(struct bench *b, const struct problem *problem, struct matmul_options *options)
{
    struct matmul_build build;
    struct program program;
    struct status st = {0};
    roofline_init(&options->roofline, &b->chip);
    for (int d = 0; d < DTYPE_COUNT; d++)
        options->roofline.peak_flops[d] = 197e12;
    program_init(&program, &b->slice);
    OKAY(matmul_write(&b->plan, options, &b->mesh, &program, &build, &st), st);
    OKAY(program_check(&program, &st), st);
    for (uint64_t seed = 3; seed < 6 && st.code == 0; seed++)
        OKAY(matmul_verify(&b->plan, &build, &b->mesh, &program, seed, &st), st);
    if (st.code)
        printf("  %s on %s, %s, all-reduce by %s, loop %s\n", problem->expr, problem->slice,
               matmul_strategy_name(options->strategy), matmul_reduce_name(options->reduce),
               matmul_loop_name(options->loop));
    matmul_build_free(&build);
    program_free(&program);
}

/* Every strategy, wrapped or not, both ways to all-reduce, both loops: the product is the plain one. */
static void multiplies(void)
{
    for (int i = 0; i < PROBLEMS; i++) {
        for (int wrap = 0; wrap < 2 && problems[i].plan; wrap++) {
            struct bench b;
            struct status st = {0};
            OKAY(open_bench(&b, &problems[i], wrap ? "all" : "none", 48, &st), st);
            for (int v = 0; v < STRATEGY_AUTO * 4 && st.code == 0; v++) {
                struct matmul_options options = {.strategy = (enum matmul_strategy)(v / 4),
                                                 .kind = (enum ring_kind)(v % RING_KINDS),
                                                 .reduce = v % 2 ? REDUCE_CHUNKS : REDUCE_SCATTER_GATHER,
                                                 .chunks = 3,
                                                 .loop = v % 4 > 1 ? LOOP_XLA : LOOP_UNROLLED};
                multiplies_with(&b, &problems[i], &options);
            }
            close_bench(&b);
        }
    }
}

/* Rows of a sum that are gathered wait until each of its chunks is in its place, in whatever order they get there:
 * few chips, so that one that is late is not overtaken by many others. */
static void waits_for_every_chunk(void)
{
    static const struct problem gathered = {"2x2", "X=2,Y=2", "f32[8@X,16@Y] . f32[16@Y,6] -> f32[8,6]",
                                            NULL};
    struct bench b;
    struct matmul_build build;
    struct program program;
    struct status st = {0};
    OKAY(open_bench(&b, &gathered, "none", 48, &st), st);
    struct matmul_options options = {
        .strategy = STRATEGY_BIDI, .kind = RING_BIDI, .reduce = REDUCE_CHUNKS, .chunks = 2};
    roofline_init(&options.roofline, &b.chip);
    program_init(&program, &b.slice);
    OKAY(matmul_write(&b.plan, &options, &b.mesh, &program, &build, &st), st);
    for (uint64_t seed = 0; seed < 300 && st.code == 0; seed++)
        OKAY(matmul_verify(&b.plan, &build, &b.mesh, &program, seed, &st), st);
    matmul_build_free(&build);
    program_free(&program);
    close_bench(&b);
}

/* Where a larger product reaches a smaller share of the peak, cutting it is faster, and the least time says so:
 * 2 * 512^3 operations at 0.8 of 1 Tflops in eight parts, 0.4 in one. */
static void parts_may_be_cheaper(void)
{
    struct chip chip = {.name = "falls", .peak_flops[DTYPE_BF16] = 1e12};
    chip.efficiency[DTYPE_BF16] = (struct chip_efficiency){
        .steps = 2, .work = {2 * 256.0 * 256 * 256, 2 * 512.0 * 512 * 512}, .frac = {0.8, 0.4}};
    struct roofline roofline;
    struct matmul_product p = {.m = 512,
                               .k = 512,
                               .n = 512,
                               .left.dtype = DTYPE_BF16,
                               .right.dtype = DTYPE_BF16,
                               .out.dtype = DTYPE_BF16};
    roofline_init(&roofline, &chip);
    roofline.hbm_Bps = NAN;
    NEAR(matmul_cost_s(&roofline, &p, 512, 512, 512, false), 2 * 512.0 * 512 * 512 / 0.4e12, 1e-12);
    NEAR(matmul_least_s(&roofline, &p), 8 * matmul_cost_s(&roofline, &p, 256, 256, 256, false), 1e-12);
    chip.efficiency[DTYPE_BF16].frac[1] = 0.9;
    NEAR(matmul_least_s(&roofline, &p), matmul_cost_s(&roofline, &p, 512, 512, 512, false), 1e-12);
}

/* A product runs at the rate of the wider of its operands' types, and reads and writes each tensor in its own. At 3 Tflops
 * and 0.7 TB/s 2 x 35 x 11 x 13 operations take less than 35 x 11 B, 11 x 13 x 2 B and 2 x 35 x 13 x 4 B from and to HBM.
 */
static void costs_each_tensor_in_its_own_type(void)
{
    struct chip chip = {.name = "wide", .hbm_Bps = 0.7e12};
    struct roofline roofline;
    struct matmul_product p = {.left.dtype = DTYPE_S8, .right.dtype = DTYPE_BF16, .out.dtype = DTYPE_F32};
    roofline_init(&roofline, &chip);
    roofline.peak_flops[DTYPE_BF16] = 3e12;
    NEAR(matmul_cost_s(&roofline, &p, 35, 11, 13, true), (35 * 11 + 11 * 13 * 2 + 2 * 35 * 13 * 4) / 0.7e12,
         1e-12);
    CU_ASSERT_EQUAL(matmul_rate(&p), DTYPE_BF16);
    roofline.hbm_Bps = NAN;
    NEAR(matmul_cost_s(&roofline, &p, 35, 11, 13, true), 2 * 35 * 11 * 13 / 3e12, 1e-12);
    roofline.efficiency = 0.3;
    NEAR(matmul_cost_s(&roofline, &p, 35, 11, 13, true), 2 * 35 * 11 * 13 / 0.9e12, 1e-12);
}

/* What is gathered moves in its own type, sums in that of the output, whatever the strategy: on a ring of 4 each chip
 * sends 3 pieces of a gather, and 6 of an all-reduce.
 *   8x16 s8:  4 x 3 x 2x16 x 1 B;  16x12 bf16: 4 x 3 x 4x12 x 2 B;  sums of 8x12 s32: 4 x 6 x 24 x 4 B */
static const struct {
    const char *expr;
    double link_bytes;
} moved[] = {
    {"s8[8@X,16] . bf16[16,12] -> f32[8,12]", 384},
    {"s8[8,16@X] . bf16[16,12] -> f32[8,12]", 384},
    {"s8[8,16] . bf16[16@X,12] -> f32[8,12]", 1152},
    {"s8[8,16@X] . s8[16@X,12] -> int32[8,12]", 2304},
    {"s8[8,16@X] . s8[16@X,12] -> int32[8@X,12]", 1152},
    /* the first product is s8, as its operands: 8x12 are gathered before the second */
    {"s8[8@X,16] . s8[16,12] . bf16[12,20] -> f32[8,20]", 4 * 3 * 24},
    {"s8[8,16] . s8[16,12@X] . s8[12@X,20] -> int32[8,20]", 4 * 6 * 40 * 4},
};

static void moves_each_tensor_in_its_own_type(void)
{
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        struct problem problem = {"4", "X=4", moved[i].expr, NULL};
        for (int strategy = 0; strategy < STRATEGY_AUTO; strategy++) {
            struct bench b;
            struct status st = {0};
            OKAY(open_bench(&b, &problem, "all", 0, &st), st);
            struct matmul_options options = {.strategy = (enum matmul_strategy)strategy, .kind = RING_UNI};
            multiplies_with(&b, &problem, &options);
            struct matmul_build build;
            struct program program;
            program_init(&program, &b.slice);
            OKAY(matmul_write(&b.plan, &options, &b.mesh, &program, &build, &st), st);
            NEAR(program_link_bytes(&program), moved[i].link_bytes, 1e-12);
            matmul_build_free(&build);
            program_free(&program);
            close_bench(&b);
        }
    }
}

SUITE("matmul", TEST(infers), TEST(multiplies), TEST(waits_for_every_chunk), TEST(parts_may_be_cheaper),
      TEST(costs_each_tensor_in_its_own_type), TEST(moves_each_tensor_in_its_own_type))
