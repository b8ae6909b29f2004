/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public library, as a user of it sees it: this file includes none of our own headers but the suite's, and is
 * linked with libicisim.so. */
#include <errno.h>
#include <icisim/icisim.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

static struct icisim_status st;

static struct icisim_point *make_point(const char *const option[][2])
{
    struct icisim_point *point = icisim_point_new(&st);
    CU_ASSERT_PTR_NOT_NULL_FATAL(point);
    for (; (*option)[0]; option++)
        OKAY(icisim_point_set(point, (*option)[0], (*option)[1], &st), st);
    return point;
}
#define POINT(...) make_point((const char *const[][2]){__VA_ARGS__, {NULL}})

static double run_point(struct icisim_point *point)
{
    double time_s = NAN;
    struct icisim_result *result = icisim_point_run(point, &st);
    OKAY(st.code, st);
    if (result)
        OKAY(icisim_result_real(result, "time_s", &time_s, &st), st);
    icisim_result_free(result);
    return time_s;
}

static void fails(int code, int want, const char *text)
{
    CU_ASSERT_EQUAL(code, want);
    CU_ASSERT_EQUAL(st.code, want);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, text));
    if (code != want || !strstr(st.text, text))
        printf("got %d (%s), want %d (%s)\n", st.code, st.text, want, text);
}

static void versions(void)
{
    int parts = 0, dots = 0;
    CU_ASSERT_EQUAL(sscanf(icisim_version(), "%d.%d.", &parts, &dots), 2);
    int major = 0, minor = 0, patch = 0;
    sscanf(icisim_version(), "%d.%d.%d", &major, &minor, &patch);
    CU_ASSERT_EQUAL(ICISIM_VERSION_NUMBER, major * 10000 + minor * 100 + patch);
    CU_ASSERT_STRING_EQUAL(icisim_code_name(ICISIM_INPUT), "wrong input");
}

static void chips(void)
{
    struct icisim_chip *chip = icisim_chip_new("v5e", "spec", &st);
    CU_ASSERT_PTR_NOT_NULL_FATAL(chip);
    NEAR(icisim_chip_hbm_bytes(chip), 16e9, 1e-12);
    struct icisim_chip *v7x = icisim_chip_new("v7x", "spec", &st);
    CU_ASSERT(icisim_chip_cores(chip) == 1 && icisim_chip_cores(v7x) == 2);
    icisim_chip_free(v7x);
    icisim_chip_free(chip);
    CU_ASSERT_PTR_NULL(icisim_chip_new("v5", "spec", &st));
    fails(st.code, ICISIM_INPUT, "the nearest are");
    CU_ASSERT_PTR_NULL(icisim_chip_new("v5e", "book", &st));
    fails(st.code, ICISIM_INPUT, "profile");
}

