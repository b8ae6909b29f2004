/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to compile/. */
/*
 * lower_own: the interface between the files of the lowering. lower_walk.c goes through instructions in the
 * order of execution, lower_compute.c appends to the queue, lower_issue.c collectives and their dependencies,
 * lower_call.c loops and calls, lower_branch.c the branches of conditionals, lower_copy.c asynchronous
 * instructions other than collectives. lower_collective.c, lower_algorithm.c, lower_permute.c and
 * lower_ragged.c write a collective; lower_order.c finds an order if the text is not scheduled;
 * lower_layers.c extrapolates to the layers that are not in the module.
 *
 * Errors: negative codes, with the text in the status or in walker.st; a NULL item is one, too. Ownership: lower_walk() makes
 * the walker and frees it.
 */
#pragma once

#include "base/stopwatch.h"
#include "compile/lower.h"

/* Walks through the module and appends to the program: the queue begins when the op `before` has ended, if
 * that is not negative; `after` becomes the queue's last op. */
int lower_walk(struct lower *lower, int32_t before, int32_t *after, struct status *st);

/* Finds an order for the instructions of a computation that is not scheduled: order[0 .. count), operands
 * first. */
int lower_order(const struct lower *lower, int32_t computation, int32_t order[], struct status *st);

/* The trip of a loop that stands for those that are not written: the last of the fewest that have two durations to compare,
 * else the one before it, as nothing of a trip that follows goes on beside the last. */
enum { LOWER_TRIPS = 3 };
static inline int64_t lower_standing_trip(int64_t written)
{
    return written - (written > LOWER_TRIPS ? 2 : 1);
}

/* The last product of the entry, -1 if no layers are missing. */
int32_t lower_layers_last_dot(const struct lower *lower);

/* After a run: adds the time of the missing layers, and by how much that may be off, as those that stand for them differ.
 * False if what is simulated cannot stand for them. */
bool lower_layers_settle(const struct lower *lower, const struct trace *trace, double *more_s, double *off_s);

/* Instructions whose rows differ from device to device, as their labels say (hlo/ragged_rows.h). */

/* The time of a ragged-dot on each chip: seconds[chips of the slice], 0 on chips without a device, the
 * slowest device's on chips with several; and the longest, with its bound. */
struct ragged_time {
    double seconds, hbm_Bps; /* of the longest: its time, and its use of HBM if alone */
    enum bound_kind bound;
};
int lower_ragged_seconds(const struct lower *lower, int32_t instruction, double seconds[],
                         struct ragged_time *longest, struct status *st);

/* The pairs of a ragged-all-to-all, in rows of elem_bytes: sets elements, elem_bytes, pair_elements, which the caller frees. */
int lower_ragged_pairs(const struct lower *lower, int32_t instruction, struct collective_spec *spec,
                       int64_t **pair, struct status *st);

/* Bytes of a device before or after a ragged-all-to-all, the maximum over all devices. */
int lower_ragged_most(const struct lower *lower, int32_t instruction, double *bytes, struct status *st);

/* Bytes that all devices send; negative without a label. */
double lower_ragged_bytes(const struct module *module, int32_t instruction);

/* A permute that is being written, and waits for `before`. */
struct permute {
    struct lower *lower;
    int32_t instruction, before;
    struct collective_spec *spec;
    double bytes; /* of a device */
};

/* Appends the sends of a permute, all at once: over links to other chips, over joints between the devices of
 * a chip. `after` ends when all has arrived; it is unchanged if no device sends. */
int lower_permute(const struct permute *permute, int32_t *after, struct status *st);

/* The same for the bytes that a kernel sends by its cost_estimate: to the devices in its source_target_pairs,
 * else from each device to the next. */
int lower_remote(struct lower *lower, int32_t instruction, int32_t before, int32_t *after, struct status *st);

/* The exchange between the devices of a chip, after a set-up: `bytes`, half of them each way, over the joint
 * between them. */
struct exchange {
    double setup_s, bytes;
};

/* The time of an exchange alone. */
double lower_joint_s(const struct lower *lower, double bytes);

/* Appends it, without links, on the chips of a mask, after `before`; returns its op. */
int32_t lower_exchange(struct lower *lower, int32_t instruction, int32_t where, struct exchange exchange,
                       int32_t before);

/* The schedule of a class of collectives by our own algorithms: the shares of their arrays, and their rings.
 * */
struct lowered_share {
    int32_t slot; /* of its layout */
    enum opcode whole;
    enum ring_kind kind; /* as requested */
    int64_t bytes;
    struct collective_spec way; /* as collective_go_like() takes it */
    bool one_ring;              /* through all chips of a box */
};

