/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where filling starts, and marks for the next time. */
#include "engine/event_network.h"

#include <stdlib.h>

void fill_subtract(struct network *network, double level_Bps)
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

void fill_note_shares(struct network *network, int32_t link)
{
    const struct bundle *h = &network->bundle[link];
    for (int32_t i = 0; i < h->shares; i++)
        fill_note(network, h->share[i].link, h->share[i].crossings);
}

void fill_subtract_shares(struct network *network, int32_t link, double level_Bps)
{
    const struct bundle *h = &network->bundle[link];
    for (int32_t i = 0; i < h->shares; i++) {
        struct fill *fill = &network->fill[h->share[i].link];
        fill->left_Bps -= h->share[i].crossings * level_Bps;
        fill->open -= h->share[i].crossings;
    }
    network->open -= h->total;
}

/* Fills the levels of the order from a place to another as they were filled before. */
static void fill_again(struct network *network, const struct group *g, int32_t at, int32_t to,
                       double *level_Bps)
{
    while (at < to) {
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

static int32_t flows_on(const struct network *network, int32_t link)
{
    return network->link[link].singles + network->bundle[link].crossings;
}

/* Links that all flows were held on before the mark stay as they are. */
int32_t fill_start(struct network *network, struct group *g, double *level_Bps)
{
    while (g->marks > 0 && g->mark[g->marks - 1].at > g->from)
        g->marks--;
    const struct mark *mark = g->marks > 0 ? &g->mark[g->marks - 1] : NULL;
    int32_t n = mark ? mark->entries : g->links, entries = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t link = mark ? mark->entry[i].link : g->link[i];
        struct fill *fill = &network->fill[link];
        network->part[i] = link;
        fill->left_Bps = mark ? mark->entry[i].left_Bps : network->map->Bps[link];
        fill->open = flows_on(network, link) - (mark ? mark->entry[i].held : 0);
    }
    network->parts = network->parts_open = n;
    *level_Bps = mark ? mark->level_Bps : 0;
    for (int32_t i = 0; i < g->from; i++)
        network->bundle[g->order[i]].full = network->pass;
    fill_again(network, g, mark ? mark->at : 0, g->from, level_Bps);
    for (; g->orders > g->from; g->orders--)
        network->fill[g->order[g->orders - 1]].watched = g->fills;
    network->open = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t link = network->part[i];
        const struct fill *fill = &network->fill[link];
        if (fill->open == 0 || network->bundle[link].full == network->pass)
            continue;
        if (fill->watched >= g->fills)
            network->heap[entries++] = (struct fill_entry){fill->left_Bps / fill->open, link};
        network->open += fill->open;
    }
    return entries;
}

static bool mark_room(struct group *g)
{
    size_t n = (size_t)g->links;
    g->entries = malloc(MARKS * n * sizeof *g->entries);
    for (size_t m = 0; m < MARKS && g->entries; m++)
        g->mark[m].entry = g->entries + m * n;
    return g->entries;
}

bool fill_mark(struct network *network, struct group *g, double level_Bps)
{
    int32_t last = g->marks > 0 ? g->mark[g->marks - 1].at : 0;
    if (g->links < MARKED_LINKS || g->marks == MARKS || g->orders - last < g->links / MARKS)
        return true;
    if (!g->entries && !mark_room(g))
        return false;
    struct mark *mark = &g->mark[g->marks++];
    *mark = (struct mark){.level_Bps = level_Bps, .at = g->orders, .entry = mark->entry};
    for (int32_t i = 0; i < network->parts_open;) {
        int32_t link = network->part[i];
        const struct fill *fill = &network->fill[link];
        if (fill->open > 0 && network->bundle[link].full != network->pass) {
            mark->entry[mark->entries++] =
                (struct mark_entry){fill->left_Bps, link, flows_on(network, link) - fill->open};
            i++;
        } else { /* done with: out of the way of the next mark */
            network->part[i] = network->part[--network->parts_open];
            network->part[network->parts_open] = link;
        }
    }
    return true;
}
