/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows of one link, and settling. */
#include "engine/event_path.h"

#include "base/status.h"

int network_init(struct network *network, const struct map *map, struct queue *queue)
{
    *network = (struct network){.map = map,
                                .queue = queue,
                                .flows = pool_of(sizeof(struct flow)),
                                .waves = pool_of(sizeof(struct wave)),
                                .chip_batches = pool_of(sizeof(struct chip_batch)),
                                .paths = pool_of(sizeof(struct path)),
                                .groups = pool_of(sizeof(struct group)),
                                .chunks = pool_of(sizeof(struct chunk)),
                                .crossings = 1};
    size_t n = (size_t)map->links;
    network->link = malloc(n * sizeof *network->link);
    network->rider = calloc(n, sizeof *network->rider);
    network->dirty = malloc(n * sizeof *network->dirty);
    if (!network->link || !network->rider || !network->dirty)
        return STATUS_NOMEM;
    for (int32_t l = 0; l < map->links; l++)
        network->link[l] = (struct link){.due_s = NAN};
    return 0;
}

void network_free(struct network *network)
{
    for (int32_t l = 0; network->holder && l < network->map->links; l++) {
        free(network->holder[l].held);
        free(network->holder[l].share);
    }
    group_free_all(network);
    pool_free(&network->flows);
    pool_free(&network->waves);
    pool_free(&network->chip_batches);
    pool_free(&network->paths);
    pool_free(&network->chunks);
    free(network->link);
    free(network->rider);
    free(network->dirty);
    free(network->group_of);
    free(network->holder);
    free(network->met);
    free(network->holder_of);
    free(network->crossing_link);
    free(network->crossing_place);
    free(network->dirty_group);
    free(network->end);
    free(network->fill);
    free(network->heap);
    free(network->full);
    free(network->touched);
    free(network->taken);
    free(network->first_taken);
    free(network->loser);
    free(network->changed);
    free(network->part);
    free(network->change);
    *network = (struct network){0};
}

void network_touch(struct network *network, int32_t link)
{
    if (network->group_of && network->group_of[link]) {
        group_disturb(network, network->group_of[link], 0);
    } else if (!network->link[link].dirty) {
        network->link[link].dirty = true;
        network->dirty[network->dirties++] = link;
    }
}

/* A pairing heap of flows by end_bytes: joining is one comparison, leaving is logarithmic. Flows that end
 * together are one node as far as they meet: the first has a list of the others. */
static uint32_t meld(const struct network *network, uint32_t a, uint32_t b)
{
    if (!a || !b)
        return a ? a : b;
    struct flow *first = network_flow(network, a), *second = network_flow(network, b);
    if (second->end_bytes < first->end_bytes) {
        first->sibling = second->child;
        second->child = a;
        return b;
    }
    if (second->end_bytes == first->end_bytes && !second->child && !second->same) {
        second->same = first->same;
        first->same = b;
    } else {
        second->sibling = first->child;
        first->child = b;
    }
    return a;
}

/* The heap of a root's children: melded in pairs, then the pairs from the last to the first. */
static uint32_t meld_children(const struct network *network, uint32_t child)
{
    uint32_t pairs = 0, heap = 0;
    while (child) {
        uint32_t a = child, b = network_flow(network, a)->sibling;
        child = b ? network_flow(network, b)->sibling : 0;
        uint32_t pair = meld(network, a, b);
        network_flow(network, pair)->sibling = pairs;
        pairs = pair;
    }
    while (pairs) {
        uint32_t next = network_flow(network, pairs)->sibling;
        heap = meld(network, heap, pairs);
        pairs = next;
    }
    return heap;
}

