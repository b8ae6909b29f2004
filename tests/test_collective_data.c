/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every program that a builder makes delivers what its collective promises: on random slices of up to 64 chips, some of them
 * twisted, over random axes, with every kind of ring, and at every pace of the executor. Sums are of whole numbers, so
 * equality is exact.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective/collective.h"
#include "memory_views.h"
#include "numbers/execute.h"
#include "program/selection.h"
#include "random_slice.h"
#include "suite.h"

#ifdef ICISIM_SANITIZE
enum { ROUNDS = 20 }; /* slow there, and the sanitizers see as much */
#else
enum { ROUNDS = 60 };
#endif
enum { CHIPS_MAX = RANDOM_SLICE_CHIPS, OPS = 7 };

/* One random collective. */
struct round {
    struct suite_random random;
    struct slice slice;
    struct mesh mesh;
    struct ring ring[COLLECTIVE_RINGS];
    struct collective_spec spec;
    struct program program;
    int n;                /* chips of a group */
    int group[CHIPS_MAX]; /* of each chip: the lowest chip in it */
    int index[CHIPS_MAX]; /* in its group: positions on the rings, the first ring slowest */
    int32_t target[CHIPS_MAX];
    int64_t pair[CHIPS_MAX * CHIPS_MAX];
};

/* Some of the axes in some order, each a ring of its own or all of them one ring; or a ring for each of all. */
static void make_rings(struct round *r, bool all, struct status *st)
{
    struct axis_list list = {0};
    int axes = r->mesh.axes.count, first = (int)suite_random(&r->random, (unsigned)axes);
    int count = all ? axes : 1 + (int)suite_random(&r->random, (unsigned)axes);
    for (int i = 0; i < count; i++)
        list.axis[list.count++] = (first + i) % axes;
    if (!all && suite_random(&r->random, 4) == 0) {
        r->spec.rings = 1;
        OKAY(ring_through(&r->ring[0], &r->mesh, &list, st), *st);
    } else {
        for (; r->spec.rings < count; r->spec.rings++)
            OKAY(ring_along(&r->ring[r->spec.rings], &r->mesh, list.axis[r->spec.rings], st), *st);
    }
    r->n = 1;
    for (int i = 0; i < r->spec.rings; i++) {
        r->spec.ring[i] = &r->ring[i];
        r->n *= r->ring[i].n;
    }
}

/* Who is with whom, found by walking the rings and nothing else. */
static void find_groups(struct round *r)
{
    for (int chip = 0; chip < r->slice.chips; chip++) {
        r->index[chip] = 0;
        r->group[chip] = -1;
        if (mesh_device(&r->mesh, chip) < 0)
            continue;
        for (int i = 0; i < r->spec.rings; i++)
            r->index[chip] = r->index[chip] * r->ring[i].n + ring_piece(&r->ring[i], &r->slice, chip);
    }
    for (int chip = 0; chip < r->slice.chips; chip++) {
        if (r->group[chip] >= 0 || mesh_device(&r->mesh, chip) < 0)
            continue;
        int steps[COLLECTIVE_RINGS] = {0};
        for (int at = chip, i = 0; i >= 0;) {
            r->group[at] = chip;
            for (i = r->spec.rings - 1; i >= 0; i--) {
                at = ring_next(&r->ring[i], &r->slice, at);
                if (++steps[i] < r->ring[i].n)
                    break;
                steps[i] = 0;
            }
        }
    }
}

/* The chip with an index in the group of `chip`. */
static int peer(const struct round *r, int chip, int index)
{
    int at = 0;
    while (r->group[at] != r->group[chip] || r->index[at] != index)
        at++;
    return at;
}

/* The view of chunk `index` of a buffer whose first dims are the rings. */
static struct view chunk_view(const struct round *r, int32_t buffer, int index)
{
    struct view view = {.buffer = buffer};
    int dims = 0, digit[COLLECTIVE_RINGS];
    for (int i = r->spec.rings - 1; i >= 0; i--) {
        digit[i] = index % r->ring[i].n;
        index /= r->ring[i].n;
    }
    for (int i = 0; i < r->spec.rings; i++)
        if (r->ring[i].n > 1) /* the others have no dim */
            view.pick[dims++] = pick_fixed(digit[i]);
    for (; dims < GRID_DIMS; dims++)
        view.pick[dims] = pick_all();
    return view;
}

