/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collective-permute: each chip sends its array to at most one other chip, on the shortest route that
 * route_between() finds; routes that meet contend. With `routes` > 1 the array is cut into that many parts,
 * each on its own route, which shares no link with the other routes of the pair (F10): another order of the
 * axes, the long way round, or a detour by one link. If a dead link is on a pair's route, the fastest of
 * these candidates and of the shortest way around it is taken, given the traffic of the other pairs.
 */
#include "collective/builders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collective/walk.h"

enum { PERMUTE_ROUTES = 2 * SLICE_AXES, CANDIDATES = 64, CANDIDATE_HOPS = SLICE_AXES };

struct candidate {
    int hops, links;
    struct hop hop[CANDIDATE_HOPS];
};

static void propose(struct candidate list[], int *count, const struct hop hop[], int hops)
{
    if (*count == CANDIDATES)
        return;
    struct candidate *c = &list[(*count)++];
    c->hops = hops;
    c->links = route_length(hop, hops);
    for (int h = 0; h < hops; h++)
        c->hop[h] = hop[h];
}

/* Proposes all cyclic orders of the hops, with each hop the short or the long way. Candidates that do not
 * lead to the destination are discarded later. */
static void propose_orders(const struct slice *slice, const struct minimal_route *minimal,
                           struct candidate list[], int *count)
{
    for (int flips = 0; flips < 1 << minimal->hops; flips++) {
        struct hop hop[SLICE_AXES];
        for (int h = 0; h < minimal->hops; h++) {
            int axis = minimal->hop[h].axis, delta = minimal->hop[h].delta;
            hop[h] = minimal->hop[h];
            if (flips >> h & 1) {
                hop[h].delta += delta > 0 ? -slice->len[axis] : slice->len[axis];
            }
        }
        for (int turn = 0; turn < minimal->hops; turn++) {
            struct hop turned[SLICE_AXES];
            for (int h = 0; h < minimal->hops; h++)
                turned[h] = hop[(h + turn) % minimal->hops];
            propose(list, count, turned, minimal->hops);
        }
    }
}

/* Proposes routes parallel to a straight one: a link aside, along, and back. The longest axis comes first, so
 * that the result does not depend on the names of the axes. */
static void propose_detours(const struct slice *slice, const struct minimal_route *minimal,
                            struct candidate list[], int *count)
{
    int longest = 0;
    for (int axis = 0; axis < slice->axes; axis++)
        longest = slice->len[axis] > longest ? slice->len[axis] : longest;
    for (int len = longest; len > 1 && minimal->hops == 1; len--)
        for (int a = 0; a < 2 * slice->axes; a++) {
            int axis = slice->order[a % slice->axes];
            if (slice->len[axis] != len || axis == minimal->hop[0].axis ||
                (slice_ring(slice, axis) > 0) != (a < slice->axes))
                continue;
            for (int aside = 1; aside >= -1; aside -= 2)
                propose(list, count, (struct hop[]){{axis, aside}, minimal->hop[0], {axis, -aside}}, 3);
        }
}

/* Do two routes from a chip share a link? A route that does not exist counts as sharing. */
static int share_links(const struct slice *slice, int chip, const struct candidate *a,
                       const struct candidate *b, struct status *st)
{
    int *link = malloc(((size_t)a->links + (size_t)b->links + 1) * sizeof *link);
    if (!link)
        return status_nomem(st);
    bool share = route_walk(slice, chip, a->hop, a->hops, link) < 0 ||
                 route_walk(slice, chip, b->hop, b->hops, link + a->links) < 0;
    for (int i = 0; i < a->links && !share; i++)
        for (int j = 0; j < b->links && !share; j++)
            share = link[i] == link[a->links + j];
    free(link);
    return share;
}

