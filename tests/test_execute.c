/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The data executor on programs written by hand, right ones and broken ones; views.
 * Programs of the builders are tested where the builders are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory_views.h"
#include "numbers/execute.h"
#include "program/selection.h"
#include "suite.h"

enum { SEEDS = 4, CHIPS_MAX = 8, NONE = -1 };

static struct slice ring_of(int n)
{
    struct slice slice;
    struct status st = {0};
    OKAY(slice_init(&slice, 1, &n, (bool[]){true}, 45e9, 1e-6, &st), st);
    return slice;
}

/* How a program is broken on purpose: the step that does not wait, the step that takes the wrong chunk. */
struct flaw {
    int hasty_step, wrong_step;
};
static const struct flaw no_flaw = {NONE, NONE};

/* A ring that passes chunks on by +, n - 1 steps of one chunk each. At step s chip p sends chunk p - s + lead
 * and waits for what step s - 1 brought. All-gather: lead 0, copied; reduce-scatter: lead -1, added, so that
 * chunk p ends on chip p. */
static void ring_program(struct program *program, const struct slice *slice, int64_t elements, bool reduce,
                         struct flaw flaw)
{
    int n = slice->len[0];
    program_init(program, slice);
    int32_t stage = program_stage(program, "ring"), chip = program_var_axis(program, 0);
    int32_t buffer = program_buffer(program, "in", (struct buffer_size){elements, 8}, &n, 1, NULL);
    for (int32_t s = 0; s < n - 1; s++) {
        int chunk = -s - reduce + (s == flaw.wrong_step);
        struct view view = {.buffer = buffer, .pick = {pick_var(chip, chunk)}};
        struct payload payload = {.a = view, .to = view};
        payload.combine = reduce ? COMBINE_SUM : COMBINE_COPY;
        /* Padded to the largest chunk, as SPMD programs are. */
        double bytes = 8.0 * (double)((elements + n - 1) / n);
        program_add(program, (struct op){.kind = OP_SEND,
                                         .where = WHERE_ALL,
                                         .towards = program_towards(program, &(struct hop){0, 1}, 1),
                                         .amount = amount_of(bytes),
                                         .payload = program_payload(program, payload),
                                         .stage = stage,
                                         .step = s});
        if (s != flaw.hasty_step)
            program_after(program, s - 1, AFTER_ARRIVED);
    }
}

/* Runs a ring program and says whether every chip ends with what the collective promises. A fault of the
 * executor counts as a failure too. */
static bool ring_works(const struct program *program, bool reduce, enum execute_pace pace, uint64_t seed)
{
    struct memory memory;
    struct status st = {0};
    int n = program->slice->chips;
    OKAY(memory_init(&memory, program, &st), st);
    int64_t all = memory_elements(program, 0, 0);
    double *value = malloc((size_t)all * sizeof *value);
    CU_ASSERT_PTR_NOT_NULL_FATAL(value);
    for (int chip = 0; chip < n; chip++) {
        struct view own = {.buffer = 0, .pick = {reduce ? pick_all() : pick_fixed(chip)}};
        for (int64_t i = 0; i < all; i++)
            value[i] = start_value(chip, i);
        OKAY(memory_put(&memory, &own, chip, value, &st), st);
    }
    struct execute_options options = {.pace = pace, .seed = seed};
    bool right = execute(&memory, &options, &st) == 0;
    for (int chip = 0; chip < n && right; chip++)
        for (int chunk = 0; chunk < n; chunk++) {
            struct view view = {.buffer = 0, .pick = {pick_fixed(chunk)}};
            int64_t elements = view_elements(program, &view, chip, chip);
            OKAY(memory_take(&memory, &view, chip, value, &st), st);
            for (int64_t i = 0; i < elements && (!reduce || chunk == chip); i++) {
                double want = start_value(chunk, i);
                if (reduce) {
                    /* Chunks before this one have `first` elements. */
                    int64_t first = chunk * (all / n) + (chunk < all % n ? chunk : all % n);
                    want = 0;
                    for (int from = 0; from < n; from++)
                        want += start_value(from, first + i);
                }
                right = right && !(fabs(value[i] - want) > 0) && !isnan(value[i]);
            }
        }
    free(value);
    memory_free(&memory);
    return right;
}

