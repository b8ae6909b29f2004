/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stations: two steps that work at the same time, each on chips of its own, and what the first hands to the second.
 *
 *     meshes:
 *       teacher: {step: distillation/teacher.yaml, mesh: "tp=4", on: 0-3}
 *       student: {step: distillation/student.yaml, mesh: "dp=4", on: 4-7}
 *     transfers:
 *       - {from: teacher.y, to: student.t}
 *       - {from: teacher.x, to: student.x}
 *     batches: 5                what eval runs
 *     learning-rate: 0.01
 *
 * Instead of a step a mesh may have a time, {time: 100us, mesh: "d=4", on: 0-3}, and `transfers: {time: 20us}` stands for all of
 * them: then nothing is read.
 *
 * A batch goes through three stations: the first step, the transfer, the second step. Each takes one batch at a time, in order;
 * the transfer is a station of its own, as DMA engines do it. A batch enters when the one `in_flight` before it has left.
 * Where the three share nothing, the time a batch is
 *
 *     max(T, X, S, (T + X + S) / in_flight)
 *
 * What it takes beyond that is contention: links that transfers and steps share, and the way back of the word that a batch has
 * left, which crosses links without bytes.
 *
 * With host_transfer the batch goes through the hosts, as jax.device_put between two meshes does, and the loop blocks: what a
 * chip has goes over its PCIe to the host, and from the host to a chip of the other mesh over that one's, while neither computes.
 *
 * Units: in the names. Errors: with file, line and column. Ownership: the caller's struct, freed with stations_close(), safe
 * when zeroed; the point is borrowed.
 */
#ifndef WORKLOAD_STATIONS_H
#define WORKLOAD_STATIONS_H

#include <stdbool.h>

#include "base/document.h"
#include "compile/lower.h"
#include "model/model.h"
#include "numbers/array.h"
#include "settings/point.h"
#include "study/machine.h"

enum { STATION_NAME = 24, STATION_PATH = 1024, STATION_TRANSFERS = 16 };

struct station {
    char name[STATION_NAME], path[STATION_PATH];
    struct point point; /* of its step */
    double given_s;     /* NaN: there is a step */
    struct mesh mesh;
    struct placement placement;
    struct model model;
    struct module module;
    struct lower_options options;
    struct lower lower;
};

/* A tensor of the first step, an input or what its forward pass gives, and the input of the second that it becomes. */
struct station_transfer {
    bool from_output;
    int from, to;
};

struct stations {
    const struct point *point;
    struct catalog catalog;
    struct machine machine;
    struct station part[2];
    struct station_transfer transfer[STATION_TRANSFERS];
    int transfers;
    double *bytes;           /* [devices of the first][devices of the second] */
    double given_transfer_s; /* NaN: by the bytes */
    int64_t batches;
    double learning_rate;
};

/* Is it the file of such a workload? */
bool stations_match(const struct point *point);

int stations_open(struct stations *stations, const struct point *point, struct status *st);
void stations_close(struct stations *stations);

struct stations_result {
    double alone_s[3];  /* first step, transfer, second step: by itself */
    double period_s;    /* a batch, in the steady state */
    double bound_s;     /* what the formula has for these */
    double within_s[3]; /* what each took in the steady state */
};
int stations_run(const struct stations *stations, struct stations_result *result, struct status *st);

/* Runs the batches with numbers: the loss of each, losses[batches]. What is trained in the second step learns. */
int stations_eval(const struct stations *stations, double loss[], struct status *st);

/* What is due to be loaded: max(T, X, S, (T + X + S) / in_flight); where the loop blocks, their sum. */
double stations_bound_s(const double alone_s[3], int in_flight, bool blocks);

#endif
