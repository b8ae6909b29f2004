/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two devices a chip: what modules take on them, against times worked out by hand, in both engines.
 *
 * Four chips on a ring x, links of 45 GB/s and hops of 1.25 us; v3, whose chip has 140 Tflop/s and 900 GB/s of HBM, half of
 * it each device. Arrays are f32, halves go both ways round: (N-1)(a + V/(2 N w)), N = 4.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compile/lower.h"
#include "engine/timing.h"
#include "hlo/hlo_read.h"
#include "suite.h"

struct ground {
    struct chip chip;
    struct slice slice;
    struct mesh mesh;
    struct placement placement;
    struct lower_options options;
};

static void open_ground(struct ground *g, const char *mesh, int axis)
{
    struct status st = {0};
    *g = (struct ground){.options = {.kind = RING_BIDI_HALF, .setup_s = 3e-6}};
    OKAY(chip_load(&g->chip, "v3", CHIP_SPEC, &st), st);
    OKAY(slice_init(&g->slice, 1, &(int){4}, &(bool){true}, 45e9, 1.25e-6, &st), st);
    g->slice.joint_Bps =
        g->chip.hbm_Bps / 4; /* each byte is written and read, half of them each way; beside nothing else */
    roofline_init(&g->options.roofline, &g->chip);
    g->options.roofline.cores = g->chip.cores;
    if (mesh) {
        OKAY(mesh_init(&g->mesh, &g->slice, mesh, NULL, &st), st);
        OKAY(mesh_add_cores(&g->mesh, axis, 2, &st), st);
        OKAY(mesh_check(&g->mesh, &st), st);
    }
    OKAY(placement_init(&g->placement, &g->slice, 8, 2, mesh ? &g->mesh : NULL, NULL, &st), st);
    CU_ASSERT_EQUAL(g->placement.cores, 2);
}

static void close_ground(struct ground *g)
{
    placement_free(&g->placement);
    mesh_free(&g->mesh);
    slice_free(&g->slice);
    chip_free(&g->chip);
}

/* A module of one instruction on 8 devices. */
static void read_one(struct module *module, const char *result, const char *call)
{
    char text[2048];
    struct status st = {0};
    snprintf(text, sizeof text,
             "HloModule one, replica_count=8, is_scheduled=true\n\n"
             "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b)\n}\n\n"
             "ENTRY main {\n p = f32[3000,700]{1,0} parameter(0)\n"
             " ROOT r = %s %s\n}\n",
             result, call);
    OKAY(hlo_read(module, "text", text, strlen(text), NULL, &st), st);
}

static int build(struct lower *lower, const struct ground *g, struct module *module, struct status *st)
{
    int code = lower_init(lower, module, &g->placement, &g->options, st);
    return code == 0 ? lower_build(lower, st) : code;
}

static double time_in(const struct lower *lower, const char *name)
{
    struct status st = {0};
    struct timing timing;
    OKAY(timing_init(&timing, &lower->program, engine_by_name(name), true, &st), st);
    OKAY(timing_run(&timing, RECORD_NONE, &st), st);
    double time_s = timing.trace.total_s;
    timing_free(&timing);
    return time_s;
}

/* A module, which is freed, takes so long in both engines. */
static void module_takes(const char *mesh, int axis, struct module *module, double time_s)
{
    struct ground g;
    struct lower lower = {0};
    struct status st = {0};
    open_ground(&g, mesh, axis);
    OKAY(build(&lower, &g, module, &st), st);
    NEAR(time_in(&lower, "event"), time_s, 1e-9);
    NEAR(time_in(&lower, "simgrid"), time_s, 1e-9);
    lower_free(&lower);
    module_free(module);
    close_ground(&g);
}

static void takes(const char *mesh, int axis, const char *result, const char *call, double time_s)
{
    struct module module;
    read_one(&module, result, call);
    module_takes(mesh, axis, &module, time_s);
}

static void text_takes(const char *text, double time_s)
{
    struct module module;
    struct status st = {0};
    OKAY(hlo_read(&module, "text", text, strlen(text), NULL, &st), st);
    module_takes(NULL, 0, &module, time_s);
}

static double ring_s(double whole_bytes)
{
    return 3 * (1.25e-6 + whole_bytes / (2 * 4 * 45e9));
}

