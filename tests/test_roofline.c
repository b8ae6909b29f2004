/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds of computes, worked out by hand. */
#include <math.h>

#include "machine/roofline.h"
#include "suite.h"

/* 200 Tflop/s of bf16, 300 of s8, 0.7 TB/s, tiles of 128, and half the peak for small products. */
static struct chip a_chip(void)
{
    struct chip chip = {.name = "made-up", .hbm_Bps = 0.7e12, .mxu_tile = 128, .step_efficiency = NAN};
    for (int d = 0; d < DTYPE_COUNT; d++)
        chip.peak_flops[d] = NAN;
    chip.peak_flops[DTYPE_BF16] = 200e12;
    chip.peak_flops[DTYPE_S8] = 300e12;
    return chip;
}

static double product(const struct roofline *roofline, enum dtype_id dtype, double flops, double bytes,
                      enum bound_kind *bound)
{
    struct status st = {0};
    double seconds = NAN;
    OKAY(roofline_product_s(roofline, (struct product){.dtype = dtype, .flops = flops, .hbm_bytes = bytes},
                            &seconds, bound, &st),
         st);
    return seconds;
}

static void binds(void)
{
    struct chip chip = a_chip();
    struct roofline roofline;
    enum bound_kind bound;
    roofline_init(&roofline, &chip);
    /* 3 Gflop / 200 Tflop/s = 15 us; 7 MB / 0.7 TB/s = 10 us */
    NEAR(product(&roofline, DTYPE_BF16, 3e9, 7e6, &bound), 15e-6, 1e-12);
    CU_ASSERT_STRING_EQUAL(bound_kind_name(bound), "MXU");
    /* 14.7 MB take 21 us */
    NEAR(product(&roofline, DTYPE_BF16, 3e9, 14.7e6, &bound), 21e-6, 1e-12);
    CU_ASSERT_STRING_EQUAL(bound_kind_name(bound), "HBM");
    /* and a launch of 23 us comes on top of either */
    roofline.launch_s = 23e-6;
    NEAR(product(&roofline, DTYPE_BF16, 3e9, 14.7e6, &bound), 44e-6, 1e-12);
    CU_ASSERT_STRING_EQUAL(bound_kind_name(bound), "launch");
    NEAR(roofline_memory_s(&roofline, 14.7e6), 44e-6, 1e-12);
    /* s8 at its own peak: 3 Gop / 300 Top/s */
    NEAR(product(&roofline, DTYPE_S8, 3e9, 0, NULL), 10e-6 + 23e-6, 1e-12);
}

static void takes_passes(void)
{
    struct chip chip = a_chip();
    struct roofline roofline;
    roofline_init(&roofline, &chip);
    NEAR(product(&roofline, DTYPE_F32, 3e9, 0, NULL), 15e-6, 1e-12);
    roofline.passes = 3;
    NEAR(product(&roofline, DTYPE_F32, 3e9, 0, NULL), 45e-6, 1e-12);
    NEAR(product(&roofline, DTYPE_BF16, 3e9, 0, NULL), 15e-6, 1e-12); /* passes are of f32 only */
    roofline.peak_flops[DTYPE_F32] = 60e12;                           /* what was given counts as it is */
    NEAR(product(&roofline, DTYPE_F32, 3e9, 0, NULL), 50e-6, 1e-12);
    struct status st = {0};
    double seconds;
    CU_ASSERT(roofline_product_s(&roofline, (struct product){.dtype = DTYPE_C64, .flops = 1, .hbm_bytes = 1},
                                 &seconds, NULL, &st) < 0);
}

