/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modules: building, groups of devices, trip counts, and what the checker refuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/hlo_read.h"
#include "hlo/module_check.h"
#include "modules.h"

static void keeps_equal_parts_once(void)
{
    struct module m;
    struct status st = {0};
    module_init(&m, "m", 7);
    int32_t word = module_text(&m, "a word of its own", -1);
    for (int i = 0; i < 1000; i++) {
        char text[32];
        snprintf(text, sizeof text, "word %d", i);
        module_text(&m, text, -1);
        module_array(&m, DTYPE_F32, (int64_t[]){i, 3}, 2);
    }
    CU_ASSERT_EQUAL(module_text(&m, "a word of its own, and more", 17), word);
    CU_ASSERT_NOT_EQUAL(module_text(&m, "a word of its own, and more", 18), word);
    CU_ASSERT_EQUAL(module_array(&m, DTYPE_F32, (int64_t[]){313, 3}, 2), 313);
    CU_ASSERT_EQUAL(m.shapes, 1000);
    CU_ASSERT_NOT_EQUAL(module_array(&m, DTYPE_BF16, (int64_t[]){313, 3}, 2), 313);
    CU_ASSERT_NOT_EQUAL(module_tuple(&m, (int32_t[]){313, 3}, 2), 313);
    module_begin(&m, "main");
    module_add(&m, HLO_PARAMETER, NULL, 313, NULL, 0);
    module_attribute(&m, ATTR_PARAMETER_NUMBER, (int64_t[]){0}, 1);
    OKAY(module_close(&m, &st), st);
    OKAY(module_check(&m, NULL, &st), st);
    CU_ASSERT_STRING_EQUAL(module_word(&m, module_at(&m, 0)->name), "parameter.0");
    module_free(&m);
}

/* A label that is added again has the later value, in the place of the former. One name may end in another: "bytes" is no label. */
static void labels_have_one_value(void)
{
    struct module m;
    char value[8];
    module_init(&m, "m", 7);
    module_begin(&m, "main");
    module_add(&m, HLO_PARAMETER, NULL, module_array(&m, DTYPE_F32, (int64_t[]){3, 5}, 2), NULL, 0);
    module_add_label(&m, "layer", "7");
    module_add_label(&m, "hbm_bytes", "2385");
    module_add_label(&m, "what", "wq");
    module_add_label(&m, "hbm_bytes", "31");
    CU_ASSERT_STRING_EQUAL(module_value(&m, 0, ATTR_FRONTEND_ATTRIBUTES),
                           "{layer=\"7\",hbm_bytes=\"31\",what=\"wq\"}");
    CU_ASSERT(module_label(&m, 0, "hbm_bytes", value, sizeof value));
    CU_ASSERT_STRING_EQUAL(value, "31");
    CU_ASSERT(!module_label(&m, 0, "bytes", value, sizeof value));
    module_add_label(&m, "layer", "12");
    CU_ASSERT_STRING_EQUAL(module_value(&m, 0, ATTR_FRONTEND_ATTRIBUTES),
                           "{layer=\"12\",hbm_bytes=\"31\",what=\"wq\"}");
    module_free(&m);
}

/* Long ones: permutes of a loop name the same pairs over and over. */
static void keeps_equal_lists_once(void)
{
    enum { LONG = 200, PERMUTES = 5 };
    int64_t pair[LONG];
    struct module m;
    struct status st = {0};
    module_init(&m, "m", LONG);
    module_begin(&m, "main");
    int32_t at = module_add(&m, HLO_PARAMETER, NULL, module_array(&m, DTYPE_F32, (int64_t[]){3}, 1), NULL, 0);
    module_attribute(&m, ATTR_PARAMETER_NUMBER, (int64_t[]){0}, 1);
    for (int p = 0; p < PERMUTES; p++) {
        int32_t made = module_add(&m, HLO_COLLECTIVE_PERMUTE, NULL, module_at(&m, at)->shape, &at, 1);
        for (int i = 0; i < LONG; i++)
            pair[i] = i / 2 + (i % 2) * (1 + p % 2); /* two kinds in turn */
        module_attribute(&m, ATTR_SOURCE_TARGET_PAIRS, pair, LONG);
        at = made;
    }
    OKAY(module_close(&m, &st), st);
    for (int p = 1; p <= PERMUTES; p++) {
        int count, kind = (p - 1) % 2;
        const int64_t *number = module_numbers(&m, p, ATTR_SOURCE_TARGET_PAIRS, &count);
        CU_ASSERT_EQUAL_FATAL(count, LONG);
        CU_ASSERT_EQUAL(number[LONG - 1], LONG / 2 + kind);
        CU_ASSERT_EQUAL(number, module_numbers(&m, 1 + kind, ATTR_SOURCE_TARGET_PAIRS, &count));
    }
    module_free(&m);
}

