/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formula/bound.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine/route.h"

/* Bytes that k of the n chips of a group must send to the rest of the group; `root`: is the root
 * among the k? */
static double leaving_bytes(const struct bound_case *c, double k, bool root)
{
    double n = c->n, v = c->bytes;
    if (k <= 0 || k >= n)
        return 0;
    if (c->op == COLLECTIVE_ALL_GATHER)
        return v * k / n;
    if (c->op == COLLECTIVE_REDUCE_SCATTER)
        return v * (n - k) / n;
    if (c->op == COLLECTIVE_ALL_TO_ALL)
        return v / (n * n) * k * (n - k);
    if (c->op == COLLECTIVE_BROADCAST)
        return root ? v : 0;
    return v;
}

/* The planes across one axis, where plane k lies below coordinate k: bandwidth and bytes that cross each
 * plane upwards, [0], and downwards, [1]. Each contribution is entered as a difference, plus at the first
 * plane that it crosses and minus after the last; add_up() then sums the differences, so a contribution takes
 * constant time however many planes it crosses. */
struct planes {
    const struct slice *slice;
    int axis, len;
    double *Bps[2], *bytes[2]; /* [len + 1] */
};

/* Adds an amount to all planes between two coordinates, as a difference. */
static void cross(double *const crossing[2], int from, int to, double amount)
{
    double *planes = crossing[from > to];
    planes[(from < to ? from : to) + 1] += amount;
    planes[(from < to ? to : from) + 1] -= amount;
}

static void add_up(const struct planes *p, double *const crossing[2])
{
    for (int w = 0; w < 2; w++)
        for (int k = 1; k <= p->len; k++)
            crossing[w][k] += crossing[w][k - 1];
}

static void cross_links(const struct planes *p, int chip, double times)
{
    const struct slice *slice = p->slice;
    for (int port = 0; port < 2 * slice->axes; port++) {
        if (port / 2 != p->axis && !slice_is_twisted(slice))
            continue;
        struct slice_link link = slice_link_row(slice, chip * 2 * slice->axes + port);
        if (link.kind == LINK_ICI)
            cross(p->Bps, slice_coord(slice, link.from, p->axis), slice_coord(slice, link.to, p->axis),
                  times * link.bandwidth_Bps);
    }
}

/* Chips that a translation along an axis maps onto each other have the same links, so step[a] chips along
 * each axis a stand for all of them; returns the number of chips that each one stands for. Along the axis
 * `whole` (-1: none), and on slices whose links differ, every chip stands for itself. */
static int find_alike(const struct slice *slice, int whole, int step[static SLICE_AXES])
{
    int times = 1;
    for (int a = 0; a < SLICE_AXES; a++) {
        bool all = a >= slice->axes || a == whole || slice->link || slice_is_twisted(slice);
        step[a] = all || slice_moved(slice, 0, a, 1) < 0 ? slice->len[a] : 1;
        times *= slice->len[a] / step[a];
    }
    return times;
}

/* Adds the links of all chips. Only one of equivalent chips is visited: on a pod, one for each coordinate of
 * this axis. */
static void add_links(const struct planes *p)
{
    const struct slice *slice = p->slice;
    int step[SLICE_AXES], times = find_alike(slice, p->axis, step), at[SLICE_AXES];
    for (at[0] = 0; at[0] < step[0]; at[0]++)
        for (at[1] = 0; at[1] < step[1]; at[1]++)
            for (at[2] = 0; at[2] < step[2]; at[2]++)
                cross_links(p, slice_chip(slice, at), times);
    add_up(p, p->Bps);
}

/* Calls `take` for every pair of chips of which one sends to the other, with the bytes. */
typedef void take_pair(void *context, int from, int to, double bytes);
static void each_pair(const struct bound_case *c, take_pair *take, void *context)
{
    for (int chip = 0; c->target && chip < c->slice->chips; chip++)
        if (c->target[chip] >= 0 && c->target[chip] != chip)
            take(context, chip, c->target[chip], c->bytes);
    size_t n = (size_t)c->n;
    for (size_t at = 0; c->pair_bytes && at < (size_t)c->groups * n; at++)
        for (size_t to = 0; to < n; to++) {
            double bytes = c->pair_bytes[at % n * n + to];
            if (to != at % n && bytes > 0)
                take(context, c->chip[at], c->chip[at - at % n + to], bytes);
        }
}

static void take_crossing(void *context, int from, int to, double bytes)
{
    const struct planes *p = context;
    cross(p->bytes, slice_coord(p->slice, from, p->axis), slice_coord(p->slice, to, p->axis), bytes);
}

/* Adds groups of listed chips: for each plane, the bytes follow from how many chips of each group lie below
 * it. */
static void add_listed(const struct planes *p, const struct bound_case *c, int32_t below[])
{
    size_t n = (size_t)c->n, listed = n * (size_t)c->groups;
    memset(below, 0, (size_t)c->groups * sizeof *below);
    for (int k = 1; k < p->len; k++) {
        for (size_t at = 0; at < listed; at++)
            below[at / n] += slice_coord(p->slice, c->chip[at], p->axis) == k - 1;
        for (int g = 0; g < c->groups; g++) {
            bool root = slice_coord(p->slice, c->chip[(size_t)g * n + (size_t)c->root], p->axis) < k;
            p->bytes[0][k] += leaving_bytes(c, below[g], root);
            p->bytes[1][k] += leaving_bytes(c, c->n - below[g], !root);
        }
    }
}

