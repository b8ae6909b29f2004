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

/* What the busiest link of ring `of` carries, for each byte of the part that starts with ring `first`. */
static double carried(const struct collective_spec *spec, const struct ring *const ring[], int rings,
                      int first, int of)
{
    double gathered = 1, chips = 1;
    for (int m = 0; m < rings; m++)
        chips *= ring[m]->n;
    for (int m = first; m % rings != of; m++)
        gathered *= ring[m % rings]->n;
    return gathered * crossings(ring[of], spec->kind) * ring[of]->overlap / chips;
}

static double busiest(double cost[COLLECTIVE_RINGS][COLLECTIVE_RINGS], int rings, const int share[])
{
    double most = 0;
    for (int of = 0; of < rings; of++) {
        double sum = 0;
        for (int first = 0; first < rings; first++)
            sum += cost[first][of] * share[first];
        most = sum > most ? sum : most;
    }
    return most;
}

/* All shares in COLLECTIVE_SHARES-ths are tried: a few thousand sums. */
static void search(double cost[COLLECTIVE_RINGS][COLLECTIVE_RINGS], int rings, int share[])
{
    double least = -1;
    for (int first = 0; first <= COLLECTIVE_SHARES; first++)
        for (int second = 0; first + second <= COLLECTIVE_SHARES; second++) {
            int tried[COLLECTIVE_RINGS] = {first, second, COLLECTIVE_SHARES - first - second};
            if (rings == 2 && tried[2] > 0)
                continue;
            double most = busiest(cost, rings, tried);
            if (least >= 0 && most >= least * (1 - 1e-12))
                continue;
            least = most;
            for (int r = 0; r < COLLECTIVE_RINGS; r++)
                share[r] = tried[r];
        }
}

/* What each part brings to each ring, for each of its bytes. Returns how many rings have two chips or more. */
static int find_costs(const struct collective_spec *spec, double cost[COLLECTIVE_RINGS][COLLECTIVE_RINGS])
{
    const struct ring *ring[COLLECTIVE_RINGS];
    int rings = 0;
    for (int r = 0; r < spec->rings; r++)
        if (spec->ring[r]->n >= 2)
            ring[rings++] = spec->ring[r];
    for (int first = 0; first < rings; first++)
        for (int of = 0; of < rings; of++)
            cost[first][of] = carried(spec, ring, rings, first, of);
    return rings;
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

int collective_share(const struct collective_spec *spec, int share[static COLLECTIVE_RINGS])
{
    double cost[COLLECTIVE_RINGS][COLLECTIVE_RINGS];
    int rings = find_costs(spec, cost);
    memset(share, 0, COLLECTIVE_RINGS * sizeof *share);
    if (rings_differ(spec))
        search(cost, rings, share);
    return rings;
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

/* Is it scattered, then gathered? (A broadcast may be, or it is pipelined.) */
static bool is_twice(const struct collective *collective)
{
    return collective->id == COLLECTIVE_ALL_REDUCE;
}

/* What the parts of a gather bring to the busiest link of each ring, in seconds for each share, as if no link were slow. Returns
 * how many rings have two chips or more. */
static int find_costs_s(const struct slice *slice, const struct collective_spec *spec,
                        double cost_s[COLLECTIVE_RINGS][COLLECTIVE_RINGS])
{
    double share_bytes = (double)spec->elements * spec->elem_bytes / COLLECTIVE_SHARES;
    int rings = find_costs(spec, cost_s);
    for (int first = 0; first < rings; first++)
        for (int of = 0; of < rings; of++)
            cost_s[first][of] *= share_bytes / slice->link_Bps;
    return rings;
}

/* The least that parts wait for however they are cut: its steps follow each other, and the links are its own. A part that is
 * all of the array takes whole_s, and steps_s besides; the shares by which all take as long are those of 1 / whole_s. */
static double path_s(const struct slice *slice, const struct collective_spec *spec,
                     double cost_s[COLLECTIVE_RINGS][COLLECTIVE_RINGS])
{
    double parts_per_s = 0, steps_s = 0;
    int overlap[COLLECTIVE_RINGS], rings = 0;
    for (int r = 0; r < spec->rings; r++) {
        const struct ring *ring = spec->ring[r];
        if (ring->n < 2)
            continue;
        bool half_way = ring->closed && spec->kind == RING_BIDI;
        steps_s += slice->hop_latency_s * (half_way ? ring->n / 2 : ring->n - 1);
        overlap[rings++] = ring->overlap;
    }
    for (int first = 0; first < rings; first++) {
        double whole_s = 0;
        for (int of = 0; of < rings; of++)
            whole_s += cost_s[first][of] * COLLECTIVE_SHARES / overlap[of];
        parts_per_s += 1 / whole_s;
    }
    return rings ? steps_s + 1 / parts_per_s : 0;
}

double collective_least_s(const struct collective *collective, const struct slice *slice,
                          const struct collective_spec *spec, double *links_s)
{
    double cost_s[COLLECTIVE_RINGS][COLLECTIVE_RINGS], equal_s = 0;
    int share[COLLECTIVE_RINGS] = {0}, times = is_twice(collective) ? 2 : 1;
    int rings = find_costs_s(slice, spec, cost_s);
    for (int of = 0; of < rings; of++) {
        double sum_s = 0;
        for (int first = 0; first < rings; first++)
            sum_s += cost_s[first][of] * COLLECTIVE_SHARES / rings;
        equal_s = fmax(equal_s, sum_s);
    }
    *links_s = times * equal_s;
    if (rings_differ(spec)) {
        search(cost_s, rings, share);
        *links_s = times * fmin(equal_s, busiest(cost_s, rings, share));
    }
    return times * path_s(slice, spec, cost_s);
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
    int rings;
    double least_s[COLLECTIVE_RINGS]
                  [COLLECTIVE_RINGS]; /* on the busiest link of a ring, for each share of a part */
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
        double before = trial->share[p % trial->rings], now = share[p % trial->rings];
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
    for (int r = 0; r < trial->rings; r++)
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

/* Simulates other shares, unless the busiest link alone takes as long, and keeps them where they are faster. */
static int try_share(struct trial *trial, const int share[COLLECTIVE_RINGS], bool *better, struct status *st)
{
    double tried_s = 0;
    *better = false;
    if (busiest(trial->least_s, trial->rings, share) * (is_twice(trial->collective) ? 2 : 1) >=
        *trial->time_s)
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
    int code = 0, tries = 0, count = 0, tried[TRIES][COLLECTIVE_RINGS], rings = trial->rings;
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
    trial.rings = find_costs_s(slice, spec, trial.least_s);
    collective_share(spec, share);
    for (int r = 0; r < trial.rings; r++) /* nearly equal ones, to start from */
        spec->share[r] = COLLECTIVE_SHARES / trial.rings + (r < COLLECTIVE_SHARES % trial.rings);
    code = try_share(&trial, share, &better, st);
    for (int r = 0; r < trial.rings && code == 0; r++) { /* one order alone, which moves may not come to */
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
