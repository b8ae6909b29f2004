/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives over mesh axes, and the blocks that devices take by their positions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hlo/builder_add.h"

/* The length of an axis's name before ":(8)2", which marks a part of an axis. */
static int base_length(const struct axes *axes, int axis)
{
    return (int)strcspn(axes->axis[axis].name, ":");
}

static bool same_base(const struct axes *axes, int a, int c)
{
    int n = base_length(axes, a);
    return n == base_length(axes, c) && strncmp(axes->axis[a].name, axes->axis[c].name, (size_t)n) == 0;
}

/* The number of axes from this one on that are parts of one axis. */
static int parts_from(const struct axes *axes, int first)
{
    int n = 1;
    while (first + n < axes->count && same_base(axes, first, first + n))
        n++;
    return n;
}

/* Are all parts of the axis in the list from place i on? */
static bool lists_whole(const struct axes *axes, const struct axis_list *over, int i)
{
    int first = over->axis[i], parts = parts_from(axes, first);
    if (first > 0 && same_base(axes, first - 1, first))
        return false;
    for (int p = 0; p < parts; p++)
        if (i + p >= over->count || over->axis[i + p] != first + p)
            return false;
    return true;
}

/* mesh['dp'=4,'tp'=2] {'dp'} */
static void print_groups(const struct axes *axes, const struct axis_list *over, char *text, size_t room)
{
    snprintf(text, room, "mesh[");
    for (int a = 0, parts; a < axes->count; a += parts) {
        int n = 1;
        parts = parts_from(axes, a);
        for (int p = 0; p < parts; p++)
            n *= axes->axis[a + p].n;
        text_add(text, room, "%s'%.*s'=%d", a ? "," : "", base_length(axes, a), axes->axis[a].name, n);
    }
    text_add(text, room, "] {");
    for (int i = 0; i < over->count; i++) {
        int axis = over->axis[i], n = base_length(axes, axis);
        bool whole = lists_whole(axes, over, i);
        text_add(text, room, "%s'%.*s'%s", i ? "," : "", n, axes->axis[axis].name,
                 whole ? "" : axes->axis[axis].name + n);
        i += whole ? parts_from(axes, axis) - 1 : 0;
    }
    text_add(text, room, "}");
}

static int32_t groups_of(struct builder *b, const struct axis_list *over)
{
    char text[2 * AXES_TEXT];
    struct groups groups;
    struct status st = {0};
    print_groups(b->axes, over, text, sizeof text);
    for (int32_t g = 0; g < b->module->groupings; g++)
        if (strcmp(module_word(b->module, b->module->groups[g].text), text) == 0)
            return g;
    if (groups_over_axes(b->axes, over, &groups, &st) < 0) {
        builder_fail(b, st.code);
        return 0;
    }
    int32_t made = module_groups(b->module, text, &groups);
    groups_free(&groups);
    return made;
}

static int size_of(const struct builder *b, const struct axis_list *over)
{
    return axis_list_size(over, b->axes);
}

/* Leaves out axes of one device. */
static struct axis_list real_axes(const struct builder *b, const struct axis_list *over)
{
    struct axis_list real = {0};
    for (int i = 0; i < over->count; i++)
        if (b->axes->axis[over->axis[i]].n > 1)
            real.axis[real.count++] = over->axis[i];
    return real;
}

void builder_over_axes(struct builder *b, int32_t made, const struct axis_list *over)
{
    if (b->module->error < 0)
        return;
    b->note[made].over = *over;
    module_attribute(b->module, ATTR_CHANNEL_ID, &(int64_t){++b->channels}, 1);
    module_attribute(b->module, ATTR_REPLICA_GROUPS, &(int64_t){groups_of(b, over)}, 1);
    module_attribute(b->module, ATTR_USE_GLOBAL_DEVICE_IDS, &(int64_t){1}, 1);
}

/* The result of an all-gather or an all-reduce is the same along the axes; the result of a reduce-scatter is
 * not. */
static void note_axes(struct builder_note *note, enum opcode opcode, unsigned set)
{
    bool scatters = opcode == HLO_REDUCE_SCATTER, reduces = opcode == HLO_ALL_REDUCE;
    note->varies = (note->varies & ~(reduces ? set : 0)) | (scatters ? set : 0);
    note->differs = (note->differs & ~(reduces || opcode == HLO_ALL_GATHER ? set : 0)) | (scatters ? set : 0);
}

/* Appends a collective with a dim of its own, or none (-1): a gather makes it longer, and a scatter shorter.
 * */
