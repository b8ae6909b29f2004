/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of `icisim eval`: the senders, receivers and slices of each step. They are the steps of `run
 * --steps`, from 0: the length of the longest chain of dependent sends before an op. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "faces/eval.h"

enum { VALUES_MOST = 12 };

/* One payload that was delivered. */
struct moved {
    int32_t step, op;
    int from, to; /* chips */
    int64_t elements;
    double value[VALUES_MOST]; /* only if it is short enough */
};

struct moves {
    const struct program *program;
    int32_t *depth; /* [ops] */
    int64_t count, room;
    struct moved *item;
    bool nomem;
};

/* The names of the dims of the buffers below: number of positions, along a dim. */
static const char *const buffers[CALL_OPS_COUNT] = {
    [CALL_ALL_GATHER] = "%d chunks, the block of each position",
    [CALL_PSUM_SCATTER] = "the block in %d chunks along dim %d, one for each position",
    [CALL_ALL_TO_ALL] = "the block in %d chunks along dim %d, one for each position; out: one from each",
    [CALL_RAGGED] = "rows for each position; out: rows from each",
    [CALL_PPERMUTE] = "the block; out: what arrives",
    [CALL_RING_SHIFT] = "the block; out: what arrives"};

static void print_buffers(const struct evaluation *e, FILE *out)
{
    const struct call *call = &e->example->call;
    bool in_order = true;
    fputs("# in: ", out);
    fprintf(out, buffers[call->op] ? buffers[call->op] : "the block", e->groups.size,
            call->op == CALL_ALL_TO_ALL ? call->split_axis : call->dim);
    for (int i = 0; i < e->groups.size; i++)
        in_order &= e->order[i] == i;
    if (!in_order)
        fputs("; in the order of the ring, positions", out);
    for (int i = 0; i < e->groups.size && !in_order; i++)
        fprintf(out, " %d", e->order[i]);
    fputc('\n', out);
}

static void record(void *user, const struct execute_move *move)
{
    struct moves *moves = user;
    const struct program *program = moves->program;
    bool fills = program->payload[program->op[move->op].payload].combine == COMBINE_FILL;
    if (fills && move->elements > 0 && isnan(move->value[0]))
        return; /* the chip has received nothing that it could pass on */
    if (!GROW(moves->item, moves->count, moves->room)) {
        moves->nomem = true;
        return;
    }
    /* An op's depth counts itself if it crosses links; an op that stays on its chip belongs to the step of
     * the sends of equal depth. */
    bool crosses = op_crosses_links(moves->program, &moves->program->op[move->op]);
    struct moved *moved = &moves->item[moves->count++];
    *moved =
        (struct moved){moves->depth[move->op] - crosses, move->op, move->from, move->to, move->elements, {0}};
    if (move->elements <= VALUES_MOST)
        memcpy(moved->value, move->value, (size_t)move->elements * sizeof *move->value);
}

static int by_step(const void *a, const void *b)
{
    const struct moved *m = a, *k = b;
    int difference = (m->step > k->step) - (m->step < k->step);
    difference = difference ? difference : (m->op > k->op) - (m->op < k->op);
    return difference ? difference : (m->from > k->from) - (m->from < k->from);
}

static void print_values(const struct moved *moved, enum dtype_id dtype, FILE *out)
{
    if (moved->elements > VALUES_MOST) {
        fprintf(out, " (%lld elements)", (long long)moved->elements);
        return;
    }
    fputs(" = [", out);
    for (int64_t i = 0; i < moved->elements; i++)
        fprintf(out, dtype_is_whole(dtype) ? "%s%.0f" : "%s%.9g", i ? " " : "",
                dtype_hold(dtype, moved->value[i]));
    fputc(']', out);
}

static int print_moved(const struct evaluation *e, const struct moved *moved, FILE *out)
{
    static const char *const does[] = {"put in", "added to", "largest with", "smallest with", "put in"};
    const struct payload *payload = &e->program.payload[e->program.op[moved->op].payload];
    char from[MEMORY_TEXT], to[MEMORY_TEXT];
    if (memory_print_view(&e->program, &payload->a, moved->from, moved->from, from) < 0 ||
        memory_print_view(&e->program, &payload->to, moved->from, moved->to, to) < 0)
        return STATUS_NOMEM;
    fprintf(out, "  %d ", mesh_device(e->mesh, moved->from));
    if (moved->from != moved->to)
        fprintf(out, "-> %d  %s", mesh_device(e->mesh, moved->to), from);
    else
        fprintf(out, "keeps  %s", from);
    print_values(moved, call_sum_dtype(e->example->call.op, e->start[0].dtype), out);
    if (moved->from == moved->to || payload->combine != COMBINE_COPY || strcmp(from, to) != 0)
        fprintf(out, ", %s %s", does[payload->combine], to);
    fputc('\n', out);
    return 0;
}

/* Prints the sends of one step from item i on; returns the start of the next step, or a negative code if
 * memory is out. Chunks beyond the end of an array are sent nevertheless, as SPMD programs pad. */
static int64_t print_step(const struct evaluation *e, const struct moves *moves, int64_t i, FILE *out)
{
    int32_t step = moves->item[i].step;
    int64_t empty = 0;
    fprintf(out, "step %d\n", step);
    for (; i < moves->count && moves->item[i].step == step; i++) {
        int code = moves->item[i].elements > 0 ? print_moved(e, &moves->item[i], out) : 0;
        if (code < 0)
            return code;
        empty += moves->item[i].elements <= 0;
    }
    if (empty > 0)
        fprintf(out, "  and %lld send%s without elements\n", (long long)empty, empty == 1 ? "" : "s");
    return i;
}

int eval_steps(struct evaluation *e, FILE *out, struct status *st)
{
    struct moves moves = {.program = &e->program};
    moves.depth = malloc(((size_t)e->program.ops + 1) * sizeof *moves.depth);
    if (!moves.depth)
        return status_nomem(st);
    program_depths(&e->program, moves.depth);
    struct execute_options options = {.on_move = record, .user = &moves};
    int code = evaluation_run(e, &options, st);
    if (code == 0 && moves.nomem)
        code = status_nomem(st);
    if (code == 0 && moves.count > 0) {
        print_buffers(e, out);
        qsort(moves.item, (size_t)moves.count, sizeof *moves.item, by_step);
    }
    for (int64_t i = 0; i < moves.count && code == 0;)
        if ((i = print_step(e, &moves, i, out)) < 0)
            code = status_nomem(st);
    if (code == 0 && moves.count == 0)
        fputs("# no transfer: nothing leaves its device\n", out);
    free(moves.item);
    free(moves.depth);
    return code;
}
