/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How an array is cut into the parts that walk the rings in different orders.
 *
 * A part of one byte that starts with ring r and walks them in cyclic order brings, to ring s, what it has gathered by then:
 * the lengths of the rings before s over the number of chips, for each of the chunks that cross the busiest link of s. These
 * are n - 1 on a line and one way round a ring, floor(n/2) and (n - 1)/2 both ways round; times the steps that pass one link,
 * where steps are several links. The ring that comes last carries most. From that follows a time that no shares beat: what the
 * busiest link carries, or the part that is longest under way; a reduce-scatter is the same backwards.
 *
 * How parts that share links keep each other waiting only a simulation says. So the search simulates equal shares, those whose
 * least time is least, and all in eighths; from each of the first two and the best of the last it moves shares from part to part,
 * half as many each time, as long as that is faster. Shares whose least time is no better than the time so far are not simulated, which are most.
 */
#include <math.h>
#include <string.h>

#include "collective/collective.h"
#include "engine/timing.h"

/* What a gather, or a scatter, takes for each share that a part has, as if no link were slow. */
struct costs {
    int rings, times;                                  /* an all-reduce is both, one after the other */
    double link_s[COLLECTIVE_RINGS][COLLECTIVE_RINGS]; /* [first][of]: on the busiest link of a ring */
    double part_s[COLLECTIVE_RINGS];                   /* its own sends, which follow each other, ... */
    double steps_s;                                    /* ... and the latencies of their steps */
    bool mirrored; /* half of each chunk goes each way, which never meet */
};

/* Chunks that cross the busiest link when every chip's goes round: to all others. */
static double crossings(const struct ring *ring, enum ring_kind kind)
{
    int n = ring->n;
    bool both_ways = ring->closed && kind != RING_UNI;
    return !both_ways ? n - 1 : kind == RING_BIDI ? (double)(n / 2) : (n - 1) / 2.0;
}

/* What a step of ring `of` carries, all together, for each byte of the part that starts with ring `first`. */
static double carried(const struct collective_spec *spec, const struct ring *const ring[], int rings,
                      int first, int of)
{
    double gathered = 1, chips = 1;
    for (int m = 0; m < rings; m++)
        chips *= ring[m]->n;
    for (int m = first; m % rings != of; m += spec->turned ? rings - 1 : 1)
        gathered *= ring[m % rings]->n;
    return gathered * crossings(ring[of], spec->kind) / chips;
}

/* Has it rings of its own on a twisted torus (turns.c)? */
static bool has_turns(const struct collective *collective, const struct collective_spec *spec)
{
    return collective->id != COLLECTIVE_BROADCAST && collective->id != COLLECTIVE_ALL_TO_ALL &&
           collective_has_turns(spec);
}

static void make_turns(const struct collective_spec *spec, const struct slice *slice,
                       struct ring turn[static COLLECTIVE_RINGS])
{
    int n[COLLECTIVE_RINGS];
    collective_turns(spec, slice, 0, n);
    for (int m = 0; m < COLLECTIVE_RINGS; m++)
        turn[m] = (struct ring){.n = n[m], .closed = true, .edge_links = 1, .closing_links = 1, .overlap = 1};
}

static struct costs costs_of(const struct collective *collective, const struct slice *slice,
                             const struct collective_spec *spec)
{
    const struct ring *ring[COLLECTIVE_RINGS];
    double share_s = (double)spec->elements * spec->elem_bytes / COLLECTIVE_SHARES / slice->link_Bps;
    struct costs costs = {.times = collective->id == COLLECTIVE_ALL_REDUCE ? 2 : 1,
                          .mirrored = spec->kind == RING_BIDI_HALF && !slice->link};
    struct ring turn[COLLECTIVE_RINGS];
    if (has_turns(collective, spec))
        make_turns(spec, slice, turn);
    for (int r = 0; r < spec->rings; r++) {
        const struct ring *along = has_turns(collective, spec) ? &turn[r] : spec->ring[r];
        if (along->n < 2)
            continue;
        bool half_way = along->closed && spec->kind == RING_BIDI;
        costs.steps_s += slice->hop_latency_s * (half_way ? along->n / 2 : along->n - 1);
        costs.mirrored &= along->closed && ring_is_of_links(along, false);
        ring[costs.rings++] = along;
    }
    bool twisted = has_turns(collective, spec);
    for (int first = 0; first < costs.rings; first++)
        for (int of = 0; of < costs.rings; of++) {
            /* All parts of a twisted torus have rings of the same lengths, in the order in which they walk them. */
            double own_s = share_s * (twisted ? carried(spec, ring, costs.rings, 0,
                                                        (of - first + costs.rings) % costs.rings)
                                              : carried(spec, ring, costs.rings, first, of));
            costs.part_s[first] += own_s;
            costs.link_s[first][of] = own_s * ring[of]->overlap;
        }
    return costs;
}

