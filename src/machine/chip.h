/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chip: one TPU generation, what a chip of it can do and how its slices are wired.
 *
 * Chips come from files in topologies/ (compiled in) or from a file of the user's. A file has a section
 * `spec`, the book values, and may have one `measured`, which replaces some of them with values that were
 * fitted to measurements; the profile picks. Each value is either bare or {value: ..., source: ...}; a
 * measured one also says `how` it was fitted and `fitted_on` which rows. `base: v5e` starts from a built-in
 * chip.
 *
 *     name: v5e
 *     base: v5e                            # optional
 *     spec:
 *       pod: {value: 16x16, source: ...}   # largest slice; as many axes as the chip has
 *       slices: 2x2 2x4 4x4                # that its cloud offers; last may be: multiples of 4x4x4. Left out: any
 *       host: 4x2                          # chips of one host
 *       cores: 2                           # devices of one chip (1 if left out)
 *       tensorcores: 2                     # the most that it can be: v4's compiler may take it for two (cores if left out)
 *       wrap: axis of 16 only              # full pod only | multiples of 4x4x4 | always | never
 *       twist: nxnx2n and nx2nx2n          # of slices that wrap on all axes | never (never if left out)
 *       peak: {bf16: 197Tflops}            # per dtype
 *       matmul_efficiency: {all: 0.9, bf16: {steps: [[1Gflop, 0.5], [1Tflop, 0.9]]}}
 *       product_estimate: {value: {fixed_cycles: 3754, ...}}   # of products inside steps: product_estimate.h
 *       step_efficiency: 0.9               # of these, or of the peak, that they reach inside a training step, where it was measured
 *       attention_efficiency: {steps: [[64, 0.3], [128, 0.5]]} # of kernels of attention, by the width of a head
 *       hbm_capacity: 16GB
 *       hbm_efficiency: {steps: [[4MiB, 0.4], [1GiB, 0.87]]}   # of hbm_bandwidth, by the bytes that a compute moves
 *       link_bandwidth: 45GBps             # and hbm_bandwidth, link_nominal, pcie_bandwidth, dcn_bandwidth
 *       joint_bandwidth: 1.2TBps           # between the devices of a chip, one way (they meet in HBM if left out)
 *       collective_queue: sparsecore       # what carries asynchronous collectives, one after the other; tensorcore if left out
 *       reduce_rate: 100GBps               # what comes over one link is added at it before it goes on (at once if left out)
 *       hop_latency: 1us                   # and setup, launch_overhead
 *       clock: 1.5GHz                      # of the cycles that XLA:TPU estimates
 *       loop_hbm_efficiency: 0.85          # of hbm_bandwidth, in loops and copies that XLA compiled; and what each takes
 *       loop_overhead: 1.2us               # besides: by --compute auto, under either profile
 *       mxu_tile: 128
 *       jax_mesh: split axes               # what jax.make_mesh lets meshes do where whole axes do not fit; whole axes if left out
 *       jax_trays: flat                    # small slices whose devices JAX orders specially (device_trays.h); none if left out
 *       ring: bidi                         # where --ring is not given: uni | bidi | bidi-half (bidi-half if left out)
 *       algorithm: xla                     # where neither --algorithm nor a ring is named: schedule (if left out) | xla
 *
 * What a file does not know is NaN (numbers), 0 (whole numbers) and fails where it is needed.
 *
 * Units: in the names; link_Bps is one-way and effective, link_nominal_Bps is the data sheet's.
 * Errors: STATUS_INPUT with file:line:column. Ownership: the caller's struct, freed with chip_free(), safe on
 * a zeroed one; the texts of facts live as long. A copy of the struct shares them with the original.
 */
#ifndef ICISIM_CHIP_H
#define ICISIM_CHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/document.h"
#include "base/dtype.h"
#include "base/status.h"
#include "machine/product_estimate.h"
#include "machine/slice.h"

enum chip_profile { CHIP_SPEC, CHIP_MEASURED };

/* Which axes of a slice have their ends joined. */
enum chip_wrap { CHIP_WRAP_FULL_POD, CHIP_WRAP_CUBES, CHIP_WRAP_AXIS_16, CHIP_WRAP_ALWAYS, CHIP_WRAP_NEVER };

/* Which slices are twisted (twisted.c), if all of their axes wrap. */
enum chip_twist { CHIP_TWIST_NEVER, CHIP_TWIST_DOUBLED };

/* Where a value came from; empty texts where the file does not say. */
enum { CHIP_KEY = 40, CHIP_FACTS = 64 };
struct chip_fact {
    char key[CHIP_KEY]; /* "link_bandwidth", "peak.bf16" */
    const char *value;  /* as written */
    const char *source;
    const char *how;              /* of a fit */
    const struct node *fitted_on; /* list of the rows that the value was fitted on; NULL if none */
    bool measured;
};

/* Share of a rate that work reaches, by its amount (a product by its operations, HBM by bytes): between the steps, and
 * below the first, such that its time goes in straight lines; level above the last. A larger step takes longer than a
 * smaller one. No steps: 1. */
