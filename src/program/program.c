/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "program/building.h"

#include <stdlib.h>
#include <string.h>

void program_init(struct program *program, const struct slice *slice)
{
    *program = (struct program){.slice = slice};
}

void program_free(struct program *program)
{
    for (int32_t i = 0; i < program->masks; i++)
        free(program->mask[i]);
    for (int32_t i = 0; i < program->index_tables; i++)
        free(program->index_table[i]);
    for (int32_t i = 0; i < program->amount_tables; i++)
        free(program->amount_table[i]);
    for (int32_t i = 0; i < program->buffers; i++)
        free(program->buffer[i].ragged);
    free(program->op);
    free(program->after);
    free(program->route);
    free(program->hop);
    free(program->mask);
    free(program->index_table);
    free(program->amount_table);
    free(program->var);
    free(program->buffer);
    free(program->payload);
    free(program->stage);
    for (int part = 0; part < PARTS; part++)
        lookup_free(&program->known[part]);
    *program = (struct program){.slice = program->slice};
}

int32_t program_stage(struct program *program, const char *name)
{
    struct stage stage = {.permutes = false};
    memcpy(stage.name, name, strnlen(name, sizeof stage.name - 1));
    APPEND(program, ROOM_STAGE, stage, stages, stage);
}

void program_stage_permutes(struct program *program, int32_t stage)
{
    if (stage < program->stages)
        program->stage[stage].permutes = true;
}

int32_t program_buffer(struct program *program, const char *name, struct buffer_size size,
                       const int32_t dim[], int dims, const int64_t *ragged)
{
    struct buffer buffer = {.elements = size.elements, .elem_bytes = size.elem_bytes, .dims = dims};
    snprintf(buffer.name, sizeof buffer.name, "%s", name);
    if (dims > GRID_DIMS || (ragged && dims != 1))
        return program_fault(program, STATUS_LIMIT);
    for (int d = 0; d < dims; d++)
        buffer.dim[d] = dim[d];
    if (ragged) {
        size_t bytes = (size_t)program->slice->chips * (size_t)dim[0] * sizeof *ragged;
        if (!(buffer.ragged = malloc(bytes)))
            return program_fault(program, STATUS_NOMEM);
        memcpy(buffer.ragged, ragged, bytes);
    }
    APPEND(program, ROOM_BUFFER, buffer, buffers, buffer);
}

void program_share(struct program *program, int32_t buffer, const int share[])
{
    if (!program->error)
        memcpy(program->buffer[buffer].share, share, sizeof program->buffer[buffer].share);
}

int32_t program_payload(struct program *program, struct payload payload)
{
    APPEND(program, ROOM_PAYLOAD, payload, payloads, payload);
}

int32_t program_add(struct program *program, struct op op)
{
    op.first_after = program->afters;
    op.afters = 0;
    APPEND(program, ROOM_OP, op, ops, op);
}

void program_after(struct program *program, int32_t op, enum after_kind kind)
{
    if (op < 0 || program->error)
        return;
    if (op >= program->ops - 1) {
        program_fault(program, STATUS_CHECK);
        return;
    }
    if (!HAS_ROOM(program, ROOM_AFTER, after, afters, 1))
        return;
    struct after *after = &program->after[program->afters];
    *after = (struct after){op, kind};
    program->afters++;
    program->op[program->ops - 1].afters++;
}

void program_wait(struct program *program, int32_t op)
{
    program_after(program, op, AFTER_ARRIVED);
    program_after(program, op, AFTER_DONE);
}

int32_t program_repeat(struct program *program, int32_t first, int32_t end, int32_t before, int32_t stage,
                       const char *name)
{
    int32_t start = program->ops, of = -1, own = stage;
    for (int32_t o = first; o < end && !program->error; o++) {
        struct op op = program->op[o];
        if (stage < 0 && op.stage != of) {
            of = op.stage;
            own = program_stage(program, name);
            program->stage[own].permutes = program->stage[of].permutes;
        }
        int32_t copy = program_add(program, op);
        program->op[copy].stage = own;
        program->op[copy].times = 0;
        for (int32_t a = op.first_after; a < op.first_after + op.afters; a++) {
            int32_t after = program->after[a].op;
            program_after(program, after < first ? before : after + start - first, program->after[a].kind);
        }
    }
    return start;
}

struct op program_local(struct program *program, int32_t where, double bytes, int32_t stage)
{
    return (struct op){.kind = OP_SEND,
                       .where = where,
                       .towards = program_towards(program, NULL, 0),
                       .amount = amount_of(bytes),
                       .payload = NO_PAYLOAD,
                       .stage = stage};
}

int32_t program_join(struct program *program, int32_t where, int32_t stage)
{
    return program_add(program, program_local(program, where, 0, stage));
}

int32_t program_join_of(struct program *program, const int32_t op[], int n, int32_t where, int32_t stage)
{
    int32_t only = -1;
    int there = 0;
    for (int i = 0; i < n; i++) {
        if (op[i] < 0)
            continue;
        only = op[i];
        there++;
    }
    if (there < 2)
        return only;
    int32_t join = program_join(program, where, stage);
    for (int i = 0; i < n; i++)
        program_wait(program, op[i]);
    return join;
}

int32_t program_join_since(struct program *program, int32_t first, int32_t where, int32_t stage)
{
    int32_t end = program->ops;
    if (end - first < 2)
        return end - 1 < first ? -1 : first;
    int32_t join = program_join(program, where, stage);
    for (int32_t op = first; op < end; op++)
        program_wait(program, op);
    return join;
}

int program_close(const struct program *program, struct status *st)
{
    struct hop hop[ROUTE_HOPS];
    switch (program->error) {
    case STATUS_OK:
        return 0;
    case STATUS_NOMEM:
        return status_nomem(st);
    case STATUS_INPUT: /* called again for its message */
        return route_between(program->slice, program->lost[0], program->lost[1], hop, st);
    case STATUS_LIMIT:
        return status_fail(st, STATUS_LIMIT, "the program is too large: more than 2^30 ops or dependencies");
    default:
        return status_fail(st, program->error, "the program has a dependency that does not point back");
    }
}
