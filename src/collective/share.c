/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A search for the best shares of the parts that take the rings in different orders.
 *
 * The space. With k rings, k parts take the rings in cyclic order, part r starting with ring r; part r has
 * share[r] of COLLECTIVE_SHARES. Three rings have two cyclic orders (`turned`), and with slow links parts may
 * proceed each on its own or in step. These are up to four variants, each with 65 possible shares for two
 * rings and 2,145 for three. A ring all-to-all has equal parts, so only the variants are searched.
 *
 * A bound. When a part of one byte that starts with ring r comes to ring s, each of its chunks has the bytes
 * gathered so far: the product of the lengths of the rings before s, over the number of chips. The number of
 * chunks that cross the busiest link of s is n - 1 on a line and on a ring in one direction, floor(n/2)
 * (bidi) or (n - 1)/2 (bidi-half) in both; if steps have several links, times the number of steps that pass
 * one link. The ring that comes last carries most. This gives a lower bound of the time: the load of the
 * busiest link, or the longest time of one part; a reduce-scatter is the same backwards. How much parts that
 * share links delay each other, only a simulation shows.
 *
 * The search. Shares are only simulated if their bound is below the best time so far, which excludes most of
 * them. For each variant:
 *
 *     1. equal shares, and the shares with the least bound;
 *     2. a coarse grid: all sixteenths for two rings, all eighths for three;
 *     3. from the fastest of these, a descent: move an eighth from one part to another while that helps, then
 *        a sixteenth, ..., a 64th, or two of them from or to one part; repeated until nothing improves.
 *
 * The grid is needed because the time has several local minima: on 250 random boxes, a third of them with a
 * slow link, a descent in the best variant alone, or from equal shares alone, ended up to 14 % above the
 * result of all three steps in each variant. Rings are sorted first, by length and not by name, so that the
 * result does not depend on the names of the axes. Equal shares are tried first, so that the result is never
 * slower than without a search.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collective/collective.h"
#include "engine/timing.h"

/* Seconds of a gather, or of a scatter, per share of a part, as if no link were slow. */
struct costs {
    int rings, times;                                  /* times: 2 for an all-reduce, which is both */
    double setup_s;                                    /* before all sends */
    double link_s[COLLECTIVE_RINGS][COLLECTIVE_RINGS]; /* [first][of]: on the busiest link of a ring */
    double part_s[COLLECTIVE_RINGS];                   /* sends of one chip, one after the other ... */
    double steps_s;                                    /* ... and the latencies of their steps */
    bool mirrored; /* half of each chunk goes in each direction, and these never share a link */
};

/* Number of chunks that cross the busiest link when the chunk of every chip goes to all other chips. */
static double crossings(const struct ring *ring, enum ring_kind kind)
{
    int n = ring->n;
    bool both_ways = ring->closed && kind != RING_UNI;
    return !both_ways ? n - 1 : kind == RING_BIDI ? (double)(n / 2) : (n - 1) / 2.0;
}

/* Bytes over the busiest link of ring `of`, per byte of the part that starts with ring `first`. */
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

/* Does it have special rings on a twisted torus (turns.c)? */
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
                          .setup_s = spec->setup_s,
                          .mirrored = collective->uses_ring && spec->kind == RING_BIDI_HALF && !slice->link};
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
            /* On a twisted torus all parts have rings of the same lengths in the order in which they take
             * them. */
            double own_s = share_s * (twisted ? carried(spec, ring, costs.rings, 0,
                                                        (of - first + costs.rings) % costs.rings)
                                              : carried(spec, ring, costs.rings, first, of));
            costs.part_s[first] += own_s;
            costs.link_s[first][of] = own_s * ring[of]->overlap;
        }
    return costs;
}

static bool are_equal(const int share[])
{
    return share[0] + share[1] + share[2] == 0;
}

/* Time of the busiest link for given shares (all 0: equal shares); *longest_s is the time of the slowest
 * part. */
static double busiest_s(const struct costs *costs, const int share[], double *longest_s)
{
    double most_s = 0, equal = (double)COLLECTIVE_SHARES / costs->rings;
    *longest_s = 0;
    for (int of = 0; of < costs->rings; of++) {
        double sum_s = 0;
        for (int first = 0; first < costs->rings; first++)
            sum_s += costs->link_s[first][of] * (are_equal(share) ? equal : share[first]);
        most_s = fmax(most_s, sum_s);
        *longest_s = fmax(*longest_s, costs->part_s[of] * (are_equal(share) ? equal : share[of]));
    }
    return most_s;
}

