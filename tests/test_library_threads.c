/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public library, called from several threads at once: they find what one finds. */
#include <icisim/icisim.h>
#include <pthread.h>

#include "suite.h"

/* A process forked beside other threads may inherit a lock that a sanitizer holds, and wait for it until its time is up. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { FORKED = 0 };
#else
enum { FORKED = 2 };
#endif
enum { THREADS = 8, SHAPES = 6, CASES = SHAPES + 4 + FORKED };
static const char *const shapes[SHAPES] = {"a=16", "a=8,b=2", "a=4,b=4", "a=2,b=8", "b=16", "a=2,b=2,c=4"};

/* And one of each other kind: a matmul, random traffic, a model, a model of experts, in processes of their own (SimGrid). */
static const char *const others[][4] = {
    {"op", "bf16[1024@x,2048] . bf16[2048,8192@x] -> bf16[1024@x,8192]", NULL, "event"},
    {"op", "ragged-all-to-all", "random:7", "event"},
    {NULL, "workloads/net-fsdp-tp.yaml", NULL, "event"},
    {NULL, "workloads/moe-example.yaml", NULL, "event"},
    {"op", "ragged-all-to-all", "random:7", "simgrid"},
    {"op", "bf16[1024@x,2048] . bf16[2048,8192@x] -> bf16[1024@x,8192]", NULL, "both"},
};

static void run(struct icisim_point *point, double *time_s)
{
    struct icisim_status own;
    struct icisim_result *result = icisim_point_run(point, &own);
    if (result)
        icisim_result_real(result, "time_s", time_s, &own);
    icisim_result_free(result);
}

static void run_other(int which, double *time_s)
{
    struct icisim_point *point = icisim_point_new(NULL);
    const char *const *other = others[which];
    if (!other[0])
        icisim_point_read(point, other[1], NULL);
    else
        icisim_point_set(point, other[0], other[1], NULL);
    icisim_point_set(point, "engine", other[3], NULL);
    if (other[0])
        icisim_point_set(point, "slice", "4x2", NULL);
    if (other[2]) {
        icisim_point_set(point, "size", "24192B", NULL);
        icisim_point_set(point, "pair-sizes", other[2], NULL);
    }
    run(point, time_s);
    icisim_point_free(point);
}

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
        run(point, (double *)times_s + i);
    }
    icisim_point_free(point);
    for (int i = SHAPES; i < CASES; i++)
        run_other(i - SHAPES, (double *)times_s + i);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    double want[CASES] = {0}, got[THREADS][CASES] = {{0}};
    search(want);
    for (int t = 0; t < THREADS; t++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[t], NULL, search, got[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
        for (int i = 0; i < CASES; i++)
            CU_ASSERT(want[i] > 0 && !(got[t][i] < want[i]) && !(got[t][i] > want[i]));
    }
}

SUITE("library_threads", TEST(threads))
