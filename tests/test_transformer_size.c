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
            transformer_load(
                &s, transformer_with(fused ? "layers: 1\nbatch: 4\nfused: true\n" : "layers: 1\nbatch: 4\n"),
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

/* The workload on a mesh. */
static void size_of(const char *mesh, int tokens_per_chip, int prefetch, struct model_size *size)
{
    struct status st = {0};
    struct axes axes;
    struct point point;
    struct model model;
    point_init(&point);
    point.work.file = "workloads/llama-70b.yaml";
    point.work.head = false;
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

/* workloads/mixtral-8x7b.yaml by hand: of a layer attention has 4096 x (2 x 4096 + 2 x 1024) = 41,943,040 parameters, the router
 * 32,768, an expert 3 x 4096 x 14,336 = 176,160,768, the norms 8,192. On a chip of fsdp=8, ep=8 lie 32 x (41,943,040 / 8 + 4,096 +
 * 176,160,768 / 8 + 1,024) + 2 x 32,000 x 4096 / 8 + 512 = 905,347,584 elements. Gathered are attention, router and the one
 * expert. With full remat 32 inputs of 4096 x 4096 are kept; one layer needs 4096 x (2 x (4 x 4096 + 2 x 4096 + 2 x 1024) + 32 x 4
 * + 8) B, and of its experts 2 B x (81,920 rows x (2 x 4096 + 3 x 14,336) + 2 x 8,192 x 4096). A token takes forward 32 x (2 x
 * (41,943,040 + 32,768 + 2 x 176,160,768) + 33,554,432) operations. */
static void memory_of_experts_is_that_by_hand(void)
{
    struct status st = {0};
    struct axes axes;
    struct point point;
    struct model model;
    point_init(&point);
    point.work.file = "workloads/mixtral-8x7b.yaml";
    point.work.head = false;
    point.work.tokens_per_chip = 4096;
    OKAY(axes_parse("fsdp=8,ep=8", &axes, &st), st);
    OKAY(model_read(&point, NULL, &axes, &model, &st), st);
    const double *bytes = model.size.memory_bytes[REMAT_FULL];
    CU_ASSERT_EQUAL(bytes[MEMORY_PARAMETERS], 2 * 905347584.);
    CU_ASSERT_EQUAL(bytes[MEMORY_STATE], 8 * 905347584.);
    CU_ASSERT_EQUAL(bytes[MEMORY_GATHERED], 2 * (41943040. + 32768 + 176160768));
    CU_ASSERT_EQUAL(bytes[MEMORY_GRADIENTS], 2 * 905347584. + 2 * (41943040. + 32768 + 176160768));
    CU_ASSERT_EQUAL(bytes[MEMORY_ACTIVATIONS],
                    32 * 2. * 4096 * 4096 + 4096. * (2 * (4 * 4096 + 2 * 4096 + 2 * 1024) + 32 * 4 + 8) +
                        2. * (81920. * (2 * 4096 + 3 * 14336) + 2 * 8192. * 4096));
    CU_ASSERT_EQUAL(model.size.flops,
                    3. * 32 * (2 * (41943040. + 32768 + 2 * 176160768.) + 33554432) * 4096 * 64);
    model_free(&model);
}

/* facts/training.md, worked out by hand: 70,553,706,496 parameters of 10 B and gradients of 2 B, shared out; two gathered layers
 * and one layer's gradient of 855,638,016 x 2 B; logits of 128,256 x 4 B a token; activations of 16,384 or 274,696 B a token and
 * layer. Operations: 3 x 80 x (2 x 855,638,016 + 134,217,728) a token. */
static void memory_is_that_by_hand(void)
{
    struct model_size size;
    size_of("fsdp=64", 4096, 1, &size);
    CU_ASSERT_EQUAL(memory(&size, REMAT_FULL), 26957858304.);
    CU_ASSERT_EQUAL(memory(&size, REMAT_NONE), 110476379648.);
    /* 26,957,858,304 + 80 x (167,936 - 16,384) x 4096 */
    CU_ASSERT_EQUAL(memory(&size, REMAT_PRODUCTS), 76618417664.);
    CU_ASSERT_EQUAL(size.memory_bytes[REMAT_NONE][MEMORY_STATE], 70553706496. * 8 / 64);
    CU_ASSERT_EQUAL(size.tokens, 4096 * 64);
    CU_ASSERT_EQUAL(size.flops, 240 * (2 * 855638016. + 134217728.) * 4096 * 64);
    size_of("fsdp=64,tp=8", 2048, 1, &size);
    CU_ASSERT_EQUAL(memory(&size, REMAT_FULL), 7129921728.);
    CU_ASSERT_EQUAL(memory(&size, REMAT_NONE), 48898242752.);
    double ahead = memory(&size, REMAT_NONE);
    size_of("fsdp=64,tp=8", 2048, 0, &size);
    CU_ASSERT_EQUAL(ahead - memory(&size, REMAT_NONE), 855638016. * 2 / 8);
}

SUITE("transformer_size", TEST(collectives_are_those_by_hand), TEST(memory_is_that_by_hand),
      TEST(memory_of_experts_is_that_by_hand))
