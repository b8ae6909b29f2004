/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives compose: what is appended to a program works on what is there already, starts when that has ended, and
 * takes as long as it does alone. Without payloads times are the same bits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective/collective.h"
#include "engine/engine.h"
#include "memory_views.h"
#include "numbers/execute.h"
#include "suite.h"

enum { CHIPS_MAX = 64, CHAIN_MAX = 4 };

struct bed {
    struct slice slice;
    struct mesh mesh;
    struct ring ring[COLLECTIVE_RINGS];
    struct collective_spec spec;
    struct collective_buffers buffers;
    struct program program; /* on the slice: the struct must not be moved */
    struct status st;
    int n; /* chips of a group */
    int32_t target[CHIPS_MAX];
    int64_t pair[CHIPS_MAX * CHIPS_MAX];
};

/* A group over all axes of a slice. */
static void bed_init(struct bed *bed, int axes, const int len[], bool wraps, enum ring_kind kind)
{
    bool wrap[SLICE_AXES] = {wraps, wraps, wraps};
    memset(bed, 0, sizeof *bed);
    OKAY(slice_init(&bed->slice, axes, len, wrap, 45e9, 1.5e-6, &bed->st), bed->st);
    OKAY(mesh_init(&bed->mesh, &bed->slice, NULL, NULL, &bed->st), bed->st);
    bed->n = bed->slice.chips;
    bed->spec = (struct collective_spec){
        .kind = kind, .rings = axes, .elements = 7 * 960, .elem_bytes = 2, .routes = 1};
    for (int a = 0; a < axes; a++) {
        OKAY(ring_along(&bed->ring[a], &bed->mesh, a, &bed->st), bed->st);
        bed->spec.ring[a] = &bed->ring[a];
    }
    bed->buffers = (struct collective_buffers){-1, -1};
    bed->spec.buffers = &bed->buffers;
    bed->spec.target = bed->target;
    bed->spec.pair_elements = bed->pair;
    for (int chip = 0; chip < bed->n; chip++)
        bed->target[chip] = (chip + 5) % bed->n;
    for (int i = 0; i < bed->n * bed->n; i++)
        bed->pair[i] = 1 + 7 * i % 11;
    program_init(&bed->program, &bed->slice);
}

static void bed_free(struct bed *bed)
{
    program_free(&bed->program);
    for (int r = 0; r < bed->spec.rings; r++)
        ring_free(&bed->ring[r]);
    mesh_free(&bed->mesh);
    slice_free(&bed->slice);
}

static void append(struct bed *bed, const char *name, int32_t *op)
{
    const struct collective *c = collective_by_name(name, &bed->st);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    OKAY(c->build(&bed->spec, &bed->program, *op, op, &bed->st), bed->st);
}

static double time_of(struct bed *bed)
{
    struct trace trace = {0};
    OKAY(program_check(&bed->program, &bed->st), bed->st);
    OKAY(trace_init(&trace, &bed->program, true, &bed->st), bed->st);
    OKAY(engine_run(engine_by_name("event"), &bed->program, &trace, &bed->st), bed->st);
    OKAY(trace_check(&trace, &bed->program, &bed->st), bed->st);
    double time_s = trace.total_s;
    trace_free(&trace);
    return time_s;
}

/* Runs the program on start values in the first buffer, at every pace, and looks what is in the last one. */
static void expect_values(struct bed *bed, double (*want)(int chip, int64_t i, int n))
{
    for (int pace = 0; pace < EXECUTE_PACES; pace++) {
        struct memory memory;
        struct execute_options options = {.pace = (enum execute_pace)pace, .seed = 17};
        OKAY(memory_init(&memory, &bed->program, &bed->st), bed->st);
        int32_t in = memory_buffer(&bed->program, "in");
        int64_t elements = memory_elements(&bed->program, 0, in);
        for (int chip = 0; chip < bed->n; chip++)
            for (int64_t i = 0; i < elements; i++)
                memory_of(&memory, chip, in)[i] = start_value(chip, i);
        OKAY(execute(&memory, &options, &bed->st), bed->st);
        bool right = true;
        for (int chip = 0; chip < bed->n; chip++)
            for (int64_t i = 0; i < elements; i++)
                right &= fabs(memory_of(&memory, chip, bed->buffers.out)[i] - want(chip, i, bed->n)) <= 0;
        CU_ASSERT_TRUE(right);
        memory_free(&memory);
    }
}

