/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lower: a module as a program: every instruction that is executed becomes a compute or a collective, in schedule order.
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
#ifndef ICISIM_LOWER_H
#define ICISIM_LOWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "compile/compute_time.h"
#include "compile/placement.h"
#include "engine/trace.h"
#include "hlo/collective_config.h"
#include "hlo/cost.h"
#include "hlo/module.h"
#include "machine/roofline.h"
#include "machine/schedule.h"
#include "program/program.h"

/* The costs given for instructions that the text does not know: by name, or by the target of a custom call.
 * */
struct op_cost {
    const char *name;
    double seconds;          /* NaN: by the roofline of ... */
    double flops, hbm_bytes; /* ... these */
};

/* The queue of asynchronous collectives: as the text says (module_on_sparse_core()), or one of these for all.
 * */
enum collective_queue { QUEUE_AS_WRITTEN, QUEUE_TENSORCORE, QUEUE_SPARSECORE };

struct lower_options {
    enum ring_kind kind;
    enum collective_queue queue;
    enum all_to_all all_to_all;   /* of all-to-alls */
    enum ring_kind exchange_kind; /* of all-to-alls by rings */
    enum algorithm algorithm;     /* of the others */
    const char *chip;             /* whose compiler chooses, by ALGORITHM_XLA */
    enum pattern pattern;         /* of those that have it, by our own schedule */
    bool one_ring, all_axes;      /* through the chips of a box; neither: the faster */
    int32_t free;                 /* the collective that takes no time; 0, which is none: all do */
    double setup_s;               /* of each collective */
    double
        contention_frac; /* of the time of a collective beside the queue, by which the queue takes longer */
    struct roofline roofline;
    enum compute_rule compute;     /* as compute_rule_for() has it */
    const struct op_cost *op_cost; /* [op_costs], borrowed */
    int op_costs;
    const char *
        branch; /* "cond.1=0,cond.2=all": which branches of conditionals run; NULL, and others: the slowest one */
    bool unroll;         /* every loop is written out */
    bool products_only;  /* what is neither a product nor communication takes no time */
    bool overlapped;     /* data and control dependencies only, where the module is not scheduled */
    bool rows_even;      /* rows that differ from device to device are alike instead: their mean */
    bool ragged_uniform; /* ragged all-to-alls whose sizes only run time knows send alike to all */
    bool
        least; /* a collective is no sends, but a wait for an estimate of the least that they take (lower_least.h) */
    struct least_table *least_table; /* where estimates are kept, borrowed; NULL: nowhere */
    int layers,
        more_layers;  /* of a model: those in the module, all alike, and those that it stands for besides */
    int layers_apart; /* but for so many at first, which are others */
    int layer_reach;  /* how many layers ahead or later something is under way: --prefetch */
    double time_limit_s; /* of the wall clock, for one lowering; 0: any */
};

/* One execution of an instruction, and the number of executions that it stands for. */
struct lowered {
    int32_t instruction;
    double times;
    int32_t first_op,
        end_op; /* the program's first op of it, and the op that ends it; -1 where it takes none */
    int32_t
        wait_op;   /* the compute that waits for it, of no length where the queue is held; -1 if none does */
    double wait_s; /* what that compute takes */
    int32_t queue_op; /* the last op of the queue before that, -1 if there is none */
    int32_t beside; /* another item that the same compute waits for, and so on round to this one; -1: none */
    double
        sums_s; /* of a collective on the TensorCore: what the vector unit of a chip takes for its additions */
    double seconds;       /* of a compute; the longest, where devices have rows of their own */
    const double *each_s; /* [chips] of such a one: a table of the program's; NULL of others */
    bool product;
    bool aside;            /* of no collective, but beside the queue: a copy, or work of a SparseCore */
    enum bound_kind bound; /* of a product */
    enum basis basis;      /* of the seconds of a compute */
    int32_t layer,
        layers;    /* of a model: the lowest layer, from 1, of so many that it stands for; 0: of none */
    bool backward; /* layers come from the last to the first */
};

/* The part of a module from the first product of a layer to the first product of the next. */
struct lowered_turn {
    int32_t first_op;
    int layer;     /* as it is labelled */
    bool backward; /* the next one is the layer before */
    bool stands;   /* for the layers that are not in the module */
};

