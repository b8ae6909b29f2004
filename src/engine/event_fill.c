/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Progressive filling of one group of links (Bertsekas and Gallager, Data Networks, 6.5.2), with a heap of
 * the levels at which links get full. A level in the heap may be out of date, but then it is too low: when a
 * flow is held at a level, its other links get full later, never earlier. So the least level is recomputed
 * before it is used.
 *
 * All links that are full at one level are processed together, and the flows that they hold are subtracted
 * from other links as count * level, once. So equivalent links stay bit-equal, whatever the order of flows in
 * lists.
 */
#include "engine/event_network.h"

/* A link with less than the share nearly_full_frac of its bandwidth left may get full soon, so it is watched
 * for WATCHED_FILLS fillings. If the bandwidth left is negative beyond rounding, the link should have been
 * watched. */
static const double nearly_full_frac = 0.05;
enum { WATCHED_FILLS = 16 };

/* Notes that flows with this number of crossings of a link are held at the current level. */
static void fill_note(struct network *network, int32_t link, int32_t crossings)
{
    struct fill *fill = &network->fill[link];
    if (fill->held == 0)
        network->touched[network->touches++] = link;
    fill->held += crossings;
}

/* Subtracts all noted flows from their links. */
static void fill_subtract(struct network *network, double level_Bps)
{
    for (int32_t t = 0; t < network->touches; t++) {
        struct fill *fill = &network->fill[network->touched[t]];
        fill->left_Bps -= fill->held * level_Bps;
        fill->open -= fill->held;
        network->open -= fill->held;
        fill->held = 0;
    }
    network->touches = 0;
}

/* Notes all flows that a link holds again, from its shares; fill_subtract_shares() subtracts them at once,
 * for a link that is alone at its level. */
static void fill_note_shares(struct network *network, int32_t link)
{
    const struct bundle *h = &network->bundle[link];
    for (int32_t i = 0; i < h->shares; i++)
        fill_note(network, h->share[i].link, h->share[i].crossings);
}

static void fill_subtract_shares(struct network *network, int32_t link, double level_Bps)
{
    const struct bundle *h = &network->bundle[link];
    for (int32_t i = 0; i < h->shares; i++) {
        struct fill *fill = &network->fill[h->share[i].link];
        fill->left_Bps -= h->share[i].crossings * level_Bps;
        fill->open -= h->share[i].crossings;
    }
    network->open -= h->total;
}

/* Repeats the previous filling for the levels of the order up to a place. */
static void fill_again(struct network *network, const struct group *g, int32_t to, double *level_Bps)
{
    for (int32_t at = 0; at < to;) {
        int32_t level = at;
        *level_Bps = network->link[g->order[at]].rate_Bps;
        if (at + 1 == to || network->bundle[g->order[at + 1]].level != level) {
            fill_subtract_shares(network, g->order[at++], *level_Bps);
            continue;
        }
        while (at < to && network->bundle[g->order[at]].level == level)
            fill_note_shares(network, g->order[at++]);
        fill_subtract(network, *level_Bps);
    }
}

/* Brings the links of a group to the state at which filling starts (g->from), writes the watched links that
 * may get full to network->heap, in any order, and returns their number. Links that got full below that level
 * keep their state. */
static int32_t fill_start(struct network *network, struct group *g, double *level_Bps)
{
    int32_t entries = 0;
    for (int32_t i = 0; i < g->busies;) {
        struct fill *fill = &network->fill[g->busy[i]];
        fill->left_Bps = network->map->Bps[g->busy[i]];
        fill->open = network->link[g->busy[i]].singles + network->bundle[g->busy[i]].crossings;
        fill->busy = fill->open > 0;
        if (fill->busy)
            i++;
        else
            g->busy[i] = g->busy[--g->busies];
    }
    *level_Bps = 0;
    for (int32_t i = 0; i < g->from; i++)
        network->bundle[g->order[i]].full = network->pass;
    fill_again(network, g, g->from, level_Bps);
    for (; g->orders > g->from; g->orders--)
        network->fill[g->order[g->orders - 1]].watched = g->fills;
    network->open = 0;
    for (int32_t i = 0; i < g->busies; i++) {
        int32_t link = g->busy[i];
        const struct fill *fill = &network->fill[link];
        if (network->bundle[link].full == network->pass)
            continue;
        if (fill->open > 0 && fill->watched >= g->fills)
            network->heap[entries++] = (struct fill_entry){fill->left_Bps / fill->open, link};
        network->open += fill->open;
    }
    return entries;
}

/* An entry at infinity follows the last one, so that every entry has two children or none, and the smaller
 * child is chosen without a branch. */
