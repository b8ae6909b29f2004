/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a transformer issues, and what it needs of memory, by hand. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/pass.h"
#include "hlo/tally.h"
#include "model/numbers.h"
#include "models.h"
#include "settings/option.h"

/* How many collectives of a kind a step of one layer issues, over some axes in some phase. */
static double issued(const struct tally *tally, const char *phase, enum opcode opcode, const char *axes)
{
    double count = 0;
    for (int r = 0; r < tally->rows; r++)
        if (strcmp(tally->row[r].phase, phase) == 0 && tally->row[r].opcode == opcode &&
            strcmp(tally->row[r].axes, axes) == 0)
            count += tally->row[r].count;
    return count;
}

/* facts/training.md: FSDP has one collective for each of the 7 weights, gathered again to go back; TP gathers and hands out two
 * times forward, and as often back with two gathers of x again, with full remat two gathers and one sum. The norms' scales are
 * shared out over all. dp sums once for each. */
static void collectives_are_those_by_hand(void)
{
    for (int fused = 0; fused < 2; fused++)
        for (int full = 0; full < 2; full++) {
            struct transformer_case s;
            struct tally t;
            struct status st = {0};
            transformer_load(&s,
                             transformer_with(fused ? "plan: textbook\nlayers: 1\nbatch: 4\nfused: true\n"
                                                    : "plan: textbook\nlayers: 1\nbatch: 4\n"),
                             "dp=2,fsdp=2,tp=2", full ? REMAT_FULL : REMAT_NONE, 1);
            OKAY(tally_collectives(&s.module, &t, &st), st);
            CU_ASSERT_EQUAL(issued(&t, "fwd", HLO_ALL_GATHER, "fsdp"), 7);
            CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_ALL_GATHER, "fsdp"), 7);
            CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_REDUCE_SCATTER, "fsdp"), 7);
            CU_ASSERT_EQUAL(issued(&t, "fwd", HLO_ALL_GATHER, "tp"), 2);
            CU_ASSERT_EQUAL(issued(&t, "fwd", HLO_REDUCE_SCATTER, "tp"), 2);
            CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_ALL_GATHER, "tp"), 4);
            CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_REDUCE_SCATTER, "tp"), 2 + full);
            CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_ALL_REDUCE, "dp"), 9);
            CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_REDUCE_SCATTER, "tp,fsdp"), 2);
            tally_free(&t);
            transformer_unload(&s);
        }
}

/* facts/steps.md of what XLA does by default: over a slice that wraps one gather for each of the 7 weights forward; backward with full
 * recomputation 11, as those of attention are gathered for it and for the input gradients; no gradient is scattered; each is summed
 * whole, those of the norms, too. Elsewhere they are scattered. With the residual stream whole tp sums 2 times forward, once in the
 * recomputation and 2 times back. */
static void collectives_are_xlas(void)
{
    struct transformer_case s;
    struct tally t;
    struct status st = {0};
    for (int wraps = 0; wraps < 2; wraps++)
        for (int full = 0; full < 2; full++) {
            transformer_load(
                &s, transformer_with(wraps ? "layers: 1\nbatch: 4\n# wraps\n" : "layers: 1\nbatch: 4\n"),
                "fsdp=4", full ? REMAT_FULL : REMAT_NONE, 1);
            OKAY(tally_collectives(&s.module, &t, &st), st);
            CU_ASSERT_EQUAL(issued(&t, "fwd", HLO_ALL_GATHER, "fsdp"), 7);
            CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_ALL_GATHER, "fsdp"), full ? 11 : 7);
            CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_REDUCE_SCATTER, "fsdp"), wraps ? 0 : 7);
            CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_ALL_REDUCE, "fsdp"), wraps ? 9 : 2);
            CU_ASSERT_STRING_EQUAL(s.model.windowed, wraps ? "" : "fsdp");
            tally_free(&t);
            transformer_unload(&s);
        }
    transformer_load(&s, transformer_with("layers: 1\nbatch: 4\nresidual: whole\n"), "dp=2,tp=2", REMAT_FULL,
                     1);
    OKAY(tally_collectives(&s.module, &t, &st), st);
    CU_ASSERT_EQUAL(issued(&t, "fwd", HLO_ALL_REDUCE, "tp"), 2);
    CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_ALL_REDUCE, "tp"), 3);
    CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_ALL_GATHER, "tp"), 0);
    CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_ALL_REDUCE, "dp"), 9);
    tally_free(&t);
    transformer_unload(&s);
}

