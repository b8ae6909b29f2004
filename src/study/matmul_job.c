/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharded matmuls as a workload: the notation becomes a module, in which one strategy, or the best, makes loops. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/tally.h"
#include "settings/option.h"
#include "study/matmul_choices.h"
#include "study/matmul_job.h"
#include "study/matmul_rings.h"
#include "study/workloads.h"

static bool matmul_matches(const struct point *point)
{
    return expr_is(point->work.op);
}

static bool is_given(const struct point *point, const char *option)
{
    return point->given[option_index(option_by_name(option))];
}

/* Does the step have a collective (HLO_OPCODES: any) that comes after a product of which no operand is gathered? */
static bool ends_in(const struct module *base, enum opcode opcode)
{
    for (int32_t at = 0; at < base->instructions; at++) {
        if (module_at(base, at)->opcode != opcode)
            continue;
        int32_t dot = module_operand(base, at, 0);
        bool ends = module_at(base, dot)->opcode == HLO_DOT;
        for (int o = 0; ends && o < 2; o++)
            ends = module_at(base, module_operand(base, dot, o))->opcode != HLO_ALL_GATHER;
        if (ends)
            return true;
    }
    return false;
}

static bool communicates(const struct module *module)
{
    bool does = false;
    for (int32_t at = 0; at < module->instructions; at++)
        does = does || opcode_info(module_at(module, at)->opcode)->class == CLASS_COLLECTIVE;
    return does;
}

/* Options of schedules are refused where there is nothing that they could change. */
static int check_schedule(const struct matmul_job *m, const struct point *point, struct status *st)
{
    const struct module *base = &m->m.step.base;
    bool reduces = ends_in(base, HLO_ALL_REDUCE);
    if (is_given(point, "all-reduce") && !reduces)
        return status_fail(st, STATUS_INPUT, "--all-reduce does not apply: no product ends in an all-reduce");
    if (is_given(point, "loop") && !reduces && !ends_in(base, HLO_REDUCE_SCATTER))
        return status_fail(st, STATUS_INPUT, "--loop does not apply: no product ends in a reduce-scatter");
    if (is_given(point, "gather") && m->chain.choices == 0)
        return status_fail(
            st, STATUS_INPUT,
            "--gather does not apply: nothing could be gathered after the product as well as before");
    if (is_given(point, "ring") && !communicates(base))
        return status_fail(st, STATUS_INPUT, "--ring does not apply: nothing is communicated");
    return 0;
}

/* Are f32 products computed as passes of bf16? */
static bool takes_passes(const struct matmul_job *m)
{
    const struct module *base = &m->m.step.base;
    bool takes = false;
    for (int32_t at = 0; at < base->instructions; at++)
        takes = takes || (module_at(base, at)->opcode == HLO_DOT &&
                          roofline_takes_passes(&m->m.options.roofline, module_cost(base, at).dtype));
    return takes;
}

/* The chip has a rate for every product; a rate or a precision that was given is of one of them. */
static int check_rates(const struct matmul_job *m, const struct point *point, struct status *st)
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
    if (st->code == 0 && is_given(point, "precision") && !takes_passes(m))
        return status_fail(st, STATUS_INPUT,
                           "--precision does not apply: no product takes passes, as f32 does");
    return st->code;
}

/* The axes that anything is communicated over, in mesh order: "x,y". */
static int print_axes(struct matmul_job *m, const struct mesh *mesh, struct status *st)
{
    const struct module *base = &m->m.step.base;
    bool used[AXES_MAX] = {false};
    for (int32_t at = 0; at < base->instructions; at++) {
        struct axis_list over;
        char axes[TALLY_AXES];
        if (module_number(base, at, ATTR_REPLICA_GROUPS, -1) < 0)
            continue;
        if (mesh_parse_axes(mesh, tally_axes(base, at, axes), &over, st) < 0)
            return st->code;
        for (int a = 0; a < over.count; a++)
            used[over.axis[a]] = true;
    }
    size_t n = 0;
    for (int a = 0; a < mesh->axes.count; a++)
        if (used[a])
            n += (size_t)snprintf(m->axes + n, sizeof m->axes - n, "%s%s", n ? "," : "",
                                  mesh->axes.axis[a].name);
    return 0;
}

static int read_expr(struct matmul_job *m, const struct job *job, struct status *st)
{
    const struct point *point = job->point;
    const struct axes *axes = &job->machine.mesh.axes;
    int dtype = dtype_by_name(point->work.dtype, st);
    if (dtype < 0 ||
        expr_parse(point->work.op, point->work.dims, (enum dtype_id)dtype, axes, &m->expr, st) < 0)
        return st->code;
    if (is_given(point, "dtype") && !m->expr.operand[0].name[0])
        return status_fail(st, STATUS_INPUT, "--dtype does not apply to arrays that name their type, %s[...]",
                           dtype_info(m->expr.operand[0].dtype)->name);
    m->after = point->schedule.gather == GATHER_AFTER ? ~0u : 0;
    if (chain_build(&m->expr, axes, m->after, &m->chain, st) < 0)
        return m->chain.ambiguous >= 0 ? matmul_choices(&m->chain, m->expr.operands - 1, job, st) : st->code;
    m->after &= m->chain.choices;
    expr_print(&m->expr, axes, m->op);
    return 0;
}

