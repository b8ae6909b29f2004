/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The invariants of a program. */
#include <math.h>

#include "program/selection.h"

static int bad(struct status *st, int32_t o, const char *what)
{
    return status_fail(st, STATUS_CHECK, "program: op %d: %s", (int)o, what);
}

static int check_parts(const struct program *p, const struct op *op, int32_t o, struct status *st)
{
    if (op->where < WHERE_ALL || op->where >= p->masks)
        return bad(st, o, "its mask does not exist");
    if (op->stage < 0 || op->stage >= p->stages)
        return bad(st, o, "its stage does not exist");
    if (op->payload < NO_PAYLOAD || op->payload >= p->payloads)
        return bad(st, o, "its payload does not exist");
    if (op->amount.table < NO_TABLE || op->amount.table >= p->amount_tables)
        return bad(st, o, "its table of amounts does not exist");
    if (!(op->setup_s >= 0) || isinf(op->setup_s))
        return bad(st, o, "its setup time is not a time");
    if (op->kind == OP_SEND && op->towards.table == NO_TABLE &&
        (op->towards.route < 0 || op->towards.route >= p->routes))
        return bad(st, o, "its route does not exist");
    if (op->kind == OP_SEND && (op->towards.table < NO_TABLE || op->towards.table >= p->index_tables))
        return bad(st, o, "its table of routes does not exist");
    for (int32_t a = 0; a < op->afters; a++) {
        int32_t before = p->after[op->first_after + a].op;
        if (before < 0 || before >= o)
            return bad(st, o, "waits for an op that does not come before it");
    }
    return 0;
}

static int check_view(const struct program *p, const struct view *view, int32_t o, struct status *st)
{
    if (view->buffer < 0 || view->buffer >= p->buffers)
        return bad(st, o, "its payload names a buffer that does not exist");
    for (int d = 0; d < p->buffer[view->buffer].dims; d++)
        if (view->pick[d].kind >= PICK_VAR && (view->pick[d].var < 0 || view->pick[d].var >= p->vars))
            return bad(st, o, "its payload names a variable that does not exist");
    return 0;
}

/* The number of pieces that a view picks; each may have one element more than the mean if is_uneven(). */
static double pieces_of(const struct program *p, const struct view *view)
{
    const struct buffer *buffer = &p->buffer[view->buffer];
    double pieces = 1;
    for (int d = 0; d < buffer->dims; d++)
        if (view->pick[d].kind == PICK_ALL || view->pick[d].kind == PICK_SET)
            pieces *= view_dim(buffer, view, d);
    return pieces;
}

static bool is_uneven(const struct buffer *buffer)
{
    int64_t parts = 1;
    for (int d = 0; d < buffer->dims; d++) {
        int64_t all = buffer_shares(buffer, d);
        parts *= all > 0 ? all : buffer->dim[d];
    }
    return buffer->elements % parts > 0;
}

/* A payload must put as many elements as it takes, and its send must have bytes for them, to within an element
 * for each picked piece (uneven chunks are padded to the largest, halves of odd chunks are not). */
static int check_move(const struct program *p, const struct op *op, int32_t o, int chip, struct status *st)
{
    const struct payload *payload = &p->payload[op->payload];
    const struct buffer *buffer = &p->buffer[payload->a.buffer];
    int64_t from = view_elements(p, &payload->a, chip, chip);
    int64_t to = view_elements(p, &payload->to, chip, op_destination(p, op, chip));
    if (from < 0 || to < 0)
        return status_nomem(st);
    if (from != to)
        return bad(st, o, "its payload takes and puts different numbers of elements");
    double bytes = op_amount(p, op, chip), moved = (double)from * buffer->elem_bytes;
    double slack = (pieces_of(p, &payload->a) + 1) * buffer->elem_bytes * is_uneven(buffer);
    slack += 1e-9 * moved; /* rounding */
    if (moved > bytes + slack || (p->buffer[payload->a.buffer].ragged && moved < bytes - slack))
        return bad(st, o, "its payload is not what it sends bytes for");
    return 0;
}

static int check_chip(const struct program *p, const struct op *op, int32_t o, int chip, struct status *st)
{
    double amount = op_amount(p, op, chip);
    if (!(amount >= 0) || isinf(amount))
        return bad(st, o, "its bytes or seconds are not a finite number of 0 or more");
    if (op->kind == OP_COMPUTE)
        return 0;
    if (op->towards.table != NO_TABLE) {
        int32_t route = p->index_table[op->towards.table][chip];
        if (route < 0 || route >= p->routes)
            return bad(st, o, "a chip's route does not exist");
    }
    if (op_destination(p, op, chip) < 0)
        return bad(st, o, "a chip's route leaves the slice");
    return op->payload == NO_PAYLOAD ? 0 : check_move(p, op, o, chip, st);
}

int program_check(const struct program *p, struct status *st)
{
    if (program_close(p, st) < 0)
        return st->code;
    for (int32_t o = 0; o < p->ops; o++) {
        const struct op *op = &p->op[o];
        if (check_parts(p, op, o, st) < 0)
            return st->code;
        if (op->payload != NO_PAYLOAD) {
            const struct payload *payload = &p->payload[op->payload];
            if (op->kind == OP_COMPUTE)
                return bad(st, o, "its payload is not of its kind");
            if (check_view(p, &payload->a, o, st) < 0 || check_view(p, &payload->to, o, st) < 0)
                return st->code;
        }
        for (int chip = 0; chip < p->slice->chips; chip++)
            if (op_takes_part(p, op, chip) && check_chip(p, op, o, chip, st) < 0)
                return st->code;
    }
    return 0;
}
