/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dispatch.h"

#include <stdlib.h>
#include <string.h>

static int reserve(struct dispatch *d, bool order, struct status *st)
{
    size_t devices = (size_t)d->devices, slots = devices * (size_t)d->peers + 1;
    d->size = calloc(slots, sizeof *d->size);
    d->offset = calloc(slots, sizeof *d->offset);
    d->order = order ? calloc(devices * (size_t)d->rows + 1, sizeof *d->order) : NULL;
    if (d->size && d->offset && (d->order || !order))
        return 0;
    dispatch_free(d);
    return status_nomem(st);
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

struct placed {
    int64_t entry;
    int block; /* of the entries for an expert that are kept, or dropped */
};

static int by_place(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    return a->block != b->block ? a->block - b->block : (a->entry > b->entry) - (a->entry < b->entry);
}

static int order_entries(struct dispatch *d, const struct routing *r, struct status *st)
{
    int each = r->experts / r->peers;
    struct placed *placed = malloc(((size_t)d->rows + 1) * sizeof *placed);
    if (!placed)
        return status_nomem(st);
    for (int64_t first = 0; first < r->devices * d->rows; first += d->rows) {
        for (int64_t i = 0; i < d->rows; i++) {
            int expert = r->expert[first + i];
            placed[i] =
                (struct placed){i, (expert / each * 2 + r->dropped[first + i]) * each + expert % each};
        }
        qsort(placed, (size_t)d->rows, sizeof *placed, by_place);
        for (int64_t i = 0; i < d->rows; i++)
            d->order[first + i] = placed[i].entry;
    }
    free(placed);
    return 0;
}

int dispatch_init(struct dispatch *d, const struct routing *r, struct status *st)
{
    *d = (struct dispatch){.devices = r->devices, .peers = r->peers, .rows = routing_entries(r)};
    if (reserve(d, r->expert != NULL, st) < 0)
        return st->code;
    count_rows(d, r);
    if (!r->expert || order_entries(d, r, st) == 0)
        return 0;
    dispatch_free(d);
    return st->code;
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
