/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to compile/. */
/*
 * loop: one collective and the products that overlap with it, as the steps of an unrolled loop. Shared by
 * overlap.c and the writers.
 *
 * Pieces are numbered by positions of the group. A device has a place on the ring; piece k + offset belongs
 * to the device `offset` places further on. `slot` maps places to pieces, which differs between groups if
 * dead links break their rings at different places.
 */
#pragma once

#include "compile/pass.h"
#include "hlo/builder.h"
#include "hlo/edit.h"

enum loop_kind { LOOP_NONE, LOOP_GATHER, LOOP_SCATTER, LOOP_REDUCE };
enum { LOOP_DOTS = 4, LOOP_LEGS = 2, LOOP_CHUNKS = 2 };

enum { LOOP_GONE = -2 }; /* a product that nothing uses */

/* The role of the gathered or scattered dim in a product. */
enum dim_role { ROLE_BATCH, ROLE_CONTRACTED, ROLE_FREE };
struct loop_dot {
    int32_t dot;        /* in the old module */
    int side;           /* the operand that is gathered, or whose pieces a scatter takes */
    enum dim_role role; /* of dim `dim` of that operand ... */
    int dim;
    int other_dim; /* ... in the other operand (batch, contracted), -1 ... */
    int out_dim;   /* ... and in the result (batch, free), -1 */
};

/* Permutes in one direction: `steps` steps by + or by -, of whole pieces (half -1) or of one half. */
struct loop_leg {
    int sign, steps, half;
};

struct loop {
    enum loop_kind kind;
    enum overlap_way way;
    int32_t collective;
    int dots;
    struct loop_dot dot[LOOP_DOTS]; /* in the order of the text: the loop replaces the first */
    struct groups ring;             /* devices in the ring's order */
    bool closed, straight, alike;   /* straight: piece k is at place k; alike: the same slots in all groups */
    bool repeats;                   /* its bodies are those of an earlier loop */
    int *slot;                      /* [groups][n] piece of each place */
    bool shares; /* the ring and its slots are those of an earlier loop, which frees them */
    int legs;
    struct loop_leg leg[LOOP_LEGS];
    int64_t piece, half[2]; /* elements of the dim */
};

/* A product of a step: of the pieces that have arrived, or that are sent next. Chunks are a whole piece, or
 * the halves of two different ones, which are multiplied as one. */
struct loop_chunk {
    int leg;
    int offset; /* the place of its piece */
    int half;   /* 0, 1; -1: whole */
};
struct loop_product {
    struct loop_chunk chunk[LOOP_CHUNKS];
    int chunks;
    bool accumulates;
    int first, last; /* only devices at these places of the ring multiply */
};

/* A computation that loops call, shared by all equal calls. */
enum body_kind {
    BODY_STEP,  /* the product of a step */
    BODY_CALLS, /* takes the operands of `inner` as a tuple and runs it: the branch of participating devices */
    BODY_KEEPS, /* returns its input: the branch of the others in a gather */
    BODY_ZEROS  /* returns zeros: the same in a scatter */
};
struct body {
    enum body_kind kind;
    const struct loop *loop;
    const struct loop_dot *dot;
    int chunks, half[LOOP_CHUNKS];
    bool accumulates;    /* a gather's adds to its result, a scatter's is added to what came */
    int32_t inner;       /* of BODY_CALLS: a body */
    int32_t computation; /* in the new module, once built */
};

/* A permute by a leg's sign: start, and done. It is issued by its data, and after the start `before` (-1:
 * none). Only devices at places `first` to `last` send. */
struct loop_send {
    int sign, first, last;
    int32_t before;
};
/* Permutes have the same pairs if they go by the same sign along the same ring, from the same places. */
struct loop_sent {
    const int *ring;
    struct loop_send send;
    int32_t permute;
};

struct overlap {
    struct edit edit;
    const struct overlap_options *options;
    struct builder b; /* on the new module */
    const struct module *from;
    struct loop *loop;
    int loops;
    int32_t *loop_of; /* [instructions] of the entry: the loop that contains it, -1; or LOOP_GONE */
    struct body *body;
    int32_t bodies, room;
    struct loop_sent *sent;
    int32_t sends, send_room;
    int32_t self;                /* partition-id in the entry, -1 before it is added */
    int step;                    /* of the loop that is being written */
    int32_t scalar[DTYPE_COUNT]; /* loop_scalar_shape(), -1 before it is made */
    struct status *st;
};

/* Is it a line without a link between its ends? */
static inline bool loop_is_line(const struct loop *loop)
{
    return !loop->closed && loop->way != OVERLAP_UNI;
}
/* The entry of its groups. */
static inline int64_t loop_groups(const struct overlap *o, const struct loop *loop)
{
    return module_number(o->from, loop->collective, ATTR_REPLICA_GROUPS, -1);
}
bool loop_is_xla(const struct overlap *o, const struct loop *loop);      /* do its sums move first? */
bool loop_is_windowed(const struct overlap *o, const struct loop *loop); /* both ways, as XLA writes it? */
bool loop_is_chunked(const struct overlap *o, const struct loop *loop);  /* no loop: reduced chunk by chunk */

/* The products of step t; returns their number. */
int loop_products(const struct overlap *o, const struct loop *loop, int t,
                  struct loop_product product[LOOP_LEGS]);

/* Has an earlier loop the same bodies? */
bool loop_repeats(const struct overlap *o, const struct loop *loop);
/* Finds or adds a body; returns its index. It is built when the entry is rewritten. */
int32_t loop_body(struct overlap *o, const struct body *wanted);
/* Builds all bodies in the new module. */
void loop_build_bodies(struct overlap *o);

/* The shape of scalars that index tables; they are not in HBM: u32[]{:S(6)}. */
int32_t loop_scalar_shape(struct overlap *o, enum dtype_id dtype);
int32_t loop_offset(struct overlap *o, int64_t offset); /* a constant */

/* Sets the legs of a loop, from its direction and ring. */
void loop_legs(struct loop *loop);
int loop_last_step(const struct loop *loop);

/* The product of a gather, of the pieces value[legs]: returns the accumulator. Devices that do not multiply
 * keep their value. */
int32_t loop_gather_product(struct overlap *o, const struct loop *loop, const struct loop_dot *dot,
                            const struct loop_product *product, const int32_t value[], int32_t accumulator);
/* The product of a scatter: partial[chunks]. Devices that do not multiply get zeros. If it accumulates, the
 * received sum is added later (loop_add), but reading it is charged to the product. */
void loop_scatter_product(struct overlap *o, const struct loop *loop, const struct loop_dot *dot,
                          const struct loop_product *product, int32_t partial[]);
int32_t loop_add(struct overlap *o, int32_t came, int32_t partial);

/* Adds the label {hbm_bytes="0"} to the instructions after the first `before`, one or none: parts of arrays
 * that are read or written in place, by permutes and products that pay for it. Returns `value`. */
int32_t loop_in_place(struct overlap *o, int32_t before, int32_t value);

/* Copies the labels of an old instruction to the one added last, with loop and step. */
void loop_label(struct overlap *o, const struct loop *loop, int32_t old);

/* The shape of an old value with one dim of another size (-1: none); zeros in it. */
int32_t loop_shape(struct overlap *o, int32_t old, int dim, int64_t size);
int32_t loop_zeros(struct overlap *o, int32_t old, int dim, int64_t size);

int32_t loop_permute(struct overlap *o, const struct loop *loop, int32_t value, struct loop_send send);
int32_t loop_arrived(struct overlap *o, int32_t start);

void loop_write(struct overlap *o, const struct loop *loop);
