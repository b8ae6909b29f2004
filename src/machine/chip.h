/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chip: one TPU generation: the rates and sizes of a chip, and how its slices are wired.
 *
 * Chips come from files in topologies/ (compiled in) or from a user's file. A file has a section `spec` with
 * the book's values, and may have a section `measured`, which replaces some of them by values fitted to
 * measurements; the profile chooses. Each value is either bare or {value: ..., source: ...}; a measured value
 * also tells `how` it was fitted and the rows it was `fitted_on`. `base: v5e` starts from a built-in chip.
 *
 *     name: v5e
 *     base: v5e                            # optional
 *     spec:
 *       pod: {value: 16x16, source: ...}   # largest slice; as many axes as the chip has
 *       slices: 2x2 2x4 4x4                # shapes that the cloud offers; the last may be: multiples of 4x4x4. Left out: any
 *       host: 4x2                          # chips of one host
 *       cores: 2                           # devices of one chip (1 if left out)
 *       tensorcores: 2                     # most devices a chip can be: v4's compiler may use it as two (cores if left out)
 *       wrap: axis of 16 only              # full pod only | multiples of 4x4x4 | always | never
 *       twist: nxnx2n and nx2nx2n          # slices that are twisted, if all axes wrap | never (never if left out)
 *       peak: {bf16: 197Tflops}            # per dtype
 *       matmul_efficiency: {all: 0.9, bf16: {steps: [[1Gflop, 0.5], [1Tflop, 0.9]]}}
 *       product_estimate: {value: {fixed_cycles: 3754, ...}}   # for matmuls inside steps: product_estimate.h
 *       step_efficiency: 0.9               # measured share of this estimate, or else of the peak, inside a training step
 *       attention_efficiency: {steps: [[64, 0.3], [128, 0.5]]} # of attention kernels, by the width of a head
 *       hbm_capacity: 16GB
 *       hbm_efficiency: {steps: [[4MiB, 0.4], [1GiB, 0.87]]}   # of hbm_bandwidth, by the bytes that a compute moves
 *       link_bandwidth: 45GBps             # and hbm_bandwidth, link_nominal, pcie_bandwidth, dcn_bandwidth
 *       joint_bandwidth: 1.2TBps           # between the devices of a chip, one way (through HBM if left out)
 *       collective_queue: sparsecore       # core that runs asynchronous collectives in order; tensorcore if left out
 *       reduce_rate: 100GBps               # rate of adding data from one link before it is sent on (no time if left out)
 *       hop_latency: 1us                   # and setup, launch_overhead
 *       clock: 1.5GHz                      # of the cycles that XLA:TPU estimates
 *       loop_hbm_efficiency: 0.85          # of hbm_bandwidth, in loops and copies compiled by XLA, and the overhead
 *       loop_overhead: 1.2us               # of each: used by --compute auto, with either profile
 *       mxu_tile: 128
 *       async_permutes: 16                 # chips of a slice up to which permutes of XLA's loops are asynchronous (any if left out)
 *       async_gathers: 1                   # XLA gathers beside products by default (0, which it does not, if left out)
 *       jax_mesh: split axes               # what jax.make_mesh allows if whole axes do not fit; whole axes if left out
 *       jax_trays: flat                    # JAX's special device order on small slices (device_trays.h); none if left out
 *       ring: bidi                         # default of --ring: uni | bidi | bidi-half (bidi-half if left out)
 *       algorithm: xla                     # default if neither --algorithm nor --ring is given: schedule (if left out) | xla
 *
 * A value that is missing in the file is NaN (numbers) or 0 (whole numbers); a function that needs it fails.
 *
 * Units: in the names; link_Bps is one-way and effective, link_nominal_Bps is the data sheet's.
 * Errors: STATUS_INPUT with file:line:column. Ownership: the caller's struct, freed with chip_free(), safe on
 * a zeroed one; the texts of facts live until then. A copy of the struct shares them with the original.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/document.h"
#include "base/dtype.h"
#include "machine/product_estimate.h"
#include "machine/slice.h"

enum chip_profile { CHIP_SPEC, CHIP_MEASURED };

/* The rule for which axes of a slice wrap. */
enum chip_wrap { CHIP_WRAP_FULL_POD, CHIP_WRAP_CUBES, CHIP_WRAP_AXIS_16, CHIP_WRAP_ALWAYS, CHIP_WRAP_NEVER };

/* The rule for which slices are twisted (twisted.c), if all of their axes wrap. */
enum chip_twist { CHIP_TWIST_NEVER, CHIP_TWIST_DOUBLED };

/* The origin of a value; texts that the file does not give are empty. */
enum { CHIP_KEY = 40, CHIP_FACTS = 64 };
struct chip_fact {
    char key[CHIP_KEY]; /* "link_bandwidth", "peak.bf16" */
    const char *value;  /* as written */
    const char *source;
    const char *how;              /* of a fit */
    const struct node *fitted_on; /* list of the rows that the value was fitted on; NULL if none */
    bool measured;
};

/* The share of a rate that work of some size reaches (matmuls by operations, HBM by bytes). Between the
 * steps, and below the first one, the time is linear in the work; above the last step the share is constant.
 * A larger step always takes longer than a smaller one. No steps: 1. */
enum { CHIP_STEPS = 16 };
struct chip_efficiency {
    int steps;
    double work[CHIP_STEPS]; /* rising: operations, or bytes */
    double frac[CHIP_STEPS];
};

/* Slices that the cloud offers: a list of shapes, and with `multiples` all boxes made of whole copies of the
 * last one. No shapes: any slice. */
