/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two stations as a program: batch after batch through both and the transfer between them.
 *
 * Who is at work is in the program alone: a station's computes run on its chips' queues in the order of the batches; a transfer
 * waits for the end of its batch's first step and of the transfer before; a first step waits for the word that the batch in_flight
 * before it has left, which every chip of the second mesh sends to its partner.
 */
#include <math.h>
#include <stdlib.h>

#include "engine/timing.h"
#include "study/stations.h"

double stations_bound_s(const double alone_s[3], int in_flight, bool blocks)
{
    double sum = alone_s[0] + alone_s[1] + alone_s[2];
    if (blocks)
        return sum;
    return fmax(fmax(alone_s[0], alone_s[1]), fmax(alone_s[2], sum / in_flight));
}

/* Where the ops of a batch are: the first and the last of each station, which all its chips take part in. */
struct passage {
    int32_t begin[3], end[3];
};

struct writer {
    const struct stations *s;
    struct program program;
    int32_t where[2]; /* masks of the meshes */
    struct passage *passage;
    int batches;
    struct status *st;
};

static int32_t mask_of(struct writer *w, int which)
{
    const struct slice *slice = &w->s->machine.slice;
    uint8_t *mask = calloc((size_t)slice->chips, sizeof *mask);
    if (!mask) {
        status_nomem(w->st);
        return WHERE_ALL;
    }
    mesh_mask(&w->s->part[which].mesh, mask);
    int32_t where = program_mask(&w->program, mask);
    free(mask);
    return where;
}

static int32_t add_compute(struct writer *w, int which, double seconds, int32_t before)
{
    int32_t op =
        program_add(&w->program, (struct op){.kind = OP_COMPUTE,
                                             .where = w->where[which],
                                             .amount = amount_of(seconds),
                                             .payload = NO_PAYLOAD,
                                             .stage = program_stage(&w->program, w->s->part[which].name)});
    if (before >= 0)
        program_wait(&w->program, before);
    return op;
}

static int write_step(struct writer *w, int which, int batch, int32_t before)
{
    struct station *part = (struct station *)&w->s->part[which];
    struct passage *p = &w->passage[batch];
    int station = which ? 2 : 0;
    p->begin[station] = add_compute(w, which, 0, before);
    if (!isnan(part->given_s)) {
        p->end[station] = add_compute(w, which, part->given_s, -1);
        return 0;
    }
    return lower_append(&part->lower, &w->program, p->begin[station], &p->end[station], w->st);
}

/* One send of each chip of `from`, or of some: to[chip of the slice], -1 for none. */
static int32_t add_send(struct writer *w, const int32_t to[], const double bytes[], double setup_s,
                        const char *name, int32_t before, int32_t also)
{
    int chips = w->s->machine.slice.chips;
    uint8_t *mask = calloc((size_t)chips, sizeof *mask);
    int32_t *route = calloc((size_t)chips, sizeof *route), op = -1;
    bool any = false;
    for (int c = 0; mask && route && c < chips; c++) {
        mask[c] = to[c] >= 0;
        any = any || mask[c];
    }
    if (mask && route)
        program_routes_to(&w->program, to, route);
    if (!mask || !route)
        status_nomem(w->st);
    else if (any) {
        int32_t where = program_mask(&w->program, mask);
        op = program_add(&w->program, (struct op){.kind = OP_SEND,
                                                  .where = where,
                                                  .towards = program_towards_table(&w->program, route, where),
                                                  .amount = program_amount_table(&w->program, bytes, where),
                                                  .setup_s = setup_s,
                                                  .payload = NO_PAYLOAD,
                                                  .stage = program_stage(&w->program, name)});
        if (before >= 0)
            program_wait(&w->program, before);
        if (also >= 0)
            program_wait(&w->program, also);
    }
    free(mask);
    free(route);
    return op;
}