/* Over all paces and some seeds: how many runs were right. */
static int runs_right(const struct program *program, bool reduce)
{
    int right = 0;
    for (int pace = 0; pace < EXECUTE_PACES; pace++)
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            right += ring_works(program, reduce, (enum execute_pace)pace, seed);
    return right;
}

static void rings_that_work(void)
{
    for (int n = 1; n <= 5; n++)
        for (int reduce = 0; reduce < 2; reduce++)
            for (int64_t rows = 4 * n; rows <= 5 * n; rows++) { /* chunks that are even, and not */
                struct slice slice = ring_of(n);
                struct program program;
                ring_program(&program, &slice, rows, reduce, no_flaw);
                CU_ASSERT_EQUAL(runs_right(&program, reduce), EXECUTE_PACES * SEEDS);
                program_free(&program);
            }
}

/* Each fault, at each step, must be seen: by the late pace whatever the seed where something does not wait,
 * at any pace where a payload is wrong. */
static void broken_rings_are_seen(void)
{
    for (int n = 4; n <= 5; n++)
        for (int reduce = 0; reduce < 2; reduce++)
            for (int step = 0; step < n - 1; step++) {
                struct slice slice = ring_of(n);
                struct program program;
                ring_program(&program, &slice, 20, reduce, (struct flaw){NONE, step});
                CU_ASSERT_EQUAL(runs_right(&program, reduce), 0);
                program_free(&program);
                if (step == 0)
                    continue;
                ring_program(&program, &slice, 20, reduce, (struct flaw){step, NONE});
                for (uint64_t seed = 0; seed < SEEDS; seed++)
                    CU_ASSERT_FALSE(ring_works(&program, reduce, EXECUTE_LATE, seed));
                program_free(&program);
            }
}

/* A shift within one buffer: every chip overwrites what its neighbour may not have sent yet. */
static void overwriting_is_seen(void)
{
    for (int pace = 0; pace < EXECUTE_PACES; pace++) {
        struct slice slice = ring_of(4);
        struct program program;
        program_init(&program, &slice);
        int32_t stage = program_stage(&program, "shift");
        int32_t buffer = program_buffer(&program, "x", (struct buffer_size){2, 8}, NULL, 0, NULL);
        struct payload payload = {.a = {.buffer = buffer}, .to = {.buffer = buffer}};
        program_add(&program, (struct op){.kind = OP_SEND,
                                          .where = WHERE_ALL,
                                          .towards = program_towards(&program, &(struct hop){0, 1}, 1),
                                          .amount = amount_of(16),
                                          .payload = program_payload(&program, payload),
                                          .stage = stage});
        struct memory memory;
        struct status st = {0};
        OKAY(memory_init(&memory, &program, &st), st);
        for (int chip = 0; chip < 4; chip++)
            memory_of(&memory, chip, buffer)[0] = memory_of(&memory, chip, buffer)[1] = chip;
        struct execute_options options = {.pace = (enum execute_pace)pace, .seed = 3};
        int code = execute(&memory, &options, &st);
        bool right = code == 0;
        for (int chip = 0; chip < 4; chip++)
            right = right && !(fabs(memory_of(&memory, chip, buffer)[1] - (chip + 3) % 4) > 0);
        CU_ASSERT_FALSE(right);
        if (pace == EXECUTE_LATE) {
            CU_ASSERT_EQUAL(code, STATUS_CHECK);
            CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "x[0:2] changes while it is in use"));
        }
        memory_free(&memory);
        program_free(&program);
    }
}

/* All pairs at once: offset d goes d links, tables of routes included (chip 2 takes the other way round). */
static void exchange_program(struct program *program, const struct slice *slice, int64_t rows)
{
    int n = slice->len[0];
    program_init(program, slice);
    int32_t stage = program_stage(program, "all-to-all"), chip = program_var_axis(program, 0);
    int32_t in = program_buffer(program, "in", (struct buffer_size){rows, 8}, &n, 1, NULL);
    int32_t out = program_buffer(program, "out", (struct buffer_size){rows, 8}, &n, 1, NULL);
    for (int d = 0; d < n; d++) {
        int32_t route[CHIPS_MAX];
        for (int c = 0; c < n; c++)
            route[c] = program_route(program, &(struct hop){0, c == 2 ? d - n : d}, d > 0);
        struct payload payload = {.a = {in, {pick_var(chip, d)}}, .to = {out, {pick_var(chip, 0)}}};
        program_add(program, (struct op){.kind = OP_SEND,
                                         .where = WHERE_ALL,
                                         .towards = program_towards_table(program, route, WHERE_ALL),
                                         .amount = amount_of(8.0 * (double)(rows / n)),
                                         .payload = program_payload(program, payload),
                                         .stage = stage});
    }
}

