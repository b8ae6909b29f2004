/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The option table: every row, what options give to a point, what applies to what. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collective/collective.h"
#include "compile/pass.h"
#include "engine/engine.h"
#include "machine/chip.h"
#include "settings/option.h"
#include "settings/settings.h"
#include "study/job.h"
#include "suite.h"

static const struct option_row *row(const char *name)
{
    const struct option_row *option = option_by_name(name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(option);
    return option;
}

/* Words that shells complete are values that are taken. */
static void words_are_values(const struct option_row *option)
{
    CU_ASSERT(option->kind != OPTION_CHOICE || option->values);
    char *words = strdup(option->values ? option->values : ""), *rest = words, *word;
    while (*words && (word = strsep(&rest, " "))) {
        struct status st = {0};
        OKAY(option_set(option, word, NULL, &st), st);
        if (strcmp(option->name, "dtype") == 0)
            CU_ASSERT(dtype_by_name(word, &st) >= 0);
        if (strcmp(option->name, "strategy") == 0)
            CU_ASSERT(pass_way_by_name(word, &st) >= 0);
    }
    free(words);
}

/* Words of a choice stand in the order of its enum, wherever others print its values by name. */
static void words_are_in_order(void)
{
    const struct {
        const char *option, *name[9];
    } choices[] = {
        {"profile", {chip_profile_names[CHIP_SPEC], chip_profile_names[CHIP_MEASURED], NULL}},
        {"ring",
         {ring_kind_name(RING_UNI), ring_kind_name(RING_BIDI), ring_kind_name(RING_BIDI_HALF),
          algorithm_name(ALGORITHM_XLA)}},
        {"algorithm",
         {algorithm_name(ALGORITHM_AS_COMPILED), algorithm_name(ALGORITHM_SCHEDULE),
          algorithm_name(ALGORITHM_BEST), algorithm_name(ALGORITHM_XLA), pattern_name(PATTERN_SINGLE_PHASE),
          pattern_name(PATTERN_SHORT_RING), pattern_name(PATTERN_HALVING_DOUBLING),
          pattern_name(PATTERN_SWING), NULL}},
        {"all-to-all", {all_to_all_name(ALL_TO_ALL_DIRECT), all_to_all_name(ALL_TO_ALL_RING), NULL}},
        {"remat",
         {pass_remat_name(REMAT_NONE), pass_remat_name(REMAT_PRODUCTS), pass_remat_name(REMAT_FULL),
          pass_remat_name(REMAT_AUTO)}},
        {"engine", {engine_list()[0]->name, engine_list()[1]->name, engine_list()[2]->name}}};
    for (size_t c = 0; c < sizeof choices / sizeof *choices; c++) {
        const char *const *name = choices[c].name;
        char words[128];
        for (int used = 0, i = 0; i < 9 && name[i]; i++)
            used += snprintf(words + used, sizeof words - (size_t)used, "%s%s", i ? " " : "", name[i]);
        CU_ASSERT_STRING_EQUAL(row(choices[c].option)->values, words);
    }
}

/* What every row must hold, whoever adds it. */
static void table_is_sound(void)
{
    for (int i = 0; i < option_count; i++) {
        const struct option_row *option = &option_table[i];
        CU_ASSERT_PTR_EQUAL(option_of_command(option->name, option->commands), option);
        CU_ASSERT_EQUAL(option_index(option), i);
        CU_ASSERT(option->commands != 0 && option->doc && strlen(option->name) < OPTION_NAME);
        CU_ASSERT(option->group >= GROUP_WORK && option->group <= GROUP_OUTPUT);
        CU_ASSERT(!option->has_column || option->of_point);
        CU_ASSERT(!option->of_point || option->ops != 0);
        CU_ASSERT(!option->of_point || option->offset < sizeof(struct point));
        CU_ASSERT(option->argument || option->kind == OPTION_FLAG);
        words_are_values(option);
        struct status st = {0};
        if (option->fallback)
            OKAY(option_set(option, option->fallback, NULL, &st), st);
        for (int j = 0; j < i; j++)
            CU_ASSERT(!option->letter || option_table[j].letter != option->letter);
    }
}

static void fallbacks_fill_a_point(void)
{
    struct point point;
    point_init(&point);
    CU_ASSERT_STRING_EQUAL(point.machine.chip, "v5e");
    CU_ASSERT_STRING_EQUAL(point.work.dtype, "bf16");
    CU_ASSERT_EQUAL(point.machine.profile, CHOICE_OPEN);
    CU_ASSERT(isnan(point.machine.link_Bps) && isnan(point.machine.hop_latency_s));
    CU_ASSERT_EQUAL(point.schedule.ring, CHOICE_OPEN);
    CU_ASSERT_STRING_EQUAL(engine_list()[point.run.engine]->name, "event");
    CU_ASSERT(point.run.fold && !point.run.check && !point.schedule.keep_ties);
    CU_ASSERT(point.work.offset == 1 && point.schedule.routes == 1 && point.work.root == 0);
    CU_ASSERT(!point.work.op && !point.machine.slice && !point.machine.mesh && point.work.size_bytes == 0);
}

static void values_reach_their_fields(void)
{
    struct point point;
    struct status st = {0};
    point_init(&point);
    OKAY(option_set(row("size"), "1.5MiB", &point, &st), st);
    OKAY(option_set(row("link-bandwidth"), "38.5GBps", &point, &st), st);
    OKAY(option_set(row("hop-latency"), "2.385us", &point, &st), st);
    OKAY(option_set(row("ring"), "bidi-half", &point, &st), st);
    OKAY(option_set(row("engine"), "event", &point, &st), st);
    OKAY(option_set(row("fold"), "off", &point, &st), st);
    OKAY(option_set(row("offset"), "-3", &point, &st), st);
    CU_ASSERT_EQUAL(point.work.size_bytes, 1572864); /* 1.5 * 2^20 */
    NEAR(point.machine.link_Bps, 38.5e9, 1e-15);
    NEAR(point.machine.hop_latency_s, 2.385e-6, 1e-15);
    CU_ASSERT_EQUAL(point.schedule.ring, RING_BIDI_HALF);
    CU_ASSERT_STRING_EQUAL(engine_list()[point.run.engine]->name, "event");
    CU_ASSERT(!point.run.fold);
    CU_ASSERT_EQUAL(point.work.offset, -3);
    OKAY(option_set(row("engine"), "simgrid", &point, &st), st);
    CU_ASSERT_STRING_EQUAL(engine_list()[point.run.engine]->name, "simgrid");
}

/* Each message names the option. */
static void wrong_values_are_refused(void)
{
    static const char *const wrong[][2] = {
        {"size", "1.5"},        {"size", "0"},    {"size", "99999999TiB"}, {"link-bandwidth", "0GBps"},
        {"hop-latency", "1"},   {"ring", "both"}, {"engine", "fast"},      {"profile", "real"},
        {"all-to-all", "tree"}, {"fold", "yes"},  {"routes", "-1"},        {"routes", "2x"},
        {"offset", "x"},        {"slice", ""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct status st = {0};
        struct point point;
        point_init(&point);
        struct point before = point;
        CU_ASSERT(option_set(row(wrong[i][0]), wrong[i][1], &point, &st) < 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(st.text, wrong[i][0]));
        CU_ASSERT(memcmp(&point, &before, sizeof point) == 0);
    }
}

/* Given means given, even with the value that it has by itself. */
static void what_does_not_apply_is_found(void)
{
    static const struct {
        const char *name, *value;
        enum op_set op;
        bool applies;
    } cases[] = {
        {"root", "0", ON_BROADCAST, true},    {"root", "0", ON_ALL_GATHER, false},
        {"size", "3kB", ON_RAGGED, true},     {"size", "3kB", ON_MATMUL, false},
        {"ring", "uni", ON_MATMUL, true},     {"ring", "uni", ON_PERMUTE, false},
        {"chunks", "4", ON_MATMUL, true},     {"chunks", "4", ON_ALL_REDUCE, false},
        {"tiled", "on", ON_ALL_TO_ALL, true}, {"tiled", "on", ON_NONE, false},
        {"jobs", "3", ON_BROADCAST, true},    {"axis", "x", ON_NONE, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct settings settings;
        struct grid grid;
        struct point point;
        struct status st = {0};
        settings_init(&settings);
        OKAY(settings_add(&settings, row(cases[i].name), cases[i].value, &st), st);
        OKAY(grid_init(&grid, &settings, &st), st);
        grid_point(&grid, 0, &point);
        CU_ASSERT_EQUAL(option_check(&point, cases[i].op, "such an op", &st) == 0, cases[i].applies);
        CU_ASSERT(cases[i].applies || (strstr(st.text, cases[i].name) && strstr(st.text, "to such an op")));
        settings_free(&settings);
    }
    static const struct {
        const char *name;
        enum op_set op;
    } names[] = {{"psum_scatter", ON_REDUCE_SCATTER},
                 {"reduce_scatter", ON_REDUCE_SCATTER},
                 {"allreduce", ON_ALL_REDUCE},
                 {"all_reduce", ON_ALL_REDUCE},
                 {"alltoall", ON_ALL_TO_ALL},
                 {"allgather", ON_ALL_GATHER},
                 {"psum", ON_ALL_REDUCE},
                 {"ppermute", ON_PERMUTE}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CU_ASSERT_EQUAL(workload_kind(names[i].name), names[i].op);
    CU_ASSERT_EQUAL(workload_kind("A[4,4] . B[4,4]"), ON_MATMUL);
    CU_ASSERT_EQUAL(workload_kind("nonsense"), ON_ANY);
}

/* One of several values that fits is enough, and a fallback counts. */
static void what_means_nothing_beside_others_is_found(void)
{
    static const struct {
        const char *given[3][2];
        const char *says; /* NULL: nothing is wrong */
    } cases[] = {
        {{{"op", "all-to-all"}, {"ring", "uni"}}, "without --all-to-all ring"},
        {{{"op", "all-to-all"}, {"ring", "uni"}, {"all-to-all", "direct,ring"}}, NULL},
        {{{"op", "all-gather"}, {"ring", "uni"}}, NULL},
        {{{"keep-ties", "on"}}, NULL},
        {{{"keep-ties", "on"}, {"all-to-all", "ring"}}, "without --all-to-all direct"},
        {{{"op", "A[4,4] . B[4,4]"}, {"chunks", "2"}, {"all-reduce", "scatter-gather"}},
         "without --all-reduce chunks"},
        {{{"op", "A[4,4] . B[4,4]"}, {"chunks", "2"}, {"all-reduce", "scatter-gather,chunks"}}, NULL},
        {{{"op", "step.yaml"}, {"chunks", "2"}, {"all-reduce", "scatter-gather"}}, NULL},
        {{{"loop", "xla"}, {"strategy", "naive,bidi-half"}}, "without --strategy uni"},
        {{{"loop", "xla"}, {"strategy", "bidi,bidi-half"}}, NULL},
        {{{"loop", "xla"}, {"strategy", "bidi,auto"}}, NULL},
        {{{"offset", "2"}, {"pairs", "0-1"}}, "together with --pairs"},
        {{{"trace-chips", "2"}}, "without --trace;"},
        {{{"trace-window", "all"}}, "without --trace;"},
        {{{"trace-chips", "2"}, {"trace", "t.json"}}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct settings settings;
        struct status st = {0};
        settings_init(&settings);
        settings.kind = workload_kind;
        for (int g = 0; g < 3 && cases[i].given[g][0]; g++)
            OKAY(settings_add(&settings, row(cases[i].given[g][0]), cases[i].given[g][1], &st), st);
        CU_ASSERT_EQUAL(settings_check(&settings, &st), cases[i].says ? STATUS_INPUT : 0);
        CU_ASSERT(!cases[i].says || strstr(st.text, cases[i].says));
        settings_free(&settings);
    }
}

SUITE("option", TEST(table_is_sound), TEST(words_are_in_order), TEST(fallbacks_fill_a_point),
      TEST(values_reach_their_fields), TEST(wrong_values_are_refused), TEST(what_does_not_apply_is_found),
      TEST(what_means_nothing_beside_others_is_found))
