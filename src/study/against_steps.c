/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The book's rules for training steps against simulated ones: the tokens a chip, or the width, at which products take as long
 * as what is communicated.
 *
 * A step is simulated where the rule says that both take the same. Products take time in proportion to tokens, gathers of
 * weights do not; so that both meet at tokens x communication / products, and a second simulation there says it again.
 */
#include <math.h>
#include <stdio.h>

#include "formula/step.h"
#include "machine/chip.h"
#include "study/formulas.h"

static const double ff = 28672, peak_flops = 4.59e14, link_Bps = 9e10; /* of v5p, and of 70B parameters */

/* One layer, FSDP over all axes of a slice. */
struct fsdp_case {
    const char *arguments;
    int axes;
    double tolerance_frac;
    const char *why;
};
#define BEYOND NAN
static const struct fsdp_case fsdp_cases[] = {
    {"--slice 16 --mesh fsdp=16 --ring bidi", 1, 0.01,
     "one axis: gathers of N/2 steps move what the rule counts"},
    {"--slice 16 --mesh fsdp=16 --ring bidi-half", 1, BEYOND, "bidi-half moves (N-1)/N of it: 15/16"},
    {"--slice 4x4x4 --mesh fsdp=64 --ring bidi-half", 3, 0.02, "three axes at once: V(1 - N^-3), 0.984"},
    {"--slice 8x8x8 --mesh fsdp=512 --ring bidi-half", 3, 0.01, "three axes at once: V(1 - N^-3), 0.998"},
    {"--slice 16x16x16 --mesh fsdp=4096 --ring bidi-half", 3, 0.01, "three axes at once"},
    {"--slice 4x4x4 --mesh fsdp=64 --ring bidi", 3, BEYOND,
     "bidi sends antipodal chunks whole on each of three axes: 2/3 (1 - N^-3) 2"},
};

static int simulate_layer(const char *arguments, struct catalog *catalog, struct result *result,
                          struct status *st)
{
    char all[2 * CHECK_TEXT];
    struct simulation simulation;
    snprintf(all, sizeof all, "--chip v5p --wrap all --hop-latency 0s --layers 1 --engine event %s",
             arguments);
    int code = simulate_workload("workloads/llama-70b-products.yaml", all, catalog, &simulation, st);
    *result = simulation.result;
    return code;
}

static int check_fsdp(struct checks *checks, struct catalog *catalog, const struct fsdp_case *c,
                      struct status *st)
{
    double rule = step_tokens_of_fsdp(step_alpha(peak_flops, link_Bps), c->axes), tokens = round(rule);
    char arguments[CHECK_TEXT];
    struct result result;
    int code = 0;
    for (int again = 0; again < 2 && code == 0; again++) {
        snprintf(arguments, sizeof arguments, "%s --tokens-per-chip %.0f", c->arguments, tokens);
        code = simulate_layer(arguments, catalog, &result, st);
        tokens = code == 0 ? round(tokens * result.comm_s / result.compute_s) : tokens;
    }
    struct check check = {.part = "rule",
                          .id = "S1",
                          .unit = CHECK_RATIO,
                          .simulated = tokens,
                          .expected = rule,
                          .tolerance_frac = c->tolerance_frac,
                          .verdict = isnan(c->tolerance_frac) ? VERDICT_BEYOND : VERDICT_OK};
    snprintf(check.what, sizeof check.what, "tokens a chip: %s", c->arguments);
    snprintf(check.note, sizeof check.note, "%s", c->why);
    return code < 0 ? code : checks_add(checks, check, st);
}

static int seconds_of(const char *arguments, struct catalog *catalog, struct result *result,
                      struct status *st)
{
    struct simulation simulation;
    int code = simulate(arguments, catalog, &simulation, st);
    *result = simulation.result;
    return code;
}

