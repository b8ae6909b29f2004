/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that are rewound and written anew: what has kept its shape, and sends that repeat the one before. */
#include <string.h>

#include "program/program.h"
#include "suite.h"

static struct slice ring_of(int chips)
{
    struct slice slice;
    struct status st = {0};
    OKAY(slice_init(&slice, 1, &chips, (bool[]){true}, 3e9, 2e-6, &st), st);
    return slice;
}

/* Two sends, the second after the first where `waits`, of so many bytes. */
static void write_pair(struct program *program, double bytes, int delta, bool waits)
{
    for (int t = 0; t < 2; t++) {
        program_add(program, (struct op){.kind = OP_SEND,
                                         .where = WHERE_ALL,
                                         .towards = program_towards(program, &(struct hop){0, delta}, 1),
                                         .amount = amount_of(bytes + t),
                                         .payload = NO_PAYLOAD,
                                         .step = t});
        if (waits)
            program_wait(program, t - 1);
    }
}

static void knows_when_it_is_written_anew_alike(void)
{
    struct slice slice = ring_of(5);
    struct program program;
    program_init(&program, &slice);
    write_pair(&program, 14, 1, true);
    CU_ASSERT(!program_kept_shape(&program)); /* never rewound */
    program_rewind(&program);
    write_pair(&program, 1995, 1, true);
    CU_ASSERT(program_kept_shape(&program));
    CU_ASSERT(program.ops == 2 && program.routes == 1 && program.op[1].amount.each == 1996);
    program_rewind(&program);
    write_pair(&program, 1995, -1, true); /* another way */
    CU_ASSERT(!program_kept_shape(&program));
    program_rewind(&program);
    write_pair(&program, 1995, -1, true);
    program.after[0].kind = AFTER_DONE; /* another thing of that op */
    program_rewind(&program);
    write_pair(&program, 1995, -1, true);
    CU_ASSERT(!program_kept_shape(&program));
    program_rewind(&program);
    write_pair(&program, 1995, -1, false); /* nothing waits */
    CU_ASSERT(!program_kept_shape(&program));
    program_rewind(&program);
    write_pair(&program, 14, -1, false);
    CU_ASSERT(program_kept_shape(&program));
    write_pair(&program, 14, -1, false); /* more than there was */
    CU_ASSERT(!program_kept_shape(&program));
    program_rewind(&program);
    write_pair(&program, 14, -1, false); /* less */
    CU_ASSERT(!program_kept_shape(&program));
    program_rewind(&program);
    write_pair(&program, 14, -1, false);
    program.op[0].amount.table = 3; /* as if chips had amounts of their own */
    program_rewind(&program);
    write_pair(&program, 14, -1, false);
    CU_ASSERT(!program_kept_shape(&program));
    program_free(&program);
}

/* Sends one after the other, so many of each kind; the first may wait for the last of the kind before. */
struct chain {
    int delta, followers;
    double bytes, setup_s;
    bool waits;
};
enum { CHAINS = 3 };

/* As program_follow() has it, or send by send. */
static void write_chains(struct program *program, const struct chain chain[CHAINS], bool follows)
{
    for (int delta = -1; delta <= 1; delta += 2) /* routes have the same indices in all programs */
        program_towards(program, &(struct hop){0, delta}, 1);
    for (int c = 0; c < CHAINS; c++) {
        int32_t before = program->ops - 1;
        struct op op = {.kind = OP_SEND,
                        .where = WHERE_ALL,
                        .towards = program_towards(program, &(struct hop){0, chain[c].delta}, 1),
                        .amount = amount_of(chain[c].bytes),
                        .setup_s = chain[c].setup_s,
                        .payload = NO_PAYLOAD,
                        .step = 7};
        program_add(program, op);
        program_wait(program, chain[c].waits ? before : -1);
        if (follows)
            CU_ASSERT_EQUAL(program_follow(program, chain[c].followers), before + 1 + chain[c].followers);
        for (int i = 0; i < chain[c].followers && !follows; i++) {
            op.setup_s = 0;
            op.step++;
            program_wait(program, program_add(program, op) - 1);
        }
    }
}

static bool is_same_op(const struct op *a, const struct op *b)
{
    return a->kind == b->kind && a->where == b->where && a->towards.route == b->towards.route &&
           a->towards.table == b->towards.table && memcmp(&a->amount.each, &b->amount.each, 8) == 0 &&
           a->amount.table == b->amount.table && memcmp(&a->setup_s, &b->setup_s, 8) == 0 &&
           a->payload == b->payload && a->stage == b->stage && a->step == b->step &&
           a->first_after == b->first_after && a->afters == b->afters;
}

static bool is_same_program(const struct program *a, const struct program *b)
{
    bool same = a->ops == b->ops && a->afters == b->afters && !a->error && !b->error;
    for (int32_t o = 0; o < a->ops && same; o++)
        same = is_same_op(&a->op[o], &b->op[o]);
    for (int32_t i = 0; i < a->afters && same; i++)
        same = a->after[i].op == b->after[i].op && a->after[i].kind == b->after[i].kind;
    return same;
}

/* However often a program is rewound, and whatever is other than it was. */
static void followers_are_sends_one_after_the_other(void)
{
    struct slice slice = ring_of(5);
    struct program program, single;
    struct suite_random random = {1995};
    struct chain chain[CHAINS] = {{1, 3, 14, 0, false}, {-1, 5, 35, 2.385e-6, true}, {1, 0, 21, 0, true}};
    program_init(&program, &slice);
    write_chains(&program, chain, true);
    for (int round = 0; round < 2000; round++) {
        bool shape = suite_random(&random, 2) == 0;
        struct chain *changed = &chain[1 + suite_random(&random, CHAINS - 1)];
        for (int c = 0; c < CHAINS; c++)
            chain[c].bytes = (double)suite_random(&random, 1995) / 7;
        changed->setup_s = (double)suite_random(&random, 14) * 1e-6;
        switch (shape ? suite_random(&random, 3) : 3) {
        case 0:
            changed->delta = -changed->delta;
            break;
        case 1:
            changed->followers = (changed->followers + 1 + (int)suite_random(&random, 5)) % 6;
            break;
        case 2:
            changed->waits = !changed->waits;
        }
        program_rewind(&program);
        program_init(&single, &slice);
        write_chains(&program, chain, true);
        write_chains(&single, chain, false);
        CU_ASSERT(is_same_program(&program, &single));
        CU_ASSERT_EQUAL(program_kept_shape(&program), !shape);
        program_free(&single);
    }
    program_free(&program);
    program_init(&program, &slice);
    program_follow(&program, 2); /* nothing is there to follow */
    CU_ASSERT_EQUAL(program.error, STATUS_CHECK);
    program_free(&program);
    slice_free(&slice);
}

SUITE("program_rewind", TEST(knows_when_it_is_written_anew_alike),
      TEST(followers_are_sends_one_after_the_other))
