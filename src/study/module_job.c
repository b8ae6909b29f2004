/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A module as a workload: reads it, lays it out on the slice, and lowers it. */
#include "study/module_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hlo/communication.h"
#include "study/module_options.h"

bool module_job_matches(const struct point *point)
{
    unsigned op = workload_kind(point->work.op);
    return op == ON_TEXT || (op == ON_MODEL && !point->work.has_parts);
}

/* The file with the device assignment: --devices, or devices.csv beside HLO text without a mesh. NULL: none.
 * */
static const char *devices_file(struct module_job *m, const struct point *point, const struct mesh *mesh)
{
    const char *slash = strrchr(m->path, '/');
    int folder = slash ? (int)(slash + 1 - m->path) : 0;
    if (point->machine.devices || mesh || m->of_model || strcmp(point->work.op, "-") == 0)
        return point->machine.devices;
    snprintf(m->devices, sizeof m->devices, "%.*sdevices.csv", folder, m->path);
    return access(m->devices, R_OK) == 0 ? m->devices : NULL;
}

static int place(struct module_job *m, const struct job *job, const struct mesh *mesh, struct status *st)
{
    const struct point *point = job->point;
    const struct slice *slice = &job->machine.slice;
    const struct chip *chip = job->machine.chip;
    const struct module *module = m->of_model ? &m->step.base : &m->module;
    struct device_list list = {.devices = module->partitions * module->replicas, .most = chip->tensorcores};
    if (point->machine.devices && point->machine.mesh)
        return status_fail(st, STATUS_INPUT,
                           "--devices and --mesh both say where devices are; leave one of them out");
    const char *file = devices_file(m, point, mesh);
    int code = file ? devices_read(file, slice, &list, st) : 0;
    /* Without a device assignment: as many devices on each chip as fill the slice, if the chip can run in both modes. */
    if (!file && (list.each = placement_cores(slice, list.devices, chip->cores)) <= 1)
        list.each = placement_cores(slice, list.devices, chip->tensorcores);
    if (code == 0)
        code = placement_init(&m->placement, slice, list.devices, list.each, mesh, list.chip_of, st);
    m->assumed = !file && !mesh && list.devices > 1;
    m->chip_devices = m->placement.cores;
    if (!m->of_model && !mesh && chip->cores > m->placement.cores) /* some of each chip's devices are idle */
        m->chip_devices = chip->cores;
    free(list.chip_of);
    return code;
}

static int read_options(struct module_job *m, const struct job *job, struct status *st)
{
    const struct point *point = job->point;
    int code = module_options(point, job->machine.chip, &m->options, st);
    m->options.endless =
        job->options.few_layers && point->run.fold == FOLD_ON && engine_list()[point->run.engine]->folds;
    m->options.least = job->options.least;
    m->options.least_table = job->options.least_table ? job->options.least_table : &m->own_table;
    if (m->of_model)
        m->options.queue = module_options_queue(point, job->machine.chip);
    if (code == 0 && point->work.op_cost) {
        code = op_costs_read(point->work.op_cost, &m->op_cost_table, &m->op_cost, &m->options.op_costs, st);
        m->options.op_cost = m->op_cost;
    }
    return code;
}

/* Sets the layer options from the module's layers. */
static void set_layers(struct module_job *m, const struct job *job)
{
    m->options.layers = m->step.model.layers_built;
    m->options.more_layers = m->step.model.layers - m->step.model.layers_built;
    m->options.layers_apart = m->step.model.layers_apart;
    m->options.layer_reach = job->point->schedule.prefetch;
    if (m->step.model.kept_on_host && m->options.layer_reach < 1)
        m->options.layer_reach = 1; /* what comes back from the host */
}

/* Opens a model's step with at most as many layers as its options say. */
static int open_step(struct module_job *m, const struct job *job, struct status *st)
{
    int code = model_step_open(&m->step, job->point, &m->model, &job->machine.mesh, st);
    return code < 0 ? code : model_step_write(&m->step, NULL, &m->module, st);
}

/* Of an hour of a chip in "v5e=1.2,v5p=4.2"; NaN where nothing is asked for. */
static int read_price(const char *text, const char *chip, double *usd, struct status *st)
{
    *usd = NAN;
    for (const char *at = text; at && *at; at += strcspn(at, ",") + (strchr(at, ',') != NULL)) {
        size_t key = strcspn(at, "=,");
        char *end = NULL;
        double value = at[key] == '=' ? strtod(at + key + 1, &end) : 0;
        if (!(value > 0) || !isfinite(value) || (*end && *end != ','))
            return status_fail(st, STATUS_INPUT,
                               "--price-per-chip-hour '%s': write CHIP=DOLLARS, such as v5e=1.2", text);
        if (strlen(chip) == key && strncmp(at, chip, key) == 0)
            *usd = value;
    }
    if (text && isnan(*usd))
        return status_fail(st, STATUS_INPUT, "--price-per-chip-hour '%s' has no price of %s; add %s=DOLLARS",
                           text, chip, chip);
    return 0;
}

