/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one table of columns, as CSV files and tables for people print it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/table.h"
#include "study/result.h"
#include "suite.h"

/* What every row must hold, whoever adds it. */
static void table_is_sound(void)
{
    for (int i = 0; i < column_count; i++) {
        const struct column *c = &columns[i];
        CU_ASSERT(c->name || c->place > 0);
        CU_ASSERT(!c->name || (c->meaning && !strchr(c->meaning, '\n') && c->kind != COLUMN_OFF));
        CU_ASSERT(c->place == 0 || c->heading);
        CU_ASSERT_EQUAL(c->common != NULL, c->kind == COLUMN_TEXT && c->place > 0 && c->when == WHEN_ALWAYS);
        CU_ASSERT(c->kind == COLUMN_TEXT || c->place == 0 || c->unit);
        bool scaled = c->kind == COLUMN_REAL || c->kind == COLUMN_OFF;
        CU_ASSERT(c->place == 0 || scaled == (c->scale > 0));
        for (int j = 0; j < i; j++) {
            CU_ASSERT(c->place == 0 || c->place != columns[j].place);
            CU_ASSERT(!c->name || !columns[j].name || strcmp(c->name, columns[j].name) != 0);
        }
    }
}

/* Readers of older files find the columns that they know where they were. */
static void columns_never_move(void)
{
    static const char *const first[] = {"op",
                                        "chip",
                                        "slice",
                                        "wrap",
                                        "mesh",
                                        "axes",
                                        "ring",
                                        "strategy",
                                        "engine",
                                        "dtype",
                                        "size_bytes",
                                        "chips",
                                        "time_s",
                                        "formula_exact_s",
                                        "formula_rule_s",
                                        "bound_s",
                                        "algbw_Bps",
                                        "busbw_Bps",
                                        "max_link_frac",
                                        "mean_link_frac",
                                        "link_bytes",
                                        "transfers",
                                        "steps",
                                        "compute_s",
                                        "comm_s",
                                        "exposed_comm_s",
                                        "overlap_frac",
                                        "speedup",
                                        "status",
                                        "max_link_bytes",
                                        "varied",
                                        "profile",
                                        "command"};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        CU_ASSERT_STRING_EQUAL(columns[i].name, first[i]);
}

static struct result made(const char *ring, double time_s)
{
    struct result result;
    result_init(&result);
    strcpy(result.op, "all-gather");
    strcpy(result.chip, "v5e");
    strcpy(result.ring, ring);
    strcpy(result.status, "ok");
    result.size_bytes = 2385000;
    result.steps = 7;
    result.time_s = time_s;
    result.formula_exact_s = 11.7e-6;
    result.algbw_Bps = 38.25e9;
    result.max_link_frac = 0.87664;
    return result;
}

static char *print_table(const struct result result[], int results)
{
    char *text = NULL;
    size_t bytes = 0;
    struct status st = {0};
    FILE *out = open_memstream(&text, &bytes);
    CU_ASSERT_FATAL(out != NULL);
    OKAY(report_table(result, results, 0, out, &st), st);
    fclose(out);
    return text;
}

/* What is the same stands above, what differs is a column; what is missing is a dash; what no row has is left out. */
static void tables_have_what_applies(void)
{
    struct result result[] = {made("uni", 12.3468e-6), made("bidi", 11.7e-6)};
    char *text = print_table(result, 2);
    /* 12.3468 / 11.7 - 1 is 5.53 % */
    CU_ASSERT_STRING_EQUAL(
        text, "# all-gather on v5e\n"
              "#     size  ring   time   algbw  formula  diff  max link  steps\n"
              "#      (B)         (us)  (GB/s)     (us)   (%)       (%)\n"
              "   2385000  uni   12.35   38.25    11.70  5.53      87.7      7\n"
              "   2385000  bidi  11.70   38.25    11.70  0.00      87.7      7\n"
              "# formula: none; rule of thumb: none; diff: time against the column to its left, minus 1\n");
    free(text);
    result[0].size_bytes = 0;
    result[0].formula_exact_s = NAN;
    result[0].compute_s = 3e-6;
    result[0].overlap_frac = 0.25;
    result[0].bound_s = 10e-6;
    text = print_table(result, 1); /* 12.3468 / 10 - 1 is 23.47 % */
    CU_ASSERT_STRING_EQUAL(text, "# all-gather on v5e ring uni\n"
                                 "#   time  bound  over bound  max link  steps  compute  overlap\n"
                                 "#   (us)   (us)         (%)       (%)            (us)      (%)\n"
                                 "   12.35  10.00        23.5      87.7      7     3.00     25.0\n");
    free(text);
    result[0].time_s = 2.5; /* as long as steps of models: seconds */
    text = print_table(result, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n   2.500000  0.000010 "));
    free(text);
}

/* 40 + 30 + 60 characters are too many for 80: what is spare gives way, then the last text is cut in its middle. */
static void tables_have_a_width(void)
{
    struct status st = {0};
    char *text = NULL, name[61];
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CU_ASSERT_FATAL(out != NULL);
    memset(name, 'n', 60);
    memcpy(name, "begin", 5);
    memcpy(name + 57, "end", 4);
    struct table table = table_of("what, ?spare, share (%), op_name");
    table.most = 80;
    table_row(&table, "the first one is of forty characters, as", "the second is of thirty, spare", 0.125,
              name);
    OKAY(table_end(&table, out, &st), st);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(
        text, "#  what                                      share  op_name\n"
              "#                                              (%)\n"
              "   the first one is of forty characters, as   12.5  beginnnnn...nnnnnnnnnnnnnend\n"
              "# --wide adds spare\n");
    free(text);
}

/* A long time puts all of its column into seconds, also those below zero; what is not there is no time. */
static void all_times_have_one_unit(void)
{
    struct status st = {0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CU_ASSERT_FATAL(out != NULL);
    struct table table = table_of("what, time (us)");
    table_row(&table, "all", 2.385);
    table_row(&table, "rest", -0.000287);
    table_row(&table, "none", NAN);
    OKAY(table_end(&table, out, &st), st);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(text, "#  what       time\n"
                                 "#              (s)\n"
                                 "   all    2.385000\n"
                                 "   rest  -0.000287\n"
                                 "   none          -\n");
    free(text);
}

SUITE("columns", TEST(table_is_sound), TEST(columns_never_move), TEST(tables_have_what_applies),
      TEST(tables_have_a_width), TEST(all_times_have_one_unit))
