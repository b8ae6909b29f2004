/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matmuls of tensors: gathers before, and sums, scatters or gathers after them. */
#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "model/tensor.h"

struct matmul {
    struct builder *b;
    struct tensor side[2];
    int batches;              /* leading dims of both sides, sharded alike when multiplied */
    int contracted[2];        /* a dim of each side */
    int keep[2][TENSOR_DIMS]; /* so many axes of each dim of the operands stay */
    struct {
        int side, dim;
    } from[TENSOR_DIMS];      /* where a dim of the result comes from */
    struct axis_list partial; /* devices along these axes hold partial sums */
    struct tensor out;        /* its sharding after the matmul */
};

/* The result has the remaining dims of each operand. Contracted dims stay sharded as far as both are sharded
 * alike, and make partial sums. */
static void lay_out(struct matmul *m)
{
    m->batches = tensor_batches(&m->side[0], &m->side[1]);
    m->contracted[1] += m->batches;
    for (int s = 0; s < 2; s++)
        for (int d = 0; d < m->side[s].dims; d++) {
            m->keep[s][d] = m->side[s].dim[d].shard.count;
            if (d == m->contracted[s] || (s == 1 && d < m->batches))
                continue;
            assert(m->out.dims < TENSOR_DIMS);
            m->from[m->out.dims].side = s;
            m->from[m->out.dims++].dim = d;
        }
    m->partial = m->side[0].dim[m->contracted[0]].shard;
    m->partial.count = axis_list_common(&m->partial, &m->side[1].dim[m->contracted[1]].shard);
    for (int s = 0; s < 2; s++)
        m->keep[s][m->contracted[s]] = m->partial.count;
}

static struct axis_list *cut_of(struct matmul *m, int o)
{
    return &m->side[m->from[o].side].dim[m->from[o].dim].shard;
}

/* The dim of the result, other than `except`, that an operand shards over an axis; or -1. */
static int cut_by(struct matmul *m, int axis, int except)
{
    for (int o = 0; o < m->out.dims; o++)
        if (o != except && axis_list_has(cut_of(m, o), axis))
            return o;
    return -1;
}

/* Does another dim of the result have one of the axes of dim `o` from `keep` on? */
static bool clashes(struct matmul *m, int o, int keep)
{
    const struct axis_list *cut = cut_of(m, o);
    for (int i = keep; i < cut->count; i++)
        if (cut_by(m, cut->axis[i], o) >= 0)
            return true;
    return false;
}

/* A dim that the result shards less is gathered before the product, as a loop can gather it while it
 * multiplies; but partial sums are smaller than operands, so they are gathered after it if the axes are not
 * needed elsewhere. */
static void gather_for(struct matmul *m, const struct tensor *wanted)
{
    for (int o = 0; o < m->out.dims; o++) {
        int *keep = &m->keep[m->from[o].side][m->from[o].dim];
        int common = axis_list_common(cut_of(m, o), &wanted->dim[o].shard);
        if (common < *keep && (m->partial.count == 0 || clashes(m, o, common)))
            *keep = common;
    }
}

/* The result is sharded as the operands are. An axis that shards dims of both would leave each device a
 * diagonal block. */
static bool keep_cuts(struct matmul *m)
{
    for (int o = 0; o < m->out.dims; o++)
        m->out.dim[o] = m->side[m->from[o].side].dim[m->from[o].dim];
    for (int o = 0; o < m->out.dims; o++)
        for (int i = 0; i < cut_of(m, o)->count; i++) {
            int axis = cut_of(m, o)->axis[i], other = cut_by(m, axis, o);
            if (other < 0)
                continue;
            tensor_fail(m->b,
                        "axis %s cuts dims %d and %d of the product; gather one operand: leave one of "
                        "them uncut in the output",
                        m->b->axes->axis[axis].name, o, other);
            return false;
        }
    return true;
}

/* Gathers the operands, the left one first. */
static void gather_operands(struct matmul *m)
{
    for (int s = 0; s < 2; s++) {
        struct tensor gathered = m->side[s];
        for (int d = 0; d < gathered.dims; d++)
            gathered.dim[d].shard.count = m->keep[s][d];
        m->side[s] = tensor_reshard(m->b, &m->side[s], &gathered);
    }
}

/* If a dim of the result is to be sharded next over axes that nothing in the product uses, and over which no
 * sums are partial, takes the operand's own block. */
static void cut_operands(struct matmul *m, const struct tensor *wanted)
{
    for (int o = 0; o < m->out.dims; o++) {
        struct tensor *side = &m->side[m->from[o].side], own = *side;
        const struct axis_list *cut = cut_of(m, o), *want = &wanted->dim[o].shard;
        struct axis_list *more = &own.dim[m->from[o].dim].shard;
        if (axis_list_common(want, cut) < cut->count)
            continue;
        for (int i = cut->count; i < want->count; i++) {
            if (axis_list_has(&m->partial, want->axis[i]) || cut_by(m, want->axis[i], -1) >= 0)
                break;
            more->axis[more->count++] = want->axis[i];
        }
        *side = tensor_reshard(m->b, side, &own);
    }
}

/* Partial sums are scattered if the result is to be sharded over their axes, and reduced over the others. The
 * textbook requires these axes to be the next ones; else they may be reordered later. */
