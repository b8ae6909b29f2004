/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths: their crossings of links, and the groups of links that they connect. While no path flows in a group,
 * the group sleeps and each of its links is shared on its own. */
#include "engine/event_network.h"

/* Lists the links of each group; a group has the number of one of its links (event_plan.h). */
static bool list_groups(struct network *network)
{
    int32_t links = network->map->links;
    int32_t *at = network->group_link = malloc(3 * (size_t)links * sizeof *network->group_link);
    struct group *group = network->group = calloc((size_t)links, sizeof *group);
    network->dirty_group = malloc((size_t)links * sizeof *network->dirty_group);
    if (!at || !group || !network->dirty_group)
        return false;
    for (int32_t l = 0; l < links; l++)
        group[network->map->group[l]].links++;
    for (int32_t g = 0; g < links; g++) {
        int32_t n = group[g].links;
        if (n > 0)
            group[g] = (struct group){
                .link = at, .order = at + links, .busy = at + 2 * links, .due_s = NAN, .from = INT32_MAX};
        at += n;
    }
    network->reached = (struct group){.order = network->group_link, .busy = network->group_link + links};
    for (int32_t l = 0; l < links && !network->local; l++) {
        struct group *of = &group[network->map->group[l]];
        of->link[of->links++] = l;
    }
    return true;
}

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
    return network->bundle && network->change && network->changed && network->fill && network->heap &&
           network->full && network->touched && network->first_taken && network->loser &&
           list_groups(network);
}

void network_free_groups(struct network *network)
{
    for (int32_t l = 0; network->bundle && l < network->map->links; l++) {
        free(network->bundle[l].crossing);
        free(network->bundle[l].share);
    }
    free(network->bundle);
    free(network->group);
    free(network->group_link);
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
    if (fill->busy)
        return;
    group->busy[group->busies++] = link;
    fill->busy = true;
    fill->watched = group->fills + 1;
}

/* Wakes a group for its first path: no levels of its links are known. */
static void wake(struct network *network, struct group *group)
{
    for (int32_t i = 0; i < group->busies; i++)
        network->fill[group->busy[i]].busy = false;
    group->orders = group->busies = 0;
    group->due_s = NAN;
    for (int32_t i = 0; i < group->links; i++) {
        int32_t link = group->link[i];
        network->bundle[link].counted = 0;
        if (network->link[link].singles > 0)
            group_busy(network, group, link);
    }
}

/* Puts a group to sleep after its last path: each link is shared among its own flows again. */
static void rest(struct network *network, const struct group *group)
{
    for (int32_t i = 0; i < group->links; i++) {
        struct link *on = &network->link[group->link[i]];
        if (on->singles == 0)
            continue;
        on->due_s = NAN;
        if (!on->dirty)
            network->dirty[network->dirties++] = group->link[i];
        on->dirty = true;
    }
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
    struct group *group = &network->group[network->map->group[*link]];
    for (int32_t l = 0; network->local && l < links; l++)
        network_touch(network, link[l]);
    if (network->local)
        return;
    if (group->paths++ == 0)
        wake(network, group);
    for (int32_t l = 0; l < links; l++)
        group_busy(network, group, link[l]);
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
    network->group[network->map->group[*f->link]].paths -= !network->local;
    network->crossings -= f->links;
    free(f->link);
    f->link = NULL;
}

void network_settle_groups(struct network *network, double now_s)
{
    for (int32_t d = 0; d < network->dirty_groups; d++) {
        struct group *group = &network->group[network->dirty_group[d]];
        group->dirty = false;
        if (group->paths > 0) {
            group_fill(network, group, now_s);
        } else {
            group->due_s = NAN;
            group->from = INT32_MAX;
            rest(network, group);
        }
    }
    network->dirty_groups = 0;
}

void network_group_due(struct network *network, int32_t group, double now_s)
{
    struct group *g = &network->group[group];
    if (!(g->due_s == now_s))
        return;
    g->due_s = NAN;
    double frac = fmax(network->early_frac, NETWORK_SAME_FRAC), until_s = now_s * (1 + frac);
    for (int32_t i = 0; i < g->orders; i++) {
        struct link *on = &network->link[g->order[i]];
        int32_t before = network->ends;
        if (!(on->due_s <= until_s))
            continue;
        if (!hold_end_due(network, g->order[i], now_s, frac)) {
            network->code = STATUS_NOMEM;
            return;
        }
        if (network->ends > before)
            group_disturb(network, g, network->bundle[g->order[i]].level);
    }
}
