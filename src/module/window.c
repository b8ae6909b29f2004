/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "module/window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_DIMS = 8 };

struct window_dim {
    int64_t size, stride, low, lhs_dilate, rhs_dilate;
};

/* Reads the lists of one field, "pad=1_1x0_0", into one number a dim (of pads the low one). */
static void read_field(const char *window, const char *key, size_t offset, struct window_dim dim[WINDOW_DIMS])
{
    size_t n = strlen(key);
    const char *at = window;
    while ((at = strstr(at, key)) && !((at == window || strchr("{ ", at[-1])) && at[n] == '='))
        at += n;
    if (!at)
        return;
    at += n + 1;
    for (int d = 0; d < WINDOW_DIMS; d++) {
        char *end;
        int64_t value = strtoll(at, &end, 10);
        if (end == at)
            return;
        *(int64_t *)((char *)&dim[d] + offset) = value;
        at = end + strcspn(end, "x }");
        if (*at++ != 'x')
            return;
    }
}

/* How many o in [0, out) have 0 <= o*stride + shift <= last and a multiple of `dilate`. */
static double valid_outputs(int64_t stride, int64_t shift, int64_t last, int64_t dilate, int64_t out)
{
    int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    int64_t end = last < shift ? -1 : (last - shift) / stride;
    end = end < out - 1 ? end : out - 1;
    int64_t period = 1; /* of the remainder, in o */
    while (period * stride % dilate)
        period++;
    for (int64_t o = first; o < first + period && o <= end; o++)
        if ((o * stride + shift) % dilate == 0)
            return (double)((end - o) / period + 1);
    return 0;
}

/* Pairs of an output position and a tap that meet an element: input position o*stride + t*rhs_dilate - low, in an input
 * whose elements lie lhs_dilate apart. Windows beyond all reason count every pair. */
static double valid_pairs(const struct window_dim *dim, int64_t in, int64_t out)
{
    enum { MOST = 1 << 20 };
    bool sane = dim->size <= MOST && dim->stride >= 1 && dim->stride <= MOST && dim->lhs_dilate >= 1 &&
                dim->lhs_dilate <= MOST && dim->rhs_dilate >= 1 && dim->rhs_dilate <= MOST &&
                in <= INT64_MAX / MOST / 4 && out <= INT64_MAX / MOST / 4 && llabs(dim->low) <= INT64_MAX / 4;
    double pairs = 0;
    if (!sane)
        return (double)dim->size * (double)out;
    for (int64_t t = 0; t < dim->size; t++)
        pairs += valid_outputs(dim->stride, t * dim->rhs_dilate - dim->low, (in - 1) * dim->lhs_dilate,
                               dim->lhs_dilate, out);
    return pairs;
}

static int64_t size_at(const struct module *module, const struct shape *shape, const char *labels, int length,
                       char label)
{
    for (int i = 0; i < length && i < shape->count; i++)
        if (labels[i] == label)
            return module->number[shape->first + i];
    return 1;
}

double window_convolution_flops(const struct module *module, int32_t instruction)
{
    struct window_dim dim[WINDOW_DIMS];
    const struct shape *left = module_shape_of(module, module_operand(module, instruction, 0));
    const struct shape *right = module_shape_of(module, module_operand(module, instruction, 1));
    const struct shape *result = module_shape_of(module, instruction);
    const char *labels = module_value(module, instruction, ATTR_DIM_LABELS);
    const char *window = module_value(module, instruction, ATTR_WINDOW);
    int of_left = (int)strcspn(labels, "_");
    const char *to_right = labels + of_left + (labels[of_left] == '_');
    int of_right = (int)strcspn(to_right, "-");
    const char *to_result = to_right + of_right + (strncmp(to_right + of_right, "->", 2) == 0 ? 2 : 0);
    int of_result = (int)strlen(to_result);
    for (int d = 0; d < WINDOW_DIMS; d++)
        dim[d] = (struct window_dim){1, 1, 0, 1, 1};
    read_field(window, "size", offsetof(struct window_dim, size), dim);
    read_field(window, "stride", offsetof(struct window_dim, stride), dim);
    read_field(window, "pad", offsetof(struct window_dim, low), dim);
    read_field(window, "lhs_dilate", offsetof(struct window_dim, lhs_dilate), dim);
    read_field(window, "rhs_dilate", offsetof(struct window_dim, rhs_dilate), dim);
    double flops = 2 * (double)size_at(module, result, to_result, of_result, 'b') *
                   (double)size_at(module, result, to_result, of_result, 'f') *
                   (double)size_at(module, right, to_right, of_right, 'i');
    for (int d = 0; d < WINDOW_DIMS && '0' + d <= '9'; d++) {
        if (!memchr(labels, '0' + d, (size_t)of_left))
            break;
        flops *= valid_pairs(&dim[d], size_at(module, left, labels, of_left, (char)('0' + d)),
                             size_at(module, result, to_result, of_result, (char)('0' + d)));
    }
    return flops;
}
