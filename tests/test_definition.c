/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The collectives' definitions against what JAX printed (tests/golden), against each other, and refusals. */
#include <stdlib.h>
#include <string.h>

#include "case_define.h"
#include "numbers/definition.h"
#include "suite.h"

enum { DEVICES_MAX = 12 };

static void golden_cases(void)
{
    struct status st = {0};
    struct cases cases;
    OKAY(cases_load(&cases, "tests/golden/jax_collectives.json", &st), st);
    CU_ASSERT_EQUAL(cases.count, 30);
    for (int i = 0; i < cases.count; i++) {
        struct status case_st = {0};
        struct array result;
        int64_t at = 0;
        OKAY(case_define(&cases.item[i], &result, &case_st), case_st);
        bool equal = array_near(&result, &cases.item[i].output, 0, &at);
        if (!equal) {
            fprintf(stderr, "%s (line %d) differs at element %lld:\n", cases.item[i].id, cases.item[i].line,
                    (long long)at);
            array_print(&result, stderr);
        }
        CU_ASSERT_TRUE(equal);
        array_free(&result);
    }
    cases_free(&cases);
}

/* A group of n devices and what each holds. */
struct world {
    struct axes axes;
    int n;
    struct array block[DEVICES_MAX];
};

/* Device d holds the array of `text`, plus 1000 d. */
static struct world world_of(const char *mesh, const char *text)
{
    struct world w = {0};
    struct status st = {0};
    OKAY(axes_parse(mesh, &w.axes, &st), st);
    w.n = axes_devices(&w.axes);
    CU_ASSERT_FATAL(w.n <= DEVICES_MAX);
    for (int d = 0; d < w.n; d++) {
        OKAY(array_parse(text, &w.block[d], &st), st);
        for (int64_t i = 0; i < array_elements(&w.block[d]); i++)
            w.block[d].data[i] += 1000 * d;
    }
    return w;
}

static void world_free(struct world *w)
{
    for (int d = 0; d < w->n; d++)
        array_free(&w->block[d]);
}

static struct call call_over(enum call_op op, const struct world *w, const char *axes)
{
    struct status st = {0};
    struct call call = {.op = op, .tiled = true};
    OKAY(axis_list_parse(axes, &w->axes, &call.axes, &st), st);
    return call;
}

static int apply(struct world *w, const struct call *call, struct status *st)
{
    struct groups groups;
    struct array out[DEVICES_MAX];
    int code = call_groups(call, &w->axes, &groups, st);
    if (code < 0)
        return code;
    if ((code = definition_apply(call, &groups, w->block, out, st)) == 0) {
        world_free(w);
        memcpy(w->block, out, (size_t)w->n * sizeof *out);
    }
    groups_free(&groups);
    return code;
}

static void must_apply(struct world *w, const struct call *call)
{
    struct status st = {0};
    OKAY(apply(w, call, &st), st);
}

static void holds(const struct world *w, int device, const char *text)
{
    struct status st = {0};
    struct array want;
    int64_t at;
    OKAY(array_parse(text, &want, &st), st);
    bool equal = array_near(&w->block[device], &want, 0, &at);
    if (!equal) {
        fprintf(stderr, "device %d holds, instead of %s:\n", device, text);
        array_print(&w->block[device], stderr);
    }
    CU_ASSERT_TRUE(equal);
    array_free(&want);
}

static bool same_world(const struct world *a, const struct world *b)
{
    int64_t at;
    for (int d = 0; d < a->n; d++)
        if (!array_near(&a->block[d], &b->block[d], 0, &at))
            return false;
    return true;
}

