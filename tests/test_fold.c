/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folding: how far programs fold, and that a folded program takes the time of the program it stands for.
 *
 * ICISIM_RANDOM=100000 tries that many random programs, ICISIM_SEED=17 begins at that seed; a failure prints
 * its own.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "program/fold.h"
#include "random_program.h"

enum { RANDOM_PROGRAMS = 4000 };

static const double close_frac = 1e-9;

struct world {
    struct slice slice;
    struct program program;
    struct fold fold;
    struct status st;
};

/* Links of 3e9 bytes a second and 2 us; every axis of three chips or more is a ring if `ring`. */
static void setup(struct world *w, int x, int y, int z, bool ring)
{
    int len[SLICE_AXES] = {x, y, z};
    bool wrap[SLICE_AXES] = {ring, ring, ring};
    memset(w, 0, sizeof *w);
    OKAY(slice_init(&w->slice, SLICE_AXES, len, wrap, 3e9, 2e-6, &w->st), w->st);
    program_init(&w->program, &w->slice);
    program_stage(&w->program, "test");
}

static void teardown(struct world *w)
{
    fold_free(&w->fold);
    program_free(&w->program);
    slice_free(&w->slice);
}

static void send(struct world *w, struct hop hop, struct amount bytes, int32_t where)
{
    program_add(&w->program, (struct op){.kind = OP_SEND,
                                         .where = where,
                                         .towards = program_towards(&w->program, &hop, 1),
                                         .amount = bytes,
                                         .payload = NO_PAYLOAD});
}

static double time_of(const struct program *program, struct status *st)
{
    struct trace trace = {0};
    OKAY(trace_init(&trace, program, false, st), *st);
    OKAY(engine_run(engine_by_name("event"), program, &trace, st), *st);
    double total_s = trace.total_s;
    trace_free(&trace);
    return total_s;
}

/* Folds, and expects these periods and the same time. */
static void folds_to(struct world *w, int x, int y, int z)
{
    fold_free(&w->fold);
    OKAY(program_close(&w->program, &w->st), w->st);
    OKAY(program_check(&w->program, &w->st), w->st);
    OKAY(fold_init(&w->fold, &w->program, &w->st), w->st);
    CU_ASSERT_EQUAL(w->fold.period[0], x);
    CU_ASSERT_EQUAL(w->fold.period[1], y);
    CU_ASSERT_EQUAL(w->fold.period[2], z);
    CU_ASSERT_EQUAL(w->fold.orbit, w->slice.chips / (x * y * z));
    if (w->fold.orbit > 1) {
        OKAY(slice_check(&w->fold.slice, &w->st), w->st);
        OKAY(program_check(&w->fold.program, &w->st), w->st);
        NEAR(time_of(&w->fold.program, &w->st), time_of(&w->program, &w->st), close_frac);
    }
}

static void uniform_program_folds_to_one_chip(void)
{
    struct world w;
    char text[FOLD_TEXT];
    setup(&w, 4, 6, 8, true);
    send(&w, (struct hop){0, 1}, amount_of(3000), WHERE_ALL);
    send(&w, (struct hop){2, -4}, amount_of(6000), WHERE_ALL);
    folds_to(&w, 1, 1, 1);
    CU_ASSERT_STRING_EQUAL(fold_print(&w.fold, text), "1 of 192");
    /* Every link of z carries four flows at a time: 4 * 2 us + 4 * 6000 B / 3 GB/s. */
    NEAR(time_of(&w.fold.program, &w.st), 16e-6, close_frac);
    teardown(&w);
}

static void lines_in_use_do_not_fold(void)
{
    struct world w;
    uint8_t starts[24];
    setup(&w, 4, 2, 3, false);
    send(&w, (struct hop){1, 1}, amount_of(3000), WHERE_ALL);
    folds_to(&w, 1, 1, 1); /* the two chips of y are alike, and nothing goes along x or z */
    for (int chip = 0; chip < 24; chip++)
        starts[chip] = chip < 6;
    send(&w, (struct hop){0, 1}, amount_of(3000), program_mask(&w.program, starts)); /* from x = 0 to x = 1 */
    folds_to(&w, 4, 1, 1);
    CU_ASSERT_EQUAL(fold_moved(&w.fold, 0, 2, 4), 3); /* z = 0 to 2, so z = 1 to 0; y = 1 stays */
    teardown(&w);
}

