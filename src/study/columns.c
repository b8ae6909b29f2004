/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/result.h"

#include <math.h>

#define OF(member)   .offset = offsetof(struct result, member)
#define TEXT(member) .name = #member, .kind = COLUMN_TEXT, OF(member)
#define REAL(member) .name = #member, .kind = COLUMN_REAL, OF(member)
#define IN_US        .unit = "(us)", .scale = 1e6, .decimals = 2
#define IN_GBPS      .unit = "(GB/s)", .scale = 1e-9, .decimals = 2
#define IN_PERCENT   .unit = "(%)", .scale = 100

/* A row is a few lines, not one for each field. */
/* clang-format off */
const struct column columns[] = {
    {TEXT(op), .place = 20, .heading = "op", .common = "%s",
     .meaning = "XLA's name of the collective, or the matmul in JAX's notation"},
    {TEXT(chip), .place = 22, .heading = "chip", .common = "on %s", .meaning = "chip generation"},
    {TEXT(slice), .place = 23, .heading = "slice", .common = "%s",
     .meaning = "chips along each physical axis"},
    {TEXT(wrap), .place = 25, .heading = "wrap", .common = "(wrap: %s),",
     .meaning = "axes whose ends are joined"},
    {TEXT(mesh), .place = 26, .heading = "mesh", .common = "mesh %s,",
     .meaning = "logical axes and their sizes"},
    {TEXT(axes), .place = 28, .heading = "axes", .common = "axes %s,",
     .meaning = "mesh axes that the collective runs over"},
    {TEXT(ring), .place = 32, .heading = "ring", .common = "ring %s,",
     .meaning = "schedule: uni, bidi or bidi-half; of compiled text as-compiled or best, too"},
    {TEXT(strategy), .place = 31, .heading = "strategy", .common = "strategy %s,",
     .meaning = "how a matmul and its collective overlap"},
    {TEXT(engine), .place = 30, .heading = "engine", .common = "engine %s,",
     .meaning = "the engine that ran it"},
    {TEXT(dtype), .place = 21, .heading = "dtype", .common = "of %s", .meaning = "element type"},
    {.name = "size_bytes", .kind = COLUMN_BYTES, OF(size_bytes), .place = 10, .when = WHEN_SIZED,
     .heading = "size", .unit = "(B)", .meaning = "the whole array V (WORDS, size)"},
    {.name = "chips", .kind = COLUMN_COUNT, OF(chips), .meaning = "chips of the slice"},
    {REAL(time_s), .place = 40, .heading = "time", IN_US, .meaning = "simulated time T"},
    {REAL(formula_exact_s), .place = 43, .heading = "formula", IN_US,
     .meaning = "closed form of this schedule, where there is one"},
    {REAL(formula_rule_s), .place = 45, .when = WHEN_SIZED, .heading = "rule", .spare = 2, IN_US,
     .meaning = "rule of thumb, where there is one"},
    {REAL(bound_s), .place = 50, .heading = "bound", IN_US,
     .meaning = "a time that no schedule can beat on this slice"},
    {REAL(algbw_Bps), .place = 41, .when = WHEN_SIZED, .heading = "algbw", IN_GBPS,
     .meaning = "V/T; all-to-all: the data of one chip / T"},
    {REAL(busbw_Bps), .place = 42, .when = WHEN_SIZED, .heading = "busbw", IN_GBPS,
     .meaning = "algbw times nccl-tests' factor"},
    {REAL(max_link_frac), .place = 52, .heading = "max link", .spare = 1, IN_PERCENT, .decimals = 1,
     .meaning = "use of the busiest link: bytes/(bandwidth T)"},
    {REAL(mean_link_frac), .place = 53, .heading = "mean link", .spare = 1, IN_PERCENT, .decimals = 1,
     .meaning = "mean use over all directed links of the axes in use"},
    {REAL(link_bytes), .meaning = "bytes over all links"},
    {.name = "transfers", .kind = COLUMN_COUNT, OF(transfers), .meaning = "sends of all chips"},
    {.name = "steps", .kind = COLUMN_COUNT, OF(steps), .place = 54, .heading = "steps", .spare = 1, .unit = "",
     .meaning = "longest chain of sends that wait for one another"},
    {REAL(compute_s), .place = 60, .when = WHEN_COMPUTES, .heading = "compute", IN_US,
     .meaning = "busy compute time of the critical chip"},
    {REAL(comm_s), .place = 61, .when = WHEN_COMPUTES, .heading = "comm", .spare = 1, IN_US,
     .meaning = "time of the same program if every compute took no time"},
    {REAL(exposed_comm_s), .place = 62, .when = WHEN_COMPUTES, .heading = "exposed", IN_US,
     .meaning = "time less compute of the critical chip"},
    {REAL(overlap_frac), .place = 63, .when = WHEN_COMPUTES, .heading = "overlap", IN_PERCENT, .decimals = 1,
     .meaning = "1 - exposed/communication, not below 0"},
    {REAL(speedup), .place = 72, .when = WHEN_COMPARED, .heading = "speed-up", .unit = "(x)", .scale = 1,
     .decimals = 3, .meaning = "time of uni (matmuls: naive; parts: one batch in flight) / T, if that was run at the same point"},
    {TEXT(status), .meaning = "ok, or why there are no numbers; failed: and the reason, where another attempt may succeed"},
    {REAL(max_link_bytes), .meaning = "bytes over the busiest link"},
    {TEXT(varied), .place = 34, .heading = "with", .common = "with %s,",
     .meaning = "options given that have no column of their own: routes=2"},
    {TEXT(profile), .place = 29, .heading = "profile", .common = "%s profile,",
     .meaning = "the chip's numbers: spec or measured"},
    {.name = "command", .kind = COLUMN_COMMAND,
     .meaning = "icisim's arguments that give this row again (a speed-up compares rows, and is not in it)"},

    {REAL(overlapped_s), .place = 47, .heading = "overlapped", IN_US,
     .meaning = "module without a schedule: time if only data and control dependencies ordered it; T follows the order of the text"},

    {REAL(time_low_s), .place = 48, .heading = "low", IN_US,
     .meaning = "with --tolerance: simulated time if ends are early; T is the middle of low and high"},
    {REAL(time_high_s), .place = 49, .heading = "high", IN_US,
     .meaning = "with --tolerance: simulated time if ends are late (that T lies between is observed, not proven)"},
    {REAL(memory_bytes), .place = 64, .heading = "memory", .unit = "(GB)", .scale = 1e-9, .decimals = 2,
     .meaning = "model: memory of each chip that its step needs; compiled text: peak use of each device's HBM"},
    {REAL(mfu_frac), .place = 66, .heading = "MFU", IN_PERCENT, .decimals = 1,
     .meaning = "model: operations of the model, forward and backward, over what the chips could do in the time"},
    {REAL(tokens_per_s), .place = 67, .heading = "tokens", .spare = 2, .unit = "(1000/s)", .scale = 1e-3, .decimals = 1,
     .meaning = "model: tokens a second, on all chips"},
    {TEXT(exposed_axes), .place = 70, .when = WHEN_SEARCHED, .heading = "exposed over (s)", .spare = 1,
     .meaning = "module: seconds exposed over mesh axes, most first: tp=0.0123 fsdp=3e-06"},

    {TEXT(rings), .place = 27, .heading = "rings", .common = "%s,",
     .meaning = "what mesh axes lie on, and how a collective walks those on several physical axes: as axes or as one ring"},
    {TEXT(offered), .place = 24, .when = WHEN_VARIED, .heading = "offered", .spare = 2,
     .meaning = "whether the cloud offers this slice of the chip: yes or no"},
    {TEXT(product_bound), .place = 69, .heading = "products bound by", .spare = 1, .common = "products bound by %s,",
     .meaning = "what bounds the matmuls (MXU, HBM or launch), with shares of their time"},

    {TEXT(gather), .place = 35, .heading = "gather", .common = "gather %s,",
     .meaning = "matmul: where the output is sharded less than an operand, whether the all-gather stands before the matmul, after it, or mixed; empty without a choice"},

    {REAL(mfu_half_frac), .meaning = "model: the same with attention counted half, as if each token met those before it only"},
    {REAL(mfu_full_frac), .meaning = "model: the same with attention counted in full"},
    {TEXT(spent), .meaning = "model: seconds of the step, from the peak to what it takes: model=0.5 beyond=0.1 below_peak=0.2 hbm=0 others=0.1 contention=0.02 exposed:tp=0.01 rest=0"},
    {REAL(least_s),
     .meaning = "sweep --top of a model's meshes: estimated least time, from what the links carry; points whose estimate is above the best are not simulated"},

    {TEXT(parts), .place = 36, .heading = "by itself (s)", .common = "by itself (s): %s,",
     .meaning = "parts: seconds that each part and each transfer takes by itself for a batch: a=0.001 a>b=2e-05 b=0.002"},
    {TEXT(busy), .place = 73, .when = WHEN_KNOWN, .heading = "busy (share)", .spare = 1,
     .meaning = "parts: share of the time of a batch during which each is busy"},
    {TEXT(memory_fit), .place = 65, .when = WHEN_KNOWN, .heading = "fit",
     .meaning = "does that fit: fits, tight (within 10 % of what the compiler lets a program have) or over"},
    {TEXT(remat), .place = 37, .heading = "remat", .common = "remat %s,",
     .meaning = "model: what is recomputed: none, products or full, as asked for or the least that fits"},
    {REAL(usd_per_Mtoken), .place = 68, .heading = "cost", .unit = "($/Mtoken)", .scale = 1, .decimals = 3,
     .meaning = "model: dollars a million tokens, by --price-per-chip-hour"},
    {TEXT(algorithm), .place = 38, .heading = "algorithm", .common = "algorithm %s,",
     .meaning = "collectives: what --algorithm xla or best has taken: xla: RotatedPincerEmitter StrategyND{..}, best: bidi as one ring; empty: the schedule of the ring"},
    {REAL(typical_error_frac),
     .meaning = "model on the measured profile: what published steps like it were missed by, in the median, each by what other chips' rows say (icisim validate --steps)"},

    {REAL(left_out_frac),
     .meaning = "model: layers that are not simulated are taken to last as those that are; by what share of T these differ, times the number of those; empty: they do not differ"},

    {.name = "simulated", .kind = COLUMN_TEXT, OF(fold), .place = 33, .heading = "simulated", .common = "simulated %s equivalent chips,",
     .meaning = "chips of those that are alike: 1 of 8960; endless: or nearly alike, as long lines are taken to have no ends (--fold); empty: all chips"},
    {.kind = COLUMN_TEXT, OF(defaults), .place = 39, .heading = "by default", .spare = 1, .common = "by default %s,"},
    {.kind = COLUMN_TEXT, OF(typical_error), .place = 75, .heading = "published steps missed by",
     .common = "published steps missed by: %s,"},
    {.kind = COLUMN_TEXT, OF(compute_from), .place = 74, .heading = "compute from", .common = "compute from %s,"},
    {.kind = COLUMN_OFF, OF(formula_exact_s), .place = 44, .heading = "diff", IN_PERCENT,
     .decimals = 2},
    {.kind = COLUMN_OFF, OF(formula_rule_s), .place = 46, .when = WHEN_SIZED, .heading = "diff", .spare = 2, IN_PERCENT,
     .decimals = 2},
    {.kind = COLUMN_OFF, OF(bound_s), .place = 51, .when = WHEN_UNSIZED, .heading = "over bound", IN_PERCENT,
     .decimals = 1},
};
/* clang-format on */
const int column_count = sizeof columns / sizeof *columns;

