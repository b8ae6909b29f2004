/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim eval of a matmul: whole numbers through the simulated module, on virtual devices, compared with the
 * plain product. */

#include "faces/eval.h"
#include "model/chain.h"
#include "study/module_job.h"

/* "  operand.1  [16@dp,32@tp]  on each device 4x16" */
static void print_tensor(const struct model_tensor *t, const struct axes *axes, FILE *out)
{
    char text[TENSOR_TEXT];
    int64_t local[TENSOR_DIMS];
    int dims = tensor_local(&t->tensor, axes, local);
    fprintf(out, "   %s: %s%s, on each device ", t->name, dtype_info(t->dtype)->name,
            tensor_print(&t->tensor, axes, text));
    for (int d = 0; d < dims; d++)
        fprintf(out, "%s%lld", d ? "x" : "", (long long)local[d]);
    fprintf(out, "\n");
}

static void print_chain(const struct chain *chain, const struct module *base, FILE *out)
{
    const struct model *model = &chain->model;
    char words[RESULT_LINE];
    fprintf(out, "# on each device: %s\n", chain_explain(base, words, sizeof words));
    for (int i = 0; i < model->inputs; i++)
        print_tensor(&model->input[i], &model->axes, out);
    print_tensor(&model->output[0], &model->axes, out);
}

/* Limits the multiplications of the plain product and of the devices, which both take time. */
static int check_size(const struct expr *expr, struct status *st)
{
    static const double most = 1e9;
    double rows = 1, operations = 0;
    for (int d = 0; d < expr->operand[0].dims - 1; d++)
        rows *= (double)expr->operand[0].dim[d].n;
    for (int i = 1; i < expr->operands; i++) {
        double own = 1, wide = 1;
        for (int d = 0; d < expr->operand[i].dims; d++) {
            own *= (double)expr->operand[i].dim[d].n;
            wide *= d ? (double)expr->operand[i].dim[d].n : 1;
        }
        operations += rows * own;
        rows *= wide;
    }
    return operations <= most ? 0
                              : status_fail(st, STATUS_LIMIT,
                                            "these are %.3g multiplications, of which eval does 1e9 at most; "
                                            "write smaller dims, which run by the same schedule",
                                            operations);
}

static int verify(const struct chain *chain, const struct module *module, FILE *out, struct status *st)
{
    enum { SEEDS = 3 };
    int code = 0;
    for (uint64_t seed = 1; seed <= SEEDS && code == 0; seed++)
        code = chain_verify(chain, module, seed, st);
    if (code == STATUS_CHECK)
        fprintf(out, "# is not the definition: %s\n", st->text);
    if (code == 0)
        fprintf(out, "# equals the definition\n");
    return code;
}

int eval_matmul(struct job *job, FILE *out, struct status *st)
{
    const struct point *point = job->point;
    const struct axes *axes = &job->machine.mesh.axes;
    struct module_job *m = job->state;
    struct expr expr;
    struct chain chain = {0};
    char text[EXPR_TEXT], mesh[AXES_TEXT];
    int dtype = dtype_by_name(point->work.dtype, st);
    if (dtype < 0 || module_job_choose(m, st) < 0 ||
        expr_parse(point->work.op, point->work.dims, (enum dtype_id)dtype, axes, &expr, st) < 0 ||
        check_size(&expr, st) < 0)
        return st->code;
    int code = chain_build(&expr, axes, &(struct chain_plan){.after = 0}, &chain, st);
    if (code == 0) {
        fprintf(out, "# %s on mesh %s, strategy %s\n", expr_print(&expr, axes, text), axes_print(axes, mesh),
                point->schedule.strategy);
        print_chain(&chain, &m->step.base, out);
        code = verify(&chain, &m->module, out, st);
    }
    model_free(&chain.model);
    return code;
}