static void options(void)
{
    struct icisim_point *point = POINT({"op", "all-gather"}, {"size", "24MB"}, {"slice", "4"});
    CU_ASSERT_STRING_EQUAL(icisim_point_get(point, "size"), "24MB");
    CU_ASSERT_STRING_EQUAL(icisim_point_get(point, "engine"), "event");
    CU_ASSERT_STRING_EQUAL(icisim_point_get(point, "chip"), "v5e"); /* its default */
    CU_ASSERT_PTR_NULL(icisim_point_get(point, "mesh"));
    CU_ASSERT_PTR_NULL(icisim_point_get(point, "csv"));
    fails(icisim_point_set(point, "sise", "1MiB", &st), ICISIM_INPUT, "'sise' is no option");
    fails(icisim_point_set(point, "csv", "out.csv", &st), ICISIM_INPUT, "'csv' is no option");
    fails(icisim_point_set(point, "size", "1MiB:4MiB:x2", &st), ICISIM_INPUT, "one value");
    fails(icisim_point_set(point, "size", "many", &st), ICISIM_INPUT, "many");
    CU_ASSERT_STRING_EQUAL(icisim_point_get(point, "size"), "24MB"); /* as it was */
    /* E4: 3 (1 us + 24 MB / (4 45 GB/s)) = 403 us; with 2 us a hop 406 us */
    NEAR(run_point(point), 403e-6, 1e-12);
    OKAY(icisim_point_set(point, "hop-latency", "2us", &st), st);
    NEAR(run_point(point), 406e-6, 1e-12);
    OKAY(icisim_point_unset(point, "hop-latency", &st), st);
    NEAR(run_point(point), 403e-6, 1e-12);
    fails(icisim_point_unset(point, "csv", &st), ICISIM_INPUT, "'csv' is no option");
    OKAY(icisim_point_unset(point, "size", &st), st);
    CU_ASSERT_PTR_NULL(icisim_point_run(point, &st));
    fails(st.code, ICISIM_INPUT, "--size");
    icisim_point_free(point);
    int count = 0;
    for (; icisim_option_name(count); count++)
        CU_ASSERT(icisim_option_help(count) && strcmp(icisim_option_name(count), "csv") != 0);
    CU_ASSERT(count > 25 && !icisim_option_help(count));
}

static void workload_files(void)
{
    struct icisim_point *point = POINT({"strategy", "naive"});
    OKAY(icisim_point_read(point, "workloads/all-gather-matmul.yaml", &st), st);
    CU_ASSERT_STRING_EQUAL(icisim_point_get(point, "strategy"), "naive");
    CU_ASSERT_PTR_NOT_NULL(icisim_point_get(point, "mesh"));
    struct icisim_result *result = icisim_point_run(point, &st);
    CU_ASSERT_PTR_NOT_NULL_FATAL(result);
    CU_ASSERT_STRING_EQUAL(icisim_result_text(result, "strategy", &st), "naive");
    icisim_result_free(result);
    fails(icisim_point_read(point, "workloads/none.yaml", &st), ICISIM_IO, "none.yaml");
    icisim_point_free(point);
    point = POINT({"tokens-per-chip", "1000"});
    OKAY(icisim_point_read(point, "workloads/llama-8b.yaml", &st), st);
    CU_ASSERT_PTR_NULL(
        icisim_point_run(point, &st)); /* what a mesh cannot share out is a fault of input, too */
    fails(st.code, ICISIM_INPUT, "no whole sequences");
    icisim_point_free(point);
}

static void results(void)
{
    struct icisim_point *point =
        POINT({"op", "all_gather"}, {"size", "24MB"}, {"slice", "4"}, {"ring", "uni"});
    struct icisim_result *result = icisim_point_run(point, &st);
    CU_ASSERT_PTR_NOT_NULL_FATAL(result);
    icisim_point_free(point); /* the result stands alone */
    double value = 0;
    CU_ASSERT_STRING_EQUAL(icisim_result_text(result, "op", &st), "all-gather");
    CU_ASSERT_STRING_EQUAL(icisim_result_text(result, "status", &st), "ok");
    OKAY(icisim_result_real(result, "size_bytes", &value, &st), st);
    NEAR(value, 24e6, 1e-15);
    OKAY(icisim_result_real(result, "transfers", &value, &st), st);
    NEAR(value, 12, 1e-15); /* 3 steps of 4 chips */
    OKAY(icisim_result_real(result, "overlap_frac", &value, &st), st);
    CU_ASSERT(isnan(value));
    fails(icisim_result_real(result, "time", &value, &st), ICISIM_INPUT, "'time' is no column");
    fails(icisim_result_real(result, "op", &value, &st), ICISIM_INPUT, "icisim_result_text()");
    CU_ASSERT_PTR_NULL(icisim_result_text(result, "time_s", &st));
    fails(st.code, ICISIM_INPUT, "icisim_result_real()");
    int count = 0;
    for (; icisim_column_name(count); count++) {
        CU_ASSERT_PTR_NOT_NULL(icisim_column_meaning(count));
        CU_ASSERT(icisim_result_text(result, icisim_column_name(count), NULL) ||
                  icisim_result_real(result, icisim_column_name(count), &value, NULL) == 0);
    }
    CU_ASSERT(count > 30 && !icisim_column_meaning(count));
    icisim_result_free(result);
}

