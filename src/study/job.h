/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * job: a point made concrete, and run.
 *
 *     point -> machine -> workload: rings, program -> engine: trace -> metrics -> result
 *
 * Workloads interpret the op text of a point: a workload is a const struct of functions in a file of its own,
 * and a row in the list of job.c. The first one that accepts the text opens the job, which is cheap and finds
 * every fault of the input, and then builds its program.
 *
 * Units: in the names. Errors: status.h. Ownership: job_close() frees what a job has made; the point, and the catalog
 * with its chips, are borrowed and outlive it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/timing.h"
#include "metrics/metrics.h"
#include "model/model.h"
#include "settings/settings.h"
#include "study/machine.h"
#include "study/result.h"

struct workload;

/* What kind of workload the text of --op stands for: the path of a workload file or of HLO text, a matmul in
 * sharding notation, or the name of a collective. Returns a bit of enum op_set (option.h), ON_ANY for an
 * unknown text. Settings call it through a pointer (settings.h). */
unsigned workload_kind(const char *op);

/* Options of a job besides its point; zeroed: all results, of the whole program. */
struct job_options {
    /* A few of a model's equal layers may stand for all, as long as their times are the same, or nearly (lower.h); and chips on
     * long lines may be taken to be alike (--fold on). */
    bool few_layers;
    /* If the time is above this, nothing else is found out, and it may be found with too few layers and trips of loops
     * (result.rough); 0: none. */
    double limit_s;
    /* Collectives of a model's step are waits (compile/lower_least.h), with estimates kept in a table. */
    bool least;
    struct least_table *least_table;
    struct engine_watch *watch; /* as in struct engine_limits */
    struct model_options model;
};

struct job {
    struct job_options options; /* set before job_open() */
    const struct point *point;
    const struct workload *workload;
    struct catalog *catalog;
    struct machine machine;
    /* The program also has the data that its ops move, for checks and dumps only; set by job_open() for
     * --check, else by the caller before job_build(). */
    bool has_data;
    bool is_timed; /* set by callers who want the run's own cost (struct run) */
    struct program program;
    void *state; /* the workload's own, of its state_bytes, zeroed before open() */
    /* Set by callers who want to see the progress of a long run (engine.h); its context is the job. */
    void (*progress)(const void *job, double spent_s, double done_frac);
};

struct workload {
    const char *name;
    size_t state_bytes;
    bool (*matches)(const struct point *point);
    /* Enum op_set: options that do not apply to it are refused before anything is opened; 0: by open(). */
    unsigned ops;
    const char *called; /* the workload's name in such a fault */
    /* Reads the point; finds every fault of the input. */
    int (*open)(struct job *job, struct status *st);
    /* The number of sends that a chip has under way at once, before anything is built; NULL: few. */
    double (*sends)(const struct job *job);
    /* Writes job->program. */
    int (*build)(struct job *job, struct status *st);
    /* For a workload with loops that are not written out in full (op_times): examines a run. `again`: the
     * next build() has to write out more; else `more_s` is the time that the rest adds to the total. NULL:
     * the program is complete. */
    int (*settle)(struct job *job, const struct trace *trace, bool *again, double *more_s, struct status *st);
    /* Fills in further results after the times: names, formulas, bounds, bandwidths. */
    int (*describe)(const struct job *job, const struct trace *trace, struct result *result,
                    struct status *st);
    enum record record;         /* the part of the trace that describe() needs */
    void (*close)(void *state); /* frees what is in it */
    /* The option whose values are compared by default, and its default values. */
    const char *(*variants)(const struct point *point, const char **values);
};

/* The beginning of one. To add one: a line here, and one in the list. */
#define WORKLOAD(NAME) .name = #NAME, .state_bytes = sizeof(struct NAME##_job)
extern const struct workload workload_collective, workload_matmul, workload_module, workload_parts;

/* The workload of a point, or a failure that names the nearest ops. */
const struct workload *workload_of(const struct point *point, struct status *st);

/* Checks the point of a job that is zeroed except for its options: chip, slice, mesh and the workload's own
 * settings. job_close() is safe after a failure. */
int job_open(struct job *job, const struct point *point, struct catalog *catalog, struct status *st);
int job_build(struct job *job, struct status *st);
void job_close(struct job *job);

/* A job that was run. */
struct run {
    struct result result;
    struct timing timing; /* of the job's program: the struct must not be moved */
    struct counts counts; /* of its ops */
    /* if the job is timed; simulating includes loading SimGrid */
    struct spent folding, simulating, measuring;
};

/* Runs a job that was built. The struct is zeroed. run_free() is safe after a failure. */
int job_run(struct job *job, enum record record, struct run *run, struct status *st);
void run_free(struct run *run);

/* Opens, builds and runs a job for one result. A failure is recorded in the result too, with the known
 * properties of the point. */
int job_result(const struct point *point, struct catalog *catalog, struct result *result, struct status *st);
int job_result_with(const struct point *point, const struct job_options *options, struct catalog *catalog,
                    struct result *result, struct status *st);

/* The result of a point that is not run: its properties, and a status that says why. */
void job_result_left(const struct point *point, struct catalog *catalog, const struct status *why,
                     struct result *result);

/* The result, without numbers, of a point that could not be run, and a status that says why. */
void job_result_failed(const struct point *point, struct catalog *catalog, struct result *result,
                       const struct status *why);

/* The effects of dead links on a built job: "rings over x become lines; rerouted: (1,0) to (2,0) by y+1 x+1
 * y-1". "" if no link is dead. */
int reroutes_print(const struct job *job, char text[static RESULT_LINE], struct status *st);
