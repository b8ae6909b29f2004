/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups: which links are connected, what of them is due, and settling. */
#include "engine/event_path.h"

#include <stdlib.h>

#include "base/status.h"

void group_disturb(struct network *network, uint32_t group, int32_t from)
{
    struct group *g = network_group(network, group);
    if (from < g->from)
        g->from = from;
    if (g->dirty)
        return;
    uint32_t *list =
        list_room(network->dirty_group, network->dirty_groups, &network->dirty_group_room, sizeof *list);
    if (!list) {
        network->code = STATUS_NOMEM;
        return;
    }
    network->dirty_group = list;
    list[network->dirty_groups++] = group;
    g->dirty = true;
}

/* A group without links. One that was given back keeps its memory. */
static uint32_t new_group(struct network *network)
{
    uint32_t used = network->groups.used, group = pool_take(&network->groups);
    if (!group)
        return 0;
    struct group *g = network_group(network, group);
    if (group == used)
        *g = (struct group){0};
    g->dirty = false;
    g->from = INT32_MAX;
    g->due_s = NAN;
    g->fills = 0;
    g->paths = g->paths_most = g->links = g->orders = g->marks = 0;
    return group;
}

void group_free_all(struct network *network)
{
    for (uint32_t i = 1; i < network->groups.used; i++) {
        struct group *g = network_group(network, i);
        free(g->link);
        free(g->order);
        free(g->entries);
    }
    pool_free(&network->groups);
}

static bool add_link(struct network *network, uint32_t group, int32_t link)
{
    struct group *g = network_group(network, group);
    int32_t room = g->link_room, order_room = g->link_room;
    int32_t *list = list_room(g->link, g->links, &room, sizeof *list);
    int32_t *order = list_room(g->order, g->links, &order_room, sizeof *order);
    if (list)
        g->link = list;
    if (order)
        g->order = order;
    if (!list || !order)
        return false;
    g->link_room = room;
    g->link[g->links++] = link;
    network->fill[link].watched = g->fills + 1; /* in the next filling */
    g->marks = 0;
    network->group_of[link] = group;
    return true;
}

/* Two groups become one, the larger one; the other is given back when groups are settled. */
static bool merge(struct network *network, uint32_t *group, uint32_t other)
{
    if (network_group(network, other)->links > network_group(network, *group)->links) {
        uint32_t swap = *group;
        *group = other;
        other = swap;
    }
    struct group *from = network_group(network, other);
    for (int32_t i = 0; i < from->links; i++)
        if (!add_link(network, *group, from->link[i]))
            return false;
    network_group(network, *group)->paths += from->paths;
    network_group(network, *group)->paths_most += from->paths_most;
    from->links = from->paths = from->orders = 0;
    from->due_s = NAN;
    group_disturb(network, other, 0);
    return true;
}

bool group_enter(struct network *network, uint32_t *group, int32_t link)
{
    uint32_t other = network->group_of[link];
    if (*group && other)
        return other == *group || merge(network, group, other);
    if (other) {
        *group = other;
        return true;
    }
    if (!*group)
        *group = new_group(network);
    return *group && add_link(network, *group, link);
}

void group_join(struct network *network, uint32_t group)
{
    struct group *g = network_group(network, group);
    g->paths++;
    if (g->paths_most < g->paths)
        g->paths_most = g->paths;
    group_disturb(network, group, 0);
}

/* A group of all links that are connected with one; none of them is in a group. */
static bool gather(struct network *network, int32_t link)
{
    uint32_t group = 0, pass = ++network->pass;
    int32_t *todo = network->full, todos = 0;
    if (!group_enter(network, &group, link))
        return false;
    todo[todos++] = link;
    while (todos > 0) {
        const struct link *on = &network->link[todo[--todos]];
        uint32_t chunk = on->list;
        for (int32_t left = on->crossings; left > 0;) {
            const struct chunk *in = network_chunk(network, chunk);
            for (int32_t i = (left - 1) % CHUNK_CROSSINGS; i >= 0; i--, left--) {
                if (network->met[in->path[i]] == pass)
                    continue;
                network->met[in->path[i]] = pass;
                const struct path *path = network_path(network, in->path[i]);
                network_group(network, group)->paths++;
                for (uint32_t c = path->first; c < path->first + (uint32_t)path->links; c++) {
                    int32_t other = network->crossing_link[c];
                    if (network->group_of[other])
                        continue;
                    if (!add_link(network, group, other))
                        return false;
                    todo[todos++] = other;
                }
            }
            chunk = in->next;
        }
    }
    network_group(network, group)->paths_most = network_group(network, group)->paths;
    group_disturb(network, group, 0);
    return true;
}

