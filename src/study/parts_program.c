/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order in which batches flow through parts, and the program that they make, batch by batch.
 *
 * Dependencies in the program do everything: a part's computes run on the queues of its chips in the order of the
 * batches; a transfer waits for the step before it and for itself, one batch earlier; a part that receives nothing
 * waits for the message that the batch in_flight earlier has left, which every part at the end sends to it.
 */
#include <math.h>
#include <stdlib.h>

#include "study/parts.h"

enum { PRINTED = 2 }; /* batches */

/* A part's level is one more than the highest of those that send to it; with a cycle, some level is too high for the
 * order. */
int parts_order(struct parts *s, struct status *st)
{
    int done = 0;
    for (int round = 0; round < s->parts; round++)
        for (int t = 0; t < s->transfers; t++) {
            struct part *from = &s->part[s->transfer[t].from], *to = &s->part[s->transfer[t].to];
            to->level = to->level > from->level ? to->level : from->level + 1;
        }
    for (int level = 0; level < s->parts; level++)
        for (int p = 0; p < s->parts; p++)
            if (s->part[p].level == level)
                s->order[done++] = p;
    return done == s->parts
               ? 0
               : status_fail(st, STATUS_INPUT, "transfers go round in a circle; a batch has to leave");
}

char *flow_print(const struct parts *parts, char text[static RESULT_LINE])
{
    *text = '\0';
    for (int batch = 0; batch < PRINTED; batch++)
        for (int i = 0; i < parts->parts; i++) {
            const struct part *part = &parts->part[parts->order[i]];
            text_add(text, RESULT_LINE, "%s %d, ", part->name, batch);
            if (part->gives)
                text_add(text, RESULT_LINE, "%s sends %d, ", part->name, batch);
        }
    return text_add(text, RESULT_LINE, "...");
}

struct writer {
    struct parts *parts;
    struct program *program;
    const struct slice *slice;
    int32_t *where; /* [parts] masks of the meshes */
    struct status *st;
};

static int open_writer(struct writer *w, struct parts *parts, struct program *program, struct status *st)
{
    const struct slice *slice = &parts->machine->slice;
    uint8_t *mask = malloc((size_t)slice->chips * sizeof *mask);
    *w = (struct writer){.parts = parts, .program = program, .slice = slice, .st = st};
    w->where = calloc((size_t)parts->parts, sizeof *w->where);
    for (int p = 0; p < parts->parts && mask && w->where; p++) {
        for (int c = 0; c < slice->chips; c++)
            mask[c] = 0;
        mesh_mask(&parts->part[p].mesh, mask);
        w->where[p] = program_mask(program, mask);
    }
    free(mask);
    return mask && w->where ? 0 : status_nomem(st);
}

static int32_t add_compute(struct writer *w, int part, double seconds, int32_t before)
{
    int32_t op =
        program_add(w->program, (struct op){.kind = OP_COMPUTE,
                                            .where = w->where[part],
                                            .amount = amount_of(seconds),
                                            .payload = NO_PAYLOAD,
                                            .stage = program_stage(w->program, w->parts->part[part].name)});
    program_wait(w->program, before);
    return op;
}

/* A message from the devices of one part to those of another. */
struct message {
    const char *name;
    int from, to;
    const double *bytes; /* [devices of from][devices of to]; NULL: between partners only, with no bytes */
    double setup_s;
    int32_t before, also; /* ops that it waits for, or -1 */
};

