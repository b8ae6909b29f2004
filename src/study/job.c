/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens, builds and runs jobs, and fills in their results. */
#include "study/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collective/collective.h"
#include "machine/boxes.h"
#include "study/budget.h"

unsigned workload_kind(const char *op)
{
    struct status unknown = {0};
    if (document_is_path(op))
        return ON_MODEL;
    if (hlo_is_path(op))
        return ON_TEXT;
    if (expr_is(op))
        return ON_MATMUL;
    const struct collective *collective = collective_by_name(op, &unknown);
    if (!collective && hlo_is_dump(op))
        return ON_TEXT; /* a folder in the one where we are */
    return collective ? 1u << collective->id : (unsigned)ON_ANY;
}

static const struct workload *const workloads[] = {&workload_module, &workload_collective, &workload_matmul,
                                                   &workload_parts, NULL};

const struct workload *workload_of(const struct point *point, struct status *st)
{
    const char *op = point->work.op;
    for (const struct workload *const *w = workloads; *w && op; w++)
        if ((*w)->matches(point) && (*w != &workload_collective || collective_by_name(op, st)))
            return *w;
    if (!op)
        status_fail(st, STATUS_INPUT, "what is to run? name a collective, such as all-gather");
    else if (st->code < 0)
        status_prefix(st, "'%s' is no op: ", op);
    else
        status_fail(st, STATUS_INPUT, "'%s' is neither a collective, such as all-gather, nor a matmul", op);
    if (op)
        document_suggest(op, st);
    return NULL;
}

int job_open(struct job *job, const struct point *point, struct catalog *catalog, struct status *st)
{
    *job = (struct job){
        .options = job->options, .point = point, .catalog = catalog, .has_data = point->run.check};
    job->workload = workload_of(point, st);
    if (!job->workload)
        return st->code;
    if (job->workload->ops &&
        option_check(point, (enum op_set)job->workload->ops, job->workload->called, st) < 0)
        return st->code;
    if (workload_kind(point->work.op) == ON_TEXT && !listing_of(catalog, point, st))
        return st->code; /* the fault of the file takes precedence over a missing slice */
    int code = machine_open(&job->machine, point, catalog, st);
    program_init(&job->program, &job->machine.slice);
    job->state = calloc(1, job->workload->state_bytes);
    if (!job->state)
        return status_nomem(st);
    return code < 0 ? code : job->workload->open(job, st);
}

/* Checks the invariants of what the job has built; those of its trace follow after the run. */
static int check(const struct job *job, struct status *st)
{
    int code = slice_check(&job->machine.slice, st);
    if (code == 0)
        code = mesh_check(&job->machine.mesh, st);
    return code < 0 ? code : program_check(&job->program, st);
}

int job_build(struct job *job, struct status *st)
{
    int code = 0;
    if (job->workload->sends)
        code = budget_build(job->point, job->workload->sends(job), st);
    if (code == 0)
        code = job->workload->build(job, st);
    return code == 0 && job->point->run.check ? check(job, st) : code;
}

void job_close(struct job *job)
{
    if (job->state)
        job->workload->close(job->state);
    free(job->state);
    job->state = NULL;
    program_free(&job->program);
    machine_close(&job->machine);
}

/* The time that unwritten loop trips add to the total of a run; `again` is set if more of the program must be
 * written out. */
static int settle(struct job *job, const struct trace *trace, bool *again, double *more_s, struct status *st)
{
    bool further = false;
    *more_s = 0;
    int code = job->workload->settle ? job->workload->settle(job, trace, &further, more_s, st) : 0;
    *again |= further;
    return code;
}

/* The total of the same program if every compute took no time. */
static int communication(struct job *job, const struct timing *timing, bool *again, double *comm_s,
                         struct status *st)
{
    struct trace trace = {0};
    double more_s;
    int code = timing_silent(timing, &trace, st);
    if (code == 0)
        code = settle(job, &trace, again, &more_s, st);
    if (code == 0)
        *comm_s = trace.total_s + more_s;
    trace_free(&trace);
    return code;
}

