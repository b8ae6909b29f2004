/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What instructions of scheduled text do of a collective; texts as XLA:TPU prints them, with fewer elements. */
#include "hlo/communication.h"

#include <stdio.h>
#include <stdlib.h>

#include "compile/pass.h"
#include "hlo/cost.h"
#include "hlo/tally.h"
#include "modules.h"

#define HEAD                                                                                                 \
    "HloModule m, is_scheduled=true, num_partitions=8\n"                                                     \
    "sum { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT c = bf16[] add(a, b) }\n"
#define ON " channel_id=3, replica_groups=[1,8]<=[8], use_global_device_ids=true"
#define GATHER                                                                                               \
    "  g = bf16[1024,256]{1,0} all-gather(p)," ON ", dimensions={0}, frontend_attributes={chain_id=\"0\"}\n"
#define PASSED                                                                                               \
    "p = bf16[128,256]{1,0} parameter(0) b = bf16[1024,256]{1,0} parameter(1) f = u32[] parameter(2)\n"

/* One gather of 128x256 shards to 1024x256, beside the product 512x1024x2048 of its step. */
static const char async_fusion[] = HEAD
    "start {\n  p = bf16[128,256]{1,0} parameter(0)\n" GATHER
    "  ROOT s = (bf16[128,256]{1,0}, bf16[1024,256]{1,0}, u32[]) custom-call(g), "
    "custom_call_target=\"AsyncCollectiveStart\"\n}\n"
    "async_collective_fusion {\n  " PASSED GATHER
    "  x = bf16[512,1024]{1,0} parameter(3) y = bf16[1024,2048]{1,0} parameter(4)\n"
    "  d = bf16[512,2048]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  ROOT t = (bf16[512,2048]{1,0}, bf16[128,256]{1,0}, bf16[1024,256]{1,0}, u32[]) tuple(d, p, g, f)\n}\n"
    "done {\n  " PASSED GATHER
    "  ROOT d = bf16[1024,256]{1,0} custom-call(p, b, g, f), custom_call_target=\"AsyncCollectiveDone\"\n}\n"
    "ENTRY e {\n  w = bf16[128,256]{1,0} parameter(0) x = bf16[512,1024]{1,0} parameter(1)\n"
    "  y = bf16[1024,2048]{1,0} parameter(2)\n"
    "  start = (bf16[128,256]{1,0}, bf16[1024,256]{1,0}, u32[]) fusion(w), kind=kOutput, calls=start\n"
    "  a = bf16[128,256]{1,0} get-tuple-element(start), index=0\n"
    "  b = bf16[1024,256]{1,0} get-tuple-element(start), index=1\n  c = u32[] get-tuple-element(start), "
    "index=2\n"
    "  step = (bf16[512,2048]{1,0}, bf16[128,256]{1,0}, bf16[1024,256]{1,0}, u32[]) fusion(a, b, c, x, y), "
    "kind=kOutput, calls=async_collective_fusion\n"
    "  k = bf16[128,256]{1,0} get-tuple-element(step), index=1\n"
    "  l = bf16[1024,256]{1,0} get-tuple-element(step), index=2\n  m = u32[] get-tuple-element(step), "
    "index=3\n"
    "  ROOT done = bf16[1024,256]{1,0} fusion(k, l, m), kind=kOutput, calls=done\n}\n";

/* A reduction on a SparseCore: the start has no operands, the update brings them. */
static const char sparse_core[] =
    HEAD "called {\n  p = bf16[8,16]{1,0} parameter(0)\n"
         "  ROOT r = bf16[8,16]{1,0} all-reduce(p)," ON ", to_apply=sum\n}, execution_thread=\"sparsecore\"\n"
         "wrapped {\n  p = bf16[8,16]{1,0} parameter(0)\n"
         "  ROOT c = bf16[8,16]{1,0} custom-call(p), custom_call_target=\"TODO(b/522284627)\", "
         "called_computations={called}\n}, execution_thread=\"sparsecore\"\n"
         "ENTRY e {\n  p = bf16[8,16]{1,0} parameter(0)\n"
         "  start = ((), (), (s32[16])) async-start(), async_execution_thread=\"sparsecore\", calls=wrapped\n"
         "  update = ((bf16[8,16]{1,0}), bf16[8,16]{1,0}, (s32[16])) async-update(start, p), "
         "output_to_operand_aliasing={{2,0}: (0, {2,0})}\n"
         "  ROOT done = bf16[8,16]{1,0} async-done(update)\n}\n";

