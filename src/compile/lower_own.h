/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to compile/. */
/*
 * lower_own: what the files of the lowering share. lower_walk.c goes through instructions in the order of execution,
 * lower_compute.c appends to the queue, lower_issue.c collectives and what they wait for, lower_call.c loops and calls,
 * lower_branch.c the branches of conditionals, lower_copy.c what is asynchronous and no collective.
 * lower_collective.c, lower_algorithm.c, lower_permute.c and lower_ragged.c write a collective; lower_order.c finds an order where the text is no
 * schedule; lower_layers.c sees what layers stand for that are not in the module.
 *
 * Errors: negative codes, with the text in the status or in walker.st; a NULL item is one, too. Ownership: lower_walk() makes
 * the walker and frees it.
 */
#ifndef LOWER_OWN_H
#define LOWER_OWN_H

#include "base/stopwatch.h"
#include "collective/collective.h"
#include "compile/lower.h"

/* The walk through a module, which appends to the program: the queue begins when the op `before` has ended, if that is not
 * negative; `after` becomes the queue's last op. */
int lower_walk(struct lower *lower, int32_t before, int32_t *after, struct status *st);

/* An order for the instructions of a computation whose text is no schedule: order[0 .. count), operands first. */
int lower_order(const struct lower *lower, int32_t computation, int32_t order[], struct status *st);

/* The trip of a loop that stands for those that are not written: the last of the fewest that have two durations to compare,
 * else the one before it, as nothing of a trip that follows goes on beside the last. */
enum { LOWER_TRIPS = 3 };
static inline int64_t lower_standing_trip(int64_t written)
{
    return written - (written > LOWER_TRIPS ? 2 : 1);
}

/* The last product of the entry, -1 where no layers are missing. */
int32_t lower_layers_last_dot(const struct lower *lower);

/* After a run: adds what the missing layers take. False if those that are there do not go on alike, and it is an estimate. */
bool lower_layers_settle(const struct lower *lower, const struct trace *trace, double *more_s);

/* Instructions whose rows differ from device to device, as their labels say (hlo/ragged_rows.h). */

/* Does it have rows of its own on each device? */
bool lower_has_rows(const struct module *module, int32_t instruction);

/* What a ragged-dot takes on each chip: seconds[chips of the slice], 0 on chips without a device, that of the slowest of its
 * devices where it has several; and the longest, with what binds that. */
struct ragged_time {
    double seconds, hbm_Bps; /* of the longest: what it takes, and of HBM alone */
    enum bound_kind bound;
};
int lower_ragged_seconds(const struct lower *lower, int32_t instruction, double seconds[],
                         struct ragged_time *longest, struct status *st);

/* The pairs of a ragged-all-to-all, in rows of elem_bytes: sets elements, elem_bytes, pair_elements, which the caller frees. */
int lower_ragged_pairs(const struct lower *lower, int32_t instruction, struct collective_spec *spec,
                       int64_t **pair, struct status *st);

/* Bytes that a device has before a ragged-all-to-all or after it, the most of all. */
int lower_ragged_most(const struct lower *lower, int32_t instruction, double *bytes, struct status *st);

/* Bytes that all devices send; negative where no label says. */
double lower_ragged_bytes(const struct module *module, int32_t instruction);

/* A permute that is being written. It may be of a stage that there is already (-1: it makes one of its own), and waits for
 * `before`. */
struct permute {
    struct lower *lower;
    int32_t instruction, stage, before;
    struct collective_spec *spec;
    double bytes; /* of a device */
};

/* Appends what a permute sends, all at once: over links what goes to other chips, over joints what the devices of a chip give each
 * other. `after` ends when all has arrived; it is left alone where nobody sends. */
int lower_permute(const struct permute *permute, int32_t *after, struct status *st);

/* The same of what a kernel says that it sends, by its cost_estimate: to the devices that its source_target_pairs name, else each
 * device to the next one. */
int lower_remote(struct lower *lower, int32_t instruction, int32_t before, int32_t *after, struct status *st);

/* What the devices of a chip give each other, after a set-up: so many bytes, half of them each way, over the joint between them. */
struct exchange {
    double setup_s, bytes;
};

/* Seconds that it takes alone. */
double lower_joint_s(const struct lower *lower, double bytes);

/* Appends it, without links, on the chips of a mask, after `before`; returns its op. */
int32_t lower_exchange(struct lower *lower, int32_t instruction, int32_t where, struct exchange exchange,
                       int32_t before);