/* Groups of an instruction with these attributes, as digits with a bar between groups, for 3 replicas of 2 partitions. */
static void groups_are(const char *opcode, const char *attributes, const char *want)
{
    char text[400], got[64] = "";
    struct module m;
    struct groups groups;
    struct status st = {0};
    snprintf(text, sizeof text,
             "HloModule m, replica_count=3, num_partitions=2\n"
             "ENTRY e { p = f32[8] parameter(0)\n q = f32[8] %s(p), %s }",
             opcode, attributes);
    module_of(&m, text);
    OKAY(module_groups_of(&m, m.computation[0].root, &groups, &st), st);
    for (int i = 0, at = 0; i < groups.count * groups.size; i++)
        at += snprintf(got + at, sizeof got - (size_t)at, "%s%d", i && i % groups.size == 0 ? "|" : "",
                       groups.member[i]);
    CU_ASSERT_STRING_EQUAL(got, want);
    groups_free(&groups);
    module_free(&m);
}

/* Device = 2 replica + partition. */
static void groups_in_every_mode(void)
{
    const char *reduce = "all-reduce";
    groups_are(reduce, "replica_groups={{0,1,2,3,4,5}}, channel_id=1, use_global_device_ids=true", "012345");
    groups_are(reduce, "replica_groups=[3,2]<=[2,3]T(1,0), channel_id=1, use_global_device_ids=true",
               "03|14|25");
    groups_are(reduce, "replica_groups=mesh['r'=3,'p'=2] {'r'}, channel_id=1, use_global_device_ids=true",
               "024|135");
    groups_are(reduce, "replica_groups={{0,1,2}}, channel_id=1", "012345");
    groups_are(reduce, "replica_groups={{2},{0},{1}}, channel_id=1", "45|01|23");
    groups_are(reduce, "replica_groups={}, channel_id=1", "012345");
    groups_are(reduce, "replica_groups={{2,0,1}}", "402|513");
    groups_are(reduce, "replica_groups={}", "024|135");
    groups_are(reduce, "metadata={}", "024|135");
    /* these know no flattened ids: with a channel they go over partitions */
    groups_are("all-to-all", "replica_groups={{1,0}}, channel_id=1, dimensions={0}", "10|32|54");
    groups_are("all-to-all", "replica_groups={{0,1,2}}, dimensions={0}", "024|135");
    groups_are("collective-broadcast", "replica_groups={{0},{1}}, channel_id=1", "0|2|4|1|3|5");
    /* pairs of source and target */
    groups_are("collective-permute", "source_target_pairs={{0,1}}, channel_id=1", "01|23|45");
    groups_are("collective-permute", "source_target_pairs={{0,2},{2,1}}", "04|15|42|53");
}

