/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole commands in this process. The first line of an input is a command line without "icisim", as a shell reads it. Files
 * may follow, up to three, each below a line with its name:
 *
 *     run w.yaml --slice 4x4
 *     === w.yaml
 *     op: all-gather
 *
 * The command runs in an empty folder of its own and reads and writes no file anywhere else: words with a slash are left
 * alone, and so are commands that take long.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/shell.h"
#include "base/time_limit.h"
#include "faces/command.h"
#include "fuzz.h"
#include "settings/option.h"

enum { WORDS = 64, NAME = 40, FILES = 3 };
static const char mark[] = "=== ";

/* Once: a folder for what is read and written, and what is printed is not looked at. Commands run in the folder; outside of
 * them this process stays where it is. */
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
    place.folder = mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (place.home < 0 || place.folder < 0 || !freopen("/dev/null", "w", stdout)) {
        perror(folder);
        exit(1);
    }
    return place;
}

/* What the last command left would make this one depend on it. */
static void clear_folder(void)
{
    DIR *dir = opendir(".");
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        unlink(entry->d_name);
    if (dir)
        closedir(dir);
}

static bool is_name(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length < NAME && isalnum((unsigned char)*text) &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == length;
}

/* The start of the next line that names a file, or the end. */
static char *next_mark(char *text)
{
    char *at = text;
    while (*at && strncmp(at, mark, sizeof mark - 1) != 0) {
        char *end = strchr(at, '\n');
        at = end ? end + 1 : at + strlen(at);
    }
    return at;
}

static void write_file(const char *name, const char *text, size_t bytes)
{
    FILE *out = is_name(name) ? fopen(name, "we") : NULL;
    if (out && fwrite(text, 1, bytes, out) != bytes)
        perror(name);
    if (out)
        fclose(out);
}

static void write_files(char *rest)
{
    char *at = next_mark(rest);
    for (int n = 0; n < FILES && *at; n++) {
        char *name = at + sizeof mark - 1, *text = name;
        fuzz_line(&text);
        at = next_mark(text);
        write_file(name, text, (size_t)(at - text));
    }
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

/* The bound on a command's processor time would end this process; libFuzzer has one of its own. */
void time_hold(double seconds)
{
    (void)seconds;
}

void time_release(void)
{
}

void time_set(int timer, double seconds)
{
    (void)timer;
    (void)seconds;
}

static void run(char *word[], int words, struct status *st)
{
    static const char *const within[] = {"--time-limit", "100ms", "--memory-limit", "256MiB"};
    const struct command *command = command_by_name(word[0], st);
    struct settings settings;
    if (!command)
        return;
    char *line[WORDS + 8];
    int n = 0;
    line[n++] = word[0];
    if (command->bit & FOR_LIMITS)
        for (size_t i = 0; i < sizeof within / sizeof *within; i++)
            line[n++] = (char *)within[i];
    for (int i = 1; i < words; i++)
        line[n++] = word[i];
    line[n] = NULL;
    settings_init(&settings);
    int code = command_parse(command, n, line, &settings, st);
    if (code == 0)
        code = command->run(&settings, st);
    settings_locate(&settings, st);
    if (code < 0)
        fuzz_refused(st);
    settings_free(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct status st = {0};
    char *word[WORDS] = {NULL}, *text = fuzz_text(data, bytes), *rest = text;
    struct place place = settle_down();
    int words = text ? read_words(fuzz_line(&rest), word, &st) : 0;
    if (words < 0)
        fuzz_refused(&st);
    else if (is_tame(word, words) && fchdir(place.folder) == 0) {
        clear_folder();
        write_files(rest);
        run(word, words, &st);
        fuzz_promise(fchdir(place.home) == 0, "the folder is still there", &st);
    }
    for (int i = 0; i < WORDS; i++)
        free(word[i]);
    free(text);
    return 0;
}

/* What libFuzzer calls for a new input. Half of what it would do itself, and half that knows what inputs are made of: lines,
 * numbers and options. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed);

/* Puts `text` in place of `old` bytes at `at`, if there is room. */
static size_t put(uint8_t *data, size_t bytes, size_t most, size_t at, size_t old, const char *text,
                  size_t length)
{
    if (bytes - old + length > most)
        return bytes;
    memmove(data + at + length, data + at + old, bytes - at - old);
    memcpy(data + at, text, length);
    return bytes - old + length;
}

/* The line about a byte. */
static size_t line_at(const uint8_t *data, size_t bytes, size_t at, size_t *length)
{
    size_t first = at;
    while (first > 0 && data[first - 1] != '\n')
        first--;
    for (*length = 0; first + *length < bytes && (*length == 0 || data[first + *length - 1] != '\n');
         ++*length)
        ;
    return first;
}

static size_t copy_line(uint8_t *data, size_t bytes, size_t most, size_t from, size_t to)
{
    char line[256];
    size_t length, place, other;
    from = line_at(data, bytes, from, &length);
    place = line_at(data, bytes, to, &other);
    if (length > sizeof line)
        return bytes;
    memcpy(line, data + from, length);
    return put(data, bytes, most, place, 0, line, length);
}

static size_t change_number(uint8_t *data, size_t bytes, size_t most, size_t at, unsigned draw)
{
    static const char *const numbers[] = {
        "0",    "1",          "-1",         "2",    "3",    "7",   "16",  "255",
        "4096", "2147483647", "4294967296", "1e18", "1e-9", "0.5", "nan", "9223372036854775807"};
    const char *number = numbers[draw % (sizeof numbers / sizeof *numbers)];
    size_t old = 0;
    while (at < bytes && !isdigit(data[at]))
        at++;
    while (at + old < bytes && isdigit(data[at + old]))
        old++;
    return old ? put(data, bytes, most, at, old, number, strlen(number)) : bytes;
}

/* An option, with what its row has of values, at the end of the command line. */
static size_t add_option(uint8_t *data, size_t bytes, size_t most, unsigned draw)
{
    const struct option_row *option = &option_table[draw % (unsigned)option_count];
    const char *words = option->values     ? option->values
                        : option->fallback ? option->fallback
                                           : option->argument;
    char text[128];
    size_t length = words ? strcspn(words, " ") : 0, end = 0;
    while (words && words[length] && (draw = draw / 3 + 1) % 3 == 1) { /* another of its values */
        words += length + 1;
        length = strcspn(words, " ");
    }
    while (end < bytes && data[end] != '\n')
        end++;
    int n = option->positional ? snprintf(text, sizeof text, " '%.*s'", (int)length, words ? words : "")
                               : snprintf(text, sizeof text, " --%s%s%.*s%s", option->name,
                                          option->argument ? " '" : "", option->argument ? (int)length : 0,
                                          words ? words : "", option->argument ? "'" : "");
    return n > 0 && (size_t)n < sizeof text ? put(data, bytes, most, end, 0, text, (size_t)n) : bytes;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed)
{
    unsigned draw = seed * 2654435761u;
    size_t at = bytes ? (draw >> 4) % bytes : 0, to = bytes ? (draw >> 13) % bytes : 0, length;
    size_t first = bytes ? line_at(data, bytes, at, &length) : 0;
    switch (bytes ? draw % 8 : 0) {
    case 4:
        return put(data, bytes, most, first, length, "", 0);
    case 5:
        return copy_line(data, bytes, most, at, to);
    case 6:
        return change_number(data, bytes, most, at, draw >> 20);
    case 7:
        return add_option(data, bytes, most, draw >> 9);
    default:
        return LLVMFuzzerMutate(data, bytes, most);
    }
}
