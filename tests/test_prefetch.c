/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gathers that start layers ahead, and gathers of a layer as one: when layers end, worked out by hand and by a recurrence. */
#include <math.h>
#include <stdio.h>

#include "compile/lower.h"
#include "compile/pass.h"
#include "hlo/hlo_read.h"
#include "hlo/module_check.h"
#include "suite.h"

enum { LAYERS_MOST = 24 };

/* Layers that gather a weight over a line of 2 chips and then compute for some time. Such a gather takes a + V / 2w: 1 us and
 * V / (2 x 100 GB/s). */
struct layers {
    int layers, weights;        /* of a layer, all of a size */
    bool combine;               /* gathered as one */
    int64_t bytes[LAYERS_MOST]; /* gathered, of one weight */
    double compute_s[LAYERS_MOST];
};
static const double hop_s = 1e-6, link_Bps = 100e9;

/* All of a layer. */
static double gather_s(const struct layers *l, int i)
{
    return (l->combine ? 1 : l->weights) * hop_s + l->weights * (double)l->bytes[i] / (2 * link_Bps);
}

static void print_layer(const struct layers *l, int i, FILE *out)
{
    for (int w = 0; w < l->weights; w++)
        fprintf(out,
                "  g%d_%d = s8[%lld]{0} all-gather(w%d_%d), channel_id=%d, replica_groups=[1,2]<=[2], "
                "dimensions={0}, use_global_device_ids=true, "
                "frontend_attributes={layer=\"%d\",phase=\"fwd\",what=\"w%d\"}\n",
                i, w, (long long)l->bytes[i], i, w, i * l->weights + w + 1, i + 1, w);
    fprintf(out, "  %sc%d = s8[8]{0:S(1)} custom-call(", i == l->layers - 1 ? "ROOT " : "", i);
    for (int w = 0; w < l->weights; w++)
        fprintf(out, "g%d_%d, ", i, w);
    if (i > 0)
        fprintf(out, "c%d), custom_call_target=\"c\"\n", i - 1);
    else
        fputs("x), custom_call_target=\"c\"\n", out);
}

static size_t print_module(const struct layers *l, char *text, size_t room)
{
    FILE *out = fmemopen(text, room, "w");
    fputs("HloModule layers, is_scheduled=true, num_partitions=2\nENTRY main {\n", out);
    for (int i = 0; i < l->layers; i++)
        for (int w = 0; w < l->weights; w++)
            fprintf(out, "  w%d_%d = s8[%lld]{0} parameter(%d)\n", i, w, (long long)l->bytes[i] / 2,
                    i * l->weights + w);
    fprintf(out, "  x = s8[8]{0:S(1)} parameter(%d)\n", l->layers * l->weights);
    for (int i = 0; i < l->layers; i++)
        print_layer(l, i, out);
    fputs("}\n", out);
    size_t bytes = (size_t)ftell(out);
    fclose(out);
    return bytes;
}

static double simulate(const struct layers *l, int ahead)
{
    static char text[1 << 17];
    char name[LAYERS_MOST][16];
    struct status st = {0};
    struct chip chip;
    struct slice slice;
    struct module read = {0}, combined = {0}, module = {0};
    struct placement placement = {0};
    struct lower lower = {0};
    struct lower_options options = {.kind = RING_BIDI_HALF, .op_costs = l->layers};
    struct op_cost cost[LAYERS_MOST];
    double time_s = NAN;
    size_t bytes = print_module(l, text, sizeof text);
    for (int i = 0; i < l->layers; i++) {
        snprintf(name[i], sizeof name[i], "c%d", i);
        cost[i] = (struct op_cost){.name = name[i], .seconds = l->compute_s[i]};
    }
    options.op_cost = cost;
    OKAY(hlo_read(&read, "layers", text, bytes, NULL, &st), st);
    OKAY(pass_combine(&read, &combined, &st), st);
    OKAY(module_check(&combined, NULL, &st), st);
    OKAY(pass_prefetch(l->combine ? &combined : &read, ahead, &module, &st), st);
    OKAY(module_check(&module, NULL, &st), st);
    OKAY(chip_load(&chip, "tests/golden/hlo/round.yaml", CHIP_SPEC, &st), st);
    OKAY(chip_slice(&chip, "2", NULL, &slice, &st), st);
    roofline_init(&options.roofline, &chip);
    OKAY(placement_init(&placement, &slice, 2, 1, NULL, NULL, &st), st);
    OKAY(lower_init(&lower, &module, &placement, &options, &st), st);
    OKAY(lower_time(&lower, &time_s, &st), st);
    lower_free(&lower);
    placement_free(&placement);
    slice_free(&slice);
    chip_free(&chip);
    module_free(&module);
    module_free(&combined);
    module_free(&read);
    return time_s;
}

