/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the reader of HLO text refuses: every fault with its place and its cure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/hlo_read.h"
#include "modules.h"

static void refuses_what_is_not_hlo(void)
{
    text_is_refused("", "m.hlo: there is nothing in it; it should start with HloModule");
    text_is_refused("  // nothing\n", "there is nothing in it");
    text_is_refused("\n\nmodule @jit_f {\n  func.func public @main() {\n", "m.hlo:3:1: this is StableHLO");
    text_is_refused("#loc = loc(unknown)\nmodule @jit_f {}\n", "m.hlo:1:1: this is StableHLO");
    text_is_refused("func.func @f() { stablehlo.add }\n", "compile it and take compiled.as_text()");
    text_is_refused("hlo_module {\n  name: \"f\"\n}\n", "m.hlo:1:1: this is a proto as text");
    text_is_refused("\n\x08jit_f\x12\x04main", "m.hlo: not a text, but a proto or the like");
    text_is_refused("HloModul m\n", "m.hlo:1:1: expected HloModule at the start");
}

static void refuses_cut_texts(void)
{
    text_is_refused("HloModule m\n", "m.hlo:2:1: no ENTRY; the file ends at line 1");
    text_is_refused("HloModule m\nsum {\n  ROOT a = f32[] parameter(0)\n}\n",
                    "m.hlo:5:1: no ENTRY; the file ends at line 4");
    text_is_refused("HloModule m\nsum {\n  a = f32[] param", "m.hlo:3:18: no ENTRY; the file ends at line 3");
    text_is_refused("HloModule m\nENTRY e {\n  a = f32[8]{0} parameter(0), sharding={devi",
                    "m.hlo:3:45: ENTRY is cut; the file ends at line 3");
    text_is_refused("HloModule m\nENTRY e {\n  a = f3", "ENTRY is cut; the file ends at line 3");
    text_is_refused("HloModule m\nENTRY e {\n  a = f32[] parameter(0), metadata={op_name=\"jit(f",
                    "ENTRY is cut");
    text_is_refused("HloModule m\nENTRY e { /* a = f32[] parameter(0)", "ENTRY is cut");
    text_is_refused("HloModule m, entry_computation_layout={(f32[", "no ENTRY; the file ends at line 1");
}

/* Every prefix of a right text is refused, and none reads beyond its end (under the sanitizers: a copy of its own). */
static void refuses_every_prefix(void)
{
    char *text = entry_text(
        "  q = f32[8,16]{1,0} all-reduce(p), channel_id=1, replica_groups=mesh['x'=2,'y'=4] {'x'},\n"
        "      to_apply=sum // done\n  ROOT t = (f32[8,16], f32[]) tuple(q, /*index=1*/ q)");
    size_t end = strlen(text) - 2; /* without the newline and the last bracket */
    for (size_t n = 0; n <= end; n++) {
        struct module m;
        struct status st = {0};
        char *prefix = strndup(text, n);
        CU_ASSERT_EQUAL(hlo_read(&m, "m.hlo", prefix, n, NULL, &st), STATUS_INPUT);
        module_free(&m);
        free(prefix);
    }
    free(text);
}

/* The fourth line of the text is the first of `instructions`. */
static void entry_is_refused(const char *instructions, const char *why)
{
    char *text = entry_text(instructions);
    text_is_refused(text, why);
    free(text);
}

