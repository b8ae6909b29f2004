/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traced.h"

#include <string.h>

#include "engine/engine.h"
#include "suite.h"

static const double us = 1e-6, link_Bps = 1e9, latency_s = 1e-6;

void traced_init(struct traced *t, int axes, const int len[], bool wrap)
{
    const bool wraps[SLICE_AXES] = {wrap, wrap, wrap};
    memset(t, 0, sizeof *t);
    OKAY(slice_init(&t->slice, axes, len, wraps, link_Bps, latency_s, &t->st), t->st);
    program_init(&t->program, &t->slice);
}

void traced_free(struct traced *t)
{
    trace_free(&t->trace);
    program_free(&t->program);
    slice_free(&t->slice);
}

void traced_run(struct traced *t)
{
    OKAY(program_close(&t->program, &t->st), t->st);
    OKAY(program_check(&t->program, &t->st), t->st);
    OKAY(trace_init(&t->trace, &t->program, true, &t->st), t->st);
    OKAY(engine_run(engine_by_name("event"), &t->program, &t->trace, &t->st), t->st);
    OKAY(trace_check(&t->trace, &t->program, &t->st), t->st);
}

static int32_t where(struct traced *t, int chip)
{
    uint8_t mask[64] = {0};
    CU_ASSERT_FATAL(t->slice.chips <= (int)sizeof mask);
    if (chip < 0)
        return WHERE_ALL;
    mask[chip] = 1;
    return program_mask(&t->program, mask);
}

int32_t traced_send(struct traced *t, int32_t stage, int step, int chip, int delta, double bytes)
{
    struct towards towards = program_towards(&t->program, &(struct hop){0, delta}, delta != 0);
    return program_add(&t->program, (struct op){.kind = OP_SEND,
                                                .where = where(t, chip),
                                                .towards = towards,
                                                .amount = amount_of(bytes),
                                                .payload = NO_PAYLOAD,
                                                .stage = stage,
                                                .step = step});
}

int32_t traced_compute(struct traced *t, int32_t stage, int step, int chip, double time_us)
{
    return program_add(&t->program, (struct op){.kind = OP_COMPUTE,
                                                .where = where(t, chip),
                                                .towards = {.table = NO_TABLE},
                                                .amount = amount_of(time_us * us),
                                                .payload = NO_PAYLOAD,
                                                .stage = stage,
                                                .step = step});
}

/* Step t of a ring: what arrived at the step before is passed on. */
static int32_t ring_send(struct traced *t, int32_t stage, int step, int32_t before, double send_us)
{
    int32_t send = traced_send(t, stage, step, -1, 1, (send_us * us - latency_s) * link_Bps);
    program_after(&t->program, before, AFTER_ARRIVED);
    program_after(&t->program, before, AFTER_DONE);
    return send;
}

void traced_loop(struct traced *t, int n, double permute_us, const double product_us[])
{
    traced_init(t, 1, (const int[]){n, 1, 1}, true);
    int32_t permutes = program_stage(&t->program, "collective-permute.1");
    program_stage_permutes(&t->program, permutes);
    int32_t fusion = program_stage(&t->program, "fusion.2"), sent = -1;
    for (int step = 0; step < n; step++) {
        int32_t came = sent;
        if (step < n - 1)
            sent = ring_send(t, permutes, step, came, permute_us);
        traced_compute(t, fusion, step, -1, product_us[step]);
        program_after(&t->program, came, AFTER_ARRIVED);
    }
    traced_run(t);
}

void traced_naive(struct traced *t, int n, double send_us, double product_us)
{
    traced_init(t, 1, (const int[]){n, 1, 1}, true);
    int32_t gather = program_stage(&t->program, "all-gather.1");
    int32_t fusion = program_stage(&t->program, "fusion.2"), sent = -1;
    for (int step = 0; step < n - 1; step++)
        sent = ring_send(t, gather, step, sent, send_us);
    int32_t join = traced_send(t, gather, 0, -1, 0, 0);
    for (int32_t op = 0; op <= sent; op++)
        program_after(&t->program, op, AFTER_ARRIVED);
    traced_compute(t, fusion, 0, -1, product_us);
    program_after(&t->program, join, AFTER_DONE);
    traced_run(t);
}
