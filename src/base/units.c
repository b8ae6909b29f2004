/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* A size of 64 bits times a unit of 40 bits needs more than 64. */
__extension__ typedef unsigned __int128 wide;

/* A unit is `factor` * 10^exp10 of the SI unit. */
struct unit {
    const char *name;
    double factor;
    int exp10;
};

#define KIB 0x1p10
#define MIB 0x1p20
#define GIB 0x1p30
#define TIB 0x1p40
#define BIT 0.125

static const struct unit bytes_units[] = {
    {"B", 1, 0},     {"kB", 1, 3},    {"KB", 1, 3},    {"MB", 1, 6},    {"GB", 1, 9}, {"TB", 1, 12},
    {"KiB", KIB, 0}, {"MiB", MIB, 0}, {"GiB", GIB, 0}, {"TiB", TIB, 0}, {0},
};
static const struct unit bandwidth_units[] = {
    {"Bps", 1, 0},      {"kBps", 1, 3},     {"KBps", 1, 3},     {"MBps", 1, 6},      {"GBps", 1, 9},
    {"TBps", 1, 12},    {"KiBps", KIB, 0},  {"MiBps", MIB, 0},  {"GiBps", GIB, 0},   {"TiBps", TIB, 0},
    {"B/s", 1, 0},      {"kB/s", 1, 3},     {"KB/s", 1, 3},     {"MB/s", 1, 6},      {"GB/s", 1, 9},
    {"TB/s", 1, 12},    {"KiB/s", KIB, 0},  {"MiB/s", MIB, 0},  {"GiB/s", GIB, 0},   {"TiB/s", TIB, 0},
    {"bps", BIT, 0},    {"kbps", BIT, 3},   {"Mbps", BIT, 6},   {"Gbps", BIT, 9},    {"Tbps", BIT, 12},
    {"kbit/s", BIT, 3}, {"Mbit/s", BIT, 6}, {"Gbit/s", BIT, 9}, {"Tbit/s", BIT, 12}, {0},
};
static const struct unit time_units[] = {
    {"s", 1, 0}, {"ms", 1, -3}, {"us", 1, -6}, {"ns", 1, -9}, {"ps", 1, -12}, {0},
};
static const struct unit rate_units[] = {
    {"flops", 1, 0},    {"kflops", 1, 3},
    {"Mflops", 1, 6},   {"Gflops", 1, 9},
    {"Tflops", 1, 12},  {"Pflops", 1, 15},
    {"ops", 1, 0},      {"Gops", 1, 9},
    {"Tops", 1, 12},    {"Pops", 1, 15},
    {"flop/s", 1, 0},   {"Gflop/s", 1, 9},
    {"Tflop/s", 1, 12}, {0},
};
static const struct unit work_units[] = {
    {"flop", 1, 0},
    {"kflop", 1, 3},
    {"Mflop", 1, 6},
    {"Gflop", 1, 9},
    {"Tflop", 1, 12},
    {"Pflop", 1, 15},
    {0},
};

static const struct unit frequency_units[] = {
    {"Hz", 1, 0}, {"kHz", 1, 3}, {"MHz", 1, 6}, {"GHz", 1, 9}, {0},
};

/* One kind of quantity: its units, the two units that messages propose, the plausible range besides zero, and
 * the unit of a bare number (NULL: a unit is required). No machine exceeds the ranges, and no product of
 * values within them overflows. Bytes have the range of 64 bits. */
struct quantity {
    const struct unit *units;
    const char *usual, *other;
    double least, most;
    const char *range; /* the range in words */
    const struct unit *bare;
};
static const struct quantity bytes_quantity = {.units = bytes_units, .usual = "MiB", .other = "B"};
static const struct quantity size_quantity = {
    .units = bytes_units, .usual = "MiB", .other = "B", .bare = &bytes_units[0]};
static const struct quantity bandwidth_quantity = {
    bandwidth_units, "GBps", "Gbps", 1, 1e15, "1Bps to 1000TBps", NULL,
};
static const struct quantity time_quantity = {time_units, "us", "ms", 1e-18, 1e6, "1e-6ps to 1e6s, or 0s",
                                              NULL};
static const struct quantity rate_quantity = {rate_units, "Tflops", "Gflops", 1, 1e21, "1flops to 1e6Pflops",
                                              NULL};
static const struct quantity work_quantity = {work_units,          "Gflop", "Tflop", 1, 1e24,
                                              "1flop to 1e9Pflop", NULL};

static const struct quantity frequency_quantity = {frequency_units,  "GHz", "MHz", 1, 1e12,
                                                   "1Hz to 1000GHz", NULL};

