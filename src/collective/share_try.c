/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which shares a collective is fastest by: tried, one after the other. */
#include <math.h>
#include <string.h>

#include "collective/share.h"
#include "engine/timing.h"

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

/* Shares that have been simulated. */
struct tried {
    int share[COLLECTIVE_RINGS];
    double time_s;
};
enum { TRIES = 64 };

/* Shares of a collective that are tried one after the other. Its program is written and folded once for all that leave the
 * same parts empty; for the others of them only amounts are new. */
struct trial {
    const struct collective *collective;
    const struct slice *slice;
    const struct collective_spec *spec;
    struct costs costs;
    int best[COLLECTIVE_RINGS]; /* shares, all 0 for equal ones, and ... */
    double best_s;              /* ... what they take, or are expected to take */
    int tries;
    struct tried tried[TRIES];
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
    if (trial->costs.mirrored) { /* one way takes as long as both */
        alone.kind = RING_UNI;
        alone.elem_bytes /= 2;
    }
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
        int part = p % trial->costs.rings;
        double before = share_of(&trial->costs, trial->share, part),
               now = share_of(&trial->costs, share, part);
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
        same_parts &=
            (share_of(&trial->costs, trial->share, r) > 0) == (share_of(&trial->costs, share, r) > 0);
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

static void keep_best(struct trial *trial, const int share[], double time_s)
{
    if (time_s >= trial->best_s * (1 - 1e-6))
        return;
    trial->best_s = time_s;
    memcpy(trial->best, share, sizeof trial->best);
}

/* How long certain shares may take to be worth a simulation, or even a look. */
static double worth_s(const struct trial *trial)
{
    return trial->best_s + SHARE_DOUBT * trial->costs.times * trial->costs.steps_s;
}

/* So many shares a part may have. */
static int most_shares(const struct trial *trial, int part)
{
    const struct costs *costs = &trial->costs;
    if (part >= costs->rings)
        return 0;
    return (int)fmin(COLLECTIVE_SHARES,
                     (worth_s(trial) / costs->times - costs->steps_s) / costs->part_s[part]);
}

/* Finds the shares that are expected to be best: among all, for from others there may be no way down to them. Returns whether
 * that says enough: whether no others may be as good. */
static bool expect_shares(struct trial *trial)
{
    const struct costs *costs = &trial->costs;
    double next_s = INFINITY;
    trial->best_s = share_expected_s(costs, trial->best);
    for (int first = 0; first <= most_shares(trial, 0); first++) {
        int rest = COLLECTIVE_SHARES - first, least = rest - most_shares(trial, 2);
        for (int second = least > 0 ? least : 0; second <= rest && second <= most_shares(trial, 1);
             second++) {
            int share[COLLECTIVE_RINGS] = {first, second, rest - second};
            if (share_least_s(costs, share) >= worth_s(trial))
                continue;
            double expected_s = share_expected_s(costs, share);
            next_s = fmin(next_s, fmax(expected_s, trial->best_s));
            keep_best(trial, share, expected_s);
        }
    }
    return !costs->rough && next_s >= worth_s(trial);
}

/* Simulates shares, unless they cannot take less than `than_s`, or are expected to take longer than the best: then the time is
 * infinite. */
static int try_share(struct trial *trial, const int share[], double than_s, double *time_s, struct status *st)
{
    const struct costs *costs = &trial->costs;
    *time_s = INFINITY;
    for (int t = 0; t < trial->tries; t++)
        if (memcmp(trial->tried[t].share, share, sizeof trial->best) == 0) {
            *time_s = trial->tried[t].time_s;
            return 0;
        }
    if (trial->tries == TRIES || share_least_s(costs, share) >= than_s ||
        (!costs->rough && share_expected_s(costs, share) >= worth_s(trial)))
        return 0;
    int code = trial_run(trial, share, time_s, st);
    if (code < 0)
        return code;
    struct tried *tried = &trial->tried[trial->tries++];
    tried->time_s = *time_s;
    memcpy(tried->share, share, sizeof tried->share);
    keep_best(trial, share, *time_s);
    return 0;
}

/* Moves shares between any two parts, fewer and fewer at a time, as long as that is faster. */
static int improve_share(struct trial *trial, const int from[], int step, struct status *st)
{
    int rings = trial->costs.rings, at[COLLECTIVE_RINGS];
    double at_s, moved_s;
    int code = try_share(trial, from, INFINITY, &at_s, st);
    memcpy(at, from, sizeof at);
    for (int r = 0; r < rings && from[0] + from[1] + from[2] == 0; r++) /* nearly equal ones, to start from */
        at[r] = COLLECTIVE_SHARES / rings + (r < COLLECTIVE_SHARES % rings);
    for (; step > 0; step /= 2)
        for (int move = 0; move < rings * rings && code == 0; move++) {
            int less = move / rings, more = move % rings, share[COLLECTIVE_RINGS];
            memcpy(share, at, sizeof share);
            share[less] -= step;
            share[more] += step;
            if (less == more || share[less] < 0)
                continue;
            code = try_share(trial, share, at_s, &moved_s, st);
            if (moved_s >= at_s * (1 - 1e-6))
                continue;
            memcpy(at, share, sizeof at);
            at_s = moved_s;
            move--; /* the same once more */
        }
    return code;
}

/* Where to start from when little is known: the best of equal shares, of one order alone, which moves may not come to, and of
 * those that load links alike. */
static int find_start(struct trial *trial, int start[COLLECTIVE_RINGS], struct status *st)
{
    int rings = trial->costs.rings, tried[COLLECTIVE_RINGS + 2][COLLECTIVE_RINGS] = {{0}}, code = 0;
    double start_s = INFINITY, time_s;
    for (int r = 0; r < rings; r++)
        tried[1 + r][r] = COLLECTIVE_SHARES;
    share_alike(&trial->costs, tried[1 + rings]);
    for (int t = 0; t < rings + 2 && code == 0; t++) {
        code = try_share(trial, tried[t], start_s, &time_s, st);
        if (time_s >= start_s)
            continue;
        start_s = time_s;
        memcpy(start, tried[t], sizeof tried[t]);
    }
    return code;
}

/* Simulates the shares that are expected to be best and those next to them; and on from others. */
static int simulate_shares(struct trial *trial, struct status *st)
{
    int start[COLLECTIVE_RINGS], step = COLLECTIVE_SHARES / 8;
    memcpy(start, trial->best, sizeof start);
    trial->best_s = INFINITY;
    int code = improve_share(trial, start, 1, st);
    memset(start, 0, sizeof start); /* equal ones */
    if (code == 0 && trial->costs.rough) {
        code = find_start(trial, start, st);
        step = COLLECTIVE_SHARES / 4;
    }
    return code < 0 ? code : improve_share(trial, start, step, st);
}

int collective_best_share(const struct collective *collective, const struct slice *slice,
                          struct collective_spec *spec, double *time_s, struct status *st)
{
    struct trial trial = {.collective = collective, .slice = slice, .spec = spec};
    int code = 0;
    memset(spec->share, 0, sizeof spec->share);
    if (!collective_has_shares(collective, spec))
        return time_s ? collective_time(collective, slice, spec, time_s, st) : 0;
    share_costs(&trial.costs, collective, slice, spec);
    if (!expect_shares(&trial) || time_s)
        code = simulate_shares(&trial, st);
    if (time_s)
        *time_s = trial.best_s;
    memcpy(spec->share, trial.best, sizeof spec->share);
    trial_clear(&trial);
    return code;
}
