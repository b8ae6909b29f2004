/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharded matmuls as a workload: the notation becomes a module, in which one strategy, or the best, makes loops. */
#include "study/matmul_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "study/module_options.h"

static bool matmul_matches(const struct point *point)
{
    return expr_is(point->work.op);
}

/* The axes that collectives of the step are over, in mesh order: "x,y". */
static int print_axes(const struct module *base, const struct mesh *mesh, char text[static RESULT_LINE],
                      struct status *st)
{
    struct axis_list over;
    char axes[TALLY_AXES];
    unsigned used = 0;
    for (int32_t at = 0; at < base->instructions; at++) {
        if (module_number(base, at, ATTR_REPLICA_GROUPS, -1) < 0)
            continue;
        if (mesh_parse_axes(mesh, tally_axes(base, at, axes), &over, st) < 0)
            return st->code;
        used |= axis_list_set(&over);
    }
    *text = '\0';
    for (int a = 0; a < mesh->axes.count; a++)
        if (used & 1u << a)
            text_add(text, RESULT_LINE, "%s%s", *text ? "," : "", mesh->axes.axis[a].name);
    return 0;
}

/* Examines the step, and refuses schedule options that could not change anything. */
static int check_schedule(struct matmul_job *m, const struct point *point, struct status *st)
{
    const struct module *base = &m->m.step.base;
    bool reduces = false, scatters = false, communicates = false;
    for (int32_t at = 0; at < base->instructions; at++) {
        reduces = reduces || model_step_ends_in(base, at, HLO_ALL_REDUCE);
        scatters = scatters || model_step_ends_in(base, at, HLO_REDUCE_SCATTER);
        communicates = communicates || opcode_info(module_at(base, at)->opcode)->class == CLASS_COLLECTIVE;
    }
    if (option_is_given(point, "all-reduce") && !reduces)
        return status_fail(st, STATUS_INPUT, "--all-reduce does not apply: no product ends in an all-reduce");
    if (option_is_given(point, "loop") && !reduces && !scatters)
        return status_fail(st, STATUS_INPUT, "--loop does not apply: no product ends in a reduce-scatter");
    if (option_is_given(point, "gather") && m->chain.choices == 0)
        return status_fail(
            st, STATUS_INPUT,
            "--gather does not apply: nothing could be gathered after the product as well as before");
    if (option_is_given(point, "ring") && !communicates)
        return status_fail(st, STATUS_INPUT, "--ring does not apply: nothing is communicated");
    return 0;
}

/* Checks that the chip has a rate for every product, and that a given rate or precision is used by one of
 * them. */
static int check_rates(struct matmul_job *m, const struct point *point, struct status *st)
{
    const struct roofline *roofline = &m->m.options.roofline;
    const struct module *base = &m->m.step.base;
    bool applies = !point->machine.peak;
    double unused;
    enum dtype_id first = DTYPE_COUNT;
    for (int32_t at = 0; at < base->instructions && st->code == 0; at++) {
        if (module_at(base, at)->opcode != HLO_DOT)
            continue;
        enum dtype_id rate = module_cost(base, at).dtype;
        first = first == DTYPE_COUNT ? rate : first;
        applies = applies || !isnan(roofline->peak_flops[rate]);
        roofline_peak(roofline, rate, &unused, st);
    }
    if (!applies)
        return status_fail(st, STATUS_INPUT, "--peak '%s' does not apply: the matmul is of %s",
                           point->machine.peak, dtype_info(first)->name);
    m->takes_passes = module_takes_passes(base, roofline);
    return st->code < 0 ? st->code : module_options_apply(point, base, roofline, st);
}

static int read_expr(struct matmul_job *m, const struct job *job, struct status *st)
{
    const struct point *point = job->point;
    const struct axes *axes = &job->machine.mesh.axes;
    int dtype = dtype_by_name(point->work.dtype, st);
    if (dtype < 0 ||
        expr_parse(point->work.op, point->work.dims, (enum dtype_id)dtype, axes, &m->expr, st) < 0)
        return st->code;
    if (option_is_given(point, "dtype") && !m->expr.operand[0].name[0])
        return status_fail(st, STATUS_INPUT, "--dtype does not apply to arrays that name their type, %s[...]",
                           dtype_info(m->expr.operand[0].dtype)->name);
    m->own.after = point->schedule.gather == GATHER_AFTER ? ~0u : 0;
    if (chain_build(&m->expr, axes, &m->own, &m->chain, st) < 0)
        return m->chain.ambiguous >= 0 ? matmul_choices(&m->chain, m->expr.operands - 1, job, st) : st->code;
    m->own.after &= m->chain.choices;
    expr_print(&m->expr, axes, m->op);
    return 0;
}

