/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * command: a subcommand of the program: a const struct in a file of its own, and a row in command.c.
 *
 * Its options are the rows of the option table that name it in `commands`. Data goes to stdout, everything
 * else to stderr, and faults are returned as a status that main prints.
 */
#pragma once

#include "settings/settings.h"

struct command {
    const char *name;
    const char *arguments; /* as the usage line shows them */
    const char *what;      /* one line */
    const char *more;      /* below its options in --help, or NULL */
    unsigned bit;          /* of enum command_set */
    int (*run)(struct settings *settings, struct status *st);
};

extern const struct command command_run, command_compare, command_sweep, command_eval, command_topology,
    command_validate, command_fit, command_lower, command_merge, command_model, command_compare_measured;

/* All commands, ended by NULL. */
extern const struct command *const command_list[];

/* A command by name; if there is none, NULL and a fault with the nearest names. */
const struct command *command_by_name(const char *name, struct status *st);

/* Reads the arguments after the command's name, argv[0], and workload files among them. Returns
 * COMMAND_HELPED if it has printed the help. */
enum { COMMAND_HELPED = 1 };
int command_parse(const struct command *command, int argc, char **argv, struct settings *settings,
                  struct status *st);