/* How collectives of one class go by our own schedule, where there is a choice: how they cut their arrays, and on which rings. */
struct lowered_share {
    int32_t slot; /* of its layout */
    enum opcode whole;
    enum ring_kind kind; /* that is asked for */
    int64_t bytes;
    struct collective_spec way; /* as collective_go_like() takes it */
    bool one_ring;              /* through all chips of a box */
};

/* Sets what of a spec is the schedule: kind, rings, parts. It has the kind that is asked for, and the rings of its layout; `key` has
 * the slot and the whole collective. */
int lower_schedule(struct lower *lower, int32_t instruction, struct lowered_share key,
                   struct collective_spec *spec, struct status *st);

/* What XLA would pick for a collective; can it be simulated on its groups as they lie? */
int lower_choice(struct lower *lower, int32_t instruction, struct collective_config *config, bool *follows,
                 struct status *st);

/* Does it go by our own schedule, of the kind that is asked for? */
bool lower_by_schedule(const struct lower *lower, int32_t instruction);

/* Works out the ring through all chips of the boxes of a collective, where they have several axes. */
int lower_join(struct lower *lower, int32_t instruction, struct status *st);

/* Gives a spec, which has the rings of the layout's axes, one of the ways round its boxes: all axes at once, or one ring. False if that
 * way is not open. */
bool lower_takes_way(const struct lower *lower, const struct layout *layout, bool one_ring,
                     struct collective_spec *spec);

/* What a collective's rings carry: of their kind, on the rings of a layout; and the bytes that the devices of a chip give each other for it. */
int lower_kind_of(const struct lower *lower, int32_t instruction, struct status *st);
void lower_set_rings(const struct lower *lower, int32_t instruction, const struct layout *layout,
                     struct collective_spec *spec);
/* Where a broadcast starts: the position of its first device's chip on the rings of a spec. */
int lower_root(const struct lower *lower, const struct layout *layout, const struct collective_spec *spec);
int lower_exchange_bytes(const struct lower *lower, int32_t instruction, const struct layout *layout,
                         double *bytes, struct status *st);

/* With options.least: an op without links that takes what a collective does not beat. */
int lower_wait(struct lower *lower, int32_t instruction, int32_t before, int32_t *after, struct status *st);

/* What options.least_table has kept of how a collective on such a layout goes by our own schedule; NULL: nothing. And keeps it. */
const struct lowered_share *lower_recall(struct lower *lower, int32_t instruction, struct status *st);
int lower_remember(struct lower *lower, int32_t instruction, const struct lowered_share *share,
                   struct status *st);

enum { WAITS_MOST = 256 };

/* The op that makes a value, and the item that issued it, -1 where there is none; of a tuple, its elements are
 * pool[first .. first + count). */
struct value {
    int32_t op, item;
    int32_t first, count;
    bool loose;   /* the queue has not waited for it */
    bool arrives; /* it is there when what `op` sends to a chip is */
    bool bundle;  /* no tuple: made without an op, it is there when all its elements are */
};

/* Where an op lies to the queue, in ops of it, -1 if nowhere: the last one that must have ended before it does, and the first
 * one that waits for it. */
struct passed {
    int32_t after, until;
};

/* What an op waits for. */
struct waits {
    int count;
    struct value of[WAITS_MOST];
};

struct walker {
    struct lower *lower;
    const struct module *module;
    struct program *program;
    int32_t queue;  /* last op of the chips' queues, -1: none yet */
    int32_t sparse; /* and of those of their SparseCores, which run beside them */
    int32_t all;    /* the chips that have a device */
    int32_t where;  /* the chips that run what is written: of a branch those that take it */
    int32_t site;   /* the conditional whose branch is being written, -1 */
    int32_t *
        stage; /* [stages] of loops: of loop k (label loop="k") its products at 2 k, its permutes at 2 k + 1; -1 */
    int32_t stages, stage_room;
    int32_t *on_groups; /* [groupings + 1] the last collective over these groups; -1 */
    struct value *pool; /* tuples' elements */
    int32_t pooled, room;
    struct passed *passed; /* [passed_ops] */
    int32_t passed_ops, passed_room;
    int32_t loop; /* the loop that is being written, -1 */
    int trip;
    double times, share; /* how many executions one stands for; the share of the chips that are at it */
    char phase[8];       /* of the turn that is being written ... */
    int32_t last_dot;    /* ... and the last product of the module, after which only weights are updated */
    int layers_before;   /* that are not in the module, of the layers below that of the turn */
    int layers;          /* that the turn stands for; and the layer of the one that stands for several */
    int standing;
    bool backward;
    int depth;
    struct stopwatch since; /* it began; and computations that were walked */
    int64_t walked;
    struct status *st;
};

