/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steps of tensors, forward and backward, with real numbers: whatever the cuts, they are those of one chip; and what one
 * chip says of gradients is what finite differences say.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/pass.h"
#include "hlo/module_check.h"
#include "model/model.h"
#include "model/numbers.h"
#include "models.h"

enum { INPUTS = 8, OUTPUTS = 8 };

/* What a random step is made of; its cuts are drawn from `cuts`, so that the same step can be had without any. */
struct recipe {
    uint64_t seed;
    bool cut;
};

static struct tensor dims(const int64_t n[], int count)
{
    struct tensor t = {.dims = count};
    for (int d = 0; d < count; d++)
        t.dim[d].n = n[d];
    return t;
}

/* Each axis cuts a random dim, or none; the order of two on one dim is random, too. */
static void cut_at_random(struct tensor *t, const struct axes *axes, struct suite_random *r, bool cut)
{
    int order[AXES_MAX];
    for (int d = 0; d < t->dims; d++)
        t->dim[d].shard = (struct axis_list){0};
    for (int a = 0; a < axes->count; a++)
        order[a] = a;
    for (int a = axes->count - 1; a > 0; a--) {
        int b = (int)suite_random(r, (unsigned)a + 1), kept = order[a];
        order[a] = order[b];
        order[b] = kept;
    }
    for (int a = 0; a < axes->count; a++) {
        int d = (int)suite_random(r, (unsigned)t->dims + 1);
        if (d < t->dims && cut)
            t->dim[d].shard.axis[t->dim[d].shard.count++] = order[a];
    }
}

static struct tensor input(struct model *m, const char *name, struct tensor t, bool trained,
                           struct suite_random *r, bool cut)
{
    struct status st = {0};
    cut_at_random(&t, &m->axes, r, cut);
    OKAY(tensor_check(&t, &m->axes, name, &st), st);
    return model_input(m, name, &t, DTYPE_F32, trained);
}

static struct tensor product(struct model *m, const struct tensor *left, const struct tensor *right,
                             int contracted, struct tensor wanted, struct suite_random *r, bool cut)
{
    cut_at_random(&wanted, &m->axes, r, cut);
    return tensor_matmul(&m->builder, left, right, contracted, &wanted, DTYPE_F32);
}

static void unary(struct model *m, enum opcode opcode, struct tensor *t)
{
    t->value = build_unary(&m->builder, opcode, t->value);
}

/* loss = sum of logistic((((tanh(x . w + b) . v) . transposed u) * tanh(x . w + b)) . q) * x, resharded in between. */
static void build(struct model *m, const char *mesh, const struct recipe *recipe)
{
    struct status st = {0};
    struct axes axes;
    struct suite_random r = {recipe->seed};
    OKAY(axes_parse(mesh, &axes, &st), st);
    *m = (struct model){0};
    model_begin(m, "random", &axes, (enum dtype_id[]){DTYPE_F32}, 1, &st);
    bool cut = recipe->cut;
    struct tensor x = input(m, "x", dims((int64_t[]){12, 24}, 2), true, &r, cut);
    struct tensor w = input(m, "w", dims((int64_t[]){24, 12}, 2), true, &r, cut);
    struct tensor b = input(m, "b", dims((int64_t[]){12}, 1), true, &r, cut);
    struct tensor h = product(m, &x, &w, 0, dims((int64_t[]){12, 12}, 2), &r, cut);
    h = tensor_zip(&m->builder, HLO_ADD, &h, &b);
    unary(m, HLO_TANH, &h);
    struct tensor v = input(m, "v", dims((int64_t[]){12, 12, 24}, 3), true, &r, cut);
    /* [12, 12] . [12, 12, 24] -> [12, 12, 24], then . the transposed [12, 24] -> [12, 12, 12] */
    struct tensor wide = product(m, &h, &v, 0, dims((int64_t[]){12, 12, 24}, 3), &r, cut);
    struct tensor moved = wide;
    cut_at_random(&moved, &m->axes, &r, cut);
    wide = tensor_reshard(&m->builder, &wide, &moved);
    struct tensor u = input(m, "u", dims((int64_t[]){12, 24}, 2), true, &r, cut);
    struct tensor y = product(m, &wide, &u, 1, dims((int64_t[]){12, 12, 12}, 3), &r, cut);
    y = tensor_zip(&m->builder, HLO_MULTIPLY, &y, &h); /* [12, 12, 12] * [12, 12] */
    struct tensor q = input(m, "q", dims((int64_t[]){12, 24}, 2), true, &r, cut);
    struct tensor z = product(m, &y, &q, 0, dims((int64_t[]){12, 12, 24}, 3), &r, cut);
    unary(m, HLO_LOGISTIC, &z);
    z = tensor_zip(&m->builder, HLO_MULTIPLY, &z, &x);
    struct tensor loss = tensor_sum(&m->builder, &z, 7);
    loss = tensor_scale(&m->builder, &loss, 1. / 3456);
    OKAY(model_end(m, "loss", &loss, true, &st), st);
}

