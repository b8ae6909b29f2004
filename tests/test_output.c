/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that are there whole or not at all. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "suite.h"

static char folder[64], path[80];

static void make_folder(void)
{
    strcpy(folder, "/tmp/icisim-output-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out.csv", folder);
}

static int count_files(void)
{
    int files = 0;
    DIR *dir = opendir(folder);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        files += entry->d_name[0] != '.';
    closedir(dir);
    return files;
}

static bool holds(const char *text)
{
    char read[64] = "";
    FILE *file = fopen(path, "r");
    size_t bytes = file ? fread(read, 1, sizeof read - 1, file) : 0;
    if (file)
        fclose(file);
    return file && bytes == strlen(text) && strcmp(read, text) == 0;
}

static void write_output(const char *text)
{
    struct output output;
    struct status st = {0};
    OKAY(output_open(&output, path, &st), st);
    fputs(text, output.file);
    OKAY(output_commit(&output, &st), st);
}

static void whole_or_not_at_all(void)
{
    struct output output;
    struct status st = {0};
    make_folder();
    OKAY(output_open(&output, path, &st), st);
    fputs("half", output.file);
    fflush(output.file);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    output_abandon(&output);
    CU_ASSERT_EQUAL(count_files(), 0);

    write_output("first\n");
    CU_ASSERT_TRUE(holds("first\n"));
    OKAY(output_open(&output, path, &st), st);
    fputs("half", output.file);
    output_abandon(&output);
    CU_ASSERT_TRUE(holds("first\n"));
    write_output("second\n");
    CU_ASSERT_TRUE(holds("second\n"));
    CU_ASSERT_EQUAL(count_files(), 1);
    remove(path);
    rmdir(folder);
}

static void modes_are_the_users(void)
{
    struct stat at;
    make_folder();
    mode_t before = umask(027);
    write_output("x\n");
    umask(before);
    CU_ASSERT_EQUAL_FATAL(stat(path, &at), 0);
    CU_ASSERT_EQUAL(at.st_mode & 0777, 0640);
    remove(path);
    rmdir(folder);
}

static void faults_are_found_at_the_start(void)
{
    struct output output;
    struct status st = {0};
    make_folder();
    CU_ASSERT_EQUAL(output_open(&output, folder, &st), STATUS_IO);
    st = (struct status){0};
    snprintf(path, sizeof path, "%s/none/out.csv", folder);
    CU_ASSERT_EQUAL(output_open(&output, path, &st), STATUS_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "none/out.csv': No such file"));
    st = (struct status){0};
    char name[400];
    snprintf(name, sizeof name, "%s/%0300d", folder, 0);
    CU_ASSERT_EQUAL(output_open(&output, name, &st), STATUS_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "name too long"));
    CU_ASSERT_EQUAL(count_files(), 0);
    st = (struct status){0};
    /* a full disk is found when it is written to */
    OKAY(output_open(&output, "/dev/full", &st), st);
    fputs("half", output.file);
    CU_ASSERT_EQUAL(output_commit(&output, &st), STATUS_IO);
    CU_ASSERT_PTR_NULL(output.file); /* a commit that fails has closed it, too */
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "/dev/full"));
    rmdir(folder);
}

SUITE("output", TEST(whole_or_not_at_all), TEST(modes_are_the_users), TEST(faults_are_found_at_the_start))
