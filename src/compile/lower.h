/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lower: turns a module into a program: every instruction that is executed becomes a compute or a collective, in
 * schedule order.
 *
 * A compute takes the time of its roofline (machine/roofline.h), in compiled text that of compute_time.h, on
 * the one queue of each chip. A blocking collective starts when the queue reaches it and holds the queue
 * until it has ended; -start only issues it, -done waits for it. A wait is a compute of no length. A -start
 * that is labelled {issue="data"} is issued by the op that brings its operand, as a DMA engine passes on data
 * that has arrived; if no operand is in flight, the queue issues it. The queue does not wait at its -done;
 * only users of the value wait, if it is a permute for the data that arrives at their chip. Collectives over
 * the same groups run one after the other, in the order in which they were issued; permutes all at once, as
 * both directions of a windowed einsum do. Those on the queue of the SparseCores run one after the other
 * whatever their groups. Additions of others take time from the queue: they are a compute where the -done
 * stands. With `overlapped` the text is no schedule: then a collective starts when its operands are there,
 * computes wait for what they read, and both are in an order that hides what can be hidden (lower_order.h).
 *
 * A loop is written out for a few trips only. lower_settle() checks whether two trips took the same time:
 * then each missing trip takes as long as the later one, whose items count for the missing ones too
 * (lowered.times). Otherwise it asks for more trips.
 *
 *     do lower_build(), engine_run(), lower_settle(); while (again)
 *
 * Equal layers of a model are not a loop, since gathers and sums reach from one into the next. They need not
 * all be in the module, either: with `more_layers` one of them stands for so many others (lower_layers.c), if
 * the layers before it repeat in time.
 *
 * Units: seconds, bytes. Errors: status.h; they name the instruction. Ownership: the caller's struct, freed with
 * lower_free(), safe when zeroed; module, placement and options are borrowed and must outlive it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "compile/compute_time.h"
#include "compile/placement.h"
#include "engine/trace.h"
#include "hlo/collective_config.h"

/* A cost that the user gives for an instruction, by its name or by the target of a custom call. */
struct op_cost {
    const char *name;
    double seconds; /* NaN: the roofline of the next two */
    double flops, hbm_bytes;
};

/* The queue of asynchronous collectives: as the text says (module_on_sparse_core()), or one of these for all. */
enum collective_queue { QUEUE_AS_WRITTEN, QUEUE_TENSORCORE, QUEUE_SPARSECORE };

struct lower_options {
    enum ring_kind kind;
    enum collective_queue queue;
    enum all_to_all all_to_all;
    enum ring_kind exchange_kind; /* of all-to-alls by rings */
    enum algorithm algorithm;     /* of other collectives */
    const char *chip;             /* whose compiler's choices ALGORITHM_XLA takes */
    enum pattern pattern;         /* of collectives that have patterns, with icisim's own schedule */
    bool one_ring, all_axes;      /* through all chips of a box, or along all its axes; neither: the faster */
    int32_t free;                 /* the collective that takes no time; 0: none */
    double setup_s;               /* of each collective */
    double contention_frac; /* the queue is delayed by this fraction of the time of collectives beside it */
    struct roofline roofline;
    enum compute_rule compute;     /* from compute_rule_for() */
    const struct op_cost *op_cost; /* [op_costs], borrowed */
    int op_costs;
    /* Branches of conditionals that run: "cond.1=0,cond.2=all"; the others, and NULL: the slowest. */
    const char *branch;
    bool unroll;  /* every loop is written out in full */
    bool endless; /* long lines of collectives are walked as if they had no ends (collective_spec.endless) */
    bool products_only;  /* only matmuls and communication take time */
    bool overlapped;     /* the module is not scheduled: only data and control dependencies count */
    bool rows_even;      /* every device has the mean number of ragged rows */
    bool ragged_uniform; /* ragged all-to-alls whose sizes are known only at run time send equally to all */
    /* A collective is not sends, but a wait for an estimate of the least time they take (lower_least.h). */
    bool least;
    struct least_table *least_table; /* keeps estimates, borrowed; NULL: they are not kept */
    /* of a model: equal layers in the module, and further ones that they stand for */
    int layers, more_layers;
    int layers_apart;    /* layers at the beginning that are different */
    int layer_reach;     /* how many layers ahead or behind a transfer may be in progress: --prefetch */
    double time_limit_s; /* of the wall clock, for one lowering; 0: none */
};

