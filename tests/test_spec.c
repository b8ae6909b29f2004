/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mesh axes, replica groups and PartitionSpecs: text in, text out, and how an array is cut and joined. */
#include <stdlib.h>
#include <string.h>

#include "notation/axes.h"
#include "notation/groups.h"
#include "numbers/shard.h"
#include "suite.h"

static struct axes mesh(const char *text)
{
    struct status st = {0};
    struct axes axes;
    OKAY(axes_parse(text, &axes, &st), st);
    return axes;
}

static void says(const struct status *st, const char *why)
{
    if (!strstr(st->text, why))
        fprintf(stderr, "'%s' does not say '%s'\n", st->text, why);
    CU_ASSERT_PTR_NOT_NULL(strstr(st->text, why));
    CU_ASSERT_PTR_NULL(strchr(st->text, '\n'));
}

static void axes_round_trip(void)
{
    char text[AXES_TEXT];
    struct axes axes = mesh(" dp = 4, tp=2 ");
    CU_ASSERT_STRING_EQUAL(axes_print(&axes, text), "dp=4,tp=2");
    CU_ASSERT_EQUAL(axes_devices(&axes), 8);
    CU_ASSERT_EQUAL(axes_coord(&axes, 5, 0), 2);
    CU_ASSERT_EQUAL(axes_coord(&axes, 5, 1), 1);
    struct status st = {0};
    struct axis_list list;
    OKAY(axis_list_parse("(tp,dp)", &axes, &list, &st), st);
    CU_ASSERT_STRING_EQUAL(axis_list_print(&list, &axes, text), "(tp,dp)");
    /* device 5 = (dp 2, tp 1): in the list's order 1*4 + 2 */
    CU_ASSERT_EQUAL(axis_list_position(&list, &axes, 5), 6);
    struct axis_list sorted = axis_list_of_set(axis_list_set(&list));
    CU_ASSERT_EQUAL(axis_list_position(&sorted, &axes, 5), 5);
}

