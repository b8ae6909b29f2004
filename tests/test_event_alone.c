/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs that fold to one chip in the event engine: by one walk where no two sends meet on a link, else from instant to
 * instant. They are held against the naive engine, which knows of no such thing, and whose sums are the same.
 *
 * ICISIM_RANDOM=100000 tries that many random programs, ICISIM_SEED=17 begins at that seed; a failure prints its own.
 */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/event_run.h"
#include "naive_engine.h"
#include "program/fold.h"
#include "world.h"

/* Bytes and set-ups come from short lists, so that sends end in the instant in which others begin. */
static const double sizes_bytes[] = {0, 1500, 3000, 6000, 4321}, setups_s[] = {0, 1e-6, 2e-6, 2.385e-6};

static void append_op(struct program *program, struct suite_random *r, int32_t none)
{
    bool sends = suite_random(r, 4) > 0, far = sends && suite_random(r, 40) == 0;
    struct op op = {.kind = sends ? OP_SEND : OP_COMPUTE,
                    .where = suite_random(r, 12) ? WHERE_ALL : none,
                    .amount = amount_of(sends ? sizes_bytes[suite_random(r, 5)] : 1e-6 * suite_random(r, 4)),
                    .payload = NO_PAYLOAD};
    struct hop hop = {(int)suite_random(r, 3), (suite_random(r, 2) ? 1 : -1) * (far ? 2 : 1)};
    if (sends) {
        op.setup_s = setups_s[suite_random(r, 4)];
        op.towards = program_towards(program, &hop, suite_random(r, 10) ? 1 : 0);
    }
    int32_t added = program_add(program, op);
    /* Mostly the one before, as in a ring; else several sends of a link would nearly always meet. */
    for (int waits = added > 0 ? (int)suite_random(r, 3) : 0; waits > 0; waits--)
        program_after(program,
                      added - 1 - (int32_t)(suite_random(r, 4) ? 0 : suite_random(r, (unsigned)added)),
                      suite_random(r, 2) ? AFTER_DONE : AFTER_ARRIVED);
}

static bool try_seed(unsigned long seed, double hop_s, bool *alone)
{
    struct suite_random r = {seed};
    struct slice slice = {0};
    struct program program = {0};
    struct fold fold = {0};
    struct trace got = {0}, want = {0}, walked = {0};
    struct status st = {0};
    uint8_t nobody[60] = {0};
    int ops = 1 + (int)suite_random(&r, 14);
    bool same = slice_init(&slice, 3, (int[]){3, 4, 5}, (bool[]){true, true, true}, 3e9, hop_s, &st) == 0;
    program_init(&program, &slice);
    int32_t none = program_mask(&program, nobody);
    for (int o = 0; o < ops; o++)
        append_op(&program, &r, none);
    same = same && program_close(&program, &st) == 0 && fold_init(&fold, &program, &st) == 0 &&
           fold.slice.chips == 1 && trace_init(&got, &fold.program, true, &st) == 0 &&
           trace_init(&want, &fold.program, true, &st) == 0 &&
           engine_run(engine_by_name("event"), &fold.program, &got, &st) == 0 &&
           engine_run(&engine_naive, &fold.program, &want, &st) == 0 &&
           trace_check(&got, &fold.program, &st) == 0 &&
           trace_difference_s(&got, &want) <= 1e-12 * want.total_s;
    *alone =
        same && trace_init(&walked, &fold.program, true, &st) == 0 && event_run_alone(&fold.program, &walked);
    if (!same) {
        fprintf(stderr, "seed %lu: %s\n", seed, *st.text ? st.text : "the naive engine has other times");
        program_dump(&fold.program, stderr);
    }
    trace_free(&got);
    trace_free(&want);
    trace_free(&walked);
    fold_free(&fold);
    program_free(&program);
    slice_free(&slice);
    return same;
}

static void random_programs_take_the_same_time(void)
{
    const char *seed = getenv("ICISIM_SEED"), *count = getenv("ICISIM_RANDOM");
    unsigned long first = seed ? strtoul(seed, NULL, 10) : 1;
    long programs = count ? strtol(count, NULL, 10) : 5000, differ = 0, walks = 0;
    for (long i = 0; i < programs && differ < 3; i++) {
        bool alone;
        differ += !try_seed(first + (unsigned long)i, i % 4 ? WORLD_HOP_S : 0, &alone);
        walks += alone;
    }
    CU_ASSERT_EQUAL(differ, 0);
    CU_ASSERT(walks > programs / 4 && walks < 3 * programs / 4); /* else little was tested */
}

/* Rounds of three parts, as an all-gather over three axes: each goes by other axes first, three steps along each, so that
 * what is appended later is on a link between what is there already. */
static void add_round(struct program *program, int round, int32_t end[3])
{
    const int32_t before[3] = {end[0], end[1], end[2]};
    for (int part = 0; part < 3; part++)
        for (int i = 0; i < 9; i++) {
            struct hop hop = {(part + i / 3) % 3, 1};
            int32_t last = end[part];
            end[part] = program_add(program, (struct op){.kind = OP_SEND,
                                                         .where = WHERE_ALL,
                                                         .towards = program_towards(program, &hop, 1),
                                                         .amount = amount_of(700 * (1 + round % 3)),
                                                         .payload = NO_PAYLOAD});
            for (int b = 0; b < 3 && i == 0; b++)
                program_wait(program, before[b]);
            if (i > 0)
                program_wait(program, last);
        }
}

static void rounds_are_put_between_each_other(void)
{
    struct slice slice = {0};
    struct program program = {0};
    struct fold fold = {0};
    struct trace got = {0}, want = {0};
    struct status st = {0};
    int32_t end[3] = {-1, -1, -1};
    OKAY(slice_init(&slice, 3, (int[]){4, 4, 4}, (bool[]){true, true, true}, 3e9, WORLD_HOP_S, &st), st);
    program_init(&program, &slice);
    for (int round = 0; round < 100; round++)
        add_round(&program, round, end);
    OKAY(program_close(&program, &st), st);
    OKAY(fold_init(&fold, &program, &st), st);
    OKAY(trace_init(&got, &fold.program, true, &st), st);
    OKAY(trace_init(&want, &fold.program, true, &st), st);
    OKAY(engine_run(&engine_naive, &fold.program, &want, &st), st);
    CU_ASSERT_FATAL(event_run_alone(&fold.program, &got));
    CU_ASSERT(trace_difference_s(&got, &want) <= 1e-12 * want.total_s);
    trace_free(&got);
    trace_free(&want);
    fold_free(&fold);
    program_free(&program);
    slice_free(&slice);
}

SUITE("event_alone", TEST(random_programs_take_the_same_time), TEST(rounds_are_put_between_each_other))
