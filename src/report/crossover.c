/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/crossover.h"

#include <math.h>

#include "base/units.h"
#include "engine/engine.h"
#include "study/job.h"

struct duel {
    struct point a, b;
    struct catalog *catalog;
    struct status *st;
};

static int time_of(struct point *point, uint64_t size_bytes, const struct duel *duel, double *time_s)
{
    struct result result;
    point->work.size_bytes = size_bytes;
    int code = job_result(point, duel->catalog, &result, duel->st);
    *time_s = result.time_s;
    return code;
}

/* (T_a - T_b) / (T_a + T_b) at exp(log_bytes), rounded to a multiple of 16 bytes, which holds whole elements of
 * every type. NaN after a fault. */
static double difference(double log_bytes, struct duel *duel)
{
    double a_s, b_s;
    uint64_t size_bytes = (uint64_t)llround(exp(log_bytes) / 16) * 16;
    if (time_of(&duel->a, size_bytes, duel, &a_s) < 0 || time_of(&duel->b, size_bytes, duel, &b_s) < 0)
        return NAN;
    return a_s + b_s > 0 ? (a_s - b_s) / (a_s + b_s) : 0;
}

/* The root between the logs of two sizes where the sign changes, by regula falsi (the Illinois form: the end
 * that stays counts half). Times go in small steps where chunks are rounded to whole elements, so the root is
 * only accurate to a few elements per chunk. */
static int refine(struct duel *duel, double lo, double hi, double *bytes, struct status *st)
{
    double at_lo = difference(lo, duel), at_hi = difference(hi, duel), mid = lo, last = hi;
    for (int i = 0; i < 100 && st->code == 0 && fabs(mid - last) > 1e-7; i++) {
        last = mid;
        mid = (lo * at_hi - hi * at_lo) / (at_hi - at_lo);
        double at_mid = difference(mid, duel);
        if ((at_mid < 0) == (at_hi < 0)) {
            at_lo /= 2;
        } else {
            lo = hi;
            at_lo = at_hi;
        }
        hi = mid;
        at_hi = at_mid;
    }
    *bytes = exp(mid);
    return st->code;
}

static int scan(struct duel *duel, struct crossover *crossover, struct status *st)
{
    int last = 0;
    double last_log = 0;
    for (double bytes = CROSSOVER_LEAST_BYTES; bytes <= CROSSOVER_MOST_BYTES; bytes *= 4) {
        double apart_frac = difference(log(bytes), duel);
        int sign = fabs(apart_frac) < CROSSOVER_SAME ? 0 : apart_frac < 0 ? -1 : 1;
        if (st->code < 0)
            return st->code;
        if (sign == 0)
            continue;
        if (last == 0)
            crossover->first = sign;
        if (last * sign < 0 && crossover->count < CROSSOVERS_MAX) {
            int code = refine(duel, last_log, log(bytes), &crossover->bytes[crossover->count++], st);
            if (code < 0)
                return code;
        }
        last = sign;
        last_log = log(bytes);
    }
    return 0;
}

int crossover_find(const struct point *a, const struct point *b, struct catalog *catalog,
                   struct crossover *crossover, struct status *st)
{
    struct duel duel = {.a = *a, .b = *b, .catalog = catalog, .st = st};
    *crossover = (struct crossover){0};
    for (int i = 0; engine_list()[i]; i++)
        if (engine_list()[i] == engine_fastest())
            duel.a.run.engine = duel.b.run.engine = i;
    return scan(&duel, crossover, st);
}

void crossover_print(const struct crossover *crossover, const char *a, const char *b, FILE *out)
{
    char least[UNITS_TEXT], most[UNITS_TEXT], at[UNITS_TEXT];
    units_print_bytes((uint64_t)CROSSOVER_LEAST_BYTES, least);
    units_print_bytes((uint64_t)CROSSOVER_MOST_BYTES, most);
    const char *fast = crossover->first < 0 ? a : b, *slow = crossover->first < 0 ? b : a;
    if (crossover->first == 0)
        fprintf(out, "# %s and %s take the same time at every size\n", a, b);
    else if (crossover->count == 0)
        fprintf(out, "# %s never overtakes %s (from %s to %s)\n", slow, fast, least, most);
    for (int i = 0; i < crossover->count; i++) {
        fprintf(out, "# %s overtakes %s at %s\n", slow, fast,
                units_print_about_bytes(crossover->bytes[i], at));
        const char *swap = fast;
        fast = slow;
        slow = swap;
    }
}
