/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The workload "module", and its results other than times: MFU, tokens per second, memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "machine/roofline.h"
#include "settings/option.h"
#include "study/time_breakdown.h"
#include "study/validate.h"

/* "tp=0.0123 fsdp=3e-06": exposed seconds by mesh axes, the most first; `before` stands before each. */
static void print_exposed(const struct time_breakdown *spent, const char *before, char *text, size_t room)
{
    for (int i = 0; i < spent->lists; i++)
        text_add(text, room, "%s%s%s=%.4g", i ? " " : "", before, spent->exposed[i].axes,
                 spent->exposed[i].seconds);
}

/* "model=0.54 beyond=0.2 ... exposed:tp=0.0123 rest=0" */
static void print_spent(const struct time_breakdown *spent, char *text, size_t room)
{
    snprintf(text, room, "model=%.6g beyond=%.6g below_peak=%.6g hbm=%.6g others=%.6g contention=%.6g ",
             spent->model_s, spent->beyond_s, spent->below_peak_s, spent->hbm_s, spent->others_s,
             spent->contention_s);
    print_exposed(spent, "exposed:", text, room);
    text_add(text, room, "%srest=%.6g", spent->lists ? " " : "", spent->rest_s);
}

/* "prefetch=0 head=on": the values that decide what a step counts and recomputes, of options that are not given. */
static void print_defaults(const struct point *point, bool factored, char *text, size_t room)
{
    static const char *const deciding[] = {"prefetch", "head", "elementwise", "remat"};
    *text = '\0';
    for (size_t i = 0; i < sizeof deciding / sizeof *deciding; i++)
        if (!option_is_given(point, deciding[i]))
            text_add(text, room, "%s%s=%s", *text ? " " : "", deciding[i],
                     option_by_name(deciding[i])->fallback);
    if (factored && !option_is_given(point, "optimizer"))
        text_add(text, room, "%soptimizer=adafactor", *text ? " " : "");
}

/* "with --remat full it takes 8 GB": the first kind of recomputation from `first` on that fits with this much state.
 */
static bool print_fitting(const struct model *model, enum remat first, double state_bytes, const char *option,
                          char *text, size_t room)
{
    double spared = model->size.memory_bytes[first][MEMORY_STATE] - state_bytes;
    for (enum remat remat = first; remat < REMATS; remat++) {
        double bytes = model_memory_bytes(&model->size, remat) - spared;
        bool more = remat > model->remat;
        if (memory_fit(bytes, model->options.hbm_bytes) == MEMORY_OVER)
            continue;
        snprintf(text, room, "with%s%s%s it takes %.4g GB", more ? " --remat " : "",
                 more ? pass_remat_name(remat) : "", option, bytes * 1e-9);
        return true;
    }
    return false;
}

/* Suggestions that would make the step fit, in words. */
static void print_cure(const struct model *model, bool any_remat, char *text, size_t room)
{
    enum remat first = any_remat ? REMAT_NONE : model->remat;
    const struct model_size *size = &model->size;
    const double *kind = size->memory_bytes[model->remat];
    double state = kind[MEMORY_STATE], held = kind[MEMORY_PARAMETERS] + kind[MEMORY_GRADIENTS] + state;
    char factored[RESULT_LINE / 4] = "";
    if (print_fitting(model, model->remat, state, "", text, room) ||
        print_fitting(model, first, size->sharded_state_bytes, " --shard-optimizer dp", text, room))
        return;
    if (held > model->options.hbm_bytes) {
        if (print_fitting(model, first, size->factored_state_bytes, " --optimizer adafactor", factored,
                          sizeof factored))
            text_add(factored, sizeof factored, "; or ");
        snprintf(text, room,
                 "parameters, gradients and state alone take %.4g GB: %sshare them out over more chips of "
                 "fsdp or tp",
                 held * 1e-9, factored);
    } else {
        snprintf(text, room, "take fewer tokens at a time: --tokens-per-chip, or more --micro-batches%s",
                 model->remat == REMAT_FULL ? "" : ", with --remat full");
    }
}

