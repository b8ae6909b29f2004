/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/result.h"

#include <math.h>

#define COLUMN(member, kind, meaning)                                                                        \
    {                                                                                                        \
#member, meaning, kind, offsetof(struct result, member)                                              \
    }

const struct column columns[] = {
    COLUMN(op, COLUMN_TEXT, "XLA's name of the collective, or the matmul in JAX's notation"),
    COLUMN(chip, COLUMN_TEXT, "chip generation"),
    COLUMN(slice, COLUMN_TEXT, "chips along each physical axis"),
    COLUMN(wrap, COLUMN_TEXT, "axes whose ends are joined"),
    COLUMN(mesh, COLUMN_TEXT, "logical axes and their sizes"),
    COLUMN(axes, COLUMN_TEXT, "mesh axes that the collective runs over"),
    COLUMN(ring, COLUMN_TEXT, "schedule: uni, bidi or bidi-half"),
    COLUMN(strategy, COLUMN_TEXT, "how a matmul and its collective overlap"),
    COLUMN(engine, COLUMN_TEXT, "the engine that ran it"),
    COLUMN(dtype, COLUMN_TEXT, "element type"),
    COLUMN(size_bytes, COLUMN_BYTES, "the whole array V (README: what size means)"),
    COLUMN(chips, COLUMN_COUNT, "chips of the slice"),
    COLUMN(time_s, COLUMN_REAL, "simulated time T"),
    COLUMN(formula_exact_s, COLUMN_REAL, "closed form of this schedule, where there is one"),
    COLUMN(formula_rule_s, COLUMN_REAL, "rule of thumb, where there is one"),
    COLUMN(bound_s, COLUMN_REAL, "a time that no schedule can beat on this slice"),
    COLUMN(algbw_Bps, COLUMN_REAL, "V/T; all-to-all: the data of one chip / T"),
    COLUMN(busbw_Bps, COLUMN_REAL, "algbw times nccl-tests' factor"),
    COLUMN(max_link_frac, COLUMN_REAL, "use of the busiest link: bytes/(bandwidth T)"),
    COLUMN(mean_link_frac, COLUMN_REAL, "mean use over all directed links of the axes in use"),
    COLUMN(link_bytes, COLUMN_REAL, "bytes over all links"),
    COLUMN(transfers, COLUMN_COUNT, "sends of all chips"),
    COLUMN(steps, COLUMN_COUNT, "longest chain of sends that wait for one another"),
    COLUMN(compute_s, COLUMN_REAL, "busy compute time of the critical chip"),
    COLUMN(comm_s, COLUMN_REAL, "time of the same program with computes of no length"),
    COLUMN(exposed_comm_s, COLUMN_REAL, "time less compute of the critical chip"),
    COLUMN(overlap_frac, COLUMN_REAL, "1 - exposed/communication, not below 0"),
    COLUMN(speedup, COLUMN_REAL, "over uni, of matmuls over naive, if that was run at the same point"),
    COLUMN(status, COLUMN_TEXT, "ok, or why there are no numbers"),
    COLUMN(max_link_bytes, COLUMN_REAL, "bytes over the busiest link"),
    COLUMN(varied, COLUMN_TEXT, "other options that have several values: routes=2"),
    {0},
};

void result_init(struct result *result)
{
    *result = (struct result){.chips = -1, .transfers = -1, .steps = -1};
    for (const struct column *c = columns; c->name; c++)
        if (c->kind == COLUMN_REAL)
            *(double *)((char *)result + c->offset) = NAN;
}

void result_compare(struct result *result, double reference_s)
{
    if (result->code == 0 && result->time_s > 0)
        result->speedup = reference_s / result->time_s;
}

void columns_write_names(struct csv_writer *csv)
{
    for (const struct column *c = columns; c->name; c++)
        csv_text(csv, c->name);
    csv_end_row(csv);
}

static void write_cell(struct csv_writer *csv, const struct column *column, const void *at)
{
    switch (column->kind) {
    case COLUMN_TEXT:
        csv_text(csv, at);
        return;
    case COLUMN_REAL:
        csv_real(csv, *(const double *)at);
        return;
    case COLUMN_BYTES:
        if (*(const uint64_t *)at > 0)
            csv_bytes(csv, *(const uint64_t *)at);
        else
            csv_empty(csv);
        return;
    case COLUMN_COUNT:
        if (*(const int64_t *)at >= 0)
            csv_count(csv, *(const int64_t *)at);
        else
            csv_empty(csv);
        return;
    }
}

void columns_write(struct csv_writer *csv, const struct result *result)
{
    for (const struct column *c = columns; c->name; c++)
        write_cell(csv, c, (const char *)result + c->offset);
    csv_end_row(csv);
}
