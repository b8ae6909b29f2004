/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs: equal parts are kept once, questions, what the checker refuses, and the dump. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "program/program.h"
#include "program/selection.h"
#include "suite.h"

static struct slice ring_of_5(void)
{
    struct slice slice;
    struct status st = {0};
    OKAY(slice_init(&slice, 1, (int[]){5}, (bool[]){true}, 3e9, 2e-6, &st), st);
    return slice;
}

/* Step 0 sends chunk p on, step 1 what came; then a product on the first two chips. */
static void write(struct program *program, const struct slice *slice)
{
    program_init(program, slice);
    int32_t stage = program_stage(program, "all-gather.1");
    int32_t in = program_buffer(program, "in", (struct buffer_size){35, 2}, &(int32_t){5}, 1, NULL);
    int32_t var = program_var_axis(program, 0);
    int32_t first = program_mask(program, (uint8_t[]){1, 1, 0, 0, 0});
    for (int t = 0; t < 2; t++) {
        struct payload payload = {.a = {.buffer = in, .pick = {pick_var(var, -t)}}};
        payload.to = payload.a;
        program_add(program, (struct op){.kind = OP_SEND,
                                         .where = WHERE_ALL,
                                         .towards = program_towards(program, &(struct hop){0, 1}, 1),
                                         .amount = amount_of(14),
                                         .payload = program_payload(program, payload),
                                         .stage = stage,
                                         .step = t});
        program_after(program, t - 1, AFTER_ARRIVED);
        program_after(program, t - 1, AFTER_DONE);
    }
    program_add(program, (struct op){.kind = OP_COMPUTE,
                                     .where = first,
                                     .amount = amount_of(2.385e-6),
                                     .payload = NO_PAYLOAD,
                                     .stage = program_stage(program, "fusion.2")});
    program_after(program, 1, AFTER_ARRIVED);
}

/* Only several ops need a join, and it waits for the arrivals and the end of each. */
static void joins_are_made_for_several_ops_only(void)
{
    struct slice slice = ring_of_5();
    struct program program;
    write(&program, &slice);
    int32_t ops = program.ops;
    CU_ASSERT_EQUAL(program_join_of(&program, (int32_t[]){-1, -1}, 2, WHERE_ALL, 0), -1);
    CU_ASSERT_EQUAL(program_join_of(&program, (int32_t[]){-1, 1}, 2, WHERE_ALL, 0), 1);
    CU_ASSERT_EQUAL(program_join_since(&program, ops, WHERE_ALL, 0), -1);
    CU_ASSERT_EQUAL(program_join_since(&program, ops - 1, WHERE_ALL, 0), ops - 1);
    CU_ASSERT_EQUAL(program.ops, ops);
    CU_ASSERT_EQUAL(program_join_of(&program, (int32_t[]){0, -1, 2}, 3, WHERE_ALL, 0), ops);
    CU_ASSERT_EQUAL(program_join_since(&program, 1, 0, 0), ops + 1);
    const int32_t waits[2][3] = {{0, 2, -1}, {1, 2, 3}};
    for (int j = 0; j < 2; j++) {
        const struct op *join = &program.op[ops + j];
        CU_ASSERT_EQUAL(join->where, j == 0 ? WHERE_ALL : 0);
        CU_ASSERT_EQUAL(join->afters, j == 0 ? 4 : 6);
        CU_ASSERT_FALSE(op_crosses_links(&program, join));
        for (int i = 0; i < join->afters; i++) {
            struct after after = program.after[join->first_after + i];
            CU_ASSERT_EQUAL(after.op, waits[j][i / 2]);
            CU_ASSERT_EQUAL(after.kind, i % 2 ? AFTER_DONE : AFTER_ARRIVED);
        }
    }
    program_free(&program);
    slice_free(&slice);
}

