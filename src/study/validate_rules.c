/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The textbook's rules against the event engine: inside the range where each claims to hold, to a tolerance that the
 * range implies, and outside, where the difference shows what the range is for.
 *
 * Most rules ignore latency (or bandwidth, if they take the larger of the two). If V is so large that its transfer
 * takes 20 times the latencies, that costs 5 %; where both are equal, a rule with only one of them is off by a factor
 * of 2.
 *
 * The rules for training steps (S1 to S4) give the tokens per chip, or the width, at which matmuls take as long as
 * communication. A step is simulated at that point. Matmuls take time in proportion to tokens, gathers of weights do
 * not, so in the simulation both are equal at tokens x communication / matmuls; a second simulation there confirms it.
 */
#include <math.h>
#include <string.h>

#include "formula/step.h"
#include "study/simulate.h"
#include "study/validate.h"

static const double latency_left_out = 0.051, exact = 1e-9;

/* A rule and a simulation, whose size is the one whose transfer, by the rule's bandwidth, takes `ratio` times the sum
 * of the schedule's dependent latencies. */
struct rule_case {
    const char *id;
    const char *arguments; /* without the size */
    double hops;           /* dependent latencies */
    double ratio;
    double tolerance_frac; /* NaN: beyond the rule's range */
    const char *why;
};

/* Rows of `rules`: arguments for rings inside and outside a rule's range. */
#define GATHER(n)  "all-gather --chip v5p --slice " #n " --wrap all --ring "
#define REDUCE(n)  "all-reduce --chip v5e --slice " #n " --wrap all --ring "
#define TO_ALL(n)  "all-to-all --chip v4 --wrap all --slice " #n
#define LATENCY_20 20, latency_left_out, "V takes 20 times the latency"
#define EVEN_1     1, NAN, "latency and transfer are equal: the rule has one of them, the time is their sum"

