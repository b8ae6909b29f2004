/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/routing.h"

#include <stdlib.h>
#include <string.h>

int routing_init(struct routing *routing, struct status *st)
{
    size_t entries = (size_t)routing->devices * (size_t)routing->tokens * (size_t)routing->top_k;
    routing->expert = calloc(entries + 1, sizeof *routing->expert);
    routing->gate = calloc(entries + 1, sizeof *routing->gate);
    routing->routed =
        calloc((size_t)routing->devices * (size_t)routing->experts + 1, sizeof *routing->routed);
    if (routing->expert && routing->gate && routing->routed)
        return 0;
    routing_free(routing);
    return status_nomem(st);
}

void routing_free(struct routing *routing)
{
    routing_forget_entries(routing);
    free(routing->routed);
    routing->routed = NULL;
}

void routing_forget_entries(struct routing *routing)
{
    free(routing->expert);
    free(routing->gate);
    routing->expert = NULL;
    routing->gate = NULL;
}

int routing_join(struct routing *one, const struct routing *of, const int device[], struct status *st)
{
    size_t entries = (size_t)of->tokens * (size_t)of->top_k;
    *one = (struct routing){
        .devices = 1, .experts = of->experts, .top_k = of->top_k, .tokens = of->tokens * of->devices};
    if (!of->expert)
        return status_fail(st, STATUS_INPUT,
                           "counts do not say which tokens go to which expert; eval needs a routing with "
                           "device,token,expert,gate, or one that is drawn");
    if (routing_init(one, st) < 0)
        return st->code;
    for (int b = 0; b < of->devices; b++) {
        size_t from = (size_t)device[b] * entries, to = (size_t)b * entries;
        memcpy(one->expert + to, of->expert + from, entries * sizeof *one->expert);
        memcpy(one->gate + to, of->gate + from, entries * sizeof *one->gate);
    }
    routing_count(one);
    return 0;
}

void routing_count(struct routing *routing)
{
    int64_t entries = routing->tokens * routing->top_k;
    memset(routing->routed, 0, (size_t)routing->devices * (size_t)routing->experts * sizeof *routing->routed);
    for (int64_t i = 0; i < routing->devices * entries; i++)
        routing->routed[i / entries * routing->experts + routing->expert[i]]++;
}
