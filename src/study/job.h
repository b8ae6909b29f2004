/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * job: a point made concrete, and run.
 *
 *     point -> machine -> workload: rings, program -> engine: trace -> metrics -> result
 *
 * What a point's op text means is known by workloads: a workload is a const struct of functions in a file of
 * its own, and a row in the list of job.c. The first one that says that a text is its own opens the job, which
 * is cheap and finds every fault of the input, and then builds its program.
 *
 * A batch is the points of a grid that share what they have in common. Neighbours in a grid often differ in their size alone.
 * Then chip, slice, mesh, rings and routes are the same, mostly the program's shape too, and so how it folds and what bounds it:
 * that is kept from one point to the next, and only the amounts are new. The caller says which points these are: those of one batch have the same number, which it chooses
 * (job_batch()). Results do not depend on what was kept.
 *
 *     struct batch batch = {0};
 *     for (int i = 0; i < points; i++)
 *         batch_result(&batch, number[i], &point[i], &catalog, &result[i], &st);
 *     batch_close(&batch);
 *
 * Units: in the names. Errors: status.h. Ownership: job_close() frees what a job has made; the point, and the
 * catalog with its chips, are borrowed and outlive it. batch_close() frees what a batch has kept; the texts of its points are
 * borrowed until then, or until a point with another number; a batch is not moved.
 */
#ifndef ICISIM_JOB_H
#define ICISIM_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/stopwatch.h"
#include "engine/timing.h"
#include "metrics/metrics.h"
#include "model/model.h"
#include "program/program.h"
#include "settings/point.h"
#include "settings/settings.h"
#include "study/machine.h"
#include "study/result.h"

struct workload;

/* What kind of workload the text of --op stands for: the path of a workload file or of HLO text, a matmul in sharding notation, or
 * the name of a collective. Returns a bit of enum op_set (option.h), ON_ANY where the text is nothing that is known. Settings are
 * handed this function (settings.h). */
unsigned workload_kind(const char *op);

/* What is wanted of a job besides what its point says; zeroed: everything, of the whole program. */
struct job_options {
    bool
        few_layers; /* a few of a model's equal layers may stand for all, as long as the times are the same */
    bool time_only; /* communication alone is not simulated */
    bool brief;     /* nothing is said of the run but its times */
    double
        limit_s; /* what is simulated of layers and loops need not be enough where the time is above that; 0: it has to be */
    bool
        least; /* collectives of a model's step are waits (compile/lower_least.h), with estimates kept in a table */
    struct least_table *least_table;
    const atomic_bool *cancelled; /* as in struct engine_limits */
    struct model_options model;
};

struct job {
    struct job_options options; /* set before job_open() */
    const struct point *point;
    const struct workload *workload;
    struct catalog *catalog;
    struct machine machine;
    /* The program says what data its ops move, too, which only checks and dumps look at; set by job_open() for --check,
     * before job_build() by others who want it. */
    bool has_data;
    bool is_timed; /* set by whoever wants to know what a run takes (struct run) */
    struct program program;
    void *state; /* the workload's own, of its state_bytes, zeroed before open() */
    /* Set by whoever wants to see how far a run is that takes long (engine.h); its context is the job. */
    void (*progress)(const void *job, double spent_s, double done_frac);
};

struct workload {
    const char *name;
    size_t state_bytes;
    bool (*matches)(const struct point *point);
    unsigned
        ops; /* enum op_set: options that do not apply to it are refused before anything is opened; 0: by open() */
    const char *called; /* in such a fault */
    /* Reads the point; all that can be wrong with it is found here. */
    int (*open)(struct job *job, struct status *st);
    /* The size of job->point is another than that with which the job was opened, and nothing else of it: reads it. Returns 1; or
     * 0 where more may depend on it, and the job has to be opened anew. NULL: it always has. */
    int (*vary)(struct job *job, struct status *st);
    /* How many sends a chip has under way at once, before anything is built; NULL: not many. */
    double (*sends)(const struct job *job);
    /* Writes job->program. */
    int (*build)(struct job *job, struct status *st);
    /* Of a workload with loops that are not written out in full (op_times): looks at a run. `again`: the next build() has to
     * write more; else `more_s` is what the rest adds to the total. NULL: the program is all there is. */
    int (*settle)(struct job *job, const struct trace *trace, bool *again, double *more_s, struct status *st);
    /* What else is to be said of a run whose times are in the result already: names, formulas, bounds, bandwidths. */
    int (*describe)(const struct job *job, const struct trace *trace, struct result *result,
                    struct status *st);
    enum record record;         /* what describe() needs of the trace, at least */
    void (*close)(void *state); /* frees what is in it */
    /* The option whose values compare puts side by side, and the ones it takes if none are given. */
    const char *(*variants)(const struct point *point, const char **values);
};

/* To add one: a line here, and one in the list. */
extern const struct workload workload_collective, workload_matmul, workload_module, workload_parts;

/* The workload of a point, or a failure that names the nearest ops. */
const struct workload *workload_of(const struct point *point, struct status *st);

/* Checks the point of a job that is zeroed but for its options: chip, slice, mesh and what the workload asks for. job_close() is safe after a failure. */
int job_open(struct job *job, const struct point *point, struct catalog *catalog, struct status *st);
int job_build(struct job *job, struct status *st);
/* The points of a grid that differ in their size alone are a batch, whose number is the index of the first of them. */
int64_t job_batch(const struct grid *grid, int64_t index);
void job_close(struct job *job);

/* A job that was run. */
struct run {
    struct result result;
    struct timing timing; /* of the job's program: the struct must not be moved */
    struct counts counts; /* of what it runs */
    struct spent folding, simulating,
        measuring; /* what it took, if the job is timed; of SimGrid, loading it too */
};

/* Runs a job that was built. The struct is zeroed, or has run the same job before that was varied: then what only depends on the
 * program's shape is kept. run_free() is safe after a failure. */
int job_run(struct job *job, enum record record, struct run *run, struct status *st);
void run_free(struct run *run);

/* All of it, for one result. A failure is in the result too, with what is known of the point. */
int job_result(const struct point *point, struct catalog *catalog, struct result *result, struct status *st);
int job_result_with(const struct point *point, const struct job_options *options, struct catalog *catalog,
                    struct result *result, struct status *st);

/* The result of a point that is not run at all: what it is, and a status that says why. */
void job_result_left(const struct point *point, struct catalog *catalog, const struct status *why,
                     struct result *result);

/* A result that has no numbers, and a status that says why, of a point that could not be run. */
void job_result_failed(const struct point *point, struct catalog *catalog, struct result *result,
                       const struct status *why);

struct batch {
    struct point point;
    int64_t number; /* of the batch that the job is of */
    bool holds;     /* a job that is open */
    struct job job;
    struct run run;
};

/* Opens batch->job for a point, which the caller builds and runs, as batch->run; after a failure it closes the batch. Points of
 * one number differ in their sizes alone. */
int batch_open(struct batch *batch, int64_t number, const struct point *point, struct catalog *catalog,
               struct status *st);
/* All of it, as job_result(). */
int batch_result(struct batch *batch, int64_t number, const struct point *point, struct catalog *catalog,
                 struct result *result, struct status *st);
void batch_close(struct batch *batch);

/* What dead links change for a job that was built: "rings over x become lines; rerouted: (1,0) to (2,0) by y+1 x+1 y-1".
 * "" where no link is dead. */
int reroutes_print(const struct job *job, char text[static RESULT_LINE], struct status *st);

#endif