static const struct rule_case rules[] = {
    {"F1", GATHER(4) "bidi", 2, LATENCY_20},
    {"F1", GATHER(8) "bidi", 4, LATENCY_20},
    {"F1", GATHER(16) "bidi", 8, LATENCY_20},
    {"F1", GATHER(8) "bidi", 4, EVEN_1},
    {"F1", GATHER(8) "bidi", 4, 0.05, NAN, "latency is all of it: F1 has none, F2 has"},
    {"F1", GATHER(4) "bidi-half", 3, 1e4, NAN,
     "bidi-half moves V(N-1)/N where the rule counts V: 4/3 at N = 4"},
    {"F1", GATHER(8) "bidi-half", 7, 1e4, NAN, "bidi-half moves V(N-1)/N: 8/7 at N = 8"},
    {"F1", GATHER(16) "bidi-half", 15, 1e4, NAN, "bidi-half moves V(N-1)/N: 16/15 at N = 16"},
    {"F1", GATHER(3) "bidi", 1, 1e4, NAN, "an odd ring has no antipodal chunk: V(N-1)/N, 3/2 at N = 3"},
    {"F1", GATHER(9) "bidi", 4, 1e4, NAN, "an odd ring has no antipodal chunk: V(N-1)/N, 9/8 at N = 9"},

    {"F2", GATHER(4) "bidi", 2, LATENCY_20},
    {"F2", GATHER(16) "bidi", 8, LATENCY_20},
    {"F2", GATHER(16) "bidi", 8, 0.05, latency_left_out, "the latency is 20 times the transfer"},
    {"F2", GATHER(8) "bidi", 4, EVEN_1},
    {"F2", GATHER(8) "bidi-half", 4, 0.05, NAN, "bidi-half takes N-1 steps and not N/2"},

    {"F3", GATHER(4x4) "bidi-half", 6, 40, 1.0 / 16,
     "bidi-half moves V(1 - N^-k), 6.25 % less than the rule counts"},
    {"F3", GATHER(8x8) "bidi-half", 14, 40, 1.0 / 32, "bidi-half moves V(1 - N^-k)"},
    {"F3", GATHER(8x8x8) "bidi-half", 21, 40, 1.0 / 32, "bidi-half moves V(1 - N^-k)"},
    {"F3", GATHER(4x4) "bidi", 4, 1e4, NAN,
     "bidi sends the antipodal chunk whole: (1 - N^-k) N/(N-1), 1.25 at 4x4"},
    {"F3", GATHER(4x8) "bidi-half", 10, 1e4, NAN, "axes that differ: parts wait for each other"},
    {"F3", GATHER(4x4) "bidi-half", 6, EVEN_1},

    {"F4", GATHER(4) "uni", 3, LATENCY_20},
    {"F4", GATHER(16) "uni", 15, LATENCY_20},
    {"F4", GATHER(16) "uni", 15, EVEN_1},

    {"F5", "all-gather --chip v5e --slice 4 --ring bidi", 3, LATENCY_20},
    {"F5", "reduce-scatter --chip v5e --slice 8 --ring bidi-half", 7, LATENCY_20},
    {"F5", "all-gather --chip v5e --slice 8 --ring uni", 13, LATENCY_20},
    {"F5", "all-gather --chip v5e --slice 8 --ring bidi", 7, EVEN_1},

    {"F6", REDUCE(4) "bidi", 4, LATENCY_20},
    {"F6", REDUCE(8) "uni", 14, LATENCY_20},
    {"F6", "all-reduce --chip v5e --slice 8 --ring bidi", 14, LATENCY_20},
    {"F6", REDUCE(8) "bidi", 8, EVEN_1},

    {"F7", TO_ALL(4), 2, LATENCY_20},
    {"F7", TO_ALL(8), 4, LATENCY_20},
    {"F7", TO_ALL(16), 8, LATENCY_20},
    {"F7", TO_ALL(8), 4, EVEN_1},
    {"F7", TO_ALL(3), 1, 1e4, NAN, "odd rings have (N^2-1)/8 pairs on a link and not N^2/8: 9/8 at N = 3"},
    {"F7", TO_ALL(4) " --keep-ties", 1, 1e4, NAN, "ties go whole by +: 3 pairs on a link of + and not 2"},
    {"F7", TO_ALL(8) " --keep-ties", 1, 1e4, NAN, "ties go whole by +: 10 pairs on a link of + and not 8"},

    {"F8", TO_ALL(4) " --all-to-all ring --ring uni", 3, LATENCY_20},
    {"F8", TO_ALL(16) " --all-to-all ring --ring uni", 15, LATENCY_20},
    {"F8", TO_ALL(8) " --all-to-all ring --ring uni", 7, EVEN_1},

    {"F9", TO_ALL(4x4), 4, LATENCY_20},
    {"F9", TO_ALL(4x8), 6, LATENCY_20},
    {"F9", TO_ALL(8x8), 8, LATENCY_20},
    {"F9", TO_ALL(4x4x4), 6, LATENCY_20},
    {"F9", TO_ALL(4x4x8_torus), 8, LATENCY_20},
    {"F9", TO_ALL(3x3), 1, 1e4, NAN, "odd axes have (N^2-1)/8 pairs on a link: 9/8 at 3x3"},
    {"F9", TO_ALL(4x4x4), 4, EVEN_1},

    {"F10", "collective-permute --chip v5e --slice 4x4 --pairs 0-15 --routes 2", 6, 20, exact,
     "two disjoint routes"},
    {"F10", "collective-permute --chip v5p --slice 2x2x1 --pairs 0-1,1-3,3-2,2-0", 1, 1, exact,
     "one hop each"},
    {"F11", "collective-permute --chip v5e --slice 4x4 --pairs 0-1", 1, 1, exact,
     "w a bytes, 45 kB, take 2 a"},
};

/* The time of a case by a rule; F11 gives a size, whose transfer takes two latencies. */
static double rule_time_s(const char *id, const struct formula_case *c)
{
    const struct formula *rule = formula_rules;
    if (strcmp(id, "F11") == 0)
        return 2 * c->hop_latency_s;
    while (rule->id && strcmp(rule->id, id) != 0)
        rule++;
    return formula_time_s(rule, c);
}

/* The size at which the rule's transfer takes `ratio` times the latencies, rounded so that chunks are equal; permutes
 * have no chunks, and in large groups rounding does not matter. */
