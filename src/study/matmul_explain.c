/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts about a matmul without running it: lower bounds, possible outputs, the layout of its rings. */
#include "study/matmul_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "formula/bound.h"
#include "study/ring_choice.h"

static int collective_bound(const struct module *module, int32_t at, const struct mesh *mesh, double *bound_s,
                            struct status *st)
{
    struct groups groups = {0};
    struct axis_list over;
    char axes[TALLY_AXES];
    const char *name = opcode_info(module_whole_at(module, at))->name;
    const struct collective *collective = collective_by_name(name, st);
    if (!collective || mesh_parse_axes(mesh, tally_axes(module, at, axes), &over, st) < 0 ||
        module_groups_of(module, at, &groups, st) < 0)
        return st->code;
    struct groups chips = {0};
    int code = mesh_chips_of(mesh, &groups, &chips, st);
    if (code == 0 && chips.size > 1) {
        struct bound_case c = {.slice = mesh->slice,
                               .op = collective->id,
                               .bytes = lower_collective_bytes(module, at, groups.size) *
                                        (groups.count / chips.count),
                               .n = chips.size,
                               .groups = chips.count,
                               .axes = mesh_spanned(mesh, &over)};
        c.chip = c.axes ? NULL : chips.member;
        code = bound_find(&c, bound_s, st);
    }
    groups_free(&chips);
    groups_free(&groups);
    return code;
}

static int permute_bound(const struct module *module, int32_t at, const struct mesh *mesh, double *bound_s,
                         struct status *st)
{
    const struct attribute *pairs = module_find(module, at, ATTR_SOURCE_TARGET_PAIRS);
    const int64_t *pair = module->number + pairs->first;
    int32_t *target = malloc((size_t)mesh->slice->chips * sizeof *target);
    struct bound_case c = {.slice = mesh->slice,
                           .op = COLLECTIVE_PERMUTE,
                           .bytes = shape_bytes(module, module_at(module, at)->shape),
                           .n = mesh->slice->chips,
                           .groups = 1,
                           .target = target};
    if (!target)
        return status_nomem(st);
    memset(target, -1, (size_t)mesh->slice->chips * sizeof *target);
    for (int i = 0; i < pairs->count; i += 2)
        if (pair[i] != pair[i + 1])
            target[mesh_chip(mesh, (int)pair[i])] = mesh_chip(mesh, (int)pair[i + 1]);
    int code = bound_find(&c, bound_s, st);
    free(target);
    return code;
}

static double product_bound_s(const struct module *module, int32_t at, const struct roofline *roofline,
                              double slowest)
{
    struct cost cost = module_cost(module, at);
    double flops = cost.m > 0 ? roofline_product_flops(roofline, cost.m, cost.k, cost.n) : cost.flops;
    double least_s = roofline_least_s(roofline, cost.dtype, flops, cost.hbm_bytes);
    return roofline->launch_s + (least_s - roofline->launch_s) / slowest;
}

int matmul_bound(const struct module *module, const struct mesh *mesh, const struct roofline *roofline,
                 struct bounds *bounds, struct status *st)
{
    const struct computation *entry = &module->computation[module->entry];
    const struct slice *slice = mesh->slice;
    double compute_s = 0, comm_s = 0, all_s = 0, slowest = 1;
    int code = 0;
    for (int chip = 0; slice->chip_frac && chip < slice->chips; chip++)
        slowest = fmin(slowest, slice_chip_frac(slice, chip));
    for (int32_t at = entry->first; at < entry->first + entry->count && code == 0; at++) {
        enum opcode opcode = module_at(module, at)->opcode;
        double own_s = 0;
        if (opcode == HLO_DOT)
            compute_s += product_bound_s(module, at, roofline, slowest);
        else if (opcode == HLO_ALL_GATHER || opcode == HLO_REDUCE_SCATTER || opcode == HLO_ALL_REDUCE ||
                 opcode == HLO_ALL_TO_ALL)
            code = collective_bound(module, at, mesh, &own_s, st);
        else if (opcode == HLO_COLLECTIVE_PERMUTE && mesh->cores < 2)
            code = permute_bound(module, at, mesh, &own_s, st);
        comm_s = fmax(comm_s, own_s);
        all_s += own_s;
    }
    *bounds = (struct bounds){fmax(compute_s, comm_s), compute_s + all_s};
    return code;
}