static void sift_down(struct fill_entry heap[], int32_t entries, int32_t at)
{
    struct fill_entry moved = heap[at];
    int32_t child;
    while ((child = 2 * at + 1) < entries) {
        child += heap[child + 1].level_Bps < heap[child].level_Bps;
        if (!(heap[child].level_Bps < moved.level_Bps))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* Removes the links that get full next from the heap and writes them to network->full. Levels never fall,
 * except by rounding. */
static int32_t next_full(struct network *network, int32_t *entries, double *level_Bps)
{
    struct fill_entry *heap = network->heap;
    int32_t n = *entries, fulls = 0;
    while (n > 0 && (fulls == 0 || heap[0].level_Bps <= *level_Bps)) {
        const struct fill *fill = &network->fill[heap[0].link];
        double now_Bps = fill->open > 0 ? fill->left_Bps / fill->open : 0;
        if (fill->open > 0 && now_Bps > heap[0].level_Bps) {
            heap[0].level_Bps = now_Bps;
        } else {
            if (fill->open > 0) {
                if (fulls == 0 && now_Bps > *level_Bps)
                    *level_Bps = now_Bps;
                network->full[fulls++] = heap[0].link;
            }
            heap[0] = heap[--n];
            heap[n].level_Bps = INFINITY;
        }
        if (n > 0)
            sift_down(heap, n, 0);
    }
    *entries = n;
    return fulls;
}

/* The first link of a path's route that is full at this level. */
static int32_t first_full(const struct network *network, uint32_t path, int32_t level)
{
    const int32_t *link = network_flow(network, path)->link;
    while (network->bundle[*link].full != network->pass || network->bundle[*link].level != level)
        link++;
    return *link;
}

/* Notes a path that is not held yet, in the list of the link that held it before. */
static bool note_open(struct network *network, uint32_t path)
{
    if (!GROW(network->taken, network->takens, network->taken_room))
        return false;
    int32_t by = network->holder[path], *first = &network->first_taken[by + 1];
    if (*first == 0)
        network->loser[network->losers++] = by;
    network->taken[network->takens] = (struct taken){path, *first};
    *first = network->takens++;
    __builtin_prefetch(network_flow(network, path));
    return true;
}

/* Finds the paths that cross a full link and are not held yet, whose number is known, and the links that held
 * them. */
static bool find_open(struct network *network, int32_t link)
{
    const struct bundle *on = &network->bundle[link];
    const struct fill *fill = &network->fill[link];
    int32_t missing = fill->open - fill->held - network->link[link].singles;
    network->takens = 1; /* 0 means none */
    network->losers = 0;
    for (int32_t i = on->crossings - 1; i >= 0 && network->takens <= missing; i--)
        if (!flow_is_held(network, on->crossing[i].flow) && !note_open(network, on->crossing[i].flow))
            return false;
    return true;
}

/* Prefetches the data of a path that take_over() reads, while other paths are found or taken over. Paths lie
 * far apart in memory, and waiting for each one takes a third of the time of an all-to-all of 256 chips. */
static void fetch(const struct network *network, uint32_t path, int32_t by)
{
    const struct flow *f = network_flow(network, path);
    __builtin_prefetch(f->link);
    if (by >= 0)
        __builtin_prefetch(&network->link[by].held[f->place]);
}

/* Makes a full link hold a path that is not held yet. */
static bool take_over(struct network *network, uint32_t path, int32_t link, int32_t by, double now_s)
{
    if (by >= 0)
        hold_end(network, by, path, now_s);
    const struct flow *f = network_flow(network, path);
    for (int32_t i = 0; i < f->links; i++)
        fill_note(network, f->link[i], 1);
    return hold(network, link, path, now_s);
}

/* Makes a full link hold the open paths that cross it, grouped by the links that held them before, so that
 * each of those updates its shares only once. */
static bool take_over_from(struct network *network, int32_t link, bool alone, double now_s)
{
    int32_t level = network->bundle[link].level;
    bool okay = find_open(network, link);
    for (int32_t l = 0; l < network->losers; l++) {
        int32_t by = network->loser[l], first = network->first_taken[by + 1];
        network->first_taken[by + 1] = 0;
        for (int32_t t = first; t; t = network->taken[t].next)
            fetch(network, network->taken[t].flow, by);
        for (int32_t t = first; t && okay; t = network->taken[t].next) {
            uint32_t path = network->taken[t].flow;
            int32_t to = alone ? link : first_full(network, path, level);
            if (!flow_is_held(network, path)) /* a path that crosses the link twice is listed twice */
                okay = take_over(network, path, to, by, now_s);
        }
        okay = okay && (by < 0 || hold_count(network, by));
    }
    return okay;
}

/* Sets the rate of all flows that a full link holds. */
static void set_rate(struct network *network, int32_t link, double rate_Bps, double now_s)
{
    struct link *on = &network->link[link];
    if (on->rate_Bps != rate_Bps) {
        link_advance(on, now_s);
        memory_rate(network, on, rate_Bps);
    }
    on->first_bytes = hold_least(on);
    on->due_s = on->since_s + (on->first_bytes - on->served_bytes) / rate_Bps;
}

/* Holds flows if several links are full at a level, or if a single one no longer holds the same flows. */
static bool hold_anew(struct network *network, int32_t fulls, double level_Bps, double now_s)
{
    const int32_t *full = network->full;
    for (int32_t f = 0; f < fulls; f++)
        fill_note_shares(network, full[f]);
    for (int32_t f = 0; f < fulls; f++) {
        const struct fill *fill = &network->fill[full[f]];
        if (fill->held != fill->open - network->link[full[f]].singles &&
            !take_over_from(network, full[f], fulls == 1, now_s))
            return false;
    }
    fill_subtract(network, level_Bps);
    for (int32_t f = 0; f < fulls; f++) {
        if (network->bundle[full[f]].counted < network->link[full[f]].helds && !hold_count(network, full[f]))
            return false;
        set_rate(network, full[f], level_Bps, now_s);
    }
    return true;
}

/* Holds the open flows over the links that are full at a level. */
static bool hold_level(struct network *network, struct group *g, int32_t fulls, double level_Bps,
                       double now_s)
{
    const int32_t *full = network->full;
    int32_t level = g->orders;
    for (int32_t f = 0; f < fulls; f++) {
        struct bundle *h = &network->bundle[full[f]];
        h->full = network->pass;
        h->level = level;
        g->order[g->orders++] = full[f];
        network->open -= network->link[full[f]].singles;
    }
    if (fulls > 1 || network->bundle[*full].own != network->fill[*full].open - network->link[*full].singles)
        return hold_anew(network, fulls, level_Bps, now_s);
    fill_subtract_shares(network, *full, level_Bps);
    set_rate(network, *full, level_Bps, now_s);
    return true;
}

/* Did an unwatched link get more than its bandwidth, or is it the only one that could hold some flows?
 * Watches such links from now on. */
static bool overlooked(struct network *network, const struct group *g)
{
    bool found = false;
    for (int32_t i = 0; i < g->busies; i++) {
        struct fill *fill = &network->fill[g->busy[i]];
        double Bps = network->map->Bps[g->busy[i]];
        if ((fill->open == 0 && fill->left_Bps >= nearly_full_frac * Bps) ||
            network->bundle[g->busy[i]].full == network->pass)
            continue;
        found |= fill->watched < g->fills && (fill->open > 0 || fill->left_Bps < -fill_rounding_frac * Bps);
        fill->watched = g->fills + WATCHED_FILLS;
    }
    return found;
}

/* Queues an event for the earliest end in the group. */
static void queue_due(struct network *network, struct group *g, double now_s)
{
    double due_s = INFINITY;
    for (int32_t i = 0; i < g->orders; i++)
        if (network->link[g->order[i]].due_s < due_s)
            due_s = network->link[g->order[i]].due_s;
    if (g->orders == 0)
        return;
    g->due_s = fmax(due_s * (1 + network->late_frac), now_s);
    network_await(network, EVENT_GROUP, (int32_t)(g - network->group), g->due_s, &g->queued_s, now_s);
}

bool fill_heap(struct network *network, struct group *g, int32_t entries, double level_Bps, double now_s)
{
    bool okay = GROW_BY(g->order, g->orders, g->order_room, g->busies - g->orders);
    network->heap[entries].level_Bps = INFINITY;
    for (int32_t i = entries / 2 - 1; i >= 0; i--)
        sift_down(network->heap, entries, i);
    for (int32_t fulls; okay && network->open > 0 && (fulls = next_full(network, &entries, &level_Bps)) > 0;)
        okay = hold_level(network, g, fulls, level_Bps, now_s);
    return okay;
}

void group_fill(struct network *network, struct group *g, double now_s)
{
    bool okay;
    g->fills++;
    do {
        double level_Bps;
        network->pass++;
        int32_t entries = fill_start(network, g, &level_Bps);
        okay = fill_heap(network, g, entries, level_Bps, now_s);
    } while (okay && overlooked(network, g));
    g->from = INT32_MAX;
    if (okay)
        queue_due(network, g, now_s);
    else
        network->code = STATUS_NOMEM;
}
