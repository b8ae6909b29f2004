/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builder of modules: shapes, attributes and labels of what it appends, and along which axes values vary. */
#include <stdio.h>
#include <string.h>

#include "hlo/builder.h"
#include "suite.h"

struct bench {
    struct module module;
    struct axes axes;
    struct builder b;
    struct axis_list dp, tp, tp_dp;
};

static void open_bench(struct bench *t)
{
    struct status st = {0};
    OKAY(axes_parse("dp=4,tp=2,one=1", &t->axes, &st), st);
    module_init(&t->module, "bench", 8);
    builder_open(&t->b, &t->module, &t->axes, (enum dtype_id[]){DTYPE_F32, DTYPE_BF16, DTYPE_F32}, 3);
    OKAY(axis_list_parse("dp", &t->axes, &t->dp, &st), st);
    OKAY(axis_list_parse("tp", &t->axes, &t->tp, &st), st);
    OKAY(axis_list_parse("(tp,dp)", &t->axes, &t->tp_dp, &st), st);
}

static void close_bench(struct bench *t)
{
    struct status st = {0};
    OKAY(module_close(&t->module, &st), st);
    builder_free(&t->b);
    module_free(&t->module);
}

static int32_t parameter(struct bench *t, const char *name, const int64_t dim[], int dims, const char *spec)
{
    struct spec parsed;
    struct status st = {0};
    OKAY(spec_parse(spec, &t->axes, &parsed, &st), st);
    return build_parameter(&t->b, name, DTYPE_F32, dim, dims, &parsed);
}

