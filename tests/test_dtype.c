/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Element types: their names, as XLA, JAX and people write them, and sizes. */
#include "base/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"

static void types_have_names(void)
{
    struct status bad = {0};
    CU_ASSERT_EQUAL(dtype_by_name("int32", NULL), DTYPE_S32);
    CU_ASSERT_EQUAL(dtype_by_name("s32", NULL), DTYPE_S32);
    CU_ASSERT_EQUAL(dtype_by_name("i32", NULL), DTYPE_S32);
    CU_ASSERT_EQUAL(dtype_by_name("bfloat16", NULL), DTYPE_BF16);
    CU_ASSERT_EQUAL(dtype_by_name("f8e5m2", NULL), DTYPE_F8E5M2);
    CU_ASSERT(dtype_info(DTYPE_S4)->bytes == 0.5);
    CU_ASSERT(dtype_info(DTYPE_BF16)->bytes == 2);
    CU_ASSERT(dtype_info(DTYPE_C128)->bytes == 16);
    CU_ASSERT_EQUAL(dtype_by_name("fb16", &bad), STATUS_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(bad.text, "unknown dtype 'fb16'; the nearest"));
    for (int d = 0; d < DTYPE_COUNT; d++) {
        CU_ASSERT_EQUAL(dtype_by_name(dtype_info((enum dtype_id)d)->name, NULL), d);
        CU_ASSERT_EQUAL(dtype_by_name(dtype_info((enum dtype_id)d)->jax, NULL), d);
        CU_ASSERT_EQUAL(dtype_by_name(dtype_info((enum dtype_id)d)->brief, NULL), d);
    }
}

/* What numpy 2.4 (with ml_dtypes 0.6) makes of numbers by astype(). */
static void types_hold_numbers(void)
{
    static const struct {
        enum dtype_id id;
        double given, held;
    } cases[] = {
        {DTYPE_S8, 200, -56},
        {DTYPE_S8, -129, 127},
        {DTYPE_U8, -1, 255},
        {DTYPE_U16, 65537, 1},
        {DTYPE_S32, 0x1p31, -0x1p31},
        {DTYPE_U32, -3, 4294967293.0},
        {DTYPE_S4, 9, -7},
        {DTYPE_S64, 0x1p40, 0x1p40},
        {DTYPE_S32, -2.75, -2},
        {DTYPE_PRED, 0.25, 1},
        {DTYPE_PRED, 0, 0},
        {DTYPE_BF16, 257, 256},
        {DTYPE_BF16, 259, 260},
        {DTYPE_BF16, -3.14159, -3.140625},
        {DTYPE_F16, 2049, 2048},
        {DTYPE_F16, 65519, 65504},
        {DTYPE_F16, -65520, -INFINITY},
        {DTYPE_F16, 0x1.8p-25, 0x1p-24},
        {DTYPE_F32, 1e39, INFINITY},
        {DTYPE_F64, 1e39, 1e39},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double held = dtype_hold(cases[i].id, cases[i].given);
        CU_ASSERT(held == cases[i].held);
        if (held != cases[i].held)
            fprintf(stderr, "%s of %.17g is %.17g\n", dtype_info(cases[i].id)->name, cases[i].given, held);
    }
    CU_ASSERT(isnan(dtype_hold(DTYPE_BF16, NAN)));
    CU_ASSERT_FALSE(dtype_is_whole(DTYPE_F4E2M1FN));
    CU_ASSERT_TRUE(dtype_is_whole(DTYPE_U64));
}

SUITE("dtype", TEST(types_have_names), TEST(types_hold_numbers))
