/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "faces/command.h"

const struct command *const command_list[] = {
    &command_run,      &command_compare,  &command_sweep, &command_merge, &command_eval,
    &command_topology, &command_validate, &command_fit,   &command_lower, NULL,
};

const struct command *command_by_name(const char *name, struct status *st)
{
    const char *names[sizeof command_list / sizeof *command_list];
    int n = 0;
    for (const struct command *const *command = command_list; *command; command++) {
        if (strcmp((*command)->name, name) == 0)
            return *command;
        names[n++] = (*command)->name;
    }
    names[n] = NULL;
    text_unknown("command", name, names, st);
    return NULL;
}
