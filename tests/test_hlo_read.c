/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of HLO text: every spelling; test_hlo_refusals.c has what it refuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/hlo_read.h"
#include "modules.h"

static void entry_of(struct module *module, const char *instructions)
{
    char *text = entry_text(instructions);
    module_of(module, text);
    free(text);
}

static void numbers_are(const struct module *module, const char *name, enum attribute_key key,
                        const char *want)
{
    int count, used = 0;
    char got[256] = "";
    const int64_t *number = module_numbers(module, instruction_of(module, NULL, name), key, &count);
    for (int i = 0; i < count && used < 240; i++)
        used += snprintf(got + used, sizeof got - (size_t)used, "%s%lld", i ? " " : "", (long long)number[i]);
    CU_ASSERT_STRING_EQUAL(got, want);
}

static void words_are(const struct module *module, const char *name, enum attribute_key key, const char *want)
{
    CU_ASSERT_STRING_EQUAL(module_value(module, instruction_of(module, NULL, name), key), want);
}

static void reads_headers(void)
{
    struct module m;
    module_of(&m,
              "// a comment\n\nHloModule jit_step.12, is_scheduled=true, input_output_alias={ {0}: (0, {}, "
              "may-alias) },"
              " replica_count=2, num_partitions=3,\n  allow_spmd={true,false}\n\nFileNames\n1 \"a.py\"\n\n"
              "FunctionNames\n1 \"main\"\n\nFileLocations\n1 {file_name_id=1 line=7}\n\nStackFrames\n"
              "1 {file_location_id=1}\n2 {file_location_id=1 parent_frame_id=1}\n\n"
              "%sum.1 (x: f32[], y: (f32[], /*index=1*/s32[2])) -> (f32[2]{0}, token[]) {\n"
              "  ROOT %x = f32[] parameter(0)\n}, execution_thread=\"main\"\n\n"
              "ENTRY %main.3_spmd (p: f32[8]) -> f32[8]{0} {\n  ROOT %p = f32[8]{0} parameter(0)\n}\n");
    CU_ASSERT_STRING_EQUAL(module_word(&m, m.name), "jit_step.12");
    CU_ASSERT_STRING_EQUAL(module_word(&m, m.header),
                           "input_output_alias={ {0}: (0, {}, may-alias) }, allow_spmd={true,false}");
    CU_ASSERT(m.scheduled && m.replicas == 2 && m.partitions == 3);
    CU_ASSERT(m.computations == 2 && m.entry == 1);
    CU_ASSERT_STRING_EQUAL(module_word(&m, m.computation[0].name), "sum.1");
    CU_ASSERT_STRING_EQUAL(module_word(&m, m.computation[1].name), "main.3_spmd");
    module_free(&m);
}

static void reads_shapes(void)
{
    struct module m;
    entry_of(
        &m,
        "  a = (bf16[4,1024]{1,0:T(8,128)(2,1)S(1)}, (f32[]{:T(128)}, token[]), /*index=2*/s8[0]{0:S(0)},\n"
        "       opaque[]) custom-call(p), custom_call_target=\"x\"\n"
        "  b = f4e2m1fn[7] custom-call(f32[8,16]{1,0} %p), custom_call_target=\"x\"\n"
        "  c = u2[5] custom-call((bf16[4,1024], (f32[], token[]), s8[0], opaque[]) a), "
        "custom_call_target=\"x\"");
    const struct shape *a = module_shape_of(&m, instruction_of(&m, NULL, "a"));
    CU_ASSERT(a->dtype == SHAPE_TUPLE && a->count == 4);
    const struct shape *first = &m.shape[m.number[a->first]];
    CU_ASSERT(first->dtype == DTYPE_BF16 && first->on_chip && m.number[first->first + 1] == 1024);
    CU_ASSERT_STRING_EQUAL(module_word(&m, first->layout), "{1,0:T(8,128)(2,1)S(1)}");
    const struct shape *inner = &m.shape[m.number[a->first + 1]];
    CU_ASSERT_EQUAL(m.shape[m.number[inner->first + 1]].dtype, SHAPE_TOKEN);
    CU_ASSERT(!m.shape[m.number[a->first + 2]].on_chip);
    CU_ASSERT_EQUAL(m.shape[m.number[a->first + 3]].dtype, SHAPE_OPAQUE);
    /* 7 elements of half a byte, 5 of a quarter */
    NEAR(shape_bytes(&m, module_at(&m, instruction_of(&m, NULL, "b"))->shape), 3.5, 0);
    NEAR(shape_bytes(&m, module_at(&m, instruction_of(&m, NULL, "c"))->shape), 1.25, 0);
    CU_ASSERT_EQUAL(module_operand(&m, instruction_of(&m, NULL, "c"), 0), instruction_of(&m, NULL, "a"));
    /* 4 * 1024 * 2 on the chip, 4 of the scalar, nothing of tokens and of no elements */
    NEAR(shape_bytes(&m, module_at(&m, instruction_of(&m, NULL, "a"))->shape), 8192 + 4, 0);
    NEAR(shape_hbm_bytes(&m, module_at(&m, instruction_of(&m, NULL, "a"))->shape), 4, 0);
    module_free(&m);
}

