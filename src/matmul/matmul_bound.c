/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A time that no strategy of a matmul beats. */
#include <math.h>
#include <stdlib.h>

#include "formula/bound.h"
#include "matmul/matmul.h"

/* Elements of the whole array that a move gathers, sums or scatters, in one group of chips. */
static double moved_elements(const struct matmul_product *p, const struct matmul_move *move,
                             const struct axes *axes)
{
    double m = (double)p->m, k = (double)p->k, n = (double)p->n, out = m * n;
    if (move->kind == MOVE_GATHER_LEFT)
        return m * k;
    if (move->kind == MOVE_GATHER_RIGHT)
        return k * n;
    if (move->kind != MOVE_GATHER_OUT)
        return out;
    for (int i = 0; i < p->moves; i++)
        if (p->move[i].kind == MOVE_SCATTER)
            out /= axis_list_size(&p->move[i].axes, axes);
    return out * axis_list_size(&move->axes, axes);
}

static int move_bound(const struct matmul_product *p, const struct matmul_move *move, const struct mesh *mesh,
                      double *bound_s, struct status *st)
{
    int chips = mesh->devices, n = axis_list_size(&move->axes, &mesh->axes);
    double elem_bytes = dtype_info(matmul_moved(p, move->kind)->dtype)->bytes;
    struct bound_case c = {.slice = mesh->slice,
                           .op = matmul_move_op(move->kind),
                           .bytes = moved_elements(p, move, &mesh->axes) * elem_bytes,
                           .n = n,
                           .groups = chips / n,
                           .axes = mesh_spanned(mesh, &move->axes)};
    *bound_s = 0;
    if (n == 1)
        return 0;
    int32_t *chip = c.axes ? NULL : malloc((size_t)chips * sizeof *chip);
    if (!c.axes && !chip)
        return status_nomem(st);
    if (chip)
        mesh_groups(mesh, &move->axes, chip);
    c.chip = chip;
    int code = bound_find(&c, bound_s, st);
    free(chip);
    return code;
}

/* Every chip multiplies its own share, a slow one too. */
static double compute_bound_s(const struct roofline *roofline, const struct matmul_product *p,
                              const struct slice *slice)
{
    double slowest = 1, least_s = matmul_least_s(roofline, p);
    for (int chip = 0; slice->chip_frac && chip < slice->chips; chip++)
        slowest = fmin(slowest, slice_chip_frac(slice, chip));
    return roofline->launch_s + (least_s - roofline->launch_s) / slowest;
}

/* T >= max( sum of the products' least times, each collective's own bound ): the products of a chain add up, for a
 * chip's queue runs them one at a time. */
int matmul_bound(const struct matmul_plan *plan, const struct matmul_options *options,
                 const struct mesh *mesh, double *bound_s, struct status *st)
{
    double compute_s = 0, comm_s = 0;
    int code = 0;
    for (int i = 0; i < plan->products && code == 0; i++) {
        const struct matmul_product *p = &plan->product[i];
        compute_s += compute_bound_s(&options->roofline, p, mesh->slice);
        for (int j = 0; j < p->moves && code == 0; j++) {
            double move_s;
            code = move_bound(p, &p->move[j], mesh, &move_s, st);
            comm_s = code == 0 ? fmax(comm_s, move_s) : comm_s;
        }
    }
    *bound_s = fmax(compute_s, comm_s);
    return code;
}
