/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collective: the collectives, under XLA's and JAX's names, and the builders that write them as programs.
 *
 * A collective runs in every group of chips at the same time. Its group walks one ring (one mesh axis, a list
 * of replica groups), or several at once: then the array is cut into parts, each of which walks the axes in
 * another cyclic order, so that all axes work all the time (E7). The schedules are those of the table in
 * README.md (E1 to E7): uni, bidi, bidi-half; a ring that does not close uses the line algorithm.
 *
 * A buffer of N chunks is cut into N nearly equal ones, larger ones first; every chip pays for the largest,
 * as SPMD programs pad. Within a group chunks stand in the order of ring positions.
 *
 * Units: elements, bytes, seconds. Errors: status.h. Ownership: everything pointed to is borrowed.
 */
#ifndef ICISIM_COLLECTIVE_H
#define ICISIM_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "fabric/mesh.h"
#include "fabric/schedule.h"
#include "program/program.h"

/* What a collective is to do. Zeroed fields mean: COMBINE_COPY is taken as COMBINE_SUM where it reduces. */
struct collective_spec {
    enum ring_kind kind;
    enum algorithm algorithm;
    int rings; /* 1 to 3 */
    const struct ring *ring[COLLECTIVE_RINGS];
    int64_t elements; /* of the whole array V: see "size" in README.md */
    double elem_bytes;
    enum combine combine;
    double setup_s; /* of the first send of each chain */
    bool keep_ties; /* direct all-to-all: ties go by + whole and are not split */
    int root;       /* broadcast: index in the group */
    /* collective-permute: the chip that each chip sends to, or -1; how many link-disjoint routes share it */
    const int32_t *target;
    int routes;
    /* ragged all-to-all: elements from position i to position j of a group, [n][n] */
    const int64_t *pair_elements;
};

/* Where a piece of program begins or ends: ops whose arrival (and end) lets the next piece start. */
enum { FRONT_OPS = 16 };
struct front {
    int count;
    int32_t op[FRONT_OPS];
};

/* One row of the table. */
enum collective_id {
    COLLECTIVE_ALL_GATHER,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_ALL_TO_ALL,
    COLLECTIVE_RAGGED,
    COLLECTIVE_PERMUTE,
    COLLECTIVE_BROADCAST,
};
struct collective {
    enum collective_id id;
    const char *name;    /* XLA's: "all-gather" */
    const char *aliases; /* JAX's, separated by spaces: "all_gather" */
    const char *what;    /* one line for --help */
    const char *size;    /* what --size is: "the whole array" */
    /* Appends the collective to the program. The buffers that it works on are made here: "in" and, where the
     * result is not made in place, "out". Sends wait for `before`; `after` gets what waits for the end. */
    int (*build)(const struct collective_spec *spec, struct program *program, const struct front *before,
                 struct front *after, struct status *st);
    /* nccl-tests' bus bandwidth over algorithm bandwidth for a group of n. */
    double (*busbw_factor)(int n);
};

/* The table, ended by a row without a name; by XLA's or JAX's name (a failure names the nearest). */
extern const struct collective collectives[];
const struct collective *collective_by_name(const char *name, struct status *st);

/* Targets of a collective-permute, for every chip of the slice; `chip` is scratch of [chips].
 * permute_shift(): what is at position k over the axes listed, in the order listed, goes to position k +
 * offset. permute_pairs(): pairs of positions over the axes in the order of the mesh, as ppermute numbers
 * them; a chip that is no source sends nothing
 * (-1). Errors: numbers that are not there, a source or a target named twice. */
void permute_shift(const struct mesh *mesh, const struct axis_list *list, int offset, int32_t chip[],
                   int32_t target[]);
int permute_pairs(const struct mesh *mesh, const struct axis_list *list, const int32_t pair[][2], int pairs,
                  int32_t chip[], int32_t target[], struct status *st);

#endif
