/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pass that finds reduce-scatters in disguise, and what passes are written with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/pass.h"
#include "hlo/cost.h"
#include "hlo/edit.h"
#include "hlo/hlo_read.h"
#include "hlo/module_check.h"
#include "modules.h"
#include "random_module.h"

/* A module that is copied instruction by instruction is the same module. */
static void copies_are_equal(void)
{
    for (int seed = 0; seed < 300; seed++) {
        struct suite_random r = {(uint64_t)seed};
        struct module from, to;
        struct edit edit;
        struct status st = {0};
        random_module(&from, &r);
        OKAY(edit_open(&edit, &from, &to, &st), st);
        for (int32_t c = 0; c < from.computations; c++) {
            edit_begin(&edit, c);
            for (int32_t i = 0; i < from.computation[c].count; i++)
                edit_copy(&edit, from.computation[c].first + i);
        }
        OKAY(edit_close(&edit, 0, &st), st);
        CU_ASSERT(modules_equal(&from, &to));
        module_free(&from);
        module_free(&to);
    }
}

/* An all-reduce `reduce` of p and a slice `slice` of it; `offset` computes `at`, where it starts. 4 partitions; 2 of 3
 * fields of the text are replaced in the variants. */
static const char disguise[] =
    "HloModule m, num_partitions=4\n"
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
    "ENTRY e {\n  p = f32[12,5] parameter(0)\n  zero = s32[] constant(0)\n  me = u32[] partition-id()\n"
    "  r = f32[12,5] all-reduce(p), %s, to_apply=sum, metadata={op_name=\"g\"}\n  %s\n"
    "  s = %s dynamic-slice(r, %s), dynamic_slice_sizes={3,5}, control-predecessors={me}\n"
    "  ROOT t = f32[3,5] negate(s)\n}\n";
static const char all[] = "channel_id=1, replica_groups=[1,4]<=[4], use_global_device_ids=true";
static const char from_table[] =
    "table = s32[4] constant({0, 3, 6, 9})\n  row = s32[1] dynamic-slice(table, me), "
    "dynamic_slice_sizes={1}\n  at = s32[] reshape(row)";

static int found_in(const char *groups, const char *offset, const char *shape, const char *starts)
{
    char text[1600];
    struct module from, to;
    struct status st = {0};
    int found = -1;
    snprintf(text, sizeof text, disguise, groups, offset, shape, starts);
    module_of(&from, text);
    OKAY(pass_reduce_scatters(&from, &to, &found, &st), st);
    CU_ASSERT_EQUAL(to.instructions > 0, found > 0);
    OKAY(module_check(found ? &to : &from, NULL, &st), st);
    module_free(&from);
    module_free(&to);
    return found;
}

static void finds_every_kind_of_offset(void)
{
    const char *part = "f32[3,5]", *rows = "at, zero";
    CU_ASSERT_EQUAL(found_in(all, from_table, part, rows), 1);
    CU_ASSERT_EQUAL(found_in(all, "three = u32[] constant(3)\n  at = u32[] multiply(me, three)", part, rows),
                    1);
    /* 2 groups of 2: partitions 0 and 2 take the first half, by (id mod 2) 0 0, (id / 2) 0 6 */
    const char *apart = "channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), use_global_device_ids=true";
    CU_ASSERT_EQUAL(
        found_in(apart,
                 "two = u32[] constant(2)\n  q = u32[] divide(me, two)\n  six = u32[] constant(6)\n"
                 "  at = u32[] multiply(q, six)",
                 "f32[6,5]", rows),
        1);
    CU_ASSERT_EQUAL(
        found_in(apart,
                 "two = u32[] constant(2)\n  q = u32[] remainder(me, two)\n  six = u32[] constant(6)\n"
                 "  at = u32[] multiply(q, six)",
                 "f32[6,5]", rows),
        0);
    /* replicas with all of their partitions: one replica, so all partitions */
    CU_ASSERT_EQUAL(found_in("channel_id=1, replica_groups={{0}}", from_table, part, rows), 1);
}