static double size_of(const struct rule_case *rule, const struct formula_case *like)
{
    struct formula_case large = *like;
    double grain = like->elem_bytes;
    for (int r = 0; r < like->rings; r++)
        grain *= like->n[r];
    if (like->route_links > 0 || grain > 1e4)
        grain = like->elem_bytes;
    large.elements = 1 << 20;
    large.hop_latency_s = 0;
    double per_byte_s = strcmp(rule->id, "F11") == 0
                            ? 1 / like->link_Bps
                            : rule_time_s(rule->id, &large) / ((double)large.elements * large.elem_bytes);
    double wanted = rule->ratio * rule->hops * like->hop_latency_s / per_byte_s;
    return fmax(1, round(wanted / grain)) * grain;
}

/* A simulation of any size tells the rule's view of the case, from which the size for the check follows. */
static int check_rule(struct checks *checks, struct catalog *catalog, const struct rule_case *rule,
                      struct status *st)
{
    char arguments[CHECK_TEXT];
    struct simulation simulation;
    double bytes = 1 << 20;
    for (int turn = 0; turn < 2; turn++) {
        snprintf(arguments, sizeof arguments, "%s --engine event --size %.0fB", rule->arguments, bytes);
        if (simulate(NULL, arguments, catalog, &simulation, st))
            return st->code;
        bytes = size_of(rule, &simulation.formula);
    }
    struct check check = {.part = "rule",
                          .simulated = simulation.result.time_s,
                          .expected = rule_time_s(rule->id, &simulation.formula),
                          .tolerance_frac = rule->tolerance_frac};
    return checks_add(checks, check, rule->id, arguments, rule->why, st);
}

static const double ff = 28672, peak_flops = 4.59e14, link_Bps = 9e10; /* of v5p, and of 70B parameters */

/* A check of a rule for steps, which compares numbers of tokens or chips. */
static struct check ratio(double simulated, double expected, double tolerance_frac)
{
    return (struct check){.part = "rule",
                          .unit = CHECK_RATIO,
                          .simulated = simulated,
                          .expected = expected,
                          .tolerance_frac = tolerance_frac};
}

/* One layer with FSDP over all axes of a slice. */
struct fsdp_case {
    const char *arguments;
    int axes;
    double tolerance_frac;
    const char *why;
};
static const struct fsdp_case fsdp_cases[] = {
    {"--slice 16 --mesh fsdp=16 --ring bidi", 1, 0.01,
     "one axis: gathers of N/2 steps move what the rule counts"},
    {"--slice 16 --mesh fsdp=16 --ring bidi-half", 1, NAN, "bidi-half moves (N-1)/N of it: 15/16"},
    {"--slice 4x4x4 --mesh fsdp=64 --ring bidi-half", 3, 0.02, "three axes at once: V(1 - N^-3), 0.984"},
    {"--slice 8x8x8 --mesh fsdp=512 --ring bidi-half", 3, 0.01, "three axes at once: V(1 - N^-3), 0.998"},
    {"--slice 16x16x16 --mesh fsdp=4096 --ring bidi-half", 3, 0.01, "three axes at once"},
    {"--slice 4x4x4 --mesh fsdp=64 --ring bidi", 3, NAN,
     "bidi sends antipodal chunks whole on each of three axes: 2/3 (1 - N^-3) 2"},
};

static int check_fsdp(struct checks *checks, struct catalog *catalog, const struct fsdp_case *c,
                      struct status *st)
{
    double rule = step_tokens_of_fsdp(step_alpha(peak_flops, link_Bps), c->axes), tokens = round(rule);
    char what[CHECK_TEXT], arguments[2 * CHECK_TEXT];
    struct simulation simulation;
    for (int turn = 0; turn < 2; turn++) {
        snprintf(arguments, sizeof arguments,
                 "--chip v5p --wrap all --hop-latency 0s --layers 1 --engine event %s --tokens-per-chip %.0f",
                 c->arguments, tokens);
        if (simulate("workloads/by-hand/llama-70b-products.yaml", arguments, catalog, &simulation, st))
            return st->code;
        tokens = round(tokens * simulation.result.comm_s / simulation.result.compute_s);
    }
    snprintf(what, sizeof what, "tokens a chip: %s", c->arguments);
    return checks_add(checks, ratio(tokens, rule, c->tolerance_frac), "S1", what, c->why, st);
}

