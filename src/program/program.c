/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "program/program.h"

#include <math.h>
#include <stdarg.h>
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
    free(program->route_slot);
    *program = (struct program){.slice = program->slice};
}

static int32_t fault(struct program *program, int code)
{
    if (!program->error)
        program->error = code;
    return 0;
}

/* The growing arrays of a program, in the order of program.room. */
enum {
    ROOM_OP,
    ROOM_AFTER,
    ROOM_ROUTE,
    ROOM_HOP,
    ROOM_MASK,
    ROOM_INDEX,
    ROOM_AMOUNT,
    ROOM_VAR,
    ROOM_BUFFER,
    ROOM_PAYLOAD,
    ROOM_STAGE
};

/* Makes room for `more` elements behind `used`; returns the array, moved if need be, or NULL. */
static void *grow(struct program *program, int which, void *array, int32_t used, int32_t more, size_t size)
{
    if (used > INT32_MAX / 2 - more) {
        fault(program, STATUS_LIMIT);
        return NULL;
    }
    if (used + more <= program->room[which])
        return array;
    int32_t room = program->room[which] ? 2 * program->room[which] : 16;
    if (room < used + more)
        room = used + more;
    void *moved = realloc(array, (size_t)room * size);
    if (!moved) {
        fault(program, STATUS_NOMEM);
        return NULL;
    }
    program->room[which] = room;
    return moved;
}

/* Appends *element to program->array; evaluates to its index, 0 after a fault. */
#define APPEND(program, which, array, count, element)                                                        \
    do {                                                                                                     \
        void *moved =                                                                                        \
            grow((program), (which), (program)->array, (program)->count, 1, sizeof *(program)->array);       \
        if (!moved)                                                                                          \
            return 0;                                                                                        \
        (program)->array = moved;                                                                            \
        (program)->array[(program)->count] = (element);                                                      \
        return (program)->count++;                                                                           \
    } while (0)

static bool same_route(const struct program *program, struct route route, const struct hop hop[], int hops)
{
    if (route.hops != hops)
        return false;
    for (int i = 0; i < hops; i++) {
        struct hop have = program->hop[route.first + i];
        if (have.axis != hop[i].axis || have.delta != hop[i].delta)
            return false;
    }
    return true;
}

