/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What XLA:TPU prints of its computes, costed and timed: slices inside fusions, kernels, estimates; by hand. The chip has 200
 * Tflop/s, 1 TB/s of which loops reach 0.8, with an overhead of 2 us, and 1 GHz.
 */
#include <math.h>
#include <string.h>

#include "compile/lower.h"
#include "hlo/hlo_read.h"
#include "suite.h"

static const char text[] =
    "HloModule compiled, is_scheduled=true\n"
    "inner {\n"
    "  s = bf16[80,16,32]{2,1,0} parameter(0)\n"
    "  i = s32[] parameter(1)\n"
    "  ROOT one = f32[1,16,32]{2,1,0:S(1)} dynamic-slice(s, i, i, i), dynamic_slice_sizes={1,16,32}\n"
    "}\n"
    "layer {\n"
    "  s = bf16[80,16,32]{2,1,0} parameter(0)\n"
    "  i = s32[] parameter(1)\n"
    "  x = bf16[8,16]{1,0:S(1)} parameter(2)\n"
    "  b = bf16[80,16,32]{2,1,0} bitcast(s)\n"
    "  w = f32[1,16,32]{2,1,0:S(1)} fusion(b, i), kind=kLoop, calls=inner\n"
    "  r = bf16[16,32]{1,0:S(1)} bitcast(w)\n"
    "  ROOT y = bf16[8,32]{1,0:S(1)} dot(x, r), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "}\n"
    "retiled {\n"
    "  s = bf16[80,16,32]{2,1,0} parameter(0)\n"
    "  ROOT c = bf16[80,16,32]{1,2,0} copy(s)\n"
    "}\n"
    "picks {\n"
    "  s = bf16[80,16,32]{2,1,0} parameter(0)\n"
    "  i = s32[] parameter(1)\n"
    "  c = bf16[80,16,32]{1,2,0} fusion(s), kind=kLoop, calls=retiled\n"
    "  ROOT one = bf16[1,16,32]{1,2,0:S(1)} dynamic-slice(c, i, i, i), dynamic_slice_sizes={1,16,32}\n"
    "}\n"
    "put {\n"
    "  s = bf16[80,16,32]{2,1,0} parameter(0)\n"
    "  u = bf16[1,16,32]{2,1,0:S(1)} parameter(1)\n"
    "  i = s32[] parameter(2)\n"
    "  ROOT o = bf16[80,16,32]{2,1,0} dynamic-update-slice(s, u, i, i, i)\n"
    "}\n"
    "deep {\n"
    "  s = bf16[80,16,32]{2,1,0} parameter(0)\n"
    "  u = bf16[1,16,32]{2,1,0:S(1)} parameter(1)\n"
    "  i = s32[] parameter(2)\n"
    "  ROOT f = bf16[80,16,32]{2,1,0} fusion(s, u, i), kind=kLoop, calls=put\n"
    "}\n"
    "ENTRY main {\n"
    "  s = bf16[80,16,32]{2,1,0} parameter(0)\n"
    "  i = s32[]{:S(6)} parameter(1)\n"
    "  x = bf16[8,16]{1,0:S(1)} parameter(2)\n"
    "  u = bf16[1,16,32]{2,1,0:S(1)} parameter(3)\n"
    "  big = f32[1024,1024]{1,0} parameter(4)\n"
    "  q = bf16[2,16,64,128]{3,2,1,0} parameter(5)\n"
    "  k = bf16[2,16,96,128]{3,2,1,0} parameter(6)\n"
    "  n = s32[4]{0} parameter(7)\n"
    "  product = bf16[8,32]{1,0:S(1)} fusion(s, i, x), kind=kOutput, calls=layer, "
    "backend_config={\"estimated_cycles\":\"7000\"}\n"
    "  whole = s32[] dot(n, n), lhs_contracting_dims={0}, rhs_contracting_dims={0}, "
    "backend_config={\"estimated_cycles\":\"9000\"}\n"
    "  unknown = bf16[8,32]{1,0:S(1)} fusion(s, i, x), kind=kOutput, calls=layer, "
    "backend_config={\"estimated_cycles\":\"9223372036854775807\"}\n"
    "  update = bf16[80,16,32]{2,1,0} fusion(s, u, i), kind=kLoop, calls=deep\n"
    "  loop = f32[1024,1024]{1,0} negate(big), backend_config={\"estimated_cycles\":\"20000\"}\n"
    "  vmem = bf16[8,16]{1,0:S(1)} negate(x), backend_config={\"estimated_cycles\":\"13000\"}\n"
    "  scalar = s32[] negate(i)\n"
    "  picked = bf16[1,16,32]{1,2,0:S(1)} fusion(s, i), kind=kLoop, calls=picks\n"
    "  sorted = f32[1024,1024]{1,0} sort(big), dimensions={1}\n"
    "  fwd = bf16[2,16,64,128]{3,2,1,0} custom-call(n, q, k, k), custom_call_target=\"tpu_custom_call\", "
    "metadata={op_name=\"jit(f)/jit(flash_attention)/pallas_call\"}\n"
    "  splash_mha_dkv.1 = bf16[2,16,64,128]{3,2,1,0} custom-call(q, k, k), "
    "custom_call_target=\"tpu_custom_call\"\n"
    "  paged = bf16[2,16,64,128]{3,2,1,0} custom-call(q, k), custom_call_target=\"tpu_custom_call\", "
    "metadata={op_name=\"jit(f)/jit(paged_attention)/pallas_call\"}\n"
    "  norm = bf16[2,16,64,128]{3,2,1,0} custom-call(q), custom_call_target=\"tpu_custom_call\", "
    "metadata={op_name=\"jit(f)/attention/norm/pallas_call\"}\n"
    "  said = bf16[2,16,64,128]{3,2,1,0} custom-call(q), custom_call_target=\"tpu_custom_call\", "
    "backend_config={\"custom_call_config\":{\"cost_estimate\":{\"flops\":\"3000000000\",\"transcendentals\":"
    "\"0\","
    "\"bytes_accessed\":\"1048576\"}}}\n"
    "  none = bf16[8,16]{1,0} custom-call(), custom_call_target=\"AllocateBuffer\"\n"
    "  ROOT out = () tuple()\n"
    "}\n";