/* Values of the instructions of a computation, from its first one on. */
struct frame {
    const struct computation *computation;
    struct value *value;
    struct value argument;      /* of a body: its one parameter */
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

/* One op that ends when all elements of a value are there. */
int32_t walker_op_of(struct walker *w, struct value value);

/* What an instruction reads, as distinct ops; and what must come before it. */
void walker_inputs(struct walker *w, const struct frame *f, int32_t instruction, struct waits *waits);

/* Adds the ops that a value comes from, each once; only those that the queue has not waited for, if loose. Those that there is
 * no room for are joined. */
void walker_collect(struct walker *w, struct value value, bool loose, struct waits *waits);

/* The same of all that an instruction reads; `waits` begins empty. */
void walker_collect_inputs(struct walker *w, const struct frame *f, int32_t instruction, bool loose,
                           struct waits *waits);

/* An op ends after such an op of the queue; the queue waits for it with such an op. */
void walker_pass(struct walker *w, int32_t op, int32_t after);
void walker_pass_until(struct walker *w, const struct waits *waits, int32_t queue);

/* Leaves out what the queue has waited for before something else of the list could be there. */
void walker_leave_passed(struct walker *w, struct waits *waits);

/* The op that was added last waits for them. */
void walker_wait(struct walker *w, const struct waits *waits);

/* Adds an op, unless it is none (-1). */
void walker_add_wait(struct waits *waits, int32_t op);

/* One op that ends when all of them have: a join where they are several; -1 of none. */
int32_t walker_join(struct walker *w, const struct waits *waits);

/* An execution of an instruction, with no op yet. */
struct lowered *walker_item(struct walker *w, int32_t instruction);

/* The number that an instruction's label has, or that of the conditional in whose branch it is; -1. */
int walker_label(const struct walker *w, int32_t instruction, const char *key);

/* What the labels say of an instruction of an unrolled loop, or those of the conditional in whose branch it is: which loop and
 * step, -1 of none; and whether its own say that it is issued by its data. */
struct step_labels {
    int loop, step;
    bool by_data;
};
struct step_labels walker_step(const struct walker *w, int32_t instruction);

/* All products of an unrolled loop are one stage, its permutes another; `kind` is what it is called, with the loop's number. */
int32_t walker_stage(struct walker *w, int32_t instruction, int loop, bool permutes, const char *kind);

/* A compute on the queue: of its time, or of none to wait for something. */
int32_t walker_queue_op(struct walker *w, int32_t instruction, struct amount amount,
                        const struct waits *waits);

/* A compute on the queue, as long as its cost says; what takes no time is only there when what it reads is. */
int walker_compute(struct walker *w, const struct frame *f, int32_t instruction, struct value *value);

/* Issues the collective in an instruction, or its copy; the value is what ends it. */
int walker_issue(struct walker *w, const struct frame *f, int32_t instruction, struct value *value);

/* Appends what is asynchronous and no collective for the item that was added last; returns the op. */
int32_t walker_copy(struct walker *w, int32_t instruction, struct waits *waits);

/* Where an asynchronous collective is waited for: the queue has made its additions. */
void walker_add_up(struct walker *w, int32_t instruction, struct value value);

/* Nothing of the queue goes on until a collective has ended. */
void walker_hold(struct walker *w, int32_t instruction, struct value value);

/* What runs other computations: loops, conditionals, calls, fusions. */
int walker_call(struct walker *w, const struct frame *f, int32_t instruction, struct value *value);

/* The branches of a conditional that run. */
int walker_conditional(struct walker *w, const struct frame *f, int32_t instruction, struct value *value);

/* What an instruction takes, about, without what it calls: by its cost, or by its bytes over one link. */
double lower_estimate_s(const struct lower *lower, int32_t instruction);

/* Before an instruction of the entry: begins a turn where it is the first product of a layer, and counts for more where the
 * layer stands for others. */
int walker_turn(struct walker *w, int32_t instruction);

/* All instructions of a computation. A body has its one parameter in `argument`; a call `caller` and where it is called. */
int walker_computation(struct walker *w, int32_t computation, struct value argument,
                       const struct frame *caller, int32_t site, struct value *result);

#endif
