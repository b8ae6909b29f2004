/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of collectives, which are JAX's transposition rules (gradient.h). */
#include <assert.h>
#include <stdlib.h>

#include "model/tensor.h"
#include "model/vjp.h"

/* Along the axes of the gather, devices either all hold partial sums of the cotangent, or all hold the same value. */
static void of_all_gather(struct vjp_rule *r, const struct axis_list *over, int dim)
{
    unsigned own = axis_list_set(over), shares = r->axes & own;
    int32_t c = r->c;
    if (shares && shares != own) {
        struct axis_list first = axis_list_of_set(shares);
        c = build_all_reduce(r->b, c, &first);
        shares = 0;
    }
    r->axes |= own;
    if (shares && (own & ~r->b->whole_sums) == 0) {
        c = build_all_reduce(r->b, c, over);
        module_add_label_to(r->b->module, c, "whole", "true");
        shares = 0;
    }
    vjp_give(r, 0, (shares ? build_reduce_scatter : build_own_block)(r->b, c, over, dim));
}

static void of_permute(struct vjp_rule *r)
{
    int count;
    const int64_t *pair = module_numbers(r->b->module, r->at, ATTR_SOURCE_TARGET_PAIRS, &count);
    int64_t *back = malloc((size_t)count * sizeof *back);
    if (!back) {
        builder_fail(r->b, STATUS_NOMEM);
        return;
    }
    for (int i = 0; i < count; i++)
        back[i] = pair[i ^ 1];
    vjp_give(r, 0, build_permute_pairs(r->b, r->c, back, count / 2));
    free(back);
}

/* The label of the rows that go back, from that of the rows that came. */
static int turn_rows(const struct vjp_rule *r, const struct axis_list *over, struct ragged_rows *turned,
                     struct status *st)
{
    struct groups groups = {0};
    struct ragged_rows rows = {0};
    int code = groups_over_axes(r->b->axes, over, &groups, st);
    if (code == 0)
        code = ragged_rows_of(r->b->module, r->at, groups.size, &rows, st);
    if (code == 0 && rows.row)
        code = ragged_rows_turned(&rows, groups.member, turned, st);
    ragged_rows_free(&rows);
    groups_free(&groups);
    return code;
}

/* Operands: input, output, input offsets, send sizes, output offsets (at the receivers), receive sizes. Two small
 * all-to-alls tell each device where the rows that it received came from, and where its own rows are at their
 * receivers. The output that rows were written into is a constant. */
static void of_ragged(struct vjp_rule *r, const struct axis_list *over)
{
    struct builder *b = r->b;
    struct ragged_rows turned = {0};
    struct status st = {0};
    int32_t part[6];
    for (int o = 0; o < 6; o++)
        part[o] = vjp_operand(r, o);
    assert(!vjp_wants(r->vjp, part[1]));
    if (turn_rows(r, over, &turned, &st) < 0) {
        tensor_fail_as(b, &st);
        return;
    }
    const char *what = b->what;
    b->what = "offsets";
    int32_t offset[2] = {build_all_to_all(b, part[4], over, 0)};
    offset[1] = build_all_to_all(b, part[2], over, 0);
    b->what = what;
    int32_t zero = build_fill(b, 0, part[0]), size[] = {part[5], part[3]};
    vjp_give(r, 0, build_ragged_all_to_all(b, r->c, zero, offset, size, over, &turned));
    ragged_rows_free(&turned);
}

bool vjp_apply_to_collective(struct vjp_rule *r)
{
    const struct axis_list over = builder_note(r->b, r->at).over;
    int64_t size[BUILDER_DIMS], was[BUILDER_DIMS];
    int dim = (int)module_number(r->b->module, r->at, ATTR_DIMENSIONS, 0);
    struct status ignored = {0};
    char type[16];
    if (module_label(r->b->module, r->at, "cotangent", type, sizeof type))
        r->c = build_convert(r->b, r->c, (enum dtype_id)dtype_by_name(type, &ignored));
    switch (module_at(r->b->module, r->at)->opcode) {
    case HLO_ALL_GATHER:
        of_all_gather(r, &over, dim);
        return true;
    case HLO_REDUCE_SCATTER:
        vjp_give(r, 0, build_all_gather(r->b, r->c, &over, dim));
        return true;
    case HLO_ALL_REDUCE:
        vjp_give(r, 0, r->c);
        return true;
    case HLO_ALL_TO_ALL:
        vjp_give(r, 0, build_all_to_all(r->b, r->c, &over, dim));
        return true;
    case HLO_COLLECTIVE_PERMUTE:
        of_permute(r);
        return true;
    case HLO_RAGGED_ALL_TO_ALL:
        of_ragged(r, &over);
        return true;
    case HLO_DYNAMIC_SLICE: /* the device's own block, if it is over axes */
        if (over.count == 0)
            return false;
        r->axes &= ~axis_list_set(&over);
        vjp_give(r, 0, build_all_gather(r->b, r->c, &over, vjp_changed_dim(r, size, was)));
        return true;
    default:
        return false;
    }
}