static void fill(struct memory *memory, int chip, int32_t buffer, bool with_nan)
{
    int64_t n = memory_elements(memory->program, chip, buffer);
    for (int64_t i = 0; i < n; i++)
        memory_of(memory, chip, buffer)[i] = with_nan ? (double)NAN : start_value(chip, i);
}

/* Do two memories hold the same in a view of a chip each. */
static bool same(const struct memory *a, const struct view *av, int ac, const struct memory *b,
                 const struct view *bv, int bc)
{
    struct status st = {0};
    int64_t n = view_elements(a->program, av, ac, ac);
    if (n != view_elements(b->program, bv, bc, bc))
        return false;
    double *x = malloc(((size_t)n + 1) * sizeof *x), *y = malloc(((size_t)n + 1) * sizeof *y);
    bool equal = x && y && memory_take(a, av, ac, x, &st) == 0 && memory_take(b, bv, bc, y, &st) == 0;
    for (int64_t i = 0; i < n && equal; i++)
        equal = fabs(x[i] - y[i]) <= 0;
    free(x);
    free(y);
    return equal;
}

/* What the op needs at the start: everything of its own is there, everything else is NaN. */
static void prepare(struct round *r, int op, struct memory *memory, struct memory *want)
{
    struct status st = {0};
    int32_t in = memory_buffer(&r->program, "in");
    for (int chip = 0; chip < r->slice.chips; chip++) {
        fill(want, chip, in, false);
        fill(memory, chip, in, op == 0 || (op == 6 && r->index[chip] != r->spec.root));
        if (op == 0 && r->group[chip] >= 0) { /* all-gather: the own chunk of what the group shares */
            struct view own = chunk_view(r, in, r->index[chip]);
            double value[4096];
            CU_ASSERT_FATAL(view_elements(&r->program, &own, chip, chip) <= 4096);
            for (int64_t i = 0; i < memory_elements(&r->program, chip, in); i++)
                memory_of(want, chip, in)[i] = start_value(r->group[chip], i);
            OKAY(memory_take(want, &own, chip, value, &st), st);
            OKAY(memory_put(memory, &own, chip, value, &st), st);
        }
    }
}

/* want = the sum over the group of what its chips started with. */
static void add_up(const struct round *r, struct memory *want)
{
    int32_t in = memory_buffer(&r->program, "in");
    for (int chip = 0; chip < r->slice.chips; chip++)
        for (int64_t i = 0; i < memory_elements(&r->program, chip, in); i++) {
            double sum = 0;
            for (int other = 0; other < r->slice.chips; other++)
                sum += r->group[other] == r->group[chip] ? start_value(other, i) : 0;
            memory_of(want, chip, in)[i] = sum;
        }
}

static bool delivered(const struct round *r, int op, const struct memory *got, const struct memory *want)
{
    int32_t out = memory_buffer(&r->program, "out"), in = memory_buffer(&r->program, "in");
    struct view all = {.buffer = in};
    bool right = true;
    if (out < 0) /* in place; or a chip is alone in its group */
        out = in;
    for (int chip = 0; chip < r->slice.chips && right; chip++) {
        if (r->group[chip] < 0 && op != 5)
            continue;
        struct view own = chunk_view(r, in, r->index[chip]);
        if (op == 0 || op == 2)
            right = same(got, &all, chip, want, &all, chip);
        else if (op == 1)
            right = same(got, &own, chip, want, &own, chip);
        else if (op == 6)
            right = same(got, &all, chip, want, &all, peer(r, chip, r->spec.root));
        for (int k = 0; (op == 3 || op == 4) && k < r->n && right; k++) {
            int from = peer(r, chip, k);
            struct view came = chunk_view(r, out, k), left = chunk_view(r, in, r->index[chip]);
            /* a ragged block is so many pieces one after the other */
            int pieces = op == 4 ? r->program.buffer[in].dim[0] / r->n : 1;
            for (int w = 0; w < pieces && right; w++) {
                if (op == 4) {
                    came.pick[0] = pick_fixed(k * pieces + w);
                    left.pick[0] = pick_fixed(r->index[chip] * pieces + w);
                }
                right = same(got, &came, chip, want, &left, from);
            }
        }
        if (op == 5 && r->target[chip] >= 0) {
            struct view there = {.buffer = out}, here = {.buffer = in};
            right = same(got, &there, r->target[chip], want, &here, chip);
        }
    }
    return right;
}