/* A product of gathered activations with columns of weights, whose width is such that Y chips are the most. */
static int check_tp(struct checks *checks, struct catalog *catalog, struct status *st)
{
    double alpha = step_alpha(peak_flops, link_Bps), width = 16 * alpha;
    char arguments[CHECK_TEXT];
    struct result result;
    snprintf(
        arguments, sizeof arguments,
        "'bf16[16384@Y,8192] . bf16[8192,%.0f@Y] -> bf16[16384,%.0f@Y]' --mesh Y=16 --slice 16 --wrap all "
        "--chip v5p --hop-latency 0s --ring bidi --strategy naive --engine event",
        width, width);
    int code = seconds_of(arguments, catalog, &result, st);
    struct check check = {.part = "rule",
                          .id = "S2",
                          .unit = CHECK_RATIO,
                          .simulated = 16 * result.compute_s / result.comm_s,
                          .expected = step_most_of_tp(width, alpha, 1),
                          .tolerance_frac = 0.01};
    snprintf(check.what, sizeof check.what, "chips of tp at a width of %.0f: --slice 16 --ring bidi", width);
    snprintf(check.note, sizeof check.note, "at 28672 they are %.4g an axis", step_most_of_tp(ff, alpha, 1));
    return code < 0 ? code : checks_add(checks, check, st);
}

/* Bytes of a gather on a ring of eight, in seconds. */
static int gather_s(double bytes, struct catalog *catalog, double *time_s, struct status *st)
{
    char arguments[CHECK_TEXT];
    struct result result;
    snprintf(
        arguments, sizeof arguments,
        "all-gather --chip v5p --slice 8 --wrap all --hop-latency 0s --ring bidi --engine event --size %.0fB",
        round(bytes / 16) * 16);
    int code = seconds_of(arguments, catalog, &result, st);
    *time_s = result.time_s;
    return code;
}

/* 8 x 8 chips and so many tokens that X = 8 is best: there weights and activations take as long to gather; and products of the
 * fewest tokens as long as either. */
static int check_both(struct checks *checks, struct catalog *catalog, struct status *st)
{
    const double d = 8192, chips = 64, side = 8;
    double alpha = step_alpha(peak_flops, link_Bps), weights_s = 0, activations_s = 0;
    double tokens = side * side * ff / chips;
    int code = gather_s(2 * d * ff / side, catalog, &weights_s, st);
    if (code == 0)
        code = gather_s(2 * tokens * d / side, catalog, &activations_s, st);
    struct check best = {.part = "rule",
                         .id = "S3",
                         .unit = CHECK_RATIO,
                         .simulated = side * sqrt(activations_s / weights_s),
                         .expected = step_best_fsdp(tokens, ff, chips, 1, 1),
                         .tolerance_frac = 0.01};
    snprintf(best.what, sizeof best.what, "chips of fsdp, of 8x8, with %.0f tokens", tokens);
    snprintf(best.note, sizeof best.note, "gathers of weights and of activations take as long");
    if (code == 0)
        code = checks_add(checks, best, st);
    /* products: 2 B D F / N; at other B the best X moves with its root, and so does what is gathered */
    double products_s = 2 * tokens * d * ff / chips / peak_flops, ratio = activations_s / products_s;
    for (int summed = 0; summed < 2 && code == 0; summed++) {
        struct check least = {.part = "rule",
                              .unit = CHECK_RATIO,
                              .simulated = tokens / chips * (summed ? 4 : 1) * ratio * ratio,
                              .expected = step_tokens_of_both(alpha, ff, 1, 1, summed),
                              .tolerance_frac = 0.01};
        snprintf(least.id, sizeof least.id, summed ? "S4s" : "S4");
        snprintf(least.what, sizeof least.what, "tokens a chip, of 8x8: fsdp on x, tp on y");
        snprintf(least.note, sizeof least.note, "%s",
                 summed ? "gathers of weights and of activations one after the other (the book, 2025)"
                        : "both at the same time, each behind products");
        code = checks_add(checks, least, st);
    }
    return code;
}

int validate_steps(struct checks *checks, struct status *st)
{
    struct catalog catalog = {0};
    int code = 0;
    for (size_t i = 0; i < sizeof fsdp_cases / sizeof *fsdp_cases && code == 0; i++)
        code = check_fsdp(checks, &catalog, &fsdp_cases[i], st);
    if (code == 0)
        code = check_tp(checks, &catalog, st);
    if (code == 0)
        code = check_both(checks, &catalog, st);
    catalog_free(&catalog);
    return code;
}