/* A decimal number as the text has it: digits * 10^exp10. */
struct decimal {
    const char *text;
    int length;
    uint64_t digits;
    int exp10;
    bool too_long; /* more digits than 64 bits hold */
};

/* Largest exponent that is read, so that sums of exponents stay within an int. */
enum { EXP10_MAX = 100000 };

static void add_digit(struct decimal *d, char c, bool fraction)
{
    unsigned digit = (unsigned)(c - '0');
    if (d->digits > (UINT64_MAX - digit) / 10)
        d->too_long = true;
    else
        d->digits = d->digits * 10 + digit;
    d->exp10 -= fraction && d->exp10 > -EXP10_MAX;
}

/* Reads digits [ . digits ] [ e [+-] digits ] and returns its end, or NULL if there is no number. */
static const char *read_decimal(const char *at, struct decimal *d)
{
    *d = (struct decimal){.text = at};
    int digits = 0;
    for (; isdigit((unsigned char)*at); at++, digits++)
        add_digit(d, *at, false);
    if (*at == '.') {
        for (at++; isdigit((unsigned char)*at); at++, digits++)
            add_digit(d, *at, true);
    }
    if (digits == 0)
        return NULL;
    /* "1e3B" has an exponent; the e of "1exabyte" starts a word. */
    const char *e = at;
    if (*e == 'e' || *e == 'E') {
        bool minus = e[1] == '-';
        e += 1 + (e[1] == '-' || e[1] == '+');
        int exponent = 0;
        const char *first = e;
        for (; isdigit((unsigned char)*e); e++)
            exponent = exponent < EXP10_MAX ? exponent * 10 + (*e - '0') : EXP10_MAX;
        if (e > first) {
            d->exp10 += minus ? -exponent : exponent;
            at = e;
        }
    }
    d->length = (int)(at - d->text);
    return at;
}

/* Fails with the units nearest to a name. */
static int fail_unit(const char *what, const char *text, const char *name, const struct unit units[],
                     struct status *st)
{
    enum { UNITS_MAX = 40 };
    const char *names[UNITS_MAX];
    int n = 0;
    for (; units[n].name && n < UNITS_MAX - 1; n++)
        names[n] = units[n].name;
    names[n] = NULL;
    char nearest[TEXT_NEAREST];
    return status_fail(st, STATUS_INPUT, "%s '%s': unknown unit '%s'; %s", what, text, name,
                       text_nearest(name, names, nearest));
}

/* Splits "64 MiB" into its number and its unit. */
static int read_quantity(const char *what, const char *text, const struct quantity *q, struct decimal *d,
                         const struct unit **unit, struct status *st)
{
    const char *at = text;
    while (isspace((unsigned char)*at))
        at++;
    if (*at == '-')
        return status_fail(st, STATUS_INPUT, "%s '%s' is negative; it must be 0 or above", what, text);
    at = read_decimal(at, d);
    if (!at)
        return status_fail(st, STATUS_INPUT, "%s '%s' is not a number with a unit, such as 64%s", what, text,
                           q->usual);
    while (isspace((unsigned char)*at))
        at++;
    char name[16];
    size_t n = strlen(at);
    while (n && isspace((unsigned char)at[n - 1]))
        n--;
    *unit = q->bare;
    if (n == 0 && *unit)
        return 0;
    if (n == 0)
        return status_fail(st, STATUS_INPUT, "%s '%s' has no unit; write %.*s%s or %.*s%s", what, text,
                           d->length, d->text, q->usual, d->length, d->text, q->other);
    for (const struct unit *u = q->units; u->name; u++) {
        if (strlen(u->name) == n && memcmp(u->name, at, n) == 0) {
            *unit = u;
            return 0;
        }
    }
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), at);
    return fail_unit(what, text, name, q->units, st);
}

/* digits * 10^exp10 * factor in whole bytes, exactly. */
static int whole_bytes(const char *what, const char *text, const struct decimal *d, const struct unit *unit,
                       uint64_t *bytes, struct status *st)
{
    wide value = (wide)d->digits * (uint64_t)unit->factor;
    int exp10 = d->exp10 + unit->exp10;
    if (d->digits == 0 && !d->too_long) {
        *bytes = 0;
        return 0;
    }
    for (; exp10 > 0 && value <= UINT64_MAX; exp10--)
        value *= 10;
    for (; exp10 < 0 && value % 10 == 0; exp10++)
        value /= 10;
    if (exp10 < 0)
        return status_fail(st, STATUS_INPUT, "%s '%s' is not a whole number of bytes", what, text);
    if (d->too_long || exp10 > 0 || value > UINT64_MAX)
        return status_fail(st, STATUS_LIMIT, "%s '%s' is too large; the most is 16777215TiB", what, text);
    *bytes = (uint64_t)value;
    return 0;
}