/* What the golden cases leave out: other dims, broadcast, ragged rows; written down by hand. */
static void small_cases(void)
{
    struct world w = world_of("i=2", "[[1,2],[3,4]]");
    struct call call = call_over(CALL_ALL_GATHER, &w, "i");
    call.dim = 1;
    must_apply(&w, &call);
    holds(&w, 0, "[[1,2,1001,1002],[3,4,1003,1004]]");
    world_free(&w);

    w = world_of("i=2", "[[1,2],[3,4]]");
    call.tiled = false;
    call.dim = 2; /* numpy.stack(blocks, axis=2) */
    must_apply(&w, &call);
    holds(&w, 1, "[[[1,1001],[2,1002]],[[3,1003],[4,1004]]]");
    world_free(&w);

    /* all_to_all, tiled, split 1, concat 0: device 1 gets column 1 of both, one above the other. */
    w = world_of("i=2", "[[1,2],[3,4]]");
    call = call_over(CALL_ALL_TO_ALL, &w, "i");
    call.split_axis = 1;
    must_apply(&w, &call);
    holds(&w, 1, "[[2],[4],[1002],[1004]]");
    world_free(&w);

    w = world_of("i=3", "[7]");
    call = call_over(CALL_BROADCAST, &w, "i");
    call.root = 2;
    must_apply(&w, &call);
    holds(&w, 0, "[2007]");
    world_free(&w);

    /* Each sends one row to 0 and two to 1, in this order. */
    w = world_of("i=2", "[[1,2],[3,4],[5,6]]");
    call = call_over(CALL_RAGGED, &w, "i");
    call.rows = (int64_t[]){1, 2, 1, 2};
    must_apply(&w, &call);
    holds(&w, 0, "[[1,2],[1001,1002]]");
    holds(&w, 1, "[[3,4],[5,6],[1003,1004],[1005,1006]]");
    world_free(&w);

    /* Positions that receive nothing hold zeros. */
    w = world_of("i=3", "[7]");
    call = call_over(CALL_PPERMUTE, &w, "i");
    call.pair = (int[][2]){{2, 0}};
    call.pairs = 1;
    must_apply(&w, &call);
    holds(&w, 0, "[2007]");
    holds(&w, 1, "[0]");
    holds(&w, 2, "[0]");
    world_free(&w);
}

/* psum = psum_scatter, then all_gather along the same dim; over one axis, two, and in groups. */
static void reduce_is_scatter_then_gather(void)
{
    static const char *const lists[] = {"a", "b", "a,b", "b,a"};
    for (int dim = 0; dim < 2; dim++)
        for (int l = 0; l < 4; l++) {
            struct world one = world_of("a=2,b=3", "arange(72).reshape(12,6)");
            struct world two = world_of("a=2,b=3", "arange(72).reshape(12,6)");
            struct call sum = call_over(CALL_PSUM, &one, lists[l]);
            struct call scatter = call_over(CALL_PSUM_SCATTER, &one, lists[l]);
            struct call gather = call_over(CALL_ALL_GATHER, &one, lists[l]);
            scatter.dim = gather.dim = dim;
            must_apply(&one, &sum);
            must_apply(&two, &scatter);
            CU_ASSERT_FALSE(same_world(&one, &two));
            must_apply(&two, &gather);
            CU_ASSERT_TRUE(same_world(&one, &two));
            world_free(&one);
            world_free(&two);
        }
}

/* all_to_all there and back, for all pairs of axes, tiled and not, is the identity; so is a shift. */
static void there_and_back(void)
{
    for (int tiled = 0; tiled < 2; tiled++)
        for (int i = 0; i < 9; i++) {
            struct world one = world_of("a=2,b=2", "arange(64).reshape(4,4,4)");
            struct world two = world_of("a=2,b=2", "arange(64).reshape(4,4,4)");
            struct call there = call_over(CALL_ALL_TO_ALL, &one, "b,a"), back = there;
            there.tiled = back.tiled = tiled;
            there.split_axis = back.concat_axis = i / 3;
            there.concat_axis = back.split_axis = i % 3;
            must_apply(&two, &there);
            CU_ASSERT_FALSE(same_world(&one, &two));
            must_apply(&two, &back);
            CU_ASSERT_TRUE(same_world(&one, &two));
            world_free(&one);
            world_free(&two);
        }
    for (int offset = -7; offset <= 7; offset++) {
        struct world one = world_of("a=2,b=3", "[1]"), two = world_of("a=2,b=3", "[1]");
        struct call there = call_over(CALL_RING_SHIFT, &one, "b,a"), back = there;
        there.offset = offset;
        back.offset = -offset;
        must_apply(&two, &there);
        CU_ASSERT_EQUAL(same_world(&one, &two), offset % 6 == 0);
        must_apply(&two, &back);
        CU_ASSERT_TRUE(same_world(&one, &two));
        world_free(&one);
        world_free(&two);
    }
}