static void refuses_names(void)
{
    entry_is_refused("  a = f32[] add(b, p)", "m.hlo:5:17: there is no instruction 'b' above");
    entry_is_refused("  a = f32[] add(p, %p.1)", "m.hlo:5:20: there is no instruction 'p.1' above");
    entry_is_refused("  p = f32[] parameter(1)", "m.hlo:5:3: a second instruction 'p'");
    entry_is_refused("  ROOT a = f32[] parameter(1)\n  ROOT b = f32[] parameter(2)",
                     "m.hlo:6:3: a second ROOT");
    entry_is_refused("  a = f32[] reduce(p, p), dimensions={0}, to_apply=mul",
                     "m.hlo:5:52: there is no computation 'mul'");
    entry_is_refused("  a = f32[8,16] call(p), to_apply=main", "there is no computation 'main' above");
    entry_is_refused("  a = f32[] copy(p), control-predecessors={p, q}",
                     "m.hlo:5:47: there is no instruction 'q'");
    text_is_refused("HloModule m\nf { p = f32[] parameter(0)\n q = f32[] call(p), to_apply=f }\n",
                    "none calls itself");
    text_is_refused("HloModule m\ns { a = f32[] parameter(0) }\ns { a = f32[] parameter(0) }\n",
                    "m.hlo:3:1: a second computation");
    text_is_refused("HloModule m\nENTRY s { a = f32[] parameter(0) }\nENTRY t { a = f32[] parameter(0) }\n",
                    "m.hlo:3:1: a second ENTRY");
    text_is_refused("HloModule m\nENTRY s { ROOT a = f32[] parameter(0) ROOT b = f32[] negate(a) }",
                    "a second ROOT");
    text_is_refused("HloModule m\nENTRY s { }\n", "m.hlo:2:11: a computation without instructions");
}

static void refuses_what_is_not_known(void)
{
    entry_is_refused("  a = f31[8] copy(p)", "m.hlo:5:7: unknown element type 'f31'; the nearest is f32");
    entry_is_refused("  a = f32[8] copie(p)", "m.hlo:5:14: unknown opcode 'copie'; the nearest are");
    entry_is_refused("  a = f32[<=8] copy(p)", "m.hlo:5:11: a dynamic dim");
    entry_is_refused("  a = f32[?] copy(p)", "compile with static shapes");
    text_is_refused("HloModule m\nENTRY e {\n  p = f32[8] parameter(0), sharding={mesh['a'=4], [{'a'}]}\n}\n",
                    "m.hlo:3:3: shardings of whole arrays");
    text_is_refused(
        "HloModule m, num_partitions=8\nENTRY e {\n  p = f32[8] parameter(0), sharding={devices=[8]<=[8]}\n"
        "  ROOT q = f32[8] add(p, p)\n}\n",
        "m.hlo:3:3: shardings of whole arrays: this is HLO before SPMD partitioning");
    static const char *const uncut[] = {"mesh['a'=4], replicated", "replicated"}; /* each device has it all */
    for (int i = 0; i < 2; i++) {
        struct module whole;
        char text[128];
        snprintf(text, sizeof text,
                 "HloModule m\nENTRY e {\n  ROOT p = f32[8] parameter(0), sharding={%s}\n}\n", uncut[i]);
        module_of(&whole, text);
        CU_ASSERT_EQUAL(whole.instructions, 1);
        module_free(&whole);
    }
}