/* The links of a group make new ones, or are on their own again. */
static bool gather_again(struct network *network, uint32_t group)
{
    struct group *g = network_group(network, group);
    int32_t *link = network->touched, links = g->links;
    memcpy(link, g->link, (size_t)links * sizeof *link);
    g->links = 0;
    for (int32_t i = 0; i < links; i++)
        network->group_of[link[i]] = 0;
    for (int32_t i = 0; i < links; i++) {
        if (network->group_of[link[i]])
            continue;
        if (network->link[link[i]].crossings > 0) {
            if (!gather(network, link[i]))
                return false;
        } else if (network->link[link[i]].singles > 0) {
            network->link[link[i]].due_s = NAN;
            network_touch(network, link[i]);
        }
    }
    return true;
}

void network_settle_groups(struct network *network, double now_s)
{
    if (network->code)
        return; /* groups may be half made */
    for (int32_t d = 0; d < network->dirty_groups; d++) {
        uint32_t group = network->dirty_group[d];
        struct group *g = network_group(network, group);
        g->dirty = false;
        /* Half of its paths gone, it may have fallen apart. Never tested, filling would cost what it did;
         * tested at every end, testing would cost more than filling. */
        if (g->links > 0 && 2 * g->paths < g->paths_most && !gather_again(network, group)) {
            network->code = STATUS_NOMEM;
            return;
        }
        g = network_group(network, group);
        if (g->links > 0) {
            group_fill(network, group, now_s);
        } else {
            g->due_s = NAN;
            pool_give_back(&network->groups, group);
        }
    }
    network->dirty_groups = 0;
}

static bool note_end(struct network *network, uint32_t flow, int32_t to)
{
    struct network_end *list = list_room(network->end, network->ends, &network->end_room, sizeof *list);
    if (!list)
        return false;
    network->end = list;
    list[network->ends++] = (struct network_end){flow, to};
    return true;
}

/* All that a link holds and that is due ends. */
static bool end_link(struct network *network, int32_t link, double now_s, double until_s)
{
    struct link *on = &network->link[link];
    struct holder *h = &network->holder[link];
    link_advance(on, now_s);
    if (on->served_bytes < on->first_bytes && on->due_s <= now_s * (1 + NETWORK_SAME_FRAC))
        on->served_bytes = on->first_bytes;
    double due_bytes = on->served_bytes + on->rate_Bps * (until_s - now_s);
    int32_t before = network->ends;
    bool okay = true;
    while (okay && on->singles > 0 && network_flow(network, on->heap)->end_bytes <= due_bytes)
        okay = note_end(network, network_pop_single(network, link), network->map->end[link]);
    if (hold_least(network, link) <= due_bytes) {
        for (int32_t i = 0; i < h->helds && okay;) {
            if (h->held[i].end_bytes > due_bytes) {
                i++;
                continue;
            }
            uint32_t path = h->held[i].path;
            const struct path *p = network_path(network, path);
            okay = note_end(network, p->flow,
                            network->map->end[network->crossing_link[p->first + (uint32_t)p->links - 1]]);
            hold_end(network, link, path, now_s);
            path_remove(network, path);
        }
        okay = okay && hold_count(network, link);
    }
    if (network->ends > before)
        group_disturb(network, network->group_of[link], h->level);
    return okay;
}

int32_t network_group_ends(struct network *network, uint32_t group, double now_s)
{
    struct group *g = network_group(network, group);
    network->ends = 0;
    if (!(g->due_s == now_s))
        return 0;
    g->due_s = NAN;
    double frac = network->early_frac > NETWORK_SAME_FRAC ? network->early_frac : NETWORK_SAME_FRAC;
    double until_s = now_s * (1 + frac);
    for (int32_t i = 0; i < g->orders; i++)
        if (network->link[g->order[i]].due_s <= until_s && !end_link(network, g->order[i], now_s, until_s)) {
            network->code = STATUS_NOMEM;
            return 0;
        }
    return network->ends;
}
