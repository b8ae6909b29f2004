/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/topology.h"

int route_minimal(const struct slice *slice, int from, int to,
                  struct minimal_route minimal[static MINIMAL_ROUTES])
{
    return slice->topology->routes(slice, from, to, minimal);
}

int route_length(const struct hop hop[], int hops)
{
    int links = 0;
    for (int i = 0; i < hops; i++)
        links += abs(hop[i].delta);
    return links;
}

int route_walk(const struct slice *slice, int chip, const struct hop hop[], int hops, int link[])
{
    int n = 0;
    for (int i = 0; i < hops; i++) {
        int sign = hop[i].delta > 0 ? 1 : -1;
        for (int left = abs(hop[i].delta); left > 0; left--) {
            int id = slice_link(slice, chip, hop[i].axis, sign);
            if (id < 0)
                return -1;
            if (link)
                link[n++] = id;
            chip = slice_link_end(slice, id);
        }
    }
    return chip;
}

/* Breadth-first search backwards from `to` over live links until `from` is reached: links[chip] is the
 * distance to `to`, -1 for chips not reached. */
static void measure(const struct slice *slice, int from, int to, int32_t links[], int32_t queue[])
{
    memset(links, -1, (size_t)slice->chips * sizeof *links);
    int first = 0, last = 0;
    links[to] = 0;
    queue[last++] = to;
    while (first < last && links[from] < 0) {
        int chip = queue[first++];
        for (int axis = 0; axis < slice->axes; axis++)
            for (int sign = 1; sign >= -1; sign -= 2) {
                int out = slice_link_built(slice, chip, axis, sign);
                int next = out >= 0 ? slice_link_end(slice, out) : chip;
                if (links[next] >= 0 || slice_link(slice, next, axis, -sign) < 0)
                    continue; /* the link from `next` to `chip` must be alive */
                links[next] = links[chip] + 1;
                queue[last++] = next;
            }
    }
}

/* Takes the first direction of x+, x-, y+, ..., in the order of the slice, that leads closer; returns the
 * next chip. */
static int step_closer(const struct slice *slice, int chip, const int32_t links[], struct hop *hop)
{
    for (int i = 0; i < 2 * slice->axes; i++) {
        int axis = slice->order[i / 2], sign = i % 2 ? -1 : 1;
        int out = slice_link(slice, chip, axis, sign);
        int next = out >= 0 ? slice_link_end(slice, out) : -1;
        if (next < 0 || links[next] != links[chip] - 1)
            continue;
        *hop = (struct hop){axis, sign};
        return next;
    }
    return -1;
}

static int no_route(const struct slice *slice, int from, int to, const char *why, struct status *st)
{
    char a[SLICE_PLACE], b[SLICE_PLACE];
    return status_fail(st, STATUS_INPUT, "no route from chip %s to chip %s: %s",
                       slice_print_place(slice, from, a), slice_print_place(slice, to, b), why);
}

/* Finds the shortest route over live links. */
static int go_round(const struct slice *slice, int from, int to, struct hop hop[static ROUTE_HOPS],
                    struct status *st)
{
    size_t chips = (size_t)slice->chips;
    int32_t *links = malloc(2 * chips * sizeof *links);
    if (!links)
        return status_nomem(st);
    measure(slice, from, to, links, links + chips);
    int hops = 0;
    if (links[from] < 0)
        hops = no_route(slice, from, to, "the links that are alive do not lead there", st);
    for (int chip = from; hops >= 0 && chip != to;) {
        struct hop next;
        chip = step_closer(slice, chip, links, &next);
        bool straight =
            hops > 0 && hop[hops - 1].axis == next.axis && (hop[hops - 1].delta > 0) == (next.delta > 0);
        if (straight)
            hop[hops - 1].delta += next.delta;
        else if (hops < ROUTE_HOPS)
            hop[hops++] = next;
        else
            hops = no_route(slice, from, to, "round the dead links it turns more often than is provided for",
                            st);
    }
    free(links);
    return hops;
}

int route_between(const struct slice *slice, int from, int to, struct hop hop[static ROUTE_HOPS],
                  struct status *st)
{
    struct minimal_route minimal[MINIMAL_ROUTES];
    route_minimal(slice, from, to, minimal);
    memcpy(hop, minimal[0].hop, sizeof minimal[0].hop);
    if (!slice->link || route_walk(slice, from, hop, minimal[0].hops, NULL) == to)
        return minimal[0].hops;
    return go_round(slice, from, to, hop, st);
}

char *hop_print(struct hop hop, char text[static HOP_TEXT])
{
    snprintf(text, HOP_TEXT, "%c%+d", slice_axis_name(hop.axis), hop.delta);
    return text;
}
