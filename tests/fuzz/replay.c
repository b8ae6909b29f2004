/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives a fuzz target the files of directories, one after the other, where libFuzzer is not there to do it. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "fuzz.h"

static int replay(const char *path, struct status *st)
{
    struct file file;
    int code = file_read(&file, path, st);
    if (code == 0)
        LLVMFuzzerTestOneInput((const uint8_t *)file.text, file.bytes);
    file_free(&file);
    return code;
}

static int replay_all(const char *directory, int *inputs, struct status *st)
{
    DIR *dir = opendir(directory);
    int code = dir ? 0 : status_fail(st, STATUS_IO, "there is no directory '%s'", directory);
    for (const struct dirent *entry; code == 0 && (entry = readdir(dir));) {
        char path[1024];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        code = replay(path, st);
        ++*inputs;
    }
    if (dir)
        closedir(dir);
    return code;
}

int main(int argc, char **argv)
{
    struct status st = {0};
    int inputs = 0;
    for (int i = 1; i < argc && st.code == 0; i++)
        replay_all(argv[i], &inputs, &st);
    if (st.code == 0 && inputs == 0)
        status_fail(&st, STATUS_INPUT, "no inputs; name the directories that they are in");
    if (st.code < 0)
        fprintf(stderr, "replay: %s\n", st.text);
    else
        printf("%d inputs\n", inputs);
    return st.code < 0;
}
