/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Closed forms against numbers worked out by hand, and against each other. That they equal the engines is
 * tested where both are known (test_validate.c). */
#include <math.h>
#include <string.h>

#include "formula/formula.h"
#include "suite.h"

/* One ring of n with a = 2.385 us, w = 7 GB/s. V = 105 kB in elements of 3 bytes divides by 3, 5, 7, 10, 14.
 */
static struct formula_case ring_case(enum collective_id op, enum ring_kind kind, int n, bool closed)
{
    return (struct formula_case){.op = op,
                                 .kind = kind,
                                 .rings = 1,
                                 .n = {n},
                                 .closed = {closed},
                                 .one_link = true,
                                 .on_axes = true,
                                 .elements = 35000,
                                 .elem_bytes = 3,
                                 .hop_latency_s = 2.385e-6,
                                 .link_Bps = 7e9};
}

static struct formula_case torus_case(enum collective_id op, enum ring_kind kind, int n0, int n1, int n2)
{
    struct formula_case c = ring_case(op, kind, n0, true);
    c.rings = 3;
    c.n[1] = n1;
    c.n[2] = n2;
    c.closed[1] = c.closed[2] = true;
    return c;
}

static void exact_is(const struct formula_case *c, const char *id, double time_s)
{
    double found_s;
    CU_ASSERT_STRING_EQUAL(formula_find(formula_exact, c, &found_s), id);
    NEAR(found_s, time_s, 1e-12);
    NEAR(formula_exact_s(c), time_s, 1e-12);
}

static void rule_is(const struct formula_case *c, const char *id, double time_s)
{
    double found_s;
    CU_ASSERT_STRING_EQUAL(formula_find(formula_rules, c, &found_s), id);
    NEAR(found_s, time_s, 1e-12);
}

static double rule_s(const struct formula_case *c)
{
    double time_s;
    formula_find(formula_rules, c, &time_s);
    return time_s;
}

static void test_rings(void)
{
    /* N = 7: a chunk is 15 kB, 15/7 us on a link; a hop of it 2.385 + 2.142857.. us, of half of it 2.385 +
     * 1.0714285.. us */
    struct formula_case c = ring_case(COLLECTIVE_ALL_GATHER, RING_UNI, 7, true);
    exact_is(&c, "E1", 6 * (2.385e-6 + 15e-6 / 7));
    c.kind = RING_BIDI;
    exact_is(&c, "E2", 3 * (2.385e-6 + 15e-6 / 7));
    c.kind = RING_BIDI_HALF;
    exact_is(&c, "E3", 6 * (2.385e-6 + 7.5e-6 / 7));
    /* N = 10: a chunk is 10.5 kB, 1.5 us; bidi takes the antipodal chunk whole, 5 hops */
    c = ring_case(COLLECTIVE_REDUCE_SCATTER, RING_BIDI, 10, true);
    exact_is(&c, "E2", 5 * (2.385e-6 + 1.5e-6));
    /* a reduce-scatter is the same, and an all-reduce is the two: 12 hops of half a chunk of 15 kB */
    c = ring_case(COLLECTIVE_ALL_REDUCE, RING_BIDI_HALF, 7, true);
    exact_is(&c, "E5", 12 * (2.385e-6 + 7.5e-6 / 7));
    /* setup counts once, in an all-reduce too */
    c.setup_s = 11.5e-6;
    exact_is(&c, "E5", 11.5e-6 + 12 * (2.385e-6 + 7.5e-6 / 7));
    /* adding 7.5 kB at 3 GB/s takes 2.5 us more at each hop of the scatter, and gathers nothing */
    c.reduce_Bps = 3e9;
    exact_is(&c, "E5", 11.5e-6 + 12 * (2.385e-6 + 7.5e-6 / 7) + 6 * 2.5e-6);
    c.op = COLLECTIVE_ALL_GATHER;
    exact_is(&c, "E3", 11.5e-6 + 6 * (2.385e-6 + 7.5e-6 / 7));
}

static void test_lines(void)
{
    /* N = 5: a chunk is 21 kB, 3 us; 4 hops of 5.385 us */
    struct formula_case c = ring_case(COLLECTIVE_ALL_GATHER, RING_BIDI, 5, false);
    exact_is(&c, "E4", 21.54e-6);
    c.kind = RING_BIDI_HALF;
    exact_is(&c, "E4", 21.54e-6);
    /* uni: 7 latencies, 16.695 us, and 4 transfers, 12 us */
    c.kind = RING_UNI;
    exact_is(&c, "E4u", 28.695e-6);
    /* each of the 4 transfers of 21 kB is added at 6 GB/s: 14 us */
    c.op = COLLECTIVE_REDUCE_SCATTER;
    c.reduce_Bps = 6e9;
    exact_is(&c, "E4u", 42.695e-6);
    /* two chips are a line whatever is said of them; 52.5 kB, 7.5 us */
    c = ring_case(COLLECTIVE_ALL_GATHER, RING_UNI, 2, true);
    exact_is(&c, "E4u", 9.885e-6);
    c.kind = RING_BIDI_HALF;
    exact_is(&c, "E4", 9.885e-6);
    c.op = COLLECTIVE_ALL_REDUCE;
    exact_is(&c, "E5", 19.77e-6);
}

