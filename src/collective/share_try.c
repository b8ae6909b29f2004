/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which shares a collective is fastest by: tried, one after the other. */
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

/* Simulates other shares, unless they cannot be faster, and keeps them where they are. */
static int try_share(struct trial *trial, const int share[COLLECTIVE_RINGS], bool *better, struct status *st)
{
    double tried_s = 0;
    *better = false;
    if (share_least_s(&trial->costs, share) >= *trial->time_s)
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
    share_costs(&trial.costs, collective, slice, spec);
    share_alike(&trial.costs, share);
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