static void fill(const struct model *m, struct array in[], uint64_t seed)
{
    struct suite_random r = {seed};
    struct status st = {0};
    for (int i = 0; i < m->inputs; i++) {
        int64_t shape[TENSOR_DIMS];
        for (int d = 0; d < m->input[i].tensor.dims; d++)
            shape[d] = m->input[i].tensor.dim[d].n;
        OKAY(array_init(&in[i], m->input[i].tensor.dims, shape, DTYPE_F32, &st), st);
        int64_t n = array_elements(&in[i]);
        for (int64_t e = 0; e < n; e++)
            in[i].data[e] = suite_random_unit(&r) - 0.45;
    }
}

static void all_cuts_agree(void)
{
    static const char *const meshes[] = {"a=2,b=3", "a=4,b=3", "a=2,b=2,c=3", "a=6", "a=2,b=1,c=2"};
    const char *rounds = getenv("ICISIM_ROUNDS");
    int n = rounds ? atoi(rounds) : 60;
    for (int round = 0; round < n; round++) {
        struct recipe recipe = {.seed = 1000 + (uint64_t)round, .cut = true};
        struct model one, many;
        struct status st = {0};
        struct array in[INPUTS] = {0}, want[OUTPUTS] = {0}, got[OUTPUTS] = {0};
        build(&many, meshes[round % 5], &recipe);
        recipe.cut = false;
        build(&one, "a=1", &recipe);
        fill(&one, in, recipe.seed);
        OKAY(numbers_run(&one, &one.module, in, 0, want, &st), st);
        OKAY(numbers_run(&many, &many.module, in, 1e-11, got, &st), st);
        for (int o = 0; o < one.outputs && st.code == 0; o++) {
            CU_ASSERT_STRING_EQUAL(many.output[o].name, one.output[o].name);
            double off = arrays_difference(&got[o], &want[o]);
            if (!(off < 1e-11))
                fprintf(stderr, "round %d: %s differs by %g\n", round, one.output[o].name, off);
            CU_ASSERT(off < 1e-11);
        }
        arrays_free(in, INPUTS);
        arrays_free(want, OUTPUTS);
        arrays_free(got, OUTPUTS);
        model_free(&one);
        model_free(&many);
        if (CU_get_number_of_failures())
            break;
    }
}

/* Random choices of the overlap pass: a way for each collective, a ring in any order, alike in all groups. */
struct choices {
    struct suite_random r;
    int way; /* -1: any */
};

static enum overlap_way some_way(void *context, const struct module *module, int32_t collective,
                                 bool contracts)
{
    struct choices *c = context;
    (void)module;
    (void)collective;
    (void)contracts;
    return c->way >= 0 ? (enum overlap_way)c->way : (enum overlap_way)suite_random(&c->r, OVERLAP_WAYS);
}

static int some_ring(void *context, const struct module *module, int32_t collective, struct groups *groups,
                     bool *closed, struct status *st)
{
    struct choices *c = context;
    (void)module;
    (void)collective;
    (void)st;
    *closed = groups->size > 2 && suite_random(&c->r, 2);
    for (int k = groups->size - 1; k > 0 && suite_random(&c->r, 3); k--) {
        int other = (int)suite_random(&c->r, (unsigned)k + 1);
        for (int g = 0; g < groups->count; g++) {
            int *member = groups->member + g * groups->size, kept = member[k];
            member[k] = member[other];
            member[other] = kept;
        }
    }
    return 0;
}

