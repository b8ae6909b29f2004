/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What compiled programs take of memory: padded buffers, live ranges, donation and aliases on texts of our own, each with its
 * sum beside it; and the source lines of what is largest.
 */
#include "hlo/memory_analysis.h"

#include <string.h>

#include "hlo/hlo_read.h"
#include "hlo/layout.h"
#include "suite.h"

#define HEAD "HloModule m, is_scheduled=true"

static void read_text(const char *text, struct module *module)
{
    struct status st = {0};
    OKAY(hlo_read(module, "m.hlo", text, strlen(text), NULL, &st), st);
}

static struct memory_analysis analyse(const char *text)
{
    struct memory_analysis memory;
    struct module module;
    struct status st = {0};
    read_text(text, &module);
    OKAY(memory_analyse(&module, &memory, &st), st);
    module_free(&module);
    return memory;
}

/* Sizes as XLA has them (argument_size_in_bytes of programs with one such argument). */
static void buffers_are_padded(void)
{
    static const struct {
        const char *shape;
        double bytes;
        int space;
    } cases[] = {
        {"f32[9,129]{1,0:T(8,128)}", 16384, SPACE_HBM},
        {"bf16[100,100]{1,0:T(8,128)(2,1)}", 26624, SPACE_HBM},
        {"s8[33,130]{1,0:T(8,128)(4,1)S(1)}", 10240, SPACE_VMEM},
        {"f32[3,5,7]{2,0,1:T(4,128)S(3)}", 10240, SPACE_CMEM},
        {"s4[64,256]{1,0:T(64,128)(8,1)E(4)S(5)}", 8192, SPACE_HOST},
        {"f32[]{:T(128)}", 512, SPACE_HBM},
        {"f32[3,5]{1,0}", 512, SPACE_HBM},
        {"f32[129,3]", 2048, SPACE_HBM},
        {"f32[0,128]{1,0:T(8,128)}", 0, SPACE_HBM},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct module module;
        char text[256];
        snprintf(text, sizeof text, HEAD "\nENTRY %%e {\n  ROOT %%p = %s parameter(0)\n}\n", cases[i].shape);
        read_text(text, &module);
        NEAR(layout_bytes(&module, module_at(&module, 0)->shape), cases[i].bytes, 0);
        CU_ASSERT_EQUAL(layout_space(&module, module_at(&module, 0)->shape), cases[i].space);
        module_free(&module);
    }
}

/* Of four arrays of 4 KiB an argument, and an output of its own, are always there; of the others b and c at once. */
static void ranges_end_at_the_last_use(void)
{
    struct memory_analysis m = analyse(HEAD "\nENTRY %e {\n"
                                            "  %a = f32[1024] parameter(0)\n"
                                            "  %b = f32[1024] negate(%a)\n"
                                            "  %c = f32[1024] add(%a, %b)\n"
                                            "  %d = f32[512] slice(%c), slice={[0:512]}\n"
                                            "  ROOT %o = f32[1024] concatenate(%d, %d), dimensions={0}\n}\n");
    CU_ASSERT_EQUAL(m.arguments_bytes, 4096);
    CU_ASSERT_EQUAL(m.outputs_bytes, 4096);
    CU_ASSERT_EQUAL(m.temporaries_bytes, 8192);
    CU_ASSERT_EQUAL(m.peak_bytes, 16384);
    CU_ASSERT_EQUAL(m.xla_peak_bytes, 16384);
    CU_ASSERT_EQUAL(m.buffers, 4);
    CU_ASSERT_STRING_EQUAL(m.largest[0].shape, "f32[1024]");
}

/* The output takes the argument's buffer; what the compiler lists as one place is one. */
static void aliases_share(void)
{
    struct memory_analysis m = analyse(
        HEAD
        ", input_output_alias={ {0}: (1, {}, may-alias) }, entry_computation_layout={(f32[8])->f32[8]}\n"
        "ENTRY %e {\n"
        "  %a = f32[1024] parameter(0)\n"
        "  %b = f32[1024] parameter(1)\n"
        "  %c = f32[1024] negate(%a)\n"
        "  %d = f32[1024] add(%c, %a), backend_config={\"aliasing_operands\":{\"lists\":[{\"indices\":[\"0\","
        "\"2\"]}]}}\n"
        "  %s = f32[1024] custom-call(%d, %b), custom_call_target=\"k\", output_to_operand_aliasing={{}: (1, "
        "{})}\n"
        "  ROOT %o = (f32[1024], f32[512]) custom-call(%s), custom_call_target=\"l\"\n}\n");
    CU_ASSERT_EQUAL(m.arguments_bytes, 8192);
    CU_ASSERT_EQUAL(m.outputs_bytes, 2048);
    CU_ASSERT_EQUAL(m.temporaries_bytes, 4096);
}

