/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sharding of a result that follows from the call and the sharding of its input. */
#include <string.h>

#include "numbers/evaluate.h"
#include "suite.h"

/* Where --out is left out. */
static void out_specs(void)
{
    static const struct {
        enum call_op op;
        const char *in, *axes;
        bool tiled;
        int dim, split, concat;
        const char *out;
    } rows[] = {
        {CALL_NONE, "P(dp,tp)", "", false, 0, 0, 0, "P(dp,tp)"},
        {CALL_PSUM, "P((dp,tp))", "tp", false, 0, 0, 0, "P(dp)"},
        {CALL_PMAX, "P(dp,tp)", "dp,tp", false, 0, 0, 0, "P()"},
        {CALL_BROADCAST, "P(tp,dp)", "tp", false, 0, 0, 0, "P(None,dp)"},
        {CALL_ALL_GATHER, "P(tp)", "tp", true, 0, 0, 0, "P()"},
        {CALL_ALL_GATHER, "P(dp,tp)", "tp", false, 0, 0, 0, "P(None,dp)"},
        {CALL_ALL_GATHER, "P(dp,tp)", "tp", false, 1, 0, 0, "P(dp)"},
        {CALL_PSUM_SCATTER, "P(None,tp)", "tp", true, 0, 0, 0, "P(tp)"},
        {CALL_PSUM_SCATTER, "P(dp,tp)", "tp", true, 0, 0, 0, "P((dp,tp))"},
        {CALL_PSUM_SCATTER, "P(None,tp)", "tp", false, 0, 0, 0, "P(tp)"},
        {CALL_PSUM_SCATTER, "P(tp,dp)", "tp", false, 1, 0, 0, "P(tp)"},
        {CALL_ALL_TO_ALL, "P(tp)", "tp", true, 0, 1, 0, "P(None,tp)"},
        {CALL_ALL_TO_ALL, "P(None,(dp,tp))", "tp,dp", true, 0, 0, 1, "P((tp,dp))"},
        {CALL_ALL_TO_ALL, "P(None,tp)", "tp", false, 0, 0, 1, "P(tp)"},
        {CALL_ALL_TO_ALL, "P(tp)", "tp", false, 0, 0, 1, "P(None,tp)"},
        {CALL_PPERMUTE, "P(dp,tp)", "tp", false, 0, 0, 0, "P(dp,tp)"},
        {CALL_RING_SHIFT, "P((tp,dp))", "tp,dp", false, 0, 0, 0, "P((tp,dp))"},
        {CALL_RAGGED, "P((dp,tp))", "dp", false, 0, 0, 0, "P((tp,dp))"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct status st = {0};
        struct example example = {.input.dims = 2};
        char text[SPEC_TEXT];
        OKAY(axes_parse("dp=4,tp=2", &example.axes, &st), st);
        OKAY(spec_parse(rows[i].in, &example.axes, &example.in_spec, &st), st);
        OKAY(axis_list_parse(rows[i].axes, &example.axes, &example.call.axes, &st), st);
        example.call.op = rows[i].op;
        example.call.tiled = rows[i].tiled;
        example.call.dim = rows[i].dim;
        example.call.split_axis = rows[i].split;
        example.call.concat_axis = rows[i].concat;
        struct spec out = evaluate_out_spec(&example);
        CU_ASSERT_STRING_EQUAL(spec_print(&out, &example.axes, text), rows[i].out);
        /* Groups hold different results, so that the axes stay. */
        int member[] = {0, 1};
        example.call.divide = (struct groups){2, 1, member};
        if (rows[i].op == CALL_PSUM || rows[i].op == CALL_ALL_GATHER) {
            out = evaluate_out_spec(&example);
            CU_ASSERT_PTR_NOT_NULL(strstr(spec_print(&out, &example.axes, text), "tp"));
        }
    }
}

SUITE("out_spec", TEST(out_specs))
