/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From shardings to what must be communicated. */
#include <stdio.h>
#include <string.h>

#include "matmul/matmul.h"

static bool same_list(const struct axis_list *a, const struct axis_list *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (a->axis[i] != b->axis[i])
            return false;
    return true;
}

enum collective_id matmul_move_op(enum matmul_move_kind kind)
{
    static const enum collective_id ops[] = {[MOVE_GATHER_LEFT] = COLLECTIVE_ALL_GATHER,
                                             [MOVE_GATHER_RIGHT] = COLLECTIVE_ALL_GATHER,
                                             [MOVE_SCATTER] = COLLECTIVE_REDUCE_SCATTER,
                                             [MOVE_REDUCE] = COLLECTIVE_ALL_REDUCE,
                                             [MOVE_GATHER_OUT] = COLLECTIVE_ALL_GATHER};
    return ops[kind];
}

const struct expr_tensor *matmul_moved(const struct matmul_product *p, enum matmul_move_kind kind)
{
    return kind == MOVE_GATHER_LEFT ? &p->left : kind == MOVE_GATHER_RIGHT ? &p->right : &p->out;
}

/* What `longer` has after `shorter`; false if it does not begin with it. */
static bool rest_after(const struct axis_list *shorter, const struct axis_list *longer,
                       struct axis_list *rest)
{
    *rest = (struct axis_list){0};
    if (longer->count < shorter->count)
        return false;
    for (int i = 0; i < longer->count; i++) {
        if (i < shorter->count && shorter->axis[i] != longer->axis[i])
            return false;
        if (i >= shorter->count)
            rest->axis[rest->count++] = longer->axis[i];
    }
    return true;
}

static void add_move(struct matmul_product *p, enum matmul_move_kind kind, int dim,
                     const struct axis_list *axes)
{
    if (p->moves < MATMUL_MOVES)
        p->move[p->moves++] = (struct matmul_move){kind, dim, *axes};
}

/* Contracting dims: gathers, or the axes over which sums are partial. */
static void infer_contracting(struct matmul_product *p, struct axis_list *partial)
{
    const struct axis_list *left = &p->left.dim[1].shard, *right = &p->right.dim[0].shard;
    *partial = (struct axis_list){0};
    if (same_list(left, right)) {
        *partial = *left;
        return;
    }
    if (left->count)
        add_move(p, MOVE_GATHER_LEFT, 1, left);
    if (right->count)
        add_move(p, MOVE_GATHER_RIGHT, 0, right);
}

/* One dim of the output. `dim` is 0 for the rows, which come from the left operand, 1 for the columns. Sets how it is
 * sharded when the product is done, and the moves after it. */
static int infer_output_dim(struct matmul_product *p, int dim, struct axis_list *partial,
                            struct matmul_move *later, int *laters, const struct axes *axes,
                            struct status *st)
{
    const struct expr_dim *have = dim ? &p->right.dim[1] : &p->left.dim[0];
    const struct axis_list *want = &p->out.dim[dim].shard;
    struct axis_list rest;
    p->done[dim] = *have;
    if (same_list(&have->shard, want))
        return 0;
    if (partial->count && rest_after(&have->shard, want, &rest) && same_list(&rest, partial)) {
        later[(*laters)++] = (struct matmul_move){MOVE_SCATTER, dim, rest};
        *partial = (struct axis_list){0};
        return 0;
    }
    if (want->count == 0) {
        /* Partial sums are smaller than operands: gather what is done. Else gather the operand, as a loop can. */
        if (p->left.dim[1].shard.count && same_list(&p->left.dim[1].shard, &p->right.dim[0].shard)) {
            later[(*laters)++] = (struct matmul_move){MOVE_GATHER_OUT, dim, have->shard};
            return 0;
        }
        add_move(p, dim ? MOVE_GATHER_RIGHT : MOVE_GATHER_LEFT, dim, &have->shard);
        p->done[dim].shard = (struct axis_list){0};
        return 0;
    }
    char from[AXES_TEXT], to[AXES_TEXT];
    axis_list_print(&have->shard, axes, from);
    axis_list_print(want, axes, to);
    return status_fail(
        st, STATUS_INPUT,
        "matmul: the output's %s cannot be sharded over %s: the operand's are sharded over %s; shard both "
        "alike, leave the output's unsharded, or scatter over the axes that are contracted",
        dim ? "columns" : "rows", to, have->shard.count ? from : "nothing");
}

/* An axis that shards rows of the left and columns of the right would make chips hold blocks of the diagonal only. */
static int check_done(const struct matmul_product *p, const struct axes *axes, struct status *st)
{
    for (int i = 0; i < p->done[0].shard.count; i++)
        for (int j = 0; j < p->done[1].shard.count; j++)
            if (p->done[0].shard.axis[i] == p->done[1].shard.axis[j])
                return status_fail(
                    st, STATUS_INPUT,
                    "matmul: axis %s shards rows and columns of the product; gather one operand: leave one "
                    "of them unsharded in the output",
                    axes->axis[p->done[0].shard.axis[i]].name);
    return 0;
}