static int matmul_open(struct job *job, struct status *st)
{
    const struct point *point = job->point;
    const struct mesh *mesh = &job->machine.mesh;
    struct matmul_job *m = calloc(1, sizeof *m);
    if (!m)
        return status_nomem(st);
    job->state = m;
    m->m.of_model = true;
    if (option_check(point, ON_MATMUL, "a matmul", st) < 0 || read_expr(m, job, st) < 0 ||
        model_step_open_chain(&m->m.step, point, mesh, &m->chain.model.module, st) < 0 ||
        check_schedule(m, point, st) < 0 || print_axes(m, mesh, st) < 0 ||
        module_job_lay(&m->m, job, mesh, st) < 0 || check_rates(m, point, st) < 0)
        return st->code;
    return matmul_open_gathers(m, mesh, st);
}

/* All strategies begin with the same base; auto with others, too. */
static int matmul_vary(struct job *job, struct status *st)
{
    struct matmul_job *m = job->state;
    if (m->m.step.asked == OVERLAP_WAYS)
        return 0;
    int way = pass_way_by_name(job->point->schedule.strategy, st);
    if (way < 0 || way == OVERLAP_WAYS)
        return way < 0 ? way : 0;
    m->m.step.asked = (enum overlap_way)way;
    m->m.step.strategy[0] = '\0'; /* it is to be written again */
    lower_free(&m->m.lower);
    return 1;
}

static void matmul_close(struct job *job)
{
    struct matmul_job *m = job->state;
    if (m) {
        model_free(&m->chain.model);
        free(m->other);
    }
    module_job_close(job);
}

/* The same schedule on a copy with small dims, with numbers. */
static int verify_small(const struct matmul_job *m, const struct job *job, struct status *st)
{
    enum { SMALL = 48, SEED = 3 };
    const struct mesh *mesh = &job->machine.mesh;
    struct expr expr = m->expr;
    struct chain chain = {0};
    struct model_step step = {0};
    struct module module = {0};
    expr_scale(&expr, &mesh->axes, SMALL);
    int code = chain_build(&expr, &mesh->axes, matmul_taken(m), &chain, st);
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

/* What is communicated and multiplied, one product after the other, and at what precision. */
static void print_plan(const struct matmul_job *m, char text[static RESULT_LINE])
{
    int passes = m->m.options.roofline.passes;
    chain_explain(&m->m.step.base, text, RESULT_LINE);
    size_t used = strlen(text);
    if (takes_passes(m))
        snprintf(text + used, RESULT_LINE - used, "; f32 as %d bf16 pass%s", passes, passes > 1 ? "es" : "");
}

/* Is a collective written as such, and not as permutes of a loop? */
static bool has_collectives(const struct module *module)
{
    bool has = false;
    for (int32_t at = 0; at < module->instructions; at++) {
        enum opcode whole = opcode_info(module_at(module, at)->opcode)->whole;
        has = has ||
              (module_number(module, at, ATTR_REPLICA_GROUPS, -1) >= 0 && whole != HLO_COLLECTIVE_PERMUTE);
    }
    return has;
}

static int matmul_describe(const struct job *job, struct work *work, struct status *st)
{
    struct matmul_job *m = job->state;
    work->op = m->op;
    work->dtype = dtype_info(m->expr.operand[0].dtype)->name;
    work->ring = has_collectives(&m->m.module) ? ring_kind_name(m->m.options.kind) : "";
    work->strategy = m->m.step.strategy;
    work->axes = m->axes;
    if (!*m->plan) /* all strategies begin with it */
        print_plan(m, m->plan);
    strcpy(work->plan, m->plan);
    matmul_print_gathers(m, work->plan);
    work->gather = matmul_gather_name(m);
    work->bound_s = m->bound_s;
    module_job_binds(&m->m, work->product_bound);
    work->reference_option = "strategy";
    work->reference = pass_way_name(OVERLAP_NAIVE);
    if (!job->point->machine.mesh)
        return 0;
    return matmul_rings_print(&m->m.module, &job->machine.mesh, work->rings, work->edges, st);
}

static const char *matmul_variants(const struct point *point, const char **values)
{
    (void)point;
    *values = "naive,uni,bidi,bidi-half";
    return "strategy";
}

const struct workload workload_matmul = {.name = "matmul",
                                         .matches = matmul_matches,
                                         .open = matmul_open,
                                         .vary = matmul_vary,
                                         .build = matmul_build,
                                         .settle = module_job_settle,
                                         .describe = matmul_describe,
                                         .close = matmul_close,
                                         .variants = matmul_variants};
