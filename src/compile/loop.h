/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to compile/. */
/*
 * loop: one collective and the products beside it, as the steps of an unrolled loop. What overlap.c and the writers share.
 *
 * Pieces are numbered by positions of the group. A device stands at some place of the ring; piece k + offset is that of the
 * device `offset` places on, and `slot` says which piece that is: in another group another one, where dead links break rings
 * at different places.
 */
#ifndef LOOP_H
#define LOOP_H

#include "compile/pass.h"
#include "hlo/builder.h"
#include "hlo/edit.h"

enum loop_kind { LOOP_NONE, LOOP_GATHER, LOOP_SCATTER, LOOP_REDUCE };
enum { LOOP_DOTS = 4, LOOP_LEGS = 2, LOOP_CHUNKS = 2 };

/* What the gathered or scattered dim is in a product. */
enum dim_role { ROLE_BATCH, ROLE_CONTRACTED, ROLE_FREE };
struct loop_dot {
    int32_t dot;        /* in the old module */
    int side;           /* the operand that is gathered, or that a scatter takes pieces of */
    enum dim_role role; /* of dim `dim` of that operand ... */
    int dim;
    int other_dim; /* ... in the other operand (batch, contracted), -1 ... */
    int out_dim;   /* ... and in the result (batch, free), -1 */
};

/* Permutes one way round: so many steps by + or by -, of whole pieces (half -1) or of one half. */
struct loop_leg {
    int sign, steps, half;
};

struct loop {
    enum loop_kind kind;
    enum overlap_way way;
    int32_t collective;
    int dots;
    struct loop_dot dot[LOOP_DOTS];
    struct groups ring;           /* devices in the ring's order */
    bool closed, straight, alike; /* straight: piece k is at place k; alike: in all groups the same is */
    int *slot;                    /* [groups][n] piece of each place */
    int legs;
    struct loop_leg leg[LOOP_LEGS];
    int64_t piece, half[2]; /* elements of the dim */
};

/* A product of a step: of the pieces that are there, or of those that are due. Chunks are a whole piece, or the halves of
 * two different ones, which are multiplied as one. */
struct loop_chunk {
    int leg;
    int offset; /* whose piece it is */
    int half;   /* 0, 1; -1: whole */
};
struct loop_product {
    struct loop_chunk chunk[LOOP_CHUNKS];
    int chunks;
    bool accumulates;
    int first, last; /* only devices at these places of the ring multiply */
};

/* A computation that loops call, one for all that are alike. */
enum body_kind {
    BODY_STEP,  /* the product of a step */
    BODY_CALLS, /* takes the operands of `inner` as a tuple, and runs it: the branch of those that take part */
    BODY_KEEPS, /* returns what it is given: the branch of the others in a gather */
    BODY_ZEROS  /* returns zeros: in a scatter */
};
struct body {
    enum body_kind kind;
    const struct loop *loop;
    const struct loop_dot *dot;
    int chunks, half[LOOP_CHUNKS];
    bool accumulates;
    double hbm_bytes;    /* of a scatter; 0: as it follows from its instructions */
    int32_t inner;       /* of BODY_CALLS: a body */
    int32_t computation; /* in the new module, once it is built */
};

struct overlap {
    struct edit edit;
    const struct overlap_options *options;
    struct builder b; /* on the new module */
    const struct module *from;
    struct loop *loop;
    int loops;
    int32_t *loop_of; /* [instructions]: the loop of which an instruction of the entry is a part, -1 */
    struct body *body;
    int32_t bodies, room;
    int32_t self;                /* partition-id in the entry, -1 while there is none */
    int step;                    /* of the loop that is being written */
    int32_t scalar[DTYPE_COUNT]; /* loop_scalar_shape(), -1 before it is asked */
    struct status *st;
};

/* On a line, with nothing between its ends? */
static inline bool loop_is_line(const struct loop *loop)
{
    return !loop->closed && loop->way != OVERLAP_UNI;
}
bool loop_is_xla(const struct overlap *o, const struct loop *loop);      /* do its sums move first? */
bool loop_is_windowed(const struct overlap *o, const struct loop *loop); /* both ways, as XLA writes it? */
bool loop_is_chunked(const struct overlap *o, const struct loop *loop);  /* no loop: reduced chunk by chunk */

/* What is multiplied at a step; returns how many products. */
int loop_products(const struct overlap *o, const struct loop *loop, int t,
                  struct loop_product product[LOOP_LEGS]);

/* A body by what it is; its index. It is built when the entry is written anew. */
int32_t loop_body(struct overlap *o, const struct body *wanted);
/* Builds them all in the new module. */
void loop_build_bodies(struct overlap *o);

/* Scalars that tables are looked up with are not in HBM: u32[]{:S(6)}. */
int32_t loop_scalar_shape(struct overlap *o, enum dtype_id dtype);
int32_t loop_offset(struct overlap *o, int64_t offset); /* a constant */

/* Which legs a loop has, from its way and ring. */
void loop_legs(struct loop *loop);
int loop_last_step(const struct loop *loop);

/* Of a gather, of the pieces value[legs]: returns the accumulator. Devices that do not multiply keep what they have. */
int32_t loop_gather_product(struct overlap *o, const struct loop *loop, const struct loop_dot *dot,
                            const struct loop_product *product, const int32_t value[], int32_t accumulator);
/* Of a scatter: partial[chunks]. Devices that do not multiply get zeros. Where it accumulates, what came is added to it later
 * (loop_add), but it is the product that pays for reading it. */
void loop_scatter_product(struct overlap *o, const struct loop *loop, const struct loop_dot *dot,
                          const struct loop_product *product, int32_t partial[]);
int32_t loop_add(struct overlap *o, int32_t came, int32_t partial);

/* The label {hbm_bytes="0"} for what has been added since there were `before` instructions, one or none: parts of arrays
 * that are only read or written where they lie, by permutes and products that pay for it. Returns `value`. */
int32_t loop_in_place(struct overlap *o, int32_t before, int32_t value);

/* Labels the instruction that was added last as an old one is, and with loop and step. */
void loop_label(struct overlap *o, const struct loop *loop, int32_t old);

/* The shape of an old value with one dim of another size (-1: none); zeros in it. */
int32_t loop_shape(struct overlap *o, int32_t old, int dim, int64_t size);
int32_t loop_zeros(struct overlap *o, int32_t old, int dim, int64_t size);

/* A permute by a leg's sign: start, and done. It is issued by its data, and after the start `before`, -1: none. Only devices at
 * the places `first` to `last` send. */
struct loop_send {
    int sign, first, last;
    int32_t before;
};
int32_t loop_permute(struct overlap *o, const struct loop *loop, int32_t value, struct loop_send send);
int32_t loop_arrived(struct overlap *o, int32_t start);

void loop_write(struct overlap *o, const struct loop *loop);

#endif
