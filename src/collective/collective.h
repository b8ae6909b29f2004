/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collective: the collectives, under XLA's and JAX's names, and the builders that write them as programs.
 *
 * A collective runs in every group of chips at the same time. A group walks one ring (one mesh axis, a list
 * of replica groups), or several at once: then the array is cut into parts, each of which takes the axes in
 * another cyclic order, so that all axes are busy all the time (E7). The schedules are those of the closed
 * forms (formula.h, E1 to E7): uni, bidi, bidi-half; a ring that does not close uses the line algorithm.
 *
 * A buffer is cut into N nearly equal chunks, larger ones first; every chip sends the bytes of the largest,
 * as SPMD programs pad. Within a group, chunks are in the order of ring positions.
 *
 * Collectives compose: build() appends to the ops that the program has already. All sends wait for one op,
 * `before`, and one op, `after`, ends when the collective has ended, so that the next collective or matmul
 * can wait for it:
 *
 *     int32_t op = -1;                                            the start of the program
 *     for (int layer = 0; layer < layers; layer++)
 *         c->build(&spec, &program, op, &op, &st);                one after the other
 *
 * To wait for several ops, join them with program_join_of() first. If nothing waits for a collective, pass
 * NULL for `after` and save the join.
 *
 * Numbers: each send names the pieces of the buffers that it moves. A collective makes its own buffers, "in"
 * and, if the result is not made in place, "out"; or it works on those of `buffers`, with the contents that
 * an earlier collective left there. A program that is only run for its time needs neither buffers nor
 * payloads: `timing_only` leaves them out.
 *
 * Units: elements, bytes, seconds. Errors: status.h. Ownership: everything pointed to is borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/mesh.h"
#include "machine/schedule.h"
#include "program/program.h"

/* Buffers of a program, cut as the collective needs them: left by another collective over the same rings of
 * the same kind, or made by the builder if below 0. `out` equals `in` if the result is made in place. A chip
 * sends as soon as its own `before` has ended, while its neighbours may still work on theirs: so a collective
 * that adds to a buffer needs one on which no earlier op can still be at work. */
struct collective_buffers {
    int32_t in, out;
};

/* A part of an array as a compiler cuts it: the order in which it takes the rings of a gather (a scatter goes
 * back to front), and its direction: +1 or -1, or 0 for the directions of the kind. */
struct collective_colour {
    int order[COLLECTIVE_RINGS];
    int sign;
};

/* The description of a collective. Zeroed fields are defaults; for a reduction COMBINE_COPY means
 * COMBINE_SUM. */
struct collective_spec {
    enum ring_kind kind;
    enum all_to_all all_to_all;
    /* Of all-gather, reduce-scatter, all-reduce; if not PATTERN_RINGS, `kind` is not used. */
    enum pattern pattern;
    int rings; /* 1 to 3 */
    const struct ring *ring[COLLECTIVE_RINGS];
    int64_t elements; /* of the whole array V: see size in icisim(1) */
    double elem_bytes;
    enum combine combine;
    double setup_s; /* of the first send of each chain */
    /* All-gather, reduce-scatter, all-reduce, broadcast over several rings: the share of the array, in
     * COLLECTIVE_SHARES-ths, whose gather starts with each ring of two chips or more; all 0: equal shares */
    int share[COLLECTIVE_RINGS];
    /* The same collectives. turned, over three rings: parts take the rings in the other cyclic order.
     * in_step, over two or three: no part begins a phase before all have ended the previous one, so that
     * parts never share a link (if rings have links of their own) */
    bool turned, in_step;
    /* All-gather, reduce-scatter, all-reduce: this number of equal parts instead, as given by colour[]; 0:
     * the rotated parts of the kind */
    int colours;
    struct collective_colour colour[COLLECTIVE_COLOURS];
    /* All-gather, reduce-scatter: do an all-reduce of the whole array instead, twice the bytes: a
     * reduce-scatter then takes its chunk of the result, and an all-gather contributes its chunk and zeros
     * elsewhere */
    bool as_all_reduce;
    bool keep_ties; /* direct and ragged all-to-all: ties go in + direction, unsplit */
    int root;       /* broadcast: index in the group */
    /* collective-permute: the chip that each chip sends to, or -1; the number of link-disjoint routes that
     * share the bytes */
    const int32_t *target;
    int routes;
    /* ragged all-to-all: elements from position i to position j of a group, [n][n]; or from chip to chip, [chips][chips] of the
     * slice, where groups differ */
    const int64_t *pair_elements;
    bool pairs_of_chips;
    /* The name of its stage in reports. NULL: "all-gather.3", if it is the third stage. */
    const char *name;
    /* The buffers to use; those below 0 are made and filled in. NULL: it makes its own. */
    struct collective_buffers *buffers;
    bool timing_only; /* no buffers, no payloads */
    /* With timing_only: lines of more than two chips that are not closed (uni) are walked as if they had no ends. Every chip
     * then sends in every step, as the one at an end does, so that chips are alike; its op says what is in excess. All rings
     * have a step_delta, and lines lie along parts of axes that wrap. */
    bool endless;
    /* Several rings: stages are only the numbers of the rings with which the parts of their ops start */
    bool stages_are_parts;
};