/* Fills in what is known before a run; for a point that could not be opened, its settings. */
static void identify(struct result *result, const struct point *point, const struct job *job)
{
    const struct slice *slice = &job->machine.slice;
    result_init(result);
    RESULT_PUT(result->op, point->work.op);
    RESULT_PUT(result->chip, job->machine.chip ? job->machine.chip->name : point->machine.chip);
    RESULT_PUT(result->slice, point->machine.slice);
    RESULT_PUT(result->wrap, point->machine.wrap);
    RESULT_PUT(result->mesh, point->machine.mesh);
    RESULT_PUT(result->axes, point->work.axis);
    if (job->machine.chip || point->machine.profile != CHOICE_OPEN)
        RESULT_PUT(
            result->profile,
            chip_profile_names[job->machine.chip ? (int)job->machine.chip->profile : point->machine.profile]);
    RESULT_PUT(result->dtype, point->work.dtype);
    const char *values;
    if (job->workload && strcmp(job->workload->variants(point, &values), "strategy") == 0)
        RESULT_PUT(result->strategy, point->schedule.strategy);
    if (point->schedule.ring != CHOICE_OPEN)
        RESULT_PUT(result->ring, ring_kind_name((enum ring_kind)point->schedule.ring));
    if (point->schedule.algorithm != CHOICE_OPEN)
        RESULT_PUT(result->algorithm, point->schedule.algorithm < ALGORITHMS
                                          ? algorithm_name((enum algorithm)point->schedule.algorithm)
                                          : pattern_name(pattern_of_choice(point->schedule.algorithm)));
    result->size_bytes = point->work.size_bytes;
    if (slice->chips > 0) {
        result->chips = slice->chips;
        slice_print_shape(slice, result->slice);
        slice_print_wrap(slice, result->wrap);
        RESULT_PUT(result->offered, box_is_offered(job->machine.chip, slice->len) ? "yes" : "no");
    }
    if (job->machine.mesh.axes.count > 0)
        axes_print(&job->machine.mesh.axes, result->mesh);
    if (job->machine.mesh.axes.count > 0 && point->machine.mesh)
        mesh_print_mapping(&job->machine.mesh, result->rings);
}

/* Fills in the times; workload-specific values are set by the workload. */
static void measure(struct result *result, const struct metrics *m)
{
    *result->dtype = *result->axes = *result->ring = *result->strategy = '\0';
    result->size_bytes = 0;
    result->steps = m->counts.steps;
    result->time_s = m->time_s;
    result->max_link_frac = m->max_link_frac;
    result->mean_link_frac = m->mean_link_frac;
    result->link_bytes = m->link_bytes;
    result->max_link_bytes = m->max_link_bytes;
    result->transfers = m->counts.transfers;
    result->compute_s = m->compute_s;
    result->comm_s = m->comm_s;
    result->exposed_comm_s = m->exposed_comm_s;
    result->overlap_frac = m->overlap_frac;
    RESULT_PUT(result->status, "ok");
}

/* Times are only taken on request: that takes as long as a small simulation. */
static struct stopwatch start(const struct job *job)
{
    return job->is_timed ? stopwatch_start() : (struct stopwatch){0};
}
static struct spent lap(const struct job *job, struct stopwatch *stopwatch)
{
    return job->is_timed ? stopwatch_lap(stopwatch) : (struct spent){0};
}

static int run_program(struct job *job, enum record record, struct run *run, bool *again, struct status *st)
{
    struct metrics metrics;
    struct timing *timing = &run->timing;
    struct stopwatch stopwatch = start(job);
    double more_s, comm_s = NAN;
    int code = timing_run(timing, record, st);
    if (code == 0 && job->point->run.check)
        code = trace_check(&timing->trace, timing->program, st);
    if (code == 0)
        code = settle(job, &timing->trace, again, &more_s, st);
    /* Among 80 steps of Llama 70B on 512 chips, the time with the first few layers was at most 0.32 % off; in one of 9 layers
     * 0.8 %. */
    double limit_s = job->options.limit_s * (*again ? 1.02 : 1);
    bool rough = code == 0 && limit_s > 0 && timing->trace.total_s + more_s > limit_s;
    *again = *again && !rough;
    if (code == 0 && !rough && !*again && run->counts.has_computes)
        code = communication(job, timing, again, &comm_s, st);
    run->simulating = lap(job, &stopwatch);
    if (code < 0 || *again)
        return code;
    struct metrics_run measured = {timing->program, &run->counts, &timing->trace,
                                   more_s,          comm_s,       timing->fold.orbit};
    code = metrics_compute(&metrics, &measured, st);
    if (code == 0) {
        measure(&run->result, &metrics);
        run->result.rough = rough;
        code = rough ? 0 : job->workload->describe(job, &timing->trace, &run->result, st);
    }
    if (code == 0)
        code = reroutes_print(job, run->result.rerouted, st);
    run->result.engines_off_frac = timing->trace.off_frac;
    if (code == 0 && timing->limits.tolerance_frac > 0) {
        run->result.time_low_s = timing->trace.low_s + more_s;
        run->result.time_high_s = timing->trace.high_s + more_s;
    }
    run->measuring = lap(job, &stopwatch);
    return code;
}

