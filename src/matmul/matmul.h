/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * matmul: sharded matrix products in JAX's notation, the communication that they need, and the programs that
 * overlap the two.
 *
 *     int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]
 *     In[B@X,D@Y] . Win[D,F@Y] . Wout[F@Y,D] -> Out[B@X,D@Y]          with dims "B=1024,D=2048,F=8192"
 *
 * A dim is a size, a name, or both (B=1024), and the mesh axes that shard it. From the shardings follows what
 * must be communicated (the four cases of "How to Scale Your Model", sharding): a contracting dim sharded on
 * one side only is gathered; on both sides alike, every chip has a partial sum, which is reduced, and
 * scattered where the output asks for it; an operand's dim that the output does not shard alike is gathered.
 *
 * Strategies: `naive` does the collective, then the matmul, or the reverse. The others decompose one collective
 * of each product into permutes round a ring, and multiply what is there while the next piece is on its way:
 *
 *   gather loop    the operand rotates; each step multiplies the piece that came last
 *   scatter loop   the accumulator rotates; each step multiplies what it needs next and adds what came
 *   all-reduce     a scatter loop, then an all-gather; or the output in chunks, each reduced while the next is
 *                  multiplied
 *
 * `uni` rotates one way, `bidi` whole pieces both ways, `bidi-half` halves both ways; where the ring does not
 * close, `uni` closes it over the reverse links and the other two use the line algorithm.
 *
 * Types may differ (int8 . int8 -> int32): what is gathered travels in its own type, sums in that of the output. The
 * product in the middle of a chain has the wider type of its operands.
 *
 * Units: in the names. Errors: status.h. Ownership: the caller's structs, freed where a _free() is given.
 */
#ifndef ICISIM_MATMUL_H
#define ICISIM_MATMUL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "collective/collective.h"
#include "fabric/chip.h"
#include "fabric/mesh.h"
#include "fabric/roofline.h"
#include "notation/axes.h"
#include "notation/expr.h"
#include "program/program.h"

enum { MATMUL_TEXT = 512 };

/* What is communicated for one product, in the order in which it happens. */
enum matmul_move_kind { MOVE_GATHER_LEFT, MOVE_GATHER_RIGHT, MOVE_SCATTER, MOVE_REDUCE, MOVE_GATHER_OUT };
enum collective_id matmul_move_op(enum matmul_move_kind kind);
struct matmul_move {
    enum matmul_move_kind kind;
    int dim; /* of the tensor that moves: 0 rows, 1 columns; MOVE_REDUCE: 0 */
    struct axis_list axes;
};
enum { MATMUL_MOVES = 6 };
struct matmul_product {
    struct expr_tensor left, right, out;
    struct expr_dim done[2]; /* how the output is sharded when the product itself is done */
    int moves;
    struct matmul_move move[MATMUL_MOVES];
    int overlap;     /* the move that loops decompose, or -1 */
    int64_t m, k, n; /* of the product on one chip */
};
/* The tensor that is moved, of whose type its bytes are. */
const struct expr_tensor *matmul_moved(const struct matmul_product *p, enum matmul_move_kind kind);

struct matmul_plan {
    int products;
    int ambiguous; /* the product whose output sharding is missing, when that is why matmul_infer() failed; or -1 */
    struct matmul_product product[EXPR_OPERANDS - 1];
};

/* Infers the plan. Without an output sharding where contracting dims are sharded, it is refused as JAX does.
 * Errors: shardings that no collective of ours leads to. */
int matmul_infer(const struct expr *expr, const struct axes *axes, struct matmul_plan *plan,
                 struct status *st);

/* "all-gather left columns over Y, then multiply 512x2048 . 2048x2048": one product, for people. */
char *matmul_explain(const struct matmul_product *product, const struct axes *axes,
                     char text[static MATMUL_TEXT]);