static void programs_that_do_not_fold_are_not_copied(void)
{
    struct world w;
    uint8_t first[4] = {1};
    setup(&w, 4, 1, 1, false);
    send(&w, (struct hop){0, 1}, amount_of(3000), program_mask(&w.program, first));
    folds_to(&w, 4, 1, 1);
    CU_ASSERT_EQUAL(w.fold.program.ops, 0);
    teardown(&w);
}

/* In a quotient of one or two chips + and - stay two links, on an original axis of two they are one. */
static void directions_stay_apart(void)
{
    struct world w;
    setup(&w, 4, 1, 1, true);
    send(&w, (struct hop){0, 1}, amount_of(3000), WHERE_ALL);
    send(&w, (struct hop){0, -1}, amount_of(3000), WHERE_ALL);
    folds_to(&w, 1, 1, 1);
    NEAR(time_of(&w.fold.program, &w.st), 3e-6, close_frac); /* 2 us + 1 us, at once */
    uint8_t even[4] = {1, 0, 1, 0};
    send(&w, (struct hop){0, 1}, amount_of(0), program_mask(&w.program, even));
    folds_to(&w, 2, 1, 1);
    NEAR(time_of(&w.fold.program, &w.st), 3e-6, close_frac);
    teardown(&w);
    setup(&w, 2, 1, 1, true);
    send(&w, (struct hop){0, 1}, amount_of(3000), WHERE_ALL);
    send(&w, (struct hop){0, -1}, amount_of(3000), WHERE_ALL);
    folds_to(&w, 1, 1, 1);
    NEAR(time_of(&w.fold.program, &w.st), 4e-6, close_frac); /* 2 us + 2 us: they share the cable */
    teardown(&w);
}

static void a_mask_breaks_its_axes_only(void)
{
    struct world w;
    uint8_t mask[6 * 4 * 2];
    setup(&w, 6, 4, 2, true);
    for (int c = 0; c < w.slice.chips; c++)
        mask[c] = slice_coord(&w.slice, c, 0) % 3 == 1;
    send(&w, (struct hop){1, 1}, amount_of(3000), program_mask(&w.program, mask));
    folds_to(&w, 3, 1, 1);
    /* A second one of period 2: only 6 suits both. */
    for (int c = 0; c < w.slice.chips; c++)
        mask[c] = slice_coord(&w.slice, c, 0) % 2 == 1;
    send(&w, (struct hop){1, 1}, amount_of(3000), program_mask(&w.program, mask));
    folds_to(&w, 6, 1, 1);
    memset(mask, 1, sizeof mask);
    mask[13] = 0;
    send(&w, (struct hop){1, 1}, amount_of(3000), program_mask(&w.program, mask));
    folds_to(&w, 6, 4, 2);
    teardown(&w);
}

static void ragged_bytes_do_not_fold(void)
{
    struct world w;
    double bytes[16];
    setup(&w, 4, 4, 1, true);
    for (int c = 0; c < 16; c++)
        bytes[c] = 3000 + 7 * (c % 4);
    send(&w, (struct hop){0, 1}, program_amount_table(&w.program, bytes, WHERE_ALL), WHERE_ALL);
    folds_to(&w, 1, 4, 1);
    bytes[9] = 1;
    send(&w, (struct hop){0, 1}, program_amount_table(&w.program, bytes, WHERE_ALL), WHERE_ALL);
    folds_to(&w, 4, 4, 1);
    teardown(&w);
}

/* What a table says of a chip that takes no part may be anything. */
static void entries_under_a_mask_do_not_count(void)
{
    struct world w;
    uint8_t mask[8];
    double bytes[8] = {5, 1, 7, 2, 5, 3, 7, 4};
    setup(&w, 8, 1, 1, true);
    for (int c = 0; c < 8; c++)
        mask[c] = c % 2 == 0;
    int32_t where = program_mask(&w.program, mask);
    send(&w, (struct hop){0, 1}, program_amount_table(&w.program, bytes, where), where);
    folds_to(&w, 4, 1, 1);
    send(&w, (struct hop){0, 1}, program_amount_table(&w.program, bytes, WHERE_ALL), WHERE_ALL);
    folds_to(&w, 8, 1, 1);
    teardown(&w);
}

static void route_tables_fold_as_they_repeat(void)
{
    struct world w;
    int32_t route[12];
    setup(&w, 12, 1, 1, true);
    for (int c = 0; c < 12; c++) {
        struct hop hop = {0, c % 4 == 0 ? 5 : -1};
        route[c] = program_route(&w.program, &hop, 1);
    }
    program_add(&w.program, (struct op){.kind = OP_SEND,
                                        .where = WHERE_ALL,
                                        .towards = program_towards_table(&w.program, route, WHERE_ALL),
                                        .amount = amount_of(3000),
                                        .payload = NO_PAYLOAD});
    folds_to(&w, 4, 1, 1);
    for (int c = 0; c < 12; c++)
        CU_ASSERT_EQUAL(fold_chip(&w.fold, c), c % 4);
    teardown(&w);
}

