/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * time_breakdown: where the time of a module went on the critical chip, from what the peak would take to what it took.
 *
 *   model      operations of the model, forward and backward, at the peak: its share of the whole is the MFU
 *   beyond     operations that are done besides: what is recomputed, scores that are masked, padding
 *   below peak what products take longer than their operations at the peak, where the MXU binds them ...
 *   hbm        ... and where HBM does, or what else uses it meanwhile
 *   others     what is no product: norms, activations, the optimizer; and what hidden collectives delay
 *   exposed    what the queue waited for collectives, by mesh axes
 *   rest       what is left: where the queue waits for nothing of these, and roundings of the sums
 *
 * Of what is no model's step only `exposed` is found.
 *
 * Units: seconds. Errors: status.h. Ownership: plain values.
 */
#ifndef ICISIM_TIME_BREAKDOWN_H
#define ICISIM_TIME_BREAKDOWN_H

#include "hlo/tally.h"
#include "study/module_job.h"

/* What one execution of an instruction took. Of a compute it is busy; of a collective, from its issue to its end, of which
 * the queue was idle for the exposed part. */
struct instruction_time {
    double start_s, time_s, exposed_s;
};

/* What a compute took on the critical chip, longer than alone where others used its HBM. Where the trace is of fewer chips,
 * which stand for the others, on the slowest, and alone if they are several. */
double instruction_compute_s(const struct module_job *m, const struct lowered *item,
                             const struct trace *trace);
/* What each item of the lowered module took, by the times of its ops: [items], the caller's to free(), also after a failure. */
int instruction_times(const struct module_job *m, const struct trace *trace,
                      struct instruction_time **spending, struct status *st);

/* What a collective is over: "tp", groups as they are written, "8 pairs" of a permute that is not a model's. */
const char *instruction_axes(const struct module_job *m, int32_t collective, char text[static TALLY_AXES]);

enum { SPENT_AXES = 16 };
struct time_breakdown {
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
int time_breakdown_find(const struct module_job *m, const struct trace *trace, double total_s,
                        struct time_breakdown *spent, struct status *st);

#endif
