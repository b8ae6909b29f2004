/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * point: one fully stated simulation: what runs, on which slice, by which schedule, in which engine.
 *
 * A point is what the options of a command line (or the keys of a workload file) say, one value each. run,
 * compare and sweep all work on points, and a job (job.h) makes one concrete. Nothing is looked up yet: names
 * of chips, shapes and axes are still text, because what they mean depends on one another.
 *
 * Units: in the names. Errors: none here. Ownership: texts are borrowed from the settings that the point was
 * made from (settings.h) and live as long as these.
 */
#ifndef ICISIM_POINT_H
#define ICISIM_POINT_H

#include <stdbool.h>
#include <stdint.h>

/* What a choice holds when it was not given: the profile or the workload decides. */
enum { CHOICE_OPEN = -1 };

/* Room for options, by their index in the table (option.h). */
enum { OPTIONS_MAX = 128 };

/* What runs. */
struct point_work {
    const char *op;      /* "all-gather", or a matmul in sharding notation */
    const char *file;    /* the workload file that it came from, or NULL */
    bool has_parts;      /* the file is of parts */
    uint64_t size_bytes; /* 0: not given */
    const char *dtype;
    const char *axis, *groups;
    const char *pairs;      /* collective-permute: "0-1,1-2" */
    const char *pair_sizes; /* ragged-all-to-all: a CSV file or "random:SEED" */
    int offset;             /* collective-permute without pairs: a shift by so many positions */
    int root;               /* broadcast: position in the group */
    const char *dims;       /* matmuls, statements: sizes of dims that have names: "B=1024,D=2048" */
    const char *trip_count; /* modules: "while.3=80": of loops that do not say it themselves */
    const char
        *branch; /* modules: "cond.3=1": of conditionals of which the text does not say what they take */
    const char *ragged;  /* modules: "uniform": what ragged all-to-alls send, which only run time knows */
    const char *op_cost; /* modules: a CSV of what custom calls cost */
    bool as_written;     /* modules: no reduce-scatter is found in them */
    int layers, tokens_per_chip; /* transformers; 0: not given */
    bool head;                   /* transformers: embedding, logits and loss are simulated, too */
    int optimizer;               /* transformers: enum optimizer */
    int shard_optimizer;         /* transformers: its state is the same along dp, or (1) shared out */
};

enum optimizer { OPTIMIZER_ADAMW, OPTIMIZER_ADAFACTOR, OPTIMIZER_SGD };

enum twist { TWIST_OFF, TWIST_ON };

/* Where: the slice, its chips and links, and the logical mesh on them. */
struct point_machine {
    const char *chip;
    int profile; /* enum chip_profile, or CHOICE_OPEN */
    const char *slice, *wrap, *mesh;
    int twist;                      /* enum twist, or CHOICE_OPEN */
    int device_order;               /* enum device_order */
    const char *dcn_mesh;           /* of a hybrid mesh: "dp=2" over slices */
    bool split_axes;                /* as JAX's allow_split_physical_axes */
    const char *on;                 /* chips that the mesh is laid over, in order: "0-3,7,6" */
    const char *devices;            /* modules: a CSV of the chips of devices */
    double link_Bps, hop_latency_s; /* NaN: the chip's own */
    const char *link, *slow_chip;   /* defects: "2,1,0:x+=0.5 1,0:x=0", "3,3,3=0.8" */
    const char *peak;               /* rates by dtype: "int32=19.17Tflops" */
    const char *price;              /* models: dollars of an hour of a chip, by chip: "v5e=1.2" */
    double matmul_efficiency, launch_overhead_s; /* NaN: the chip's own */
    bool mxu_padding;
    int precision;    /* enum precision */
    int compute;      /* compiled text: enum compute_rule */
    bool elementwise; /* modules: norms, activations and copies take HBM time */
};

/* How: the schedules of collectives, and how a model is compiled. */
struct point_schedule {
    int ring;                /* enum ring_kind, or CHOICE_OPEN */
    int algorithm;           /* enum algorithm, behind them patterns (pattern_of_choice()), or CHOICE_OPEN */
    int all_to_all;          /* enum all_to_all */
    int routes;              /* collective-permute: link-disjoint routes that share the bytes */
    bool keep_ties;          /* all-to-all */
    bool one_ring, all_axes; /* through axes on several physical ones; neither: the faster */
    const char *strategy;    /* how collectives overlap matmuls */
    int all_reduce;          /* enum overlap_reduce */
    int chunks;
    int async;            /* enum async_collectives */
    int collective_queue; /* of asynchronous collectives, as an enum collective_queue less 1; CHOICE_OPEN */
    int loop;             /* enum overlap_loop */
    int gather;           /* enum overlap_gather */
    int plan;             /* enum matmul_plan */
    int remat;            /* models: enum remat */
    bool combine;         /* models: gathers of a layer are one */
    int prefetch;         /* models: layers that gathers start ahead; 0 with --async permutes */
    bool fuse;            /* models: element-wise instructions run with what reads them */
    int micro_batches;    /* transformers */
    bool unroll;          /* every trip of a loop and every layer is simulated */
    int in_flight;        /* parts: batches at a time */
    bool host_transfer;   /* parts: batches go through the hosts, and the loop blocks */
};

/* How the simulation is run. */
struct point_run {
    int engine; /* index in engine_list() */
    bool fold, check;
    double tolerance_frac;       /* 0: exact */
    double time_limit_s;         /* of the wall clock, for a point; 0: any */
    uint64_t memory_limit_bytes; /* 0: what the machine has free, 4 GiB at most */
};

struct point {
    struct point_work work;
    struct point_machine machine;
    struct point_schedule schedule;
    struct point_run run;
    bool given[OPTIONS_MAX]; /* which options somebody gave, those included that fill no field here */
};

#endif
