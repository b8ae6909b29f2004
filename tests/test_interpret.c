/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modules with numbers, each worked out by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/hlo_read.h"
#include "numbers/interpret.h"
#include "suite.h"

static const char sums[] =
    "%sum (a: f32[], b: f32[]) -> f32[] {\n %a = f32[] parameter(0)\n %b = f32[] parameter(1)\n"
    " ROOT %c = f32[] add(%a, %b)\n}\n"
    "%most (a: f32[], b: f32[]) -> f32[] {\n %a = f32[] parameter(0)\n"
    " %b = f32[] parameter(1)\n ROOT %c = f32[] maximum(%a, %b)\n}\n";

/* The results of a module on each device, "1 2 | 3 4": its input x holds, on device d, x[i] + 100 d. */
static int run(int devices, const char *called, const char *body, const char *x, char *printed, size_t room,
               struct status *st)
{
    char *text = NULL;
    struct module module = {0};
    struct array *argument = calloc((size_t)devices, sizeof *argument);
    struct interpretation out = {0};
    int n = asprintf(
        &text, "HloModule m, num_partitions=%d, is_scheduled=true\n%s%s\nENTRY %%main () -> f32[] {\n%s\n}\n",
        devices, sums, called, body);
    CU_ASSERT_FATAL(n > 0 && argument);
    int code = hlo_read(&module, "test", text, (size_t)n, NULL, st);
    for (int d = 0; d < devices && code == 0; d++) {
        code = array_parse(x, &argument[d], st);
        int64_t elements = code == 0 ? array_elements(&argument[d]) : 0;
        for (int64_t i = 0; i < elements; i++)
            argument[d].data[i] += 100 * d;
    }
    if (code == 0)
        code = interpret(&module, argument, 1, &out, st);
    size_t used = 0;
    for (int d = 0; d < devices && code == 0; d++) {
        int64_t elements = array_elements(&out.result[d]);
        for (int64_t i = 0; i < elements && used < room; i++)
            used += (size_t)snprintf(printed + used, room - used, "%g%s", out.result[d].data[i],
                                     i + 1 < elements ? " " : "");
        if (used < room && d + 1 < devices)
            used += (size_t)snprintf(printed + used, room - used, " | ");
    }
    for (int d = 0; d < devices; d++)
        array_free(&argument[d]);
    free(argument);
    free(text);
    interpretation_free(&out);
    module_free(&module);
    return code;
}

struct example {
    int devices;
    const char *x, *body, *want;
};

static void gives(const struct example examples[], size_t n, const char *called)
{
    for (size_t i = 0; i < n; i++) {
        char got[512] = "";
        struct status st = {0};
        OKAY(run(examples[i].devices, called, examples[i].body, examples[i].x, got, sizeof got, &st), st);
        CU_ASSERT_STRING_EQUAL(got, examples[i].want);
        if (strcmp(got, examples[i].want) != 0)
            fprintf(stderr, "%s\n  gave %s, not %s\n", examples[i].body, got, examples[i].want);
    }
}
#define GIVES(examples, called) gives(examples, sizeof examples / sizeof *examples, called)

static void elements(void)
{
    static const struct example examples[] = {
        {1, "[1, -2, 3]",
         "%x = f32[3] parameter(0)\n %n = f32[3] negate(%x)\n ROOT %m = f32[3] maximum(%x, %n)", "1 2 3"},
        {1, "[1, -2, 3]",
         "%x = f32[3] parameter(0)\n %c = f32[3] constant({0.5, -3, 3})\n"
         " %p = pred[3] compare(%x, %c), direction=GT\n ROOT %s = f32[3] select(%p, %x, %c)",
         "1 -2 3"},
        {1, "[2.75, -2.75]", "%x = f32[2] parameter(0)\n ROOT %i = s32[2] convert(%x)", "2 -2"},
        {1, "[7, -7, 4]",
         "%x = s32[3] parameter(0)\n %c = s32[] constant(2)\n %b = s32[3] broadcast(%c), dimensions={}\n"
         " ROOT %d = s32[3] divide(%x, %b)",
         "3 -3 2"},
        /* 8-bit numbers wrap around: 100 + 100 = 200 - 256, 200 + 100 - 256, -100 - 100 + 256 */
        {1, "[100, -100]", "%x = s8[2] parameter(0)\n ROOT %s = s8[2] add(%x, %x)", "-56 56"},
        {1, "[200, 100]",
         "%x = u8[2] parameter(0)\n %c = u8[] constant(100)\n %b = u8[2] broadcast(%c), dimensions={}\n"
         " ROOT %s = u8[2] add(%x, %b)",
         "44 200"},
        {1, "[0, 4, 0.25]", "%x = f32[3] parameter(0)\n ROOT %r = f32[3] sqrt(%x)", "0 2 0.5"},
    };
    GIVES(examples, "");
}