/* The layers that a step is first simulated with. Between the first and the last there have to be as many as can be
 * compared. Where a physical axis is split, chips share links unevenly, and with gathers ahead layers rarely repeat one another:
 * so many are then built at once that several stand for those that are missing (lower_layers.c). Estimates are made with
 * fewer: of 6,000 estimates of Llama 8B and 70B none was higher by more than 0.07 %, or lower by more than 1.3 %. */
static int first_layers(const struct job *job)
{
    enum { FIRST_LAYERS = 5, SEVERAL_STAND = 10 };
    int ahead = job->point->schedule.prefetch, layers = FIRST_LAYERS + 2 * ahead;
    if (job->options.least)
        return 3 + 3 * ahead;
    return job->machine.mesh.split && ahead && layers < SEVERAL_STAND ? SEVERAL_STAND : layers;
}

/* Its strategy is chosen when it is built. XLA's scheduler has the backward pass wait for its collectives in compiled steps that
 * take 99.8 % (v5e), 102.4 % (v4) and 102.9 % (v5p) of the nominal HBM here and more, and not in those of up to 99.3, 100.4
 * and 98.8 %; of v4, the compiler's own figures are 3 % lower. */
static int read_model(struct module_job *m, const struct job *job, struct status *st)
{
    const struct point *point = job->point;
    m->model = job->options.model;
    m->model.drawn = m->model.draw == 0 ? &job->catalog->drawn : NULL;
    m->model.rows_that_come = !m->model.numbers;
    m->model.hbm_bytes = chip_hbm_limit_bytes(job->machine.chip) / job->machine.mesh.cores;
    m->model.full_bytes = 0.995 * (double)job->machine.chip->hbm_bytes / job->machine.mesh.cores;
    m->model.vmem_bytes = (double)job->machine.chip->vmem_bytes;
    m->model.softmax_row = chip_softmax_row(job->machine.chip);
    m->model.loop_columns =
        job->machine.chip->peak_flops[DTYPE_BF16] / job->machine.mesh.cores / job->machine.chip->link_Bps;
    int most = job->machine.chip->async_permute_chips;
    m->model.gathers_early = job->machine.chip->async_gathers > 0;
    m->model.permutes_wait = most > 0 && job->machine.slice.chips > most;
    if (job->options.few_layers && !point->schedule.unroll) {
        m->model.layers_most = first_layers(job);
        m->model.same_time = true;
    }
    snprintf(m->path, sizeof m->path, "%s", point->work.file);
    int code = option_check(point, ON_MODEL, "a model", st);
    if (code == 0)
        code = read_price(point->machine.price, job->machine.chip->name, &m->chip_hour_usd, st);
    return code < 0 ? code : open_step(m, job, st);
}

/* Opens it again with twice as many layers. */
static int add_layers(struct module_job *m, const struct job *job, struct status *st)
{
    m->unsteady = false;
    m->model.layers_most *= 2;
    model_step_free(&m->step);
    lower_free(&m->lower);
    module_free(&m->module);
    int code = open_step(m, job, st);
    set_layers(m, job);
    return code < 0 ? code : lower_init(&m->lower, &m->module, &m->placement, &m->options, st);
}

/* Uses HLO text, which stays in the catalog. */
static int take_text(struct module_job *m, const struct job *job, struct status *st)
{
    const struct listing *text = listing_of(job->catalog, job->point, st);
    if (!text)
        return st->code;
    m->text = text;
    m->module = text->module;
    m->disguised = text->disguised;
    snprintf(m->path, sizeof m->path, "%s", text->path);
    if (module_has_slices(&m->module))
        return status_fail(
            st, STATUS_INPUT,
            "send and recv: the program runs on several slices, which cannot be simulated yet; "
            "--count-only and --collectives count what it sends");
    return lower_check_branches(&m->module, job->point->work.branch, st);
}