/* Replicas sum in orders of their own, so that elements that cancel differ by more than the largest do.
 * The numbers of a module made from the model's, held against what one chip says. */
static void same_numbers(const struct model *m, const struct module *module, const struct array in[],
                         const struct array want[], const char *what, int round)
{
    struct status st = {0};
    struct array got[OUTPUTS] = {0};
    OKAY(module_check(module, NULL, &st), st);
    OKAY(numbers_run(m, module, in, 1e-6, got, &st), st);
    for (int o = 0; o < m->outputs && st.code == 0; o++) {
        double off = arrays_difference(&got[o], &want[o]);
        if (!(off < 1e-11))
            fprintf(stderr, "round %d, %s: %s differs by %g\n", round, what, m->output[o].name, off);
        CU_ASSERT(off < 1e-11);
    }
    arrays_free(got, OUTPUTS);
}

/* Whatever is recomputed, decomposed or left out, it stays the same step. */
static void passes_change_nothing(void)
{
    static const char *const meshes[] = {"a=2,b=3", "a=4,b=3", "a=2,b=2,c=3", "a=6", "a=12"};
    const char *rounds = getenv("ICISIM_ROUNDS");
    int n = rounds ? atoi(rounds) : 60;
    for (int round = 0; round < n && CU_get_number_of_failures() == 0; round++) {
        struct recipe recipe = {.seed = 7000 + (uint64_t)round, .cut = true};
        struct model many, one;
        struct status st = {0};
        struct array in[INPUTS] = {0}, want[OUTPUTS] = {0};
        struct module again, loops;
        struct choices choices = {{recipe.seed}, round % 5 - 1};
        struct overlap_options options = {.context = &choices,
                                          .way = some_way,
                                          .ring = round % 3 ? some_ring : NULL,
                                          .chunks = round % 4 == 3 ? 3 : 0,
                                          .xla_loops = round % 2};
        build(&many, meshes[round % 5], &recipe);
        recipe.cut = false;
        build(&one, "a=1", &recipe);
        fill(&one, in, recipe.seed);
        OKAY(numbers_run(&one, &one.module, in, 0, want, &st), st);
        OKAY(pass_recompute(&many.module, (enum remat)(round % REMATS), &again, &st), st);
        same_numbers(&many, &again, in, want, "recompute", round);
        OKAY(pass_overlap(&again, &options, &loops, &st), st);
        same_numbers(&many, &loops, in, want, "overlap", round);
        module_free(&again);
        module_free(&loops);
        arrays_free(in, INPUTS);
        arrays_free(want, OUTPUTS);
        model_free(&one);
        model_free(&many);
    }
}

static double loss_of(const struct model *m, const struct array in[])
{
    struct array out[OUTPUTS] = {0};
    struct status st = {0};
    OKAY(numbers_run(m, &m->module, in, 0, out, &st), st);
    double loss = out[0].data[0];
    arrays_free(out, OUTPUTS);
    return loss;
}

/* (f(p + e) - f(p - e)) / 2 e for some elements of each input. */
static void finite_differences(void)
{
    struct model m;
    struct recipe recipe = {.seed = 5, .cut = false};
    struct array in[INPUTS] = {0}, out[OUTPUTS] = {0};
    struct status st = {0};
    struct suite_random r = {77};
    build(&m, "a=1", &recipe);
    fill(&m, in, 5);
    OKAY(numbers_run(&m, &m.module, in, 0, out, &st), st);
    for (int i = 0; i < m.inputs; i++)
        for (int k = 0; k < 5; k++) {
            int64_t at = suite_random(&r, (unsigned)array_elements(&in[i]));
            double kept = in[i].data[at], e = 1e-5;
            in[i].data[at] = kept + e;
            double up = loss_of(&m, in);
            in[i].data[at] = kept - e;
            double down = loss_of(&m, in);
            in[i].data[at] = kept;
            NEAR(out[1 + i].data[at], (up - down) / (2 * e), 1e-5);
        }
    arrays_free(in, INPUTS);
    arrays_free(out, OUTPUTS);
    model_free(&m);
}

SUITE("gradient", TEST(finite_differences), TEST(all_cuts_agree), TEST(passes_change_nothing))
