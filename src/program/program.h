/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * program: the narrow waist. A list of ops that every chip of a slice runs, in topological order.
 *
 * SPMD: one op stands for all chips, which differ only by their coordinates. A SEND moves bytes from each
 * chip along a route; a COMPUTE keeps each chip's one compute queue busy for some seconds. Where chips do
 * differ, a mask says which ones take part, and a table gives each chip its own route or amount. Builders
 * only write programs and engines only run them; no other code needs to know either.
 *
 *   after    what an op waits for, on the same chip: DONE, my own op k has finished; ARRIVED, everything
 *            that op k sends to me is here. ARRIVED holds at once where nothing comes, DONE of an op that I
 *            take no part in too. A send is done when its last byte has arrived.
 *   time     a send waits `setup_s` and the sum of the latencies of its links, then its bytes share all those
 *            links, and the chips' HBM, max-min fairly (resource.h); zero bytes still wait; a route of no links takes no
 *            time but its setup, if it is no copy. Computes of a chip run one at a time, in program order; one that moves
 *            bytes of HBM shares it, too. Nothing else delays an op.
 *   payload  which pieces of which buffers the op moves (view). Time does not depend on it; the
 *            data executor follows it, so that a schedule that is wrong cannot pass.
 *
 * Building: add routes, masks, tables and variables (equal ones are kept once), buffers and payloads, then
 * ops, each followed by what it waits for. A fault (out of memory, a wrong index) sticks, and program_close()
 * reports it, so builders need not look at every call.
 *
 * Units: bytes, seconds. Bytes may be fractional (half of an odd chunk); payloads are whole elements.
 * Ownership: the caller's struct, freed with program_free(); the slice is borrowed and must outlive it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/lookup.h"
#include "machine/route.h"

enum { WHERE_ALL = -1, NO_TABLE = -1, NO_PAYLOAD = -1 };

enum op_kind { OP_SEND, OP_COMPUTE };

/* The memory that the bytes of a send pass, in addition to its links. A send of no links is a copy if its
 * memory_use is one. */
enum memory_use {
    MEMORY_ENDS, /* read from HBM of the sender, written to HBM of the receiver; a send of no links passes none */
    MEMORY_REDUCES, /* the same, and the receiver also reads the values that it adds to */
    MEMORY_COPY,    /* a copy between HBM and the chip's own memory */
    MEMORY_MOVE,    /* a copy from HBM to HBM */
    MEMORY_HOST,    /* a copy between HBM and the host, over PCIe */
    MEMORY_JOINT,   /* a transfer between the devices of a chip, over the joint between them */
    MEMORY_NONE,    /* the data lies in the chips' own memory, not in HBM */
};

/* Where a send goes: one route for all chips, or a table with a route index for each chip. */
struct towards {
    int32_t route; /* index of a route, where table is NO_TABLE */
    int32_t table; /* index of a table of route indices, or NO_TABLE */
};

/* Bytes of a send or seconds of a compute: one value for all chips, or a table with a value for each chip. */
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
    /* COMPUTE: HBM bandwidth it uses when alone; if others use HBM as well, it may take longer than its seconds. SEND of no links:
     * what it takes of HBM while it waits, in the event engine where computes yield to sends (resource.h). */
    double hbm_Bps;
    enum memory_use memory;
    int32_t payload; /* index, or NO_PAYLOAD */
    int32_t stage;   /* index of the collective or matmul that it belongs to */
    int32_t step;    /* which step of it, from 0 */
    int32_t first_after, afters;
    /* SEND along lines without ends (collective_spec.endless): the share of its bytes that chips send in truth, on average; 0: all.
     * The number n of links of a line, of which the k-th carries k of n sends, -n: n + 1 - k; 0: all are as busy. */
    double real_frac;
    int32_t line;
    double times; /* number of equal ops it stands for, if a loop is not written out in full; 0 means 1 */
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
    /* Each of its sends is a collective-permute of its own; else they are one collective together. */
    bool permutes;
};

/* A number that differs from chip to chip and selects pieces: a coordinate, or the entry of a table. */
struct var {
    int32_t n;           /* it runs from 0 to n-1 */
    int32_t axis;        /* the coordinate on this physical axis, if >= 0 */
    int32_t index_table; /* else the entry of this table of indices */
};

/* A buffer exists on every chip: an array of elements, cut into a grid of pieces. Dim i of the grid cuts each
 * part made by the dims before it into dim[i] nearly equal parts, larger ones first, or into parts in given
 * proportions. The pieces of a ragged buffer have sizes of their own on every chip. */
