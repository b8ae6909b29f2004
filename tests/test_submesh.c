/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two meshes on one slice: what runs on one leaves the other's chips alone, and both run at once in one program. */
#include <math.h>
#include <string.h>

#include "collective/collective.h"
#include "compile/lower.h"
#include "compile/pass.h"
#include "engine/engine.h"
#include "model/chain.h"
#include "modules.h"
#include "points.h"
#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

/* Rows of a 4x4: the upper two, the lower two, and rows 0 and 3, whose links of y all pass the lower mesh. */
static const int32_t upper[] = {0, 1, 2, 3, 4, 5, 6, 7}, lower[] = {8, 9, 10, 11, 12, 13, 14, 15},
                     outer[] = {0, 12, 1, 13, 2, 14, 3, 15}, inner[] = {4, 8, 5, 9, 6, 10, 7, 11};

struct world {
    struct slice slice;
    struct mesh mesh[2];
    struct program program;
    struct status st;
};

static void setup(struct world *w, const char *text, const int32_t first[], const int32_t second[])
{
    *w = (struct world){0};
    OKAY(slice_init(&w->slice, 2, (int[]){4, 4}, (bool[]){false, false}, 1e9, 1e-6, &w->st), w->st);
    OKAY(mesh_init_on(&w->mesh[0], &w->slice, text, first, 8, &w->st), w->st);
    OKAY(mesh_init_on(&w->mesh[1], &w->slice, text, second, 8, &w->st), w->st);
    OKAY(mesh_check(&w->mesh[0], &w->st), w->st);
    program_init(&w->program, &w->slice);
}

static void teardown(struct world *w)
{
    program_free(&w->program);
    mesh_free(&w->mesh[0]);
    mesh_free(&w->mesh[1]);
    slice_free(&w->slice);
}

/* No op from `first` on lets a chip outside the mesh take part. */
static void stays_on(const struct world *w, const struct mesh *mesh, int32_t first)
{
    for (int32_t o = first; o < w->program.ops; o++)
        for (int chip = 0; chip < w->slice.chips; chip++)
            CU_ASSERT(mesh_device(mesh, chip) >= 0 || !op_takes_part(&w->program, &w->program.op[o], chip));
}

static void add_gather(struct world *w, const struct mesh *mesh, const char *axes)
{
    struct axis_list list;
    struct ring ring;
    int32_t first = w->program.ops;
    OKAY(mesh_parse_axes(mesh, axes, &list, &w->st), w->st);
    OKAY(ring_through(&ring, mesh, &list, &w->st), w->st);
    struct collective_spec spec = {
        .kind = RING_BIDI, .rings = 1, .ring = {&ring}, .elements = 8 * 30030, .elem_bytes = 1};
    OKAY(collective_by_name("all-gather", &w->st)->build(&spec, &w->program, -1, NULL, &w->st), w->st);
    stays_on(w, mesh, first);
    ring_free(&ring);
}

static double run_s(struct world *w, const char *engine)
{
    struct trace trace = {0};
    OKAY(program_check(&w->program, &w->st), w->st);
    OKAY(trace_init(&trace, &w->program, false, &w->st), w->st);
    OKAY(engine_run(engine_by_name(engine), &w->program, &trace, &w->st), w->st);
    double total_s = trace.total_s;
    trace_free(&trace);
    return total_s;
}

static double gathers_s(const int32_t first[], const int32_t second[], const char *engine, bool both)
{
    struct world w;
    setup(&w, "d=8", first, second);
    add_gather(&w, &w.mesh[0], "d");
    if (both)
        add_gather(&w, &w.mesh[1], "d");
    double total_s = run_s(&w, engine);
    teardown(&w);
    return total_s;
}

/* Lines of 8 through two rows each: 0 1 2 3 | 4 5 6 7 with a step of four links in the middle. Upper and lower share no
 * link, so that both take as long as one; inner steps from row to row over links that outer's long steps need, too. */
static void at_the_same_time(void)
{
    static const char *const engines[] = {"event", "simgrid"};
    double apart_s = gathers_s(upper, lower, "event", false),
           inner_s = gathers_s(inner, outer, "event", false);
    for (int e = 0; e < 2; e++) {
        NEAR(gathers_s(upper, lower, engines[e], true), apart_s, 1e-9);
        CU_ASSERT(gathers_s(inner, outer, engines[e], true) > 1.2 * inner_s);
    }
    NEAR(gathers_s(inner, outer, "event", true), gathers_s(inner, outer, "simgrid", true), 1e-9);
}

