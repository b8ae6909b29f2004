/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order in which batches flow through parts, and the program that it makes, turn by turn.
 *
 * Who is at work is in the program alone: a part's computes run on its chips' queues in the order of its turns; a transfer waits
 * for the step before it and for itself, one batch before; a part that nobody hands anything to waits for the word that the
 * batch in_flight before has left, which each part at the end sends it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/timing.h"
#include "study/parts.h"

enum { PRINTED = 2, TURN_TEXT = PART_NAME + 24 }; /* batches */

/* A part comes after all that hand something to it, on the longest way. */
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

int turns_write(struct turns *turns, const struct parts *parts, int batches, int in_flight, struct status *st)
{
    *turns = (struct turns){.batches = batches, .in_flight = in_flight};
    turns->turn = calloc(2 * (size_t)parts->parts * (size_t)batches + 1, sizeof *turns->turn);
    if (!turns->turn)
        return status_nomem(st);
    for (int batch = 0; batch < batches; batch++)
        for (int i = 0; i < parts->parts; i++) {
            int part = parts->order[i];
            turns->turn[turns->count++] = (struct turn){part, batch, PHASE_STEP};
            if (parts->part[part].gives)
                turns->turn[turns->count++] = (struct turn){part, batch, PHASE_SEND};
        }
    return 0;
}

/* What a turn is called in texts: "teacher 0", "teacher sends 0". */
static const char *print_turn(const struct turn *turn, const struct parts *parts, char text[static TURN_TEXT])
{
    snprintf(text, TURN_TEXT, "%s%s %d", parts->part[turn->part].name,
             turn->phase == PHASE_SEND ? " sends" : "", turn->batch);
    return text;
}

char *turns_print(const struct turns *turns, const struct parts *parts, char text[static RESULT_LINE])
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < turns->count && turns->turn[i].batch < PRINTED && used < RESULT_LINE; i++) {
        char turn[TURN_TEXT];
        used += (size_t)snprintf(text + used, RESULT_LINE - used, "%s, ",
                                 print_turn(&turns->turn[i], parts, turn));
    }
    if (used < RESULT_LINE)
        snprintf(text + used, RESULT_LINE - used, "...");
    return text;
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

/* What goes from the devices of one part to those of another. */
struct message {
    const char *name;
    int from, to;
    const double *bytes; /* [devices of from][devices of to]; NULL: partners only, and nothing but the word */
    double setup_s;
    int32_t before, also; /* ops that it waits for, or -1 */
};

/* One send of each chip, or of some: to[chip of the slice], -1 for none. */
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

/* All pairs of devices, in as many ops as the part that gets it has devices: in op k device i sends to device i + k of the other
 * part; of partners as many as the larger part has devices. Returns the join of all at the receivers. */
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

/* The most bytes that a device sends (by = 1: gets), over PCIe. */
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

/* Through the hosts: the chips of the one part hold still while what they have goes up, those of the other while it comes down;
 * the slowest says when the hosts have it all. By a time that was given: each device has its partner told so much later. */