/* The busiest link of shares, all 0 for equal ones; and the part that is longest under way. */
static double busiest_s(const struct costs *costs, const int share[], double *longest_s)
{
    double most_s = 0, equal = (double)COLLECTIVE_SHARES / costs->rings;
    bool are_equal = share[0] + share[1] + share[2] == 0;
    *longest_s = 0;
    for (int of = 0; of < costs->rings; of++) {
        double sum_s = 0;
        for (int first = 0; first < costs->rings; first++)
            sum_s += costs->link_s[first][of] * (are_equal ? equal : share[first]);
        most_s = fmax(most_s, sum_s);
        *longest_s = fmax(*longest_s, costs->part_s[of] * (are_equal ? equal : share[of]));
    }
    return most_s;
}

static double least_s(const struct costs *costs, const int share[])
{
    double longest_s, links_s = busiest_s(costs, share, &longest_s);
    return costs->times * fmax(links_s, costs->steps_s + longest_s);
}

/* The shares whose busiest link, or whose least time, is least, of all there are. Both are convex in the shares, so that a row of
 * them is left where it begins to rise, and so are the rows. Returns it. */
static double find_least(const struct costs *costs, bool links_alone, int share[static COLLECTIVE_RINGS])
{
    const double rises = 1 + 1e-9;
    double best_s = INFINITY, row_s = INFINITY, longest_s;
    for (int first = 0; first <= COLLECTIVE_SHARES; first++) {
        double before_s = row_s;
        row_s = INFINITY;
        for (int second = costs->rings == 2 ? COLLECTIVE_SHARES - first : 0;
             first + second <= COLLECTIVE_SHARES; second++) {
            int tried[COLLECTIVE_RINGS] = {first, second, COLLECTIVE_SHARES - first - second};
            double tried_s =
                links_alone ? costs->times * busiest_s(costs, tried, &longest_s) : least_s(costs, tried);
            if (tried_s > row_s * rises)
                break;
            row_s = fmin(row_s, tried_s);
            if (tried_s >= best_s * (1 - 1e-12))
                continue;
            best_s = tried_s;
            memcpy(share, tried, sizeof tried);
        }
        if (row_s > before_s * rises)
            break;
    }
    return best_s;
}

static bool rings_differ(const struct collective *collective, const struct slice *slice,
                         const struct collective_spec *spec)
{
    const struct ring *first = NULL;
    if (has_turns(collective, spec))
        return false;
    for (int r = 0; r < spec->rings; r++) {
        const struct ring *ring = spec->ring[r];
        if (ring->n < 2)
            continue;
        if (first && slice->link)
            return true;
        if (first &&
            (ring->n != first->n || ring->closed != first->closed || ring->overlap != first->overlap))
            return true;
        first = first ? first : ring;
    }
    return false;
}

bool collective_has_shares(const struct collective *collective, const struct slice *slice,
                           const struct collective_spec *spec)
{
    return collective->uses_ring && spec->elements > 0 && spec->colours == 0 &&
           spec->pattern == PATTERN_RINGS && rings_differ(collective, slice, spec);
}

double collective_least_s(const struct collective *collective, const struct slice *slice,
                          const struct collective_spec *spec, double *links_s)
{
    struct costs costs = costs_of(collective, slice, spec);
    int share[COLLECTIVE_RINGS] = {0};
    double per_s = 0, longest_s; /* shares a second: those by which all parts are under way as long */
    *links_s = 0;
    if (costs.rings == 0)
        return 0;
    *links_s = costs.times * busiest_s(&costs, share, &longest_s);
    if (rings_differ(collective, slice, spec))
        *links_s = fmin(*links_s, find_least(&costs, true, share));
    for (int first = 0; first < costs.rings; first++)
        per_s += 1 / costs.part_s[first];
    return costs.times * (costs.steps_s + COLLECTIVE_SHARES / per_s);
}