int module_job_lay(struct module_job *m, struct job *job, const struct mesh *mesh, struct status *st)
{
    struct slice *slice = &job->machine.slice;
    int code = read_options(m, job, st);
    set_layers(m, job);
    const struct point *point = job->point;
    if (code == 0 && (!m->of_model || option_is_given(point, "compute")))
        code = compute_rule_for(m->of_model ? NULL : &m->module, job->machine.chip,
                                (enum compute_rule)point->machine.compute, st);
    m->options.compute = code > 0 ? (enum compute_rule)code : COMPUTE_ROOFLINE;
    if (m->options.compute == COMPUTE_AUTO)
        slice->hbm_Bps = roofline_loop_hbm_Bps(&m->options.roofline);
    if (code >= 0)
        code = place(m, job, mesh, st);
    m->options.roofline.cores = code == 0 ? m->chip_devices : 1;
    m->options.roofline.step = !module_products_alone(m->of_model ? &m->step.base : &m->module);
    if (!m->options.roofline.step || m->options.compute != COMPUTE_ROOFLINE)
        m->options.contention_frac = 0; /* fitted to models' steps; compiled text has its own estimates */
    return code < 0 ? code
                    : module_options_apply(point, m->of_model ? &m->step.base : &m->module,
                                           &m->options.roofline, st);
}

int module_job_open(struct job *job, struct status *st)
{
    const struct point *point = job->point;
    struct module_job *m = job->state;
    m->of_model = document_is_path(point->work.op);
    int code = m->of_model ? read_model(m, job, st) : take_text(m, job, st);
    if (code == 0)
        code = module_job_lay(m, job, job->machine.meshed ? &job->machine.mesh : NULL, st);
    return code == 0 ? lower_init(&m->lower, &m->module, &m->placement, &m->options, st) : code;
}

void module_job_close(void *state)
{
    struct module_job *m = state;
    lower_free(&m->lower);
    least_table_free(&m->own_table);
    placement_free(&m->placement);
    if (!m->text)
        module_free(&m->module);
    model_step_free(&m->step);
    for (int i = 0; i < m->others; i++)
        module_free(&m->other[i].base);
    free(m->other);
    csv_table_free(&m->op_cost_table);
    free(m->op_cost);
}

/* A base with its fastest ways. */
struct choice {
    struct model_step step;
    struct module module;
};

static int time_module(void *context, const struct module *module, double *time_s, struct status *st)
{
    struct module_job *m = context;
    struct lower lower = {0};
    int code = lower_init(&lower, module, &m->placement, &m->options, st);
    if (code == 0)
        code = lower_time(&lower, time_s, st);
    m->unsteady = m->unsteady || lower.unsteady;
    lower_free(&lower);
    return code;
}

static int choice_write(struct module_job *m, struct choice *choice, struct status *st)
{
    int code =
        model_step_write(&choice->step, &(struct model_step_timer){m, time_module}, &choice->module, st);
    return code == 0 && m->others > 0 && choice->step.asked < OVERLAP_WAYS
               ? time_module(m, &choice->module, &choice->step.least_s, st)
               : code;
}

int module_job_time(const struct module_job *m, const struct lower_options *options, double *time_s,
                    struct status *st)
{
    struct lower lower = {0};
    int code = lower_init(&lower, &m->module, &m->placement, options, st);
    if (code == 0)
        code = lower_time(&lower, time_s, st);
    lower_free(&lower);
    return code;
}

/* The fastest plan without loops: plans are tried in ascending order of their bounds. NULL: none. */
static int find_plan(struct module_job *m, struct other_base **fastest, struct status *st)
{
    int code = 0;
    *fastest = NULL;
    for (int i = 0; i < m->others && code == 0; i++) {
        struct other_base *other = &m->other[i];
        if (other->plan.planned && (!*fastest || other->least_s < (*fastest)->time_s))
            code = time_module(m, &other->base, &other->time_s, st);
        if (other->time_s > 0 && (!*fastest || other->time_s < (*fastest)->time_s * (1 - 1e-9)))
            *fastest = other;
    }
    return code;
}

/* Tries the other bases, but only the fastest of the plans, and keeps one that is faster. */
static int try_others(struct module_job *m, struct choice *best, struct status *st)
{
    struct other_base *fastest = NULL;
    int code = find_plan(m, &fastest, st);
    for (int i = 0; i < m->others && code == 0; i++) {
        struct choice other = {0};
        if (m->other[i].plan.planned && &m->other[i] != fastest)
            continue;
        code = model_step_open_chain(&other.step, best->step.point, best->step.mesh, &m->other[i].base, st);
        if (code == 0)
            code = choice_write(m, &other, st);
        m->other[i].time_s = other.step.least_s;
        if (code == 0 && other.step.least_s < best->step.least_s * (1 - 1e-9)) {
            struct choice slower = *best;
            *best = other;
            other = slower;
            m->taken = &m->other[i];
        }
        module_free(&other.module);
        model_step_free(&other.step);
    }
    return code;
}

