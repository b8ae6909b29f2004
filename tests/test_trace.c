/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trace and its check, on times written by hand: the right ones pass, and each fault put into them is
 * found by the rule that it breaks. */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "engine/engines.h"
#include "engine/trace.h"

static const double us = 1e-6;

/* A line of three chips, links of 3e9 B/s (3000 bytes a us) and 2 us:
 *
 *   op  what                                       chip   us
 *   0   send 21000 by + from chip 0                0      0 .. 16   (two flows on one link from 2 us on)
 *   1   the same again                             0      0 .. 16
 *   2   compute 3 us, after ARRIVED of 0           0, 2   0 .. 3,   1   16 .. 19
 *   3   compute 4 us                               0, 2   3 .. 7,   1   19 .. 23
 *   4   send nothing by + from chip 1, after DONE of 3     1   23 .. 25
 *   5   send 9000 to itself, 1 us of setup         2      0 .. 1
 */
enum { SEND_A, SEND_B, COMPUTE_A, COMPUTE_B, SEND_NONE, SEND_SELF, OPS, CHIPS = 3 };
static const double times_us[OPS][CHIPS][2] = {
    {{0, 16}, {NAN, NAN}, {NAN, NAN}}, {{0, 16}, {NAN, NAN}, {NAN, NAN}},  {{0, 3}, {16, 19}, {0, 3}},
    {{3, 7}, {19, 23}, {3, 7}},        {{NAN, NAN}, {23, 25}, {NAN, NAN}}, {{NAN, NAN}, {NAN, NAN}, {0, 1}},
};

struct world {
    struct slice slice;
    struct program program;
    struct status st;
};

static int32_t add(struct world *w, enum op_kind kind, int chip, int delta, double amount)
{
    uint8_t mask[CHIPS] = {chip < 0, chip < 0, chip < 0};
    if (chip >= 0)
        mask[chip] = 1;
    struct hop hop = {0, delta};
    struct op op = {.kind = kind,
                    .where = program_mask(&w->program, mask),
                    .towards = program_towards(&w->program, &hop, delta != 0),
                    .amount = amount_of(amount),
                    .payload = NO_PAYLOAD};
    return program_add(&w->program, op);
}

static void setup(struct world *w)
{
    const int len[SLICE_AXES] = {CHIPS, 1, 1};
    const bool wrap[SLICE_AXES] = {false, false, false};
    memset(w, 0, sizeof *w);
    OKAY(slice_init(&w->slice, 1, len, wrap, 3e9, 2 * us, &w->st), w->st);
    program_init(&w->program, &w->slice);
    program_stage(&w->program, "test");
    add(w, OP_SEND, 0, 1, 21000);
    add(w, OP_SEND, 0, 1, 21000);
    add(w, OP_COMPUTE, -1, 0, 3 * us);
    program_after(&w->program, SEND_A, AFTER_ARRIVED);
    add(w, OP_COMPUTE, -1, 0, 4 * us);
    add(w, OP_SEND, 1, 1, 0);
    program_after(&w->program, COMPUTE_B, AFTER_DONE);
    int32_t self = add(w, OP_SEND, 2, 0, 9000);
    w->program.op[self].setup_s = 1 * us;
    OKAY(program_close(&w->program, &w->st), w->st);
    OKAY(program_check(&w->program, &w->st), w->st);
}

static void teardown(struct world *w)
{
    program_free(&w->program);
    slice_free(&w->slice);
}

/* One pair of times other than the right ones. */
struct fault {
    int op, chip;
    double start_us, end_us;
    const char *found; /* words of the message, or NULL where it is no fault */
};

/* Notes all times, those of the fault as it has them, and checks. */
static int check_with(const struct world *w, struct fault fault, struct status *st)
{
    struct trace trace;
    OKAY(trace_init(&trace, &w->program, true, st), *st);
    for (int op = 0; op < OPS; op++) {
        for (int chip = 0; chip < CHIPS; chip++) {
            bool other = op == fault.op && chip == fault.chip;
            double start_s = us * (other ? fault.start_us : times_us[op][chip][0]);
            double end_s = us * (other ? fault.end_us : times_us[op][chip][1]);
            if (!isnan(start_s))
                trace_note(&trace, op, chip, w->program.op[op].kind == OP_COMPUTE, start_s, end_s);
        }
    }
    int code = trace_check(&trace, &w->program, st);
    trace_free(&trace);
    return code;
}

