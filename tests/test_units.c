/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "suite.h"

#define IN(part, st) CU_ASSERT_PTR_NOT_NULL(strstr((st).text, part))

static void bytes_are_exact(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"64MiB", 67108864},                     /* 64 * 2^20 */
        {"64MB", 64000000},                      /* powers of ten without the i */
        {"1.5MiB", 1572864},                     /* 3 * 2^19 */
        {"0.001kB", 1},                          /* a fraction of a unit, but whole bytes */
        {"2.385kB", 2385},                       /* not 2384.999... */
        {"1e3B", 1000},                          /* exponent */
        {"12E-1KB", 1200},                       /* and one that falls */
        {" 7 GiB ", 7516192768},                 /* blanks; 7 * 2^30 */
        {"3TB", 3000000000000},                  /* 3 * 10^12 */
        {"0B", 0},                               /* zero is read */
        {"0e999999MiB", 0},                      /* however it is written */
        {"16777215TiB", 18446742974197923840u},  /* (2^24 - 1) * 2^40 */
        {"18446744073709551615B", UINT64_MAX},   /* 2^64 - 1 */
        {"18446744.073709551615TB", UINT64_MAX}, /* the same: 20 digits, exactly */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct status st = {0};
        uint64_t bytes = 1;
        OKAY(units_parse_bytes("size", cases[i].text, &bytes, &st), st);
        CU_ASSERT_EQUAL(bytes, cases[i].bytes);
    }
}

