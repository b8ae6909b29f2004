/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A time that no strategy of a matmul beats. */
#include <math.h>

#include "formula/formula.h"
#include "matmul/matmul.h"

static int least_ports(const struct slice *slice)
{
    int least = slice_count_ports(slice, 0);
    for (int chip = 1; chip < slice->chips; chip++) {
        int ports = slice_count_ports(slice, chip);
        least = ports < least ? ports : least;
    }
    return least;
}

static struct formula_case case_of(enum collective_id op, double elements, double elem_bytes,
                                   const struct mesh *mesh)
{
    return (struct formula_case){.op = op,
                                 .elements = (int64_t)elements,
                                 .elem_bytes = elem_bytes,
                                 .hop_latency_s = mesh->slice->hop_latency_s,
                                 .link_Bps = mesh->slice->link_Bps,
                                 .directed_links = slice_count_links(mesh->slice)};
}

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

static double move_bound_s(const struct matmul_product *p, const struct matmul_move *move,
                           const struct mesh *mesh, int ports)
{
    int n = axis_list_size(&move->axes, &mesh->axes);
    double elements = moved_elements(p, move, &mesh->axes);
    double elem_bytes = dtype_info(matmul_moved(p, move->kind)->dtype)->bytes;
    struct formula_case c = case_of(matmul_move_op(move->kind), elements, elem_bytes, mesh);
    c.rings = 1;
    c.n[0] = n;
    c.groups = mesh->slice->chips / n;
    c.least_ports = ports;
    double bound_s = n > 1 ? formula_bound_s(&c) : 0;
    return isnan(bound_s) ? 0 : bound_s;
}

/* T >= max( sum of the products' least times, each collective's own bound ): the products of a chain add up, for a
 * chip's queue runs them one at a time. */
double matmul_bound_s(const struct matmul_plan *plan, const struct matmul_options *options,
                      const struct mesh *mesh)
{
    double compute_s = 0, comm_s = 0;
    int ports = least_ports(mesh->slice);
    for (int i = 0; i < plan->products; i++) {
        const struct matmul_product *p = &plan->product[i];
        compute_s += matmul_least_s(&options->roofline, p);
        for (int j = 0; j < p->moves; j++)
            comm_s = fmax(comm_s, move_bound_s(p, &p->move[j], mesh, ports));
    }
    return fmax(compute_s, comm_s);
}
