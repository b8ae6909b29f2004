/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * time_breakdown: how the time of a module on the critical chip is made up, from the ideal time at the peak upwards.
 *
 *   model      the model's FLOPs, forward and backward, at the peak: its fraction of the total is the MFU
 *   beyond     further FLOPs at the peak: recomputation, masked scores, padding
 *   below peak the additional time of matmuls that are bound by the MXU ...
 *   hbm        ... and of those bound by HBM
 *   others     all but matmuls: norms, activations, the optimizer
 *   contention by how much computes take longer because collectives use HBM, or the queue, at the same time
 *   exposed    time in which the queue waited for collectives, by mesh axes
 *   rest       what remains: waits for anything else, and rounding errors
 *
 * For anything but a model's step only `exposed` is found.
 *
 * Units: seconds. Errors: status.h. Ownership: plain values.
 */
#pragma once

#include "study/module_job.h"

/* The time of one execution of an instruction: of a compute, while it runs; of a collective, from its issue to its
 * end, with the part in which the queue was idle for it as exposed_s. */
struct instruction_time {
    double start_s, time_s, exposed_s;
};

/* The time of each item of the lowered module, (*spending)[items]. The caller frees it, also after a failure. */
int instruction_times(const struct module_job *m, const struct trace *trace,
                      struct instruction_time **spending, struct status *st);

/* The mesh axes of a collective: "tp"; or its groups as written; "8 pairs" for a permute that is not of a model. */
const char *instruction_axes(const struct module_job *m, int32_t collective, char text[static TALLY_AXES]);

enum { SPENT_AXES = 16 };
struct time_breakdown {
    double model_s, beyond_s, below_peak_s, hbm_s, others_s, contention_s, rest_s;
    struct spent_axes {
        /* instruction_axes(); "permutes" for those of HLO text; "others" for all after SPENT_AXES - 1 entries */
        char axes[TALLY_AXES];
        double seconds;
    } exposed[SPENT_AXES]; /* the most first */
    int lists;
};

/* Is it a model's step with a known number of FLOPs? */
static inline bool module_is_step(const struct module_job *m)
{
    return m->of_model && m->step.model.size.tokens > 0;
}

/* `total_s` is the time of the module with all trips of its loops. */
int time_breakdown_find(const struct module_job *m, const struct trace *trace, double total_s,
                        struct time_breakdown *spent, struct status *st);
