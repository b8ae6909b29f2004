/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Transformers: gradients with real numbers under each parallelism against those of one chip and finite differences; what is
 * issued and computed, by hand.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/pass.h"
#include "hlo/module_check.h"
#include "hlo/tally.h"
#include "model/model.h"
#include "model/numbers.h"
#include "model/transformer.h"
#include "settings/option.h"
#include "suite.h"

enum { INPUTS = 128 };

/* Small, with sizes that are not alike: 6 heads of 4, 2 key-value heads; 4 sequences of 6 tokens. */
static const char small[] = "model: transformer\nd-model: 20\nd-ff: 36\nheads: 6\nkv-heads: 2\n"
                            "head-dim: 4\nsequence: 6\nvocabulary: 60\n";

#define MOE "moe: {experts: 4, top-k: 2, capacity-factor: 1, d-ff: 12, routing: {draw: even}"

struct step {
    struct model model;
    struct module module;
    struct point point;
};

/* On a mesh; without one on one device, like a model that was read. */
static void load_like(struct step *s, const char *text, const char *mesh, const struct model *like,
                      enum remat remat, int micro_batches)
{
    bool head = strstr(text, "head: true") != NULL;
    char path[] = "/tmp/icisim_transformer_XXXXXX";
    struct status st = {0};
    struct axes axes;
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    fputs(text, file);
    fclose(file);
    point_init(&s->point);
    s->point.work.file = path;
    s->point.work.dtype = "f32";
    s->point.work.head = head;
    s->point.schedule.micro_batches = micro_batches;
    s->point.schedule.chunks = strstr(text, "# chunks") ? 3 : 1;
    s->point.given[option_index(option_by_name("chunks"))] = s->point.schedule.chunks > 1;
    OKAY(mesh ? axes_parse(mesh, &axes, &st) : 0, st);
    OKAY(mesh ? model_read(&s->point, &(struct model_options){.numbers = true}, &axes, &s->model, &st)
              : model_read_one(&s->point, like, &s->model, &st),
         st);
    OKAY(pass_recompute(&s->model.module, remat, &s->module, &st), st);
    OKAY(module_check(&s->module, NULL, &st), st);
    remove(path);
}

static void load(struct step *s, const char *text, const char *mesh, enum remat remat, int micro_batches)
{
    load_like(s, text, mesh, NULL, remat, micro_batches);
}

static void unload(struct step *s)
{
    model_free(&s->model);
    module_free(&s->module);
}

static void free_all(struct array array[], int n)
{
    for (int i = 0; i < n; i++)
        array_free(&array[i]);
}

/* Numbers by name, so that they are the same for each mesh; those of micro-batch 2 follow those of 1. */
static void fill(const struct model *m, struct array in[])
{
    struct status st = {0};
    for (int i = 0; i < m->inputs; i++) {
        int64_t shape[TENSOR_DIMS], n;
        int dims = numbers_shape(&m->input[i], shape);
        struct suite_random r = {0};
        for (const char *c = m->input[i].name; *c; c++)
            r.state = r.state * 31 + (uint64_t)*c;
        OKAY(array_init(&in[i], dims, shape, false, &st), st);
        n = array_elements(&in[i]);
        for (int64_t e = 0; e < n; e++)
            in[i].data[e] = m->input[i].given.data ? m->input[i].given.data[e]
                            : m->input[i].below
                                ? (double)suite_random(&r, (unsigned)m->input[i].below)
                                : (suite_random_unit(&r) - 0.47) / (dims > 1 ? 2 : 1) + (dims == 1);
    }
}

static void run(struct step *s, struct array out[])
{
    struct array in[INPUTS] = {0};
    struct status st = {0};
    fill(&s->model, in);
    OKAY(numbers_run(&s->model, &s->module, in, 1e-11, out, &st), st);
    free_all(in, INPUTS);
}

static double difference(const struct array *a, const struct array *b)
{
    double most = 0, largest = 0;
    int64_t n = array_elements(b);
    if (array_elements(a) != n)
        return INFINITY;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(a->data[i] - b->data[i]));
        largest = fmax(largest, fabs(b->data[i]));
    }
    return largest > 0 ? most / largest : INFINITY;
}