struct tally {
    int moves;
    int64_t elements;
    bool in_order;
};

static void count_move(void *user, const struct execute_move *move)
{
    struct tally *tally = user;
    tally->moves++;
    tally->elements += move->elements;
    /* Offset d is op d: it must come from d chips back, and carry what that chip has for this one. */
    int n = 5;
    double want = start_value(move->from, 3 * move->to);
    tally->in_order =
        tally->in_order && (move->from + move->op) % n == move->to && !(fabs(move->value[0] - want) > 0);
}

static void direct_exchange(void)
{
    enum { N = 5, CHUNK = 3 };
    struct slice slice = ring_of(N);
    struct program program;
    exchange_program(&program, &slice, N * CHUNK);
    for (int pace = 0; pace < EXECUTE_PACES; pace++) {
        struct memory memory;
        struct status st = {0};
        struct tally tally = {.in_order = true};
        OKAY(memory_init(&memory, &program, &st), st);
        for (int chip = 0; chip < N; chip++)
            for (int i = 0; i < N * CHUNK; i++)
                memory_of(&memory, chip, memory_buffer(&program, "in"))[i] = start_value(chip, i);
        struct execute_options options = {(enum execute_pace)pace, 1, count_move, &tally};
        OKAY(execute(&memory, &options, &st), st);
        for (int chip = 0; chip < N; chip++)
            for (int i = 0; i < N * CHUNK; i++) {
                double want = start_value(i / CHUNK, chip * CHUNK + i % CHUNK);
                CU_ASSERT_EQUAL(memory_of(&memory, chip, memory_buffer(&program, "out"))[i], want);
            }
        CU_ASSERT(tally.moves == N * N && tally.elements == N * N * CHUNK && tally.in_order);
        memory_free(&memory);
    }
    CU_ASSERT_EQUAL(memory_buffer(&program, "nowhere"), -1);
    program_free(&program);
}

/* Chip c has c + d + 1 elements for the chip d positions on; what arrives is cut otherwise than what left. */
static void ragged_exchange(void)
{
    enum { N = 3 };
    struct slice slice = ring_of(N);
    struct program program;
    int64_t sends[N][N], gets[N][N];
    for (int from = 0; from < N; from++)
        for (int to = 0; to < N; to++)
            sends[from][to] = gets[to][from] = from + (to - from + N) % N + 1;
    program_init(&program, &slice);
    int32_t stage = program_stage(&program, "ragged"), chip = program_var_axis(&program, 0);
    int32_t dim = N;
    int32_t in = program_buffer(&program, "in", (struct buffer_size){0, 8}, &dim, 1, &sends[0][0]);
    int32_t out = program_buffer(&program, "out", (struct buffer_size){0, 8}, &dim, 1, &gets[0][0]);
    for (int d = 0; d < N; d++) {
        double bytes[N];
        for (int c = 0; c < N; c++)
            bytes[c] = 8 * (c + d + 1);
        struct payload payload = {.a = {in, {pick_var(chip, d)}}, .to = {out, {pick_var(chip, 0)}}};
        program_add(&program, (struct op){.kind = OP_SEND,
                                          .where = WHERE_ALL,
                                          .towards = program_towards(&program, &(struct hop){0, d}, d > 0),
                                          .amount = program_amount_table(&program, bytes, WHERE_ALL),
                                          .payload = program_payload(&program, payload),
                                          .stage = stage});
    }
    struct memory memory;
    struct status st = {0};
    OKAY(memory_init(&memory, &program, &st), st);
    for (int from = 0; from < N; from++)
        for (int to = 0, at = 0; to < N; to++)
            for (int i = 0; i < sends[from][to]; i++)
                memory_of(&memory, from, in)[at++] = 100 * from + 10 * to + i;
    OKAY(execute(&memory, NULL, &st), st);
    for (int to = 0; to < N; to++) {
        int at = 0;
        for (int from = 0; from < N; from++)
            for (int i = 0; i < gets[to][from]; i++)
                CU_ASSERT_EQUAL(memory_of(&memory, to, out)[at++], 100 * from + 10 * to + i);
        CU_ASSERT_EQUAL(memory_elements(&program, to, out), at);
    }
    memory_free(&memory);
    program_free(&program);
}