/* The workload on a mesh. */
static void size_of(const char *mesh, int tokens_per_chip, int prefetch, struct model_size *size)
{
    struct status st = {0};
    struct axes axes;
    struct point point;
    struct model model;
    point_init(&point);
    point.work.file = "workloads/by-hand/llama-70b.yaml";
    point.work.head = false;
    point.schedule.plan = PLAN_TEXTBOOK;
    point.work.tokens_per_chip = tokens_per_chip;
    point.schedule.prefetch = prefetch;
    OKAY(axes_parse(mesh, &axes, &st), st);
    OKAY(model_read(&point, NULL, &axes, &model, &st), st);
    *size = model.size;
    model_free(&model);
}

static double memory(const struct model_size *size, enum remat remat)
{
    double sum = 0;
    for (int kind = 0; kind < MEMORY_KINDS; kind++)
        sum += size->memory_bytes[remat][kind];
    return sum;
}

/* workloads/by-hand/mixtral-8x7b.yaml by hand: of a layer attention has 4096 x (2 x 4096 + 2 x 1024) = 41,943,040 parameters, the router
 * 32,768, an expert 3 x 4096 x 14,336 = 176,160,768, the norms 8,192. On a chip of fsdp=8, ep=8 lie 32 x (41,943,040 / 8 + 4,096 +
 * 176,160,768 / 8 + 1,024) + 2 x 32,000 x 4096 / 8 + 512 = 905,347,584 elements. Gathered are attention, router and the one
 * expert. With full remat 32 inputs of 4096 x 4096 are kept; an expert takes ceil(4096 x 2 / 8 x 1.25) = 1,280 rows of
 * each of 8 senders, so that one layer works with 4 arrays of 10,240 rows x 14,336, 6 of 4096 x 4096 and 4096 x (2 x 10,240 rows + 2 x
 * 8,192 entries). A token takes forward 32 x (2 x
 * (41,943,040 + 32,768 + 2 x 176,160,768) + 33,554,432) operations. */
static void memory_of_experts_is_that_by_hand(void)
{
    struct status st = {0};
    struct axes axes;
    struct point point;
    struct model model;
    point_init(&point);
    point.work.file = "workloads/by-hand/mixtral-8x7b.yaml";
    point.work.head = false;
    point.schedule.plan = PLAN_TEXTBOOK;
    point.work.tokens_per_chip = 4096;
    OKAY(axes_parse("fsdp=8,ep=8", &axes, &st), st);
    OKAY(model_read(&point, NULL, &axes, &model, &st), st);
    const double *bytes = model.size.memory_bytes[REMAT_FULL];
    CU_ASSERT_EQUAL(bytes[MEMORY_PARAMETERS], 2 * 905347584.);
    CU_ASSERT_EQUAL(bytes[MEMORY_STATE], 8 * 905347584.);
    CU_ASSERT_EQUAL(bytes[MEMORY_GATHERED], 2 * (41943040. + 32768 + 176160768));
    /* of the layers, and of the head, which is one of two 32,000 x 4096 / 8 */
    CU_ASSERT_EQUAL(bytes[MEMORY_GRADIENTS], 2 * (905347584. - 16384000 - 512));
    CU_ASSERT_EQUAL(bytes[MEMORY_ACTIVATIONS],
                    32 * 2. * 4096 * 4096 +
                        2. * (4 * 10240. * 14336 + 6 * 4096. * 4096 + 4096. * (2 * 10240 + 2 * 8192)));
    CU_ASSERT_EQUAL(bytes[MEMORY_LOGITS], 0);
    CU_ASSERT_EQUAL(model.size.flops,
                    3. * 32 * (2 * (41943040. + 32768 + 2 * 176160768.) + 33554432) * 4096 * 64);
    model_free(&model);
}

