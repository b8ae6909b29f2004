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

#include "engine/timing.h"
#include "lower/lower.h"
#include "module/hlo_read.h"
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
    roofline_init(&g->options.roofline, &g->chip);
    g->options.roofline.cores = g->chip.cores;
    if (mesh) {
        OKAY(mesh_init(&g->mesh, &g->slice, mesh, &st), st);
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

static void takes(const char *mesh, int axis, const char *result, const char *call, double time_s)
{
    struct ground g;
    struct module module;
    struct lower lower = {0};
    struct status st = {0};
    open_ground(&g, mesh, axis);
    read_one(&module, result, call);
    OKAY(build(&lower, &g, &module, &st), st);
    NEAR(time_in(&lower, "event"), time_s, 1e-9);
    NEAR(time_in(&lower, "simgrid"), time_s, 1e-9);
    lower_free(&lower);
    module_free(&module);
    close_ground(&g);
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
    /* the ring through all devices: one of the two goes to the next chip */
    takes(NULL, 0, "f32[3000,700]{1,0}",
          "collective-permute(p), source_target_pairs={{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7},{7,0}}",
          3e-6 + 2 * operand_bytes / 450e9 + 1.25e-6 + operand_bytes / 45e9);
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
        {"f32[3000,700]{1,0}", "collective-permute(p), source_target_pairs={{0,2},{1,5}}", "several chips"},
        {"f32[3000,700]{1,0}", "collective-permute(p), source_target_pairs={{0,2},{1,3},{2,4}}",
         "not as many"},
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

SUITE("devices", TEST(products_have_half_of_the_peak), TEST(groups_of_all_devices),
      TEST(groups_of_one_device_a_chip), TEST(groups_of_the_devices_of_a_chip), TEST(permutes),
      TEST(others_are_refused))