static struct icisim_slice *make_slice(const char *const option[][2])
{
    struct icisim_point *point = make_point(option);
    struct icisim_slice *slice = icisim_slice_new(point, &st);
    icisim_point_free(point);
    CU_ASSERT_PTR_NOT_NULL_FATAL(slice);
    return slice;
}
#define SLICE(...) make_slice((const char *const[][2]){__VA_ARGS__, {NULL}})

static void slices(void)
{
    struct icisim_slice *slice =
        SLICE({"chip", "v4"}, {"slice", "4x4x8"}, {"wrap", "x,z"}, {"mesh", "b=z,a=x*y"});
    CU_ASSERT_EQUAL(icisim_slice_chips(slice), 128);
    CU_ASSERT_EQUAL(icisim_slice_axes(slice), 3);
    CU_ASSERT_EQUAL(icisim_slice_length(slice, 2), 8);
    CU_ASSERT_EQUAL(icisim_slice_length(slice, 3), 1);
    CU_ASSERT(icisim_slice_wraps(slice, 0) && !icisim_slice_wraps(slice, 1) && !icisim_slice_wraps(slice, 9));
    CU_ASSERT_EQUAL(icisim_slice_coordinate(slice, 13, 1), 1); /* (0,1,5) */
    CU_ASSERT_EQUAL(icisim_slice_coordinate(slice, 13, 2), 5);
    CU_ASSERT_EQUAL(icisim_slice_coordinate(slice, 128, 0), -1);
    CU_ASSERT_EQUAL(icisim_slice_coordinate(slice, 13, 3), -1);
    CU_ASSERT_EQUAL(icisim_slice_chip(slice, 16), 1); /* b=1, a=0: z=1 */
    CU_ASSERT_EQUAL(icisim_slice_chip(slice, 128), -1);
    CU_ASSERT_STRING_EQUAL(icisim_slice_mapping(slice), "b on z, a on x*y, jax order");
    icisim_slice_free(slice);
    struct icisim_point *point = POINT({"slice", "4x4"}, {"mesh", "a=3,b=5"});
    CU_ASSERT_PTR_NULL(icisim_slice_new(point, &st));
    fails(st.code, ICISIM_INPUT, "mesh");
    icisim_point_free(point);
}

/* Total of a program on an engine. */
static double total(const struct icisim_program *program, const char *engine)
{
    struct icisim_trace *trace = icisim_trace_new(program, engine, &st);
    OKAY(st.code, st);
    double total_s = trace ? icisim_trace_total_s(trace) : NAN;
    icisim_trace_free(trace);
    return total_s;
}