/* A multiplicative hash; an all-to-all of a pod asks for ten thousand different routes. */
static uint32_t hash_route(const struct hop hop[], int hops)
{
    uint64_t hash = (uint64_t)hops;
    for (int i = 0; i < hops; i++) {
        hash ^= (uint64_t)hop[i].axis << 32 ^ (uint32_t)hop[i].delta;
        hash *= 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

/* The slot of an equal route, or the empty one where it belongs. */
static int32_t *find_slot(const struct program *program, const struct hop hop[], int hops)
{
    uint32_t last = (uint32_t)program->route_slots - 1, at = hash_route(hop, hops) & last;
    while (program->route_slot[at] &&
           !same_route(program, program->route[program->route_slot[at] - 1], hop, hops))
        at = (at + 1) & last;
    return &program->route_slot[at];
}

/* Makes room for one more route among the slots. */
static bool widen_slots(struct program *program)
{
    if (program->routes < program->route_slots / 2)
        return true;
    if (program->route_slots > INT32_MAX / 2) {
        fault(program, STATUS_LIMIT);
        return false;
    }
    int32_t slots = program->route_slots ? 2 * program->route_slots : 64;
    int32_t *slot = calloc((size_t)slots, sizeof *slot);
    if (!slot) {
        fault(program, STATUS_NOMEM);
        return false;
    }
    free(program->route_slot);
    program->route_slot = slot;
    program->route_slots = slots;
    for (int32_t r = 0; r < program->routes; r++) {
        struct route route = program->route[r];
        *find_slot(program, program->hop + route.first, route.hops) = r + 1;
    }
    return true;
}

static int32_t append_route(struct program *program, struct route route)
{
    APPEND(program, ROOM_ROUTE, route, routes, route);
}

int32_t program_route(struct program *program, const struct hop hop[], int hops)
{
    if (!widen_slots(program))
        return 0;
    int32_t *slot = find_slot(program, hop, hops);
    if (*slot)
        return *slot - 1;
    if (hops > 0) {
        void *longer = grow(program, ROOM_HOP, program->hop, program->hops, hops, sizeof *program->hop);
        if (!longer)
            return 0;
        program->hop = longer;
        memcpy(program->hop + program->hops, hop, (size_t)hops * sizeof *hop);
    }
    int32_t index = program->routes;
    append_route(program, (struct route){program->hops, hops});
    if (program->routes == index)
        return 0;
    program->hops += hops;
    *slot = index + 1;
    return index;
}

int32_t program_route_between(struct program *program, int from, int to)
{
    struct hop hop[ROUTE_HOPS];
    int hops = route_between(program->slice, from, to, hop, NULL);
    if (hops >= 0)
        return program_route(program, hop, hops);
    if (!program->error) {
        program->lost[0] = from;
        program->lost[1] = to;
    }
    return fault(program, hops);
}

struct towards program_towards(struct program *program, const struct hop hop[], int hops)
{
    return (struct towards){program_route(program, hop, hops), NO_TABLE};
}

static void *copy(struct program *program, const void *from, size_t size)
{
    void *to = malloc(size);
    if (to)
        memcpy(to, from, size);
    else
        fault(program, STATUS_NOMEM);
    return to;
}

int32_t program_mask(struct program *program, const uint8_t mask[])
{
    size_t n = (size_t)program->slice->chips;
    if (!memchr(mask, 0, n))
        return WHERE_ALL;
    for (int32_t m = program->masks - 1; m >= 0; m--)
        if (memcmp(program->mask[m], mask, n) == 0)
            return m;
    uint8_t *kept = copy(program, mask, n);
    if (!kept)
        return 0;
    APPEND(program, ROOM_MASK, mask, masks, kept);
}

int32_t program_index_table(struct program *program, const int32_t index[])
{
    size_t size = (size_t)program->slice->chips * sizeof *index;
    for (int32_t t = program->index_tables - 1; t >= 0; t--)
        if (memcmp(program->index_table[t], index, size) == 0)
            return t;
    int32_t *kept = copy(program, index, size);
    if (!kept)
        return 0;
    APPEND(program, ROOM_INDEX, index_table, index_tables, kept);
}

/* First chip that a mask lets take part, or the number of chips. */
static int first_of(const struct program *program, int32_t where)
{
    int chip = 0;
    while (where != WHERE_ALL && chip < program->slice->chips && !program->mask[where][chip])
        chip++;
    return chip;
}

struct towards program_towards_table(struct program *program, const int32_t route[], int32_t where)
{
    int chips = program->slice->chips, first = first_of(program, where);
    bool alike = first < chips;
    for (int chip = first; alike && chip < chips; chip++)
        alike = (where != WHERE_ALL && !program->mask[where][chip]) || route[chip] == route[first];
    if (alike)
        return (struct towards){route[first], NO_TABLE};
    return (struct towards){0, program_index_table(program, route)};
}

static int32_t keep_amounts(struct program *program, const double amount[])
{
    size_t size = (size_t)program->slice->chips * sizeof *amount;
    for (int32_t t = program->amount_tables - 1; t >= 0; t--)
        if (memcmp(program->amount_table[t], amount, size) == 0)
            return t;
    double *kept = copy(program, amount, size);
    if (!kept)
        return 0;
    APPEND(program, ROOM_AMOUNT, amount_table, amount_tables, kept);
}

struct amount program_amount_table(struct program *program, const double amount[], int32_t where)
{
    int chips = program->slice->chips, first = first_of(program, where);
    bool alike = first < chips;
    for (int chip = first; alike && chip < chips; chip++)
        alike = (where != WHERE_ALL && !program->mask[where][chip]) ||
                !(amount[chip] < amount[first] || amount[chip] > amount[first]);
    if (alike)
        return amount_of(amount[first]);
    return (struct amount){0, keep_amounts(program, amount)};
}

struct amount program_seconds(struct program *program, double seconds, double fixed_s)
{
    const struct slice *slice = program->slice;
    if (!slice->chip_frac)
        return amount_of(seconds);
    double *each = malloc((size_t)slice->chips * sizeof *each);
    if (!each) {
        fault(program, STATUS_NOMEM);
        return amount_of(seconds);
    }
    for (int chip = 0; chip < slice->chips; chip++)
        each[chip] = fixed_s + (seconds - fixed_s) / slice_chip_frac(slice, chip);
    struct amount amount = program_amount_table(program, each, WHERE_ALL);
    free(each);
    return amount;
}

static int32_t keep_var(struct program *program, struct var var)
{
    for (int32_t v = 0; v < program->vars; v++) {
        struct var have = program->var[v];
        if (have.n == var.n && have.axis == var.axis && have.index_table == var.index_table)
            return v;
    }
    APPEND(program, ROOM_VAR, var, vars, var);
}

int32_t program_var_axis(struct program *program, int axis)
{
    return keep_var(program, (struct var){program->slice->len[axis], axis, NO_TABLE});
}

int32_t program_var_table(struct program *program, int32_t n, const int32_t index[])
{
    return keep_var(program, (struct var){n, -1, program_index_table(program, index)});
}

int32_t program_var(const struct program *program, int32_t var, int chip)
{
    const struct var *v = &program->var[var];
    return v->axis >= 0 ? slice_coord(program->slice, chip, v->axis)
                        : program->index_table[v->index_table][chip];
}

int32_t program_stage(struct program *program, const char *format, ...)
{
    struct stage stage = {{0}};
    va_list args;
    va_start(args, format);
    vsnprintf(stage.name, sizeof stage.name, format, args);
    va_end(args);
    APPEND(program, ROOM_STAGE, stage, stages, stage);
}

int32_t program_buffer(struct program *program, const char *name, int64_t rows, int64_t cols,
                       double elem_bytes, const struct grid_dim dim[], int dims, const int64_t *ragged)
{
    struct buffer buffer = {.rows = rows, .cols = cols, .elem_bytes = elem_bytes, .dims = dims};
    snprintf(buffer.name, sizeof buffer.name, "%s", name);
    if (dims > GRID_DIMS || (ragged && dims != 1))
        return fault(program, STATUS_LIMIT);
    for (int d = 0; d < dims; d++)
        buffer.dim[d] = dim[d];
    if (ragged) {
        buffer.ragged =
            copy(program, ragged, (size_t)program->slice->chips * (size_t)dim[0].n * sizeof *ragged);
        if (!buffer.ragged)
            return 0;
    }
    APPEND(program, ROOM_BUFFER, buffer, buffers, buffer);
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
    if (program->ops == 0 || op >= program->ops - 1) {
        fault(program, STATUS_CHECK);
        return;
    }
    struct op *last = &program->op[program->ops - 1];
    void *moved = grow(program, ROOM_AFTER, program->after, program->afters, 1, sizeof *program->after);
    if (!moved)
        return;
    program->after = moved;
    program->after[program->afters++] = (struct after){op, kind};
    last->afters++;
}

void program_wait(struct program *program, int32_t op)
{
    program_after(program, op, AFTER_ARRIVED);
    program_after(program, op, AFTER_DONE);
}

int32_t program_join(struct program *program, int32_t where, int32_t stage)
{
    return program_add(program, (struct op){.kind = OP_SEND,
                                            .where = where,
                                            .towards = program_towards(program, NULL, 0),
                                            .amount = amount_of(0),
                                            .payload = NO_PAYLOAD,
                                            .stage = stage});
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
    case STATUS_INPUT: /* asked again, it says why */
        return route_between(program->slice, program->lost[0], program->lost[1], hop, st);
    case STATUS_LIMIT:
        return status_fail(st, STATUS_LIMIT, "the program is too large: more than 2^30 ops or dependencies");
    default:
        return status_fail(st, program->error, "the program has a dependency that does not point back");
    }
}
