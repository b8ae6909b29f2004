/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts that ops refer to by an index: routes, masks, tables, variables. Equal parts are stored once. */
#include <stdlib.h>
#include <string.h>

#include "program/building.h"

/* Does part `index` of a kind have these n bytes? Only routes vary in size. */
static bool holds(const struct program *program, enum program_part part, int32_t index, const void *bytes,
                  size_t n)
{
    switch (part) {
    case PART_ROUTE:
        return (size_t)program->route[index].hops * sizeof *program->hop == n &&
               (n == 0 || memcmp(program->hop + program->route[index].first, bytes, n) == 0);
    case PART_MASK:
        return memcmp(program->mask[index], bytes, n) == 0;
    case PART_INDEX_TABLE:
        return memcmp(program->index_table[index], bytes, n) == 0;
    case PART_AMOUNT_TABLE:
        return memcmp(program->amount_table[index], bytes, n) == 0;
    default:
        return memcmp(&program->var[index], bytes, n) == 0;
    }
}

/* A copy of n bytes; NULL, with the fault recorded, when memory runs out. */
static void *copy_of(struct program *program, const void *bytes, size_t n)
{
    void *copy = malloc(n);
    if (!copy)
        program_fault(program, STATUS_NOMEM);
    return copy ? memcpy(copy, bytes, n) : NULL;
}

/* Appends a part and returns its index, 0 after a fault. */
static int32_t append(struct program *program, enum program_part part, const void *bytes, size_t n)
{
    struct route route = {program->hops, (int)(n / sizeof *program->hop)};
    switch (part) {
    case PART_ROUTE:
        if (!HAS_ROOM(program, ROOM_HOP, hop, hops, route.hops + 1)) /* a place even for no hops */
            return 0;
        for (const struct hop *hop = bytes; program->hops < route.first + route.hops; hop++)
            program->hop[program->hops++] = *hop;
        APPEND(program, ROOM_ROUTE, route, routes, route);
    case PART_MASK:
        APPEND(program, ROOM_MASK, mask, masks, copy_of(program, bytes, n));
    case PART_INDEX_TABLE:
        APPEND(program, ROOM_INDEX, index_table, index_tables, copy_of(program, bytes, n));
    case PART_AMOUNT_TABLE:
        APPEND(program, ROOM_AMOUNT, amount_table, amount_tables, copy_of(program, bytes, n));
    default:
        APPEND(program, ROOM_VAR, var, vars, *(const struct var *)bytes);
    }
}

/* The index of an equal part that exists already, or of a new one. */
static int32_t keep(struct program *program, enum program_part part, const void *bytes, size_t n)
{
    struct lookup *known = &program->known[part];
    uint32_t hash = lookup_hash(0, bytes, n);
    const struct lookup_entry *at = NULL;
    for (int32_t i; (i = lookup_next(known, hash, &at)) >= 0;)
        if (holds(program, part, i, bytes, n))
            return i;
    int32_t index = append(program, part, bytes, n);
    if (!program->error && lookup_add(known, hash, index) < 0)
        program_fault(program, STATUS_NOMEM);
    return program->error ? 0 : index;
}

int32_t program_route(struct program *program, const struct hop hop[], int hops)
{
    size_t n = (size_t)hops * sizeof *hop;
    if (program->routes == 0 || !holds(program, PART_ROUTE, program->latest_route, hop, n))
        program->latest_route = keep(program, PART_ROUTE, hop, n);
    return program->latest_route;
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
    return keep(program, PART_MASK, mask, n);
}

int32_t program_index_table(struct program *program, const int32_t index[])
{
    return keep(program, PART_INDEX_TABLE, index, (size_t)program->slice->chips * sizeof *index);
}

int32_t program_var_axis(struct program *program, int axis)
{
    struct var var = {program->slice->len[axis], axis, NO_TABLE};
    return keep(program, PART_VAR, &var, sizeof var);
}

int32_t program_var_table(struct program *program, int32_t n, const int32_t index[])
{
    struct var var = {n, -1, program_index_table(program, index)};
    return keep(program, PART_VAR, &var, sizeof var);
}

int32_t program_var(const struct program *program, int32_t var, int chip)
{
    const struct var *v = &program->var[var];
    return v->axis >= 0 ? slice_coord(program->slice, chip, v->axis)
                        : program->index_table[v->index_table][chip];
}

/* The first chip of a mask, if all its chips have the same entry in a table; else -1. After a fault the mask
 * may not exist, so it is not read. */
static int find_alike(const struct program *program, int32_t where, const void *table, size_t entry_bytes)
{
    const char *first = NULL, *entry = table;
    for (int chip = 0; chip < program->slice->chips && !program->error; chip++, entry += entry_bytes) {
        if (where != WHERE_ALL && !program->mask[where][chip])
            continue;
        first = first ? first : entry;
        if (memcmp(entry, first, entry_bytes) != 0)
            return -1;
    }
    return first ? (int)((size_t)(first - (const char *)table) / entry_bytes) : -1;
}

struct towards program_towards_table(struct program *program, const int32_t route[], int32_t where)
{
    int alike = find_alike(program, where, route, sizeof *route);
    if (program->error || alike >= 0)
        return (struct towards){program->error ? 0 : route[alike], NO_TABLE};
    return (struct towards){0, program_index_table(program, route)};
}

struct amount program_amount_table(struct program *program, const double amount[], int32_t where)
{
    int alike = find_alike(program, where, amount, sizeof *amount);
    if (program->error || alike >= 0)
        return amount_of(program->error ? 0 : amount[alike]);
    return (struct amount){
        0, keep(program, PART_AMOUNT_TABLE, amount, (size_t)program->slice->chips * sizeof *amount)};
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