int collective_time(const struct collective *collective, const struct slice *slice,
                    const struct collective_spec *spec, double *time_s, struct status *st)
{
    struct collective_spec alone = *spec;
    struct program program;
    alone.timing_only = true;
    program_init(&program, slice);
    int code = collective->build(&alone, &program, -1, NULL, st);
    if (code == 0)
        code = program_time(&program, time_s, st);
    program_free(&program);
    return code;
}

enum { TRIES = 256 };

/* A search: the best shares so far, and what they take; and those that have been simulated. */
struct search {
    const struct collective *collective;
    const struct slice *slice;
    struct collective_spec spec; /* whose shares are those tried last */
    struct costs costs;
    int best[COLLECTIVE_RINGS];
    double best_s;
    int tries;
    struct {
        int share[COLLECTIVE_RINGS];
        double time_s;
    } tried[TRIES];
};

/* Simulates shares whose least time is below `than_s`, and keeps them if they are the best so far; of the others the time is
 * infinite. */
static int try_share(struct search *search, const int share[], double than_s, double *time_s,
                     struct status *st)
{
    *time_s = INFINITY;
    for (int t = 0; t < search->tries; t++)
        if (memcmp(search->tried[t].share, share, sizeof search->best) == 0) {
            *time_s = search->tried[t].time_s;
            return 0;
        }
    if (search->tries == TRIES || least_s(&search->costs, share) >= than_s * (1 - 1e-6))
        return 0;
    memcpy(search->spec.share, share, sizeof search->spec.share);
    int code = collective_time(search->collective, search->slice, &search->spec, time_s, st);
    if (code < 0)
        return code;
    search->tried[search->tries].time_s = *time_s;
    memcpy(search->tried[search->tries++].share, share, sizeof search->best);
    if (*time_s >= search->best_s * (1 - 1e-6))
        return 0;
    search->best_s = *time_s;
    memcpy(search->best, share, sizeof search->best);
    return 0;
}

/* All shares in eighths. */
static int try_eighths(struct search *search, struct status *st)
{
    enum { STEP = COLLECTIVE_SHARES / 8 };
    double time_s;
    int code = 0;
    for (int first = 0; first <= COLLECTIVE_SHARES && code == 0; first += STEP)
        for (int second = search->costs.rings == 2 ? COLLECTIVE_SHARES - first : 0;
             first + second <= COLLECTIVE_SHARES && code == 0; second += STEP)
            code = try_share(search, (int[]){first, second, COLLECTIVE_SHARES - first - second},
                             search->best_s, &time_s, st);
    return code;
}

/* Moves shares between any two parts, fewer and fewer at a time, as long as that is faster. */
static int descend(struct search *search, const int from[], double from_s, struct status *st)
{
    int rings = search->costs.rings, at[COLLECTIVE_RINGS], code = 0;
    memcpy(at, from, sizeof at);
    for (int r = 0; r < rings && from[0] + from[1] + from[2] == 0; r++) /* nearly equal ones */
        at[r] = COLLECTIVE_SHARES / rings + (r < COLLECTIVE_SHARES % rings);
    for (int step = COLLECTIVE_SHARES / 8; step > 0; step /= 2)
        for (int move = 0; move < rings * rings && code == 0; move++) {
            int less = move / rings, more = move % rings, share[COLLECTIVE_RINGS];
            double moved_s = INFINITY;
            memcpy(share, at, sizeof share);
            share[less] -= step;
            share[more] += step;
            if (less != more && share[less] >= 0)
                code = try_share(search, share, from_s, &moved_s, st);
            if (moved_s >= from_s * (1 - 1e-6))
                continue;
            memcpy(at, share, sizeof at);
            from_s = moved_s;
            move--; /* the same once more */
        }
    return code;
}