/* Finds up to `routes` link-disjoint routes, short ones first; returns their number. */
static int disjoint_routes(const struct slice *slice, int from, int to, int routes, struct candidate chosen[],
                           struct status *st)
{
    struct minimal_route minimal[MINIMAL_ROUTES];
    struct candidate list[CANDIDATES];
    int count = 0, found = 0, longest = 0;
    route_minimal(slice, from, to, minimal);
    if (minimal[0].hops == 0)
        propose(list, &count, NULL, 0);
    propose_orders(slice, &minimal[0], list, &count);
    propose_detours(slice, &minimal[0], list, &count);
    for (int i = 0; i < count; i++)
        longest = list[i].links > longest ? list[i].links : longest;
    /* The shortest candidates first; among equal lengths in the order of proposal, dimension order first. */
    for (int i = 0, links = 0; links <= longest && found < routes;
         links += i == count - 1, i = (i + 1) % count) {
        bool fits = list[i].links == links && route_walk(slice, from, list[i].hop, list[i].hops, NULL) == to;
        for (int f = 0; f < found && fits; f++) {
            int share = share_links(slice, from, &list[i], &chosen[f], st);
            if (share < 0)
                return share;
            fits = !share;
        }
        if (fits)
            chosen[found++] = list[i];
    }
    return found;
}

/* The traffic of a permute: bytes of each send, and the number of sends over each link; `link` is scratch for
 * the links of a route. */
struct traffic {
    const struct slice *slice;
    double bytes;
    int *load, *link;
};

/* The time of a send over a route, given the other sends. Two tiny terms break ties even if a hop's latency
 * is 0: one for the number of links, so that the shortest of equal routes wins, and a smaller one for the
 * load of all links, so that the least used of these wins. Infinite if the route does not lead to `to`. */
static double route_s(const struct traffic *t, int from, int to, const struct hop hop[], int hops)
{
    double slowest_s = 0, shared_s = 0;
    int links = route_length(hop, hops);
    if (route_walk(t->slice, from, hop, hops, t->link) != to)
        return INFINITY;
    for (int l = 0; l < links; l++) {
        double link_s = t->bytes / slice_link_Bps(t->slice, t->link[l]);
        slowest_s = fmax(slowest_s, link_s * (t->load[t->link[l]] + 1));
        shared_s += link_s * (t->load[t->link[l]] + 1);
    }
    return links * (t->slice->hop_latency_s + 1e-3 * t->bytes / t->slice->link_Bps) + slowest_s +
           1e-6 * shared_s;
}

/* The fastest candidate around dead links, if it is faster than the shortest route. */
static int32_t find_detour(struct traffic *t, struct program *program, int from, int to, int32_t shortest)
{
    struct minimal_route minimal[MINIMAL_ROUTES];
    struct candidate list[CANDIDATES];
    struct hop hop[ROUTE_HOPS];
    int count = 0, best = -1, hops = route_between(t->slice, from, to, hop, NULL);
    /* the shortest route loses ties, since it depends on the names of the axes */
    double best_s = hops < 0 ? INFINITY : route_s(t, from, to, hop, hops) * (1 + 1e-9);
    route_minimal(t->slice, from, to, minimal);
    propose_orders(t->slice, &minimal[0], list, &count);
    propose_detours(t->slice, &minimal[0], list, &count);
    for (int i = 0; i < count; i++) {
        double tried_s = route_s(t, from, to, list[i].hop, list[i].hops);
        if (tried_s >= best_s)
            continue;
        best_s = tried_s * (1 - 1e-9);
        best = i;
    }
    const struct hop *way = best < 0 ? hop : list[best].hop;
    hops = best < 0 ? hops : list[best].hops;
    bool leads = route_s(t, from, to, way, hops) < INFINITY;
    for (int l = 0; leads && l < route_length(way, hops); l++)
        t->load[t->link[l]]++;
    return best < 0 ? shortest : program_route(program, way, hops);
}

