/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collective: the collectives, under XLA's and JAX's names, and the builders that write them as programs.
 *
 * A collective runs in every group of chips at the same time. Its group walks one ring (one mesh axis, a list
 * of replica groups), or several at once: then the array is cut into parts, each of which walks the axes in
 * another cyclic order, so that all axes work all the time (E7). The schedules are those of the closed
 * forms (formula.h, E1 to E7): uni, bidi, bidi-half; a ring that does not close uses the line algorithm.
 *
 * A buffer of N chunks is cut into N nearly equal ones, larger ones first; every chip pays for the largest,
 * as SPMD programs pad. Within a group chunks stand in the order of ring positions.
 *
 * Collectives compose: build() appends to whatever the program holds already. Its sends wait for one op, `before`,
 * and one op, `after`, says when all of it has ended, so that the next collective or product waits for that:
 *
 *     int32_t op = -1;                                            the start of the program
 *     for (int layer = 0; layer < layers; layer++)
 *         c->build(&spec, &program, op, &op, &st);                one after the other
 *
 * Several things to wait for are joined by program_join_of() first. What nobody waits for is built with a NULL
 * `after`, and costs no join.
 *
 * Numbers: each send says which pieces of which buffer it moves. A collective makes the buffers that it works on,
 * "in" and, where the result is not made in place, "out"; or it works on those of `buffers`, and so on what an
 * earlier collective left there. A program that is run for its time alone needs neither: `timing_only` leaves
 * buffers and payloads out.
 *
 * Units: elements, bytes, seconds. Errors: status.h. Ownership: everything pointed to is borrowed.
 */
#ifndef ICISIM_COLLECTIVE_H
#define ICISIM_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "machine/mesh.h"
#include "machine/schedule.h"
#include "program/program.h"

/* Buffers of a program, cut as the collective needs them: as another one over the same rings of the same kind has left
 * them, or as collective_buffer() has made them. `out` is `in` where the result is made in place. A chip sends as soon as
 * its own `before` has ended, when its neighbours may still be at work on theirs: what adds to a buffer needs one on
 * which nothing before it may still be at work. */
struct collective_buffers {
    int32_t in, out;
};

/* A part of an array as a compiler has cut it: the order in which it gathers its rings (a scatter goes back to front), and +1 or -1
 * where it goes one way round only, 0 as the kind says. */
struct collective_colour {
    int order[COLLECTIVE_RINGS];
    int sign;
};

/* What a collective is to do. Zeroed fields are defaults: COMBINE_COPY is taken as COMBINE_SUM where it
 * reduces. */
struct collective_spec {
    enum ring_kind kind;
    enum all_to_all all_to_all;
    enum pattern
        pattern; /* of all-gather, reduce-scatter, all-reduce, if not PATTERN_RINGS; then `kind` does not count */
    int rings; /* 1 to 3 */
    const struct ring *ring[COLLECTIVE_RINGS];
    int64_t elements; /* of the whole array V: see size in icisim(1) */
    double elem_bytes;
    enum combine combine;
    double setup_s; /* of the first send of each chain */
    /* All-gather, reduce-scatter, all-reduce, broadcast over several rings: how many COLLECTIVE_SHARES-ths of the array start, gathering,
     * with each ring of two chips or more; all 0: equal ones */
    int share[COLLECTIVE_RINGS];
    /* The same over three rings: parts walk them the other way round; and over two or three: no part is a phase ahead of another, so
     * that none shares a link with another, where rings are walked by links of their own */
    bool turned, in_step;
    /* All-gather, reduce-scatter, all-reduce: so many equal parts instead, each as it says; 0: those of the kind, rotated */
    int colours;
    struct collective_colour colour[COLLECTIVE_COLOURS];
    /* All-gather, reduce-scatter: an all-reduce of the whole array instead, of which a chip takes its chunk, or to which it gives its
     * own and else zeros: twice the bytes */
    bool as_all_reduce;
    bool keep_ties; /* direct and ragged all-to-all: ties go by + whole and are not split */
    int root;       /* broadcast: index in the group */
    /* collective-permute: the chip that each chip sends to, or -1; how many link-disjoint routes share it */
    const int32_t *target;
    int routes;
    /* ragged all-to-all: elements from position i to position j of a group, [n][n]; or from chip to chip, [chips][chips] of the
     * slice, where groups differ */
    const int64_t *pair_elements;
    bool pairs_of_chips;
    /* What its part of the program is called: the stage, in reports. NULL: "all-gather.3", if it is the third. */
    const char *name;
    /* To work on, or NULL: those below 0 are made and filled in. */
    struct collective_buffers *buffers;
    bool timing_only; /* no buffers, no payloads */
};

/* Appends the collective to the program. Sends wait for the op `before`, if it is not negative. `after` gets the op
 * that ends when all have ended (`before`, where a group is a single chip and nothing is sent), or is NULL where
 * nobody needs it. */
typedef int collective_builder(const struct collective_spec *spec, struct program *program, int32_t before,
                               int32_t *after, struct status *st);