static void refuses_groups(void)
{
    static const char *const bad[][2] = {
        {"all-reduce(p), replica_groups={{0,1,2,3,4,5}}, channel_id=1",
         "there is no device 3; they are 0 to 2"},
        {"all-reduce(p), replica_groups={{0,1},{2,3},{4,4}}, channel_id=1, use_global_device_ids=true",
         "device 4 is in more than one place"},
        {"all-reduce(p), replica_groups={{0,1},{2,3}}, channel_id=1, use_global_device_ids=true",
         "device 4 is in no group"},
        {"all-reduce(p), replica_groups=[3,4]<=[12], channel_id=1, use_global_device_ids=true",
         "there is no device 6; they are 0 to 5"},
        {"collective-permute(p), source_target_pairs={{0,1},{0,2}}", "device 0 is twice a source"},
        {"collective-permute(p), source_target_pairs={{0,1},{2,1}}", "device 1 is twice a target"},
        {"collective-permute(p), source_target_pairs={{0,3}}", "there is no device 3; they are 0 to 2"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[400], why[160];
        snprintf(text, sizeof text,
                 "HloModule m, replica_count=3, num_partitions=2\n"
                 "ENTRY e {\n  p = f32[8] parameter(0)\n  q = f32[8] %s }",
                 bad[i][0]);
        text_is_refused(text, bad[i][1]);
        snprintf(why, sizeof why, "m.hlo:4:3: q: ");
        text_is_refused(text, why);
    }
}

/* A loop over `i`, which starts at `start` and becomes `next`, as long as `test`. The limit 11 and the step 2 are carried
 * through the tuple, as XLA widens loops; a constant stands in each computation too. */
static int64_t trips_of(const char *start, const char *next, const char *test)
{
    char *text = NULL;
    struct module m;
    struct status st = {0};
    int n = asprintf(
        &text,
        "HloModule m\n"
        "plus { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }\n"
        "less { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }\n"
        "body { t = (s32[], s32[], f32[8], s32[]) parameter(0)\n  i = s32[] get-tuple-element(t), index=0\n"
        "  limit = s32[] get-tuple-element(t), index=1\n  step = s32[] get-tuple-element(t), index=3\n"
        "  x = f32[8] get-tuple-element(t), index=2\n  y = f32[8] add(x, x)\n  three = s32[] constant(3)\n"
        "  next = s32[] %s\n  kept = s32[] copy(limit)\n"
        "  ROOT o = (s32[], s32[], f32[8], s32[]) tuple(next, kept, y, step) }\n"
        "cond { t = (s32[], s32[], f32[8], s32[]) parameter(0)\n  i = s32[] get-tuple-element(t), index=0\n"
        "  limit = s32[] get-tuple-element(t), index=1\n  seven = s32[] constant(7)\n"
        "  one = s32[] constant(1)\n  later = s32[] add(i, one)\n  ROOT c = pred[] %s }\n"
        "ENTRY e { first = s32[] constant(%s)\n  eleven = s32[] constant(11)\n  two = s32[] constant(2)\n"
        "  x = f32[8] parameter(0)\n  t = (s32[], s32[], f32[8], s32[]) tuple(first, eleven, x, two)\n"
        "  b = (s32[], s32[], f32[8], s32[]) opt-barrier(t)\n"
        "  ROOT w = (s32[], s32[], f32[8], s32[]) while(b), condition=cond, body=body }\n",
        next, test, start);
    CU_ASSERT_FATAL(n > 0);
    int code = hlo_read(&m, "m.hlo", text, strlen(text), NULL, &st);
    int64_t trips = module_trip_count(&m, m.instructions - 1);
    CU_ASSERT_EQUAL(code < 0, trips < 0); /* what is not known is refused */
    module_free(&m);
    free(text);
    return trips;
}

static void counts_trips(void)
{
    static const struct {
        const char *start, *next, *test;
        int64_t trips;
    } cases[] = {
        /* 1 3 5 7 9, and not 11 */
        {"1", "add(i, step)", "compare(i, limit), direction=LT", 5},
        {"1", "add(step, i)", "compare(limit, i), direction=GT", 5},
        {"1", "add(i, step)", "compare(i, limit), direction=LE", 6},
        {"1", "add(i, step)", "compare(i, limit), direction=NE", 5},
        {"2", "add(i, step)", "compare(i, limit), direction=NE", -1}, /* 2 4 .. 10 12 .. */
        {"2", "add(i, step)", "compare(i, limit), direction=LT", 5},
        {"2", "add(i, three)", "compare(i, limit), direction=LT", 3}, /* 2 5 8 */
        {"2", "fusion(i, three), kind=kLoop, calls=plus", "fusion(i, limit), kind=kLoop, calls=less", 3},
        {"40", "subtract(i, three)", "compare(i, limit), direction=GT", 10}, /* 40 37 .. 13 */
        {"41", "subtract(i, three)", "compare(i, limit), direction=GE", 11}, /* 41 38 .. 11 */
        {"41", "subtract(i, three)", "compare(limit, i), direction=LE", 11},
        {"41", "subtract(i, three)", "compare(i, limit), direction=NE", 10},
        {"0", "add(i, three)", "compare(later, limit), direction=LT", 4}, /* 1 4 7 10 */
        {"0", "add(i, three)", "compare(i, seven), direction=LT", 3},     /* 0 3 6 */
        {"11", "add(i, three)", "compare(i, limit), direction=EQ", 1},
        {"12", "add(i, three)", "compare(i, limit), direction=EQ", 0},
        {"11", "add(i, three)", "compare(i, limit), direction=LT", 0},
        {"-9000000000000000000", "add(i, step)", "compare(i, limit), direction=LT",
         INT64_C(4500000000000000006)},
        /* without end, or not known */
        {"1", "subtract(i, step)", "compare(i, limit), direction=LT", -1},
        {"1", "copy(i)", "compare(i, limit), direction=LT", -1},
        {"1", "multiply(i, step)", "compare(i, limit), direction=LT", -1},
        {"1", "add(i, i)", "compare(i, limit), direction=LT", -1},
        {"1", "add(i, step)", "compare(i, i), direction=LT", -1},
        {"1", "add(i, step)", "custom-call(i), custom_call_target=\"x\"", -1},
        {"{...}", "add(i, step)", "compare(i, limit), direction=LT", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t trips = trips_of(cases[i].start, cases[i].next, cases[i].test);
        if (trips != cases[i].trips)
            fprintf(stderr, "from %s, %s, %s: %lld trips, not %lld\n", cases[i].start, cases[i].next,
                    cases[i].test, (long long)trips, (long long)cases[i].trips);
        CU_ASSERT_EQUAL(trips, cases[i].trips);
    }
}

/* What XLA knows is written down; and a loop whose state is one number. */
static void reads_known_trips(void)
{
    static const char *const configs[] = {
        "{\"known_trip_count\":{\"n\":\"37\"},\"known_init_step\":{\"init\":\"1\"}}",
        "\"{\\\"known_trip_count\\\":{\\\"n\\\":\\\"37\\\"}}\"", "{\"a\":{\"n\":\"5\"}}"};
    static const int64_t trips[] = {37, 37, 3};
    for (int i = 0; i < 3; i++) {
        char text[600];
        struct module m;
        snprintf(
            text, sizeof text,
            "HloModule m\nbody { i = s32[] parameter(0) k = s32[] constant(4) ROOT n = s32[] add(i, k) }\n"
            "cond { i = s32[] parameter(0) l = s32[] constant(10) ROOT c = pred[] compare(i, l), "
            "direction=LT }\n"
            "ENTRY e { i = s32[] constant(-1)\n ROOT w = s32[] while(i), condition=cond, body=body, "
            "backend_config=%s }",
            configs[i]);
        module_of(&m, text);
        CU_ASSERT_EQUAL(module_trip_count(&m, m.computation[m.entry].root), trips[i]); /* -1 3 7 */
        module_free(&m);
    }
}

static void refuses_meaning(void)
{
    static const char *const bad[][2] = {
        {"dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
         "q: its operands have 5 and 7 elements in contracting"},
        {"dot(a, b), lhs_contracting_dims={2}, rhs_contracting_dims={0}", "lhs_contracting_dims names dim 2"},
        {"dot(a, b), lhs_contracting_dims={1,0,1}, rhs_contracting_dims={0}", "twice"},
        {"convolution(a, b), dim_labels=b0_0f->bf, window={size=5 stride=0}",
         "window: expected numbers from 1"},
        {"convolution(a, b), dim_labels=b0_0f->bf, window={size=5 pad=1_2_3_4_5}",
         "window: expected numbers"},
        {"convolution(a, b), dim_labels=b0_0f->bf, window={size=5 pad=-1048577_0}", "numbers from -1048576"},
        {"dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={1}", "its result has 21 elements"},
        {"dot(a)", "a product needs two operands"},
        {"convolution(a, b), dim_labels=bf->bf", "dim_labels must have a letter for each dim"},
        {"convolution(a, b), dim_labels=b_io->bf", "dim_labels must have a letter for each dim"},
        {"convolution(a, b), dim_labels=bf_i->bf", "dim_labels must have a letter for each dim"},
        {"convolution(a, b), dim_labels=bf_io->bf0", "dim_labels must have a letter for each dim"},
        {"convolution(a, b), dim_labels=bf_io", "dim_labels must have a letter for each dim"},
        {"convolution(a, b), dim_labels=b0_0f->bf, window={size=4}", "window has size 4 where"},
        {"convolution(a, b), dim_labels=bf_io->bf, window={size=3x}", "window: expected numbers"},
        {"tuple(a, b)", "a tuple of 2 operands must have as many shapes"},
        {"get-tuple-element(t), index=2", "needs a tuple, and an index in it"},
        {"get-tuple-element(t), index=0", "element 0 of its operand has another shape"},
        {"slice(a), slice={[0:3], [0:7]}", "a slice must lie inside its operand"},
        {"all-gather(a), dimensions={1}, replica_groups={}",
         "operand and result must differ in dim 1, by the group's 4"},
        {"all-gather(a), dimensions={2}, replica_groups={}", "dimensions={D} with D less than 2"},
        {"reduce-scatter(a), dimensions={0}, replica_groups={}", "operand and result must differ in dim 0"},
        {"all-reduce(a), replica_groups={}", "its result must have the shape of its operand"},
        {"all-reduce(a, a), replica_groups={}", "one shape for each of its 2 operands"},
        {"ragged-all-to-all(a), replica_groups={}", "six operands"},
        {"all-to-all(a, b), replica_groups={}", "2 operands for groups of 4"},
        {"all-reduce-start(c), replica_groups={}", "q: a start without a done"},
        {"all-reduce-done(a)", "q: a done without its start"},
        {"async-done(ags)", "q: a done without its start"},
        {"fusion(a), calls=two", "it has 1 operands for the 2 parameters of 'two'"},
        {"fusion(a)", "it does not say which computation it runs"},
        {"conditional(a, b), branch_computations={two, two}", "2 branches need 3"},
        {"while(a), body=two", "needs one operand, body= and condition="},
        {"while(a), body=two, condition=two", "one parameter each"},
        {"while(c), body=other, condition=other", "must have one shape"},
        {"while(a), body=other, condition=same",
         "its operand, its result and its body's must have one shape"},
        {"while(c), body=same, condition=same", "its condition must be a pred[]"},
        {"while(c), body=same, condition=real", "its condition must be a pred[]"},
        {"while(c), body=same, condition=preds", "its condition must be a pred[]"},
        {"parameter(5)", "parameter 5 of 4: they are numbered from 0"},
        {"parameter(1)", "numbered from 0, each once"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[1200];
        snprintf(text, sizeof text,
                 "HloModule m, replica_count=4\n"
                 "two { a = f32[] parameter(0) b = f32[] parameter(1) }\n"
                 "same { a = f32[3,7] parameter(0) }\nother { a = f32[3,7] parameter(0) b = f32[2,7] "
                 "constant({...}) }\n"
                 "real { a = f32[3,7] parameter(0) b = f32[] constant(1) }\n"
                 "preds { a = f32[3,7] parameter(0) b = pred[2] constant({...}) }\n"
                 "ENTRY e {\n  a = f32[3,5] parameter(0)\n  b = f32[5,7] parameter(1)\n  c = f32[3,7] "
                 "parameter(2)\n"
                 "  t = (f32[5,7], f32[]) custom-call(a), custom_call_target=\"x\"\n"
                 "  ags = (f32[3,5], f32[12,5]) all-gather-start(a), dimensions={0}, replica_groups={}\n"
                 "  agd = f32[12,5] all-gather-done(ags)\n  q = f32[3,7] %s\n}\n",
                 bad[i][0]);
        text_is_refused(text, bad[i][1]);
    }
}

/* A module that was broken after it was built. */
static void finds_broken_modules(void)
{
    const char *text = "HloModule m\ns { a = f32[] parameter(0) ROOT b = f32[] add(a, a) }\n"
                       "ENTRY e { p = f32[] parameter(0)\n q = f32[] call(p), to_apply=s }";
    for (int fault = 0; fault < 12; fault++) {
        struct module m;
        struct status st = {0};
        int32_t where = -1;
        module_of(&m, text);
        int32_t call = m.instructions - 1;
        switch (fault) {
        case 0:
            m.operand[m.instruction[call].first_operand] = call;
            break;
        case 1:
            m.operand[m.instruction[call].first_operand] = 0;
            break;
        case 2:
            m.instruction[call].shape = m.shapes;
            break;
        case 3:
            m.number[m.attribute[m.instruction[call].first_attribute].first] = 1;
            break;
        case 4:
            m.computation[1].root = 0;
            break;
        case 5:
            m.computation[0].count--;
            break;
        case 6:
            m.entry = 2;
            break;
        case 7:
            m.partitions = 0;
            break;
        case 8:
            m.instruction[call].computation = 0;
            break;
        case 9:
            m.shape[0].dtype = DTYPE_COUNT;
            break;
        case 10:
            m.shape[0].dtype = SHAPE_OPAQUE - 1;
            break;
        case 11:
            m.shape[0].count = m.numbers + 1;
            break;
        }
        CU_ASSERT_EQUAL(module_check(&m, &where, &st), STATUS_INPUT);
        CU_ASSERT_EQUAL(where, fault <= 3 || fault == 8 ? call : -1);
        module_free(&m);
    }
}

SUITE("module", TEST(keeps_equal_parts_once), TEST(labels_have_one_value), TEST(keeps_equal_lists_once),
      TEST(groups_in_every_mode), TEST(refuses_groups), TEST(counts_trips), TEST(reads_known_trips),
      TEST(refuses_meaning), TEST(finds_broken_modules))
