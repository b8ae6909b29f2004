/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What --check checks. The linker puts the functions below before the real ones (--wrap): each counts its calls, and
 * fails if it is told to. */
#include <string.h>

#include "engine/trace.h"
#include "machine/mesh.h"
#include "machine/slice.h"
#include "program/program.h"
#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

#define CHECKS(X)                                                                                            \
    X(slice_check, (const struct slice *slice, struct status *st), (slice, st))                              \
    X(mesh_check, (const struct mesh *mesh, struct status *st), (mesh, st))                                  \
    X(program_check, (const struct program *program, struct status *st), (program, st))                      \
    X(trace_check, (const struct trace *trace, const struct program *program, struct status *st),            \
      (trace, program, st))

enum check {
#define CHECK_ENUM(name, parameters, arguments) of_##name,
    CHECKS(CHECK_ENUM)
#undef CHECK_ENUM
        KINDS
};
static int calls[KINDS], failing = -1;

#define CHECK_WRAP(name, parameters, arguments)                                                              \
    int __real_##name parameters;                                                                            \
    int __wrap_##name parameters;                                                                            \
    int __wrap_##name parameters                                                                             \
    {                                                                                                        \
        calls[of_##name]++;                                                                                  \
        return failing == of_##name ? status_fail(st, STATUS_CHECK, #name " fails")                          \
                                    : __real_##name arguments;                                               \
    }
CHECKS(CHECK_WRAP)
#undef CHECK_WRAP

static int run(const char *op, bool check, struct result *result, struct status *st)
{
    static const char *const option[][2] = {
        {"chip", "v5p"}, {"slice", "4x4x4"}, {"engine", "event"}, {"size", "6MB"}};
    struct catalog catalog = {0};
    struct point point;
    point_init(&point);
    OKAY(option_set(option_by_name("op"), op, &point, st), *st);
    for (size_t i = 0; i < sizeof option / sizeof *option - (op[0] != 'a'); i++) /* a matmul has no size */
        OKAY(option_set(option_by_name(option[i][0]), option[i][1], &point, st), *st);
    point.run.check = check;
    for (int kind = 0; kind < KINDS; kind++)
        calls[kind] = 0;
    int code = job_result(&point, &catalog, result, st);
    catalog_free(&catalog);
    return code;
}

static const char *const ops[] = {"all-reduce", "bf16[64@x,64] . bf16[64,64] -> bf16[64,64]"};

static void without(void)
{
    for (int i = 0; i < 2; i++) {
        struct status st = {0};
        struct result result;
        OKAY(run(ops[i], false, &result, &st), st);
        CU_ASSERT_EQUAL(calls[of_slice_check] + calls[of_mesh_check] + calls[of_trace_check], 0);
    }
}

static void with(void)
{
    for (int i = 0; i < 2; i++) {
        struct status st = {0};
        struct result result;
        OKAY(run(ops[i], true, &result, &st), st);
        for (int kind = 0; kind < KINDS; kind++)
            CU_ASSERT(calls[kind] > 0);
    }
}

static void what_fails_is_told(void)
{
    for (int i = 0; i < 2; i++) {
        for (failing = 0; failing < KINDS; failing++) {
            struct status st = {0};
            struct result result;
            CU_ASSERT_EQUAL(run(ops[i], true, &result, &st), STATUS_CHECK);
            CU_ASSERT_PTR_NOT_NULL(strstr(result.status, "_check fails"));
        }
        failing = -1;
    }
}

SUITE("checks", TEST(without), TEST(with), TEST(what_fails_is_told))