/* A loop at one place of the run. */
struct lowered_loop {
    int32_t instruction;
    int32_t parent, parent_trip; /* the loop that it runs in, and in which of its trips; -1 */
    int64_t trips, written;
    double times;     /* that one stands for */
    int32_t *trip_op; /* [written + 1] where each trip begins in the program, and where the last one ends */
};

/* The branch of a conditional that ran, if the text does not determine it; -1: all of them. Was it the
 * slowest, or named? */
struct lowered_choice {
    int32_t conditional;
    int branch;
    bool slowest;
};

struct lowered_share; /* lower_own.h */

/* Permutes between the same pairs of devices, and the ops by which one of them sends: over links, from inside_op on within
 * chips. */
struct lowered_permute {
    int32_t first, count; /* the pairs: module.number[first .. first + count) */
    enum module_ids ids;
    int together; /* devices of a chip that an op sends for */
    int32_t first_op, inside_op, end_op;
};

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
    struct lowered_permute *permute; /* of the program that is being written */
    int32_t permutes, permutes_room;
    struct lowered_turn *turn;
    int32_t turns;
    bool
        unsteady; /* set by lower_settle(): layers do not take the same, so that more of them have to be in the module */
    int32_t room[4];
};

int lower_init(struct lower *lower, const struct module *module, const struct placement *placement,
               const struct lower_options *options, struct status *st);
void lower_free(struct lower *lower);

/* Writes the program from scratch. */
int lower_build(struct lower *lower, struct status *st);

/* Appends the module, once more, to a program on the same slice, loops written out in full (options.unroll): it begins when the op `before`
 * has ended on a chip, if that is not negative; `after` becomes the op that ends it. */
int lower_append(struct lower *lower, struct program *program, int32_t before, int32_t *after,
                 struct status *st);

/* After a run: `again` if some loop has to be written out further, for lower_build() to do; else the seconds that the
 * trips not written add to the total. */
int lower_settle(struct lower *lower, const struct trace *trace, bool *again, double *more_s,
                 struct status *st);

/* Sends that wait for one another (program_steps()) in the layers that are not in the module, if each adds as many as the one
 * that stands for them; with gathers several layers ahead that may change further on. `program`: what was built. */
int lower_more_steps(const struct lower *lower, const struct program *program, int64_t *steps,
                     struct status *st);

/* The time of the module by the fastest engine, folded: builds and settles as often as needed. Sets
 * `unsteady` if layers are not steady. */
int lower_time(struct lower *lower, double *time_s, struct status *st);

/* The cost of an instruction, including costs given by options; `seconds` is NaN unless it was given. */
struct cost lower_cost(const struct lower *lower, int32_t instruction, double *seconds);

/* Do the entries of options.branch name conditionals of the module, and existing branches? */
int lower_check_branches(const struct module *module, const char *list, struct status *st);

/* The time of an instruction; `cost` gets its cost. Ignores that devices may have different rows. */
int lower_time_of(const struct lower *lower, int32_t instruction, struct cost *cost,
                  struct compute_time *time, struct status *st);

/* The name of an instruction in traces and steps: its own, with its labels of phase and layer: "dot.7 bwd 3".
 * */
char *lower_name(const struct module *module, int32_t instruction, char text[static STAGE_NAME]);

/* The layout of a collective's groups on the slice; computed at its first use. */
int lower_layout(struct lower *lower, int32_t instruction, const struct layout **layout, struct status *st);
const struct layout *lower_laid(const struct lower *lower,
                                int32_t instruction); /* NULL if it is not worked out yet */

/* The time of a collective alone, with the options of the lowering. */
int lower_collective_time(struct lower *lower, int32_t collective, double *time_s, struct status *st);

/* Can the schedule in the text of a collective be simulated on the layout of its groups? */
bool lower_follows(const struct layout *layout, const struct collective_config *config);

/* The collective that an instruction issues: itself, what an async-start wraps, what a fusion contains; -1 if it issues none. */
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

/* Appends a collective that waits for `before`; `after` gets the op that ends it. A permute that is written
 * once more may be of a stage that there is already; -1: of one of its own, as others are. */
int lower_collective(struct lower *lower, int32_t instruction, int32_t stage, int32_t before, int32_t *after,
                     struct status *st);

/* Bytes of the whole array of a collective, as --size counts them (collective.c), for a group of `chips`
 * chips. */
double lower_collective_bytes(const struct module *module, int32_t instruction, int chips);

#endif
