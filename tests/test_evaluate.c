/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole examples through the programs that builders write: what JAX printed (tests/golden), random calls on random
 * meshes, and laws that hold between collectives. test_collective_data.c does the same for chunks; here blocks, dims, specs,
 * axes in any order and groups come on top.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers/evaluate.h"
#include "random_call.h"
#include "suite.h"

static const struct evaluate_choice by_schedule = {.algorithm = ALGORITHM_SCHEDULE};

enum { CHIPS_MAX = RANDOM_CALL_DEVICES, ROUNDS = 3000 };

/* A slice with a mesh laid on it. */
struct place {
    struct slice slice;
    struct mesh mesh;
};

static void place_open(struct place *place, int axes, const int len[], const bool wrap[], const char *mesh)
{
    struct status st = {0};
    OKAY(slice_init(&place->slice, axes, len, wrap, 45e9, 1e-6, &st), st);
    OKAY(mesh_init(&place->mesh, &place->slice, mesh, &(struct mesh_rule){.split = true}, &st), st);
    CU_ASSERT_EQUAL_FATAL(st.code, 0);
}

static void place_close(struct place *place)
{
    mesh_free(&place->mesh);
    slice_free(&place->slice);
}

/* The mesh of an example on a slice of its own shape. */
static void place_of(struct place *place, const struct axes *axes, bool wraps)
{
    int len[SLICE_AXES];
    bool wrap[SLICE_AXES];
    char text[AXES_TEXT];
    CU_ASSERT_FATAL(axes->count <= SLICE_AXES);
    for (int a = 0; a < axes->count; a++) {
        len[a] = axes->axis[a].n;
        wrap[a] = wraps;
    }
    place_open(place, axes->count, len, wrap, axes_print(axes, text));
}

/* Runs an example at every pace; the verdict of the first that is wrong. */
static int run_paces(struct evaluation *e, bool golden, uint64_t seed, struct status *st)
{
    int code = 0;
    for (int pace = 0; pace < EXECUTE_PACES && code == 0; pace++) {
        struct execute_options options = {.pace = (enum execute_pace)pace, .seed = seed};
        code = evaluation_run(e, &options, st);
        if (code == 0)
            code = golden ? evaluation_check_output(e, st) : evaluation_check(e, st);
    }
    return code;
}

static void golden_cases(void)
{
    struct status st = {0};
    struct cases cases;
    int transfers = 0;
    OKAY(cases_load(&cases, "tests/golden/jax_collectives.json", &st), st);
    CU_ASSERT_EQUAL(cases.count, 30);
    for (int i = 0; i < cases.count; i++)
        for (int variant = 0; variant < 2 * RING_KINDS * ALL_TO_ALLS * 2; variant++) {
            struct place place;
            struct evaluation e;
            struct status case_st = {0};
            struct collective_spec plan = {.kind = (enum ring_kind)(variant % RING_KINDS),
                                           .all_to_all =
                                               (enum all_to_all)(variant / RING_KINDS % ALL_TO_ALLS),
                                           .rings = variant / RING_KINDS / ALL_TO_ALLS % 2};
            place_of(&place, &cases.item[i].axes, variant >= 2 * RING_KINDS * ALL_TO_ALLS);
            int code = evaluation_open(&e, &cases.item[i], &place.mesh, &plan, &by_schedule, &case_st);
            if (code == 0)
                code = run_paces(&e, true, (uint64_t)variant, &case_st);
            if (code < 0)
                fprintf(stderr, "%s, variant %d: %s\n", cases.item[i].id, variant, case_st.text);
            CU_ASSERT_EQUAL(code, 0);
            /* It did go through a program, and not only through a definition. */
            CU_ASSERT_EQUAL(program_transfers(&e.program) > 0, cases.item[i].call.op != CALL_NONE);
            transfers += program_transfers(&e.program) > 0;
            evaluation_close(&e);
            place_close(&place);
        }
    CU_ASSERT_EQUAL(transfers, 28 * 24); /* all but the two that are local */
    cases_free(&cases);
}

/* Another index in the first grid dim where the view picks one; false if it picks all there is. */
static bool shift_view(const struct program *program, struct view *view)
{
    const struct buffer *buffer = &program->buffer[view->buffer];
    for (int d = 0; d < buffer->dims; d++)
        if (buffer->dim[d] > 1 && view->pick[d].kind != PICK_ALL) {
            view->pick[d].offset = (view->pick[d].offset + 1) % buffer->dim[d];
            return true;
        }
    return false;
}