/* The product, sharded as its operands are; and the axes over which its sums are partial. */
static struct tensor product_of(const struct chain *chain, struct axis_list *over)
{
    const struct tensor *left = &chain->left, *right = &chain->right;
    struct tensor product = {.dims = 0};
    int batches = tensor_batches(left, right);
    const struct axis_list *a = &left->dim[left->dims - 1].shard, *b = &right->dim[batches].shard;
    for (int d = 0; d < left->dims - 1; d++)
        product.dim[product.dims++] = left->dim[d];
    for (int d = batches + 1; d < right->dims; d++)
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

/* The simulated time of a collective of the partial sums. */
static int choice_s(enum collective_id op, const struct tensor *product, const struct axis_list *over,
                    const struct job *job, double *time_s, struct status *st)
{
    const struct mesh *mesh = &job->machine.mesh;
    const struct matmul_job *m = job->state;
    int64_t local[TENSOR_DIMS], elements = 1;
    struct ring ring[COLLECTIVE_RINGS];
    int kind = ring_kind_by_name(job->machine.chip->ring, st), code = kind < 0 ? kind : 0;
    tensor_local(product, &mesh->axes, local);
    for (int d = 0; d < product->dims; d++)
        elements *= local[d];
    struct collective_spec spec = {.kind = (enum ring_kind)kind,
                                   .elements = elements,
                                   .elem_bytes = dtype_info(m->chain.dtype)->bytes,
                                   .setup_s = job->machine.chip->setup_s};
    for (; code == 0 && spec.rings < over->count && spec.rings < COLLECTIVE_RINGS; spec.rings++) {
        code = ring_along(&ring[spec.rings], mesh, over->axis[spec.rings], st);
        spec.ring[spec.rings] = &ring[spec.rings];
    }
    if (code == 0)
        code = collective_time(collective_of(op), &job->machine.slice, &spec, time_s, st);
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
    if (choice_s(COLLECTIVE_ALL_REDUCE, &product, &over, job, &reduce_s, &own) < 0 ||
        choice_s(COLLECTIVE_REDUCE_SCATTER, &product, &over, job, &scatter_s, &own) < 0)
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

/* Is an instruction the first permute of a loop? If so, over which axes? */
static bool begins_loop(const struct module *module, int32_t at, const struct mesh *mesh,
                        struct axis_list *over)
{
    char axes[TALLY_AXES];
    return module_at(module, at)->opcode == HLO_COLLECTIVE_PERMUTE_START &&
           module_has_label(module, at, "step=\"0\"") &&
           module_label(module, at, "over", axes, sizeof axes) &&
           mesh_parse_axes(mesh, axes, over, NULL) >= 0;
}

/* The simulated time of one step of all chips, in one direction. */
static int time_step(const struct ring *ring, const struct slice *slice, double bytes, double *time_s,
                     struct status *st)
{
    int32_t *target = malloc((size_t)slice->chips * sizeof *target);
    if (!target)
        return status_nomem(st);
    for (int chip = 0; chip < slice->chips; chip++) {
        int at = ring_position(ring, slice, chip);
        bool ends = at < 0 || (!ring->closed && at == ring->n - 1);
        target[chip] = ends ? -1 : ring_next(ring, slice, chip);
    }
    struct collective_spec spec = {
        .elements = (int64_t)bytes, .elem_bytes = 1, .target = target, .routes = 1};
    int code = collective_time(collective_of(COLLECTIVE_PERMUTE), slice, &spec, time_s, st);
    free(target);
    return code;
}

static int print_edge(double bytes, const struct mesh *mesh, const struct ring *ring, const char *axes,
                      char text[static RESULT_LINE], struct status *st)
{
    const struct slice *slice = mesh->slice;
    char size[UNITS_TEXT], far[UNITS_TEXT], near[UNITS_TEXT];
    double time_s = 0;
    int code = time_step(ring, slice, bytes, &time_s, st);
    if (code == 0)
        snprintf(text, RESULT_LINE,
                 "the loop over %s is one ring of %d, neighbours up to %d hops apart: a step of %s takes %s, "
                 "side by side %s",
                 axes, ring->n, ring->edge_links, units_print_bytes((uint64_t)bytes, size),
                 units_print_time(time_s, far),
                 units_print_time(slice->hop_latency_s + bytes / slice->link_Bps, near));
    return code;
}

int matmul_print_rings(const struct module *module, const struct mesh *mesh, char rings[static RESULT_LINE],
                       char edges[static RESULT_LINE], struct status *st)
{
    char axes[AXES_TEXT], loop[16], last[16] = "";
    unsigned looped = 0; /* axes on several physical ones that a loop goes through alone */
    struct axis_list over;
    for (int32_t at = 0; at < module->instructions; at++)
        if (begins_loop(module, at, mesh, &over) && over.count == 1 && mesh->layout.sides[over.axis[0]] > 1)
            looped |= 1u << over.axis[0];
    mesh_print_marked(mesh, looped, " as one ring", rings);
    for (int32_t at = 0; at < module->instructions; at++) {
        struct ring ring;
        if (!begins_loop(module, at, mesh, &over) || !module_label(module, at, "loop", loop, sizeof loop) ||
            strcmp(loop, last) == 0)
            continue; /* the other direction of the same loop */
        snprintf(last, sizeof last, "%s", loop);
        if (ring_of_loop(&ring, mesh, &over, st) < 0)
            return st->code;
        axis_list_print(&over, &mesh->axes, axes);
        if (over.count > 1)
            text_add(rings, RESULT_LINE, ", one ring over %s", axes);
        int code = 0;
        double bytes = shape_bytes(module, module_at(module, module_operand(module, at, 0))->shape);
        if (ring.edge_links > 1 && !*edges && !mesh->slice->link)
            code = print_edge(bytes, mesh, &ring, axes, edges, st);
        ring_free(&ring);
        if (code < 0)
            return code;
    }
    return 0;
}
