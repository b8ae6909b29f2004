/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths: their crossings of links, and the groups of links that they connect. A path that begins joins the groups of
 * its links; after the last path of a group each of its links is shared on its own again. */
#include "engine/event_network.h"

/* Allocates the data that is needed once there are paths. */
static bool start_paths(struct network *network)
{
    size_t n = (size_t)network->map->links;
    network->bundle = calloc(n, sizeof *network->bundle);
    network->change = calloc(n, sizeof *network->change);
    network->changed = malloc(n * sizeof *network->changed);
    network->fill = calloc(n, sizeof *network->fill);
    network->heap = malloc((n + 1) * sizeof *network->heap);
    network->full = malloc(n * sizeof *network->full);
    network->touched = malloc(n * sizeof *network->touched);
    network->first_taken = calloc(n + 1, sizeof *network->first_taken);
    network->loser = malloc((n + 1) * sizeof *network->loser);
    network->group_of = malloc(n * sizeof *network->group_of);
    network->dirty_group = malloc(n * sizeof *network->dirty_group);
    bool okay = network->bundle && network->change && network->changed && network->fill && network->heap &&
                network->full && network->touched && network->first_taken && network->loser &&
                network->group_of && network->dirty_group;
    network->group = okay ? calloc(n, sizeof *network->group) : NULL; /* last: it says that all is there */
    for (int32_t g = 0; network->group && g < network->map->links; g++)
        network->group[g] = (struct group){.due_s = NAN, .from = INT32_MAX};
    return network->group;
}

void network_free_groups(struct network *network)
{
    for (int32_t l = 0; network->bundle && l < network->map->links; l++) {
        free(network->bundle[l].crossing);
        free(network->bundle[l].share);
    }
    for (int32_t g = 0; network->group && g < network->map->links; g++) {
        free(network->group[g].busy);
        free(network->group[g].order);
    }
    free(network->reached.busy);
    free(network->reached.order);
    free(network->bundle);
    free(network->group);
    free(network->group_of);
    free(network->dirty_group);
    free(network->holder);
    free(network->fill);
    free(network->heap);
    free(network->full);
    free(network->touched);
    free(network->changed);
    free(network->change);
    free(network->taken);
    free(network->first_taken);
    free(network->loser);
}

void group_disturb(struct network *network, struct group *group, int32_t from)
{
    if (from < group->from)
        group->from = from;
    if (!group->dirty)
        network->dirty_group[network->dirty_groups++] = (int32_t)(group - network->group);
    group->dirty = true;
}

void group_busy(struct network *network, struct group *group, int32_t link)
{
    struct fill *fill = &network->fill[link];
    if (fill->busy || network->code)
        return;
    if (!GROW(group->busy, group->busies, group->busy_room)) {
        network->code = STATUS_NOMEM;
        return;
    }
    group->busy[group->busies++] = link;
    fill->busy = true;
    fill->watched = group->fills + 1;
}

/* Makes one group of two; no levels of it are known, so filling starts anew. */
static struct group *merge(struct network *network, struct group *group, struct group *other)
{
    struct group *into = group->busies < other->busies ? other : group, *from = into == group ? other : group;
    int32_t to = (int32_t)(into - network->group), later = into->fills - from->fills;
    for (int32_t i = 0; i < from->busies; i++) {
        network->fill[from->busy[i]].busy = false;
        int32_t watched = network->fill[from->busy[i]].watched + later;
        group_busy(network, into, from->busy[i]);
        network->fill[from->busy[i]].watched = watched;
        network->group_of[from->busy[i]] = to;
    }
    for (int32_t i = 0; i < from->orders; i++)
        network->fill[from->order[i]].watched = into->fills + 1;
    into->paths += from->paths;
    from->paths = from->busies = from->orders = 0;
    from->due_s = NAN;
    return into;
}

/* Adds a link to a group, with all that paths connect it with; returns the group that they are in now. */
static struct group *reach(struct network *network, struct group *group, int32_t link)
{
    int32_t *of = &network->group_of[link];
    if (!network->fill[link].busy)
        *of = (int32_t)(group - network->group);
    group_busy(network, group, link);
    return *of == group - network->group ? group : merge(network, group, &network->group[*of]);
}

/* A group falls apart after its last path: each link is shared among its own flows again. */
static void rest(struct network *network, struct group *group)
{
    for (int32_t i = 0; i < group->busies; i++) {
        struct link *on = &network->link[group->busy[i]];
        network->fill[group->busy[i]].busy = false;
        if (on->singles == 0)
            continue;
        on->due_s = NAN;
        if (!on->dirty)
            network->dirty[network->dirties++] = group->busy[i];
        on->dirty = true;
    }
    group->busies = group->orders = 0;
    group->due_s = NAN;
    group->from = INT32_MAX;
}

