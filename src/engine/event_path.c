/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows of several links: where they cross links, and which links hang together. */
#include "engine/event_network.h"

#include "base/status.h"

/* Crossings of one path lie in one block of 2^k; more of them than this would take more than 2 GB. */
enum { CROSSINGS_MAX = 1 << 27, FIRST_CROSSINGS = 1 << 10 };

static bool start_paths(struct network *network)
{
    size_t n = (size_t)network->map->links;
    network->fill = malloc(n * sizeof *network->fill);
    network->heap = malloc(n * sizeof *network->heap);
    network->full = malloc(n * sizeof *network->full);
    network->touched = malloc(n * sizeof *network->touched);
    network->member = calloc(n, sizeof *network->member);
    if (!network->fill || !network->heap || !network->full || !network->touched || !network->member)
        return false;
    for (size_t l = 0; l < n; l++)
        network->fill[l].held = 0;
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
    if (links > CROSSINGS_MAX / 2 || least > CROSSINGS_MAX) {
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
    return true;
}

/* Takes a crossing out of its link's list; the last one moves to its place. */
static void list_remove(struct network *network, uint32_t crossing)
{
    struct link *on = &network->link[network->crossing_link[crossing]];
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

/* The group hangs together otherwise now: it is gathered again when this instant is settled. */
static bool make_stale(struct network *network, uint32_t group)
{
    if (!group || network_group(network, group)->stale)
        return true;
    if (network->stales == network->stale_room) {
        uint32_t room = network->stale_room ? 2 * network->stale_room : 64;
        uint32_t *stale = realloc(network->stale, room * sizeof *stale);
        if (!stale)
            return false;
        network->stale = stale;
        network->stale_room = room;
    }
    network->stale[network->stales++] = group;
    network_group(network, group)->stale = true;
    return true;
}

static uint32_t take_path(struct network *network)
{
    uint32_t path = pool_take(&network->paths);
    if (path && path >= network->met_room) {
        uint32_t *met = realloc(network->met, network->paths.room * sizeof *met);
        if (!met)
            return 0;
        network->met = met;
        network->met_room = network->paths.room;
    }
    if (path)
        network->met[path] = 0;
    return path;
}

int32_t network_join_path(struct network *network, uint32_t flow, int32_t chip, const struct hop hop[],
                          int hops, int32_t links, double bytes, double now_s)
{
    bool room = network->member || start_paths(network);
    uint32_t first = room ? take_block(network, links) : 0, path = first ? take_path(network) : 0;
    room = room && path;
    uint32_t crossing = first;
    for (int h = 0; h < hops && room; h++) {
        int32_t port = 2 * hop[h].axis + (hop[h].delta < 0);
        for (int left = abs(hop[h].delta); left > 0 && room; left--) {
            int32_t link = network->map->out[chip * network->map->ports + port];
            network->crossing_link[crossing] = link;
            if (network->rider[link] == RIDER_NONE)
                network->rider[link] = RIDER_FLOWS;
            else if (network->rider[link] != RIDER_FLOWS)
                network_unride(network, link, now_s);
            room = list_add(network, path, crossing++) && make_stale(network, network->member[link].group);
            network_touch(network, link);
            chip = network->map->end[link];
        }
    }
    if (!room) {
        if (!network->code)
            network->code = STATUS_NOMEM;
        return chip;
    }
    *network_path(network, path) =
        (struct path){.left_bytes = bytes, .since_s = now_s, .flow = flow, .first = first, .links = links};
    network_flow(network, flow)->child = path;
    return chip;
}

bool network_group_due(struct network *network, uint32_t group, double now_s)
{
    struct group *g = network_group(network, group);
    if (!(g->due_s == now_s))
        return false;
    g->due_s = NAN;
    return true;
}

/* All paths that were due have ended. The group must be solved once more even where no other path crossed
 * theirs: it may have fallen apart, and the end that it queued was the one end of all its parts. */
static void touch_group(struct network *network, uint32_t group)
{
    for (int32_t l = network_group(network, group)->link; l >= 0; l = network->member[l].after)
        if (network->link[l].crossings > 0) {
            network_touch(network, l);
            return;
        }
}

uint32_t network_next_path(struct network *network, uint32_t group, int32_t *to)
{
    struct group *g = network_group(network, group);
    uint32_t path = g->due;
    if (!path) {
        touch_group(network, group);
        return 0;
    }
    const struct path *p = network_path(network, path);
    uint32_t flow = p->flow;
    g->due = p->next_due;
    g->paths--;
    network->paths_ended++;
    for (uint32_t c = p->first; c < p->first + (uint32_t)p->links; c++) {
        list_remove(network, c);
        network_leave(network, network->crossing_link[c]);
        network_touch(network, network->crossing_link[c]);
    }
    *to = network->map->end[network->crossing_link[p->first + (uint32_t)p->links - 1]];
    give_back_block(network, p->first, p->links);
    pool_give_back(&network->paths, path);
    /* Half of its paths gone, it may have fallen apart. Never tested, solving would cost what it was; tested
     * at every end, testing would cost more than solving. */
    if (2 * g->paths < g->gathered && !make_stale(network, group))
        network->code = STATUS_NOMEM;
    return flow;
}

static void leave(struct network *network, int32_t link)
{
    struct membership *m = &network->member[link];
    if (!m->group)
        return;
    if (m->before >= 0)
        network->member[m->before].after = m->after;
    else
        network_group(network, m->group)->link = m->after;
    if (m->after >= 0)
        network->member[m->after].before = m->before;
    m->group = 0;
}

static void enter(struct network *network, int32_t link, uint32_t group)
{
    struct group *g = network_group(network, group);
    network->member[link].group = group;
    network->member[link].before = -1;
    network->member[link].after = g->link;
    if (g->link >= 0)
        network->member[g->link].before = link;
    g->link = link;
}

/* Makes a group of all links that hang together with one; none of them is in a group. */
static uint32_t gather(struct network *network, int32_t link)
{
    uint32_t group = pool_take(&network->groups);
    if (!group) {
        network->code = STATUS_NOMEM;
        return 0;
    }
    *network_group(network, group) = (struct group){.due_s = NAN, .link = -1};
    int32_t *todo = network->touched, todos = 0;
    uint32_t pass = ++network->pass;
    enter(network, link, group);
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
                network_group(network, group)->gathered++;
                network->work += (uint64_t)path->links;
                for (uint32_t c = path->first; c < path->first + (uint32_t)path->links; c++) {
                    int32_t other = network->crossing_link[c];
                    if (network->member[other].group)
                        continue;
                    enter(network, other, group);
                    todo[todos++] = other;
                }
            }
            chunk = in->next;
        }
    }
    network_group(network, group)->paths = network_group(network, group)->gathered;
    return group;
}

/* Dissolves the groups that may hang together otherwise; all their links are dirty then. */
static void dissolve_stale(struct network *network)
{
    for (uint32_t s = 0; s < network->stales; s++) {
        uint32_t group = network->stale[s];
        while (network_group(network, group)->link >= 0) {
            int32_t link = network_group(network, group)->link;
            leave(network, link);
            network_touch(network, link);
        }
        network_group(network, group)->due_s = NAN;
        pool_give_back(&network->groups, group);
    }
    network->stales = 0;
}

void network_settle_groups(struct network *network, double now_s)
{
    uint32_t settling = ++network->settling;
    dissolve_stale(network);
    for (int32_t d = 0; d < network->dirties && !network->code; d++) {
        int32_t link = network->dirty[d];
        struct link *on = &network->link[link];
        struct membership *m = &network->member[link];
        on->dirty = false;
        if (on->crossings == 0) {
            leave(network, link);
            if (on->singles > 0)
                link_settle(network, link, network->map->Bps[link] / on->singles, now_s);
        } else if (m->solved != settling) {
            uint32_t group = m->group ? m->group : gather(network, link);
            if (group)
                network_solve(network, group, now_s);
        }
    }
}