/* From equal shares, from those whose least time is least, and from the best in eighths. */
static int search_shares(struct search *search, struct status *st)
{
    int start[COLLECTIVE_RINGS] = {0}, code = 0;
    double start_s;
    for (int s = 0; s < 4 && code == 0; s++) {
        if (s == 1 || s == 2)
            find_least(&search->costs, s == 2, start);
        if (s < 3)
            code = try_share(search, start, INFINITY, &start_s, st);
        else if ((code = try_eighths(search, st)) == 0)
            start_s = search->best_s;
        if (code == 0)
            code = descend(search, s < 3 ? start : search->best, start_s, st);
    }
    return code;
}

/* The slowest link of a ring, as a share of one as built. */
static double slowest_link(const struct slice *slice, const struct ring *ring)
{
    double least_Bps = slice->link_Bps;
    for (int link = 0; link < slice_link_ids(slice) && slice->link && ring->axis >= 0; link++)
        if (slice_is_link(slice, link) && slice_link_axis(slice, link) == ring->axis)
            least_Bps = fmin(least_Bps, slice_link_Bps(slice, link));
    return least_Bps;
}

/* Does ring a come before b in an order that does not know what axes are called? */
static bool comes_first(const struct slice *slice, const struct ring *a, const struct ring *b)
{
    if (a->n != b->n)
        return a->n < b->n;
    if (a->closed != b->closed)
        return a->closed;
    if (a->overlap != b->overlap)
        return a->overlap < b->overlap;
    return slowest_link(slice, a) < slowest_link(slice, b);
}

/* Leaves a spec its rings of two chips or more, sorted; at[k]: which of them the k-th was. Returns whether their cyclic order is
 * another one now. */
static bool sort_rings(const struct slice *slice, struct collective_spec *spec, int at[COLLECTIVE_RINGS])
{
    const struct ring *ring[COLLECTIVE_RINGS];
    int rings = 0, swaps = 0;
    for (int r = 0; r < spec->rings; r++)
        if (spec->ring[r]->n > 1) {
            ring[rings] = spec->ring[r];
            at[rings] = rings;
            rings++;
        }
    for (int i = 0; i < rings; i++)
        for (int k = rings - 1; k > i; k--)
            if (comes_first(slice, ring[k], ring[k - 1])) {
                const struct ring *one = ring[k];
                int was = at[k];
                ring[k] = ring[k - 1];
                at[k] = at[k - 1];
                ring[k - 1] = one;
                at[k - 1] = was;
                swaps++;
            }
    memcpy(spec->ring, ring, (size_t)rings * sizeof *ring);
    spec->rings = rings;
    return swaps % 2;
}

/* Searches each way in which parts may follow each other. */
static int search_ways(struct search *search, struct collective_spec *found, struct status *st)
{
    struct collective_spec asked = search->spec;
    int code = 0, ways = search->slice->link ? 4 : 2;
    for (int way = 0; way < ways && code == 0; way++) {
        double before_s = search->best_s;
        if (way % 2 && asked.rings < 3)
            continue;
        search->spec = asked;
        search->spec.turned = way % 2;
        search->spec.in_step = way / 2;
        search->costs = costs_of(search->collective, search->slice, &search->spec);
        search->tries = 0;
        if (search->costs.mirrored) { /* one way takes as long as both */
            search->spec.kind = RING_UNI;
            search->spec.elem_bytes /= 2;
        }
        code = search_shares(search, st);
        if (search->best_s < before_s)
            *found = search->spec;
    }
    return code;
}

int collective_best_share(const struct collective *collective, const struct slice *slice,
                          struct collective_spec *spec, double *time_s, struct status *st)
{
    int at[COLLECTIVE_RINGS] = {0};
    memset(spec->share, 0, sizeof spec->share);
    spec->turned = spec->in_step = false;
    if (!collective_has_shares(collective, slice, spec))
        return time_s ? collective_time(collective, slice, spec, time_s, st) : 0;
    struct search search = {.collective = collective, .slice = slice, .spec = *spec, .best_s = INFINITY};
    struct collective_spec found = *spec;
    bool turned = sort_rings(slice, &search.spec, at);
    int code = search_ways(&search, &found, st);
    if (time_s)
        *time_s = search.best_s;
    for (int k = 0; k < search.costs.rings; k++)
        spec->share[at[k]] = search.best[k];
    spec->turned = search.costs.rings == 3 && found.turned != turned;
    spec->in_step = found.in_step;
    return code;
}