static void product_stays(struct world *w, const struct chain *chain, enum overlap_way way,
                          const struct chip *chip)
{
    struct overlap_options options = {.context = &way, .way = one_way};
    struct lower_options how = {.kind = RING_BIDI};
    struct module module = {0};
    struct placement placement = {0};
    struct lower run = {0};
    roofline_init(&how.roofline, chip);
    OKAY(pass_overlap(&chain->model.module, &options, &module, &w->st), w->st);
    OKAY(placement_init(&placement, &w->slice, 8, 1, &w->mesh[0], NULL, &w->st), w->st);
    OKAY(lower_init(&run, &module, &placement, &how, &w->st), w->st);
    OKAY(lower_build(&run, &w->st), w->st);
    w->program = run.program;
    OKAY(program_check(&w->program, &w->st), w->st);
    CU_ASSERT(w->program.ops > 0);
    stays_on(w, &w->mesh[0], 0);
    w->program = (struct program){0};
    lower_free(&run);
    placement_free(&placement);
    module_free(&module);
}

/* Products on one mesh, by every strategy, while the other chips do nothing. */
static void products_stay_on_their_mesh(void)
{
    static const char *const exprs[] = {
        "f32[16@X,16@Y] . f32[16,16@Y] -> f32[16@X,16@Y]", "f32[16@X,16@Y] . f32[16@Y,16] -> f32[16@X,16@Y]",
        "f32[16,16@(X,Y)] . f32[16@(X,Y),16] -> f32[16,16]", "f32[16@X,16@Y] . f32[16@Y,16] -> f32[16@X,16]"};
    struct chip chip;
    struct status st = {0};
    OKAY(chip_load(&chip, "v5e", CHIP_SPEC, &st), st);
    for (size_t e = 0; e < sizeof exprs / sizeof *exprs; e++)
        for (enum overlap_way way = OVERLAP_NAIVE; way < OVERLAP_WAYS; way++) {
            struct world w;
            struct expr expr;
            struct chain chain;
            setup(&w, "X=2,Y=4", outer, inner);
            OKAY(expr_parse(exprs[e], NULL, DTYPE_F32, &w.mesh[0].axes, &expr, &w.st), w.st);
            OKAY(chain_build(&expr, &w.mesh[0].axes, &(struct chain_plan){.after = 0}, &chain, &w.st), w.st);
            product_stays(&w, &chain, way, &chip);
            model_free(&chain.model);
            teardown(&w);
        }
    chip_free(&chip);
}

static struct result run(const char *op, const char *slice, const char *mesh, const char *on,
                         const char *link)
{
    struct point point;
    point_init(&point);
    point.work.op = op;
    point.machine.slice = slice;
    point.machine.mesh = mesh;
    point.machine.on = on;
    point.machine.link = link;
    point.work.size_bytes = 1 << 20;
    point.run.check = true;
    point.work.pair_sizes = "random:5";
    return result_of(&point);
}

/* --on: the first column of 4x4 is a line of 4 like any other; the ring round 2x2 is one in any order that goes round it;
 * and a chip that is dead is left out. */
static void points_name_their_chips(void)
{
    static const char *const ops[] = {"all-gather", "all-reduce",        "all-to-all",
                                      "broadcast",  "ragged-all-to-all", "collective-permute"};
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        struct result listed = run(ops[o], "4x4", "d=4", "0,4,8,12", NULL),
                      line = run(ops[o], "4x1", "d=4", NULL, NULL);
        NEAR(listed.time_s, line.time_s, 1e-9);
        CU_ASSERT(listed.bound_s <= line.bound_s); /* links of idle chips might help */
    }
    NEAR(run("all-gather", "4x4", "d=4", "5,9,10,6", NULL).time_s,
         run("all-gather", "2x2", "d=4", "0,1,3,2", NULL).time_s, 1e-9);
    struct result left_out = run("all-gather", "4x4", "d=12", "4-15", "0,0:x=0 0,0:y=0 0,1:x=0 0,1:y=0");
    CU_ASSERT(left_out.time_s > 0);
}

static void refuses(void)
{
    struct world w;
    struct mesh mesh;
    struct status st = {0};
    setup(&w, "d=8", upper, lower);
    CU_ASSERT_EQUAL(mesh_init_on(&mesh, &w.slice, "d=4", upper, 8, &st), STATUS_INPUT);
    mesh_free(&mesh);
    st = (struct status){0};
    CU_ASSERT_EQUAL(mesh_init_on(&mesh, &w.slice, "d=2", (int32_t[]){3, 16}, 2, &st), STATUS_INPUT);
    CU_ASSERT_STRING_EQUAL(st.text, "chip 16 is not on the slice; its chips are 0 to 15");
    mesh_free(&mesh);
    st = (struct status){0};
    CU_ASSERT_EQUAL(mesh_init_on(&mesh, &w.slice, "d=2", (int32_t[]){3, 3}, 2, &st), STATUS_INPUT);
    mesh_free(&mesh);
    teardown(&w);
}

SUITE("submesh", TEST(at_the_same_time), TEST(products_stay_on_their_mesh), TEST(points_name_their_chips),
      TEST(refuses))