/* Appends the collective to the program. Its sends wait for the op `before`, unless that is negative. *after
 * becomes the op that ends when the collective has ended (`before` itself if a group is a single chip and
 * nothing is sent); `after` may be NULL. */
typedef int collective_builder(const struct collective_spec *spec, struct program *program, int32_t before,
                               int32_t *after, struct status *st);

/* One row of the table. */
struct collective {
    enum collective_id id;
    const char *name;    /* XLA's: "all-gather" */
    const char *aliases; /* JAX's name and other spellings, separated by spaces: "all_gather allgather" */
    const char *what;    /* one line for --help */
    const char *size;    /* meaning of --size: "the whole array" */
    /* The fields of the spec that it uses: the kind of ring (or the algorithm, which may need one), the
     * targets, the sizes of pairs. */
    bool uses_ring, has_algorithms, has_targets, has_pair_sizes;
    /* The option that `compare` varies, and its values. */
    const char *variants, *variant_values;
    /* The definitions of nccl-tests (its doc/PERFORMANCE.md): does algorithm bandwidth count the data of one
     * chip? And the factor of bus bandwidth in units of (n - 1)/n; 0 if it equals algorithm bandwidth. */
    bool counts_one_chip;
    int busbw_rounds;
    collective_builder *build;
};

/* The table, which ends with a row without a name; a row by its id; a row by XLA's or JAX's name (the error
 * names the nearest ones). */
extern const struct collective collectives[];
const struct collective *collective_of(enum collective_id id);
const struct collective *collective_by_name(const char *name, struct status *st);

/* All-gathers, reduce-scatters and all-reduces cut the array into parts, each of which starts with another
 * ring. Rings of different lengths, and lines, do not carry equal loads, so parts have shares that add up to
 * COLLECTIVE_SHARES. */
enum { COLLECTIVE_SHARES = 64 };
/* A lower bound, in seconds, of a collective that uses_ring with its best shares, as if no link were slow (share_bound.h: where rings
 * share links it is not proven); *links_s
 * is how long it uses links, averaged over the chips. */
double collective_least_s(const struct collective *collective, const struct slice *slice,
                          const struct collective_spec *spec, double *links_s);
/* Simulated time of a collective alone on the slice, by the fastest engine. */
int collective_time(const struct collective *collective, const struct slice *slice,
                    const struct collective_spec *spec, double *time_s, struct status *st);
/* Can shares make a difference: is the array cut, and are the rings or the links different? */
bool collective_has_shares(const struct collective *collective, const struct slice *slice,
                           const struct collective_spec *spec);
/* Sets the shares, `turned` and `in_step` that make a spec fastest, alone on the slice; all 0 if nothing
 * faster than equal shares is found (share.c). *time_s becomes its simulated time; `time_s` may be NULL. */
int collective_best_share(const struct collective *collective, const struct slice *slice,
                          struct collective_spec *spec, double *time_s, struct status *st);

/* Sets the kind of ring, or the pattern, and the shares that make a spec fastest on its rings, alone
 * (best.c). */
int collective_best(const struct collective *collective, const struct slice *slice,
                    struct collective_spec *spec, double *time_s, struct status *st);

/* Copies the result of collective_best() to another spec: kind, pattern, shares. */
void collective_go_like(const struct collective_spec *found, struct collective_spec *spec);

/* The algorithms of a collective that has several, one row each. */
struct collective_algorithm {
    const char *name;
    enum collective_id of;
    bool uses_ring;
    collective_builder *build;
};
extern const struct collective_algorithm collective_algorithms[ALL_TO_ALLS];
const char *all_to_all_name(enum all_to_all algorithm);

/* pattern_name(): "single-phase" and so on. collective_has_pattern(): does a collective have this pattern? */
const char *pattern_name(enum pattern pattern);
bool collective_has_pattern(const struct collective *collective, enum pattern pattern);

/* collective_is_twisted(): does it run over all chips of a twisted torus, with one ring for each axis?
 * collective_has_turns(): do gathers and reductions then have special rings (turns.c)? collective_turns():
 * the lengths n of these rings for the part that starts with ring `first`. */
bool collective_is_twisted(const struct collective_spec *spec);
bool collective_has_turns(const struct collective_spec *spec);
void collective_turns(const struct collective_spec *spec, const struct slice *slice, int first,
                      int n[static COLLECTIVE_RINGS]);

/* Targets of a collective-permute, for every chip of the slice; -1 for chips outside the mesh. `chip` is scratch
 * of [chips]. permute_shift(): the chip at position k over the listed axes, in the order listed, sends to
 * position k + offset. permute_pairs(): pairs of positions over the axes in the order of the mesh, as ppermute
 * numbers them; a chip that is not a source sends nothing (-1). Errors: positions that do not exist, a source
 * or a target named twice. */
void permute_shift(const struct mesh *mesh, const struct axis_list *list, int offset, int32_t chip[],
                   int32_t target[]);
int permute_pairs(const struct mesh *mesh, const struct axis_list *list, const int32_t pair[][2], int pairs,
                  int32_t chip[], int32_t target[], struct status *st);
