/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharded matmuls as a workload: the notation, one strategy, or all of them simulated and the best one taken. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "engine/timing.h"
#include "matmul/matmul.h"
#include "settings/option.h"
#include "workload/matmul_rings.h"
#include "workload/rates.h"
#include "workload/workloads.h"

/* What `auto` chose is part of the name that results show: "auto:bidi". */
enum { STRATEGY_TEXT = 24 };

struct matmul_job {
    struct expr expr;
    struct matmul_plan plan;
    struct matmul_options options;
    enum matmul_strategy asked;
    char op[MATMUL_TEXT], strategy[STRATEGY_TEXT];
    char axes[AXES_TEXT];
};

static bool matmul_matches(const struct point *point)
{
    return expr_is(point->op);
}

/* The rates of the types that the plan's products run at; a rate of another type that was given is a mistake. */
static int read_roofline(struct roofline *roofline, const struct job *job, const struct matmul_plan *plan,
                         struct status *st)
{
    const struct point *point = job->point;
    double unused;
    bool applies = !point->peak;
    int code = rates_read(roofline, point, job->machine.chip, st);
    for (int i = 0; i < plan->products && code == 0; i++)
        applies |= !isnan(roofline->peak_flops[matmul_rate(&plan->product[i])]);
    if (code == 0 && !applies)
        return status_fail(st, STATUS_INPUT, "--peak '%s' does not apply: the matmul is of %s", point->peak,
                           dtype_info(matmul_rate(&plan->product[0]))->name);
    for (int i = 0; i < plan->products && code == 0; i++)
        code = roofline_peak(roofline, matmul_rate(&plan->product[i]), &unused, st);
    return code;
}

/* Does a product have such a move to overlap? */
static bool overlaps(const struct matmul_plan *plan, enum matmul_move_kind kind)
{
    for (int i = 0; i < plan->products; i++) {
        const struct matmul_product *p = &plan->product[i];
        if (p->overlap >= 0 && p->move[p->overlap].kind == kind)
            return true;
    }
    return false;
}

/* Options of schedules are refused where the plan has nothing that they could change. */
static int check_plan(const struct matmul_plan *plan, const struct point *point, struct status *st)
{
    bool reduces = overlaps(plan, MOVE_REDUCE), moves = false;
    for (int i = 0; i < plan->products; i++)
        moves |= plan->product[i].moves > 0;
    if (point->given[option_index(option_by_name("all-reduce"))] && !reduces)
        return status_fail(st, STATUS_INPUT, "--all-reduce does not apply: no product ends in an all-reduce");
    if (point->given[option_index(option_by_name("loop"))] && !reduces && !overlaps(plan, MOVE_SCATTER))
        return status_fail(st, STATUS_INPUT, "--loop does not apply: no product ends in a reduce-scatter");
    if (point->given[option_index(option_by_name("ring"))] && !moves)
        return status_fail(st, STATUS_INPUT, "--ring does not apply: nothing is communicated");
    return 0;
}

static int read_options(struct matmul_job *m, const struct job *job, struct status *st)
{
    const struct point *point = job->point;
    if (check_plan(&m->plan, point, st) < 0)
        return st->code;
    int strategy = matmul_strategy_by_name(point->strategy, st);
    int kind = point->ring != CHOICE_OPEN ? point->ring : ring_kind_by_name(job->machine.chip->ring, st);
    if (st->code < 0)
        return st->code;
    m->asked = (enum matmul_strategy)strategy;
    m->options = (struct matmul_options){.strategy = m->asked,
                                         .kind = (enum ring_kind)kind,
                                         .reduce = (enum matmul_reduce)point->all_reduce,
                                         .chunks = point->chunks,
                                         .loop = (enum matmul_loop)point->loop,
                                         .setup_s = job->machine.chip->setup_s};
    if (point->chunks < 1 || point->chunks > MATMUL_CHUNKS)
        return status_fail(st, STATUS_INPUT, "--chunks %d: write 1 to %d", point->chunks, MATMUL_CHUNKS);
    return read_roofline(&m->options.roofline, job, &m->plan, st);
}

/* The axes that anything is communicated over, in mesh order: "x,y". */
static void print_axes(struct matmul_job *m, const struct axes *axes)
{
    bool used[AXES_MAX] = {false};
    for (int i = 0; i < m->plan.products; i++)
        for (int j = 0; j < m->plan.product[i].moves; j++)
            for (int a = 0; a < m->plan.product[i].move[j].axes.count; a++)
                used[m->plan.product[i].move[j].axes.axis[a]] = true;
    size_t n = 0;
    for (int a = 0; a < axes->count; a++)
        if (used[a])
            n += (size_t)snprintf(m->axes + n, sizeof m->axes - n, "%s%s", n ? "," : "", axes->axis[a].name);
}