static void test_largest_chunk(void)
{
    /* 35,000 elements on 3 chips: the largest chunk has 11,667, 35,001 bytes */
    struct formula_case c = ring_case(COLLECTIVE_ALL_GATHER, RING_UNI, 3, true);
    exact_is(&c, "E1", 2 * (2.385e-6 + 35001 / 7e9));
}

static void test_several_axes(void)
{
    struct formula_case c = torus_case(COLLECTIVE_ALL_GATHER, RING_UNI, 3, 3, 3);
    c.elements = 36450; /* 109,350 bytes, (1 - 1/27) of it 105,300: 15,042.857 ns */
    exact_is(&c, "E7", 6 * 2.385e-6 + 105300 / 7e9 / 3);
    c.kind = RING_BIDI; /* one step an axis carries half of what comes in */
    exact_is(&c, "E7", 3 * 2.385e-6 + 105300 / 7e9 / 6);
    c.kind = RING_BIDI_HALF;
    exact_is(&c, "E7", 6 * 2.385e-6 + 105300 / 7e9 / 6);
    /* rings of one chip are absent */
    c = torus_case(COLLECTIVE_ALL_GATHER, RING_BIDI_HALF, 1, 7, 1);
    exact_is(&c, "E3", 6 * (2.385e-6 + 7.5e-6 / 7));
    c = torus_case(COLLECTIVE_ALL_REDUCE, RING_UNI, 1, 1, 1);
    exact_is(&c, "E0", 0);
    /* no form where the axes differ, do not close, share links or step over several */
    c = torus_case(COLLECTIVE_ALL_GATHER, RING_BIDI, 3, 3, 4);
    double none_s;
    CU_ASSERT_STRING_EQUAL(formula_find(formula_exact, &c, &none_s), "");
    CU_ASSERT_TRUE(isnan(none_s));
    c = torus_case(COLLECTIVE_ALL_REDUCE, RING_BIDI, 3, 3, 3);
    c.closed[2] = false;
    CU_ASSERT_TRUE(isnan(formula_exact_s(&c)));
    c.closed[2] = true;
    c.one_link = false;
    CU_ASSERT_TRUE(isnan(formula_exact_s(&c)));
    c = torus_case(COLLECTIVE_ALL_GATHER, RING_UNI, 2, 2, 1);
    CU_ASSERT_TRUE(isnan(formula_exact_s(&c)));
}

static void test_issue_figures(void)
{
    /* bf16 on v4 and v5e: 1 us, 45 GB/s */
    struct formula_case c = ring_case(COLLECTIVE_ALL_GATHER, RING_UNI, 4, true);
    c.elem_bytes = 2;
    c.hop_latency_s = 1e-6;
    c.link_Bps = 45e9;
    c.elements = 1 << 20; /* 2 MiB */
    NEAR(formula_exact_s(&c), 3.795253e-05, 2e-7);
    c.kind = RING_BIDI;
    NEAR(formula_exact_s(&c), 2.530169e-05, 2e-7);
    c.kind = RING_BIDI_HALF;
    NEAR(formula_exact_s(&c), 2.047627e-05, 2e-7);
    c.closed[0] = false;
    c.elements = 1 << 24; /* 32 MiB */
    NEAR(formula_exact_s(&c), 5.622406e-04, 2e-7);
    c.op = COLLECTIVE_REDUCE_SCATTER;
    c.closed[0] = true;
    c.n[0] = 16;
    c.elements = 1 << 29; /* 1 GiB */
    NEAR(formula_exact_s(&c), 1.119981e-02, 2e-7);
    c.op = COLLECTIVE_ALL_REDUCE;
    c.rings = 3;
    c.n[0] = c.n[1] = c.n[2] = 4;
    c.closed[1] = c.closed[2] = true;
    NEAR(formula_exact_s(&c), 7.847368e-03, 2e-7);
}