enum { GRID_DIMS = 6, BUFFER_NAME = 16 };
enum { GRID_SHARES = 6 };
struct buffer {
    char name[BUFFER_NAME];
    int64_t elements; /* of one that is not ragged */
    double elem_bytes;
    int32_t dims;
    int32_t dim[GRID_DIMS];
    int share[GRID_SHARES]; /* the proportions in which the last dim cuts; all 0: equally */
    int64_t *ragged;        /* elements of [chip][piece], owned by the program; NULL if not ragged */
};

/* The indices picked of one grid dim: all of them; a fixed one; (var + offset) mod n with the chip's var; or
 * those whose bits are set in the chip's var, among the first PICK_SET_MOST. */
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

/* Other dims that replace the first three of a buffer and have as many pieces. The table gives the piece of the grid for each place in the new dims, the last dim fastest. */
enum { RENUMBERED_DIMS = 3 };
struct renumbering {
    bool is; /* else the dims are the grid's own */
    int32_t n[RENUMBERED_DIMS];
    int32_t table; /* of indices */
};

/* The pieces of a buffer that an op touches: a pick for each grid dim. */
struct view {
    int32_t buffer;
    struct pick pick[GRID_DIMS];
    struct renumbering pieces;
};

/* The effect of a send on data: view `a` of the sender goes to view `to` of the receiver and is combined with
 * its contents; both views are evaluated with the sender's variables. COMBINE_FILL writes only where the
 * receiver has nothing yet (NaN). */
enum combine { COMBINE_COPY, COMBINE_SUM, COMBINE_MAX, COMBINE_MIN, COMBINE_FILL };
struct payload {
    enum combine combine;
    struct view a, to;
};

/* The kinds of parts of which equal ones are stored once. */
enum program_part { PART_ROUTE, PART_MASK, PART_INDEX_TABLE, PART_AMOUNT_TABLE, PART_VAR, PARTS };

struct program {
    const struct slice *slice; /* borrowed */
    int error;                 /* first fault while building */
    bool silent;               /* set in a borrowed copy: computes take no time, whatever their amounts */
    int32_t lost[2];           /* STATUS_INPUT: the chips between which there is no route */

    int32_t ops, afters, routes, hops, masks, index_tables, amount_tables, vars, buffers, payloads, stages;
    int32_t latest_route; /* the route added or found last: neighbouring chips mostly take the same one */
    int32_t room[11];     /* allocated elements of the arrays below, in this order */
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

    struct lookup known[PARTS]; /* while building: index of the parts, to find equal ones */
};

void program_init(struct program *program, const struct slice *slice);
void program_free(struct program *program);

/* The parts. Each function returns an index; equal parts are stored once. program_mask() returns WHERE_ALL
 * for a mask of ones. Tables are copied. If the entries of a table are equal on all chips of `where`,
 * `towards` and `amount` become a single value. */
int32_t program_route(struct program *program, const struct hop hop[], int hops);
int32_t program_route_between(struct program *program, int from, int to); /* the route of route_between() */
/* The same from each chip to its target; the route of a chip without a target (negative) is left unchanged.
 * Both arrays: [chips]. */
void program_routes_to(struct program *program, const int32_t target[], int32_t route[]);
int32_t program_mask(struct program *program, const uint8_t mask[]);
int32_t program_index_table(struct program *program, const int32_t index[]);
struct towards program_towards(struct program *program, const struct hop hop[], int hops);
struct towards program_towards_table(struct program *program, const int32_t route[], int32_t where);
struct amount program_amount_table(struct program *program, const double amount[], int32_t where);
/* Seconds of a compute, of which `fixed_s` do not depend on the chip's speed; a table if the slice has slow
 * chips. */
struct amount program_seconds(struct program *program, double seconds, double fixed_s);
int32_t program_var_axis(struct program *program, int axis);
int32_t program_var_table(struct program *program, int32_t n, const int32_t index[]);
int32_t program_stage(struct program *program, const char *name); /* cut to STAGE_NAME */
void program_stage_permutes(struct program *program, int32_t stage);

/* Elements of a buffer, and the bytes of one. */
struct buffer_size {
    int64_t elements;
    double elem_bytes;
};

/* Adds a buffer; `dim` may be empty (one piece). A buffer with `ragged` sizes ([chips][dim[0]] elements,
 * copied) must have one dim. */