/* The program as the engine runs it, its counts, and the results known before the run. */
static int prepare(const struct job *job, const struct engine *engine, struct run *run, struct status *st)
{
    struct timing *timing = &run->timing;
    identify(&run->result, job->point, job);
    RESULT_PUT(run->result.engine, engine->name);
    int code = timing_init(timing, &job->program, engine, job->point->run.fold, st);
    return code < 0 ? code : counts_find(&run->counts, timing->program, timing->fold.orbit, st);
}

static int run_once(struct job *job, enum record record, const struct engine_limits *limits, struct run *run,
                    bool *again, struct status *st)
{
    const struct engine *engine = engine_list()[job->point->run.engine];
    struct stopwatch stopwatch = start(job);
    int code = prepare(job, engine, run, st);
    run->timing.limits = *limits;
    run->folding = lap(job, &stopwatch);
    if (run->timing.fold.orbit > 1)
        fold_print(&run->timing.fold, run->result.fold);
    if (program_is_endless(&job->program))
        text_add(run->result.fold, sizeof run->result.fold, *run->result.fold ? " endless" : "endless");
    if (code == 0 && engine == engine_fastest())
        code = budget_run(job->point, run->timing.program, st);
    return code < 0 ? code : run_program(job, record, run, again, st);
}

int job_run(struct job *job, enum record record, struct run *run, struct status *st)
{
    const struct engine_limits limits = {.tolerance_frac = job->point->run.tolerance_frac,
                                         .time_s = job->point->run.time_limit_s,
                                         .since = stopwatch_start_wall(),
                                         .progress = job->progress,
                                         .watch = job->options.watch,
                                         .context = job};
    if (record == RECORD_NONE)
        record = job->workload->record;
    for (;;) {
        bool again = false;
        int code = run_once(job, job->point->run.check ? RECORD_ALL : record, &limits, run, &again, st);
        if (code < 0 || !again)
            return code;
        run_free(run);
        if ((code = job_build(job, st)) < 0)
            return code;
    }
}

void run_free(struct run *run)
{
    timing_free(&run->timing);
}

/* A result without numbers, with a status that says why a job could not be opened, built or run. */
static void fail(const struct job *job, struct result *result, const struct status *why)
{
    identify(result, job->point, job);
    snprintf(result->status, sizeof result->status, "%s%s", status_is_refusal(why->code) ? "" : RESULT_FAILED,
             why->text);
    result->code = why->code;
}

void job_result_left(const struct point *point, struct catalog *catalog, const struct status *why,
                     struct result *result)
{
    struct status own = {0};
    struct job job = {.point = point, .workload = workload_of(point, &own), .catalog = catalog};
    machine_open(&job.machine, point, catalog, &own); /* for the names; it may fail */
    fail(&job, result, why);
    RESULT_PUT(result->remat,
               point->schedule.remat == REMAT_AUTO ? "" : pass_remat_name((enum remat)point->schedule.remat));
    machine_close(&job.machine);
}

void job_result_failed(const struct point *point, struct catalog *catalog, struct result *result,
                       const struct status *why)
{
    struct status own = {0};
    struct job job = {0};
    job_open(&job, point, catalog, &own); /* for the names; it may fail */
    fail(&job, result, why);
    job_close(&job);
}

int job_result(const struct point *point, struct catalog *catalog, struct result *result, struct status *st)
{
    return job_result_with(point, &(struct job_options){0}, catalog, result, st);
}

int job_result_with(const struct point *point, const struct job_options *options, struct catalog *catalog,
                    struct result *result, struct status *st)
{
    struct job job = {.options = *options};
    struct run run = {0};
    job.options.few_layers = true;
    int code = job_open(&job, point, catalog, st);
    if (code == 0)
        code = job_build(&job, st);
    if (code == 0)
        code = job_run(&job, RECORD_NONE, &run, st);
    if (code == 0)
        *result = run.result;
    else
        fail(&job, result, st);
    run_free(&run);
    job_close(&job);
    return code;
}
