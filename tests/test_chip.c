/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/chip.h"
#include "suite.h"

#define IN(part, st) CU_ASSERT_PTR_NOT_NULL(strstr((st).text, part))

/* NaN where the book has no value. */
static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

/* "How to Scale Your Model", table of chips; v2 from the Cloud TPU page; nominal links of v3 and v4 from
 * ISCA'23. Chip by chip: pod, peaks, HBM, one-way links, PCIe, network, MXU. */
static void the_book_values_are_there(void)
{
    static const struct {
        const char *name;
        int pod[3], host[3], axes, mxu;
        double bf16_flops, int8_flops, hbm_bytes, hbm_Bps, link_Bps, nominal_Bps, pcie_Bps, dcn_Bps;
        const char *wrap;
    } book[] = {
        {"v2",
         {16, 16, 1},
         {4, 2, 1},
         2,
         128,
         4.5e13,
         NAN,
         16e9,
         7.0e11,
         6.2e10,
         6.2e10,
         NAN,
         NAN,
         "full pod only"},
        {"v3",
         {32, 32, 1},
         {4, 2, 1},
         2,
         128,
         1.4e14,
         1.4e14,
         32e9,
         9.0e11,
         7.0e10,
         7.0e10,
         1.6e10,
         NAN,
         "full pod only"},
        {"v4",
         {16, 16, 16},
         {2, 2, 1},
         3,
         128,
         2.75e14,
         2.75e14,
         32e9,
         1.2e12,
         4.5e10,
         5.0e10,
         1.6e10,
         6.25e9,
         "multiples of 4x4x4"},
        {"v5p",
         {16, 20, 28},
         {2, 2, 1},
         3,
         128,
         4.59e14,
         9.18e14,
         96e9,
         2.8e12,
         9.0e10,
         1.0e11,
         1.6e10,
         6.25e9,
         "multiples of 4x4x4"},
        {"v5e",
         {16, 16, 1},
         {4, 2, 1},
         2,
         128,
         1.97e14,
         3.94e14,
         16e9,
         8.1e11,
         4.5e10,
         5.0e10,
         1.6e10,
         3.125e9,
         "axis of 16 only"},
        {"v6e",
         {16, 16, 1},
         {4, 2, 1},
         2,
         256,
         9.20e14,
         1.84e15,
         32e9,
         1.6e12,
         9.0e10,
         1.0e11,
         3.2e10,
         1.25e10,
         "axis of 16 only"},
        {"v7x",
         {16, 24, 24},
         {2, 2, 1},
         3,
         256,
         2.30e15,
         4.61e15,
         192e9,
         7.4e12,
         9.0e10,
         1.0e11,
         1.6e10,
         1.25e10,
         "multiples of 4x4x4"},
    };
    for (size_t i = 0; i < sizeof book / sizeof book[0]; i++) {
        struct chip c;
        struct status st = {0};
        OKAY(chip_load(&c, book[i].name, CHIP_SPEC, &st), st);
        CU_ASSERT_STRING_EQUAL(c.name, book[i].name);
        CU_ASSERT_EQUAL(c.axes, book[i].axes);
        CU_ASSERT_EQUAL(memcmp(c.pod, book[i].pod, sizeof c.pod), 0);
        CU_ASSERT_EQUAL(memcmp(c.host, book[i].host, sizeof c.host), 0);
        CU_ASSERT_STRING_EQUAL(chip_wrap_names[c.wrap], book[i].wrap);
        CU_ASSERT(same(c.peak_flops[DTYPE_BF16], book[i].bf16_flops));
        CU_ASSERT(same(c.peak_flops[DTYPE_S8], book[i].int8_flops));
        CU_ASSERT((double)c.hbm_bytes == book[i].hbm_bytes);
        CU_ASSERT(same(c.hbm_Bps, book[i].hbm_Bps));
        CU_ASSERT(same(c.link_Bps, book[i].link_Bps));
        CU_ASSERT(same(c.link_nominal_Bps, book[i].nominal_Bps));
        CU_ASSERT(same(c.pcie_Bps, book[i].pcie_Bps));
        CU_ASSERT(same(c.dcn_Bps, book[i].dcn_Bps));
        CU_ASSERT(c.hop_latency_s == 1e-6);
        CU_ASSERT_EQUAL(c.mxu_tile, book[i].mxu);
        CU_ASSERT(c.setup_s == 0 && c.launch_overhead_s == 0);
        CU_ASSERT_STRING_EQUAL(c.ring, "bidi-half");
        chip_free(&c);
    }
    const char *names[CHIP_BUILT_IN_MAX];
    size_t n = 0;
    for (chip_names(names); names[n]; n++)
        ;
    CU_ASSERT_EQUAL(n, sizeof book / sizeof book[0]);
}