static void leaves_what_is_none(void)
{
    const char *part = "f32[3,5]", *rows = "at, zero";
    /* another's part; a part that is too small, or cut in the other dim; a second reader; offsets from outside */
    CU_ASSERT_EQUAL(
        found_in(all,
                 "table = s32[4] constant({0, 3, 9, 6})\n  row = s32[1] dynamic-slice(table, me), "
                 "dynamic_slice_sizes={1}\n  at = s32[] reshape(row)",
                 part, rows),
        0);
    CU_ASSERT_EQUAL(found_in(all,
                             "table = s32[4] constant({...})\n  row = s32[1] dynamic-slice(table, me), "
                             "dynamic_slice_sizes={1}\n  at = s32[] reshape(row)",
                             part, rows),
                    0);
    CU_ASSERT_EQUAL(
        found_in(all,
                 "table = s32[4] constant({9, 3, 6, 9})\n  row = s32[1] dynamic-slice(table, me), "
                 "dynamic_slice_sizes={1}\n  at = s32[] reshape(row)",
                 part, rows),
        0);
    CU_ASSERT_EQUAL(found_in(all, from_table, "f32[2,5]", rows), 0);
    CU_ASSERT_EQUAL(found_in(all, from_table, "f32[3,1]", rows), 0);
    CU_ASSERT_EQUAL(found_in(all, "at = s32[] constant(3)", part, rows), 0);
    CU_ASSERT_EQUAL(found_in(all, "at = s32[] parameter(1)", part, rows), 0);
    CU_ASSERT_EQUAL(found_in(all, "u = f32[12,5] negate(r)\n  at = s32[] constant(0)", part, rows), 0);
    CU_ASSERT_EQUAL(found_in("channel_id=1, replica_groups=[2,2]<=[4], use_global_device_ids=true",
                             from_table, part, rows),
                    0);
    /* four groups of one device: nothing is scattered */
    CU_ASSERT_EQUAL(found_in("channel_id=1, replica_groups=[4,1]<=[4], use_global_device_ids=true",
                             from_table, "f32[12,5]", rows),
                    0);
}

/* 3 replicas of 4 partitions: each replica scatters over its own, by the partition's id; or each partition over replicas. */
static void finds_it_on_replicas(void)
{
    static const char *const ids[] = {"partition-id", "replica-id"};
    static const char *const groups[] = {"[3,4]<=[12]", "[4,3]<=[3,4]T(1,0)"};
    for (int i = 0; i < 4; i++) {
        char text[1000];
        struct module from, to;
        struct status st = {0};
        int found, parts = i / 2 ? 3 : 4;
        snprintf(text, sizeof text,
                 "HloModule m, replica_count=3, num_partitions=4\n"
                 "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
                 "ENTRY e {\n  p = f32[24] parameter(0)\n  me = u32[] %s()\n  n = u32[] constant(%d)\n"
                 "  r = f32[24] all-reduce(p), channel_id=1, replica_groups=%s, use_global_device_ids=true, "
                 "to_apply=sum\n"
                 "  at = u32[] multiply(n, me)\n  ROOT s = f32[%d] dynamic-slice(r, at), "
                 "dynamic_slice_sizes={%d}\n}\n",
                 ids[i % 2], 24 / parts, groups[i / 2], 24 / parts, 24 / parts);
        module_of(&from, text);
        OKAY(pass_reduce_scatters(&from, &to, &found, &st), st);
        CU_ASSERT_EQUAL(found, i % 2 == i / 2);
        module_free(&from);
        module_free(&to);
    }
}

/* What is called first of all counts, too. */
static void counts_the_first_computation(void)
{
    struct module m;
    struct status st = {0};
    double runs[3];
    module_of(&m, "HloModule m\nfirst { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }\n"
                  "twice { p = f32[4] parameter(0)\n a = f32[4] fusion(p), calls=first\n ROOT b = f32[4] "
                  "fusion(a), calls=first }\n"
                  "ENTRY e { p = f32[4] parameter(0) a = f32[4] call(p), to_apply=twice ROOT c = f32[4] "
                  "fusion(a), calls=first }");
    OKAY(module_executions(&m, runs, &st), st);
    CU_ASSERT(runs[0] == 3 && runs[1] == 1 && runs[2] == 1);
    module_free(&m);
}

static int found_alone(const char *instructions)
{
    char text[1000];
    struct module from, to;
    struct status st = {0};
    int found = -1;
    snprintf(
        text, sizeof text,
        "HloModule m, num_partitions=4\nENTRY e {\n  p = f32[4] parameter(0)\n"
        "  me = u32[] partition-id()\n  r = f32[4] all-reduce(p), channel_id=1, replica_groups={}\n%s\n}\n",
        instructions);
    module_of(&from, text);
    OKAY(pass_reduce_scatters(&from, &to, &found, &st), st);
    module_free(&from);
    module_free(&to);
    return found;
}

