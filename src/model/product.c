/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products of tensors: what is gathered before, and summed, scattered or gathered after. */
#include <assert.h>
#include <stdio.h>

#include "model/cuts.h"

struct product {
    struct tensor side[2];
    const struct dot_dims *how;
    int from[TENSOR_DIMS][2]; /* of a dim of the result: operand and dim; of batch dims the left one's */
    struct axis_list partial; /* devices along these hold parts of the sums */
    struct tensor out;        /* its cuts when the product is done */
};

/* Batch dims, then what is left of each operand. */
static void lay_out(struct product *p)
{
    const struct dot_dims *how = p->how;
    for (int i = 0; i < how->batches; i++, p->out.dims++) {
        p->from[p->out.dims][0] = 0;
        p->from[p->out.dims][1] = (int)how->batch[0][i];
    }
    for (int s = 0; s < 2; s++)
        for (int d = 0; d < p->side[s].dims; d++) {
            if (module_dim_in(how->batch[s], how->batches, d) >= 0 ||
                module_dim_in(how->contract[s], how->contracted, d) >= 0)
                continue;
            assert(p->out.dims < TENSOR_DIMS);
            p->from[p->out.dims][0] = s;
            p->from[p->out.dims++][1] = d;
        }
}

static struct axis_list *cut_of(struct product *p, int o)
{
    return &p->side[p->from[o][0]].dim[p->from[o][1]].shard;
}

/* How many axes each dim of the operands keeps. */
struct keep {
    int of[2][TENSOR_DIMS];
};

static void keep_common(struct product *p, struct keep *keep, int64_t left, int64_t right)
{
    int common = cuts_common(&p->side[0].dim[left].shard, &p->side[1].dim[right].shard);
    keep->of[0][left] = keep->of[1][right] = common;
}

/* Contracted dims stay cut as far as both operands are cut alike, and make partial sums; batch dims stay so, too. */
static void meet(struct product *p, struct keep *keep)
{
    const struct dot_dims *how = p->how;
    for (int s = 0; s < 2; s++)
        for (int d = 0; d < p->side[s].dims; d++)
            keep->of[s][d] = p->side[s].dim[d].shard.count;
    for (int i = 0; i < how->batches; i++)
        keep_common(p, keep, how->batch[0][i], how->batch[1][i]);
    for (int i = 0; i < how->contracted; i++) {
        keep_common(p, keep, how->contract[0][i], how->contract[1][i]);
        const struct axis_list *cut = &p->side[0].dim[how->contract[0][i]].shard;
        for (int a = 0; a < keep->of[0][how->contract[0][i]]; a++)
            p->partial.axis[p->partial.count++] = cut->axis[a];
    }
}

/* Does another dim of the result, as the operands are cut, have one of the axes of dim `o` from `keep` on. */
static bool clashes(struct product *p, int o, int keep)
{
    const struct axis_list *cut = cut_of(p, o);
    for (int i = keep; i < cut->count; i++)
        for (int other = 0; other < p->out.dims; other++)
            if (other != o && cuts_has(cut_of(p, other), cut->axis[i]))
                return true;
    return false;
}

/* A dim that the result has cut less is gathered before, as a loop can gather it while it multiplies; but partial sums
 * are smaller than operands, so that these are gathered after, where the axes are not needed elsewhere. */
static void gather_for(struct product *p, struct keep *keep, const struct tensor *wanted)
{
    for (int o = 0; o < p->out.dims; o++) {
        int s = p->from[o][0], d = p->from[o][1], *own = &keep->of[s][d];
        int common = cuts_common(cut_of(p, o), &wanted->dim[o].shard);
        if (common >= *own || (p->partial.count > 0 && !clashes(p, o, common)))
            continue;
        *own = common;
        if (o < p->how->batches)
            keep->of[1][p->how->batch[1][o]] = common;
    }
}

/* The result is cut as the operands are. An axis that cuts dims of both would leave each device a block of the diagonal. */
static int keep_cuts(struct product *p, const struct axes *axes, struct status *st)
{
    for (int o = 0; o < p->out.dims; o++)
        p->out.dim[o] = p->side[p->from[o][0]].dim[p->from[o][1]];
    for (int o = 0; o < p->out.dims; o++)
        for (int other = 0; other < o; other++)
            for (int i = 0; i < p->out.dim[o].shard.count; i++)
                if (cuts_has(&p->out.dim[other].shard, p->out.dim[o].shard.axis[i]))
                    return status_fail(
                        st, STATUS_INPUT,
                        "axis %s cuts dims %d and %d of the product; gather one operand: leave one of "
                        "them uncut in the output",
                        axes->axis[p->out.dim[o].shard.axis[i]].name, other, o);
    return 0;
}

