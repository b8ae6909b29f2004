/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory of programs that libtpu compiled, against what it said of each itself (memory.json): arguments to the byte, the
 * peak within 0.5 %.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "hlo/hlo_read.h"
#include "hlo/memory_analysis.h"
#include "suite.h"

#define PROGRAMS "../shared/hlo/tpu"

static double said(const struct file *file, const char *key)
{
    const char *at = strstr(file->text, key);
    return at ? atof(at + strlen(key) + 2) : -1;
}

/* Returns whether the text is read. */
static bool compare(const char *path)
{
    char text[HLO_PATH], *name;
    struct module module;
    struct memory_analysis memory;
    struct file file = {0};
    struct status st = {0}, refused = {0};
    snprintf(text, sizeof text, "%s", path);
    name = strrchr(text, '/') + 1;
    strcpy(name, "module.hlo");
    bool dynamic = strstr(path, "serve3");
    if (hlo_load(&module, text, dynamic ? "while.33=1" : NULL, NULL, &refused) < 0) {
        printf("%s\n", refused.text);
        module_free(&module);
        return false;
    }
    OKAY(file_read(&file, path, &st), st);
    OKAY(memory_analyse(&module, &memory, &st), st);
    printf("%s\n", path);
    CU_ASSERT_EQUAL(memory.arguments_bytes, said(&file, "\"argument_size_in_bytes\""));
    NEAR(memory.xla_peak_bytes, said(&file, "\"peak_memory_in_bytes\""), 0.005);
    file_free(&file);
    module_free(&module);
    return true;
}

static void memory_is_as_the_compiler_says(void)
{
    glob_t found;
    int read = 0;
    CU_ASSERT_EQUAL_FATAL(glob(PROGRAMS "/*/*/memory.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        read += compare(found.gl_pathv[i]);
    CU_ASSERT_EQUAL(found.gl_pathc, 66);
    CU_ASSERT_EQUAL(read, 66);
    globfree(&found);
}

SUITE_NEEDS("memory_real", PROGRAMS, TEST(memory_is_as_the_compiler_says))