/* What a product of m x k by k x n takes on one chip, in the types of `p` and at the rate of the wider type of its
 * operands (roofline.h), whose peak is known to be there. Accumulating reads the output too. */
enum dtype_id matmul_rate(const struct matmul_product *p);
double matmul_cost_s(const struct roofline *roofline, const struct matmul_product *p, double m, double k,
                     double n, bool accumulate);

/* The least that it takes, as one op or cut into several: where smaller products reach a larger share of the peak, parts
 * of it may. */
double matmul_least_s(const struct roofline *roofline, const struct matmul_product *p);

enum matmul_strategy {
    STRATEGY_NAIVE,
    STRATEGY_UNI,
    STRATEGY_BIDI,
    STRATEGY_BIDI_HALF,
    STRATEGY_AUTO, /* simulate all, take the best: not a program of its own */
    STRATEGIES
};
const char *matmul_strategy_name(enum matmul_strategy strategy);
int matmul_strategy_by_name(const char *name, struct status *st);

/* How all-reduces overlap, and how XLA writes the loop of a reduce-scatter. */
enum { MATMUL_CHUNKS = 256 };
enum matmul_reduce { REDUCE_SCATTER_GATHER, REDUCE_CHUNKS, REDUCES };
const char *matmul_reduce_name(enum matmul_reduce reduce);
int matmul_reduce_by_name(const char *name, struct status *st);

enum matmul_loop { LOOP_UNROLLED, LOOP_XLA, LOOPS };
const char *matmul_loop_name(enum matmul_loop loop);
int matmul_loop_by_name(const char *name, struct status *st);

struct matmul_options {
    enum matmul_strategy strategy;
    enum ring_kind kind; /* of the collectives that are not decomposed */
    enum matmul_reduce reduce;
    int chunks;            /* of REDUCE_CHUNKS, 1 to MATMUL_CHUNKS */
    enum matmul_loop loop; /* of a uni scatter loop: N-1 permutes, or N, the first of zeros, as XLA has it */
    double setup_s;        /* of each collective, and of each permute of a loop */
    struct roofline roofline;
};

/* Where a tensor is in a program, for loading operands and reading the result: the rectangle of pieces that `own`
 * selects holds the chip's shard of the tensor, row by row. Along a dim that is cut by a ring, piece q holds the
 * logical slice ring->slot[q]. */
struct matmul_place {
    struct view own;
    const struct ring *cut[2]; /* or NULL: in logical order */
};
enum { MATMUL_RINGS = EXPR_OPERANDS * MATMUL_MOVES * COLLECTIVE_RINGS };
struct matmul_build {
    int rings;
    struct ring ring[MATMUL_RINGS];
    struct axis_list over[MATMUL_RINGS]; /* what each goes through */
    struct matmul_place operand[EXPR_OPERANDS];
    struct matmul_place output;
};

/* Writes the program of a plan on a mesh. The rings that the places refer to belong to `build`. Accumulators
 * start at zero: whoever loads data clears all buffers first. */
int matmul_write(const struct matmul_plan *plan, const struct matmul_options *options,
                 const struct mesh *mesh, struct program *program, struct matmul_build *build,
                 struct status *st);
void matmul_build_free(struct matmul_build *build);

/* Multiplies random integers by the program, with the data executor, and compares every chip's shard of the output
 * with the plain product. For small shapes: a scaled-down copy of a plan (expr_scale) is a check of the same
 * schedule. `seed` chooses numbers and the order of events. Errors: STATUS_CHECK with the first difference. */
int matmul_verify(const struct matmul_plan *plan, const struct matmul_build *build, const struct mesh *mesh,
                  const struct program *program, uint64_t seed, struct status *st);

/* A time that no strategy beats: the compute's least time, and no collective faster than its bound. */
int matmul_bound(const struct matmul_plan *plan, const struct matmul_options *options,
                 const struct mesh *mesh, double *bound_s, struct status *st);

#endif