/* As many as an all-to-all of a pod asks for: each is found again, whatever the table grew to in between. */
static void finds_every_route_again(void)
{
    enum { MOST = 9 };
    struct slice slice = ring_of_5();
    struct program program;
    program_init(&program, &slice);
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < MOST * MOST * MOST; i++) {
            struct hop hop[3] = {{0, i % MOST - 4}, {1, i / MOST % MOST - 4}, {2, i / MOST / MOST - 4}};
            CU_ASSERT_EQUAL(program_route(&program, hop, 3), i);
        }
    CU_ASSERT_EQUAL(program.routes, MOST * MOST * MOST);
    CU_ASSERT_EQUAL(program.hops, 3 * program.routes);
    struct status st = {0};
    OKAY(program_close(&program, &st), st);
    program_free(&program);
}

/* On slices that move onto themselves, that do not, and where a link is dead. */
static void routes_of_all_are_those_of_each(void)
{
    static const struct {
        int len[3];
        bool wrap[3];
        int dead;
    } cases[] = {{{5, 7, 3}, {true, true, true}, -1},
                 {{6, 2, 4}, {true, false, true}, -1},
                 {{6, 3, 4}, {true, false, true}, -1},
                 {{4, 6, 3}, {true, true, true}, 35}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slice slice;
        struct program program;
        struct status st = {0};
        uint64_t seed = 235 + i;
        int32_t target[105], route[105];
        OKAY(slice_init(&slice, 3, cases[i].len, cases[i].wrap, 3e9, 2e-6, &st), st);
        if (cases[i].dead >= 0)
            OKAY(slice_kill_link(&slice, cases[i].dead, &st), st);
        program_init(&program, &slice);
        for (int chip = 0; chip < slice.chips; chip++) {
            target[chip] = (int32_t)random_below(&seed, (uint64_t)slice.chips + 9) - 9;
            route[chip] = -385;
        }
        program_routes_to(&program, target, route);
        for (int chip = 0; chip < slice.chips; chip++)
            CU_ASSERT_EQUAL(route[chip],
                            target[chip] < 0 ? -385 : program_route_between(&program, chip, target[chip]));
        OKAY(program_close(&program, &st), st);
        program_free(&program);
        slice_free(&slice);
    }
}

static void keeps_equal_parts_once(void)
{
    struct slice slice = ring_of_5();
    struct program program;
    program_init(&program, &slice);
    struct hop hop[2] = {{0, 1}, {0, -2}};
    int32_t route = program_route(&program, hop, 2);
    CU_ASSERT_EQUAL(program_route(&program, hop, 2), route);
    CU_ASSERT_NOT_EQUAL(program_route(&program, hop, 1), route);
    uint8_t mask[5] = {1, 0, 1, 1, 0};
    int32_t where = program_mask(&program, mask);
    CU_ASSERT_EQUAL(program_mask(&program, mask), where);
    CU_ASSERT_EQUAL(program_mask(&program, (uint8_t[]){1, 1, 1, 1, 1}), WHERE_ALL);
    /* Who takes no part does not make a table of one value. */
    struct towards towards = program_towards_table(&program, (int32_t[]){1, 0, 1, 1, 0}, where);
    CU_ASSERT(towards.table == NO_TABLE && towards.route == 1);
    struct amount amount = program_amount_table(&program, (double[]){3, 5, 3, 3, 7}, where);
    CU_ASSERT_EQUAL(amount.table, NO_TABLE);
    NEAR(amount.each, 3, 0);
    CU_ASSERT_NOT_EQUAL(program_amount_table(&program, (double[]){3, 5, 7, 3, 7}, where).table, NO_TABLE);
    program_free(&program);
}

static void answers_questions(void)
{
    struct slice slice = ring_of_5();
    struct program program;
    struct status st = {0};
    write(&program, &slice);
    OKAY(program_check(&program, &st), st);
    CU_ASSERT_EQUAL(program_transfers(&program), 10);
    NEAR(program_link_bytes(&program), 10 * 14, 1e-12);
    CU_ASSERT_EQUAL(program_steps(&program, &st), 2);
    CU_ASSERT_EQUAL(op_destination(&program, &program.op[0], 4), 0);
    program_free(&program);
}

