/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All options, a row each. Their order is that of a sweep's rows; --help sorts each group by name. */
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "collective/collective.h"
#include "compile/pass.h"
#include "engine/engine.h"
#include "hlo/hlo_read.h"
#include "machine/chip.h"
#include "machine/roofline.h"
#include "notation/expr.h"
#include "settings/option.h"

const char *const option_group_titles[GROUP_OUTPUT + 1] = {
    [GROUP_WORK] = "What runs:",
    [GROUP_MACHINE] = "On which slice:",
    [GROUP_SCHEDULE] = "By which schedule:",
    [GROUP_ENGINE] = "In which engine:",
    [GROUP_OUTPUT] = "What is written:",
};

static int choice(const char *what, const char *name, const char *const names[], struct status *st)
{
    int index = text_index(name, names);
    return index >= 0 ? index : text_unknown(what, name, names, st);
}

static int profile_by_name(const char *name, struct status *st)
{
    return choice("profile", name, chip_profile_names, st);
}

static int engine_index(const char *name, struct status *st)
{
    enum { MOST = 8 };
    const char *names[MOST + 1] = {NULL};
    int n = 0;
    for (const struct engine *const *e = engine_list(); *e && n < MOST; e++)
        names[n++] = (*e)->name;
    return choice("engine", name, names, st);
}

unsigned option_op(const char *text)
{
    struct status unknown = {0};
    if (document_is_path(text))
        return ON_MODEL;
    if (hlo_is_path(text))
        return ON_TEXT;
    if (expr_is(text))
        return ON_MATMUL;
    const struct collective *collective = collective_by_name(text, &unknown);
    return collective ? 1u << collective->id : (unsigned)ON_ANY;
}

#define FIELD(member) .of_point = true, .offset = offsetof(struct point, member)
#define SHOWN(member) FIELD(member), .has_column = true

