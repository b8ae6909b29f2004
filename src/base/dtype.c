/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/dtype.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

static const struct dtype table[DTYPE_COUNT] = {
#define DTYPE_ROW(id, xla, jax, brief, bits, rate) [id] = {xla, jax, brief, (bits) / 8.0, rate},
    DTYPES(DTYPE_ROW)
#undef DTYPE_ROW
};

const struct dtype *dtype_info(enum dtype_id id)
{
    assert(id < DTYPE_COUNT);
    return &table[id];
}

int dtype_find(const char *name)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        const struct dtype *d = &table[i];
        if (strcmp(name, d->name) == 0 || strcmp(name, d->jax) == 0 || strcmp(name, d->brief) == 0)
            return i;
    }
    return -1;
}

int dtype_by_name(const char *name, struct status *st)
{
    const char *names[2 * DTYPE_COUNT + 1];
    int found = dtype_find(name);
    if (found >= 0)
        return found;
    for (int i = 0; i < DTYPE_COUNT; i++) {
        names[i] = table[i].name;
        names[DTYPE_COUNT + i] = table[i].jax;
    }
    names[2 * DTYPE_COUNT] = NULL;
    return text_unknown("dtype", name, names, st);
}

/* Bits of the significand, including the implicit one, and the exponents of the smallest and the largest
 * normal number. f32 has the significand of a double: its values keep the precision of the doubles that hold
 * them and only overflow like f32. */
static const struct {
    enum dtype_id id;
    int significand, least, most;
} rounding[] = {{DTYPE_BF16, 8, -126, 127}, {DTYPE_F16, 11, -14, 15}, {DTYPE_F32, DBL_MANT_DIG, -1022, 127}};

double dtype_epsilon(enum dtype_id id)
{
    return id == DTYPE_BF16 || id == DTYPE_F16 ? ldexp(1, 1 - rounding[id == DTYPE_F16].significand)
                                               : FLT_EPSILON;
}

static double hold_whole(enum dtype_id id, double value)
{
    int bits = (int)(8 * table[id].bytes);
    double span = ldexp(1, bits), least = table[id].name[0] == 's' ? -span / 2 : 0;
    if (bits > 32 || !isfinite(value))
        return value;
    double above = fmod(trunc(value) - least, span);
    return least + (above < 0 ? above + span : above);
}

double dtype_hold(enum dtype_id id, double value)
{
    int exponent;
    if (id == DTYPE_PRED)
        return value < 0 || value > 0 || isnan(value);
    if (dtype_is_whole(id))
        return hold_whole(id, value);
    for (size_t i = 0; i < sizeof rounding / sizeof *rounding; i++) {
        if (rounding[i].id != id || !isfinite(value))
            continue;
        frexp(value, &exponent);
        exponent = exponent - 1 > rounding[i].least ? exponent - 1 : rounding[i].least;
        double unit = ldexp(1, exponent + 1 - rounding[i].significand);
        double held = rint(value / unit) * unit;
        return fabs(held) < ldexp(1, rounding[i].most + 1) ? held : copysign(INFINITY, value);
    }
    return value;
}
