/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings: lists, ranges, workload files, the grid of points. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void add(struct settings *settings, const char *name, const char *text)
{
    struct status st = {0};
    OKAY(settings_add(settings, row(name), text, &st), st);
}

static void lists_and_ranges_expand(void)
{
    static const struct {
        const char *name, *text;
        int count;
        const char *first, *last;
    } cases[] = {
        {"size", "1MiB", 1, "1MiB", "1MiB"},
        {"size", "4096", 1, "4096", "4096"}, /* bytes */
        {"size", "1000:9000:x3", 3, "1000B", "9000B"},
        {"size", "3B,5kB", 2, "3B", "5kB"},
        {"size", "1MiB:1GiB:x4", 6, "1048576B", "1073741824B"},
        {"size", "1MiB:4MiB:+1MiB,1GiB", 5, "1048576B", "1GiB"},
        {"size", "1kB:5kB:x2", 3, "1000B", "4000B"}, /* 8 kB is past the end */
        {"size", "1kB:4kB:+1500B,7B", 4, "1000B", "7B"},
        {"size", " 1 MiB : 4 MiB : x2 , 7 B", 4, "1048576B", "7 B"},
        {"size", "1 MiB:2 MiB: + 512 KiB", 3, "1048576B", "2097152B"},
        {"size", "2B:2B:x2", 1, "2B", "2B"},
        {"predict", "1MiB:1GiB:x4", 6, "1048576B", "1073741824B"},
        {"slice", "4x4,8x8", 2, "4x4", "8x8"},
        {"ring", "uni,bidi,bidi-half", 3, "uni", "bidi-half"},
        {"ring", "uni, bidi", 2, "uni", "bidi"}, /* blanks as people write lists */
        {"link-bandwidth", "45 GB/s, 360 Gbps", 2, "45 GB/s", "360 Gbps"},
        {"hop-latency", "1 us : 3 us : + 2 us", 2, "1e-06s", "3e-06s"},
        {"axis", "x,y", 1, "x,y", "x,y"},
        {"mesh", "dp=4,tp=2", 1, "dp=4,tp=2", "dp=4,tp=2"},
        {"link-bandwidth", "10GBps:40GBps:x2", 3, "10000000000Bps", "40000000000Bps"},
        {"offset", "-1:1:+1", 3, "-1", "1"},
        /* 0.1 + 2*0.1 is 0.30000000000000004: the end of a range counts as hit */
        {"hop-latency", "0.1us:0.3us:+0.1us", 3, "1e-07s", "3e-07s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct settings settings;
        settings_init(&settings);
        add(&settings, cases[i].name, cases[i].text);
        const struct setting *setting = &settings.of[option_index(row(cases[i].name))];
        CU_ASSERT_EQUAL_FATAL(setting->count, cases[i].count);
        CU_ASSERT_STRING_EQUAL(setting->text[0], cases[i].first);
        CU_ASSERT_STRING_EQUAL(setting->text[setting->count - 1], cases[i].last);
        settings_free(&settings);
    }
}

static void wrong_lists_are_refused(void)
{
    static const char *const wrong[][2] = {
        {"slice", "4x4,,8x8"},         {"ring", "uni,"},          {"size", "1MiB:2MiB"},
        {"size", "2MiB:1MiB:x2"},      {"size", "1MiB,64m"},      {"hop-latency", "1us:2us"},
        {"hop-latency", "2us:1us:x2"}, {"offset", "1:9:x1"},      {"hop-latency", "0us:1us:x2"},
        {"routes", "1:3:+0"},          {"size", "1MiB:1GiB:x1"},  {"size", "1MiB:1GiB:x1.5"},
        {"size", "1MiB:1GiB:4"},       {"size", "1MiB:1GiB:+0B"}, {"size", "0B:1GiB:x2"},
        {"size", "1B:1GiB:+1B"},       {"size", "1MiB,,2MiB"},    {"size", "1MiB:2m:x2"},
        {"offset", "1:2000000:+1"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct settings settings;
        struct status st = {0};
        settings_init(&settings);
        CU_ASSERT(settings_add(&settings, row(wrong[i][0]), wrong[i][1], &st) < 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(st.text, wrong[i][0]));
        settings_free(&settings);
    }
}

static void last_value_counts_where_one_is_meant(void)
{
    struct settings settings;
    settings_init(&settings);
    CU_ASSERT_STRING_EQUAL(settings_text(&settings, "jobs"), "1");
    add(&settings, "jobs", "3");
    add(&settings, "jobs", "5");
    add(&settings, "axis", "x");
    add(&settings, "axis", "x,y");
    CU_ASSERT_EQUAL(settings_integer(&settings, "jobs"), 5);
    CU_ASSERT_EQUAL(settings_count(&settings, "jobs"), 1);
    CU_ASSERT_EQUAL(settings_count(&settings, "axis"), 2);
    CU_ASSERT(!settings_flag(&settings, "steps"));
    add(&settings, "steps", "on");
    CU_ASSERT(settings_flag(&settings, "steps"));
    settings_free(&settings);
}

/* slice is above size and size above ring in the table, so ring varies fastest. */
static void grid_has_a_fixed_order(void)
{
    static const char *const slices[] = {"4x4", "8x8"};
    static const int rings[] = {RING_BIDI, RING_UNI};
    struct settings settings;
    struct grid grid;
    struct status st = {0};
    settings_init(&settings);
    add(&settings, "ring", "bidi,uni");
    add(&settings, "size", "3kB,5kB,7kB");
    add(&settings, "slice", "4x4,8x8");
    OKAY(grid_init(&grid, &settings, &st), st);
    CU_ASSERT_EQUAL_FATAL(grid.points, 12);
    for (int i = 0; i < 12; i++) {
        struct point point;
        grid_point(&grid, i, &point);
        CU_ASSERT_STRING_EQUAL(point.machine.slice, slices[i / 6]);
        CU_ASSERT_EQUAL(point.work.size_bytes, (uint64_t)(3000 + 2000 * (i / 2 % 3)));
        CU_ASSERT_EQUAL(point.schedule.ring, rings[i % 2]);
        CU_ASSERT_EQUAL(grid_value(&grid, i, row("size")), i / 2 % 3);
        int64_t uni = grid_with(&grid, i, row("ring"), grid_find(&grid, row("ring"), "uni"));
        CU_ASSERT_EQUAL(uni, i / 2 * 2 + 1);
    }
    CU_ASSERT_EQUAL(grid_value(&grid, 0, row("wrap")), -1);
    CU_ASSERT_EQUAL(grid_find(&grid, row("ring"), "bidi-half"), -1);
    settings_free(&settings);
}

static void grid_names_what_has_no_column(void)
{
    struct settings settings;
    struct grid grid;
    struct status st = {0};
    char text[64];
    settings_init(&settings);
    add(&settings, "ring", "bidi,uni");
    add(&settings, "routes", "1,2");
    add(&settings, "root", "3");
    add(&settings, "check", "on"); /* changes no time */
    OKAY(grid_init(&grid, &settings, &st), st);
    CU_ASSERT_STRING_EQUAL(grid_print_given(&grid, 0, text, sizeof text), "root=3 routes=1");
    CU_ASSERT_STRING_EQUAL(grid_print_given(&grid, 3, text, sizeof text), "root=3 routes=2");
    settings_free(&settings);
}

/* Each value once, quoted where a shell would read more into it; flags by their name alone, and only where they are on. */
static void grid_says_the_command_of_a_point(void)
{
    struct settings settings;
    struct grid grid;
    struct status st = {0};
    settings_init(&settings);
    add(&settings, "op", "A[B@X,D] . C[D,F]");
    add(&settings, "mesh", "X=2");
    add(&settings, "chip", "it's.yaml");
    add(&settings, "hop-latency", "1us:2us:+1us");
    add(&settings, "offset", "-3");
    add(&settings, "fold", "off");
    add(&settings, "check", "on");
    add(&settings, "keep-ties", "off");
    add(&settings, "jobs", "3");
    OKAY(grid_init(&grid, &settings, &st), st);
    CU_ASSERT_EQUAL_FATAL(grid.points, 2);
    char *command = grid_command(&grid, 1);
    CU_ASSERT_STRING_EQUAL(command,
                           "run 'A[B@X,D] . C[D,F]' --chip 'it'\\''s.yaml' --mesh X=2 --hop-latency 2e-06s "
                           "--offset -3 --fold off --check");
    free(command);
    settings_free(&settings);
}

/* Values that are idle in a point do not name it; what is idle leaves idle what stands beside it. */
static void grid_leaves_out_what_is_idle(void)
{
    struct settings settings;
    struct grid grid;
    struct status st = {0};
    char text[64];
    settings_init(&settings);
    settings.kind = workload_kind;
    add(&settings, "op", "A[B@X,D] . C[D,F]");
    add(&settings, "strategy", "naive,uni");
    add(&settings, "all-reduce", "scatter-gather,chunks");
    add(&settings, "chunks", "5");
    OKAY(grid_init(&grid, &settings, &st), st);
    static const char *const given[] = {"", "", "all-reduce=scatter-gather", "all-reduce=chunks chunks=5"};
    static const char *const naive = "run 'A[B@X,D] . C[D,F]' --strategy naive";
    CU_ASSERT_EQUAL_FATAL(grid.points, 4);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_STRING_EQUAL(grid_print_given(&grid, i, text, sizeof text), given[i]);
    char *command = grid_command(&grid, 1);
    CU_ASSERT_STRING_EQUAL(command, naive);
    free(command);
    settings_free(&settings);
}

/* What closes an option leaves what was given, but for the fallback. */
static void grid_refuses_to_explode(void)
{
    struct settings settings;
    struct grid grid;
    struct status st = {0};
    settings_init(&settings);
    add(&settings, "size", "1KiB:64KiB:+1B"); /* 64,513 sizes */
    add(&settings, "offset", "1:200:+1");
    CU_ASSERT_EQUAL(grid_init(&grid, &settings, &st), STATUS_LIMIT);
    settings_free(&settings);
}

static int read_text(struct settings *settings, const char *text, struct status *st)
{
    char path[] = "/tmp/icisim-workload-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    int code = settings_read(settings, path, st);
    unlink(path);
    return code;
}

static void workload_files_set_options_and_the_command_line_wins(void)
{
    struct settings settings;
    struct grid grid;
    struct status st = {0};
    settings_init(&settings);
    add(&settings, "size", "7kB");
    OKAY(read_text(&settings, "about: a test\nop: all-gather\nslice: 4x4\nsize: 5kB\nring: [uni, bidi]\n",
                   &st),
         st);
    OKAY(grid_init(&grid, &settings, &st), st);
    CU_ASSERT_EQUAL_FATAL(grid.points, 2);
    struct point point;
    grid_point(&grid, 1, &point);
    CU_ASSERT_STRING_EQUAL(point.work.op, "all-gather");
    CU_ASSERT_STRING_EQUAL(point.machine.slice, "4x4");
    CU_ASSERT_EQUAL(point.work.size_bytes, 7000);
    CU_ASSERT_EQUAL(point.schedule.ring, RING_BIDI);
    CU_ASSERT_PTR_NOT_NULL(strstr(point.work.file, "icisim-workload-"));
    settings_free(&settings);
}

/* A mapping, a list of mappings, and the text that they stand for. */
static void workload_files_may_write_mappings(void)
{
    struct settings settings;
    struct grid grid;
    struct point point;
    struct status st = {0};
    settings_init(&settings);
    OKAY(read_text(
             &settings,
             "op: A[B@X,D] . C[D,F]\nmesh: [{X: 2, Y: 4}, 'X=4,Y=2', {X: x*y}]\ndims: {B: 64, D: 32, F: 48}\n"
             "peak:\n  int32: 19.17Tflops\n",
             &st),
         st);
    OKAY(grid_init(&grid, &settings, &st), st);
    CU_ASSERT_EQUAL_FATAL(grid.points, 3);
    grid_point(&grid, 0, &point);
    CU_ASSERT_STRING_EQUAL(point.machine.mesh, "X=2,Y=4");
    CU_ASSERT_STRING_EQUAL(point.work.dims, "B=64,D=32,F=48");
    CU_ASSERT_STRING_EQUAL(point.machine.peak, "int32=19.17Tflops");
    grid_point(&grid, 2, &point);
    CU_ASSERT_STRING_EQUAL(point.machine.mesh, "X=x*y");
    settings_free(&settings);
}

static void faults_of_workload_files_have_a_place(void)
{
    static const struct {
        const char *text, *place, *says;
    } cases[] = {
        {"op: all-gather\nslise: 4x4\n", ":2:8:", "slice"},
        {"op: all-gather\nring:\n  - uni\n  - both\n", ":4:5:", "both"},
        {"op: all-gather\nsize: 64m\n", ":2:7:", "MiB"},
        {"slice: 4x4\n", ":1:1:", "op"},
        {"op: psum\nmesh: {X: [2]}\n", ":2:11:", "X must be one value"},
        {"op: psum\nmesh: {}\n", ":2:7:", "mesh is empty"},
        {"op: psum\nslice: {X: 2}\n", ":2:8:", "slice must be one value"},
        {"- op\n", ":1:", "mapping"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct settings settings;
        struct status st = {0};
        settings_init(&settings);
        CU_ASSERT(read_text(&settings, cases[i].text, &st) < 0);
        if (!strstr(st.text, cases[i].place) || !strstr(st.text, cases[i].says))
            fprintf(stderr, "%s\n", st.text);
        CU_ASSERT_PTR_NOT_NULL(strstr(st.text, cases[i].place));
        CU_ASSERT_PTR_NOT_NULL(strstr(st.text, cases[i].says));
        settings_free(&settings);
    }
}

SUITE("settings", TEST(lists_and_ranges_expand), TEST(wrong_lists_are_refused),
      TEST(last_value_counts_where_one_is_meant), TEST(grid_has_a_fixed_order),
      TEST(grid_names_what_has_no_column), TEST(grid_says_the_command_of_a_point),
      TEST(grid_leaves_out_what_is_idle), TEST(grid_refuses_to_explode),
      TEST(workload_files_set_options_and_the_command_line_wins), TEST(workload_files_may_write_mappings),
      TEST(faults_of_workload_files_have_a_place))