/* p has 8.4 MB, the operand on each device. */
static const double operand_bytes = 3000 * 700 * 4;

/* 2 m k n operations at 70 Tflop/s, half of the chip's. */
static void products_have_half_of_the_peak(void)
{
    takes(NULL, 0, "f32[3000,3000]{1,0}", "dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
          2. * 3000 * 700 * 3000 / 70e12);
}

/* All 8 devices: chips gather 67.2 MB, each device needs the half that has come to the other: read and written, 67.2 MB at
 * 450 GB/s. */
static void groups_of_all_devices(void)
{
    double whole = 8 * operand_bytes;
    takes(NULL, 0, "f32[24000,700]{1,0}", "all-gather(p), dimensions={0}, replica_groups={}",
          3e-6 + whole / 450e9 + ring_s(whole));
    /* the array of 8.4 MB is added on the chip, then scattered and gathered: there and back */
    takes(NULL, 0, "f32[3000,700]{1,0}", "all-reduce(p), to_apply=add, replica_groups={}",
          3e-6 + 2 * operand_bytes / 450e9 + 2 * ring_s(operand_bytes));
}

/* A device of each chip: 33.6 MB gathered by either group, at once over the same links. */
static void groups_of_one_device_a_chip(void)
{
    takes(NULL, 0, "f32[12000,700]{1,0}",
          "all-gather(p), dimensions={0}, replica_groups={{0,2,4,6},{1,3,5,7}}",
          3e-6 + ring_s(8 * operand_bytes));
    /* the same over the first axis of a mesh whose last one is the cores */
    takes("d=4,t=1", 1, "f32[12000,700]{1,0}",
          "all-gather(p), dimensions={0}, replica_groups=mesh['d'=4,'t'=2] {'d'}",
          3e-6 + ring_s(8 * operand_bytes));
}

/* The devices of each chip: no link, 16.8 MB at 450 GB/s. */
static void groups_of_the_devices_of_a_chip(void)
{
    takes(NULL, 0, "f32[6000,700]{1,0}",
          "all-gather(p), dimensions={0}, replica_groups={{0,1},{2,3},{4,5},{6,7}}",
          3e-6 + 2 * operand_bytes / 450e9);
}

/* To the same device of the next chip: both devices' 8.4 MB over one link. To the other device of the chip: read and written. */
static void permutes(void)
{
    takes(NULL, 0, "f32[3000,700]{1,0}",
          "collective-permute(p), source_target_pairs={{0,2},{1,3},{2,4},{3,5},{4,6},{5,7},{6,0},{7,1}}",
          3e-6 + 1.25e-6 + 2 * operand_bytes / 45e9);
    takes(NULL, 0, "f32[3000,700]{1,0}",
          "collective-permute(p), source_target_pairs={{0,1},{2,3},{4,5},{6,7}}",
          3e-6 + 2 * operand_bytes / 450e9);
    /* the ring through all devices: one of the two goes to the next chip, at the same time, and takes longer */
    takes(NULL, 0, "f32[3000,700]{1,0}",
          "collective-permute(p), source_target_pairs={{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7},{7,0}}",
          3e-6 + 1.25e-6 + operand_bytes / 45e9);
    /* from one chip to two, of which the second is two hops away: the first link has both */
    takes(NULL, 0, "f32[3000,700]{1,0}", "collective-permute(p), source_target_pairs={{0,2},{1,5}}",
          3e-6 + 1.25e-6 + 2 * operand_bytes / 45e9);
    /* from one chip to its two neighbours, by a link each */
    takes(NULL, 0, "f32[3000,700]{1,0}", "collective-permute(p), source_target_pairs={{0,2},{1,6}}",
          3e-6 + 1.25e-6 + operand_bytes / 45e9);
    /* two of one chip, one of the next */
    takes(NULL, 0, "f32[3000,700]{1,0}", "collective-permute(p), source_target_pairs={{0,2},{1,3},{2,4}}",
          3e-6 + 1.25e-6 + 2 * operand_bytes / 45e9);
}

/* A ring of permutes through all devices, as a loop multiplies what it gathers: 8 products of p by a matrix of `width`
 * columns, and between them 7 permutes that are issued when there is what they pass on. */
