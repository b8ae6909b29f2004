/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reference engine: the program of every chip as actors on SimGrid's kernel. This is the only file that
 * uses SimGrid. It is a separate module, loaded when it is needed (simgrid_load.c).
 *
 * An actor runs a chain of ops: it runs one op, continues with one of the ops that become ready (on any
 * chip), and starts an actor for each of the others. So no actor waits for another, and the kernel sees only
 * sleeps and transfers. A send sleeps for its setup and latency and then transfers over links without
 * latency, because SimGrid's fair shares weigh a flow by 1/latency. A compute sleeps for its seconds; since a
 * chip's computes run one at a time in program order, each also waits for the previous one.
 */
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef ICISIM_SANITIZE
#include <sanitizer/common_interface_defs.h>
#endif

#include "engine/lanes.h"
#include "engine/platform.h"
#include "engine/simgrid.h"

enum { ACTORS_MAX = 100000 };

struct follower {
    int32_t op;
    enum after_kind kind;
};

struct run {
    const struct program *program;
    struct trace *trace;
    struct lanes lanes;
    sg_host_t *host; /* [lanes.hosts] */
    /* The ops that wait for op o: follower[first_follower[o] .. first_follower[o + 1]). */
    int32_t *first_follower;
    struct follower *follower;
    int32_t *unmet;    /* [ops * chips] number of things that the op still waits for on the chip */
    int32_t *arriving; /* [ops * chips] number of sends of the op still to arrive at the chip */
    int64_t left;      /* (op, chip) pairs that have not ended */
    bool nomem;        /* an actor ran out of memory */
};

/* The head of a chain of ops; its actor frees it. */
struct task {
    struct run *run;
    int32_t op, chip;
};

static int64_t cell(const struct run *run, int32_t op, int chip)
{
    return (int64_t)op * run->program->slice->chips + chip;
}

static void start_chain(struct run *run, int32_t op, int chip);

/* The op with which an actor continues: the first one that became ready, if any. */
struct next {
    int32_t op, chip;
};

/* One of the things that the op waits for on the chip is fulfilled. */
static void release(struct run *run, int32_t op, int chip, struct next *next)
{
    if (!op_takes_part(run->program, &run->program->op[op], chip) || --run->unmet[cell(run, op, chip)] > 0)
        return;
    if (next->op < 0)
        *next = (struct next){op, chip};
    else
        start_chain(run, op, chip);
}

static void release_followers(struct run *run, int32_t op, int chip, enum after_kind kind, struct next *next)
{
    for (int32_t f = run->first_follower[op]; f < run->first_follower[op + 1]; f++)
        if (run->follower[f].kind == kind)
            release(run, run->follower[f].op, chip, next);
}

/* The chip's first compute after an op, in program order; -1 if there is none. */
static int32_t next_compute(const struct program *program, int32_t op, int chip)
{
    for (op++; op < program->ops; op++)
        if (program->op[op].kind == OP_COMPUTE && op_takes_part(program, &program->op[op], chip))
            return op;
    return -1;
}

/* Releases the ops that wait for an op that has ended on a chip; returns the op to continue with. */
static struct next end_op(struct run *run, int32_t o, int chip)
{
    const struct op *op = &run->program->op[o];
    struct next next = {-1, -1};
    run->left--;
    release_followers(run, o, chip, AFTER_DONE, &next);
    if (op->kind == OP_COMPUTE) {
        int32_t queued = next_compute(run->program, o, chip);
        if (queued >= 0)
            release(run, queued, chip, &next);
        return next;
    }
    int destination = lanes_of(&run->lanes, op, chip)->destination;
    if (--run->arriving[cell(run, o, destination)] == 0)
        release_followers(run, o, destination, AFTER_ARRIVED, &next);
    return next;
}

/* Sets the bandwidth of a chip's compute resource to that of the compute that starts now. */
static void set_speed(const struct run *run, int chip, double scaled_Bps)
{
    const struct slice *slice = run->program->slice;
    char name[PLATFORM_NAME];
    int32_t id = resource_of(slice, RESOURCE_COMPUTE, chip);
    sg_link_set_bandwidth(sg_link_by_name(platform_link_name(slice, id, name)), scaled_Bps);
}