/* 17 elements in 3 chunks, each cut in halves: chunks of 6 6 5, halves of 3 3 | 3 3 | 3 2. */
static void counts_elements_of_views(void)
{
    struct slice slice = ring_of_5();
    struct program program;
    program_init(&program, &slice);
    int32_t dim[2] = {3, 2};
    int32_t buffer = program_buffer(&program, "in", (struct buffer_size){17, 2}, dim, 2, NULL);
    int32_t var = program_var_table(&program, 3, (int32_t[]){0, 1, 2, 0, 1});
    struct view view = {.buffer = buffer, .pick = {pick_var(var, 1), pick_all()}};
    CU_ASSERT_EQUAL(view_elements(&program, &view, 1, 1), 5);
    view.pick[1] = pick_fixed(1);
    CU_ASSERT_EQUAL(view_elements(&program, &view, 1, 1), 2);
    view.pick[0] = pick_all();
    CU_ASSERT_EQUAL(view_elements(&program, &view, 0, 0), 3 + 3 + 2);
    program_free(&program);
}

/* Each fault is put into a sound program by itself. What is said of it? */
static const char *spoil(struct program *p, int fault)
{
    switch (fault) {
    case 0:
        p->after[0].op = 1;
        return "op 1: waits for an op that does not come before it";
    case 1:
        p->op[1].where = 7;
        return "op 1: its mask does not exist";
    case 2:
        p->op[0].towards.route = 5;
        return "op 0: its route does not exist";
    case 3:
        p->op[0].amount.each = -1;
        return "op 0: its bytes or seconds are not a finite number of 0 or more";
    case 4:
        p->op[0].amount.each = 1.0 / 0.0;
        return "op 0: its bytes or seconds are not a finite number of 0 or more";
    case 5:
        p->op[0].payload = 9;
        return "op 0: its payload does not exist";
    case 6:
        p->op[2].payload = 0; /* a compute that moves */
        return "op 2: its payload is not of its kind";
    case 7:
        p->payload[0].to.pick[0] = pick_all(); /* takes one chunk, puts five */
        return "op 0: its payload takes and puts different numbers of elements";
    case 8:
        p->op[0].amount.each = 3; /* moves 14 bytes */
        return "op 0: its payload is not what it sends bytes for";
    case 9:
        p->op[2].stage = 2;
        return "op 2: its stage does not exist";
    default:
        p->payload[0].a.pick[0].var = 3;
        return "op 0: its payload names a variable that does not exist";
    }
}

static void refuses_what_is_not_sound(void)
{
    for (int fault = 0; fault <= 10; fault++) {
        struct slice slice = ring_of_5();
        struct program program;
        struct status st = {0};
        write(&program, &slice);
        const char *wrong = spoil(&program, fault);
        CU_ASSERT_EQUAL(program_check(&program, &st), STATUS_CHECK);
        CU_ASSERT_PTR_NOT_NULL(strstr(st.text, wrong));
        program_free(&program);
    }
}

/* A send that moves one of three pieces of 17 elements of 2 bytes: chip 0 the first, of 6 elements, 12 bytes. Chunks are
 * padded to the largest, and padding need not be paid for: an element for the piece, and one more. 18 divide: nothing is
 * padded, and all is paid for, to rounding. */
