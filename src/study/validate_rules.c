/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The textbook's rules against the event engine: inside the range where each claims to hold, to a tolerance that the
 * range implies, and outside, where the difference shows what the range is for.
 *
 * Most rules leave the latency out (or the bandwidth, where they take the larger of the two). With V so large that
 * its transfer takes 20 times the latencies, that costs 5 %; where both are equal a rule of one of them is off by a
 * factor of 2.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/simulate.h"
#include "study/validate.h"

static const double latency_left_out = 0.051, exact = 1e-9;

/* One rule on one simulation. The size is the one whose transfer, by the rule's bandwidth, takes `ratio` times the
 * latencies that the schedule pays one after the other. */
struct rule_case {
    const char *id;
    const char *arguments; /* without the size */
    double hops;           /* latencies one after the other */
    double ratio;
    double tolerance_frac; /* NaN: beyond the rule's range */
    const char *why;
};

/* One row of `rules`: rings of which the rule speaks, and those of which it does not. */
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
    {"F9", TO_ALL(4x4x8), 8, LATENCY_20},
    {"F9", TO_ALL(3x3), 1, 1e4, NAN, "odd axes have (N^2-1)/8 pairs on a link: 9/8 at 3x3"},
    {"F9", TO_ALL(4x4x4), 4, EVEN_1},

    {"F10", "collective-permute --chip v5e --slice 4x4 --pairs 0-15 --routes 2", 6, 20, exact,
     "two disjoint routes"},
    {"F10", "collective-permute --chip v5p --slice 2x2x1 --pairs 0-1,1-3,3-2,2-0", 1, 1, exact,
     "one hop each"},
    {"F11", "collective-permute --chip v5e --slice 4x4 --pairs 0-1", 1, 1, exact,
     "w a bytes, 45 kB, take 2 a"},
};

/* What a rule says of a case; F11, which is a size, says that it takes two latencies. */
static double rule_time_s(const char *id, const struct formula_case *c)
{
    const struct formula *rule = formula_rules;
    if (strcmp(id, "F11") == 0)
        return 2 * c->hop_latency_s;
    while (rule->id && strcmp(rule->id, id) != 0)
        rule++;
    return formula_time_s(rule, c);
}

/* The size at which the rule's transfer takes `ratio` times the latencies, a multiple of what cuts into equal chunks; but permutes
 * cut nothing, and a large group's chunks are fine enough. */
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

/* Any size shows how the rule sees the case; then comes the size that the rule's transfer asks for. */
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

int validate_formulas(struct checks *checks, bool simgrid, struct status *st)
{
    struct catalog catalog = {0};
    int code = validate_exact(checks, simgrid, st);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && code == 0; i++)
        code = check_rule(checks, &catalog, &rules[i], st);
    catalog_free(&catalog);
    return code;
}