/* A row is a few lines, not one for each field. */
/* clang-format off */
const struct option_row option_table[] = {
    {.name = "op", .positional = true, .argument = "OP", .list = LIST_REPEAT, SHOWN(work.op), .group = GROUP_WORK,
     .commands = FOR_POINTS | FOR_EVAL | FOR_LOWER, .ops = ON_ANY,
     .doc = "what runs: a collective, a matmul in JAX's sharding notation, or HLO text in a file or dump directory"},

    {.name = "chip", .argument = "NAME", .fallback = "v5e", .list = LIST_COMMA, SHOWN(machine.chip),
     .group = GROUP_MACHINE, .commands = FOR_SLICES | FOR_FIT, .ops = ON_ANY,
     .doc = "chip: v2, v3, v4, v5p, v5e, v6e, v7x, or a chip file"},
    {.name = "profile", .argument = "NAME", .fallback = "spec", .kind = OPTION_CHOICE, .list = LIST_COMMA,
     SHOWN(machine.profile), .by_name = profile_by_name, .values = "spec measured", .group = GROUP_MACHINE,
     .commands = FOR_SLICES | FOR_VALIDATE, .ops = ON_ANY,
     .doc = "numbers of the chip: spec (the book's) or measured"},
    {.name = "slice", .argument = "SHAPE", .list = LIST_COMMA, SHOWN(machine.slice), .group = GROUP_MACHINE,
     .commands = FOR_SLICES | FOR_FIT, .ops = ON_ANY,
     .doc = "chips of the slice: 16, 4x4 or 4x4x8; all or offered: boxes of --chips; default: what the cloud offers for the mesh, of eval the mesh's shape"},
    {.name = "chips", .argument = "N", .kind = OPTION_COUNT, .group = GROUP_MACHINE, .commands = FOR_POINTS,
     .doc = "chips of the slice, for --slice all, offered or none, and for meshes such as dp=?,tp=?"},
    {.name = "wrap", .argument = "AXES", .list = LIST_REPEAT, SHOWN(machine.wrap), .values = "all none",
     .group = GROUP_MACHINE, .commands = FOR_SLICES | FOR_FIT, .ops = ON_ANY,
     .doc = "axes whose ends are joined: all, none or x,z; default: as the chip is built"},
    {.name = "mesh", .argument = "AXES", .list = LIST_REPEAT, .map = true, SHOWN(machine.mesh),
     .group = GROUP_MACHINE, .commands = FOR_SLICES | FOR_FIT, .ops = ON_ONE_MESH,
     .doc = "logical axes on the slice: dp=4,tp=2, where they lie, X=x*y:2,Z=y:4, of models on chips of two devices X=x*y*cores, or dp=?,tp=? for all ways; all: of a transformer dp=?,fsdp=?,tp=?, on every slice; default: the physical axes"},
    {.name = "on", .argument = "CHIPS", .list = LIST_REPEAT, FIELD(machine.on), .group = GROUP_MACHINE,
     .commands = FOR_SLICES, .ops = ON_ONE_MESH,
     .doc = "chips of the slice that the mesh is laid over, in this order: 0-3,7,6; default: all"},
    {.name = "link-bandwidth", .argument = "45GBps", .kind = OPTION_BANDWIDTH, .list = LIST_COMMA,
     FIELD(machine.link_Bps), .group = GROUP_MACHINE, .commands = FOR_SLICES, .ops = ON_ANY,
     .doc = "one-way bandwidth of a link; default: the chip's"},
    {.name = "hop-latency", .argument = "1us", .kind = OPTION_TIME, .list = LIST_COMMA, FIELD(machine.hop_latency_s),
     .group = GROUP_MACHINE, .commands = FOR_SLICES, .ops = ON_ANY,
     .doc = "latency of a link; default: the chip's"},

    {.name = "link", .argument = "2,1,0:x+=0.5", .list = LIST_JOIN, FIELD(machine.link), .group = GROUP_MACHINE,
     .commands = FOR_SLICES, .ops = ON_ANY,
     .doc = "a link at a share of its speed, 0 for a dead one that routes go round; x for both ways; may be repeated"},
    {.name = "slow-chip", .argument = "3,3,3=0.8", .list = LIST_JOIN, FIELD(machine.slow_chip),
     .group = GROUP_MACHINE, .commands = FOR_SLICES, .ops = ON_ANY,
     .doc = "a chip at a share of its peak and HBM bandwidth; may be repeated"},

    {.name = "peak", .argument = "RATES", .list = LIST_REPEAT, .map = true, FIELD(machine.peak),
     .group = GROUP_MACHINE, .commands = FOR_POINTS | FOR_LOWER, .ops = ON_MATMUL | ON_MODULE | ON_STATIONS,
     .doc = "matmul rates by dtype: int32=19.17Tflops; default: the chip's"},
    {.name = "matmul-efficiency", .argument = "0.9", .kind = OPTION_FRACTION, .list = LIST_COMMA,
     FIELD(machine.matmul_efficiency), .group = GROUP_MACHINE, .commands = FOR_POINTS | FOR_LOWER, .ops = ON_MATMUL | ON_MODULE | ON_STATIONS,
     .doc = "share of the peak that matmuls reach; default: the chip's"},
    {.name = "launch-overhead", .argument = "2us", .kind = OPTION_TIME, .list = LIST_COMMA,
     FIELD(machine.launch_overhead_s), .group = GROUP_MACHINE, .commands = FOR_POINTS | FOR_LOWER, .ops = ON_MATMUL | ON_MODULE | ON_STATIONS,
     .doc = "of every matmul op; default: the chip's"},
    {.name = "mxu-padding", .fallback = "off", .kind = OPTION_FLAG, FIELD(machine.mxu_padding),
     .group = GROUP_MACHINE, .commands = FOR_POINTS | FOR_LOWER, .ops = ON_MATMUL | ON_MODULE | ON_STATIONS,
     .doc = "matmul dims count as whole MXU tiles"},
    {.name = "precision", .argument = "NAME", .fallback = "default", .kind = OPTION_CHOICE, .list = LIST_COMMA,
     FIELD(machine.precision), .by_name = precision_by_name, .values = "default high highest", .group = GROUP_MACHINE,
     .commands = FOR_POINTS | FOR_LOWER, .ops = ON_MATMUL | ON_MODULE | ON_STATIONS,
     .doc = "products of f32, as JAX has it: one bf16 pass (default), three (high), six (highest)"},
    {.name = "dims", .argument = "SIZES", .list = LIST_REPEAT, .map = true, SHOWN(work.dims), .group = GROUP_WORK,
     .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL, .ops = ON_MATMUL | ON_MODEL | ON_STATIONS,
     .doc = "matmul, statements: sizes of dims that have names, B=1024,D=2048"},

    {.name = "axis", .argument = "AXES", .list = LIST_REPEAT, SHOWN(work.axis), .group = GROUP_WORK,
     .commands = FOR_SLICES | FOR_FIT, .ops = ON_COLLECTIVES,
     .doc = "mesh axes that a collective runs over: x, or x,y at once; default: all"},
    {.name = "groups", .argument = "GROUPS", .list = LIST_REPEAT, SHOWN(work.groups), .group = GROUP_WORK,
     .commands = FOR_POINTS | FOR_EVAL, .ops = ON_COLLECTIVES,
     .doc = "replica groups instead of axes: {{0,1},{2,3}} or [2,4]<=[8]"},
    {.name = "pairs", .argument = "PAIRS", .list = LIST_REPEAT, FIELD(work.pairs), .group = GROUP_WORK,
     .commands = FOR_POINTS, .ops = ON_PERMUTE,
     .doc = "collective-permute: who sends to whom, 0-1,1-0 in mesh order"},
    {.name = "pair-sizes", .argument = "FILE", .list = LIST_REPEAT, FIELD(work.pair_sizes), .group = GROUP_WORK,
     .commands = FOR_POINTS, .ops = ON_RAGGED,
     .doc = "ragged-all-to-all: CSV with from,to,size_bytes, random:SEED, or uniform"},
    {.name = "offset", .argument = "N", .fallback = "1", .kind = OPTION_INTEGER, .list = LIST_COMMA,
     FIELD(work.offset), .group = GROUP_WORK, .commands = FOR_POINTS | FOR_EVAL, .ops = ON_PERMUTE | ON_SHIFT,
     .doc = "collective-permute without pairs: shift by so many positions"},
    {.name = "root", .argument = "N", .fallback = "0", .kind = OPTION_COUNT, .list = LIST_COMMA, FIELD(work.root),
     .group = GROUP_WORK, .commands = FOR_POINTS | FOR_EVAL, .ops = ON_BROADCAST,
     .doc = "broadcast: position of the sender in its group"},
    {.name = "dtype", .argument = "TYPE", .fallback = "bf16", .list = LIST_COMMA, SHOWN(work.dtype),
     .values = "bf16 f32 f16 f64 int8 int16 int32 f8e4m3fn", .group = GROUP_WORK,
     .commands = FOR_POINTS | FOR_EVAL | FOR_FIT, .ops = ON_ANY,
     .doc = "bf16, f32, int8, ...; default: bf16, of eval the type JAX would give the input"},
    {.name = "size", .argument = "BYTES", .kind = OPTION_BYTES, .list = LIST_COMMA, SHOWN(work.size_bytes),
     .group = GROUP_WORK, .commands = FOR_POINTS, .ops = ON_COLLECTIVES,
     .doc = "bytes of the whole array: 64MiB, or 1MiB:1GiB:x4"},

    {.name = "routes", .argument = "N", .fallback = "1", .kind = OPTION_COUNT, .list = LIST_COMMA,
     FIELD(schedule.routes), .group = GROUP_SCHEDULE, .commands = FOR_POINTS | FOR_EVAL, .ops = ON_PERMUTE | ON_SHIFT,
     .doc = "collective-permute: disjoint routes that share the bytes"},
    {.name = "algorithm", .argument = "NAME", .fallback = "direct", .kind = OPTION_CHOICE, .list = LIST_COMMA,
     SHOWN(schedule.algorithm), .by_name = algorithm_by_name, .values = "direct ring", .group = GROUP_SCHEDULE,
     .commands = FOR_POINTS | FOR_EVAL | FOR_FIT, .ops = ON_ALL_TO_ALL | ON_MODULE,
     .doc = "all-to-all: direct (every pair at once) or ring"},
    {.name = "keep-ties", .fallback = "off", .kind = OPTION_FLAG, FIELD(schedule.keep_ties), .group = GROUP_SCHEDULE,
     .commands = FOR_POINTS | FOR_EVAL, .ops = ON_ALL_TO_ALL | ON_RAGGED,
     .doc = "all-to-all, ragged or not: what is half way round goes by + whole, not split"},
    {.name = "one-ring", .fallback = "off", .kind = OPTION_FLAG, FIELD(schedule.one_ring), .group = GROUP_SCHEDULE,
     .commands = FOR_POINTS | FOR_FIT, .ops = ON_RINGS | ON_ALL_TO_ALL | ON_RAGGED,
     .doc = "axes that lie on several physical ones: one ring through all their chips; default: the faster"},
    {.name = "all-axes", .fallback = "off", .kind = OPTION_FLAG, FIELD(schedule.all_axes), .group = GROUP_SCHEDULE,
     .commands = FOR_POINTS | FOR_FIT, .ops = ON_RINGS | ON_ALL_TO_ALL | ON_RAGGED,
     .doc = "the same: all physical axes at once; default: the faster"},
    {.name = "strategy", .argument = "NAME", .fallback = "auto", .list = LIST_COMMA, SHOWN(schedule.strategy),
     .values = "auto naive uni bidi bidi-half", .group = GROUP_SCHEDULE, .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL,
     .ops = ON_MATMUL | ON_MODEL,
     .doc = "how collectives overlap products: naive, uni, bidi, bidi-half, auto (the best); of models naive"},
    {.name = "all-reduce", .argument = "NAME", .fallback = "scatter-gather", .kind = OPTION_CHOICE,
     .list = LIST_COMMA, FIELD(schedule.all_reduce), .by_name = pass_reduce_by_name,
     .values = "scatter-gather chunks", .group = GROUP_SCHEDULE, .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL,
     .ops = ON_MATMUL | ON_MODEL, .doc = "matmul, model: overlapped all-reduces are scatter-gather loops, or chunks"},
    {.name = "chunks", .argument = "N", .fallback = "4", .kind = OPTION_COUNT, .list = LIST_COMMA,
     FIELD(schedule.chunks), .group = GROUP_SCHEDULE, .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL, .ops = ON_MATMUL | ON_MODEL,
     .doc = "matmul, model: pieces of the output with --all-reduce chunks; experts: parts of what is sent, 1 by "
            "itself"},
    {.name = "loop", .argument = "NAME", .fallback = "unrolled", .kind = OPTION_CHOICE, .list = LIST_COMMA,
     FIELD(schedule.loop), .by_name = pass_loop_by_name, .values = "unrolled xla", .group = GROUP_SCHEDULE,
     .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL, .ops = ON_MATMUL | ON_MODEL,
     .doc = "matmul, model: unrolled (N-1 permutes), or xla (uni reduce-scatter loops have N)"},
    {.name = "gather", .argument = "NAME", .fallback = "auto", .kind = OPTION_CHOICE, .list = LIST_COMMA,
     SHOWN(schedule.gather), .by_name = pass_gather_by_name, .values = "auto before after", .group = GROUP_SCHEDULE,
     .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL, .ops = ON_MATMUL,
     .doc = "matmul: what the output has cut less is gathered of the operand before the product, or of the output after it; auto: with --strategy auto the faster, else before"},
    {.name = "unroll", .fallback = "off", .kind = OPTION_FLAG, FIELD(schedule.unroll), .group = GROUP_SCHEDULE,
     .commands = FOR_POINTS, .ops = ON_MODULE,
     .doc = "module: simulate every trip of a loop, and every layer of a model, not only until two take as long"},
    {.name = "as-written", .fallback = "off", .kind = OPTION_FLAG, FIELD(work.as_written), .group = GROUP_WORK,
     .commands = FOR_POINTS | FOR_LOWER, .ops = ON_TEXT,
     .doc = "module: an all-reduce and a slice by partition-id stay what they are, and are no reduce-scatter"},
    {.name = "devices", .argument = "FILE", FIELD(machine.devices), .group = GROUP_MACHINE, .commands = FOR_POINTS,
     .ops = ON_TEXT, .doc = "module: CSV of the chip (x,y,z or chip) of each device; default: row by row"},
    {.name = "op-cost", .argument = "FILE", FIELD(work.op_cost), .group = GROUP_WORK, .commands = FOR_POINTS,
     .ops = ON_MODULE, .doc = "module: CSV of what custom calls cost: name, and time_s or flops,bytes"},
    {.name = "remat", .argument = "NAME", .fallback = "none", .kind = OPTION_CHOICE, .list = LIST_COMMA,
     FIELD(schedule.remat), .by_name = pass_remat_by_name, .values = "none products full", .group = GROUP_SCHEDULE,
     .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL, .ops = ON_MODEL | ON_STATIONS,
     .doc = "model: what the backward pass finds again: none (but gathers), products (all but these), full"},
    {.name = "combine", .argument = "on|off", .fallback = "off", .kind = OPTION_FLAG, .list = LIST_COMMA,
     FIELD(schedule.combine), .group = GROUP_SCHEDULE, .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL, .ops = ON_MODEL,
     .doc = "model: gathers of one layer's weights are one collective; off: one for each weight"},
    {.name = "prefetch", .argument = "N", .fallback = "0", .kind = OPTION_COUNT, .list = LIST_COMMA,
     FIELD(schedule.prefetch), .group = GROUP_SCHEDULE, .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL, .ops = ON_MODEL,
     .doc = "model: weights are gathered, and gradients summed, so many layers ahead or after, while others compute; 0: at once"},
    {.name = "layers", .argument = "N", .fallback = "0", .kind = OPTION_COUNT, .list = LIST_COMMA,
     FIELD(work.layers), .of_model = true, .group = GROUP_WORK, .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL,
     .ops = ON_MODEL | ON_STATIONS, .doc = "transformer: so many blocks; default: what the file says"},
    {.name = "tokens-per-chip", .argument = "N", .fallback = "0", .kind = OPTION_COUNT, .list = LIST_COMMA,
     FIELD(work.tokens_per_chip), .group = GROUP_WORK, .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL, .ops = ON_MODEL | ON_STATIONS,
     .doc = "transformer: tokens of a step / devices, chips or the cores of chips; default: what the file says, or its batch"},
    {.name = "micro-batches", .argument = "N", .fallback = "1", .kind = OPTION_COUNT, .list = LIST_COMMA,
     FIELD(schedule.micro_batches), .group = GROUP_SCHEDULE, .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL, .ops = ON_MODEL | ON_STATIONS,
     .doc = "transformer: parts of the batch, one after the other, whose gradients are added up"},
    {.name = "head", .argument = "on|off", .fallback = "on", .kind = OPTION_FLAG, FIELD(work.head),
     .group = GROUP_WORK, .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL, .ops = ON_MODEL | ON_STATIONS,
     .doc = "transformer: embedding, logits and loss take time, too"},
    {.name = "elementwise", .argument = "on|off", .fallback = "on", .kind = OPTION_FLAG, FIELD(machine.elementwise),
     .group = GROUP_MACHINE, .commands = FOR_POINTS, .ops = ON_MODULE | ON_STATIONS,
     .doc = "module: what is no product (norms, activations, copies) takes HBM time"},
    {.name = "fuse", .argument = "on|off", .fallback = "on", .kind = OPTION_FLAG, FIELD(schedule.fuse),
     .group = GROUP_SCHEDULE, .commands = FOR_POINTS | FOR_LOWER | FOR_EVAL, .ops = ON_MODEL,
     .doc = "model: norms, activations and the like run with what reads them, as XLA fuses them, and meet HBM only where a product or another layer does"},
    {.name = "trip-count", .argument = "NAME=N", .list = LIST_LAST, FIELD(work.trip_count), .group = GROUP_WORK,
     .commands = FOR_POINTS | FOR_LOWER, .ops = ON_TEXT,
     .doc = "module: how often loops run that do not say it: while.3=80,while.4=12"},
    {.name = "ragged", .argument = "uniform", FIELD(work.ragged), .group = GROUP_WORK, .commands = FOR_POINTS,
     .ops = ON_MODULE, .doc = "module: ragged all-to-alls send alike to all"},
    {.name = "ring", .argument = "NAME", .kind = OPTION_CHOICE, .list = LIST_COMMA, SHOWN(schedule.ring),
     .by_name = ring_kind_by_name, .values = "uni bidi bidi-half", .group = GROUP_SCHEDULE,
     .commands = FOR_POINTS | FOR_EVAL | FOR_FIT | FOR_LOWER,
     .ops = ON_RINGS | ON_ALL_TO_ALL | ON_MATMUL | ON_MODULE | ON_STATIONS,
     .doc = "uni, bidi or bidi-half; default: bidi-half, or what the chip's file says"},

    {.name = "engine", .argument = "NAME", .fallback = "event", .kind = OPTION_CHOICE, .list = LIST_COMMA,
     SHOWN(run.engine), .by_name = engine_index, .values = "event simgrid both", .group = GROUP_ENGINE,
     .commands = FOR_POINTS, .ops = ON_ANY,
     .doc = "event, simgrid (the second opinion), or both, which must agree to 1e-9"},
    {.name = "fold", .argument = "on|off", .fallback = "on", .kind = OPTION_FLAG, FIELD(run.fold),
     .group = GROUP_ENGINE, .commands = FOR_POINTS, .ops = ON_ONE_MESH,
     .doc = "event engine: simulate one chip of those that are alike"},
    {.name = "check", .fallback = "off", .kind = OPTION_FLAG, FIELD(run.check), .group = GROUP_ENGINE,
     .commands = FOR_POINTS, .ops = ON_ANY, .doc = "check the invariants of program and trace, too"},
    {.name = "tolerance", .argument = "1e-2", .kind = OPTION_FRACTION, FIELD(run.tolerance_frac),
     .group = GROUP_ENGINE, .commands = FOR_POINTS, .ops = ON_ONE_MESH,
     .doc = "event engine: transfers that are due within this share of the time end together, early or late"},
    {.name = "time-limit", .argument = "60s", .fallback = "60s", .kind = OPTION_TIME, FIELD(run.time_limit_s),
     .group = GROUP_ENGINE, .commands = FOR_POINTS, .ops = ON_ANY,
     .doc = "simulating a point is given up after so much time; 0s: never"},
    {.name = "in-flight", .argument = "N", .fallback = "1", .kind = OPTION_COUNT, .list = LIST_COMMA, FIELD(schedule.in_flight),
     .group = GROUP_SCHEDULE, .commands = FOR_RUN, .ops = ON_STATIONS,
     .doc = "two meshes: a batch enters when the one so many before it has left"},
    {.name = "split", .argument = "CHIPS", .list = LIST_COMMA, FIELD(machine.split), .group = GROUP_MACHINE, .commands = FOR_RUN,
     .ops = ON_STATIONS, .doc = "two meshes: chips of the first and of the second, 2/6; default: those that the file lists"},
    {.name = "host-transfer", .fallback = "off", .kind = OPTION_FLAG, FIELD(schedule.host_transfer), .group = GROUP_SCHEDULE,
     .commands = FOR_RUN, .ops = ON_STATIONS,
     .doc = "two meshes: what is handed over goes through the hosts by PCIe, and the loop blocks"},
    {.name = "draws", .argument = "N", .fallback = "0", .kind = OPTION_COUNT, .group = GROUP_WORK,
     .commands = FOR_RUN, .ops = ON_MODEL,
     .doc = "experts: so many routings, each drawn anew: what sending the tokens takes, its percentiles"},
    {.name = "memory-limit", .argument = "4GiB", .kind = OPTION_BYTES, FIELD(run.memory_limit_bytes),
     .group = GROUP_ENGINE, .commands = FOR_POINTS, .ops = ON_ONE_MESH,
     .doc = "a point may take so much memory; default: what the machine has free, of which each of --jobs has its share"},
    {.name = "jobs", .letter = 'j', .argument = "N", .fallback = "1", .kind = OPTION_COUNT,
     .group = GROUP_ENGINE, .commands = FOR_SWEEP, .doc = "simulations at a time"},

    {.name = "shard", .argument = "I/N", .group = GROUP_ENGINE, .commands = FOR_SWEEP,
     .doc = "every Nth point only, from the Ith on: 0/16 to 15/16; icisim merge puts the files together"},

    {.name = "csv", .argument = "FILE", .writes = true, .group = GROUP_OUTPUT,
     .commands = FOR_POINTS | FOR_FIT | FOR_VALIDATE | FOR_MERGE,
     .doc = "one row a point, in SI units; - is stdout, and then no table"},
    {.name = "top", .argument = "N", .kind = OPTION_COUNT, .group = GROUP_OUTPUT,
     .commands = FOR_RUN | FOR_SWEEP,
     .ops = ON_ONE_MESH, .doc = "print the N fastest points only, fastest first; a CSV has all"},
    {.name = "resume", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_OUTPUT, .commands = FOR_SWEEP,
     .doc = "go on with the rows that the CSV has already; without it, start afresh"},
    {.name = "slurm", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_OUTPUT, .commands = FOR_SWEEP,
     .doc = "run nothing: write a script beside the CSV that runs shards as a Slurm job array, and merges them"},
    {.name = "tasks", .argument = "N", .fallback = "8", .kind = OPTION_COUNT, .group = GROUP_OUTPUT,
     .commands = FOR_SWEEP, .doc = "tasks of the job array, a shard each"},
    {.name = "submit", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_OUTPUT, .commands = FOR_SWEEP,
     .doc = "submit the script that --slurm writes, with sbatch"},
    {.name = "steps", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_OUTPUT, .commands = FOR_RUN,
     .ops = ON_ONE_MESH, .doc = "print the time of each step"},
    {.name = "links", .argument = "FILE", .writes = true, .group = GROUP_OUTPUT, .commands = FOR_RUN,
     .ops = ON_ONE_MESH, .doc = "CSV of all links, a file each point: bytes and share of the bandwidth in use"},
    {.name = "collectives", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_OUTPUT, .commands = FOR_RUN,
     .ops = ON_MODULE, .doc = "module: print which collectives are issued, how many and of how many bytes"},
    {.name = "count-only", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_OUTPUT, .commands = FOR_RUN,
     .ops = ON_MODULE, .doc = "module: print what is issued and computed, without a slice to run it on"},
    {.name = "instructions", .argument = "FILE", .writes = true, .group = GROUP_OUTPUT, .commands = FOR_RUN, .ops = ON_MODULE,
     .doc = "module: CSV of all instructions, a file each point: executions, time, operations, bytes, exposed time"},
    {.name = "critical-path", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_OUTPUT,
     .commands = FOR_RUN,
     .ops = ON_ONE_MESH, .doc = "print what hides behind computes, what waits for what, and the critical path"},
    {.name = "trace", .argument = "FILE", .writes = true, .group = GROUP_OUTPUT,
     .commands = FOR_RUN | FOR_COMPARE,
     .ops = ON_ONE_MESH, .doc = "Chrome trace events, for ui.perfetto.dev, a file each point: t-uni.json; - is stdout"},
    {.name = "trace-chips", .argument = "N", .fallback = "8", .kind = OPTION_COUNT, .group = GROUP_OUTPUT,
     .commands = FOR_RUN | FOR_COMPARE, .ops = ON_ONE_MESH, .doc = "how many chips --trace shows"},
    {.name = "timing", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_OUTPUT, .commands = FOR_RUN,
     .ops = ON_ONE_MESH, .doc = "say on stderr where the program's own time and memory go"},
    {.name = "dump-program", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_OUTPUT,
     .commands = FOR_RUN, .ops = ON_ONE_MESH, .doc = "print the program as text instead of running it"},
    {.name = "crossover", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_OUTPUT,
     .commands = FOR_COMPARE, .doc = "sizes at which any two columns cross, not only the rings' two"},
    {.name = "output", .letter = 'o', .argument = "FILE", .writes = true, .fallback = "-",
     .group = GROUP_OUTPUT, .commands = FOR_TOPOLOGY, .doc = "topology export: the XML file"},
    {.name = "action", .positional = true, .argument = "show|export", .values = "show export",
     .group = GROUP_WORK, .commands = FOR_TOPOLOGY,
     .doc = "show prints the slice, export writes SimGrid XML"},

    {.name = "part", .positional = true, .argument = "PART.csv", .list = LIST_REPEAT, .group = GROUP_WORK,
     .commands = FOR_MERGE, .doc = "CSV of a shard"},

    {.name = "file", .positional = true, .argument = "FILE", .group = GROUP_WORK, .commands = FOR_FIT, .doc = "CSV of measured times"},
    {.name = "operation", .argument = "OP", .group = GROUP_WORK, .commands = FOR_FIT,
     .doc = "collective measured, where the file does not say"},
    {.name = "where", .argument = "COLUMN=VALUE", .list = LIST_REPEAT, .group = GROUP_WORK,
     .commands = FOR_FIT, .doc = "only rows with this in a column; may be repeated"},
    {.name = "robust", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_WORK, .commands = FOR_FIT,
     .doc = "bisquare weights: far points count less"},
    {.name = "hold", .argument = "NAMES", .group = GROUP_WORK, .commands = FOR_FIT,
     .doc = "hold overhead, hop or link at the chip's value or another: --hold link,overhead=4us"},
    {.name = "predict", .argument = "SIZES", .group = GROUP_OUTPUT, .commands = FOR_FIT,
     .doc = "predict times for sizes, such as 1MiB:1GiB:x4"},
    {.name = "write-profile", .argument = "FILE", .writes = true, .group = GROUP_OUTPUT, .commands = FOR_FIT,
     .doc = "write the machine fitted as a chip file with a measured profile"},
    {.name = "formulas", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_WORK,
     .commands = FOR_VALIDATE, .doc = "exact forms against both engines, rules in and beyond their range"},
    {.name = "steps", .argument = "FILE", .group = GROUP_WORK, .commands = FOR_VALIDATE,
     .doc = "measured training steps of a CSV such as analysis/published/published-steps.csv, whose column run names workload files"},
    {.name = "engines", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_WORK, .commands = FOR_VALIDATE,
     .doc = "event against SimGrid, every op of every chip"},
    {.name = "published", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_WORK,
     .commands = FOR_VALIDATE, .doc = "published measurements and worked problems"},
    {.name = "summary", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_OUTPUT,
     .commands = FOR_VALIDATE, .doc = "print the summary only"},

    {.name = "cases", .argument = "FILE", .group = GROUP_WORK, .commands = FOR_EVAL, .ops = ON_ANY,
     .doc = "a JSON file of cases, each with what must come out; then no OP"},
    {.name = "input", .argument = "NUMBERS", .group = GROUP_WORK, .commands = FOR_EVAL, .ops = ON_COLLECTIVES | ON_NONE,
     .doc = "global array: \"arange(8).reshape(2,4)\", [[1,2],[3,4]], a .json or .csv file"},
    {.name = "in", .argument = "SPEC", .group = GROUP_WORK, .commands = FOR_EVAL, .ops = ON_COLLECTIVES | ON_NONE,
     .doc = "how the input is cut: P(None,tp); default: dim 0 over --axis"},
    {.name = "out", .argument = "SPEC", .group = GROUP_WORK, .commands = FOR_EVAL, .ops = ON_COLLECTIVES | ON_NONE,
     .doc = "how the result is joined: P(tp); default: what follows from --in and OP"},
    {.name = "local", .argument = "STEP", .group = GROUP_WORK, .commands = FOR_EVAL, .ops = ON_COLLECTIVES | ON_NONE,
     .doc = "on each block before: mean, roll:5, slice:0:4 or add:1"},
    {.name = "tiled", .fallback = "off", .kind = OPTION_FLAG, .group = GROUP_WORK, .commands = FOR_EVAL,
     .ops = ON_ALL_GATHER | ON_REDUCE_SCATTER | ON_ALL_TO_ALL,
     .doc = "all_gather, psum_scatter, all_to_all: keep the dims"},
    {.name = "dim", .argument = "N", .fallback = "0", .kind = OPTION_INTEGER, .group = GROUP_WORK,
     .commands = FOR_EVAL, .ops = ON_ALL_GATHER,
     .doc = "all_gather: the dim that is joined or added (its axis)"},
    {.name = "scatter-dimension", .argument = "N", .fallback = "0", .kind = OPTION_INTEGER,
     .group = GROUP_WORK, .commands = FOR_EVAL, .ops = ON_REDUCE_SCATTER,
     .doc = "psum_scatter: the dim that is handed out"},
    {.name = "split-axis", .argument = "N", .fallback = "0", .kind = OPTION_INTEGER, .group = GROUP_WORK,
     .commands = FOR_EVAL, .ops = ON_ALL_TO_ALL, .doc = "all_to_all: the dim that is handed out"},
    {.name = "concat-axis", .argument = "N", .fallback = "0", .kind = OPTION_INTEGER, .group = GROUP_WORK,
     .commands = FOR_EVAL, .ops = ON_ALL_TO_ALL, .doc = "all_to_all: the dim that is joined or added"},
    {.name = "perm", .argument = "PAIRS", .group = GROUP_WORK, .commands = FOR_EVAL, .ops = ON_PERMUTE,
     .doc = "ppermute: 0-1,1-2 or [(0,1),(1,2)], numbered in mesh order"},
    {.name = "rows", .argument = "NUMBERS", .group = GROUP_WORK, .commands = FOR_EVAL, .ops = ON_RAGGED,
     .doc = "ragged_all_to_all: rows from each position to each, [[1,0],[2,3]]"},
};
/* clang-format on */

enum { OPTION_ROWS = sizeof option_table / sizeof *option_table };
_Static_assert((int)OPTION_ROWS <= (int)OPTIONS_MAX, "settings have no room for so many options");
const int option_count = OPTION_ROWS;