static void shapes(void)
{
    static const struct example examples[] = {
        {1, "[[1, 2, 3], [4, 5, 6]]",
         "%x = f32[2,3] parameter(0)\n ROOT %t = f32[3,2] transpose(%x), dimensions={1,0}", "1 4 2 5 3 6"},
        {1, "[1, 2]", "%x = f32[2] parameter(0)\n ROOT %b = f32[2,3] broadcast(%x), dimensions={0}",
         "1 1 1 2 2 2"},
        {1, "[0, 1, 2, 3, 4, 5, 6]", "%x = f32[7] parameter(0)\n ROOT %s = f32[3] slice(%x), slice={[1:7:2]}",
         "1 3 5"},
        {1, "[[1, 2], [3, 4]]",
         "%x = f32[2,2] parameter(0)\n %z = f32[] constant(9)\n ROOT %p = f32[3,4] pad(%x, %z), "
         "padding=0_1x1_0_1",
         "9 1 9 2 9 3 9 4 9 9 9 9"},
        {1, "[1, 2, 3, 4]",
         "%x = f32[4] parameter(0)\n %z = f32[] constant(9)\n ROOT %p = f32[3] pad(%x, %z), padding=-2_1",
         "3 4 9"},
        {1, "[[1, 2], [3, 4]]",
         "%x = f32[2,2] parameter(0)\n ROOT %c = f32[2,4] concatenate(%x, %x), dimensions={1}",
         "1 2 1 2 3 4 3 4"},
        {1, "[[1, 2], [3, 4]]",
         "%x = f32[2,2] parameter(0)\n %z = f32[] constant(10)\n"
         " ROOT %r = f32[2] reduce(%x, %z), dimensions={1}, to_apply=%sum",
         "13 17"},
        {1, "[[1, 2], [3, 4]]", "%x = f32[2,2] parameter(0)\n ROOT %i = s32[2,2] iota(), iota_dimension=1",
         "0 1 0 1"},
        /* starts beyond the end are moved back, 3 to 1 */
        {1, "[0, 1, 2]",
         "%x = f32[3] parameter(0)\n %i = s32[] constant(3)\n"
         " ROOT %s = f32[2] dynamic-slice(%x, %i), dynamic_slice_sizes={2}",
         "1 2"},
        {1, "[0, 1, 2]",
         "%x = f32[3] parameter(0)\n %i = s32[] constant(1)\n %u = f32[2] constant({7, 8})\n"
         " ROOT %s = f32[3] dynamic-update-slice(%x, %u, %i)",
         "0 7 8"},
        {1, "[[1, 2, 3], [4, 5, 6]]",
         "%x = f32[2,3] parameter(0)\n %y = f32[2,2] constant({ { 1, 10 }, { 100, 1000 } })\n"
         " ROOT %d = f32[3,2] dot(%x, %y), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
         "401 4010 502 5020 603 6030"},
        {1, "[[1, 2], [3, 4]]",
         "%x = f32[2,2] parameter(0)\n ROOT %d = f32[2] dot(%x, %x), lhs_batch_dims={0}, rhs_batch_dims={0},"
         " lhs_contracting_dims={1}, rhs_contracting_dims={1}",
         "5 25"},
    };
    GIVES(examples, "");
}

