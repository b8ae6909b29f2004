/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/gradient.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "compile/pass.h"
#include "model/tensor.h"
#include "model/vjp.h"

static bool open_vjp(struct vjp *vjp, struct builder *b)
{
    const struct module *module = b->module;
    *vjp = (struct vjp){.b = b, .first = module->computation[module->computations - 1].first};
    vjp->count = module->instructions - vjp->first;
    vjp->head = malloc((size_t)vjp->count * sizeof *vjp->head);
    vjp->wanted = calloc((size_t)vjp->count, sizeof *vjp->wanted);
    if (!vjp->head || !vjp->wanted)
        return false;
    memset(vjp->head, -1, (size_t)vjp->count * sizeof *vjp->head);
    return true;
}

static void close_vjp(struct vjp *vjp)
{
    free(vjp->head);
    free(vjp->wanted);
    free(vjp->part);
}

bool vjp_wants(const struct vjp *vjp, int32_t value)
{
    return value >= vjp->first && value < vjp->first + vjp->count && vjp->wanted[value - vjp->first];
}

void vjp_add(struct vjp *vjp, int32_t value, int32_t part, unsigned axes)
{
    if (!vjp_wants(vjp, value))
        return;
    if (!GROW(vjp->part, vjp->parts, vjp->room)) {
        builder_fail(vjp->b, STATUS_NOMEM);
        return;
    }
    axes |= builder_note(vjp->b, value).differs;
    vjp->part[vjp->parts] = (struct vjp_part){part, axes, vjp->head[value - vjp->first]};
    vjp->head[value - vjp->first] = vjp->parts++;
}

/* Does an instruction pass on no cotangent? Comparisons do not, nor maxima, which count as constants. */
static bool is_constant(const struct builder *b, int32_t at)
{
    enum opcode opcode = module_at(b->module, at)->opcode;
    return opcode == HLO_COMPARE ||
           (opcode == HLO_REDUCE &&
            module_number(b->module, at, ATTR_TO_APPLY, -1) != b->sum[builder_dtype(b, at)]);
}

/* Marks instructions that depend on one of the values, and can pass a cotangent on to it. */
static void mark_wanted(struct vjp *vjp, const struct gradient gradient[], int count)
{
    const struct module *module = vjp->b->module;
    for (int i = 0; i < count; i++)
        vjp->wanted[gradient[i].value - vjp->first] = true;
    for (int32_t at = vjp->first; at < vjp->first + vjp->count; at++) {
        if (is_constant(vjp->b, at))
            continue;
        for (int o = 0; o < module_at(module, at)->operands; o++)
            if (vjp_wants(vjp, module_operand(module, at, o)))
                vjp->wanted[at - vjp->first] = true;
    }
}

/* Adds up the first part of the list and all parts with the same axes; the others stay in the list. */
static struct vjp_part sum_alike(struct vjp *vjp, int32_t *list)
{
    struct vjp_part sum = vjp->part[*list];
    int32_t rest = -1;
    for (int32_t at = sum.next, next; at >= 0; at = next) {
        struct vjp_part *part = &vjp->part[at];
        next = part->next;
        if (part->axes == sum.axes) {
            sum.value = build_binary(vjp->b, HLO_ADD, sum.value, part->value);
        } else {
            part->next = rest;
            rest = at;
        }
    }
    *list = rest;
    return sum;
}

static void reduce(struct vjp *vjp, struct vjp_part *part, unsigned axes)
{
    struct axis_list over = axis_list_of_set(axes);
    part->value = build_all_reduce(vjp->b, part->value, &over);
    part->axes &= ~axes;
}

/* Sums the parts of a value's cotangent: first the parts that are partial along the same axes, then over axes
 * outside of `keep` by all-reduces. */
static struct vjp_part sum_parts(struct vjp *vjp, int32_t value, unsigned keep)
{
    int32_t list = vjp->head[value - vjp->first];
    struct vjp_part total = sum_alike(vjp, &list);
    reduce(vjp, &total, total.axes & ~keep);
    while (list >= 0) {
        struct vjp_part more = sum_alike(vjp, &list);
        reduce(vjp, &more, more.axes & ~keep);
        /* one part is whole along an axis and the other partial: both are made whole */
        unsigned both = more.axes & total.axes;
        reduce(vjp, &more, more.axes & ~both);
        reduce(vjp, &total, total.axes & ~both);
        total.value = build_binary(vjp->b, HLO_ADD, total.value, more.value);
    }
    return total;
}

