/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/evaluate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "numbers/definition.h"
#include "numbers/pack.h"

/* The mesh must have the axes of the example; its layout on the slice is free. */
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

static bool permutes(const struct call *call)
{
    return call->op == CALL_PPERMUTE || call->op == CALL_RING_SHIFT;
}

/* The number of elements that --size counts for this collective (see the table of collectives). */
static int64_t whole_elements(const struct evaluation *e)
{
    enum call_op op = e->example->call.op;
    int64_t block = array_elements(&e->start[0]);
    return op == CALL_ALL_GATHER || op == CALL_ALL_TO_ALL ? block * e->groups.size : block;
}

/* Finds the schedule that XLA would choose on the open rings. */
static int find_config(struct evaluation *e, struct status *st)
{
    const struct ring *ring[COLLECTIVE_RINGS];
    const struct call *call = &e->example->call;
    if (e->rings.rings == 0 || !call_sends(call))
        return 0;
    const struct collective *collective = collective_by_name(call_name(call->op), st);
    if (!collective || !collective->uses_ring)
        return st->code;
    for (int r = 0; r < e->rings.rings; r++)
        ring[r] = &e->rings.ring[r];
    struct choice_case of = {.chip = e->choice.chip,
                             .slice = e->mesh->slice,
                             .group = choice_group_of(e->mesh->slice, ring, e->rings.rings),
                             .collective = collective->id,
                             .dtype = dtype_info(e->start[0].dtype),
                             .bytes = (double)whole_elements(e) * dtype_info(e->start[0].dtype)->bytes};
    return choice_follow(&of, e->rings.rings, call->divide.count > 0, &e->config, &e->follows, st);
}

/* Opens one ring per axis, as `run` does; one ring through all axes if there are fewer rings than axes;
 * groups in the order of their members. Ragged buffers are packed in the order of positions, so their ring
 * must follow it. */
static int open_rings(struct evaluation *e, const struct collective_spec *plan, struct status *st)
{
    const struct call *call = &e->example->call;
    struct axis_list list = {0};
    for (int i = 0; i < call->axes.count; i++)
        if (e->mesh->axes.axis[call->axes.axis[i]].n > 1)
            list.axis[list.count++] = call->axes.axis[i];
    if (list.count == 0 || permutes(call))
        return 0;
    bool one = plan->rings == 1 || list.count > COLLECTIVE_RINGS || e->follows;
    if (call->divide.count > 0 || (call->op == CALL_RAGGED && (one || !e->mesh->plain)))
        return ring_set_of_groups(&e->rings, e->mesh, &e->groups, st);
    return one ? ring_set_of_ring(&e->rings, e->mesh, &list, st)
               : ring_set_of_axes(&e->rings, e->mesh, &list, st);
}

/* Numbers chunks as buffers are cut: by their places on the rings. */
static int number_chunks(struct evaluation *e, struct status *st)
{
    int n = e->groups.size, slots = e->groups.count * n;
    e->order = calloc((size_t)slots, sizeof *e->order);
    e->chunk = calloc((size_t)e->mesh->devices, sizeof *e->chunk);
    e->buffers = malloc(((size_t)n + 1) * sizeof *e->buffers);
    if (!e->order || !e->chunk || !e->buffers)
        return status_nomem(st);
    for (int i = 0; i <= n; i++)
        e->buffers[i] = (struct collective_buffers){-1, -1};
    for (int i = 0; i < slots; i++) {
        int device = e->groups.member[i];
        if (device < 0)
            continue;
        e->chunk[device] = e->rings.rings > 0
                               ? ring_set_piece(&e->rings, e->mesh->slice, mesh_chip(e->mesh, device))
                               : i % n;
        e->order[i - i % n + e->chunk[device]] = i % n;
    }
    return 0;
}

/* Finds the chip that each chip sends to. */
static int find_targets(const struct evaluation *e, int32_t target[], struct status *st)
{
    const struct call *call = &e->example->call;
    int n = e->groups.size, chips = e->mesh->slice->chips;
    int32_t *chip = malloc((size_t)chips * sizeof *chip);
    int code = chip ? 0 : status_nomem(st);
    for (int c = 0; c < chips; c++)
        target[c] = -1;
    if (code == 0 && call->op == CALL_PPERMUTE)
        code = permute_pairs(e->mesh, &call->axes, (const int32_t(*)[2])call->pair, call->pairs, chip, target,
                             st);
    for (int i = 0; i < e->groups.count * n && code == 0 && call->op == CALL_RING_SHIFT; i++) {
        int to = ((i % n + call->offset % n) + n) % n;
        target[mesh_chip(e->mesh, e->groups.member[i])] =
            mesh_chip(e->mesh, e->groups.member[i - i % n + to]);
    }
    free(chip);
    return code;
}

