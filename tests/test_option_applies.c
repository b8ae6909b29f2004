/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every option of a point with everything that can run: where its row does not name what runs, the point is refused, and
 * the fault names both; where it does, that is never the fault. Given in a workload file, it is the same, with its place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "settings/option.h"
#include "settings/settings.h"
#include "study/job.h"
#include "suite.h"

static const char text[] = "HloModule m, num_partitions=4\nENTRY e {\n  ROOT p = f32[4]{0} parameter(0)\n}\n";

static const struct {
    const char *op; /* NULL: the file of HLO text */
    enum op_set bit;
    const char *name; /* in faults */
} ops[] = {
    {"all-gather", ON_ALL_GATHER, "all-gather"},
    {"reduce-scatter", ON_REDUCE_SCATTER, "reduce-scatter"},
    {"all-reduce", ON_ALL_REDUCE, "all-reduce"},
    {"all-to-all", ON_ALL_TO_ALL, "all-to-all"},
    {"ragged-all-to-all", ON_RAGGED, "ragged-all-to-all"},
    {"collective-permute", ON_PERMUTE, "collective-permute"},
    {"broadcast", ON_BROADCAST, "collective-broadcast"},
    {"bf16[64,64@x] . bf16[64@x,64] -> bf16[64,64]", ON_MATMUL, "a matmul"},
    {"workloads/net-dp.yaml", ON_MODEL, "a model"},
    {"workloads/distillation.yaml", ON_PARTS, "parts"},
    {NULL, ON_TEXT, "HLO text"},
};
enum { OPS = sizeof ops / sizeof *ops };

/* A value that the option takes, whatever runs. */
static const char *value_of(const struct option_row *option)
{
    static const char *const of_kind[] = {
        [OPTION_TEXT] = "x",     [OPTION_FLAG] = "on",     [OPTION_COUNT] = "3",
        [OPTION_INTEGER] = "3",  [OPTION_BYTES] = "3072B", [OPTION_BANDWIDTH] = "37GBps",
        [OPTION_TIME] = "2.3us", [OPTION_FRACTION] = "0.7"};
    static const char *const of_text[][2] = {{"dims", "Q=3"},        {"peak", "bf16=1Tflops"},
                                             {"pairs", "0-1"},       {"pair-sizes", "uniform"},
                                             {"axis", "x"},          {"groups", "{{0,1},{2,3}}"},
                                             {"trip-count", "w=3"},  {"ragged", "uniform"},
                                             {"dtype", "f32"},       {"by", "layer"},
                                             {"algorithm", "best"},  {"collective-queue", "sparsecore"},
                                             {"slow-chip", "0=0.7"}, {"optimizer", "sgd"}};
    for (size_t i = 0; i < sizeof of_text / sizeof *of_text; i++)
        if (strcmp(option->name, of_text[i][0]) == 0)
            return of_text[i][1];
    return option->fallback && option->kind != OPTION_FLAG   ? option->fallback
           : option->values && option->kind == OPTION_CHOICE ? "uni"
                                                             : of_kind[option->kind];
}

/* Does it fail, and with what? */
static bool fails(struct settings *settings, struct status *st)
{
    struct catalog catalog = {0};
    struct grid grid;
    struct point point;
    struct job job = {0};
    int code = grid_init(&grid, settings, st);
    if (code == 0) {
        grid_point(&grid, 0, &point);
        code = job_open(&job, &point, &catalog, st);
    }
    job_close(&job);
    catalog_free(&catalog);
    if (code < 0)
        settings_locate(settings, st);
    return code < 0;
}

static void judge(const struct option_row *option, int at, bool failed, const struct status *st)
{
    char fault[128];
    snprintf(fault, sizeof fault, "%s does not apply to %s; leave it out", option->name, ops[at].name);
    bool right =
        (option->ops & ops[at].bit) ? !failed || !strstr(st->text, fault) : failed && strstr(st->text, fault);
    CU_ASSERT(right);
    if (!right)
        fprintf(stderr, "--%s with %s: %s\n", option->name, ops[at].name, failed ? st->text : "runs");
}

static void open_settings(struct settings *settings, const char *op)
{
    struct status st = {0};
    settings_init(settings);
    if (strstr(op, ".yaml"))
        OKAY(settings_read(settings, op, &st), st);
    else
        OKAY(settings_add(settings, option_by_name("op"), op, &st), st);
    if (!strstr(op, ".yaml"))
        OKAY(settings_add(settings, option_by_name("slice"), "4", &st), st);
    if (!strchr(op, '.'))
        OKAY(settings_add(settings, option_by_name("size"), "3072B", &st), st);
}

static bool is_asked(const struct option_row *option)
{
    return option->ops && option->ops != ON_ANY && (option->commands & FOR_RUN);
}

static void on_the_command_line(void)
{
    char path[] = "/tmp/icisim-applies-XXXXXX.hlo";
    FILE *file = fdopen(mkstemps(path, 4), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
    int pairs = 0;
    for (int i = 0; i < option_count; i++)
        for (int at = 0; at < OPS && is_asked(&option_table[i]); at++) {
            struct settings settings;
            struct status st = {0};
            open_settings(&settings, ops[at].op ? ops[at].op : path);
            OKAY(settings_add(&settings, &option_table[i], value_of(&option_table[i]), &st), st);
            judge(&option_table[i], at, fails(&settings, &st), &st);
            settings_free(&settings);
            pairs++;
        }
    CU_ASSERT(pairs >= 30 * OPS);
    remove(path);
}

/* Of files, all but those of models and HLO text, which have keys of their own, or none. */
static void in_a_file(void)
{
    for (int i = 0; i < option_count; i++)
        for (int at = 0; at < OPS && is_asked(&option_table[i]) && option_table[i].of_point; at++) {
            char path[] = "/tmp/icisim-applies-XXXXXX.yaml", place[64];
            struct settings settings;
            struct status st = {0};
            const struct option_row *option = &option_table[i];
            if (!ops[at].op || ops[at].bit == ON_MODEL || ops[at].bit == ON_PARTS)
                continue;
            FILE *file = fdopen(mkstemps(path, 5), "w");
            CU_ASSERT_PTR_NOT_NULL_FATAL(file);
            fprintf(file, "op: \"%s\"\nslice: 4\n%s: \"%s\"\n", ops[at].op, option->name, value_of(option));
            if (ops[at].bit != ON_MATMUL && strcmp(option->name, "size") != 0)
                fputs("size: 3072B\n", file);
            fclose(file);
            settings_init(&settings);
            OKAY(settings_read(&settings, path, &st), st);
            bool failed = fails(&settings, &st);
            judge(option, at, failed, &st);
            snprintf(place, sizeof place, "%s:3:", path);
            CU_ASSERT((option->ops & ops[at].bit) || strstr(st.text, place));
            settings_free(&settings);
            remove(path);
        }
}

SUITE("option_applies", TEST(on_the_command_line), TEST(in_a_file))