static double least_s(const struct costs *costs, const int share[])
{
    double longest_s, links_s = busiest_s(costs, share, &longest_s);
    return costs->setup_s + costs->times * fmax(links_s, costs->steps_s + longest_s);
}

/* Finds the shares with the least bound, and returns it. It is a convex function of the shares, so a row is left as
 * soon as it rises, and so is the search over rows. */
static double find_least(const struct costs *costs, int share[static COLLECTIVE_RINGS])
{
    const double rises = 1 + 1e-9;
    double best_s = INFINITY, row_s = INFINITY;
    for (int first = 0; first <= COLLECTIVE_SHARES; first++) {
        double before_s = row_s;
        row_s = INFINITY;
        for (int second = costs->rings == 2 ? COLLECTIVE_SHARES - first : 0;
             first + second <= COLLECTIVE_SHARES; second++) {
            int tried[COLLECTIVE_RINGS] = {first, second, COLLECTIVE_SHARES - first - second};
            double tried_s = least_s(costs, tried);
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

static bool rings_are_alike(const struct ring *a, const struct ring *b)
{
    return a->n == b->n && a->closed == b->closed && a->overlap == b->overlap;
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
        if (first && !rings_are_alike(ring, first))
            return true;
        first = first ? first : ring;
    }
    return false;
}

bool collective_has_shares(const struct collective *collective, const struct slice *slice,
                           const struct collective_spec *spec)
{
    bool has_ways =
        collective->id == COLLECTIVE_ALL_TO_ALL && spec->all_to_all == ALL_TO_ALL_RING && spec->rings > 2;
    return (collective->uses_ring || has_ways) && spec->elements >= COLLECTIVE_SHARES && spec->colours == 0 &&
           spec->pattern == PATTERN_RINGS && rings_differ(collective, slice, spec);
}

/* The mean load of a ring's links, of the busiest one's. One that turns has at least half of them on one axis. */
static double mean_frac(const struct ring *ring, enum ring_kind kind)
{
    double mean = kind == RING_UNI ? ring->n - 1 : (ring->n - 1) / 2.0;
    return ring->axis < 0 ? 0.5 : mean / crossings(ring, kind);
}

/* With one order of the parts, if chips of a part stay in step, on links that all groups share: that is not proven, but of 3,000
 * random boxes, half of them with groups of neighbours or of every second chip or more, none took less. */
static double order_least_s(const struct collective *collective, const struct slice *slice,
                            const struct collective_spec *spec, double *links_s)
{
    struct costs costs = costs_of(collective, slice, spec);
    int share[COLLECTIVE_RINGS] = {0}, of = 0;
    *links_s = 0;
    for (int first = 0; first < costs.rings; first++)
        costs.part_s[first] = costs.link_s[first][0] + costs.link_s[first][1] + costs.link_s[first][2];
    double equal_s = costs.rings > 0 ? least_s(&costs, share) : 0;
    if (costs.rings > 1 && find_least(&costs, share) >= equal_s)
        memset(share, 0, sizeof share);
    for (int r = 0; r < spec->rings; r++) {
        double link_s = 0, equal = costs.rings > 0 ? (double)COLLECTIVE_SHARES / costs.rings : 0;
        for (int first = 0; first < costs.rings && spec->ring[r]->n > 1; first++)
            link_s += costs.link_s[first][of] * (are_equal(share) ? equal : share[first]);
        if (spec->ring[r]->n > 1)
            *links_s = fmax(*links_s, costs.times * link_s * mean_frac(spec->ring[r], spec->kind));
        of += spec->ring[r]->n > 1;
    }
    return costs.rings > 0 ? least_s(&costs, share) : 0;
}

double collective_least_s(const struct collective *collective, const struct slice *slice,
                          const struct collective_spec *spec, double *links_s)
{
    struct collective_spec way = *spec;
    double turned_links_s, least_s = order_least_s(collective, slice, &way, links_s);
    way.turned = true;
    if (spec->rings < 3)
        return least_s;
    double turned_s = order_least_s(collective, slice, &way, &turned_links_s);
    *links_s = turned_s < least_s ? turned_links_s : *links_s;
    return fmin(least_s, turned_s);
}

/* A collective alone on a slice, simulated with different shares: they only change the amounts of its program,
 * as long as none becomes 0. */
struct trial {
    struct program program;
    struct timing timing;
    double frac[COLLECTIVE_RINGS]; /* of the array, in the parts that start with each ring */
};

static int trial_make(struct trial *trial, const struct collective *collective, const struct slice *slice,
                      const struct collective_spec *spec, struct status *st)
{
    struct collective_spec alone = *spec;
    alone.timing_only = alone.stages_are_parts = true;
    program_init(&trial->program, slice);
    int code = collective->build(&alone, &trial->program, -1, NULL, st);
    return code < 0 ? code : timing_init(&trial->timing, &trial->program, engine_fastest(), true, st);
}

/* Additions take time after what arrives, and have no bytes of their own. */
static void trial_scale(struct trial *trial, const double frac[])
{
    struct program *program = trial->timing.fold.orbit > 1 ? &trial->timing.fold.program : &trial->program;
    for (struct op *op = program->op; op < program->op + program->ops; op++)
        *(op->amount.each > 0 ? &op->amount.each : &op->setup_s) *= frac[op->stage] / trial->frac[op->stage];
    trace_free(&trial->timing.trace);
}

static int trial_time(struct trial *trial, const struct collective *collective, const struct slice *slice,
                      const struct collective_spec *spec, double *time_s, struct status *st)
{
    double frac[COLLECTIVE_RINGS];
    int code = 0;
    for (int r = 0; r < COLLECTIVE_RINGS; r++)
        frac[r] = are_equal(spec->share) ? 1.0 / spec->rings : (double)spec->share[r] / COLLECTIVE_SHARES;
    if (trial->timing.program)
        trial_scale(trial, frac);
    else
        code = trial_make(trial, collective, slice, spec, st);
    memcpy(trial->frac, frac, sizeof frac);
    if (code == 0)
        code = timing_run(&trial->timing, RECORD_NONE, st);
    if (code == 0)
        *time_s = trial->timing.trace.total_s;
    return code;
}

static void trial_free(struct trial *trial)
{
    timing_free(&trial->timing);
    program_free(&trial->program);
}

int collective_time(const struct collective *collective, const struct slice *slice,
                    const struct collective_spec *spec, double *time_s, struct status *st)
{
    struct trial trial = {.program.slice = slice};
    int code = trial_time(&trial, collective, slice, spec, time_s, st);
    trial_free(&trial);
    return code;
}

enum { TRIES = 1024 };

/* A search: the fastest spec so far, and the shares already tried in the current variant. */
struct search {
    const struct collective *collective;
    const struct slice *slice;
    struct collective_spec spec, fastest;
    double fastest_s, of_all_s; /* of this variant; of all so far */
    struct costs costs;
    struct trial trial[1 << COLLECTIVE_RINGS]; /* by the parts that it has */
    int tries, tried[TRIES][COLLECTIVE_RINGS];
};

static bool was_tried(const struct search *search, const int share[])
{
    int t = 0;
    while (t < search->tries && memcmp(search->tried[t], share, sizeof search->tried[t]) != 0)
        t++;
    return t < search->tries;
}

static int simulate(struct search *search, double *time_s, struct status *st)
{
    const struct collective_spec *spec = &search->spec;
    int parts = 0;
    for (int r = 0; r < spec->rings; r++)
        parts |= (are_equal(spec->share) || spec->share[r] > 0) << r;
    return trial_time(&search->trial[parts], search->collective, search->slice, spec, time_s, st);
}

/* Simulates shares, unless that was done already or they cannot be the fastest. */
static int try_share(struct search *search, const int share[], struct status *st)
{
    double time_s;
    if (was_tried(search, share) || search->tries == TRIES ||
        (search->collective->uses_ring &&
         least_s(&search->costs, share) >= fmin(search->fastest_s, search->of_all_s) * (1 - 1e-6)))
        return 0;
    memcpy(search->tried[search->tries++], share, sizeof search->spec.share);
    memcpy(search->spec.share, share, sizeof search->spec.share);
    int code = simulate(search, &time_s, st);
    if (code < 0 || time_s >= search->fastest_s * (1 - 1e-6))
        return code;
    search->fastest_s = time_s;
    search->fastest = search->spec;
    return 0;
}

static int try_grid(struct search *search, struct status *st)
{
    int step = COLLECTIVE_SHARES / (search->costs.rings == 2 ? 16 : 8), code = 0;
    for (int first = 0; first <= COLLECTIVE_SHARES && code == 0; first += step)
        for (int second = search->costs.rings == 2 ? COLLECTIVE_SHARES - first : 0;
             first + second <= COLLECTIVE_SHARES && code == 0; second += step)
            code = try_share(search, (int[]){first, second, COLLECTIVE_SHARES - first - second}, st);
    return code;
}

/* Descends from the fastest shares: moves `step` shares between parts, and finally also two at a time, with
 * smaller and smaller steps. */
static int descend(struct search *search, struct status *st)
{
    enum { SIDE = 5, MOST = SIDE / 2 };
    int rings = search->costs.rings, code = 0;
    for (int step = COLLECTIVE_SHARES / 8; step > 0; step /= 2)
        for (int move = 0; move < SIDE * SIDE && code == 0; move++) {
            int by[COLLECTIVE_RINGS] = {move / SIDE - MOST, move % SIDE - MOST}, share[COLLECTIVE_RINGS];
            double before_s = search->fastest_s;
            bool fits = rings > 2 || by[0] + by[1] == 0;
            by[2] = -by[0] - by[1];
            memcpy(share, search->fastest.share, sizeof share);
            if (are_equal(share)) /* nearly equal shares */
                for (int r = 0; r < rings; r++)
                    share[r] = COLLECTIVE_SHARES / rings + (r < COLLECTIVE_SHARES % rings);
            for (int r = 0; r < COLLECTIVE_RINGS; r++)
                fits &= (share[r] += by[r] * step) >= 0 && abs(by[r]) <= (step > 1 ? 1 : MOST);
            if (fits)
                code = try_share(search, share, st);
            move -= search->fastest_s < before_s; /* repeat the same move */
        }
    return code;
}

/* Searches the shares of one variant. */
static int search_shares(struct search *search, struct status *st)
{
    int share[COLLECTIVE_RINGS] = {0};
    double before_s;
    search->tries = 0;
    int code = try_share(search, share, st);
    if (!search->collective->uses_ring || code < 0)
        return code;
    find_least(&search->costs, share);
    code = try_share(search, share, st);
    if (code == 0)
        code = try_grid(search, st);
    do {
        before_s = search->fastest_s;
        code = code == 0 ? descend(search, st) : code;
    } while (search->fastest_s < before_s);
    return code;
}

static int place_of(const struct slice *slice, int axis)
{
    int place = 0;
    while (slice->order[place] != axis)
        place++;
    return place;
}

/* Does ring a come before b in an order that does not depend on the names of the axes? */
static bool comes_first(const struct slice *slice, const struct ring *a, const struct ring *b)
{
    if (a->n != b->n)
        return a->n < b->n;
    if (a->closed != b->closed)
        return a->closed;
    if (a->overlap != b->overlap)
        return a->overlap < b->overlap;
    if (a->edge_links != b->edge_links)
        return a->edge_links < b->edge_links;
    double a_Bps = slice_slowest_Bps(slice, a->axis), b_Bps = slice_slowest_Bps(slice, b->axis);
    if (a_Bps != b_Bps)
        return a_Bps < b_Bps;
    return a->axis >= 0 && b->axis >= 0 && place_of(slice, a->axis) < place_of(slice, b->axis);
}

/* Keeps the rings of two chips or more in a spec, sorted; at[k] is the original index of the k-th. Returns
 * whether the cyclic order has changed. */
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

/* Searches all variants. The best shares of each are found independently, since a variant whose first shares
 * are slow may win in the end. */
static int search_ways(struct search *search, struct status *st)
{
    struct collective_spec spec = search->spec, fastest = search->fastest;
    bool has_steps = search->slice->link && search->collective->uses_ring;
    int code = 0;
    for (int way = 0; way < (has_steps ? 4 : 2) && code == 0; way++) {
        if (way % 2 && spec.rings < 3)
            continue;
        search->fastest_s = INFINITY;
        search->spec = spec;
        search->spec.turned = way % 2;
        search->spec.in_step = way / 2;
        search->costs = costs_of(search->collective, search->slice, &search->spec);
        if (search->costs.mirrored) { /* one direction with half the bytes takes as long as both */
            search->spec.kind = RING_UNI;
            search->spec.elem_bytes /= 2;
        }
        code = search_shares(search, st);
        for (int t = 0; t < 1 << COLLECTIVE_RINGS; t++)
            trial_free(&search->trial[t]);
        if (search->fastest_s >= search->of_all_s * (1 - 1e-6))
            continue;
        fastest = search->fastest;
        search->of_all_s = search->fastest_s;
    }
    search->fastest = fastest;
    search->fastest_s = search->of_all_s;
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
    struct search search = {
        .collective = collective, .slice = slice, .spec = *spec, .fastest_s = INFINITY, .of_all_s = INFINITY};
    bool turned = sort_rings(slice, &search.spec, at);
    int code = search_ways(&search, st);
    if (time_s)
        *time_s = search.fastest_s;
    for (int k = 0; k < search.costs.rings; k++)
        spec->share[at[k]] = search.fastest.share[k];
    spec->turned = search.costs.rings == 3 && search.fastest.turned != turned;
    spec->in_step = search.fastest.in_step;
    return code;
}