/* The elements that each position sends to each other position. */
static int64_t count_rows(const struct evaluation *e, int64_t pair[])
{
    const struct array *block = &e->start[0];
    int64_t row = block->shape[0] > 0 ? array_elements(block) / block->shape[0] : 0, sum = 0;
    for (int i = 0; i < e->groups.size * e->groups.size; i++)
        sum += pair[i] = e->example->call.rows[i] * row;
    return sum;
}

/* Chooses the algorithm: the best one, or XLA's choice, which is known by now. */
static int choose(struct evaluation *e, const struct collective *collective, struct collective_spec *spec,
                  struct status *st)
{
    double time_s;
    int code = 0;
    if (e->choice.algorithm == ALGORITHM_BEST && collective->uses_ring)
        code = collective_best(collective, e->mesh->slice, spec, &time_s, st);
    if (e->follows)
        config_follow(&e->config, collective->id == COLLECTIVE_ALL_GATHER, spec);
    e->kind = spec->kind;
    e->pattern = spec->pattern;
    return code;
}

static struct collective_spec spec_of(struct evaluation *e, int n, const struct collective_spec *plan)
{
    const struct call *call = &e->example->call;
    struct collective_spec spec = *plan;
    spec.rings = e->rings.rings;
    spec.buffers = &e->buffers[n];
    spec.elements = whole_elements(e);
    spec.elem_bytes = plan->elem_bytes > 0 ? plan->elem_bytes : 1;
    spec.combine = call->op == CALL_PMAX ? COMBINE_MAX : call->op == CALL_PMIN ? COMBINE_MIN : COMBINE_SUM;
    for (int r = 0; r < spec.rings; r++)
        spec.ring[r] = &e->rings.ring[r];
    if (call->op == CALL_BROADCAST)
        spec.root = e->chunk[e->groups.member[call->root]];
    return spec;
}

/* Appends the collective for the groups of n members, on the rings of these groups. */
static int append(struct evaluation *e, int members, const struct collective_spec *plan, struct status *st)
{
    const struct call *call = &e->example->call;
    size_t n = (size_t)members, chips = (size_t)e->mesh->slice->chips;
    int32_t *target = NULL;
    int64_t *pair = NULL;
    int code = 0;
    struct collective_spec spec = spec_of(e, members, plan);
    if (permutes(call)) {
        spec.target = target = malloc(chips * sizeof *target);
        code = target ? find_targets(e, target, st) : status_nomem(st);
    }
    if (call->op == CALL_RAGGED) {
        spec.pair_elements = pair = malloc(n * n * sizeof *pair);
        if (pair)
            spec.elements = count_rows(e, pair);
        else
            code = status_nomem(st);
    }
    const struct collective *collective = collective_by_name(call_name(call->op), st);
    if (code == 0)
        code = choose(e, collective, &spec, st);
    if (code == 0)
        code = collective->build(&spec, &e->program, -1, NULL, st);
    free(target);
    free(pair);
    return code;
}

/* Appends the collective once for each size of group. A group of one already has its result. */
static int append_sizes(struct evaluation *e, const struct collective_spec *plan, struct status *st)
{
    struct groups some;
    int code = groups_init(&some, e->groups.count, e->groups.size, st);
    for (int n = 2; n <= e->groups.size && code == 0; n++) {
        some.count = 0;
        some.size = n;
        for (int g = 0; g < e->groups.count; g++)
            if (groups_length(&e->groups, g) == n)
                memcpy(some.member + (ptrdiff_t)n * some.count++,
                       e->groups.member + (ptrdiff_t)g * e->groups.size, (size_t)n * sizeof *some.member);
        if (some.count == 0)
            continue;
        ring_set_free(&e->rings);
        code = ring_set_of_groups(&e->rings, e->mesh, &some, st);
        if (code == 0 && e->choice.algorithm == ALGORITHM_XLA)
            code = find_config(e, st);
        if (code == 0)
            code = append(e, n, plan, st);
    }
    groups_free(&some);
    return code;
}

