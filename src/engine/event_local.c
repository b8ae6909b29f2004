/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Filling where HBM takes part: there are no groups, as HBM connects all links of a slice. Only the links that changed
 * are filled, and then those where the result is not max-min fair (event_network.h), until there are none.
 */
#include "engine/event_network.h"

/* Computes the bandwidth that flows with unchanged rates leave of a link, and the number of its other
 * flows. */
static void look_at(struct network *network, int32_t link)
{
    const struct bundle *on = &network->bundle[link];
    struct fill *fill = &network->fill[link];
    fill->left_Bps = network->map->Bps[link];
    fill->open = network->link[link].singles;
    for (int32_t c = 0; c < on->crossings; c++)
        if (flow_is_fixed(network, on->crossing[c].flow))
            fill->left_Bps -= network->link[network->holder[on->crossing[c].flow]].rate_Bps;
        else
            fill->open++;
}

/* A link gets full at the level left_Bps / open or above. Faster flows on it cannot keep their rates, so the
 * links that hold them are filled, too. Returns the number of links to fill. */
static int32_t reach_holders(struct network *network, struct group *g, int32_t link)
{
    const struct bundle *on = &network->bundle[link];
    look_at(network, link);
    const struct fill *fill = &network->fill[link];
    double slack_Bps = fill_rounding_frac * network->map->Bps[link];
    for (int32_t c = 0; c < on->crossings; c++) {
        uint32_t flow = on->crossing[c].flow;
        int32_t by = network->holder[flow];
        if (flow_is_fixed(network, flow) &&
            (fill->open ? network->link[by].rate_Bps * fill->open > fill->left_Bps + slack_Bps
                        : fill->left_Bps < -slack_Bps))
            group_busy(network, g, by);
    }
    return g->busies;
}

/* Is a link that is not filled affected by flows that filled links hold: does it hold flows itself, or carry
 * more than its bandwidth? */
static bool is_disturbed(const struct network *network, int32_t link)
{
    const struct bundle *on = &network->bundle[link];
    double load_Bps = 0;
    for (int32_t c = 0; c < on->crossings; c++) {
        int32_t by = network->holder[on->crossing[c].flow];
        load_Bps += by < 0 ? 0 : network->link[by].rate_Bps;
    }
    return network->link[link].helds > 0 || load_Bps > network->map->Bps[link] * (1 + fill_rounding_frac);
}

/* Adds the links that must be filled, too, because of a link: those of its flows that no filled link holds,
 * and those that are disturbed by flows it holds. */
static void reach_on(struct network *network, struct group *g, int32_t link)
{
    const struct bundle *on = &network->bundle[link];
    if (on->full == network->pass) {
        for (int32_t i = 0; i < on->shares; i++)
            if (!network->fill[on->share[i].link].busy && is_disturbed(network, on->share[i].link))
                group_busy(network, g, on->share[i].link);
        return;
    }
    for (int32_t c = 0; c < on->crossings && network->fill[link].open > 0; c++) {
        const struct flow *f = network_flow(network, on->crossing[c].flow);
        for (int32_t i = 0; i < f->links && !flow_is_held(network, on->crossing[c].flow); i++)
            group_busy(network, g, f->link[i]);
    }
}

/* Fills the links reached so far. Returns whether more links have been reached; also false when memory runs
 * out. */
static bool fill_reached(struct network *network, struct group *g, double now_s)
{
    int32_t entries = 0, before;
    do {
        before = g->busies;
        for (int32_t at = 0; at < g->busies; at++)
            reach_holders(network, g, g->busy[at]);
    } while (g->busies > before);
    for (int32_t at = 0; at < g->busies; at++) {
        const struct fill *fill = &network->fill[g->busy[at]];
        if (fill->open > 0)
            network->heap[entries++] = (struct fill_entry){fill->left_Bps / fill->open, g->busy[at]};
    }
    network->pass++;
    network->open = INT64_MAX;
    g->orders = 0;
    if (!fill_heap(network, g, entries, 0, now_s)) {
        network->code = STATUS_NOMEM;
        return false;
    }
    for (int32_t at = 0; at < before; at++)
        reach_on(network, g, g->busy[at]);
    return g->busies > before;
}

void network_fill_changed(struct network *network, double now_s)
{
    struct group *g = &network->reached;
    g->busies = 0;
    for (int32_t d = 0; d < network->dirties; d++) {
        network->link[network->dirty[d]].dirty = false;
        group_busy(network, g, network->dirty[d]);
    }
    network->dirties = 0;
    while (fill_reached(network, g, now_s))
        ;
    for (int32_t i = 0; i < g->orders; i++) {
        struct link *on = &network->link[g->order[i]];
        on->due_s = fmax(on->due_s, now_s);
        network_await(network, EVENT_LINK, g->order[i], on->due_s, &on->queued_s, now_s);
    }
    for (int32_t i = 0; i < g->busies; i++)
        network->fill[g->busy[i]].busy = false;
}
