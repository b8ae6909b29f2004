/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packed files are read as what they were; of a dump folder the module that is meant is read, packed or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "hlo/hlo_read.h"
#include "suite.h"

#define TEXT "HloModule %s\nENTRY %%e {\n  ROOT %%p = f32[8] parameter(0)\n}\n"

static void write_plain(const char *path, const char *text, size_t bytes)
{
    FILE *out = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(fwrite(text, 1, bytes, out), bytes);
    fclose(out);
}

static void write_packed(const char *path, const char *mode, const char *text, size_t bytes)
{
    gzFile out = gzopen(path, mode);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(gzwrite(out, text, (unsigned)bytes), (int)bytes);
    gzclose(out);
}

static void packed_files_are_read(void)
{
    enum { BYTES = 3 << 20 };
    char path[] = "/tmp/icisim-gzip-XXXXXX", *text = malloc(BYTES);
    struct file file;
    struct status st = {0};
    struct suite_random r = {7};
    CU_ASSERT_FATAL(text && close(mkstemp(path)) == 0);
    for (int i = 0; i < BYTES; i++)
        text[i] = (char)('a' + suite_random(&r, 26));
    write_packed(path, "w", text, BYTES / 2); /* two members, as cat a.gz b.gz makes them */
    write_packed(path, "a", text + BYTES / 2, BYTES / 2);
    OKAY(file_read(&file, path, &st), st);
    CU_ASSERT(file.bytes == BYTES && memcmp(file.text, text, BYTES) == 0 && file.text[BYTES] == '\0');
    file_free(&file);
    CU_ASSERT_EQUAL(truncate(path, 1 << 20), 0);
    CU_ASSERT_EQUAL(file_read(&file, path, &st), STATUS_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "cut or broken gzip"));
    unlink(path);
    free(text);
}

/* A file of a dump, with a module of a name, padded by comments to a size. */
static void put(const char *folder, const char *name, const char *module, int padding)
{
    char path[256], text[4096];
    int used = snprintf(text, sizeof text, TEXT, module);
    used += snprintf(text + used, sizeof text - (size_t)used, "//%*s\n", padding, "");
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (strstr(name, ".gz"))
        write_packed(path, "w", text, (size_t)used);
    else
        write_plain(path, text, (size_t)used);
}

static void module_is(const char *folder, const char *name)
{
    struct module module;
    struct status st = {0};
    char found[HLO_PATH];
    OKAY(hlo_load(&module, folder, NULL, found, &st), st);
    CU_ASSERT_STRING_EQUAL(module_word(&module, module.name), name);
    module_free(&module);
}

static void list_is(const char *folder, const char *want)
{
    char *text = NULL;
    size_t bytes = 0;
    struct status st = {0};
    FILE *out = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    OKAY(hlo_list_dump(folder, out, &st), st);
    fclose(out);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, want));
    if (!*want)
        CU_ASSERT_STRING_EQUAL(text, "");
    free(text);
}

static void dumps_have_a_module_that_is_meant(void)
{
    static const char *const names[] = {"module_0001.jit_init.cl_1.after_optimizations.txt",
                                        "module_0002.jit_step.cl_1.after_optimizations.txt.gz",
                                        "module_0003.jit_step.cl_1.after_codegen.txt",
                                        "module_0004.jit_small.cl_1.after_codegen.txt",
                                        "module_0005.pmap_f.cl_1.after_codegen.txt",
                                        "module_0003.jit_step.cl_1.before_optimizations.txt",
                                        "module_0003.jit_step.cl_1.after_optimizations.txt"};
    char folder[] = "/tmp/icisim-dump-XXXXXX", path[256];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT(hlo_is_path(folder) && hlo_is_dump(folder) && !hlo_is_dump("all-gather"));
    CU_ASSERT(hlo_is_path("a.hlo.gz") && hlo_is_path("a.txt") && !hlo_is_path("a.gz"));
    put(folder, names[1], "packed", 0);
    module_is(folder, "packed");
    list_is(folder, "");
    put(folder, names[0], "init", 2000); /* larger than what is packed */
    module_is(folder, "init");
    put(folder, names[3], "small", 10);
    put(folder, names[2], "step", 500);
    put(folder, names[4], "pmap", 1000); /* not jit's */
    put(folder, names[5], "before", 1500);
    put(folder, names[6], "step", 600); /* the same module, earlier */
    module_is(folder, "step");
    list_is(folder,
            "runs module_0003.jit_step.cl_1.after_codegen.txt; the folder also has "
            "module_0004.jit_small.cl_1.after_codegen.txt, module_0005.pmap_f.cl_1.after_codegen.txt, "
            "module_0001.jit_init.cl_1.after_optimizations.txt, "
            "module_0002.jit_step.cl_1.after_optimizations.txt.gz\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

SUITE("gzip", TEST(packed_files_are_read), TEST(dumps_have_a_module_that_is_meant))