static double as_it_started(int chip, int64_t i, int n)
{
    (void)n;
    return start_value(chip, i);
}

/* sum over c < n of 7919 c + 13 i + 5 */
static double summed(int chip, int64_t i, int n)
{
    (void)chip;
    return 7919.0 * n * (n - 1) / 2 + n * (13 * (double)i + 5);
}

static const struct {
    int axes, len[SLICE_AXES];
    bool wraps;
} shapes[] = {{1, {7}, true}, {1, {6}, true}, {1, {5}, false}, {2, {3, 4}, true}, {2, {4, 3}, false}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* What goes there by one all-to-all comes back by the next, which starts where the first one ended. */
static void there_and_back(const char *name, enum all_to_all algorithm)
{
    for (int s = 0; s < SHAPES; s++)
        for (int kind = 0; kind < RING_KINDS; kind++) {
            struct bed bed;
            int32_t op = -1;
            bed_init(&bed, shapes[s].axes, shapes[s].len, shapes[s].wraps, (enum ring_kind)kind);
            bed.spec.all_to_all = algorithm;
            append(&bed, name, &op);
            bed.buffers = (struct collective_buffers){bed.buffers.out, bed.buffers.in};
            for (int chip = 0; chip < bed.n; chip++)
                bed.target[chip] = (chip + bed.n - 5 % bed.n) % bed.n;
            append(&bed, name, &op);
            expect_values(&bed, as_it_started);
            bed_free(&bed);
        }
}

static void all_to_alls_there_and_back(void)
{
    there_and_back("all-to-all", ALL_TO_ALL_DIRECT);
    there_and_back("all-to-all", ALL_TO_ALL_RING);
}

static void permutes_there_and_back(void)
{
    there_and_back("collective-permute", ALL_TO_ALL_DIRECT);
}

static void chain_in_place(const char *const name[], double (*want)(int chip, int64_t i, int n))
{
    for (int s = 0; s < SHAPES; s++)
        for (int kind = 0; kind < RING_KINDS; kind++) {
            struct bed bed;
            int32_t op = -1;
            bed_init(&bed, shapes[s].axes, shapes[s].len, shapes[s].wraps, (enum ring_kind)kind);
            for (int i = 0; name[i]; i++)
                append(&bed, name[i], &op);
            CU_ASSERT_EQUAL(bed.program.buffers, 1);
            expect_values(&bed, want);
            bed_free(&bed);
        }
}

static void scatter_then_gather(void)
{
    chain_in_place((const char *const[]){"reduce-scatter", "all-gather", NULL}, summed);
}

/* Every collective by every schedule that it has: `what` is called with nothing built. */
static void each_schedule(bool only_wraps, void (*what)(struct bed *bed, const char *name))
{
    for (int s = 0; s < SHAPES; s++)
        for (const struct collective *c = collectives; c->name; c++)
            for (int kind = 0; kind < RING_KINDS && (shapes[s].wraps || !only_wraps); kind++)
                for (int algorithm = 0; algorithm < ALL_TO_ALLS; algorithm++) {
                    struct bed bed;
                    bed_init(&bed, shapes[s].axes, shapes[s].len, shapes[s].wraps, (enum ring_kind)kind);
                    bed.spec.all_to_all = (enum all_to_all)algorithm;
                    bed.spec.setup_s = 2.3e-6;
                    bed.spec.root = 2;
                    what(&bed, c->name);
                    bed_free(&bed);
                }
}

static void time_is_the_same_without_payloads(struct bed *bed, const char *name)
{
    double time_s[2];
    for (int only = 0; only < 2; only++) {
        int32_t op = -1;
        program_free(&bed->program);
        bed->buffers = (struct collective_buffers){-1, -1};
        bed->spec.timing_only = only;
        append(bed, name, &op);
        append(bed, name, &op);
        time_s[only] = time_of(bed);
        CU_ASSERT_EQUAL(bed->program.payloads > 0 && bed->program.buffers > 0, !only);
    }
    CU_ASSERT_TRUE(time_s[0] > 0 && memcmp(&time_s[0], &time_s[1], sizeof time_s[0]) == 0);
}

static void timing_only(void)
{
    each_schedule(false, time_is_the_same_without_payloads);
}

/* What adds takes longer where a rate says so, what does not takes the same to the bit; and the sums of a collective end
 * before the next one starts. */
static void only_sums_take_longer(struct bed *bed, const char *name)
{
    bool adds = strcmp(name, "reduce-scatter") == 0 || strcmp(name, "all-reduce") == 0;
    double time_s[2];
    for (int slow = 0; slow < 2; slow++) {
        int32_t op = -1;
        program_free(&bed->program);
        bed->buffers = (struct collective_buffers){-1, -1};
        bed->slice.reduce_Bps = slow ? 37e9 : 0;
        append(bed, name, &op);
        append(bed, name, &op);
        time_s[slow] = time_of(bed);
    }
    if (adds)
        CU_ASSERT_TRUE(time_s[1] > time_s[0] * 1.001);
    if (!adds)
        CU_ASSERT_TRUE(memcmp(&time_s[0], &time_s[1], sizeof time_s[0]) == 0);
}

static void rate_of_sums(void)
{
    each_schedule(false, only_sums_take_longer);
}

/* A ring of 7: (N-1)(a + c/w + c/r) for the scatter, the sum before the forward; bidi-half with half a chunk c each way,
 * bidi in 3 steps. Both engines. V = 7 x 960 elements of 2 bytes, so c = 1920 B; r = 37 GB/s. */
static void sums_come_before_the_forward(void)
{
    static const double steps[] = {6, 3, 6}, chunk_bytes[] = {1920, 1920, 960};
    for (int kind = 0; kind < RING_KINDS; kind++) {
        double c = chunk_bytes[kind], once_s = 1.5e-6 + c / 45e9;
        for (int both = 0; both < 2; both++) {
            struct bed bed;
            int32_t op = -1;
            bed_init(&bed, 1, (int[]){7}, true, (enum ring_kind)kind);
            bed.slice.reduce_Bps = 37e9;
            append(&bed, both ? "all-reduce" : "reduce-scatter", &op);
            NEAR(time_of(&bed), steps[kind] * (once_s + c / 37e9 + (both ? once_s : 0)), 1e-12);
            struct trace event = {0}, simgrid = {0};
            OKAY(trace_init(&event, &bed.program, true, &bed.st), bed.st);
            OKAY(trace_init(&simgrid, &bed.program, true, &bed.st), bed.st);
            OKAY(engine_run(engine_by_name("event"), &bed.program, &event, &bed.st), bed.st);
            OKAY(engine_run(engine_by_name("simgrid"), &bed.program, &simgrid, &bed.st), bed.st);
            for (int64_t i = 0; i < (int64_t)bed.program.ops * bed.slice.chips; i++)
                NEAR(event.end_s[i], simgrid.end_s[i], ENGINES_OFF_MOST);
            trace_free(&event);
            trace_free(&simgrid);
            bed_free(&bed);
        }
    }
}

/* All chips compute for 271 us, and then the collective takes what it takes alone: no op of it starts sooner. */
static void starts_after_what_was_before(struct bed *bed, const char *name)
{
    const double wait_s = 271e-6;
    struct trace trace = {0};
    int32_t op = -1;
    bed->spec.timing_only = true;
    append(bed, name, &op);
    double alone_s = time_of(bed);
    program_free(&bed->program);
    op = program_add(&bed->program, (struct op){.kind = OP_COMPUTE,
                                                .where = WHERE_ALL,
                                                .amount = amount_of(wait_s),
                                                .payload = NO_PAYLOAD,
                                                .stage = program_stage(&bed->program, "fusion.1")});
    append(bed, name, &op);
    OKAY(trace_init(&trace, &bed->program, false, &bed->st), bed->st);
    OKAY(engine_run(engine_by_name("event"), &bed->program, &trace, &bed->st), bed->st);
    NEAR(trace.total_s, wait_s + alone_s, 1e-12);
    for (int32_t o = 1; o < bed->program.ops; o++)
        CU_ASSERT_FALSE(trace.op_start_s[o] < wait_s);
    trace_free(&trace);
}

static void waits_for_what_was_before(void)
{
    each_schedule(false, starts_after_what_was_before);
}

/* T(3) = 3 T(1) where all chips are alike and so end together. The root of a broadcast has sent all that it has when
 * others still pass it on, and sends the next; but it does not begin to before it has sent all. */
static void three_take_three_times_as_long(struct bed *bed, const char *name)
{
    double time_s[3];
    int32_t op = -1;
    bool alike = strcmp(name, "collective-broadcast") != 0 && strcmp(name, "ragged-all-to-all") != 0;
    bed->spec.timing_only = true;
    for (int i = 0; i < 3; i++) {
        append(bed, name, &op);
        time_s[i] = time_of(bed);
    }
    if (alike)
        NEAR(time_s[2], 3 * time_s[0], 1e-12);
    CU_ASSERT_TRUE(time_s[1] > 1.2 * time_s[0] && time_s[1] <= 2 * time_s[0] * (1 + 1e-12));
}

static void one_after_the_other(void)
{
    each_schedule(true, three_take_three_times_as_long);
}

/* A ring of 7, bidi-half: 6 sends each way and a join for each of 4000 gathers; +1, -1 and no link are the routes.
 * Each takes (N-1)(a + V/(2 N w)), of V = 7 x 960 elements of 2 bytes. */
static void thousands(void)
{
    enum { GATHERS = 4000 };
    struct bed bed;
    int32_t op = -1;
    bed_init(&bed, 1, (int[]){7}, true, RING_BIDI_HALF);
    bed.spec.timing_only = true;
    for (int i = 0; i < GATHERS; i++)
        append(&bed, "all-gather", &op);
    CU_ASSERT_EQUAL(bed.program.ops, 13 * GATHERS);
    CU_ASSERT_EQUAL(op, bed.program.ops - 1);
    CU_ASSERT_EQUAL(bed.program.routes, 3);
    CU_ASSERT_EQUAL(bed.program.payloads + bed.program.buffers + bed.program.masks, 0);
    NEAR(time_of(&bed), GATHERS * 6 * (1.5e-6 + 13440 / (2 * 7 * 45e9)), 1e-12);
    bed_free(&bed);
}

static void is_named(struct bed *bed, const char *name)
{
    char numbered[STAGE_NAME];
    int32_t op = -1;
    append(bed, name, &op);
    snprintf(numbered, sizeof numbered, "%s.1", name);
    CU_ASSERT_STRING_EQUAL(bed->program.stage[0].name, numbered);
    bed->spec.name = "all-gather-start.17";
    append(bed, name, &op);
    CU_ASSERT_STRING_EQUAL(bed->program.stage[bed->program.op[op].stage].name, "all-gather-start.17");
}

static void stages_have_names(void)
{
    each_schedule(true, is_named);
}

/* Nothing is sent in a group of one chip: what follows waits for what was before. */
static void a_chip_alone_passes_on_what_was_before(void)
{
    for (const struct collective *c = collectives; c->name; c++) {
        struct bed bed;
        int32_t op = -1;
        bed_init(&bed, 1, (int[]){5}, true, RING_UNI);
        append(&bed, "all-gather", &op);
        bed.ring[0].n = 1;
        bed.spec.all_to_all = ALL_TO_ALL_RING;
        for (int chip = 0; chip < bed.n; chip++)
            bed.target[chip] = -1;
        bed.buffers = (struct collective_buffers){-1, -1};
        int32_t last = op, ops = bed.program.ops;
        if (strcmp(c->name, "ragged-all-to-all") != 0) {
            append(&bed, c->name, &op);
            CU_ASSERT_EQUAL(op, last);
            CU_ASSERT_EQUAL(bed.program.ops, ops);
        }
        bed_free(&bed);
    }
}

/* The tables are indexed by what their rows say they are; a spec without an algorithm gets the first one of its collective. */
static void rows_stand_where_they_are_looked_for(void)
{
    struct status st = {0};
    for (const struct collective *c = collectives; c->name; c++) {
        CU_ASSERT_PTR_EQUAL(collective_of(c->id), c);
        CU_ASSERT_PTR_EQUAL(collective_by_name(c->name, &st), c);
        CU_ASSERT_EQUAL(c->has_algorithms, c->id == collective_algorithms[0].of);
    }
}

SUITE("collective", TEST(all_to_alls_there_and_back), TEST(permutes_there_and_back),
      TEST(scatter_then_gather), TEST(timing_only), TEST(rate_of_sums), TEST(sums_come_before_the_forward),
      TEST(waits_for_what_was_before), TEST(one_after_the_other), TEST(thousands), TEST(stages_have_names),
      TEST(a_chip_alone_passes_on_what_was_before), TEST(rows_stand_where_they_are_looked_for))