static void shape_is(const struct bench *t, int32_t value, const char *want)
{
    int64_t dim[BUILDER_DIMS];
    int dims = builder_dims(&t->b, value, dim);
    char text[128];
    size_t used = (size_t)snprintf(text, sizeof text, "%s[", dtype_info(builder_dtype(&t->b, value))->name);
    for (int d = 0; d < dims; d++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", d ? "," : "", (long long)dim[d]);
    snprintf(text + used, sizeof text - used, "]");
    CU_ASSERT_STRING_EQUAL(text, want);
}

static void numbers_are(const struct bench *t, int32_t value, enum attribute_key key, const int64_t want[],
                        int wants)
{
    int count;
    const int64_t *number = module_numbers(&t->module, value, key, &count);
    CU_ASSERT_EQUAL_FATAL(count, wants);
    CU_ASSERT_EQUAL(memcmp(number, want, (size_t)wants * sizeof *want), 0);
}

static void varies_is(const struct bench *t, int32_t value, unsigned varies, unsigned differs)
{
    CU_ASSERT_EQUAL(builder_note(&t->b, value).varies, varies);
    CU_ASSERT_EQUAL(builder_note(&t->b, value).differs, differs);
}

enum { DP = 1, TP = 2 };

static void shapes(void)
{
    struct bench t;
    open_bench(&t);
    int32_t a = parameter(&t, "a", (int64_t[]){3, 5, 7}, 3, "P(dp)");
    int32_t c = parameter(&t, "c", (int64_t[]){7, 3, 11}, 3, "P()");
    struct dot_dims d = {.batches = 1, .contracted = 1, .batch = {{0}, {1}}, .contract = {{2}, {0}}};
    int32_t dot = build_dot(&t.b, a, c, &d, DTYPE_BF16);
    shape_is(&t, dot, "bf16[3,5,11]");
    shape_is(&t, build_reduce(&t.b, HLO_ADD, a, (int64_t[]){0, 2}, 2), "f32[5]");
    shape_is(&t, build_transpose(&t.b, a, (int64_t[]){2, 0, 1}), "f32[7,3,5]");
    CU_ASSERT_EQUAL(build_transpose(&t.b, a, (int64_t[]){0, 1, 2}), a);
    shape_is(&t, build_slice(&t.b, a, 1, 1, 4), "f32[3,3,7]");
    shape_is(&t, build_pad(&t.b, a, 2, 1, 4), "f32[3,5,12]");
    shape_is(&t, build_concatenate(&t.b, (int32_t[]){a, a, a}, 3, 0), "f32[9,5,7]");
    shape_is(&t, build_compare(&t.b, "GT", a, a), "pred[3,5,7]");
    shape_is(&t, build_convert(&t.b, a, DTYPE_BF16), "bf16[3,5,7]");
    shape_is(&t, build_fill(&t.b, 0.25, dot), "bf16[3,5,11]");
    shape_is(&t, build_reshape(&t.b, a, (int64_t[]){15, 7}, 2), "f32[15,7]");
    numbers_are(&t, build_slice(&t.b, a, 1, 1, 4), ATTR_SLICE, (int64_t[]){0, 3, 1, 1, 4, 1, 0, 7, 1}, 9);
    numbers_are(&t, build_pad(&t.b, a, 2, 1, 4), ATTR_PADDING, (int64_t[]){0, 0, 0, 0, 0, 0, 1, 4, 0}, 9);
    close_bench(&t);
}

static void collectives(void)
{
    struct bench t;
    open_bench(&t);
    int32_t a = parameter(&t, "a", (int64_t[]){8, 16}, 2, "P((tp,dp))");
    varies_is(&t, a, DP | TP, DP | TP);
    /* what is gathered is the same on all of them, and still counts as varying */
    int32_t gathered = build_all_gather(&t.b, a, &t.dp, 0);
    shape_is(&t, gathered, "f32[32,16]");
    varies_is(&t, gathered, DP | TP, TP);
    int32_t reduced = build_all_reduce(&t.b, a, &t.dp);
    varies_is(&t, reduced, TP, TP);
    int32_t scattered = build_reduce_scatter(&t.b, reduced, &t.tp_dp, 1);
    shape_is(&t, scattered, "f32[8,2]");
    varies_is(&t, scattered, DP | TP, DP | TP);
    shape_is(&t, build_all_to_all(&t.b, a, &t.dp, 1), "f32[8,16]");
    int32_t c = parameter(&t, "c", (int64_t[]){8, 16}, 2, "P()"), block = build_own_block(&t.b, c, &t.tp, 0);
    shape_is(&t, block, "f32[4,16]");
    varies_is(&t, c, 0, 0);
    varies_is(&t, block, TP, TP);
    /* the groups are axes, in the list's order: device dp d, tp t is d*2 + t; group 0 of (tp,dp) has tp 0 first */
    int g = (int)module_number(&t.module, scattered, ATTR_REPLICA_GROUPS, -1);
    CU_ASSERT_STRING_EQUAL(module_word(&t.module, t.module.groups[g].text),
                           "mesh['dp'=4,'tp'=2,'one'=1] {'tp','dp'}");
    static const int order[] = {0, 2, 4, 6, 1, 3, 5, 7};
    CU_ASSERT_EQUAL(memcmp(t.module.groups[g].groups.member, order, sizeof order), 0);
    /* axes of one device: nothing moves */
    struct axis_list one = {.count = 1, .axis = {2}};
    CU_ASSERT_EQUAL(build_all_gather(&t.b, a, &one, 0), a);
    CU_ASSERT_EQUAL(build_all_reduce(&t.b, a, &one), a);
    CU_ASSERT_EQUAL(build_own_block(&t.b, a, &one, 0), a);
    close_bench(&t);
}

static void labels(void)
{
    struct bench t;
    open_bench(&t);
    char text[16];
    int32_t a = parameter(&t, "a", (int64_t[]){8}, 1, "P(tp)");
    CU_ASSERT_FALSE(module_label(&t.module, a, "layer", text, sizeof text));
    t.b.layer = 3;
    t.b.phase = "bwd";
    t.b.what = "w";
    int32_t moved = build_all_reduce(&t.b, a, &t.tp);
    CU_ASSERT_STRING_EQUAL(module_value(&t.module, moved, ATTR_FRONTEND_ATTRIBUTES),
                           "{layer=\"3\",phase=\"bwd\",what=\"w\"}");
    t.b.layer = 0;
    t.b.phase = NULL;
    int32_t sum = build_binary(&t.b, HLO_ADD, moved, moved);
    CU_ASSERT_STRING_EQUAL(module_value(&t.module, sum, ATTR_FRONTEND_ATTRIBUTES), "{what=\"w\"}");
    /* parameters are numbered */
    CU_ASSERT_EQUAL(
        module_number(&t.module, parameter(&t, "c", (int64_t[]){8}, 1, "P(tp)"), ATTR_PARAMETER_NUMBER, -1),
        1);
    close_bench(&t);
}

SUITE("builder", TEST(shapes), TEST(collectives), TEST(labels))