/* The loop's state: the weights go through it unchanged, the sum is one buffer before, in and after it, and free between the
 * parameter's use and the new sum. In a trip t and the sum, then t and the new sum, are there. */
#define LOOP                                                                                                 \
    HEAD "\n%cond {\n  %p = (f32[1024], f32[4096]) parameter(0)\n  ROOT %t = pred[] constant(false)\n}\n"    \
         "%body {\n"                                                                                         \
         "  %p = (f32[1024], f32[4096]) parameter(0)\n"                                                      \
         "  %s = f32[1024] get-tuple-element(%p), index=0\n"                                                 \
         "  %w = f32[4096] get-tuple-element(%p), index=1\n"                                                 \
         "  %t = f32[1024] fusion(%s, %w), kind=kLoop, calls=%fused\n"                                       \
         "  %n = f32[1024] negate(%t)\n"                                                                     \
         "  ROOT %r = (f32[1024], f32[4096]) tuple(%n, %w)\n}\n"                                             \
         "ENTRY %e {\n"                                                                                      \
         "  %w = f32[4096] parameter(0)\n"                                                                   \
         "  %z = f32[1024] broadcast(%w), dimensions={}\n"                                                   \
         "  %i = (f32[1024], f32[4096]) tuple(%z, %w)\n"                                                     \
         "  %l = (f32[1024], f32[4096]) while(%i), condition=%cond, body=%body, "                            \
         "backend_config={\"known_trip_count\":{\"n\":\"3\"}}\n"                                             \
         "  %g = f32[1024] get-tuple-element(%l), index=0\n"                                                 \
         "  ROOT %o = f32[16] slice(%g), slice={[0:16]}\n}\n"
static void loops_have_one_state(void)
{
    struct module module;
    struct memory_analysis m;
    struct status st = {0};
    const char fused[] = HEAD "\n%fused {\n  %a = f32[1024] parameter(0)\n  %b = f32[4096] parameter(1)\n"
                              "  ROOT %c = f32[1024] negate(%a)\n}\n";
    char text[2048];
    snprintf(text, sizeof text, "%s%s", fused, LOOP + strlen(HEAD));
    read_text(text, &module);
    OKAY(memory_analyse(&module, &m, &st), st);
    CU_ASSERT_EQUAL(m.arguments_bytes, 16384);
    CU_ASSERT_EQUAL(m.outputs_bytes, 512);
    CU_ASSERT_EQUAL(m.temporaries_bytes, 8192);
    module_free(&module);
}

/* VMEM counts apart, and value by value: b and c there, where c takes b's place. Flags of a copy take nothing. */
static void spaces_are_apart(void)
{
    struct memory_analysis m =
        analyse(HEAD "\nENTRY %e {\n"
                     "  %a = f32[1024]{0:T(128)} parameter(0)\n"
                     "  %s = (f32[1024]{0:T(128)S(1)}, f32[1024]{0:T(128)}, u32[]{:S(2)}) copy-start(%a)\n"
                     "  %b = f32[1024]{0:T(128)S(1)} copy-done(%s)\n"
                     "  %c = f32[1024]{0:T(128)S(1)} negate(%b), "
                     "backend_config={\"aliasing_operands\":{\"lists\":[{\"indices\":[\"0\",\"1\"]}]}}\n"
                     "  ROOT %o = f32[16]{0:T(128)} slice(%c), slice={[0:16]}\n}\n");
    CU_ASSERT(m.tiled);
    CU_ASSERT_EQUAL(m.temporaries_bytes, 0);
    CU_ASSERT_EQUAL(m.vmem_bytes, 8192);
    CU_ASSERT_EQUAL(m.peak_bytes, 4608);
    CU_ASSERT_EQUAL(m.xla_peak_bytes, 4608 + 8192);
    /* of two values that take b's place at once it counts one; of what a conditional returns none */
    m = analyse(
        HEAD "\nbranch {\n  ROOT %p = f32[1024]{0:T(128)S(1)} parameter(0)\n}\nENTRY %e {\n"
             "  %i = s32[] parameter(0)\n"
             "  %b = f32[1024]{0:T(128)S(1)} broadcast(%i), dimensions={}\n"
             "  %c = (f32[1024]{0:T(128)S(1)}, f32[1024]{0:T(128)S(1)}) custom-call(%b), "
             "custom_call_target=\"x\", "
             "backend_config={\"aliasing_operands\":{\"lists\":[{\"indices\":[\"0\",\"1\",\"2\"]}]}}\n"
             "  %g = f32[1024]{0:T(128)S(1)} get-tuple-element(%c), index=0\n"
             "  %w = f32[1024]{0:T(128)S(1)} conditional(%i, %g, %g), branch_computations={branch, branch}\n"
             "  ROOT %o = f32[16]{0:T(128)} slice(%w), slice={[0:16]}\n}\n");
    CU_ASSERT_EQUAL(m.vmem_bytes, 8192);
    /* XLA counts an argument and an output on the host, 4096 and 512, beside the temporary of 4096 */
    m = analyse(HEAD "\nENTRY %e {\n"
                     "  %a = f32[1024]{0:T(128)S(5)} parameter(0)\n"
                     "  %s = (f32[1024]{0:T(128)}, f32[1024]{0:T(128)S(5)}, u32[]{:S(2)}) copy-start(%a)\n"
                     "  %b = f32[1024]{0:T(128)} copy-done(%s)\n"
                     "  ROOT %o = f32[16]{0:T(128)S(5)} slice(%b), slice={[0:16]}\n}\n");
    CU_ASSERT_EQUAL(m.host_bytes, 4608);
    CU_ASSERT_EQUAL(m.peak_bytes, 4096);
    CU_ASSERT_EQUAL(m.xla_peak_bytes, 8704);
}