/* Adds an alternative base, and its lower bound. */
static int add_other(struct matmul_job *m, const struct mesh *mesh, const struct chain_plan *plan, bool keep,
                     struct status *st)
{
    struct chain chain = {0};
    struct bounds bounds = {0};
    int code = chain_build(&m->expr, &mesh->axes, plan, &chain, st);
    if (code == 0)
        code = matmul_bound(&chain.model.module, mesh, &m->m.options.roofline, &bounds, st);
    m->bound_s = fmin(m->bound_s, bounds.overlapped_s);
    if (code == 0 && keep) {
        m->m.other[m->m.others++] =
            (struct other_base){chain.model.module, *plan, plan->planned ? bounds.naive_s : 0, 0};
        chain.model.module = (struct module){0};
    }
    model_free(&chain.model);
    return code;
}

/* Adds all subsets of the choices; most have one or two dims. */
static int add_gathers(struct matmul_job *m, const struct mesh *mesh, struct status *st)
{
    bool keep = m->m.step.asked == OVERLAP_WAYS && m->m.step.point->schedule.gather == GATHER_AUTO;
    int code = 0;
    for (unsigned after = m->chain.choices; code == 0; after = (after - 1) & m->chain.choices) {
        if (after != m->own.after)
            code = add_other(m, mesh, &(struct chain_plan){.after = after}, keep, st);
        if (after == 0)
            break;
    }
    return code;
}

static int add_plans(struct matmul_job *m, const struct mesh *mesh, int plans, struct status *st)
{
    const struct chain *chain = &m->chain;
    const struct tensor wanted = tensor_of(&m->expr.output);
    struct chain_plan plan = {.planned = true};
    int code = 0;
    for (int i = 0; i < plans && code == 0; i++)
        if (product_plan_at(&chain->left, &chain->right, &wanted, &mesh->axes, i, &plan.product))
            code = add_other(m, mesh, &plan, true, st);
    return code;
}

static int by_least(const void *a, const void *b)
{
    double x = ((const struct other_base *)a)->least_s, y = ((const struct other_base *)b)->least_s;
    return (x > y) - (x < y);
}

/* A loop strategy that is named must be visible: it uses the textbook's plan, as --gather does. */
static bool is_planned(const struct matmul_job *m)
{
    const struct point *point = m->m.step.point;
    bool open =
        m->m.step.asked == OVERLAP_WAYS || m->m.step.asked == OVERLAP_NAIVE || option_is_given(point, "plan");
    return open && m->expr.has_output && point->schedule.plan == PLAN_AUTO &&
           point->schedule.gather == GATHER_AUTO;
}

static int open_others(struct matmul_job *m, const struct mesh *mesh, struct status *st)
{
    enum { SUBSETS = 1 << TENSOR_DIMS };
    const struct tensor wanted = tensor_of(&m->expr.output);
    int plans = is_planned(m) ? product_plans(&m->chain.left, &m->chain.right, &wanted, &mesh->axes) : 0;
    struct bounds bounds = {0};
    int code = matmul_bound(&m->m.step.base, mesh, &m->m.options.roofline, &bounds, st);
    m->bound_s = bounds.overlapped_s;
    m->m.other = calloc((size_t)(SUBSETS + plans), sizeof *m->m.other);
    if (!m->m.other)
        return status_nomem(st);
    if (code == 0)
        code = add_gathers(m, mesh, st);
    if (code == 0)
        code = add_plans(m, mesh, plans, st);
    qsort(m->m.other, (size_t)m->m.others, sizeof *m->m.other, by_least);
    return code;
}

static const struct chain_plan *taken(const struct matmul_job *m)
{
    return m->m.taken ? &m->m.taken->plan : &m->own;
}

static const char *gather_name(const struct matmul_job *m)
{
    unsigned after = taken(m)->after;
    if (m->chain.choices == 0 || taken(m)->planned)
        return "";
    return after == 0 ? "before" : after == m->chain.choices ? "after" : "mixed";
}

/* The time of the textbook's plans instead. */
static void print_textbook(const struct matmul_job *m, char text[static RESULT_LINE])
{
    char time[UNITS_TEXT];
    double time_s = m->m.own_s;
    for (int o = 0; o < m->m.others; o++)
        if (!m->m.other[o].plan.planned)
            time_s = fmin(time_s, m->m.other[o].time_s);
    text_add(text, RESULT_LINE, "; --plan textbook %s", units_print_time(time_s, time));
}

static void print_gathers(const struct matmul_job *m, char text[static RESULT_LINE])
{
    static const char *const name[] = {"before", "after"};
    const unsigned after[] = {0, m->chain.choices};
    char time[UNITS_TEXT];
    for (int i = 0; i < 2 && m->chain.choices; i++) {
        double time_s = after[i] == m->own.after ? m->m.own_s : 0;
        for (int o = 0; o < m->m.others; o++)
            if (!m->m.other[o].plan.planned && m->m.other[o].plan.after == after[i])
                time_s = m->m.other[o].time_s;
        if (after[i] != taken(m)->after)
            text_add(text, RESULT_LINE, "; --gather %s %s", name[i],
                     time_s > 0 ? units_print_time(time_s, time) : "is possible, too");
    }
}