static void refuses_syntax(void)
{
    static const char *const bad[][2] = {
        {"  a f32[] copy(p)", "m.hlo:5:5: expected '='"},
        {"  a = f32 copy(p)", "m.hlo:5:11: expected '['"},
        {"  a = f32[8 copy(p)", "expected ']'"},
        {"  a = f32[8] copy p", "m.hlo:5:19: expected '('"},
        {"  a = f32[8] copy(p), 5", "expected '='"},
        {"  a = f32[8] copy(p), , dimensions={0}", "expected an attribute"},
        {"  a = f32[8] copy(p), dimensions={x}", "expected a number, a whole number"},
        {"  a = f32[8] copy(p), dimensions=0", "expected '{'"},
        {"  a = f32[8] copy(p), channel_id=99999999999999999999", "it must be from"},
        {"  a = f32[8] copy(p), use_global_device_ids=yes", "expected true or false"},
        {"  a = f32[8] copy(p), source_target_pairs={{0}}", "expected {source,target}"},
        {"  a = f32[8] copy(p), metadata=, dimensions={0}", "expected the value of an attribute"},
        {"  a = f32[8] parameter(x)", "expected the number of a parameter"},
        {"  a = f32[8] copy(p), padding=0_1_\n  b = f32[8,16] copy(p)", "m.hlo:6:3: expected padding"},
        {"  a = f32[8] copy(p), replica_groups={0,1}", "expected '{'"},
        {"  a = f32[8] copy(p), replica_groups=[2,4]<=[9]",
         "m.hlo:5:38: groups '[2,4]<=[9]', column 11: both sides"},
        {"  a = f32[8] copy(p), replica_groups={{0,1},{2}}", "all must have the same size"},
        {"  a = f32[8] copy(p), replica_groups=mesh['x'=8]", "expected '{' in groups such as"},
        {"  a = f32[8] copy(p), replica_groups=mesh['x'=8] {'y'}", "the mesh has no axis 'y'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        entry_is_refused(bad[i][0], bad[i][1]);
    text_is_refused("HloModule m\nENTRY e { p = f32[8] parameter(0) }, execution_thread=, a=b\n",
                    "m.hlo:2:55: expected the value of an attribute");
}

/* What would need hundreds of megabytes for a line of text is refused where it is written: 2^20 devices, 2^24 members. */
static void refuses_too_many_devices(void)
{
    static const char *const bad[][2] = {
        {"  a = f32[8] copy(p), replica_groups=[1,1048577]<=[1048577]", "m.hlo:5:38: groups"},
        {"  a = f32[8] copy(p), replica_groups=[1,1048577]<=[1048577]", "it must be from 1 to 1048576"},
        {"  a = f32[8] copy(p), replica_groups=[1024,1025]<=[1024,1025]",
         "must multiply to the number of devices, 1048576 at most"},
        {"  a = f32[8] copy(p), replica_groups={{0,1048576}}", "it must be from 0 to 1048575"},
        {"  a = f32[8] copy(p), replica_groups=mesh['x'=2,'y'=524289] {'x'}",
         "m.hlo:5:38: groups 'mesh['x'=2,'y'=524289] {'x'}', column 22: a mesh of more than 1048576 devices"},
        {"  a = f32[8] copy(p), source_target_pairs={{0,1048576}}",
         "m.hlo:5:47: a device is 1048576; it must be from 0 to 1048575"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        entry_is_refused(bad[i][0], bad[i][1]);
    text_is_refused("HloModule m, num_partitions=1048577\nENTRY e { p = f32[8] parameter(0) }\n",
                    "m.hlo:1:29: num_partitions is 1048577; it must be");
    text_is_refused(
        "HloModule m, num_partitions=1024, replica_count=1025\n",
        "m.hlo:1:35: num_partitions x replica_count is 1049600 devices; it must be 1048576 or less");
    text_is_refused(
        "HloModule m\ns { a = f32[] parameter(0) b = f32[] parameter(1)\n c = f32[] add(a, b) }\n"
        "ENTRY e { p = f32[8] parameter(0)\n"
        "q = f32[8] all-reduce(p), replica_groups=[1,1031]<=[1031], to_apply=s\n"
        "r = f32[8] collective-permute(q), channel_id=1, source_target_pairs={{0,1030}} }",
        "m.hlo:6:1: the groups name 1031 partitions of 1031 replicas; a module has 1048576 devices");
}

/* Seventeen groupings of 2^20 devices are one too many; the same one is kept once. */
static void refuses_too_many_members(void)
{
    char text[4096];
    struct module m;
    int at = snprintf(text, sizeof text,
                      "HloModule m, num_partitions=1048576\nENTRY e { p = f32[8] parameter(0)\n");
    for (int i = 0; i < 17; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "a%d = f32[8] copy(p), replica_groups=[%d,%d]<=[1048576]\n", i, 1 << i, 1 << (20 - i));
    snprintf(text + at, sizeof text - (size_t)at, "}\n");
    text_is_refused(text, "m.hlo:19:38: all groups together have more than 16777216 members");
    at = snprintf(text, sizeof text,
                  "HloModule m, num_partitions=1048576\nENTRY e { p = f32[8] parameter(0)\n");
    for (int i = 0; i < 17; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "a%d = f32[8] copy(p), replica_groups=[1,1048576]<=[1048576]\n", i);
    snprintf(text + at, sizeof text - (size_t)at, "}\n");
    module_of(&m, text);
    CU_ASSERT_EQUAL(m.groupings, 1);
    module_free(&m);
}

SUITE("hlo_refusals", TEST(refuses_what_is_not_hlo), TEST(refuses_cut_texts), TEST(refuses_every_prefix),
      TEST(refuses_names), TEST(refuses_what_is_not_known), TEST(refuses_syntax),
      TEST(refuses_too_many_devices), TEST(refuses_too_many_members))