/* Weights are fetched a layer ahead, and sums of gradients waited for two layers later: the same numbers. */
static void run_ahead(struct step *s, struct array out[])
{
    struct module was = s->module, fetched = {0};
    struct status st = {0};
    OKAY(pass_prefetch(&was, 1, &fetched, &st), st);
    OKAY(pass_postpone(&fetched, 2, &s->module, &st), st);
    if (s->point.schedule.chunks > 1) {
        module_free(&fetched);
        fetched = s->module;
        OKAY(pass_exchange(&fetched, &s->module, &st), st);
    }
    OKAY(module_check(&s->module, NULL, &st), st);
    run(s, out);
    module_free(&fetched);
    module_free(&was);
}

static void same_numbers(const struct model *model, const char *mesh, const struct array many[],
                         const struct array one[])
{
    for (int o = 0; o < model->outputs; o++) {
        double off = difference(&many[o], &one[o]);
        CU_ASSERT(off < 1e-11);
        if (!(off < 1e-11))
            fprintf(stderr, "%s: %s differs by %g\n", mesh, model->output[o].name, off);
    }
}

static void same_as(const char *text, const char *one_chip, const char *mesh, enum remat remat)
{
    struct array one[INPUTS] = {0}, many[INPUTS] = {0};
    struct step s;
    load(&s, text, one_chip, REMAT_NONE, 1);
    run(&s, one);
    unload(&s);
    load(&s, text, mesh, remat, 1);
    run_ahead(&s, many);
    same_numbers(&s.model, mesh, many, one);
    unload(&s);
    free_all(one, INPUTS);
    free_all(many, INPUTS);
}

static void same_as_one_chip(const char *text, const char *mesh, enum remat remat)
{
    same_as(text, "dp=1", mesh, remat);
}

static const char *with(const char *more)
{
    static char text[1024];
    snprintf(text, sizeof text, "%s%s%s", small, strstr(more, "layers:") ? "" : "layers: 2\n", more);
    return text;
}

/* Copies of key-value heads: tp=6 on 2 of them. fsdp=3 does not divide 20 x 24 / 2. */
static void gradients_are_one_chips(void)
{
    static const char *const meshes[] = {"dp=4",      "fsdp=2",           "fsdp=4",      "tp=2",
                                         "tp=6",      "fsdp=2,tp=2",      "tp=2,fsdp=2", "dp=2,fsdp=2",
                                         "dp=2,tp=2", "dp=2,fsdp=2,tp=2", "fsdp=2,tp=6", "tp=6,dp=2"};
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
        for (enum remat remat = REMAT_NONE; remat < REMATS; remat++)
            same_as_one_chip(with("batch: 4\nkernel: plain\n"), meshes[i], remat);
    same_as_one_chip(with("batch: 3\nkernel: plain\nattention: full\ngated: false\n"), "fsdp=3", REMAT_NONE);
    same_as_one_chip(with("batch: 4\nkernel: plain\nfused: true\n"), "dp=2,fsdp=2,tp=2", REMAT_FULL);
    same_as_one_chip(with("batch: 4\nkernel: plain\nfused: true\n"), "fsdp=2,tp=6", REMAT_NONE);
    same_as_one_chip(with("batch: 3\nattention: none\n"), "fsdp=3,tp=2", REMAT_FULL);
    same_as_one_chip(with("batch: 4\nkernel: plain\nparallel: true\ngated: false\n"), "dp=2,fsdp=2,tp=2",
                     REMAT_FULL);
    same_as_one_chip(with("batch: 4\nkernel: plain\nparallel: true\n"), "fsdp=2,tp=6", REMAT_NONE);
    same_as_one_chip(with("batch: 4\nkernel: plain\nkeep: [q, o, gate]\n"), "fsdp=2,tp=2", REMAT_FULL);
    same_as_one_chip(with("batch: 4\nkernel: plain\nfused: true\nkeep: [k, attention]\n"), "fsdp=2,tp=2",
                     REMAT_FULL);
}