static int32_t collective(struct builder *b, enum opcode opcode, int32_t a, const struct axis_list *list,
                          int dim)
{
    int64_t size[BUILDER_DIMS];
    struct axis_list over = real_axes(b, list);
    int dims = builder_dims(b, a, size), parts = size_of(b, &over);
    if (over.count == 0)
        return a;
    if (opcode == HLO_ALL_GATHER) {
        size[dim] *= parts;
    } else if (opcode == HLO_REDUCE_SCATTER) {
        assert(size[dim] % parts == 0);
        size[dim] /= parts;
    }
    int32_t made = builder_add(b, opcode, builder_like(b, a, size, dims), &a, 1);
    if (b->module->error < 0)
        return 0;
    builder_over_axes(b, made, &over);
    if (dim >= 0)
        module_attribute(b->module, ATTR_DIMENSIONS, &(int64_t){dim}, 1);
    if (opcode == HLO_REDUCE_SCATTER || opcode == HLO_ALL_REDUCE) {
        int64_t sum = b->sum[builder_dtype(b, a)];
        assert(sum >= 0);
        module_attribute(b->module, ATTR_TO_APPLY, &sum, 1);
    }
    note_axes(&b->note[made], opcode, axis_list_set(&over));
    builder_label(b, made);
    if (b->whole_by_xla && parts == axes_devices(b->axes))
        module_add_label(b->module, "algorithm", "xla");
    return made;
}

int32_t build_all_gather(struct builder *b, int32_t a, const struct axis_list *over, int dim)
{
    return collective(b, HLO_ALL_GATHER, a, over, dim);
}

int32_t build_reduce_scatter(struct builder *b, int32_t a, const struct axis_list *over, int dim)
{
    return collective(b, HLO_REDUCE_SCATTER, a, over, dim);
}

int32_t build_all_reduce(struct builder *b, int32_t a, const struct axis_list *over)
{
    return collective(b, HLO_ALL_REDUCE, a, over, -1);
}

int32_t build_all_to_all(struct builder *b, int32_t a, const struct axis_list *over, int dim)
{
    return collective(b, HLO_ALL_TO_ALL, a, over, dim);
}

int32_t build_permute_pairs(struct builder *b, int32_t a, const int64_t pair[], int pairs)
{
    int32_t made = builder_add(b, HLO_COLLECTIVE_PERMUTE, module_at(b->module, a)->shape, &a, 1);
    module_attribute(b->module, ATTR_CHANNEL_ID, &(int64_t){++b->channels}, 1);
    module_attribute(b->module, ATTR_SOURCE_TARGET_PAIRS, pair, 2 * pairs);
    return builder_label(b, made);
}

int32_t build_block(struct builder *b, int32_t a, int dim, int64_t length, int32_t start)
{
    int64_t size[BUILDER_DIMS];
    int32_t operand[1 + BUILDER_DIMS] = {a};
    int dims = builder_dims(b, a, size);
    size[dim] = length;
    for (int d = 0; d < dims; d++)
        operand[1 + d] = d == dim ? start : build_scalar(b, DTYPE_S32, 0);
    int32_t made = builder_add(b, HLO_DYNAMIC_SLICE, builder_like(b, a, size, dims), operand, 1 + dims);
    module_attribute(b->module, ATTR_DYNAMIC_SLICE_SIZES, size, dims);
    return made;
}

int32_t build_look_up(struct builder *b, const int64_t table[], int n, int32_t index)
{
    int32_t operand[] = {build_table(b, table, n), index};
    if (index < 0)
        operand[1] = builder_add(b, HLO_PARTITION_ID, builder_shape(b, DTYPE_U32, NULL, 0), NULL, 0);
    int32_t one =
        builder_add(b, HLO_DYNAMIC_SLICE, builder_shape(b, DTYPE_S32, &(int64_t){1}, 1), operand, 2);
    module_attribute(b->module, ATTR_DYNAMIC_SLICE_SIZES, &(int64_t){1}, 1);
    return builder_add(b, HLO_RESHAPE, builder_shape(b, DTYPE_S32, NULL, 0), &one, 1);
}

/* The first element of the block of each device, by its position in the list. */
static int32_t block_start(struct builder *b, const struct axis_list *over, int64_t block)
{
    int devices = axes_devices(b->axes);
    int64_t *start = malloc((size_t)devices * sizeof *start);
    if (!start) {
        builder_fail(b, STATUS_NOMEM);
        return 0;
    }
    for (int d = 0; d < devices; d++)
        start[d] = block * axis_list_position(over, b->axes, d);
    int32_t first = build_look_up(b, start, devices, -1);
    free(start);
    return first;
}

int32_t build_own_block(struct builder *b, int32_t a, const struct axis_list *list, int dim)
{
    struct axis_list over = real_axes(b, list);
    int64_t size[BUILDER_DIMS];
    int parts = size_of(b, &over);
    builder_dims(b, a, size);
    if (over.count == 0)
        return a;
    assert(size[dim] % parts == 0);
    int64_t block = size[dim] / parts;
    int32_t made = build_block(b, a, dim, block, block_start(b, &over, block));
    if (b->module->error < 0)
        return 0;
    b->note[made].over = over;
    b->note[made].varies |= axis_list_set(&over);
    b->note[made].differs |= axis_list_set(&over);
    return builder_label(b, made);
}
