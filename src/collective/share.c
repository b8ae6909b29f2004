/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How an array is cut into the parts that walk the rings in different orders.
 *
 * A part of one byte that starts with ring r and walks them in cyclic order brings, to ring s, what it has gathered by then:
 * the lengths of the rings before s over the number of chips, for each of the chunks that cross the busiest link of s. These
 * are n - 1 on a line and one way round a ring, floor(n/2) and (n - 1)/2 both ways round; times the steps that pass one link,
 * where steps are several links. The ring that comes last carries most. The best shares make the largest sum over all parts
 * least; a reduce-scatter is the same backwards.
 */
#include <math.h>
#include <string.h>

#include "collective/walk.h"
#include "engine/timing.h"

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
    for (int m = first; m % rings != of; m++)
        gathered *= ring[m % rings]->n;
    return gathered * crossings(ring[of], spec->kind) / chips;
}

/* What a gather, or a scatter, takes at least for each share that a part has, as if no link were slow. */
struct costs {
    int rings, times;                                  /* an all-reduce is both, one after the other */
    double link_s[COLLECTIVE_RINGS][COLLECTIVE_RINGS]; /* [first][of]: on the busiest link of a ring */
    double part_s[COLLECTIVE_RINGS];                   /* its own sends, which follow each other, ... */
    double steps_s;                                    /* ... and the latencies of their steps */
};

static void find_costs(struct costs *costs, const struct collective *collective, const struct slice *slice,
                       const struct collective_spec *spec)
{
    const struct ring *ring[COLLECTIVE_RINGS];
    double share_s = (double)spec->elements * spec->elem_bytes / COLLECTIVE_SHARES / slice->link_Bps;
    *costs = (struct costs){.times = collective->id == COLLECTIVE_ALL_REDUCE ? 2 : 1};
    for (int r = 0; r < spec->rings; r++) {
        if (spec->ring[r]->n < 2)
            continue;
        bool half_way = spec->ring[r]->closed && spec->kind == RING_BIDI;
        int steps = half_way ? spec->ring[r]->n / 2 : spec->ring[r]->n - 1;
        costs->steps_s += slice->hop_latency_s * steps;
        ring[costs->rings++] = spec->ring[r];
    }
    for (int first = 0; first < costs->rings; first++)
        for (int of = 0; of < costs->rings; of++) {
            double own_s = share_s * carried(spec, ring, costs->rings, first, of);
            costs->part_s[first] += own_s;
            costs->link_s[first][of] = own_s * ring[of]->overlap;
        }
}

static double busiest(const struct costs *costs, const double share[])
{
    double most = 0;
    for (int of = 0; of < costs->rings; of++) {
        double sum = 0;
        for (int first = 0; first < costs->rings; first++)
            sum += costs->link_s[first][of] * share[first];
        most = fmax(most, sum);
    }
    return most;
}

/* The shares that load links alike: all in COLLECTIVE_SHARES-ths are tried, a few thousand sums. */
static void search(const struct costs *costs, int share[])
{
    double least = -1;
    for (int first = 0; first <= COLLECTIVE_SHARES; first++)
        for (int second = 0; first + second <= COLLECTIVE_SHARES; second++) {
            int tried[COLLECTIVE_RINGS] = {first, second, COLLECTIVE_SHARES - first - second};
            if (costs->rings == 2 && tried[2] > 0)
                continue;
            double most = busiest(costs, (double[]){tried[0], tried[1], tried[2]});
            if (least >= 0 && most >= least * (1 - 1e-12))
                continue;
            least = most;
            memcpy(share, tried, sizeof tried);
        }
}

/* What certain shares take at least: the busiest link, or the part that is longest under way. */
static double least_of(const struct costs *costs, const int share[])
{
    double longest_s = 0;
    for (int first = 0; first < costs->rings; first++)
        longest_s = fmax(longest_s, costs->part_s[first] * share[first]);
    double links_s = busiest(costs, (double[]){share[0], share[1], share[2]});
    return costs->times * fmax(links_s, costs->steps_s + longest_s);
}

