/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to study/. */
/*
 * parts: a workload of several programs at a time, each on chips of its own, with transfers between them.
 *
 *     parts:
 *       teacher: {step: distillation/teacher.yaml, mesh: "tp=4", on: 0-3}
 *       student: {step: distillation/student.yaml, mesh: "dp=4", on: 4-7}
 *     transfers:
 *       - {from: teacher.y, to: student.t}
 *       - {from: teacher.x, to: student.x}
 *     batches: 5                what eval runs
 *     learning-rate: 0.01
 *
 * A part may have a time instead of a step, {time: 100us, mesh: "d=4", on: 0-3}, and then its transfers have one too,
 * {from: a, to: b, time: 20us}; `transfers: {time: 20us}` stands for one from each part to the next. Any number of parts may hand
 * something to any others, as long as nothing comes back to where it began.
 *
 * A batch passes all parts and all transfers. Each of these works on one batch at a time; a transfer runs beside the parts. So
 * the time from one batch to the next is
 *
 *     max(longest part or transfer, longest way of a batch through them / in_flight)
 *
 * because the only circles in what waits for what are a part (or transfer) that waits for itself, one batch before, and a way
 * through, which waits for its end in_flight batches before: the word that a batch has left crosses links back to where the way
 * began, without bytes, and belongs to the way. What a batch takes beyond that is contention: links that transfers and parts
 * share.
 *
 * With host_transfer a batch goes through the hosts, as jax.device_put between two meshes does, and the loop blocks: what a
 * chip has goes over its PCIe to the host, and from the host to a chip of the next part over that one's, while neither computes.
 *
 * Units: in the names. Errors: with file, line and column. Ownership: the caller's struct, freed with parts_close(), safe when
 * zeroed; point and machine are borrowed.
 */
#ifndef ICISIM_PARTS_H
#define ICISIM_PARTS_H

#include <stdbool.h>

#include "base/document.h"
#include "compile/lower.h"
#include "model/model.h"
#include "settings/point.h"
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
    bool gets, gives; /* something, by a transfer */
    int level;        /* so many parts are before it on the longest way of a batch */
};

/* All that one part hands to another after its step. */
struct transfer {
    int from, to;   /* parts */
    double given_s; /* NaN: by the bytes */
    double *bytes;  /* [devices of from][devices of to] */
};

/* A tensor of a part, an input or what its forward pass gives, and the input of another part that it becomes. */
struct handover {
    int from_part, to_part;
    bool of_output;
    int from, to;
};

struct parts {
    const struct point *point;
    const struct machine *machine;
    struct part *part; /* in the order of the file */
    int parts;
    int *order; /* [parts] each after all that hand something to it */
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
/* Finds the order of the parts, when all transfers are known. */
int parts_order(struct parts *parts, struct status *st);

/* The ops at which a part begins a batch and ends it, in which all its chips take part; of a transfer only the end. */
struct passage {
    int32_t begin, end;
};
/* So many batches through all parts, of which so many are under way at once. */
struct flow {
    int batches, in_flight;
    struct passage *step,
        *sent; /* once it is built: [part * batches + batch], [transfer * batches + batch] */
};

/* "teacher 0, teacher sends 0, student 0, teacher 1, ...": the first two batches. Returns `text`. */
char *flow_print(const struct parts *parts, char text[static RESULT_LINE]);

/* Appends what the batches do to a program: all parts on one, then on the next. flow_free() is safe after a failure. */
int flow_build(struct flow *flow, struct parts *parts, struct program *program, struct status *st);
void flow_free(struct flow *flow);

/* What a part, or after the parts a transfer, takes by itself. */
int parts_time_alone(struct parts *parts, int which, double *time_s, struct status *st);

/* How long the word that a batch has left takes from a part to another. */
int parts_time_word(struct parts *parts, int from, int to, double *time_s, struct status *st);

/* The parts of a job, NULL of one that is no such workload. */
const struct parts *parts_of(const struct job *job);

#endif
