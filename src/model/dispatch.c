/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dispatch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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
            "1.25",
            text, DIGITS_MOST);
    return 0;
}

int dispatch_capacity(const char *factor, int64_t tokens, int top_k, int peers, int experts,
                      int64_t *capacity, struct status *st)
{
    int64_t numerator, denominator;
    if (read_decimal(factor, &numerator, &denominator, st) < 0)
        return st->code;
    __extension__ typedef __int128 wide; /* 2^40 tokens times 10^9 do not fit 64 bits */
    wide over = (wide)tokens * top_k * peers * numerator, under = (wide)experts * denominator;
    wide rows = (over + under - 1) / under;
    if (rows * experts > INT32_MAX)
        return status_fail(
            st, STATUS_LIMIT,
            "a capacity of %.9g rows for each of %d experts is more than %d rows together; take "
            "fewer tokens or a smaller factor",
            (double)rows, experts, INT32_MAX);
    *capacity = (int64_t)rows;
    return 0;
}

static int reserve(struct dispatch *dispatch, bool entries, struct status *st)
{
    size_t devices = (size_t)dispatch->devices;
    dispatch->kept = calloc(devices * (size_t)dispatch->experts + 1, sizeof *dispatch->kept);
    dispatch->size = calloc(devices * (size_t)dispatch->peers + 1, sizeof *dispatch->size);
    dispatch->offset = calloc(devices * (size_t)dispatch->peers + 1, sizeof *dispatch->offset);
    if (entries) {
        dispatch->order = calloc(devices * (size_t)dispatch->entries + 1, sizeof *dispatch->order);
        dispatch->dropped = calloc(devices * (size_t)dispatch->entries + 1, sizeof *dispatch->dropped);
    }
    if (dispatch->kept && dispatch->size && dispatch->offset &&
        (!entries || (dispatch->order && dispatch->dropped)))
        return 0;
    dispatch_free(dispatch);
    return status_nomem(st);
}

void dispatch_free(struct dispatch *dispatch)
{
    free(dispatch->kept);
    free(dispatch->size);
    free(dispatch->offset);
    free(dispatch->order);
    free(dispatch->dropped);
    *dispatch = (struct dispatch){0};
}

static void count_rows(struct dispatch *dispatch, const struct routing *routing)
{
    int each = dispatch->experts / dispatch->peers;
    for (int d = 0; d < dispatch->devices; d++) {
        const int64_t *routed = routing->routed + (int64_t)d * dispatch->experts;
        int64_t before = 0;
        for (int e = 0; e < dispatch->experts; e++) {
            int64_t slot = (int64_t)d * dispatch->peers + e / each;
            int64_t kept = routed[e] < dispatch->capacity ? routed[e] : dispatch->capacity;
            if (e % each == 0)
                dispatch->offset[slot] = before;
            dispatch->kept[(int64_t)d * dispatch->experts + e] = kept;
            dispatch->size[slot] += kept;
            before += routed[e];
        }
    }
}

/* What an entry is sorted by. */
struct sorted {
    int64_t entry;
    int expert;
    double gate;
    int group; /* the place of the block that it stands in */
};

static int by_entry(const struct sorted *a, const struct sorted *b)
{
    return (a->entry > b->entry) - (a->entry < b->entry);
}

/* By expert, the highest gate first, then as they come: the first ones are kept. */
static int by_rank(const void *left, const void *right)
{
    const struct sorted *a = left, *b = right;
    if (a->expert != b->expert)
        return a->expert - b->expert;
    if (a->gate > b->gate || a->gate < b->gate)
        return a->gate > b->gate ? -1 : 1;
    return by_entry(a, b);
}

static int by_place(const void *left, const void *right)
{
    const struct sorted *a = left, *b = right;
    return a->group != b->group ? a->group - b->group : by_entry(a, b);
}