/* Appends one send: to[chip] is the receiver of each chip of the slice, -1: it sends nothing. */
static void add_send(struct writer *w, const struct message *message, const int32_t to[],
                     const double bytes[])
{
    int chips = w->slice->chips;
    uint8_t *mask = calloc((size_t)chips, sizeof *mask);
    int32_t *route = calloc((size_t)chips, sizeof *route);
    bool any = false;
    for (int c = 0; mask && c < chips; c++) {
        mask[c] = to[c] >= 0;
        any = any || mask[c];
    }
    if (!mask || !route) {
        status_nomem(w->st);
    } else if (any) {
        int32_t where = program_mask(w->program, mask);
        program_routes_to(w->program, to, route);
        program_add(w->program, (struct op){.kind = OP_SEND,
                                            .where = where,
                                            .towards = program_towards_table(w->program, route, where),
                                            .amount = program_amount_table(w->program, bytes, where),
                                            .setup_s = message->setup_s,
                                            .payload = NO_PAYLOAD,
                                            .stage = program_stage(w->program, message->name)});
        program_wait(w->program, message->before);
        program_wait(w->program, message->also);
    }
    free(mask);
    free(route);
}

/* Appends a message between all pairs of devices, in as many ops as the receiving part has devices: in op k device i
 * sends to device i + k. Between partners there are as many sends as the larger part has devices. Returns the op that
 * joins them. */
static int32_t add_message(struct writer *w, const struct message *message)
{
    const struct mesh *from = &w->parts->part[message->from].mesh, *to = &w->parts->part[message->to].mesh;
    const double *bytes = message->bytes;
    int n = from->devices, m = to->devices, most = n > m ? n : m, chips = w->slice->chips;
    int32_t first = w->program->ops, *target = malloc((size_t)chips * sizeof *target);
    double *amount = calloc((size_t)chips, sizeof *amount);
    if (!target || !amount)
        status_nomem(w->st);
    for (int k = 0; w->st->code == 0 && k < (bytes ? m : (most + n - 1) / n); k++) {
        for (int c = 0; c < chips; c++)
            target[c] = -1;
        for (int i = 0; i < n; i++) {
            int j = (bytes ? i + k : i + k * n) % m, chip = mesh_chip(from, i);
            bool sends = bytes ? bytes[i * m + j] > 0 : i + k * n < most;
            target[chip] = sends ? mesh_chip(to, j) : -1;
            amount[chip] = sends && bytes ? bytes[i * m + j] : 0;
        }
        add_send(w, message, target, amount);
    }
    free(target);
    free(amount);
    int32_t end = w->program->ops, join = program_join(w->program, WHERE_ALL, 0);
    for (int32_t op = first; op < end; op++)
        program_wait(w->program, op);
    if (end == first)
        program_wait(w->program, message->before);
    return join;
}

static int write_step(struct writer *w, int which, int32_t before, struct passage *passage)
{
    struct part *part = &w->parts->part[which];
    passage->begin = add_compute(w, which, 0, before);
    if (isnan(part->given_s))
        return lower_append(&part->lower, w->program, passage->begin, &passage->end, w->st);
    passage->end = add_compute(w, which, part->given_s, -1);
    return w->st->code;
}

/* The time that PCIe takes for the device that sends (or gets) most bytes. */
static double host_s(const struct parts *parts, const struct transfer *t, bool gets)
{
    int n = parts->part[t->from].mesh.devices, m = parts->part[t->to].mesh.devices;
    double most = 0;
    for (int a = 0; a < (gets ? m : n); a++) {
        double sum = 0;
        for (int b = 0; b < (gets ? n : m); b++)
            sum += t->bytes[gets ? b * m + a : a * m + b];
        most = fmax(most, sum);
    }
    return most / parts->machine->chip->pcie_Bps;
}

/* Through the hosts, the chips of the one part are busy while their data goes up, those of the other while it comes
 * down, which starts when the slowest has sent. A given time is the set-up time of a message without bytes between
 * partners. */
