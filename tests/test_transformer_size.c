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

/* What libtpu 0.0.52 compiled of steps on meshes of fsdp up to 32 devices (loops), on 64 (no loops; gradients summed whole), on 8x16
 * (scattered) and with dp beside it (no loops, scattered), and facts/steps.md: one gather for each of the 7 weights forward; backward
 * with full recomputation 11, as those of attention are gathered for it and for the input gradients. With the residual stream whole
 * tp sums 2 times forward, once in the recomputation and 2 times back. */
static void collectives_are_xlas(void)
{
    static const struct {
        const char *mesh, *text, *windowed;
        int scattered, summed;
    } cases[] = {{"fsdp=4", "batch: 4\n# whole\n", "fsdp", 7, 2},
                 {"fsdp=32", "batch: 32\n# whole\n", "fsdp", 7, 2},
                 {"fsdp=33", "batch: 33\n# whole\n", "", 0, 9},
                 {"fsdp=33", "batch: 33\n", "", 7, 2},
                 {"dp=2,fsdp=4", "batch: 8\n# whole\n", "", 7, 0}};
    struct transformer_case s;
    struct tally t;
    struct status st = {0};
    char text[80];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int full = 0; full < 2; full++) {
            snprintf(text, sizeof text, "layers: 1\n%s", cases[c].text);
            transformer_load(&s, transformer_with(text), cases[c].mesh, full ? REMAT_FULL : REMAT_NONE, 1);
            OKAY(tally_collectives(&s.module, &t, &st), st);
            CU_ASSERT_EQUAL(issued(&t, "fwd", HLO_ALL_GATHER, "fsdp"), 7);
            CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_ALL_GATHER, "fsdp"), full ? 11 : 7);
            CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_REDUCE_SCATTER, "fsdp"), cases[c].scattered);
            CU_ASSERT_EQUAL(issued(&t, "bwd", HLO_ALL_REDUCE, "fsdp"), cases[c].summed);
            CU_ASSERT_STRING_EQUAL(s.model.windowed[0], cases[c].windowed);
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
    /* the inputs of 32 layers; two moments, of 4 B, and the weights of each of an expert's three matrices */
    static const struct memory_tensor largest[MEMORY_LARGEST] = {
        {"kept of all layers", 1, 32 * 2. * 4096 * 4096}, {"moment of eg", 2, 4 * 32 * 4096. * 14336 / 8},
        {"moment of eu", 2, 4 * 32 * 4096. * 14336 / 8},  {"moment of ed", 2, 4 * 32 * 4096. * 14336 / 8},
        {"weights eg", 1, 2 * 32 * 4096. * 14336 / 8},
    };
    for (int i = 0; i < MEMORY_LARGEST; i++) {
        const struct memory_tensor *found = &model.size.largest[REMAT_FULL][i];
        CU_ASSERT_STRING_EQUAL(found->name, largest[i].name);
        CU_ASSERT_EQUAL(found->tensors, largest[i].tensors);
        CU_ASSERT_EQUAL(found->bytes, largest[i].bytes);
    }
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

/* A workload on one device of a mesh, of so many layers (0: its own), of a step of so many tokens a chip, by an optimizer. */
static void workload_size(const char *file, int layers, const char *mesh, int tokens,
                          enum optimizer optimizer, struct model_size *size)
{
    const struct model_options few = {.layers_most = 1};
    struct status st = {0};
    struct axes axes;
    struct point point;
    struct model model;
    point_init(&point);
    point.work.file = file;
    point.work.tokens_per_chip = tokens;
    point.work.layers = layers;
    point.work.optimizer = (int)optimizer;
    OKAY(axes_parse(mesh, &axes, &st), st);
    OKAY(model_read(&point, &few, &axes, &model, &st), st);
    *size = model.size;
    model_free(&model);
}