/* Over (b,a) a shift follows the list, but a ppermute of the same pairs follows the mesh. */
static void ring_order_is_not_mesh_order(void)
{
    struct world w = world_of("a=2,b=3", "[0]"), v = world_of("a=2,b=3", "[0]");
    struct call shift = call_over(CALL_RING_SHIFT, &w, "b,a"), permute = call_over(CALL_PPERMUTE, &v, "b,a");
    shift.offset = 1;
    permute.pair = (int[][2]){{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}};
    permute.pairs = 6;
    must_apply(&w, &shift);
    must_apply(&v, &permute);
    holds(&v, 1, "[0]");    /* mesh order: from device 0 */
    holds(&w, 1, "[3000]"); /* (a 0, b 1) is position 2 of (b,a); position 1 is (a 1, b 0), device 3 */
    world_free(&w);
    world_free(&v);
}

static void groups_within_an_axis(void)
{
    struct world w = world_of("a=2,b=4", "[0]");
    struct call call = call_over(CALL_ALL_GATHER, &w, "b");
    struct status st = {0};
    OKAY(groups_parse("{{0,3},{2,1}}", 4, &call.divide, &st), st);
    must_apply(&w, &call);
    holds(&w, 0, "[0,3000]");
    holds(&w, 5, "[6000,5000]");
    groups_free(&call.divide);
    world_free(&w);
}

/* Is the call refused with a message that holds `why`. */
static void refused(struct world *w, const struct call *call, const char *why)
{
    struct status st = {0};
    CU_ASSERT_EQUAL(apply(w, call, &st), STATUS_INPUT);
    if (!strstr(st.text, why))
        fprintf(stderr, "'%s' does not say '%s'\n", st.text, why);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, why));
}

static void refusals(void)
{
    struct world w = world_of("a=2,b=3", "arange(20).reshape(4,5)");
    struct call call = call_over(CALL_PSUM_SCATTER, &w, "b");
    refused(&w, &call, "scatter_dimension 0 has length 4, which does not divide by the 3 devices");
    call.tiled = false;
    refused(&w, &call, "has length 4, not 3");
    call.dim = 2;
    refused(&w, &call, "blocks of shape (4, 5); it must be from 0 to 1");
    call = call_over(CALL_ALL_TO_ALL, &w, "a");
    call.concat_axis = 2;
    refused(&w, &call, "concat_axis 2");
    call.split_axis = 1;
    refused(&w, &call, "split_axis 1 has length 5");
    call = call_over(CALL_ALL_GATHER, &w, "a");
    call.dim = 2;
    refused(&w, &call, "from 0 to 1");
    call = call_over(CALL_BROADCAST, &w, "b");
    call.root = 3;
    refused(&w, &call, "they are 0 to 2");
    call = call_over(CALL_PPERMUTE, &w, "b");
    call.pairs = 2;
    call.pair = (int[][2]){{0, 1}, {2, 1}};
    refused(&w, &call, "position 1 receives twice");
    call.pair = (int[][2]){{0, 1}, {0, 2}};
    refused(&w, &call, "position 0 sends twice");
    call.pair = (int[][2]){{0, 1}, {1, 3}};
    refused(&w, &call, "no position 3; they are 0 to 2");
    call.divide = (struct groups){3, 1, (int[]){0, 1, 2}};
    refused(&w, &call, "takes no groups");
    call = call_over(CALL_PSUM, &w, "b");
    call.divide = (struct groups){1, 3, (int[]){0, 1, 1}};
    refused(&w, &call, "must not overlap");
    call = call_over(CALL_RAGGED, &w, "a");
    call.rows = (int64_t[]){1, 2, 2, 2};
    refused(&w, &call, "holds 4 rows and sends 3");
    world_free(&w);
}

