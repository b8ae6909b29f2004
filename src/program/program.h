/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * program: the narrow waist. A list of ops that every chip of a slice runs, in topological order.
 *
 * SPMD: one op stands for all chips, which differ only by where they are. A SEND moves bytes from each chip
 * along a route; a COMPUTE keeps each chip's one compute queue busy for some seconds. Where chips do differ,
 * a mask says who takes part, and a table gives each its own route or its own amount. Builders only write
 * programs and engines only run them; nobody else needs to know either.
 *
 *   after    what an op waits for, on the same chip: DONE, my own op k has finished; ARRIVED, everything
 *            that op k sends to me is here. ARRIVED holds at once where nothing comes, DONE of an op that I
 *            take no part in too. A send is done when its last byte has arrived.
 *   time     a send waits `setup_s` and the sum of the latencies of its links, then its bytes share all those
 *            links, and the chips' HBM, max-min fairly (resource.h); zero bytes still wait; a route of no links takes no
 *            time but its setup, if it is no copy. Computes of a chip run one at a time, in program order; one that moves
 *            bytes of HBM shares it, too. Nothing else delays an op.
 *   payload  which pieces of which buffers the op moves or multiplies (view). Time does not depend on it; the
 *            data executor follows it, so that a schedule that is wrong cannot pass.
 *
 * Building: add routes, masks, tables and variables (equal ones are kept once), buffers and payloads, then
 * ops, each followed by what it waits for. A fault (out of memory, a wrong index) sticks, and program_close()
 * reports it, so builders need not look at every call.
 *
 * Units: bytes, seconds. Bytes may be fractional (half of an odd chunk), payloads are whole elements.
 * Ownership: the caller's struct, freed with program_free(); the slice is borrowed and must outlive it.
 */
#ifndef ICISIM_PROGRAM_H
#define ICISIM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/lookup.h"
#include "base/status.h"
#include "machine/route.h"
#include "machine/slice.h"

enum { WHERE_ALL = -1, NO_TABLE = -1, NO_PAYLOAD = -1 };

enum op_kind { OP_SEND, OP_COMPUTE };

/* Which memory the bytes of a send pass beside its links. A send of no links is a copy if it names one. */
enum memory_use {
    MEMORY_ENDS,    /* read from HBM where it leaves, written to HBM where it arrives; of no links: none */
    MEMORY_REDUCES, /* and what is there is read, to be added to */
    MEMORY_COPY,    /* a copy between HBM and the chip's own memory */
    MEMORY_MOVE,    /* a copy from HBM to HBM */
    MEMORY_HOST,    /* a copy between HBM and the host, over PCIe */
    MEMORY_JOINT,   /* what the devices of a chip give each other over the joint between them */
    MEMORY_NONE,    /* what it moves lies in the chips' own memory */
};

/* Where a send goes: one route for all chips, or a table of route indices, one a chip. */
struct towards {
    int32_t route; /* index of a route, where table is NO_TABLE */
    int32_t table; /* index of a table of route indices, or NO_TABLE */
};

/* Bytes of a send or seconds of a compute: one value for all chips, or a table, one a chip. */
struct amount {
    double each;
    int32_t table; /* index of a table of amounts, or NO_TABLE */
};

static inline struct amount amount_of(double each)
{
    return (struct amount){each, NO_TABLE};
}

struct op {
    enum op_kind kind;
    int32_t where; /* index of a mask, or WHERE_ALL */
    struct towards towards;
    struct amount amount;
    double setup_s; /* SEND: waited before its latency; 0 in the spec profile */
    double
        hbm_Bps; /* COMPUTE: of HBM, taken while nobody else does; beside others it may take longer than its seconds */
    enum memory_use memory;
    int32_t payload; /* index, or NO_PAYLOAD */
    int32_t stage;   /* which collective or matmul it belongs to */
    int32_t step;    /* which step of it, from 0 */
    int32_t first_after, afters;
    int32_t followers; /* so many ops after it are as program_follow() writes them */
    double times; /* how many like it this one stands for, where a loop is not written out in full; 0 is 1 */
};

enum after_kind { AFTER_DONE, AFTER_ARRIVED };

struct after {
    int32_t op;
    enum after_kind kind;
};

struct route {
    int32_t first, hops; /* program.hop[first .. first + hops) */
};

/* A named part of a program: one collective, one matmul. The name is XLA's: "all-gather.1", "fusion.2". */
enum { STAGE_NAME = 40 };
struct stage {
    char name[STAGE_NAME];
    bool
        permutes; /* each of its sends is a collective-permute of its own; else they are one collective together */
};

/* A number that differs from chip to chip and selects pieces: a coordinate, or a table's entry. */
struct var {
    int32_t n;           /* it runs from 0 to n-1 */
    int32_t axis;        /* the coordinate on this physical axis, if >= 0 */
    int32_t index_table; /* else the entry of this table of indices */
};

/* A buffer exists on every chip: a matrix of rows x cols elements, cut into a grid of pieces. Dim i of the
 * grid cuts each of the parts made so far into dim[i].n nearly equal ones, larger ones first, or by shares, along the rows
 * or the columns. A ragged buffer is one column whose pieces have sizes of their own on every chip. */