static void axes_refused(void)
{
    static const char *const bad[][2] = {
        {"dp=4,dp=2", "'dp' twice"},
        {"dp", "as in dp=4,tp=2"},
        {"dp=0", "from 1 to"},
        {"dp=4,", "as in dp=4,tp=2"},
        {"dp=4x", "nothing may follow"},
        {"=4", "as in dp=4,tp=2"},
        {"a=9999,b=9999", "more than 16777216 devices"},
        {"a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1", "more than 8 axes"},
        {"a_name_much_too_long=4", "at most 15"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct status st = {0};
        struct axes axes;
        CU_ASSERT(axes_parse(bad[i][0], &axes, &st) < 0);
        says(&st, bad[i][1]);
    }
    struct axes axes = mesh("dp=4,tp=2");
    struct axis_list list;
    struct status twice = {0}, unknown = {0};
    CU_ASSERT(axis_list_parse("tp,tp", &axes, &list, &twice) < 0);
    says(&twice, "'tp' is named twice");
    CU_ASSERT(axis_list_parse("tp,q", &axes, &list, &unknown) < 0);
    says(&unknown, "no axis 'q'; it is dp=4,tp=2");
}

/* Members of the groups of `text`, as a string of digits with a bar between groups. */
static void groups_are(const char *text, int devices, const char *want)
{
    struct status st = {0};
    struct groups groups;
    char got[64] = "";
    OKAY(groups_parse(text, devices, &groups, &st), st);
    for (int i = 0, at = 0; i < groups.count * groups.size; i++)
        at += snprintf(got + at, sizeof got - (size_t)at, "%s%d", i && i % groups.size == 0 ? "|" : "",
                       groups.member[i]);
    CU_ASSERT_STRING_EQUAL(got, want);
    groups_free(&groups);
}

static void groups_in_all_spellings(void)
{
    groups_are("{{0,1},{2,3}}", 4, "01|23");
    groups_are("[[3,1],[2,0]]", 4, "31|20");
    groups_are("{}", 3, "012");
    groups_are("[2,4]<=[8]", 8, "0123|4567");
    /* 0..7 as [2,4] is 0123/4567, transposed 04 15 26 37 */
    groups_are("[4,2]<=[2,4]T(1,0)", 8, "04|15|26|37");
    /* numpy.arange(8).reshape(2,2,2).transpose(2,0,1).reshape(2,4) */
    groups_are("[2,4]<=[2,2,2]T(2,0,1)", 8, "0246|1357");
    groups_are("mesh['x'=2,'y'=4] {'x'}", 8, "04|15|26|37");
    groups_are("mesh['x'=2,'y'=4] {'y','x'}", 8, "04152637");
    groups_are("mesh['axis_0'=3,'axis_1'=1] {}", 3, "0|1|2");
    /* y = 2 slow, 2 fast digits: positions 0 to 7 are x, slow, fast in binary */
    groups_are("mesh['x'=2,'y'=4] {'y':(2)2}", 8, "01|23|45|67");
    groups_are("mesh['x'=2,'y'=4] {'y':(1)2,'x'}", 8, "0426|1537");
    /* positions 0 1 2 3 hold devices 0 2 1 3, listed and as an iota */
    groups_are("mesh[x=2,y=2], device_ids=(0,2,1,3) {y}", 4, "02|13");
    groups_are("mesh[x=2,y=2], device_ids=([2,2]T(1,0)) {y}", 4, "02|13");
}

/* Where the number of devices is not known yet, groups may leave some out or be all of them. */
static void groups_of_unknown_devices(void)
{
    groups_are("{{0,12},{2,13}}", 0, "012|213");
    groups_are("[3,1]<=[3]", 0, "0|1|2");
    groups_are("mesh['x'=2,'y'=2] {'x'}", 0, "02|13");
    groups_are("{}", 0, "");
    struct status st = {0};
    struct groups groups;
    CU_ASSERT_EQUAL(groups_parse("[2,9]<=[2,7]", 0, &groups, &st), STATUS_INPUT);
    says(&st, "multiply to the number of devices, 14");
}

static void groups_refused(void)
{
    static const char *const bad[][2] = {
        {"{{0,1},{1,3}}", "device 1 is in more than one place"},
        {"{{0,1},{2}}", "must have the same size"},
        {"{{0,1}}", "device 2 is in no group"},
        {"{{0,1},{2,4}}", "from 0 to 3"},
        {"{{0,1},{2,3},{0,1}}", "must not overlap"},
        {"[2,4]<=[8]", "from 1 to 4"},
        {"[2,1]<=[4]", "number of devices, 4"},
        {"[4]<=[4]", "[groups,size]"},
        {"[2,2]<=[2,2]T(0,0)", "each of the dims"},
        {"0,1", "expected {{0,1}"},
        {"{{0,1},{2,3}", "expected '}'"},
        {"{{},{}}", "expected a device"},
        {"[2,2]<=[3]", "the number of devices, 4"},
        {"mesh['x'=2,'y'=2] {'z'}", "no axis 'z'"},
        {"mesh['x'=2,'y'=2] {'x','x'}", "overlap"},
        {"mesh['x'=4] {'x':(1)2,'x':(1)2}", "overlap"},
        {"mesh['x'=4] {'x':(2)4}", "does not divide the 4 of 'x'"},
        {"mesh['x'=2,'y'=3] {'x'}", "a mesh of 6 devices; there are 4"},
        {"mesh['x'=2,'y'=2], device_ids=(0,1,1,3) {'x'}", "device 1 is in more than one place"},
        {"mesh['x'=2,'y'=2], device_ids=(0,1,2) {'x'}", "expected ','"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct status st = {0};
        struct groups groups;
        CU_ASSERT_EQUAL(groups_parse(bad[i][0], 4, &groups, &st), STATUS_INPUT);
        says(&st, bad[i][1]);
        CU_ASSERT_PTR_NULL(groups.member);
    }
}

static void groups_of_mesh_axes(void)
{
    struct axes axes = mesh("dp=2,tp=3");
    struct axis_list list = {0};
    struct status st = {0};
    struct groups groups;
    OKAY(axis_list_parse("dp", &axes, &list, &st), st);
    OKAY(groups_over_axes(&axes, &list, &groups, &st), st);
    static const int want[] = {0, 3, 1, 4, 2, 5};
    CU_ASSERT(groups.count == 3 && groups.size == 2);
    CU_ASSERT_EQUAL(memcmp(groups.member, want, sizeof want), 0);
    groups_free(&groups);
    OKAY(axis_list_parse("(tp,dp)", &axes, &list, &st), st);
    OKAY(groups_over_axes(&axes, &list, &groups, &st), st);
    CU_ASSERT(groups.count == 1 && groups.size == 6);
    CU_ASSERT_EQUAL(memcmp(groups.member, want, sizeof want), 0);
    groups_free(&groups);
}

/* By the definition: in a group all that is not listed is the same, and a device stands at its position in the list. */
static void groups_by_position(void)
{
    static const char *const lists[] = {"c", "(a,c)", "(d,a)", "(c,b,a)", "(b,d,c,a)", "()"};
    struct axes axes = mesh("a=3,b=5,c=2,d=7");
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        struct axis_list list;
        struct status st = {0};
        int32_t device[210];
        OKAY(axis_list_parse(lists[l], &axes, &list, &st), st);
        int n = axis_list_size(&list, &axes);
        axis_list_groups(&list, &axes, device);
        for (int at = 0; at < 210; at++) {
            int first = device[at - at % n];
            bool listed[4] = {false};
            for (int i = 0; i < list.count; i++)
                listed[list.axis[i]] = true;
            CU_ASSERT_EQUAL(axis_list_position(&list, &axes, device[at]), at % n);
            for (int a = 0; a < 4; a++)
                CU_ASSERT_EQUAL(axes_coord(&axes, device[at], a),
                                listed[a] ? axes_coord(&axes, device[at], a) : axes_coord(&axes, first, a));
            CU_ASSERT(at < n || device[at - at % n] > device[at - at % n - n]);
        }
    }
}

static void spec_round_trip(void)
{
    static const char *const text[][2] = {
        {"P(None, tp)", "P(None,tp)"},
        {"P(('dp','tp'))", "P((dp,tp))"},
        {"PartitionSpec((tp, dp), None)", "P((tp,dp),None)"},
        {"()", "P()"},
        {"P('tp',)", "P(tp)"},
        {"P((tp,))", "P(tp)"},
        {"P(())", "P(None)"},
    };
    struct axes axes = mesh("dp=4,tp=2");
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        struct status st = {0};
        struct spec spec;
        char got[SPEC_TEXT];
        OKAY(spec_parse(text[i][0], &axes, &spec, &st), st);
        CU_ASSERT_STRING_EQUAL(spec_print(&spec, &axes, got), text[i][1]);
        OKAY(spec_parse(got, &axes, &spec, &st), st);
    }
}

