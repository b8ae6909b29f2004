/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public library, called from several threads at once: they find what one finds. */
#include <icisim/icisim.h>
#include <pthread.h>

#include "suite.h"

enum { THREADS = 4, SHAPES = 6 };
static const char *const shapes[SHAPES] = {"a=16", "a=8,b=2", "a=4,b=4", "a=2,b=8", "b=16", "a=2,b=2,c=4"};

static void *search(void *times_s)
{
    struct icisim_point *point = icisim_point_new(NULL);
    for (int i = 0; i < SHAPES; i++) {
        struct icisim_status own;
        icisim_point_set(point, "op", "all-reduce", &own);
        icisim_point_set(point, "slice", "4x4", &own);
        icisim_point_set(point, "size", "7MB", &own);
        icisim_point_set(point, "mesh", shapes[i], &own);
        icisim_point_set(point, "allow-split-physical-axes", "on", &own);
        struct icisim_result *result = icisim_point_run(point, &own);
        if (result)
            icisim_result_real(result, "time_s", (double *)times_s + i, &own);
        icisim_result_free(result);
    }
    icisim_point_free(point);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    double want[SHAPES] = {0}, got[THREADS][SHAPES] = {{0}};
    search(want);
    for (int t = 0; t < THREADS; t++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[t], NULL, search, got[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
        for (int i = 0; i < SHAPES; i++)
            CU_ASSERT(want[i] > 0 && !(got[t][i] < want[i]) && !(got[t][i] > want[i]));
    }
}

SUITE("library_threads", TEST(threads))
