/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Specs of results: what becomes of the axes of a call. */
#include <string.h>

#include "numbers/evaluate.h"

static bool has_axis(const struct axis_list *list, int axis)
{
    for (int i = 0; i < list->count; i++)
        if (list->axis[i] == axis)
            return true;
    return false;
}

static bool names_any(const struct spec *spec, const struct axis_list *axes)
{
    for (int d = 0; d < spec->dims; d++)
        for (int i = 0; i < spec->dim[d].count; i++)
            if (has_axis(axes, spec->dim[d].axis[i]))
                return true;
    return false;
}

static void leave_out(struct spec *spec, const struct axis_list *axes)
{
    for (int d = 0; d < spec->dims; d++) {
        struct axis_list *entry = &spec->dim[d];
        int kept = 0;
        for (int i = 0; i < entry->count; i++)
            if (!has_axis(axes, entry->axis[i]))
                entry->axis[kept++] = entry->axis[i];
        entry->count = kept;
    }
}

/* The axes cut dim d last, within what cuts it already. */
static void cut_too(struct spec *spec, int d, const struct axis_list *axes)
{
    while (spec->dims <= d && spec->dims < ARRAY_DIMS)
        spec->dim[spec->dims++] = (struct axis_list){0};
    for (int i = 0; i < axes->count && d < spec->dims; i++)
        spec->dim[d].axis[spec->dim[d].count++] = axes->axis[i];
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
        return; /* dims after the last entry are whole anyway */
    memmove(spec->dim + d + 1, spec->dim + d, (size_t)(spec->dims - d) * sizeof *spec->dim);
    spec->dim[d] = (struct axis_list){0};
    spec->dims++;
}

/* Entries of no axes at the end say nothing. */
static void trim(struct spec *spec)
{
    while (spec->dims > 0 && spec->dim[spec->dims - 1].count == 0)
        spec->dims--;
}

static void scatter(struct spec *spec, const struct call *call, int dims)
{
    int d = call->dim;
    if (call->divide.count == 0)
        leave_out(spec, &call->axes);
    if (!call->tiled) {
        remove_entry(spec, d);
        d = d > dims - 2 && d > 0 ? d - 1 : d;
    }
    if (!names_any(spec, &call->axes))
        cut_too(spec, d, &call->axes);
}

static void exchange(struct spec *spec, const struct call *call)
{
    if (call->tiled && call->divide.count == 0)
        leave_out(spec, &call->axes);
    if (!call->tiled) {
        remove_entry(spec, call->split_axis);
        insert_entry(spec, call->concat_axis);
    }
    if (!names_any(spec, &call->axes))
        cut_too(spec, call->tiled ? call->split_axis : call->concat_axis, &call->axes);
}

struct spec evaluate_out_spec(const struct example *example)
{
    const struct call *call = &example->call;
    struct spec spec = example->in_spec;
    switch (call->op) {
    case CALL_ALL_GATHER:
        if (!call->tiled)
            insert_entry(&spec, call->dim);
        /* fall through */
    case CALL_PSUM:
    case CALL_PMEAN:
    case CALL_PMAX:
    case CALL_PMIN:
    case CALL_BROADCAST:
        if (call->divide.count == 0)
            leave_out(&spec, &call->axes);
        break;
    case CALL_PSUM_SCATTER:
        scatter(&spec, call, example->input.dims);
        break;
    case CALL_ALL_TO_ALL:
        exchange(&spec, call);
        break;
    case CALL_RAGGED:
        if (call->divide.count == 0)
            leave_out(&spec, &call->axes);
        if (!names_any(&spec, &call->axes))
            cut_too(&spec, 0, &call->axes);
        break;
    default:
        break;
    }
    trim(&spec);
    return spec;
}