static void reaches_and_pads(void)
{
    struct chip chip = a_chip();
    struct roofline roofline;
    chip.efficiency[DTYPE_BF16] =
        (struct chip_efficiency){.steps = 2, .work = {1e9, 4e9}, .frac = {0.5, 0.75}};
    roofline_init(&roofline, &chip);
    /* 8 Gflop at 0.75 of 200 Tflop/s; 0.3 of them where that is set */
    NEAR(product(&roofline, DTYPE_BF16, 8e9, 0, NULL), 8e9 / 150e12, 1e-12);
    roofline.efficiency = 0.3;
    NEAR(product(&roofline, DTYPE_BF16, 8e9, 0, NULL), 8e9 / 60e12, 1e-12);
    /* m to 8s, k and n to tiles: 13 x 130 x 257 -> 16 x 256 x 384 */
    NEAR(roofline_product_flops(&roofline, 13, 130, 257), 2.0 * 13 * 130 * 257, 1e-15);
    roofline.mxu_padding = true;
    NEAR(roofline_product_flops(&roofline, 13, 130, 257), 2.0 * 16 * 256 * 384, 1e-15);
    NEAR(roofline_product_flops(&roofline, 16, 256, 384), 2.0 * 16 * 256 * 384, 1e-15); /* whole tiles stay */
}

static void reaches_hbm(void)
{
    struct chip chip = a_chip();
    struct roofline roofline;
    chip.hbm_efficiency = (struct chip_efficiency){.steps = 2, .work = {4e6, 700e6}, .frac = {0.4, 0.875}};
    roofline_init(&roofline, &chip);
    NEAR(roofline_memory_s(&roofline, 1.4e9), 1.4e9 / (0.7e12 * 0.875), 1e-12);
    NEAR(roofline_memory_s(&roofline, 4e6), 4e6 / (0.7e12 * 0.4), 1e-12);
    /* half way between the two steps, half way between their times */
    NEAR(roofline_memory_s(&roofline, 352e6), (4e6 / 0.4 + 700e6 / 0.875) / 2 / 0.7e12, 1e-12);
    /* a core of two has half, and what counts is what the chip does: 2 MB of one are 4 MB of both */
    roofline.cores = 2;
    NEAR(roofline_memory_s(&roofline, 2e6), 4e6 / (0.7e12 * 0.4), 1e-12);
    NEAR(roofline_memory_s(&roofline, 700e6), 1.4e9 / (0.7e12 * 0.875), 1e-12);
}

static void shares_a_chip(void)
{
    struct chip chip = a_chip();
    struct roofline roofline;
    chip.efficiency[DTYPE_BF16] =
        (struct chip_efficiency){.steps = 2, .work = {1e9, 4e9}, .frac = {0.5, 0.75}};
    roofline_init(&roofline, &chip);
    roofline.cores = 2;
    /* 2 Gflop of one core are 4 Gflop of the chip: 0.75 of 200 Tflop/s, halved */
    NEAR(product(&roofline, DTYPE_BF16, 2e9, 0, NULL), 2e9 / 75e12, 1e-12);
    roofline.peak_flops[DTYPE_BF16] = 90e12; /* of the chip, too, which reaches the same share of it */
    NEAR(product(&roofline, DTYPE_BF16, 2e9, 0, NULL), 2e9 / (0.75 * 45e12), 1e-12);
}

static void is_in_a_step(void)
{
    struct chip chip = a_chip();
    struct roofline roofline;
    chip.efficiency[DTYPE_BF16] = (struct chip_efficiency){.steps = 1, .work = {1}, .frac = {0.9}};
    roofline_init(&roofline, &chip);
    roofline.step = true;
    NEAR(product(&roofline, DTYPE_BF16, 3e9, 0, NULL), 3e9 / 180e12, 1e-12); /* no step was measured */
    chip.step_efficiency = 0.7;
    NEAR(product(&roofline, DTYPE_BF16, 3e9, 0, NULL), 3e9 / 140e12, 1e-12);
    roofline.step = false;
    NEAR(product(&roofline, DTYPE_BF16, 3e9, 0, NULL), 3e9 / 180e12, 1e-12);
    roofline.step = true;
    roofline.efficiency = 0.35; /* what was given counts */
    NEAR(product(&roofline, DTYPE_BF16, 3e9, 0, NULL), 3e9 / 70e12, 1e-12);
}

