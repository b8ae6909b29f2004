/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formula/shape.h"

struct shape shape_of(const struct formula_case *c)
{
    struct shape shape = {.chips = 1, .longest = 1, .all_closed = true, .equal = true};
    for (int i = 0; i < c->rings; i++) {
        if (c->n[i] < 2)
            continue;
        bool closed = c->closed[i] && c->n[i] > 2;
        if (shape.rings > 0 && c->n[i] != shape.n[0])
            shape.equal = false;
        shape.n[shape.rings] = c->n[i];
        shape.closed[shape.rings++] = closed;
        shape.chips *= c->n[i];
        shape.longest = c->n[i] > shape.longest ? c->n[i] : shape.longest;
        shape.all_closed = shape.all_closed && closed;
    }
    return shape;
}

static bool is_in_scope(unsigned scope, const struct formula_case *c, const struct shape *shape)
{
    unsigned by = 1u << (COLLECTIVES + c->kind), any_by = BY_UNI | BY_BOTH_WAYS;
    if ((scope & OF_ALL && !(scope & 1u << c->op)) || (scope & any_by && !(scope & by)))
        return false;
    if (scope & (ONE_RING | RINGS) && (shape->rings < 1 || !c->one_link))
        return false;
    return !(scope & ONE_RING && shape->rings > 1) && !(scope & CLOSED && !shape->all_closed) &&
           !(scope & LINE && shape->all_closed);
}

double formula_time_s(const struct formula *form, const struct formula_case *c)
{
    struct shape shape = shape_of(c);
    return is_in_scope(form->scope, c, &shape) ? form->time_s(c, &shape) : NAN;
}

const char *formula_find(const struct formula list[], const struct formula_case *c, double *time_s)
{
    struct shape shape = shape_of(c);
    for (const struct formula *form = list; form->id && !c->uneven; form++) {
        *time_s = is_in_scope(form->scope, c, &shape) ? form->time_s(c, &shape) : NAN;
        if (!isnan(*time_s))
            return form->id;
    }
    *time_s = NAN;
    return "";
}

double formula_exact_s(const struct formula_case *c)
{
    double time_s;
    formula_find(formula_exact, c, &time_s);
    return time_s;
}
