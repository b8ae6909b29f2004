/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "model/dispatch.h"

static int reserve(struct dispatch_part *out, const struct dispatch *d, struct status *st)
{
    size_t devices = (size_t)d->devices, slots = devices * (size_t)d->peers + 1;
    out->size = calloc(slots, sizeof *out->size);
    out->offset = calloc(slots, sizeof *out->offset);
    out->order = d->order ? calloc(devices * (size_t)out->rows + 1, sizeof *out->order) : NULL;
    if (out->size && out->offset && (out->order || !d->order))
        return 0;
    dispatch_part_free(out);
    return status_nomem(st);
}

void dispatch_part_free(struct dispatch_part *part)
{
    free(part->size);
    free(part->offset);
    free(part->order);
    *part = (struct dispatch_part){0};
}

static void copy_all(struct dispatch_part *out, const struct dispatch *d)
{
    size_t devices = (size_t)d->devices, slots = devices * (size_t)d->peers;
    memcpy(out->size, d->size, slots * sizeof *out->size);
    memcpy(out->offset, d->offset, slots * sizeof *out->offset);
    if (d->order)
        memcpy(out->order, d->order, devices * (size_t)d->entries * sizeof *out->order);
}

/* The rows of one device; each of its blocks has those that are kept first. */
static void pick(struct dispatch_part *out, const struct dispatch *d, int device, int part, int parts)
{
    int64_t place = 0;
    for (int p = 0; p < d->peers; p++) {
        int64_t slot = (int64_t)device * d->peers + p, whole = d->size[slot];
        int64_t low = whole * part / parts, high = whole * (part + 1) / parts;
        out->size[slot] = high - low;
        out->offset[slot] = place;
        if (d->order)
            memcpy(out->order + device * out->rows + place,
                   d->order + device * d->entries + d->offset[slot] + low,
                   (size_t)(high - low) * sizeof *out->order);
        place += high - low;
    }
}

int dispatch_part_init(struct dispatch_part *out, const struct dispatch *dispatch, int part, int parts,
                       struct status *st)
{
    int64_t entries = dispatch->entries, most = entries / parts + dispatch->peers; /* each block rounds up */
    *out = (struct dispatch_part){.rows = parts == 1 || most > entries ? entries : most};
    if (reserve(out, dispatch, st) < 0)
        return st->code;
    if (parts == 1) {
        copy_all(out, dispatch);
        return 0;
    }
    for (int d = 0; d < dispatch->devices; d++)
        pick(out, dispatch, d, part, parts);
    return 0;
}
