/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "faces/api.h"

struct icisim_program *icisim_program_new(const struct icisim_slice *slice, struct icisim_status *st)
{
    struct api_call call;
    api_begin(&call);
    struct icisim_program *program = calloc(1, sizeof *program);
    if (program) {
        program_init(&program->program, &slice->machine.slice);
        program->stage = program_stage(&program->program, "program");
    } else {
        status_nomem(&call.st);
    }
    api_end(&call, call.st.code, st);
    return program;
}

void icisim_program_free(struct icisim_program *program)
{
    if (program)
        program_free(&program->program);
    free(program);
}

void icisim_program_stage(struct icisim_program *program, const char *name)
{
    program->stage = program_stage(&program->program, name);
}

/* The mask of who takes part: in `where`, and, of a send with targets, who has one. */
static int32_t mask_of(struct program *program, const uint8_t where[], const int32_t to[], uint8_t mask[])
{
    for (int chip = 0; chip < program->slice->chips; chip++)
        mask[chip] = (!where || where[chip]) && (!to || to[chip] >= 0);
    return program_mask(program, mask);
}

/* The hops of a route stay within axes that there are, and go round none. */
static int check_hops(const struct icisim_program *program, const struct icisim_send *send, struct hop hop[],
                      struct status *st)
{
    const struct slice *slice = program->program.slice;
    if (send->hops < 0 || send->hops > ICISIM_HOPS)
        return status_fail(st, STATUS_INPUT, "op %d: %d hops; a route has 0 to %d", (int)program->program.ops,
                           send->hops, ICISIM_HOPS);
    for (int h = 0; h < send->hops; h++) {
        int axis = send->hop[h].axis, links = send->hop[h].links;
        if (axis < 0 || axis >= slice->axes)
            return status_fail(st, STATUS_INPUT, "op %d: a hop along axis %d; the slice has axes 0 to %d",
                               (int)program->program.ops, axis, slice->axes - 1);
        if (links <= -slice->len[axis] || links >= slice->len[axis])
            return status_fail(st, STATUS_INPUT, "op %d: a hop of %d links along an axis of %d chips",
                               (int)program->program.ops, links, slice->len[axis]);
        hop[h] = (struct hop){axis, links};
    }
    return 0;
}

/* Routes to the chips in send->to; `route` is scratch of [chips]. */
static struct towards targets(struct icisim_program *program, const struct icisim_send *send, int32_t where,
                              int32_t route[], struct status *st)
{
    const struct slice *slice = program->program.slice;
    for (int chip = 0; chip < slice->chips; chip++) {
        int32_t to = send->to[chip];
        if (to >= slice->chips) {
            status_fail(st, STATUS_INPUT, "op %d: chip %d sends to chip %d; the slice has chips 0 to %d",
                        (int)program->program.ops, chip, (int)to, slice->chips - 1);
            return (struct towards){0, NO_TABLE};
        }
        route[chip] = program_route_between(&program->program, chip, to < 0 ? chip : to);
    }
    return program_towards_table(&program->program, route, where);
}

static int32_t add_send(struct icisim_program *program, const struct icisim_send *send, uint8_t mask[],
                        int32_t route[], struct status *st)
{
    struct program *p = &program->program;
    struct hop hop[ICISIM_HOPS];
    if (check_hops(program, send, hop, st) < 0)
        return st->code;
    struct op op = {.kind = OP_SEND,
                    .where = mask_of(p, send->where, send->to, mask),
                    .setup_s = send->setup_s,
                    .payload = NO_PAYLOAD,
                    .stage = program->stage};
    op.towards = send->to ? targets(program, send, op.where, route, st) : program_towards(p, hop, send->hops);
    op.amount = send->bytes_of ? program_amount_table(p, send->bytes_of, op.where) : amount_of(send->bytes);
    return st->code < 0 ? st->code : program_add(p, op);
}

int32_t icisim_program_send(struct icisim_program *program, const struct icisim_send *send)
{
    size_t chips = (size_t)program->program.slice->chips;
    uint8_t *mask = malloc(chips * sizeof *mask);
    int32_t *route = malloc(chips * sizeof *route);
    int32_t op =
        mask && route ? add_send(program, send, mask, route, &program->fault) : status_nomem(&program->fault);
    free(route);
    free(mask);
    return op;
}

int32_t icisim_program_compute(struct icisim_program *program, const struct icisim_compute *compute)
{
    struct program *p = &program->program;
    uint8_t *mask = malloc((size_t)p->slice->chips * sizeof *mask);
    if (!mask)
        return status_nomem(&program->fault);
    struct op op = {.kind = OP_COMPUTE,
                    .where = mask_of(p, compute->where, NULL, mask),
                    .towards = {0, NO_TABLE},
                    .payload = NO_PAYLOAD,
                    .stage = program->stage};
    op.amount = compute->time_of_s ? program_amount_table(p, compute->time_of_s, op.where)
                                   : amount_of(compute->time_s);
    free(mask);
    return program_add(p, op);
}

void icisim_program_after(struct icisim_program *program, int32_t op, enum icisim_after kind)
{
    program_after(&program->program, op, kind == ICISIM_ARRIVED ? AFTER_ARRIVED : AFTER_DONE);
}

int32_t icisim_program_ops(const struct icisim_program *program)
{
    return program->program.ops;
}

int api_program_check(const struct icisim_program *program, struct status *st)
{
    if (program->fault.code < 0)
        return status_fail(st, program->fault.code, "%s", program->fault.text);
    int code = program_close(&program->program, st);
    return code < 0 ? code : program_check(&program->program, st);
}

int icisim_program_check(const struct icisim_program *program, struct icisim_status *st)
{
    struct api_call call;
    api_begin(&call);
    return api_end(&call, api_program_check(program, &call.st), st);
}

void icisim_program_dump(const struct icisim_program *program, FILE *out)
{
    struct api_call call;
    api_begin(&call);
    program_dump(&program->program, out);
    api_end(&call, 0, NULL);
}