static const char *const op_names[OPS] = {"all-gather", "reduce-scatter",    "all-reduce",
                                          "all-to-all", "ragged-all-to-all", "collective-permute",
                                          "broadcast"};

/* Now and then any cut of the array between the rings, none for some included. */
static void make_shares(struct round *r)
{
    int rings = 0, left = COLLECTIVE_SHARES;
    for (int i = 0; i < r->spec.rings; i++)
        rings += r->ring[i].n > 1;
    for (int i = 0; i < rings && rings > 1 && suite_random(&r->random, 4) > 0; i++) {
        r->spec.share[i] = i == rings - 1 ? left : (int)suite_random(&r->random, (unsigned)left + 1);
        left -= r->spec.share[i];
    }
    if (left > 0)
        memset(r->spec.share, 0, sizeof r->spec.share);
}

/* Parts as a compiler may cut them, each with an order of its own, one way round or both. */
static void make_colours(struct round *r)
{
    struct collective_spec *spec = &r->spec;
    spec->colours = (int)suite_random(&r->random, COLLECTIVE_COLOURS + 1);
    for (int c = 0; c < spec->colours; c++) {
        struct collective_colour *colour = &spec->colour[c];
        colour->sign = (int)suite_random(&r->random, 3) - 1;
        for (int m = 0; m < spec->rings; m++) {
            int at = (int)suite_random(&r->random, (unsigned)m + 1);
            colour->order[m] = colour->order[at];
            colour->order[at] = m;
        }
    }
}

static void make_spec(struct round *r, int op, bool broken)
{
    struct collective_spec *spec = &r->spec;
    int chips = r->slice.chips;
    spec->kind = (enum ring_kind)suite_random(&r->random, RING_KINDS);
    spec->all_to_all = (enum all_to_all)suite_random(&r->random, ALL_TO_ALLS);
    spec->keep_ties = suite_random(&r->random, 2);
    /* broadcasts of much are scattered and gathered */
    spec->elem_bytes = op == 6 && suite_random(&r->random, 2) ? 5e7 : 8;
    spec->root = (int)suite_random(&r->random, (unsigned)r->n);
    spec->routes = 1;
    spec->elements = 1 + (int64_t)suite_random(&r->random, 300);
    if (broken && op != 3) /* no chunk may be empty, or what moves nothing is no fault */
        spec->elements = 48 * r->n;
    if (broken && op == 3)
        spec->elements = 48 * r->n * r->n;
    for (int chip = 0; chip < chips; chip++)
        r->target[chip] = chip;
    for (int chip = chips - 1; chip > 0; chip--) { /* Fisher-Yates, then some that send nothing */
        int other = (int)suite_random(&r->random, (unsigned)chip + 1);
        int32_t t = r->target[chip];
        r->target[chip] = r->target[other];
        r->target[other] = t;
    }
    for (int chip = 0; chip < chips; chip++)
        if (suite_random(&r->random, 5) == 0)
            r->target[chip] = -1;
    for (int i = 0; i < r->n * r->n; i++)
        r->pair[i] = suite_random(&r->random, 6);
    spec->target = r->target;
    spec->pair_elements = r->pair;
    if ((op < 3 || op == 6) && !broken)
        make_shares(r);
    spec->turned = suite_random(&r->random, 2);
    spec->in_step = suite_random(&r->random, 2);
    if (op < 3 && suite_random(&r->random, 3) == 0)
        make_colours(r);
    if (op < 3 && suite_random(&r->random, 2))
        spec->pattern = (enum pattern)suite_random(&r->random, PATTERNS);
    if (!collective_has_pattern(collective_of((enum collective_id)op), spec->pattern))
        spec->pattern = PATTERN_RINGS;
}

/* Takes its payload from one send, any one. False if no send has one. */
static bool break_payload(struct round *r)
{
    int32_t moves = 0, chosen = -1;
    for (int32_t o = 0; o < r->program.ops; o++)
        if (r->program.op[o].payload != NO_PAYLOAD && suite_random(&r->random, (unsigned)++moves) == 0)
            chosen = o;
    if (chosen >= 0)
        r->program.op[chosen].payload = NO_PAYLOAD;
    return chosen >= 0;
}

/* With `broken` one send carries nothing, and the result must be seen to be wrong. With `twisted` over all chips of a twisted
 * torus of these lengths. */
