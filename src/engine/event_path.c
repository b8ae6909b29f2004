/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows of several links: where they cross links. */
#include "engine/event_path.h"

#include <stdlib.h>

#include "base/status.h"

/* Crossings of one path lie in one block of 2^k. */
enum { FIRST_CROSSINGS = 1 << 10 };

static bool start_paths(struct network *network)
{
    size_t n = (size_t)network->map->links;
    network->group_of = calloc(n, sizeof *network->group_of);
    network->holder = calloc(n, sizeof *network->holder);
    network->change = calloc(n, sizeof *network->change);
    network->changed = malloc(n * sizeof *network->changed);
    network->part = malloc(n * sizeof *network->part);
    network->fill = calloc(n, sizeof *network->fill);
    network->heap = malloc((n + 1) * sizeof *network->heap);
    network->full = malloc(n * sizeof *network->full);
    network->touched = malloc(n * sizeof *network->touched);
    network->first_taken = calloc(n + 1, sizeof *network->first_taken);
    network->loser = malloc((n + 1) * sizeof *network->loser);
    if (!network->first_taken || !network->loser || !network->group_of || !network->holder ||
        !network->change || !network->changed || !network->fill || !network->heap || !network->full ||
        !network->touched || !network->part)
        return false;
    for (size_t l = 0; l < n; l++)
        network->fill[l].flows = network->link[l].singles;
    return true;
}

static int block_class(int32_t links)
{
    int k = 1;
    while (links > 1 << k)
        k++;
    return k;
}

static bool grow_crossings(struct network *network, uint32_t least)
{
    uint32_t room = network->crossings_room ? network->crossings_room : FIRST_CROSSINGS;
    while (room < least)
        room *= 2;
    int32_t *link = realloc(network->crossing_link, room * sizeof *link);
    if (link)
        network->crossing_link = link;
    uint32_t *place = realloc(network->crossing_place, room * sizeof *place);
    if (place)
        network->crossing_place = place;
    if (link && place)
        network->crossings_room = room;
    return link && place;
}

/* The first crossing of a block with room for `links` of them, or 0. A block given back holds the first
 * of the next one of its class. */
static uint32_t take_block(struct network *network, int32_t links)
{
    int k = block_class(links);
    uint32_t first = network->block[k];
    if (first) {
        network->block[k] = network->crossing_place[first];
        return first;
    }
    uint32_t least = network->crossings + ((uint32_t)1 << k);
    if (links > NETWORK_CROSSINGS_MAX / 2 || least > NETWORK_CROSSINGS_MAX) {
        network->code = STATUS_LIMIT;
        return 0;
    }
    if (least > network->crossings_room && !grow_crossings(network, least)) {
        network->code = STATUS_NOMEM;
        return 0;
    }
    first = network->crossings;
    network->crossings = least;
    return first;
}

static void give_back_block(struct network *network, uint32_t first, int32_t links)
{
    int k = block_class(links);
    network->crossing_place[first] = network->block[k];
    network->block[k] = first;
}

/* Puts a crossing into its link's list, after all others. */
static bool list_add(struct network *network, uint32_t path, uint32_t crossing)
{
    struct link *on = &network->link[network->crossing_link[crossing]];
    uint32_t at = (uint32_t)on->crossings % CHUNK_CROSSINGS;
    if (at == 0) {
        uint32_t fresh = pool_take(&network->chunks);
        if (!fresh)
            return false;
        network_chunk(network, fresh)->next = on->list;
        on->list = fresh;
    }
    network_chunk(network, on->list)->path[at] = path;
    network_chunk(network, on->list)->crossing[at] = crossing;
    network->crossing_place[crossing] = on->list * CHUNK_CROSSINGS + at;
    on->crossings++;
    network->fill[network->crossing_link[crossing]].flows++;
    return true;
}

/* Takes a crossing out of its link's list; the last one moves to its place. */
static void list_remove(struct network *network, uint32_t crossing)
{
    struct link *on = &network->link[network->crossing_link[crossing]];
    network->fill[network->crossing_link[crossing]].flows--;
    uint32_t place = network->crossing_place[crossing], last = (uint32_t)--on->crossings % CHUNK_CROSSINGS;
    struct chunk *from = network_chunk(network, on->list),
                 *to = network_chunk(network, place / CHUNK_CROSSINGS);
    to->path[place % CHUNK_CROSSINGS] = from->path[last];
    to->crossing[place % CHUNK_CROSSINGS] = from->crossing[last];
    network->crossing_place[from->crossing[last]] = place;
    if (last == 0) {
        uint32_t empty = on->list;
        on->list = from->next;
        pool_give_back(&network->chunks, empty);
    }
}

static uint32_t take_path(struct network *network)
{
    uint32_t path = pool_take(&network->paths);
    if (path && path >= network->met_room) {
        uint32_t room = network->paths.room;
        uint32_t *met = realloc(network->met, room * sizeof *met);
        if (met)
            network->met = met;
        int32_t *holder_of = realloc(network->holder_of, room * sizeof *holder_of);
        if (holder_of)
            network->holder_of = holder_of;
        if (!met || !holder_of)
            return 0;
        network->met_room = room;
    }
    if (path) {
        network->met[path] = 0;
        network->holder_of[path] = -1;
    }
    return path;
}

void network_join_path(struct network *network, uint32_t flow, int32_t chip, const struct hop hop[], int hops,
                       int32_t links, double bytes, double now_s)
{
    bool room = network->code == 0 && (network->group_of || start_paths(network));
    uint32_t first = room ? take_block(network, links) : 0, path = first ? take_path(network) : 0, group = 0;
    room = room && path;
    if (room)
        map_walk(network->map, chip, hop, hops, network->crossing_link + first);
    for (uint32_t crossing = first; crossing < first + (uint32_t)links && room; crossing++) {
        int32_t link = network->crossing_link[crossing];
        if (network->rider[link] == RIDER_NONE)
            network->rider[link] = RIDER_FLOWS;
        else if (network->rider[link] != RIDER_FLOWS)
            network_unride(network, link, now_s);
        room = list_add(network, path, crossing) && group_enter(network, &group, link);
    }
    if (!room) {
        if (!network->code)
            network->code = STATUS_NOMEM;
        return;
    }
    group_join(network, group);
    *network_path(network, path) =
        (struct path){.left_bytes = bytes, .flow = flow, .first = first, .links = links};
}

void path_remove(struct network *network, uint32_t path)
{
    const struct path *p = network_path(network, path);
    network_group(network, network->group_of[network->crossing_link[p->first]])->paths--;
    for (uint32_t c = p->first; c < p->first + (uint32_t)p->links; c++) {
        list_remove(network, c);
        network_leave(network, network->crossing_link[c]);
    }
    give_back_block(network, p->first, p->links);
    pool_give_back(&network->paths, path);
}