/* 300 x 200 x 500 by hand; tiles of 128, 65536 multiplications a cycle:
 *     300 rows stream through 2 x 4 tiles: 8 tiles x 304 rows x 128 x 128 / 65536 = 608 cycles; to load them 8 x 8 = 64
 *     500 rows through 2 x 3: 6 x 504 x 0.25 = 756, so it is 608
 *     results: 16 x min(304 x 512, 384 x 504) / 1024 = 2432; together 2432 (1 + 1/64)^(1/3)
 *     read again: min(120,000, 200,000) bytes, so 740,000 / 100 = 7400 cycles move
 *     prologue: (10,000 + 10,000) / 100 = 200 */
static const struct product_rule rule = {.fixed_cycles = 1000,
                                         .load_cycles = 8,
                                         .mxu_factor = 1,
                                         .results_cycles = 16,
                                         .hbm_bytes_per_cycle = 100,
                                         .block_rows = 256,
                                         .window_bytes = 1e4,
                                         .vmem_results_cycles = 10};
static const struct product_shape shape = {.batch = 1,
                                           .m = 300,
                                           .k = 200,
                                           .n = 500,
                                           .left_bytes = 120e3,
                                           .right_bytes = 200e3,
                                           .hbm_bytes = 620e3,
                                           .results = 1};

static void estimates_products(void)
{
    struct product_cycles cycles = product_estimate(&rule, &shape, 128, 65536);
    double multiply = 2432 * cbrt(1 + 1 / 64.) + 200;
    NEAR(cycles.multiply, multiply, 1e-12);
    NEAR(cycles.move, 7400, 1e-12);
    NEAR(cycles.all, 1000 + cbrt(pow(multiply, 3) + pow(7400, 3)), 1e-12);
    struct product_shape batch = shape; /* of 7: the operands are those of all */
    batch.batch = 7;
    NEAR(product_estimate(&rule, &batch, 128, 65536).multiply, 7 * (multiply - 200) + 200, 1e-12);
    batch.m =
        3; /* 3 rows are loaded, 8 x 2 tiles of 128 x 128: 500 streaming rows take 2 x 504 x 0.25 = 252, 8 rows 16, loading 64 */
    NEAR(product_padded(3, 500), 8 * 512, 1e-12);
    batch.batch = 1;
    double results = 16 * 8 * 512 / 1024.; /* 64, as loading */
    NEAR(product_estimate(&rule, &batch, 128, 65536).multiply, cbrt(2 * pow(results, 3)) + 200, 1e-12);
    /* In VMEM 10 / 16 of that; half of the time there, half in HBM; written to HBM, and what they are added to is read: 1.7 times. */
    static const double passes[] = {0, 0.5, 2}, costs[] = {10 / 16., 13 / 16., 1.7};
    for (int i = 0; i < 3; i++) {
        batch.results = passes[i];
        NEAR(product_estimate(&rule, &batch, 128, 65536).multiply, results * cbrt(1 + pow(costs[i], 3)) + 200,
             1e-12);
    }
}

