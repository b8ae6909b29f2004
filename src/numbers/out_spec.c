/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The specs of results: what a collective does to the sharding over its axes. */
#include <string.h>

#include "numbers/evaluate.h"

static bool names_any(const struct spec *spec, const struct axis_list *axes)
{
    for (int i = 0; i < axes->count; i++)
        if (spec_names_axis(spec, axes->axis[i]))
            return true;
    return false;
}

static void leave_out(struct spec *spec, const struct axis_list *axes)
{
    for (int d = 0; d < spec->dims; d++) {
        struct axis_list *entry = &spec->dim[d];
        int kept = 0;
        for (int i = 0; i < entry->count; i++)
            if (!axis_list_has(axes, entry->axis[i]))
                entry->axis[kept++] = entry->axis[i];
        entry->count = kept;
    }
}

/* Shards dim d over the axes as well, as its innermost axes. */
static void cut_too(struct spec *spec, int d, const struct axis_list *axes)
{
    while (spec->dims <= d && spec->dims < ARRAY_DIMS)
        spec->dim[spec->dims++] = (struct axis_list){0};
    if (d < spec->dims)
        axis_list_append(&spec->dim[d], axes);
}

static void remove_entry(struct spec *spec, int d)
{
    if (d >= spec->dims)
        return;
    memmove(spec->dim + d, spec->dim + d + 1, (size_t)(spec->dims - d - 1) * sizeof *spec->dim);
    spec->dims--;
}

static void insert_entry(struct spec *spec, int d)
{
    if (d >= spec->dims || spec->dims == ARRAY_DIMS)
        return; /* dims after the last entry are not sharded anyway */
    memmove(spec->dim + d + 1, spec->dim + d, (size_t)(spec->dims - d) * sizeof *spec->dim);
    spec->dim[d] = (struct axis_list){0};
    spec->dims++;
}

struct spec evaluate_out_spec(const struct example *example)
{
    const struct call *call = &example->call;
    enum call_op op = call->op;
    struct spec spec = example->in_spec;
    if (op == CALL_AXIS_INDEX)
        return (struct spec){.dims = 1, .dim[0] = call->axes};
    bool stacks = !call->tiled, leaves = op != CALL_NONE && op != CALL_PPERMUTE && op != CALL_RING_SHIFT;
    int d = op == CALL_ALL_TO_ALL ? (stacks ? call->concat_axis : call->split_axis) : call->dim;
    if (leaves && !(op == CALL_ALL_TO_ALL && stacks) && call->divide.count == 0)
        leave_out(&spec, &call->axes);
    if (stacks && op == CALL_PSUM_SCATTER) {
        remove_entry(&spec, d);
        d = d > example->input.dims - 2 && d > 0 ? d - 1 : d;
    }
    if (stacks && op == CALL_ALL_TO_ALL)
        remove_entry(&spec, call->split_axis);
    if (stacks && (op == CALL_ALL_TO_ALL || op == CALL_ALL_GATHER))
        insert_entry(&spec, d);
    bool cuts = op == CALL_PSUM_SCATTER || op == CALL_ALL_TO_ALL || op == CALL_RAGGED;
    if (cuts && !names_any(&spec, &call->axes))
        cut_too(&spec, op == CALL_RAGGED ? 0 : d, &call->axes);
    while (spec.dims > 0 && spec.dim[spec.dims - 1].count == 0)
        spec.dims--; /* trailing entries without axes have no effect */
    return spec;
}
