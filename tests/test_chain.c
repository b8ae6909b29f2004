/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chains of sharded products: what is inferred from the shardings, and that what devices make is the plain product. */
#include <stdio.h>
#include <string.h>

#include "compile/pass.h"
#include "hlo/module_check.h"
#include "hlo/tally.h"
#include "model/chain.h"
#include "modules.h"
#include "suite.h"

struct problem {
    const char *mesh, *expr, *words;
};

/* The matmuls of the sources, and shapes that reach every case. */
static const struct problem problems[] = {
    {"X=2,Y=4", "int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]",
     "all-gather left columns over Y, then multiply 512x2048 . 2048x2048"},
    {"x=4", "f32[16384@x,1024] . f32[1024,2048] -> f32[16384,2048]",
     "all-gather left rows over x, then multiply 16384x1024 . 1024x2048"},
    {"x=4", "f32[16384,1024@x] . f32[1024@x,2048] -> f32[16384@x,2048]",
     "multiply 16384x256 . 256x2048, then reduce-scatter rows over x"},
    {"x=2,y=2", "f32[8@x,16@y] . f32[16@y,4] -> f32[8@x,4@y]",
     "multiply 4x8 . 8x4, then reduce-scatter columns over y"},
    {"x=2,y=2", "f32[8@x,16@y] . f32[16@y,4] -> f32[8@x,4]", "multiply 4x8 . 8x4, then all-reduce over y"},
    {"x=2,y=2", "f32[8@x,16@y] . f32[16@y,4] -> f32[8,4@y]",
     "multiply 4x8 . 8x4, then reduce-scatter columns over y, then all-gather output rows over x"},
    {"dp=4,tp=2", "f32[1024@dp,4096] . f32[4096@dp,256] -> f32[1024@dp,256]",
     "all-gather right rows over dp, then multiply 256x4096 . 4096x256"},
    {"dp=4,tp=2", "f32[1024,4096@(dp,tp)] . f32[4096@(dp,tp),256] -> f32[1024@(dp,tp),256]",
     "multiply 1024x512 . 512x256, then reduce-scatter rows over (dp,tp)"},
    {"X=4,Y=4", "bf16[32@X,48@Y] . bf16[48,64@X] -> bf16[32,64@X]",
     "all-gather left columns over Y, then all-gather left rows over X, then multiply 32x48 . 48x16"},
    {"X=4,Y=4", "bf16[32@(Y,X),48] . bf16[48,64] -> bf16[32,64]",
     "all-gather left rows over (Y,X), then multiply 32x48 . 48x64"},
    {"X=4,Y=4", "bf16[32,48@(Y,X)] . bf16[48@(Y,X),64] -> bf16[32,64]",
     "multiply 32x3 . 3x64, then all-reduce over (Y,X)"},
    {"X=4,Y=4", "bf16[32@X,48@Y] . bf16[48@Y,64] -> bf16[32,64]",
     "multiply 8x12 . 12x64, then all-reduce over Y, then all-gather output rows over X"},
    {"X=2,Y=4", "bf16[64@X,32@Y] . bf16[32,128@Y] . bf16[128@Y,32] -> bf16[64@X,32@Y]",
     "all-gather left columns over Y, then multiply 32x32 . 32x32; multiply 32x32 . 32x32, then "
     "reduce-scatter columns over Y"},
    /* the MLP of the book with FSDP over X and tensor parallelism over Y */
    {"X=4,Y=2", "In[B=64@X,D=32@Y] . Win[D@X,F=128@Y] . Wout[F@Y,D@X] -> Out[B@X,D@Y]",
     "all-gather left columns over Y, then all-gather right rows over X, then multiply 16x32 . 32x64; "
     "all-gather right columns over X, then multiply 16x64 . 64x32, then reduce-scatter columns over Y"},
    /* contracted alike over tp only: the right operand is gathered over dp, sums are scattered over tp */
    {"dp=4,tp=2", "f32[16@dp,32@tp] . f32[32@(tp,dp),128] -> f32[16@dp,128@tp]",
     "all-gather right rows over dp, then multiply 4x16 . 16x128, then reduce-scatter columns over tp"},
    /* cut over an axis that nothing has: each device multiplies its own rows, then scatters over that of the sums */
    {"X=4,Y=2", "bf16[64,32@Y] . bf16[32@Y,48] -> bf16[64@(X,Y),48]",
     "take the own part of left, then multiply 16x16 . 16x48, then reduce-scatter rows over Y"},
    {"X=4,Y=2", "bf16[64,32] . bf16[32,48] -> bf16[64@X,48]",
     "take the own part of left, then multiply 16x32 . 32x48"},
    /* activations with a sequence: [B,T,D] . [D,F] */
    {"X=4,Y=2", "In[B=8@X,T=6,D=32@Y] . Win[D,F=64@Y] -> Out[B@X,T,F@Y]",
     "all-gather left dim 2 over Y, then multiply 2x6x32 . 32x32"},
    {"X=4,Y=2", "In[B=8@X,T=6,D=32] . Win[D,F=64@Y] . Wout[F@Y,D] -> Out[B@X,T@Y,D]",
     "multiply 2x6x32 . 32x32; multiply 2x6x32 . 32x32, then reduce-scatter dim 1 over Y"},
    /* a product for each B */
    {"X=4,Y=2", "bf16[B=8@X,6,K=32@Y] . bf16[B@X,K@Y,64] -> bf16[B@X,6,64]",
     "multiply 2x6x16 . 2x16x64, then all-reduce over Y"},
    {"X=4,Y=2", "bf16[B=8@X,6,K=32@Y] . bf16[B,K,64@X] -> bf16[B@Y,6,64]",
     "all-gather left dim 2 over Y, then all-gather left dim 0 over X, then all-gather right dim 2 over X, "
     "then "
     "multiply 8x6x32 . 8x32x64, then take the own part of output"},
    {"a=2,b=2,c=2,d=2", "bf16[16@(a,b),32@c] . bf16[32@(c,d),48] -> bf16[16@b,48@(c,d)]",
     "all-gather right rows over d, then multiply 4x16 . 16x48, then reduce-scatter columns over c, then "
     "take the "
     "own part of output, then collective-permute output, then all-gather output rows over a"},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static int open_chain(const struct problem *problem, int64_t most, unsigned after, struct chain *chain,
                      struct status *st)
{
    struct axes axes;
    struct expr expr;
    if (axes_parse(problem->mesh, &axes, st) < 0 ||
        expr_parse(problem->expr, NULL, DTYPE_BF16, &axes, &expr, st) < 0)
        return st->code;
    if (most)
        expr_scale(&expr, &axes, most);
    return chain_build(&expr, &axes, &(struct chain_plan){.after = after}, chain, st);
}

static void infers(void)
{
    for (int i = 0; i < PROBLEMS; i++) {
        struct chain chain = {0};
        struct status st = {0};
        char words[512];
        OKAY(open_chain(&problems[i], 0, 0, &chain, &st), st);
        if (st.code == 0 && problems[i].words)
            CU_ASSERT_STRING_EQUAL(chain_explain(&chain.model.module, words, sizeof words),
                                   problems[i].words);
        if (st.code == 0 && problems[i].words && strcmp(words, problems[i].words) != 0)
            printf("  %s\n  %s\n", problems[i].expr, words);
        model_free(&chain.model);
    }
}

/* What the output has cut less may be gathered after the product, dim by dim, unless its axes are needed elsewhere. */
static void infers_what_may_wait(void)
{
    static const struct {
        struct problem problem;
        unsigned choices, after;
    } cases[] = {
        {{"x=4", "f32[16384@x,1024] . f32[1024,2048] -> f32[16384,2048]",
          "multiply 4096x1024 . 1024x2048, then all-gather output rows over x"},
         1,
         1},
        {{"X=2,Y=4", "bf16[1024@X,96] . bf16[96,4096@Y] -> bf16[1024,4096]",
          "all-gather right columns over Y, then multiply 512x96 . 96x4096, then all-gather output rows over "
          "X"},
         3,
         1},
        {{"X=2,Y=4", "bf16[1024@X,96] . bf16[96,4096@Y] -> bf16[1024,4096]",
          "all-gather left rows over X, then multiply 1024x96 . 96x1024, then all-gather output columns over "
          "Y"},
         3,
         2},
        {{"X=2,Y=4,Z=3", "bf16[1024@(Y,X),96@Z] . bf16[96,4096] -> bf16[1024@Y,4096]",
          "all-gather left columns over Z, then multiply 128x96 . 96x4096, then all-gather output rows over "
          "X"},
         1,
         1},
        /* Y cuts the columns of the output: the rows must be gathered before, or the device has a block of the diagonal */
        {{"X=2,Y=4", "bf16[1024@Y,96] . bf16[96,4096@Y] -> bf16[1024,4096@Y]",
          "all-gather left rows over Y, then multiply 1024x96 . 96x1024"},
         0,
         1},
        /* partial sums: the rows wait anyway */
        {{"X=2,Y=4", "bf16[1024@X,96@Y] . bf16[96@Y,4096] -> bf16[1024,4096]",
          "multiply 512x24 . 24x4096, then all-reduce over Y, then all-gather output rows over X"},
         0,
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct chain chain = {0};
        struct status st = {0};
        char words[512] = "";
        struct problem problem = cases[i].problem;
        OKAY(open_chain(&problem, 0, cases[i].after, &chain, &st), st);
        CU_ASSERT_EQUAL(chain.choices, cases[i].choices);
        if (st.code == 0)
            CU_ASSERT_STRING_EQUAL(chain_explain(&chain.model.module, words, sizeof words), problem.words);
        if (strcmp(words, problem.words) != 0)
            printf("  %s\n  %s\n", problem.expr, words);
        model_free(&chain.model);
    }
}

/* Every strategy, both ways to all-reduce, both loops. */
static void multiplies_by(const struct chain *chain, const char *expr, uint64_t seed)
{
    for (int v = 0; v < 4 * OVERLAP_WAYS; v++) {
        enum overlap_way way = (enum overlap_way)(v / 4);
        struct overlap_options options = {
            .context = &way, .way = one_way, .chunks = v & 1 ? 3 : 0, .xla_loops = v & 2};
        struct module module;
        struct status st = {0};
        OKAY(pass_overlap(&chain->model.module, &options, &module, &st), st);
        OKAY(module_check(&module, NULL, &st), st);
        OKAY(chain_verify(chain, &module, seed + (uint64_t)v, &st), st);
        if (st.code)
            printf("  %s, %s, %d chunks, loop %s\n", expr, pass_way_name(way), options.chunks,
                   options.xla_loops ? "xla" : "unrolled");
        module_free(&module);
    }
}

static void multiplies(void)
{
    for (int i = 0; i < PROBLEMS; i++) {
        struct chain chain = {0};
        struct status st = {0};
        OKAY(open_chain(&problems[i], 48, 0, &chain, &st), st);
        if (st.code == 0)
            multiplies_by(&chain, problems[i].expr, 3);
        model_free(&chain.model);
    }
}

/* Each axis cuts a random dim of a tensor, or none, in random order. */
static void cut_at_random(struct expr_tensor *t, int axes, struct suite_random *r)
{
    int from = (int)suite_random(r, (unsigned)axes);
    for (int a = 0; a < axes; a++) {
        int d = (int)suite_random(r, (unsigned)t->dims + 1);
        if (d < t->dims)
            t->dim[d].shard.axis[t->dim[d].shard.count++] = (from + a) % axes;
    }
}

/* [24, 48,] 24 . 24, 48 (. 48, 24), of which every dim divides by all devices; or [B, 48, 24] . [B, 24, 48]. */
static void draw(struct expr *expr, int axes, struct suite_random *r)
{
    *expr = (struct expr){.operands = 2 + (int)suite_random(r, 2), .has_output = true};
    int dims = 2 + (int)suite_random(r, 2);
    bool batch = dims == 3 && suite_random(r, 2);
    struct expr_tensor *out = &expr->output;
    for (int i = 0; i < expr->operands; i++) {
        struct expr_tensor *t = &expr->operand[i];
        t->dims = i == 0 || (i == 1 && batch) ? dims : 2;
        for (int d = 0; d < t->dims; d++)
            t->dim[d].n = (i + t->dims + d) % 2 ? 24 : 48;
        if (batch && i < 2) {
            strcpy(t->dim[0].name, "B");
            t->dim[0].n = 24;
        }
        t->dtype = out->dtype = DTYPE_F32;
        cut_at_random(t, axes, r);
    }
    out->dims = dims;
    for (int d = 0; d < dims - 1; d++)
        out->dim[d].n = expr->operand[0].dim[d].n;
    out->dim[dims - 1].n = expr->operand[expr->operands - 1].dim[batch && expr->operands == 2 ? 2 : 1].n;
    cut_at_random(out, axes, r);
}

/* The chain by another plan, such as one that gathers some dims after its last product, makes the same. */
static void multiplies_by_plan(const struct expr *expr, const struct axes *axes,
                               const struct chain_plan *plan, uint64_t seed)
{
    struct chain chain = {0};
    struct status st = {0};
    char text[EXPR_TEXT];
    OKAY(chain_build(expr, axes, plan, &chain, &st), st);
    OKAY(module_check(&chain.model.module, NULL, &st), st);
    if (st.code == 0)
        OKAY(chain_verify(&chain, &chain.model.module, seed, &st), st);
    if (st.code)
        printf("  %s\n", expr_print(expr, axes, text));
    model_free(&chain.model);
}

/* Some of all plans of its last product. Returns how many. */
static int multiplies_by_plans(const struct chain *chain, const struct expr *expr, const struct axes *axes,
                               uint64_t seed)
{
    enum { EVERY = 31 };
    const struct tensor wanted = tensor_of(&expr->output);
    struct chain_plan plan = {.planned = true};
    int plans = product_plans(&chain->left, &chain->right, &wanted, axes), ran = 0;
    for (int p = (int)(seed % EVERY); p < plans; p += EVERY)
        if (product_plan_at(&chain->left, &chain->right, &wanted, axes, p, &plan.product)) {
            multiplies_by_plan(expr, axes, &plan, seed);
            ran++;
        }
    return ran;
}

/* Any shardings of operands and output, on meshes of up to four axes. What is refused has partial sums in the middle, or
 * operands that meet on a diagonal. */
static void multiplies_whatever_the_shardings(void)
{
    static const char *const meshes[] = {"a=2,b=3", "a=4", "a=2,b=2,c=3", "a=2,b=2,c=2,d=3", "a=1,b=4"};
    struct suite_random r = {20261122};
    int ran = 0, waited = 0, planned = 0;
    for (int i = 0; i < 150; i++) {
        struct axes axes;
        struct expr expr;
        struct chain chain = {0};
        struct status st = {0};
        char text[EXPR_TEXT];
        OKAY(axes_parse(meshes[i % 5], &axes, &st), st);
        draw(&expr, axes.count, &r);
        expr_print(&expr, &axes, text);
        if (chain_build(&expr, &axes, &(struct chain_plan){.after = 0}, &chain, &st) == 0) {
            OKAY(module_check(&chain.model.module, NULL, &st), st);
            OKAY(chain_verify(&chain, &chain.model.module, 5 + (uint64_t)i, &st), st);
            if (i % 15 == 0)
                multiplies_by(&chain, text, (uint64_t)i);
            for (unsigned after = chain.choices; after; after = (after - 1) & chain.choices, waited++)
                multiplies_by_plan(&expr, &axes, &(struct chain_plan){.after = after}, (uint64_t)i);
            planned += multiplies_by_plans(&chain, &expr, &axes, (uint64_t)i);
            ran++;
        } else {
            CU_ASSERT(expr.operands > 2);
            CU_ASSERT(strstr(st.text, "ambiguous") || strstr(st.text, "cuts dims"));
        }
        if (st.code == STATUS_CHECK)
            printf("  %s on %s\n", text, meshes[i % 5]);
        model_free(&chain.model);
    }
    CU_ASSERT(ran > 110);
    CU_ASSERT(waited > 10);
    CU_ASSERT(planned > 100);
}

SUITE("chain", TEST(infers), TEST(infers_what_may_wait), TEST(multiplies),
      TEST(multiplies_whatever_the_shardings))
