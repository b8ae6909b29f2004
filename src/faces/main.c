/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim COMMAND ...: finds the command, runs it, and prints a fault in one line. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/time_limit.h"
#include "base/units.h"
#include "base/version.h"
#include "faces/command.h"
#include "study/budget.h"

static void print_help(void)
{
    puts("icisim: how long does it take on that TPU slice, and where does the time go?\n\n"
         "usage: icisim COMMAND ...\n");
    for (const struct command *const *command = command_list; *command; command++)
        printf("  %-10s %s\n", (*command)->name, (*command)->what);
    puts("\nicisim COMMAND --help lists the options of a command; man icisim says what they mean.");
}

static void print_version(void)
{
    const struct version_part *part = version_parts;
    printf("%s %s\nbuilt with", part->name, part->version);
    for (part++; part->name; part++)
        printf(" %s %s%s", part->name, part->version, part[1].name ? "," : "\n");
}

/* Fails if some output has not reached stdout. */
static int flush_stdout(struct status *st)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return status_fail(st, STATUS_IO, "stdout: %s", strerror(errno));
}

/* Bounds what the command takes. Points are bounded in time one by one; other commands as a whole. */
static void hold(const struct command *command, const struct settings *settings)
{
    struct status own = {0};
    double limit_s = 0;
    budget_hold_command(settings_text(settings, "memory-limit"));
    if (command->bit & FOR_LIMITS && !(command->bit & FOR_POINTS))
        units_parse_time("--time-limit", settings_text(settings, "time-limit"), &limit_s, &own);
    time_hold(limit_s);
}

static int run_command(int argc, char **argv, struct status *st)
{
    struct settings settings;
    const struct command *command = command_by_name(argv[1], st);
    if (!command)
        return st->code;
    settings_init(&settings);
    int code = command_parse(command, argc - 1, argv + 1, &settings, st);
    if (code == 0)
        hold(command, &settings);
    if (code == 0)
        command->run(&settings, st);
    settings_locate(&settings, st);
    settings_free(&settings);
    return code;
}

/* Opens descriptors 0 to 2 if they are closed, read-only, so that writing to them fails. Otherwise the next
 * file to be opened would get one of them, and the table would go into the CSV. */
static void fill_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int main(int argc, char **argv)
{
    struct status st = {0};
    fill_descriptors();
    signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit is a fault like a full disk */
    if (argc > 1 &&
        (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0))
        print_help();
    else if (argc > 1 && strcmp(argv[1], "--version") == 0)
        print_version();
    else if (argc > 1)
        run_command(argc, argv, &st);
    else
        status_fail(&st, STATUS_INPUT, "which command? run, compare, sweep, ...; icisim --help lists them");
    if (st.code == 0)
        flush_stdout(&st);
    if (st.code < 0)
        fprintf(stderr, "icisim: %s\n", st.text);
    return status_exit(st.code);
}
