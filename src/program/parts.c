/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts that ops name by an index, of which equal ones are kept once: routes, masks, tables, variables. */
#include <stdlib.h>
#include <string.h>

#include "program/building.h"

/* Reads entry `index` of an array of parts as bytes. */
typedef const void *part_bytes(const struct program *program, int32_t index);

static const void *mask_bytes(const struct program *program, int32_t index)
{
    return program->mask[index];
}
static const void *index_bytes(const struct program *program, int32_t index)
{
    return program->index_table[index];
}
static const void *amount_bytes(const struct program *program, int32_t index)
{
    return program->amount_table[index];
}
static const void *var_bytes(const struct program *program, int32_t index)
{
    return &program->var[index];
}
/* A part that is looked for. */
struct sought {
    struct lookup *known;
    part_bytes *bytes_of;
    const void *bytes;
    size_t n;
    uint32_t hash;
};

static struct sought seek(struct program *program, enum program_part part, part_bytes *bytes_of,
                          const void *bytes, size_t n)
{
    return (struct sought){&program->known[part], bytes_of, bytes, n, lookup_hash(0, bytes, n)};
}

/* Its index, or -1. */
static int32_t find(const struct program *program, const struct sought *sought)
{
    const struct lookup_entry *at = NULL;
    for (int32_t i; (i = lookup_next(sought->known, sought->hash, &at)) >= 0;)
        if (memcmp(sought->bytes_of(program, i), sought->bytes, sought->n) == 0)
            return i;
    return -1;
}

/* From now on it is found. */
static void keep(struct program *program, const struct sought *sought, int32_t index)
{
    int code = program->error ? 0 : lookup_add(sought->known, sought->hash, index);
    if (code < 0)
        program_fault(program, code);
}

/* Appends a copy of the bytes sought, or the value, to program->array and returns its index, 0 after a fault. */
#define APPEND_COPY(program, which, array, count, sought)                                                    \
    do {                                                                                                     \
        if (!HAS_ROOM(program, which, array, count, 1))                                                      \
            return 0;                                                                                        \
        void *kept = malloc((sought)->n);                                                                    \
        if (!kept)                                                                                           \
            return program_fault(program, STATUS_NOMEM);                                                     \
        (program)->array[(program)->count] = memcpy(kept, (sought)->bytes, (sought)->n);                     \
        keep(program, sought, (program)->count);                                                             \
        return (program)->count++;                                                                           \
    } while (0)
#define APPEND_VALUE(program, which, array, count, sought, value)                                            \
    do {                                                                                                     \
        if (!HAS_ROOM(program, which, array, count, 1))                                                      \
            return 0;                                                                                        \
        (program)->array[(program)->count] = (value);                                                        \
        keep(program, sought, (program)->count);                                                             \
        return (program)->count++;                                                                           \
    } while (0)

static bool same_route(const struct program *program, struct route route, const struct hop hop[], int hops)
{
    const struct hop *known = program->hop + route.first;
    bool same = route.hops == hops;
    for (int h = 0; same && h < hops; h++) /* one or two: a call takes longer */
        same = known[h].axis == hop[h].axis && known[h].delta == hop[h].delta;
    return same;
}

int32_t program_route(struct program *program, const struct hop hop[], int hops)
{
    if (program->routes > 0 && same_route(program, program->route[program->latest_route], hop, hops))
        return program->latest_route;
    size_t bytes = (size_t)hops * sizeof *hop;
    struct sought sought = {&program->known[PART_ROUTE], NULL, hop, bytes, lookup_hash(0, hop, bytes)};
    const struct lookup_entry *at = NULL;
    for (int32_t r; (r = lookup_next(sought.known, sought.hash, &at)) >= 0;)
        if (same_route(program, program->route[r], hop, hops))
            return program->latest_route = r;
    if (!HAS_ROOM(program, ROOM_HOP, hop, hops, hops))
        return 0;
    struct route route = {program->hops, hops};
    if (hops > 0)
        memcpy(program->hop + program->hops, hop, bytes);
    program->hops += hops;
    APPEND_VALUE(program, ROOM_ROUTE, route, routes, &sought, route);
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
    return program_fault(program, hops);
}

void program_routes_to(struct program *program, const int32_t target[], int32_t route[])
{
    for (int chip = 0; chip < program->slice->chips; chip++)
        if (target[chip] >= 0)
            route[chip] = program_route_between(program, chip, target[chip]);
}

struct towards program_towards(struct program *program, const struct hop hop[], int hops)
{
    return (struct towards){program_route(program, hop, hops), NO_TABLE};
}

int32_t program_mask(struct program *program, const uint8_t mask[])
{
    size_t n = (size_t)program->slice->chips;
    if (!memchr(mask, 0, n))
        return WHERE_ALL;
    struct sought sought = seek(program, PART_MASK, mask_bytes, mask, n);
    int32_t index = find(program, &sought);
    if (index >= 0)
        return index;
    APPEND_COPY(program, ROOM_MASK, mask, masks, &sought);
}

int32_t program_index_table(struct program *program, const int32_t index[])
{
    size_t n = (size_t)program->slice->chips * sizeof *index;
    struct sought sought = seek(program, PART_INDEX_TABLE, index_bytes, index, n);
    int32_t table = find(program, &sought);
    if (table >= 0)
        return table;
    APPEND_COPY(program, ROOM_INDEX, index_table, index_tables, &sought);
}

static int32_t keep_amounts(struct program *program, const double amount[])
{
    size_t n = (size_t)program->slice->chips * sizeof *amount;
    struct sought sought = seek(program, PART_AMOUNT_TABLE, amount_bytes, amount, n);
    int32_t table = find(program, &sought);
    if (table >= 0)
        return table;
    APPEND_COPY(program, ROOM_AMOUNT, amount_table, amount_tables, &sought);
}

static int32_t keep_var(struct program *program, struct var var)
{
    struct sought sought = seek(program, PART_VAR, var_bytes, &var, sizeof var);
    int32_t index = find(program, &sought);
    if (index >= 0)
        return index;
    APPEND_VALUE(program, ROOM_VAR, var, vars, &sought, var);
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
    if (program->error)
        return (struct towards){0, NO_TABLE}; /* there may be no such mask */
    int chips = program->slice->chips, first = first_of(program, where);
    bool alike = first < chips;
    for (int chip = first; alike && chip < chips; chip++)
        alike = (where != WHERE_ALL && !program->mask[where][chip]) || route[chip] == route[first];
    if (alike)
        return (struct towards){route[first], NO_TABLE};
    return (struct towards){0, program_index_table(program, route)};
}

struct amount program_amount_table(struct program *program, const double amount[], int32_t where)
{
    if (program->error)
        return amount_of(0);
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
        program_fault(program, STATUS_NOMEM);
        return amount_of(seconds);
    }
    for (int chip = 0; chip < slice->chips; chip++)
        each[chip] = fixed_s + (seconds - fixed_s) / slice_chip_frac(slice, chip);
    struct amount amount = program_amount_table(program, each, WHERE_ALL);
    free(each);
    return amount;
}