/* One execution of an instruction, and the number of executions that it stands for. */
struct lowered {
    int32_t instruction;
    double times;
    int32_t first_op, end_op; /* its first op in the program, and the op that ends it; -1: it has none */
    int32_t wait_op;  /* the compute that waits for it, of no length where the queue is held; -1: none */
    double wait_s;    /* the length of that compute */
    int32_t queue_op; /* the last op of the queue before that; -1: none */
    int32_t beside;   /* the next in a circle of items that the same compute waits for; -1: no others */
    double sums_s; /* for a collective on the TensorCore: the time of its additions on a chip's vector unit */
    double seconds;       /* of a compute; the longest, where devices differ in their rows */
    const double *each_s; /* [chips] the same where devices differ: a table of the program; else NULL */
    bool product;
    bool aside;            /* not a collective, but beside the queue: a copy, or work of a SparseCore */
    enum bound_kind bound; /* of a matmul */
    enum basis basis;      /* of the seconds of a compute */
    /* of a model: the layer as labelled; the lowest layer, from 1, and the number that it stands for; 0: none */
    int32_t built_layer, layer, layers;
    bool backward; /* layers come from the last to the first */
};

/* The part of a module from the first matmul of a layer to the first matmul of the next. */
struct lowered_turn {
    int32_t first_op;
    int layer;     /* its label */
    bool backward; /* layers come from the last to the first */
    int more;      /* layers that are not in the module, for which it stands */
    bool last;     /* of its pass that stands for others */
};

/* A loop at one place of the run. */
struct lowered_loop {
    int32_t instruction;
    int32_t parent, parent_trip; /* the loop that it runs in, and in which of its trips; -1 */
    int64_t trips, written;
    double times;     /* that one stands for */
    int32_t *trip_op; /* [written + 1] where each trip begins in the program, and where the last one ends */
};

/* The branch of a conditional that ran, if the text does not determine it; -1: all of them. It was the slowest, or
 * options.branch named it. */
struct lowered_choice {
    int32_t conditional;
    int branch;
    bool slowest;
};

struct lowered_share; /* lower_own.h */
struct lowered_ops;

/* The share of a model's time that the differences of its layers may add up to, for all that are left out. That is mostly too
 * much: of 70 steps of Llama on 32 to 512 chips that share links unevenly, with gathers 1 or 2 layers ahead, the time was off
 * by 0.003 % in the median, by more than 0.1 % in eight and 0.30 % in the worst (with 2.5e-3, which takes half as long again:
 * 0.0000, one and 0.27 %). */
#define LOWER_OFF_FRAC 5e-3

enum { LOWER_ID_MODES = 4 }; /* of enum module_ids */
struct lower {
    const struct module *module;
    const struct placement *placement;
    const struct lower_options *options;
    struct program program;

    struct lowered *item; /* in the order of execution */
    int32_t items;
    struct lowered_loop *loop;
    int32_t loops;
    struct lowered_choice *choice; /* in the order of execution, each conditional once */
    int32_t choices;
    int32_t *queue; /* ops of the queue, in order */
    int32_t queued, queue_room;
    int32_t *written;      /* [instructions] trips to write of each loop */
    struct layout *layout; /* [(groupings + 1) * LOWER_ID_MODES]: of each text of groups, for each meaning of
                              ids; without devices until it is worked out */
    size_t layouts;
    struct lowered_share *share;
    int32_t shares, shares_room;
    struct lowered_ops *known; /* of the program that is being written */
    int32_t knowns, knowns_room;
    int32_t latest; /* the one whose ops, or copies of them, were written last; -1: none */
    struct lowered_turn *turn;
    int32_t turns;
    /* Set by lower_settle(): the share of the time, in the first run since the last build, that the differences of layers add
     * up to for those that are left out; whether that is too much in the last run, so that the module must contain more
     * layers. */
    double off_frac;
    bool unsteady;
    int32_t room[4];
};