static void reads_attributes(void)
{
    struct module m;
    entry_of(
        &m,
        "  s = f32[4,4]{1,0} slice(p), slice={[0:4], [1:16:4]}\n"
        "  z = f32[] constant(-0.5)\n  t = s32[] constant(3)\n"
        "  w = f32[11,16]{1,0} pad(p, z), padding=1_2x-1_1_0, metadata={op_name=\"a/b, {c\" source_line=3}\n"
        "  d = f32[1,16]{1,0} dynamic-slice(p, t, t), dynamic_slice_sizes={1,16}, control-predecessors={s, "
        "%w}\n"
        "  r = f32[16]{0} reduce(p, z), dimensions={0}, to_apply=%sum, sharding={devices=[8]<=[8]}\n"
        "  q = f32[8,16] collective-permute(p), channel_id=7, source_target_pairs={{0,1},{1,0}},\n"
        "      frontend_attributes={prelayer=\"2\",layer=\"3\",phase=\"bwd\",note=\"a,b=\"}, "
        "backend_config={\"a\":[1,{\"b\":\"}\\\"\"}]}\n"
        "  ROOT u = f32[8,16] all-reduce(q), replica_groups={}, use_global_device_ids=false,\n"
        "      constrain_layout=true, to_apply=sum");
    numbers_are(&m, "s", ATTR_SLICE, "0 4 1 1 16 4");
    numbers_are(&m, "w", ATTR_PADDING, "1 2 0 -1 1 0");
    words_are(&m, "w", ATTR_METADATA, "{op_name=\"a/b, {c\" source_line=3}");
    numbers_are(&m, "d", ATTR_DYNAMIC_SLICE_SIZES, "1 16");
    CU_ASSERT_EQUAL(module_number(&m, instruction_of(&m, NULL, "d"), ATTR_CONTROL_PREDECESSORS, -1),
                    instruction_of(&m, NULL, "s"));
    numbers_are(&m, "r", ATTR_TO_APPLY, "0");
    numbers_are(&m, "q", ATTR_CHANNEL_ID, "7");
    numbers_are(&m, "q", ATTR_SOURCE_TARGET_PAIRS, "0 1 1 0");
    words_are(&m, "q", ATTR_BACKEND_CONFIG, "{\"a\":[1,{\"b\":\"}\\\"\"}]}");
    char phase[8];
    CU_ASSERT(module_label(&m, instruction_of(&m, NULL, "q"), "phase", phase, sizeof phase));
    CU_ASSERT_STRING_EQUAL(phase, "bwd");
    static const char *const has[] = {"prelayer=\"2\"", "layer=\"3\"", "phase=\"bwd\""}, *const not [] = {
                                                                                             "layer=\"2\"",
                                                                                             "phase=\"fwd\"",
                                                                                             "what=\"w\"",
                                                                                             "b=\"\""};
    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        CU_ASSERT(module_has_label(&m, instruction_of(&m, NULL, "q"), has[i]));
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        CU_ASSERT_FALSE(module_has_label(&m, instruction_of(&m, NULL, "q"), not [i]));
    CU_ASSERT_FALSE(module_has_label(&m, instruction_of(&m, NULL, "u"), "layer=\"3\""));
    numbers_are(&m, "u", ATTR_USE_GLOBAL_DEVICE_IDS, "0");
    const struct attribute *other = module_find(&m, instruction_of(&m, NULL, "u"), ATTR_OTHER);
    CU_ASSERT_STRING_EQUAL(module_word(&m, other->name), "constrain_layout");
    CU_ASSERT_STRING_EQUAL(module_word(&m, other->text), "true");
    CU_ASSERT_EQUAL(m.computation[m.entry].root, instruction_of(&m, NULL, "u"));
    module_free(&m);
}