int32_t program_buffer(struct program *program, const char *name, struct buffer_size size,
                       const int32_t dim[], int dims, const int64_t *ragged);
int32_t program_payload(struct program *program, struct payload payload);

/* Makes the last dim of a buffer, which has at most GRID_SHARES parts, cut in proportion to `share`. */
void program_share(struct program *program, int32_t buffer, const int share[]);

/* Sum of the shares of dim d; 0 if it cuts equally. */
int64_t buffer_shares(const struct buffer *buffer, int d);

/* The first of `total` elements in part i of those that dim d makes; for part n, the end of the last one. */
int64_t buffer_cut(const struct buffer *buffer, int d, int64_t total, int32_t i);

/* Appends an op and returns its index; first_after and afters of `op` are ignored. program_after()
 * makes the op appended last wait for an earlier one; a negative index waits for nothing. program_wait()
 * waits for both: that everything the op sends to the chip has arrived, and that the chip's own part of the
 * op has ended. */
int32_t program_add(struct program *program, struct op op);
void program_after(struct program *program, int32_t op, enum after_kind kind);
void program_wait(struct program *program, int32_t op);

/* Appends copies of the ops from `first` until `end`, which wait for each other as those do, and for `before` where those
 * wait for earlier ops. They belong to `stage`; if it is negative, to new stages of this name, one for each of those. Returns
 * the index of the first. */
int32_t program_repeat(struct program *program, int32_t first, int32_t end, int32_t before, int32_t stage,
                       const char *name);

/* A send of no links: its bytes stay on the chips of `where`. It has no payload, and is not added yet. */
struct op program_local(struct program *program, int32_t where, double bytes, int32_t stage);
/* A join stands for several ops: it is a send of no links, no bytes and no time that ends when all ops it
 * waits for have ended. So a piece of a program always begins after one op and ends with one op.
 * program_join() appends a join that waits for nothing yet. The other two functions return an op that ends
 * when all of op[0 .. n), or all ops from `first` to the last one, have ended. For a single op they return
 * that op itself, and for none -1 (negative ops are skipped), so a join is only added where it is needed. */
int32_t program_join(struct program *program, int32_t where, int32_t stage);
int32_t program_join_of(struct program *program, const int32_t op[], int n, int32_t where, int32_t stage);
int32_t program_join_since(struct program *program, int32_t first, int32_t where, int32_t stage);

/* Ends building: reports the first fault, if there is one. */
int program_close(const struct program *program, struct status *st);

/* Properties of an op on a chip. */
static inline bool op_takes_part(const struct program *program, const struct op *op, int chip)
{
    return op->where == WHERE_ALL || program->mask[op->where][chip];
}
int64_t op_takers(const struct program *program, const struct op *op); /* number of chips that take part */
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
/* The share of an op's bytes that chips send in truth, on average; and those that are at no end of a line. */
static inline double op_real_frac(const struct op *op)
{
    return op->real_frac > 0 ? op->real_frac : 1;
}
static inline double op_inner_frac(const struct op *op)
{
    return op_real_frac(op) + (op->line ? 0.5 / (op->line < 0 ? -op->line : op->line) : 0);
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

/* Number of (op, chip) pairs that are sends over links; total bytes that the program, or one op once, puts on
 * links. */
int64_t program_transfers(const struct program *program);
bool program_is_endless(const struct program *program); /* has it lines without ends? */
double program_link_bytes(const struct program *program);
double op_link_bytes(const struct program *program, const struct op *op);
/* Length of the longest chain of sends over links, each of which waits for the one before. program_depths()
 * also fills depth[ops] with the longest chain that ends with each op. op_crosses_links(): is an op a send
 * over links, which counts in a chain? */
int program_steps(const struct program *program, struct status *st);
int32_t program_depths(const struct program *program, int32_t depth[]);
bool op_crosses_links(const struct program *program, const struct op *op);
bool program_has_computes(const struct program *program);
int program_longest_route(const struct program *program); /* in links */
/* The axes whose links the routes take. */
void program_axes(const struct program *program, bool used[SLICE_AXES]);

/* Invariants: every index is in range, every dependency points back, every route in use exists on the slice,
 * amounts are finite and not negative, payloads put as many elements as they take, and no more than their
 * sends have bytes for (to within a row or a column for each piece). */
int program_check(const struct program *program, struct status *st);

/* Prints the program as text for people, one op per line. */
void program_dump(const struct program *program, FILE *out);