/* Gathers of the operands, the left one's first, and of an operand from its last dim to its first. */
static void gather_operands(struct builder *b, struct product *p, const struct keep *keep)
{
    for (int s = 0; s < 2; s++)
        for (int d = p->side[s].dims - 1; d >= 0; d--)
            if (keep->of[s][d] < p->side[s].dim[d].shard.count)
                cuts_gather(b, &p->side[s], d, keep->of[s][d]);
}

/* Is the product cut by an axis already, or are its sums partial over it? */
static bool in_use(struct product *p, int axis)
{
    bool used = cuts_has(&p->partial, axis);
    for (int o = 0; o < p->out.dims && !used; o++)
        used = cuts_has(cut_of(p, o), axis);
    return used;
}

/* A dim of the result that is to be cut next by axes that nothing of the product is cut by: of the operand, the own part. */
static void cut_operands(struct builder *b, struct product *p, const struct tensor *wanted)
{
    for (int o = p->how->batches; o < p->out.dims; o++) {
        const struct axis_list *cut = cut_of(p, o), *want = &wanted->dim[o].shard;
        struct axis_list more = {0};
        for (int i = cut->count; cuts_begins(want, cut) && i < want->count && !in_use(p, want->axis[i]); i++)
            more.axis[more.count++] = want->axis[i];
        if (more.count > 0)
            cuts_own(b, &p->side[p->from[o][0]], p->from[o][1], &more);
    }
}

static void take_out(struct axis_list *list, const struct axis_list *axes)
{
    struct axis_list left = {0};
    for (int i = 0; i < list->count; i++)
        if (!cuts_has(axes, list->axis[i]))
            left.axis[left.count++] = list->axis[i];
    *list = left;
}

/* Partial sums are scattered where the result is to be cut by their axes, and reduced over the others. */
static void sum_up(struct builder *b, struct product *p, const struct tensor *wanted)
{
    for (int o = 0; wanted && o < p->out.dims; o++) {
        struct axis_list *cut = &p->out.dim[o].shard, more = {0};
        const struct axis_list *want = &wanted->dim[o].shard;
        if (!cuts_begins(want, cut))
            continue;
        for (int i = cut->count; i < want->count && cuts_has(&p->partial, want->axis[i]); i++)
            more.axis[more.count++] = want->axis[i];
        if (more.count == 0)
            continue;
        cuts_scatter(b, &p->out, o, &more);
        take_out(&p->partial, &more);
    }
    p->out.value = build_all_reduce(b, p->out.value, &p->partial);
}

/* "('X', 'Y')", as Python prints a tuple. */
static char *print_tuple(const struct axis_list *list, const struct axes *axes, char *text, size_t room)
{
    size_t used = (size_t)snprintf(text, room, "(");
    for (int i = 0; i < list->count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s'%s'%s", i ? " " : "",
                                 axes->axis[list->axis[i]].name,
                                 i + 1 < list->count || list->count == 1 ? "," : "");
    if (used < room)
        snprintf(text + used, room - used, ")");
    return text;
}

/* JAX's words for it (ShardingTypeError of dot_general). */
static int refuse_ambiguous(const struct product *p, const struct axes *axes, struct status *st)
{
    char left[AXES_TEXT], right[AXES_TEXT];
    const struct dot_dims *how = p->how;
    return status_fail(
        st, STATUS_INPUT,
        "contracting dimensions are sharded and it is ambiguous how the output should be sharded. "
        "Got lhs_contracting_spec=%s and rhs_contracting_spec=%s",
        print_tuple(&p->side[0].dim[how->contract[0][0]].shard, axes, left, sizeof left),
        print_tuple(&p->side[1].dim[how->contract[1][0]].shard, axes, right, sizeof right));
}

int tensor_product(struct builder *b, const struct tensor *left, const struct tensor *right,
                   const struct dot_dims *how, const struct tensor *wanted, enum dtype_id dtype,
                   struct tensor *out, struct status *st)
{
    struct product p = {.side = {*left, *right}, .how = how};
    struct keep keep;
    lay_out(&p);
    meet(&p, &keep);
    if (wanted)
        gather_for(&p, &keep, wanted);
    else if (p.partial.count)
        return keep_cuts(&p, b->axes, st) < 0 ? st->code : refuse_ambiguous(&p, b->axes, st);
    gather_operands(b, &p, &keep);
    if (wanted)
        cut_operands(b, &p, wanted);
    if (keep_cuts(&p, b->axes, st) < 0)
        return st->code;
    p.out.value = build_dot(b, p.side[0].value, p.side[1].value, how, dtype);
    sum_up(b, &p, wanted);
    *out = p.out;
    return wanted ? tensor_reshard(b, out, wanted, st) : 0;
}
