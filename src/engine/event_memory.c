/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HBM where computes yield to sends (computes_yield() in resource.h). Sends flow as if it were not there. A compute that
 * it may slow is a flow over the compute resource of its chip, whose bandwidth is what the sends leave: it is settled
 * after them, whenever their sum has changed.
 */
#include "engine/event_network.h"

/* In a unit of HBM's bandwidth all sums of rates are exact. */
static const double units = 0x1p52;

/* Sends leave more than this to computes; what several waits are said to take may not. */
static const double least_frac = 1. / 16;

static void use(struct network *network, int32_t chip, int64_t change)
{
    int32_t compute = network->map->links - network->map->chips + chip;
    network->used[chip] += change;
    if (network->link[compute].singles > 0)
        network_touch(network, compute);
}

void memory_note(struct network *network, int32_t op, int32_t chip, int32_t to, double was_Bps, double is_Bps)
{
    const struct op *of = &network->program->op[op];
    if (!network->used || of->kind != OP_SEND)
        return;
    double unit_Bps = network->program->slice->hbm_Bps / units / op_inner_frac(of);
    int64_t change = (int64_t)(is_Bps / unit_Bps) - (int64_t)(was_Bps / unit_Bps);
    use(network, chip, memory_passes(of->memory, false) * change);
    use(network, to, memory_passes(of->memory, true) * change);
}

void memory_wait(struct network *network, int32_t op, int32_t chip, bool starts)
{
    const struct op *of = &network->program->op[op];
    int64_t taken = (int64_t)(of->hbm_Bps / (network->program->slice->hbm_Bps / units));
    use(network, chip, starts ? taken : -taken);
}

void memory_rate(struct network *network, struct link *link, double rate_Bps)
{
    for (int32_t i = 0; network->used && i < link->helds; i++) {
        const struct flow *f = network_flow(network, link->held[i].flow);
        memory_note(network, f->op, f->chip, f->to, link->rate_Bps, rate_Bps);
    }
    link->rate_Bps = rate_Bps;
}

double memory_left_Bps(const struct network *network, int32_t link)
{
    double own_Bps = network->map->Bps[link];
    if (!memory_limits(network, link))
        return own_Bps;
    double used_frac = (double)network->used[network->map->start[link]] / units;
    return fmin(own_Bps, network->program->slice->hbm_Bps * fmax(1 - used_frac, least_frac));
}