/* Two layers of Llama 3 8B: 436,207,616 parameters in matrices and four norms of 4096, of which each chip has all, as of a fifth,
 * and an embedding and a head of 525,336,576. At the head there are copies of 2 B of the layers, two kept inputs, the gathered
 * head, and logits of 128,256 a token: with their cotangent where gathers are loops (32 chips), without on 64; with dp beside fsdp
 * also the whole gradient of the head, as of 4096 tokens the logits are not smaller. Of gradients there is else only its
 * own. On 16 x 4 chips there are 262,144 tokens, more than 1.5 x 128,256: then the peak is at the embedding, with two tables of
 * 4 B, and the gradients of the layers and of the head. */
static void memory_at_the_ends_is_that_by_hand(void)
{
    static const struct {
        const char *mesh;
        int fsdp, logits, wholes, tables;
    } cases[] = {{"fsdp=32", 32, 2, 0, 0},
                 {"fsdp=64", 64, 1, 0, 0},
                 {"dp=4,fsdp=8", 8, 1, 1, 0},
                 {"dp=4,fsdp=16", 16, 0, 0, 2}};
    const double head = 128256. * 4096, matrices = 2 * 218103808., norms = 4 * 4096.;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct model_size size;
        const double share = 1. / cases[c].fsdp, layers = matrices * share + norms;
        workload_size("workloads/llama-8b.yaml", 2, cases[c].mesh, 4096, OPTIMIZER_ADAMW, &size);
        const double *bytes = size.memory_bytes[REMAT_FULL];
        bool ends = cases[c].tables > 0;
        CU_ASSERT_EQUAL(bytes[MEMORY_PARAMETERS] + bytes[MEMORY_STATE],
                        12 * (layers + 2 * head * share + 4096));
        CU_ASSERT_EQUAL(bytes[MEMORY_GATHERED], ends ? 0 : 2 * layers + 2 * head);
        CU_ASSERT_EQUAL(bytes[MEMORY_ACTIVATIONS], ends ? 0 : 2 * 2 * 4096. * 4096);
        CU_ASSERT_EQUAL(bytes[MEMORY_LOGITS], cases[c].logits * 2 * 4096. * 128256);
        CU_ASSERT_EQUAL(bytes[MEMORY_GRADIENTS], 2 * head * share + cases[c].wholes * 2 * head +
                                                     ends * 4 * layers + cases[c].tables * 4 * head);
    }
}

/* What is published, to the digits that are, and by hand; f32 parameters on one device.
 *   Mixtral 8x7B        46.7e9: 2 x 32,000 x 4096 + 4096 + 32 x (41,943,040 + 8,192 + 32,768 + 8 x 176,160,768)
 *   DeepSeek V3         671e9: attention 7168 x (1536 + 576) + 1536 + 512 + 1536 x 128 x 192 + 512 x 128 x 256 + 128 x 128 x 7168 =
 *                       187,107,328; an expert 3 x 7168 x 2048 = 44,040,192, of 257 a layer, and 3 layers of 3 x 7168 x 18,432; in all
 *                       2 x 129,280 x 7168 + 7168 + 61 x (187,107,328 + 2 x 7168) + 3 x 396,361,728 + 58 x (257 x 44,040,192 + 7168 x 256)
 *                       + 58 x 256 of the router's bias
 *   Qwen3 235B          235e9: 2 x 151,936 x 4096 + 4096 + 94 x (71,303,168 + 8192 + 2 x 128 of the norms of q and k + 128 x 3 x 4096 x
 *                       1536 + 4096 x 128)
 *   gpt-oss 120B        116.8e9: 2 x 201,088 x 2880 + 2880 + 36 x (2 x 2880 x (4096 + 512) + 5760 + 128 x 3 x 2880^2 + 2880 x 128), and a
 *                       layer's biases 4096 + 2 x 512 + 2880 of attention, 128 of the router, 128 x 3 x 2880 of experts, and 64 sinks
 *   Llama 4 Maverick    400e9: 2 x 202,048 x 5120 + 5120 + 48 x (62,914,560 + 10,240) + 24 x (129 x 125,829,120 + 5120 x 128) + 24 x
 *                       251,658,240 */
