/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a link holds back: its paths, by its clock, and their shares of other links. */
#include "engine/event_path.h"

#include <stdlib.h>

#include "base/status.h"

void *list_room(void *list, int32_t n, int32_t *room, size_t item_bytes)
{
    if (n < *room)
        return list;
    int32_t wider = *room ? 2 * *room : 4;
    void *wide = realloc(list, (size_t)wider * item_bytes);
    if (wide)
        *room = wider;
    return wide;
}

bool hold(struct network *network, int32_t link, uint32_t path, double now_s)
{
    struct link *on = &network->link[link];
    struct holder *h = &network->holder[link];
    struct path *p = network_path(network, path);
    struct held *held = list_room(h->held, h->helds, &h->held_room, sizeof *held);
    if (!held)
        return false;
    h->held = held;
    if (h->helds == 0 && on->singles == 0) {
        on->served_bytes = 0;
        on->since_s = now_s;
        on->rate_Bps = 0;
        on->due_s = NAN;
    } else {
        link_advance(on, now_s);
    }
    double end_bytes = on->served_bytes + p->left_bytes;
    if (h->helds == 0 || end_bytes < h->least_bytes)
        h->least_bytes = end_bytes;
    held[h->helds] = (struct held){end_bytes, path};
    p->place = h->helds++;
    network->holder_of[path] = link;
    return true;
}

/* Notes that the shares of a path change, by +1 or -1. */
static void mark_shares(struct network *network, uint32_t path, int32_t change)
{
    const struct path *p = network_path(network, path);
    const int32_t *link = network->crossing_link + p->first;
    for (int32_t i = 0; i < p->links; i++) {
        if (network->change[link[i]] == 0)
            network->changed[network->changes++] = link[i];
        network->change[link[i]] += change;
    }
    network->changes_total += change * p->links;
}

void hold_end(struct network *network, int32_t link, uint32_t path, double now_s)
{
    struct link *on = &network->link[link];
    struct holder *h = &network->holder[link];
    struct path *p = network_path(network, path);
    link_advance(on, now_s);
    double end_bytes = h->held[p->place].end_bytes;
    p->left_bytes = end_bytes - on->served_bytes;
    struct held last = h->held[--h->helds];
    h->held[p->place] = last;
    network_path(network, last.path)->place = p->place;
    h->counted = h->helds;
    network->holder_of[path] = -1;
    if (end_bytes <= h->least_bytes)
        h->least_bytes = NAN;
    mark_shares(network, path, -1);
}

bool hold_count(struct network *network, int32_t link)
{
    struct holder *h = &network->holder[link];
    for (; h->counted < h->helds; h->counted++)
        mark_shares(network, h->held[h->counted].path, +1);
    h->own += network->change[link];
    h->total += network->changes_total;
    network->changes_total = 0;
    for (int32_t i = 0; i < h->shares; i++) {
        struct share *share = &h->share[i];
        int32_t change = network->change[share->link];
        if (change == 0)
            continue;
        network->change[share->link] = 0;
        share->crossings += change;
        if (share->crossings == 0)
            h->share[i--] = h->share[--h->shares];
    }
    for (int32_t c = 0; c < network->changes; c++) {
        int32_t other = network->changed[c];
        if (network->change[other] == 0)
            continue;
        struct share *share = list_room(h->share, h->shares, &h->share_room, sizeof *share);
        if (!share)
            return false;
        h->share = share;
        h->share[h->shares++] = (struct share){other, network->change[other]};
        network->change[other] = 0;
    }
    network->changes = 0;
    return true;
}

bool hold_noted(struct network *network, int32_t link)
{
    struct holder *h = &network->holder[link];
    h->shares = h->total = 0;
    for (int32_t t = 0; t < network->touches; t++) {
        struct share *share = list_room(h->share, h->shares, &h->share_room, sizeof *share);
        if (!share)
            return false;
        int32_t other = network->touched[t], crossings = network->fill[other].held;
        h->share = share;
        h->share[h->shares++] = (struct share){other, crossings};
        h->total += crossings;
    }
    h->own = network->fill[link].held;
    h->counted = h->helds;
    return true;
}

double hold_least(struct network *network, int32_t link)
{
    struct holder *h = &network->holder[link];
    if (h->helds == 0)
        return INFINITY;
    if (isnan(h->least_bytes)) {
        h->least_bytes = INFINITY;
        for (int32_t i = 0; i < h->helds; i++)
            if (h->held[i].end_bytes < h->least_bytes)
                h->least_bytes = h->held[i].end_bytes;
    }
    return h->least_bytes;
}
