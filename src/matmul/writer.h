/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * writer: what the builders of matmul programs share. A tensor is followed from buffer to buffer: each move and each
 * product wants it cut in its own way, so it is placed in a buffer made for that. A first placing is where its data
 * is loaded; later ones copy it on the chip, which takes no time.
 */
#ifndef WRITER_H
#define WRITER_H

#include "collective/walk.h"
#include "matmul/matmul.h"

struct writer {
    const struct matmul_options *options;
    const struct mesh *mesh;
    struct program *program;
    struct matmul_build *build;
    int32_t members; /* mask of the mesh's chips */
    int32_t copies;  /* the stage of copies on the chip, or -1 */
    struct status *st;
};

struct tensor {
    enum dtype_id dtype;
    int64_t len[2]; /* rows and columns on a chip */
    int operand;    /* index of an operand that is not in the program yet, or -1 */
    struct matmul_place place;
    int32_t ready; /* it is there when this op has ended; -1: from the start */
};

/* A cut along one dim of a matrix into the pieces of a ring, and into halves for bidi-half; n == 1 is none. */
struct cut {
    int dim, n, halves;
    const struct ring *ring; /* pieces stand in the order of its positions, or NULL */
};

/* A ring over mesh axes: one through all of them for loops; or the rings along each, for collectives. */
const struct ring *writer_ring_through(struct writer *w, const struct axis_list *axes);
int writer_rings_along(struct writer *w, const struct axis_list *axes,
                       const struct ring *ring[COLLECTIVE_RINGS]);

/* A buffer for a tensor with a cut, and the view of all of it. */
struct view writer_buffer(struct writer *w, const char *name, const struct tensor *tensor,
                          const struct cut *cut);

/* The product on each chip, which is nowhere yet. */
struct tensor writer_product(const struct matmul_product *p);

/* Puts a tensor where `own` says: loads it there, or copies it. */
void writer_place(struct writer *w, struct tensor *tensor, struct view own, const struct ring *const cut[2]);

/* Appends a matmul of the views, out += left . right, of so many seconds; waits are the caller's. */
int32_t writer_matmul(struct writer *w, int32_t stage, int step, int32_t where, double seconds,
                      struct view left, struct view right, struct view out);

/* The overlapped loops of one product; `move` is the one that is decomposed. Returns the product. */
struct tensor writer_gather_loop(struct writer *w, const struct matmul_product *p,
                                 const struct matmul_move *move, struct tensor *left, struct tensor *right);
struct tensor writer_scatter_loop(struct writer *w, const struct matmul_product *p,
                                  const struct matmul_move *move, struct tensor *left, struct tensor *right);
struct tensor writer_reduce_chunks(struct writer *w, const struct matmul_product *p,
                                   const struct matmul_move *move, struct tensor *left, struct tensor *right);

/* A collective on a tensor, not decomposed. */
void writer_collective(struct writer *w, const struct matmul_move *move, enum ring_kind kind,
                       struct tensor *tensor);

#endif