static void collectives(void)
{
    static const struct example examples[] = {
        {4, "[1, 2]",
         "%x = f32[2] parameter(0)\n ROOT %g = f32[4] all-gather(%x), channel_id=1, "
         "use_global_device_ids=true,"
         " replica_groups={{0,2},{3,1}}, dimensions={0}",
         "1 2 201 202 | 301 302 101 102 | 1 2 201 202 | 301 302 101 102"},
        {2, "[1, 2]",
         "%x = f32[2] parameter(0)\n ROOT %r = f32[2] all-reduce(%x), channel_id=1, "
         "use_global_device_ids=true,"
         " replica_groups={{0,1}}, to_apply=%sum",
         "102 104 | 102 104"},
        {2, "[1, 2]",
         "%x = f32[2] parameter(0)\n ROOT %r = f32[2] all-reduce(%x), channel_id=1, "
         "use_global_device_ids=true,"
         " replica_groups={{0,1}}, to_apply=%most",
         "101 102 | 101 102"},
        {2, "[1, 2]",
         "%x = f32[2] parameter(0)\n ROOT %r = f32[1] reduce-scatter(%x), channel_id=1, "
         "use_global_device_ids=true,"
         " replica_groups={{1,0}}, dimensions={0}, to_apply=%sum",
         "104 | 102"},
        {2, "[1, 2]",
         "%x = f32[2] parameter(0)\n ROOT %a = f32[2] all-to-all(%x), channel_id=1, replica_groups={{0,1}},"
         " dimensions={0}",
         "1 101 | 2 102"},
        /* nothing comes to device 0 */
        {3, "[1]",
         "%x = f32[1] parameter(0)\n ROOT %p = f32[1] collective-permute(%x), channel_id=1,"
         " source_target_pairs={{0,1},{1,2}}",
         "0 | 1 | 101"},
        {2, "[1]",
         "%x = f32[1] parameter(0)\n %s = (f32[1], f32[2]) all-gather-start(%x), channel_id=1,"
         " use_global_device_ids=true, replica_groups={{0,1}}, dimensions={0}\n ROOT %d = f32[2] "
         "all-gather-done(%s)",
         "1 101 | 1 101"},
        {2, "[1]",
         "%x = f32[1] parameter(0)\n %s = (f32[1], f32[1]) collective-permute-start(%x), channel_id=1,"
         " source_target_pairs={{0,1},{1,0}}\n ROOT %d = f32[1] collective-permute-done(%s)",
         "101 | 1"},
        /* two at once */
        {2, "[1]",
         "%x = f32[1] parameter(0)\n %y = f32[1] negate(%x)\n"
         " %r = (f32[1], f32[1]) all-reduce(%x, %y), channel_id=1, use_global_device_ids=true,"
         " replica_groups={{0,1}}, to_apply=%sum\n ROOT %g = f32[1] get-tuple-element(%r), index=1",
         "-102 | -102"},
    };
    GIVES(examples, "");
}

static void calls(void)
{
    static const char called[] =
        "%twice (x: f32[1]) -> f32[1] {\n %x = f32[1] parameter(0)\n ROOT %y = f32[1] add(%x, %x)\n}\n"
        "%same (x: f32[1]) -> f32[1] {\n ROOT %x = f32[1] parameter(0)\n}\n"
        "%gather (x: f32[1]) -> f32[3] {\n %x = f32[1] parameter(0)\n ROOT %y = f32[3] all-gather(%x), "
        "channel_id=2,"
        " use_global_device_ids=true, replica_groups={{0,1,2}}, dimensions={0}\n}\n";
    static const struct example examples[] = {
        {3, "[1]", "%x = f32[1] parameter(0)\n ROOT %f = f32[1] fusion(%x), kind=kLoop, calls=%twice",
         "2 | 202 | 402"},
        /* devices 1 and 2 double theirs */
        {3, "[1]",
         "%x = f32[1] parameter(0)\n %d = u32[] partition-id()\n %t = pred[3] constant({false, true, true})\n"
         " %s = pred[1] dynamic-slice(%t, %d), dynamic_slice_sizes={1}\n %p = pred[] reshape(%s)\n"
         " ROOT %c = f32[1] conditional(%p, %x, %x), true_computation=%twice, false_computation=%same",
         "1 | 202 | 402"},
        {3, "[1]",
         "%x = f32[1] parameter(0)\n %s = ((f32[1]), f32[3], u32[]) async-start(%x), calls=%gather\n"
         " ROOT %d = f32[3] async-done(%s), calls=%gather",
         "1 101 201 | 1 101 201 | 1 101 201"},
    };
    GIVES(examples, called);
}

static void refusals(void)
{
    static const struct {
        const char *body, *why;
    } bad[] = {
        {"%x = f32[2] parameter(0)\n ROOT %c = f32[2] custom-call(%x), custom_call_target=\"mine\"",
         "c: custom-call has no definition here"},
        {"%x = f32[3] parameter(0)\n ROOT %n = f32[3] negate(%x)", "x: it is (3,) on a device, not (2,)"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char got[64];
        struct status st = {0};
        CU_ASSERT_EQUAL(run(2, "", bad[i].body, "[1, 2]", got, sizeof got, &st), STATUS_INPUT);
        CU_ASSERT_STRING_EQUAL(st.text, bad[i].why);
    }
}

SUITE("interpret", TEST(elements), TEST(shapes), TEST(collectives), TEST(calls), TEST(refusals))