void result_init(struct result *result)
{
    *result = (struct result){.engines_off_frac = NAN};
    for (int c = 0; c < column_count; c++)
        if (columns[c].kind == COLUMN_REAL)
            *(double *)((char *)result + columns[c].offset) = NAN;
        else if (columns[c].kind == COLUMN_COUNT)
            *(int64_t *)((char *)result + columns[c].offset) = -1;
}

void result_compare(struct result *result, double reference_s)
{
    if (result->code == 0 && result->time_s > 0)
        result->speedup = reference_s / result->time_s;
}

const char *column_text(const struct column *column, const struct result *result)
{
    return (const char *)result + column->offset;
}

double column_value(const struct column *column, const struct result *result)
{
    const void *at = (const char *)result + column->offset;
    switch (column->kind) {
    case COLUMN_TEXT:
    case COLUMN_COMMAND:
        break;
    case COLUMN_REAL:
        return *(const double *)at;
    case COLUMN_COUNT:
        return *(const int64_t *)at >= 0 ? (double)*(const int64_t *)at : NAN;
    case COLUMN_BYTES:
        return *(const uint64_t *)at > 0 ? (double)*(const uint64_t *)at : NAN;
    case COLUMN_OFF:
        return *(const double *)at > 0 ? result->time_s / *(const double *)at - 1 : NAN;
    }
    return NAN;
}

void columns_write_names(struct csv_writer *csv)
{
    for (int c = 0; c < column_count; c++)
        if (columns[c].name)
            csv_text(csv, columns[c].name);
    csv_end_row(csv);
}

static void write_cell(struct csv_writer *csv, const struct column *column, const struct result *result,
                       const char *command)
{
    const void *at = (const char *)result + column->offset;
    if (column->kind == COLUMN_TEXT)
        csv_text(csv, at);
    else if (column->kind == COLUMN_COMMAND)
        csv_text(csv, command);
    else if (column->kind == COLUMN_REAL || isnan(column_value(column, result)))
        csv_real(csv, column_value(column, result));
    else if (column->kind == COLUMN_COUNT)
        csv_count(csv, *(const int64_t *)at);
    else
        csv_bytes(csv, *(const uint64_t *)at);
}

void columns_write(struct csv_writer *csv, const struct result *result, const char *command)
{
    for (int c = 0; c < column_count; c++)
        if (columns[c].name)
            write_cell(csv, &columns[c], result, command);
    csv_end_row(csv);
}
