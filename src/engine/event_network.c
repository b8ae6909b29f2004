/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows over one link, which that link shares among its flows on its own, and settling. */
#include "engine/event_network.h"

int network_init(struct network *network, const struct plan *plan, struct queue *queue)
{
    const struct map *map = &plan->map;
    *network = (struct network){.map = map,
                                .queue = queue,
                                .program = plan->program,
                                .local = plan->sharing != SHARES_LINKS && !plan->yields,
                                .flows = pool_of(sizeof(struct flow)),
                                .waves = pool_of(sizeof(struct wave))};
    size_t n = (size_t)map->links;
    network->link = calloc(n, sizeof *network->link);
    network->rider = calloc(n, sizeof *network->rider);
    network->dirty = malloc(2 * n * sizeof *network->dirty);
    network->used = plan->yields ? calloc((size_t)map->chips, sizeof *network->used) : NULL;
    bool okay = network->link && network->rider && network->dirty && (network->used || !plan->yields);
    return okay ? 0 : STATUS_NOMEM;
}

void network_free(struct network *network)
{
    for (int32_t l = 0; network->link && l < network->map->links; l++)
        free(network->link[l].held);
    for (uint32_t w = 1; w < network->waves.used; w++)
        free(network_wave(network, w)->chip);
    for (uint32_t f = 1; f < network->flows.used; f++)
        free(network_flow(network, f)->link);
    network_free_groups(network);
    pool_free(&network->flows);
    pool_free(&network->waves);
    free(network->link);
    free(network->rider);
    free(network->dirty);
    free(network->used);
    free(network->end);
    *network = (struct network){0};
}

uint32_t network_flow_of(struct network *network, int32_t op, int32_t chip, int32_t to, double start_s,
                         double bytes)
{
    uint32_t flow = pool_take(&network->flows);
    if (flow)
        *network_flow(network, flow) = (struct flow){
            .start_s = start_s, .left_bytes = bytes, .op = op, .chip = chip, .to = to, .links = 1};
    if (!flow || (flow >= network->holder_room &&
                  !grow_array(&network->holder, sizeof *network->holder, network->holder_room, flow + 1,
                              &network->holder_room, sizeof network->holder_room))) {
        network->code = STATUS_NOMEM;
        return 0;
    }
    network->holder[flow] = -1;
    return flow;
}

void network_touch(struct network *network, int32_t link)
{
    struct group *group = group_awake(network, link);
    if (group) {
        group_disturb(network, group, 0);
    } else if (!network->link[link].dirty) {
        network->link[link].dirty = true;
        network->dirty[network->dirties++] = link;
    }
}

/* A flow over one link is held by that link from the start. */
static void hold_single(struct network *network, int32_t link, uint32_t flow, double now_s)
{
    if (!hold(network, link, flow, now_s))
        network->code = STATUS_NOMEM;
    else
        network->link[link].singles++;
}

void network_seize(struct network *network, int32_t link, double now_s)
{
    uint32_t rider = network->rider[link];
    network->rider[link] = RIDER_FLOWS;
    if (rider == RIDER_NONE || rider == RIDER_FLOWS)
        return;
    struct wave w = *network_wave(network, rider);
    uint32_t flow = network_flow_of(network, w.op, network->map->start[link], network->map->end[link],
                                    w.start_s, w.bytes);
    if (!flow)
        return;
    struct link *on = &network->link[link];
    hold_single(network, link, flow, w.since_s);
    memory_note(network, w.op, network->map->start[link], network->map->end[link], network->map->Bps[link],
                0);
    memory_rate(network, on, network->map->Bps[link]);
    on->first_bytes = w.bytes;
    if (w.due_s == now_s) { /* in the current instant */
        on->due_s = now_s;
        network_await(network, EVENT_LINK, link, now_s, &on->queued_s, now_s);
    }
}

void network_join(struct network *network, uint32_t flow, int32_t link, double now_s)
{
    network_seize(network, link, now_s);
    hold_single(network, link, flow, now_s);
    network_touch(network, link);
}

void network_link_due(struct network *network, int32_t link, double until_s, double now_s)
{
    struct link *on = &network->link[link];
    if (!(on->due_s <= until_s) || group_awake(network, link))
        return;
    if (!hold_end_due(network, link, now_s, NETWORK_SAME_FRAC))
        network->code = STATUS_NOMEM;
    on->due_s = NAN;
    if (on->singles > 0 || network->local)
        network_touch(network, link);
}

void network_link_event(struct network *network, int32_t link, double now_s)
{
    struct link *on = &network->link[link];
    network_link_due(network, link, now_s, now_s);
    if (on->due_s > now_s && !group_awake(network, link))
        network_await(network, EVENT_LINK, link, on->due_s, &on->queued_s, now_s);
}

/* Shares a link among its flows, none of which crosses another link, and queues the first end. */
static void link_settle(struct network *network, int32_t link, double now_s)
{
    struct link *on = &network->link[link];
    double rate_Bps = memory_left_Bps(network, link) / on->singles;
    if (memory_limits(network, link) && on->rate_Bps == rate_Bps && on->due_s >= now_s)
        return; /* the same compute, at the same rate */
    link_advance(on, now_s);
    memory_rate(network, on, rate_Bps);
    on->first_bytes = hold_least(on);
    double left_bytes = on->first_bytes - on->served_bytes;
    double due_s = left_bytes > 0 ? now_s + left_bytes / on->rate_Bps : now_s;
    on->due_s = due_s;
    network_await(network, EVENT_LINK, link, due_s, &on->queued_s, now_s);
}

void network_settle(struct network *network, double now_s)
{
    if (network->code)
        return; /* data may be half allocated */
    if (network->local && network->bundle)
        network_fill_changed(network, now_s);
    else
        network_settle_groups(network, now_s);
    for (int32_t d = 0; d < network->dirties; d++) { /* computes may be added, also a second time */
        int32_t link = network->dirty[d];
        network->link[link].dirty = false;
        if (network->link[link].singles > 0 && !group_awake(network, link))
            link_settle(network, link, now_s);
    }
    network->dirties = 0;
}