static void what_moves_is_paid_for(void)
{
    static const struct {
        int elements;
        double bytes;
        bool sound;
    } cases[] = {
        {17, 12, true}, {17, 8.1, true},       {17, 7.9, false},
        {18, 12, true}, {18, 12 - 6e-9, true}, {18, 12 - 6e-8, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slice slice = ring_of_5();
        struct program program;
        struct status st = {0};
        int32_t dim = 3;
        program_init(&program, &slice);
        program_stage(&program, "test");
        int32_t buffer =
            program_buffer(&program, "in", (struct buffer_size){cases[i].elements, 2}, &dim, 1, NULL);
        struct view view = {.buffer = buffer, .pick = {pick_fixed(0)}};
        struct payload payload = {.a = view, .to = view};
        program_add(&program, (struct op){.kind = OP_SEND,
                                          .where = WHERE_ALL,
                                          .towards = program_towards(&program, &(struct hop){0, 1}, 1),
                                          .amount = amount_of(cases[i].bytes),
                                          .payload = program_payload(&program, payload)});
        CU_ASSERT_EQUAL(program_check(&program, &st), cases[i].sound ? 0 : STATUS_CHECK);
        program_free(&program);
    }
}

/* A fault while building sticks. */
static void remembers_faults(void)
{
    struct slice slice = ring_of_5();
    struct program program;
    struct status st = {0};
    write(&program, &slice);
    program_after(&program, 2, AFTER_DONE);
    CU_ASSERT_EQUAL(program_close(&program, &st), STATUS_CHECK);
    program_free(&program);
}

/* Ops 1 and 2, of two stages, of which one is a loop's permutes, are copied twice: op 1 waits for op 0, which is not copied, so
 * its copy waits for the op given, or for none; op 2 waits for op 1, and its copy for the copy. One that stands for 3 does not
 * do so again. */
static void repeats_ops(void)
{
    struct slice slice = ring_of_5();
    struct program program;
    write(&program, &slice);
    program_stage_permutes(&program, program.op[2].stage);
    program.op[1].times = 3;
    CU_ASSERT_EQUAL(program_repeat(&program, 1, 3, 2, -1, "all-gather.3"), 3);
    CU_ASSERT_EQUAL(program_repeat(&program, 1, 3, -1, 0, NULL), 5);
    CU_ASSERT_EQUAL(program.ops, 7);
    CU_ASSERT_EQUAL(program.stages, 4);
    const int32_t wait[] = {2, 3, -1, 5}, stage[] = {2, 3, 0, 0};
    for (int o = 3; o < program.ops; o++) {
        const struct op *copy = &program.op[o], *of = &program.op[2 - o % 2];
        CU_ASSERT_EQUAL(copy->kind, of->kind);
        CU_ASSERT_EQUAL(copy->where, of->where);
        CU_ASSERT_EQUAL(copy->step, of->step);
        CU_ASSERT_EQUAL(copy->amount.each, of->amount.each);
        CU_ASSERT_EQUAL(copy->stage, stage[o - 3]);
        CU_ASSERT_EQUAL(copy->times, 0);
        CU_ASSERT_EQUAL(copy->afters, wait[o - 3] < 0 ? 0 : of->afters);
        for (int a = 0; a < copy->afters; a++) {
            CU_ASSERT_EQUAL(program.after[copy->first_after + a].op, wait[o - 3]);
            CU_ASSERT_EQUAL(program.after[copy->first_after + a].kind,
                            program.after[of->first_after + a].kind);
        }
    }
    CU_ASSERT_STRING_EQUAL(program.stage[2].name, "all-gather.3");
    CU_ASSERT_STRING_EQUAL(program.stage[3].name, "all-gather.3");
    CU_ASSERT_FALSE(program.stage[2].permutes);
    CU_ASSERT_TRUE(program.stage[3].permutes);
    program_free(&program);
    slice_free(&slice);
}

static void dumps(void)
{
    static const char want[] =
        "# program: slice 5, wrap all, 3 ops, 10 transfers\n"
        "# buffer in: 35 of 2 B, pieces 5\n"
        "    0  all-gather.1[0]  SEND x+1  14 B  in[x+0] = in[x+0]\n"
        "    1  all-gather.1[1]  SEND x+1  14 B  after ARRIVED 0, DONE 0  in[x-1] = in[x-1]\n"
        "    2  fusion.2[0]  COMPUTE  2.385e-06 s  on 2 chips: 0 1  after ARRIVED 1\n";
    struct slice slice = ring_of_5();
    struct program program;
    char *text = NULL;
    size_t size = 0;
    write(&program, &slice);
    FILE *out = open_memstream(&text, &size);
    program_dump(&program, out);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(text, want);
    free(text);
    program_free(&program);
}

SUITE("program", TEST(keeps_equal_parts_once), TEST(joins_are_made_for_several_ops_only),
      TEST(finds_every_route_again), TEST(routes_of_all_are_those_of_each), TEST(answers_questions),
      TEST(counts_elements_of_views), TEST(refuses_what_is_not_sound), TEST(what_moves_is_paid_for),
      TEST(remembers_faults), TEST(repeats_ops), TEST(dumps))