/* The i-th chip, row by row, with the last axis of slice.order fastest. */
static int chip_in_order(const struct slice *slice, int i)
{
    int coord[SLICE_AXES] = {0};
    for (int a = slice->axes - 1; a >= 0; a--) {
        int axis = slice->order[a];
        coord[axis] = i % slice->len[axis];
        i /= slice->len[axis];
    }
    return slice_chip(slice, coord);
}

void permute_routes(struct program *program, const int32_t target[], double bytes, unsigned busy,
                    int32_t table[])
{
    const struct slice *slice = program->slice;
    size_t links = (size_t)slice_link_ids(slice) + 1;
    program_routes_to(program, target, table);
    if (!slice->link)
        return;
    struct traffic t = {slice, bytes, calloc(links, sizeof *t.load), malloc(links * sizeof *t.link)};
    if (!t.load || !t.link)
        program->error = STATUS_NOMEM;
    for (int link = 0; link < slice_link_ids(slice) && t.load; link++)
        t.load[link] = busy >> slice_link_axis(slice, link) & 1;
    for (int pass = 0; pass < 2 && !program->error; pass++)
        for (int i = 0; i < slice->chips; i++) {
            struct minimal_route minimal[MINIMAL_ROUTES];
            int chip = chip_in_order(slice, i);
            if (target[chip] < 0)
                continue;
            route_minimal(slice, chip, target[chip], minimal);
            bool regular = route_walk(slice, chip, minimal[0].hop, minimal[0].hops, t.link) == target[chip];
            for (int l = 0; regular && pass == 0 && l < route_length(minimal[0].hop, minimal[0].hops); l++)
                t.load[t.link[l]]++;
            if (!regular && pass == 1)
                table[chip] = find_detour(&t, program, chip, target[chip], table[chip]);
        }
    free(t.load);
    free(t.link);
}

/* Finds the routes of every chip: table[route * chips + chip]. */
static int find_routes(const struct collective_spec *spec, struct program *program, int routes,
                       int32_t table[], struct status *st)
{
    const struct slice *slice = program->slice;
    if (routes == 1)
        permute_routes(program, spec->target, (double)spec->elements * spec->elem_bytes, 0, table);
    for (int chip = 0; chip < slice->chips && routes > 1; chip++) {
        struct candidate chosen[PERMUTE_ROUTES];
        if (spec->target[chip] < 0)
            continue;
        int found = disjoint_routes(slice, chip, spec->target[chip], routes, chosen, st);
        if (found < 0)
            return found;
        bool stays = spec->target[chip] == chip;
        if (found < routes && !stays)
            return status_fail(st, STATUS_INPUT,
                               "routes %d: from chip %d to chip %d there are %d by other orders of the axes, "
                               "the long way round or a link aside that share no link; ask for %d",
                               routes, chip, spec->target[chip], found, found > 0 ? found : 1);
        for (int r = 0; r < routes; r++) {
            const struct candidate *c = &chosen[stays ? 0 : r];
            table[r * slice->chips + chip] = program_route(program, c->hop, c->hops);
        }
    }
    return 0;
}

static int32_t senders(const struct collective_spec *spec, struct program *program, uint8_t mask[], bool *any)
{
    *any = false;
    for (int chip = 0; chip < program->slice->chips; chip++)
        *any |= mask[chip] = spec->target[chip] >= 0;
    return *any ? program_mask(program, mask) : WHERE_ALL;
}

