/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The slices of a chip: what wraps by its rule, and which shapes there are. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "machine/chip.h"
#include "suite.h"

/* The wraps of a shape, printed as slice_print_wrap() does; "refused: ..." with the message if it is. */
static const char *wraps(const char *chip_name, const char *shape, const char *override)
{
    static char text[700];
    struct chip c;
    struct slice s;
    struct status st = {0};
    OKAY(chip_load(&c, chip_name, CHIP_SPEC, &st), st);
    if (chip_slice(&c, shape, override, &s, &st) < 0) {
        snprintf(text, sizeof text, "refused: %s", st.text);
    } else {
        OKAY(slice_check(&s, &st), st);
        CU_ASSERT(s.link_Bps == c.link_Bps && s.hop_latency_s == c.hop_latency_s);
        slice_print_wrap(&s, text);
    }
    slice_free(&s);
    chip_free(&c);
    return text;
}

static void slices_wrap_by_the_rule(void)
{
    static const struct {
        const char *chip, *shape, *override, *want;
    } cases[] = {
        {"v4", "4x4x4", NULL, "all"},     {"v4", "4x4x8", NULL, "all"},     {"v5p", "16x20x28", NULL, "all"},
        {"v5p", "28x16x20", NULL, "all"}, {"v4", "2x4x4", NULL, "none"},    {"v4", "4x4x6", NULL, "none"},
        {"v4", "4x4", NULL, "none"},      {"v4", "16", NULL, "none"},       {"v7x", "2x2x1", NULL, "none"},
        {"v7x", "8x8x8", NULL, "all"},    {"v5e", "16x16", NULL, "all"},    {"v5e", "8x16", NULL, "y"},
        {"v5e", "16x4", NULL, "x"},       {"v5e", "8x8", NULL, "none"},     {"v6e", "16", NULL, "all"},
        {"v2", "16x16", NULL, "all"},     {"v3", "16x16", NULL, "none"},    {"v3", "32x32", NULL, "all"},
        {"v5e", "4x4", "all", "all"},     {"v5e", "16x16", "none", "none"}, {"v4", "4x4x4", "x,z", "x,z"},
        {"v5e", "2x4", "all", "y"}, /* an axis of 2 has no ends to join */
        {"v5e", "4x4", "y", "y"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = wraps(cases[i].chip, cases[i].shape, cases[i].override);
        if (strcmp(got, cases[i].want) != 0)
            fprintf(stderr, "%s %s: %s, not %s\n", cases[i].chip, cases[i].shape, got, cases[i].want);
        CU_ASSERT_STRING_EQUAL(got, cases[i].want);
    }
}

static void slices_that_are_not_there_are_refused(void)
{
    static const struct {
        const char *chip, *shape, *override, *says;
    } cases[] = {
        {"v5e", "32x4", NULL, "slice 32x4 is larger than the v5e pod of 16x16"},
        {"v5p", "20x28x20", NULL, "slice 20x28x20 is larger than the v5p pod of 16x20x28"},
        {"v4", "32", NULL, "slice 32 is larger than the v4 pod of 16x16x16"},
        {"v5e", "4x4x4", NULL, "slice 4x4x4 has 3 axes, but v5e has 2; write a shape such as 4x4"},
        {"v5e", "4y4", NULL, "not a shape"},
        {"v5e", "0x4", NULL, "not a shape"},
        {"v5e", "4x4", "z", "axis z is not there; the slice has x to y"},
        {"v5e", "4x4", "x,", "write none, all, or axes"},
        {"v5e", "4x4", "xy", "write none, all, or axes"},
        {"v5e", "4x4", "", "write none, all, or axes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = wraps(cases[i].chip, cases[i].shape, cases[i].override);
        if (!strstr(got, cases[i].says))
            fprintf(stderr, "%s %s: %s\n", cases[i].chip, cases[i].shape, got);
        CU_ASSERT_PTR_NOT_NULL(strstr(got, cases[i].says));
    }
}

static void links_may_have_their_own_speed(void)
{
    struct chip c;
    struct slice s;
    struct status st = {0}, bad = {0};
    OKAY(chip_load(&c, "v5e", CHIP_SPEC, &st), st);
    OKAY(chip_slice(&c, "4x4", NULL, &s, &st), st);
    OKAY(slice_set_speed(&s, 47e9, NAN, &st), st);
    CU_ASSERT(s.link_Bps == 47e9 && s.hop_latency_s == c.hop_latency_s);
    OKAY(slice_set_speed(&s, NAN, 0, &st), st);
    CU_ASSERT(s.link_Bps == 47e9 && s.hop_latency_s == 0);
    CU_ASSERT_EQUAL(slice_set_speed(&s, 0, NAN, &bad), STATUS_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(bad.text, "it must be above 0"));
    chip_free(&c);
}

SUITE("chip_slice", TEST(slices_wrap_by_the_rule), TEST(slices_that_are_not_there_are_refused),
      TEST(links_may_have_their_own_speed))