static void mixtures_have_as_many_parameters_as_is_published(void)
{
    static const struct {
        const char *file;
        double parameters, published, digit;
    } models[] = {{"workloads/mixtral-8x7b.yaml", 46702792704., 46.7e9, 0.1e9},
                  {"workloads/deepseek-v3.yaml", 671026419200., 671e9, 1e9},
                  {"workloads/qwen3-235b-a22b.yaml", 235093634560., 235e9, 1e9},
                  {"workloads/gpt-oss-120b.yaml", 116829156672., 116.8e9, 0.1e9},
                  {"workloads/llama4-maverick.yaml", 400711848960., 400e9, 1e9}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct model_size size;
        workload_size(models[i].file, 0, "fsdp=1,ep=1", 8192, OPTIMIZER_ADAMW, &size);
        double held = size.memory_bytes[REMAT_FULL][MEMORY_PARAMETERS] / 4;
        CU_ASSERT_EQUAL(held, models[i].parameters);
        CU_ASSERT(fabs(held - models[i].published) < models[i].digit);
    }
}

/* Of Llama 3 70B, 80 layers: AdamW has two moments of 4 B of each parameter; of a matrix of r x c Adafactor has r + c sums: of a
 * layer 8192 x 8192 twice, 8192 x 1024 twice, 8192 x 28,672 three times, of 128,256 x 8192 twice; of the 161 norms of 8192 all. */
static void state_is_the_optimizers(void)
{
    struct model_size size;
    const double sums = 80 * (2 * 16384. + 2 * 9216 + 3 * 36864) + 2 * 136448 + 161 * 8192;
    workload_size("workloads/llama-70b.yaml", 0, "fsdp=1", 4096, OPTIMIZER_ADAMW, &size);
    CU_ASSERT_EQUAL(size.memory_bytes[REMAT_FULL][MEMORY_STATE], 8 * 70553706496.);
    workload_size("workloads/llama-70b.yaml", 0, "fsdp=1", 4096, OPTIMIZER_ADAFACTOR, &size);
    CU_ASSERT_EQUAL(size.memory_bytes[REMAT_FULL][MEMORY_STATE], 4 * sums);
    workload_size("workloads/llama-70b.yaml", 0, "fsdp=1", 4096, OPTIMIZER_SGD, &size);
    CU_ASSERT_EQUAL(size.memory_bytes[REMAT_FULL][MEMORY_STATE], 0);
}

/* Of 8192 tokens of gpt-oss every second layer meets 128 x 8192 - 128^2 / 2 pairs, the others 8192^2 / 2; forward 2 x (2 x 64) operations
 * a pair of each of 64 heads; backward twice that. By counting attention whole, or half, only attention differs. */
static void windows_are_counted(void)
{
    struct model_size size;
    workload_size("workloads/gpt-oss-120b.yaml", 0, "fsdp=1,ep=1", 8192, OPTIMIZER_ADAMW, &size);
    const double pairs =
        18 * (128 * 4096. - 128 * 128 / 2) + 18 * (4096 * 4096. / 2); /* of a sequence of 4096 */
    const double products =
        36 * (2 * 2880. * (4096 + 512) + 4 * 3 * 2880. * 2880 + 2880 * 128) + 2880. * 201088;
    CU_ASSERT_DOUBLE_EQUAL(size.flops, 3 * (2 * products * 8192 + 2 * 4 * 64. * 64 * pairs),
                           1e-12 * size.flops);
    CU_ASSERT_EQUAL(size.half_flops, size.flops);
    CU_ASSERT_DOUBLE_EQUAL(size.full_flops, 3 * (2 * products * 8192 + 2 * 4 * 64. * 64 * 36 * 4096 * 4096.),
                           1e-12 * size.flops);
}

SUITE("transformer_size", TEST(mixtures_have_as_many_parameters_as_is_published),
      TEST(state_is_the_optimizers), TEST(windows_are_counted), TEST(collectives_are_those_by_hand),
      TEST(collectives_are_xlas), TEST(memory_is_that_by_hand), TEST(memory_at_the_ends_is_that_by_hand),
      TEST(memory_of_experts_is_that_by_hand))