/* Fills in rings, order, chunk, buffers and program; groups and start are set. If groups differ in size,
 * buffers have no chunks that belong to one position. */
static int build(struct evaluation *e, const struct collective_spec *plan, struct status *st)
{
    bool uneven = groups_are_uneven(&e->groups);
    int code = uneven ? 0 : open_rings(e, plan, st);
    if (code == 0 && !uneven && e->choice.algorithm == ALGORITHM_XLA)
        code = find_config(e, st);
    if (code == 0 && e->follows && e->config.rings == CONFIG_ONE_RING && e->rings.rings > 1) {
        ring_set_free(&e->rings);
        code = open_rings(e, plan, st);
    }
    if (code == 0)
        code = number_chunks(e, st);
    if (code < 0 || !call_sends(&e->example->call))
        return code;
    return uneven ? append_sizes(e, plan, st) : append(e, e->groups.size, plan, st);
}

int evaluation_open(struct evaluation *e, const struct example *example, const struct mesh *mesh,
                    const struct collective_spec *plan, const struct evaluate_choice *choice,
                    struct status *st)
{
    *e = (struct evaluation){.example = example, .mesh = mesh, .choice = *choice};
    program_init(&e->program, mesh->slice);
    int code = check_mesh(example, mesh, st);
    if (code == 0)
        code = define(e, st);
    return code < 0 ? code : build(e, plan, st);
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
    free(e->buffers);
    *e = (struct evaluation){0};
}

/* The memory of member i of the groups: the start of its buffer, or its own chunk of n in the buffer. NULL if
 * the program has no buffers, since no device sends anything. */
static double *buffer_of(const struct evaluation *e, int i, const struct memory *memory, bool out,
                         int64_t chunk)
{
    const struct collective_buffers *buffers = &e->buffers[groups_length(&e->groups, i / e->groups.size)];
    int32_t buffer = out ? buffers->out : buffers->in;
    int device = e->groups.member[i], chip = mesh_chip(e->mesh, device);
    return buffer < 0 ? NULL : memory_of(memory, chip, buffer) + e->chunk[device] * chunk;
}

/* Fills in the data of member i at the start. An all-gather's buffer has room for all blocks, and only the
 * root of a broadcast has data; elements that are not set stay NaN. Positions of a ppermute without a source
 * start with zeros. */
static void fill_one(const struct evaluation *e, int i, const struct memory *memory)
{
    const struct call *call = &e->example->call;
    int n = e->groups.size;
    struct array *block = &e->start[e->groups.member[i]];
    int64_t elements = array_elements(block);
    double *in = buffer_of(e, i, memory, false, call->op == CALL_ALL_GATHER ? elements : 0);
    double *out = buffer_of(e, i, memory, true, 0);
    if (out && call->op == CALL_PPERMUTE)
        memset(out, 0, (size_t)elements * sizeof *out);
    if (in && e->follows && e->config.as_all_reduce &&
        call->op == CALL_ALL_GATHER) /* its result is added to zeros */
        memset(buffer_of(e, i, memory, false, 0), 0, (size_t)(n * elements) * sizeof *in);
    if (in && (call->op != CALL_BROADCAST || i % n == call->root))
        pack_block(call, n, e->order + i - i % n, block, in);
}

/* Reads the data of member i at the end, in the shape of the definition. A ppermute without pairs has no
 * buffers and results in zeros; a group of one has no buffers either and keeps its block. */
static int read_one(struct evaluation *e, int i, const struct memory *memory, struct status *st)
{
    const struct call *call = &e->example->call;
    /* pmean divides all groups by the first one's size */
    int device = e->groups.member[i], n = groups_length(&e->groups, 0);
    enum dtype_id sum = call_sum_dtype(call->op, e->start[device].dtype);
    const struct array *want = &e->want[device];
    struct array *got = &e->got[device];
    int64_t chunk = call->op == CALL_PSUM_SCATTER ? array_elements(want) : 0;
    double *out = buffer_of(e, i, memory, true, chunk);
    if (!out && call->op != CALL_PPERMUTE)
        out = e->start[device].data;
    int code = array_init(got, want->dims, want->shape, want->dtype, st);
    if (code == 0 && out)
        unpack_block(call, n, e->order + i - i % e->groups.size, out, got);
    for (int64_t k = 0; code == 0 && call_reduces(call->op) && k < array_elements(got); k++) {
        double all = dtype_hold(sum, got->data[k]);
        got->data[k] = dtype_hold(want->dtype, call->op == CALL_PMEAN ? all / n : all);
    }
    return code;
}

