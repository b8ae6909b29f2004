/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sends of the same chips along the same routes, counted together: the steps of a loop send along the same
 * routes again and again. */
struct load {
    int32_t key[4];
    const struct op *op; /* the first of them */
    double amount;       /* bytes of all of them; if the amounts are a table, the number of sends */
};

/* Do all chips send the same bytes along the same hops? */
static bool is_of_all(const struct op *op)
{
    return op->where == WHERE_ALL && op->towards.table == NO_TABLE && op->amount.table == NO_TABLE;
}

/* Lists the loads of a program, except sends that are the same on all chips, in load[ops]; returns their
 * number. */
static int32_t find_loads(const struct program *program, struct load load[], struct status *st)
{
    struct lookup known = {0};
    int32_t loads = 0, l = -1;
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        if (op->kind != OP_SEND || is_of_all(op))
            continue;
        const int32_t key[] = {op->where, op->towards.table, op->towards.route, op->amount.table};
        uint32_t hash = lookup_hash(0, key, sizeof key);
        const struct lookup_entry *at = NULL;
        while ((l = lookup_next(&known, hash, &at)) >= 0 && memcmp(load[l].key, key, sizeof key) != 0)
            ;
        if (l < 0 && lookup_add(&known, hash, loads) < 0) {
            loads = status_nomem(st);
            break;
        }
        if (l < 0)
            load[l = loads++] = (struct load){{key[0], key[1], key[2], key[3]}, op, 0};
        load[l].amount += op_times(op) * (op->amount.table == NO_TABLE ? op->amount.each : 1);
    }
    lookup_free(&known);
    return loads;
}

/* Counts a send that is the same on all chips. A translation maps each link of an axis and sign onto every
 * other, so all carry the same bytes. Counting chip by chip would walk 10^7 routes of a pod. */
static void count_alike(const struct program *program, const struct op *op, double alike_bytes[SLICE_AXES][2])
{
    struct route route = program->route[op->towards.route];
    for (int h = 0; h < route.hops; h++) {
        struct hop hop = program->hop[route.first + h];
        bool minus = hop.delta < 0 && program->slice->span[hop.axis] > 2;
        alike_bytes[hop.axis][minus] += abs(hop.delta) * op->amount.each * op_times(op) * op_real_frac(op);
    }
}

static int count_each(const struct program *program, const struct load *load, int link[], double link_bytes[],
                      struct status *st)
{
    for (int chip = 0; chip < program->slice->chips; chip++) {
        if (!op_takes_part(program, load->op, chip))
            continue;
        struct route route = op_route(program, load->op, chip);
        const struct hop *hop = program->hop + route.first;
        bool alike = load->op->amount.table == NO_TABLE;
        double bytes = load->amount * (alike ? 1 : op_amount(program, load->op, chip));
        if (route_walk(program->slice, chip, hop, route.hops, link) < 0)
            return status_fail(st, STATUS_CHECK, "op %d leaves the slice at chip %d",
                               (int)(load->op - program->op), chip);
        for (int i = 0; i < route_length(hop, route.hops); i++)
            link_bytes[link[i]] += bytes;
    }
    return 0;
}

static int count_loads(const struct program *program, const struct load load[], int32_t loads, int link[],
                       double link_bytes[], struct status *st)
{
    const struct slice *slice = program->slice;
    double alike_bytes[SLICE_AXES][2] = {{0}};
    for (int32_t o = 0; o < program->ops; o++)
        if (program->op[o].kind == OP_SEND && is_of_all(&program->op[o]))
            count_alike(program, &program->op[o], alike_bytes);
    for (int32_t l = 0; l < loads; l++)
        if (count_each(program, &load[l], link, link_bytes, st) < 0)
            return st->code;
    for (int id = 0; id < slice_link_ids(slice); id++)
        if (slice_is_link(slice, id))
            link_bytes[id] += alike_bytes[slice_link_axis(slice, id)][slice_link_sign(id) < 0];
    return 0;
}

double *metrics_link_bytes(const struct program *program, struct status *st)
{
    double *link_bytes = calloc((size_t)slice_link_ids(program->slice) + 1, sizeof *link_bytes);
    struct load *load = malloc(((size_t)program->ops + 1) * sizeof *load);
    int *link = malloc(((size_t)program_longest_route(program) + 1) * sizeof *link);
    int code = link_bytes && load && link ? find_loads(program, load, st) : status_nomem(st);
    if (code >= 0)
        code = count_loads(program, load, code, link, link_bytes, st);
    free(load);
    free(link);
    if (code == 0)
        return link_bytes;
    free(link_bytes);
    return NULL;
}

