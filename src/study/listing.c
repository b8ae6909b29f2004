/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/listing.h"

#include <stdlib.h>
#include <string.h>

#include "compile/pass.h"
#include "settings/option.h"

int listing_read(const struct point *point, struct module *module, char path[HLO_PATH], int *disguised,
                 struct status *st)
{
    struct module written = {0};
    *disguised = 0;
    if (option_check(point, ON_TEXT, "HLO text", st) < 0)
        return st->code;
    if (point->work.as_written)
        return hlo_load(module, point->work.op, point->work.trip_count, path, st);
    int code = hlo_load(&written, point->work.op, point->work.trip_count, path, st);
    if (code == 0)
        code = pass_reduce_scatters(&written, module, disguised, st);
    if (code == 0 && *disguised == 0)
        *module = written;
    else
        module_free(&written);
    return code;
}

static void free_one(struct listing *text)
{
    free(text->op);
    free(text->trips);
    module_free(&text->module);
    free(text);
}

void listings_free(struct listing *first)
{
    while (first) {
        struct listing *next = first->next;
        free_one(first);
        first = next;
    }
}

static bool is_of(const struct listing *text, const struct point *point)
{
    bool trips = point->work.trip_count ? text->trips && strcmp(text->trips, point->work.trip_count) == 0
                                        : !text->trips;
    return trips && text->as_written == point->work.as_written && strcmp(text->op, point->work.op) == 0;
}

const struct listing *listing_of(struct catalog *catalog, const struct point *point, struct status *st)
{
    for (const struct listing *text = catalog->text; text; text = text->next)
        if (is_of(text, point))
            return option_check(point, ON_TEXT, "HLO text", st) < 0 ? NULL : text;
    struct listing *text = calloc(1, sizeof *text);
    if (!text) {
        status_nomem(st);
        return NULL;
    }
    text->op = strdup(point->work.op);
    text->trips = point->work.trip_count ? strdup(point->work.trip_count) : NULL;
    text->as_written = point->work.as_written;
    int code = text->op && (text->trips || !point->work.trip_count) ? 0 : status_nomem(st);
    if (code == 0)
        code = listing_read(point, &text->module, text->path, &text->disguised, st);
    if (code < 0) {
        free_one(text);
        return NULL;
    }
    text->next = catalog->text;
    catalog->text = text;
    return text;
}