static int write_transfer(struct writer *w, int which, int32_t before, int32_t also, struct passage *passage)
{
    const struct transfer *t = &w->parts->transfer[which];
    struct message message = {
        .name = "transfer", .from = t->from, .to = t->to, .before = before, .also = also};
    if (w->parts->point->schedule.host_transfer) {
        message.name = "host";
        message.before = add_compute(w, t->from, host_s(w->parts, t, false), before);
        message.also = -1;
        passage->end = add_compute(w, t->to, host_s(w->parts, t, true), add_message(w, &message));
        return w->st->code;
    }
    message.bytes = isnan(t->given_s) ? t->bytes : NULL;
    message.setup_s = isnan(t->given_s) ? 0 : t->given_s;
    passage->end = add_message(w, &message);
    return w->st->code;
}

/* The op after which a part may begin a batch: all its transfers have arrived; or, where batches enter, the batch
 * in_flight earlier has left. */
static int32_t may_begin(struct writer *w, const struct flow *flow, int part, int batch)
{
    const struct parts *parts = w->parts;
    int32_t *op = calloc((size_t)(parts->parts + parts->transfers), sizeof *op);
    int ops = 0, left = batch - flow->in_flight;
    if (!op) {
        status_nomem(w->st);
        return -1;
    }
    for (int t = 0; t < parts->transfers; t++)
        if (parts->transfer[t].to == part)
            op[ops++] = flow->sent[t * flow->batches + batch].end;
    for (int p = 0; p < parts->parts && !parts->part[part].gets && left >= 0; p++) {
        int32_t end = flow->step[p * flow->batches + left].end;
        const struct message message = {.name = "left", .from = p, .to = part, .before = end, .also = -1};
        if (!parts->part[p].gives)
            op[ops++] = p == part ? end : add_message(w, &message);
    }
    int32_t before = program_join_of(w->program, op, ops, w->where[part], 0);
    free(op);
    return before;
}

/* Writes a batch's passage through a part: its step, then its transfers. */
static int write_batch(struct writer *w, struct flow *flow, int part, int batch)
{
    struct passage *step = &flow->step[part * flow->batches + batch];
    int32_t before = may_begin(w, flow, part, batch);
    int code = w->st->code ? w->st->code : write_step(w, part, before, step);
    for (int t = 0; t < w->parts->transfers && code == 0; t++) {
        struct passage *sent = &flow->sent[t * flow->batches + batch];
        if (w->parts->transfer[t].from == part)
            code = write_transfer(w, t, step->end, batch > 0 ? sent[-1].end : -1, sent);
    }
    return code;
}

int flow_build(struct flow *flow, struct parts *parts, struct program *program, struct status *st)
{
    struct writer w = {0};
    flow->step = calloc((size_t)parts->parts * (size_t)flow->batches, sizeof *flow->step);
    flow->sent = calloc((size_t)parts->transfers * (size_t)flow->batches + 1, sizeof *flow->sent);
    int code = flow->step && flow->sent ? open_writer(&w, parts, program, st) : status_nomem(st);
    for (int batch = 0; batch < flow->batches; batch++)
        for (int i = 0; i < parts->parts && code == 0; i++)
            code = write_batch(&w, flow, parts->order[i], batch);
    free(w.where);
    return code < 0 ? code : program_close(program, st);
}

void flow_free(struct flow *flow)
{
    free(flow->step);
    free(flow->sent);
    *flow = (struct flow){0};
}

int parts_time_alone(struct parts *parts, int which, int from, int to, double *time_s, struct status *st)
{
    const struct message word = {.name = "left", .from = from, .to = to, .before = -1, .also = -1};
    struct program program;
    struct passage passage;
    struct writer w;
    program_init(&program, &parts->machine->slice);
    int code = open_writer(&w, parts, &program, st);
    if (code == 0 && which < 0)
        add_message(&w, &word);
    else if (code == 0 && which < parts->parts)
        write_step(&w, which, -1, &passage);
    else if (code == 0)
        write_transfer(&w, which - parts->parts, -1, -1, &passage);
    if (st->code == 0 && program_close(&program, st) == 0)
        program_time(&program, time_s, st);
    free(w.where);
    program_free(&program);
    return st->code;
}