static void programs(void)
{
    struct icisim_slice *slice = SLICE({"slice", "3x5"}, {"hop-latency", "3us"}, {"link-bandwidth", "7GBps"});
    struct icisim_program *program = icisim_program_new(slice, &st);
    uint8_t middle[15] = {0};
    int32_t to[15];
    double bytes[15], time_s[15];
    for (int chip = 0; chip < 15; chip++) {
        to[chip] = chip == 2 ? 14 : -1;
        bytes[chip] = 14e3 + chip;
        time_s[chip] = chip * 1e-6;
    }
    middle[7] = 1;
    icisim_program_stage(program, "there");
    /* chip 7 = (1,2) sends 35 kB two links along x and y: 6 us + 35 kB / 7 GB/s = 11 us; 1.5 us set-up */
    struct icisim_send send = {
        .hop = {{0, 1}, {1, -1}}, .hops = 2, .bytes = 35e3, .where = middle, .setup_s = 1.5e-6};
    CU_ASSERT_EQUAL(icisim_program_send(program, &send), 0);
    /* chip 11 = (2,1) has it after 12.5 us, and computes 11 us */
    CU_ASSERT_EQUAL(icisim_program_compute(program, &(struct icisim_compute){.time_of_s = time_s}), 1);
    icisim_program_after(program, 0, ICISIM_ARRIVED);
    /* chip 2 = (0,2) to chip 14 = (2,4): 4 links, 12 us + 14,002 B / 7 GB/s = 14.000286 us, after its 2 us */
    CU_ASSERT_EQUAL(icisim_program_send(program, &(struct icisim_send){.to = to, .bytes_of = bytes}), 2);
    icisim_program_after(program, 1, ICISIM_DONE);
    /* and chip 14, which has computed for 14 us, 5 us more */
    CU_ASSERT_EQUAL(icisim_program_compute(program, &(struct icisim_compute){.time_s = 5e-6}), 3);
    icisim_program_after(program, 2, ICISIM_ARRIVED);
    OKAY(icisim_program_check(program, &st), st);
    CU_ASSERT_EQUAL(icisim_program_ops(program), 4);
    struct icisim_trace *trace = icisim_trace_new(program, "event", &st);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    NEAR(icisim_trace_end_s(trace, 0, 7), 12.5e-6, 1e-12);
    CU_ASSERT(isnan(icisim_trace_end_s(trace, 0, 6)));
    NEAR(icisim_trace_start_s(trace, 1, 11), 12.5e-6, 1e-12);
    NEAR(icisim_trace_end_s(trace, 1, 11), 23.5e-6, 1e-12);
    NEAR(icisim_trace_start_s(trace, 2, 2), 2e-6, 1e-12);
    NEAR(icisim_trace_start_s(trace, 3, 14), 2e-6 + 12e-6 + 14002 / 7e9, 1e-12);
    NEAR(icisim_trace_busy_s(trace, 11), 16e-6, 1e-12);
    NEAR(icisim_trace_total_s(trace), 28.5e-6, 1e-12); /* chip 11: 12.5 + 11 + 5 us */
    CU_ASSERT_EQUAL(icisim_trace_critical_chip(trace), 11);
    CU_ASSERT(isnan(icisim_trace_busy_s(trace, 15)) && isnan(icisim_trace_start_s(trace, 4, 0)));
    CU_ASSERT(isnan(icisim_trace_start_s(trace, -1, 0)) && isnan(icisim_trace_end_s(trace, 0, 15)));
    icisim_trace_free(trace);
    NEAR(total(program, "simgrid"), 28.5e-6, 1e-9);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    icisim_program_dump(program, out);
    fclose(out);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "there"));
    free(text);
    icisim_program_free(program);
    icisim_slice_free(slice);
}

/* A program with a fault cannot be run, and says which. */
static void faulty(const struct icisim_slice *slice, struct icisim_send send, int32_t after, int want,
                   const char *text)
{
    struct icisim_program *program = icisim_program_new(slice, &st);
    icisim_program_send(program, &(struct icisim_send){.bytes = 1});
    icisim_program_send(program, &send);
    icisim_program_after(program, after, ICISIM_DONE);
    icisim_program_send(program, &(struct icisim_send){.bytes = 1}); /* right, but the fault sticks */
    fails(icisim_program_check(program, &st), want, text);
    CU_ASSERT_PTR_NULL(icisim_trace_new(program, "event", &st));
    fails(st.code, want, text);
    icisim_program_free(program);
}

#define FAULTY(want, text, ...) faulty(slice, (struct icisim_send){__VA_ARGS__}, -1, want, text)

