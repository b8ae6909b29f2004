/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "metrics/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "metrics/count.h"

void metrics_crossed_free(struct crossed *crossed)
{
    for (int i = 0; i < CROSSINGS_KEPT; i++) {
        free(crossed->kept[i].link);
        free(crossed->kept[i].chip);
    }
    *crossed = (struct crossed){.found = 0};
}

static int walk(const struct program *program, const struct op *op, struct crossing *crossing,
                struct status *st)
{
    crossing->where = op->where;
    crossing->towards = op->towards;
    crossing->links = 0;
    for (int chip = 0; chip < program->slice->chips; chip++) {
        if (!op_takes_part(program, op, chip))
            continue;
        struct route route = op_route(program, op, chip);
        const struct hop *hop = program->hop + route.first;
        int links = route_length(hop, route.hops);
        if (!GROW_BY(crossing->link, crossing->links, crossing->link_room, links) ||
            !GROW_BY(crossing->chip, crossing->links, crossing->chip_room, links))
            return status_nomem(st);
        if (route_walk(program->slice, chip, hop, route.hops, crossing->link + crossing->links) < 0)
            return status_fail(st, STATUS_CHECK, "op %d leaves the slice at chip %d", (int)(op - program->op),
                               chip);
        while (links-- > 0)
            crossing->chip[crossing->links++] = chip;
    }
    return 0;
}

/* What is kept of a send, or found now; NULL after a failure. */
static const struct crossing *crossing_of(const struct program *program, const struct op *op,
                                          struct crossed *crossed, struct status *st)
{
    for (unsigned i = 0; i < CROSSINGS_KEPT && i < crossed->found; i++) {
        const struct crossing *known = &crossed->kept[i];
        if (known->where == op->where && known->towards.route == op->towards.route &&
            known->towards.table == op->towards.table)
            return known;
    }
    struct crossing *crossing = &crossed->kept[crossed->found++ % CROSSINGS_KEPT];
    return walk(program, op, crossing, st) < 0 ? NULL : crossing;
}

int metrics_count_each(const struct program *program, const struct op *op, struct crossed *crossed,
                       double link_bytes[], struct status *st)
{
    const struct crossing *crossing = crossing_of(program, op, crossed, st);
    double times = op_times(op), alike = op->amount.each * times;
    if (!crossing)
        return st->code;
    if (op->amount.table == NO_TABLE)
        for (int32_t i = 0; i < crossing->links; i++)
            link_bytes[crossing->link[i]] += alike;
    else
        for (int32_t i = 0; i < crossing->links; i++)
            link_bytes[crossing->link[i]] += op_amount(program, op, crossing->chip[i]) * times;
    return 0;
}

int metrics_link_bytes(const struct program *program, double link_bytes[], struct status *st)
{
    const struct slice *slice = program->slice;
    double alike_bytes[SLICE_AXES][2] = {{0}};
    struct crossed crossed = {.found = 0};
    for (int link = 0; link < slice_link_ids(slice); link++)
        link_bytes[link] = 0;
    int code = 0;
    for (int32_t o = 0; o < program->ops && code == 0; o++) {
        const struct op *op = &program->op[o];
        if (op->kind == OP_SEND)
            code = metrics_count_send(program, op, &crossed, alike_bytes, link_bytes, st);
    }
    for (int link = 0; link < slice_link_ids(slice); link++) {
        double bytes = alike_bytes[slice_link_axis(slice, link)][slice_link_sign(link) < 0];
        if (bytes > 0 && slice_is_link(slice, link))
            link_bytes[link] += bytes;
    }
    metrics_crossed_free(&crossed);
    return code;
}

/* The axes whose links the program's routes take. */
static void axes_in_use(const struct program *program, bool used[SLICE_AXES])
{
    for (int a = 0; a < SLICE_AXES; a++)
        used[a] = false;
    for (int32_t h = 0; h < program->hops; h++)
        if (program->hop[h].delta != 0)
            used[program->hop[h].axis] = true;
}

/* Link use from bytes. The sum over an orbit of links is that of its one link, `orbit` times. */
static void link_use(struct metrics *m, const struct program *program, const double link_bytes[], int orbit)
{
    const struct slice *slice = program->slice;
    bool used[SLICE_AXES];
    axes_in_use(program, used);
    double bytes = 0, frac = 0;
    int links = 0;
    for (int link = 0; link < slice_link_ids(slice); link++) {
        if (!slice_is_link(slice, link) || !used[slice_link_axis(slice, link)])
            continue;
        double could_s = link_bytes[link] / slice_link_Bps(slice, link); /* the least time it needs */
        links++;
        bytes += link_bytes[link];
        frac += could_s;
        m->max_link_bytes = fmax(m->max_link_bytes, link_bytes[link]);
        m->max_link_frac = fmax(m->max_link_frac, could_s);
    }
    m->link_bytes = bytes * orbit;
    bool ran = m->time_s > 0 && links > 0;
    m->max_link_frac = ran ? m->max_link_frac / m->time_s : 0;
    m->mean_link_frac = ran ? frac / links / m->time_s : 0;
}

/* Busy compute time of a chip, with what is not written out. */
static double compute_of(const struct program *program, const struct trace *trace, int chip)
{
    double more_s = 0;
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        if (op->kind == OP_COMPUTE && op_times(op) > 1 && op_takes_part(program, op, chip))
            more_s += (op_times(op) - 1) * op_amount(program, op, chip);
    }
    return trace->chip_busy_s[chip] + more_s;
}

int counts_find(struct counts *counts, const struct program *program, int orbit, struct status *st)
{
    *counts = (struct counts){.transfers = program_transfers(program) * orbit,
                              .steps = program_steps(program, st),
                              .has_computes = program_has_computes(program)};
    return counts->steps < 0 ? counts->steps : 0;
}

int metrics_compute(struct metrics *m, const struct program *program, const struct counts *counts,
                    const struct trace *trace, double more_s, double comm_s, int orbit, struct status *st)
{
    *m = (struct metrics){.counts = *counts, .time_s = trace->total_s + more_s};
    double *link_bytes = malloc(((size_t)slice_link_ids(program->slice) + 1) * sizeof *link_bytes);
    if (!link_bytes)
        return status_nomem(st);
    int code = metrics_link_bytes(program, link_bytes, st);
    if (code == 0)
        link_use(m, program, link_bytes, orbit);
    free(link_bytes);
    if (code < 0)
        return code;
    m->critical_chip = trace_critical_chip(trace);
    m->compute_s = compute_of(program, trace, m->critical_chip);
    m->comm_s = counts->has_computes ? comm_s : m->time_s;
    m->exposed_comm_s = m->time_s - m->compute_s;
    m->overlap_frac = NAN;
    if (counts->has_computes && comm_s > 0)
        m->overlap_frac = fmax(0, 1 - m->exposed_comm_s / comm_s);
    return 0;
}