static void needs_to_know_all(void)
{
    const char *slice = "  ROOT s = f32[1] dynamic-slice(r, me), dynamic_slice_sizes={1}";
    CU_ASSERT_EQUAL(found_alone(slice), 1);
    /* the root is the whole sum: that is read, too */
    CU_ASSERT_EQUAL(found_alone("  s = f32[1] dynamic-slice(r, me), dynamic_slice_sizes={1}\n"
                                "  ROOT t = (f32[4], f32[1]) tuple(r, s)"),
                    0);
    CU_ASSERT_EQUAL(found_alone("  ROOT q = f32[4] all-reduce(p), channel_id=2, replica_groups={}\n"
                                "  s = f32[1] dynamic-slice(q, me), dynamic_slice_sizes={1}"),
                    0);
    /* a table that is not printed */
    CU_ASSERT_EQUAL(
        found_alone(
            "  t = s32[4] constant({...})\n  o = s32[1] dynamic-slice(t, me), dynamic_slice_sizes={1}\n"
            "  a = s32[] reshape(o)\n  ROOT s = f32[1] dynamic-slice(r, a), dynamic_slice_sizes={1}"),
        0);
}

static void writes_it(void)
{
    char text[1600];
    struct module from, to;
    struct status st = {0};
    int found;
    snprintf(text, sizeof text, disguise, all, from_table, "f32[3,5]", "at, zero");
    module_of(&from, text);
    OKAY(pass_reduce_scatters(&from, &to, &found, &st), st);
    char *got = text_of(&to);
    CU_ASSERT_STRING_EQUAL(
        strstr(got, "ENTRY"),
        "ENTRY %e {\n  %p = f32[12,5] parameter(0)\n"
        "  %s = f32[3,5] reduce-scatter(%p), dimensions={0}, channel_id=1, replica_groups=[1,4]<=[4], "
        "use_global_device_ids=true, to_apply=%sum, metadata={op_name=\"g\"}\n"
        "  ROOT %t = f32[3,5] negate(%s)\n}\n");
    free(got);
    module_free(&from);
    module_free(&to);
}

/* The partition's id comes into the fusion from outside. */
static void finds_it_in_fusions(void)
{
    struct module from, to;
    struct status st = {0};
    int found;
    module_of(
        &from,
        "HloModule m, num_partitions=4\n"
        "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
        "scatter { p = f32[8] parameter(0)\n  id = u32[] parameter(1)\n  two = u32[] constant(2)\n"
        "  r = f32[8] all-reduce(p), channel_id=1, replica_groups={}, to_apply=sum\n"
        "  at = u32[] multiply(two, id)\n  ROOT s = f32[2] dynamic-slice(r, at), dynamic_slice_sizes={2} }\n"
        "ENTRY e {\n  p = f32[8] parameter(0)\n  me = u32[] partition-id()\n"
        "  ROOT f = f32[2] fusion(p, me), kind=kCustom, calls=scatter }\n");
    OKAY(pass_reduce_scatters(&from, &to, &found, &st), st);
    OKAY(module_check(&to, NULL, &st), st);
    CU_ASSERT_EQUAL(found, 1);
    CU_ASSERT_EQUAL(module_at(&to, to.computation[1].root)->opcode, HLO_REDUCE_SCATTER);
    module_free(&from);
    module_free(&to);
}

static void counts_loops(void)
{
    /* outer loop 5 trips of one 2 * 1024^3 matmul, the inner one 3 trips each */
    struct module m;
    struct status st = {0};
    double flops, uncosted;
    OKAY(hlo_load(&m, "tests/golden/hlo/3_while.hlo", NULL, NULL, &st), st);
    CU_ASSERT_EQUAL(module_executed(&m, HLO_ALL_REDUCE, &flops, &uncosted), 15);
    NEAR(flops, 5 * 2.0 * 1024 * 1024 * 1024, 0);
    /* conditions run once more than bodies: 5 + 1, and of the inner loop 5 * (3 + 1) */
    CU_ASSERT_EQUAL(module_executed(&m, HLO_COMPARE, &flops, &uncosted), 6 + 20);
    module_free(&m);
}

SUITE("reduce_scatter", TEST(copies_are_equal), TEST(finds_every_kind_of_offset), TEST(leaves_what_is_none),
      TEST(finds_it_on_replicas), TEST(counts_the_first_computation), TEST(needs_to_know_all),
      TEST(writes_it), TEST(finds_it_in_fusions), TEST(counts_loops))