/* The same on a chip of 1 GHz, whose peak is 131.072 Tflop/s. */
static void steps_follow_the_rule(void)
{
    struct chip chip = a_chip();
    struct roofline roofline;
    struct status st = {0};
    struct product product = {.dtype = DTYPE_BF16, .flops = 6e7, .hbm_bytes = 620e3, .shape = shape};
    double seconds, all = product_estimate(&rule, &shape, 128, 65536).all;
    enum bound_kind bound;
    chip.peak_flops[DTYPE_BF16] = 2 * 65536e9;
    chip.clock_Hz = 1e9;
    chip.cores = 1;
    chip.product_rule = rule;
    roofline_init(&roofline, &chip);
    roofline.step = true;
    OKAY(roofline_product_s(&roofline, product, &seconds, &bound, &st), st);
    NEAR(seconds, all * 1e-9, 1e-12);
    CU_ASSERT_STRING_EQUAL(bound_kind_name(bound), "HBM");
    NEAR(roofline_fixed_s(&roofline, &product), 1e-6, 1e-12);
    chip.step_efficiency = 0.8;
    OKAY(roofline_product_s(&roofline, product, &seconds, &bound, &st), st);
    NEAR(seconds, 1e-6 + (all - 1000) * 1e-9 / 0.8, 1e-12);
    roofline.given_launch_s = 3e-6;
    OKAY(roofline_product_s(&roofline, product, &seconds, &bound, &st), st);
    NEAR(seconds, 3e-6 + (all - 1000) * 1e-9 / 0.8, 1e-12);
    roofline.efficiency =
        0.5; /* what is given takes its place: 60 Mflop at half the peak take 0.9 us, 620 kB 0.89 */
    OKAY(roofline_product_s(&roofline, product, &seconds, &bound, &st), st);
    NEAR(seconds, 6e7 / (65536e9), 1e-12);
    roofline.efficiency = NAN;
    roofline.step = false;
    OKAY(roofline_product_s(&roofline, product, &seconds, &bound, &st), st);
    NEAR(seconds, 620e3 / 0.7e12, 1e-12);
}

/* Heads of 128 reach a half, over 1536 keys three quarters of that: blocks of 512 on the diagonal are computed whole. */
static void attention_is_of_its_width(void)
{
    struct chip chip = a_chip();
    CU_ASSERT(isnan(chip_attention_efficiency(&chip, 128, 0)));
    chip.attention_efficiency =
        (struct chip_efficiency){.steps = 2, .work = {128, 256}, .frac = {0.5, 0.625}};
    NEAR(chip_attention_efficiency(&chip, 128, 0), 0.5, 1e-12);
    NEAR(chip_attention_efficiency(&chip, 128, 1536), 0.375, 1e-12);
    NEAR(chip_attention_efficiency(&chip, 512, 1536), 0.46875, 1e-12);
}

/* Where a larger product reaches a smaller share of the peak, cutting it is faster, and the least time says so:
 * 2 * 512^3 operations at 0.8 of 1 Tflops in eight parts, 0.4 in one. */
static void parts_may_be_cheaper(void)
{
    struct chip chip = {.name = "falls", .peak_flops[DTYPE_BF16] = 1e12};
    chip.efficiency[DTYPE_BF16] = (struct chip_efficiency){
        .steps = 2, .work = {2 * 256.0 * 256 * 256, 2 * 512.0 * 512 * 512}, .frac = {0.8, 0.4}};
    struct roofline roofline;
    double flops = 2 * 512.0 * 512 * 512, whole_s;
    struct status st = {0};
    roofline_init(&roofline, &chip);
    roofline.hbm_Bps = NAN;
    OKAY(roofline_product_s(&roofline, (struct product){.dtype = DTYPE_BF16, .flops = flops}, &whole_s, NULL,
                            &st),
         st);
    NEAR(whole_s, flops / 0.4e12, 1e-12);
    NEAR(roofline_least_s(&roofline, DTYPE_BF16, flops, 0), flops / 0.8e12, 1e-12);
    chip.efficiency[DTYPE_BF16].frac[1] = 0.9;
    OKAY(roofline_product_s(&roofline, (struct product){.dtype = DTYPE_BF16, .flops = flops}, &whole_s, NULL,
                            &st),
         st);
    NEAR(roofline_least_s(&roofline, DTYPE_BF16, flops, 0), whole_s, 1e-12);
}

SUITE("roofline", TEST(parts_may_be_cheaper), TEST(binds), TEST(takes_passes), TEST(reaches_and_pads),
      TEST(reaches_hbm), TEST(shares_a_chip), TEST(is_in_a_step), TEST(estimates_products),
      TEST(steps_follow_the_rule), TEST(attention_is_of_its_width))