static void a_slow_link_does_not_fold(void)
{
    struct world w;
    setup(&w, 4, 4, 1, true);
    send(&w, (struct hop){0, 1}, amount_of(3000), WHERE_ALL);
    for (int y = 0; y < 4; y++) /* the links that leave the chips of x = 2 by + along x */
        OKAY(slice_set_link(&w.slice, slice_link(&w.slice, 8 + y, 0, 1), 1e9, 2e-6, &w.st), w.st);
    folds_to(&w, 4, 1, 1);
    OKAY(slice_set_link(&w.slice, slice_link(&w.slice, 5, 1, -1), 3e9, 1e-6, &w.st), w.st);
    folds_to(&w, 4, 4, 1);
    teardown(&w);
}

static bool same(double got_s, double want_s)
{
    if (isnan(got_s) || isnan(want_s))
        return isnan(got_s) && isnan(want_s);
    return fabs(got_s - want_s) <= close_frac * want_s;
}

/* Every chip of the original does what its chip of the quotient does. */
static bool times_agree(const struct fold *fold, const struct trace *folded, const struct trace *whole)
{
    for (int64_t i = 0; i < (int64_t)whole->ops * whole->chips; i++) {
        int64_t f = i / whole->chips * folded->chips + fold_chip(fold, (int)(i % whole->chips));
        if (!same(folded->start_s[f], whole->start_s[i]) || !same(folded->end_s[f], whole->end_s[i]))
            return false;
    }
    return true;
}

static bool try_seed(unsigned long seed, bool *folded)
{
    struct suite_random r = {seed};
    struct random_program random;
    struct fold fold = {0};
    struct trace whole = {0}, quotient = {0};
    struct status st = {0};
    struct random_limits limits = {.chips = 64, .ops = 10, .folds = true};
    bool agree =
        random_program_init(&random, limits, &r, &st) == 0 && fold_init(&fold, &random.program, &st) == 0;
    for (int a = 0; a < SLICE_AXES && agree; a++)
        agree = random.period[a] % fold.period[a] == 0;
    *folded = agree && fold.orbit > 1;
    const struct engine *event = engine_by_name("event");
    if (*folded)
        agree = slice_check(&fold.slice, &st) == 0 && program_check(&fold.program, &st) == 0 &&
                trace_init(&whole, &random.program, true, &st) == 0 &&
                trace_init(&quotient, &fold.program, true, &st) == 0 &&
                engine_run(event, &random.program, &whole, &st) == 0 &&
                engine_run(event, &fold.program, &quotient, &st) == 0 &&
                trace_check(&quotient, &fold.program, &st) == 0 && times_agree(&fold, &quotient, &whole);
    if (!agree)
        fprintf(stderr, "seed %lu: the folded program takes other times%s%s\n", seed, *st.text ? ": " : "",
                st.text);
    trace_free(&whole);
    trace_free(&quotient);
    fold_free(&fold);
    random_program_free(&random);
    return agree;
}

static void random_programs_take_the_same_time(void)
{
    const char *seed = getenv("ICISIM_SEED"), *count = getenv("ICISIM_RANDOM");
    unsigned long first = seed ? strtoul(seed, NULL, 10) : 1;
    long programs = count ? strtol(count, NULL, 10) : RANDOM_PROGRAMS, folds = 0, differ = 0;
    for (long i = 0; i < programs && differ < 5; i++) {
        bool folded;
        differ += !try_seed(first + (unsigned long)i, &folded);
        folds += folded;
    }
    CU_ASSERT_EQUAL(differ, 0);
    CU_ASSERT(folds > programs / 4); /* else little was tested */
}

SUITE("fold", TEST(uniform_program_folds_to_one_chip), TEST(lines_in_use_do_not_fold),
      TEST(programs_that_do_not_fold_are_not_copied), TEST(directions_stay_apart),
      TEST(a_mask_breaks_its_axes_only), TEST(ragged_bytes_do_not_fold),
      TEST(entries_under_a_mask_do_not_count), TEST(route_tables_fold_as_they_repeat),
      TEST(a_slow_link_does_not_fold), TEST(random_programs_take_the_same_time))