static int move(struct evaluation *e, const struct execute_options *options, struct status *st)
{
    struct memory memory;
    int slots = e->groups.count * e->groups.size, code = memory_init(&memory, &e->program, st);
    if (code < 0)
        return code;
    for (int i = 0; i < slots; i++)
        if (e->groups.member[i] >= 0)
            fill_one(e, i, &memory);
    if (code == 0)
        code = execute(&memory, options, st);
    for (int i = 0; i < slots && code == 0; i++)
        if (e->groups.member[i] >= 0)
            code = read_one(e, i, &memory, st);
    memory_free(&memory);
    return code;
}

int evaluation_run(struct evaluation *e, const struct execute_options *options, struct status *st)
{
    int devices = e->mesh->devices, code = 0;
    for (int i = 0; i < devices; i++)
        array_free(&e->got[i]);
    if (call_sends(&e->example->call))
        return move(e, options, st);
    for (int i = 0; i < devices && code == 0; i++) {
        code = array_copy(&e->start[i], &e->got[i], st);
        if (code == 0 && e->example->call.op == CALL_AXIS_INDEX)
            e->got[i].data[0] = axis_list_position(&e->example->call.axes, &e->example->axes, i);
    }
    return code;
}

/* How far two sums of the same n numbers may be apart: each of the n - 1 additions of either rounds a partial
 * sum, at most n times the largest number, by epsilon/2. Sums of whole numbers that fit in a significand are
 * exact, but their means are rounded; integer types never round. */
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
    if (e->example->call.op == CALL_PMEAN &&
        array_is_whole(&e->start[0])) /* integers that wrap around stay small */
        return n * epsilon * fmax(largest, 1);
    if (array_is_whole(&e->start[0]))
        return 0;
    if (whole && n * largest <= 1 / epsilon)
        return e->example->call.op == CALL_PMEAN ? n * epsilon * largest : 0;
    return n * n * epsilon * largest;
}

/* Prints the index of element `at`, "[0, 1]". */
static void print_place(const struct array *array, int64_t at, char text[static ARRAY_TEXT])
{
    int64_t index[ARRAY_DIMS];
    for (int d = array->dims - 1; d >= 0; d--) {
        index[d] = at % array->shape[d];
        at /= array->shape[d];
    }
    strcpy(text, "[");
    for (int d = 0; d < array->dims; d++)
        text_add(text, ARRAY_TEXT, "%s%lld", d ? ", " : "", (long long)index[d]);
    text_add(text, ARRAY_TEXT, "]");
}

static int compare(const struct array *got, const struct array *want, double tolerance, struct status *st)
{
    char text[ARRAY_TEXT], other[ARRAY_TEXT];
    if (!array_same_shape(got, want))
        return status_fail(st, STATUS_CHECK, "the shape is %s, not %s", array_print_shape(got, text),
                           array_print_shape(want, other));
    for (int64_t i = 0; i < array_elements(got); i++)
        if (!(fabs(got->data[i] - want->data[i]) <= tolerance) && got->data[i] != want->data[i] &&
            !(isnan(got->data[i]) && isnan(want->data[i]))) {
            print_place(got, i, text);
            return status_fail(st, STATUS_CHECK, "element %s is %.9g, not %.9g", text, got->data[i],
                               want->data[i]);
        }
    return 0;
}

int evaluation_check(const struct evaluation *e, struct status *st)
{
    /* Copies, maxima and minima are exact for every type. */
    enum call_op op = e->example->call.op;
    bool sums = call_reduces(op) && op != CALL_PMAX && op != CALL_PMIN;
    enum dtype_id dtype = e->start[0].dtype;
    bool narrow = dtype == DTYPE_BF16 || dtype == DTYPE_F16;
    double tolerance = sums ? rounding(e, narrow ? dtype_epsilon(dtype) : DBL_EPSILON) : 0;
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
        code = compare(&result, &e->example->output, rounding(e, dtype_epsilon(e->start[0].dtype)), st);
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