/* Gather i starts when gather i-1 has ended and compute i-p starts; p = 0: when compute i-1 ends. */
static double recurrence(const struct layers *l, int ahead)
{
    double gathered = 0, computed = 0, start[LAYERS_MOST];
    for (int i = 0; i < l->layers; i++) {
        double from = ahead == 0 ? computed : i < ahead ? 0 : start[i - ahead];
        gathered = fmax(gathered, from) + gather_s(l, i);
        start[i] = fmax(gathered, computed);
        computed = start[i] + l->compute_s[i];
    }
    return computed;
}

/* Gathers of 10, 10, 60, 60 us, 9 us and 59 us of which are bytes: 1.8 MB and 11.8 MB; computes of 50, 50, 10, 50 us.
 * p = 0: their sum. p = 1: gathers end at 10, 20, 120, 180, computes at 60, 110, 130, 230. p = 2: gathers at 10, 20, 80, 140,
 * computes at 60, 110, 120, 190. */
static void uneven_layers(void)
{
    struct layers l = {.layers = 4,
                       .weights = 1,
                       .bytes = {1800000, 1800000, 11800000, 11800000},
                       .compute_s = {50e-6, 50e-6, 10e-6, 50e-6}};
    static const double end_us[] = {300, 230, 190, 190};
    for (int p = 0; p < 4; p++) {
        NEAR(simulate(&l, p) * 1e6, end_us[p], 1e-9);
        NEAR(recurrence(&l, p) * 1e6, end_us[p], 1e-9);
    }
}

/* p = 0: L (A + C); else A + (L - 1) max(A, C) + C. */
static void uniform_layers(void)
{
    struct suite_random r = {11};
    for (int round = 0; round < 60; round++) {
        struct layers l = {.layers = 1 + (int)suite_random(&r, LAYERS_MOST), .weights = 1};
        int64_t bytes = 2 + 2 * (int64_t)suite_random(&r, 5000000);
        double compute_s = 60e-6 * suite_random_unit(&r);
        for (int i = 0; i < l.layers; i++) {
            l.bytes[i] = bytes;
            l.compute_s[i] = compute_s;
        }
        double a = gather_s(&l, 0), n = l.layers;
        NEAR(simulate(&l, 0), n * (a + compute_s), 1e-9);
        for (int p = 1; p < 4; p++)
            NEAR(simulate(&l, p), a + (n - 1) * fmax(a, compute_s) + compute_s, 1e-9);
    }
}

static void random_layers(void)
{
    struct suite_random r = {5};
    for (int round = 0; round < 200; round++) {
        struct layers l = {.layers = 1 + (int)suite_random(&r, LAYERS_MOST),
                           .weights = 1 + (int)suite_random(&r, 7),
                           .combine = suite_random(&r, 2) == 1};
        for (int i = 0; i < l.layers; i++) {
            l.bytes[i] = 2 + 2 * (int64_t)suite_random(&r, 5000000);
            l.compute_s[i] = 60e-6 * suite_random_unit(&r);
        }
        int p = (int)suite_random(&r, 6);
        NEAR(simulate(&l, p), recurrence(&l, p), 1e-9);
    }
}

SUITE("prefetch", TEST(uneven_layers), TEST(uniform_layers), TEST(random_layers))