static struct module m;
static struct chip chip = {.name = "made-up",
                           .hbm_Bps = 1e12,
                           .clock_Hz = 1e9,
                           .loop_hbm_efficiency = 0.8,
                           .loop_overhead_s = 2e-6,
                           .step_efficiency = 0.5};
static struct lower_options options;

static void begin(enum compute_rule rule)
{
    struct status st = {0};
    OKAY(hlo_read(&m, "compiled", text, strlen(text), NULL, &st), st);
    for (int d = 0; d < DTYPE_COUNT; d++)
        chip.peak_flops[d] = NAN;
    chip.peak_flops[DTYPE_BF16] = 200e12;
    options = (struct lower_options){.compute = rule};
    roofline_init(&options.roofline, &chip);
    options.roofline.step = true;
}

static int32_t find(const char *name)
{
    int32_t at = m.computation[m.entry].first;
    while (strcmp(module_word(&m, module_at(&m, at)->name), name) != 0)
        at++;
    return at;
}

static struct compute_time time_of(const char *name)
{
    struct lower lower = {.module = &m, .options = &options};
    struct compute_time time;
    struct status st = {0};
    struct cost cost;
    OKAY(lower_time_of(&lower, find(name), &cost, &time, &st), st);
    return time;
}

static void expect(const char *name, double us, enum basis basis)
{
    struct compute_time time = time_of(name);
    NEAR(time.seconds, us * 1e-6, 1e-9);
    CU_ASSERT(time.basis == basis);
}