/* One row of the table. */
struct collective {
    enum collective_id id;
    const char *name;    /* XLA's: "all-gather" */
    const char *aliases; /* JAX's and how others spell it, with spaces between: "all_gather allgather" */
    const char *what;    /* one line for --help */
    const char *size;    /* what --size is: "the whole array" */
    /* What its spec has to say: a kind of ring (or an algorithm, which may need one), whom each chip sends to, how much
     * each pair moves. */
    bool uses_ring, has_algorithms, has_targets, has_pair_sizes;
    /* The option whose values are worth putting side by side, and which values. */
    const char *variants, *variant_values;
    /* As nccl-tests has them (doc/PERFORMANCE.md there): is it the data of one chip that algorithm bandwidth counts; and how many
     * rounds bus bandwidth counts, of (n - 1)/n of them: 0 where it is algorithm bandwidth. */
    bool counts_one_chip;
    int busbw_rounds;
    collective_builder *build;
};

/* The table, ended by a row without a name; by its id; by XLA's or JAX's name (a failure names the nearest). */
extern const struct collective collectives[];
const struct collective *collective_of(enum collective_id id);
const struct collective *collective_by_name(const char *name, struct status *st);
/* Bus bandwidth over algorithm bandwidth, for a group of n. */
double collective_busbw_factor(const struct collective *collective, int n);

/* An all-gather, a reduce-scatter or an all-reduce cuts its array into parts, one for each ring to start with: rings of other
 * lengths, and lines, do not carry alike, so parts have shares, of COLLECTIVE_SHARES in all. */
enum { COLLECTIVE_SHARES = 64 };
/* What a collective that uses_ring takes at least, in seconds, however it is cut: what its steps take that follow each other; and
 * `links_s`, what its busiest link takes. */
double collective_least_s(const struct collective *collective, const struct slice *slice,
                          const struct collective_spec *spec, double *links_s);
/* What a collective takes on the slice, alone, by the fastest engine. */
int collective_time(const struct collective *collective, const struct slice *slice,
                    const struct collective_spec *spec, double *time_s, struct status *st);
/* Is there a choice: an array that is cut, and rings, or links, that are not alike? */
bool collective_has_shares(const struct collective *collective, const struct slice *slice,
                           const struct collective_spec *spec);
/* Gives a spec the shares by which it is fastest on the slice, alone, and whether it is turned and in step: all 0 where none are
 * found that are faster than equal ones (share.c). `time_s` gets what it takes then, simulated; NULL: nobody asks. */
int collective_best_share(const struct collective *collective, const struct slice *slice,
                          struct collective_spec *spec, double *time_s, struct status *st);

/* Gives a spec the kind of ring, or the pattern, and the shares by which it is fastest on its rings, alone (best.c). */
int collective_best(const struct collective *collective, const struct slice *slice,
                    struct collective_spec *spec, double *time_s, struct status *st);

/* Gives a spec what the search found for another one: kind, pattern, shares. */
void collective_go_like(const struct collective_spec *found, struct collective_spec *spec);

/* How a collective may be done where there is a choice, a row each. */
struct collective_algorithm {
    const char *name;
    enum collective_id of;
    bool uses_ring;
    collective_builder *build;
};
extern const struct collective_algorithm collective_algorithms[ALL_TO_ALLS];
const char *all_to_all_name(enum all_to_all algorithm);

/* "single-phase", and so on; and does a collective have it? */
const char *pattern_name(enum pattern pattern);
bool collective_has_pattern(const struct collective *collective, enum pattern pattern);

/* Does it run over all chips of a twisted torus, an axis each ring? Have gathers and reductions rings of their own there (turns.c)? Then the
 * lengths of those of the part that starts with a ring. */
bool collective_is_twisted(const struct collective_spec *spec);
bool collective_has_turns(const struct collective_spec *spec);
void collective_turns(const struct collective_spec *spec, const struct slice *slice, int first,
                      int n[static COLLECTIVE_RINGS]);

/* A buffer for all-gathers, reduce-scatters and all-reduces: a matrix whose rows, or columns, are cut into chunks (a dim
 * for each ring of two chips or more, and one for the parts that walk the rings in different orders). */
int32_t collective_buffer(const struct collective_spec *spec, struct program *program, const char *name,
                          int64_t rows, int64_t cols, bool by_cols);

/* Targets of a collective-permute, for every chip of the slice, -1 for those out of the mesh; `chip` is scratch of [chips].
 * permute_shift(): what is at position k over the axes listed, in the order listed, goes to position k +
 * offset. permute_pairs(): pairs of positions over the axes in the order of the mesh, as ppermute numbers
 * them; a chip that is no source sends nothing
 * (-1). Errors: numbers that are not there, a source or a target named twice. */
void permute_shift(const struct mesh *mesh, const struct axis_list *list, int offset, int32_t chip[],
                   int32_t target[]);
int permute_pairs(const struct mesh *mesh, const struct axis_list *list, const int32_t pair[][2], int pairs,
                  int32_t chip[], int32_t target[], struct status *st);

#endif
