/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/window.h"

#include <stdlib.h>
#include <string.h>

enum { SPATIAL_DIMS = 8, WINDOW_MAX = 1 << 20 };
enum window_field { SIZE, STRIDE, LOW, HIGH, LHS_DILATE, RHS_DILATE, WINDOW_FIELDS };
struct window {
    int dims;
    int64_t field[WINDOW_FIELDS][SPATIAL_DIMS];
};

/* "3x2", or "1_0x2_2" for two fields at once. Padding may have a third number, "1_1_0": interior padding, the
 * elements inserted between those of the input. */
static int read_field(const char *at, enum window_field first, struct window *window, struct status *st)
{
    int64_t least = first == LOW ? -WINDOW_MAX : 1;
    int field = first, d = 0;
    for (;; at++) {
        char *after;
        long long n = strtoll(at, &after, 10);
        bool between = first == LOW && field == LHS_DILATE;
        if (after == at || d == SPATIAL_DIMS || field >= WINDOW_FIELDS || n < (between ? 0 : least) ||
            n > WINDOW_MAX)
            return status_fail(st, STATUS_INPUT,
                               "window: expected numbers from %lld to %d for at most %d dims",
                               (long long)least, WINDOW_MAX, SPATIAL_DIMS);
        window->field[field][d] = n + between;
        at = after;
        if (*at != 'x' && *at != '_')
            break;
        field = *at == 'x' ? (int)first : field + 1;
        d += *at == 'x';
    }
    window->dims = d + 1 > window->dims ? d + 1 : window->dims;
    return 0;
}

/* {size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=1x1}, in any order */
static int read_window(const char *text, struct window *window, struct status *st)
{
    static const struct {
        const char *name;
        enum window_field first;
    } known[] = {
        {"size=", SIZE},
        {"stride=", STRIDE},
        {"pad=", LOW},
        {"lhs_dilate=", LHS_DILATE},
        {"rhs_dilate=", RHS_DILATE},
    };
    *window = (struct window){0};
    for (int f = 0; f < WINDOW_FIELDS; f++)
        for (int d = 0; d < SPATIAL_DIMS; d++)
            window->field[f][d] = f != LOW && f != HIGH;
    int code = 0;
    for (const char *at = text; *at && code == 0; at += strcspn(at, "} ")) {
        at += strspn(at, "{} ");
        for (size_t k = 0; k < sizeof known / sizeof *known && code == 0; k++)
            if (strncmp(at, known[k].name, strlen(known[k].name)) == 0)
                code = read_field(at + strlen(known[k].name), known[k].first, window, st);
    }
    return code;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t gcd(int64_t a, int64_t b)
{
    return b == 0 ? a : gcd(b, a % b);
}

/* The least x >= 0 with a x = c (mod m); a and m are coprime. */
static int64_t solve(int64_t a, int64_t c, int64_t m)
{
    int64_t r = m, s = a % m, x = 0, y = 1;
    while (s > 0) {
        int64_t q = r / s, next = r - q * s;
        r = s;
        s = next;
        next = x - q * y;
        x = y;
        y = next;
    }
    x = (x % m + m) % m;
    return x * ((c % m + m) % m) % m;
}

/*
 * Pairs of an output and a tap that meet an element of the input. Output o and tap t look at position
 *     o stride + t rhs_dilate - low
 * of the input, whose elements stand lhs_dilate apart. For each tap the outputs o that meet one are those between two
 * bounds that leave one remainder modulo lhs_dilate / gcd(stride, lhs_dilate).
 */
static double count_pairs(const struct window *window, int d, int64_t in, int64_t out)
{
    int64_t stride = window->field[STRIDE][d], dilate = window->field[LHS_DILATE][d],
            common = gcd(stride, dilate);
    int64_t period = dilate / common;
    double pairs = 0;
    for (int64_t t = 0; in > 0 && t < window->field[SIZE][d]; t++) {
        int64_t shift = t * window->field[RHS_DILATE][d] - window->field[LOW][d];
        int64_t first = -floor_div(shift, stride), last = floor_div((in - 1) * dilate - shift, stride);
        first = first > 0 ? first : 0;
        last = last < out - 1 ? last : out - 1;
        if (first > last || shift % common != 0)
            continue;
        int64_t remainder = period == 1 ? 0 : solve(stride / common % period, -shift / common, period);
        pairs += (double)(floor_div(last - remainder, period) - floor_div(first - 1 - remainder, period));
    }
    return pairs;
}

/* The size of the dim that a label stands for: for 'f' in "bf0" dim 1; 1 if there is no such label. */
static int64_t labelled(const struct module *module, const struct shape *shape, const char *labels,
                        char label)
{
    const char *at = memchr(labels, label, (size_t)shape->count);
    return at ? module->number[shape->first + (at - labels)] : 1;
}

/* dim_labels=bf0_0io->bf0: labels of input, window and output, one for each dim of its shape. */
static bool read_labels(const struct module *module, int32_t instruction, const struct shape *const shape[3],
                        const char *labels[3])
{
    const char *text = module_value(module, instruction, ATTR_DIM_LABELS);
    const char *window = strchr(text, '_'), *output = strstr(text, "->");
    labels[0] = text;
    labels[1] = window ? window + 1 : text;
    labels[2] = output ? output + 2 : text;
    return window && output && window - text == shape[0]->count && output - labels[1] == shape[1]->count &&
           strlen(labels[2]) == (size_t)shape[2]->count;
}

int window_convolution_flops(const struct module *module, int32_t instruction, double *flops,
                             struct status *st)
{
    const struct shape *const shape[3] = {module_shape_of(module, module_operand(module, instruction, 0)),
                                          module_shape_of(module, module_operand(module, instruction, 1)),
                                          module_shape_of(module, instruction)};
    const char *labels[3];
    struct window window;
    *flops = 0;
    int code = read_window(module_value(module, instruction, ATTR_WINDOW), &window, st);
    if (code < 0)
        return code;
    if (shape[0]->dtype < 0 || shape[1]->dtype < 0 || shape[2]->dtype < 0 ||
        !read_labels(module, instruction, shape, labels))
        return status_fail(
            st, STATUS_INPUT,
            "its dim_labels must have a letter for each dim of input, window and output, as in bf_io->bf");
    double groups = (double)module_number(module, instruction, ATTR_BATCH_GROUP_COUNT, 1), pairs = 1;
    for (int d = 0; d < SPATIAL_DIMS && memchr(labels[0], '0' + d, (size_t)shape[0]->count); d++) {
        int64_t size = labelled(module, shape[1], labels[1], (char)('0' + d));
        if (size != window.field[SIZE][d])
            return status_fail(st, STATUS_INPUT, "its window has size %lld where the second operand has %lld",
                               (long long)window.field[SIZE][d], (long long)size);
        pairs *= count_pairs(&window, d, labelled(module, shape[0], labels[0], (char)('0' + d)),
                             labelled(module, shape[2], labels[2], (char)('0' + d)));
    }
    *flops = 2 * (double)labelled(module, shape[0], labels[0], 'b') / groups *
             (double)labelled(module, shape[1], labels[1], 'i') *
             (double)labelled(module, shape[2], labels[2], 'f') * pairs;
    return 0;
}