/* Whole numbers are numbers, anything else is kept as it is written. */
static void reads_literals(void)
{
    struct module m;
    entry_of(&m,
             "  a = s32[] constant(-42)\n  b = s32[2,3]{1,0} constant({ { 1, 2, /*i=2*/3 }, { 4, 5, -6 } })\n"
             "  c = f32[] constant(1e-05)\n  d = pred[] constant(true)\n  e = f32[3] constant({0, -0, 1})\n"
             "  f = u64[] constant(18446744073709551615)\n  g = s32[1000] constant({...})\n"
             "  h = f32[0] constant({})\n  i = (s32[2], f32[]) constant(( {1, 2}, 3 ))\n"
             "  j = s64[] constant(-9223372036854775808)");
    numbers_are(&m, "a", ATTR_LITERAL, "-42");
    numbers_are(&m, "b", ATTR_LITERAL, "1 2 3 4 5 -6");
    numbers_are(&m, "j", ATTR_LITERAL, "-9223372036854775808");
    numbers_are(&m, "h", ATTR_LITERAL, "");
    words_are(&m, "h", ATTR_LITERAL, "");
    static const char *const kept[][2] = {{"c", "1e-05"},      {"d", "true"},
                                          {"e", "{0, -0, 1}"}, {"f", "18446744073709551615"},
                                          {"g", "{...}"},      {"i", "( {1, 2}, 3 )"}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        numbers_are(&m, kept[i][0], ATTR_LITERAL, "");
        words_are(&m, kept[i][0], ATTR_LITERAL, kept[i][1]);
    }
    module_free(&m);
}

/* A line of 100 KB, and a tuple of 5,000 shapes. */
static void reads_long_lines(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    fputs("  t = (", out);
    for (int i = 0; i < 5000; i++)
        fprintf(out, "%sf32[%d]{0}", i ? ", " : "", i);
    fputs(") custom-call(", out);
    for (int i = 0; i < 5000; i++)
        fprintf(out, "%sp", i ? ", /*index=1*/" : "");
    fputs("), custom_call_target=\"x\"\n  ROOT g = f32[4999] get-tuple-element(t), index=4999", out);
    fclose(out);
    struct module m;
    entry_of(&m, text);
    CU_ASSERT(bytes > 100000);
    CU_ASSERT_EQUAL(module_at(&m, instruction_of(&m, NULL, "t"))->operands, 5000);
    module_free(&m);
    free(text);
}

