/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/module_bound.h"

#include <math.h>
#include <stdlib.h>

#include "collective/collective.h"
#include "compile/lower.h"
#include "formula/bound.h"
#include "hlo/cost.h"
#include "hlo/tally.h"

/* The chips of a collective's groups, group by group. */
static int32_t *chips_of(const struct groups *groups, const struct mesh *mesh)
{
    int members = groups->count * groups->size;
    int32_t *chip = malloc((size_t)members * sizeof *chip);
    for (int i = 0; i < members && chip; i++)
        chip[i] = mesh_chip(mesh, groups->member[i]);
    return chip;
}

static int collective_bound(const struct module *module, int32_t at, const struct mesh *mesh, double *bound_s,
                            struct status *st)
{
    struct groups groups = {0};
    struct axis_list over;
    char axes[TALLY_AXES];
    const char *name = opcode_info(opcode_info(module_at(module, at)->opcode)->whole)->name;
    const struct collective *collective = collective_by_name(name, st);
    if (!collective || mesh_parse_axes(mesh, tally_axes(module, at, axes), &over, st) < 0 ||
        module_groups_of(module, at, &groups, st) < 0)
        return st->code;
    struct bound_case c = {.slice = mesh->slice,
                           .op = collective->id,
                           .bytes = lower_collective_bytes(module, at, groups.size),
                           .n = groups.size,
                           .groups = groups.count,
                           .axes = mesh_spanned(mesh, &over)};
    int32_t *chip = c.axes ? NULL : chips_of(&groups, mesh);
    c.chip = chip;
    int code = !c.axes && !chip ? status_nomem(st) : bound_find(&c, bound_s, st);
    free(chip);
    groups_free(&groups);
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

int module_bound(const struct module *module, const struct mesh *mesh, const struct roofline *roofline,
                 double *bound_s, struct status *st)
{
    const struct computation *entry = &module->computation[module->entry];
    const struct slice *slice = mesh->slice;
    double compute_s = 0, comm_s = 0, slowest = 1;
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
        comm_s = fmax(comm_s, own_s);
    }
    *bound_s = fmax(compute_s, comm_s);
    return code;
}