/* Breaks a payload: what it moves goes to the wrong chunk, or, where a buffer is not cut, stays in the buffer that it
 * came from or is not added. */
static void break_payload(const struct program *program, struct payload *payload)
{
    if (shift_view(program, &payload->to))
        return;
    if (payload->to.buffer != payload->a.buffer)
        payload->to = payload->a;
    else
        payload->combine = payload->combine == COMBINE_SUM ? COMBINE_COPY : COMBINE_SUM;
}

/* The executor works from payloads: of every golden case that sends anything, one broken payload fails it. */
static void broken_payloads_are_seen(void)
{
    struct status st = {0};
    struct cases cases;
    OKAY(cases_load(&cases, "tests/golden/jax_collectives.json", &st), st);
    for (int i = 0; i < cases.count; i++)
        for (int kind = 0; kind < RING_KINDS; kind++) {
            struct place place;
            struct evaluation e;
            struct status open_st = {0}, run_st = {0}, right_st = {0};
            place_of(&place, &cases.item[i].axes, true);
            OKAY(evaluation_open(&e, &cases.item[i], &place.mesh,
                                 &(struct collective_spec){.kind = (enum ring_kind)kind}, &by_schedule,
                                 &open_st),
                 open_st);
            OKAY(run_paces(&e, true, 1, &right_st), right_st);
            if (cases.item[i].call.op != CALL_NONE) {
                CU_ASSERT_FATAL(e.program.payloads > 0);
                break_payload(&e.program, &e.program.payload[0]);
                CU_ASSERT_EQUAL(run_paces(&e, true, 1, &run_st), STATUS_CHECK);
                if (run_st.code != STATUS_CHECK)
                    fprintf(stderr, "%s, ring %s: a broken payload passes\n", cases.item[i].id,
                            ring_kind_name((enum ring_kind)kind));
            }
            evaluation_close(&e);
            place_close(&place);
        }
    cases_free(&cases);
}

/* A random slice and a mesh laid on it: its own axes, in another order, merged, or split. */
static void random_place(struct place *place, struct suite_random *random)
{
    int axes, len[SLICE_AXES], chips;
    bool wrap[SLICE_AXES];
    do {
        axes = 1 + (int)suite_random(random, 3);
        chips = 1;
        for (int a = 0; a < axes; a++) {
            len[a] = 1 + (int)suite_random(random, axes == 1 ? 12 : 4);
            wrap[a] = suite_random(random, 2);
            chips *= len[a];
        }
    } while (chips > CHIPS_MAX);
    char text[64] = "";
    static const char *const merged[] = {"", "one=x", "one=y*x", "two=z,one=y*x"};
    static const char *const turned[] = {"", "p=x", "q=y,p=x", "r=z,p=x,q=y"};
    unsigned how = suite_random(random, 4);
    int used = 0;
    if (how == 1)
        snprintf(text, sizeof text, "%s", merged[axes]);
    if (how == 2)
        snprintf(text, sizeof text, "%s", turned[axes]);
    for (int a = 0; a < axes && how == 3; a++) {
        bool splits = len[a] == 4 || len[a] == 6 || len[a] == 12;
        if (splits)
            used += snprintf(text + used, sizeof text - (size_t)used, "%sa%d=2,", a ? "," : "", a);
        used += snprintf(text + used, sizeof text - (size_t)used, "%sb%d=%d", a && !splits ? "," : "", a,
                         splits ? len[a] / 2 : len[a]);
    }
    place_open(place, axes, len, wrap, text);
}

/* An example of style pmap: device i holds input[i]. */
static void random_example(struct example *example, const struct mesh *mesh, enum call_op op,
                           struct suite_random *random)
{
    struct status st = {0};
    int dims;
    int64_t shape[ARRAY_DIMS] = {mesh->slice->chips};
    *example = (struct example){.pmap = true, .axes = mesh->axes};
    example->call.axes = random_axes(mesh, random);
    int n = axis_list_size(&example->call.axes, &mesh->axes);
    random_call(&example->call, op, n, &dims, shape + 1, random);
    bool whole = suite_random(random, 3) > 0;
    OKAY(array_init(&example->input, dims + 1, shape, whole ? DTYPE_S32 : DTYPE_F32, &st), st);
    for (int64_t i = 0; i < array_elements(&example->input); i++)
        example->input.data[i] =
            whole ? (double)suite_random(random, 2001) - 1000 : 2.385 * suite_random_unit(random) - 1;
}

