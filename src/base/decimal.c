/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/decimal.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 9, LEAST_EXPONENT = -18, MOST_EXPONENT = 34 };
static const int64_t digits_least = 100000000; /* 10^(DIGITS - 1) */

/* 5^27 is below 2^64, so these are exact where a long double has 64 bits of mantissa. */
static const long double power[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,
                                    1e9L,  1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L,
                                    1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L};

static long double scaled(double value, int exponent)
{
    int up = DIGITS - 1 - exponent;
    return up >= 0 ? value * power[up] : value / power[-up];
}

/* The nine digits of a positive value and the exponent of the first one. The value times or by a power of ten is off by
 * 2^-64 of itself, so below 2^-34: a number that ends that close to a half is not for us to round. */
static bool digits_of(double value, int64_t *digits, int *exponent)
{
    int binary;
    frexp(value, &binary);
    *exponent = (int)floor((binary - 1) * 0.30102999566398120); /* right, or one too small */
    if (LDBL_MANT_DIG < 64 || *exponent < LEAST_EXPONENT || *exponent >= MOST_EXPONENT)
        return false;
    long double number = scaled(value, *exponent);
    if (number >= 1e9L)
        number = scaled(value, ++*exponent);
    *digits = (int64_t)number;
    long double over = number - (long double)*digits;
    if (fabsl(over - 0.5L) < 0x1p-30L)
        return false;
    *digits += over > 0.5L;
    if (*digits == 10 * digits_least) {
        *digits = digits_least;
        ++*exponent;
    }
    return *digits >= digits_least;
}

char *decimal_whole(char text[static DECIMAL_TEXT], int64_t value)
{
    char digit[DECIMAL_TEXT];
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    int n = 0;
    do
        digit[n++] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *text++ = '-';
    while (n > 0)
        *text++ = digit[--n];
    *text = '\0';
    return text;
}

/* "1.25e-07" */
static char *print_scientific(char *to, const char *digit, int n, int exponent)
{
    *to++ = digit[0];
    if (n > 1) {
        *to++ = '.';
        memcpy(to, digit + 1, (size_t)n - 1);
        to += n - 1;
    }
    *to++ = 'e';
    *to++ = exponent < 0 ? '-' : '+';
    *to++ = (char)('0' + (exponent < 0 ? -exponent : exponent) / 10);
    *to++ = (char)('0' + (exponent < 0 ? -exponent : exponent) % 10);
    *to = '\0';
    return to;
}

/* "0.00125", "12.5", "12500" */
static char *print_fixed(char *to, const char *digit, int n, int exponent)
{
    if (exponent < 0) {
        *to++ = '0';
        *to++ = '.';
        for (int zeros = -1 - exponent; zeros > 0; zeros--)
            *to++ = '0';
    }
    for (int i = 0; i < n || i <= exponent; i++) {
        if (i > 0 && i == exponent + 1)
            *to++ = '.';
        *to++ = i < n ? digit[i] : '0';
    }
    *to = '\0';
    return to;
}

char *decimal_real(char text[static DECIMAL_TEXT], double value)
{
    char digit[DECIMAL_TEXT], *to = text;
    int64_t digits;
    int exponent, n = DIGITS;
    if (value == 0) /* which most tables are full of */
        return stpcpy(text, signbit(value) ? "-0" : "0");
    if (!isfinite(value) || !digits_of(fabs(value), &digits, &exponent))
        return text + snprintf(text, DECIMAL_TEXT, "%.9g", value);
    decimal_whole(digit, digits);
    while (n > 1 && digit[n - 1] == '0')
        n--;
    if (value < 0)
        *to++ = '-';
    return exponent < -4 || exponent >= DIGITS ? print_scientific(to, digit, n, exponent)
                                               : print_fixed(to, digit, n, exponent);
}
