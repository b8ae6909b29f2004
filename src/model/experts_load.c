/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/experts_load.h"

#include <stdlib.h>

static void add(struct load *load, double routed, double kept)
{
    load->routed += routed;
    load->kept += kept;
}

/* Expert e is on the devices at its position in each group. */
static void count_routing(struct experts_loads *l, int at)
{
    const struct routed *of = &l->experts->of[at];
    const struct dispatch *d = &of->dispatch;
    struct load *expert = l->expert + (size_t)at * (size_t)l->each,
                *device = l->in_layer + (size_t)at * (size_t)l->devices;
    int layer = l->routings > 1 ? of->layer : 0;
    for (int e = 0; e < l->each; e++)
        expert[e] = (struct load){.index = e, .layer = layer};
    for (int i = 0; i < l->devices; i++)
        device[i] = (struct load){.index = i, .layer = layer};
    for (int i = 0; i < l->devices; i++) {
        const int *member = l->experts->groups.member + i / d->peers * d->peers;
        for (int e = 0; e < l->each; e++) {
            int64_t slot = (int64_t)l->experts->groups.member[i] * l->each + e;
            double routed = (double)of->routing.routed[slot], kept = (double)of->routing.kept[slot];
            add(&expert[e], routed, kept);
            add(&device[member[e / (l->each / d->peers)]], routed, kept);
        }
    }
}

int experts_loads_count(struct experts_loads *l, const struct model_experts *experts, struct status *st)
{
    *l = (struct experts_loads){.experts = experts,
                                .routings = experts->count,
                                .each = experts->of[0].routing.experts,
                                .devices = experts->of[0].routing.devices};
    size_t routings = (size_t)l->routings, devices = (size_t)l->devices;
    l->expert = calloc(routings * ((size_t)l->each + devices) + devices, sizeof *l->expert);
    if (!l->expert)
        return status_nomem(st);
    l->in_layer = l->expert + routings * (size_t)l->each;
    l->device = l->in_layer + routings * devices;
    for (int at = 0; at < l->routings; at++)
        count_routing(l, at);
    for (int i = 0; i < l->routings * l->devices; i++) {
        const struct load *part = &l->in_layer[i];
        struct load *device = &l->device[part->index];
        device->index = part->index;
        add(device, part->routed, part->kept);
        l->routed += part->routed;
        l->dropped += part->routed - part->kept;
    }
    l->mean = (l->routed - l->dropped) / l->devices;
    return 0;
}

void experts_loads_free(struct experts_loads *l)
{
    free(l->expert);
    *l = (struct experts_loads){0};
}

const struct load *experts_hottest(const struct load load[], int count)
{
    const struct load *most = load;
    for (int i = 1; i < count; i++)
        if (load[i].kept > most->kept)
            most = &load[i];
    return most;
}