/* What a collective of the product's partial sums takes, simulated. */
static int choice_s(enum collective_id op, const struct matmul_product *p, const struct job *job,
                    double *time_s, struct status *st)
{
    const struct mesh *mesh = &job->machine.mesh;
    const struct axis_list *over = &p->left.dim[1].shard;
    int64_t rows = p->left.dim[0].n / axis_list_size(&p->left.dim[0].shard, &mesh->axes);
    int64_t cols = p->right.dim[1].n / axis_list_size(&p->right.dim[1].shard, &mesh->axes);
    struct ring ring[COLLECTIVE_RINGS];
    struct collective_spec spec = {.elements = rows * cols,
                                   .elem_bytes = dtype_info(p->out.dtype)->bytes,
                                   .setup_s = job->machine.chip->setup_s,
                                   .timing_only = true};
    struct program program;
    int kind = ring_kind_by_name(job->machine.chip->ring, st), code = kind < 0 ? kind : 0;
    spec.kind = (enum ring_kind)kind;
    program_init(&program, &job->machine.slice);
    for (; code == 0 && spec.rings < over->count && spec.rings < COLLECTIVE_RINGS; spec.rings++) {
        code = ring_along(&ring[spec.rings], mesh, over->axis[spec.rings], st);
        spec.ring[spec.rings] = &ring[spec.rings];
    }
    if (code == 0)
        code = collective_of(op)->build(&spec, &program, -1, NULL, st);
    if (code == 0)
        code = program_time(&program, time_s, st);
    program_free(&program);
    for (int r = 0; r < spec.rings; r++)
        ring_free(&ring[r]);
    return code;
}

/* "1024@(X,Y)": a dim, sharded over its own axes and then over others. */
static char *print_dim(const struct expr_dim *dim, const struct axis_list *more, const struct axes *axes,
                       char text[static AXES_TEXT])
{
    char list[AXES_TEXT];
    struct axis_list all = dim->shard;
    for (int i = 0; more && i < more->count && all.count < AXES_MAX; i++)
        all.axis[all.count++] = more->axis[i];
    snprintf(text, AXES_TEXT, "%lld%s%.200s", (long long)dim->n, all.count ? "@" : "",
             all.count ? axis_list_print(&all, axes, list) : "");
    return text;
}

/* Where the output is ambiguous: the choices, and what each would cost. */
static int add_choices(const struct matmul_plan *plan, const struct job *job, struct status *st)
{
    const struct matmul_product *p = &plan->product[plan->ambiguous];
    const struct axes *axes = &job->machine.mesh.axes;
    const struct axis_list *over = &p->left.dim[1].shard;
    const struct expr_dim *rows = &p->left.dim[0], *cols = &p->right.dim[1];
    char row[2][AXES_TEXT], col[2][AXES_TEXT], list[AXES_TEXT], time[2][UNITS_TEXT];
    double reduce_s, scatter_s;
    struct status own = {0};
    if (choice_s(COLLECTIVE_ALL_REDUCE, p, job, &reduce_s, &own) < 0 ||
        choice_s(COLLECTIVE_REDUCE_SCATTER, p, job, &scatter_s, &own) < 0)
        return st->code;
    print_dim(rows, NULL, axes, row[0]);
    print_dim(rows, over, axes, row[1]);
    print_dim(cols, NULL, axes, col[0]);
    print_dim(cols, over, axes, col[1]);
    if (plan->ambiguous < plan->products - 1)
        status_suffix(st, ". Product %d of the chain cannot say it: run it by itself", plan->ambiguous + 1);
    return status_suffix(
        st,
        ". Write it: '-> [%s,%s]' is an all-reduce over %s (%s); '-> [%s,%s]' or '-> [%s,%s]' a "
        "reduce-scatter (%s)",
        row[0], col[0], axis_list_print(over, axes, list), units_print_time(reduce_s, time[0]), row[1],
        col[0], row[0], col[1], units_print_time(scatter_s, time[1]));
}

static int matmul_open(struct job *job, struct status *st)
{
    const struct point *point = job->point;
    const struct axes *axes = &job->machine.mesh.axes;
    struct matmul_job *m = calloc(1, sizeof *m);
    if (!m)
        return status_nomem(st);
    job->state = m;
    if (option_check(point, ON_MATMUL, "a matmul", st) < 0)
        return st->code;
    int dtype = dtype_by_name(point->dtype, st);
    if (dtype < 0 || expr_parse(point->op, point->dims, (enum dtype_id)dtype, axes, &m->expr, st) < 0)
        return st->code;
    if (point->given[option_index(option_by_name("dtype"))] && !m->expr.operand[0].name[0])
        return status_fail(st, STATUS_INPUT, "--dtype does not apply to arrays that name their type, %s[...]",
                           dtype_info(m->expr.operand[0].dtype)->name);
    if (matmul_infer(&m->expr, axes, &m->plan, st) < 0)
        return m->plan.ambiguous >= 0 ? add_choices(&m->plan, job, st) : st->code;
    expr_print(&m->expr, axes, m->op);
    print_axes(m, axes);
    return read_options(m, job, st);
}

static void matmul_close(struct job *job)
{
    free(job->state);
    job->state = NULL;
}

