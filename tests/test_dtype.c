/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Element types: their names, as XLA, JAX and people write them, and sizes. */
#include "base/dtype.h"

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

SUITE("dtype", TEST(types_have_names))