/* A reduce-scatter, padded from 60 to 64 rows. */
static const char scatter[] =
    HEAD "all-reduce-scatter.1 {\n  p = bf16[60,16]{1,0} parameter(0)\n  z = bf16[] constant(0)\n"
         "  q = bf16[64,16]{1,0} pad(p, z), padding=0_4x0_0\n"
         "  r = bf16[64,16]{1,0} all-reduce(q)," ON ", to_apply=sum\n  t = u32[8]{0} constant({...})\n"
         "  i = u32[] partition-id()\n  o = u32[1]{0} dynamic-slice(t, i), dynamic_slice_sizes={1}\n"
         "  j = u32[] bitcast(o)\n  k = u32[] constant(0)\n"
         "  ROOT s = bf16[8,16]{1,0} dynamic-slice(r, j, k), dynamic_slice_sizes={8,16}\n}\n"
         "ENTRY e {\n  p = bf16[60,16]{1,0} parameter(0)\n"
         "  ROOT s = bf16[8,16]{1,0} fusion(p), kind=kCustom, calls=all-reduce-scatter.1\n}\n";

/* What the body issues is waited for in the next trip, that of the last one after the loop. */
static const char pipeline[] = HEAD
    "inside {\n  p = bf16[8,16]{1,0} parameter(0)\n  ROOT r = bf16[8,16]{1,0} all-reduce(p)," ON
    ", to_apply=sum\n}\n"
    "body {\n  s = (s32[], ((bf16[8,16]{1,0}), bf16[8,16]{1,0}, u32[])) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n"
    "  flying = ((bf16[8,16]{1,0}), bf16[8,16]{1,0}, u32[]) get-tuple-element(s), index=1\n"
    "  done = bf16[8,16]{1,0} async-done(flying)\n"
    "  start = ((bf16[8,16]{1,0}), bf16[8,16]{1,0}, u32[]) async-start(done), calls=inside\n"
    "  ROOT t = (s32[], ((bf16[8,16]{1,0}), bf16[8,16]{1,0}, u32[])) tuple(j, start)\n}\n"
    "condition {\n  s = (s32[], ((bf16[8,16]{1,0}), bf16[8,16]{1,0}, u32[])) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(5)\n"
    "  ROOT less = pred[] compare(i, n), direction=LT\n}\n"
    "ENTRY e {\n  p = bf16[8,16]{1,0} parameter(0)\n  z = s32[] constant(0)\n"
    "  start = ((bf16[8,16]{1,0}), bf16[8,16]{1,0}, u32[]) async-start(p), calls=inside\n"
    "  t = (s32[], ((bf16[8,16]{1,0}), bf16[8,16]{1,0}, u32[])) tuple(z, start)\n"
    "  loop = (s32[], ((bf16[8,16]{1,0}), bf16[8,16]{1,0}, u32[])) while(t), condition=condition, body=body\n"
    "  last = ((bf16[8,16]{1,0}), bf16[8,16]{1,0}, u32[]) get-tuple-element(loop), index=1\n"
    "  ROOT done = bf16[8,16]{1,0} async-done(last)\n}\n";

/* The one kind that a text issues: how often, and its bytes on a device. */
static void issues(const char *text, enum opcode opcode, double count, double in_bytes, double out_bytes)
{
    struct module m;
    struct tally tally;
    struct status st = {0};
    module_of(&m, text);
    OKAY(tally_collectives(&m, &tally, &st), st);
    CU_ASSERT_EQUAL_FATAL(tally.rows, 1);
    CU_ASSERT_EQUAL(tally.row[0].opcode, opcode);
    CU_ASSERT_EQUAL(tally.row[0].count, count);
    CU_ASSERT_EQUAL(tally.row[0].in_bytes, in_bytes);
    CU_ASSERT_EQUAL(tally.row[0].out_bytes, out_bytes);
    tally_free(&tally);
    module_free(&m);
}

static void does(const struct module *m, const char *name, enum communication part)
{
    enum communication got;
    communication_of(m, instruction_of(m, NULL, name), &got);
    CU_ASSERT_EQUAL(got, part);
}

