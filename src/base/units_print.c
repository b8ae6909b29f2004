/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

/* Writes bytes / unit exactly if three decimals do (only the last three bits of a binary unit can). */
static bool print_exact(uint64_t bytes, uint64_t unit, const char *name, char text[static UNITS_TEXT])
{
    uint64_t whole = bytes / unit, rest = bytes % unit;
    if (whole == 0)
        return false;
    /* rest * 1000 stays below 2^64: units end at 2^40. */
    if (rest * 1000 % unit != 0)
        return false;
    unsigned thousandths = (unsigned)(rest * 1000 / unit);
    int decimals = thousandths == 0 ? 0 : thousandths % 100 == 0 ? 1 : thousandths % 10 == 0 ? 2 : 3;
    unsigned shown = decimals == 1 ? thousandths / 100 : decimals == 2 ? thousandths / 10 : thousandths;
    if (decimals == 0)
        snprintf(text, UNITS_TEXT, "%llu%s", (unsigned long long)whole, name);
    else
        snprintf(text, UNITS_TEXT, "%llu.%0*u%s", (unsigned long long)whole, decimals, shown, name);
    return true;
}

char *units_print_bytes(uint64_t bytes, char text[static UNITS_TEXT])
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {
        {"TiB", 1ull << 40},   {"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1ull << 10},
        {"TB", 1000000000000}, {"GB", 1000000000},  {"MB", 1000000},     {"kB", 1000},
    };
    snprintf(text, UNITS_TEXT, "%lluB", (unsigned long long)bytes);
    char other[UNITS_TEXT];
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (print_exact(bytes, units[i].bytes, units[i].name, other) && strlen(other) < strlen(text))
            strcpy(text, other);
    return text;
}

/* A prefix of the metric system. */
struct prefix {
    const char *name;
    double factor;
};

/* Four digits with the prefix that leaves 1 to 1000 before the point. Rounding may carry 999.96 to 1000, so
 * the text decides and not the number. */
static char *print_scaled(double value, const struct prefix prefixes[], const char *unit,
                          char text[static UNITS_TEXT])
{
    char number[24];
    const struct prefix *p = prefixes;
    while (p[1].name && fabs(value) >= p[1].factor)
        p++;
    snprintf(number, sizeof number, "%.4g", value / p->factor);
    if (p[1].name && (strcmp(number, "1000") == 0 || strcmp(number, "-1000") == 0)) {
        p++;
        snprintf(number, sizeof number, "%.4g", value / p->factor);
    }
    /* Beyond the last prefix there are more digits than four, but no exponent. */
    if (strchr(number, 'e') && fabs(value / p->factor) < 1e18 && fabs(value / p->factor) > 1)
        snprintf(number, sizeof number, "%.0f", value / p->factor);
    snprintf(text, UNITS_TEXT, "%s %s%s", number, p->name, unit);
    return text;
}

static const struct prefix upwards[] = {{"", 1},     {"k", 1e3},  {"M", 1e6}, {"G", 1e9},
                                        {"T", 1e12}, {"P", 1e15}, {0}};

/* There is no PB (and no PB/s) among the units read back. */
static const struct prefix to_tera[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {0}};

char *units_print_bandwidth(double Bps, char text[static UNITS_TEXT])
{
    return print_scaled(Bps, to_tera, "B/s", text);
}

char *units_print_about_bytes(double bytes, char text[static UNITS_TEXT])
{
    return print_scaled(bytes, to_tera, "B", text);
}

char *units_print_time(double time_s, char text[static UNITS_TEXT])
{
    static const struct prefix downwards[] = {{"p", 1e-12}, {"n", 1e-9}, {"u", 1e-6},
                                              {"m", 1e-3},  {"", 1},     {0}};
    /* NaN has no prefix, and 0 is 0 s, not 0 ps. */
    if (!(fabs(time_s) > 0))
        return print_scaled(time_s, downwards + 4, "s", text);
    return print_scaled(time_s, downwards, "s", text);
}

char *units_print_rate(double flops, char text[static UNITS_TEXT])
{
    return print_scaled(flops, upwards, "flops", text);
}

char *units_print_count(int64_t count, char text[static UNITS_TEXT])
{
    char digits[24];
    uint64_t size = count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)size);
    char *to = text;
    if (count < 0)
        *to++ = '-';
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}