int lower_init(struct lower *lower, const struct module *module, const struct placement *placement,
               const struct lower_options *options, struct status *st);
void lower_free(struct lower *lower);

/* Writes the program from scratch. */
int lower_build(struct lower *lower, struct status *st);

/* Appends the module once more to a program on the same slice; loops must be written out in full (options.unroll). On
 * each chip it begins when the op `before`, if not negative, has ended; `after` becomes the op that ends it. */
int lower_append(struct lower *lower, struct program *program, int32_t before, int32_t *after,
                 struct status *st);

/* After a run: `again` if some loop has to be written out further, for lower_build() to do; else the seconds that the
 * trips not written add to the total. */
int lower_settle(struct lower *lower, const struct trace *trace, bool *again, double *more_s,
                 struct status *st);

/* The dependent sends (program_steps()) in the layers that are not in the module, if each adds as many as the one that
 * stands for them; with gathers several layers ahead that is not certain. `program` is the one that was built. */
int lower_more_steps(const struct lower *lower, const struct program *program, int64_t *steps,
                     struct status *st);

/* The time of the module by the event engine, folded: builds and settles as often as needed. Sets `unsteady` if layers
 * are not steady. */
int lower_time(struct lower *lower, double *time_s, struct status *st);

/* The cost of an instruction, including costs given by options; `seconds` is NaN unless it was given. */
struct cost lower_cost(const struct lower *lower, int32_t instruction, double *seconds);

/* Do the entries of options.branch name conditionals of the module, and existing branches? */
int lower_check_branches(const struct module *module, const char *list, struct status *st);

/* The time of an instruction; `cost` gets its cost. Ignores that devices may have different rows. */
int lower_time_of(const struct lower *lower, int32_t instruction, struct cost *cost,
                  struct compute_time *time, struct status *st);

/* The name of an instruction in traces and steps: its own, with its labels of phase and layer: "dot.7 bwd 3". */
char *lower_name(const struct module *module, int32_t instruction, char text[static STAGE_NAME]);

/* The layout of a collective's groups on the slice; computed at its first use. */
int lower_layout(struct lower *lower, int32_t instruction, const struct layout **layout, struct status *st);
const struct layout *lower_laid(const struct lower *lower,
                                int32_t instruction); /* NULL if not computed yet */

/* The time of a collective alone, with the options of the lowering, and the time of a chip's busiest direction for its bytes
 * (or NULL). */
int lower_collective_time(struct lower *lower, int32_t collective, double *time_s, double *links_s,
                          struct status *st);

/* The collective that an instruction issues: itself, or the one in its async-start or fusion; -1: none. */
int32_t lower_collective_in(const struct module *module, int32_t instruction);

/* The bytes that an asynchronous instruction other than a collective moves between memories, in all; is it on
 * a SparseCore's queue? */
struct traffic {
    double hbm_bytes, host_bytes;
    bool sparse;
};
struct traffic lower_traffic(const struct module *module, int32_t instruction);

/* Bytes that a kernel itself sends to other devices, by its cost_estimate; 0 for other instructions. */
double lower_remote_bytes(const struct module *module, int32_t instruction);

/* Appends a collective that waits for `before`; `after` becomes the op that ends it. `stage` is its stage in the
 * program, for a permute that is written once more; -1: a new one. */
int lower_collective(struct lower *lower, int32_t instruction, int32_t stage, int32_t before, int32_t *after,
                     struct status *st);

/* Bytes of the whole array of a collective, as --size counts them, for a group of `chips` chips. */
double lower_collective_bytes(const struct module *module, int32_t instruction, int chips);
