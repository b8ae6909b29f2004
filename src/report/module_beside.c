/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/module_beside.h"

#include <math.h>
#include <stdlib.h>

int module_beside_init(struct module_beside *beside, const struct module_job *m, const struct trace *trace,
                       struct status *st)
{
    size_t room = (size_t)m->lower.items + 1;
    double *all = malloc(4 * room * sizeof *all);
    *beside = (struct module_beside){.start_s = all};
    if (!all)
        return status_nomem(st);
    beside->end_s = all + room;
    beside->products_s = all + 2 * room;
    beside->others_s = all + 3 * room;
    beside->products_s[0] = beside->others_s[0] = 0;
    for (int32_t i = 0; i < m->lower.items; i++) {
        const struct lowered *item = &m->lower.item[i];
        double given_s;
        if (!(item->seconds > 0) || item->first_op < 0)
            continue;
        int32_t at = beside->computes++;
        double took_s = module_job_compute_s(m, item, trace);
        bool product = lower_cost(&m->lower, item->instruction, &given_s).product;
        beside->end_s[at] = trace->op_end_s[item->end_op];
        beside->start_s[at] = beside->end_s[at] - took_s;
        beside->products_s[at + 1] = beside->products_s[at] + (product ? took_s : 0);
        beside->others_s[at + 1] = beside->others_s[at] + (product ? 0 : took_s);
    }
    return 0;
}

void module_beside_free(struct module_beside *beside)
{
    free(beside->start_s);
    *beside = (struct module_beside){0};
}

/* Busy until a time. */
static void until(const struct module_beside *beside, double time_s, double *products_s, double *others_s)
{
    int32_t low = 0, high = beside->computes; /* the first that ends later */
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (beside->end_s[middle] <= time_s)
            low = middle + 1;
        else
            high = middle;
    }
    *products_s = beside->products_s[low];
    *others_s = beside->others_s[low];
    if (low == beside->computes || time_s <= beside->start_s[low])
        return;
    bool product = beside->products_s[low + 1] > beside->products_s[low];
    *(product ? products_s : others_s) += time_s - beside->start_s[low];
}

void module_beside_find(const struct module_beside *beside, double from_s, double to_s, double *products_s,
                        double *others_s)
{
    double products[2], others[2];
    until(beside, from_s, &products[0], &others[0]);
    until(beside, to_s, &products[1], &others[1]);
    *products_s = fmax(0, products[1] - products[0]);
    *others_s = fmax(0, others[1] - others[0]);
}