/* A matmul of gathered activations with columns of weights, whose width makes Y the largest useful number of chips. */
static int check_tp(struct checks *checks, struct catalog *catalog, struct status *st)
{
    double alpha = step_alpha(peak_flops, link_Bps), width = 16 * alpha;
    char text[2 * CHECK_TEXT], note[CHECK_TEXT];
    struct simulation simulation;
    snprintf(
        text, sizeof text,
        "'bf16[16384@Y,8192] . bf16[8192,%.0f@Y] -> bf16[16384,%.0f@Y]' --mesh Y=16 --slice 16 --wrap all "
        "--chip v5p --hop-latency 0s --ring bidi --strategy naive --engine event",
        width, width);
    if (simulate(NULL, text, catalog, &simulation, st))
        return st->code;
    struct check check = ratio(16 * simulation.result.compute_s / simulation.result.comm_s,
                               step_most_of_tp(width, alpha, 1), 0.01);
    snprintf(text, sizeof text, "chips of tp at a width of %.0f: --slice 16 --ring bidi", width);
    snprintf(note, sizeof note, "at 28672 they are %.4g an axis", step_most_of_tp(ff, alpha, 1));
    return checks_add(checks, check, "S2", text, note, st);
}

/* Seconds of a gather on a ring of eight; NaN after a fault. */
static double gather_s(double bytes, struct catalog *catalog, struct status *st)
{
    char arguments[CHECK_TEXT];
    struct simulation simulation;
    snprintf(
        arguments, sizeof arguments,
        "all-gather --chip v5p --slice 8 --wrap all --hop-latency 0s --ring bidi --engine event --size %.0fB",
        round(bytes / 16) * 16);
    return simulate(NULL, arguments, catalog, &simulation, st) ? NAN : simulation.result.time_s;
}

/* 8 x 8 chips, and the tokens for which X = 8 is best: weights and activations then take equally long to gather, and
 * at the least number of tokens matmuls take as long as either. */
static int check_both(struct checks *checks, struct catalog *catalog, struct status *st)
{
    const double d = 8192, chips = 64, side = 8, tokens = side * side * ff / chips;
    double alpha = step_alpha(peak_flops, link_Bps);
    double weights_s = gather_s(2 * d * ff / side, catalog, st);
    double activations_s = gather_s(2 * tokens * d / side, catalog, st);
    /* matmuls: 2 B D F / N; the best X is proportional to the square root of B, and so is the time of gathers */
    double matmuls_s = 2 * tokens * d * ff / chips / peak_flops, share = activations_s / matmuls_s;
    double least = tokens / chips * share * share;
    static const char both[] = "tokens a chip, of 8x8: fsdp on x, tp on y";
    char best[CHECK_TEXT];
    snprintf(best, sizeof best, "chips of fsdp, of 8x8, with %.0f tokens", tokens);
    if (st->code ||
        checks_add(
            checks,
            ratio(side * sqrt(activations_s / weights_s), step_best_fsdp(tokens, ff, chips, 1, 1), 0.01),
            "S3", best, "gathers of weights and of activations take as long", st) ||
        checks_add(checks, ratio(least, step_tokens_of_both(alpha, ff, 1, 1, false), 0.01), "S4", both,
                   "both at the same time, each behind products", st))
        return st->code;
    return checks_add(checks, ratio(4 * least, step_tokens_of_both(alpha, ff, 1, 1, true), 0.01), "S4s", both,
                      "gathers of weights and of activations one after the other (the book, 2025)", st);
}

int validate_formulas(struct checks *checks, bool simgrid, struct status *st)
{
    struct catalog catalog = {0};
    int code = validate_exact(checks, simgrid, st);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && code == 0; i++)
        code = check_rule(checks, &catalog, &rules[i], st);
    for (size_t i = 0; i < sizeof fsdp_cases / sizeof *fsdp_cases && code == 0; i++)
        code = check_fsdp(checks, &catalog, &fsdp_cases[i], st);
    if (code == 0)
        code = check_tp(checks, &catalog, st);
    if (code == 0)
        code = check_both(checks, &catalog, st);
    catalog_free(&catalog);
    return code;
}