int module_job_choose(struct module_job *m, struct status *st)
{
    if (!m->of_model || m->step.strategy[0])
        return 0;
    struct choice best = {.step = m->step};
    int code = choice_write(m, &best, st);
    m->own_s = best.step.least_s;
    if (code == 0)
        code = try_others(m, &best, st);
    lower_free(&m->lower);
    module_free(&m->module);
    m->step = best.step;
    m->module = best.module;
    return code < 0 ? code : lower_init(&m->lower, &m->module, &m->placement, &m->options, st);
}

/* The program is lent to the job, which frees it. */
int module_job_build(struct job *job, struct status *st)
{
    struct module_job *m = job->state;
    int code;
    do {
        code = m->unsteady ? add_layers(m, job, st) : 0;
        if (code == 0)
            code = module_job_choose(m, st);
    } while (code == 0 && m->unsteady);
    if (code < 0)
        return code;
    m->lower.program = job->program;
    code = lower_build(&m->lower, st);
    job->program = m->lower.program;
    m->lower.program = (struct program){0};
    return code;
}

int module_job_settle(struct job *job, const struct trace *trace, bool *again, double *more_s,
                      struct status *st)
{
    struct module_job *m = job->state;
    int code = lower_settle(&m->lower, trace, again, more_s, st);
    m->unsteady = m->unsteady || m->lower.unsteady;
    *again = *again || m->unsteady;
    return code;
}

const struct module_job *module_job_of(const struct job *job)
{
    return job->workload == &workload_module ? job->state : NULL;
}

char *module_job_binds(const struct module_job *m, char text[static RESULT_WORDS])
{
    double bound_s[BOUND_KINDS] = {0}, all_s = 0;
    for (int32_t i = 0; i < m->lower.items; i++) {
        const struct lowered *item = &m->lower.item[i];
        if (!(item->seconds > 0) || !item->product)
            continue;
        bound_s[item->bound] += item->seconds * item->times;
        all_s += item->seconds * item->times;
    }
    *text = '\0';
    for (;;) {
        int most = 0;
        for (int b = 1; b < BOUND_KINDS; b++)
            most = bound_s[b] > bound_s[most] ? b : most;
        if (!(bound_s[most] > 0))
            return text;
        const char *name = bound_kind_name((enum bound_kind)most);
        double percent = 100 * bound_s[most] / all_s;
        text_add(text, RESULT_WORDS, percent < 99.95 ? "%s%s %.3g%%" : "%s%s", *text ? ", " : "", name,
                 percent);
        bound_s[most] = 0;
    }
}

void module_job_rests_on(const struct module_job *m, char *text, size_t room)
{
    double basis_s[BASES] = {0}, all_s = 0, nothing = 0;
    *text = '\0';
    if (m->options.compute == COMPUTE_ROOFLINE)
        return;
    for (const struct lowered *item = m->lower.item; item < m->lower.item + m->lower.items; item++) {
        basis_s[item->basis] += item->seconds * item->times;
        all_s += item->seconds * item->times;
        bool works = item->end_op < 0 && lower_collective_in(&m->module, item->instruction) < 0;
        nothing += works ? item->times : 0;
    }
    for (int b = BASIS_NOTHING + 1; b < BASES; b++)
        if (basis_s[b] > 0)
            text_add(text, room, "%s%s %.3g%%", *text ? ", " : "", basis_name((enum basis)b),
                     100 * basis_s[b] / all_s);
    if (nothing > 0)
        text_add(text, room, "%s%s for %.0f ops", *text ? ", " : "", basis_name(BASIS_NOTHING), nothing);
}

int module_job_read(const struct point *point, struct catalog *catalog, struct module *module,
                    char path[HLO_PATH], int *disguised, struct status *st)
{
    *module = (struct module){0};
    *disguised = 0;
    if (workload_kind(point->work.op) == ON_TEXT)
        return listing_read(point, module, path, disguised, NULL, st);
    struct job job = {0};
    int code = job_open(&job, point, catalog, st);
    struct module_job *m = job.state;
    if (code == 0)
        code = module_job_choose(m, st);
    if (code == 0) {
        snprintf(path, HLO_PATH, "%s", m->path);
        lower_free(&m->lower);
        *module = m->module;
        m->module = (struct module){0};
    }
    job_close(&job);
    return code;
}
