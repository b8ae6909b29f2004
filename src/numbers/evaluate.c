/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/evaluate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "numbers/definition.h"
#include "numbers/evaluate_build.h"
#include "numbers/memory.h"
#include "numbers/pack.h"

static int devices_of(const struct evaluation *e)
{
    return e->mesh->devices;
}

/* The mesh must be the example's, however it is laid. */
static int check_mesh(const struct example *example, const struct mesh *mesh, struct status *st)
{
    char has[AXES_TEXT], needs[AXES_TEXT];
    axes_print(&mesh->axes, has);
    axes_print(&example->axes, needs);
    if (strcmp(has, needs) == 0)
        return 0;
    return status_fail(st, STATUS_INPUT, "the mesh is %s, but the example is written for %s", has, needs);
}

static int define(struct evaluation *e, struct status *st)
{
    const struct example *example = e->example;
    size_t devices = (size_t)devices_of(e);
    e->start = calloc(devices, sizeof *e->start);
    e->want = calloc(devices, sizeof *e->want);
    e->got = calloc(devices, sizeof *e->got);
    int code = e->start && e->want && e->got ? 0 : status_nomem(st);
    if (code == 0)
        code = call_groups(&example->call, &example->axes, &e->groups, st);
    if (code == 0)
        code = case_blocks(example, e->start, st);
    return code < 0 ? code : definition_apply(&example->call, &e->groups, e->start, e->want, st);
}

int evaluation_open(struct evaluation *e, const struct example *example, const struct mesh *mesh,
                    const struct evaluate_plan *plan, struct status *st)
{
    *e = (struct evaluation){.example = example, .mesh = mesh};
    program_init(&e->program, mesh->slice);
    int code = check_mesh(example, mesh, st);
    if (code == 0)
        code = define(e, st);
    return code < 0 ? code : evaluate_build(e, plan, st);
}

void evaluation_close(struct evaluation *e)
{
    if (!e->mesh)
        return;
    case_free_blocks(e->start, devices_of(e));
    case_free_blocks(e->want, devices_of(e));
    case_free_blocks(e->got, devices_of(e));
    for (int r = 0; r < e->rings; r++)
        ring_free(&e->ring[r]);
    groups_free(&e->groups);
    program_free(&e->program);
    free(e->order);
    free(e->chunk);
    *e = (struct evaluation){0};
}

/* Member i of the groups, where it sits. */
static struct seat seat_of(const struct evaluation *e, int i)
{
    int n = e->groups.size, first = i - i % n;
    return (struct seat){n, i % n, e->groups.member + first, e->order + first};
}

/* What member i holds at the start. An all-gather's buffer has room for all, and of a broadcast only the root has
 * anything; what nobody writes stays NaN. Where no pair of a ppermute ends there are zeros. */
static int fill_one(const struct evaluation *e, int i, struct memory *memory, struct status *st)
{
    const struct call *call = &e->example->call;
    int32_t in = memory_buffer(&e->program, "in"), out = memory_buffer(&e->program, "out");
    struct seat seat = seat_of(e, i);
    int device = seat.member[seat.position], chip = mesh_chip(e->mesh, device);
    if (out >= 0 && call->op == CALL_PPERMUTE)
        memset(memory_of(memory, chip, out), 0,
               (size_t)memory_elements(&e->program, chip, out) * sizeof(double));
    if (in < 0 || (call->op == CALL_BROADCAST && seat.position != call->root))
        return 0;
    double *at = memory_of(memory, chip, in);
    int64_t elements = pack_elements(&seat, e->start);
    if (call->op == CALL_ALL_GATHER)
        at += e->chunk[device] * elements;
    assert(at + elements <= memory_of(memory, chip, in) + memory_elements(&e->program, chip, in));
    return pack_block(call, &seat, e->start, at, st);
}

/* What it holds at the end. A chip that is alone works in place even where others would not; and without a pair
 * there are no buffers at all. */
static int read_one(struct evaluation *e, int i, const struct memory *memory, struct status *st)
{
    const struct call *call = &e->example->call;
    int32_t in = memory_buffer(&e->program, "in"), out = memory_buffer(&e->program, "out");
    struct seat seat = seat_of(e, i);
    int device = seat.member[seat.position], chip = mesh_chip(e->mesh, device);
    int64_t elements;
    int code = unpack_elements(call, &seat, e->start, &elements, st);
    if (code < 0)
        return code;
    if (in < 0) {
        double *zeros = calloc((size_t)elements + 1, sizeof *zeros);
        code = zeros ? unpack_block(call, &seat, e->start, zeros, &e->got[device], st) : status_nomem(st);
        free(zeros);
        return code;
    }
    const double *at = memory_of(memory, chip, out >= 0 ? out : in);
    if (call->op == CALL_PSUM_SCATTER)
        at += e->chunk[device] * elements;
    return unpack_block(call, &seat, e->start, at, &e->got[device], st);
}

static int move(struct evaluation *e, const struct execute_options *options, struct status *st)
{
    struct memory memory;
    int devices = devices_of(e), code = memory_init(&memory, &e->program, st);
    if (code < 0)
        return code;
    for (int i = 0; i < devices && code == 0; i++)
        code = fill_one(e, i, &memory, st);
    if (code == 0)
        code = execute(&memory, options, st);
    for (int i = 0; i < devices && code == 0; i++)
        code = read_one(e, i, &memory, st);
    memory_free(&memory);
    return code;
}

int evaluation_run(struct evaluation *e, const struct execute_options *options, struct status *st)
{
    int devices = devices_of(e), code = 0;
    for (int i = 0; i < devices; i++)
        array_free(&e->got[i]);
    if (e->example->call.op != CALL_NONE)
        return move(e, options, st);
    for (int i = 0; i < devices && code == 0; i++)
        code = array_copy(&e->start[i], &e->got[i], st);
    return code;
}