static int measure_model(const struct job *job, const struct module_job *m, struct result *result,
                         struct status *st)
{
    const struct model *model = &m->step.model;
    const struct model_size *size = &model->size;
    double peak, hbm = model->options.hbm_bytes;
    int dtype = dtype_by_name(job->point->work.dtype, st);
    int code = dtype < 0 ? dtype : roofline_peak(&m->options.roofline, (enum dtype_id)dtype, &peak, st);
    if (code < 0)
        return code;
    RESULT_PUT(result->dtype, dtype_info((enum dtype_id)dtype)->name);
    RESULT_PUT(result->remat, pass_remat_name(model->remat));
    print_defaults(job->point, size->factored, result->defaults, sizeof result->defaults);
    result->memory_bytes = model_memory_bytes(size, model->remat);
    result->tokens_per_s = size->tokens / result->time_s;
    result->usd_per_Mtoken = m->chip_hour_usd * job->machine.slice.chips / 3600. / result->tokens_per_s * 1e6;
    double could = job->machine.slice.chips * m->placement.cores * peak * result->time_s;
    result->mfu_frac = size->flops / could;
    result->mfu_half_frac = size->half_flops / could;
    result->mfu_full_frac = size->full_flops / could;
    if (job->machine.chip->profile == CHIP_MEASURED)
        code =
            validate_typical_error(job->machine.chip->name, model->experts ? "mixtures of experts" : "dense",
                                   &result->typical_error_frac, result->typical_error, st);
    enum memory_fit fit = memory_fit(result->memory_bytes, hbm);
    snprintf(result->memory_fit, sizeof result->memory_fit, "%s", memory_fit_name(fit));
    if (fit == MEMORY_OVER) {
        char cure[RESULT_LINE / 2];
        print_cure(model, job->point->schedule.remat == REMAT_AUTO, cure, sizeof cure);
        snprintf(result->warning, sizeof result->warning,
                 "the step takes %.4g GB of each %s's memory, of which a program may have %.4g GB; %s",
                 result->memory_bytes * 1e-9, m->placement.cores > 1 ? "device" : "chip", hbm * 1e-9, cure);
    }
    return code;
}

/* Compares the memory of compiled text with the chip's; text that was compiled for another chip may not fit. */
static void measure_text(const struct job *job, const struct memory_analysis *memory, struct result *result)
{
    double limit_bytes = chip_device_hbm_bytes(job->machine.chip);
    result->memory_bytes = memory->peak_bytes;
    if (limit_bytes > 0)
        snprintf(result->memory_fit, sizeof result->memory_fit, "%s",
                 memory_fit_name(memory_fit(memory->peak_bytes, limit_bytes)));
    if (limit_bytes > 0 && memory->peak_bytes > limit_bytes)
        snprintf(
            result->warning, sizeof result->warning,
            "the program takes %.4g GB of a device's HBM, of which %s lets it have %.4g GB; --memory says "
            "what is largest",
            memory->peak_bytes * 1e-9, job->machine.chip->name, limit_bytes * 1e-9);
}

/* Exposed communication by mesh axes; for a model also MFU, tokens per second, and the memory of a chip.
 *
 *   MFU = FLOPs of the model, forward and backward / (devices x peak x time)
 *
 * as PaLM (Chowdhery et al. 2022) defines it: recomputation in the backward pass does not count. */
static int module_outputs(const struct job *job, const struct trace *trace, struct result *result,
                          struct status *st)
{
    const struct module_job *m = module_job_of(job);
    struct time_breakdown spent;
    int code = time_breakdown_find(m, trace, result->time_s, &spent, st);
    if (code < 0)
        return code;
    print_exposed(&spent, "", result->exposed_axes, sizeof result->exposed_axes);
    if (m->text && m->text->memory.tiled)
        measure_text(job, &m->text->memory, result);
    if (!module_is_step(m))
        return 0;
    print_spent(&spent, result->spent, sizeof result->spent);
    return measure_model(job, m, result, st);
}