/* Every number of ours says where it comes from, and a fit says how it was made and on what. */
static void every_value_has_a_source(void)
{
    const char *names[CHIP_BUILT_IN_MAX];
    chip_names(names);
    for (int i = 0; names[i]; i++) {
        for (enum chip_profile profile = CHIP_SPEC; profile <= CHIP_MEASURED; profile++) {
            struct chip c;
            struct status st = {0};
            int code = chip_load(&c, names[i], profile, &st);
            CU_ASSERT_TRUE(code == 0 ||
                           (profile == CHIP_MEASURED && strstr(st.text, "has no measured values")));
            CU_ASSERT_TRUE(code < 0 || c.facts >= 9);
            for (int f = 0; code == 0 && f < c.facts; f++) {
                CU_ASSERT_NOT_EQUAL(c.fact[f].source[0], '\0');
                CU_ASSERT_NOT_EQUAL(c.fact[f].value[0], '\0');
                CU_ASSERT_TRUE(!c.fact[f].measured || (c.fact[f].how[0] && c.fact[f].fitted_on));
            }
            chip_free(&c);
        }
    }
    struct chip c;
    OKAY(chip_load(&c, "v4", CHIP_SPEC, NULL), (struct status){0});
    CU_ASSERT_PTR_NOT_NULL(strstr(chip_fact(&c, "link_nominal")->source, "ISCA 2023"));
    CU_ASSERT_STRING_EQUAL(chip_fact(&c, "peak.bf16")->value, "275Tflops");
    CU_ASSERT_PTR_NULL(chip_fact(&c, "setup")); /* a default, and no fact */
    chip_free(&c);
}

static void measured_replaces_only_what_it_has(void)
{
    struct chip spec, fit;
    struct status st = {0}, no = {0};
    double flops = 0;
    OKAY(chip_load(&spec, "v5e", CHIP_SPEC, &st), st);
    OKAY(chip_load(&fit, "v5e", CHIP_MEASURED, &st), st);
    CU_ASSERT(fit.hbm_Bps == spec.hbm_Bps);
    CU_ASSERT(fit.peak_flops[DTYPE_BF16] == spec.peak_flops[DTYPE_BF16]);
    CU_ASSERT_FALSE(chip_fact(&fit, "peak.bf16")->measured);
    CU_ASSERT_TRUE(chip_fact(&fit, "peak.s32")->measured);
    /* 512x2048 . 2048x2048 in int32 took 224 us, a quarter of it 57.4 59.2 56.5 57.4 us. */
    double work_flop = 2.0 * 512 * 2048 * 2048;
    OKAY(chip_peak(&fit, DTYPE_S32, &flops, &st), st);
    NEAR(work_flop / flops + fit.launch_overhead_s, 224e-6, 1e-3);
    NEAR(work_flop / 4 / flops + fit.launch_overhead_s, (57.4 + 59.2 + 56.5 + 57.4) / 4 * 1e-6, 1e-3);
    /* The book has no rate for int32. */
    CU_ASSERT_EQUAL(chip_peak(&spec, DTYPE_S32, &flops, &no), STATUS_INPUT);
    CU_ASSERT_STRING_EQUAL(
        no.text, "v5e: the spec profile has no peak rate for s32; give one, such as --peak s32=100Tflops");
    chip_free(&spec);
    chip_free(&fit);
}