static void perform(struct run *run, int32_t o, int chip)
{
    const struct op *op = &run->program->op[o];
    double start_s = simgrid_get_clock(), amount = op_amount(run->program, op, chip);
    if (!passes_lane(&run->lanes, op)) {
        sg_actor_sleep_for(amount);
    } else {
        const struct lane *lane = lanes_of(&run->lanes, op, chip);
        double scaled_bytes = op_bytes(run->program, op, chip) * run->lanes.bytes_scale;
        if (op->kind == OP_COMPUTE)
            set_speed(run, chip, compute_Bps(run->program, op, chip) * run->lanes.bytes_scale);
        else
            sg_actor_sleep_for(op->setup_s + lane->latency_s);
        if (lane->links > 0 && scaled_bytes >= 1) {
            int32_t from, to;
            lanes_hosts(&run->lanes, lane, &from, &to);
            sg_host_sendto(run->host[from], run->host[to], scaled_bytes);
        }
    }
    trace_note(run->trace, o, chip, op->kind == OP_COMPUTE, start_s, simgrid_get_clock());
}

struct stack {
    const void *bottom;
    size_t bytes;
};

/* Tells AddressSanitizer the current stack, and returns the previous one. SimGrid ends an actor by an
 * exception, at which the sanitizer examines the stack it knows; but each actor has its own. */
static struct stack stack_change(struct stack to)
{
    struct stack was = to;
#ifdef ICISIM_SANITIZE
    __sanitizer_start_switch_fiber(NULL, to.bottom, to.bytes);
    __sanitizer_finish_switch_fiber(NULL, &was.bottom, &was.bytes);
#endif
    return was;
}

/* The memory around the caller's frame. */
static struct stack stack_here(void)
{
    enum { AROUND = 4096 };
    return (struct stack){(const char *)__builtin_frame_address(0) - AROUND, (size_t)2 * AROUND};
}

static void follow_chain(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct task *head = sg_actor_self_get_data();
    struct run *run = head->run;
    struct next next = {head->op, head->chip};
    free(head);
    while (next.op >= 0) {
        perform(run, next.op, next.chip);
        next = end_op(run, next.op, next.chip);
    }
    stack_change(stack_here());
}

static void start_chain(struct run *run, int32_t op, int chip)
{
    struct task *head = malloc(sizeof *head);
    if (!head) {
        run->nomem = true;
        return;
    }
    *head = (struct task){run, op, chip};
    sg_actor_t actor = sg_actor_init("chain", run->host[chip % run->lanes.hosts]);
    sg_actor_set_data(actor, head);
    sg_actor_start(actor, follow_chain, 0, NULL);
}

/* Inverts the dependencies: lists, for each op, the ops that wait for it. */
static int list_followers(struct run *run, struct status *st)
{
    const struct program *program = run->program;
    run->first_follower = calloc((size_t)program->ops + 2, sizeof *run->first_follower);
    run->follower = calloc((size_t)program->afters + 1, sizeof *run->follower);
    if (!run->first_follower || !run->follower)
        return status_nomem(st);
    /* Counts are stored two places up. Their sums are the starts of the lists, and filling moves each start
     * to the end of its list. */
    int32_t *fill = run->first_follower + 1;
    for (int32_t a = 0; a < program->afters; a++)
        fill[program->after[a].op + 1]++;
    for (int32_t o = 0; o < program->ops; o++)
        fill[o + 1] += fill[o];
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        for (int32_t a = op->first_after; a < op->first_after + op->afters; a++)
            run->follower[fill[program->after[a].op]++] = (struct follower){o, program->after[a].kind};
    }
    return 0;
}

/* The number of things that the op's `after` wait for on the chip, without those that are fulfilled
 * at once. */
static int32_t count_unmet(const struct run *run, const struct op *op, int chip)
{
    const struct program *program = run->program;
    int32_t unmet = 0;
    for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
        const struct after *after = &program->after[a];
        unmet += after->kind == AFTER_DONE ? op_takes_part(program, &program->op[after->op], chip)
                                           : run->arriving[cell(run, after->op, chip)] > 0;
    }
    return unmet;
}

static int count_waits(struct run *run, struct status *st)
{
    const struct program *program = run->program;
    size_t chips = (size_t)program->slice->chips, cells = (size_t)program->ops * chips;
    run->unmet = calloc(cells + 1, sizeof *run->unmet);
    run->arriving = calloc(cells + 1, sizeof *run->arriving);
    bool *queued = calloc(chips, sizeof *queued); /* does the chip have a compute already? */
    if (!run->unmet || !run->arriving || !queued) {
        free(queued);
        return status_nomem(st);
    }
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        for (int chip = 0; chip < program->slice->chips; chip++) {
            if (!op_takes_part(program, op, chip))
                continue;
            run->left++;
            run->unmet[cell(run, o, chip)] = count_unmet(run, op, chip);
            if (op->kind == OP_SEND) {
                run->arriving[cell(run, o, lanes_of(&run->lanes, op, chip)->destination)]++;
                continue;
            }
            run->unmet[cell(run, o, chip)] += queued[chip];
            queued[chip] = true;
        }
    }
    free(queued);
    return 0;
}