static bool rings_differ(const struct collective_spec *spec)
{
    const struct ring *first = NULL;
    for (int r = 0; r < spec->rings; r++) {
        const struct ring *ring = spec->ring[r];
        if (ring->n < 2)
            continue;
        if (first &&
            (ring->n != first->n || ring->closed != first->closed || ring->overlap != first->overlap))
            return true;
        first = first ? first : ring;
    }
    return false;
}

bool collective_is_cut(const struct collective *collective)
{
    enum collective_id id = collective->id;
    return id == COLLECTIVE_ALL_GATHER || id == COLLECTIVE_REDUCE_SCATTER || id == COLLECTIVE_ALL_REDUCE ||
           id == COLLECTIVE_BROADCAST; /* where it is scattered and gathered */
}

bool collective_has_shares(const struct collective *collective, const struct collective_spec *spec)
{
    return collective_is_cut(collective) && rings_differ(spec);
}

double collective_least_s(const struct collective *collective, const struct slice *slice,
                          const struct collective_spec *spec, double *links_s)
{
    struct costs costs;
    int share[COLLECTIVE_RINGS] = {0};
    double per_s = 0; /* shares a second: those by which all parts are under way as long */
    find_costs(&costs, collective, slice, spec);
    *links_s = 0;
    if (costs.rings == 0)
        return 0;
    double equal = (double)COLLECTIVE_SHARES / costs.rings;
    *links_s = costs.times * busiest(&costs, (double[]){equal, equal, equal});
    if (rings_differ(spec)) {
        search(&costs, share);
        *links_s = fmin(*links_s, costs.times * busiest(&costs, (double[]){share[0], share[1], share[2]}));
    }
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

/* Shares of a collective that are tried one after the other. Its program is written and folded once for all that leave the
 * same parts empty; for the others of them only amounts are new. */
struct trial {
    const struct collective *collective;
    const struct slice *slice;
    struct collective_spec *spec; /* with the best shares, which take time_s */
    double *time_s;
    struct costs costs;
    bool written;
    int share[COLLECTIVE_RINGS]; /* of the program */
    int32_t begins[COLLECTIVE_PART_BEGINS];
    struct program program;
    struct timing timing;
};

static void trial_clear(struct trial *trial)
{
    if (!trial->written)
        return;
    timing_free(&trial->timing);
    program_free(&trial->program);
    trial->written = false;
}

static int trial_write(struct trial *trial, const int share[], struct status *st)
{
    struct collective_spec alone = *trial->spec;
    trial_clear(trial);
    alone.timing_only = true;
    alone.part_begins = trial->begins;
    memset(trial->begins, 0, sizeof trial->begins);
    memcpy(alone.share, share, sizeof alone.share);
    memcpy(trial->share, share, sizeof trial->share);
    program_init(&trial->program, trial->slice);
    trial->timing = (struct timing){0};
    trial->written = true;
    int code = trial->collective->build(&alone, &trial->program, -1, NULL, st);
    return code < 0 ? code : timing_init(&trial->timing, &trial->program, engine_fastest(), true, st);
}

/* The program's amounts, which are proportional to a part's share; and what takes time without any, its sums. */
static void trial_amounts(struct trial *trial, const int share[])
{
    for (int p = 0; p + 1 < COLLECTIVE_PART_BEGINS; p++) {
        double before = trial->share[p % trial->costs.rings], now = share[p % trial->costs.rings];
        for (int32_t o = trial->begins[p]; o < trial->begins[p + 1]; o++) {
            struct op *op = &trial->program.op[o];
            if (op->amount.each > 0)
                op->amount.each = op->amount.each / before * now;
            else
                op->setup_s = op->setup_s / before * now;
        }
    }
    memcpy(trial->share, share, sizeof trial->share);
    timing_renew(&trial->timing);
}

static int trial_run(struct trial *trial, const int share[], double *time_s, struct status *st)
{
    bool same_parts = trial->written;
    int code = 0;
    for (int r = 0; r < trial->costs.rings; r++)
        same_parts &= (trial->share[r] > 0) == (share[r] > 0);
    if (same_parts)
        trial_amounts(trial, share);
    else
        code = trial_write(trial, share, st);
    if (code == 0)
        code = timing_run(&trial->timing, RECORD_NONE, st);
    if (code == 0)
        *time_s = trial->timing.trace.total_s;
    return code;
}

/* Simulates other shares, unless they cannot be, and keeps them where they are faster. */
static int try_share(struct trial *trial, const int share[COLLECTIVE_RINGS], bool *better, struct status *st)
{
    double tried_s = 0;
    *better = false;
    if (least_of(&trial->costs, share) >= *trial->time_s)
        return 0;
    int code = trial_run(trial, share, &tried_s, st);
    *better = code == 0 && tried_s < *trial->time_s * (1 - 1e-6);
    if (*better) {
        *trial->time_s = tried_s;
        memcpy(trial->spec->share, share, sizeof trial->spec->share);
    }
    return code;
}

/* Was that tried already? Then it is no better than what is best now. If not, it is noted. (The shares that the search starts
 * from may not have been: they count as equal ones until something better is found.) */
enum { TRIES = 40 };
static bool was_tried(int tried[TRIES][COLLECTIVE_RINGS], int *count, const int share[COLLECTIVE_RINGS])
{
    for (int t = 0; t < *count; t++)
        if (memcmp(tried[t], share, sizeof tried[t]) == 0)
            return true;
    memcpy(tried[(*count)++], share, sizeof *tried);
    return false;
}

/* Moves shares between any two parts, fewer and fewer at a time, as long as that is faster: links that are loaded alike are
 * not all, as the phases of a part come one after the other. */
static int improve_share(struct trial *trial, struct status *st)
{
    int code = 0, tries = 0, count = 0, tried[TRIES][COLLECTIVE_RINGS], rings = trial->costs.rings;
    for (int step = COLLECTIVE_SHARES / 4; step > 0 && code == 0; step /= 2) {
        bool better = false;
        for (int move = 0; move < rings * rings && code == 0 && tries < TRIES; move++) {
            int from = move / rings, to = move % rings, share[COLLECTIVE_RINGS];
            memcpy(share, trial->spec->share, sizeof share);
            share[from] -= step;
            share[to] += step;
            if (from == to || share[from] < 0)
                continue;
            better = false;
            if (!was_tried(tried, &count, share))
                code = try_share(trial, share, &better, st);
            tries++;
            move = better ? move - 1 : move; /* the same once more */
        }
    }
    return code;
}

int collective_best_share(const struct collective *collective, const struct slice *slice,
                          struct collective_spec *spec, double *time_s, struct status *st)
{
    int share[COLLECTIVE_RINGS] = {0};
    bool better = false;
    memset(spec->share, 0, sizeof spec->share);
    int code = collective_time(collective, slice, spec, time_s, st);
    if (code < 0 || !collective_has_shares(collective, spec))
        return code;
    struct trial trial = {.collective = collective, .slice = slice, .spec = spec, .time_s = time_s};
    double equal_s = *time_s;
    find_costs(&trial.costs, collective, slice, spec);
    search(&trial.costs, share);
    for (int r = 0; r < trial.costs.rings; r++) /* nearly equal ones, to start from */
        spec->share[r] = COLLECTIVE_SHARES / trial.costs.rings + (r < COLLECTIVE_SHARES % trial.costs.rings);
    code = try_share(&trial, share, &better, st);
    /* one order alone, which moves may not come to */
    for (int r = 0; r < trial.costs.rings && code == 0; r++) {
        int alone[COLLECTIVE_RINGS] = {0};
        alone[r] = COLLECTIVE_SHARES;
        code = try_share(&trial, alone, &better, st);
    }
    if (code == 0)
        code = improve_share(&trial, st);
    trial_clear(&trial);
    if (!(*time_s < equal_s))
        memset(spec->share, 0, sizeof spec->share);
    return code;
}
