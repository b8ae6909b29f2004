/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trip counts of loops, and the number of runs of computations. */
#include <stdlib.h>
#include <string.h>

#include "hlo/scalar.h"

/* {"known_trip_count":{"n":"3"}} in the backend_config, maybe with its quotes escaped; -1 if it is not there. */
static int64_t known(const struct module *module, int32_t loop)
{
    static const char key[] = "known_trip_count";
    const char *at = strstr(module_value(module, loop, ATTR_BACKEND_CONFIG), key);
    if (!at)
        return -1;
    at += strlen(key);
    at += strspn(at, "\\\": {n");
    char *end;
    long long n = strtoll(at, &end, 10);
    return end > at && n >= 0 ? n : -1;
}

/* The number of times that a number from `start` on, changed by `step` each time, satisfies the comparison
 * with `limit`, before it first fails; -1: unknown, or infinite. */
static int64_t count(int64_t start, int64_t step, int64_t limit, const char *direction)
{
    bool differs = strcmp(direction, "NE") == 0, less = direction[0] == 'L', greater = direction[0] == 'G';
    if (strcmp(direction, "EQ") == 0)
        return start != limit ? 0 : step != 0 ? 1 : -1;
    if (!differs && !less && !greater)
        return -1;
    bool up = differs ? step > 0 : less, or_equal = !differs && direction[1] == 'E';
    int64_t distance;
    if (__builtin_sub_overflow(up ? limit : start, up ? start : limit, &distance) || distance == INT64_MAX ||
        step == INT64_MIN)
        return -1;
    if (distance < !or_equal && !(differs && distance < 0))
        return 0;
    int64_t stride = up ? step : -step;
    if (stride <= 0 || distance < 0 || (differs && distance % stride != 0))
        return -1;
    return (distance - !or_equal) / stride + 1;
}

/* The comparison with its operands swapped. */
static const char *turn(const char *direction)
{
    static const char *const pairs[][2] = {{"LT", "GT"}, {"LE", "GE"}, {"GT", "LT"}, {"GE", "LE"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(direction, pairs[i][0]) == 0)
            return pairs[i][1];
    return direction;
}

/* The comparison at the condition's root, maybe in a fusion; -1 if it is something else. */
static int32_t find_comparison(const struct module *module, int32_t computation)
{
    for (int depth = 0; depth < 8 && computation >= 0; depth++) {
        int32_t root = module->computation[computation].root;
        const struct instruction *i = module_at(module, root);
        if (i->opcode == HLO_COMPARE)
            return i->operands == 2 ? root : -1;
        if (i->opcode != HLO_FUSION && i->opcode != HLO_CALL)
            return -1;
        computation =
            (int32_t)module_number(module, root, i->opcode == HLO_CALL ? ATTR_TO_APPLY : ATTR_CALLS, -1);
    }
    return -1;
}

/* The value of a carried element before the loop, and the amount that each trip adds. */
static bool find_walk(struct scalar_place place, int32_t element, struct scalar *start, struct scalar *step)
{
    const struct module *module = place.module;
    int32_t loop = place.loop, body = (int32_t)module_number(module, loop, ATTR_BODY, -1);
    bool tuple = module_shape_of(module, loop)->dtype == SHAPE_TUPLE;
    struct scalar_place outside = place;
    outside.loop = SCALAR_UNKNOWN;
    return body >= 0 &&
           scalar_find(&outside, module_operand(module, loop, 0), tuple ? element : SCALAR_UNKNOWN, start) &&
           scalar_find(&place, module->computation[body].root, tuple ? element : SCALAR_UNKNOWN, step) &&
           step->carried == element;
}

int64_t module_trip_count(const struct module *module, int32_t loop)
{
    int64_t n = known(module, loop), from;
    struct scalar_place place = {module, loop, SCALAR_UNKNOWN, SCALAR_UNKNOWN, SCALAR_STEPS};
    struct scalar a, b, start, step;
    int32_t compare = find_comparison(module, (int32_t)module_number(module, loop, ATTR_CONDITION, -1));
    if (n >= 0 || compare < 0)
        return n;
    if (!scalar_find(&place, module_operand(module, compare, 0), SCALAR_UNKNOWN, &a) ||
        !scalar_find(&place, module_operand(module, compare, 1), SCALAR_UNKNOWN, &b) ||
        (a.carried >= 0) == (b.carried >= 0))
        return -1;
    const char *direction = module_value(module, compare, ATTR_DIRECTION);
    const struct scalar *moving = a.carried >= 0 ? &a : &b, *limit = a.carried >= 0 ? &b : &a;
    if (!find_walk(place, moving->carried, &start, &step) ||
        __builtin_add_overflow(start.value, moving->value, &from))
        return -1;
    return count(from, step.value, limit->value, moving == &a ? direction : turn(direction));
}

bool module_trips_are_inferred(const struct module *module, int32_t loop)
{
    return known(module, loop) < 0;
}

int module_need_trips(const struct module *module, int32_t loop, int64_t *trips, struct status *st)
{
    const char *name = module_name_at(module, loop);
    *trips = module_trip_count(module, loop);
    return *trips >= 0 ? 0
                       : status_fail(st, STATUS_INPUT,
                                     "how often %s runs is not in the text; say it with --trip-count %s=N",
                                     name, name);
}

int module_executions(const struct module *module, double runs[], struct status *st)
{
    for (int32_t c = 0; c < module->computations; c++)
        runs[c] = c == module->entry;
    /* callers come after their callees */
    for (int32_t i = module->instructions - 1; i >= 0; i--) {
        const struct instruction *at = module_at(module, i);
        int64_t trips = 1;
        if (at->opcode == HLO_WHILE && module_need_trips(module, i, &trips, st) < 0)
            return st->code;
        for (int32_t which = 0, c; (c = module_called(module, i, which)) >= 0; which++) {
            bool decides = at->opcode == HLO_WHILE && c == module_number(module, i, ATTR_CONDITION, -1);
            runs[c] += runs[at->computation] * ((double)trips + decides);
        }
    }
    return 0;
}