static void faults(void)
{
    struct icisim_slice *slice = SLICE({"slice", "3x5"});
    int32_t beyond[15] = {15};
    FAULTY(ICISIM_INPUT, "op 1: a hop along axis 2", .hop = {{2, 1}}, .hops = 1);
    FAULTY(ICISIM_INPUT, "op 1: a hop of 5 links", .hop = {{1, 5}}, .hops = 1);
    FAULTY(ICISIM_INPUT, "op 1: a hop of -5 links", .hop = {{1, -5}}, .hops = 1);
    FAULTY(ICISIM_INPUT, "op 1: 4 hops", .hops = 4);
    FAULTY(ICISIM_INPUT, "op 1: chip 0 sends to chip 15", .to = beyond);
    FAULTY(ICISIM_CHECK, "op 1", .hop = {{1, 1}}, .hops = 1); /* the slice does not wrap */
    FAULTY(ICISIM_CHECK, "op 1", .bytes = -1);
    faulty(slice, (struct icisim_send){.bytes = 1}, 1, ICISIM_CHECK, "does not point back");
    struct icisim_program *program = icisim_program_new(slice, &st);
    CU_ASSERT_PTR_NULL(icisim_trace_new(program, "fast", &st));
    fails(st.code, ICISIM_INPUT, "'fast' is no engine");
    CU_ASSERT_STRING_EQUAL(icisim_engine_name(0), "event");
    CU_ASSERT_STRING_EQUAL(icisim_engine_name(1), "simgrid");
    CU_ASSERT_STRING_EQUAL(icisim_engine_name(2), "both");
    CU_ASSERT(!icisim_engine_name(3) && !icisim_engine_name(-1));
    icisim_program_free(program);
    icisim_slice_free(slice);
}

static void collectives(void)
{
    struct icisim_point *point = POINT({"op", "all-gather"}, {"size", "24MB"}, {"slice", "4"});
    struct icisim_slice *slice = icisim_slice_new(point, &st);
    struct icisim_program *program = icisim_program_new(slice, &st);
    int32_t first = icisim_program_compute(program, &(struct icisim_compute){.time_s = 13e-6});
    int32_t gathered = icisim_collective_append(program, point, first, &st);
    CU_ASSERT(gathered > first);
    icisim_program_compute(program, &(struct icisim_compute){.time_s = 5e-6});
    icisim_program_after(program, gathered, ICISIM_DONE);
    OKAY(icisim_point_set(point, "op", "reduce-scatter", &st), st); /* each 403 us, as in options() */
    CU_ASSERT(icisim_collective_append(program, point, icisim_program_ops(program) - 1, &st) > 0);
    NEAR(total(program, "event"), 13e-6 + 403e-6 + 5e-6 + 403e-6, 1e-12);
    NEAR(total(program, "simgrid"), 13e-6 + 403e-6 + 5e-6 + 403e-6, 1e-9);

    fails(icisim_collective_append(program, point, icisim_program_ops(program), &st), ICISIM_INPUT, "no op");
    /* what the builder refuses: on a line there is one route */
    OKAY(icisim_point_set(point, "op", "collective-permute", &st), st);
    OKAY(icisim_point_set(point, "pairs", "1-2", &st), st);
    OKAY(icisim_point_set(point, "routes", "2", &st), st);
    fails(icisim_collective_append(program, point, -1, &st), ICISIM_INPUT, "ask for 1");
    OKAY(icisim_point_unset(point, "pairs", &st), st);
    OKAY(icisim_point_unset(point, "routes", &st), st);
    OKAY(icisim_point_set(point, "op", "all-gather", &st), st);
    OKAY(icisim_point_set(point, "slice", "8", &st), st);
    fails(icisim_collective_append(program, point, -1, &st), ICISIM_INPUT, "not that of the program");
    OKAY(icisim_point_set(point, "slice", "2x2", &st), st);
    fails(icisim_collective_append(program, point, -1, &st), ICISIM_INPUT, "not that of the program");
    OKAY(icisim_point_set(point, "op", "s8[8@x,8] . s8[8,8] -> s8[8@x,8]", &st), st);
    OKAY(icisim_point_unset(point, "size", &st), st);
    fails(icisim_collective_append(program, point, -1, &st), ICISIM_INPUT, "is no collective");
    CU_ASSERT_STRING_EQUAL(icisim_collective_name(0), "all-gather");
    int count = 0;
    while (icisim_collective_name(count))
        CU_ASSERT_PTR_NOT_NULL(icisim_collective_help(count++));
    CU_ASSERT(count >= 7 && !icisim_collective_help(count));
    icisim_program_free(program);
    icisim_slice_free(slice);
    icisim_point_free(point);
}

