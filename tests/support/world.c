/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world.h"

#include <string.h>

#include "engine/engine.h"

void world_setup(struct world *w, int x, int y, bool ring)
{
    world_setup_in(w, "event", x, y, ring, WORLD_HOP_S);
}

void world_setup_in(struct world *w, const char *engine, int x, int y, bool ring, double hop_s)
{
    int len[SLICE_AXES] = {x, y, 1};
    bool wrap[SLICE_AXES] = {ring, ring, ring};
    memset(w, 0, sizeof *w);
    w->engine = engine;
    OKAY(slice_init(&w->slice, 2, len, wrap, WORLD_LINK_BPS, hop_s, &w->st), w->st);
    program_init(&w->program, &w->slice);
    program_stage(&w->program, "test");
}

void world_teardown(struct world *w)
{
    trace_free(&w->trace);
    program_free(&w->program);
    slice_free(&w->slice);
}

void world_simulate(struct world *w)
{
    OKAY(program_close(&w->program, &w->st), w->st);
    OKAY(program_check(&w->program, &w->st), w->st);
    OKAY(trace_init(&w->trace, &w->program, true, &w->st), w->st);
    OKAY(engine_run(engine_by_name(w->engine), &w->program, &w->trace, &w->st), w->st);
    OKAY(trace_check(&w->trace, &w->program, &w->st), w->st);
}

int32_t world_only(struct world *w, int chip)
{
    uint8_t mask[64] = {0};
    mask[chip] = 1;
    return program_mask(&w->program, mask);
}

int32_t world_send(struct world *w, int dx, double bytes, double setup_s, int32_t where)
{
    struct hop hop = {0, dx};
    return program_add(&w->program, (struct op){.kind = OP_SEND,
                                                .where = where,
                                                .towards = program_towards(&w->program, &hop, dx != 0),
                                                .amount = amount_of(bytes),
                                                .setup_s = setup_s,
                                                .payload = NO_PAYLOAD});
}

int32_t world_compute(struct world *w, double seconds, int32_t where)
{
    return program_add(&w->program, (struct op){.kind = OP_COMPUTE,
                                                .where = where,
                                                .towards = {0, NO_TABLE},
                                                .amount = amount_of(seconds),
                                                .payload = NO_PAYLOAD});
}

void world_runs(const struct world *w, int32_t op, int chip, double start_us, double end_us)
{
    int64_t at = (int64_t)op * w->trace.chips + chip;
    NEAR(w->trace.start_s[at], start_us * WORLD_US, WORLD_CLOSE_FRAC);
    NEAR(w->trace.end_s[at], end_us * WORLD_US, WORLD_CLOSE_FRAC);
}

void world_refused(struct world *w, const char *reason)
{
    struct status st = {0};
    OKAY(program_close(&w->program, &w->st), w->st);
    OKAY(trace_init(&w->trace, &w->program, false, &w->st), w->st);
    CU_ASSERT_EQUAL(engine_run(engine_by_name(w->engine), &w->program, &w->trace, &st), STATUS_LIMIT);
    CU_ASSERT(strstr(st.text, reason) != NULL);
}
