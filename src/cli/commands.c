/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>

#include "cli/command.h"

const struct command *const command_list[] = {
    &command_run,      &command_compare, &command_sweep, &command_eval,   &command_topology,
    &command_validate, &command_fit,     &command_lower, &command_manual, NULL,
};