/* A locale with a decimal comma, made here; false where this machine cannot make one. */
static bool take_comma_locale(const char *folder)
{
    char command[400];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    return setenv("LOCPATH", folder, 1) == 0 && system(command) == 0 && setlocale(LC_ALL, "de_DE.UTF-8");
}

static void locales(void)
{
    char folder[] = "/tmp/icisim-locale-XXXXXX", text[40];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    if (take_comma_locale(folder)) {
        struct icisim_point *point = POINT({"op", "all-gather"}, {"size", "24MB"}, {"slice", "4"});
        OKAY(icisim_point_set(point, "hop-latency", "1.5us", &st), st);
        OKAY(icisim_point_set(point, "engine", "simgrid", &st), st);
        NEAR(run_point(point), 404.5e-6, 1e-9); /* 3 (1.5 us + 24 MB / (4 45 GB/s)) */
        icisim_point_free(point);
        snprintf(text, sizeof text, "%.1f", 1.5);
        CU_ASSERT_STRING_EQUAL(text, "1,5"); /* the caller's locale is as it was */
        setlocale(LC_ALL, "C");
    } else {
        puts("library: no localedef here, and so no locale with a comma");
    }
    char command[80];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

/* What a run writes: a trace, links; and a run that nobody wants any more. */
static void outputs(void)
{
    char path[] = "/tmp/icisim-links-XXXXXX", line[80] = "";
    struct icisim_point *point =
        POINT({"op", "all-gather"}, {"size", "24MB"}, {"slice", "4"}, {"fold", "off"});
    close(mkstemp(path));
    OKAY(icisim_point_write(point, "links", path, &st), st);
    FILE *file = fopen(path, "r");
    CU_ASSERT_TRUE(file && fgets(line, sizeof line, file) && strncmp(line, "chip,x,axis,direction", 21) == 0);
    fclose(file);
    OKAY(icisim_point_write(point, "trace", path, &st), st);
    fails(icisim_point_write(point, "instructions", path, &st), ICISIM_INPUT, "only a module or a model");
    fails(icisim_point_write(point, "pages", path, &st), ICISIM_INPUT, "there are trace, links");
    char *text = icisim_point_text(point, "links", &st);
    CU_ASSERT_TRUE(text && strncmp(text, line, strlen(line)) == 0 && text[strlen(text) - 1] == '\n');
    free(text);
    CU_ASSERT_PTR_NULL(icisim_point_text(point, "pages", &st));
    fails(st.code, ICISIM_INPUT, "there are trace, links");
    struct icisim_point *longer =
        POINT({"op", "ragged-all-to-all"}, {"size", "24MB"}, {"slice", "4x4"}, {"pair-sizes", "random:1"});
    run_point(longer);
    CU_ASSERT(icisim_point_progress(longer) > 0 && icisim_point_progress(longer) <= 1);
    icisim_point_free(longer);
    icisim_point_cancel(point);
    CU_ASSERT_PTR_NULL(icisim_point_run(point, &st));
    CU_ASSERT_STRING_EQUAL(st.text, "the simulation was cancelled");
    icisim_point_free(point);
    remove(path);
}

/* A module's text in memory is simulated as the same text in a file. */
static void module_text(void)
{
    static const char text[] = "HloModule m, num_partitions=4\n\nENTRY %main (p: f32[3,5]) -> f32[12,5] {\n"
                               "  %p = f32[3,5]{1,0} parameter(0)\n"
                               "  ROOT %g = f32[12,5]{1,0} all-gather(%p), channel_id=1, "
                               "replica_groups=[1,4]<=[4], dimensions={0}, use_global_device_ids=true\n}\n";
    char path[] = "/tmp/icisim-text-XXXXXX.hlo";
    int fd = mkstemps(path, 4);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    struct icisim_point *point = POINT({"op", text}, {"slice", "4"}, {"mesh", "x=4"}, {"profile", "spec"});
    double time_s = run_point(point);
    OKAY(icisim_point_set(point, "op", path, &st), st);
    CU_ASSERT(time_s > 0 && time_s == run_point(point));
    OKAY(icisim_point_set(point, "op", "HloModule m\nENTRY {", &st), st);
    CU_ASSERT_PTR_NULL(icisim_point_run(point, &st));
    fails(st.code, ICISIM_INPUT, "text:2:");
    icisim_point_free(point);
    remove(path);
}

/* A handle or a text that is NULL is a fault; to free NULL is none. */
static void nulls(void)
{
    struct icisim_point *point = POINT({"op", "all-gather"}, {"size", "24MB"}, {"slice", "4"});
    struct icisim_chip *chip = icisim_chip_new("v5e", "spec", &st);
    struct icisim_slice *slice = icisim_slice_new(point, &st);
    struct icisim_program *program = icisim_program_new(slice, &st);
    struct icisim_result *result = icisim_point_run(point, &st);
    double value;
    fails(icisim_point_set(NULL, "op", "all-gather", &st), ICISIM_INPUT, "is NULL");
    fails(icisim_point_set(point, NULL, "all-gather", &st), ICISIM_INPUT, "is NULL");
    fails(icisim_point_set(point, "op", NULL, &st), ICISIM_INPUT, "is NULL");
    fails(icisim_point_unset(NULL, "op", &st), ICISIM_INPUT, "is NULL");
    fails(icisim_point_unset(point, NULL, &st), ICISIM_INPUT, "is NULL");
    fails(icisim_point_read(NULL, "w.yaml", &st), ICISIM_INPUT, "is NULL");
    fails(icisim_point_read(point, NULL, &st), ICISIM_INPUT, "is NULL");
    fails(icisim_point_write(NULL, "trace", "t.json", &st), ICISIM_INPUT, "is NULL");
    fails(icisim_point_write(point, NULL, "t.json", &st), ICISIM_INPUT, "is NULL");
    fails(icisim_point_write(point, "trace", NULL, &st), ICISIM_INPUT, "is NULL");
    fails(icisim_result_real(NULL, "time_s", &value, &st), ICISIM_INPUT, "is NULL");
    fails(icisim_result_real(result, NULL, &value, &st), ICISIM_INPUT, "is NULL");
    fails(icisim_result_real(result, "time_s", NULL, &st), ICISIM_INPUT, "is NULL");
    fails(icisim_program_check(NULL, &st), ICISIM_INPUT, "is NULL");
    fails(icisim_collective_append(NULL, point, -1, &st), ICISIM_INPUT, "is NULL");
    fails(icisim_collective_append(program, NULL, -1, &st), ICISIM_INPUT, "is NULL");
    const bool handles = icisim_point_run(NULL, &st) || icisim_result_text(NULL, "op", &st) ||
                         icisim_result_text(result, NULL, &st) || icisim_chip_new(NULL, "spec", &st) ||
                         icisim_chip_new("v5e", NULL, &st) || icisim_slice_new(NULL, &st) ||
                         icisim_program_new(NULL, &st) || icisim_trace_new(NULL, "event", &st) ||
                         icisim_trace_new(program, NULL, &st);
    CU_ASSERT_FALSE(handles);
    fails(st.code, ICISIM_INPUT, "is NULL");
    CU_ASSERT_EQUAL(icisim_point_set(NULL, NULL, NULL, NULL), ICISIM_INPUT); /* nobody is told */
    icisim_trace_free(NULL);
    icisim_result_free(NULL);
    icisim_point_free(NULL);
    icisim_slice_free(NULL);
    icisim_chip_free(NULL);
    icisim_program_free(NULL);
    icisim_result_free(result);
    icisim_program_free(program);
    icisim_slice_free(slice);
    icisim_chip_free(chip);
    icisim_point_free(point);
}

/* What a program has of its own: what each signal does, which are blocked, the locale, errno. */
struct own {
    struct sigaction action[NSIG];
    sigset_t blocked;
    locale_t locale;
    char name[80];
    int number;
};

static struct own look(void)
{
    struct own own = {.locale = uselocale((locale_t)0), .number = errno};
    for (int s = 1; s < NSIG; s++)
        sigaction(s, NULL, &own.action[s]);
    sigprocmask(SIG_BLOCK, NULL, &own.blocked);
    snprintf(own.name, sizeof own.name, "%s", setlocale(LC_ALL, NULL));
    errno = own.number;
    return own;
}

static void is_left_alone(const struct own *before)
{
    const struct own after = look();
    CU_ASSERT_EQUAL(after.number, before->number);
    CU_ASSERT(after.locale == before->locale && strcmp(after.name, before->name) == 0);
    for (int s = 1; s < NSIG; s++) {
        CU_ASSERT(before->action[s].sa_handler == after.action[s].sa_handler);
        CU_ASSERT_EQUAL(sigismember(&before->blocked, s), sigismember(&after.blocked, s));
    }
}

static void on_usr1(int number)
{
    (void)number;
}

/* Calls that work and calls that do not, in each engine, leave that alone, and print nothing. */
static void the_callers_own(void)
{
    FILE *printed = tmpfile();
    int kept[2] = {dup(1), dup(2)};
    sigset_t two;
    sigemptyset(&two);
    sigaddset(&two, SIGUSR2);
    sigprocmask(SIG_BLOCK, &two, NULL);
    signal(SIGUSR1, on_usr1);
    signal(SIGPIPE, SIG_IGN);
    fflush(NULL);
    dup2(fileno(printed), 1);
    dup2(fileno(printed), 2);
    errno = EXDEV;
    const struct own before = look();
    const char *const faults[][2] = {
        {"slice", "4x4x4x4"}, {"chip", "/no/chip.yaml"}, {"size", "64m"}, {"engine", "x"}};
    struct icisim_point *point = POINT({"op", "ragged-all-to-all"}, {"size", "7MB"}, {"slice", "2x4"},
                                       {"pair-sizes", "random:3"}, {"dtype", "int8"});
    for (int e = 0; e < 3; e++) {
        OKAY(icisim_point_set(point, "engine", icisim_engine_name(e), &st), st);
        run_point(point);
        is_left_alone(&before);
    }
    icisim_point_read(point, "/no/workload.yaml", &st);
    icisim_point_write(point, "links", "/no/folder/links.csv", &st);
    is_left_alone(&before);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        icisim_point_set(point, faults[i][0], faults[i][1], &st);
        icisim_result_free(icisim_point_run(point, &st));
        is_left_alone(&before);
    }
    icisim_point_free(point);
    fflush(NULL);
    CU_ASSERT_EQUAL(lseek(fileno(printed), 0, SEEK_END), 0);
    dup2(kept[0], 1);
    dup2(kept[1], 2);
    close(kept[0]);
    close(kept[1]);
    fclose(printed);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &two, NULL);
}

SUITE("library", TEST(nulls), TEST(the_callers_own), TEST(versions), TEST(chips), TEST(options),
      TEST(workload_files), TEST(results), TEST(slices), TEST(programs), TEST(faults), TEST(collectives),
      TEST(locales), TEST(outputs), TEST(module_text))