static void costs(void)
{
    begin(COMPUTE_ROOFLINE);
    /* one of 80 slices, in the stack's type, and the index as the body has it */
    NEAR(module_cost(&m, find("product")).hbm_bytes, 16 * 32 * 2 + 4, 0);
    NEAR(module_cost(&m, find("product")).flops, 2.0 * 8 * 16 * 32, 0);
    /* of a stack in another layout only what is read is made */
    NEAR(module_cost(&m, find("picked")).hbm_bytes, 16 * 32 * 2 + 4, 0);
    /* only what is put is written, also two fusions down */
    NEAR(module_cost(&m, find("update")).hbm_bytes, 16 * 32 * 2 + 4, 0);
    struct cost fwd = module_cost(&m, find("fwd")), dkv = module_cost(&m, find("splash_mha_dkv.1"));
    NEAR(fwd.flops, 2 * 2.0 * (2 * 16 * 64 * 128) * 96, 0);
    NEAR(dkv.flops, 4 * 2.0 * (2 * 16 * 64 * 128) * 96 / 2, 0);
    CU_ASSERT(fwd.product && fwd.efficiency == 0.6 && !fwd.uncosted);
    struct cost paged = module_cost(&m, find("paged"));
    CU_ASSERT(!paged.product && !paged.uncosted);
    NEAR(paged.hbm_bytes, 2.0 * 2 * 16 * 128 * (64 + 96 + 64), 0);
    CU_ASSERT(module_cost(&m, find("norm")).uncosted); /* a kernel in attention, but not it */
    NEAR(module_cost(&m, find("said")).hbm_bytes, 1048576, 0);
    CU_ASSERT(!module_cost(&m, find("none")).uncosted);
    CU_ASSERT(isnan(module_estimated_cycles(&m, find("unknown"))));
    NEAR(module_estimated_cycles(&m, find("product")), 7000, 0);
    module_free(&m);
}

static void rules(void)
{
    double moved_us = 2 * 4194304 / 0.8e12 * 1e6;
    begin(COMPUTE_AUTO);
    expect("whole", 9, BASIS_ESTIMATE); /* the chip has no rate for s32 */
    expect("product", 7, BASIS_ESTIMATE);
    expect("unknown", (16 * 32 * 2 + 4) / 0.8e12 * 1e6 + 2, BASIS_BYTES); /* 8192 operations take less */
    expect("loop", moved_us + 2, BASIS_BYTES);
    expect("vmem", 2 + 11 / 2.2, BASIS_GUESS);
    expect("scalar", 0, BASIS_NOTHING);
    expect("sorted", moved_us + 2, BASIS_GUESS);
    expect("fwd", (2.0 * 2 * 16 * 128 * (64 + 96 + 96 + 64) + 16) / 0.8e12 * 1e6 + 2, BASIS_BYTES);
    expect("said", 15, BASIS_GUESS); /* not at the share of whole steps */
    expect("norm", 0, BASIS_NOTHING);
    module_free(&m);
    begin(COMPUTE_ESTIMATED);
    expect("loop", 20, BASIS_ESTIMATE);
    expect("vmem", 13, BASIS_ESTIMATE);
    expect("unknown", 0, BASIS_NOTHING);
    expect("said", 0, BASIS_NOTHING);
    module_free(&m);
    begin(COMPUTE_ROOFLINE);
    expect("loop", 2 * 4.194304, BASIS_NOTHING);
    expect("said", 30, BASIS_NOTHING);
    module_free(&m);
}

static void which_rule(void)
{
    struct status st = {0};
    begin(COMPUTE_AUTO);
    CU_ASSERT(compute_rule_for(&m, &chip, COMPUTE_AUTO, &st) == COMPUTE_AUTO);
    struct chip clockless = chip;
    clockless.clock_Hz = NAN;
    CU_ASSERT(compute_rule_for(&m, &clockless, COMPUTE_AUTO, &st) == COMPUTE_ROOFLINE);
    CU_ASSERT(compute_rule_for(&m, &clockless, COMPUTE_ESTIMATED, &st) == STATUS_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "clock"));
    module_free(&m);
    CU_ASSERT(compute_rule_for(NULL, &chip, COMPUTE_AUTO, &st) ==
              COMPUTE_AUTO); /* a product in the notation */
    CU_ASSERT(compute_rule_for(NULL, &chip, COMPUTE_ESTIMATED, &st) == STATUS_INPUT);
    const char plain[] = "HloModule plain\nENTRY main { ROOT p = f32[4] parameter(0) }\n";
    OKAY(hlo_read(&m, "plain", plain, strlen(plain), NULL, &st), st);
    CU_ASSERT(compute_rule_for(&m, &chip, COMPUTE_AUTO, &st) == COMPUTE_ROOFLINE);
    CU_ASSERT(compute_rule_for(&m, &chip, COMPUTE_ESTIMATED, &st) == STATUS_INPUT);
    module_free(&m);
}

SUITE("compute_time", TEST(costs), TEST(rules), TEST(which_rule))
