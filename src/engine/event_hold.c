/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flows that a link holds, with their ends by its clock, and the shares of other links that its paths
 * use. */
#include "engine/event_network.h"

/* Initial room. Most links hold few flows at once, and small lists lie on fewer pages. */
enum { FEW = 4 };

bool hold(struct network *network, int32_t link, uint32_t flow, double now_s)
{
    struct link *on = &network->link[link];
    struct flow *f = network_flow(network, flow);
    if (on->helds == on->held_room) {
        int32_t room = on->helds ? 2 * on->helds : FEW;
        struct held *held = realloc(on->held, (size_t)room * sizeof *held);
        if (!held)
            return false;
        on->held = held;
        on->held_room = room;
    }
    if (on->helds == 0) {
        on->served_bytes = on->rate_Bps = 0;
        on->since_s = now_s;
        on->due_s = NAN;
    } else {
        link_advance(on, now_s);
    }
    double end_bytes = on->served_bytes + f->left_bytes;
    if (on->helds == 0 || end_bytes < on->least_bytes)
        on->least_bytes = end_bytes;
    on->held[on->helds] = (struct held){end_bytes, flow};
    f->place = on->helds++;
    network->holder[flow] = link;
    memory_note(network, f->op, f->chip, f->to, 0, on->rate_Bps);
    return true;
}

/* Removes a flow from the list of a link that holds it; the last one moves to its place. */
static void drop(struct network *network, struct link *on, int32_t place)
{
    if (on->held[place].end_bytes <= on->least_bytes)
        on->least_bytes = NAN;
    const struct flow *f = network_flow(network, on->held[place].flow);
    memory_note(network, f->op, f->chip, f->to, on->rate_Bps, 0);
    struct held last = on->held[--on->helds];
    on->held[place] = last;
    network_flow(network, last.flow)->place = place;
}

/* Notes the change of shares, +1 or -1, for all links of a flow. A flow over one link has no shares. */
static void mark_shares(struct network *network, uint32_t flow, int32_t change)
{
    const struct flow *f = network_flow(network, flow);
    for (int32_t i = 0; f->link && i < f->links; i++) {
        if (network->change[f->link[i]] == 0)
            network->changed[network->changes++] = f->link[i];
        network->change[f->link[i]] += change;
        network->changes_total += change;
    }
}

void hold_end(struct network *network, int32_t link, uint32_t flow, double now_s)
{
    struct link *on = &network->link[link];
    struct flow *f = network_flow(network, flow);
    link_advance(on, now_s);
    f->left_bytes = on->held[f->place].end_bytes - on->served_bytes;
    drop(network, on, f->place);
    network->holder[flow] = -1;
    mark_shares(network, flow, -1);
}

bool hold_count(struct network *network, int32_t link)
{
    struct bundle *on = &network->bundle[link];
    const struct link *l = &network->link[link];
    if (on->counted > l->helds)
        on->counted = l->helds;
    for (; on->counted < l->helds; on->counted++)
        mark_shares(network, l->held[on->counted].flow, +1);
    if (network->changes == 0)
        return true;
    on->own += network->change[link];
    on->total += network->changes_total;
    network->changes_total = 0;
    for (int32_t i = 0; i < on->shares; i++) {
        struct share *share = &on->share[i];
        share->crossings += network->change[share->link];
        network->change[share->link] = 0;
        if (share->crossings == 0)
            on->share[i--] = on->share[--on->shares];
    }
    for (int32_t c = 0; c < network->changes; c++) {
        int32_t other = network->changed[c];
        if (network->change[other] == 0)
            continue;
        if (!GROW(on->share, on->shares, on->share_room))
            return false;
        on->share[on->shares++] = (struct share){other, network->change[other]};
        network->change[other] = 0;
    }
    network->changes = 0;
    return true;
}

double hold_least(struct link *on)
{
    if (on->helds == 0)
        return INFINITY;
    if (isnan(on->least_bytes)) {
        on->least_bytes = INFINITY;
        for (int32_t i = 0; i < on->helds; i++)
            if (on->held[i].end_bytes < on->least_bytes)
                on->least_bytes = on->held[i].end_bytes;
    }
    return on->least_bytes;
}

/* Records the end of a flow and removes it from its links. */
static bool end_flow(struct network *network, int32_t link, uint32_t flow, double now_s)
{
    struct flow *f = network_flow(network, flow);
    if (!GROW(network->end, network->ends, network->end_room))
        return false;
    network->end[network->ends++] = (struct network_end){f->start_s, f->op, f->chip, f->to};
    if (f->link) {
        hold_end(network, link, flow, now_s);
        path_remove(network, flow);
    } else {
        drop(network, &network->link[link], f->place);
        network->link[link].singles--;
        network_leave(network, link);
    }
    pool_give_back(&network->flows, flow);
    pool_tidy(&network->flows);
    return true;
}

bool hold_end_due(struct network *network, int32_t link, double now_s, double frac)
{
    struct link *on = &network->link[link];
    link_advance(on, now_s);
    if (on->served_bytes < on->first_bytes && on->due_s <= now_s * (1 + NETWORK_SAME_FRAC))
        on->served_bytes = on->first_bytes;
    double due_bytes = on->served_bytes + on->rate_Bps * (now_s * frac);
    if (hold_least(on) > due_bytes)
        return true;
    for (int32_t i = 0; i < on->helds;)
        if (on->held[i].end_bytes > due_bytes)
            i++;
        else if (!end_flow(network, link, on->held[i].flow, now_s))
            return false;
    return !network->bundle || hold_count(network, link);
}