static void types_borrow_rates(void)
{
    struct chip c;
    struct status st = {0};
    double flops = 0;
    OKAY(chip_load(&c, "v5p", CHIP_SPEC, &st), st);
    OKAY(chip_peak(&c, DTYPE_F32, &flops, &st), st);
    CU_ASSERT(flops == 459e12); /* one bf16 pass */
    OKAY(chip_peak(&c, DTYPE_U8, &flops, &st), st);
    CU_ASSERT(flops == 918e12);
    c.peak_flops[DTYPE_F32] = 77e12; /* its own goes first */
    OKAY(chip_peak(&c, DTYPE_F32, &flops, &st), st);
    CU_ASSERT(flops == 77e12);
    CU_ASSERT_EQUAL(chip_peak(&c, DTYPE_F64, &flops, NULL), STATUS_INPUT);
    chip_free(&c);
}

static int parse(struct chip *c, const char *text, enum chip_profile profile, struct status *st)
{
    return chip_parse(c, "my.yaml", text, strlen(text), profile, st);
}

static void files_start_from_a_base(void)
{
    static const char text[] = "name: mine\n"
                               "base: v5e\n"
                               "spec:\n"
                               "  link_bandwidth: 40GBps\n"
                               "  wrap: never\n"
                               "  matmul_efficiency:\n"
                               "    all: 90%\n"
                               "    bf16: {steps: [[1Gflop, 0.5], [100Gflop, 0.9]], source: own benchmark}\n"
                               "measured:\n"
                               "  setup: {value: 5us, source: own, how: one row}\n";
    struct chip c;
    struct status st = {0};
    OKAY(parse(&c, text, CHIP_SPEC, &st), st);
    CU_ASSERT_STRING_EQUAL(c.name, "mine");
    CU_ASSERT(c.link_Bps == 40e9);
    CU_ASSERT(c.hbm_Bps == 810e9); /* of v5e */
    CU_ASSERT(c.setup_s == 0);
    CU_ASSERT_EQUAL(c.wrap, CHIP_WRAP_NEVER);
    CU_ASSERT_STRING_EQUAL(chip_fact(&c, "link_bandwidth")->source, ""); /* the file does not say */
    CU_ASSERT_STRING_NOT_EQUAL(chip_fact(&c, "hbm_bandwidth")->source, "");
    CU_ASSERT(chip_matmul_efficiency(&c, DTYPE_S8, 47e9) == 0.9);
    CU_ASSERT(chip_matmul_efficiency(&c, DTYPE_BF16, 1e12) == 0.9); /* level above */
    NEAR(chip_matmul_efficiency(&c, DTYPE_BF16, 1e9), 0.5, 1e-12);
    NEAR(chip_matmul_efficiency(&c, DTYPE_BF16, 1e11), 0.9, 1e-12);
    /* In units of the peak 1 Gflop takes 2 G and 100 Gflop 1000/9 G: 982/9 G more for 99 G more. So 12 Gflop take
     * 2 G + 11/99 * 982/9 G = 1144/81 G, and no work 2 G - 982/891 G = 800/891 G. */
    NEAR(chip_matmul_efficiency(&c, DTYPE_BF16, 12e9), 12 * 81.0 / 1144, 1e-12);
    NEAR(chip_matmul_efficiency(&c, DTYPE_BF16, 1e3), 1e3 / (800e9 / 891 + 1e3 * 982 / 891), 1e-9);
    chip_free(&c);
    OKAY(parse(&c, text, CHIP_MEASURED, &st), st);
    CU_ASSERT(c.setup_s == 5e-6);
    /* The base's measured values hold where the file's spec says nothing of them. */
    CU_ASSERT_TRUE(chip_fact(&c, "peak.s32")->measured);
    chip_free(&c);
    OKAY(chip_load(&c, "v5e", CHIP_SPEC, &st), st);
    CU_ASSERT(chip_matmul_efficiency(&c, DTYPE_BF16, 1e10) == 1);
    chip_free(&c);
}

