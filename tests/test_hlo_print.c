/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modules as text: what is printed reads back as the same module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "hlo/hlo_read.h"
#include "hlo/module_check.h"
#include "modules.h"
#include "random_module.h"

static void files_come_back(void)
{
    static const char *const names[] = {"1_ag_dot",   "2_async_pair", "3_while",          "4_groups",
                                        "5_permutes", "6_fusions",    "7_reduce_scatter", "8_all_to_all"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        snprintf(path, sizeof path, "tests/golden/hlo/%s.hlo", names[i]);
        module_file_comes_back(path);
    }
}

/* And all of them pass the check. */
static void random_modules_come_back(void)
{
    const char *more = getenv("ICISIM_RANDOM");
    int modules = more ? atoi(more) : 1000;
    unsigned before = CU_get_number_of_failures();
    for (int i = 0; i < modules && CU_get_number_of_failures() == before; i++) {
        struct suite_random r = {(uint64_t)i};
        struct module m;
        struct status st = {0};
        random_module(&m, &r);
        OKAY(module_check(&m, NULL, &st), st);
        module_comes_back(&m);
        module_free(&m);
        if (CU_get_number_of_failures() > before)
            fprintf(stderr, "with seed %d\n", i);
    }
}

/* The text itself, to the letter. */
static void prints_as_xla_does(void)
{
    static const char text[] =
        "HloModule m.1, is_scheduled=true, a={b, c}, replica_count=2, num_partitions=4\n"
        "\n"
        "%sum {\n"
        "  %a = f32[] parameter(0)\n"
        "  %b = f32[] parameter(1)\n"
        "  ROOT %c = f32[] add(%a, %b)\n"
        "}\n"
        "\n"
        "ENTRY %main {\n"
        "  %p = (f32[8,16]{1,0:T(8,128)S(1)}, token[]) parameter(0), sharding={{replicated}, {manual}}\n"
        "  %g = f32[8,16]{1,0:T(8,128)S(1)} get-tuple-element(%p), index=0\n"
        "  %i = s32[2,2]{1,0} constant({{1, -2}, {3, 4}})\n"
        "  %z = f32[] constant(1e-05)\n"
        "  ROOT %s = f32[3,4]{1,0} slice(%g), slice={[1:4], [0:16:4]}, control-predecessors={%i, %z}\n"
        "  %d = f32[11,16] pad(%g, %z), padding=1_2x0_0\n"
        "  %r = f32[8,16]{1,0} all-reduce(%g), channel_id=1, replica_groups=[2,4]<=[4,2]T(1,0), "
        "use_global_device_ids=true, to_apply=%sum, metadata={op_name=\"a\"}\n"
        "  %q = f32[8,16] collective-permute(%r), channel_id=2, source_target_pairs={{0,1},{1,0}}\n"
        "  %k = f32[8,16] conditional(%i, %p, %p), branch_computations={%sum, %sum}, odd=1.5e3\n"
        "}\n";
    struct module m;
    module_of(&m, text);
    char *got = text_of(&m);
    CU_ASSERT_STRING_EQUAL(got, text);
    free(got);
    module_free(&m);
}

SUITE("hlo_print", TEST(files_come_back), TEST(random_modules_come_back), TEST(prints_as_xla_does))
