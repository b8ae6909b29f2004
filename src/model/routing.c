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
    free(routing->expert);
    free(routing->gate);
    free(routing->routed);
    routing->expert = NULL;
    routing->gate = NULL;
    routing->routed = NULL;
}

void routing_count(struct routing *routing)
{
    int64_t entries = routing->tokens * routing->top_k;
    memset(routing->routed, 0, (size_t)routing->devices * (size_t)routing->experts * sizeof *routing->routed);
    for (int64_t i = 0; i < routing->devices * entries; i++)
        routing->routed[i / entries * routing->experts + routing->expert[i]]++;
}