static void spec_refused(void)
{
    static const char *const bad[][2] = {
        {"P(tp,tp)", "'tp' is named twice"},
        {"P((dp,tp),tp)", "'tp' is named twice"},
        {"P((tp,tp))", "'tp' is named twice"},
        {"P(x)", "no axis 'x'; it is dp=4,tp=2"},
        {"P(tp", "expected ')'"},
        {"tp", "expected '('"},
        {"P(tp) x", "nothing may follow"},
        {"P((dp,None))", "None inside"},
        {"P(,)", "expected None, an axis"},
        {"P('tp)", "not closed"},
    };
    struct axes axes = mesh("dp=4,tp=2");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct status st = {0};
        struct spec spec;
        CU_ASSERT_EQUAL(spec_parse(bad[i][0], &axes, &spec, &st), STATUS_INPUT);
        says(&st, bad[i][1]);
    }
}

enum { DEVICES = 8 };

/* The array of `text`, cut by `in`, is joined by `out` to the array of `want`. */
static void reshards(const char *text, const char *in, const char *out, const char *want)
{
    struct axes axes = mesh("dp=4,tp=2");
    struct status st = {0};
    struct spec in_spec, out_spec;
    struct array global, block[DEVICES], joined, expected;
    int64_t at;
    OKAY(spec_parse(in, &axes, &in_spec, &st), st);
    OKAY(spec_parse(out, &axes, &out_spec, &st), st);
    OKAY(array_parse(text, &global, &st), st);
    OKAY(array_parse(want, &expected, &st), st);
    OKAY(spec_shard(&in_spec, &axes, &global, block, &st), st);
    OKAY(spec_assemble(&out_spec, &axes, block, &joined, &st), st);
    CU_ASSERT_TRUE(array_near(&joined, &expected, 0, &at));
    for (int i = 0; i < DEVICES; i++)
        array_free(&block[i]);
    array_free(&global);
    array_free(&joined);
    array_free(&expected);
}