/* What the busier of the two end links of lines without ends carries beyond the mean of the lines, in each direction. */
static void find_excess(const struct program *program, double excess_bytes[SLICE_AXES][2])
{
    double end_bytes[SLICE_AXES][2][2] = {0};
    for (const struct op *op = program->op; op < program->op + program->ops; op++) {
        if (op->line == 0)
            continue;
        struct hop hop = program->hop[program->route[op->towards.route].first];
        double *end = end_bytes[hop.axis][hop.delta < 0],
               bytes = abs(hop.delta) * op->amount.each * op_times(op);
        end[op->line > 0] += bytes / 2;
        end[op->line < 0] += bytes * (1.0 / abs(op->line) - 0.5);
    }
    for (int i = 0; i < 2 * SLICE_AXES; i++)
        excess_bytes[i / 2][i % 2] = fmax(end_bytes[i / 2][i % 2][0], end_bytes[i / 2][i % 2][1]);
}

/* Computes link use from link bytes. A link of the quotient stands for `orbit` links, so sums are multiplied
 * by that. */
static void link_use(struct metrics *m, const struct program *program, const double link_bytes[], int orbit)
{
    const struct slice *slice = program->slice;
    bool used[SLICE_AXES];
    program_axes(program, used);
    double bytes = 0, frac = 0, excess_bytes[SLICE_AXES][2];
    int links = 0;
    find_excess(program, excess_bytes);
    for (int link = 0; link < slice_link_ids(slice); link++) {
        if (!slice_is_link(slice, link) || !used[slice_link_axis(slice, link)])
            continue;
        double could_s = link_bytes[link] / slice_link_Bps(slice, link); /* the least time it needs */
        links++;
        bytes += link_bytes[link];
        frac += could_s;
        double most_bytes =
            link_bytes[link] + excess_bytes[slice_link_axis(slice, link)][slice_link_sign(link) < 0];
        m->max_link_bytes = fmax(m->max_link_bytes, most_bytes);
        m->max_link_frac = fmax(m->max_link_frac, most_bytes / slice_link_Bps(slice, link));
    }
    m->link_bytes = bytes * orbit;
    bool ran = m->time_s > 0 && links > 0;
    m->max_link_frac = ran ? m->max_link_frac / m->time_s : 0;
    m->mean_link_frac = ran ? frac / links / m->time_s : 0;
}

/* Busy compute time of a chip, including loop trips that are not written out (op_times). */
static double compute_of(const struct program *program, const struct trace *trace, int chip)
{
    double more_s = 0;
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        if (op->kind == OP_COMPUTE && op_times(op) > 1 && op_takes_part(program, op, chip))
            more_s +=
                (op_times(op) - 1) * (trace->start_s ? trace->end_s[o * (int64_t)trace->chips + chip] -
                                                           trace->start_s[o * (int64_t)trace->chips + chip]
                                                     : op_amount(program, op, chip));
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

int metrics_compute(struct metrics *m, const struct metrics_run *run, struct status *st)
{
    const struct program *program = run->program;
    const struct trace *trace = run->trace;
    *m = (struct metrics){.counts = *run->counts, .time_s = trace->total_s + run->more_s};
    double *link_bytes = metrics_link_bytes(program, st);
    if (!link_bytes)
        return st->code;
    link_use(m, program, link_bytes, run->orbit);
    free(link_bytes);
    bool computes = run->counts->has_computes;
    m->critical_chip = trace_critical_chip(trace);
    m->compute_s = compute_of(program, trace, m->critical_chip);
    m->comm_s = computes ? run->comm_s : m->time_s;
    m->exposed_comm_s = fmax(0, m->time_s - m->compute_s);  /* rounding may leave -1e-17 */
    double hidden_frac = 1 - m->exposed_comm_s / m->comm_s; /* rounding may leave 1e-13 instead of 0 */
    m->overlap_frac = !(computes && m->comm_s > 0) ? NAN : hidden_frac > 1e-9 ? hidden_frac : 0;
    return 0;
}