enum { CHIP_STEPS = 16 };
struct chip_efficiency {
    int steps;
    double work[CHIP_STEPS]; /* rising: operations, or bytes */
    double frac[CHIP_STEPS];
};

/* Slices that the cloud offers: shapes, and then all boxes made of whole ones of the last. None: any. */
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
    int cores;       /* devices of a module on one chip, each with its share of peak and HBM */
    int tensorcores; /* the most that modules may have on it */
    int pod[SLICE_AXES], host[SLICE_AXES];
    struct chip_offers offers;
    enum chip_wrap wrap;
    enum chip_twist twist;
    const char *ring, *algorithm, *collective_queue, *jax_mesh; /* words */
    enum slice_trays trays;
    double peak_flops[DTYPE_COUNT];
    struct chip_efficiency efficiency[DTYPE_COUNT]; /* of a product alone */
    struct product_rule product_rule; /* of products inside steps; without fixed_cycles there is none */
    double
        step_efficiency; /* of the rule's speed, else of the peak, that products inside a step reach; NaN: 1, as alone */
    double
        contention_frac; /* of the time of a collective beside computes inside a step, by which these take longer; 0: not known */
    struct chip_efficiency attention_efficiency; /* by the width of a head; no steps: not known */
    struct chip_efficiency hbm_efficiency;
    uint64_t hbm_bytes, hbm_limit_bytes; /* what it has; what a program may take of it, 0: not known */
    double hbm_Bps, link_Bps, link_nominal_Bps, pcie_Bps, dcn_Bps;
    double hop_latency_s;
    double joint_Bps;  /* between two devices of a chip, one way; 0: what they share is HBM */
    double reduce_Bps; /* at which what comes over one link is added; 0: at once, as in the spec profile */
    double setup_s;    /* fixed overhead of a collective; 0 in the spec profile */
    double launch_overhead_s; /* of a compute; 0 in the spec profile */
    /* Of compiled text (compile/lower_time.h): these two are measured, and hold under the spec profile, too. */
    double clock_Hz, loop_hbm_efficiency, loop_overhead_s;
    bool has_measured; /* the file has measured values, whichever profile was loaded */
    int mxu_tile;

    int facts;
    struct chip_fact fact[CHIP_FACTS];
    struct document document[2]; /* the base, if any, and the file */
};

/* Loads a built-in chip by name, or a file: what chip_is_path() says has a '/' in it or ends in .yaml. CHIP_MEASURED is
 * refused for a chip that has no measured values. */
bool chip_is_path(const char *name_or_path);
int chip_load(struct chip *chip, const char *name_or_path, enum chip_profile profile, struct status *st);
int chip_parse(struct chip *chip, const char *file, const char *text, size_t bytes, enum chip_profile profile,
               struct status *st);
void chip_free(struct chip *chip);

/* Names of the built-in chips, in a list that ends with NULL; names of profiles alike (by enum chip_profile),
 * and of wrap rules. */
enum { CHIP_BUILT_IN_MAX = 32 };
void chip_names(const char *names[static CHIP_BUILT_IN_MAX]);
extern const char *const chip_profile_names[];
extern const char *const chip_wrap_names[];

/* The fact behind a value, NULL if the file has none (then it is the default); its source, or NULL. */
const struct chip_fact *chip_fact(const struct chip *chip, const char *key);
const char *chip_source(const struct chip *chip, const char *key);

/* Peak rate for a dtype: its own, or that of the type it is computed at. Fails where the chip has neither. */
int chip_peak(const struct chip *chip, enum dtype_id dtype, double *flops, struct status *st);

/* The share that so much work reaches: of the peak a matmul of `flop` operations, of HBM's bandwidth a compute that moves
 * `bytes`. */
double chip_matmul_efficiency(const struct chip *chip, enum dtype_id dtype, double flop);
/* What programs may take of the chip's HBM: what the compiler lets them have, where that is known, else all of it; and of the HBM of
 * one of its devices. 0: not known. */
double chip_hbm_limit_bytes(const struct chip *chip);
double chip_device_hbm_bytes(const struct chip *chip);
double chip_hbm_efficiency(const struct chip *chip, double bytes);

/* The share of the peak that a kernel of attention reaches, of heads of a width, over so many keys, half of which a causal one skips
 * by whole blocks (causal_length; 0 of others): what of a block on the diagonal is masked is computed all the same.
 * NaN: not known. */
double chip_attention_efficiency(const struct chip *chip, double width, double causal_length);

/* A slice of this chip: "4x4x8", wraps by the rule (NULL) or as --wrap says ("none", "all", "x,z"); twisted where the chip's slices are and
 * the text names no topology. Refused: more axes than the chip has, more chips along them than the pod, in whatever order they are named; a twist
 * of another shape, or without wraps. */
int chip_slice(const struct chip *chip, const char *shape, const char *wrap, struct slice *slice,
               struct status *st);

#endif
