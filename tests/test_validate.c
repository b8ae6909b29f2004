/* SPDX-License-Identifier: GPL-3.0-or-later */
/* That validate passes, that it would not if something were wrong, and that what it passes is not too little. */
#include <math.h>
#include <string.h>

#include "collective/collective.h"
#include "settings/measured.h"
#include "study/simulate.h"
#include "study/validate.h"
#include "suite.h"

static int count(const struct checks *checks, const char *part, const char *id, enum verdict verdict)
{
    int n = 0;
    for (int i = 0; i < checks->count; i++)
        n += (!part || strcmp(checks->check[i].part, part) == 0) &&
             (!id || strcmp(checks->check[i].id, id) == 0) && checks->check[i].verdict == verdict;
    return n;
}

static const char *kind_of(const struct checks *checks, const char *id)
{
    for (int i = 0; i < checks->count; i++)
        if (strcmp(checks->check[i].id, id) == 0)
            return checks->check[i].kind ? checks->check[i].kind : "";
    return "no such check";
}

static void test_verdicts(void)
{
    struct checks checks = {0};
    struct status st = {0};
    struct check check = {.simulated = 105, .expected = 100, .tolerance_frac = 0.051};
    OKAY(checks_add(&checks, check, "id", "what", "", &st), st);
    check.simulated = 94;
    OKAY(checks_add(&checks, check, "id", "what", "", &st), st);
    check.simulated = NAN; /* no number is not a good number */
    OKAY(checks_add(&checks, check, "id", "what", "", &st), st);
    check.verdict = VERDICT_BEYOND;
    OKAY(checks_add(&checks, check, "id", "what", "", &st), st);
    CU_ASSERT_EQUAL(checks.check[0].verdict, VERDICT_OK);
    CU_ASSERT_EQUAL(checks.check[1].verdict, VERDICT_OUT);
    CU_ASSERT_EQUAL(checks.check[2].verdict, VERDICT_OUT);
    CU_ASSERT_EQUAL(checks.check[3].verdict, VERDICT_BEYOND);
    CU_ASSERT_EQUAL(checks_out(&checks), 2);
    NEAR(check_difference(&checks.check[1]), -0.06, 1e-12);
    checks_free(&checks);
}

/* Prints what is out, so that a failing test says which formula. */
static void all_within(const struct checks *checks)
{
    CU_ASSERT_EQUAL(checks_out(checks), 0);
    for (int i = 0; i < checks->count; i++)
        if (checks->check[i].verdict == VERDICT_OUT)
            printf("%s %s: %.9g, expected %.9g: %s\n", checks->check[i].part, checks->check[i].id,
                   checks->check[i].simulated, checks->check[i].expected, checks->check[i].what);
}

/* Under the sanitizers a process for each of 1,300 runs in SimGrid takes minutes. */
#ifdef ICISIM_SANITIZE
static const bool with_simgrid = false;
#else
static const bool with_simgrid = true;
#endif

static void test_formulas(void)
{
    static const char *const exact[] = {"E1", "E2", "E3", "E4", "E4u", "E5", "E6", "E6r", "E7", "E8", "F10"};
    static const char *const rules[] = {"F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11"};
    struct checks checks = {0};
    struct status st = {0};
    OKAY(validate_formulas(&checks, with_simgrid, &st), st);
    all_within(&checks);
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        char simgrid[CHECK_ID];
        snprintf(simgrid, sizeof simgrid, "%s simgrid", exact[i]);
        CU_ASSERT_TRUE(count(&checks, "exact", exact[i], VERDICT_OK) >= 12);
        CU_ASSERT_TRUE(!with_simgrid || count(&checks, "exact", simgrid, VERDICT_OK) >= 3);
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        CU_ASSERT_TRUE(count(&checks, "rule", rules[i], VERDICT_OK) >= 1);
    /* V/W counts V where bidi-half moves V(N-1)/N: 4/3 at N = 4, but for 3 latencies in 30,000 */
    bool seen = false;
    for (int i = 0; i < checks.count; i++)
        if (strcmp(checks.check[i].id, "F1") == 0 && strstr(checks.check[i].what, "--slice 4 ") &&
            strstr(checks.check[i].what, "bidi-half")) {
            NEAR(checks.check[i].expected / checks.check[i].simulated, 4.0 / 3, 2e-4);
            seen = true;
        }
    CU_ASSERT_TRUE(seen);
    checks_free(&checks);
}

static void test_engines(void)
{
    struct checks checks = {0};
    struct status st = {0};
    OKAY(validate_engines(&checks, &st), st);
    all_within(&checks);
    CU_ASSERT_TRUE(count(&checks, "engines", NULL, VERDICT_OK) >= 15);
    checks_free(&checks);
}