static int matmul_open(struct job *job, struct status *st)
{
    const struct point *point = job->point;
    const struct mesh *mesh = &job->machine.mesh;
    struct matmul_job *m = job->state;
    m->m.of_model = true;
    if (read_expr(m, job, st) < 0 ||
        model_step_open_chain(&m->m.step, point, mesh, &m->chain.model.module, st) < 0 ||
        check_schedule(m, point, st) < 0 || module_job_lay(&m->m, job, mesh, st) < 0 ||
        check_rates(m, point, st) < 0)
        return st->code;
    return open_others(m, mesh, st);
}

static void matmul_close(void *state)
{
    struct matmul_job *m = state;
    model_free(&m->chain.model);
    module_job_close(m);
}

/* Runs the same schedule on a copy with small dims, with numbers. */
static int verify_small(const struct matmul_job *m, const struct job *job, struct status *st)
{
    enum { SMALL = 48, SEED = 3 };
    const struct mesh *mesh = &job->machine.mesh;
    struct expr expr = m->expr;
    struct chain chain = {0};
    struct model_step step = {0};
    struct module module = {0};
    expr_scale(&expr, &mesh->axes, SMALL);
    int code = chain_build(&expr, &mesh->axes, taken(m), &chain, st);
    if (code == 0)
        code = model_step_open_chain(&step, job->point, mesh, &chain.model.module, st);
    if (code == 0)
        code = model_step_write_as(&step, &m->m.step, &module, st);
    if (code == 0)
        code = chain_verify(&chain, &module, SEED, st);
    module_free(&module);
    model_step_free(&step);
    model_free(&chain.model);
    return code;
}

static int matmul_build(struct job *job, struct status *st)
{
    int code = module_job_build(job, st);
    return code == 0 && job->point->run.check ? verify_small(job->state, job, st) : code;
}

/* Prints collectives and products in sequence, and their precision. */
static void print_plan(const struct matmul_job *m, int cores, char text[static RESULT_LINE])
{
    int passes = m->m.options.roofline.passes;
    size_t used = (size_t)snprintf(text, RESULT_LINE, "on each %s: ", cores > 1 ? "device" : "chip");
    chain_explain(&m->m.step.base, text + used, RESULT_LINE - used);
    if (m->takes_passes)
        text_add(text, RESULT_LINE, "; f32 as %d bf16 pass%s", passes, passes > 1 ? "es" : "");
}

/* Does the module have collectives other than permutes of loops? */
static bool has_collectives(const struct module *module)
{
    bool has = false;
    for (int32_t at = 0; at < module->instructions; at++) {
        enum opcode whole = module_whole_at(module, at);
        has = has ||
              (module_number(module, at, ATTR_REPLICA_GROUPS, -1) >= 0 && whole != HLO_COLLECTIVE_PERMUTE);
    }
    return has;
}

static int matmul_describe(const struct job *job, const struct trace *trace, struct result *result,
                           struct status *st)
{
    struct matmul_job *m = job->state;
    (void)trace;
    if (print_axes(&m->m.step.base, &job->machine.mesh, result->axes, st) < 0)
        return st->code;
    RESULT_PUT(result->op, m->op);
    RESULT_PUT(result->dtype, dtype_info(m->expr.operand[0].dtype)->name);
    RESULT_PUT(result->strategy, m->m.step.strategy);
    RESULT_PUT(result->gather, gather_name(m));
    RESULT_PUT(result->reference_option, "strategy");
    RESULT_PUT(result->reference, pass_way_name(OVERLAP_NAIVE));
    if (has_collectives(&m->m.module))
        RESULT_PUT(result->ring, ring_kind_name(m->m.options.kind));
    print_plan(m, job->machine.mesh.cores, result->plan);
    if (taken(m)->planned)
        print_textbook(m, result->plan);
    else
        print_gathers(m, result->plan);
    result->bound_s = m->bound_s;
    module_job_binds(&m->m, result->product_bound);
    if (!job->point->machine.mesh)
        return 0;
    return matmul_print_rings(&m->m.module, &job->machine.mesh, result->rings, result->edges, st);
}

const struct workload workload_matmul = {WORKLOAD(matmul),
                                         .matches = matmul_matches,
                                         .ops = ON_MATMUL,
                                         .called = "a matmul",
                                         .open = matmul_open,
                                         .build = matmul_build,
                                         .settle = module_job_settle,
                                         .describe = matmul_describe,
                                         .close = matmul_close,
                                         .variants = module_job_variants};
