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

/* Fills the levels of the order up to a place as they were filled before. */
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

static int32_t flows_on(const struct network *network, int32_t link)
{
    return network->link[link].singles + network->bundle[link].crossings;
}

int32_t fill_start(struct network *network, struct group *g, double *level_Bps)
{
    int32_t entries = 0;
    for (int32_t i = 0; i < g->links; i++) {
        struct fill *fill = &network->fill[g->link[i]];
        fill->left_Bps = network->map->Bps[g->link[i]];
        fill->open = flows_on(network, g->link[i]);
    }
    *level_Bps = 0;
    for (int32_t i = 0; i < g->from; i++)
        network->bundle[g->order[i]].full = network->pass;
    fill_again(network, g, g->from, level_Bps);
    for (; g->orders > g->from; g->orders--)
        network->fill[g->order[g->orders - 1]].watched = g->fills;
    network->open = 0;
    for (int32_t i = 0; i < g->links; i++) {
        int32_t link = g->link[i];
        const struct fill *fill = &network->fill[link];
        if (fill->open == 0 || network->bundle[link].full == network->pass)
            continue;
        if (fill->watched >= g->fills)
            network->heap[entries++] = (struct fill_entry){fill->left_Bps / fill->open, link};
        network->open += fill->open;
    }
    return entries;
}
