/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/evaluate.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers/definition.h"
#include "numbers/evaluate_build.h"
#include "numbers/memory.h"
#include "numbers/pack.h"

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
    size_t devices = (size_t)e->mesh->devices;
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
                    const struct collective_spec *plan, struct status *st)
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
    case_free_blocks(e->start, e->mesh->devices);
    case_free_blocks(e->want, e->mesh->devices);
    case_free_blocks(e->got, e->mesh->devices);
    ring_set_free(&e->rings);
    groups_free(&e->groups);
    program_free(&e->program);
    free(e->order);
    free(e->chunk);
    *e = (struct evaluation){0};
}

/* Where member i of the groups has its numbers: the start of its buffer, or of its own chunk of n in one. Where no chip of
 * the program has anything to send, there are no buffers: NULL. */
static double *buffer_of(const struct evaluation *e, int i, const struct memory *memory, const char *name,
                         int64_t chunk)
{
    int32_t buffer = memory_buffer(&e->program, name);
    int device = e->groups.member[i], chip = mesh_chip(e->mesh, device);
    return buffer < 0 ? NULL : memory_of(memory, chip, buffer) + e->chunk[device] * chunk;
}

/* What member i holds at the start. An all-gather's buffer has room for all, and of a broadcast only the root has
 * anything; what nobody writes stays NaN. Where no pair of a ppermute ends there are zeros. */
static void fill_one(const struct evaluation *e, int i, const struct memory *memory)
{
    const struct call *call = &e->example->call;
    int n = e->groups.size;
    struct array *block = &e->start[e->groups.member[i]];
    int64_t elements = array_elements(block);
    double *in = buffer_of(e, i, memory, "in", call->op == CALL_ALL_GATHER ? elements : 0);
    double *out = buffer_of(e, i, memory, "out", 0);
    if (out && call->op == CALL_PPERMUTE)
        memset(out, 0, (size_t)elements * sizeof *out);
    if (in && (call->op != CALL_BROADCAST || i % n == call->root))
        pack_block(call, n, e->order + i - i % n, block, in);
}

/* What it holds at the end, in the shape that the definition gives it. A chip that is alone works in place even where others
 * would not; and a ppermute without a pair has no buffers. */
static int read_one(struct evaluation *e, int i, const struct memory *memory, struct status *st)
{
    const struct call *call = &e->example->call;
    int device = e->groups.member[i], n = e->groups.size;
    const struct array *want = &e->want[device];
    struct array *got = &e->got[device];
    int64_t chunk = call->op == CALL_PSUM_SCATTER ? array_elements(want) : 0;
    double *out = buffer_of(e, i, memory, "out", chunk);
    if (!out)
        out = buffer_of(e, i, memory, "in", chunk);
    int code = array_init(got, want->dims, want->shape, want->integer, st);
    if (code == 0 && out)
        unpack_block(call, n, e->order + i - i % n, out, got);
    return code;
}

static int move(struct evaluation *e, const struct execute_options *options, struct status *st)
{
    struct memory memory;
    int devices = e->mesh->devices, code = memory_init(&memory, &e->program, st);
    if (code < 0)
        return code;
    for (int i = 0; i < devices; i++)
        fill_one(e, i, &memory);
    if (code == 0)
        code = execute(&memory, options, st);
    for (int i = 0; i < devices && code == 0; i++)
        code = read_one(e, i, &memory, st);
    memory_free(&memory);
    return code;
}

int evaluation_run(struct evaluation *e, const struct execute_options *options, struct status *st)
{
    int devices = e->mesh->devices, code = 0;
    for (int i = 0; i < devices; i++)
        array_free(&e->got[i]);
    if (e->example->call.op != CALL_NONE)
        return move(e, options, st);
    for (int i = 0; i < devices && code == 0; i++)
        code = array_copy(&e->start[i], &e->got[i], st);
    return code;
}

/* How far two sums of the same n numbers may be apart: each of the n - 1 additions of either rounds a partial sum,
 * at most n times the largest number, by epsilon/2. Whole numbers up to 2^53 do not round. */
static double rounding(const struct evaluation *e, double epsilon)
{
    double largest = 0, n = e->groups.size;
    bool whole = true;
    for (int device = 0; device < e->mesh->devices; device++)
        for (int64_t i = 0; i < array_elements(&e->start[device]); i++) {
            double value = e->start[device].data[i];
            largest = fmax(largest, fabs(value));
            whole &= floor(value) >= value;
        }
    return whole && n * largest <= 0x1p53 ? 0 : n * n * epsilon * largest;
}

/* "[0, 1]": where element `at` stands. */
static void print_place(const struct array *array, int64_t at, char text[static ARRAY_TEXT])
{
    int64_t index[ARRAY_DIMS];
    for (int d = array->dims - 1; d >= 0; d--) {
        index[d] = at % array->shape[d];
        at /= array->shape[d];
    }
    size_t used = (size_t)snprintf(text, ARRAY_TEXT, "[");
    for (int d = 0; d < array->dims; d++)
        used +=
            (size_t)snprintf(text + used, ARRAY_TEXT - used, "%s%lld", d ? ", " : "", (long long)index[d]);
    snprintf(text + used, ARRAY_TEXT - used, "]");
}

static int compare(const struct array *got, const struct array *want, double tolerance, struct status *st)
{
    char text[ARRAY_TEXT], other[ARRAY_TEXT];
    if (!array_same_shape(got, want))
        return status_fail(st, STATUS_CHECK, "the shape is %s, not %s", array_print_shape(got, text),
                           array_print_shape(want, other));
    for (int64_t i = 0; i < array_elements(got); i++)
        if (!(fabs(got->data[i] - want->data[i]) <= tolerance)) {
            print_place(got, i, text);
            return status_fail(st, STATUS_CHECK, "element %s is %.9g, not %.9g", text, got->data[i],
                               want->data[i]);
        }
    return 0;
}

int evaluation_check(const struct evaluation *e, struct status *st)
{
    /* Copies, largest and smallest are exact whatever they are of. */
    enum call_op op = e->example->call.op;
    bool sums = call_reduces(op) && op != CALL_PMAX && op != CALL_PMIN;
    double tolerance = sums ? rounding(e, DBL_EPSILON) : 0;
    for (int device = 0; device < e->mesh->devices; device++)
        if (compare(&e->got[device], &e->want[device], tolerance, st) < 0)
            return status_prefix(st, "device %d: ", device);
    return 0;
}

int evaluation_check_output(const struct evaluation *e, struct status *st)
{
    struct array result;
    int code = case_result(e->example, e->got, &result, st);
    if (code == 0)
        code = compare(&result, &e->example->output, rounding(e, FLT_EPSILON), st);
    array_free(&result);
    return code;
}

bool evaluation_is_even(const struct evaluation *e)
{
    for (int device = 1; device < e->mesh->devices; device++)
        if (!array_same_shape(&e->want[device], &e->want[0]))
            return false;
    return true;
}