static void test_published(void)
{
    struct checks checks = {0};
    struct status st = {0};
    OKAY(validate_published(&checks, CHIP_MEASURED, NULL, &st), st);
    OKAY(validate_worked(&checks, &st), st);
    all_within(&checks);
    CU_ASSERT_TRUE(count(&checks, "published", NULL, VERDICT_OK) >= 10);
    /* each prediction is of one kind, which has a median */
    CU_ASSERT_STRING_EQUAL(kind_of(&checks, "AG-v5e-4M"), "interpolated"); /* between 128 KiB and 1 GiB */
    CU_ASSERT_STRING_EQUAL(kind_of(&checks, "PP-v6e-1K"), "interpolated");
    CU_ASSERT_STRING_EQUAL(kind_of(&checks, "AG-v5e-line-128K"), "transferred"); /* from a ring of 16 */
    CU_ASSERT_STRING_EQUAL(kind_of(&checks, "CM-v5e-naive"), "transferred");
    CU_ASSERT_STRING_EQUAL(kind_of(&checks, "AG-v5e-1G"), "");
    CU_ASSERT_EQUAL(count(&checks, "median", "interpolated", VERDICT_OK), 1);
    CU_ASSERT_EQUAL(count(&checks, "median", "transferred", VERDICT_OK), 1);
    /* what a profile was fitted on is no prediction */
    CU_ASSERT_EQUAL(count(&checks, "published", "AG-v5e-1G", VERDICT_FITTED), 1);
    CU_ASSERT_EQUAL(count(&checks, "published", "AG-v5e-4M", VERDICT_OK), 1);
    CU_ASSERT_EQUAL(count(&checks, "worked", "W6", VERDICT_OK), 2);
    checks_free(&checks);
    /* on the spec profile nothing is judged, and small sizes are far off */
    OKAY(validate_published(&checks, CHIP_SPEC, NULL, &st), st);
    CU_ASSERT_EQUAL(count(&checks, "published", NULL, VERDICT_OK), 0);
    checks_free(&checks);
}

/* The column that people read and the lists in the chip files say the same. */
static void test_fitted_column(void)
{
    struct measured m;
    struct status st = {0};
    struct checks checks = {0};
    OKAY(measured_read(&m, "analysis/published/published.csv", NULL, &st), st);
    OKAY(validate_published(&checks, CHIP_MEASURED, NULL, &st), st);
    for (int i = 0; i < m.rows; i++) {
        const char *id = csv_table_text(&m.table, m.row[i].row, "id");
        bool fitted = *csv_table_text(&m.table, m.row[i].row, "fitted") != '\0';
        CU_ASSERT_EQUAL(count(&checks, "published", id, VERDICT_FITTED), fitted);
    }
    checks_free(&checks);
    measured_free(&m);
}

/* A measurement that the profile does not meet is out. */
static void test_wrong_measurement(void)
{
    struct checks checks = {0};
    struct status st = {0};
    OKAY(validate_published(&checks, CHIP_MEASURED, "tests/golden/published_wrong.csv", &st), st);
    CU_ASSERT_EQUAL(count(&checks, "published", "WRONG", VERDICT_OUT), 1);
    CU_ASSERT_EQUAL(count(&checks, "published", "RIGHT", VERDICT_OK), 1);
    CU_ASSERT_EQUAL(count(&checks, "median", "transferred", VERDICT_OUT), 1);
    checks_free(&checks);
}

/* Random collectives on random slices, sizes that divide and that do not: a closed form, where there is one, is the
 * time, and no time is below its bound. */
static void test_random_points(void)
{
    static const char *const ops[] = {"all-gather", "reduce-scatter",       "all-reduce",
                                      "all-to-all", "collective-broadcast", "collective-permute",
                                      NULL};
    static const char *const chips[] = {"v3", "v4", "v5e", "v5p", "v7x"}, *const wraps[] = {"all", "none",
                                                                                            "x"};
    static const int sizes[] = {2, 14, 998, 8192, 131074, 6000000};
    enum { POINTS = 600 };
    struct suite_random r = {20250117};
    struct catalog catalog = {0};
    int exact = 0;
    for (int i = 0; i < POINTS; i++) {
        char shape[24], ring[24] = "", algorithm[24] = "", arguments[200];
        int x = 1 + (int)suite_random(&r, 8), y = 1 + (int)suite_random(&r, 5),
            z = 1 + (int)suite_random(&r, 3);
        unsigned chip = suite_random(&r, 5);
        bool flat = chip == 0 || chip == 2;
        snprintf(shape, sizeof shape, flat ? "%dx%d" : "%dx%dx%d", x, y, z);
        unsigned op = suite_random(&r, 6);
        if (op != 5)
            snprintf(ring, sizeof ring, " --ring %s",
                     ring_kind_name((enum ring_kind)suite_random(&r, RING_KINDS)));
        if (op == 3)
            snprintf(algorithm, sizeof algorithm, " --all-to-all %s",
                     all_to_all_name((enum all_to_all)suite_random(&r, ALL_TO_ALLS)));
        snprintf(arguments, sizeof arguments,
                 "%s --chip %s --slice %s --wrap %s --axis %s%s%s --size %dB --engine event", ops[op],
                 chips[chip], shape, wraps[suite_random(&r, 3)], suite_random(&r, 2) ? "x" : "x,y", ring,
                 algorithm, sizes[suite_random(&r, 6)]);
        struct simulation s;
        struct status st = {0};
        OKAY(simulate(NULL, arguments, &catalog, &s, &st), st);
        bool bounded = !(s.result.time_s < s.result.bound_s * (1 - 1e-9));
        bool as_formula = isnan(s.result.formula_exact_s) ||
                          fabs(s.result.time_s - s.result.formula_exact_s) <= 1e-9 * s.result.formula_exact_s;
        exact += !isnan(s.result.formula_exact_s);
        CU_ASSERT_TRUE(bounded);
        CU_ASSERT_TRUE(as_formula);
        if (!bounded || !as_formula)
            printf("%s: %.12g s, formula %.12g s, bound %.12g s\n", arguments, s.result.time_s,
                   s.result.formula_exact_s, s.result.bound_s);
    }
    CU_ASSERT_TRUE(exact > POINTS / 3);
    catalog_free(&catalog);
}

SUITE("validate", TEST(test_random_points), TEST(test_verdicts), TEST(test_formulas), TEST(test_engines),
      TEST(test_published), TEST(test_fitted_column), TEST(test_wrong_measurement))