void network_unride(struct network *network, int32_t link, double now_s)
{
    const struct wave *w = network_wave(network, network->rider[link]);
    uint32_t flow = network_flow_of(network, w->op, network->map->start[link], w->start_s);
    if (!flow)
        return;
    struct flow *f = network_flow(network, flow);
    struct link *on = &network->link[link];
    network->rider[link] = RIDER_FLOWS;
    f->end_bytes = w->bytes;
    f->child = f->sibling = f->same = 0;
    on->served_bytes = 0;
    on->since_s = w->since_s;
    on->rate_Bps = network->map->Bps[link];
    on->due_s = NAN;
    on->first_bytes = w->bytes;
    on->heap = flow;
    on->singles = 1;
    if (network->fill)
        network->fill[link].flows = 1;
    if (w->due_s == now_s) { /* in this very instant */
        on->due_s = now_s;
        queue_push(network->queue, now_s, event_of(EVENT_LINK, (uint32_t)link));
    }
}

void network_join(struct network *network, uint32_t flow, int32_t link, double bytes, double now_s)
{
    if (network->rider[link] == RIDER_NONE)
        network->rider[link] = RIDER_FLOWS;
    else if (network->rider[link] != RIDER_FLOWS)
        network_unride(network, link, now_s);
    struct link *on = &network->link[link];
    struct flow *f = network_flow(network, flow);
    if (on->singles == 0 && !(network->holder && network->holder[link].helds > 0)) {
        on->served_bytes = 0;
        on->since_s = now_s;
        on->rate_Bps = 0;
        on->due_s = NAN;
    } else {
        link_advance(on, now_s);
    }
    f->end_bytes = on->served_bytes + bytes;
    f->child = f->sibling = f->same = 0;
    on->heap = meld(network, on->heap, flow);
    on->singles++;
    if (network->fill)
        network->fill[link].flows++;
    network_touch(network, link);
}

bool network_link_due(struct network *network, int32_t link, double now_s)
{
    struct link *on = &network->link[link];
    if (!(on->due_s == now_s) || (network->group_of && network->group_of[link]))
        return false;
    link_advance(on, now_s);
    on->due_s = NAN;
    if (on->singles > 1)
        network_touch(network, link);
    return true;
}

uint32_t network_pop_single(struct network *network, int32_t link)
{
    struct link *on = &network->link[link];
    uint32_t flow = on->heap;
    struct flow *f = network_flow(network, flow);
    if (f->same) {
        flow = f->same;
        f->same = network_flow(network, flow)->same;
    } else {
        on->heap = meld_children(network, f->child);
    }
    if (network->fill)
        network->fill[link].flows--;
    if (--on->singles == 0)
        network_leave(network, link);
    return flow;
}

uint32_t network_next_single(struct network *network, int32_t link, double now_s)
{
    const struct link *on = &network->link[link];
    if (on->singles == 0 || network_flow(network, on->heap)->end_bytes - on->served_bytes >
                                on->rate_Bps * (now_s * NETWORK_SAME_FRAC))
        return 0;
    return network_pop_single(network, link);
}

/* Shares a link among its flows, all of one link, and queues the first end. */
static void link_settle(struct network *network, int32_t link, double now_s)
{
    struct link *on = &network->link[link];
    link_advance(on, now_s);
    on->rate_Bps = network->map->Bps[link] / on->singles;
    on->first_bytes = network_flow(network, on->heap)->end_bytes;
    double left_bytes = on->first_bytes - on->served_bytes;
    double due_s = left_bytes > 0 ? now_s + left_bytes / on->rate_Bps : now_s;
    if (on->due_s == due_s)
        return; /* queued already */
    on->due_s = due_s;
    queue_push(network->queue, due_s, event_of(EVENT_LINK, (uint32_t)link));
}

void network_settle(struct network *network, double now_s)
{
    network_settle_groups(network, now_s);
    for (int32_t d = 0; d < network->dirties; d++) {
        int32_t link = network->dirty[d];
        network->link[link].dirty = false;
        if (network->link[link].singles > 0 && !(network->group_of && network->group_of[link]))
            link_settle(network, link, now_s);
    }
    network->dirties = 0;
}
