/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Progressive filling of one group of links (Bertsekas and Gallager, Data Networks, 6.5.2), with a heap of
 * the levels at which links get full. A level in the heap may be out of date, but then it is too low:
 * holding a flow back at a level lets the other links of that flow fill up later, never earlier. So the
 * least one is looked at again before it is believed.
 *
 * All links that are full at one level are held together, and what they hold is subtracted from other links
 * as count * level, once: whatever the order of flows in lists, links that are alike stay bit-equal.
 */
#include "engine/event_network.h"

#include "base/status.h"

/* What a look at the heap costs, in looks at a crossing. */
enum { WORK_OF_A_LEVEL = 8 };

static void sift_down(struct fill_entry heap[], int32_t entries, int32_t at)
{
    struct fill_entry moved = heap[at];
    int32_t child;
    while ((child = 2 * at + 1) < entries) {
        if (child + 1 < entries && heap[child + 1].level_Bps < heap[child].level_Bps)
            child++;
        if (!(heap[child].level_Bps < moved.level_Bps))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* All links of the group, with nothing held back. Returns how many. */
static int32_t start_fill(struct network *network, uint32_t group)
{
    int32_t entries = 0;
    for (int32_t l = network_group(network, group)->link; l >= 0; l = network->member[l].after) {
        const struct link *on = &network->link[l];
        network->member[l].solved = network->settling;
        if (on->crossings == 0)
            continue; /* it is dirty, and leaves the group in this settling */
        double Bps = network->map->Bps[l];
        network->fill[l].left_Bps = Bps;
        network->fill[l].open = on->crossings + on->singles;
        network->heap[entries++] = (struct fill_entry){Bps / (on->crossings + on->singles), l};
    }
    for (int32_t i = entries / 2 - 1; i >= 0; i--)
        sift_down(network->heap, entries, i);
    return entries;
}

/* Takes the links that get full next off the heap and writes them to network->full. Levels never fall, except
 * by rounding. */
static int32_t next_full(struct network *network, int32_t *entries, double *level_Bps)
{
    struct fill_entry *heap = network->heap;
    int32_t n = *entries, fulls = 0;
    while (n > 0 && (fulls == 0 || heap[0].level_Bps <= *level_Bps)) {
        network->work += WORK_OF_A_LEVEL;
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
        }
        if (n > 0)
            sift_down(heap, n, 0);
    }
    *entries = n;
    return fulls;
}

/* The path ends first, or with the first. */
static void note_due(struct network *network, uint32_t path, double due_s)
{
    double slack_s = due_s * NETWORK_SAME_FRAC;
    if (due_s < network->due_s - slack_s)
        network->dues = 0;
    if (due_s < network->due_s)
        network->due_s = due_s;
    if (network->dues == network->due_room) {
        uint32_t room = network->due_room ? 2 * network->due_room : 64;
        uint32_t *due = realloc(network->due, room * sizeof *due);
        if (!due) {
            network->code = STATUS_NOMEM;
            return;
        }
        network->due = due;
        network->due_room = room;
    }
    network->due[network->dues++] = path;
}

/* Holds a path back at a level; returns how many links it is the first to touch, all in all. */
static int32_t hold(struct network *network, uint32_t index, double level_Bps, double now_s, int32_t touched)
{
    struct path *path = network_path(network, index);
    if (path->rate_Bps != level_Bps) {
        path->left_bytes -= path->rate_Bps * (now_s - path->since_s);
        path->left_bytes = path->left_bytes > 0 ? path->left_bytes : 0;
        path->since_s = now_s;
        path->rate_Bps = level_Bps;
    }
    double due_s = path->since_s + path->left_bytes / level_Bps;
    if (due_s <= network->due_s * (1 + NETWORK_SAME_FRAC))
        note_due(network, index, due_s);
    const int32_t *link = network->crossing_link + path->first;
    for (int32_t i = 0; i < path->links; i++) {
        struct fill *fill = &network->fill[link[i]];
        if (fill->held++ == 0)
            network->touched[touched++] = link[i];
    }
    network->work += (uint64_t)path->links;
    return touched;
}

/* Finds those of a chunk's first n crossings whose paths are not held back yet. They are asked for now
 * and used when all have been found: large groups lie in memory, not in the cache. */
static int open_paths(const struct network *network, const struct chunk *in, int n,
                      uint32_t open[static CHUNK_CROSSINGS])
{
    int opens = 0;
    for (int i = n - 1; i >= 0; i--) {
        uint32_t path = in->path[i];
        if (network->met[path] == network->pass)
            continue;
        network->met[path] = network->pass;
        open[opens++] = path;
        __builtin_prefetch(network_path(network, path));
        __builtin_prefetch(network->crossing_link + in->crossing[i]);
    }
    return opens;
}

/* Holds back what flows over a full link. */
static int32_t hold_link(struct network *network, int32_t link, double level_Bps, double now_s,
                         int32_t touched)
{
    const struct link *on = &network->link[link];
    const struct fill *fill = &network->fill[link];
    const struct chunk *in = network_chunk(network, on->list);
    int n = (on->crossings - 1) % CHUNK_CROSSINGS + 1;
    uint32_t open[CHUNK_CROSSINGS];
    while (fill->open - fill->held > on->singles) {
        int opens = open_paths(network, in, n, open);
        for (int i = 0; i < opens; i++)
            touched = hold(network, open[i], level_Bps, now_s, touched);
        network->work += (uint64_t)n;
        in = network_chunk(network, in->next);
        n = CHUNK_CROSSINGS;
    }
    if (on->singles > 0)
        link_settle(network, link, level_Bps, now_s);
    return touched;
}

/* Queues the earliest end among the paths of the group, and remembers which they are. */
static void queue_due(struct network *network, uint32_t group, double now_s)
{
    struct group *g = network_group(network, group);
    double due_s = network->due_s > now_s ? network->due_s : now_s;
    g->due = 0;
    for (uint32_t i = network->dues; i > 0; i--) {
        network_path(network, network->due[i - 1])->next_due = g->due;
        g->due = network->due[i - 1];
    }
    if (g->due_s == due_s || network->dues == 0)
        return;
    g->due_s = due_s;
    queue_push(network->queue, due_s, event_of(EVENT_GROUP, group));
}

void network_solve(struct network *network, uint32_t group, double now_s)
{
    int32_t entries = start_fill(network, group), fulls;
    double level_Bps = 0;
    network->pass++;
    network->dues = 0;
    network->due_s = INFINITY;
    while ((fulls = next_full(network, &entries, &level_Bps)) > 0) {
        int32_t touched = 0;
        for (int32_t f = 0; f < fulls; f++)
            touched = hold_link(network, network->full[f], level_Bps, now_s, touched);
        for (int32_t t = 0; t < touched; t++) {
            struct fill *fill = &network->fill[network->touched[t]];
            fill->left_Bps -= fill->held * level_Bps;
            fill->open -= fill->held;
            fill->held = 0;
        }
    }
    queue_due(network, group, now_s);
}