static void names_and_pairs(void)
{
    struct status st = {0};
    struct call call = {0};
    CU_ASSERT_EQUAL(call_by_name("psum_scatter", &st), CALL_PSUM_SCATTER);
    CU_ASSERT_EQUAL(call_by_name("reduce-scatter", &st), CALL_PSUM_SCATTER);
    CU_ASSERT_EQUAL(call_by_name("reduce_scatter", &st), CALL_PSUM_SCATTER);
    CU_ASSERT_EQUAL(call_by_name("allreduce", &st), CALL_PSUM);
    CU_ASSERT_EQUAL(call_by_name("alltoall", &st), CALL_ALL_TO_ALL);
    CU_ASSERT_STRING_EQUAL(call_name(CALL_RAGGED), "ragged_all_to_all");
    CU_ASSERT_EQUAL(call_by_name("psum_scater", &st), STATUS_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "psum_scatter"));
    static const char *const texts[] = {"0-1,1-2", "[(0,1), (1,2)]", "[[0,1],[1,2]]"};
    for (int i = 0; i < 3; i++) {
        struct status parse_st = {0};
        OKAY(call_parse_pairs(texts[i], &call, &parse_st), parse_st);
        CU_ASSERT(call.pairs == 2 && call.pair[1][0] == 1 && call.pair[1][1] == 2);
    }
    CU_ASSERT_EQUAL(call_parse_pairs("0-", &call, &st), STATUS_INPUT);
    CU_ASSERT_EQUAL(call_parse_pairs("[(0,1)", &call, &st), STATUS_INPUT);
    call_free(&call);
}

static void local_steps(void)
{
    static const char *const cases[][2] = {{"mean", "[[2.5]]"},          {"roll:1", "[[3,4],[1,2]]"},
                                           {"roll:-3", "[[3,4],[1,2]]"}, {"slice:1:2", "[[3,4]]"},
                                           {"add:-1", "[[0,1],[2,3]]"},  {"", "[[1,2],[3,4]]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = world_of("a=1", "[[1,2],[3,4]]");
        struct local local;
        struct array out;
        struct status st = {0};
        OKAY(local_parse(cases[i][0], &local, &st), st);
        OKAY(local_apply(&local, &w.block[0], &out, &st), st);
        array_free(&w.block[0]);
        w.block[0] = out;
        holds(&w, 0, cases[i][1]);
        world_free(&w);
    }
    static const char *const bad[] = {"median", "roll", "slice:2:1", "add:", "mean:1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct local local;
        struct status st = {0};
        CU_ASSERT_EQUAL(local_parse(bad[i], &local, &st), STATUS_INPUT);
    }
}

/* A case that is wrong says where it is wrong. */
static void bad_files_of_cases(void)
{
    static const char head[] =
        "[{\"id\": \"a\", \"style\": \"shard_map\", \"mesh\": {\"i\": 4}, \"axis\": \"i\",\n";
    static const char *const bad[][2] = {
        {"\"op\": \"psun\"}]", ":2:7: "},
        {"\"op\": \"psum\", \"inptu\": [1]}]", "inptu"},
        {"\"op\": \"psum\", \"input\": [1,[2]], \"output\": [], \"in_spec\": [], \"out_spec\": []}]",
         ":2:27: "},
        {"\"op\": \"psum\", \"input\": [1], \"output\": [1], \"in_spec\": [\"i\", \"i\"]}]", "named twice"},
        {"\"op\": \"psum\", \"input\": [1], \"output\": [1], \"in_spec\": []}]", "out_spec"},
        {"\"op\": \"ppermute\", \"perm\": [[0,1],[1]], \"input\": [1]}]", ":2:27: pairs '[[0,1],[1]]'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char path[] = "/tmp/icisim-cases-XXXXXX.json";
        CU_ASSERT_FATAL(mkstemps(path, 5) >= 0);
        FILE *file = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        fprintf(file, "%s%s\n", head, bad[i][0]);
        fclose(file);
        struct status st = {0};
        struct cases cases;
        OKAY(cases_load(&cases, path, &st), st);
        CU_ASSERT_EQUAL_FATAL(cases.count, 1);
        const struct status *fault = &cases.item[0].fault;
        CU_ASSERT_EQUAL(fault->code, STATUS_INPUT);
        if (!strstr(fault->text, bad[i][1]))
            fprintf(stderr, "'%s' does not say '%s'\n", fault->text, bad[i][1]);
        CU_ASSERT_PTR_NOT_NULL(strstr(fault->text, bad[i][1]));
        cases_free(&cases);
        remove(path);
    }
}

SUITE("definition", TEST(golden_cases), TEST(small_cases), TEST(reduce_is_scatter_then_gather),
      TEST(there_and_back), TEST(ring_order_is_not_mesh_order), TEST(groups_within_an_axis), TEST(refusals),
      TEST(names_and_pairs), TEST(local_steps), TEST(bad_files_of_cases))