/* The measured efficiency of v7x leaps from step to step; times do not: 160^3 and 192^3, whose times were the wrong way
 * round where efficiency was interpolated, and 1,000 products more. */
static void larger_products_take_longer(void)
{
    struct chip c;
    struct status st = {0};
    OKAY(chip_load(&c, "v7x", CHIP_MEASURED, &st), st);
    double last_s = 0;
    for (double m = 8; m < 60000; m *= 1.009) {
        double flop = 2 * m * m * m, time_s = flop / chip_matmul_efficiency(&c, DTYPE_BF16, flop);
        CU_ASSERT(time_s > last_s);
        last_s = time_s;
    }
    double small = 2 * pow(160, 3), large = 2 * pow(192, 3);
    CU_ASSERT(small / chip_matmul_efficiency(&c, DTYPE_BF16, small) <
              large / chip_matmul_efficiency(&c, DTYPE_BF16, large));
    chip_free(&c);
}

static void faulty_files_say_where(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"base: v5e\n", "my.yaml:1:1: 'name' is missing"},
        {"name: n\nbase: v5\n", "my.yaml:2:7: unknown chip 'v5'; the nearest are v5e, v5p"},
        {"name: n\nspec: {pod: 4x4, link_bandwidth: 1GBps, hop_latency: 1us}\n", "spec has no wrap; add it"},
        {"name: n\nbase: v4\nspec:\n  link_bandwith: 4GBps\n",
         "my.yaml:4:18: unknown name 'link_bandwith'; the nearest is link_bandwidth"},
        {"name: n\nbase: v4\nspec:\n  link_bandwidth: 45\n",
         "my.yaml:4:19: link_bandwidth '45' has no unit; write 45GBps or 45Gbps"},
        {"name: n\nbase: v4\nspec:\n  link_bandwidth: 0GBps\n",
         "my.yaml:4:19: link_bandwidth '0GBps' must be above 0"},
        {"name: n\nbase: v4\nspec:\n  link_bandwidth: {source: x}\n", "my.yaml:4:19: 'value' is missing"},
        {"name: n\nbase: v4\nspec:\n  link_bandwidth: [1GBps]\n",
         "link_bandwidth must be one value, not a list"},
        {"name: n\nbase: v4\nspec:\n  wrap: twisted\n", "unknown wrap 'twisted'; known are full pod only"},
        {"name: n\nbase: v4\nspec:\n  ring: bidi-hafl\n",
         "unknown ring 'bidi-hafl'; the nearest is bidi-half"},
        {"name: n\nbase: v4\nspec:\n  peak: 4Tflops\n", "peak must be a mapping"},
        {"name: n\nbase: v4\nspec:\n  peak: {bf61: 4Tflops}\n", "unknown dtype 'bf61'; the nearest is bf16"},
        {"name: n\nbase: v4\nspec:\n  mxu_tile: 0\n", "mxu_tile '0' must be 1 to 65536"},
        {"name: n\nbase: v4\nspec:\n  matmul_efficiency: {all: 120%}\n", "above 1"},
        {"name: n\nbase: v4\nspec:\n  matmul_efficiency: {all: {steps: [[2Gflop, 0.5], [1Gflop, 0.6]]}}\n",
         "steps of matmul_efficiency.all must rise; '1Gflop' does not"},
        {"name: n\nbase: v4\nspec:\n  matmul_efficiency: {all: {steps: [0.5]}}\n", "must be a pair"},
        {"name: n\nbase: v4\nspec:\n  matmul_efficiency: {all: {steps: [[1Gflop, 0.2], [2Gflop, 0.5]]}}\n",
         "work of 2Gflop takes no longer"},
        {"name: n\nbase: v4\nspec:\n  hbm_efficiency: {steps: [[1Gflop, 0.2]]}\n", "hbm_efficiency '1Gflop'"},
        {"name: n\nbase: v4\nspec:\n  hbm_efficiency: {steps: [[2MiB, 0.2], [1MiB, 0.3]]}\n",
         "steps of hbm_efficiency must rise; '1MiB' does not"},
        {"name: n\nbase: v4\nspec:\n  hbm_efficiency: {steps: [7]}\n", "such as [1MiB, 0.5]"},
        {"name: n\nbase: v4\nspec:\n  step_efficiency: 2.2\n",
         "step_efficiency '2.2' must be above 0 and at most 2"},
        {"name: n\nbase: v4\nspec:\n  contention: 1.2\n", "above 1"},
        {"name: n\nbase: v4\nspec:\n  attention_efficiency: {steps: [[wide, 0.5]]}\n",
         "'wide' is no width of a head"},
        {"name: n\nbase: v4\nspec:\n  product_estimate: {value: {fixed_cycles: 7}}\n",
         "'load_cycles' is missing"},
        {"name: n\nbase: v4\nspec:\n  product_estimate: 7\n", "product_estimate must be a mapping"},
        {"name: n\nbase: v4\nspec:\n  cores: 0\n", "cores '0' must be 1 to 65536"},
        {"name: n\nbase: v4\nspec:\n  pod: 4y4\n", "my.yaml:4:8: slice '4y4': not a shape"},
        {"name: n\nbase: v4\nspec: {}\nextra: 1\n", "unknown name 'extra'"},
        /* Faults of the other profile show too. */
        {"name: n\nbase: v4\nmeasured:\n  setup: 5us\n",
         "measured setup needs its source and how it was found"},
        {"name: a-name-that-is-much-too-long-for-a-chip\nbase: v4\n", "is longer than 31 letters"},
        {"- 1\n", "must be a mapping"},
        {"name: [\n", "my.yaml:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct chip c;
        struct status st = {0};
        CU_ASSERT(parse(&c, cases[i].text, CHIP_SPEC, &st) < 0);
        if (strncmp(st.text, "my.yaml:", 8) != 0 || !strstr(st.text, cases[i].says))
            fprintf(stderr, "'%s' says: %s\n", cases[i].text, st.text);
        IN(cases[i].says, st);
        chip_free(&c);
    }
}