/* Pieces in VMEM become what joins them; a SparseCore's start brings no operands, and its scratch is none of ours. */
static void pieces_are_joined(void)
{
    struct memory_analysis m = analyse(
        HEAD "\nENTRY %e {\n"
             "  %a = f32[2048]{0:T(128)} parameter(0)\n"
             "  %s = ((f32[2048]{0:T(128)}), f32[1024]{0:T(128)S(1)}, s32[]{:S(2)}) slice-start(%a), "
             "slice={[0:1024]}\n"
             "  %t = ((f32[2048]{0:T(128)}), f32[1024]{0:T(128)S(1)}, s32[]{:S(2)}) slice-start(%a), "
             "slice={[1024:2048]}\n"
             "  %b = f32[1024]{0:T(128)S(1)} slice-done(%s)\n"
             "  %c = f32[1024]{0:T(128)S(1)} slice-done(%t)\n"
             "  %j = f32[2048]{0:T(128)S(1)} custom-call(%b, %c), custom_call_target=\"ConcatBitcast\"\n"
             "  ROOT %o = f32[16]{0:T(128)} slice(%j), slice={[0:16]}\n}\n");
    CU_ASSERT_EQUAL(m.vmem_bytes, 8192);
    CU_ASSERT_EQUAL(m.temporaries_bytes, 0);
}

static void source_lines_are_found(void)
{
    struct module module;
    struct sources sources;
    struct status st = {0};
    char line[SOURCE_TEXT];
    read_text(HEAD
              "\n\nFileNames\n1 \"llama/layers.py\"\n2 \"run.py\"\n\nFunctionNames\n1 \"attention\"\n\n"
              "FileLocations\n1 {file_name_id=2 function_name_id=1 line=7 end_line=9 column=1 end_column=2}\n"
              "2 {file_name_id=1 function_name_id=1 line=120 end_line=121 column=1 end_column=2}\n\n"
              "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
              "2 {file_location_id=2 parent_frame_id=2}\n\n"
              "ENTRY %e {\n"
              "  %a = f32[8] parameter(0), metadata={op_name=\"p[\\'w\\']\" source_line=4}\n"
              "  %b = f32[8] negate(%a), metadata={op_name=\"jit(f)/neg\" stack_frame_id=2}\n"
              "  %c = f32[8] negate(%b), metadata={op_name=\"x\" source_file=\"old.py\" source_line=3}\n"
              "  ROOT %d = f32[8] negate(%c), metadata={stack_frame_id=9 source_file=\"new.py\"}\n}\n",
              &module);
    OKAY(sources_init(&sources, &module, &st), st);
    CU_ASSERT_STRING_EQUAL(source_line(&sources, 0, line), ""); /* the line of no file */
    CU_ASSERT_STRING_EQUAL(source_op_name(&module, 0, line), "p['w']");
    CU_ASSERT_STRING_EQUAL(source_line(&sources, 1, line), "llama/layers.py:120");
    CU_ASSERT_STRING_EQUAL(source_op_name(&module, 1, line), "jit(f)/neg");
    CU_ASSERT_STRING_EQUAL(source_line(&sources, 2, line), "old.py:3");
    CU_ASSERT_STRING_EQUAL(source_line(&sources, 3, line), "new.py"); /* there is no frame 9, and no line */
    sources_free(&sources);
    module_free(&module);
}

SUITE("memory_analysis", TEST(buffers_are_padded), TEST(ranges_end_at_the_last_use), TEST(aliases_share),
      TEST(loops_have_one_state), TEST(spaces_are_apart), TEST(pieces_are_joined),
      TEST(source_lines_are_found))
