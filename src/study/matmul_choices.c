/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/matmul_choices.h"

#include "base/units.h"
#include "collective/collective.h"
#include "engine/timing.h"

/* The product, cut as its operands are; and the axes over which its sums are partial. */
static struct tensor product_of(const struct chain *chain, struct axis_list *over)
{
    const struct tensor *left = &chain->left, *right = &chain->right;
    struct tensor product = {.dims = 0};
    const struct axis_list *a = &left->dim[left->dims - 1].shard, *b = &right->dim[0].shard;
    for (int d = 0; d < left->dims - 1; d++)
        product.dim[product.dims++] = left->dim[d];
    for (int d = 1; d < right->dims; d++)
        product.dim[product.dims++] = right->dim[d];
    for (int d = 0; d < product.dims; d++)
        product.dim[d].name[0] = '\0';
    *over = (struct axis_list){0};
    while (over->count < a->count && over->count < b->count && a->axis[over->count] == b->axis[over->count]) {
        over->axis[over->count] = a->axis[over->count];
        over->count++;
    }
    return product;
}

/* What a collective of the partial sums takes, simulated. */
static int choice_s(enum collective_id op, const struct tensor *product, const struct axis_list *over,
                    enum dtype_id dtype, const struct job *job, double *time_s, struct status *st)
{
    const struct mesh *mesh = &job->machine.mesh;
    int64_t local[TENSOR_DIMS], elements = 1;
    struct ring ring[COLLECTIVE_RINGS];
    struct program program;
    int kind = ring_kind_by_name(job->machine.chip->ring, st), code = kind < 0 ? kind : 0;
    tensor_local(product, &mesh->axes, local);
    for (int d = 0; d < product->dims; d++)
        elements *= local[d];
    struct collective_spec spec = {.kind = (enum ring_kind)kind,
                                   .elements = elements,
                                   .elem_bytes = dtype_info(dtype)->bytes,
                                   .setup_s = job->machine.chip->setup_s,
                                   .timing_only = true};
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

/* "[1024@X,2048@Y]", where dim `scattered` is cut by the axes of the sums, too. */
static char *print_choice(const struct tensor *product, const struct axis_list *over, int scattered,
                          const struct axes *axes, char text[static TENSOR_TEXT])
{
    struct tensor choice = *product;
    for (int i = 0; scattered >= 0 && i < over->count; i++) {
        struct axis_list *shard = &choice.dim[scattered].shard;
        if (shard->count < AXES_MAX)
            shard->axis[shard->count++] = over->axis[i];
    }
    return tensor_print(&choice, axes, text);
}

int matmul_choices(const struct chain *chain, int products, const struct job *job, struct status *st)
{
    const struct axes *axes = &job->machine.mesh.axes;
    struct axis_list over;
    struct tensor product = product_of(chain, &over);
    char choice[3][TENSOR_TEXT], list[AXES_TEXT], time[2][UNITS_TEXT];
    double reduce_s, scatter_s;
    struct status own = {0};
    if (choice_s(COLLECTIVE_ALL_REDUCE, &product, &over, chain->dtype, job, &reduce_s, &own) < 0 ||
        choice_s(COLLECTIVE_REDUCE_SCATTER, &product, &over, chain->dtype, job, &scatter_s, &own) < 0)
        return st->code;
    if (chain->ambiguous < products - 1)
        status_suffix(st, ". Product %d of the chain cannot say it: run it by itself", chain->ambiguous + 1);
    return status_suffix(
        st, ". Write it: '-> %s' is an all-reduce over %s (%s); '-> %s' or '-> %s' a reduce-scatter (%s)",
        print_choice(&product, &over, -1, axes, choice[0]), axis_list_print(&over, axes, list),
        units_print_time(reduce_s, time[0]), print_choice(&product, &over, 0, axes, choice[1]),
        print_choice(&product, &over, product.dims - 1, axes, choice[2]),
        units_print_time(scatter_s, time[1]));
}
