/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the queue of a module's chips did at a time: how long it was busy with products, and with others. */
#ifndef MODULE_BESIDE_H
#define MODULE_BESIDE_H

#include "study/module_job.h"

struct module_beside {
    int32_t computes;
    double *start_s, *end_s;       /* [computes], in the order of the queue */
    double *products_s, *others_s; /* [computes + 1] busy before each of them */
};

/* Freed with module_beside_free(), safe when zeroed and after a failure. */
int module_beside_init(struct module_beside *beside, const struct module_job *m, const struct trace *trace,
                       struct status *st);
void module_beside_free(struct module_beside *beside);

/* Busy seconds from a time to another. */
void module_beside_find(const struct module_beside *beside, double from_s, double to_s, double *products_s,
                        double *others_s);

#endif