/* All pairs of devices, in as many ops as the larger mesh has devices: in op k device i of the smaller sends to, or gets from,
 * device i + k of the larger, after `setup_s`. `bytes` NULL: partners only, and nothing but the word. Returns the join of all at
 * the receivers. */
static int32_t add_pairs(struct writer *w, int from, const double *bytes, double setup_s, const char *name,
                         int32_t before, int32_t also)
{
    const struct mesh *mesh[2] = {&w->s->part[from].mesh, &w->s->part[1 - from].mesh};
    int n = mesh[0]->devices, m = mesh[1]->devices, most = n > m ? n : m, chips = w->s->machine.slice.chips;
    int32_t first = w->program.ops, *to = malloc((size_t)chips * sizeof *to);
    double *amount = calloc((size_t)chips, sizeof *amount);
    for (int k = 0; to && amount && k < (bytes ? m : (most + n - 1) / n); k++) {
        for (int c = 0; c < chips; c++)
            to[c] = -1;
        for (int i = 0; i < n; i++) {
            int j = bytes ? (i + k) % m : (i + k * n) % m;
            bool sends = bytes ? bytes[i * m + j] > 0 : i + k * n < most;
            to[mesh_chip(mesh[0], i)] = sends ? mesh_chip(mesh[1], j) : -1;
            amount[mesh_chip(mesh[0], i)] = sends && bytes ? bytes[i * m + j] : 0;
        }
        add_send(w, to, amount, setup_s, name, before, also);
    }
    if (!to || !amount)
        status_nomem(w->st);
    free(to);
    free(amount);
    int32_t end = w->program.ops, join = program_join(&w->program, WHERE_ALL, 0);
    for (int32_t op = first; op < end; op++)
        program_wait(&w->program, op);
    if (end == first && before >= 0)
        program_wait(&w->program, before);
    return join;
}

/* Through the hosts: chips of the first mesh hold still while what they have goes up, those of the second while it comes down.
 * Bytes that go to, or come from, each chip; the slowest says when the hosts have it all. */
static int32_t write_host(struct writer *w, int batch, int32_t before)
{
    const struct stations *s = w->s;
    int n = s->part[0].mesh.devices, m = s->part[1].mesh.devices;
    double up = 0, down = 0, pcie_Bps = s->machine.chip->pcie_Bps;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < m; j++)
            sum += s->bytes[i * m + j];
        up = fmax(up, sum);
    }
    for (int j = 0; j < m; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += s->bytes[i * m + j];
        down = fmax(down, sum);
    }
    struct passage *p = &w->passage[batch];
    p->begin[1] = add_compute(w, 0, up / pcie_Bps, before);
    int32_t told = add_pairs(w, 0, NULL, 0, "host", p->begin[1], -1);
    p->end[1] = add_compute(w, 1, down / pcie_Bps, told);
    return p->end[1];
}

static int32_t write_transfer(struct writer *w, int batch, int32_t before)
{
    struct passage *p = &w->passage[batch];
    int32_t also = batch > 0 ? p[-1].end[1] : -1;
    if (w->s->point->schedule.host_transfer)
        return write_host(w, batch, before);
    p->begin[1] = w->program.ops;
    double given_s = w->s->given_transfer_s;
    /* given: each device of the first mesh has its partner told so much later */
    p->end[1] = isnan(given_s) ? add_pairs(w, 0, w->s->bytes, 0, "transfer", before, also)
                               : add_pairs(w, 0, NULL, given_s, "transfer", before, also);
    return p->end[1];
}

/* Batches through the stations of which `with` is set; 7: all. */
static int write_batches(struct writer *w, int in_flight, unsigned with)
{
    int code = 0;
    for (int i = 0; i < w->batches && code == 0; i++) {
        struct passage *p = &w->passage[i];
        int32_t before =
            i >= in_flight && with == 7 ? add_pairs(w, 1, NULL, 0, "left", p[-in_flight].end[2], -1) : -1;
        if (with & 1) {
            code = write_step(w, 0, i, before);
            before = p->end[0];
        }
        if (code == 0 && with & 2)
            before = write_transfer(w, i, before);
        if (code == 0 && with & 4)
            code = write_step(w, 1, i, before);
    }
    return code;
}