/* Passes on the parts of a gather's cotangent that XLA scatters in loops of their own, beside the products that make them. */
static void scatter_beside(struct vjp *vjp, int32_t at)
{
    struct builder *b = vjp->b;
    int32_t *head = &vjp->head[at - vjp->first], part = *head;
    int n = axis_list_size(&b->note[at].over, b->axes);
    *head = -1;
    for (int32_t next; part >= 0; part = next) {
        struct vjp_rule rule = {vjp, b, at, vjp->part[part].value, vjp->part[part].axes};
        next = vjp->part[part].next;
        if (module_at(b->module, rule.c)->opcode == HLO_DOT &&
            overlap_pays(b->module, rule.c, shape_elements(b->module, module_at(b->module, rule.c)->shape), n,
                         b->loop_columns)) {
            vjp_apply(&rule);
            continue;
        }
        vjp->part[part].next = *head;
        *head = part;
    }
}

static void walk_back(struct vjp *vjp, int32_t from)
{
    struct builder *b = vjp->b;
    char what[TENSOR_NAME], layer[24];
    for (int32_t at = from; at >= vjp->first && b->module->error == 0; at--) {
        enum opcode opcode = module_at(b->module, at)->opcode;
        if (!vjp->wanted[at - vjp->first] || vjp->head[at - vjp->first] < 0)
            continue;
        b->layer = module_label(b->module, at, "layer", layer, sizeof layer) ? atoi(layer) : 0;
        b->what = module_label(b->module, at, "what", what, sizeof what) ? what : NULL;
        if (opcode == HLO_ALL_GATHER && b->loop_columns > 0)
            scatter_beside(vjp, at);
        if (vjp->head[at - vjp->first] < 0)
            continue;
        /* sums over devices wait until what only repeats or renames elements is passed */
        bool passes = opcode == HLO_BROADCAST || opcode == HLO_RESHAPE || opcode == HLO_TRANSPOSE;
        struct vjp_part sum = sum_parts(vjp, at, passes ? ~0u : builder_note(b, at).varies);
        if (b->module->error < 0)
            return;
        vjp->head[at - vjp->first] = -1;
        vjp_add(vjp, at, sum.value, sum.axes); /* the caller may want it */
        struct vjp_rule rule = {vjp, b, at, sum.value, sum.axes};
        if (builder_note(b, at).instead)
            vjp_add(vjp, builder_note(b, at).instead, sum.value, sum.axes);
        else if (opcode != HLO_PARAMETER && !vjp_apply(&rule))
            tensor_fail(b, "%s: no rule says what its backward pass is", module_name_at(b->module, at));
    }
}

void gradient_append(struct builder *b, int32_t result, int32_t seed, struct gradient gradient[], int count)
{
    struct vjp vjp;
    struct builder before = *b;
    if (b->module->error < 0)
        return;
    if (!open_vjp(&vjp, b)) {
        close_vjp(&vjp);
        builder_fail(b, STATUS_NOMEM);
        return;
    }
    mark_wanted(&vjp, gradient, count);
    b->phase = "bwd";
    b->layer = 0;
    b->what = NULL;
    for (int i = 0; i < count; i++)
        if (gradient[i].before >= 0)
            vjp_add(&vjp, gradient[i].part_of, gradient[i].before,
                    builder_note(b, gradient[i].part_of).varies);
    vjp_add(&vjp, result, seed >= 0 ? seed : build_fill(b, 1, result), builder_note(b, result).differs);
    walk_back(&vjp, result);
    for (int i = 0; i < count; i++) {
        int32_t part = vjp.head[gradient[i].value - vjp.first];
        gradient[i].made = part >= 0 ? vjp.part[part].value : -1;
    }
    close_vjp(&vjp);
    b->phase = before.phase;
    b->layer = before.layer;
    b->what = before.what;
}