static void what_is_wrong_says_the_cure(void)
{
    static const struct {
        const char *text;
        int code;
        const char *part;
    } cases[] = {
        {"64", STATUS_INPUT, "size '64' has no unit; write 64MiB or 64B"},
        {"1e3", STATUS_INPUT, "write 1e3MiB or 1e3B"},
        {"", STATUS_INPUT, "not a number with a unit, such as 64MiB"},
        {"MiB", STATUS_INPUT, "not a number"},
        {"0x10B", STATUS_INPUT, "unknown unit 'x10B'"},
        {"-1MiB", STATUS_INPUT, "is negative"},
        {"1.5B", STATUS_INPUT, "not a whole number of bytes"},
        {"1e-3B", STATUS_INPUT, "not a whole number of bytes"},
        {"0.1KiB", STATUS_INPUT, "not a whole number of bytes"},
        {"64Mib", STATUS_INPUT, "unknown unit 'Mib'; the nearest is MiB"},
        {"64 MiB x", STATUS_INPUT, "unknown unit 'MiB x'"},
        {"nanB", STATUS_INPUT, "not a number"},
        {"99999999TiB", STATUS_LIMIT, "too large"},
        {"16777216TiB", STATUS_LIMIT, "too large"}, /* 2^64, one more than fits */
        {"18446744073709551616B", STATUS_LIMIT, "too large"},
        {"1e99999999999999999999B", STATUS_LIMIT, "too large"},
        {"99999999999999999999999999999B", STATUS_LIMIT, "too large"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct status st = {0};
        uint64_t bytes = 4711;
        CU_ASSERT_EQUAL(units_parse_bytes("size", cases[i].text, &bytes, &st), cases[i].code);
        CU_ASSERT_EQUAL(bytes, 4711); /* a fault writes nothing */
        if (!strstr(st.text, cases[i].part))
            fprintf(stderr, "'%s' says: %s\n", cases[i].text, st.text);
        IN(cases[i].part, st);
    }
}

/* Exact equality on purpose: what is read is the double nearest to what is written. */
static void reals_are_the_nearest_doubles(void)
{
    struct status st = {0};
    double v = 0;
    OKAY(units_parse_bandwidth("link", "45GBps", &v, &st), st);
    CU_ASSERT(v == 45e9);
    OKAY(units_parse_bandwidth("link", "496 Gbit/s", &v, &st), st);
    CU_ASSERT(v == 62e9); /* 496 / 8 */
    OKAY(units_parse_bandwidth("link", "3GiB/s", &v, &st), st);
    CU_ASSERT(v == 3221225472.0); /* 3 * 2^30 */
    OKAY(units_parse_bandwidth("link", "0.1kbps", &v, &st), st);
    CU_ASSERT(v == 12.5);
    OKAY(units_parse_time("latency", "2.385us", &v, &st), st);
    CU_ASSERT(v == 2.385e-6);
    OKAY(units_parse_time("latency", "7 ps", &v, &st), st);
    CU_ASSERT(v == 7e-12);
    OKAY(units_parse_rate("peak", "19.17Tflops", &v, &st), st);
    CU_ASSERT(v == 19.17e12);
    OKAY(units_parse_rate("peak", "394Tops", &v, &st), st);
    CU_ASSERT(v == 394e12);
    OKAY(units_parse_work("work", "1.5Gflop", &v, &st), st);
    CU_ASSERT(v == 1.5e9);
    OKAY(units_parse_fraction("efficiency", "85%", &v, &st), st);
    CU_ASSERT(v == 0.85);
    OKAY(units_parse_fraction("efficiency", "85 %", &v, &st), st);
    CU_ASSERT(v == 0.85);
    OKAY(units_parse_fraction("efficiency", "1", &v, &st), st);
    CU_ASSERT(v == 1);
}

static void reals_refuse(void)
{
    double v = 47;
    struct status a = {0}, b = {0}, c = {0}, d = {0}, e = {0}, f = {0};
    CU_ASSERT_EQUAL(units_parse_bandwidth("link", "45", &v, &a), STATUS_INPUT);
    IN("link '45' has no unit; write 45GBps or 45Gbps", a);
    CU_ASSERT_EQUAL(units_parse_time("latency", "1MiB", &v, &b), STATUS_INPUT);
    IN("unknown unit 'MiB'; known are s, ms, us, ns, ps", b);
    CU_ASSERT_EQUAL(units_parse_time("latency", "1e400s", &v, &c), STATUS_LIMIT);
    CU_ASSERT_EQUAL(units_parse_fraction("efficiency", "1.1", &v, &d), STATUS_INPUT);
    IN("above 1", d);
    CU_ASSERT_EQUAL(units_parse_fraction("efficiency", "half", &v, &e), STATUS_INPUT);
    CU_ASSERT_EQUAL(units_parse_rate("peak", "1.00000000000000000000000001Tflops", &v, &f), STATUS_LIMIT);
    CU_ASSERT(v == 47);
}

/* At either end of what is plausible, and just beyond. */
static void reals_are_plausible(void)
{
    static const struct {
        int (*parse)(const char *what, const char *text, double *value, struct status *st);
        const char *low, *high, *too_low, *too_high, *says;
    } kinds[] = {
        {units_parse_bandwidth, "1Bps", "1000TBps", "0.999Bps", "1000.1TBps", "write 1Bps to 1000TBps"},
        {units_parse_bandwidth, "8bps", "8000Tbps", "1e-307Bps", "1e300Bps", "write 1Bps to 1000TBps"},
        {units_parse_time, "1e-6ps", "1e6s", "9.9e-7ps", "1e308s", "write 1e-6ps to 1e6s, or 0s"},
        {units_parse_rate, "1flops", "1e6Pflops", "1e-10Gflops", "1.1e6Pflops", "write 1flops to 1e6Pflops"},
        {units_parse_work, "1flop", "1e9Pflop", "0.5flop", "1e10Pflop", "write 1flop to 1e9Pflop"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double v = 47;
        struct status st = {0}, low = {0}, high = {0};
        OKAY(kinds[i].parse("q", kinds[i].low, &v, &st), st);
        OKAY(kinds[i].parse("q", kinds[i].high, &v, &st), st);
        CU_ASSERT_EQUAL(kinds[i].parse("q", kinds[i].too_low, &v, &low), STATUS_LIMIT);
        CU_ASSERT_EQUAL(kinds[i].parse("q", kinds[i].too_high, &v, &high), STATUS_LIMIT);
        IN("is not plausible", low);
        IN(kinds[i].says, low);
        IN(kinds[i].says, high);
    }
    double zero = 47;
    struct status st = {0};
    OKAY(units_parse_time("t", "0s", &zero, &st), st);
    CU_ASSERT(!(zero > 0));
}

static void bytes_print_short_and_exact(void)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0B"},
        {999, "999B"},
        {1000, "1kB"},
        {1024, "1KiB"},
        {1536, "1536B"},
        {2097152, "2MiB"},
        {1572864, "1.5MiB"},
        {1500000, "1.5MB"},
        {1234567, "1234567B"},
        {10080000, "10.08MB"},
        {UINT64_MAX, "18446744073709551615B"},
    };
    char text[UNITS_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CU_ASSERT_STRING_EQUAL(units_print_bytes(cases[i].bytes, text), cases[i].text);
}

static void reals_print_for_people(void)
{
    char text[UNITS_TEXT];
    CU_ASSERT_STRING_EQUAL(units_print_time(3.795253e-5, text), "37.95 us");
    CU_ASSERT_STRING_EQUAL(units_print_time(999.96e-6, text), "1 ms"); /* rounding carries */
    CU_ASSERT_STRING_EQUAL(units_print_time(0, text), "0 s");
    CU_ASSERT_STRING_EQUAL(units_print_time(1e-12, text), "1 ps");
    CU_ASSERT_STRING_EQUAL(units_print_time(12345, text), "12345 s");
    CU_ASSERT_STRING_EQUAL(units_print_bandwidth(45e9, text), "45 GB/s");
    CU_ASSERT_STRING_EQUAL(units_print_bandwidth(1.6e12, text), "1.6 TB/s");
    CU_ASSERT_STRING_EQUAL(units_print_bandwidth(0, text), "0 B/s");
}

static void printed_is_read_back(void)
{
    struct suite_random random = {20240607};
    char text[UNITS_TEXT];
    for (int i = 0; i < 20000; i++) {
        struct status st = {0};
        /* all lengths of numbers; half of them end in zeros of one kind or the other */
        uint64_t bytes =
            ((uint64_t)suite_random(&random, 1u << 31) << 33 | suite_random(&random, 1u << 31)) >>
            suite_random(&random, 64);
        if (suite_random(&random, 2))
            bytes &= ~0ull << suite_random(&random, 45);
        uint64_t ten = suite_random(&random, 2) ? 1000000 : 1;
        bytes = bytes / ten * ten;
        uint64_t back = 0;
        OKAY(units_parse_bytes("size", units_print_bytes(bytes, text), &back, &st), st);
        CU_ASSERT_EQUAL(back, bytes);

        double value = pow(10, 20 * suite_random_unit(&random) - 14), read = 0;
        OKAY(units_parse_time("t", units_print_time(value, text), &read, &st), st);
        NEAR(read, value, 5.1e-4); /* four digits: half a unit of the last of 1.000 */
        value = pow(10, 15 * suite_random_unit(&random));
        OKAY(units_parse_bandwidth("w", units_print_bandwidth(value, text), &read, &st), st);
        NEAR(read, value, 5.1e-4);
    }
}

static void names_are_near(void)
{
    static const char *const names[] = {"v2",  "v3",         "v4",         "v5e", "v5p",
                                        "v6e", "all-gather", "all-reduce", NULL};
    char text[TEXT_NEAREST];
    CU_ASSERT_STRING_EQUAL(text_nearest("v5", names, text), "the nearest are v5e, v5p");
    CU_ASSERT_STRING_EQUAL(text_nearest("V5E", names, text), "the nearest is v5e");
    CU_ASSERT_STRING_EQUAL(text_nearest("all", names, text), "the nearest are all-gather, all-reduce");
    CU_ASSERT_STRING_EQUAL(text_nearest("all_gahter", names, text),
                           "the nearest is all-gather");                                 /* 2 edits */
    CU_ASSERT_STRING_EQUAL(text_nearest("Trillium", names, text), "the nearest is v6e"); /* a synonym */
    CU_ASSERT_STRING_EQUAL(text_nearest("ironwood", names, text), /* of a name that is not among them */
                           "known are v2, v3, v4, v5e, v5p, v6e, all-gather, all-reduce");
    struct status st = {0};
    CU_ASSERT_EQUAL(text_unknown("chip", "5p", names, &st), STATUS_INPUT);
    CU_ASSERT_STRING_EQUAL(st.text, "unknown chip '5p'; the nearest is v5p");
    CU_ASSERT_EQUAL(text_index("v4", names), 2);
    CU_ASSERT_EQUAL(text_index("V4", names), -1);
}

static void many_names_are_cut(void)
{
    enum { MANY = 100 };
    static char name[MANY][16];
    const char *names[MANY + 1];
    for (int i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "name%d", i);
        names[i] = name[i];
    }
    names[MANY] = NULL;
    char text[TEXT_NEAREST];
    text_nearest("zzzzz", names, text);
    CU_ASSERT(strlen(text) < TEXT_NEAREST);
    CU_ASSERT_STRING_EQUAL(text + strlen(text) - 5, ", ...");
}

SUITE("units", TEST(bytes_are_exact), TEST(what_is_wrong_says_the_cure), TEST(reals_are_the_nearest_doubles),
      TEST(reals_refuse), TEST(reals_are_plausible), TEST(bytes_print_short_and_exact),
      TEST(reals_print_for_people), TEST(printed_is_read_back), TEST(names_are_near),
      TEST(many_names_are_cut))