static void sum_up(struct matmul *m, const struct tensor *wanted, bool anywhere)
{
    for (int o = 0; wanted && o < m->out.dims; o++) {
        struct axis_list *cut = &m->out.dim[o].shard, more = {0}, left = {0};
        const struct axis_list *want = &wanted->dim[o].shard;
        if (!anywhere && axis_list_common(want, cut) < cut->count)
            continue;
        for (int i = anywhere ? 0 : cut->count; i < want->count; i++)
            if (axis_list_has(&m->partial, want->axis[i]))
                more.axis[more.count++] = want->axis[i];
            else if (!anywhere)
                break;
        int parts = axis_list_size(cut, m->b->axes) * axis_list_size(&more, m->b->axes);
        if (more.count == 0 || m->out.dim[o].n % parts != 0)
            continue;
        m->out.value = build_reduce_scatter(m->b, m->out.value, &more, o);
        axis_list_append(cut, &more);
        for (int i = 0; i < m->partial.count; i++)
            if (!axis_list_has(&more, m->partial.axis[i]))
                left.axis[left.count++] = m->partial.axis[i];
        m->partial = left;
    }
    m->out.value = build_all_reduce(m->b, m->out.value, &m->partial);
}

/* "('X', 'Y')", as Python prints a tuple. */
static char *print_tuple(const struct axis_list *list, const struct axes *axes, char *text, size_t room)
{
    strcpy(text, "(");
    for (int i = 0; i < list->count; i++)
        text_add(text, room, "%s'%s'%s", i ? " " : "", axes->axis[list->axis[i]].name,
                 i + 1 < list->count || list->count == 1 ? "," : "");
    return text_add(text, room, ")");
}

/* Fails in JAX's words (ShardingTypeError of dot_general). */
static void refuse_ambiguous(const struct matmul *m)
{
    char text[2][AXES_TEXT];
    for (int s = 0; s < 2; s++)
        print_tuple(&m->side[s].dim[m->contracted[s]].shard, m->b->axes, text[s], sizeof text[s]);
    tensor_fail(m->b,
                "contracting dimensions are sharded and it is ambiguous how the output should be sharded. "
                "Got lhs_contracting_spec=%s and rhs_contracting_spec=%s",
                text[0], text[1]);
}

/* An instruction that only slices or transposes an operand is fused with the product that reads it, and adds
 * no bytes. */
static void fuse(struct builder *b, int32_t value)
{
    for (; b->module->error == 0; value = module_operand(b->module, value, 0)) {
        enum opcode opcode = module_at(b->module, value)->opcode;
        if (opcode == HLO_TRANSPOSE || opcode == HLO_DYNAMIC_SLICE)
            module_add_label_to(b->module, value, "hbm_bytes", "0");
        else if (opcode != HLO_RESHAPE)
            return;
    }
}

/* Moves the operands to the shardings of a plan. */
static void move_operands(struct matmul *m, const struct product_plan *plan)
{
    for (int s = 0; s < 2; s++) {
        struct tensor cut = m->side[s];
        cut.dim[m->contracted[s]].shard = plan->contracted;
        for (int o = 0; o < m->out.dims; o++)
            if (m->from[o].side == s || o < m->batches)
                cut.dim[m->from[o].dim].shard = plan->dim[o];
        m->side[s] = tensor_move(m->b, &m->side[s], &cut, plan->moves);
        fuse(m->b, m->side[s].value);
    }
    m->partial = plan->contracted;
}

/* The product of operands whose shardings are as it needs them. */
static void multiply(struct matmul *m, const struct tensor *wanted, bool anywhere, enum dtype_id dtype)
{
    struct dot_dims how = {m->batches, 1, .contract = {{m->contracted[0]}, {m->contracted[1]}}};
    for (int d = 0; d < m->batches; d++)
        how.batch[0][d] = how.batch[1][d] = d;
    if (!keep_cuts(m))
        return;
    m->out.value = build_dot(m->b, m->side[0].value, m->side[1].value, &how, dtype);
    sum_up(m, wanted, anywhere);
}

/* The textbook's sharding of a batched product: batch dims as far as their operands and the result agree. */
static struct product_plan plan_batches(struct matmul *m, const struct tensor *wanted)
{
    struct product_plan plan = {.contracted = m->partial};
    for (int o = 0; o < m->out.dims; o++) {
        plan.dim[o] = *cut_of(m, o);
        if (wanted)
            plan.dim[o].count = axis_list_common(&plan.dim[o], &wanted->dim[o].shard);
        if (o < m->batches)
            plan.dim[o].count = axis_list_common(&plan.dim[o], &m->side[1].dim[o].shard);
    }
    return plan;
}

struct tensor tensor_matmul_as(struct builder *b, const struct tensor *left, const struct tensor *right,
                               const struct product_plan *plan, const struct tensor *wanted,
                               enum dtype_id dtype)
{
    struct matmul m = {.b = b, .side = {*left, *right}, .contracted = {left->dims - 1, 0}};
    if (b->module->error)
        return *wanted;
    lay_out(&m);
    move_operands(&m, plan);
    multiply(&m, wanted, plan->moves & MOVE_PERMUTE, dtype);
    return b->module->error ? *wanted : tensor_move(b, &m.out, wanted, plan->moves);
}

struct tensor tensor_matmul(struct builder *b, const struct tensor *left, const struct tensor *right,
                            int contracted, const struct tensor *wanted, enum dtype_id dtype)
{
    struct matmul m = {.b = b, .side = {*left, *right}, .contracted = {left->dims - 1, contracted}};
    if (b->module->error)
        return wanted ? *wanted : *left;
    lay_out(&m);
    if (wanted) {
        gather_for(&m, wanted);
    } else if (m.partial.count) {
        if (keep_cuts(&m))
            refuse_ambiguous(&m);
        return m.out;
    }
    if (m.batches) {
        const struct product_plan plan = plan_batches(&m, wanted);
        move_operands(&m, &plan);
    } else {
        gather_operands(&m);
        if (wanted)
            cut_operands(&m, wanted);
    }
    multiply(&m, wanted, false, dtype);
    return wanted && !b->module->error ? tensor_reshard(b, &m.out, wanted) : m.out;
}