/* Groups that span the whole axis have equally many chips at every coordinate. A group that does not span an
 * axis has a single coordinate on it, so it crosses none of its planes. */
static void add_spanning(const struct planes *p, const struct bound_case *c)
{
    for (int k = 1; k < p->len && (c->axes >> p->axis & 1); k++) {
        double below = (double)c->n / p->len * k;
        p->bytes[0][k] = c->groups * leaving_bytes(c, below, false);
        p->bytes[1][k] = c->groups * leaving_bytes(c, c->n - below, false);
    }
}

static int cut_axis(const struct bound_case *c, int axis, double *worst_s, struct status *st)
{
    size_t planes = (size_t)c->slice->len[axis] + 1;
    double *room = calloc(4 * planes, sizeof *room);
    int32_t *below = malloc(((size_t)c->groups + 1) * sizeof *below);
    if (!room || !below) {
        free(room);
        free(below);
        return status_nomem(st);
    }
    struct planes p = {.slice = c->slice,
                       .axis = axis,
                       .len = c->slice->len[axis],
                       .Bps = {room, room + planes},
                       .bytes = {room + 2 * planes, room + 3 * planes}};
    add_links(&p);
    if (c->target || c->pair_bytes) {
        each_pair(c, take_crossing, &p);
        add_up(&p, p.bytes);
    } else if (c->chip) {
        add_listed(&p, c, below);
    } else {
        add_spanning(&p, c);
    }
    for (int k = 1; k < p.len; k++)
        for (int w = 0; w < 2; w++)
            if (p.bytes[w][k] > 0 && p.Bps[w][k] > 0)
                *worst_s = fmax(*worst_s, p.bytes[w][k] / p.Bps[w][k]);
    free(room);
    free(below);
    return 0;
}

/* The chip that stands for a column. Chips that differ only along axes that no group spans form a column: the
 * bytes of their groups enter and leave over the links to other columns. If groups are listed, every chip is
 * a column. */
static int column_of(const struct bound_case *c, int chip)
{
    int at[SLICE_AXES];
    if (!c->axes)
        return chip;
    for (int a = 0; a < c->slice->axes; a++)
        at[a] = c->axes >> a & 1 ? slice_coord(c->slice, chip, a) : 0;
    return slice_chip(c->slice, at);
}

/* Bandwidth of a column's links out of it, [0], and into it, [1]; and the bytes that must take these ways. */
struct ports {
    double *Bps[2], *bytes[2]; /* [chips] */
};

static void take_ports(void *context, int from, int to, double bytes)
{
    const struct ports *p = context;
    p->bytes[0][from] += bytes;
    p->bytes[1][to] += bytes;
}

static void fill_ports(const struct bound_case *c, const struct ports *p)
{
    const struct slice *slice = c->slice;
    for (int id = 0; id < slice_link_ids(slice); id++) {
        struct slice_link link = slice_link_row(slice, id);
        if (link.kind != LINK_ICI)
            continue;
        int from = column_of(c, link.from), to = column_of(c, link.to);
        p->Bps[0][from] += from != to ? link.bandwidth_Bps : 0;
        p->Bps[1][to] += from != to ? link.bandwidth_Bps : 0;
    }
    each_pair(c, take_ports, (void *)p);
    int members = c->target || c->pair_bytes ? 0 : c->chip ? c->groups * c->n : slice->chips;
    for (int at = 0; at < members; at++) {
        int chip = column_of(c, c->chip ? c->chip[at] : at);
        bool root = at % c->n == c->root;
        p->bytes[0][chip] += leaving_bytes(c, 1, root);
        p->bytes[1][chip] += leaving_bytes(c, c->n - 1, !root);
    }
}

/* The bound `links` of an all-reduce, with the bandwidth of all links between columns together. */
static double all_links_s(const struct bound_case *c, double Bps)
{
    bool sums = c->op == COLLECTIVE_ALL_REDUCE;
    return sums && Bps > 0 ? c->groups * 2.0 * (c->n - 1) * c->bytes / Bps : 0;
}

/* Do the groups span axes, all axes straight, on a slice of equal links? Then a few chips stand for all. */
static bool is_spanning(const struct bound_case *c)
{
    bool straight = true;
    for (int axis = 0; axis < c->slice->axes; axis++)
        straight &= slice_is_straight(c->slice, axis);
    return straight && c->axes && !c->chip && !c->target && !c->slice->link;
}

/* The result of pass_ports() in that case: it follows from the fewest links along the spanned axes out of a
 * chip, and from the number of all such links. */
