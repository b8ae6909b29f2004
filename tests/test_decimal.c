/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers as text: what printf writes, bit by bit. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "base/random.h"
#include "suite.h"

static bool same(double value)
{
    char want[64], got[DECIMAL_TEXT];
    snprintf(want, sizeof want, "%.9g", value);
    char *end = decimal_real(got, value);
    if (strcmp(want, got) == 0 && end == got + strlen(got))
        return true;
    printf("%a: %s, not %s\n", value, got, want);
    return false;
}

static void reals_are_printed_as_printf_does(void)
{
    static const double values[] = {0,
                                    -0.0,
                                    1,
                                    -1,
                                    0.1,
                                    1e9,
                                    999999999,
                                    999999999.5,
                                    9999999995.,
                                    0.0001,
                                    0.00009999999995,
                                    1e-5,
                                    123456789.5,
                                    123456788.5,
                                    1e22,
                                    1e23,
                                    1e34,
                                    1e35,
                                    1e-18,
                                    1e-19,
                                    DBL_MAX,
                                    DBL_MIN,
                                    4.9e-324,
                                    INFINITY,
                                    -INFINITY,
                                    NAN,
                                    12345.678,
                                    2.385e-6,
                                    1073741824,
                                    0.5,
                                    99999999.95,
                                    100000000.5,
                                    1.000000005,
                                    1.0000000049999999};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        CU_ASSERT(same(values[i]));
    for (int e = -30; e <= 40; e++)
        for (int d = 1; d <= 10; d++) { /* powers of ten, halves of the last digit, and their neighbours */
            double whole = d * pow(10, e), half = (d + 5e-9) * pow(10, e);
            CU_ASSERT(same(whole) && same(nextafter(whole, 0)) && same(nextafter(whole, INFINITY)));
            CU_ASSERT(same(half) && same(nextafter(half, 0)) && same(nextafter(half, INFINITY)));
        }
}

/* Any bits, and numbers of the sizes that results have. */
static void random_reals(void)
{
    uint64_t state = 20260716;
    int wrong = 0;
    for (int i = 0; i < 200000 && wrong < 5; i++) {
        uint64_t bits = random_next(&state);
        double any, usual = ldexp((double)(random_next(&state) >> 11), -53) *
                            pow(10, (double)(random_next(&state) % 30) - 15);
        memcpy(&any, &bits, sizeof any);
        wrong += !same(any) + !same(usual) + !same(-usual);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void whole_numbers(void)
{
    static const int64_t values[] = {0, 7, -7, 10, 1234567890123, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char want[64], got[DECIMAL_TEXT];
        snprintf(want, sizeof want, "%" PRId64, values[i]);
        char *end = decimal_whole(got, values[i]);
        CU_ASSERT_STRING_EQUAL(got, want);
        CU_ASSERT_PTR_EQUAL(end, got + strlen(want));
    }
}

SUITE("decimal", TEST(reals_are_printed_as_printf_does), TEST(random_reals), TEST(whole_numbers))
