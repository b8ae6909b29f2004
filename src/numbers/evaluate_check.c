/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a program delivered, against the definition and against what JAX printed. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "numbers/evaluate.h"

/* How far two sums of the same n numbers may be apart: each of the n - 1 additions of either rounds a partial sum,
 * at most n times the largest number, by epsilon/2. Whole numbers up to 2^53 do not round. */
static double rounding(const struct evaluation *e, double epsilon)
{
    double largest = 0, n = e->groups.size;
    bool whole = true;
    for (int device = 0; device < e->mesh->devices; device++)
        for (int64_t i = 0; i < array_elements(&e->start[device]); i++) {
            double value = e->start[device].data[i];
            largest = fmax(largest, fabs(value));
            whole &= floor(value) >= value;
        }
    return whole && n * largest <= 0x1p53 ? 0 : n * n * epsilon * largest;
}

/* "[0, 1]": where element `at` stands. */
static void print_place(const struct array *array, int64_t at, char text[static ARRAY_TEXT])
{
    int64_t index[ARRAY_DIMS];
    for (int d = array->dims - 1; d >= 0; d--) {
        index[d] = at % array->shape[d];
        at /= array->shape[d];
    }
    size_t used = (size_t)snprintf(text, ARRAY_TEXT, "[");
    for (int d = 0; d < array->dims; d++)
        used +=
            (size_t)snprintf(text + used, ARRAY_TEXT - used, "%s%lld", d ? ", " : "", (long long)index[d]);
    snprintf(text + used, ARRAY_TEXT - used, "]");
}

static int compare(const struct array *got, const struct array *want, double tolerance, struct status *st)
{
    char text[ARRAY_TEXT], other[ARRAY_TEXT];
    if (!array_same_shape(got, want))
        return status_fail(st, STATUS_CHECK, "the shape is %s, not %s", array_print_shape(got, text),
                           array_print_shape(want, other));
    for (int64_t i = 0; i < array_elements(got); i++)
        if (!(fabs(got->data[i] - want->data[i]) <= tolerance)) {
            print_place(got, i, text);
            return status_fail(st, STATUS_CHECK, "element %s is %.9g, not %.9g", text, got->data[i],
                               want->data[i]);
        }
    return 0;
}

int evaluation_check(const struct evaluation *e, struct status *st)
{
    /* Copies, largest and smallest are exact whatever they are of. */
    enum call_op op = e->example->call.op;
    bool sums = call_reduces(op) && op != CALL_PMAX && op != CALL_PMIN;
    double tolerance = sums ? rounding(e, DBL_EPSILON) : 0;
    for (int device = 0; device < e->mesh->devices; device++)
        if (compare(&e->got[device], &e->want[device], tolerance, st) < 0)
            return status_prefix(st, "device %d: ", device);
    return 0;
}

int evaluation_check_output(const struct evaluation *e, struct status *st)
{
    struct array result;
    int code = case_result(e->example, e->got, &result, st);
    if (code == 0)
        code = compare(&result, &e->example->output, rounding(e, FLT_EPSILON), st);
    array_free(&result);
    return code;
}

bool evaluation_is_even(const struct evaluation *e)
{
    for (int device = 1; device < e->mesh->devices; device++)
        if (!array_same_shape(&e->got[device], &e->got[0]))
            return false;
    return true;
}