/* The ops of a collective in the program that is being written, copies of which are another one like it. */
enum { LOWERED_CLASS = 6 };
struct lowered_ops {
    int64_t like[LOWERED_CLASS]; /* what those have in common that have such ops */
    int32_t first, end, after;
    double links_s; /* lower_links_s(); NaN: not asked for yet */
};

/* Sets the schedule of a spec: kind, rings, parts. On entry it has the requested kind and the rings of its
 * layout; `key` has the slot and the whole collective. */
int lower_schedule(struct lower *lower, int32_t instruction, struct lowered_share key,
                   struct collective_spec *spec, struct status *st);

/* XLA's choice for a collective; can it be simulated on the layout of its groups? */
int lower_choice(struct lower *lower, int32_t instruction, struct collective_config *config, bool *follows,
                 struct status *st);

/* Does it use our own schedule, of the requested kind? */
bool lower_by_schedule(const struct lower *lower, int32_t instruction);

/* Finds the ring through all chips of a collective's boxes, if they have several axes. */
int lower_join(struct lower *lower, int32_t instruction, struct status *st);

/* Gives a spec, which has the rings of the layout's axes, one of the ways round its boxes: all axes at once, or one ring. False if that
 * way is not open. */
bool lower_takes_way(const struct lower *lower, const struct layout *layout, bool one_ring,
                     struct collective_spec *spec);

/* The kind of a collective's rings; its spec on the rings of a layout; and the bytes that the devices of a
 * chip exchange for it. */
int lower_kind_of(const struct lower *lower, int32_t instruction, struct status *st);
void lower_set_rings(const struct lower *lower, int32_t instruction, const struct layout *layout,
                     struct collective_spec *spec);
/* The root of a broadcast: the position of its first device's chip on the rings of a spec. */
int lower_root(const struct lower *lower, const struct layout *layout, const struct collective_spec *spec);
int lower_exchange_bytes(const struct lower *lower, int32_t instruction, const struct layout *layout,
                         double *bytes, struct status *st);

/* The time of a chip's busiest direction, averaged over the chips, for the bytes of the ops from `first` on. */
double lower_links_s(const struct program *program, int32_t first);

/* A lower bound of the time that a collective uses a chip's links, all at once, averaged over chips; 0: none. */
int lower_least_links(struct lower *lower, int32_t instruction, double *bound_s, struct status *st);

enum { WAITS_MOST = 256 };

/* The op that makes a value, and the item that issued it, -1 where there is none; of a tuple, its elements are
 * pool[first .. first + count). */
struct value {
    int32_t op, item;
    int32_t first, count;
    bool loose;   /* the queue has not waited for it */
    bool arrives; /* it is ready when the data that `op` sends to a chip has arrived */
    bool bundle;  /* not a tuple: it has no op, and is ready when all its elements are */
};

/* The place of an op relative to the queue, as ops of it, -1 if none: the last one that must end before it
 * does, and the first one that waits for it. */
struct passed {
    int32_t after, until;
};

/* The dependencies of an op. */
struct waits {
    int count;
    struct value of[WAITS_MOST];
};

struct walker {
    struct lower *lower;
    const struct module *module;
    struct program *program;
    int32_t queue;  /* last op of the chips' queues, -1: none yet */
    int32_t sparse; /* the same for the SparseCores' queues, which run in parallel */
    int32_t all;    /* the chips that have a device */
    int32_t where;  /* the chips that run the current code: in a branch, those that take it */
    int32_t site;   /* the conditional whose branch is being written, -1 */
    /* [stages] of loops: of loop k (label loop="k") its products at 2 k, its permutes at 2 k + 1; -1. */
    int32_t *stage;
    int32_t stages, stage_room;
    int32_t *on_groups; /* [groupings + 1] the last collective over these groups; -1 */
    struct value *pool; /* tuples' elements */
    int32_t pooled, room;
    struct passed *passed; /* [passed_ops] */
    int32_t passed_ops, passed_room;
    int32_t loop; /* the loop that is being written, -1 */
    int trip;
    double times, share; /* number of executions represented by one; share of the chips that take part */
    char phase[8];       /* of the current turn ... */
    int32_t last_dot;    /* ... and the last product of the module, after which only weights are updated */
    int layers_before;   /* layers missing from the module, below that of the turn */
    int layers;          /* number that the turn stands for */
    int standing;
    bool backward;
    int depth;
    struct stopwatch since; /* start of the walk */
    int64_t walked;
    struct status *st;
};