static void right_times_pass(void)
{
    struct world w;
    setup(&w);
    OKAY(check_with(&w, (struct fault){.op = -1}, &w.st), w.st);
    teardown(&w);
}

static void faults_are_found(void)
{
    static const struct fault faults[] = {
        {SEND_B, 0, 0, 15.999, NULL}, /* the shares are for the engines' tests: here only what fits counts */
        {SEND_B, 0, 0, 8.999, "link 0 carries 21000 bytes"},
        {SEND_B, 0, 0, 1.5, "at least"},
        {SEND_B, 0, 0, 20, NULL}, /* slower than it could be, likewise */
        {SEND_B, 0, 0.001, 16, "starts at"},
        {SEND_B, 0, NAN, NAN, "op 1 on chip 0 lasts"},
        {SEND_B, 1, 0, 16, "takes no part on chip 1"},
        {COMPUTE_A, 1, 15.999, 18.999, "holds at"},
        {COMPUTE_A, 0, 0, 3.001, "it should take 3"},
        {COMPUTE_A, 0, 0, 2.999, "it should take 3"},
        {COMPUTE_B, 0, 2.5, 6.5, "starts at"}, /* while the compute before it runs */
        {COMPUTE_B, 0, 3.5, 7.5, "starts at"}, /* the queue idles */
        {SEND_NONE, 1, 22.999, 25, "starts at"},
        {SEND_NONE, 1, 23, 25.001, "it should take 1.99"},
        {SEND_SELF, 2, 0, 4, "it should take 9.99"},
        {SEND_SELF, 2, 0, -1, "lasts"},
        /* how exact: copies of times to 1e-12 of the total of 25 us, flows to 1e-9 of their own 9 us */
        {COMPUTE_B, 0, 3 + 1e-11, 7, NULL},
        {COMPUTE_B, 0, 3 + 1e-10, 7, "starts at"},
        {SEND_B, 0, 0, 9 - 1e-9, NULL},
        {SEND_B, 0, 0, 9 - 4e-8, "link 0 carries 21000 bytes"},
        {SEND_NONE, 1, 23, 25 - 1e-8, "it should take"},
    };
    struct world w;
    setup(&w);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct status st = {0};
        int code = check_with(&w, faults[i], &st);
        bool as_expected =
            faults[i].found ? code == STATUS_CHECK && strstr(st.text, faults[i].found) : code == 0;
        if (!as_expected)
            printf("fault %zu: code %d, '%s'\n", i, code, st.text);
        CU_ASSERT(as_expected);
    }
    teardown(&w);
}

/* A window may begin with one flow and end with another: link 0 is fine over the whole of 2 .. 18 us and for
 * each flow alone, but 9000 + 12000 bytes do not fit into 5 .. 11 us. */
static void windows_between_flows(void)
{
    const double from_s[] = {2 * us, 5 * us, 6 * us}, to_s[] = {18 * us, 9 * us, 11 * us};
    const double bytes[] = {9000, 9000, 12000};
    struct world w;
    setup(&w);
    program_free(&w.program);
    program_stage(&w.program, "test");
    for (int i = 0; i < 3; i++) {
        add(&w, OP_COMPUTE, i, 0, 0); /* keeps ops and chips apart */
        int32_t send = add(&w, OP_SEND, 0, 1, bytes[i]);
        w.program.op[send].setup_s = from_s[i] - 2 * us;
    }
    OKAY(program_check(&w.program, &w.st), w.st);
    for (int late = 0; late < 2; late++) {
        struct trace trace;
        OKAY(trace_init(&trace, &w.program, true, &w.st), w.st);
        for (int i = 0; i < 3; i++) {
            trace_note(&trace, 2 * i, i, true, 0, 0);
            trace_note(&trace, 2 * i + 1, 0, false, 0, to_s[i] + (late && i == 2 ? 1 * us : 0));
        }
        CU_ASSERT_EQUAL(trace_check(&trace, &w.program, &w.st), late ? 0 : STATUS_CHECK);
        if (!late)
            CU_ASSERT_PTR_NOT_NULL(strstr(w.st.text, "link 0 carries 21000 bytes"));
        w.st.code = 0;
        trace_free(&trace);
    }
    teardown(&w);
}