/* A kernel's numbers are those of plain attention, forward and back, whoever has which heads, also where it runs again. */
static void kernels_are_plain_attention(void)
{
    static const char *const more[] = {"attention: causal\n", "attention: full\n"};
    static const char *const meshes[] = {"dp=1", "fsdp=2,tp=2", "tp=6"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        for (size_t m = 0; m < sizeof meshes / sizeof *meshes; m++) {
            struct array plain[INPUTS] = {0}, kernel[INPUTS] = {0};
            char text[128];
            struct step s;
            snprintf(text, sizeof text, "batch: 4\nkernel: plain\n%s", more[i]);
            load(&s, with(text), "dp=1", REMAT_NONE, 1);
            run(&s, plain);
            unload(&s);
            snprintf(text, sizeof text, "batch: 4\nkernel: %s\n%s", m == 1 ? "ideal" : "flash", more[i]);
            load(&s, with(text), meshes[m], m == 1 ? REMAT_FULL : REMAT_NONE, 1);
            run_ahead(&s, kernel);
            same_numbers(&s.model, meshes[m], kernel, plain);
            unload(&s);
            free_all(plain, INPUTS);
            free_all(kernel, INPUTS);
        }
}

static int products_again(const char *keep)
{
    char more[128], text[8];
    struct step s;
    int again = 0;
    snprintf(more, sizeof more, "layers: 3\nbatch: 1\nkernel: flash\nkeep: %s\n", keep);
    load(&s, with(more), "dp=1", REMAT_FULL, 1);
    for (int32_t at = 0; at < s.module.instructions; at++) {
        enum opcode_class class = opcode_info(module_at(&s.module, at)->opcode)->class;
        again += (class == CLASS_MATMUL || class == CLASS_OPAQUE) &&
                 module_label(&s.module, at, "again", text, sizeof text);
    }
    unload(&s);
    return again;
}

/* Full recomputation does q, k, v, o, gate and up once more, and attention's kernel; o for the second norm's input. What is kept
 * it does not do again, nor what nobody asks for then. */
static void what_is_kept_is_not_done_again(void)
{
    CU_ASSERT_EQUAL(products_again("[]"), 3 * 7);
    CU_ASSERT_EQUAL(products_again("[down]"), 3 * 7); /* nobody asks for it */
    CU_ASSERT_EQUAL(products_again("[q, k, v]"), 3 * 4);
    CU_ASSERT_EQUAL(products_again("[q, k, v, o]"), 3 * 3);
    CU_ASSERT_EQUAL(products_again("[q, k, v, attention]"), 3 * 3);
    CU_ASSERT_EQUAL(products_again("[q, k, v, attention, o, gate, up]"), 0);
}

/* From tokens to the loss: the vocabulary, too, is cut. */
static void whole_gradients_are_one_chips(void)
{
    static const char *const meshes[] = {"dp=4",        "fsdp=4",           "tp=2",
                                         "fsdp=2,tp=2", "dp=2,fsdp=2,tp=2", "fsdp=2,tp=6"};
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
        same_as_one_chip(with("batch: 4\nkernel: plain\nhead: true\n"), meshes[i], REMAT_NONE);
        same_as_one_chip(with("batch: 4\nkernel: plain\nhead: true\ntied: true\n"), meshes[i], REMAT_FULL);
    }
}

/* sum of dy * y, of which the gradients are. */
static double scalar(struct step *s, const struct array in[])
{
    struct array out[INPUTS] = {0};
    struct status st = {0};
    double sum = 0;
    OKAY(numbers_run(&s->model, &s->module, in, 1e-11, out, &st), st);
    int64_t n = array_elements(&out[0]);
    for (int64_t i = 0; i < n; i++)
        sum += in[s->model.inputs - 1].data[i] * out[0].data[i];
    free_all(out, INPUTS);
    return sum;
}

