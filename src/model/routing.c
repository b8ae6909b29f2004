/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/routing.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int routing_init(struct routing *routing, struct status *st)
{
    size_t entries = (size_t)routing->devices * (size_t)routing_entries(routing) + 1;
    size_t loads = (size_t)routing->devices * (size_t)routing->experts + 1;
    routing->entry = malloc(entries * sizeof *routing->entry);
    routing->routed = calloc(loads, sizeof *routing->routed);
    routing->kept = calloc(loads, sizeof *routing->kept);
    return routing->entry && routing->routed && routing->kept ? 0 : status_nomem(st);
}

void routing_free(struct routing *routing)
{
    routing_forget_entries(routing);
    free(routing->routed);
    free(routing->kept);
    routing->routed = routing->kept = NULL;
}

void routing_forget_entries(struct routing *routing)
{
    free(routing->entry);
    routing->entry = NULL;
}

/* "1.25" as 125 / 100. */
static int read_decimal(const char *text, int64_t *numerator, int64_t *denominator, struct status *st)
{
    enum { DIGITS_MOST = 9 };
    int digits = 0, points = 0;
    const char *at = text;
    *numerator = 0;
    *denominator = 1;
    for (; *at; at++) {
        if (*at == '.' && points++ == 0)
            continue;
        if (!isdigit((unsigned char)*at) || ++digits > DIGITS_MOST)
            break;
        *numerator = *numerator * 10 + (*at - '0');
        *denominator *= points ? 10 : 1;
    }
    if (*at || digits == 0 || *numerator == 0)
        return status_fail(
            st, STATUS_INPUT,
            "the capacity factor is '%s'; write a number above 0 with up to %d digits, such as "
            "1.25, or none",
            text, DIGITS_MOST);
    return 0;
}

int routing_capacity(const struct routing *r, const char *factor, int64_t *capacity, struct status *st)
{
    int64_t numerator, denominator;
    if (read_decimal(factor, &numerator, &denominator, st) < 0)
        return st->code;
    __extension__ typedef __int128 wide; /* 2^40 tokens times 10^9 do not fit 64 bits */
    wide over = (wide)r->tokens * r->top_k * r->peers * numerator, under = (wide)r->experts * denominator;
    wide rows = (over + under - 1) / under;
    if (rows * r->experts > INT32_MAX)
        return status_fail(
            st, STATUS_LIMIT,
            "a capacity of %.9g rows for each of %d experts is more than %d rows together; take "
            "fewer tokens or a smaller factor",
            (double)rows, r->experts, INT32_MAX);
    *capacity = (int64_t)rows;
    return 0;
}

struct ranked {
    int64_t entry;
    int block; /* index of the group of entries for an expert */
    double gate;
};

/* Sorts by block, then by descending gate, then by position. */
static int by_rank(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->block != b->block)
        return a->block - b->block;
    if (a->gate > b->gate || a->gate < b->gate)
        return a->gate > b->gate ? -1 : 1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

int routing_limit(struct routing *r, struct status *st)
{
    int64_t entries = routing_entries(r), capacity = r->capacity, rank = 0;
    for (int64_t i = 0; i < (int64_t)r->devices * r->experts; i++)
        r->kept[i] = r->routed[i] < capacity ? r->routed[i] : capacity;
    struct ranked *ranked = r->entry ? malloc(((size_t)entries + 1) * sizeof *ranked) : NULL;
    if (r->entry && !ranked)
        return status_nomem(st);
    for (int64_t first = 0; ranked && first < r->devices * entries; first += entries) {
        for (int64_t i = 0; i < entries; i++)
            ranked[i] = (struct ranked){i, r->entry[first + i].expert, r->entry[first + i].gate};
        qsort(ranked, (size_t)entries, sizeof *ranked, by_rank);
        for (int64_t i = 0; i < entries; i++) {
            rank = i > 0 && ranked[i].block == ranked[i - 1].block ? rank + 1 : 0;
            r->entry[first + ranked[i].entry].dropped = rank >= capacity;
        }
    }
    free(ranked);
    return 0;
}