static struct collective_spec random_plan(struct suite_random *random)
{
    return (struct collective_spec){.kind = (enum ring_kind)suite_random(random, RING_KINDS),
                                    .all_to_all = (enum all_to_all)suite_random(random, ALL_TO_ALLS),
                                    .keep_ties = suite_random(random, 2),
                                    .rings = suite_random(random, 3) == 0,
                                    .routes = 1,
                                    .elem_bytes = 4};
}

static void random_round(unsigned long long seed)
{
    struct suite_random random = {seed};
    struct place place;
    struct example example;
    struct evaluation e;
    struct status st = {0};
    enum call_op op = (enum call_op)(seed % (CALL_RAGGED + 1));
    random_place(&place, &random);
    random_example(&example, &place.mesh, op, &random);
    struct collective_spec plan = random_plan(&random);
    int code = evaluation_open(&e, &example, &place.mesh, &plan, &by_schedule, &st);
    if (code == 0)
        code = program_check(&e.program, &st);
    if (code == 0)
        code = run_paces(&e, false, seed, &st);
    if (code < 0) {
        char shape[SLICE_TEXT], wrap[SLICE_TEXT], mapping[MESH_TEXT], axes[AXES_TEXT];
        fprintf(stderr, "seed %llu: %s over %s in groups of %d on %s, wrap %s, %s, ring %s, %s: %s\n", seed,
                call_name(op), axis_list_print(&example.call.axes, &place.mesh.axes, axes), e.groups.size,
                slice_print_shape(&place.slice, shape), slice_print_wrap(&place.slice, wrap),
                mesh_print_mapping(&place.mesh, mapping), ring_kind_name(plan.kind),
                all_to_all_name(plan.all_to_all), st.text);
    }
    CU_ASSERT_EQUAL(code, 0);
    evaluation_close(&e);
    case_free(&example);
    place_close(&place);
}

/* ICISIM_ROUNDS asks for more; what fails prints its seed. */
static void random_calls_equal_their_definition(void)
{
    const char *more = getenv("ICISIM_ROUNDS");
    unsigned long long rounds = more ? strtoull(more, NULL, 10) : ROUNDS;
    for (unsigned long long seed = 0; seed < rounds; seed++)
        random_round(seed);
}

/* One more call on what the devices hold: example.input is replaced by the result. */
static void apply(struct example *example, const struct call *call, const struct place *place,
                  const struct collective_spec *plan)
{
    struct evaluation e;
    struct status st = {0};
    struct array result;
    example->call = *call;
    OKAY(evaluation_open(&e, example, &place->mesh, plan, &by_schedule, &st), st);
    OKAY(evaluation_run(&e, NULL, &st), st);
    OKAY(case_result(example, e.got, &result, &st), st);
    CU_ASSERT_EQUAL_FATAL(st.code, 0);
    evaluation_close(&e);
    array_free(&example->input);
    example->input = result;
}

/* A place, and an example that holds `shape` on every device; both the caller's to free. */
static struct example start_example(struct place *place, const int64_t block[2], struct suite_random *random)
{
    struct status st = {0};
    struct example example = {.pmap = true};
    int chips = place->slice.chips;
    example.axes = place->mesh.axes;
    OKAY(array_init(&example.input, 3, (int64_t[]){chips, block[0], block[1]}, DTYPE_S32, &st), st);
    for (int64_t i = 0; i < array_elements(&example.input); i++)
        example.input.data[i] = (double)suite_random(random, 2001) - 1000;
    return example;
}

static bool same_input(const struct example *a, const struct example *b)
{
    int64_t at;
    return array_near(&a->input, &b->input, 0, &at);
}

