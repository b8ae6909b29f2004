/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole commands in this process: the input is a command line without "icisim", as a shell reads it. It runs in an empty
 * folder that is its own, and reads and writes no file anywhere else: words with a slash are left alone, and so are commands
 * that start processes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/shell.h"
#include "faces/command.h"
#include "fuzz.h"

enum { WORDS = 64 };

/* Once: a folder for what is written, and what is printed is not looked at. Commands run in the folder; outside of them this
 * process stays where it is. */
struct place {
    int home, folder;
};

static struct place settle_down(void)
{
    static struct place place = {-1, -1};
    char folder[] = "/tmp/icisim-fuzz-XXXXXX";
    if (place.home >= 0)
        return place;
    place.home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    place.folder = mkdtemp(folder) ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (place.home < 0 || place.folder < 0 || !freopen("/dev/null", "w", stdout)) {
        perror(folder);
        exit(1);
    }
    return place;
}

static int read_words(const char *text, char *word[static WORDS], struct status *st)
{
    int words = 0, code = 0;
    while (code == 0 && words < WORDS - 8) {
        code = shell_next(&text, &word[words], st);
        if (code < 0 || !word[words])
            break;
        words++;
    }
    return code < 0 ? code : words;
}

/* Is it one that stays in this process and this folder? */
static bool is_tame(char *word[], int words)
{
    static const char *const wild[] = {"sweep", "validate"};
    for (size_t i = 0; words > 0 && i < sizeof wild / sizeof *wild; i++)
        if (strcmp(word[0], wild[i]) == 0)
            return false;
    for (int i = 0; i < words; i++)
        if (strchr(word[i], '/') || strstr(word[i], "simgrid") || strstr(word[i], "both") ||
            strcmp(word[i], "-") == 0)
            return false;
    return words > 0;
}

static void run(char *word[], int words, struct status *st)
{
    static const char *const within[] = {"--engine", "event",          "--time-limit",
                                         "1s",       "--memory-limit", "256MiB"};
    const struct command *command = command_by_name(word[0], st);
    struct settings settings;
    if (!command)
        return;
    char *line[WORDS + 8];
    int n = 0;
    line[n++] = word[0];
    if (command->bit & FOR_POINTS)
        for (size_t i = 0; i < sizeof within / sizeof *within; i++)
            line[n++] = (char *)within[i];
    for (int i = 1; i < words; i++)
        line[n++] = word[i];
    line[n] = NULL;
    settings_init(&settings);
    int code = command_parse(command, n, line, &settings, st);
    if (code == 0)
        code = command->run(&settings, st);
    if (code < 0)
        fuzz_refused(st);
    settings_free(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct status st = {0};
    char *word[WORDS] = {NULL}, *text = fuzz_text(data, bytes);
    struct place place = settle_down();
    int words = text ? read_words(text, word, &st) : 0;
    if (words < 0)
        fuzz_refused(&st);
    else if (is_tame(word, words) && fchdir(place.folder) == 0) {
        run(word, words, &st);
        fuzz_promise(fchdir(place.home) == 0, "the folder is still there", &st);
    }
    for (int i = 0; i < WORDS; i++)
        free(word[i]);
    free(text);
    return 0;
}