static void test_all_to_all(void)
{
    /* Ring of 6, V = 108 kB: pairs of 3 kB, 3/7 us. Links carry flows of 1 hop, of 2 hops twice, of 3 hops
     * thrice but half as large: loads 3/7, 6/7, 4.5/7 us. Bandwidth-bound: a + V/(8w) = a + 13.5/7 us. */
    struct formula_case c = ring_case(COLLECTIVE_ALL_TO_ALL, RING_BIDI, 6, true);
    c.elements = 36000;
    c.hop_latency_s = 0.1e-6;
    exact_is(&c, "E6", 0.1e-6 + 13.5e-6 / 7);
    /* Latency-bound: the last flows start after 3a = 7.155 us and find the links idle. */
    c.hop_latency_s = 2.385e-6;
    exact_is(&c, "E6", 7.155e-6 + 4.5e-6 / 7);
    /* Between: a = 0.7 us, 1.4 us + 10.5/7 us beats 0.7 + 13.5/7 and 2.1 + 4.5/7 us */
    c.hop_latency_s = 0.7e-6;
    exact_is(&c, "E6", 2.9e-6);
    c.keep_ties = true;
    CU_ASSERT_TRUE(isnan(formula_exact_s(&c)));
    /* Round a ring through several axes direct sends take short cuts. */
    c.keep_ties = c.on_axes = false;
    CU_ASSERT_TRUE(isnan(formula_exact_s(&c)));
    /* Ring of 5: pairs of 4.2 kB, 0.6 us; loads 0.6 and 1.2 us, (N^2-1)/8 = 3 pairs in all */
    c = ring_case(COLLECTIVE_ALL_TO_ALL, RING_BIDI, 5, true);
    c.hop_latency_s = 0;
    exact_is(&c, "E6", 1.8e-6);
    /* 4x4x4: N max/8 = 32 pairs on each link; V = 64^2 pairs of 105 bytes */
    c = torus_case(COLLECTIVE_ALL_TO_ALL, RING_BIDI, 4, 4, 4);
    c.elements = 35 * 4096;
    c.hop_latency_s = 0;
    exact_is(&c, "E6", 32 * 105 / 7e9);
    /* the last to start, 6 hops away, are one pair in eight parts: 2 links of each axis, 1/4 pair each way */
    c.hop_latency_s = 1;
    exact_is(&c, "E6", 6 + 105 / 7e9);
    c.closed[1] = false;
    CU_ASSERT_TRUE(isnan(formula_exact_s(&c)));
}

static void test_trains(void)
{
    /* All-to-all step by step round a ring of 5: pairs of 4.2 kB, 0.6 us. uni: 4 + 3 + 2 + 1 pairs over each
     * link in 4 steps; bidi 2 + 1 in 2 steps; bidi-half the same as uni with halves. A tie of bidi has no
     * form. */
    struct formula_case c = ring_case(COLLECTIVE_ALL_TO_ALL, RING_UNI, 5, true);
    c.all_to_all = ALL_TO_ALL_RING;
    exact_is(&c, "E6r", 4 * 2.385e-6 + 10 * 0.6e-6);
    c.kind = RING_BIDI;
    exact_is(&c, "E6r", 2 * 2.385e-6 + 3 * 0.6e-6);
    c.kind = RING_BIDI_HALF;
    exact_is(&c, "E6r", 4 * 2.385e-6 + 10 * 0.3e-6);
    c = ring_case(COLLECTIVE_ALL_TO_ALL, RING_BIDI, 6, true);
    c.all_to_all = ALL_TO_ALL_RING;
    CU_ASSERT_TRUE(isnan(formula_exact_s(&c)));
    /* Broadcast of 105 kB, 15 us, round a ring of 5: uni 4 hops, sqrt(3 * 15/2.385) = 4.3, so in 4 chunks; bidi 2 hops and
     * 2 or 3 chunks take 29.5 us, but 2 * 2 steps of a fifth 21.54; bidi-half sqrt(3 * 7.5/2.385) = 3.07 */
    c = ring_case(COLLECTIVE_BROADCAST, RING_UNI, 5, true);
    exact_is(&c, "E8", 7 * (2.385e-6 + 3.75e-6));
    c.kind = RING_BIDI;
    exact_is(&c, "E8s", 4 * (2.385e-6 + 3e-6));
    c.kind = RING_BIDI_HALF;
    exact_is(&c, "E8", 6 * (2.385e-6 + 2.5e-6));
    c.hop_latency_s = 7e-6; /* sqrt(15/7) = 1.46, 1 chunk 44 us, 2 chunks 43.5; scattered 40 */
    c.kind = RING_BIDI;
    exact_is(&c, "E8s", 4 * 10e-6);
    c.hop_latency_s = 31e-6; /* one chunk: latency is all that counts */
    exact_is(&c, "E8", 2 * 46e-6);
    /* A line from its third chip: 2 hops each way, from its end 4 */
    c = ring_case(COLLECTIVE_BROADCAST, RING_UNI, 5, false);
    c.root = 2; /* sqrt(15/2.385) = 2.5: 2 chunks 29.655 us, 3 chunks */
    exact_is(&c, "E8", 4 * (2.385e-6 + 5e-6));
    c.root = 4;
    exact_is(&c, "E8", 7 * (2.385e-6 + 3.75e-6));
    c.hop_latency_s = 0; /* as many chunks as there may be */
    exact_is(&c, "E8", 131 * (15e-6 / 128));
    c.elements = 3; /* no chunk of less than an element: 3 of 15/35000 us */
    exact_is(&c, "E8", 6 * (15e-6 / 35000));
    c.one_link = false;
    CU_ASSERT_TRUE(isnan(formula_exact_s(&c)));
    CU_ASSERT_EQUAL(formula_broadcast_chunks(&c), 0);
    /* Over several axes as an all-reduce. */
    c = torus_case(COLLECTIVE_BROADCAST, RING_BIDI_HALF, 3, 5, 7);
    struct formula_case reduce = c;
    reduce.op = COLLECTIVE_ALL_REDUCE;
    CU_ASSERT_TRUE(isnan(formula_exact_s(&c)));
    c.elements = reduce.elements = 1 << 24;
    c.n[0] = c.n[2] = reduce.n[0] = reduce.n[2] = 5;
    exact_is(&c, "E8s", formula_exact_s(&reduce));
}