/* Values of the instructions of a computation, from its first one on. */
struct frame {
    const struct computation *computation;
    struct value *value;
    struct value argument;      /* of a body: its only parameter */
    const struct frame *caller; /* of a call: parameters are operands of `site` there */
    int32_t site;
};

static inline struct value walker_no_value(void)
{
    return (struct value){.op = -1, .item = -1};
}

static inline struct value walker_value(const struct frame *f, int32_t instruction)
{
    return f->value[instruction - f->computation->first];
}

static inline bool walker_overlaps(const struct walker *w)
{
    return w->lower->options->overlapped;
}

/* One op that ends when all elements of a value are ready. */
int32_t walker_op_of(struct walker *w, struct value value);

/* The inputs of an instruction as distinct ops; its dependencies. */
void walker_inputs(struct walker *w, const struct frame *f, int32_t instruction, struct waits *waits);

/* Adds the ops that produce a value, each once; if loose, only those that the queue has not waited for. Ops
 * beyond the capacity are joined. */
void walker_collect(struct walker *w, struct value value, bool loose, struct waits *waits);

/* The same for all inputs of an instruction; `waits` begins empty. */
void walker_collect_inputs(struct walker *w, const struct frame *f, int32_t instruction, bool loose,
                           struct waits *waits);

/* Records that an op ends after an op of the queue; that the queue waits for it with an op of its own. */
void walker_pass(struct walker *w, int32_t op, int32_t after);
void walker_pass_until(struct walker *w, const struct waits *waits, int32_t queue);

/* Removes ops that the queue has waited for anyway before another op of the list can end. */
void walker_leave_passed(struct walker *w, struct waits *waits);

/* Makes the op that was added last wait for them. */
void walker_wait(struct walker *w, const struct waits *waits);

/* Adds an op, unless it is none (-1). */
void walker_add_wait(struct waits *waits, int32_t op);

/* One op that ends when all of them have: a join if there are several; -1 if there are none. */
int32_t walker_join(struct walker *w, const struct waits *waits);

/* An execution of an instruction, with no op yet. */
struct lowered *walker_item(struct walker *w, int32_t instruction);

/* The number in an instruction's label, or in that of the conditional around it; -1 if none. */
int walker_label(const struct walker *w, int32_t instruction, const char *key);

/* The labels of an instruction of an unrolled loop, or those of the conditional around it: loop and step, -1
 * if none; and whether its own labels say that its data issues it. */
struct step_labels {
    int loop, step;
    bool by_data;
};
struct step_labels walker_step(const struct walker *w, int32_t instruction);

/* The stage of an unrolled loop: all its products are one stage, its permutes another; `kind` is the stage's
 * name, followed by the loop's number. */
int32_t walker_stage(struct walker *w, int32_t instruction, int loop, bool permutes, const char *kind);

/* Appends a compute to the queue: with a duration, or without one, as a wait. */
int32_t walker_queue_op(struct walker *w, int32_t instruction, struct amount amount,
                        const struct waits *waits);

/* Appends a compute to the queue, with the duration of its cost; a compute without duration is ready when its
 * inputs are. */
int walker_compute(struct walker *w, const struct frame *f, int32_t instruction, struct value *value);

/* Issues the collective of an instruction, or its copy; the value is the op that ends it. */
int walker_issue(struct walker *w, const struct frame *f, int32_t instruction, struct value *value);

/* Appends an asynchronous instruction that is not a collective, for the item added last; returns the op. */
int32_t walker_copy(struct walker *w, int32_t instruction, struct waits *waits);

/* When an asynchronous collective is waited for: appends its additions to the queue. */
void walker_add_up(struct walker *w, int32_t instruction, struct value value);

/* Holds the queue until a collective has ended. */
void walker_hold(struct walker *w, int32_t instruction, struct value value);

/* Walks instructions that run other computations: loops, conditionals, calls, fusions. */
int walker_call(struct walker *w, const struct frame *f, int32_t instruction, struct value *value);

/* Walks the branches of a conditional that run. */
int walker_conditional(struct walker *w, const struct frame *f, int32_t instruction, struct value *value);

/* The estimated time of an instruction, without called computations: by its cost, or by its bytes over one
 * link. */
double lower_estimate_s(const struct lower *lower, int32_t instruction);

/* Called before an instruction of the entry: begins a turn at the first product of a layer, and sets the
 * number of layers that it stands for. */
int walker_turn(struct walker *w, int32_t instruction);

/* Walks all instructions of a computation. A body has its only parameter in `argument`; a call has `caller`
 * and its call site. */
int walker_computation(struct walker *w, int32_t computation, struct value argument,
                       const struct frame *caller, int32_t site, struct value *result);
