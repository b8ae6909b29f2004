/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module_job: the workload "module": a step of a model, or a program of XLA's, lowered and run.
 *
 * The point's op names the file. Reports read the times of single instructions here.
 */
#pragma once

#include "compile/lower_least.h"
#include "hlo/tally.h"
#include "model/chain.h"
#include "study/job.h"
#include "study/model_step.h"

struct module_job {
    struct module module;
    const struct listing *text; /* the owner of the module, in the catalog; NULL: its own module */
    bool of_model;
    struct model_step step;     /* of a model, or a matmul: the source of the module */
    struct model_options model; /* of a model: how much of it is built */
    bool unsteady;              /* layers have to be added to it */
    double chip_hour_usd;       /* of a model: NaN without a price */
    char path[HLO_PATH];        /* the file that was read */
    char devices[HLO_PATH];     /* of HLO text: devices.csv beside it, which may not exist */
    bool assumed;               /* the device assignment is assumed */
    int chip_devices;           /* that share a chip's peak and HBM, even if some are idle */
    int disguised;              /* reduce-scatters that are written as all-reduce and slice */
    struct placement placement;
    struct csv_table op_cost_table;
    struct op_cost *op_cost;
    struct lower_options options;
    struct least_table own_table; /* of the shares found, where the job's options have none */
    /* Of a matmul: bases that are tried beside the step's own, what each takes at least without loops, and simulated (0: it was
     * not, as another is faster than that), and its own; the one that was taken, NULL: its own. */
    struct other_base {
        struct module base;
        struct chain_plan plan;
        double least_s, time_s;
    } * other;
    const struct other_base *taken;
    int others;
    double own_s;
    struct lower lower;
};

/* Does the point run a module? */
bool module_job_matches(const struct point *point);

/* Reads the module that a point is: HLO text, with reduce-scatters for those in disguise unless it is as_written; or the
 * step of a model as it runs on the point's slice, which HLO text does not need. `path` becomes what was read, `disguised`
 * how many were found. */
int module_job_read(const struct point *point, struct catalog *catalog, struct module *module,
                    char path[HLO_PATH], int *disguised, struct status *st);

/* The job's module, NULL if it has none. */
const struct module_job *module_job_of(const struct job *job);

/* The time of the module with other options. */
int module_job_time(const struct module_job *m, const struct lower_options *options, double *time_s,
                    struct status *st);

/* What other workloads share that run modules: their state begins with a struct module_job, whose module, or step, is set.
 * Reads the options, by which HBM may have another rate, and lays the devices (on a mesh, or NULL); the rest are a workload's
 * functions. */
int module_job_lay(struct module_job *m, struct job *job, const struct mesh *mesh, struct status *st);
int module_job_open(struct job *job, struct status *st);
int module_job_build(struct job *job, struct status *st);
int module_job_settle(struct job *job, const struct trace *trace, bool *again, double *more_s,
                      struct status *st);
void module_job_close(void *state);
const char *module_job_variants(const struct point *point, const char **values);
/* Writes the module that runs, where the strategy is auto the one that is best, and opens its lowering; once. Of a model it
 * replaces the one that was opened. */
int module_job_choose(struct module_job *m, struct status *st);

/* What binds the products, by the time that they take: "MXU", "HBM 72%, MXU 28%"; "" without products. Returns `text`. */
char *module_job_binds(const struct module_job *m, char text[static RESULT_WORDS]);

/* What the time of computes in compiled text rests on, by its share, and how many executions have work that takes no time:
 * "estimate 71%, bytes 20%, guess 9%, nothing for 12 ops"; "" where all have the roofline's. */
void module_job_rests_on(const struct module_job *m, char *text, size_t room);
