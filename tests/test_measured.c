/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of measured times, as three programs write them, and what points become of their rows. */
#include <math.h>
#include <string.h>

#include "collective/collective.h"
#include "settings/measured.h"
#include "suite.h"

static int parse(struct measured *m, const char *text, const struct settings *base, struct status *st)
{
    return measured_parse(m, "times.csv", text, strlen(text), base, st);
}

static void refused(const char *text, const char *reason)
{
    struct measured m;
    struct status st = {0};
    CU_ASSERT_EQUAL(parse(&m, text, NULL, &st), STATUS_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, reason));
    if (!strstr(st.text, reason))
        printf("'%s' does not say '%s'\n", st.text, reason);
}

static void test_own(void)
{
    struct measured m;
    struct status st = {0};
    OKAY(parse(&m,
               "id,operation,chip,slice,axes,ring,size_bytes,time_s\n"
               "a,all-gather,v5e,8x16,y,bidi-half,131072,1.53e-05\n"
               "b,all-reduce,v4,4x4x4,\"x,z\",uni,4096,\n"
               "c,reduce-scatter,v4,4x4x4,\"x,z\",uni,4096,2e-05\n",
               NULL, &st),
         st);
    CU_ASSERT_STRING_EQUAL(m.kind, "icisim");
    CU_ASSERT_EQUAL_FATAL(m.rows, 2); /* a row without a time is no measurement */
    CU_ASSERT_EQUAL_FATAL(m.gaps, 1);
    CU_ASSERT_EQUAL(m.gap[0].line, 3);
    CU_ASSERT_EQUAL(m.row[0].line, 2);
    NEAR(m.row[0].time_s, 1.53e-5, 1e-15);
    CU_ASSERT_EQUAL(m.row[0].point.work.size_bytes, 131072);
    CU_ASSERT_STRING_EQUAL(m.row[0].point.machine.chip, "v5e");
    CU_ASSERT_STRING_EQUAL(m.row[0].point.work.axis, "y");
    CU_ASSERT_EQUAL(m.row[0].point.schedule.ring, RING_BIDI_HALF);
    CU_ASSERT_EQUAL(m.row[1].line, 4);
    CU_ASSERT_STRING_EQUAL(m.row[1].point.work.op, "reduce-scatter");
    CU_ASSERT_STRING_EQUAL(m.row[1].point.work.axis, "x,z");
    CU_ASSERT_STRING_EQUAL(csv_table_text(&m.table, m.row[1].row, "id"), "c");
    CU_ASSERT_STRING_EQUAL(csv_table_text(&m.table, m.row[1].row, "nothing"), "");
    measured_free(&m);
}

static void test_run_column(void)
{
    struct measured m;
    struct status st = {0};
    OKAY(parse(
             &m,
             "slice,size_bytes,time_s,run\n"
             "no shape,,2.24e-4,\"'int32[8@X,4] . int32[4,2] -> int32[8@X,2]' --mesh X=2 --strategy naive\"\n"
             "no shape,4096,1e-5,all-to-all --chip v4 --slice 8 --keep-ties\n",
             NULL, &st),
         st);
    CU_ASSERT_EQUAL_FATAL(m.rows, 2);
    CU_ASSERT_STRING_EQUAL(m.row[0].point.work.op, "int32[8@X,4] . int32[4,2] -> int32[8@X,2]");
    CU_ASSERT_EQUAL(m.row[0].point.work.size_bytes, 0);
    CU_ASSERT_STRING_EQUAL(m.row[1].point.machine.slice, "8");
    CU_ASSERT_TRUE(m.row[1].point.schedule.keep_ties);
    CU_ASSERT_EQUAL(m.row[1].point.work.size_bytes, 4096);
    measured_free(&m);
}

/* What our own sweeps write: the command counts, not the columns, some of which are only named like options. */
static void test_command_column(void)
{
    struct measured m;
    struct status st = {0};
    OKAY(parse(&m,
               "op,strategy,size_bytes,time_s,command\n"
               "all-to-all,ring,4096,1e-5,run all-to-all --slice 4x4 --all-to-all ring --ring uni\n",
               NULL, &st),
         st);
    CU_ASSERT_EQUAL_FATAL(m.rows, 1);
    CU_ASSERT_STRING_EQUAL(m.row[0].point.work.op, "all-to-all");
    CU_ASSERT_STRING_EQUAL(m.row[0].point.machine.slice, "4x4");
    CU_ASSERT_STRING_EQUAL(m.row[0].point.schedule.strategy, "auto"); /* not given */
    CU_ASSERT_EQUAL(m.row[0].point.schedule.all_to_all, ALL_TO_ALL_RING);
    CU_ASSERT_EQUAL(m.row[0].point.schedule.ring, RING_UNI);
    measured_free(&m);
}

static void test_nccl(void)
{
    struct measured m;
    struct settings base;
    struct status st = {0};
    settings_init(&base);
    OKAY(settings_add(&base, option_by_name("op"), "all-to-all", &st), st);
    OKAY(parse(&m,
               "size,count,type,redop,root,time,algbw,busbw\n"
               "8388608,2097152,float,sum,-1,80.46,104.26,182.45\n",
               &base, &st),
         st);
    CU_ASSERT_STRING_EQUAL(m.kind, "nccl-tests");
    NEAR(m.row[0].time_s, 80.46e-6, 1e-12);
    CU_ASSERT_EQUAL(m.row[0].point.work.size_bytes, 8388608);
    CU_ASSERT_TRUE(m.row[0].size_per_chip);
    measured_free(&m);
    settings_free(&base);
}

