/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A time that a program cannot beat, without running it: the larger of two.
 *
 *   links   max over links of bytes / bandwidth, whoever sends when
 *   chain   the longest chain of ops that wait for one another, each as if it had its links to itself:
 *           setup + links * latency + bytes / bandwidth
 *
 * Ops of some chips only count for nothing in the chain, since who does not take part does not wait either.
 */
#include <math.h>
#include <stdlib.h>

#include "metrics/count.h"
#include "metrics/metrics.h"

enum { LEADERS = 256 };

/* Sends alike but for their amount, as the steps of a ring are, are looked at once. */
static bool goes_alike(const struct op *a, const struct op *b)
{
    return a->kind == b->kind && a->where == b->where && a->towards.table == b->towards.table &&
           a->towards.route == b->towards.route && a->amount.table == NO_TABLE && b->amount.table == NO_TABLE;
}

static int fewest_links(const struct program *program, const struct op *op)
{
    int fewest = -1;
    for (int chip = 0; chip < program->slice->chips; chip++) {
        if (!op_takes_part(program, op, chip))
            continue;
        struct route route = op_route(program, op, chip);
        int links = route_length(program->hop + route.first, route.hops);
        fewest = fewest < 0 || links < fewest ? links : fewest;
        if (op->towards.table == NO_TABLE)
            break;
    }
    return fewest;
}

/* What an op takes at least on a chip of all. */
static double least_of(const struct program *program, const struct op *op, int links, double scale)
{
    const struct slice *slice = program->slice;
    if (op->where != WHERE_ALL || op->amount.table != NO_TABLE || slice->link)
        return 0;
    if (op->kind == OP_COMPUTE)
        return op->amount.each;
    return op->setup_s + links * slice->hop_latency_s +
           (links ? scale * op->amount.each / slice->link_Bps : 0);
}

/* The send that leads those that are alike, or the next one that does. */
static int find_leader(const struct op lead[], int leaders, const struct op *op)
{
    int l = 0;
    while (l < leaders && !goes_alike(&lead[l], op))
        l++;
    return l;
}

int metrics_chain_s(const struct program *program, double scale, double *seconds, struct status *st)
{
    struct op lead[LEADERS];
    int links[LEADERS], leaders = 0;
    double *end_s = malloc(((size_t)program->ops + 1) * sizeof *end_s);
    if (!end_s)
        return status_nomem(st);
    *seconds = 0;
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        int l = find_leader(lead, leaders, op);
        if (l == leaders && l < LEADERS) {
            lead[leaders++] = *op;
            links[l] = op->kind == OP_SEND ? fewest_links(program, op) : 0;
        }
        int own = l < LEADERS ? links[l] : fewest_links(program, op);
        end_s[o] = 0;
        for (int32_t a = 0; a < op->afters && op->where == WHERE_ALL; a++)
            end_s[o] = fmax(end_s[o], end_s[program->after[op->first_after + a].op]);
        end_s[o] += least_of(program, op, own, scale);
        *seconds = fmax(*seconds, end_s[o]);
    }
    free(end_s);
    return 0;
}

/* All sends, those that are alike as one with their bytes together. */
static int32_t merge(const struct program *program, struct op send[])
{
    int32_t sends = 0;
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        int among = sends < LEADERS ? sends : LEADERS;
        int l = op->kind == OP_SEND ? find_leader(send, among, op) : 0;
        if (op->kind != OP_SEND)
            continue;
        if (l < among)
            send[l].amount.each += op->amount.each;
        else
            send[sends++] = *op;
    }
    return sends;
}

/* What the busiest link carries, in seconds: sends that all chips do alike load all links of an axis alike, the others are
 * walked. */
static int find_busiest(const struct program *program, const struct op send[], int32_t sends,
                        double *busiest_s, struct status *st)
{
    const struct slice *slice = program->slice;
    double alike[SLICE_AXES][2] = {{0}}, most[SLICE_AXES][2] = {{0}};
    double *bytes = calloc((size_t)slice_link_ids(slice) + 1, sizeof *bytes);
    struct crossed crossed = {.found = 0};
    int code = bytes ? 0 : status_nomem(st);
    for (int32_t o = 0; o < sends && code == 0; o++)
        code = metrics_count_send(program, &send[o], &crossed, alike, bytes, st);
    for (int link = 0; link < slice_link_ids(slice) && code == 0; link++) {
        if (bytes[link] <= 0)
            continue;
        double *of = &most[slice_link_axis(slice, link)][slice_link_sign(link) < 0];
        *of = fmax(*of, bytes[link] / slice_link_Bps(slice, link));
    }
    for (int a = 0; a < SLICE_AXES; a++)
        for (int minus = 0; minus < 2; minus++)
            *busiest_s =
                fmax(*busiest_s, most[a][minus] + (slice->link ? 0 : alike[a][minus] / slice->link_Bps));
    free(bytes);
    metrics_crossed_free(&crossed);
    return code;
}

int metrics_links_s(const struct program *program, double *seconds, struct status *st)
{
    struct op *send = malloc(((size_t)program->ops + 1) * sizeof *send);
    *seconds = 0;
    int code = send ? find_busiest(program, send, merge(program, send), seconds, st) : status_nomem(st);
    free(send);
    return code;
}