static int parse_bytes(const char *what, const char *text, const struct quantity *q, uint64_t *bytes,
                       struct status *st)
{
    struct decimal d;
    const struct unit *unit;
    int code = read_quantity(what, text, q, &d, &unit, st);
    return code < 0 ? code : whole_bytes(what, text, &d, unit, bytes, st);
}

int units_parse_bytes(const char *what, const char *text, uint64_t *bytes, struct status *st)
{
    return parse_bytes(what, text, &bytes_quantity, bytes, st);
}

int units_parse_size(const char *what, const char *text, uint64_t *bytes, struct status *st)
{
    return parse_bytes(what, text, &size_quantity, bytes, st);
}

/* The decimal exponent goes into the text that strtod() reads, so that 2.385us is the double nearest to
 * 2.385e-6 and not a product that is off by a rounding. Factors are powers of two, which are exact. */
static double real_of(const struct decimal *d, int exp10)
{
    char number[48];
    snprintf(number, sizeof number, "%llue%d", (unsigned long long)d->digits, d->exp10 + exp10);
    return strtod(number, NULL);
}

static int parse_real(const char *what, const char *text, const struct quantity *q, double *value,
                      struct status *st)
{
    struct decimal d;
    const struct unit *unit;
    int code = read_quantity(what, text, q, &d, &unit, st);
    if (code < 0)
        return code;
    if (d.too_long)
        return status_fail(st, STATUS_LIMIT, "%s '%s' has too many digits; 19 are enough", what, text);
    double v = real_of(&d, unit->exp10) * unit->factor;
    if (d.digits > 0 && !(v >= q->least && v <= q->most))
        return status_fail(st, STATUS_LIMIT, "%s '%s' is not plausible; write %s", what, text, q->range);
    *value = v;
    return 0;
}

int units_parse_bandwidth(const char *what, const char *text, double *Bps, struct status *st)
{
    return parse_real(what, text, &bandwidth_quantity, Bps, st);
}

int units_parse_time(const char *what, const char *text, double *time_s, struct status *st)
{
    return parse_real(what, text, &time_quantity, time_s, st);
}

int units_parse_rate(const char *what, const char *text, double *flops, struct status *st)
{
    return parse_real(what, text, &rate_quantity, flops, st);
}

int units_parse_work(const char *what, const char *text, double *flop, struct status *st)
{
    return parse_real(what, text, &work_quantity, flop, st);
}

int units_parse_frequency(const char *what, const char *text, double *Hz, struct status *st)
{
    return parse_real(what, text, &frequency_quantity, Hz, st);
}

int units_parse_fraction(const char *what, const char *text, double *frac, struct status *st)
{
    struct decimal d;
    const char *end = read_decimal(text, &d);
    while (end && isspace((unsigned char)*end))
        end++;
    bool percent = end && strcmp(end, "%") == 0;
    if (!end || d.too_long || (*end && !percent))
        return status_fail(st, STATUS_INPUT, "%s '%s' is not a fraction; write 0.85 or 85%%", what, text);
    double v = real_of(&d, percent ? -2 : 0);
    if (v > 1)
        return status_fail(st, STATUS_INPUT, "%s '%s' is above 1; write 0.85 or 85%%", what, text);
    *frac = v;
    return 0;
}

/* Writes bytes / unit if three decimals are exact (of a binary unit, if the remainder is a multiple of 1/8),
 * without trailing zeros. */
static bool print_exact(uint64_t bytes, uint64_t unit, const char *name, char text[static UNITS_TEXT])
{
    uint64_t thousandths = bytes % unit * 1000; /* stays below 2^64: units end at 2^40 */
    if (bytes < unit || thousandths % unit != 0)
        return false;
    int n = snprintf(text, UNITS_TEXT, "%llu.%03u", (unsigned long long)(bytes / unit),
                     (unsigned)(thousandths / unit));
    while (text[n - 1] == '0')
        n--;
    n -= text[n - 1] == '.';
    snprintf(text + n, (size_t)(UNITS_TEXT - n), "%s", name);
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
    /* Beyond the last prefix the number has more than four digits, but no exponent. */
    if (strchr(number, 'e') && fabs(value / p->factor) < 1e18 && fabs(value / p->factor) > 1)
        snprintf(number, sizeof number, "%.0f", value / p->factor);
    snprintf(text, UNITS_TEXT, "%s %s%s", number, p->name, unit);
    return text;
}

/* Printed quantities are read back, and the parsers know no PB and no PB/s. */
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