static bool is_ready(const struct run *run, int32_t op, int chip)
{
    return op_takes_part(run->program, &run->program->op[op], chip) && run->unmet[cell(run, op, chip)] == 0;
}

/* Every op that waits for nothing has an actor from the start, which takes 34 KB and a place in SimGrid's
 * fair sharing, whose time grows with the square of the flows (an all-to-all of 256 chips with 74,000 flows:
 * 97 s, 2.5 GB). */
static int check_actors(const struct run *run, struct status *st)
{
    int64_t actors = 0;
    for (int32_t o = 0; o < run->program->ops; o++)
        for (int chip = 0; chip < run->program->slice->chips; chip++)
            actors += is_ready(run, o, chip);
    if (actors <= ACTORS_MAX)
        return 0;
    return status_fail(st, STATUS_LIMIT,
                       "%lld ops at once take SimGrid many minutes; use the event engine above %d",
                       (long long)actors, ACTORS_MAX);
}

static void start_ready(struct run *run)
{
    for (int32_t o = 0; o < run->program->ops; o++)
        for (int chip = 0; chip < run->program->slice->chips; chip++)
            if (is_ready(run, o, chip))
                start_chain(run, o, chip);
}

/* SimGrid reads a platform only from a file, so it gets a file in memory. */
static int load_platform(const struct lanes *lanes, struct status *st)
{
    int fd = memfd_create("icisim-platform", MFD_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        if (fd >= 0)
            close(fd);
        return status_fail(st, STATUS_IO, "cannot make the platform file: %s", strerror(errno));
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int code = lanes_write_platform(lanes, file, st);
    if (code == 0)
        simgrid_load_platform(path);
    fclose(file);
    return code;
}

/* The settings that make SimGrid's network the model of program.h: no TCP, no reverse traffic, plain max-min
 * shares; small stacks, since every flow of an all-to-all has one. Instants closer than the precision are one. It must be above the
 * rounding error of the last instant, or an event may be skipped and never happen, and far below the allowed difference of engines:
 * it is 2^10 rounding units (2^-52) of the program's time. */
static void configure(double expected_s)
{
    char precision[64];
    snprintf(precision, sizeof precision, "--cfg=surf/precision:%.3g",
             ldexp(expected_s > 0 ? expected_s : 1, -42));
    char *argv[] = {"icisim",
                    "--log=root.thres:critical",
                    "--cfg=network/model:CM02",
                    "--cfg=network/TCP-gamma:0",
                    "--cfg=network/crosstraffic:0",
                    "--cfg=network/weight-S:0",
                    "--cfg=network/latency-factor:1",
                    "--cfg=network/bandwidth-factor:1",
                    "--cfg=maxmin/precision:1e-12",
                    "--cfg=contexts/guard-size:0",
#ifdef ICISIM_SANITIZE
                    "--cfg=contexts/stack-size:256", /* sanitized frames are larger */
#else
                    "--cfg=contexts/stack-size:32",
#endif
                    precision,
                    NULL};
    int argc = (int)(sizeof argv / sizeof *argv) - 1;
    simgrid_init(&argc, argv);
}

static int find_hosts(struct run *run, struct status *st)
{
    run->host = calloc((size_t)run->lanes.hosts, sizeof *run->host);
    if (!run->host)
        return status_nomem(st);
    for (int32_t h = 0; h < run->lanes.hosts; h++) {
        char name[16];
        snprintf(name, sizeof name, "%d", h);
        run->host[h] = sg_host_by_name(name);
    }
    return 0;
}

static int simulate(struct run *run, double expected_s, struct status *st)
{
    configure(expected_s);
    int code = load_platform(&run->lanes, st);
    if (code == 0)
        code = find_hosts(run, st);
    if (code)
        return code;
    start_ready(run);
    struct stack stack = stack_change(stack_here());
    simgrid_run();
    stack_change(stack);
    if (run->nomem)
        return status_nomem(st);
    if (run->left == 0)
        return 0;
    return status_fail(st, STATUS_ENGINE, "SimGrid stopped at %g s with %lld ops left; use the event engine",
                       simgrid_get_clock(), (long long)run->left);
}

int icisim_engine_simgrid_run(const struct program *program, double expected_s, struct trace *trace,
                              struct status *st)
{
    struct run run = {.program = program, .trace = trace};
    int code = lanes_init(&run.lanes, program, st);
    if (code == 0)
        code = list_followers(&run, st);
    if (code == 0)
        code = count_waits(&run, st);
    if (code == 0)
        code = check_actors(&run, st);
    if (code == 0)
        code = simulate(&run, expected_s, st);
    lanes_free(&run.lanes);
    free(run.host);
    free(run.first_follower);
    free(run.follower);
    free(run.unmet);
    free(run.arriving);
    return code;
}