static void choose(struct matmul_job *m, enum matmul_strategy strategy)
{
    m->options.strategy = strategy;
    snprintf(m->strategy, sizeof m->strategy, "%s%s", m->asked == STRATEGY_AUTO ? "auto:" : "",
             matmul_strategy_name(strategy));
}

/* The program of a plan by the strategy of its options; where data would be loaded is not kept. */
static int write_program(const struct matmul_job *m, const struct mesh *mesh, struct program *program,
                         struct status *st)
{
    struct matmul_build *build = calloc(1, sizeof *build);
    if (!build)
        return status_nomem(st);
    int code = matmul_write(&m->plan, &m->options, mesh, program, build, st);
    matmul_build_free(build);
    free(build);
    return code;
}

/* The strategy that ends first; on a tie the simpler one. */
static int write_best(struct matmul_job *m, struct job *job, struct status *st)
{
    enum matmul_strategy best = STRATEGY_NAIVE;
    double least_s = INFINITY, time_s = INFINITY;
    int code = 0;
    for (int s = STRATEGY_NAIVE; s < STRATEGY_AUTO && code == 0; s++) {
        struct program program;
        program_init(&program, &job->machine.slice);
        choose(m, (enum matmul_strategy)s);
        code = write_program(m, &job->machine.mesh, &program, st);
        if (code == 0)
            code = program_time(&program, &time_s, st);
        if (code == 0 && time_s < least_s * (1 - 1e-9)) {
            struct program worse = job->program;
            job->program = program;
            program = worse;
            best = (enum matmul_strategy)s;
            least_s = time_s;
        }
        program_free(&program);
    }
    choose(m, best);
    return code;
}

/* The same schedule on a copy with small dims, with numbers. */
static int verify_small(const struct matmul_job *m, const struct job *job, struct status *st)
{
    enum { SMALL = 48, SEED = 3 };
    const struct mesh *mesh = &job->machine.mesh;
    struct expr expr = m->expr;
    struct matmul_plan plan;
    struct matmul_build *build = calloc(1, sizeof *build);
    struct program program;
    program_init(&program, &job->machine.slice);
    expr_scale(&expr, &mesh->axes, SMALL);
    int code = build ? matmul_infer(&expr, &mesh->axes, &plan, st) : status_nomem(st);
    if (code == 0)
        code = matmul_write(&plan, &m->options, mesh, &program, build, st);
    if (code == 0)
        code = program_check(&program, st);
    if (code == 0)
        code = matmul_verify(&plan, build, mesh, &program, SEED, st);
    if (build)
        matmul_build_free(build);
    free(build);
    program_free(&program);
    return code;
}

static int matmul_build_job(struct job *job, struct status *st)
{
    struct matmul_job *m = job->state;
    choose(m, m->asked);
    int code = m->asked == STRATEGY_AUTO ? write_best(m, job, st)
                                         : write_program(m, &job->machine.mesh, &job->program, st);
    return code == 0 && job->point->check ? verify_small(m, job, st) : code;
}

/* Is a collective written as such, and not as permutes of a loop? */
static bool has_collectives(const struct matmul_job *m, const struct axes *axes)
{
    for (int i = 0; i < m->plan.products; i++) {
        const struct matmul_product *p = &m->plan.product[i];
        for (int j = 0; j < p->moves; j++)
            if ((j != p->overlap || m->options.strategy == STRATEGY_NAIVE) &&
                axis_list_size(&p->move[j].axes, axes) > 1)
                return true;
    }
    return false;
}

/* What each product has to communicate, one after the other. */
static void print_plan(const struct matmul_job *m, const struct axes *axes, char text[static RESULT_LINE])
{
    char product[MATMUL_TEXT];
    size_t used = 0;
    for (int i = 0; i < m->plan.products && used < RESULT_LINE; i++)
        used += (size_t)snprintf(text + used, RESULT_LINE - used, "%s%s", i ? "; " : "",
                                 matmul_explain(&m->plan.product[i], axes, product));
}

static int matmul_describe(const struct job *job, struct work *work, struct status *st)
{
    const struct matmul_job *m = job->state;
    work->op = m->op;
    work->dtype = dtype_info(m->expr.operand[0].dtype)->name;
    work->ring = has_collectives(m, &job->machine.mesh.axes) ? ring_kind_name(m->options.kind) : "";
    work->strategy = m->strategy;
    work->axes = m->axes;
    print_plan(m, &job->machine.mesh.axes, work->plan);
    work->reference_option = "strategy";
    work->reference = matmul_strategy_name(STRATEGY_NAIVE);
    if (job->point->mesh &&
        matmul_rings_print(&m->plan, &m->options, &job->machine.mesh, work->rings, work->edges, st) < 0)
        return st->code;
    return matmul_bound(&m->plan, &m->options, &job->machine.mesh, &work->bound_s, st);
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
                                         .build = matmul_build_job,
                                         .describe = matmul_describe,
                                         .close = matmul_close,
                                         .variants = matmul_variants};