static int open_writer(struct writer *w, const struct stations *s, int batches, struct status *st)
{
    *w = (struct writer){.s = s, .batches = batches, .st = st};
    program_init(&w->program, &s->machine.slice);
    w->passage = calloc((size_t)batches + 1, sizeof *w->passage);
    if (!w->passage)
        return status_nomem(st);
    for (int i = 0; i < 2; i++)
        w->where[i] = mask_of(w, i);
    return st->code;
}

static void close_writer(struct writer *w)
{
    program_free(&w->program);
    free(w->passage);
}

static int time_writer(struct writer *w, struct timing *timing, struct status *st)
{
    const struct engine *engine = engine_list()[w->s->point->run.engine];
    int code = st->code < 0 ? st->code : program_close(&w->program, st);
    if (code == 0 && w->s->point->run.check)
        code = program_check(&w->program, st);
    if (code == 0)
        code = timing_init(timing, &w->program, engine, false, st);
    return code < 0 ? code : timing_run(timing, RECORD_NONE, st);
}

/* What one station takes by itself. */
static int time_alone(const struct stations *s, int station, double *time_s, struct status *st)
{
    struct writer w;
    struct timing timing = {0};
    int code = open_writer(&w, s, 1, st);
    if (code == 0)
        code = write_batches(&w, 1, 1u << station);
    if (code == 0)
        code = time_writer(&w, &timing, st);
    if (code == 0)
        *time_s = timing.trace.total_s;
    timing_free(&timing);
    close_writer(&w);
    return code;
}

/* The steady state: after the pipeline has filled, over a multiple of the batches in flight, which may leave in bursts. */
static void measure(const struct writer *w, const struct trace *trace, int in_flight,
                    struct stations_result *result)
{
    int last = w->batches - 1, over = 4 * in_flight;
    const struct passage *p = w->passage;
    result->period_s = (trace->op_end_s[p[last].end[2]] - trace->op_end_s[p[last - over].end[2]]) / over;
    for (int i = last - over + 1; i <= last; i++) {
        double moved_s = trace->op_end_s[p[i].end[0]];
        if (!w->s->point->schedule.host_transfer)
            moved_s = fmax(moved_s, trace->op_end_s[p[i - 1].end[1]]);
        result->within_s[0] += (trace->op_end_s[p[i].end[0]] - trace->op_end_s[p[i].begin[0]]) / over;
        result->within_s[1] += (trace->op_end_s[p[i].end[1]] - moved_s) / over;
        result->within_s[2] += (trace->op_end_s[p[i].end[2]] - trace->op_end_s[p[i].begin[2]]) / over;
    }
}

int stations_run(const struct stations *s, struct stations_result *result, struct status *st)
{
    bool blocks = s->point->schedule.host_transfer;
    int in_flight = blocks ? 1 : s->point->schedule.in_flight, code = 0;
    struct writer w;
    struct timing timing = {0};
    *result = (struct stations_result){0};
    if (blocks && !(s->machine.chip->pcie_Bps > 0))
        return status_fail(st, STATUS_INPUT,
                           "--host-transfer: the chip's file has no pcie_bandwidth; give it one");
    for (int i = 0; i < 3 && code == 0; i++)
        code = time_alone(s, i, &result->alone_s[i], st);
    if (code < 0)
        return code;
    result->bound_s = stations_bound_s(result->alone_s, in_flight, blocks);
    code = open_writer(&w, s, 12 * in_flight + 8, st);
    if (code == 0)
        code = write_batches(&w, in_flight, 7);
    if (code == 0)
        code = time_writer(&w, &timing, st);
    if (code == 0)
        measure(&w, &timing.trace, in_flight, result);
    timing_free(&timing);
    close_writer(&w);
    return code;
}
