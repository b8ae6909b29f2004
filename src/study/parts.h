/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to study/. */
/*
 * parts: a workload of several programs that run at the same time, each on its own chips, with transfers between them.
 *
 *     parts:
 *       teacher: {step: distillation/teacher.yaml, mesh: "tp=4", on: 0-3}
 *       student: {step: distillation/student.yaml, mesh: "dp=4", on: 4-7}
 *     transfers:
 *       - {from: teacher.y, to: student.t}
 *       - {from: teacher.x, to: student.x}
 *     batches: 5                for eval
 *     learning-rate: 0.01
 *
 * A part may have a time instead of a step, {time: 100us, mesh: "d=4", on: 0-3}; its transfers then have one, too,
 * {from: a, to: b, time: 20us}. `transfers: {time: 20us}` stands for one from each part to the next. Any part may send
 * to any others, as long as there is no cycle.
 *
 * A batch passes through all parts and all transfers. Each of them works on one batch at a time; transfers overlap
 * parts. So in the steady state the time from one batch to the next is
 *
 *     max(longest part or transfer, longest path of a batch through them / in_flight)
 *
 * because there are two kinds of dependency cycles: a part (or transfer) waits for itself, one batch earlier, and the
 * start of a path waits for its end, in_flight batches earlier. The message that a batch has left crosses links back
 * to the start of the path, with no bytes, and counts as part of it. Any time beyond that is contention for links that
 * transfers and parts share.
 *
 * With host_transfer a batch goes through the hosts, as with jax.device_put between two meshes, and the loop blocks:
 * data crosses the PCIe of the sending chip to the host, and that of a chip of the next part from it, while neither
 * computes.
 *
 * Units: in the names. Errors: with file, line and column. Ownership: the caller's struct, freed with parts_close(),
 * safe when zeroed; point and machine are borrowed.
 */
#pragma once

#include <stdbool.h>

#include "compile/lower.h"
#include "study/job.h"

enum { PART_NAME = 24, PART_PATH = 1024 };

struct part {
    char name[PART_NAME], path[PART_PATH];
    struct point point; /* of its step */
    double given_s;     /* NaN: there is a step */
    struct mesh mesh;
    struct placement placement;
    struct model model;
    struct module module;
    struct lower_options options;
    struct lower lower;
    bool gets, gives; /* it receives, or sends, a transfer */
    int level;        /* parts before it on the longest path of a batch */
};

/* Everything that one part sends to another after its step. */
struct transfer {
    int from, to;   /* parts */
    double given_s; /* NaN: it takes the time of its bytes */
    double *bytes;  /* [devices of from][devices of to] */
};

/* A tensor of one part, an input or (of_output) the output of its forward pass, that becomes an input of another. */
struct handover {
    int from_part, to_part;
    bool of_output;
    int from, to; /* indices of the tensors in their models */
};

struct parts {
    const struct point *point;
    const struct machine *machine;
    struct part *part; /* in the order of the file */
    int parts;
    int *order; /* [parts] each after all that send to it */
    struct transfer *transfer;
    int transfers;
    struct handover *handover;
    int handovers;
    int64_t batches; /* of eval */
    double learning_rate;
};

int parts_open(struct parts *parts, const struct point *point, const struct machine *machine,
               struct status *st);
void parts_close(struct parts *parts);
/* Finds the order of the parts; all transfers are known. Errors: a cycle. */
int parts_order(struct parts *parts, struct status *st);

/* The ops with which a part begins and ends a batch, in which all its chips take part; for a transfer only the end. */
struct passage {
    int32_t begin, end;
};
/* The batches that pass through the parts, at most in_flight of them at the same time. */
struct flow {
    int batches, in_flight;
    /* set by flow_build(): [part * batches + batch], [transfer * batches + batch] */
    struct passage *step, *sent;
};

/* "teacher 0, teacher sends 0, student 0, teacher 1, ...": the first two batches. Returns `text`. */
char *flow_print(const struct parts *parts, char text[static RESULT_LINE]);

/* Appends the ops of all batches to a program, batch by batch. flow_free() is safe after a failure. */
int flow_build(struct flow *flow, struct parts *parts, struct program *program, struct status *st);
void flow_free(struct flow *flow);

/* The time of part `which` alone, or, for parts->parts + t, of transfer t; if it is negative, of the message from part
 * `from` to part `to` that a batch has left. */
int parts_time_alone(struct parts *parts, int which, int from, int to, double *time_s, struct status *st);

/* The parts of a job; NULL if it is another workload. */
const struct parts *parts_of(const struct job *job);
