/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * point: one complete description of a simulation: the op or model, the slice, the schedule and the engine.
 *
 * A point has one value for each option of a command line (or key of a workload file). run, compare and sweep
 * all work on points, and a job (job.h) makes a point concrete. Nothing is looked up yet: names of chips,
 * shapes and axes are still text, because their meanings depend on one another.
 *
 * Units: in the names. Errors: none here. Ownership: texts are borrowed from the settings that the point was
 * made from (settings.h) and live as long as they do.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The value of a choice that was not given: the profile or the workload decides. */
enum { CHOICE_OPEN = -1 };

/* Size of arrays indexed by an option's index in the table (option.h). */
enum { OPTIONS_MAX = 136 };

/* The op or model, and its sizes. */
struct point_work {
    const char *op;      /* "all-gather", or a matmul in sharding notation */
    const char *file;    /* the workload file it came from, or NULL */
    bool has_parts;      /* the file is of parts */
    uint64_t size_bytes; /* 0: not given */
    const char *dtype;
    const char *axis, *groups;
    const char *pairs;      /* collective-permute: "0-1,1-2" */
    const char *pair_sizes; /* ragged-all-to-all: a CSV file or "random:SEED" */
    int offset;             /* collective-permute without pairs: a shift by so many positions */
    int root;               /* broadcast: position in the group */
    const char *dims;       /* matmuls, statements: sizes of dims that have names: "B=1024,D=2048" */
    const char *trip_count; /* modules: "while.3=80": for loops without known_trip_count */
    /* Modules: "cond.3=1": the branch that a conditional takes, if the text does not say. */
    const char *branch;
    const char *ragged;          /* modules: "uniform": sizes of ragged all-to-alls, not in the text */
    const char *op_cost;         /* modules: a CSV of the costs of custom calls */
    bool as_written;             /* modules: an all-reduce with a slice is not made a reduce-scatter */
    int layers, tokens_per_chip; /* transformers; 0: not given */
    bool head;                   /* transformers: simulate embedding, logits and loss, too */
    int optimizer;               /* transformers: enum optimizer, or CHOICE_OPEN */
    int shard_optimizer;         /* transformers: its state is replicated along dp, or (1) sharded */
};

enum optimizer { OPTIMIZER_ADAMW, OPTIMIZER_ADAFACTOR, OPTIMIZER_SGD };

enum twist { TWIST_OFF, TWIST_ON };

/* The slice, its chips and links, and the logical mesh on them. */
struct point_machine {
    const char *chip;
    int profile; /* enum chip_profile, or CHOICE_OPEN */
    const char *slice, *wrap, *mesh;
    int twist;                                   /* enum twist, or CHOICE_OPEN */
    int device_order;                            /* enum device_order */
    const char *dcn_mesh;                        /* hybrid meshes: "dp=2" over slices */
    bool split_axes;                             /* JAX's allow_split_physical_axes */
    const char *on;                              /* chips that the mesh is laid over, in order: "0-3,7,6" */
    const char *devices;                         /* modules: a CSV with the chip of each device */
    double link_Bps, hop_latency_s;              /* NaN: the chip's own */
    const char *link, *slow_chip;                /* defects: "2,1,0:x+=0.5 1,0:x=0", "3,3,3=0.8" */
    const char *peak;                            /* peak rates by dtype: "int32=19.17Tflops" */
    const char *price;                           /* models: dollars per chip hour, by chip: "v5e=1.2" */
    double matmul_efficiency, launch_overhead_s; /* NaN: the chip's own */
    bool mxu_padding;
    int precision;    /* enum precision */
    int compute;      /* compiled text: enum compute_rule */
    bool elementwise; /* modules: norms, activations and copies take HBM time */
};

/* The schedules of collectives, and how a model is compiled. */
struct point_schedule {
    int ring;                /* enum ring_kind, or CHOICE_OPEN */
    int algorithm;           /* enum algorithm, then the patterns (pattern_of_choice()), or CHOICE_OPEN */
    int all_to_all;          /* enum all_to_all */
    int routes;              /* collective-permute: link-disjoint routes that share the bytes */
    bool keep_ties;          /* all-to-all */
    bool one_ring, all_axes; /* for mesh axes on several physical axes; neither: the faster */
    const char *strategy;    /* how collectives overlap matmuls */
    int all_reduce;          /* enum overlap_reduce */
    int chunks;
    int async;            /* enum async_collectives */
    int collective_queue; /* for asynchronous collectives: enum collective_queue minus 1, or CHOICE_OPEN */
    int loop;             /* enum overlap_loop */
    int gather;           /* enum overlap_gather */
    int plan;             /* enum matmul_plan */
    int remat;            /* models: enum remat */
    bool combine;         /* models: all gathers of a layer are one collective */
    int prefetch;         /* models: gathers start this many layers ahead; 0 with --async permutes */
    bool fuse;            /* models: element-wise instructions are fused with their readers */
    int micro_batches;    /* transformers */
    bool unroll;          /* simulate every trip of a loop and every layer */
    int in_flight;        /* parts: number of batches in flight */
    bool host_transfer;   /* parts: batches go through the hosts, and the loop waits for them */
};

/* Which chips are simulated: all; one of those that are alike; also of those that are nearly alike, as they lie along lines
 * (collective_spec.endless). */
enum fold_rule { FOLD_OFF, FOLD_ALIKE, FOLD_ON };

/* How the simulation is run. */
struct point_run {
    int engine; /* index in engine_list() */
    int fold;   /* enum fold_rule */
    bool check;
    double tolerance_frac;       /* 0: exact */
    double time_limit_s;         /* wall-clock time for a point; 0: no limit */
    uint64_t memory_limit_bytes; /* 0: the free memory of the machine, at most 4 GiB */
};

struct point {
    struct point_work work;
    struct point_machine machine;
    struct point_schedule schedule;
    struct point_run run;
    bool given[OPTIONS_MAX]; /* options that were given, including those without a field here */
};
