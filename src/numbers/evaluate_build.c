/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/evaluate_build.h"

#include <stdlib.h>
#include <string.h>

static bool permutes(const struct call *call)
{
    return call->op == CALL_PPERMUTE || call->op == CALL_RING_SHIFT;
}

static int ring_of_positions(struct evaluation *e, struct status *st)
{
    int devices = e->groups.count * e->groups.size;
    int32_t *chip = malloc((size_t)devices * sizeof *chip);
    if (!chip)
        return status_nomem(st);
    for (int i = 0; i < devices; i++)
        chip[i] = mesh_chip(e->mesh, e->groups.member[i]);
    int code = ring_of_groups(&e->ring[0], e->mesh->slice, chip, e->groups.count, e->groups.size, st);
    e->rings = code == 0;
    free(chip);
    return code;
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
        return ring_of_positions(e, st);
    int code = 0;
    if (one) {
        code = ring_through(&e->ring[0], e->mesh, &list, st);
        e->rings = code == 0;
        return code;
    }
    while (e->rings < list.count && code == 0) {
        code = ring_along(&e->ring[e->rings], e->mesh, list.axis[e->rings], st);
        e->rings += code == 0;
    }
    return code;
}

/* The number of a chip's chunk: its pieces on the rings, the first ring slowest, as buffers are cut. */
static int chunk_of(const struct evaluation *e, int chip)
{
    int index = 0;
    for (int r = 0; r < e->rings; r++)
        index = index * e->ring[r].n + ring_piece(&e->ring[r], e->mesh->slice, chip);
    return index;
}

static int number_chunks(struct evaluation *e, struct status *st)
{
    int n = e->groups.size, devices = e->groups.count * n;
    e->order = calloc((size_t)devices, sizeof *e->order);
    e->chunk = calloc((size_t)devices, sizeof *e->chunk);
    if (!e->order || !e->chunk)
        return status_nomem(st);
    for (int i = 0; i < devices; i++) {
        int device = e->groups.member[i];
        e->chunk[device] = e->rings > 0 ? chunk_of(e, mesh_chip(e->mesh, device)) : i % n;
        e->order[i - i % n + e->chunk[device]] = i % n;
    }
    return 0;
}

/* Whom each chip sends to. Without groups by the functions that `run` uses too. */
static int find_targets(const struct evaluation *e, int32_t target[], struct status *st)
{
    const struct call *call = &e->example->call;
    int n = e->groups.size, chips = e->mesh->slice->chips;
    int32_t *chip = malloc((size_t)chips * sizeof *chip);
    int code = chip ? 0 : status_nomem(st);
    for (int c = 0; c < chips; c++)
        target[c] = -1;
    if (code == 0 && call->op == CALL_PPERMUTE) {
        int32_t(*pair)[2] = malloc(((size_t)call->pairs + 1) * sizeof *pair);
        for (int i = 0; i < 2 * call->pairs && pair; i++)
            pair[i / 2][i % 2] = call->pair[i / 2][i % 2];
        code = pair ? permute_pairs(e->mesh, &call->axes, (const int32_t(*)[2])pair, call->pairs, chip,
                                    target, st)
                    : status_nomem(st);
        free(pair);
    } else if (code == 0 && call->divide.count == 0) {
        permute_shift(e->mesh, &call->axes, call->offset, chip, target);
    } else if (code == 0) {
        for (int i = 0; i < e->groups.count * n; i++) {
            int to = ((i % n + call->offset % n) + n) % n;
            target[mesh_chip(e->mesh, e->groups.member[i])] =
                mesh_chip(e->mesh, e->groups.member[i - i % n + to]);
        }
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
    spec.rings = e->rings;
    spec.elements = whole_elements(e);
    spec.elem_bytes = plan->elem_bytes > 0 ? plan->elem_bytes : 1;
    spec.combine = call->op == CALL_PMAX ? COMBINE_MAX : call->op == CALL_PMIN ? COMBINE_MIN : COMBINE_SUM;
    for (int r = 0; r < e->rings; r++)
        spec.ring[r] = &e->ring[r];
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