static void run_round(int op, unsigned long long seed, bool broken, const int twisted[])
{
    struct round r = {.random = {seed}};
    struct status st = {0};
    struct memory memory, want;
    char shape[SLICE_TEXT], wrap[SLICE_TEXT];
    if (twisted)
        twisted_slice(&r.slice, twisted, &st);
    if (twisted)
        OKAY(mesh_init(&r.mesh, &r.slice, NULL, NULL, &st), st);
    else
        random_slice(&r.slice, &r.mesh, &r.random, &st);
    make_rings(&r, twisted, &st);
    find_groups(&r);
    make_spec(&r, op, broken);
    r.spec.colours = twisted ? 0 : r.spec.colours;
    r.spec.pattern = twisted ? PATTERN_RINGS : r.spec.pattern;
    program_init(&r.program, &r.slice);
    const struct collective *collective = collective_by_name(op_names[op], &st);
    CU_ASSERT_PTR_NOT_NULL_FATAL(collective);
    OKAY(collective->build(&r.spec, &r.program, -1, NULL, &st), st);
    broken = broken && break_payload(&r);
    /* Where no chip sends there is no buffer either. */
    for (int pace = 0; pace < EXECUTE_PACES && memory_buffer(&r.program, "in") >= 0; pace++) {
        OKAY(memory_init(&memory, &r.program, &st), st);
        OKAY(memory_init(&want, &r.program, &st), st);
        prepare(&r, op, &memory, &want);
        if (op == 1 || op == 2)
            add_up(&r, &want);
        struct execute_options options = {.pace = (enum execute_pace)pace, .seed = seed};
        int code = execute(&memory, &options, &st);
        bool right = code == 0 && delivered(&r, op, &memory, &want);
        if (right == broken)
            fprintf(stderr,
                    "%s on %s, wrap %s, %d rings, groups of %d, %s, kind %s, %s, V = %lld, pace %d, seed "
                    "%llu: %s\n",
                    op_names[op], slice_print_shape(&r.slice, shape), slice_print_wrap(&r.slice, wrap),
                    r.spec.rings, r.n, pattern_name(r.spec.pattern), ring_kind_name(r.spec.kind),
                    all_to_all_name(r.spec.all_to_all), (long long)r.spec.elements, pace, seed,
                    code < 0 ? st.text
                    : broken ? "a fault was not seen"
                             : "wrong numbers");
        CU_ASSERT_TRUE(right != broken);
        memory_free(&memory);
        memory_free(&want);
    }
    program_free(&r.program);
    for (int i = 0; i < r.spec.rings; i++)
        ring_free(&r.ring[i]);
    mesh_free(&r.mesh);
    slice_free(&r.slice);
}

/* ICISIM_ROUNDS asks for more; what fails prints its seed. */
static void run_op(int op)
{
    const char *more = getenv("ICISIM_ROUNDS");
    unsigned long long rounds = more ? strtoull(more, NULL, 10) : ROUNDS;
    for (unsigned long long seed = 0; seed < rounds; seed++)
        run_round(op, seed * OPS + (unsigned long long)op, false, NULL);
}

#define TEST_OF(name, op)                                                                                    \
    static void name(void)                                                                                   \
    {                                                                                                        \
        run_op(op);                                                                                          \
    }
TEST_OF(all_gather, 0)
TEST_OF(reduce_scatter, 1)
TEST_OF(all_reduce, 2)
TEST_OF(all_to_all, 3)
TEST_OF(ragged_all_to_all, 4)
TEST_OF(collective_permute, 5)
TEST_OF(broadcast, 6)

/* Over all chips of a twisted torus, a ring an axis: there gathers and reductions have rings and numbers of pieces of their
 * own (src/collective/turns.c). */
static void twisted(void)
{
    static const int len[][SLICE_AXES] = {{3, 3, 6}, {3, 6, 3}, {6, 3, 3}, {3, 6, 6}, {6, 3, 6}, {6, 6, 3}};
    for (unsigned long long seed = 0; seed < 18; seed++)
        run_round((int)(seed % 3), seed, false, len[seed / 3]);
}

static void broken_payloads_are_seen(void)
{
    for (unsigned long long seed = 0; seed < ROUNDS; seed++)
        run_round((int)(seed % OPS), seed, true, NULL);
}

SUITE("collective_data", TEST(all_gather), TEST(reduce_scatter), TEST(all_reduce), TEST(all_to_all),
      TEST(ragged_all_to_all), TEST(collective_permute), TEST(broadcast), TEST(twisted),
      TEST(broken_payloads_are_seen))