static int write_transfer(struct writer *w, int which, int32_t before, int32_t also, struct passage *passage)
{
    const struct transfer *t = &w->parts->transfer[which];
    struct message message = {
        .name = "transfer", .from = t->from, .to = t->to, .before = before, .also = also};
    passage->begin = w->program->ops;
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

/* The op after which a part may begin a batch: all that is handed to it is there; or, where a batch enters, an earlier one has
 * left. `needs` becomes true where one of these ops is not there yet. */
static int32_t may_begin(struct writer *w, const struct turns *turns, const struct turn *turn, bool *needs)
{
    const struct parts *parts = w->parts;
    int32_t *op = calloc((size_t)(parts->parts + parts->transfers), sizeof *op);
    int ops = 0, left = turn->batch - turns->in_flight;
    if (!op) {
        status_nomem(w->st);
        return -1;
    }
    for (int t = 0; t < parts->transfers; t++)
        if (parts->transfer[t].to == turn->part)
            op[ops++] = turns->sent[t * turns->batches + turn->batch].end;
    for (int p = 0; p < parts->parts && !parts->part[turn->part].gets && left >= 0; p++) {
        int32_t end = turns->step[p * turns->batches + left].end;
        if (!parts->part[p].gives)
            op[ops++] =
                p == turn->part || end < 0
                    ? end
                    : add_message(
                          w, &(struct message){
                                 .name = "left", .from = p, .to = turn->part, .before = end, .also = -1});
    }
    for (int i = 0; i < ops; i++)
        *needs = *needs || op[i] < 0;
    int32_t before = *needs ? -1 : program_join_of(w->program, op, ops, w->where[turn->part], 0);
    free(op);
    return before;
}

/* What a turn does. `twice`, `needs`: it was done already, or something that it needs was not. */
static int write_turn(struct writer *w, struct turns *turns, const struct turn *turn, bool *twice,
                      bool *needs)
{
    const struct parts *parts = w->parts;
    struct passage *step = &turns->step[turn->part * turns->batches + turn->batch];
    if (turn->phase == PHASE_STEP) {
        *twice = step->end >= 0;
        int32_t before = *twice ? -1 : may_begin(w, turns, turn, needs);
        return *twice || *needs || w->st->code < 0 ? w->st->code : write_step(w, turn->part, before, step);
    }
    *needs = step->end < 0 || !parts->part[turn->part].gives;
    for (int t = 0; t < parts->transfers && w->st->code == 0 && !*needs && !*twice; t++) {
        struct passage *sent = &turns->sent[t * turns->batches + turn->batch];
        if (parts->transfer[t].from != turn->part)
            continue;
        *twice = sent->end >= 0;
        if (!*twice)
            write_transfer(w, t, step->end, turn->batch > 0 ? sent[-1].end : -1, sent);
    }
    return w->st->code;
}

/* A passage for each batch, which nobody has made yet. */
static struct passage *none_yet(int rows, int batches)
{
    size_t count = (size_t)rows * (size_t)batches;
    struct passage *passage = malloc((count + 1) * sizeof *passage);
    for (size_t i = 0; i < count && passage; i++)
        passage[i] = (struct passage){-1, -1};
    return passage;
}

int turns_build(struct turns *turns, struct parts *parts, struct program *program, struct status *st)
{
    struct writer w = {0};
    int missing = 0;
    turns->step = none_yet(parts->parts, turns->batches);
    turns->sent = none_yet(parts->transfers, turns->batches);
    int code = turns->step && turns->sent ? open_writer(&w, parts, program, st) : status_nomem(st);
    for (int p = 0; p < parts->parts; p++)
        missing += turns->batches * (1 + parts->part[p].gives);
    for (int i = 0; i < turns->count && code == 0; i++, missing--) {
        char text[TURN_TEXT];
        bool twice = false, needs = false;
        code = write_turn(&w, turns, &turns->turn[i], &twice, &needs);
        if (code == 0 && (twice || needs))
            code = status_fail(st, STATUS_CHECK, "schedule: turn %d, '%s', %s", i,
                               print_turn(&turns->turn[i], parts, text),
                               twice ? "comes twice" : "needs what comes after it");
    }
    free(w.where);
    if (code == 0 && missing > 0)
        code = status_fail(st, STATUS_CHECK, "schedule: %d turns are missing", missing);
    return code < 0 ? code : program_close(program, st);
}

void turns_free(struct turns *turns)
{
    free(turns->turn);
    free(turns->step);
    free(turns->sent);
    *turns = (struct turns){0};
}

int parts_time_alone(struct parts *parts, int which, double *time_s, struct status *st)
{
    struct program program;
    struct passage passage;
    struct writer w;
    program_init(&program, &parts->machine->slice);
    int code = open_writer(&w, parts, &program, st);
    if (code == 0)
        code = which < parts->parts ? write_step(&w, which, -1, &passage)
                                    : write_transfer(&w, which - parts->parts, -1, -1, &passage);
    if (code == 0)
        code = program_close(&program, st);
    if (code == 0)
        code = program_time(&program, time_s, st);
    free(w.where);
    program_free(&program);
    return code;
}
