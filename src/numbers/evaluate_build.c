/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/evaluate_build.h"

#include <stdlib.h>
#include <string.h>

static bool permutes(const struct call *call)
{
    return call->op == CALL_PPERMUTE || call->op == CALL_RING_SHIFT;
}

/* A ring an axis, as `run` has them; one ring through all where there are more axes than rings; groups in the
 * order of their members. Ragged buffers are packed in the order of positions, so their ring must have it. */
static int open_rings(struct evaluation *e, const struct collective_spec *plan, struct status *st)
{
    const struct call *call = &e->example->call;
    struct axis_list list = {0};
    for (int i = 0; i < call->axes.count; i++)
        if (e->mesh->axes.axis[call->axes.axis[i]].n > 1)
            list.axis[list.count++] = call->axes.axis[i];
    if (list.count == 0 || permutes(call))
        return 0;
    bool one = plan->rings == 1 || list.count > COLLECTIVE_RINGS;
    if (call->divide.count > 0 || (one && call->op == CALL_RAGGED))
        return ring_set_of_groups(&e->rings, e->mesh, &e->groups, st);
    return one ? ring_set_of_ring(&e->rings, e->mesh, &list, st)
               : ring_set_of_axes(&e->rings, e->mesh, &list, st);
}

/* Chunks are numbered as buffers are cut: by pieces on the rings. */
static int number_chunks(struct evaluation *e, struct status *st)
{
    int n = e->groups.size, devices = e->groups.count * n;
    e->order = calloc((size_t)devices, sizeof *e->order);
    e->chunk = calloc((size_t)devices, sizeof *e->chunk);
    if (!e->order || !e->chunk)
        return status_nomem(st);
    for (int i = 0; i < devices; i++) {
        int device = e->groups.member[i];
        e->chunk[device] = e->rings.rings > 0
                               ? ring_set_piece(&e->rings, e->mesh->slice, mesh_chip(e->mesh, device))
                               : i % n;
        e->order[i - i % n + e->chunk[device]] = i % n;
    }
    return 0;
}

/* Whom each chip sends to. */
static int find_targets(const struct evaluation *e, int32_t target[], struct status *st)
{
    const struct call *call = &e->example->call;
    int n = e->groups.size, chips = e->mesh->slice->chips;
    int32_t *chip = malloc((size_t)chips * sizeof *chip);
    int code = chip ? 0 : status_nomem(st);
    for (int c = 0; c < chips; c++)
        target[c] = -1;
    if (code == 0 && call->op == CALL_PPERMUTE)
        code = permute_pairs(e->mesh, &call->axes, (const int32_t(*)[2])call->pair, call->pairs, chip, target,
                             st);
    for (int i = 0; i < e->groups.count * n && code == 0 && call->op == CALL_RING_SHIFT; i++) {
        int to = ((i % n + call->offset % n) + n) % n;
        target[mesh_chip(e->mesh, e->groups.member[i])] =
            mesh_chip(e->mesh, e->groups.member[i - i % n + to]);
    }
    free(chip);
    return code;
}

/* Elements of the rows from each position to each. */
static int64_t count_rows(const struct evaluation *e, int64_t pair[])
{
    const struct array *block = &e->start[0];
    int64_t row = block->shape[0] > 0 ? array_elements(block) / block->shape[0] : 0, sum = 0;
    for (int i = 0; i < e->groups.size * e->groups.size; i++)
        sum += pair[i] = e->example->call.rows[i] * row;
    return sum;
}

/* What --size counts: see the table of collectives. */
static int64_t whole_elements(const struct evaluation *e)
{
    enum call_op op = e->example->call.op;
    int64_t block = array_elements(&e->start[0]);
    return op == CALL_ALL_GATHER || op == CALL_ALL_TO_ALL ? block * e->groups.size : block;
}

static struct collective_spec spec_of(const struct evaluation *e, const struct collective_spec *plan)
{
    const struct call *call = &e->example->call;
    struct collective_spec spec = *plan;
    spec.rings = e->rings.rings;
    spec.elements = whole_elements(e);
    spec.elem_bytes = plan->elem_bytes > 0 ? plan->elem_bytes : 1;
    spec.combine = call->op == CALL_PMAX ? COMBINE_MAX : call->op == CALL_PMIN ? COMBINE_MIN : COMBINE_SUM;
    for (int r = 0; r < spec.rings; r++)
        spec.ring[r] = &e->rings.ring[r];
    if (call->op == CALL_BROADCAST)
        spec.root = e->chunk[e->groups.member[call->root]];
    return spec;
}

int evaluate_build(struct evaluation *e, const struct collective_spec *plan, struct status *st)
{
    const struct call *call = &e->example->call;
    size_t n = (size_t)e->groups.size, chips = (size_t)e->mesh->slice->chips;
    int32_t *target = NULL;
    int64_t *pair = NULL;
    int code = open_rings(e, plan, st);
    if (code == 0)
        code = number_chunks(e, st);
    if (code < 0 || call->op == CALL_NONE)
        return code;
    struct collective_spec spec = spec_of(e, plan);
    if (permutes(call)) {
        spec.target = target = malloc(chips * sizeof *target);
        code = target ? find_targets(e, target, st) : status_nomem(st);
    }
    if (call->op == CALL_RAGGED) {
        spec.pair_elements = pair = malloc(n * n * sizeof *pair);
        if (pair)
            spec.elements = count_rows(e, pair);
        else
            code = status_nomem(st);
    }
    const struct collective *collective = collective_by_name(call_name(call->op), st);
    if (code == 0)
        code = collective->build(&spec, &e->program, -1, NULL, st);
    free(target);
    free(pair);
    return code;
}