/* A few elements of each input, by central differences. */
static void gradients_are_differences(void)
{
    static const char *const kinds[] = {
        "batch: 1\nkernel: plain\n", "batch: 1\nkernel: plain\nattention: full\n",
        "batch: 1\ngated: false\nattention: none\n", "batch: 1\nkernel: plain\nparallel: true\n",
        "batch: 1\nkernel: plain\n" MOE ", expert-axis: dp}\n"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct array in[INPUTS] = {0}, out[INPUTS] = {0};
        struct status st = {0};
        struct step s;
        load(&s, with(kinds[k]), "dp=1", REMAT_NONE, 1);
        fill(&s.model, in);
        OKAY(numbers_run(&s.model, &s.module, in, 1e-11, out, &st), st);
        CU_ASSERT_STRING_EQUAL(s.model.input[s.model.inputs - 1].name, "dy");
        for (int o = 1, i = s.model.inputs - 2; o < s.model.outputs; o++, i = o - 2) {
            CU_ASSERT_STRING_EQUAL(s.model.output[o].name, s.model.input[i].name);
            int64_t at = array_elements(&in[i]) * 3 / 7;
            double was = in[i].data[at], step = 1e-5;
            in[i].data[at] = was + step;
            double up = scalar(&s, in);
            in[i].data[at] = was - step;
            double down = scalar(&s, in);
            in[i].data[at] = was;
            NEAR(out[o].data[at], (up - down) / (2 * step), 1e-5);
        }
        free_all(in, INPUTS);
        free_all(out, INPUTS);
        unload(&s);
    }
}

/* Experts on axes of each part; what is routed is the same on any mesh, and no row is dropped: 2 x T entries of a device go to the
 * 4 experts in turn, and divide by 4. */