static void counts_once(void)
{
    issues(async_fusion, HLO_ALL_GATHER, 1, 128 * 256 * 2, 1024 * 256 * 2);
    issues(sparse_core, HLO_ALL_REDUCE, 1, 256, 256);
    issues(scatter, HLO_REDUCE_SCATTER, 1, 64 * 16 * 2, 64 * 16 * 2);
    issues(pipeline, HLO_ALL_REDUCE, 6, 6 * 256, 6 * 256);
}

static void finds_parts(void)
{
    struct module m;
    module_of(&m, async_fusion);
    does(&m, "start", COMMUNICATION_START);
    does(&m, "step", COMMUNICATION_STEP);
    does(&m, "done", COMMUNICATION_DONE);
    does(&m, "k", COMMUNICATION_NONE);
    /* of the step its product, and its operands and result only */
    struct cost cost = module_cost(&m, instruction_of(&m, NULL, "step"));
    CU_ASSERT_EQUAL(cost.flops, 2.0 * 512 * 1024 * 2048);
    CU_ASSERT_EQUAL(cost.hbm_bytes, 2 * (512 * 1024 + 1024 * 2048 + 512 * 2048));
    module_free(&m);
    module_of(&m, sparse_core);
    does(&m, "start", COMMUNICATION_NONE);
    does(&m, "update", COMMUNICATION_START);
    does(&m, "done", COMMUNICATION_NONE);
    CU_ASSERT_TRUE(module_on_sparse_core(&m, instruction_of(&m, NULL, "update")));
    CU_ASSERT_FALSE(module_on_sparse_core(&m, instruction_of(&m, NULL, "p")));
    module_free(&m);
}

/* Sums of f32 that come out as bf16, a permute of two slices of a buffer, and a slice that is converted. */
static void reads_types(void)
{
    char *text = entry_text("  q = f32[4,16]{1,0} copy(p)\n"
                            "  r = (bf16[8,16]{1,0}, f32[4,16]{1,0}) all-reduce(p, q)," ON ", to_apply=sum");
    issues(text, HLO_ALL_REDUCE, 1, 768, 512);
    free(text);
    text = entry_text("  i = (s32[], s32[]) parameter(1)\n"
                      "  q = f32[8,16]{1,0} collective-permute(p, p, i, i), channel_id=1, "
                      "source_target_pairs={{0,1},{1,2}}, slice_sizes={{2,16},{3,5}}");
    issues(text, HLO_COLLECTIVE_PERMUTE, 1, 188, 188);
    free(text);
    struct module m;
    text = entry_text("  q = bf16[2,16]{1,0} slice(p), slice={[0:2], [0:16]}");
    module_of(&m, text);
    module_free(&m);
    free(text);
}

/* An all-reduce that XLA:TPU has chosen an emitter for is no reduce-scatter, though each device takes its own part. */
static void stays_all_reduce(void)
{
    struct module m, to;
    struct status st = {0};
    for (int chosen = 0; chosen < 2; chosen++) {
        char *text = NULL;
        CU_ASSERT_FATAL(
            asprintf(&text,
                     HEAD
                     "ENTRY e {\n  p = bf16[64,16]{1,0} parameter(0)\n"
                     "  r = bf16[64,16]{1,0} all-reduce(p)," ON ", to_apply=sum%s\n"
                     "  i = u32[] partition-id()\n  n = u32[] constant(8)\n  o = u32[] multiply(i, n)\n"
                     "  z = u32[] constant(0)\n"
                     "  ROOT s = bf16[8,16]{1,0} dynamic-slice(r, o, z), dynamic_slice_sizes={8,16}\n}\n",
                     chosen ? ", "
                              "backend_config={\"collective_algorithm_config\":{\"emitter\":"
                              "\"RotatedPincerEmitter\"}}"
                            : "") > 0);
        int found;
        module_of(&m, text);
        OKAY(pass_reduce_scatters(&m, &to, &found, &st), st);
        CU_ASSERT_EQUAL(found, !chosen);
        module_free(&m);
        module_free(&to);
        free(text);
    }
}

SUITE("communication", TEST(counts_once), TEST(finds_parts), TEST(reads_types), TEST(stays_all_reduce))
