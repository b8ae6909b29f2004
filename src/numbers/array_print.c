/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints arrays as NumPy's print() does, so that results can be compared by eye and by diff. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "numbers/array.h"

/* NumPy's defaults: np.printoptions(precision=8, threshold=1000, edgeitems=3, linewidth=75). */
enum { PRECISION = 8, THRESHOLD = 1000, EDGE = 3, LINE_WIDTH = 75 };

/* Room for any number in text: 309 digits before the point. */
enum { NUMBER = 344 };

/* How all numbers of one array are written: with the digits of the number that needs most. */
struct format {
    bool integer, exponent, pred;
    int left;   /* columns before the point */
    int digits; /* columns after the point */
};

struct printer {
    const struct array *array;
    struct format format;
    bool summary; /* the middle of each dim is left out */
    FILE *out;
};

/* The digits of a number after its point, without the zeros at their end. */
static int needed_digits(double value, bool exponent)
{
    char text[NUMBER];
    snprintf(text, sizeof text, exponent ? "%.*e" : "%.*f", PRECISION, value);
    const char *point = strchr(text, '.');
    if (!point)
        return 0;
    int digits = PRECISION;
    while (digits > 0 && point[digits] == '0')
        digits--;
    return digits;
}

/* Pads with spaces as NumPy does: "12.5  " for 12.50 if another number of the array needs more digits. */
static int format_number(const struct format *format, double value, char text[static NUMBER])
{
    if (format->pred)
        return snprintf(text, NUMBER, "%5s", value > 0 ? "True" : "False");
    if (isnan(value) || isinf(value)) {
        int width = format->integer ? format->left : format->left + 1 + format->digits;
        return snprintf(text, NUMBER, "%*s", width, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    }
    if (format->integer)
        return snprintf(text, NUMBER, "%*.0f", format->left, value);
    if (format->exponent) {
        /* Without digits, %e leaves the point out; NumPy does not. */
        return snprintf(text, NUMBER, format->digits ? "%*.*e" : "%#*.*e", format->left + format->digits + 5,
                        format->digits, value);
    }
    int digits = needed_digits(value, false);
    return snprintf(text, NUMBER, "%#*.*f%*s", format->left + 1 + digits, digits, value,
                    format->digits - digits, "");
}

/* If the printed elements have a gap at `i`, returns the index after it, else `i`. */
static int64_t after_gap(const struct printer *p, int64_t i, int64_t length)
{
    return p->summary && length > 2 * EDGE && i == EDGE ? length - EDGE : i;
}

/* The widths that the printed elements need, gathered one by one. */
struct survey {
    double least, most;  /* magnitudes, without zeros */
    int left, digits[2]; /* columns before the point; digits after it, fixed and with exponent */
    bool negative, special;
};

static void survey_number(struct survey *s, double value)
{
    char text[NUMBER];
    if (isnan(value) || isinf(value)) {
        s->special = true;
        s->negative = s->negative || value < 0;
        return;
    }
    double size = fabs(value);
    if (size > 0) {
        s->least = fmin(s->least, size);
        s->most = fmax(s->most, size);
    }
    s->negative = s->negative || signbit(value);
    snprintf(text, sizeof text, "%.*f", PRECISION, value);
    int left = (int)strcspn(text, ".");
    s->left = left > s->left ? left : s->left;
    for (int exponent = 0; exponent < 2; exponent++) {
        int digits = needed_digits(value, exponent);
        s->digits[exponent] = digits > s->digits[exponent] ? digits : s->digits[exponent];
    }
}

static void survey_dim(const struct printer *p, int dim, int64_t from, struct survey *s)
{
    if (dim == p->array->dims) {
        survey_number(s, p->array->data[from]);
        return;
    }
    for (int64_t i = 0, length = p->array->shape[dim]; i < length; i++) {
        i = after_gap(p, i, length);
        survey_dim(p, dim + 1, from * length + i, s);
    }
}

static struct format choose_format(const struct printer *p)
{
    struct survey s = {.least = INFINITY};
    survey_dim(p, 0, 0, &s);
    struct format format = {
        .integer = array_is_whole(p->array), .left = s.left, .pred = p->array->dtype == DTYPE_PRED};
    if (!format.integer) {
        format.exponent = s.most > 0 && (s.most >= 1e8 || s.least < 1e-4 || s.most / s.least > 1000);
        format.digits = s.digits[format.exponent];
        if (format.exponent)
            format.left = s.negative ? 2 : 1;
    }
    if (s.special) {
        int width = s.negative ? 4 : 3, after = format.integer ? 0 : 1 + format.digits;
        format.left = format.left + after < width ? width - after : format.left;
    }
    return format;
}

/* The innermost dim: numbers beside each other, broken where the line is full. Every line keeps room for all
 * the closing brackets, and the padding of a number at its end is dropped, as NumPy does. */
static void print_row(const struct printer *p, int64_t from, int64_t length, int indent)
{
    int column = indent, padding = 0;
    for (int64_t i = 0; i < length; i++) {
        char text[NUMBER] = "...";
        bool gap = after_gap(p, i, length) != i;
        int width = gap ? 3 : format_number(&p->format, p->array->data[from + i], text);
        int solid = width;
        while (solid > 0 && text[solid - 1] == ' ')
            solid--;
        if (i > 0 && column + 1 + width > LINE_WIDTH - indent) {
            fprintf(p->out, "\n%*s", indent, "");
            column = indent;
        } else if (i > 0) {
            fprintf(p->out, "%*s", padding + 1, "");
            column++;
        }
        fprintf(p->out, "%.*s", solid, text);
        padding = width - solid;
        column += width;
        if (gap)
            i = length - EDGE - 1;
    }
    fprintf(p->out, "%*s", padding, "");
}

static void print_dim(const struct printer *p, int dim, int64_t from)
{
    int dims = p->array->dims;
    int64_t length = p->array->shape[dim];
    fputc('[', p->out);
    if (dim == dims - 1) {
        print_row(p, from * length, length, dims);
    } else {
        for (int64_t i = 0; i < length; i++) {
            if (i > 0) {
                for (int d = dim; d < dims - 1; d++)
                    fputc('\n', p->out);
                fprintf(p->out, "%*s", dim + 1, "");
            }
            if (after_gap(p, i, length) != i) {
                fputs("...", p->out);
                i = length - EDGE - 1;
            } else {
                print_dim(p, dim + 1, from * length + i);
            }
        }
    }
    fputc(']', p->out);
}

/* As Python's str() of a float: the fewest digits that read back to the same number. */
static void print_scalar(double value, enum dtype_id dtype, FILE *out)
{
    char text[NUMBER];
    bool integer = dtype_is_whole(dtype);
    int digits = 1;
    do
        snprintf(text, sizeof text, "%.*g", digits, value);
    while (digits++ < 17 && fabs(strtod(text, NULL) - value) > 0);
    if (integer)
        snprintf(text, sizeof text, "%.0f", value);
    if (dtype == DTYPE_PRED)
        snprintf(text, sizeof text, "%s", value > 0 ? "True" : "False");
    fprintf(out, "%s%s\n", text, integer || strpbrk(text, ".en") ? "" : ".0");
}

void array_print(const struct array *array, FILE *out)
{
    struct printer p = {.array = array, .summary = array_elements(array) > THRESHOLD, .out = out};
    if (array->dims == 0) {
        print_scalar(array->data[0], array->dtype, out);
        return;
    }
    if (array_elements(array) == 0) {
        fputs("[]\n", out);
        return;
    }
    p.format = choose_format(&p);
    print_dim(&p, 0, 0);
    fputc('\n', out);
}

char *array_print_shape(const struct array *array, char text[static ARRAY_TEXT])
{
    strcpy(text, "(");
    for (int d = 0; d < array->dims; d++)
        text_add(text, ARRAY_TEXT, "%s%lld", d ? ", " : "", (long long)array->shape[d]);
    return text_add(text, ARRAY_TEXT, array->dims == 1 ? ",)" : ")");
}