enum { CHIP_OFFERS = 32 };
struct chip_offers {
    int shapes;
    int len[CHIP_OFFERS][SLICE_AXES]; /* 1 beyond the chip's axes */
    bool multiples;                   /* of the last shape */
};

enum { CHIP_NAME = 32 };
struct chip {
    char name[CHIP_NAME];
    enum chip_profile profile;
    int axes;        /* of ICI */
    int cores;       /* devices per chip as modules see them, each with its share of peak and HBM */
    int tensorcores; /* the largest number of devices per chip */
    int pod[SLICE_AXES], host[SLICE_AXES];
    struct chip_offers offers;
    enum chip_wrap wrap;
    enum chip_twist twist;
    const char *ring, *algorithm, *collective_queue, *jax_mesh; /* words */
    enum slice_trays trays;
    double peak_flops[DTYPE_COUNT];
    struct chip_efficiency efficiency[DTYPE_COUNT]; /* of a matmul alone */
    struct product_rule product_rule;               /* for matmuls inside steps; fixed_cycles 0: no rule */
    /* Share of the rule's speed, or else of the peak, that matmuls inside a step reach; NaN: as alone. */
    double step_efficiency;
    /* Share of the time of a hidden collective by which computes inside a step get slower; 0: not known. */
    double contention_frac;
    struct chip_efficiency attention_efficiency; /* by the width of a head; no steps: not known */
    struct chip_efficiency hbm_efficiency;
    uint64_t hbm_bytes, hbm_limit_bytes; /* the capacity; the part that a program may use, 0: not known */
    uint64_t vmem_bytes; /* the largest array that a device may have in VMEM (v4: CMEM); 0: none */
    double hbm_Bps, link_Bps, link_nominal_Bps, pcie_Bps, dcn_Bps;
    double hop_latency_s;
    double joint_Bps;         /* between two devices of a chip, one way; 0: they exchange data through HBM */
    double reduce_Bps;        /* rate of adding data from one link; 0: no time, as in the spec profile */
    double setup_s;           /* fixed overhead of a collective; 0 in the spec profile */
    double launch_overhead_s; /* of a compute; 0 in the spec profile */
    /* For compiled text (compile/lower_time.h). The loop values are measured and also apply with the spec
     * profile. */
    double clock_Hz, loop_hbm_efficiency, loop_overhead_s;
    bool has_measured; /* the file has measured values, whatever profile is loaded */
    int mxu_tile;
    int async_permute_chips; /* 0: any number */
    int async_gathers;

    int facts;
    struct chip_fact fact[CHIP_FACTS];
    struct document document[2]; /* the base, if any, and the file */
};

/* Loads a built-in chip by name, or a file: chip_is_path() is true for a text with a '/' in it or the ending
 * .yaml. CHIP_MEASURED is refused for a chip without measured values. */
bool chip_is_path(const char *name_or_path);
int chip_load(struct chip *chip, const char *name_or_path, enum chip_profile profile, struct status *st);
int chip_parse(struct chip *chip, const char *file, const char *text, size_t bytes, enum chip_profile profile,
               struct status *st);
void chip_free(struct chip *chip);

/* Names of the built-in chips, in a list that ends with NULL; likewise names of profiles (by enum
 * chip_profile) and of wrap rules. */
enum { CHIP_BUILT_IN_MAX = 32 };
void chip_names(const char *names[static CHIP_BUILT_IN_MAX]);
extern const char *const chip_profile_names[];
extern const char *const chip_wrap_names[];

/* The fact behind a value, NULL if the file has none (the value is then the default). */
const struct chip_fact *chip_fact(const struct chip *chip, const char *key);

/* Peak rate for a dtype: its own, or that of the type it is computed at. Fails if the chip has neither. */
int chip_peak(const struct chip *chip, enum dtype_id dtype, double *flops, struct status *st);

/* The share of the peak that a matmul of `flop` operations reaches. (chip_hbm_efficiency() below: the share
 * of the HBM bandwidth that a compute with `bytes` reaches.) */
double chip_matmul_efficiency(const struct chip *chip, enum dtype_id dtype, double flop);
/* The HBM that programs may use: the compiler's limit, if it is known, or else the capacity; of the whole
 * chip, and of one of its devices. 0: not known. */
double chip_hbm_limit_bytes(const struct chip *chip);
double chip_device_hbm_bytes(const struct chip *chip);
double chip_hbm_efficiency(const struct chip *chip, double bytes);

/* The longest rows of scores whose softmax XLA fuses with the product that makes them: 2048 where an MXU is 256 wide, none where it
 * is 128 wide (steps of v4, v5e, v5p, v6e and v7x that libtpu 0.0.52 compiled). */
static inline int chip_softmax_row(const struct chip *chip)
{
    return chip->mxu_tile >= 256 ? 2048 : 0;
}

/* The share of the peak that an attention kernel reaches, by the width of a head. A causal kernel over
 * `causal_length` keys (0: not causal) skips half of them, but only in whole blocks: the masked half of a
 * block on the diagonal is computed all the same. NaN: not known. */
double chip_attention_efficiency(const struct chip *chip, double width, double causal_length);

/* Makes a slice of the chip, "4x4x8". It wraps by the chip's rule (`wrap` NULL) or as --wrap tells ("none",
 * "all", "x,z"), and is twisted if the chip's slices of that shape are and the text names no topology.
 * Refused: more axes than the chip has, or a shape larger than the pod in every order of its axes; a twist of
 * any other shape, or without wraps. */
int chip_slice(const struct chip *chip, const char *shape, const char *wrap, struct slice *slice,
               struct status *st);