static void loop_takes(int width, double time_s)
{
    static const char ring[] = "{{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7},{7,0}}";
    char text[8192], type[] = "f32[3000,700]{1,0}", came[16] = "p";
    size_t n = (size_t)snprintf(text, sizeof text,
                                "HloModule loop, replica_count=8, is_scheduled=true\n\nENTRY main {\n"
                                " p = %s parameter(0)\n w = f32[700,%d]{1,0} parameter(1)\n",
                                type, width);
    for (int t = 0; t < 8; t++) {
        if (t < 7)
            n += (size_t)snprintf(text + n, sizeof text - n,
                                  " s%d = (%s, %s, u32[], u32[]) collective-permute-start(%s), "
                                  "source_target_pairs=%s, frontend_attributes={issue=\"data\"}\n",
                                  t, type, type, came, ring);
        n += (size_t)snprintf(text + n, sizeof text - n,
                              " %sd%d = f32[3000,%d]{1,0} dot(%s, w), lhs_contracting_dims={1}, "
                              "rhs_contracting_dims={0}\n",
                              t == 7 ? "ROOT " : "", t, width, came);
        snprintf(came, sizeof came, "r%d", t);
        if (t < 7)
            n += (size_t)snprintf(text + n, sizeof text - n, " %s = %s collective-permute-done(s%d)\n", came,
                                  type, t);
    }
    snprintf(text + n, sizeof text - n, "}\n");
    text_takes(text, time_s);
}

/* A step is as long as its send over a link, 190.9 us, as what crosses inside a chip takes 40.3; the products hide but for the
 * last, or hide the sends. */
static void loops_of_permutes(void)
{
    double link_s = 3e-6 + 1.25e-6 + operand_bytes / 45e9;
    loop_takes(1100, 7 * link_s + 2. * 3000 * 700 * 1100 / 70e12);
    loop_takes(4000, 8 * 2. * 3000 * 700 * 4000 / 70e12);
}