static void write_sends(const struct collective_spec *spec, struct program *program, int32_t where,
                        int routes, const struct towards towards[], int32_t before, int32_t *after)
{
    struct collective_buffers made = {-1, -1}, *buffers = spec->buffers ? spec->buffers : &made;
    struct grid grid = {.elements = spec->elements, .dims = routes > 1, .dim = {routes}};
    make_buffer(spec, program, &buffers->in, "in", &grid);
    make_buffer(spec, program, &buffers->out, "out", &grid);
    int32_t end[PERMUTE_ROUTES];
    int32_t stage = stage_of(spec, program, "collective-permute");
    program_stage_permutes(program, stage);
    for (int r = 0; r < routes; r++) {
        struct payload payload = {.a.buffer = buffers->in, .to.buffer = buffers->out};
        payload.a.pick[0] = payload.to.pick[0] = pick_fixed(r);
        end[r] = program_add(
            program,
            (struct op){.kind = OP_SEND,
                        .where = where,
                        .towards = towards[r],
                        .amount = amount_of((double)spec->elements * spec->elem_bytes / routes),
                        .setup_s = spec->setup_s,
                        .payload = spec->timing_only ? NO_PAYLOAD : program_payload(program, payload),
                        .stage = stage});
        program_wait(program, before);
    }
    if (after)
        *after = program_join_of(program, end, routes, WHERE_ALL, stage);
}

int collective_permute_build(const struct collective_spec *spec, struct program *program, int32_t before,
                             int32_t *after, struct status *st)
{
    size_t chips = (size_t)program->slice->chips;
    struct towards towards[PERMUTE_ROUTES];
    int routes = spec->routes > 0 ? spec->routes : 1, code = 0;
    if (routes > PERMUTE_ROUTES)
        return status_fail(st, STATUS_INPUT, "routes %d: a chip has %d ports at most", routes,
                           PERMUTE_ROUTES);
    int32_t *table = calloc(chips * (size_t)routes, sizeof *table);
    uint8_t *mask = malloc(chips);
    if (after)
        *after = before;
    if (!table || !mask) {
        code = status_nomem(st);
        goto out;
    }
    bool any;
    int32_t where = senders(spec, program, mask, &any);
    code = find_routes(spec, program, routes, table, st);
    for (int r = 0; r < routes && code == 0 && any; r++)
        towards[r] = program_towards_table(program, table + (size_t)r * chips, where);
    if (code == 0 && any)
        write_sends(spec, program, where, routes, towards, before, after);
    if (code == 0)
        code = program_close(program, st);
out:
    free(table);
    free(mask);
    return code;
}

void permute_shift(const struct mesh *mesh, const struct axis_list *list, int offset, int32_t chip[],
                   int32_t target[])
{
    int n = axis_list_size(list, &mesh->axes);
    mesh_groups(mesh, list, chip);
    for (int c = 0; c < mesh->slice->chips; c++)
        target[c] = -1;
    for (int at = 0; at < mesh->devices; at++) {
        int to = ((at % n + offset) % n + n) % n;
        target[chip[at]] = chip[at - at % n + to];
    }
}

int permute_pairs(const struct mesh *mesh, const struct axis_list *list, const int32_t pair[][2], int pairs,
                  int32_t chip[], int32_t target[], struct status *st)
{
    /* ppermute numbers chips in mesh order, whatever the order of the given axes. */
    struct axis_list sorted = axis_list_of_set(axis_list_set(list));
    int n = axis_list_size(&sorted, &mesh->axes), chips = mesh->slice->chips;
    mesh_groups(mesh, &sorted, chip);
    for (int c = 0; c < chips; c++)
        target[c] = -1;
    for (int i = 0; i < pairs; i++) {
        int from = pair[i][0], to = pair[i][1];
        if (from < 0 || from >= n || to < 0 || to >= n)
            return status_fail(st, STATUS_INPUT,
                               "pairs: %d-%d is not among the %d chips; they are numbered 0 to %d", from, to,
                               n, n - 1);
        for (int j = 0; j < i; j++)
            if (pair[j][0] == from || pair[j][1] == to)
                return status_fail(
                    st, STATUS_INPUT,
                    "pairs: %d-%d and %d-%d: a chip sends to one chip at most and receives from one; name "
                    "each source and each target once",
                    pair[j][0], pair[j][1], from, to);
        for (int group = 0; group < mesh->devices / n; group++)
            target[chip[group * n + from]] = chip[group * n + to];
    }
    return 0;
}