/* 10 elements cut in 2, each part in 3, each of these in 2: 1 1, 1 1, 1 0 twice. */
static void views_follow_the_grid(void)
{
    struct slice slice = ring_of(3);
    struct program program;
    program_init(&program, &slice);
    int32_t b = program_buffer(&program, "m", (struct buffer_size){10, 4}, (int32_t[]){2, 3, 2}, 3, NULL),
            chip = program_var_axis(&program, 0);
    struct memory memory;
    struct status st = {0};
    char text[MEMORY_TEXT];
    double value[10];
    OKAY(memory_init(&memory, &program, &st), st);
    for (int i = 0; i < 10; i++)
        memory_of(&memory, 1, b)[i] = 10 * i;
    struct view one = {.buffer = b, .pick = {pick_fixed(1), pick_var(chip, 0), pick_fixed(1)}};
    /* the second half begins at 5, its second third at 7 */
    CU_ASSERT_EQUAL(memory_print_view(&program, &one, 1, 1, text), 0);
    CU_ASSERT_STRING_EQUAL(text, "m[8:9]");
    OKAY(memory_take(&memory, &one, 1, value, &st), st);
    CU_ASSERT_EQUAL(value[0], 80);
    struct view seconds = {.buffer = b, .pick = {pick_all(), pick_fixed(0), pick_all()}};
    CU_ASSERT_EQUAL(memory_print_view(&program, &seconds, 1, 1, text), 0);
    CU_ASSERT_STRING_EQUAL(text, "m[0:2+5:7]");
    OKAY(memory_take(&memory, &seconds, 1, value, &st), st);
    static const double want_seconds[] = {0, 10, 50, 60};
    CU_ASSERT_EQUAL(memcmp(value, want_seconds, sizeof want_seconds), 0);
    struct view all = {.buffer = b, .pick = {pick_all(), pick_all(), pick_all()}};
    OKAY(memory_take(&memory, &all, 1, value, &st), st);
    CU_ASSERT_EQUAL(memory_print_view(&program, &all, 1, 1, text), 0);
    CU_ASSERT_STRING_EQUAL(text, "m[0:10]");
    OKAY(memory_put(&memory, &all, 2, value, &st), st);
    CU_ASSERT_EQUAL(memcmp(memory_of(&memory, 2, b), memory_of(&memory, 1, b), sizeof value), 0);
    CU_ASSERT_TRUE(isnan(memory_of(&memory, 0, b)[9]));
    memory_free(&memory);
    program_free(&program);
}

/* 6 elements do not fit 5. */
static void sizes_must_fit(void)
{
    struct slice slice = ring_of(3);
    struct program program;
    program_init(&program, &slice);
    int32_t stage = program_stage(&program, "s");
    int32_t a = program_buffer(&program, "a", (struct buffer_size){6, 8}, NULL, 0, NULL);
    int32_t b = program_buffer(&program, "b", (struct buffer_size){5, 8}, NULL, 0, NULL);
    struct payload payload = {.a = {.buffer = a}, .to = {.buffer = b}};
    program_add(&program, (struct op){.kind = OP_SEND,
                                      .where = WHERE_ALL,
                                      .towards = program_towards(&program, &(struct hop){0, 1}, 1),
                                      .amount = amount_of(48),
                                      .payload = program_payload(&program, payload),
                                      .stage = stage});
    struct memory memory;
    struct status st = {0};
    OKAY(memory_init(&memory, &program, &st), st);
    CU_ASSERT_EQUAL(execute(&memory, NULL, &st), STATUS_CHECK);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "takes and puts different numbers of elements"));
    memory_free(&memory);
    program_free(&program);
    /* Too large to hold: refused, and nothing to free. */
    program_init(&program, &slice);
    program_buffer(&program, "huge", (struct buffer_size){INT64_C(1) << 60, 8}, NULL, 0, NULL);
    struct status limit = {0};
    CU_ASSERT_EQUAL(memory_init(&memory, &program, &limit), STATUS_LIMIT);
    CU_ASSERT_PTR_NULL(memory.at);
    program_free(&program);
}

SUITE("execute", TEST(rings_that_work), TEST(broken_rings_are_seen), TEST(overwriting_is_seen),
      TEST(direct_exchange), TEST(ragged_exchange), TEST(views_follow_the_grid), TEST(sizes_must_fit))