/* Where the header is silent, groups, pairs and iotas say how many devices there are. */
static void infers_devices(void)
{
    static const struct {
        const char *attributes;
        int replicas, partitions;
    } cases[] = {
        {"channel_id=1, replica_groups=[2,7]<=[14], use_global_device_ids=true", 1, 14},
        {"replica_groups={{0,2},{1,3}}", 4, 1},
        {"channel_id=3, replica_groups={{0,1,2}}", 3, 1},
        {"replica_groups={}", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        struct module m;
        snprintf(text, sizeof text,
                 "HloModule m\ns { a = f32[] parameter(0) b = f32[] parameter(1)\n c = f32[] add(a, b) }"
                 "ENTRY e { p = f32[8] parameter(0)\n q = f32[8] all-reduce(p), %s, to_apply=s }",
                 cases[i].attributes);
        module_of(&m, text);
        CU_ASSERT_EQUAL(m.replicas, cases[i].replicas);
        CU_ASSERT_EQUAL(m.partitions, cases[i].partitions);
        module_free(&m);
    }
    struct module m;
    module_of(&m, "HloModule m\nENTRY e { p = f32[8] parameter(0)\n"
                  "q = f32[8] collective-permute(p), channel_id=1, source_target_pairs={{0,4},{4,0}} }");
    CU_ASSERT(m.replicas == 1 && m.partitions == 5);
    module_free(&m);
}

/* The shortest comment, and one that opens as it would close. */
static void reads_comments(void)
{
    struct module m;
    module_of(&m, "HloModule m\nENTRY e { /**/ p = f32[8] /*/ a */ parameter(0) // /*\n }");
    CU_ASSERT_EQUAL(m.instructions, 1);
    module_free(&m);
}

/* XLA's newer and rarer spellings, each from one of its own kinds of dump. */
static void reads_rare_instructions(void)
{
    struct module m;
    entry_of(
        &m,
        "  c = s32[] constant(0)\n  o = (s32[], s32[]) tuple(c, c)\n  u = u32[4] constant({...})\n"
        "  b = f32[8,64] broadcast(c), "
        "dimensions={}\n"
        "  q = f32[8,64] collective-permute(p, b, o, o), source_target_pairs={{0,0}}, slice_sizes={{8,16}}\n"
        "  e = f32[8,16] collective-broadcast(p, c), replica_groups={{0}}, has_dynamic_root=true\n"
        "  s = ((f32[8,16]), f32[4,16], s32[]) slice-start(p), slice={[0:4], [0:16]}\n"
        "  d = f32[4,16] slice-done(s)\n"
        "  r = ((f32[8,16]), f32[1,16]) reduce-scatter-start(p), channel_id=3, to_apply=sum, "
        "dimensions={0},\n"
        "      replica_groups={{0,1,2,3,4,5,6,7}}, use_global_device_ids=true\n"
        "  rd = f32[1,16] reduce-scatter-done(r)\n"
        "  w = (f32[8,16], f32[64,16]) all-gather-start(p), channel_id=4, dimensions={0}, "
        "replica_groups={{0}}\n"
        "  wd = f32[64,16] all-gather-done(w)\n"
        "  y = f32[4] constant({...})\n"
        "  h = u32[4] mulhi(u, u)\n"
        "  x = (f32[8,16], f32[4]) all-reduce-start(p, y), replica_groups={}, to_apply=sum\n"
        "  xd = (f32[8,16], f32[4]) all-reduce-done(x)\n"
        "  k = (c64[2], f8e5m2fnuz[]) constant(( {(-1.5, inf), (nan, 0)}, 3 )), origin={{\"a\"}}, "
        "statistics={x-1=3}\n"
        "  n = f32[8,16] domain(p), domain={kind=\"sharding\", entry={maximal device=0}, exit={replicated}}\n"
        "  f = f32[7] custom-call(p), custom_call_target=\"foo\\\"bar\", window={size=2x2}, "
        "dim_labels=?b01f_0?1io->b01?f");
    CU_ASSERT_EQUAL(module_result(&m, instruction_of(&m, NULL, "r")),
                    module_at(&m, instruction_of(&m, NULL, "rd"))->shape);
    CU_ASSERT_EQUAL(module_result(&m, instruction_of(&m, NULL, "s")),
                    module_at(&m, instruction_of(&m, NULL, "d"))->shape);
    CU_ASSERT_EQUAL(module_result(&m, instruction_of(&m, NULL, "x")),
                    module_at(&m, instruction_of(&m, NULL, "xd"))->shape);
    words_are(&m, "k", ATTR_LITERAL, "( {(-1.5, inf), (nan, 0)}, 3 )");
    words_are(&m, "f", ATTR_DIM_LABELS, "?b01f_0?1io->b01?f");
    module_free(&m);
}

/* A loop whose count is not in the text: refused with its name, and read once it is given. */
static void asks_for_trip_counts(void)
{
    const char *text =
        "HloModule m\n"
        "body { t = (s32[], f32[8]) parameter(0) }\n"
        "cond { t = (s32[], f32[8]) parameter(0)\n c = pred[] custom-call(t), custom_call_target=\"x\" }\n"
        "ENTRY e {\n  i = s32[] constant(0)\n  x = f32[8] parameter(0)\n  t = (s32[], f32[8]) tuple(i, x)\n"
        "  ROOT w.1 = (s32[], f32[8]) while(t), condition=cond, body=body, backend_config={\"a\":1}\n}\n";
    text_is_refused(text, "m.hlo:9:8: how often w.1 runs is not in the text; say it with --trip-count w.1=N");
    struct module m;
    struct status st = {0};
    OKAY(hlo_read(&m, "m.hlo", text, strlen(text), "w.1=37", &st), st);
    CU_ASSERT_EQUAL(module_trip_count(&m, m.computation[m.entry].root), 37);
    module_free(&m);
    static const char *const bad[][2] = {{"w.1=7, w.2=3", "there is no while 'w.2'"},
                                         {"w.1", "--trip-count 'w.1': expected NAME=N,NAME=N"},
                                         {"w.1=x", "expected NAME=N,NAME=N"},
                                         {"w.1=7;", "expected NAME=N,NAME=N"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct status said = {0};
        CU_ASSERT(hlo_read(&m, "m.hlo", text, strlen(text), bad[i][0], &said) < 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(said.text, bad[i][1]));
        module_free(&m);
    }
}

static void write_file(const char *directory, const char *name, const char *module, int padding)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *out = fopen(path, "w");
    CU_ASSERT_FATAL(out != NULL);
    fprintf(out, "HloModule %s\nENTRY e { a = f32[] parameter(0) }%*s\n", module, padding, "");
    fclose(out);
}

/* Of a dump the largest module after optimizations, whatever lies beside it. */
static void takes_the_module_of_a_dump(void)
{
    char directory[] = "/tmp/icisim-dump-XXXXXX", found[HLO_PATH], path[256];
    static const char *const names[] = {
        "module_0001.jit_f.cpu_after_optimizations.txt", "module_0002.jit_step.tpu.after_optimizations.txt",
        "module_0003.jit_step.tpu.after_optimizations-buffer-assignment.txt",
        "module_0002.jit_step.before_optimizations.txt", "module_0004.jit_step.tpu.after_optimizations.txt"};
    static const int padding[] = {10, 300, 9000, 9000, 300};
    struct module m;
    struct status st = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
    CU_ASSERT_EQUAL(hlo_load(&m, directory, NULL, found, &st), STATUS_INPUT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(st.text, "no file of it ends in after_codegen.txt or after_optimizations.txt"));
    st = (struct status){0};
    for (int i = 0; i < 5; i++) {
        char module[8];
        snprintf(module, sizeof module, "m%d", i);
        write_file(directory, names[i], module, padding[i]);
    }
    OKAY(hlo_load(&m, directory, NULL, found, &st), st);
    CU_ASSERT_STRING_EQUAL(module_word(&m, m.name), "m1");
    CU_ASSERT_PTR_NOT_NULL(strstr(found, names[1]));
    module_free(&m);
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        remove(path);
    }
    remove(directory);
    CU_ASSERT_EQUAL(hlo_load(&m, directory, NULL, NULL, &st), STATUS_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "cannot read"));
}

SUITE("hlo_read", TEST(reads_headers), TEST(reads_shapes), TEST(reads_attributes), TEST(reads_literals),
      TEST(reads_long_lines), TEST(reads_rare_instructions), TEST(infers_devices), TEST(reads_comments),
      TEST(asks_for_trip_counts), TEST(takes_the_module_of_a_dump))
