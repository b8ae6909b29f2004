/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The plans of a product, numbered: the last digits say how tensors are moved, and whose order of axes comes first; then there is
 * one digit for each mesh axis, which counts the dims that it may cut.
 */
#include <string.h>

#include "model/tensor.h"

struct product {
    const struct tensor *side[2], *wanted;
    const struct axes *axes;
};

/* The result's dim from a dim of an operand; the one after the last for the contracted dim. */
static int dim_of(const struct product *p, int side, int d)
{
    int batches = tensor_batches(p->side[0], p->side[1]);
    int contracted = side == 0 ? p->side[0]->dims - 1 : batches;
    if (d == contracted)
        return p->wanted->dims;
    return d < contracted ? d : p->side[0]->dims - 2 - batches + d;
}

/* The dims that an axis may cut, a bit each: the contracted one is the one after the last, and the one after that is none. */
static unsigned places_of(const struct product *p, int axis)
{
    unsigned places = 2u << p->wanted->dims;
    for (int s = 0; s < 2; s++)
        for (int d = 0; d < p->side[s]->dims; d++)
            if (axis_list_has(&p->side[s]->dim[d].shard, axis))
                places |= 1u << dim_of(p, s, d);
    for (int d = 0; d < p->wanted->dims; d++)
        if (axis_list_has(&p->wanted->dim[d].shard, axis))
            places |= 1u << d;
    return places;
}

/* The place of a digit: the set bit with this number, from the lowest on. */
static int place_at(unsigned places, int digit)
{
    for (; digit > 0; digit--)
        places &= places - 1;
    return __builtin_ctz(places);
}

/* Adds the axes of a list that shard a dim, without those that the plan's list already has. */
static void add_axes(struct axis_list *cut, const struct axis_list *order, const int place[], int dim)
{
    for (int i = 0; i < order->count; i++)
        if (place[order->axis[i]] == dim && !axis_list_has(cut, order->axis[i]))
            cut->axis[cut->count++] = order->axis[i];
}

/* The axes of a dim in the order of the operands and the wanted result, forwards or backwards. */
static struct axis_list cut_of(const struct product *p, const int place[], int dim, bool backwards)
{
    struct axis_list cut = {0};
    for (int i = 0; i < 3; i++) {
        int s = backwards ? 2 - i : i;
        const struct tensor *of = s < 2 ? p->side[s] : p->wanted;
        for (int d = 0; d < of->dims; d++)
            if ((s < 2 ? dim_of(p, s, d) : d) == dim)
                add_axes(&cut, &of->dim[d].shard, place, dim);
    }
    return cut;
}

static bool divides(const struct product *p, const struct product_plan *plan)
{
    const struct tensor *left = p->side[0];
    bool divides = left->dim[left->dims - 1].n % axis_list_size(&plan->contracted, p->axes) == 0;
    for (int d = 0; d < p->wanted->dims; d++)
        divides = divides && p->wanted->dim[d].n % axis_list_size(&plan->dim[d], p->axes) == 0;
    return divides;
}

enum { ORDERS = 2 };

int product_plans(const struct tensor *left, const struct tensor *right, const struct tensor *wanted,
                  const struct axes *axes)
{
    const struct product p = {{left, right}, wanted, axes};
    int plans = MOVES * ORDERS;
    for (int a = 0; a < axes->count; a++)
        plans *= __builtin_popcount(places_of(&p, a));
    return plans;
}

bool product_plan_at(const struct tensor *left, const struct tensor *right, const struct tensor *wanted,
                     const struct axes *axes, int number, struct product_plan *plan)
{
    const struct product p = {{left, right}, wanted, axes};
    int place[AXES_MAX], digits = number / (MOVES * ORDERS);
    bool backwards = number / MOVES % ORDERS, differs = !backwards;
    *plan = (struct product_plan){.moves = (unsigned)(number % MOVES)};
    for (int a = 0; a < axes->count; a++) {
        unsigned places = places_of(&p, a);
        place[a] = place_at(places, digits % __builtin_popcount(places));
        digits /= __builtin_popcount(places);
    }
    for (int d = 0; d <= wanted->dims; d++) {
        struct axis_list cut = cut_of(&p, place, d, backwards), other = cut_of(&p, place, d, false);
        *(d < wanted->dims ? &plan->dim[d] : &plan->contracted) = cut;
        differs = differs || axis_list_common(&cut, &other) < cut.count;
    }
    return differs && divides(&p, plan);
}