enum { GRID_DIMS = 6, BUFFER_NAME = 16 };
enum { GRID_SHARES = 6 };
struct grid_dim {
    int32_t n;
    bool by_cols;
};
struct buffer {
    char name[BUFFER_NAME];
    int64_t rows, cols;
    double elem_bytes;
    int32_t dims;
    struct grid_dim dim[GRID_DIMS];
    int share[GRID_SHARES]; /* in what proportion the last dim cuts, where not equally; all 0: equally */
    int64_t *ragged;        /* elements of [chip][piece], owned by the program; NULL if not ragged */
};

/* Which index of one grid dim: all of them, a fixed one, (var + offset) mod n of the chip, or those whose bits the chip's var
 * has, of the first PICK_SET_MOST. */
enum pick_kind { PICK_ALL, PICK_FIXED, PICK_VAR, PICK_SET };
enum { PICK_SET_MOST = 32 };
struct pick {
    enum pick_kind kind;
    int32_t var;
    int32_t offset;
};

static inline struct pick pick_all(void)
{
    return (struct pick){PICK_ALL, 0, 0};
}
static inline struct pick pick_fixed(int32_t index)
{
    return (struct pick){PICK_FIXED, 0, index};
}
static inline struct pick pick_var(int32_t var, int32_t offset)
{
    return (struct pick){PICK_VAR, var, offset};
}
static inline struct pick pick_set(int32_t var)
{
    return (struct pick){PICK_SET, var, 0};
}

/* Other dims in place of the first three of a buffer, which cut in one direction, with as many pieces: the table says for each place among them, the last dim fastest, which
 * piece of the grid it is. */
enum { RENUMBERED_DIMS = 3 };
struct renumbering {
    bool is; /* else they are the grid's own */
    int32_t n[RENUMBERED_DIMS];
    int32_t table; /* of indices */
};

/* The pieces of a buffer that an op touches: a pick for each grid dim. */
struct view {
    int32_t buffer;
    struct pick pick[GRID_DIMS];
    struct renumbering pieces;
};

/* What a send does to data: view `a` of the sender goes to view `to` of the receiver and is combined there; both views are
 * evaluated with the sender's variables. COMBINE_FILL writes only where the receiver has nothing yet (NaN). */
enum combine { COMBINE_COPY, COMBINE_SUM, COMBINE_MAX, COMBINE_MIN, COMBINE_FILL };
struct payload {
    enum combine combine;
    struct view a, to;
};

/* Of what equal ones are kept once. */
enum program_part { PART_ROUTE, PART_MASK, PART_INDEX_TABLE, PART_AMOUNT_TABLE, PART_VAR, PARTS };

struct program {
    const struct slice *slice; /* borrowed */
    int error;                 /* first fault while building */
    bool silent;               /* of a borrowed copy: computes take no time, whatever their amounts */
    int32_t lost[2];           /* STATUS_INPUT: the chips between which there is no route */

    int32_t ops, afters, routes, hops, masks, index_tables, amount_tables, vars, buffers, payloads, stages;
    int32_t latest_route; /* that was asked for: chips beside each other mostly take the same one */
    int32_t room[11];     /* of the arrays below, in this order */
    struct op *op;
    struct after *after;
    struct route *route;
    struct hop *hop;
    uint8_t **mask;        /* [chips], 1 takes part */
    int32_t **index_table; /* [chips] */
    double **amount_table; /* [chips] */
    struct var *var;
    struct buffer *buffer;
    struct payload *payload;
    struct stage *stage;

    struct lookup known[PARTS]; /* while building: where equal parts are */

    int32_t ops_before, afters_before; /* when it was rewound; 0: never */
    int32_t followers_before;          /* of the op that was where the last one is now */
    bool differs;                      /* since then */
};

void program_init(struct program *program, const struct slice *slice);
void program_free(struct program *program);

/* Begins to write a program anew, in the memory that it has. Where what is then added is what was there before, but for
 * amounts and set-ups that are alike on all chips, it has kept its shape: all that was made of that, such as a fold, holds
 * with the new amounts. Buffers and payloads are forgotten. */
void program_rewind(struct program *program);
bool program_kept_shape(const struct program *program);

/* The parts. Each returns an index and keeps equal parts once. program_mask() returns WHERE_ALL for a mask of
 * ones. The tables given are copied; `towards` and `amount` made from a table whose entries are alike
 * wherever `where` holds become a single value. */
int32_t program_route(struct program *program, const struct hop hop[], int hops);
int32_t program_route_between(struct program *program, int from, int to); /* as route_between() has it */
/* The same from each chip to its target; that of a chip without one (negative) is left as it is. Both: [chips]. */
void program_routes_to(struct program *program, const int32_t target[], int32_t route[]);
int32_t program_mask(struct program *program, const uint8_t mask[]);
int32_t program_index_table(struct program *program, const int32_t index[]);
struct towards program_towards(struct program *program, const struct hop hop[], int hops);
struct towards program_towards_table(struct program *program, const int32_t route[], int32_t where);
struct amount program_amount_table(struct program *program, const double amount[], int32_t where);
/* Seconds of a compute, of which `fixed_s` do not depend on the chip's speed: a table where the slice has slow
 * chips. */