static void summary(void)
{
    struct world w;
    struct trace trace;
    setup(&w);
    OKAY(trace_init(&trace, &w.program, false, &w.st), w.st);
    CU_ASSERT_PTR_NULL(trace.start_s);
    CU_ASSERT(isnan(trace.op_start_s[0]) && isnan(trace.op_end_s[0]));
    trace_note(&trace, COMPUTE_A, 1, true, 16 * us, 19 * us);
    trace_note(&trace, COMPUTE_A, 0, true, 0, 3 * us);
    trace_note(&trace, COMPUTE_B, 1, true, 19 * us, 23 * us);
    trace_note(&trace, SEND_A, 0, false, 0, 23 * us);
    CU_ASSERT_EQUAL(trace.op_start_s[COMPUTE_A], 0);
    CU_ASSERT_EQUAL(trace.op_end_s[COMPUTE_A], 19 * us);
    CU_ASSERT_EQUAL(trace.total_s, 23 * us);
    NEAR(trace.chip_busy_s[1], 7 * us, 1e-12);
    NEAR(trace.chip_busy_s[0], 3 * us, 1e-12);
    CU_ASSERT_EQUAL(trace.chip_end_s[2], 0);
    CU_ASSERT_EQUAL(trace_critical_chip(&trace), 0);
    CU_ASSERT_EQUAL(trace_check(&trace, &w.program, &w.st), STATUS_CHECK);
    CU_ASSERT_PTR_NOT_NULL(strstr(w.st.text, "record"));
    trace_free(&trace);
    CU_ASSERT_PTR_NULL(trace.op_start_s);
    trace_free(&trace); /* freeing twice is fine */
    teardown(&w);
}

/* Every time of one trace is moved once, by so many us, of 23.5 in all: what it differs by then is found and held against
 * 1e-9. A chip that takes part in one only is as far off as can be. */
static void differences_are_found(void)
{
    static const double moved_us[] = {3.5, 0.2345e-7, 0.2355e-7, NAN};
    struct world w;
    setup(&w);
    struct trace a, b;
    OKAY(trace_init(&a, &w.program, true, &w.st), w.st);
    OKAY(trace_init(&b, &w.program, true, &w.st), w.st);
    trace_note(&a, COMPUTE_A, 1, true, 16 * us, 23.5 * us);
    trace_note(&b, COMPUTE_A, 1, true, 16 * us, 23.5 * us);
    CU_ASSERT_EQUAL(trace_difference_s(&a, &b), 0);
    OKAY(engine_hold(&a, &b, &w.st), w.st);
    CU_ASSERT_EQUAL(a.off_frac, 0);
    int at = COMPUTE_A * CHIPS + 1;
    double *const times[] = {&a.total_s,       &a.op_start_s[COMPUTE_A], &a.op_end_s[COMPUTE_A],
                             &a.chip_end_s[1], &a.chip_busy_s[1],        &a.start_s[at],
                             &a.end_s[at]};
    for (size_t t = 0; t < sizeof times / sizeof *times; t++) {
        for (size_t m = 0; m < sizeof moved_us / sizeof *moved_us; m++) {
            struct status st = {0};
            double right_s = *times[t];
            *times[t] += moved_us[m] * us;
            int code = engine_hold(&a, &b, &st);
            if (t > 0)
                CU_ASSERT_EQUAL(code, m == 1 ? 0 : STATUS_CHECK);
            if (m < 3)
                NEAR(a.off_frac, moved_us[m] / 23.5, 1e-6);
            *times[t] = right_s;
        }
    }
    trace_free(&a);
    trace_free(&b);
    teardown(&w);
}

/* A tie goes to the lowest chip, and 1e-10 of the total is a tie. */
static void critical_chip(void)
{
    struct world w;
    struct trace trace;
    setup(&w);
    OKAY(trace_init(&trace, &w.program, false, &w.st), w.st);
    CU_ASSERT_EQUAL(trace_critical_chip(&trace), 0);
    trace_note(&trace, COMPUTE_A, 0, true, 0, 3 * us);
    trace_note(&trace, COMPUTE_A, 2, true, 0, 7 * us);
    CU_ASSERT_EQUAL(trace_critical_chip(&trace), 2);
    trace_note(&trace, COMPUTE_A, 1, true, 0, 7 * us * (1 - 1e-10));
    CU_ASSERT_EQUAL(trace_critical_chip(&trace), 1);
    trace_free(&trace);
    teardown(&w);
}

SUITE("trace", TEST(right_times_pass), TEST(faults_are_found), TEST(windows_between_flows), TEST(summary),
      TEST(critical_chip), TEST(differences_are_found))