int routing_join(struct routing *one, const struct routing *of, const int device[], struct status *st)
{
    size_t entries = (size_t)routing_entries(of);
    *one = (struct routing){.devices = 1,
                            .experts = of->experts,
                            .top_k = of->top_k,
                            .peers = 1,
                            .tokens = of->tokens * of->devices,
                            .capacity = 1};
    if (!of->entry)
        return status_fail(st, STATUS_INPUT,
                           "counts do not say which tokens go to which expert; eval needs a routing with "
                           "device,token,expert,gate, or one that is drawn");
    if (routing_init(one, st) < 0)
        return st->code;
    for (int b = 0; b < of->devices; b++) {
        const struct routing_entry *from = of->entry + (size_t)device[b] * entries;
        memcpy(one->entry + (size_t)b * entries, from, entries * sizeof *from);
    }
    for (int i = 0; i < of->devices * of->experts; i++) {
        one->routed[i % of->experts] += of->routed[i];
        one->kept[i % of->experts] += of->kept[i];
    }
    for (int e = 0; e < one->experts; e++)
        one->capacity = one->kept[e] > one->capacity ? one->kept[e] : one->capacity;
    return 0;
}

static int reserve(struct dispatch *d, bool order, struct status *st)
{
    size_t devices = (size_t)d->devices, slots = devices * (size_t)d->peers + 1;
    d->size = calloc(slots, sizeof *d->size);
    d->offset = calloc(slots, sizeof *d->offset);
    d->order = order ? calloc(devices * (size_t)d->rows + 1, sizeof *d->order) : NULL;
    return d->size && d->offset && (d->order || !order) ? 0 : status_nomem(st);
}

void dispatch_free(struct dispatch *d)
{
    free(d->size);
    free(d->offset);
    free(d->order);
    *d = (struct dispatch){0};
}

static void count_rows(struct dispatch *d, const struct routing *r)
{
    int each = r->experts / r->peers;
    for (int64_t device = 0; device < r->devices; device++) {
        int64_t before = 0;
        for (int e = 0; e < r->experts; e++) {
            int64_t slot = device * r->peers + e / each;
            if (e % each == 0)
                d->offset[slot] = before;
            d->size[slot] += r->kept[device * r->experts + e];
            before += r->routed[device * r->experts + e];
        }
    }
}

/* The kept entries for an expert are a block, and so are its dropped ones. */
static int order_entries(struct dispatch *d, const struct routing *r, struct status *st)
{
    int each = r->experts / r->peers;
    struct ranked *placed = malloc(((size_t)d->rows + 1) * sizeof *placed);
    if (!placed)
        return status_nomem(st);
    for (int64_t first = 0; first < r->devices * d->rows; first += d->rows) {
        for (int64_t i = 0; i < d->rows; i++) {
            int expert = r->entry[first + i].expert;
            int block = (expert / each * 2 + r->entry[first + i].dropped) * each + expert % each;
            placed[i] = (struct ranked){.entry = i, .block = block};
        }
        qsort(placed, (size_t)d->rows, sizeof *placed, by_rank);
        for (int64_t i = 0; i < d->rows; i++)
            d->order[first + i] = placed[i].entry;
    }
    free(placed);
    return 0;
}

int dispatch_init(struct dispatch *d, const struct routing *r, struct status *st)
{
    *d = (struct dispatch){.devices = r->devices, .peers = r->peers, .rows = routing_entries(r)};
    if (reserve(d, r->entry != NULL, st) < 0)
        return st->code;
    count_rows(d, r);
    return r->entry ? order_entries(d, r, st) : 0;
}

int dispatch_part(struct dispatch *part, const struct dispatch *whole, int number, int parts,
                  struct status *st)
{
    int64_t most = whole->rows / parts + whole->peers; /* each block rounds up */
    *part = *whole;
    part->rows = parts == 1 || most > whole->rows ? whole->rows : most;
    if (reserve(part, whole->order != NULL, st) < 0)
        return st->code;
    for (int64_t device = 0; device < whole->devices; device++)
        for (int64_t slot = device * whole->peers, place = 0; slot < (device + 1) * whole->peers; slot++) {
            int64_t low = whole->size[slot] * number / parts,
                    rows = whole->size[slot] * (number + 1) / parts - low;
            part->size[slot] = rows;
            part->offset[slot] = place;
            if (whole->order)
                memcpy(part->order + device * part->rows + place,
                       whole->order + device * whole->rows + whole->offset[slot] + low,
                       (size_t)rows * sizeof *part->order);
            place += rows;
        }
    return 0;
}