static double alike_ports_s(const struct bound_case *c)
{
    const struct slice *slice = c->slice;
    int step[SLICE_AXES], times = find_alike(slice, -1, step), at[SLICE_AXES], least = INT_MAX, all = 0;
    for (at[0] = 0; at[0] < step[0]; at[0]++)
        for (at[1] = 0; at[1] < step[1]; at[1]++)
            for (at[2] = 0; at[2] < step[2]; at[2]++) {
                int chip = slice_chip(slice, at), ports = 0;
                for (int id = chip * 2 * slice->axes; id < (chip + 1) * 2 * slice->axes; id++)
                    ports += slice_is_link(slice, id) && (c->axes >> slice_link_axis(slice, id) & 1);
                least = ports < least ? ports : least;
                all += times * ports;
            }
    double port_bytes = fmax(leaving_bytes(c, 1, false), leaving_bytes(c, c->n - 1, false));
    return fmax(port_bytes / (least * slice->link_Bps), all_links_s(c, all * slice->link_Bps));
}

static int pass_ports(const struct bound_case *c, double *worst_s, struct status *st)
{
    size_t chips = (size_t)c->slice->chips;
    double *room, Bps = 0;
    if (!(room = calloc(4 * chips, sizeof *room)))
        return status_nomem(st);
    struct ports p = {.Bps = {room, room + chips}, .bytes = {room + 2 * chips, room + 3 * chips}};
    fill_ports(c, &p);
    for (size_t chip = 0; chip < chips; chip++) {
        Bps += p.Bps[0][chip];
        for (int w = 0; w < 2; w++)
            if (p.bytes[w][chip] > 0 && p.Bps[w][chip] > 0)
                *worst_s = fmax(*worst_s, p.bytes[w][chip] / p.Bps[w][chip]);
    }
    *worst_s = fmax(*worst_s, all_links_s(c, Bps));
    free(room);
    return 0;
}

/* Number of links on the shortest way between two chips. */
static int links_between(const struct slice *slice, int from, int to)
{
    struct minimal_route minimal[MINIMAL_ROUTES];
    route_minimal(slice, from, to, minimal);
    return route_length(minimal[0].hop, minimal[0].hops);
}

/* Links to the farthest chip of a group that spans axes, from chip 0. Each axis is searched by itself. */
static int links_farthest(const struct slice *slice, unsigned axes)
{
    int corner[SLICE_AXES] = {0};
    for (int a = 0; a < slice->axes; a++)
        for (int to = 1, most = 0; to < slice->len[a] && (axes >> a & 1); to++) {
            int at[SLICE_AXES] = {0};
            at[a] = to;
            int links = links_between(slice, 0, slice_chip(slice, at));
            corner[a] = links > most ? to : corner[a];
            most = links > most ? links : most;
        }
    return links_between(slice, 0, slice_chip(slice, corner));
}

struct farthest {
    const struct slice *slice;
    int links;
};

static void take_distance(void *context, int from, int to, double bytes)
{
    struct farthest *farthest = context;
    int links = links_between(farthest->slice, from, to);
    if (bytes > 0 && links > farthest->links)
        farthest->links = links;
}

/* Links to the farthest chip of a listed group: from the root of a broadcast; otherwise from the first chip,
 * and then from the chip found, since any two chips may be the farthest apart. */
static int farthest_listed(const struct bound_case *c)
{
    struct farthest farthest = {.slice = c->slice};
    bool broadcast = c->op == COLLECTIVE_BROADCAST;
    for (int g = 0; g < c->groups; g++) {
        const int32_t *chip = c->chip + (size_t)g * (size_t)c->n;
        int from = broadcast ? chip[c->root] : chip[0];
        for (int pass = 0; pass < (broadcast ? 1 : 2); pass++) {
            int next = from, most = 0;
            for (int i = 0; i < c->n; i++) {
                int links = links_between(c->slice, from, chip[i]);
                next = links > most ? chip[i] : next;
                most = links > most ? links : most;
            }
            farthest.links = most > farthest.links ? most : farthest.links;
            from = next;
        }
    }
    return farthest.links;
}

static double least_latency_s(const struct slice *slice)
{
    double least_s = INFINITY;
    for (int id = 0; slice->link && id < slice_link_ids(slice); id++)
        if (slice->link[id].kind == LINK_ICI)
            least_s = fmin(least_s, slice->link[id].latency_s);
    return slice->link ? least_s : slice->hop_latency_s;
}

static double distance_s(const struct bound_case *c)
{
    struct farthest farthest = {.slice = c->slice};
    if (c->target || c->pair_bytes)
        each_pair(c, take_distance, &farthest);
    else
        farthest.links = c->chip ? farthest_listed(c) : links_farthest(c->slice, c->axes);
    return farthest.links > 0 ? farthest.links * least_latency_s(c->slice) : 0;
}

int bound_find(const struct bound_case *c, double *bound_s, struct status *st)
{
    *bound_s = 0;
    if (c->n < 2 && !c->target)
        return 0;
    *bound_s = distance_s(c);
    int code = 0;
    if (is_spanning(c))
        *bound_s = fmax(*bound_s, alike_ports_s(c));
    else
        code = pass_ports(c, bound_s, st);
    for (int axis = 0; axis < c->slice->axes && code == 0; axis++)
        code = c->slice->len[axis] > 1 ? cut_axis(c, axis, bound_s, st) : 0;
    return code;
}