/* Moves in the order in which they happen: gathers of operands, sums, gathers of the output. */
static void order_moves(struct matmul_product *p, const struct axis_list *partial,
                        const struct matmul_move later[], int laters)
{
    p->overlap = p->moves - 1;
    for (int i = 0; i < laters; i++)
        if (later[i].kind == MOVE_SCATTER)
            add_move(p, MOVE_SCATTER, later[i].dim, &later[i].axes);
    if (partial->count)
        add_move(p, MOVE_REDUCE, 0, partial);
    if (p->overlap < 0 && p->moves > 0)
        p->overlap = 0;
    for (int i = 0; i < laters; i++)
        if (later[i].kind == MOVE_GATHER_OUT)
            add_move(p, MOVE_GATHER_OUT, later[i].dim, &later[i].axes);
}

static int64_t local(int64_t n, const struct axis_list *shard, const struct axes *axes)
{
    return n / axis_list_size(shard, axes);
}

static int infer_product(struct matmul_product *p, const struct axes *axes, struct status *st)
{
    struct axis_list partial;
    struct matmul_move later[4];
    int laters = 0;
    infer_contracting(p, &partial);
    struct axis_list summed = partial;
    for (int dim = 0; dim < 2; dim++)
        if (infer_output_dim(p, dim, &partial, later, &laters, axes, st) < 0)
            return st->code;
    if (check_done(p, axes, st) < 0)
        return st->code;
    order_moves(p, &partial, later, laters);
    p->m = local(p->left.dim[0].n, &p->done[0].shard, axes);
    p->n = local(p->right.dim[1].n, &p->done[1].shard, axes);
    p->k = local(p->left.dim[1].n, &summed, axes);
    return 0;
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
static int refuse_ambiguous(const struct matmul_product *p, const struct axes *axes, struct status *st)
{
    char left[AXES_TEXT], right[AXES_TEXT];
    return status_fail(
        st, STATUS_INPUT,
        "matmul: contracting dimensions are sharded and it is ambiguous how the output should be sharded. "
        "Got lhs_contracting_spec=%s and rhs_contracting_spec=%s",
        print_tuple(&p->left.dim[1].shard, axes, left, sizeof left),
        print_tuple(&p->right.dim[0].shard, axes, right, sizeof right));
}

int matmul_infer(const struct expr *expr, const struct axes *axes, struct matmul_plan *plan,
                 struct status *st)
{
    *plan = (struct matmul_plan){.products = expr->operands - 1, .ambiguous = -1};
    for (int i = 0; i < expr->operands; i++)
        if (expr->operand[i].dims != 2)
            return status_fail(st, STATUS_INPUT, "matmul: operand %d has %d dims; write matrices", i + 1,
                               expr->operand[i].dims);
    struct expr_tensor left = expr->operand[0];
    for (int i = 0; i < plan->products; i++) {
        struct matmul_product *p = &plan->product[i];
        bool last = i == plan->products - 1;
        p->left = left;
        p->right = expr->operand[i + 1];
        p->out.dtype = matmul_rate(p);
        if (last && expr->has_output) {
            p->out = expr->output;
        } else {
            /* The rows and columns stay as their operands have them; nothing says what to do with partial sums. */
            if (p->left.dim[1].shard.count && same_list(&p->left.dim[1].shard, &p->right.dim[0].shard)) {
                p->done[0] = p->left.dim[0];
                p->done[1] = p->right.dim[1];
                if (check_done(p, axes, st) < 0)
                    return st->code; /* no choice would help */
                plan->ambiguous = i;
                return refuse_ambiguous(p, axes, st);
            }
            p->out.dim[0] = left.dim[0];
            p->out.dim[1] = p->right.dim[1];
        }
        if (infer_product(p, axes, st) < 0)
            return st->code;
        left = p->out;
    }
    return 0;
}

char *matmul_explain(const struct matmul_product *p, const struct axes *axes, char text[static MATMUL_TEXT])
{
    static const char *const what[] = {"all-gather left", "all-gather right", "reduce-scatter", "all-reduce",
                                       "all-gather output"};
    static const char *const dims[] = {"rows", "columns"};
    char list[AXES_TEXT];
    size_t used = 0;
    bool multiplied = false;
    for (int i = 0; i <= p->moves && used < MATMUL_TEXT; i++) {
        if (!multiplied && (i == p->moves || p->move[i].kind > MOVE_GATHER_RIGHT)) {
            used += (size_t)snprintf(text + used, MATMUL_TEXT - used, "%smultiply %lldx%lld . %lldx%lld",
                                     used ? ", then " : "", (long long)p->m, (long long)p->k, (long long)p->k,
                                     (long long)p->n);
            multiplied = true;
        }
        if (i == p->moves || used >= MATMUL_TEXT)
            break;
        const struct matmul_move *move = &p->move[i];
        axis_list_print(&move->axes, axes, list);
        used += (size_t)snprintf(text + used, MATMUL_TEXT - used, "%s%s%s%s over %s", used ? ", then " : "",
                                 what[move->kind], move->kind == MOVE_REDUCE ? "" : " ",
                                 move->kind == MOVE_REDUCE ? "" : dims[move->dim], list);
    }
    return text;
}
