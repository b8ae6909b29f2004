/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workloads of parts whose times are worked out by hand, in both engines, and the schedules that they follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "settings/option.h"
#include "settings/settings.h"
#include "study/parts.h"
#include "suite.h"

/* No latency: the word that a batch has left takes no time. */
#define MACHINE "slice: 2x4\nchip: v5e\nhop-latency: 0s\n"

/* A file of that text, opened with one more option, "in-flight=3", or none. */
struct opened {
    char path[64];
    struct settings settings;
    struct grid grid;
    struct point point;
    struct catalog catalog;
    struct job job;
};

static int open_text(struct opened *o, const char *text, const char *option, const char *value,
                     struct status *st)
{
    *o = (struct opened){.path = "/tmp/icisim-parts-XXXXXX.yaml"};
    FILE *file = fdopen(mkstemps(o->path, 5), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
    settings_init(&o->settings);
    int code = settings_read(&o->settings, o->path, st);
    if (code == 0 && option)
        code = settings_add(&o->settings, option_by_name(option), value, st);
    if (code == 0)
        code = grid_init(&o->grid, &o->settings, st);
    if (code == 0) {
        grid_point(&o->grid, 0, &o->point);
        code = job_open(&o->job, &o->point, &o->catalog, st);
    }
    return code;
}

static void close_text(struct opened *o)
{
    job_close(&o->job);
    catalog_free(&o->catalog);
    settings_free(&o->settings);
    remove(o->path);
}

/* Checks the time of a batch and the formula beside it, in both engines. */
static void takes(const char *text, const char *in_flight, double us)
{
    static const char *const engines[] = {"event", "simgrid"};
    for (int e = 0; e < 2; e++) {
        struct opened o;
        struct status st = {0};
        struct result result;
        OKAY(open_text(&o, text, "in-flight", in_flight, &st), st);
        o.point.run.engine = e;
        o.point.run.check = true;
        CU_ASSERT_STRING_EQUAL(engine_list()[e]->name, engines[e]);
        OKAY(job_result(&o.point, &o.catalog, &result, &st), st);
        NEAR(result.time_s, us * 1e-6, 1e-9);
        NEAR(result.formula_exact_s, us * 1e-6, 1e-9);
        close_text(&o);
    }
}

/*
 * a hands to b and to c, b to c: the longest way of a batch is a 7, a>b 2, b 11, b>c 3, c 5 = 28 us. With d batches in flight one
 * comes every 28/d us, until b is always busy: 14 us, 11 us.
 */
static const char triangle[] = "parts:\n"
                               "  c: {time: 5us, mesh: \"d=3\", on: \"4-6\"}\n"
                               "  a: {time: 7us, mesh: \"d=2\", on: 0-1}\n"
                               "  b: {time: 11us, mesh: \"d=2\", on: 2-3}\n"
                               "transfers:\n"
                               "  - {from: b, to: c, time: 3us}\n"
                               "  - {from: a, to: c, time: 1us}\n"
                               "  - {from: a, to: b, time: 2us}\n" MACHINE;

static void three_parts(void)
{
    takes(triangle, "1", 28);
    takes(triangle, "2", 14);
    takes(triangle, "3", 11);
    takes(triangle, "5", 11);
}

/* A transfer is what is busy most: a 3, a>b 17, b 5, b>c 17, c 2 in a row: 44 us, 22 us, then 17 us. */
static void a_chain(void)
{
    static const char text[] = "parts:\n"
                               "  a: {time: 3us, mesh: \"d=2\", on: 0-1}\n"
                               "  b: {time: 5us, mesh: \"d=2\", on: 2-3}\n"
                               "  c: {time: 2us, mesh: \"d=2\", on: 4-5}\n"
                               "transfers: {time: 17us}\n" MACHINE;
    takes(text, "1", 44);
    takes(text, "2", 22);
    takes(text, "3", 17);
}

/* Two that begin, two that end, one that does both: a 13 > c 7, b 4 > c 7, a 13 > d 8, e 19 alone. The longest way is
 * a 13 + 6 + d 8 = 27 us; with two in flight a batch comes every 13.5 us but for e, which takes 19. */
static void many_ends(void)
{
    static const char text[] = "parts:\n"
                               "  a: {time: 13us, mesh: \"d=2\", on: 0-1}\n"
                               "  b: {time: 4us, mesh: \"d=1\", on: 2}\n"
                               "  c: {time: 7us, mesh: \"d=1\", on: 3}\n"
                               "  d: {time: 8us, mesh: \"d=3\", on: 4-6}\n"
                               "  e: {time: 19us, mesh: \"d=1\", on: 7}\n"
                               "transfers:\n"
                               "  - {from: a, to: c, time: 1us}\n"
                               "  - {from: b, to: c, time: 2us}\n"
                               "  - {from: a, to: d, time: 6us}\n" MACHINE;
    takes(text, "1", 27);
    takes(text, "2", 19);
}

static void one_part(void)
{
    static const char text[] = "parts:\n  a: {time: 23us, mesh: \"d=8\", on: 0-7}\n" MACHINE;
    takes(text, "1", 23);
    takes(text, "4", 23);
}

/* x has 16 x 32 elements of 2 B, which one chip hands to its neighbour: 1024 B over a link of 40 GB/s are 25.6 ns. */
static void bytes(void)
{
    char text[1024], folder[256];
    struct opened o;
    struct status st = {0};
    struct result result;
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(folder, sizeof folder));
    snprintf(text, sizeof text,
             "parts:\n"
             "  t: {step: %s/workloads/distillation/teacher.yaml, mesh: \"tp=1\", on: 0}\n"
             "  s: {step: %s/workloads/distillation/student.yaml, mesh: \"dp=1\", on: 1}\n"
             "transfers: [{from: t.x, to: s.x}]\nlink-bandwidth: 40GBps\n" MACHINE,
             folder, folder);
    OKAY(open_text(&o, text, NULL, NULL, &st), st);
    OKAY(job_result(&o.point, &o.catalog, &result, &st), st);
    CU_ASSERT_PTR_NOT_NULL(strstr(result.parts, " t>s=2.56e-08 "));
    close_text(&o);
}

static void a_schedule(void)
{
    struct opened o;
    struct status st = {0};
    char text[RESULT_LINE];
    OKAY(open_text(&o, triangle, NULL, NULL, &st), st);
    const struct parts *parts = parts_of(&o.job);
    CU_ASSERT_PTR_NOT_NULL_FATAL(parts);
    CU_ASSERT_STRING_EQUAL(flow_print(parts, text),
                           "a 0, a sends 0, b 0, b sends 0, c 0, a 1, a sends 1, b 1, b sends 1, c 1, ...");
    close_text(&o);
}

SUITE("parts", TEST(three_parts), TEST(a_chain), TEST(many_ends), TEST(one_part), TEST(bytes),
      TEST(a_schedule))