/* As it is printed, with what a library prints between; the times of the first set of columns count. */
static void test_nccl_text(void)
{
    struct measured m;
    struct status st = {0};
    OKAY(
        parse(
            &m,
            "# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809\n"
            "# Collective test starting: alltoall_perf\n"
            "# nThread 1 nGpus 8 minBytes 1024 maxBytes 8388608 step: 2(factor) warmup iters: 5 iters: 20\n"
            "NCCL version 2.18.3+cuda12.2\n"
            "#\n"
            "#                                               out-of-place                       in-place\n"
            "#       size      count   type   redop    root     time   algbw   busbw #wrong     time   algbw "
            "  "
            "busbw #wrong\n"
            "#        (B)   (elements)                         (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
            "(GB/s)\n"
            "     1048576        32768  float    none      -1    38.21   27.44   24.01      0    37.90   "
            "27.67   "
            "24.21    N/A\n"
            "     8388608       262144  float    none      -1    80.46  104.26   91.23      0    79.94  "
            "104.94   "
            "91.82    N/A\n"
            "# Out of bounds values : 0 OK\n"
            "# Avg bus bandwidth    : 57.8\n",
            NULL, &st),
        st);
    CU_ASSERT_STRING_EQUAL(m.kind, "nccl-tests");
    CU_ASSERT_EQUAL_FATAL(m.rows, 2);
    CU_ASSERT_EQUAL(m.row[1].line, 10);
    NEAR(m.row[1].time_s, 80.46e-6, 1e-12);
    CU_ASSERT_EQUAL(m.row[1].point.work.size_bytes, 8388608);
    CU_ASSERT_STRING_EQUAL(m.row[1].point.work.op, "all-to-all");
    CU_ASSERT_TRUE(m.row[1].size_per_chip);
    CU_ASSERT_STRING_EQUAL(csv_table_text(&m.table, m.row[1].row, "in place time"), "79.94");
    measured_free(&m);
    refused("#  size time busbw\n  8 16.43\n", "times.csv:2: 2 cells where the header has 3");
    refused("#  size time busbw\n  8 many 3\n", "times.csv:2: column 'time'");
}

static void test_microseconds(void)
{
    struct measured m;
    struct status st = {0};
    OKAY(parse(&m, "op,size_bytes,time_us\nallreduce,4096,23.85\n", NULL, &st), st);
    CU_ASSERT_EQUAL_FATAL(m.rows, 1);
    NEAR(m.row[0].time_s, 23.85e-6, 1e-12);
    CU_ASSERT_STRING_EQUAL(m.row[0].point.work.op, "allreduce");
    measured_free(&m);
}

static void test_accelerator_microbenchmarks(void)
{
    struct measured m;
    struct status st = {0};
    OKAY(parse(&m,
               "iteration,op_type,rank,input_num_elements,dtype_bytes,step_time_ms_p50,step_time_ms_avg\n"
               "64,AG,4,65536,4,0.0219,0.022\n"
               "64,AR,4,65536,4,0.05,0.06\n",
               NULL, &st),
         st);
    CU_ASSERT_STRING_EQUAL(m.kind, "accelerator-microbenchmarks");
    /* a gathered array has the inputs of all 4 devices, 1 MiB; a reduced one is as large as each input */
    NEAR(m.row[0].size_bytes, 1048576, 1e-15);
    NEAR(m.row[0].time_s, 21.9e-6, 1e-12);
    CU_ASSERT_STRING_EQUAL(m.row[0].point.work.op, "all-gather");
    NEAR(m.row[1].size_bytes, 262144, 1e-15);
    CU_ASSERT_STRING_EQUAL(m.row[1].point.work.op, "all-reduce");
    measured_free(&m);
}

static void test_refusals(void)
{
    refused("bytes,seconds\n1,2\n", "size_bytes and time_s");
    refused("size_bytes,time_s\n4096,-1e-5\n", "times.csv:2");
    refused("size_bytes,time_s\n4096,soon\n", "times.csv:2");
    refused("size_bytes,time_s\n", "no row");
    refused("ring,size_bytes,time_s\nsquare,4096,1e-5\n", "times.csv:2");
    refused("run,size_bytes,time_s\nall-gather --colour red,4096,1e-5\n", "'--colour' is not an option");
    refused("run,size_bytes,time_s\nall-gather --slice,4096,1e-5\n", "--slice needs a value");
    refused("run,size_bytes,time_s\n'all-gather,4096,1e-5\n", "quote");
    refused("ring,size_bytes,time_s\n\"uni,bidi\",4096,1e-5\n", "one point");
    refused("op_type,rank,input_num_elements,dtype_bytes,step_time_ms_p50\nXX,4,64,4,0.1\n",
            "AG, AR, RS, A2A");
    refused("rank,input_num_elements,dtype_bytes,step_time_ms_p50\n8,1024,2,0.5\n", "no column 'op_type'");
    refused("op_type,rank,input_num_elements,dtype_bytes,step_time_ms_p50\nAG,8,1e300,2,0.5\n",
            "times.csv:2: column 'input_num_elements': 1.6e+301 bytes; a size is 0 to 2^63");
}

SUITE("measured", TEST(test_own), TEST(test_run_column), TEST(test_command_column), TEST(test_nccl),
      TEST(test_nccl_text), TEST(test_microseconds), TEST(test_accelerator_microbenchmarks),
      TEST(test_refusals))