struct amount program_seconds(struct program *program, double seconds, double fixed_s);
int32_t program_var_axis(struct program *program, int axis);
int32_t program_var_table(struct program *program, int32_t n, const int32_t index[]);
int32_t program_stage(struct program *program, const char *name); /* cut to STAGE_NAME */
void program_stage_permutes(struct program *program, int32_t stage);

/* Elements of a buffer, in rows and columns, and the bytes of one. */
struct buffer_size {
    int64_t rows, cols;
    double elem_bytes;
};

/* A buffer; `dim` may be empty (one piece). With `ragged` ([chips][dim[0].n] elements, copied) it has one
 * dim. */
int32_t program_buffer(struct program *program, const char *name, struct buffer_size size,
                       const struct grid_dim dim[], int dims, const int64_t *ragged);
int32_t program_payload(struct program *program, struct payload payload);

/* Lets the last dim of a buffer, of GRID_SHARES parts at most, cut by shares. */
void program_share(struct program *program, int32_t buffer, const int share[]);

/* What all shares of dim d are together; 0 where it cuts equally. */
int64_t buffer_shares(const struct buffer *buffer, int d);

/* Where part i begins of `total` rows (or columns) that dim d cuts; part n begins at their end. */
int64_t buffer_cut(const struct buffer *buffer, int d, int64_t total, int32_t i);

/* Appends an op and returns its index; first_after, afters and followers of `op` are ignored. program_after() makes the
 * op appended last wait for an earlier one; a negative index waits for nothing. program_wait() waits for all of
 * it: for what it sends to the chip, and for the chip's own to end. */
int32_t program_add(struct program *program, struct op op);
void program_after(struct program *program, int32_t op, enum after_kind kind);
void program_wait(struct program *program, int32_t op);

/* Appends so many sends that repeat the last one, without its set-up and payload, each a step after the one before and waiting
 * for all of that one. Returns the index of the last op. In a program that was rewound these cost only their amounts. */
int32_t program_follow(struct program *program, int32_t followers);

/* A join stands for several ops: a send of no links, no bytes and no time, which ends when all that it waits for
 * holds. So what a piece of program waits for, and what ends it, is always one op, whatever their number.
 * program_join() appends one that waits for nothing yet. The other two return an op that ends when all of
 * op[0 .. n) have, or all from `first` to the last one; where there is only one they return that op itself, and
 * -1 where there is none (a negative op counts for nothing), so that only what has to be joined costs a join. */
int32_t program_join(struct program *program, int32_t where, int32_t stage);
int32_t program_join_of(struct program *program, const int32_t op[], int n, int32_t where, int32_t stage);
int32_t program_join_since(struct program *program, int32_t first, int32_t where, int32_t stage);

/* Ends building: returns the first fault, if any. */
int program_close(const struct program *program, struct status *st);

/* What op does on a chip. */
static inline bool op_takes_part(const struct program *program, const struct op *op, int chip)
{
    return op->where == WHERE_ALL || program->mask[op->where][chip];
}
int64_t op_takers(const struct program *program, const struct op *op); /* on how many chips it does */
static inline struct route op_route(const struct program *program, const struct op *op, int chip)
{
    int32_t route =
        op->towards.table == NO_TABLE ? op->towards.route : program->index_table[op->towards.table][chip];
    return program->route[route];
}
static inline double op_times(const struct op *op)
{
    return op->times > 0 ? op->times : 1;
}
static inline double op_amount(const struct program *program, const struct op *op, int chip)
{
    if (program->silent && op->kind == OP_COMPUTE)
        return 0;
    return op->amount.table == NO_TABLE ? op->amount.each : program->amount_table[op->amount.table][chip];
}
/* The chip where a send of `chip` arrives. */
int op_destination(const struct program *program, const struct op *op, int chip);

/* Value of a variable on a chip. */
int32_t program_var(const struct program *program, int32_t var, int chip);

/* How many (op, chip) pairs are sends over links, and how many bytes they, or one op once, put on links in all. */
int64_t program_transfers(const struct program *program);
double program_link_bytes(const struct program *program);
double op_link_bytes(const struct program *program, const struct op *op);
/* The longest chain of sends over links, each waiting for the one before; and for each op the longest chain
 * that ends with it, depth[ops]. Does an op cross links, and so count? */
int program_steps(const struct program *program, struct status *st);
int32_t program_depths(const struct program *program, int32_t depth[]);
bool op_crosses_links(const struct program *program, const struct op *op);
bool program_has_computes(const struct program *program);
int program_longest_route(const struct program *program); /* in links */

/* Invariants: every index in range, every dependency points back, routes exist on the slice where they are
 * taken, amounts are finite and not negative, payloads move no more than their sends pay for (to within an
 * element a piece) and put as many elements as they take. */
int program_check(const struct program *program, struct status *st);

/* Prints the program as text, one op a line, for people. */
void program_dump(const struct program *program, FILE *out);

#endif