static void chips_are_found(void)
{
    struct chip c;
    struct status name = {0}, path = {0}, st = {0};
    CU_ASSERT_EQUAL(chip_load(&c, "v5", CHIP_SPEC, &name), STATUS_INPUT);
    CU_ASSERT_STRING_EQUAL(name.text, "unknown chip 'v5'; the nearest are v5e, v5p");
    chip_free(&c);
    CU_ASSERT_EQUAL(chip_load(&c, "nowhere.yaml", CHIP_SPEC, &path), STATUS_IO);
    IN("nowhere.yaml", path);
    chip_free(&c);
    char file[] = "/tmp/icisim-chip-XXXXXX.yaml";
    static const char text[] = "name: mine\nbase: v4\n";
    int fd = mkstemps(file, 5);
    CU_ASSERT(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)(sizeof text - 1));
    close(fd);
    OKAY(chip_load(&c, file, CHIP_SPEC, &st), st);
    CU_ASSERT_STRING_EQUAL(c.name, "mine");
    chip_free(&c);
    unlink(file);
}

SUITE("chip", TEST(the_book_values_are_there), TEST(every_value_has_a_source),
      TEST(measured_replaces_only_what_it_has), TEST(types_borrow_rates), TEST(files_start_from_a_base),
      TEST(larger_products_take_longer), TEST(faulty_files_say_where), TEST(chips_are_found))