static void cut_and_join(void)
{
    static const char *const specs[] = {"P()",      "P(tp)",      "P(None,dp)", "P(dp,tp)",
                                        "P(tp,dp)", "P((dp,tp))", "P((tp,dp))", "P(None,(tp,dp))"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        reshards("arange(192).reshape(8,8,3)", specs[i], specs[i], "arange(192).reshape(8,8,3)");
    /* Cut over (tp,dp), read as if cut over (dp,tp): device (d,t) holds t*4+d and is put at d*2+t. */
    reshards("arange(8)", "P((tp,dp))", "P((dp,tp))", "[0,4,1,5,2,6,3,7]");
    /* An axis that is not named is read at coordinate 0: tp 0 holds the even blocks. */
    reshards("arange(8)", "P((dp,tp))", "P(dp)", "[0,2,4,6]");
    reshards("5", "P()", "P()", "5");
}

static void cut_refused(void)
{
    struct axes axes = mesh("dp=4,tp=2");
    struct spec spec;
    struct array global, block[DEVICES];
    struct status st = {0}, long_st = {0};
    OKAY(array_parse("arange(12).reshape(6,2)", &global, &st), st);
    OKAY(spec_parse("P(dp)", &axes, &spec, &st), st);
    CU_ASSERT_EQUAL(spec_shard(&spec, &axes, &global, block, &st), STATUS_INPUT);
    says(&st, "dim 0 of length 6 does not divide by 4, the size of dp; take a multiple of 4");
    OKAY(spec_parse("P(None,None,tp)", &axes, &spec, &long_st), long_st);
    CU_ASSERT_EQUAL(spec_shard(&spec, &axes, &global, block, &long_st), STATUS_INPUT);
    says(&long_st, "P(None,None,tp) has 3 entries, but the array of shape (6, 2) has 2 dims");
    array_free(&global);
}

static void replicas(void)
{
    struct axes axes = mesh("dp=4,tp=2");
    struct spec cut, whole;
    struct array global, block[DEVICES];
    struct status st = {0};
    OKAY(spec_parse("P(tp)", &axes, &cut, &st), st);
    OKAY(spec_parse("P()", &axes, &whole, &st), st);
    OKAY(array_parse("arange(6)", &global, &st), st);
    OKAY(spec_shard(&cut, &axes, &global, block, &st), st);
    OKAY(spec_check_replicas(&cut, &axes, block, 0, &st), st);
    CU_ASSERT_EQUAL(spec_check_replicas(&whole, &axes, block, 0, &st), STATUS_CHECK);
    says(&st, "devices 0 and 1 differ, but P() does not name axis tp");
    for (int i = 0; i < DEVICES; i++)
        array_free(&block[i]);
    array_free(&global);
}

SUITE("spec", TEST(axes_round_trip), TEST(axes_refused), TEST(groups_in_all_spellings),
      TEST(groups_of_unknown_devices), TEST(groups_refused), TEST(groups_of_mesh_axes),
      TEST(groups_by_position), TEST(spec_round_trip), TEST(spec_refused), TEST(cut_and_join),
      TEST(cut_refused), TEST(replicas))