/* Which entries of a device are dropped; `scratch` has room for all. */
static void drop_entries(struct dispatch *dispatch, const struct routing *routing, int device,
                         struct sorted scratch[])
{
    int64_t first = device * dispatch->entries, rank = 0;
    for (int64_t i = 0; i < dispatch->entries; i++)
        scratch[i] = (struct sorted){i, routing->expert[first + i], routing->gate[first + i], 0};
    qsort(scratch, (size_t)dispatch->entries, sizeof *scratch, by_rank);
    for (int64_t i = 0; i < dispatch->entries; i++) {
        rank = i > 0 && scratch[i].expert == scratch[i - 1].expert ? rank + 1 : 0;
        dispatch->dropped[first + scratch[i].entry] = rank >= dispatch->capacity;
    }
}

/* The order in which a device's entries stand. */
static void order_entries(struct dispatch *dispatch, const struct routing *routing, int device,
                          struct sorted scratch[])
{
    int64_t first = device * dispatch->entries;
    int each = dispatch->experts / dispatch->peers;
    for (int64_t i = 0; i < dispatch->entries; i++) {
        int expert = routing->expert[first + i];
        int group = (expert / each * 2 + dispatch->dropped[first + i]) * each + expert % each;
        scratch[i] = (struct sorted){.entry = i, .group = group};
    }
    qsort(scratch, (size_t)dispatch->entries, sizeof *scratch, by_place);
    for (int64_t i = 0; i < dispatch->entries; i++)
        dispatch->order[first + i] = scratch[i].entry;
}

int dispatch_init(struct dispatch *dispatch, const struct routing *routing, int peers, int64_t capacity,
                  struct status *st)
{
    *dispatch = (struct dispatch){.devices = routing->devices,
                                  .experts = routing->experts,
                                  .peers = peers,
                                  .entries = routing->tokens * routing->top_k,
                                  .capacity = capacity};
    if (reserve(dispatch, routing->expert != NULL, st) < 0)
        return st->code;
    count_rows(dispatch, routing);
    if (!routing->expert)
        return 0;
    struct sorted *scratch = malloc(((size_t)dispatch->entries + 1) * sizeof *scratch);
    if (!scratch) {
        dispatch_free(dispatch);
        return status_nomem(st);
    }
    for (int d = 0; d < dispatch->devices; d++) {
        drop_entries(dispatch, routing, d, scratch);
        order_entries(dispatch, routing, d, scratch);
    }
    free(scratch);
    return 0;
}

int dispatch_join(struct dispatch *one, const struct routing *routing, const struct dispatch *of,
                  const int device[], struct status *st)
{
    *one = (struct dispatch){.devices = 1,
                             .experts = of->experts,
                             .peers = 1,
                             .entries = of->entries * of->devices,
                             .capacity = 1};
    struct sorted *scratch = malloc(((size_t)one->entries + 1) * sizeof *scratch);
    if (!scratch || reserve(one, true, st) < 0) {
        free(scratch);
        return status_nomem(st);
    }
    for (int64_t i = 0; i < (int64_t)of->devices * of->experts; i++)
        one->kept[i % of->experts] += of->kept[i];
    for (int e = 0; e < one->experts; e++) {
        one->size[0] += one->kept[e];
        one->capacity = one->kept[e] > one->capacity ? one->kept[e] : one->capacity;
    }
    for (int b = 0; b < of->devices; b++)
        memcpy(one->dropped + b * of->entries, of->dropped + device[b] * of->entries,
               (size_t)of->entries * sizeof *one->dropped);
    order_entries(one, routing, 0, scratch);
    free(scratch);
    return 0;
}

int64_t dispatch_dropped(const struct dispatch *dispatch, const struct routing *routing, int device)
{
    int64_t dropped = 0;
    for (int64_t i = 0; i < (int64_t)dispatch->devices * dispatch->experts; i++)
        if (device < 0 || i / dispatch->experts == device)
            dropped += routing->routed[i] - dispatch->kept[i];
    return dropped;
}