/* Describes the device assignment of HLO text, unless an option gives it. */
static void describe_devices(const struct job *job, const struct module_job *m, char text[static RESULT_LINE])
{
    char chip[64] = "chip d", mesh[AXES_TEXT];
    *text = '\0';
    if (m->of_model || job->point->machine.devices || job->point->machine.mesh || m->placement.devices < 2)
        return;
    if (m->placement.cores > 1)
        snprintf(chip, sizeof chip, "chip d/%d", m->placement.cores);
    if (job->machine.of_text)
        snprintf(text, RESULT_LINE, "as the text says: mesh %s, devices in %s order",
                 axes_print(&job->machine.mesh.axes, mesh), device_order_names[job->machine.mesh.order]);
    else if (m->assumed)
        snprintf(text, RESULT_LINE,
                 "the text does not say where they are; assumed: device d is on %s of the slice, row by row. "
                 "A wrong "
                 "guess can cost a factor of 3: put devices.csv beside the text, or add --devices or --mesh",
                 chip);
    else
        snprintf(text, RESULT_LINE, "as %.*s says", RESULT_LINE / 2, m->devices);
}

/* The kind of rings, unless the text or a search chooses it for each collective. */
static const char *schedule_name(const struct module_job *m)
{
    struct collective_config config;
    bool chosen = m->options.algorithm == ALGORITHM_BEST || m->options.algorithm == ALGORITHM_XLA;
    for (int32_t i = 0; i < m->module.instructions && !chosen && m->options.algorithm != ALGORITHM_SCHEDULE;
         i++)
        chosen = opcode_communicates(module_at(&m->module, i)->opcode) &&
                 collective_config_of(&m->module, i, &config) && config.rings != CONFIG_OPEN;
    return chosen ? algorithm_name(m->options.algorithm) : ring_kind_name(m->options.kind);
}

static int module_describe(const struct job *job, const struct trace *trace, struct result *result,
                           struct status *st)
{
    struct module_job *m = job->state;
    struct lower_options overlapped = m->options;
    int64_t more_steps;
    module_job_binds(m, result->product_bound);
    describe_devices(job, m, result->devices);
    module_job_rests_on(m, result->compute_from, sizeof result->compute_from);
    RESULT_PUT(result->op, m->path);
    RESULT_PUT(result->ring, schedule_name(m));
    RESULT_PUT(result->reference_option, m->of_model ? "strategy" : "ring");
    RESULT_PUT(result->reference, m->of_model ? pass_way_name(OVERLAP_NAIVE) : ring_kind_name(RING_UNI));
    if (m->of_model)
        RESULT_PUT(result->strategy, m->step.strategy);
    int code = lower_more_steps(&m->lower, &job->program, &more_steps, st);
    result->steps += code == 0 ? more_steps : 0;
    result->left_out_frac = m->lower.off_frac > 0 ? m->lower.off_frac : NAN;
    overlapped.overlapped = true; /* text order with everything synchronous is one bound, this is the other */
    if (code == 0 && !m->module.scheduled)
        code = module_job_time(m, &overlapped, &result->overlapped_s, st);
    return code < 0 ? code : module_outputs(job, trace, result, st);
}

const char *module_job_variants(const struct point *point, const char **values)
{
    bool of_text = workload_kind(point->work.op) == ON_TEXT;
    *values = of_text ? "uni,bidi,bidi-half" : "naive,uni,bidi,bidi-half";
    return of_text ? "ring" : "strategy";
}

const struct workload workload_module = {
    WORKLOAD(module),          .matches = module_job_matches, .open = module_job_open,
    .build = module_job_build, .settle = module_job_settle,   .describe = module_describe,
    .record = RECORD_FEW,      .close = module_job_close,     .variants = module_job_variants};