/* Laws between collectives, each step through its program: */
static void laws(void)
{
    for (unsigned long long seed = 0; seed < 60; seed++) {
        struct suite_random random = {seed};
        struct place place;
        struct status st = {0};
        random_place(&place, &random);
        struct axis_list axes = random_axes(&place.mesh, &random);
        int n = axis_list_size(&axes, &place.mesh.axes), dim = (int)suite_random(&random, 2);
        int64_t block[2] = {n * (1 + (int)suite_random(&random, 2)), n * (1 + (int)suite_random(&random, 2))};
        struct example start = start_example(&place, block, &random);
        struct example one = start, two = start;
        OKAY(array_copy(&start.input, &one.input, &st), st);
        OKAY(array_copy(&start.input, &two.input, &st), st);
        struct collective_spec plan = random_plan(&random), other = random_plan(&random);
        struct call call = {.axes = axes, .tiled = true, .dim = dim};

        /* psum = psum_scatter, then all_gather along the same dim */
        call.op = CALL_PSUM;
        apply(&one, &call, &place, &plan);
        call.op = CALL_PSUM_SCATTER;
        apply(&two, &call, &place, &plan);
        call.op = CALL_ALL_GATHER;
        apply(&two, &call, &place, &other);
        CU_ASSERT_TRUE(same_input(&one, &two));
        CU_ASSERT_EQUAL(same_input(&one, &start), n == 1);

        /* all_to_all there and back is the identity */
        array_free(&two.input);
        OKAY(array_copy(&start.input, &two.input, &st), st);
        call = (struct call){.op = CALL_ALL_TO_ALL, .axes = axes, .tiled = true};
        call.split_axis = dim;
        call.concat_axis = (int)suite_random(&random, 2);
        apply(&two, &call, &place, &plan);
        CU_ASSERT_EQUAL(same_input(&two, &start), n == 1);
        call.split_axis = call.concat_axis;
        call.concat_axis = dim;
        apply(&two, &call, &place, &other);
        CU_ASSERT_TRUE(same_input(&two, &start));

        /* a shift by k and one by -k too */
        call = (struct call){.op = CALL_RING_SHIFT, .axes = axes};
        call.offset = (int)suite_random(&random, 50) - 25;
        apply(&two, &call, &place, &plan);
        CU_ASSERT_EQUAL(same_input(&two, &start), call.offset % n == 0);
        call.offset = -call.offset;
        apply(&two, &call, &place, &other);
        CU_ASSERT_TRUE(same_input(&two, &start));

        array_free(&start.input);
        array_free(&one.input);
        array_free(&two.input);
        place_close(&place);
    }
}

/* Fractions that a ring sums in another order pass, and nothing that is further off. */
static void sums_within_rounding(void)
{
    struct place place;
    struct status st = {0};
    struct example example = {.pmap = true, .call = {.op = CALL_PSUM, .axes = {1, {0}}}};
    OKAY(axes_parse("i=5", &example.axes, &st), st);
    place_of(&place, &example.axes, true);
    OKAY(array_parse("[[0.1,1e8],[0.7,-3e8],[0.2,0.3],[-0.9,1e-3],[0.3,2e8]]", &example.input, &st), st);
    for (int kind = 0; kind < RING_KINDS; kind++) {
        struct evaluation e;
        struct status off_st = {0};
        OKAY(evaluation_open(&e, &example, &place.mesh,
                             &(struct collective_spec){.kind = (enum ring_kind)kind}, &by_schedule, &st),
             st);
        OKAY(run_paces(&e, false, 3, &st), st);
        /* 25 * 2.2e-16 * 3e8 = 1.7e-6 is what rounding may leave */
        e.got[3].data[0] += 1e-5;
        CU_ASSERT_EQUAL(evaluation_check(&e, &off_st), STATUS_CHECK);
        CU_ASSERT_PTR_NOT_NULL(strstr(off_st.text, "device 3: element [0] is"));
        evaluation_close(&e);
    }
    array_free(&example.input);
    place_close(&place);
}

/* An example is written for one mesh. */
static void meshes_must_be_alike(void)
{
    struct place place;
    struct evaluation e;
    struct status st = {0};
    struct example example = {.pmap = true, .call = {.op = CALL_PSUM, .axes = {1, {0}}}};
    OKAY(axes_parse("i=4", &example.axes, &st), st);
    OKAY(array_parse("arange(4)", &example.input, &st), st);
    place_open(&place, 1, (int[]){4}, (bool[]){true}, "j=4");
    CU_ASSERT_EQUAL(
        evaluation_open(&e, &example, &place.mesh, &(struct collective_spec){0}, &by_schedule, &st),
        STATUS_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "the mesh is j=4, but the example is written for i=4"));
    evaluation_close(&e);
    array_free(&example.input);
    place_close(&place);
}

SUITE("evaluate", TEST(golden_cases), TEST(broken_payloads_are_seen),
      TEST(random_calls_equal_their_definition), TEST(laws), TEST(sums_within_rounding),
      TEST(meshes_must_be_alike))
