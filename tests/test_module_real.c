/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Training steps of Llama as XLA's benchmarks have them. With thousands of lines each they are too large to be part of the
 * project; where they are at hand beside it, they are read, printed, counted and passed on.
 */
#include "compile/pass.h"
#include "hlo/hlo_read.h"
#include "hlo/module_check.h"
#include "modules.h"

#define REAL_MODULES "../shared/hlo"
static const char large[] = REAL_MODULES "/xla_bench_hlo_llama31_70b_bf16_32x8.hlo";
static const char small[] = REAL_MODULES "/xla_bench_hlo_llama31_8b_bf16_1x8.hlo";

static void come_back(void)
{
    module_file_comes_back(large);
    module_file_comes_back(small);
}

/* Executed as written, and after the pass: matmul FLOPs by closed forms of the models; counts by an independent reader. */
static void counts_are(const char *path, double gathers, double reduces, double scatters, double flops,
                       double custom)
{
    struct module from, to;
    struct status st = {0};
    double got, uncosted;
    int found;
    OKAY(hlo_load(&from, path, NULL, NULL, &st), st);
    OKAY(pass_reduce_scatters(&from, &to, &found, &st), st);
    CU_ASSERT_EQUAL(module_executed(&from, HLO_ALL_GATHER, &got, &uncosted), gathers);
    NEAR(got, flops, 1e-5); /* six digits are published */
    CU_ASSERT_EQUAL(uncosted, custom);
    CU_ASSERT_EQUAL(module_executed(&from, HLO_ALL_REDUCE, &got, &uncosted), reduces);
    CU_ASSERT_EQUAL(module_executed(&to, HLO_ALL_REDUCE, &got, &uncosted), reduces - scatters);
    CU_ASSERT_EQUAL(module_executed(&to, HLO_REDUCE_SCATTER, &got, &uncosted), scatters);
    NEAR(got, flops, 1e-5);
    OKAY(module_check(&to, NULL, &st), st);
    module_free(&from);
    module_free(&to);
}

static void reduce_scatters_are_found(void)
{
    counts_are(large, 1122, 1323, 562, 8.52843e15, 240);
    counts_are(small, 450, 1197, 226, 7.72166e14, 64);
}

SUITE_NEEDS("module_real", REAL_MODULES, TEST(come_back), TEST(reduce_scatters_are_found))
