/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files compiled in by embed.cmake; a row with a NULL name ends each list. */
#pragma once

#include <stddef.h>

struct embedded_file {
    const char *name; /* file name without folder and ending (of a workload: its path below workloads/) */
    const char *text;
    size_t bytes;
};

extern const struct embedded_file embedded_chips[];     /* topologies/ */
extern const struct embedded_file embedded_workloads[]; /* the models in workloads/ that checks run */
extern const struct embedded_file embedded_published[]; /* analysis/published/ */
extern const struct embedded_file embedded_choices[];   /* topologies/xla/, the newest last */
extern const struct embedded_file embedded_page[];      /* analysis/page/page.html */