static void test_rules(void)
{
    struct formula_case c = ring_case(COLLECTIVE_ALL_GATHER, RING_BIDI, 6, true);
    rule_is(&c, "F2", 7.5e-6); /* 105 kB over 14 GB/s against 7.155 us of latency */
    c.hop_latency_s = 2.6e-6;
    rule_is(&c, "F2", 7.8e-6);
    c.op = COLLECTIVE_ALL_REDUCE;
    rule_is(&c, "F6", 15.6e-6);
    c = ring_case(COLLECTIVE_REDUCE_SCATTER, RING_UNI, 6, true);
    rule_is(&c, "F4", 12.5e-6); /* 15 us of which 5/6 */
    c = ring_case(COLLECTIVE_REDUCE_SCATTER, RING_BIDI_HALF, 6, false);
    rule_is(&c, "F5", 12.5e-6);
    c = torus_case(COLLECTIVE_ALL_GATHER, RING_BIDI_HALF, 3, 5, 7);
    rule_is(&c, "F3", 17.8875e-6); /* 7.5 hops; 2.5 us of transfer */
    c.hop_latency_s = 0.1e-6;
    rule_is(&c, "F3", 2.5e-6);
    c.closed[1] = false;
    CU_ASSERT_TRUE(isnan(rule_s(&c)));
    c = ring_case(COLLECTIVE_ALL_TO_ALL, RING_BIDI, 6, true);
    rule_is(&c, "F7", 1.875e-6);
    c.on_axes = false; /* direct sends take short cuts */
    CU_ASSERT_TRUE(isnan(rule_s(&c)));
    c.kind = RING_UNI;
    c.all_to_all = ALL_TO_ALL_RING;
    rule_is(&c, "F8", 6.25e-6);
    c = torus_case(COLLECTIVE_ALL_TO_ALL, RING_BIDI, 3, 5, 7);
    rule_is(&c, "F9", 7.5e-6 * 7 / (4 * 105));
}

static void test_permute(void)
{
    /* W1: 6 hops of 1 us, 16 MiB over two ports of 45 GB/s: 192.4 us */
    struct formula_case c = ring_case(COLLECTIVE_PERMUTE, RING_BIDI, 16, false);
    c.elements = 1 << 23;
    c.elem_bytes = 2;
    c.hop_latency_s = 1e-6;
    c.link_Bps = 45e9;
    CU_ASSERT_TRUE(isnan(formula_exact_s(&c)));
    c.route_links = 6;
    c.routes = 2;
    exact_is(&c, "F10", 6e-6 + 16777216 / 90e9);
    rule_is(&c, "F10", 6e-6 + 16777216 / 90e9);
    NEAR(formula_exact_s(&c), 192.4e-6, 1e-4);
}

/* Where both exist an exact time is not below its rule by more than the rule's own excess: V/W counts V where a schedule moves V(N-1)/N. */
static void test_order(void)
{
    static const enum collective_id ops[] = {COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER,
                                             COLLECTIVE_ALL_REDUCE};
    for (int n = 2; n < 17; n++) {
        for (int variant = 0; variant < 18; variant++) {
            struct formula_case c =
                ring_case(ops[variant % 3], (enum ring_kind)(variant / 3 % 3), n, variant < 9 && n > 2);
            c.elements = 720720;
            double exact_s = formula_exact_s(&c);
            CU_ASSERT_TRUE(exact_s > rule_s(&c) * (n - 1) / n);
        }
    }
}

SUITE("formula", TEST(test_rings), TEST(test_lines), TEST(test_largest_chunk), TEST(test_several_axes),
      TEST(test_issue_figures), TEST(test_all_to_all), TEST(test_trains), TEST(test_rules),
      TEST(test_permute), TEST(test_order))