/* Rows of 2,800 B that go from device to device, as "from,to,rows" or all alike. */
static void rows_take(const int move[][3], int moves, int even, double time_s)
{
    int row[8 * 8];
    char text[4096];
    for (int i = 0; i < 64; i++)
        row[i] = even;
    for (int i = 0; i < moves; i++)
        row[move[i][0] * 8 + move[i][1]] = move[i][2];
    size_t n = (size_t)snprintf(
        text, sizeof text,
        "HloModule rows, replica_count=8, is_scheduled=true\n\nENTRY main {\n"
        " p = f32[3000,700]{1,0} parameter(0)\n o = f32[6000,700]{1,0} parameter(1)\n"
        " a = s32[8]{0} parameter(2)\n b = s32[8]{0} parameter(3)\n c = s32[8]{0} parameter(4)\n"
        " d = s32[8]{0} parameter(5)\n ROOT r = f32[6000,700]{1,0} ragged-all-to-all(p, o, a, b, c, d), "
        "replica_groups={}, frontend_attributes={rows=\"");
    for (int i = 0; i < 64; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", i ? "," : "", row[i]);
    snprintf(text + n, sizeof text - n, "\"}\n}\n");
    text_takes(text, time_s);
}

static void rows_of_their_own(void)
{
    double row = 700 * 4;
    /* to the other device of the chip: no link; half of what is longer crosses each way, read and written */
    rows_take((const int[][3]){{2, 3, 2999}}, 1, 0, 3e-6 + 2999 * row / 450e9);
    /* both devices of chip 1 to one of chip 2, which gets 4,500 rows */
    rows_take((const int[][3]){{2, 4, 1500}, {3, 4, 3000}}, 2, 0,
              3e-6 + 4500 * row / 450e9 + 1.25e-6 + 4500 * row / 45e9);
    /* what goes the other way, and what stays where it is, is beside that */
    rows_take((const int[][3]){{2, 4, 1500}, {3, 4, 2500}, {4, 3, 777}, {7, 7, 100}, {6, 7, 900}}, 5, 0,
              3e-6 + 4000 * row / 450e9 + 1.25e-6 + 4000 * row / 45e9);
    /* 375 rows from each device to each: an all-to-all of p. Chips 1 hop away have 4 x 375 rows by one link, those 2 hops
     * away half of theirs each way: 2 x 4 x 375 / 2 + 4 x 375 by each link, 3,000 rows */
    rows_take(NULL, 0, 375, 3e-6 + 3000 * row / 450e9 + 1.25e-6 + 3000 * row / 45e9);
    takes(NULL, 0, "f32[3000,700]{1,0}", "all-to-all(p), dimensions={0}, replica_groups={}",
          3e-6 + 3000 * row / 450e9 + 1.25e-6 + 3000 * row / 45e9);
}

/* Products of experts by rows that differ: a chip takes what its slower device does, devices 4 and 5 together are the slowest
 * chip but device 2 the slowest device: 2,600 rows at 70 Tflop/s. */
static void products_of_rows(void)
{
    static const char text[] =
        "HloModule rows, replica_count=8, is_scheduled=true\n\nENTRY main {\n"
        " p = f32[3000,700]{1,0} parameter(0)\n w = f32[2,700,4100]{2,1,0} parameter(1)\n"
        " g = s32[2]{0} parameter(2)\n ROOT r = f32[3000,4100]{1,0} ragged-dot(p, w, g), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}, "
        "frontend_attributes={rows=\"100,1700,2600,7,2500,2400,0,1900\"}\n}\n";
    text_takes(text, 2. * 2600 * 700 * 4100 / 70e12);
}

/* Of the branches that the two devices of a chip take the longer one counts: chip 2 multiplies twice, for its first device, and
 * once more, for its second one, and no other chip does as much. */
static void branches(void)
{
    static const char text[] =
        "HloModule branches, is_scheduled=true, replica_count=8\n\n"
        "keep { ROOT x = f32[700,700]{1,0} parameter(0)\n}\n\n"
        "once { x = f32[700,700]{1,0} parameter(0)\n ROOT y = f32[700,700]{1,0} dot(x, x), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n\n"
        "twice { x = f32[700,700]{1,0} parameter(0)\n y = f32[700,700]{1,0} dot(x, x), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ROOT z = f32[700,700]{1,0} dot(y, x), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n\n"
        "ENTRY main {\n x = f32[700,700]{1,0} parameter(0)\n self = u32[] replica-id()\n"
        " a = s32[8]{0} constant({0,1,1,0,2,0,0,2})\n b = s32[8]{0} constant({0,0,1,0,0,1,0,0})\n"
        " a.1 = s32[1]{0} dynamic-slice(a, self), dynamic_slice_sizes={1}\n a.2 = s32[] reshape(a.1)\n"
        " b.1 = s32[1]{0} dynamic-slice(b, self), dynamic_slice_sizes={1}\n b.2 = s32[] reshape(b.1)\n"
        " y = f32[700,700]{1,0} conditional(a.2, x, x, x), branch_computations={keep, once, twice}\n"
        " ROOT z = f32[700,700]{1,0} conditional(b.2, y, y), branch_computations={keep, once}\n}\n";
    /* bound by HBM: three arrays of each product, and what is sliced, read and written */
    text_takes(text, (3 * 3 * 700. * 700 * 4 + 2 * 2 * 4) / 450e9);
}

static void others_are_refused(void)
{
    static const struct {
        const char *result, *call, *says;
    } refused[] = {
        {"f32[12000,700]{1,0}", "all-gather(p), dimensions={0}, replica_groups={{0,1,2,4},{3,5,6,7}}",
         "some devices of a chip"},
        {"f32[12000,700]{1,0}", "all-gather(p), dimensions={0}, replica_groups={{0,2,4,6},{1,3,7,5}}",
         "some devices of a chip"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct ground g;
        struct module module;
        struct lower lower = {0};
        struct status st = {0};
        open_ground(&g, NULL, 0);
        read_one(&module, refused[i].result, refused[i].call);
        CU_ASSERT_EQUAL(build(&lower, &g, &module, &st), STATUS_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(st.text, refused[i].says));
        lower_free(&lower);
        module_free(&module);
        close_ground(&g);
    }
}

SUITE("cores", TEST(products_have_half_of_the_peak), TEST(groups_of_all_devices),
      TEST(groups_of_one_device_a_chip), TEST(groups_of_the_devices_of_a_chip), TEST(permutes),
      TEST(loops_of_permutes), TEST(rows_of_their_own), TEST(products_of_rows), TEST(branches),
      TEST(others_are_refused))