static void experts_are_one_chips(void)
{
    static const struct {
        const char *more, *one_chip, *mesh;
    } cases[] = {
        {MOE "}\n", "ep=1", "ep=4"},
        {MOE "}\n", "ep=1", "dp=2,ep=2"},
        {MOE "}\ngated: false\n", "ep=1", "fsdp=2,ep=2"},
        {MOE "}\n", "ep=1", "ep=2,tp=2"},
        {MOE ", every: 2}\nfused: true\n", "ep=1", "fsdp=2,ep=2"},
        {MOE ", expert-axis: fsdp}\n", "fsdp=1", "fsdp=4"},
        {MOE ", expert-axis: fsdp}\n", "fsdp=1", "fsdp=2,tp=2"},
        {MOE ", expert-axis: tp, every: 2}\n", "tp=1", "dp=2,tp=2"},
        {MOE ", expert-axis: '(fsdp,tp)'}\n", "fsdp=1,tp=1", "fsdp=2,tp=2"},
        {MOE "}\nhead: true\n", "ep=1", "dp=2,ep=2"},
        {MOE "}\n# chunks: 3\n", "ep=1", "dp=2,ep=2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (enum remat remat = REMAT_NONE; remat < REMATS; remat++) {
            char more[512];
            snprintf(more, sizeof more, "batch: 4\nkernel: plain\n%s", cases[i].more);
            same_as(with(more), cases[i].one_chip, cases[i].mesh, remat);
        }
}

/* Are the entries of a device's layers other ones? */
static bool layers_differ(const struct model_experts *experts)
{
    bool differ = experts->count > 1;
    for (int i = 1; i < experts->count; i++) {
        const struct routing *a = &experts->of[i - 1].routing, *b = &experts->of[i].routing;
        differ = differ && memcmp(a->expert, b->expert,
                                  (size_t)(a->devices * a->tokens * a->top_k) * sizeof *a->expert) != 0;
    }
    return differ;
}

/* Whatever each layer's tokens are routed to, and whatever is dropped of that: one device, to which all tokens come in their order in
 * the batch, makes the same numbers of them. */
static void routed_layers_are_one_chips(void)
{
    static const char *const draws[] = {"draw: uniform, seed: 3", "draw: zipf, exponent: 1.2",
                                        "draw: hot, share: 0.6", "draw: multinomial, weights: [5, 1, 1, 2]"};
    static const struct {
        const char *more, *rest, *mesh;
        int layers;
    } cases[] = {
        {"}\n", "", "ep=4", 2},
        {"}\n", "", "dp=2,ep=2", 2},
        {"}\n", "", "ep=2,tp=2,dp=2", 2},
        {", every: 2}\nlayers: 5\n", "", "tp=2,fsdp=2,ep=2", 2},
        {", expert-axis: '(fsdp,tp)'}\n", "head: true\n", "fsdp=2,tp=2", 2},
        {", every: 3}\nlayers: 3\n", "# chunks: 3\n", "ep=2,dp=2", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t d = 0; d < sizeof draws / sizeof *draws; d++) {
            struct array one[INPUTS] = {0}, many[INPUTS] = {0};
            char more[512], text[1024];
            struct step on_mesh, alone;
            snprintf(more, sizeof more,
                     "batch: 4\nkernel: plain\nmoe: {experts: 4, top-k: 2, capacity-factor: 0.3, d-ff: 12, "
                     "routing: {%s}%s%s",
                     draws[d], cases[i].more, cases[i].rest);
            snprintf(text, sizeof text, "%s", with(more));
            load(&on_mesh, text, cases[i].mesh, (enum remat)(d % REMATS), 1);
            load_like(&alone, text, NULL, &on_mesh.model, REMAT_NONE, 1);
            const struct model_experts *experts = on_mesh.model.experts;
            int64_t dropped = 0;
            for (int l = 0; l < experts->count; l++) {
                dropped += routing_dropped(&experts->of[l].routing, -1);
                CU_ASSERT_EQUAL(routing_dropped(&experts->of[l].routing, -1),
                                routing_dropped(&alone.model.experts->of[l].routing, 0));
            }
            CU_ASSERT_EQUAL(experts->count, cases[i].layers);
            CU_ASSERT(cases[i].layers == 1 || layers_differ(experts));
            CU_ASSERT(dropped > 0);
            run(&alone, one);
            run_ahead(&on_mesh, many);
            same_numbers(&on_mesh.model, cases[i].mesh, many, one);
            unload(&on_mesh);
            unload(&alone);
            free_all(one, INPUTS);
            free_all(many, INPUTS);
        }
}

/* Two micro-batches have the first and the second half of one batch's sequences. */
static void micro_batches_add_up(void)
{
    static const char *const meshes[] = {"dp=1", "dp=2,fsdp=2", "fsdp=2,tp=6", "tp=6,dp=2"};
    for (size_t m = 0; m < sizeof meshes / sizeof *meshes; m++) {
        struct array in[INPUTS] = {0}, one[INPUTS] = {0}, part[INPUTS] = {0}, two[INPUTS] = {0};
        struct status st = {0};
        struct step s;
        load(&s, with("batch: 8\nkernel: plain\n"), "dp=1", REMAT_NONE, 1);
        fill(&s.model, in);
        OKAY(numbers_run(&s.model, &s.module, in, 1e-11, one, &st), st);
        int weights = s.model.inputs - 2;
        unload(&s);
        load(&s, with("batch: 8\nkernel: plain\n"), meshes[m], REMAT_NONE, 2);
        CU_ASSERT_EQUAL_FATAL(s.model.inputs, weights + 4);
        for (int i = 0; i < weights; i++)
            part[i] = in[i];
        for (int i = 0; i < 4; i++) /* x1, dy1, x2, dy2 */
            OKAY(array_slice(&in[weights + i % 2], 0, i / 2 * 24, i / 2 * 24 + 24, &part[weights + i], &st),
                 st);
        OKAY(numbers_run(&s.model, &s.module, part, 1e-11, two, &st), st);
        for (int i = 0; i < weights; i++) {
            double off = difference(&two[4 + i], &one[2 + i]);
            CU_ASSERT(off < 1e-11);
            if (!(off < 1e-11))
                fprintf(stderr, "%s: %s differs by %g\n", meshes[m], s.model.output[4 + i].name, off);
        }
        unload(&s);
        free_all(part + weights, 4);
        free_all(in, INPUTS);
        free_all(one, INPUTS);
        free_all(two, INPUTS);
    }
}

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
            struct step s;
            struct tally t;
            struct status st = {0};
            load(&s, with(fused ? "layers: 1\nbatch: 4\nfused: true\n" : "layers: 1\nbatch: 4\n"),
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
            unload(&s);
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

SUITE("transformer", TEST(gradients_are_one_chips), TEST(kernels_are_plain_attention),
      TEST(what_is_kept_is_not_done_again), TEST(whole_gradients_are_one_chips),
      TEST(gradients_are_differences), TEST(experts_are_one_chips), TEST(routed_layers_are_one_chips),
      TEST(micro_batches_add_up), TEST(collectives_are_those_by_hand), TEST(memory_is_that_by_hand),
      TEST(memory_of_experts_is_that_by_hand))