/* Adds a path to the list of a link that it crosses. */
static bool list_add(struct network *network, struct flow *f, uint32_t flow, int32_t at)
{
    struct bundle *on = &network->bundle[f->link[at]];
    if (!GROW(on->crossing, on->crossings, on->crossing_room))
        return false;
    f->link[f->links + at] = on->crossings;
    on->crossing[on->crossings++] = (struct crossing){flow, at};
    return true;
}

void network_join_path(struct network *network, uint32_t flow, const int32_t passed[], int32_t links,
                       double now_s)
{
    if (network->code)
        return; /* data may be half allocated */
    int32_t *link = malloc(2 * (size_t)links * sizeof *link);
    network->crossings += links;
    if (network->crossings > NETWORK_CROSSINGS_MAX)
        network->code = STATUS_LIMIT;
    else if (!link || (!network->group && !start_paths(network)))
        network->code = STATUS_NOMEM;
    if (network->code) {
        free(link);
        return;
    }
    memcpy(link, passed, (size_t)links * sizeof *link);
    for (int32_t l = 0; l < links; l++)
        network_seize(network, link[l], now_s); /* flows may move */
    struct flow *f = network_flow(network, flow);
    f->link = link;
    f->links = links;
    for (int32_t l = 0; l < links; l++)
        if (!list_add(network, f, flow, l)) {
            network->code = STATUS_NOMEM;
            return;
        }
    for (int32_t l = 0; network->local && l < links; l++)
        network_touch(network, link[l]);
    if (network->local)
        return;
    struct group *group = &network->group[network->fill[*link].busy ? network->group_of[*link] : *link];
    for (int32_t l = 0; l < links; l++)
        group = reach(network, group, link[l]);
    group->paths++;
    group_disturb(network, group, 0);
}

void path_remove(struct network *network, uint32_t flow)
{
    struct flow *f = network_flow(network, flow);
    for (int32_t i = 0; i < f->links; i++) {
        struct bundle *on = &network->bundle[f->link[i]];
        struct crossing last = on->crossing[--on->crossings];
        const struct flow *other = network_flow(network, last.flow);
        on->crossing[f->link[f->links + i]] = last;
        other->link[other->links + last.at] = f->link[f->links + i];
        network_leave(network, f->link[i]);
        if (network->local)
            network_touch(network, f->link[i]);
    }
    if (!network->local)
        network->group[network->group_of[*f->link]].paths--;
    network->crossings -= f->links;
    free(f->link);
    f->link = NULL;
}

void network_settle_groups(struct network *network, double now_s)
{
    for (int32_t d = 0; d < network->dirty_groups; d++) {
        struct group *group = &network->group[network->dirty_group[d]];
        group->dirty = false;
        if (group->paths > 0)
            group_fill(network, group, now_s);
        else
            rest(network, group);
    }
    network->dirty_groups = 0;
}

/* The flows of a group that is due by until_s end now. */
static void group_due(struct network *network, int32_t group, double until_s, double now_s)
{
    struct group *g = &network->group[group];
    double frac = fmax(network->early_frac, NETWORK_SAME_FRAC);
    if (!(g->due_s <= until_s))
        return;
    for (int32_t i = 0; i < g->orders; i++) {
        int32_t before = network->ends;
        if (!(network->link[g->order[i]].due_s <= now_s * (1 + frac)))
            continue;
        if (!hold_end_due(network, g->order[i], now_s, frac)) {
            network->code = STATUS_NOMEM;
            return;
        }
        if (network->ends == before)
            continue;
        g->due_s = NAN;
        group_disturb(network, g, network->bundle[g->order[i]].level);
    }
}

void network_group_event(struct network *network, int32_t group, double now_s)
{
    struct group *g = &network->group[group];
    group_due(network, group, now_s, now_s);
    if (g->due_s > now_s)
        network_await(network, EVENT_GROUP, group, g->due_s, &g->queued_s, now_s);
}

/* Handles the events up to a time, from a place in the heap of the queue on. */
static void due_from(struct network *network, int32_t at, double until_s, double now_s)
{
    const struct heap *heap = &network->queue->heap;
    if (at >= heap->count || heap->entry[at].key > until_s)
        return;
    const struct batch *batch = queue_batch(network->queue, (uint32_t)heap->entry[at].item);
    for (uint32_t i = 0; i < batch->events; i++)
        if (batch->event[i].kind == EVENT_GROUP)
            group_due(network, (int32_t)batch->event[i].index, until_s, now_s);
        else if (batch->event[i].kind == EVENT_LINK)
            network_link_due(network, (int32_t)batch->event[i].index, now_s * (1 + NETWORK_SAME_FRAC), now_s);
    due_from(network, 2 * at + 1, until_s, now_s);
    due_from(network, 2 * at + 2, until_s, now_s);
}

void network_due_soon(struct network *network, double now_s)
{
    double frac = fmax(network->early_frac, NETWORK_SAME_FRAC);
    if (network->ends > 0 && network->crossings > 0 && !network->local)
        due_from(network, 0, now_s * (1 + frac) * (1 + network->late_frac), now_s);
}