/* The rule of facts/steps.md by hand: 70,553,706,496 parameters of 10 B are shared out, and the gradients of 2 B of the 68,452,352,000
 * of layers and the 1,050,673,152 of the head. A layer is gathered, and the largest of its weights, 8,192 x 28,672, that is under
 * way. Of a token and layer 8,192, 2 x 8,192 + 8,192 + 2,048 + 2 x 28,672 or 8 x 8,192 + 2 x 8,192 + 2,048 + 6 x 28,672 elements are
 * kept; one layer works with 4, 5 or 2 times 28,672 and 6 times 8,192. Without recomputation a layer is gathered as it is fetched
 * ahead. Operations: 3 x 80 x (2 x 855,638,016 + 134,217,728) a token. */
static void memory_is_that_by_hand(void)
{
    const double held = 70553706496. * 10 / 64 + 2 * (68452352000. + 1050673152.) / 64;
    const double gathered = 2 * (855638016. + 8192. * 28672);
    struct model_size size;
    size_of("fsdp=64", 4096, 1, &size);
    CU_ASSERT_EQUAL(memory(&size, REMAT_FULL),
                    held + gathered + 2 * 4096. * (80 * 8192. + 4 * 28672. + 6 * 8192));
    CU_ASSERT_EQUAL(memory(&size, REMAT_PRODUCTS),
                    held + gathered +
                        2 * 4096. * (80 * (3 * 8192. + 2048 + 2 * 28672) + 5 * 28672. + 6 * 8192));
    CU_ASSERT_EQUAL(memory(&size, REMAT_NONE),
                    held + gathered +
                        2 * 4096. * (80 * (10 * 8192. + 2048 + 6 * 28672) + 2 * 28672. + 6 * 8192));
    CU_ASSERT_EQUAL(size.memory_bytes[REMAT_NONE][MEMORY_STATE], 70553706496. * 8 / 64);
    CU_ASSERT_EQUAL(size.tokens, 4096 * 64);
    CU_ASSERT_EQUAL(size.flops, 240 * (2 * 855638016. + 134217728.) * 4096 * 64);
    size_of("fsdp=64", 4096, 0, &size);
    CU_ASSERT_EQUAL(memory(&size, REMAT_FULL),
                    held + 2 * 855638016. + 2 * 4096. * (80 * 8192. + 4 * 28672. + 6 * 8192));
}

/* On many chips the head is the peak: it is gathered, and there are logits of 128,256 a token and their cotangent; of gradients
 * there is only its own. */
static void memory_at_the_head_is_that_by_hand(void)
{
    struct model_size size;
    size_of("fsdp=512", 4096, 1, &size);
    const double *bytes = size.memory_bytes[REMAT_FULL];
    CU_ASSERT_EQUAL(bytes[MEMORY_GRADIENTS], 2 * 1050673152. / 512);
    CU_ASSERT_EQUAL(bytes[MEMORY_GATHERED], 2 * 1050673152.);
    CU_ASSERT_EQUAL(bytes[MEMORY_ACTIVATIONS], 2 * 4096. * 80 * 8192);
    CU_ASSERT_EQUAL(bytes[MEMORY_LOGITS], 2 * 2 * 4096. * 128256);
}

SUITE("transformer_size", TEST(collectives_are_those_by_hand), TEST(collectives_are_xlas),
      TEST(memory_is_that_by_hand), TEST(memory_at_the_head_is_that_by_hand),
      TEST(memory_of_experts_is_that_by_hand))
