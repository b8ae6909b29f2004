/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A search for the best shares of the parts that take the rings in different orders.
 *
 * The space. With k rings, k parts take the rings in cyclic order, part r starting with ring r; part r has
 * share[r] of COLLECTIVE_SHARES. Three rings have two cyclic orders (`turned`), and with slow links parts may
 * proceed each on its own or in step. These are up to four variants, each with 65 possible shares for two
 * rings and 2,145 for three. A ring all-to-all has equal parts, so only the variants are searched.
 *
 * The bound of shares is that of share_bound.h.
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

#include "collective/share_bound.h"
#include "engine/timing.h"

static bool rings_differ(const struct collective *collective, const struct slice *slice,
                         const struct collective_spec *spec)
{
    const struct ring *first = NULL;
    if (share_has_turns(collective, spec))
        return false;
    for (int r = 0; r < spec->rings; r++) {
        const struct ring *ring = spec->ring[r];
        if (ring->n < 2)
            continue;
        if (first && (slice->link || ring->n != first->n || ring->closed != first->closed ||
                      ring->overlap != first->overlap))
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
        frac[r] =
            share_is_equal(spec->share) ? 1.0 / spec->rings : (double)spec->share[r] / COLLECTIVE_SHARES;
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
    struct share_costs costs;
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
        parts |= (share_is_equal(spec->share) || spec->share[r] > 0) << r;
    return trial_time(&search->trial[parts], search->collective, search->slice, spec, time_s, st);
}

/* Simulates shares, unless that was done already or they cannot be the fastest. */
static int try_share(struct search *search, const int share[], struct status *st)
{
    double time_s;
    if (was_tried(search, share) || search->tries == TRIES ||
        (search->collective->uses_ring &&
         share_least_s(&search->costs, share) >= fmin(search->fastest_s, search->of_all_s) * (1 - 1e-6)))
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
            if (share_is_equal(share)) /* nearly equal shares */
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
    share_find_least(&search->costs, share);
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
        search->costs = share_costs_of(search->collective, search->slice, &search->spec);
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
