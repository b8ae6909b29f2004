/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module_spent: where the time of a module went on the critical chip, from what the peak would take to what it took.
 *
 *   model      operations of the model, forward and backward, at the peak: its share of the whole is the MFU
 *   beyond     operations that are done besides: what is recomputed, scores that are masked, padding
 *   below peak what products take longer than their operations at the peak, where the MXU binds them ...
 *   hbm        ... and where HBM does
 *   others     what is no product: norms, activations, the optimizer
 *   exposed    what the queue waited for collectives, by mesh axes
 *   rest       what is left: where the queue waits for nothing of these, and roundings of the sums
 *
 * Of what is no model's step only `exposed` is found.
 *
 * Units: seconds. Errors: status.h. Ownership: plain values.
 */
#ifndef MODULE_SPENT_H
#define MODULE_SPENT_H

#include "hlo/tally.h"
#include "study/module_job.h"

enum { SPENT_AXES = 16 };
struct module_spent {
    double model_s, beyond_s, below_peak_s, hbm_s, others_s, rest_s;
    struct spent_axes {
        char axes
            [TALLY_AXES]; /* "tp"; groups as they are written; "permutes" of HLO text; the last of too many "others" */
        double seconds;
    } exposed[SPENT_AXES]; /* most first */
    int lists;
};

/* Is it a step of which the model says how many operations it has? */
static inline bool module_is_step(const struct module_job *m)
{
    return m->of_model && m->step.model.size.tokens > 0;
}

/* `total_s` is what the module takes, loops written out. */
int module_spent_find(const struct module_job *m, const struct trace *trace, double total_s,
                      struct module_spent *spent, struct status *st);

#endif
