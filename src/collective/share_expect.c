/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What certain shares take, as if the parts flowed through their rings. */
#include <math.h>

#include "collective/share.h"

/* A part under way. */
struct under_way {
    int phases,
        ring; /* phases to go, each once round a ring, and the ring of the first of them; -1: it is over */
    double share;
    double left; /* of the phase, of 1 */
    double link_s,
        phase_s; /* what its sends take alone; what the phase takes beside the parts on the same ring */
};

/* A gather walks the rings from its own on, a scatter the same way backwards. */
static void enter_phase(const struct costs *costs, struct under_way *way, int part)
{
    way->ring = -1;
    if (way->phases == 0)
        return;
    bool scatters = costs->scatters && way->phases > (costs->times - 1) * costs->rings;
    int left = (way->phases - 1) % costs->rings;
    way->ring = (part + (scatters ? left : costs->rings - 1 - left)) % costs->rings;
    way->link_s = costs->link_s[part][way->ring] * way->share;
    way->left = 1;
}

/* Those on a ring have the same share of its links. Each leaves it to the others in its latencies: it is there only for the
 * part of its time in which it sends. */
static double beside_others(const struct costs *costs, const struct under_way way[], int part)
{
    int ring = way[part].ring, users = 0;
    double latency_s = costs->ring_steps_s[ring], load = 1;
    for (int p = 0; p < costs->rings; p++)
        users += way[p].ring == ring;
    for (int p = 0; p < costs->rings; p++)
        if (p != part && way[p].ring == ring)
            load += users * way[p].link_s / (users * way[p].link_s + latency_s);
    return way[part].link_s * load + latency_s;
}

/* Goes on until the next phase ends. Returns how long that takes; infinite: all are over. */
static double flow(const struct costs *costs, struct under_way way[])
{
    double next_s = INFINITY;
    for (int p = 0; p < costs->rings; p++) {
        if (way[p].ring < 0)
            continue;
        way[p].phase_s = beside_others(costs, way, p);
        next_s = fmin(next_s, way[p].left * way[p].phase_s);
    }
    for (int p = 0; p < costs->rings; p++) {
        if (way[p].ring < 0)
            continue;
        way[p].left -= next_s / way[p].phase_s;
        if (way[p].left > 1e-9)
            continue;
        way[p].phases--;
        enter_phase(costs, &way[p], p);
    }
    return next_s;
}

double share_expected_s(const struct costs *costs, const int share[static COLLECTIVE_RINGS])
{
    struct under_way way[COLLECTIVE_RINGS];
    double all_s = 0, next_s;
    for (int p = 0; p < costs->rings; p++) {
        double of = share_of(costs, share, p);
        way[p] = (struct under_way){.phases = of > 0 ? costs->times * costs->rings : 0, .share = of};
        enter_phase(costs, &way[p], p);
    }
    while ((next_s = flow(costs, way)) < INFINITY)
        all_s += next_s;
    return all_s;
}
